"""Sessions: which iterations belong to one, and the mean of those that are scored."""

import pytest

from rubric import Rubric, Score, default_rubric
from scoring.log.model import AgentInfo, IterationRecord
from scoring.sessions import (
    SessionIterRef,
    SessionScore,
    aggregate_sessions,
    session_score,
)

RUBRIC = default_rubric()


def member(
    iteration: int, session: str, value: float | None
) -> tuple[IterationRecord, Score]:
    """An iteration of a session with its score; None is unscored."""
    scored = value is not None
    band = "unscored" if value is None else RUBRIC.band(value)
    score = Score(iteration, "2.1.0", value or 0.0, scored, band, ())
    return IterationRecord(2, iteration, agent=AgentInfo(session_id=session)), score


def sessions_of(
    *members: tuple[IterationRecord, Score], rubric: Rubric = RUBRIC
) -> list[SessionScore]:
    return aggregate_sessions(
        rubric, [record for record, _ in members], [score for _, score in members]
    )


@pytest.mark.parametrize(
    ("values", "scored", "mean", "band"),
    [
        pytest.param(
            (0.9, None), True, 0.9, "excellent", id="an unscored member does not vote"
        ),
        pytest.param(
            (0.9, 0.0), True, 0.45, "poor", id="a member that scored zero does"
        ),
        pytest.param(
            (None, None),
            False,
            0.0,
            "unscored",
            id="without a scored member it is unscored",
        ),
        pytest.param((0.85, 0.85), True, 0.85, "excellent", id="the band begins here"),
        pytest.param((0.8499, 0.8499), True, 0.8499, "good", id="and not below"),
    ],
)
def test_a_session_is_the_mean_of_its_scored_members(
    values: tuple[float | None, ...], scored: bool, mean: float, band: str
) -> None:
    (session,) = sessions_of(
        *(member(n, "a", value) for n, value in enumerate(values, 1))
    )
    assert (session.iterations, session.scored, session.value, session.band) == (
        (1, 2),
        scored,
        mean,
        band,
    )
    assert [ref.scored for ref in session.per_iteration] == [
        value is not None for value in values
    ]


def test_values_are_added_in_order_and_divided_once() -> None:
    (ten,) = sessions_of(*(member(n, "a", 0.1) for n in range(10)))
    assert repr(ten.value) == "0.09999999999999999"  # a compensated sum would give 0.1
    (big_first,) = sessions_of(
        member(1, "a", 1.0), member(2, "a", 1e-16), member(3, "a", 1e-16)
    )
    (big_last,) = sessions_of(
        member(1, "a", 1e-16), member(2, "a", 1e-16), member(3, "a", 1.0)
    )
    assert (repr(big_first.value), repr(big_last.value)) == (
        "0.3333333333333333",
        "0.3333333333333334",
    )


@pytest.mark.parametrize(
    ("ids", "in_order"),
    [
        (["b", "a", "B", "é", "z", "aa"], ["B", "a", "aa", "b", "z", "é"]),
        (["\uffff", "😀", "z"], ["z", "\uffff", "😀"]),
        # A byte that is not UTF-8 sorts as that byte: 0x80 comes before é, which begins with 0xC3.
        (["é", "\udc80", "\udcff", "a"], ["a", "\udc80", "é", "\udcff"]),
    ],
    ids=["letters", "beyond the BMP", "bytes that are not UTF-8"],
)
def test_sessions_are_sorted_by_the_bytes_of_their_ids(
    ids: list[str], in_order: list[str]
) -> None:
    found = sessions_of(*(member(n, session, 1.0) for n, session in enumerate(ids)))
    assert [session.session_id for session in found] == in_order


def few(iteration: int, value: float) -> SessionIterRef:
    """A member with a value, on too little evidence for a band."""
    return SessionIterRef(iteration, True, value, "insufficient")


def test_members_on_too_little_evidence_are_not_in_the_mean() -> None:
    refs = [
        SessionIterRef(1, True, 0.6, "fair"),
        few(2, 1.0),
        SessionIterRef(3, True, 0.8, "good"),
        few(4, 0.0),
    ]
    session = session_score(RUBRIC, "a", refs)
    assert session.value == pytest.approx(0.7)
    assert (session.scored, session.band) == (True, "good")
    assert (session.iterations, session.insufficient) == ((1, 2, 3, 4), 2)


def test_a_session_of_such_members_alone_has_no_value() -> None:
    unscored = SessionIterRef(2, False, 0.0, "unscored")
    session = session_score(RUBRIC, "a", [few(1, 1.0), unscored])
    assert (session.scored, session.value, session.band, session.insufficient) == (
        False,
        0.0,
        "insufficient",
        1,
    )
    assert session_score(RUBRIC, "a", [unscored]).band == "unscored"
    assert session_score(RUBRIC, "a", [unscored]).insufficient == 0
