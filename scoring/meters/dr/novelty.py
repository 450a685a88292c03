"""What is new in each round, by the text of claims (L0), their words (L1), their meaning (L2): counts and classes."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import NamedTuple

from scoring.meters import Level, at_least, at_most, novelty_level
from scoring.meters.dr.profile import DEFAULT, Profile
from scoring.meters.dr.semantic import Meanings


def new_by_words(rounds: Iterable[Iterable[str]], threshold: float) -> list[list[bool]]:
    """Return which normalised claims are new, by round: Jaccard index of words below ``threshold`` to all before."""
    earlier: list[frozenset[str]] = []
    known: set[frozenset[str]] = set()
    places = defaultdict[str, list[int]](list)

    def is_new(words: frozenset[str]) -> bool:
        if words in known or (known and at_most(threshold, 0)):
            return False
        shared = Counter(chain.from_iterable(places.get(word, ()) for word in words))
        alike = (both / (len(words) + len(earlier[place]) - both) for place, both in shared.items())
        return not any(at_least(similarity, threshold) for similarity in alike)

    answers = []
    for claims in rounds:
        sets = [frozenset(claim.split()) for claim in claims]
        answers.append([is_new(words) for words in sets])
        for words in sets:
            if words not in known:
                known.add(words)
                for word in words:
                    places[word].append(len(earlier))
                earlier.append(words)
    return answers


class Claim(NamedTuple):
    """A claim as written and as it is compared."""

    raw: str
    normalized: str


@dataclass(frozen=True, slots=True)
class RoundNovelty:
    """What one round adds to the rounds before."""

    round: int
    claims: int  # how many claims it makes, each counted once
    new_claims: int  # how many of them every active level calls new
    new: Mapping[str, int]  # how many of them each level calls new, by level
    rates: Mapping[
        str, float
    ]  # new claims over the most in any round so far (1 at least), by level
    rate: float  # the lowest of the rates
    raw: Level = "LOW"  # the class of the rate alone
    low_run: int = 0  # how many rounds in a row, up to this one, are LOW by their rate
    level: Level = "LOW"  # the class: LOW only when enough rounds in a row are, MEDIUM before that


def normalize(claim: str) -> str:
    """Return a claim as level L0 compares it: lower-case, single spaces, without ``.``, ``!``, ``?`` at the end."""
    return " ".join(claim.lower().split()).rstrip(".!?").strip()


def distinct(claims: Sequence[str]) -> tuple[Claim, ...]:
    """Return the claims of a round, the first of those that are the same; without those that say nothing."""
    found: dict[str, Claim] = {}
    for raw in claims:
        found.setdefault(normalize(raw), Claim(raw, normalize(raw)))
    return tuple(claim for text, claim in found.items() if text)


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
    meanings: Meanings | None = None,
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
    for i, (number, claims) in enumerate(zip(numbers, rounds, strict=True)):
        new = {level: sum(by_round[i]) for level, by_round in answers.items()}
        peaks = {level: max(peak, new[level]) for level, peak in peaks.items()}
        rates = {level: new[level] / peaks[level] for level in answers}
        by_all = sum(map(all, zip(*(by_round[i] for by_round in answers.values()), strict=True)))
        measured.append(RoundNovelty(number, len(claims), by_all, new, rates, min(rates.values())))
    return classed_anew(measured, profile)


def classed_anew(measured: Iterable[RoundNovelty], profile: Profile) -> tuple[RoundNovelty, ...]:
    """Return rounds that were measured with the classes that the k and the limits of novelty of a profile give them."""
    found = []
    low_run = 0
    for new in measured:
        raw = novelty_level(
            new.rate, profile.thresholds.novelty_high, profile.thresholds.novelty_low
        )
        low_run = low_run + 1 if raw == "LOW" else 0
        level: Level = "MEDIUM" if 0 < low_run < profile.k else raw
        found.append(replace(new, raw=raw, low_run=low_run, level=level))
    return tuple(found)
