"""What every gate is, and those that need only the scores: limits on them, over-claims, iterations without a score."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, Self

from rubric import BAND_INSUFFICIENT, Bounds, Coverage
from rubric.scorer import TOLERANCE
from scoring.errors import OptionError
from scoring.sidecars.scores import PersistedScore
from scoring.views.examined import Examined, LogView


@dataclass(frozen=True, slots=True)
class GateOption:
    """One option of a gate, as ``da-score check`` shows it.

    Attributes:
        name: the long name, without dashes before it.
        metavar: what stands for its value; empty for a flag.
        kind: what it takes: a share, which is a number in [0, 1], a text, or nothing.
    """

    name: str
    help: str
    metavar: str = ""
    kind: Literal["share", "text", "flag"] = "flag"

    @property
    def key(self) -> str:
        """The name as a key of JSON."""
        return self.name.replace("-", "_")


class CheckedScore(NamedTuple):
    """What a check holds of a score once its iteration is done: all but the rows it is made of."""

    rubric_version: str
    scored: bool
    value: float
    band: str
    bounds: Bounds
    coverage: Coverage

    @classmethod
    def of(cls, score: PersistedScore) -> Self:
        """Return what is held of a score."""
        return cls(score.rubric_version, score.scored, score.value, score.band, score.bounds, score.coverage)


class Gate:
    """A demand that can be made of a log; an instance is one that was made, with what the first option was given.

    A gate that has one option defines ``options`` and what fails, and nothing more. Reasons are sentences.
    """

    options: ClassVar[tuple[GateOption, ...]]

    def __init__(self, value: Any, log: LogView) -> None:
        """Take what the option was given, never None.

        Raises:
            OptionError: this cannot be demanded of this log.
        """
        self.value, self.log = value, log

    @classmethod
    def demanded(cls, given: Mapping[str, Any], log: LogView) -> Self | None:
        """Return the demand that some options make, by their keys; None when they make none."""
        value = given.get(cls.options[0].key)
        return None if value is None or value is False else cls(value, log)

    @classmethod
    def name(cls) -> str:
        """Return its name, which is that of its first option."""
        return cls.options[0].name

    def as_dict(self) -> dict[str, Any]:
        """Return what is demanded as plain data, a key an option."""
        return {self.options[0].key: self.value}

    def fails(self, one: Examined) -> Iterator[str]:  # noqa: ARG002 - for those that look at iterations
        """Yield why an iteration does not hold, a reason each; nothing when it does."""
        yield from ()

    def notes(self, one: Examined) -> Iterator[str]:  # noqa: ARG002 - for those that cannot judge every iteration
        """Yield what is worth saying of an iteration that does not fail."""
        yield from ()

    def fails_whole(self, scores: Sequence[CheckedScore]) -> Iterator[str]:  # noqa: ARG002 - likewise
        """Yield why the log as a whole does not hold; ``scores`` are those of all iterations, in order."""
        yield from ()


def mean_score(scores: Sequence[CheckedScore]) -> float | None:
    """Return the mean of the scores that there are on enough evidence, in [0, 1]; None when there is none."""
    values = [score.value for score in scores if score.scored and score.band != BAND_INSUFFICIENT]
    return sum(values) / len(values) if values else None


def weakest(score: PersistedScore) -> str:
    """Name the signal that cost a score most, with its detail: the reason why a score is low, in a line."""
    rows = [row for row in score.breakdown if row.present]
    worst = max(rows, key=lambda row: row.effective_weight - row.contribution, default=None)
    if worst is None or worst.effective_weight - worst.contribution <= 0:
        return "no signal stands out"
    return f"{worst.signal} cost most: {worst.detail}" if worst.detail else f"{worst.signal} cost most"


class MinScore(Gate):
    """Every score is at least a number."""

    options = (GateOption("min-score", "Every score is at least X.", "X", "share"),)

    def fails(self, one: Examined) -> Iterator[str]:
        """Compare the score, where there is one."""
        score = one.score
        if score.scored and score.value < self.value - TOLERANCE:
            yield f"score {score.value:.3f} is below {self.value:g}; {weakest(score)}"


class MinBand(Gate):
    """Every score is at least where a band begins."""

    options = (GateOption("min-band", "Every score has at least this band.", "BAND", "text"),)

    def __init__(self, value: Any, log: LogView) -> None:
        """Find where the band begins under the rubric.

        Raises:
            OptionError: the rubric has no such band.
        """
        super().__init__(value, log)
        floors = {band.name: band.min for band in log.rubric.bands}
        if value not in floors:
            known = ", ".join(floors)
            raise OptionError(f"--min-band {value!r} is no band of rubric {log.rubric.version}; known: {known}")
        self._floor, self._floors = floors[value], floors

    def fails(self, one: Examined) -> Iterator[str]:
        """Compare the score, where there is one: bands of another rubric may begin elsewhere, and a cap lowers one."""
        score = one.score
        if score.band == BAND_INSUFFICIENT:
            yield f"there is not enough evidence for a band: {score.coverage}"
        elif score.scored and self._level(score) < self._floor - TOLERANCE:
            yield f"band {score.band} (score {score.value:.3f}) is below {self.value}; {weakest(score)}"

    def _level(self, score: PersistedScore) -> float:
        """Return the value, or where a band begins that a row of the breakdown does not let be better."""
        capped = any(row.cap for row in score.breakdown)
        return min(score.value, self._floors.get(score.band, 1.0)) if capped else score.value


class MinMean(Gate):
    """The mean of the scores is at least a number."""

    options = (GateOption("min-mean", "The mean of the scores is at least X.", "X", "share"),)

    def fails_whole(self, scores: Sequence[CheckedScore]) -> Iterator[str]:
        """Compare the mean, where there is one."""
        mean = mean_score(scores)
        if mean is not None and mean < self.value - TOLERANCE:
            yield f"the mean score {mean:.3f} is below {self.value:g}"


class NoOverClaims(Gate):
    """Nobody claims more than was observed."""

    options = (GateOption("no-over-claims", "Nobody claims more than was observed."),)

    def fails(self, one: Examined) -> Iterator[str]:
        """Yield every claim that goes beyond what was observed."""
        for pair in one.signals.integrity:
            if pair.delta < 0:
                claimed, observed = pair.claimed, pair.observed
                yield (
                    f"{pair.role} over-claimed {pair.signal}: claimed {claimed.sub_score:.2f} ({claimed.detail}), "
                    f"observed {observed.sub_score:.2f} ({observed.detail})"
                )


class NoUnscored(Gate):
    """Every iteration has a score."""

    options = (GateOption("no-unscored", "Every iteration has a score."),)

    def fails(self, one: Examined) -> Iterator[str]:
        """Fail what has no score."""
        if not one.score.scored:
            yield "has no score: no signal is present"
