"""Gates: what a log must hold up to, checked iteration by iteration, with the reasons in words."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from rubric import Rubric
from scoring.errors import SettingsError
from scoring.sidecars.scores import PersistedScore
from scoring.signals.values import IntegrityObservation
from scoring.views.baseline import Baseline
from scoring.views.examined import Examined
from scoring.views.weakest import weakest

_TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True)
class Gates:
    """What is demanded; None and False demand nothing.

    ``min_score``, ``min_mean`` and ``max_drop`` are in [0, 1]; ``min_band`` names a band of the rubric. ``last`` is how
    many of the newest iterations are checked, None for all: as many of the baseline make the mean to compare with.
    """

    min_score: float | None = None
    min_band: str | None = None
    min_mean: float | None = None
    max_drop: float | None = None
    baseline: Baseline | None = None
    no_over_claims: bool = False
    no_unscored: bool = False
    last: int | None = None

    def __bool__(self) -> bool:
        return self != Gates(baseline=self.baseline, last=self.last)


@dataclass(frozen=True, slots=True)
class Failure:
    """One gate that one iteration did not hold up to; ``iteration`` is None for the log as a whole."""

    gate: str
    iteration: int | None
    reason: str


@dataclass(frozen=True, slots=True)
class Checked:
    """One iteration that was checked, with what it failed."""

    iteration: int
    task_id: str
    score: PersistedScore
    failures: tuple[Failure, ...]
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class Verdict:
    """What a check found: each iteration, the log as a whole, and what could not be compared."""

    gates: Gates
    iterations: list[Checked] = field(default_factory=list)
    whole: list[Failure] = field(default_factory=list)

    @property
    def failures(self) -> list[Failure]:
        """Everything that failed, by iteration, the log as a whole at the end."""
        return [f for one in self.iterations for f in one.failures] + self.whole

    @property
    def passed(self) -> bool:
        """Whether nothing failed."""
        return not self.failures

    @property
    def mean(self) -> float | None:
        """The mean score of the iterations that have one."""
        values = [one.score.value for one in self.iterations if one.score.scored]
        return sum(values) / len(values) if values else None

    def as_dict(self) -> dict[str, Any]:
        """Return plain data."""
        gates = self.gates
        return {
            "passed": self.passed,
            "gates": {
                "min_score": gates.min_score,
                "min_band": gates.min_band,
                "min_mean": gates.min_mean,
                "max_drop": gates.max_drop,
                "baseline": gates.baseline.source if gates.baseline else None,
                "no_over_claims": gates.no_over_claims,
                "no_unscored": gates.no_unscored,
                "last": gates.last,
            },
            "mean": self.mean,
            "iterations": [
                {
                    "iteration": one.iteration,
                    "task_id": one.task_id,
                    "rubric_version": one.score.rubric_version,
                    "scored": one.score.scored,
                    "value": one.score.value,
                    "band": one.score.band,
                    "passed": not one.failures,
                    "failures": [{"gate": f.gate, "reason": f.reason} for f in one.failures],
                    "notes": list(one.notes),
                }
                for one in self.iterations
            ],
            "failures": [{"gate": f.gate, "reason": f.reason} for f in self.whole],
        }


def check(examined: Iterable[Examined], gates: Gates, rubric: Rubric) -> Verdict:
    """Hold iterations against gates.

    Args:
        examined: the iterations, in order.
        gates: what is demanded.
        rubric: whose bands ``min_band`` means.

    Raises:
        SettingsError: ``min_band`` is no band of the rubric, or there is a drop to check and nothing to compare with.
    """
    floor = _band_floor(gates.min_band, rubric)
    verdict = Verdict(gates)
    for one in examined:
        failures, notes = _failures(one, gates, floor)
        verdict.iterations.append(
            Checked(one.record.iteration, one.record.task_id, one.score, tuple(failures), tuple(notes))
        )
    mean = verdict.mean
    if gates.min_mean is not None and mean is not None and mean < gates.min_mean - _TOLERANCE:
        verdict.whole.append(Failure("min-mean", None, f"the mean score {mean:.3f} is below {gates.min_mean:g}"))
    if gates.max_drop is not None and gates.baseline:
        verdict.whole += _mean_drop(verdict, gates.max_drop, gates.baseline.newest(gates.last))
    return verdict


def _band_floor(band: str | None, rubric: Rubric) -> float | None:
    if band is None:
        return None
    floors: Mapping[str, float] = {b.name: b.min for b in rubric.bands}
    if band not in floors:
        raise SettingsError(f"--min-band {band!r} is no band of rubric {rubric.version}; known: {', '.join(floors)}")
    return floors[band]


def _failures(one: Examined, gates: Gates, floor: float | None) -> tuple[list[Failure], list[str]]:
    """Return what one iteration failed, and what is to be noted about it."""
    score, n = one.score, one.record.iteration
    failures: list[Failure] = []
    notes: list[str] = []
    if score.scored:
        failures += _low(score, gates, floor)
        if gates.max_drop is not None and gates.baseline:
            _check_drop(one, gates.max_drop, gates.baseline, failures, notes)
    else:
        notes.append("no signal is present, so there is no score to check")
        if gates.no_unscored:
            failures.append(Failure("no-unscored", n, "has no score: no signal is present"))
    if gates.no_over_claims:
        failures += [_over_claim(n, observation) for observation in one.signals.integrity if observation.delta < 0]
    return failures, notes


def _low(score: PersistedScore, gates: Gates, floor: float | None) -> Iterator[Failure]:
    """Yield what is wrong with a score alone; ``floor`` is where the band that is demanded begins."""
    said = f"{score.value:.3f}"
    if gates.min_score is not None and score.value < gates.min_score - _TOLERANCE:
        reason = f"score {said} is below {gates.min_score:g}; {weakest(score)}"
        yield Failure("min-score", score.iteration, reason)
    if floor is not None and score.value < floor - _TOLERANCE:
        reason = f"band {score.band} (score {said}) is below {gates.min_band}; {weakest(score)}"
        yield Failure("min-band", score.iteration, reason)


def _over_claim(iteration: int, found: IntegrityObservation) -> Failure:
    claimed, observed = found.claimed, found.observed
    return Failure(
        "no-over-claims",
        iteration,
        f"{found.role} over-claimed {found.signal}: claimed {claimed.sub_score:.2f} ({claimed.detail}), "
        f"observed {observed.sub_score:.2f} ({observed.detail})",
    )


def _check_drop(one: Examined, most: float, baseline: Baseline, failures: list[Failure], notes: list[str]) -> None:
    score, old = one.score, baseline.scores.get(one.record.iteration)
    if old is None:
        notes.append(f"not in the baseline {baseline.source}")
    elif old.value is None:
        notes.append("had no score in the baseline")
    elif old.rubric_version != score.rubric_version:
        notes.append(
            f"was scored under rubric {old.rubric_version} in the baseline; scores compare under one rubric only"
        )
    elif old.value - score.value > most + _TOLERANCE:
        failures.append(
            Failure(
                "max-drop",
                one.record.iteration,
                f"score {score.value:.3f} is {old.value - score.value:.3f} below the {old.value:.3f} of "
                f"{baseline.source}; {weakest(score)}",
            )
        )


def _mean_drop(verdict: Verdict, most: float, baseline: Baseline) -> list[Failure]:
    """Hold the mean of what was checked against the mean of the baseline, under the rubric they share."""
    versions = {one.score.rubric_version for one in verdict.iterations if one.score.scored}
    old = [s.value for s in baseline.scores.values() if s.value is not None and s.rubric_version in versions]
    known = {s.rubric_version for s in baseline.scores.values()}
    new = [one.score.value for one in verdict.iterations if one.score.scored and one.score.rubric_version in known]
    if not old or not new:
        if not new and not versions:
            return []
        raise SettingsError(
            f"--max-drop: nothing to compare: {baseline.source} was scored under rubric {', '.join(sorted(known))}, "
            f"this log under {', '.join(sorted(versions))}; score both under one rubric"
        )
    before, now = sum(old) / len(old), sum(new) / len(new)
    if before - now > most + _TOLERANCE:
        text = f"the mean score {now:.3f} is {before - now:.3f} below the {before:.3f} of {baseline.source}"
        return [Failure("max-drop", None, text)]
    return []
