"""Claims against facts over a log: what compares, what was claimed too much, and by whom."""

from typing import Any

import pytest

from scoring.signals.landed import LANDED
from scoring.signals.scope import SCOPE
from scoring.signals.tests import TESTS
from scoring.signals.values import (
    ROLE_IMPL,
    ROLE_REVIEW,
    ROLE_VERIFIER,
    AgentRole,
    IntegrityObservation,
    IterationObjectives,
    SignalSet,
    absent_signal,
    present_signal,
)
from scoring.signals.verifier import VERIFIER
from scoring.views.integrity import IntegritySummary, summarize_integrity

NOTHING = absent_signal("not looked at")
OBJECTIVE = IterationObjectives(NOTHING, NOTHING, NOTHING)


def pair(signal: Any, role: AgentRole, claimed: float | None, observed: float | None) -> IntegrityObservation:
    """A claim and what was observed; None is absent."""
    sides = [NOTHING if side is None else present_signal(side, "") for side in (claimed, observed)]
    return IntegrityObservation(signal, role, *sides)


def sets(*iterations: list[IntegrityObservation]) -> list[SignalSet]:
    return [SignalSet(n, {}, OBJECTIVE, tuple(pairs)) for n, pairs in enumerate(iterations, 1)]


def one(*pairs: tuple[float | None, float | None]) -> IntegritySummary:
    """The summary of one role's claims about one signal, an iteration each."""
    (row,) = summarize_integrity(sets(*([pair(TESTS, ROLE_IMPL, *sides)] for sides in pairs)))
    return row


def test_a_log_is_summed_up_per_role_and_signal() -> None:
    assert one((1.0, 1.0), (1.0, 0.5), (1.0, 0.0), (0.5, 1.0)) == IntegritySummary(
        role=ROLE_IMPL,
        signal=TESTS,
        comparable=4,
        over_claims=2,
        mean_delta=-0.25,
        worst_delta=-1.0,
        iterations=(1, 2, 3, 4),
        over_claimed=(2, 3),
    )


@pytest.mark.parametrize(
    "sides",
    [(None, 1.0), (1.0, None), (None, None), (0.0, None)],
    ids=["no claim", "nothing observed", "neither", "a claim of nothing, nothing observed"],
)
def test_a_pair_that_lacks_a_side_does_not_compare(sides: tuple[float | None, float | None]) -> None:
    row = one(sides, (1.0, 0.5))
    assert (row.comparable, row.iterations, row.mean_delta, row.worst_delta) == (1, (2,), -0.5, -0.5)


def test_what_never_compares_has_no_deltas() -> None:
    row = one((None, 1.0), (1.0, None))
    assert (row.comparable, row.over_claims, row.mean_delta, row.worst_delta) == (0, 0, None, None)
    assert (row.iterations, row.over_claimed) == ((), ())


@pytest.mark.parametrize(
    ("claimed", "observed", "over"),
    [(1.0, 0.999, 1), (1.0, 1.0, 0), (0.999, 1.0, 0), (0.0, 0.0, 0), (0.0, 1.0, 0)],
    ids=["a little more than was seen", "as much", "less", "nothing", "nothing, all was seen"],
)
def test_only_more_than_was_seen_is_an_over_claim(claimed: float, observed: float, over: int) -> None:
    row = one((claimed, observed))
    assert (row.comparable, row.over_claims, row.over_claimed) == (1, over, (1,) if over else ())
    assert row.mean_delta == row.worst_delta == observed - claimed


def test_the_worst_delta_is_the_lowest_also_when_all_claimed_too_little() -> None:
    assert one((0.5, 1.0), (0.25, 0.5), (0.0, 1.0)).worst_delta == 0.25


def test_rows_stand_in_the_order_in_which_they_first_appear() -> None:
    found = summarize_integrity(
        sets(
            [pair(SCOPE, ROLE_IMPL, 1.0, 1.0)],
            [pair(VERIFIER, ROLE_VERIFIER, 1.0, 1.0), pair(LANDED, ROLE_IMPL, None, None)],
            [pair(LANDED, ROLE_REVIEW, 1.0, 0.0), pair(SCOPE, ROLE_IMPL, 1.0, 0.0)],
        )
    )
    assert [(row.role, row.signal, row.comparable, row.over_claimed) for row in found] == [
        ("impl", "scope", 2, (3,)),
        ("verifier", "verifier", 1, ()),
        ("impl", "landed", 0, ()),
        ("review", "landed", 1, (3,)),
    ]


def test_iterations_are_those_of_the_log() -> None:
    numbered = [
        SignalSet(n, {}, OBJECTIVE, (pair(TESTS, ROLE_IMPL, 1.0, observed),)) for n, observed in ((7, 0.0), (40, 1.0))
    ]
    (row,) = summarize_integrity(numbered)
    assert (row.iterations, row.over_claimed) == ((7, 40), (7,))


def test_two_claims_of_one_role_in_one_iteration_are_two_pairs() -> None:
    (row,) = summarize_integrity(sets([pair(TESTS, ROLE_IMPL, 1.0, 0.0), pair(TESTS, ROLE_IMPL, 1.0, 1.0)]))
    assert (row.comparable, row.iterations, row.over_claimed) == (2, (1, 1), (1,))


def test_a_log_without_claims_has_no_rows() -> None:
    assert summarize_integrity([]) == []
    assert summarize_integrity(sets([], [])) == []


def test_a_row_is_plain_data_on_demand() -> None:
    assert one((1.0, 0.0), (None, 1.0)).as_dict() == {
        "role": "impl",
        "signal": "tests",
        "comparable": 1,
        "over_claims": 1,
        "mean_delta": -1.0,
        "worst_delta": -1.0,
        "iterations": [1],
        "over_claimed": [1],
    }
