"""How a candidate is tried: within repositories, by session, at one size, and against chance.

For :mod:`benchmarks.foretelling`. Repositories are never mixed: a case is compared only with cases
of its own, because what differs between repositories is not what differs between good and bad work.
Everything is seeded.
"""

import math
import random
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from msgspec.structs import replace

from benchmarks.weights import Weights, chosen_weights
from scoring.grouping import lists_by_key
from scoring.outcomes.cases import Case
from scoring.prediction import Foretold, GroupedDraws
from scoring.statistics import DRAWS, SEED

SHUFFLES = 10_000
"""How often outcomes are shuffled to see what chance does."""

LIKE = 2
"""Two cases are of one size when neither added more than so many times the lines of the other."""

Figures = Mapping[int, float | None]
"""A figure of each iteration; None, or missing, where there is none."""

_Array = Any


class Cases:
    """The cases of one part of a repository, with draws and shuffles that all candidates share."""

    def __init__(self, cases: Sequence[Case], shuffles: int = SHUFFLES) -> None:
        self.cases, self.shuffles = list(cases), shuffles
        self.sound = np.array([bool(case.truth) for case in self.cases], dtype=bool)
        lines = np.array([case.lines_added for case in self.cases], dtype=float)
        self.alike = np.maximum.outer(lines, lines) <= LIKE * np.minimum.outer(
            lines, lines
        )
        sessions = lists_by_key((case.session, n) for n, case in enumerate(self.cases))
        self._blocks = list(sessions.values())

    @cached_property
    def weights(self) -> _Array:
        """Return how often each case is in each draw of whole sessions."""
        source, count = random.Random(SEED), len(self._blocks)
        whose = np.zeros(len(self.cases), dtype=int)
        for n, block in enumerate(self._blocks):
            whose[block] = n
        drawn = np.array(
            [
                np.bincount(source.choices(range(count), k=count), minlength=count)
                for _ in range(DRAWS)
            ]
        )
        return drawn[:, whose].astype(float)

    @cached_property
    def shuffled(self) -> _Array:
        """Return the outcomes shuffled by whole sessions, so that those of one stay together."""
        source, found = random.Random(SEED + 1), []
        order = np.concatenate(self._blocks)
        for _ in range(self.shuffles):
            blocks = self._blocks[:]
            source.shuffle(blocks)
            row = np.empty(len(self.cases), dtype=np.float32)
            row[order] = self.sound[np.concatenate(blocks)]
            found.append(row)
        return np.array(found)


Sample = Sequence[tuple[Cases, Figures]]
"""The cases of each repository, with a figure for each."""


def foretold(sample: Sample, alike: bool = False) -> Foretold:
    """Return the AUC within repositories, all pairs counting alike, with its interval by session.

    With ``alike`` only pairs of cases of one size are compared.
    """
    count, tops, wholes, top, whole = 0, np.zeros(DRAWS), np.zeros(DRAWS), 0.0, 0.0
    for of, figures in sample:
        there = [
            n
            for n, case in enumerate(of.cases)
            if figures.get(case.iteration) is not None
        ]
        values = np.array([figures[of.cases[n].iteration] for n in there], dtype=float)
        good, bad = of.sound[there], ~of.sound[there]
        if not good.any() or not bad.any():
            continue
        count += len(there)
        a, b = values[good][:, None], values[bad][None, :]
        pairs = (
            of.alike[np.ix_(there, there)][good][:, bad].astype(float)
            if alike
            else np.ones((good.sum(), bad.sum()))
        )
        wins = ((a > b) + (a == b) / 2) * pairs
        top, whole = top + wins.sum(), whole + pairs.sum()
        weights = of.weights[:, there]
        tops += ((weights[:, good] @ wins) * weights[:, bad]).sum(axis=1)
        wholes += ((weights[:, good] @ pairs) * weights[:, bad]).sum(axis=1)
    if not whole:
        return Foretold(count, None, None)
    drawn = [
        float(above / of_all)
        for above, of_all in zip(tops, wholes, strict=True)
        if of_all
    ]
    return Foretold(count, float(top / whole), GroupedDraws.interval(drawn))


def chance_of(sample: Sample) -> float | None:
    """Return the p value: how often shuffled outcomes are foretold as clearly as the real ones."""
    count = min(of.shuffles for of, _ in sample)
    tops, wholes, top, whole = np.zeros(count), np.zeros(count), 0.0, 0.0
    for of, figures in sample:
        there = [
            n
            for n, case in enumerate(of.cases)
            if figures.get(case.iteration) is not None
        ]
        if not there:
            continue
        ranks = _ranks(
            np.array([figures[of.cases[n].iteration] for n in there], dtype=float)
        )
        for rows in (
            of.shuffled[:count, there],
            of.sound[there].astype(float)[None, :],
        ):
            good = rows.sum(axis=1)
            above, pairs = (
                rows @ ranks - good * (good + 1) / 2,
                good * (len(there) - good),
            )
            if len(rows) > 1:
                tops, wholes = tops + above, wholes + pairs
            else:
                top, whole = top + float(above[0]), whole + float(pairs[0])
    if not whole:
        return None
    drawn = np.divide(tops, wholes, out=np.full(count, 0.5), where=wholes > 0)
    far = abs(top / whole - 0.5) - 1e-6  # of sums in single precision
    return float((1 + (abs(drawn - 0.5) >= far).sum()) / (1 + count))


def _ranks(values: _Array) -> _Array:
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    below = np.cumsum(count) - count
    return (below + (count + 1) / 2)[place]


def holm(chances: Mapping[str, float], level: float = 0.05) -> list[str]:
    """Return which figures are clear at a level, corrected for how many were tried (Holm, 1979)."""
    order = sorted(chances, key=lambda name: chances[name])
    found: list[str] = []
    for n, name in enumerate(order):
        if chances[name] > level / (len(order) - n):
            break
        found.append(name)
    return found


class Combination(NamedTuple):
    """Candidates that are weighed together, each with +1 where more should go with sound work."""

    name: str
    signs: Mapping[str, int]


Candidates = Mapping[int, Mapping[str, float | None]]
"""The figures of each iteration, by name."""


def ranked(
    combination: Combination,
    cases: Sequence[Case],
    among: Sequence[Case],
    candidates: Candidates,
) -> list[Case]:
    """Return cases with the candidates of a combination as signals from 0 to 1.

    Each is taken by its rank ``among`` some cases of its repository; an unknown one is taken for
    the middle.
    """
    known = {
        name: np.sort(
            [
                v
                for case in among
                if (v := candidates[case.iteration].get(name)) is not None
            ]
        )
        for name in combination.signs
    }

    def one(case: Case) -> dict[str, float | None]:
        row: dict[str, float | None] = {}
        for name, sign in combination.signs.items():
            value, order, rank = candidates[case.iteration].get(name), known[name], 0.5
            if value is not None and len(order):
                rank = (
                    float(
                        np.searchsorted(order, value)
                        + np.searchsorted(order, value, "right")
                    )
                    / 2
                    / len(order)
                )
            row[name] = rank if sign > 0 else 1 - rank
        return row

    return [replace(case, signals=one(case)) for case in cases]


def learned(cases: Sequence[Case], combination: Combination) -> Weights:
    """Return the weights of a logistic regression on ranked cases, none below 0."""
    return chosen_weights(cases, dict.fromkeys(combination.signs, 1.0)) or {}


def weighed(cases: Sequence[Case], weights: Weights) -> Figures:
    """Return what ranked cases come to under some weights."""
    return {
        case.iteration: math.fsum(
            weight * (case.signals.get(name) or 0.0) for name, weight in weights.items()
        )
        for case in cases
    }


def of_words(
    past: Sequence[Case], cases: Sequence[Case], said: Mapping[int, str]
) -> Figures:
    """Return what words foretell, by a logistic regression on TF-IDF trained on ``past``."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression

    words = TfidfVectorizer(
        token_pattern=r"[A-Za-z_]{3,}", min_df=3, max_features=3000, sublinear_tf=True
    )
    rows = words.fit_transform([said.get(case.iteration, "") for case in past])
    model = LogisticRegression(
        C=1.0, class_weight="balanced", max_iter=1000, solver="liblinear"
    )
    model.fit(rows, [int(bool(case.truth)) for case in past])
    found = model.decision_function(
        words.transform([said.get(case.iteration, "") for case in cases])
    )
    return {
        case.iteration: round(float(value), 9)
        for case, value in zip(cases, found, strict=True)
    }


def forest(
    past: Sequence[Case], cases: Sequence[Case], candidates: Candidates
) -> Figures:
    """Return what a random forest foretells from all candidates, learned from ``past`` alone."""
    from sklearn.ensemble import RandomForestClassifier

    names = list(
        dict.fromkeys(name for case in past for name in candidates[case.iteration])
    )

    def rows(of: Sequence[Case]) -> list[list[float]]:
        found = [
            [candidates[case.iteration].get(name) for name in names] for case in of
        ]
        return [
            [-1.0 if value is None else float(value) for value in row] for row in found
        ]

    model = RandomForestClassifier(
        500, min_samples_leaf=5, class_weight="balanced", random_state=SEED % 2**31
    )
    model.fit(rows(past), [int(bool(case.truth)) for case in past])
    place = list(model.classes_).index(1)
    found = model.predict_proba(rows(cases))[:, place]
    return {
        case.iteration: round(float(value), 9)
        for case, value in zip(cases, found, strict=True)
    }


def needed(auc: float, sound_per_defective: float, design: float = 1.0) -> int:
    """Return how many defective cases it takes to see an AUC above a half with 80 % power.

    The variance is that of Hanley and McNeil (1982) times ``design``, by which sessions make it
    larger.
    """
    z = 1.959964 + 0.841621
    for count in range(5, 100_000):
        if (
            auc
            - z * math.sqrt(design * variance(auc, count, count * sound_per_defective))
            > 0.5
        ):
            return count
    return 100_000


def variance(auc: float, defective: float, sound: float) -> float:
    """Return the variance of an AUC over independent cases, as Hanley and McNeil (1982) have it."""
    one, two = auc / (2 - auc), 2 * auc * auc / (1 + auc)
    rest = (defective - 1) * (one - auc * auc) + (sound - 1) * (two - auc * auc)
    return (auc * (1 - auc) + rest) / (defective * sound)
