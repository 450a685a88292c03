"""Level L1: whether a claim says in other words what an earlier one said, by the words they share.

The similarity of two claims is the Jaccard index of their sets of tokens. Comparing every claim with every earlier one
takes time that grows with the square of their number. Instead, the tokens of all claims have one order, the rare ones
first. Two claims that are similar enough share a token among the first few of both, for each leaves out few of its
tokens. Of the first token that they share there are two kinds:

- a rare one: an index names the few claims that have it, and those whose sizes fit are looked at one by one;
- a common one: then all that they share is common. Which claims hold a common token is a row of bits, and adding up the
  rows of a claim's tokens counts for all earlier claims at once how many they share.

Either way the tokens that are shared are counted, so the answer is that of comparing all pairs.
"""

import math
from collections import Counter
from collections.abc import Iterable
from typing import TypeAlias

from scoring.meters.dr.thresholds import TOLERANCE, at_least, at_most

Tokens: TypeAlias = frozenset[str]

_COMMON = 1 / 256
"""A token is common when more than this share of the claims has it."""

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
        sets = set(claims)
        counted = Counter(token for tokens in sets for token in tokens)
        self._rank = {token: i for i, token in enumerate(sorted(counted, key=lambda t: (counted[t], t)))}
        self._threshold = threshold
        self._least = threshold - TOLERANCE
        self._claims: dict[Tokens, int] = {}
        self._rows = {token: 0 for token, count in counted.items() if count > _COMMON * len(sets)}
        """For each common token a bit for every claim that has it."""
        self._sizes: dict[int, int] = {}
        """For each number of tokens a bit for every claim of that size."""
        self._places: dict[str, dict[tuple[int, int], list[Tokens]]] = {}
        """For each rare token the claims that have it among their first, by size and by its position."""
        self._needs: dict[int, int] = {}
        self.comparisons = 0
        """How many pairs were compared one by one so far."""

    def add(self, tokens: Tokens) -> None:
        """Add a claim."""
        if tokens in self._claims:
            return
        bit = 1 << len(self._claims)
        self._claims[tokens] = bit
        self._sizes[len(tokens)] = self._sizes.get(len(tokens), 0) | bit
        for token in tokens & self._rows.keys():
            self._rows[token] |= bit
        for position, token in self._first_rare(tokens):
            self._places.setdefault(token, {}).setdefault((len(tokens), position), []).append(tokens)

    def has_similar(self, tokens: Tokens) -> bool:
        """Tell whether a claim that was added is as similar to this one as the threshold, or more."""
        if tokens in self._claims:
            return True
        if at_most(self._threshold, 0):
            return bool(self._claims)
        return self._shares_rare(tokens) or self._shares_common(tokens)

    def _shares_rare(self, tokens: Tokens) -> bool:
        """Tell whether a claim is similar enough of those that have one of the first rare tokens."""
        size = len(tokens)
        for position, token in self._first_rare(tokens):
            for (other_size, place), found in self._places.get(token, {}).items():
                needed = self._needed(size + other_size)
                if min(size - position, other_size - place) < needed:
                    continue
                self.comparisons += len(found)
                if any(len(tokens & other) >= needed for other in found):
                    return True
        return False

    def _shares_common(self, tokens: Tokens) -> bool:
        """Tell whether a claim is similar enough by its common tokens alone."""
        common = tokens & self._rows.keys()
        fitting = [
            (needed, claims)
            for size, claims in self._sizes.items()
            if (needed := self._needed(len(tokens) + size)) <= min(len(common), size)
        ]
        if not fitting:
            return False
        counts = _sum_of_rows(self._rows[token] for token in common)
        return any(_any_at_least(needed, counts, claims) for needed, claims in fitting)

    def _first_rare(self, tokens: Tokens) -> list[tuple[int, str]]:
        """Return the rare ones, and their positions, of the first tokens of a claim.

        One of the first tokens is shared with every claim that is similar enough.
        """
        ordered = sorted(tokens, key=self._rank.__getitem__)
        shared_at_least = max(1, math.ceil(self._least * len(ordered) - _SLACK))
        first = enumerate(ordered[: len(ordered) - shared_at_least + 1])
        return [(position, token) for position, token in first if token not in self._rows]

    def _needed(self, sizes: int) -> int:
        """Return how many tokens two claims of this size together must share to be similar enough."""
        if (known := self._needs.get(sizes)) is not None:
            return known
        shared = max(0, math.ceil(self._least / (1 + self._least) * sizes - _SLACK))
        while shared < sizes and not at_least(shared / (sizes - shared), self._threshold):
            shared += 1
        self._needs[sizes] = shared
        return shared


def _sum_of_rows(rows: Iterable[int]) -> list[int]:
    """Add up rows of bits, column by column; the sums are written downwards, the lowest binary digit of all first."""
    digits: list[int] = []
    for row in rows:
        carry = row
        for i, digit in enumerate(digits):
            digits[i], carry = digit ^ carry, digit & carry
            if not carry:
                break
        if carry:
            digits.append(carry)
    return digits


def _any_at_least(least: int, digits: list[int], columns: int) -> bool:
    """Tell whether one of some columns has a sum of at least this."""
    if least >> len(digits):
        return False
    equal = columns
    for i in reversed(range(len(digits))):
        if least >> i & 1:
            equal &= digits[i]
        elif equal & digits[i]:
            return True
        if not equal:
            return False
    return True


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
