"""Gates on how low scores may be, and on what should not be in a log: over-claims, iterations without a score."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from scoring.errors import SettingsError
from scoring.views.gates.gate import TOLERANCE, Gate, GateOption, mean_score, weakest

if TYPE_CHECKING:  # what is checked, somebody else has loaded
    from scoring.sidecars.scores import PersistedScore
    from scoring.views.examined import Examined, LogView


class MinScore(Gate):
    """Every score is at least a number."""

    options = (GateOption("min-score", "Every score is at least X.", "X", "share"),)

    def fails(self, one: "Examined") -> Iterator[str]:
        """Compare the score, where there is one."""
        score = one.score
        if score.scored and score.value < self.value - TOLERANCE:
            yield f"score {score.value:.3f} is below {self.value:g}; {weakest(score)}"


class MinBand(Gate):
    """Every score is at least where a band begins."""

    options = (GateOption("min-band", "Every score has at least this band.", "BAND", "text"),)

    def __init__(self, value: Any, log: "LogView") -> None:
        """Find where the band begins under the rubric.

        Raises:
            SettingsError: the rubric has no such band.
        """
        super().__init__(value, log)
        floors = {band.name: band.min for band in log.rubric.bands}
        if value not in floors:
            known = ", ".join(floors)
            raise SettingsError(f"--min-band {value!r} is no band of rubric {log.rubric.version}; known: {known}")
        self._floor = floors[value]

    def fails(self, one: "Examined") -> Iterator[str]:
        """Compare the score, where there is one: bands of another rubric may begin elsewhere."""
        score = one.score
        if score.scored and score.value < self._floor - TOLERANCE:
            yield f"band {score.band} (score {score.value:.3f}) is below {self.value}; {weakest(score)}"


class MinMean(Gate):
    """The mean of the scores is at least a number."""

    options = (GateOption("min-mean", "The mean of the scores is at least X.", "X", "share"),)

    def fails_whole(self, scores: "Sequence[PersistedScore]") -> Iterator[str]:
        """Compare the mean, where there is one."""
        mean = mean_score(scores)
        if mean is not None and mean < self.value - TOLERANCE:
            yield f"the mean score {mean:.3f} is below {self.value:g}"


class NoOverClaims(Gate):
    """Nobody claims more than was observed."""

    options = (GateOption("no-over-claims", "Nobody claims more than was observed."),)

    def fails(self, one: "Examined") -> Iterator[str]:
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

    def fails(self, one: "Examined") -> Iterator[str]:
        """Fail what has no score."""
        if not one.score.scored:
            yield "has no score: no signal is present"
