"""From iterations to sessions: the mean score of the iterations that one agent session did, where evidence suffices."""

from collections.abc import Iterable, Sequence
from functools import reduce
from operator import add
from typing import Any

from rubric import BAND_INSUFFICIENT, BAND_UNSCORED, Rubric, Score
from scoring.frozen import Frozen
from scoring.log.model import IterationRecord


class SessionIterRef(Frozen, frozen=True):
    """One member of a session, with its score."""

    iteration: int
    scored: bool
    value: float
    band: str

    @classmethod
    def of(cls, score: Any) -> "SessionIterRef":
        """Return what a session keeps of a score, be it computed or read back."""
        return cls(score.iteration, score.scored, score.value, score.band)

    @property
    def suffices(self) -> bool:
        """Whether it is scored, on enough evidence to count in a mean."""
        return self.scored and self.band != BAND_INSUFFICIENT


class SessionScore(Frozen, frozen=True):
    """A session's score: the mean, in [0, 1], of its members with enough evidence; else its band says why none."""

    session_id: str
    rubric_version: str
    iterations: tuple[int, ...]
    scored: bool
    value: float
    band: str
    per_iteration: tuple[SessionIterRef, ...]

    @property
    def insufficient(self) -> int:
        """How many members have too little evidence, and so are not in the mean."""
        return sum(ref.band == BAND_INSUFFICIENT for ref in self.per_iteration)


def aggregate_sessions(
    rubric: Rubric, records: Sequence[IterationRecord], scores: Sequence[Score]
) -> list[SessionScore]:
    """Group scores, in pairs with their records, by session id, sorted by its bytes; without one, left out."""
    sessions = [record.agent.session_id for record in records]
    return sessions_of(rubric, zip(sessions, map(SessionIterRef.of, scores), strict=True))


def sessions_of(rubric: Rubric, refs: Iterable[tuple[str, SessionIterRef]]) -> list[SessionScore]:
    """Group members, in iteration order, by the session id that comes with each; as :func:`aggregate_sessions` does."""
    members: dict[str, list[SessionIterRef]] = {}
    for session_id, ref in refs:
        if session_id:
            members.setdefault(session_id, []).append(ref)
    in_byte_order = sorted(
        members, key=lambda session_id: session_id.encode("utf-8", "surrogateescape")
    )
    return [session_score(rubric, session_id, members[session_id]) for session_id in in_byte_order]


def session_score(rubric: Rubric, session_id: str, scores: Iterable[Any]) -> SessionScore:
    """Score one session from the scores of its members, or what it keeps of them, in iteration order."""
    members = tuple(map(SessionIterRef.of, scores))
    values = [member.value for member in members if member.suffices]
    nothing = (
        BAND_INSUFFICIENT
        if any(member.band == BAND_INSUFFICIENT for member in members)
        else BAND_UNSCORED
    )
    # Added one by one: sum() compensates for rounding in newer Pythons, and the reference does not.
    value = reduce(add, values, 0.0) / len(values) if values else 0.0
    return SessionScore(
        session_id,
        rubric.version,
        tuple(member.iteration for member in members),
        bool(values),
        value,
        rubric.band(value) if values else nothing,
        members,
    )
