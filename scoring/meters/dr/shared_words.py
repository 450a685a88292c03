"""Level L1: which claims share most of their words with an earlier one.

Similarity is the Jaccard index of the sets of words. Which claims have a word is a row of bits; adding up the rows of a
claim's words counts, for many claims at once, how many words they share with it. Comparing it with each claim that has
one of its rarer words takes 30 times as long on 10,000 claims of a small vocabulary (7 s in place of 0.2 s).
"""

from collections.abc import Iterable

from scoring.meters import TOLERANCE, at_most, below

_CLAIMS_OF_A_BLOCK = 8192
"""How many claims one row of bits has; bounds the memory, which would grow with the square of the claims."""

_Block = tuple[dict[str, int], dict[int, int]]
"""By word the claims that have it, and by number of words the claims of that size, each as bits."""


def new_by_words(rounds: Iterable[Iterable[str]], threshold: float) -> list[list[bool]]:
    """Return for the normalised claims of each round which are new: less similar than ``threshold`` to all before."""
    earlier: set[frozenset[str]] = set()
    blocks: list[_Block] = []
    answers = []
    for claims in rounds:
        sets = [frozenset(claim.split()) for claim in claims]
        answers.append([words not in earlier and not _has_similar(words, blocks, threshold) for words in sets])
        for words in sets:
            if words in earlier:
                continue
            place = len(earlier) % _CLAIMS_OF_A_BLOCK
            if not place:
                blocks.append(({}, {}))
            earlier.add(words)
            rows, sizes = blocks[-1]
            sizes[len(words)] = sizes.get(len(words), 0) | 1 << place
            for word in words:
                rows[word] = rows.get(word, 0) | 1 << place
    return answers


def _has_similar(words: frozenset[str], blocks: Iterable[_Block], threshold: float) -> bool:
    """Return whether a claim in one of the blocks is as similar to these words as the threshold, or more."""
    least = threshold - TOLERANCE
    for rows, sizes in blocks:
        if at_most(threshold, 0):
            return True
        found = [row for word in words if (row := rows.get(word))]
        if not found or below(len(found) / len(words), threshold):
            continue
        counts = _sum_of_rows(found)
        for size, claims in sizes.items():
            both = len(words) + size
            shared = int(least / (1 + least) * both)
            while shared < both and below(shared / (both - shared), threshold):
                shared += 1
            if shared <= min(len(found), size) and _any_at_least(shared, counts, claims):
                return True
    return False


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
