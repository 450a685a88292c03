"""Weights that foretell an outcome best, by logistic regression (``docs/VALIDITY.md``, "Fitting weights")."""

import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rubric import Rubric, SignalSpec
from scoring.outcomes.validity import BY_DEGREES, LEAST_CASES, Case, OutcomeName
from scoring.statistics import GroupedDraws, Interval, auc

FOLDS = 5  # blocks of time into which the sessions are cut; each but the first is foretold from all before it
PENALTIES = (
    0.01,
    0.1,
    1.0,
    10.0,
)  # the strengths of the data against the penalty (C of scikit-learn)
_DECIMALS = 4

Weights = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Fit:
    """Proposed ``weights`` (above 0, sum 1; None when nothing was learnt), and the AUC ``before`` and ``after`` them.

    Both are of ``n`` iterations, foretold from older sessions only; ``interval`` is 95 % of ``gain``, by session.
    """

    outcome: OutcomeName
    weights: Weights | None
    penalty: float
    learnt: int
    n: int
    before: float | None
    after: float | None
    gain: float
    interval: Interval | None

    @property
    def holds(self) -> bool:
        """Whether the gain is more than chance gives: its interval lies above 0, and is of enough iterations."""
        return (
            bool(self.weights)
            and self.n >= LEAST_CASES
            and self.interval is not None
            and self.interval.low > 0
        )

    def as_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "outcome": self.outcome,
            "weights": dict(self.weights) if self.weights else None,
            "penalty": self.penalty,
            "learnt": self.learnt,
            "n": self.n,
            "auc": {"old": self.before, "new": self.after},
            "gain": self.gain,
            "interval": self.interval and list(self.interval),
            "holds": self.holds,
        }


def fit_weights(cases: Sequence[Case], rubric: Rubric, outcome: OutcomeName) -> Fit:
    """Fit weights to cases, and measure on newer sessions whether they are better. Needs scikit-learn."""
    old = {str(spec.id): spec.weight for spec in rubric.signals}
    known = [case for case in cases if any(case.signals.get(name) is not None for name in old)]
    if outcome in BY_DEGREES and known:
        middle = sorted(case.truth for case in known)[len(known) // 2]
        known = [replace(case, truth=float(case.truth >= middle)) for case in known]
    foretold: list[Case] = []
    before: list[float] = []
    after: list[float] = []
    for past, block in _in_time(known, FOLDS):
        weights = chosen_weights(past, old)[0] or old
        foretold += block
        before += [_score(case, old) for case in block]
        after += [_score(case, weights) for case in block]
    draws = GroupedDraws([case.session for case in foretold], [case.truth for case in foretold])
    gain, interval = draws.gain(before, after) if foretold else (0.0, None)
    found, sizes = chosen_weights(known, old), (len(known), len(foretold))
    return Fit(
        outcome, *found, *sizes, auc(before, draws.truths), auc(after, draws.truths), gain, interval
    )


def fitted_rubric(rubric: Rubric, fit: Fit) -> Rubric:
    """Return the rubric with the proposed weights; a signal with a weight of 0 is left out."""
    rounded = {name: round(weight, _DECIMALS) for name, weight in (fit.weights or {}).items()}
    rounded = {name: weight for name, weight in rounded.items() if weight > 0}
    most = max(rounded, key=lambda name: rounded[name])
    rounded[most] = round(
        1 - math.fsum(w for name, w in rounded.items() if name != most), _DECIMALS
    )
    specs = (
        replace(spec, weight=rounded[spec.id]) for spec in rubric.signals if spec.id in rounded
    )
    return replace(
        rubric, version=f"{rubric.version}-fit-{fit.outcome}", signals=tuple[SignalSpec, ...](specs)
    )


def _in_time(cases: Sequence[Case], folds: int) -> Iterator[tuple[list[Case], list[Case]]]:
    sessions: dict[str, list[Case]] = {}
    for case in sorted(cases, key=lambda case: case.iteration):
        sessions.setdefault(case.session, []).append(case)
    blocks: list[list[Case]] = [[] for _ in range(folds)]
    place = 0
    for found in sessions.values():
        blocks[min(folds - 1, place * folds // max(len(cases), 1))] += found
        place += len(found)
    for n in range(1, folds):
        past = [case for block in blocks[:n] for case in block]
        if blocks[n] and _both(past):
            yield past, blocks[n]


def _both(cases: Sequence[Case]) -> bool:
    return len({bool(case.truth) for case in cases}) > 1


def chosen_weights(cases: Sequence[Case], names: Weights) -> tuple[Weights | None, float]:
    """Return the weights that cases teach, under the penalty that foretells best within them, and that penalty."""
    if not _both(cases):
        return None, PENALTIES[0]
    worth: dict[float, float] = {}
    for penalty in PENALTIES:
        fits = (
            (fitted_weights(past, names, penalty), block)
            for past, block in _in_time(cases, FOLDS - 2)
        )
        foretold = [
            (_score(case, weights), case.truth)
            for weights, block in fits
            if weights
            for case in block
        ]
        worth[penalty] = (
            auc([value for value, _ in foretold], [truth for _, truth in foretold]) or 0.0
        )
    best = max(PENALTIES, key=lambda penalty: (worth[penalty], -penalty))
    return fitted_weights(cases, names, best), best


def fitted_weights(cases: Sequence[Case], names: Weights, penalty: float) -> Weights | None:
    """Return weights above 0 with sum 1, None without any; the signal that points the wrong way most goes first."""
    from sklearn.linear_model import LogisticRegression  # takes longer to load than all of da-score

    given = {name: [case.signals.get(name) for case in cases] for name in names}
    used = {
        name: column
        for name, column in given.items()
        if len({v for v in column if v is not None}) > 1
    }
    truths = [int(bool(case.truth)) for case in cases]
    while used:
        columns = [_filled(column) for column in used.values()]
        model = LogisticRegression(C=penalty, solver="newton-cholesky")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(list(zip(*columns, strict=True)), truths)
        found = dict(zip(used, map(float, model.coef_[0]), strict=True))
        worst = min(found, key=lambda name: found[name])
        if found[worst] > 0:
            whole = math.fsum(found.values())
            return {name: value / whole for name, value in found.items()}
        del used[worst]
    return None


def _filled(column: Sequence[float | None]) -> list[float]:
    there = [value for value in column if value is not None]
    mean = math.fsum(there) / len(there)
    return [mean if value is None else value for value in column]


def _score(case: Case, weights: Weights) -> float:
    there = [(weight, case.signals.get(name)) for name, weight in weights.items()]
    present = [(weight, value) for weight, value in there if value is not None]
    whole = math.fsum(weight for weight, _ in present)
    return math.fsum(weight * value for weight, value in present) / whole if whole else 0.5
