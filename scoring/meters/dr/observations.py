"""What is only shown of a deliberation, and never changes the signal: docs/DIMINISHING_RETURNS.md, "Observations"."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from typing import Any, Literal, NamedTuple, TypeAlias

from scoring.errors import InputError
from scoring.meters import at_least, rounded
from scoring.meters.dr import DRResult, score_transcript
from scoring.meters.dr.extraction import sentences_of
from scoring.meters.dr.novelty import classed_anew, normalize
from scoring.meters.dr.profile import BUILT_IN, DEFAULT, Profile, Words
from scoring.meters.dr.readiness import has_word, plain
from scoring.meters.dr.recommendation import recommend, summary_of
from scoring.meters.dr.semantic import Embed, Meanings
from scoring.meters.dr.transcript import Round, Transcript
from scoring.text import printable

CHANGES = (  # words by which an answer changes something, though it repeats much
    *(
        "instead",
        "however",
        "rather than",
        "disagree",
        "disagrees",
        "not agree",
        "not enough",
        "replace",
        "except",
    ),
    *("unless", "on the contrary", "wrong", "drop", "change", "no longer", "don't agree"),
)
AGREEING = (
    "agree",
    "agrees",
    "agreed",
    "yes",
    "exactly",
    "sounds good",
    "good point",
    "makes sense",
    "+1",
    "right",
)
NEGATIONS = frozenset(("not", "no", "never", "none", "neither", "nor", "cannot", "without"))
NUMBERS = frozenset(("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"))
AGREEMENT_LENGTH = 6  # a sentence of agreement of so many words at most says nothing else
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
K_STEP, PARAPHRASE_STEP, LOW_STEP, READY_STEP = (
    1,
    0.1,
    0.05,
    0.05,
)  # how far the neighbouring settings are away


Agreeing: TypeAlias = Literal["modify", "endorse", "rephrase"]  # to endorse may add a little


class RoundAgreement(NamedTuple):
    """What an agent's answer does with that of the first."""

    round: int
    agent: str
    first: str  # the agent that answered before
    agreement: Agreeing


def agreement_by_round(transcript: Transcript, profile: Profile = DEFAULT) -> list[RoundAgreement]:
    """Compare each agent's answer with that of the first of its round, or the latest of another agent, by claims."""
    found: list[RoundAgreement] = []
    before: dict[str, list[str]] = {}  # what agents said last, the latest at the end
    for given in transcript.rounds:
        own = {given.agent: list(given.outputs.claims)} if given.outputs.claims else {}
        answers = {
            name: own.get(name) or sentences_of(text)[0] or [text]
            for name, text in _responses(given).items()
        }
        for agent, claims in answers.items():
            earlier = answers if len(answers) > 1 else dict(reversed(before.items()))
            first = next((name for name in earlier if name != agent or earlier is answers), agent)
            if first != agent:
                found.append(
                    RoundAgreement(
                        given.round, agent, first, _agreement(earlier[first], claims, profile)
                    )
                )
        before = {name: claims for name, claims in before.items() if name not in answers} | answers
    return found


def _agreement(first: Sequence[str], second: Sequence[str], profile: Profile) -> Agreeing:
    agrees = any(has_word(AGREEING, plain(claim)) for claim in second)
    of_first, of_second = (plain(" ".join(claims)) for claims in (first, second))
    changes = any(
        has_word((word,), of_second) and not has_word((word,), of_first) for word in CHANGES
    )
    before = [set(_WORD.findall(plain(claim))) for claim in first]
    repeated = extended = 0
    for claim in second:
        words = set(_WORD.findall(text := plain(claim)))
        if (
            len(words) <= AGREEMENT_LENGTH
            and has_word(AGREEING, text)
            and not has_word(CHANGES, text)
        ):
            repeated += 1
        elif same := [
            known for known in before if _same(known, words, profile.thresholds.paraphrase)
        ]:
            repeated += 1
            extended += all(len(words) > len(known) + 1 for known in same)
            changes = changes or all(_turns(known, words) for known in same)
    new = len(second) - repeated
    if 2 * new > len(second) or changes:
        return "modify"
    return "endorse" if new or extended or agrees else "rephrase"


def _same(known: set[str], words: set[str], threshold: float) -> bool:
    """Return whether a claim is like an earlier one, or one of them holds nearly all of the other."""
    shorter = max(3, min(len(known), len(words)))
    return at_least(_jaccard(known, words), threshold) or at_least(
        len(known & words), 0.8 * shorter
    )


def _jaccard(one: set[str], other: set[str]) -> float:
    return len(one & other) / max(1, len(one | other))


def _turns(known: set[str], words: set[str]) -> bool:
    """Return whether one of two claims that are alike is denied, or the second leaves out a number of the first."""
    denied = [
        bool(of & NEGATIONS) or any(word.endswith("n't") for word in of) for of in (known, words)
    ]
    return denied[0] != denied[1] or any(
        word[0].isdigit() or word in NUMBERS for word in known - words
    )


@dataclass(frozen=True, slots=True)
class AgentSimilarity:
    """How alike the latest responses of two agents are, and the rounds that they are from."""

    agents: tuple[str, str]
    rounds: tuple[int, int]
    similarity: (
        float  # cosine of meanings (-1 to 1) with level L2, else Jaccard index of words (0 to 1)
    )
    measured_by: Literal["meaning", "words"]


def similarity_of(
    transcript: Transcript, agents: tuple[str, str], embed: Embed | None = None
) -> AgentSimilarity:
    """Compare the latest responses of two agents; InputError for an agent that says nothing in the transcript."""
    (a, one), (b, other) = (_latest(transcript, agent) for agent in agents)
    if embed is None:
        alike_words = _jaccard(*(set(normalize(text).split()) for text in (one, other)))
        return AgentSimilarity(agents, (a, b), alike_words, "words")
    alike = Meanings([one, other], embed).alike([one], [other])
    return AgentSimilarity(agents, (a, b), alike or 0.0, "meaning")


def _latest(transcript: Transcript, agent: str) -> tuple[int, str]:
    for given in reversed(transcript.rounds):
        if text := _responses(given).get(agent, "").strip():
            return given.round, text
    names = list(dict.fromkeys(name for given in transcript.rounds for name in _responses(given)))
    known = (
        ", ".join(map(printable, names))
        or "none: give a round an agent, or its outputs responses by name"
    )
    raise InputError(f"no response of an agent {printable(agent)}; known: {known}")


def _responses(given: Round) -> dict[str, str]:
    said = given.outputs.responses
    found = (
        {}
        if not isinstance(said, Mapping)
        else {str(name): text for name, text in said.items() if _is_text(text)}
    )
    if _is_text(given.agent) and given.agent not in found:
        whole = summary_of(given) or (given.outputs.text if _is_text(given.outputs.text) else "")
        found[given.agent] = whole or " ".join(given.outputs.claims)
    return found


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


class Confidence(NamedTuple):
    """How firm a signal is: the share (0 to 1) of neighbouring settings that give the same one. No probability."""

    value: float
    settings: int
    others: dict[str, int]  # what the other settings give, by signal


def confidence_in(
    transcript: Transcript,
    result: DRResult,
    profile: Profile = DEFAULT,
    words: Words = BUILT_IN,
    embed: Embed | None = None,
) -> Confidence:
    """Score a transcript again with settings one ``…_STEP`` off, in all combinations, and count the same signals."""
    t = profile.thresholds
    counts: dict[str, int] = {}
    for paraphrase in _around(t.paraphrase, PARAPHRASE_STEP, 0.01, 1.0):
        other = replace(profile, thresholds=replace(t, paraphrase=paraphrase))
        measured = score_transcript(transcript, profile=other, words=words, embed=embed)
        lows, shifts = (
            _around(t.novelty_low, LOW_STEP, 0.0, t.novelty_high),
            (-READY_STEP, 0.0, READY_STEP),
        )
        for k, low, shift in product(
            range(max(1, profile.k - K_STEP), profile.k + K_STEP + 1), lows, shifts
        ):
            high, medium = t.readiness_high + shift, t.readiness_medium + shift
            limits = replace(
                other.thresholds, novelty_low=low, readiness_high=high, readiness_medium=medium
            )
            tried = replace(other, k=k, thresholds=limits)
            ready = [replace(r, level=limits.readiness_level(r.value)) for r in measured.readiness]
            signal = recommend(classed_anew(measured.novelty, tried), ready, tried)[-1].signal
            counts[signal] = counts.get(signal, 0) + 1
    total = sum(counts.values())
    agreed = counts.pop(result.signal, 0)
    return Confidence(agreed / total, total, counts)


def _around(value: float, step: float, least: float, most: float) -> Sequence[float]:
    return sorted({min(most, max(least, value + n * step)) for n in (-1, 0, 1)})


def observations(
    transcript: Transcript,
    result: DRResult,
    agents: tuple[str, str] | None = None,
    *,
    profile: Profile = DEFAULT,
    words: Words = BUILT_IN,
    embed: Embed | None = None,
) -> dict[str, Any]:
    """Return observations on a scored transcript as plain values, to 4 places; InputError for a silent agent."""
    confidence = confidence_in(transcript, result, profile, words, embed)
    found: dict[str, Any] = {
        "structural_agreement_by_round": [
            row._asdict() for row in agreement_by_round(transcript, profile)
        ],
        "confidence": {**confidence._asdict(), "value": rounded(confidence.value)},
    }
    if agents is not None:
        alike = similarity_of(transcript, agents, embed)
        found["agents"] = {**asdict(alike), "similarity": rounded(alike.similarity)}
    return found
