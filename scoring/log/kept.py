"""The records of a log, as a sequence that knows its iterations."""

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import overload

from scoring.log.model import IterationRecord


class Records(Sequence[IterationRecord]):
    """The records of a log, sorted by iteration, and the iteration, commit field and session id of each."""

    def __init__(self, records: Iterable[IterationRecord]) -> None:
        self._records = list(records)
        self.numbers = [record.iteration for record in self._records]
        self.commits = [record.commit for record in self._records]
        self.sessions = [record.agent.session_id for record in self._records]

    @classmethod
    def of(cls, records: Sequence[IterationRecord]) -> "Records":
        """Take records, sorted by iteration."""
        return records if isinstance(records, Records) else cls(records)

    def __len__(self) -> int:
        return len(self._records)

    @overload
    def __getitem__(self, place: int) -> IterationRecord: ...
    @overload
    def __getitem__(self, place: slice) -> "Records": ...
    def __getitem__(self, place: int | slice) -> "IterationRecord | Records":
        return Records(self._records[place]) if isinstance(place, slice) else self._records[place]

    def near(self, iterations: Collection[int], before: int) -> "Records":
        """Return the records of some iterations, and up to so many before each of them."""
        wanted: set[int] = set()
        for at in self._places(iterations):
            wanted.update(range(max(at - before, 0), at + 1))
        return Records(self._records[at] for at in sorted(wanted))

    def bounded(self, iterations: Collection[int], before: int, committed: Callable[[str], int | None]) -> bool:
        """Return whether one of so many records before each iteration has a commit, or there are no more before it.

        ``committed`` returns the time of the commit that a commit field names; None where there is none.
        """
        return all(
            at <= before or any(committed(commit) is not None for commit in reversed(self.commits[at - before : at]))
            for at in self._places(iterations)
        )

    def place(self, iteration: int) -> int | None:
        """Return the place of an iteration; None when there is none."""
        at = bisect_left(self.numbers, iteration)
        return at if at < len(self) and self.numbers[at] == iteration else None

    def _places(self, iterations: Collection[int]) -> list[int]:
        return [place for place in map(self.place, iterations) if place is not None]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and self._records == list(other)

    __hash__ = None  # type: ignore[assignment]
