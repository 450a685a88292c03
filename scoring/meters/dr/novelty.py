"""What each round says that no earlier one said: counts and rates per level, and classes.

A level is a way of telling whether two claims are the same: L0 by their normalised text, L1 by the words they share, L2
by their meaning. A claim is new when every active level calls it so.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from scoring.errors import SettingsError, installing
from scoring.meters import TOLERANCE, Level, at_least, at_most, novelty_level
from scoring.meters.dr.profile import DEFAULT, Profile

Tokens: TypeAlias = frozenset[str]

_CLAIMS_OF_A_BLOCK = 8192
"""How many claims one row of bits holds: bounds the memory, which else grows with the square of the claims."""

_VECTORS_OF_A_BLOCK = 2048
"""How many vectors are compared with as many others at a time; bounds the memory."""

_SLACK = 1e-6
"""How far bounds on whole numbers stay on the safe side of rounding."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim as written and as it is compared."""

    raw: str
    normalized: str


@dataclass(frozen=True, slots=True)
class RoundNovelty:
    """What one round adds to the rounds before."""

    round: int
    claims: int
    """How many claims it makes, each counted once."""
    new_claims: int
    """How many of them every active level calls new."""
    new: Mapping[str, int]
    """How many of them each level calls new, by level."""
    rates: Mapping[str, float]
    """New claims over the largest number of them in any round up to this one (1 at least), by level."""
    rate: float
    """The lowest of the rates."""
    raw: Level
    """The class of the rate alone."""
    low_run: int
    """How many rounds in a row, up to this one, are LOW by their rate."""
    level: Level
    """The class: LOW only when enough rounds in a row are, MEDIUM before that."""


def normalize(claim: str) -> str:
    """Return a claim as level L0 compares it: lower-case, single spaces, without ``.``, ``!``, ``?`` at the end."""
    return " ".join(claim.lower().split()).rstrip(".!?").strip()


def distinct(claims: Sequence[str]) -> tuple[Claim, ...]:
    """Return the claims of a round, the first of those that are the same; without those that say nothing."""
    found: dict[str, Claim] = {}
    for raw in claims:
        normalized = normalize(raw)
        if normalized and normalized not in found:
            found[normalized] = Claim(raw, normalized)
    return tuple(found.values())


def new_by_text(rounds: Sequence[Sequence[str]]) -> list[list[bool]]:
    """Return for the normalised claims of each round which were not seen in an earlier one: level L0."""
    seen: set[str] = set()
    answers = []
    for claims in rounds:
        answers.append([claim not in seen for claim in claims])
        seen.update(claims)
    return answers


def measure_novelty(
    numbers: Sequence[int],
    rounds: Sequence[Sequence[Claim]],
    profile: Profile = DEFAULT,
    meanings: "Meanings | None" = None,
) -> tuple[RoundNovelty, ...]:
    """Return the novelty of each round; ``meanings`` turns on level L2."""
    thresholds = profile.thresholds
    texts = [[claim.normalized for claim in claims] for claims in rounds]
    answers = {}
    if "L0" in profile.levels:
        answers["L0"] = new_by_text(texts)
    if "L1" in profile.levels:
        answers["L1"] = new_by_words(texts, thresholds.paraphrase)
    if meanings is not None:
        raw = [[claim.raw for claim in claims] for claims in rounds]
        answers["L2"] = meanings.new_claims(raw, thresholds.semantic)
    peaks = dict.fromkeys(answers, 1)
    measured = []
    low_run = 0
    for i, (number, claims) in enumerate(zip(numbers, rounds, strict=True)):
        new = {level: sum(by_round[i]) for level, by_round in answers.items()}
        peaks = {level: max(peak, new[level]) for level, peak in peaks.items()}
        rates = {level: new[level] / peaks[level] for level in answers}
        rate = min(rates.values())
        raw_level, low_run, level_in_run = _classes(rate, low_run, profile)
        measured.append(
            RoundNovelty(
                round=number,
                claims=len(claims),
                new_claims=sum(map(all, zip(*(by_round[i] for by_round in answers.values()), strict=True))),
                new=new,
                rates=rates,
                rate=rate,
                raw=raw_level,
                low_run=low_run,
                level=level_in_run,
            )
        )
    return tuple(measured)


def _classes(rate: float, low_before: int, profile: Profile) -> tuple[Level, int, Level]:
    """Return the class of a rate, how many rounds in a row are LOW with this one, and the class that counts."""
    raw = novelty_level(rate, profile.thresholds.novelty_high, profile.thresholds.novelty_low)
    low_run = low_before + 1 if raw == "LOW" else 0
    return raw, low_run, "MEDIUM" if 0 < low_run < profile.k else raw


def classed_anew(measured: Iterable[RoundNovelty], profile: Profile) -> tuple[RoundNovelty, ...]:
    """Return rounds that were measured with the classes that another k and other limits of novelty give them."""
    found = []
    low_run = 0
    for new in measured:
        raw, low_run, level = _classes(new.rate, low_run, profile)
        found.append(replace(new, raw=raw, low_run=low_run, level=level))
    return tuple(found)


# Level L1: the words that two claims share


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
        self._needs: dict[int, int] = {}

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


# Level L2: the angle between the vectors of two claims


class Meanings:
    """The vectors of some texts, each of length 1; whatever an embedder gives. Needs numpy, an extra."""

    def __init__(self, texts: Iterable[str], embed: Callable[[Sequence[str]], Sequence[Sequence[float]]]) -> None:
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
