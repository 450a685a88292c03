"""Level L1: whether a claim says in other words what an earlier one said, by the words they share.

The similarity of two claims is the Jaccard index of their sets of tokens. Comparing every claim with every earlier one
takes time that grows with the square of their number, so an index names the few claims that can be similar enough:

- the tokens of all claims have one order, the rare ones first;
- two claims that are similar enough share a token among the first few of both, for each leaves out few of its tokens;
- at the first token that they share, enough of both must be left, which their sizes and its positions tell;
- a few bits for each claim tell without looking closer that two share too little.

What the index names is compared exactly, so the answer is that of comparing all pairs.
"""

import math
from collections import Counter
from collections.abc import Iterable
from typing import TypeAlias

from scoring.convergence.thresholds import TOLERANCE, at_least, at_most

Tokens: TypeAlias = frozenset[str]

_MARKS = 256
"""Bits that a claim is marked with."""

_SLACK = 1e-6
"""How far bounds on whole numbers stay on the safe side of rounding."""


def tokens_of(normalized: str) -> Tokens:
    """Return the tokens of a normalised claim."""
    return frozenset(normalized.split())


def jaccard(a: Tokens, b: Tokens) -> float:
    """Return the similarity of two sets of tokens, from 0 to 1; that of two empty ones is 1."""
    shared = len(a & b)
    union = len(a) + len(b) - shared
    return shared / union if union else 1.0


class TokenIndex:
    """The claims so far, to be asked whether one of them is as similar to another claim as ``threshold``."""

    def __init__(self, threshold: float, claims: Iterable[Tokens]) -> None:
        """Order the tokens of all claims that will ever be added or asked about."""
        counted = Counter(token for tokens in claims for token in tokens)
        self._rank = {token: i for i, token in enumerate(sorted(counted, key=lambda t: (counted[t], t)))}
        self._threshold = threshold
        self._least = threshold - TOLERANCE
        self._claims: set[Tokens] = set()
        self._places: dict[str, dict[tuple[int, int], list[tuple[int, Tokens]]]] = {}
        self.comparisons = 0
        """How many pairs were compared so far."""

    def add(self, tokens: Tokens) -> None:
        """Add a claim."""
        if tokens in self._claims:
            return
        self._claims.add(tokens)
        entry = self._marks(tokens), tokens
        for position, token in enumerate(self._first(tokens)):
            self._places.setdefault(token, {}).setdefault((len(tokens), position), []).append(entry)

    def has_similar(self, tokens: Tokens) -> bool:
        """Tell whether a claim that was added is as similar to this one as the threshold, or more."""
        if tokens in self._claims:
            return True
        if at_most(self._threshold, 0):
            return bool(self._claims)
        size, marks = len(tokens), self._marks(tokens)
        unmarked = size - marks.bit_count()
        for position, token in enumerate(self._first(tokens)):
            for (other_size, place), found in self._places.get(token, {}).items():
                needed = self._needed(size + other_size)
                if min(size - position, other_size - place) < needed:
                    continue
                self.comparisons += len(found)
                for others_marks, other in found:
                    if (marks & others_marks).bit_count() + unmarked >= needed and at_least(
                        jaccard(tokens, other), self._threshold
                    ):
                        return True
        return False

    def _marks(self, tokens: Tokens) -> int:
        """Return a number with a bit for each token, several of which may have the same.

        Two claims share at most as many tokens as their numbers share bits, plus the tokens of one without a bit of
        their own.
        """
        marks = 0
        for token in tokens:
            marks |= 1 << (self._rank[token] % _MARKS)
        return marks

    def _first(self, tokens: Tokens) -> list[str]:
        """Return the tokens of a claim of which one is shared with every claim that is similar enough."""
        ordered = sorted(tokens, key=self._rank.__getitem__)
        shared_at_least = max(1, math.ceil(self._least * len(ordered) - _SLACK))
        return ordered[: len(ordered) - shared_at_least + 1]

    def _needed(self, sizes: int) -> int:
        """Return how many tokens two claims of this size together must share."""
        return math.ceil(self._least / (1 + self._least) * sizes - _SLACK)


def new_by_words(rounds: Iterable[Iterable[str]], threshold: float) -> list[list[bool]]:
    """Tell for the normalised claims of each round which are new: less similar than ``threshold`` to all before it."""
    sets = [[tokens_of(claim) for claim in claims] for claims in rounds]
    index = TokenIndex(threshold, (tokens for claims in sets for tokens in claims))
    answers = []
    for claims in sets:
        answers.append([not index.has_similar(tokens) for tokens in claims])
        for tokens in claims:
            index.add(tokens)
    return answers
