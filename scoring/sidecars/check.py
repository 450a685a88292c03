"""Whether what a sidecar says can be a score: everything in it is a number that can be shown, drawn and added up.

Any program or person may have written a sidecar. Whether it is right is another question, which the evidence answers
(:mod:`scoring.sidecars.states`): one with a value that its rows do not add up to can be shown, and fails a check.
"""

import math
from collections.abc import Iterator, Sequence
from itertools import chain

from rubric import SignalContribution
from rubric.scorer import TOLERANCE, Breakdown
from scoring.sessions import SessionScore
from scoring.text import shown


def problem_of(score: Breakdown, value: float, scored: bool) -> str:
    """Return what is wrong with an iteration's score of some value, in words; "" when nothing is."""
    return next(chain(_in_value(value), _in_rows(score.breakdown, scored)), "")


def session_problem_of(session: SessionScore) -> str:
    """Return what is wrong with a session's score, in words; "" when nothing is."""
    problems = (f"iteration {ref.iteration}: {said}" for ref in session.per_iteration for said in _in_value(ref.value))
    return next(chain(_in_value(session.value), problems), "")


def _in_value(value: float) -> Iterator[str]:
    if not 0 <= value <= 1 + TOLERANCE:
        yield f"its value {value:g} is not from 0 to 1"


def _in_rows(rows: Sequence[SignalContribution], scored: bool) -> Iterator[str]:
    if scored and not rows:  # one that says nothing, as the reference reads an empty file, is shown as that
        yield "it is scored and has no breakdown"
    for row in rows:
        yield from _in_row(row)


def _in_row(row: SignalContribution) -> Iterator[str]:
    numbers = (row.sub_score, row.nominal_weight, row.effective_weight, row.contribution)
    if not all(map(math.isfinite, numbers)):
        yield f"signal {shown(row.signal)} has a number that is not finite"
    for number in numbers:
        if not 0 <= number <= 1 + TOLERANCE:
            yield f"signal {shown(row.signal)} has the number {number:g}, not one from 0 to 1"
