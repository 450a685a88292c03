"""Harnesses, models, repositories and months compared by what became of the work."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from scoring.statistics import wilson
from scoring.text import shortened
from scoring.views.work_rows import DECIDED, WorkRow, grouped, in_state, work_summary

NO_DIFFERENCE = "no difference can be told"

_MOST_GROUPS = 15  # of one kind that are listed


class CountedShare(NamedTuple):
    """A share of a whole, in numbers of units."""

    part: int
    whole: int

    @property
    def range(self) -> str:
        """The share and its Wilson interval, as ``50 %, 9–91 %``, or "" of nothing."""
        if not self.whole:
            return ""
        low, high = wilson(self.part, self.whole)
        share = _percent(self.part / self.whole)
        return f"{share} %, {_percent(low)}\u2013{_percent(high)} %"

    def __str__(self) -> str:
        if not self.whole:
            return "-"
        return f"{self.part} of {self.whole} ({self.range})"


def _percent(share: float) -> str:
    """Return a share in percent. Only none is 0, and only all is 100."""
    percent = round(share * 100, 6)
    if percent in (0, 100) or 0.5 <= percent < 99.5:
        return f"{percent:.0f}"
    return f"{min(max(percent, 0.1), 99.9):.1f}"


class Group(NamedTuple):
    """The work of one month, harness, model or repository.

    Attributes:
        name: its name; "" where that is not known.
        summary: its counts and costs, from :func:`work_summary`.
        priced: how many of its rows have a known cost, talk included.
        landed_priced: how many of these landed.
    """

    name: str
    summary: Mapping[str, Any]
    priced: int
    landed_priced: int

    @classmethod
    def of(cls, name: str, rows: Sequence[WorkRow]) -> "Group":
        """Return some work as a group."""
        priced = [row for row in rows if row.cost is not None]
        landed_priced = in_state(priced, "landed")
        return cls(name, work_summary(rows), len(priced), len(landed_priced))

    @property
    def landed(self) -> CountedShare:
        """How much of the work landed, of that which is decided."""
        decided = sum(self.summary[state] for state in DECIDED)
        return CountedShare(self.summary["landed"], decided)

    @property
    def fixed(self) -> CountedShare:
        """How much was reverted or fixed later, of the work that is old enough to judge."""
        return CountedShare(self.summary["defective"], self.summary["judged"])

    @property
    def per_landed(self) -> float | None:
        """What all the work cost for each unit that landed and has a cost, in US dollars."""
        cost: float | None = self.summary["cost"]
        if cost is None or not self.landed_priced:
            return None
        return cost / self.landed_priced


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


_KINDS: dict[str, Callable[[WorkRow], str]] = {
    "Repository": lambda row: shortened(row.values.get("repository")),
    "Harness": lambda row: shortened(row.values["harness"]),
    "Model": lambda row: shortened(row.values["model"]),
}


class _ComparedShare(NamedTuple):
    """A share of the work by which groups are compared.

    Attributes:
        name: what people read for it.
        includes: whether a piece of work is in the whole of the share.
        of: the share of a group.
        undecided: how many more units of a group may belong to the share.
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
    for kind, name_of in _KINDS.items():
        groups = [
            group
            for group in _groups(work, name_of)
            if group.summary["units"] or group.summary["cost"]
        ]
        groups.sort(key=lambda group: (not group.name, -group.summary["units"], group.name))

        named_groups = [group for group in groups if group.name]
        if not named_groups or len(groups) < least:
            continue

        verdicts = []
        if len(named_groups) > 1:
            verdicts = [f"{share.name}: {_verdict(share, named_groups)}" for share in _SHARES]
        more = len(groups[_MOST_GROUPS:])
        compared.append(Comparison(kind, groups[:_MOST_GROUPS], more, verdicts))
    return compared


def months(work: Sequence[WorkRow]) -> list[Group]:
    """Return the work by month, in UTC, the oldest first and work without a time last.

    Empty where no work has a time.
    """
    groups = _groups(work, lambda row: (row.values["ended"] or "")[:7])
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
        sentences.append(
            f"{share.name}: {share.of(older)} of {older.name}, "
            f"{share.of(newer)} of {newer.name}: {verdict}"
        )
    return sentences


def _groups(work: Sequence[WorkRow], name_of: Callable[[WorkRow], str]) -> list[Group]:
    return [Group.of(name, rows) for name, rows in grouped(work, name_of).items()]


class _ShareInterval(NamedTuple):
    """Between what the share of a group may be, whatever became of its undecided work."""

    low: float
    high: float
    name: str


def _verdict(share: _ComparedShare, groups: Sequence[Group]) -> str:
    """Return which group has the larger share, if two intervals do not touch."""
    intervals = []
    for group in groups:
        part, whole = share.of(group)
        if whole:
            low, _ = wilson(part, whole)
            _, high = wilson(part + share.undecided(group), whole)
            intervals.append(_ShareInterval(low, high, group.name))

    if len(intervals) < 2:
        return "too little is known to compare."
    most = max(intervals)
    least = min(intervals, key=lambda interval: interval.high)
    if most.low > least.high:
        return f"{most.name} more often than {least.name}."
    return f"{NO_DIFFERENCE}."
