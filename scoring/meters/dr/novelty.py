"""What each round adds to the rounds before it: counts, rates and classes.

A level is a way to tell whether a claim is new: L0 compares its text, L1 its words, L2 its meaning.
"""

from collections.abc import Collection, Iterable, Set

from msgspec.structs import replace

from scoring.frozen import Frozen
from scoring.meters import Level, at_least, novelty_level

from .profile import Profile
from .semantic import Meanings

Claims = dict[str, str]
"""The claims of a round: by the form that level L0 compares, the first spelling of each."""


class RoundNovelty(Frozen):
    """What one round adds to the rounds before it.

    Attributes:
        round: the number of the round.
        claims: how many claims the round makes, each counted once.
        new_claims: how many of its claims every active level calls new.
        new: how many of its claims each level calls new, by level.
        rates: for each level, the new claims of this round as a share of the most new claims of any
            round up to this one, 0 to 1.
        rate: the lowest of the rates.
        raw: the class of the rate alone.
        low_run: how many rounds in a row, this one included, are LOW by their rate.
        level: the class. LOW only when ``k`` rounds in a row are LOW by their rate, and MEDIUM
            until then.
    """

    round: int
    claims: int
    new_claims: int
    new: dict[str, int]
    rates: dict[str, float]
    rate: float
    raw: Level = "LOW"
    low_run: int = 0
    level: Level = "LOW"


def normalize(claim: str) -> str:
    """Return a claim as level L0 compares it.

    It is in lower case, with single spaces, and without ``.``, ``!`` and ``?`` at the end.
    """
    return " ".join(claim.lower().split()).rstrip(".!?").strip()


def distinct(claims: Iterable[str]) -> Claims:
    """Return the claims of a round by their normalized form, in order, without empty ones."""
    spellings: Claims = {}
    for claim in claims:
        text = normalize(claim)
        if text:
            spellings.setdefault(text, claim)
    return spellings


def measure_novelty(
    rounds: dict[int, Claims],
    profile: Profile,
    meanings: Meanings | None,
) -> tuple[RoundNovelty, ...]:
    """Return the novelty of each round.

    Args:
        rounds: the claims of each round by its number, in order.
        profile: which levels count, and where classes begin.
        meanings: the vectors of all claims, which turn on level L2; None leaves L2 out.
    """
    answers = _new_by_level(rounds, profile, meanings)

    most_new = dict.fromkeys(answers, 1)
    measured = []
    for index, (number, claims) in enumerate(rounds.items()):
        new: dict[str, int] = {}
        rates: dict[str, float] = {}
        for level, by_round in answers.items():
            new[level] = sum(by_round[index])
            most_new[level] = max(most_new[level], new[level])
            rates[level] = new[level] / most_new[level]

        flags_by_claim = zip(
            *[by_round[index] for by_round in answers.values()], strict=True
        )
        novelty = RoundNovelty(
            round=number,
            claims=len(claims),
            new_claims=sum(map(all, flags_by_claim)),
            new=new,
            rates=rates,
            rate=min(rates.values()),
        )
        measured.append(novelty)

    return classify(measured, profile)


def _new_by_level(
    rounds: dict[int, Claims], profile: Profile, meanings: Meanings | None
) -> dict[str, list[list[bool]]]:
    """Return, for each active level and each round, whether each claim is new."""
    thresholds = profile.thresholds
    texts = [list(claims) for claims in rounds.values()]

    answers = {}
    if "L0" in profile.levels:
        answers["L0"] = new_by_text(texts)
    if "L1" in profile.levels:
        answers["L1"] = new_by_words(texts, thresholds.paraphrase)
    if meanings is not None:
        spellings = [list(claims.values()) for claims in rounds.values()]
        answers["L2"] = meanings.new_claims(spellings, thresholds.semantic)
    return answers


def new_by_text(rounds: list[list[str]]) -> list[list[bool]]:
    """Return for each round whether each normalized claim is in no earlier round: level L0."""
    earlier = set()
    answers = []
    for claims in rounds:
        answers.append([claim not in earlier for claim in claims])
        earlier.update(claims)
    return answers


def new_by_words(rounds: Iterable[Iterable[str]], threshold: float) -> list[list[bool]]:
    """Return for each round whether each normalized claim is new by its words: level L1.

    Args:
        rounds: the normalized claims of each round.
        threshold: a claim is not new when the Jaccard index of its words and the words of any claim
            of an earlier round is at least this.
    """
    earlier: set[frozenset[str]] = set()
    answers = []
    for claims in rounds:
        word_sets = [frozenset(claim.split()) for claim in claims]
        answers.append([_is_new(words, earlier, threshold) for words in word_sets])
        earlier.update(word_sets)
    return answers


def _is_new(
    words: frozenset[str], earlier: Collection[frozenset[str]], threshold: float
) -> bool:
    """Return whether the words of a claim are less similar than a threshold to all earlier ones."""
    if words in earlier:
        return False
    return not any(at_least(jaccard(words, other), threshold) for other in earlier)


def jaccard(first: Set[str], second: Set[str]) -> float:
    """Return the Jaccard index of two sets of words, 0 to 1; 0 for two empty sets."""
    return len(first & second) / max(1, len(first | second))


def classify(
    measured: Iterable[RoundNovelty], profile: Profile
) -> tuple[RoundNovelty, ...]:
    """Return rounds with the classes that the ``k`` and the novelty limits of a profile give them.

    Only the rates count, so rounds that have classes already can be classified again.

    Args:
        measured: all rounds, in order.
        profile: what the meter goes by.
    """
    limits = profile.thresholds
    classified = []
    low_run = 0
    for novelty in measured:
        raw = novelty_level(novelty.rate, limits.novelty_high, limits.novelty_low)
        if raw == "LOW":
            low_run += 1
        else:
            low_run = 0

        level: Level = raw
        if 0 < low_run < profile.k:
            level = "MEDIUM"
        classified.append(replace(novelty, raw=raw, low_run=low_run, level=level))
    return tuple(classified)
