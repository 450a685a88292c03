"""Weights that foretell an outcome, learned by logistic regression. Needs the extra ``bench``."""

import math
import warnings
from collections.abc import Iterator, Mapping, Sequence

from scoring.grouping import lists_by_key
from scoring.outcomes.cases import Case
from scoring.prediction import AUC

FOLDS = 3
"""Blocks of time into which the sessions are cut to choose a penalty."""

PENALTIES = (0.01, 0.1, 1.0, 10.0)
"""Strengths of the data against the penalty (C of scikit-learn)."""

Weights = Mapping[str, float]


def chosen_weights(cases: Sequence[Case], names: Weights) -> Weights | None:
    """Return the weights that cases teach, under the penalty that foretells best within them.

    Returns None where the cases are all sound, all defective, or teach no weight above 0.
    """
    if not _has_both_outcomes(cases):
        return None

    best = max(PENALTIES, key=lambda penalty: (_worth(penalty, cases, names), -penalty))
    return fitted_weights(cases, names, best)


def _worth(penalty: float, cases: Sequence[Case], names: Weights) -> float:
    """Return the AUC of each block, foretold with a penalty from the blocks before it."""
    values: list[float] = []
    truths: list[float] = []
    for past, block in _blocks_in_time(cases):
        weights = fitted_weights(past, names, penalty)
        if weights is None:
            continue

        values += [_score(case, weights) for case in block]
        truths += [case.truth for case in block]

    return AUC.of(values, truths) or 0.0


def _blocks_in_time(cases: Sequence[Case]) -> Iterator[tuple[list[Case], list[Case]]]:
    """Yield each block of sessions but the first, after all that came before it."""
    in_order = sorted(cases, key=lambda case: case.iteration)
    sessions = lists_by_key((case.session, case) for case in in_order)

    blocks: list[list[Case]] = [[] for _ in range(FOLDS)]
    count = 0
    for session in sessions.values():
        blocks[min(FOLDS - 1, count * FOLDS // max(len(cases), 1))] += session
        count += len(session)

    for n in range(1, FOLDS):
        past = [case for block in blocks[:n] for case in block]
        if blocks[n] and _has_both_outcomes(past):
            yield past, blocks[n]


def _has_both_outcomes(cases: Sequence[Case]) -> bool:
    return len({bool(case.truth) for case in cases}) > 1


def fitted_weights(
    cases: Sequence[Case], names: Weights, penalty: float
) -> Weights | None:
    """Return weights above 0 with the sum 1; None without any.

    The signal that points the wrong way most is left out first, until none does.
    """
    from sklearn.linear_model import LogisticRegression

    columns: dict[str, list[float]] = {}
    for name in names:
        column = [case.signals.get(name) for case in cases]
        if len({value for value in column if value is not None}) > 1:
            columns[name] = _with_mean_for_absent(column)

    truths = [int(bool(case.truth)) for case in cases]
    while columns:
        model = LogisticRegression(C=penalty, solver="newton-cholesky")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(list(zip(*columns.values(), strict=True)), truths)

        weights = dict(zip(columns, map(float, model.coef_[0]), strict=True))
        worst = min(weights, key=lambda name: weights[name])
        if weights[worst] > 0:
            total = math.fsum(weights.values())
            return {name: weight / total for name, weight in weights.items()}
        del columns[worst]

    return None


def _with_mean_for_absent(column: Sequence[float | None]) -> list[float]:
    present = [value for value in column if value is not None]
    mean = math.fsum(present) / len(present)
    return [mean if value is None else value for value in column]


def _score(case: Case, weights: Weights) -> float:
    """Return the mean of the signals that are present; 0.5 without any."""
    present = {
        name: value for name in weights if (value := case.signals.get(name)) is not None
    }
    total = math.fsum(weights[name] for name in present)
    if not total:
        return 0.5
    return math.fsum(weights[name] * value for name, value in present.items()) / total
