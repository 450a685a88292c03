"""Claims against facts over a whole log, per role and signal."""

from collections.abc import Iterable
from dataclasses import dataclass

from rubric import SignalID
from scoring.signals.values import AgentRole, IntegrityObservation, SignalSet


@dataclass(frozen=True, slots=True)
class IntegritySummary:
    """How the claims of one role about one signal compare with what was observed.

    ``comparable`` counts pairs with both sides; ``over_claims`` counts those that claimed more than was observed.
    Deltas are observed minus claimed, in [-1, 1]; None when nothing compares. ``iterations`` are those that compare,
    ``over_claimed`` those among them that over-claimed.
    """

    role: AgentRole
    signal: SignalID
    comparable: int
    over_claims: int
    mean_delta: float | None
    worst_delta: float | None
    iterations: tuple[int, ...]
    over_claimed: tuple[int, ...]

    def as_dict(self) -> dict[str, object]:
        """Return plain data."""
        return {name: list(v) if isinstance(v := getattr(self, name), tuple) else v for name in self.__slots__}


def summarize_integrity(sets: Iterable[SignalSet]) -> list[IntegritySummary]:
    """Summarise the integrity observations of a log, one row per role and signal, in order of first appearance."""
    groups: dict[tuple[AgentRole, SignalID], list[tuple[int, IntegrityObservation]]] = {}
    for signals in sets:
        for observation in signals.integrity:
            groups.setdefault((observation.role, observation.signal), []).append((signals.iteration, observation))
    return [_summary(role, signal, found) for (role, signal), found in groups.items()]


def _summary(role: AgentRole, signal: SignalID, found: list[tuple[int, IntegrityObservation]]) -> IntegritySummary:
    deltas = [(iteration, observation.delta) for iteration, observation in found if observation.comparable]
    over = tuple(iteration for iteration, delta in deltas if delta < 0)
    return IntegritySummary(
        role,
        signal,
        comparable=len(deltas),
        over_claims=len(over),
        mean_delta=sum(delta for _, delta in deltas) / len(deltas) if deltas else None,
        worst_delta=min(delta for _, delta in deltas) if deltas else None,
        iterations=tuple(iteration for iteration, _ in deltas),
        over_claimed=over,
    )
