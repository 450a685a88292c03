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

    def _rise(self, change: Change) -> float | None:
        """Return how far a score rose; None where it does not compare with the one before."""
        line, before = change
        return None if before is None or line.value is None or line.iteration in self.rescored else line.value - before

    @property
    def groups(self) -> list[tuple[str, list[Change]]]:
        """What changed, by what it is; those that moved most come first."""
        other = "Scored otherwise than before"
        found: dict[str, list[Change]] = {"New": [(line, None) for line in reversed(self.new)]}
        found |= {"Better": [], "Worse": [], other: []}
        for change in sorted(self.moved, key=lambda change: -abs(self._rise(change) or 0)):
            rise = self._rise(change)
            found[other if rise is None else "Better" if rise > 0 else "Worse"].append(change)
        return list(found.items())

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
    known = [(line, before[str(line.iteration)]) for line in now if str(line.iteration) in before]
    moved = [(line, was) for line, was in known if was[:2] != [line.rubric_version, line.value]]
    numbers = {line.iteration for line in now}
    return ReportChanges(
        [line for line in now if str(line.iteration) not in before],
        [(line, was[1]) for line, was in moved],
        sorted({int(n) for n in before} - numbers),
        frozenset(line.iteration for line, was in moved if was[0] != line.rubric_version),
    )
