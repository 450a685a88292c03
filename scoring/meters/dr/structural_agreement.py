"""What agents do with each other's answers: endorse, rephrase or change them."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

from scoring.meters import at_least
from scoring.meters.dr.composite import summary_of
from scoring.meters.dr.extraction import sentences_of
from scoring.meters.dr.phrases import has_word, plain
from scoring.meters.dr.profile import DEFAULT, Profile
from scoring.meters.dr.transcript import Round, Transcript

CHANGES = (
    "instead",
    "however",
    "rather than",
    "disagree",
    "disagrees",
    "not agree",
    "not enough",
    "replace",
    "except",
    "unless",
    "on the contrary",
    "wrong",
    "drop",
    "change",
    "no longer",
    "don't agree",
)
"""Words by which an answer changes something, though it repeats much."""

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

AGREEMENT_LENGTH = 6
"""A sentence of agreement of at most so many words says nothing else."""

_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")

Agreeing: TypeAlias = Literal["modify", "endorse", "rephrase"]
"""What an answer does with an earlier one. To endorse may add a little."""


class RoundAgreement(NamedTuple):
    """What an agent's answer does with an earlier answer of another agent.

    Attributes:
        round: the number of the round of the later answer.
        agent: who gave it.
        first: who gave the earlier answer.
        agreement: what it does with it.
    """

    round: int
    agent: str
    first: str
    agreement: Agreeing


def agreement_by_round(transcript: Transcript, profile: Profile = DEFAULT) -> list[RoundAgreement]:
    """Compare each agent's answer with an earlier one, by claims.

    That is the first answer of its round, or in a round of one agent the latest one of another.
    """
    rows: list[RoundAgreement] = []
    latest: dict[
        str, list[str]
    ] = {}  # the claims of each agent's last answer, the latest at the end
    for deliberation_round in transcript.rounds:
        answers = _claims_by_agent(deliberation_round)
        earlier = list(answers.items())[:1]
        if len(answers) == 1:
            earlier = list(reversed(latest.items()))

        for agent, claims in answers.items():
            others = [answer for answer in earlier if answer[0] != agent]
            if others:
                first, first_claims = others[0]
                agreement = _agreement(first_claims, claims, profile)
                rows.append(RoundAgreement(deliberation_round.round, agent, first, agreement))

        for agent in answers:
            latest.pop(agent, None)
        latest |= answers
    return rows


def _claims_by_agent(deliberation_round: Round) -> dict[str, list[str]]:
    """Return the claims of each agent in a round: given ones, else the sentences of its answer."""
    claims_by_agent = {}
    for agent, text in answers_of(deliberation_round).items():
        if agent == deliberation_round.agent and deliberation_round.outputs.claims:
            claims_by_agent[agent] = list(deliberation_round.outputs.claims)
        else:
            claims_by_agent[agent] = sentences_of(text).claims or [text]
    return claims_by_agent


def _agreement(first: Sequence[str], second: Sequence[str], profile: Profile) -> Agreeing:
    """Return what the claims of a second answer do with those of a first one."""
    first_words = [_words_of(claim) for claim in first]
    changes = _adds_word_of_change(first, second)
    repeated = 0
    extended = 0
    for claim in second:
        words = _words_of(claim)
        if _only_agrees(claim, words):
            repeated += 1
            continue

        similar = [
            earlier
            for earlier in first_words
            if _says_same(earlier, words, profile.thresholds.paraphrase)
        ]
        if not similar:
            continue
        repeated += 1
        if all(len(words) > len(earlier) + 1 for earlier in similar):
            extended += 1
        if all(_contradicts(earlier, words) for earlier in similar):
            changes = True

    new = len(second) - repeated
    if changes or 2 * new > len(second):
        return "modify"
    if new or extended or any(has_word(AGREEING, plain(claim)) for claim in second):
        return "endorse"
    return "rephrase"


def _words_of(claim: str) -> set[str]:
    return set(_WORD.findall(plain(claim)))


def _adds_word_of_change(first: Sequence[str], second: Sequence[str]) -> bool:
    """Return whether a second answer has a word of change that the first has not."""
    first_text = plain(" ".join(first))
    second_text = plain(" ".join(second))
    return any(
        has_word((word,), second_text) and not has_word((word,), first_text) for word in CHANGES
    )


def _only_agrees(claim: str, words: set[str]) -> bool:
    text = plain(claim)
    is_short = len(words) <= AGREEMENT_LENGTH
    return is_short and has_word(AGREEING, text) and not has_word(CHANGES, text)


def _says_same(first: set[str], second: set[str], threshold: float) -> bool:
    """Return whether the words of two claims are similar, or one has nearly all of the other."""
    if at_least(jaccard(first, second), threshold):
        return True
    shorter = max(3, min(len(first), len(second)))
    return at_least(len(first & second), 0.8 * shorter)


def _contradicts(first: set[str], second: set[str]) -> bool:
    """Return whether one of two similar claims is negated, or the second changes a number."""
    if _is_negated(first) != _is_negated(second):
        return True
    return any(word[0].isdigit() or word in NUMBERS for word in first - second)


def _is_negated(words: set[str]) -> bool:
    return bool(words & NEGATIONS) or any(word.endswith("n't") for word in words)


def jaccard(first: set[str], second: set[str]) -> float:
    """Return the Jaccard index of two sets of words, 0 to 1."""
    return len(first & second) / max(1, len(first | second))


def answers_of(deliberation_round: Round) -> dict[str, str]:
    """Return what each agent said in a round."""
    outputs = deliberation_round.outputs
    answers = {}
    if isinstance(outputs.responses, Mapping):
        for name, text in outputs.responses.items():
            if _is_text(text):
                answers[str(name)] = text

    agent = deliberation_round.agent
    if _is_text(agent) and agent not in answers:
        answers[agent] = _whole_text(deliberation_round)
    return answers


def _whole_text(deliberation_round: Round) -> str:
    """Return a round in words: its summary, else its text, else its claims."""
    summary = summary_of(deliberation_round)
    if summary:
        return summary
    text = deliberation_round.outputs.text
    if _is_text(text):
        return str(text)
    return " ".join(deliberation_round.outputs.claims)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())
