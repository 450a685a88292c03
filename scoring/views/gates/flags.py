"""Gates that are on or off, on things that should not be in a log: over-claims, iterations without a score."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from scoring.views.gates.gate import Gate, GateOption

if TYPE_CHECKING:  # what is checked, somebody else has loaded
    from scoring.views.examined import Examined


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
