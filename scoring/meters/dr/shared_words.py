"""Level L1: which claims share most of their words with an earlier one."""

import math
from collections.abc import Iterable
from typing import TypeAlias

from scoring.meters import TOLERANCE, at_least, at_most

Tokens: TypeAlias = frozenset[str]

_CLAIMS_OF_A_BLOCK = 8192
"""How many claims one row of bits has; bounds the memory, which would grow with the square of the claims."""

_SLACK = 1e-6
"""How far bounds on whole numbers stay on the safe side of rounding."""


class TokenIndex:
    """The claims so far, to be asked whether one of them is as similar to another claim as ``threshold``.

    Similarity is the Jaccard index of the sets of tokens, and the index an inverted one: which claims have a token is a
    row of bits. Adding up the rows of a claim's tokens counts, for all claims of a block at once, how many tokens they
    share with it, so no two claims are compared one by one. A block that knows too few of the tokens for any claim in
    it to be similar enough is passed over.
    """

    def __init__(self, threshold: float) -> None:
        self._threshold = threshold
        self._least = threshold - TOLERANCE
        self._claims: set[Tokens] = set()
        self._blocks: list[tuple[dict[str, int], dict[int, int]]] = []
        """For each block: by token the claims that have it, and by number of tokens the claims of that size."""

    def add(self, tokens: Tokens) -> None:
        """Add a claim."""
        if tokens in self._claims:
            return
        place = len(self._claims) % _CLAIMS_OF_A_BLOCK
        if not place:
            self._blocks.append(({}, {}))
        self._claims.add(tokens)
        rows, sizes = self._blocks[-1]
        bit = 1 << place
        sizes[len(tokens)] = sizes.get(len(tokens), 0) | bit
        for token in tokens:
            rows[token] = rows.get(token, 0) | bit

    def has_similar(self, tokens: Tokens) -> bool:
        """Return whether a claim that was added is as similar to this one as the threshold, or more."""
        if tokens in self._claims:
            return True
        if at_most(self._threshold, 0):
            return bool(self._claims)
        size = len(tokens)
        fewest = max(1, math.ceil(self._least * size - _SLACK))  # similar claims share this share of either
        for rows, sizes in self._blocks:
            found = [row for token in tokens if (row := rows.get(token))]
            if len(found) < fewest:
                continue
            counts = _sum_of_rows(found)
            for other, claims in sizes.items():
                needed = self._needed(size + other)
                if needed <= min(len(found), other) and _any_at_least(needed, counts, claims):
                    return True
        return False

    def _needed(self, sizes: int) -> int:
        """Return how many tokens two claims of this size together must share to be similar enough."""
        shared = max(0, math.ceil(self._least / (1 + self._least) * sizes - _SLACK))
        while shared < sizes and not at_least(shared / (sizes - shared), self._threshold):
            shared += 1
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
    """Return whether one of some columns has a sum of at least this."""
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
    """Return for the normalised claims of each round which are new: less similar than ``threshold`` to all before."""
    index = TokenIndex(threshold)
    answers = []
    for claims in rounds:
        sets = [frozenset(claim.split()) for claim in claims]
        answers.append([not index.has_similar(tokens) for tokens in sets])
        for tokens in sets:
            index.add(tokens)
    return answers
