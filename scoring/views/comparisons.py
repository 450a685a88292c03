"""Harnesses, models, repositories and months compared by what became of the work."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from scoring.statistics import wilson
from scoring.text import counted, shortened
from scoring.views.shares import DECIDED, CountedShare, fixed_share, landed_share
from scoring.views.work_rows import WorkGroup, WorkRow, grouped, work_summary

NO_DIFFERENCE = "no difference can be told"

LEAST_DECIDED = 20
"""With fewer units on a side, nothing is said of a difference."""

_SAME_HARNESSES = 0.8
"""The part of the work that two periods have in common by harness, below which it changed."""

_MOST_GROUPS = 15  # of one kind that are listed


class Group(NamedTuple):
    """The work of one month, harness, model or repository.

    Attributes:
        name: its name; "" where that is not known.
        summary: its counts and costs, from :func:`work_summary`.
        priced: how many of its rows have a known cost, talk included.
    """

    name: str
    summary: Mapping[str, Any]
    priced: int

    @classmethod
    def of(cls, name: str, rows: Sequence[WorkRow]) -> "Group":
        """Return some work as a group."""
        return cls.named(WorkGroup(name, list(rows), work_summary(rows)))

    @classmethod
    def named(cls, group: WorkGroup) -> "Group":
        """Return the work of a harness, a model, a month or a repository."""
        priced = [row for row in group.rows if row.cost is not None]
        return cls(shortened(group.name), group.summary, len(priced))

    @property
    def landed(self) -> CountedShare:
        """How much of the work landed, of that which is decided."""
        return landed_share(self.summary)

    @property
    def fixed(self) -> CountedShare:
        """How much was reverted or fixed later, of the work that is old enough to judge."""
        return fixed_share(self.summary)


class Comparison(NamedTuple):
    """Groups of one kind.

    Attributes:
        kind: what the groups are, such as ``Harness``.
        groups: the largest groups.
        more: how many further groups are not listed.
        verdicts: what the intervals allow to say, a sentence for each share.
    """

    kind: str
    groups: list[Group]
    more: int
    verdicts: list[str]


_KINDS = ("Repository", "Harness", "Model")


class _ComparedShare(NamedTuple):
    """A share of the work by which groups are compared.

    Attributes:
        name: what people read for it.
        includes: whether a piece of work is in the whole of the share.
        of: the share of a group.
        undecided: how many units of a group are left out as unclear.
    """

    name: str
    includes: Callable[[WorkRow], bool]
    of: Callable[[Group], CountedShare]
    undecided: Callable[[Group], int]


_SHARES = (
    _ComparedShare(
        name="Landed",
        includes=lambda row: row.unit.state in DECIDED,
        of=lambda group: group.landed,
        undecided=lambda group: group.summary["unclear"],
    ),
    _ComparedShare(
        name="Reverted or fixed later",
        includes=lambda row: row.unit.defective is not None,
        of=lambda group: group.fixed,
        undecided=lambda _: 0,
    ),
)


def comparisons(work: Sequence[WorkRow], least: int = 2) -> list[Comparison]:
    """Compare repositories, harnesses and models.

    Args:
        work: the work.
        least: how many groups a kind has at least; a kind with fewer is left out.
    """
    compared = []
    for kind in _KINDS:
        groups = [
            group
            for group in map(Group.named, grouped(work, kind.lower()))
            if group.summary["units"] or group.summary["cost"]
        ]
        groups.sort(key=lambda group: (not group.name, -group.summary["units"], group.name))

        named_groups = [group for group in groups if group.name]
        if not named_groups or len(groups) < least:
            continue

        verdicts = []
        if len(named_groups) > 1:
            for share in _SHARES:
                if any(share.of(group).whole for group in named_groups):
                    verdicts.append(f"{share.name}: {_verdict(share, named_groups)}")
        more = len(groups[_MOST_GROUPS:])
        compared.append(Comparison(kind, groups[:_MOST_GROUPS], more, verdicts))
    return compared


def months(work: Sequence[WorkRow]) -> list[Group]:
    """Return the work by month, the oldest first and work without a time last.

    Empty where no work has a time.
    """
    groups = list(map(Group.named, grouped(work, "month")))
    if not any(group.name for group in groups):
        return []
    return sorted(groups, key=lambda group: (not group.name, group.name))


def trend(work: Sequence[WorkRow]) -> list[str]:
    """Return sentences that compare the older and the newer half of the work, one for each share.

    A share of fewer than two units is left out.
    """
    sentences = []
    for share in _SHARES:
        rows = [row for row in work if row.values["ended"] and share.includes(row)]
        half = len(rows) // 2
        if not half:
            continue

        older = Group.of("the older half", rows[:half])
        newer = Group.of("the newer half", rows[half:])
        verdict = _verdict(share, [older, newer])
        if not verdict.startswith(NO_DIFFERENCE) and harness_changed(rows[:half], rows[half:]):
            verdict = f"{NO_DIFFERENCE} (the harness changed)."
        sentences.append(
            f"{share.name}: {share.of(older)} of {older.name}, "
            f"{share.of(newer)} of {newer.name}: {verdict}"
        )
    return sentences


def harness_changed(older: Sequence[WorkRow], newer: Sequence[WorkRow]) -> bool:
    """Return whether other harnesses did the work of one period than that of another.

    Work of an unknown harness does not count.
    """
    shares_before = _harness_shares(older)
    shares_after = _harness_shares(newer)
    if not shares_before or not shares_after:
        return False

    common = 0.0
    for harness, share in shares_before.items():
        common += min(share, shares_after.get(harness, 0.0))
    return common < _SAME_HARNESSES


def _harness_shares(rows: Sequence[WorkRow]) -> dict[str, float]:
    """Return the part of the work that each known harness did, 0 to 1."""
    counts = Counter(row.values["harness"] for row in rows if row.values["harness"])
    return {harness: count / counts.total() for harness, count in counts.items()}


class _ShareInterval(NamedTuple):
    """Between what the share of a group is, with 95 % confidence."""

    low: float
    high: float
    name: str


def _verdict(share: _ComparedShare, groups: Sequence[Group]) -> str:
    """Return which group has the larger share if two intervals do not touch, or why it is open."""
    compared = [group for group in groups if share.of(group).whole >= LEAST_DECIDED]
    if len(compared) < 2:
        largest = sorted(groups, key=lambda group: -share.of(group).whole)[:2]
        sizes = [str(share.of(group).whole) for group in groups if group in largest]
        return f"{NO_DIFFERENCE} (too few: {' and '.join(sizes)})."

    decided = []
    at_worst = []
    for group in compared:
        part, whole = share.of(group)
        unknown = share.undecided(group)
        decided.append(_ShareInterval(*wilson(part, whole), group.name))

        low, _ = wilson(part, whole + unknown)
        _, high = wilson(part + unknown, whole + unknown)
        at_worst.append(_ShareInterval(low, high, group.name))

    if _difference(decided) is None:
        return f"{NO_DIFFERENCE}."
    verdict = _difference(at_worst)
    if verdict is None:
        unclear = counted(sum(map(share.undecided, compared)), "unclear unit")
        return f"{NO_DIFFERENCE} ({unclear} could change this)."
    return verdict


def _difference(intervals: Sequence[_ShareInterval]) -> str | None:
    """Return which share is larger than which, or None where all intervals touch."""
    most = max(intervals)
    least = min(intervals, key=lambda interval: interval.high)
    if most.low > least.high:
        return f"{most.name} more often than {least.name}."
    return None
