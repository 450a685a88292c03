"""Claims against facts over a log: what compares, what was claimed too much, and by whom."""

from typing import Any

import pytest

from scoring.signals.tests import TESTS
from scoring.signals.values import (
    ROLE_IMPL,
    AgentRole,
    IntegrityObservation,
    IterationObjectives,
    SignalSet,
    absent_signal,
    present_signal,
)
from scoring.views.integrity import IntegritySummary, summarize_integrity

NOTHING = absent_signal("not looked at")
OBJECTIVE = IterationObjectives(NOTHING, NOTHING, NOTHING)


def pair(
    signal: Any, role: AgentRole, claimed: float | None, observed: float | None
) -> IntegrityObservation:
    """A claim and what was observed; None is absent."""
    sides = [
        NOTHING if side is None else present_signal(side, "")
        for side in (claimed, observed)
    ]
    return IntegrityObservation(signal, role, *sides)


def sets(*iterations: list[IntegrityObservation]) -> list[SignalSet]:
    return [
        SignalSet(n, {}, OBJECTIVE, tuple(pairs))
        for n, pairs in enumerate(iterations, 1)
    ]


def one(*pairs: tuple[float | None, float | None]) -> IntegritySummary:
    """The summary of one role's claims about one signal, an iteration each."""
    (row,) = summarize_integrity(
        sets(*([pair(TESTS, ROLE_IMPL, *sides)] for sides in pairs))
    )
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
    ids=[
        "no claim",
        "nothing observed",
        "neither",
        "a claim of nothing, nothing observed",
    ],
)
def test_a_pair_that_lacks_a_side_does_not_compare(
    sides: tuple[float | None, float | None],
) -> None:
    row = one(sides, (1.0, 0.5))
    assert (row.comparable, row.iterations, row.mean_delta, row.worst_delta) == (
        1,
        (2,),
        -0.5,
        -0.5,
    )


@pytest.mark.parametrize(
    ("claimed", "observed", "over"),
    [(1.0, 0.999, 1), (1.0, 1.0, 0), (0.999, 1.0, 0), (0.0, 0.0, 0), (0.0, 1.0, 0)],
    ids=[
        "a little more than was seen",
        "as much",
        "less",
        "nothing",
        "nothing, all was seen",
    ],
)
def test_only_more_than_was_seen_is_an_over_claim(
    claimed: float, observed: float, over: int
) -> None:
    row = one((claimed, observed))
    assert (row.comparable, row.over_claims, row.over_claimed) == (
        1,
        over,
        (1,) if over else (),
    )
    assert row.mean_delta == row.worst_delta == observed - claimed


def test_the_worst_delta_is_the_lowest_also_when_all_claimed_too_little() -> None:
    assert one((0.5, 1.0), (0.25, 0.5), (0.0, 1.0)).worst_delta == 0.25


def test_a_row_is_plain_data_on_demand() -> None:
    assert one((1.0, 0.0), (None, 1.0))._asdict() == {
        "role": "impl",
        "signal": "tests",
        "comparable": 1,
        "over_claims": 1,
        "mean_delta": -1.0,
        "worst_delta": -1.0,
        "iterations": (1,),
        "over_claimed": (1,),
    }
