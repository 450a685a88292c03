"""Harnesses, models, repositories and months compared by what became of the work."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from scoring.evidence.git.agents import without_mark
from scoring.statistics import wilson
from scoring.text import counted, shortened
from scoring.views.measures import MEASURES, Sample, counting, sample_of
from scoring.views.work_rows import WorkGroup, WorkRow, grouped

NO_DIFFERENCE = "no difference can be told"

LEAST_DECIDED = 20
"""With fewer units on a side, nothing is said of a difference."""

_SAME_HARNESSES = 0.8
"""The part of the work that two periods have in common by harness, below which it changed."""

_MOST_GROUPS = 15  # of one kind that are listed


class Comparison(NamedTuple):
    """Groups of one kind.

    Attributes:
        kind: what the groups are, such as ``Harness``.
        groups: the largest groups.
        more: how many further groups are not listed.
        verdicts: what the intervals allow to say, a sentence for each share.
    """

    kind: str
    groups: list[WorkGroup]
    more: int
    verdicts: list[str]


_SHARES = tuple(measure for measure in MEASURES if measure.key in ("landed", "fixed"))


def comparisons(work: Sequence[WorkRow], least: int = 2) -> list[Comparison]:
    """Compare repositories, harnesses and models.

    Args:
        work: the work.
        least: how many groups a kind has at least; a kind with fewer is left out.
    """
    compared = []
    for kind in ("Repository", "Harness", "Model"):
        groups = grouped(work, kind.lower())
        groups = [group for group in groups if group.summary["units"] or group.summary["cost"]]
        groups.sort(key=lambda group: (not group.name, -group.summary["units"], group.name))

        named_groups = [group for group in groups if group.name]
        if not named_groups or len(groups) < least:
            continue

        verdicts = []
        if len(named_groups) > 1:
            for share in _SHARES:
                samples = {group.name: sample_of(share, group.rows) for group in named_groups}
                if any(sample.units for sample in samples.values()):
                    verdicts.append(f"{share.name.capitalize()}: {_verdict(samples)}")
        more = len(groups[_MOST_GROUPS:])
        compared.append(Comparison(kind, groups[:_MOST_GROUPS], more, verdicts))
    return compared


def months(work: Sequence[WorkRow]) -> list[WorkGroup]:
    """Return the work by month, the oldest first and work without a time last.

    Empty where no work has a time.
    """
    groups = grouped(work, "month")
    if not any(group.name for group in groups):
        return []
    return sorted(groups, key=lambda group: (not group.name, group.name))


def trend(work: Sequence[WorkRow]) -> list[str]:
    """Return sentences that compare the older and the newer half of the work, one for each share.

    They are of the units that ``work --against`` compares. A share of fewer than two is left out.
    """
    sentences = []
    for share in _SHARES:
        rows = []
        for row in counting(share, work):
            if row.values["ended"] and share.of(row) is not None:
                rows.append(row)
        half = len(rows) // 2
        if not half:
            continue

        older = sample_of(share, rows[:half])
        newer = sample_of(share, rows[half:])
        verdict = _verdict({"the older half": older, "the newer half": newer})
        if not verdict.startswith(NO_DIFFERENCE) and harness_changed(rows[:half], rows[half:]):
            verdict = f"{NO_DIFFERENCE} (the harness changed)."
        halves = f"{older.share} of the older half, {newer.share} of the newer half"
        sentences.append(f"{share.name.capitalize()}: {halves}: {verdict}")
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
    harnesses = [row.values["harness"] for row in rows if row.values["harness"]]
    counts = Counter(map(without_mark, harnesses))
    return {harness: count / counts.total() for harness, count in counts.items()}


class _ShareInterval(NamedTuple):
    """Between what the share of a group is, with 95 % confidence."""

    low: float
    high: float
    name: str


def _verdict(samples: Mapping[str, Sample]) -> str:
    """Return which group has the larger share if two intervals do not touch, or why it is open."""
    compared = {name: each for name, each in samples.items() if each.units >= LEAST_DECIDED}
    if len(compared) < 2:
        largest = sorted(samples, key=lambda name: -samples[name].units)[:2]
        sizes = [str(sample.units) for name, sample in samples.items() if name in largest]
        return f"{NO_DIFFERENCE} (too few: {' and '.join(sizes)})."

    decided = []
    at_worst = []
    for name, sample in compared.items():
        part, whole = sample.share
        decided.append(_ShareInterval(*wilson(part, whole), name))

        low, _ = wilson(part, whole + sample.unclear)
        _, high = wilson(part + sample.unclear, whole + sample.unclear)
        at_worst.append(_ShareInterval(low, high, name))

    if _difference(decided) is None:
        return f"{NO_DIFFERENCE}."
    verdict = _difference(at_worst)
    if verdict is None:
        unclear = counted(sum(sample.unclear for sample in compared.values()), "unclear unit")
        return f"{NO_DIFFERENCE} ({unclear} could change this)."
    return verdict


def _difference(intervals: Sequence[_ShareInterval]) -> str | None:
    """Return which share is larger than which, or None where all intervals touch."""
    most = max(intervals)
    least = min(intervals, key=lambda interval: interval.high)
    if most.low > least.high:
        return f"{shortened(most.name)} more often than {shortened(least.name)}."
    return None
