"""What each round says that no earlier one said: counts and rates per level, and classes (contract section 6).

A level is a way of telling whether two claims are the same: L0 by their normalised text, L1 by their words, L2 by their
meaning. A claim is new when every active level calls it so.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from scoring.meters.dr.meaning import Meanings
from scoring.meters.dr.similarity import new_by_words
from scoring.meters.dr.thresholds import DEFAULT, Level, Thresholds, novelty_level


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
    """Tell for the normalised claims of each round which were not seen in an earlier one: level L0."""
    seen: set[str] = set()
    answers = []
    for claims in rounds:
        answers.append([claim not in seen for claim in claims])
        seen.update(claims)
    return answers


def measure_novelty(
    numbers: Sequence[int],
    rounds: Sequence[Sequence[Claim]],
    k: int = 2,
    meanings: Meanings | None = None,
    thresholds: Thresholds = DEFAULT,
) -> tuple[RoundNovelty, ...]:
    """Return the novelty of each round; ``meanings`` turns on level L2."""
    texts = [[claim.normalized for claim in claims] for claims in rounds]
    answers = {"L0": new_by_text(texts), "L1": new_by_words(texts, thresholds.paraphrase)}
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
        raw_level = novelty_level(rate, thresholds)
        low_run = low_run + 1 if raw_level == "LOW" else 0
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
                level="MEDIUM" if 0 < low_run < k else raw_level,
            )
        )
    return tuple(measured)
