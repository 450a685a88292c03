"""Which entries of a log a command lists: the newest, those of a day or later, those of a task."""

import datetime
from collections.abc import Collection, Sequence
from fnmatch import fnmatchcase

from scoring.errors import OptionError
from scoring.frozen import Frozen
from scoring.log.model import IterationRecord


class Selection(Frozen, frozen=True):
    """A choice of entries; what is None chooses nothing out. ``last`` counts after the others have chosen.

    ``only`` are the numbers of iterations.
    """

    last: int | None = None
    since: datetime.date | None = None
    task: str | None = None
    only: Collection[int] | None = None

    @classmethod
    def of(cls, last: int | None = None, since: str | None = None, task: str | None = None) -> "Selection":
        """Return the choice that some options make.

        Raises:
            OptionError: ``since`` is no date.
        """
        return cls(last, None if since is None else day(since), task)

    @property
    def takes_all(self) -> bool:
        """Whether nothing is left out."""
        return self == Selection()

    def chosen(self, records: Sequence[IterationRecord]) -> list[IterationRecord]:
        """Return the entries of the choice, in their order."""
        found = [record for record in records if self._takes(record)]
        return found if self.last is None else found[-self.last :]

    def numbers(self, records: Sequence[IterationRecord]) -> set[int]:
        """Return their numbers."""
        return {record.iteration for record in self.chosen(records)}

    def _takes(self, record: IterationRecord) -> bool:
        if self.only is not None and record.iteration not in self.only:
            return False
        if self.task is not None and record.task_id != self.task and not fnmatchcase(record.task_id, self.task):
            return False
        return self.since is None or is_since(record.date, self.since)


def day(text: str, option: str = "--since") -> datetime.date:
    """Return the day that an option names.

    Raises:
        OptionError: it names none.
    """
    if (found := day_of(text)) is None:
        raise OptionError(f"{option} {text!r} is no date; write it as 2026-06-03")
    return found


def day_of(text: str) -> datetime.date | None:
    """Return the day that a text is; None when it is none."""
    try:
        return datetime.date.fromisoformat(text)
    except ValueError:
        return None


def is_since(date: str, first: datetime.date) -> bool:
    """Return whether an entry's date is of a day or later; one without a date is taken."""
    found = day_of(date[:10])
    return found is None or found >= first
