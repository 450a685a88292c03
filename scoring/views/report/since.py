"""What is different since an earlier report."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from scoring.views.report.reported import ReportedIteration

Change: TypeAlias = tuple[ReportedIteration, float | None]
"""An iteration, and its score before; None where it had none."""


@dataclass(frozen=True, slots=True)
class ReportChanges:
    """What is different since the last report: iteration, and its score before and now (None: there was none).

    ``rescored`` are those of the moved ones that were scored under another rubric and do not compare.
    """

    new: list[ReportedIteration]
    moved: list[Change]
    gone: list[int]
    rescored: frozenset[int] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.new or self.moved or self.gone)

    @property
    def groups(self) -> list[tuple[str, list[Change]]]:
        """What changed, by what it is; those that moved most come first."""
        up: list[Change] = []
        down: list[Change] = []
        other: list[Change] = []
        for line, before in self.moved:
            if before is None or line.value is None or line.iteration in self.rescored:
                other.append((line, before))
            else:
                (up if line.value > before else down).append((line, before))
        for found in (up, down):
            found.sort(key=lambda pair: -abs((pair[0].value or 0) - (pair[1] or 0)))
        new: list[Change] = [(line, None) for line in reversed(self.new)]
        return [("New", new), ("Better", up), ("Worse", down), ("Scored otherwise than before", other)]

    @property
    def summary(self) -> str:
        """How many changed, and in which way."""
        found = [f"{len(lines)} {title[0].lower()}{title[1:]}" for title, lines in self.groups if lines]
        values = [line.value for line in self.new if line.counted and line.value is not None]
        if values:
            found[0] += f" with a mean of {sum(values) / len(values):.3f}"
        return ", ".join([*found, f"{len(self.gone)} gone"] if self.gone else found)


def changes(now: Sequence[ReportedIteration], before: dict[str, list[Any]]) -> ReportChanges:
    """Compare a report's iterations with the snapshot of an earlier one."""
    new = [line for line in now if str(line.iteration) not in before]
    moved = [
        (line, before[str(line.iteration)][1])
        for line in now
        if str(line.iteration) in before and before[str(line.iteration)][:2] != [line.rubric_version, line.value]
    ]
    known = {str(line.iteration) for line in now}
    gone = sorted(int(n) for n in before if n not in known)
    rescored = (line.iteration for line, _ in moved if before[str(line.iteration)][0] != line.rubric_version)
    return ReportChanges(new, moved, gone, frozenset(rescored))
