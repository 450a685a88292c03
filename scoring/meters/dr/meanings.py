"""Level L2: how close texts are in meaning, by the angle between the vectors that an embedder gives them."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

from scoring.errors import SettingsError, installing
from scoring.meters import at_least

Embed: TypeAlias = Callable[[Sequence[str]], Sequence[Sequence[float]]]
"""Turns texts into vectors of one length, one for each text; they need not be of length 1."""

_VECTORS_OF_A_BLOCK = 2048
"""How many vectors are compared with as many others at a time; bounds the memory."""


class Meanings:
    """The vectors of some texts, scaled to length 1. Needs numpy, an extra."""

    def __init__(self, texts: Iterable[str], embed: Embed) -> None:
        """Embed every text once; SettingsError without numpy, ValueError without a finite vector for each text."""
        try:
            import numpy as np
        except ImportError:
            raise SettingsError(f"level L2 needs numpy, of the extra 'semantic': {installing('semantic')}") from None
        self._np = np
        unique = list(dict.fromkeys(texts))
        self._row = {text: i for i, text in enumerate(unique)}
        vectors = np.asarray(embed(unique) if unique else np.zeros((0, 1)), dtype=np.float64)
        if vectors.ndim != 2 or len(vectors) != len(unique) or not np.isfinite(vectors).all():
            raise ValueError(f"the embedder gave no vector of finite numbers for each of {len(unique)} texts")
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        self._vectors = vectors / np.where(lengths == 0, 1, lengths)

    def of(self, texts: Sequence[str]) -> Any:
        """Return the vectors of some of the texts, a row each."""
        return self._vectors[[self._row[text] for text in texts]]

    def new_claims(self, rounds: Sequence[Sequence[str]], threshold: float) -> list[list[bool]]:
        """Return for the claims of each round which are new: below ``threshold`` to all of the rounds before."""
        answers: list[list[bool]] = []
        earlier: dict[str, None] = {}
        for claims in rounds:
            best = self._best(claims, list(earlier))
            answers.append([not earlier or not at_least(similarity, threshold) for similarity in best])
            earlier.update(dict.fromkeys(claims))
        return answers

    def _best(self, claims: Sequence[str], earlier: Sequence[str]) -> list[float]:
        """Return the highest similarity of each claim to any earlier one; -1 when there is none."""
        best = self._np.full(len(claims), -1.0)
        step = _VECTORS_OF_A_BLOCK
        for start in range(0, len(claims), step):
            here, part = self.of(claims[start : start + step]), best[start : start + step]
            for from_ in range(0, len(earlier), step):
                there = self.of(earlier[from_ : from_ + step])
                self._np.maximum(part, (here @ there.T).max(axis=1), out=part)
        return [float(value) for value in best]

    def alike(self, one: Sequence[str], other: Sequence[str]) -> float | None:
        """Return the cosine of the mean vectors of two groups of texts, -1 to 1; None when one group is empty."""
        if not one or not other:
            return None
        a, b = self.of(one).mean(axis=0), self.of(other).mean(axis=0)
        lengths = float(self._np.linalg.norm(a) * self._np.linalg.norm(b))
        return min(1.0, max(-1.0, float(a @ b) / lengths)) if lengths else 0.0
