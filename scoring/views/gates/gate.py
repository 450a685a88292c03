"""What every gate is, those on scores, and those on what scores rest on: coverage, bounds, commits, sidecars."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from rubric import BAND_INSUFFICIENT
from rubric.breakdown import TOLERANCE
from scoring.errors import OptionError
from scoring.evidence.git.facts import Unknown
from scoring.examine import ExaminedIteration, LogView
from scoring.sidecars.scores import PersistedScore
from scoring.sidecars.states import CURRENT
from scoring.text import cut, printable


@dataclass(frozen=True, slots=True)
class GateOption:
    """One option of a gate, by its long name without dashes; a share is a number in [0, 1], a flag takes no value."""

    name: str
    help: str
    metavar: str = ""
    kind: Literal["share", "text", "flag"] = "flag"

    @property
    def key(self) -> str:
        """The name as a key of JSON."""
        return self.name.replace("-", "_")


def _nothing(value: Any, of: Any) -> Iterator[str]:  # noqa: ARG001 - most gates look at one thing only
    yield from ()


Looks: TypeAlias = tuple[Callable[[Any, ExaminedIteration], bool], str]


@dataclass(frozen=True, slots=True)
class Gate:
    """A demand that can be made of a log. All functions take what is demanded first; reasons and notes are sentences.

    Attributes:
        options: what it is asked for with; the first one names it.
        fails: yields why an iteration does not hold; ``fails_whole`` why the log does not, by all scores in order.
        looks: whether there is anything in an iteration for it to look at, and what is said where there is nothing.
        notes: yields what is worth saying of an iteration, whether it holds or not.
        demanded: makes of what the options were given, and the log, what is demanded; it may raise OptionError.
        shown: returns what is demanded as plain data, a value an option.
    """

    options: tuple[GateOption, ...]
    fails: Callable[[Any, ExaminedIteration], Iterator[str]] = _nothing
    fails_whole: Callable[[Any, Sequence[PersistedScore]], Iterator[str]] = _nothing
    looks: Looks = (lambda _, __: True, "there is no iteration")
    notes: Callable[[Any, ExaminedIteration], Iterator[str]] = _nothing
    demanded: Callable[..., Any] = lambda given, _: given
    shown: Callable[[Any], tuple[Any, ...]] = lambda value: (value,)

    @property
    def name(self) -> str:
        """Its name, which is that of its first option."""
        return self.options[0].name


Demand: TypeAlias = tuple[Gate, Any]  # A gate, and what is demanded


def is_enough(score: PersistedScore) -> bool:
    """Return whether there is a score, on enough evidence for a band."""
    return score.scored and score.band != BAND_INSUFFICIENT


def mean_score(scores: Sequence[PersistedScore]) -> float | None:
    """Return the mean of the scores that there are on enough evidence, in [0, 1]; None when there is none."""
    values = [score.value for score in scores if is_enough(score)]
    return sum(values) / len(values) if values else None


def weakest(score: PersistedScore) -> str:
    """Name the signal that cost a score most, with its detail: the reason why a score is low, in a line."""
    rows = [row for row in score.breakdown if row.present]
    worst = max(rows, key=lambda row: row.effective_weight - row.contribution, default=None)
    if worst is None or worst.effective_weight - worst.contribution <= 0:
        return "every vote is full"
    return (
        f"{worst.signal} cost most: {worst.detail}" if worst.detail else f"{worst.signal} cost most"
    )


def _below_score(least: float, one: ExaminedIteration) -> Iterator[str]:
    score = one.score
    if score.scored and score.value < least - TOLERANCE:
        yield f"score {score.value:.3f} is below {least:g}; {weakest(score)}"


def _band(name: str, log: LogView) -> tuple[str, dict[str, float]]:
    floors = {band.name: band.min for band in log.rubric.bands}
    if name not in floors:
        known = ", ".join(floors)
        raise OptionError(
            f"--min-band {name!r} is no band of rubric {log.rubric.version}; known: {known}"
        )
    return name, floors


def _below_band(least: tuple[str, dict[str, float]], one: ExaminedIteration) -> Iterator[str]:
    """Compare the score, since bands of another rubric may begin elsewhere, or the band where a cap lowers it."""
    score, (name, floors) = one.score, least
    capped = any(row.cap for row in score.breakdown)
    level = min(score.value, floors.get(score.band, 1.0)) if capped else score.value
    if score.band == BAND_INSUFFICIENT:
        yield f"there is not enough evidence for a band: {score.coverage}"
    elif score.scored and level < floors[name] - TOLERANCE:
        yield f"band {score.band} (score {score.value:.3f}) is below {name}; {weakest(score)}"


def _below_mean(least: float, scores: Sequence[PersistedScore]) -> Iterator[str]:
    mean = mean_score(scores)
    if mean is not None and mean < least - TOLERANCE:
        yield f"the mean score {mean:.3f} is below {least:g}"


def _over_claims(_: bool, one: ExaminedIteration) -> Iterator[str]:
    for pair in one.signals.integrity:
        if pair.delta < 0:
            claimed, observed = (
                f"{side.sub_score:.2f} ({side.detail})" for side in (pair.claimed, pair.observed)
            )
            yield f"{pair.role} over-claimed {pair.signal}: claimed {claimed}, observed {observed}"


def _unscored(_: bool, one: ExaminedIteration) -> Iterator[str]:
    if not one.score.scored:
        yield "has no score: no signal is present"


_ENOUGH: Looks = (lambda _, one: is_enough(one.score), "no iteration has enough evidence")
MIN_SCORE = Gate(
    (GateOption("min-score", "Every score is at least X.", "X", "share"),),
    _below_score,
    looks=_ENOUGH,
)
_BAND = GateOption("min-band", "Every score has at least this band.", "BAND", "text")
MIN_BAND = Gate((_BAND,), _below_band, looks=_ENOUGH, demanded=_band, shown=lambda band: (band[0],))
_MEAN = GateOption("min-mean", "The mean of the scores is at least X.", "X", "share")
MIN_MEAN = Gate((_MEAN,), fails_whole=_below_mean, looks=_ENOUGH)
_COMPARED: Looks = (
    lambda _, one: any(
        pair.claimed.present and pair.observed.present for pair in one.signals.integrity
    ),
    "no iteration has a claim beside an observation to compare",
)
_CLAIMS = GateOption("no-over-claims", "No claim is above what was observed.")
NO_OVER_CLAIMS = Gate((_CLAIMS,), _over_claims, looks=_COMPARED)
NO_UNSCORED = Gate((GateOption("no-unscored", "Every iteration has a score."),), _unscored)


def _below_coverage(least: float, one: ExaminedIteration) -> Iterator[str]:
    coverage = one.score.coverage  # 0 without a score
    if coverage.weight < least - TOLERANCE:
        absent = ", ".join(
            row.signal for row in one.score.breakdown if row.applicable and not row.present
        )
        yield f"rests on {coverage}, which is below {least * 100:.1f} %; absent: {absent}"


def _below_low(least: float, one: ExaminedIteration) -> Iterator[str]:
    low = one.score.bounds.low  # 0 without a score
    if low < least - TOLERANCE:
        yield f"its lower bound {low:.3f} is below {least:g}; it rests on {one.score.coverage}"


def _unresolved(_: bool, one: ExaminedIteration) -> Iterator[str]:
    landing = one.facts.landing
    is_missing = (
        landing.sha is None and landing.commit is None
    )  # neither by its id nor by its subject
    if landing.field and is_missing and not one.record.known_from:
        yield f"commit {cut(printable(landing.field), 80)} is not in this repository"


def _without_commit(_: bool, one: ExaminedIteration) -> Iterator[str]:
    if one.facts.landing.unknown is Unknown.NO_COMMIT and not one.record.known_from:
        yield "names no commit"


def _stale(_: bool, one: ExaminedIteration) -> Iterator[str]:
    if one.state.name == "stale" and not one.state.says_more:  # one that says more fails anyway
        number = one.record.iteration
        yield f"its sidecar is {one.state}; 'da-score iteration {number} --recompute' brings it up to date"


def _unverified(_: bool, one: ExaminedIteration) -> Iterator[str]:
    if one.state.name == "unverified":
        yield f"its sidecar is {one.state}"


_COVERAGE = GateOption(
    "min-coverage", "Every score rests on at least X of the weight.", "X", "share"
)
_SCORED: Looks = (lambda _, one: one.score.scored, "no iteration has a score")
MIN_COVERAGE = Gate((_COVERAGE,), _below_coverage, looks=_SCORED)
_LOW = GateOption("min-low", "Every score's lower bound is at least X.", "X", "share")
MIN_LOW = Gate((_LOW,), _below_low, looks=_SCORED)
_COMMITS = GateOption("no-unresolved-commits", "Every commit that an entry names is here.")
_NAMED: Looks = (lambda _, one: bool(one.facts.landing.field), "no iteration names a commit")
NO_UNRESOLVED_COMMITS = Gate((_COMMITS,), _unresolved, looks=_NAMED, notes=_without_commit)
_SIDECAR: Looks = (
    lambda _, one: one.origin == "sidecar" or one.state != CURRENT,
    "no iteration has a sidecar",
)
NO_STALE = Gate(
    (GateOption("no-stale", "No sidecar differs from what the evidence gives."),),
    _stale,
    looks=_SIDECAR,
)
_VERIFIED = GateOption("require-verified", "Every sidecar's evidence is here.")
REQUIRE_VERIFIED = Gate((_VERIFIED,), _unverified, looks=_SIDECAR)
