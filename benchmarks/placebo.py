"""``python -m benchmarks placebo REPO ...`` asks how often ``work --against`` is wrong.

Each repository gets an entry for each commit of its trunk that names a checkpoint. Its sessions
are then split at random into two sides, 2,000 times. Nothing differs between the sides, so each
difference that is told is a false alarm. After that an effect is planted on one side: a part of its
units, chosen at random, has another outcome. The printed tables are those of docs/VALIDITY.md,
"Two sides of the work". Everything is seeded.
"""

import argparse
import random
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import NormalDist, fmean
from typing import NamedTuple, TypeAlias

from benchmarks.distribution import make_log
from benchmarks.tables import markdown
from scoring.evidence.rules import ATTRIBUTED, Sources
from scoring.log.load import load_iteration_log
from scoring.outcomes.ledger import ledger
from scoring.outcomes.outcome_rules import OutcomeRules
from scoring.statistics import SEED, Cluster, mean_of, share_difference_interval
from scoring.views.against import SURE, Figure, figure_of
from scoring.views.comparisons import MEASURES, Measure, Sample, settled
from scoring.views.work_rows import WorkRow, work_rows

SPLITS = 2000
POINTS = (0.1, 0.2)
"""The planted effects."""

_BETTER_IS_MORE = "landed"
"""The share that a planted effect lowers; it raises the others."""

Values: TypeAlias = Mapping[str, list[float]]
"""The values of a measure, by session."""


class Work(NamedTuple):
    """The work of a repository, and that part of it that is old enough to judge."""

    rows: list[WorkRow]
    settled: list[WorkRow]


class Split(NamedTuple):
    """The values of a measure on two sides, by session."""

    first: Sequence[list[float]]
    second: Sequence[list[float]]

    def compared(self, measure: Measure) -> Figure:
        """Return the measure of both sides, as ``work --against`` has it."""
        return figure_of(measure, _sample(self.first), _sample(self.second))


def _sample(sessions: Sequence[list[float]]) -> Sample:
    return Sample([Cluster(sum(values), len(values)) for values in sessions])


def work_of(repository: Path) -> Work:
    """Return all of the work of a repository that keeps its transcripts in git."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        make_log(repository, log)
        sources = Sources.under(ATTRIBUTED, repository, (), {"transcripts": "none"})
        book = ledger(load_iteration_log(log), log, sources, OutcomeRules())
    rows = work_rows([unit for unit in book.units if unit.kind != "talk"], None)
    return Work(rows, settled(rows))


def values_of(measure: Measure, work: Work) -> Values:
    """Return the values of a measure by session. A unit without one is a session of its own."""
    values: dict[str, list[float]] = {}
    for row in work.settled if measure.settled else work.rows:
        value = measure.of(row)
        if value is not None:
            values.setdefault(_session(row), []).append(value)
    return values


def _session(row: WorkRow) -> str:
    if row.unit.session:
        return " ".join(row.unit.session)
    return row.unit.unit


def splits(work: Work, count: int) -> Iterator[set[str]]:
    """Yield the sessions of the first side of random splits."""
    source = random.Random(SEED)
    sessions = sorted({_session(row) for row in work.rows})
    for _ in range(count):
        yield {session for session in sessions if source.random() < 0.5}


def split(values: Values, first: set[str]) -> Split:
    """Return the values of a measure on two sides."""
    here = [value for session, value in values.items() if session in first]
    there = [value for session, value in values.items() if session not in first]
    return Split(here, there)


def false_alarms(work: Work, count: int) -> list[tuple[str, str, str, str]]:
    """Return for each measure how often it was compared, and how often it cried wolf."""
    values = {measure: values_of(measure, work) for measure in MEASURES}
    compared = dict.fromkeys(MEASURES, 0)
    outside = dict.fromkeys(MEASURES, 0)
    alarms = dict.fromkeys(MEASURES, 0)
    any_alarm = 0

    for first in splits(work, count):
        told = False
        for measure in MEASURES:
            figure = split(values[measure], first).compared(measure)
            if figure.verdict.startswith("too few") or figure.interval is None:
                continue
            compared[measure] += 1
            outside[measure] += not figure.interval.low <= 0 <= figure.interval.high
            alarms[measure] += figure.certain
            told = told or figure.certain
        any_alarm += told

    table = []
    for measure in MEASURES:
        of_splits = _part(compared[measure], count)
        row = (
            _part(outside[measure], compared[measure]),
            _part(alarms[measure], compared[measure]),
        )
        table.append((measure.name, of_splits, *row))
    table.append(("any of them", "", "", _part(any_alarm, count)))
    return table


def _part(number: int, of: int) -> str:
    if not of:
        return "-"
    return f"{number / of * 100:.1f} %"


def planted(
    measure: Measure, work: Work, points: float, count: int
) -> tuple[str, str, str]:
    """Return how often a planted effect is found, and how often it should be by its interval."""
    source = random.Random(SEED + 1)
    values = values_of(measure, work)
    plant = _planting(values, measure, points, source)
    normal = NormalDist()
    bound = normal.inv_cdf((1 + SURE) / 2)

    told = 0
    power = []
    for first in splits(work, count):
        sides = split(values, first)
        sides = Split(
            sides.first, [[plant(value) for value in each] for each in sides.second]
        )
        told += sides.compared(measure).certain

        samples = (_sample(sides.first).clusters, _sample(sides.second).clusters)
        interval = share_difference_interval(*samples, SURE)
        error = (interval.high - interval.low) / 2 / bound
        power.append(normal.cdf(points / error - bound))

    effect = f"{measure.name}, {points * 100:.0f} points"
    return effect, f"{told / count * 100:.0f} %", f"{fmean(power) * 100:.0f} %"


def _planting(
    values: Values, measure: Measure, points: float, source: random.Random
) -> Callable[[float], float]:
    """Return what gives a unit another outcome, often enough to move the share by ``points``."""
    changed = float(measure.key == _BETTER_IS_MORE)
    share = mean_of(_sample(list(values.values())).clusters) or 0.0
    of_these = share if changed else 1 - share
    chance = min(1.0, points / of_these) if of_these else 0.0

    def plant(value: float) -> float:
        if value == changed and source.random() < chance:
            return 1 - value
        return value

    return plant


def main(arguments: list[str]) -> int:
    """Print both tables for each repository."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks placebo", description=__doc__
    )
    parser.add_argument("repositories", nargs="+", type=Path, metavar="REPO")
    parser.add_argument(
        "--splits", type=int, default=SPLITS, help="how many random splits"
    )
    options = parser.parse_args(arguments)

    for repository in options.repositories:
        work = work_of(repository)
        print(f"{repository.resolve().name}: {len(work.rows)} units\n")
        heads = ("figure", "compared", "95 % interval without 0", "verdict")
        print(markdown(heads, false_alarms(work, options.splits)), "\n")

        found = []
        for measure in MEASURES:
            if measure.kind == "share":
                for points in POINTS:
                    found.append(planted(measure, work, points, options.splits))
        print(markdown(("planted", "found", "by the power"), found), "\n")
    return 0
