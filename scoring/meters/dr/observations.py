"""What is only shown of a deliberation, and never changes the signal.

docs/DIMINISHING_RETURNS.md, "Observations", describes it.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Literal, NamedTuple

from msgspec.structs import asdict, replace

from scoring.errors import InputError
from scoring.frozen import Frozen, PlainData
from scoring.meters import rounded
from scoring.meters.dr import DRResult, score_transcript
from scoring.meters.dr.novelty import classify, normalize
from scoring.meters.dr.profile import DEFAULT, Profile
from scoring.meters.dr.recommendation import recommend
from scoring.meters.dr.semantic import Embed, Meanings
from scoring.meters.dr.structural_agreement import agreement_by_round, answers_of, jaccard
from scoring.meters.dr.transcript import Transcript
from scoring.text import printable


class AgentSimilarity(Frozen):
    """How similar the latest responses of two agents are.

    Attributes:
        agents: the names of the two.
        rounds: the number of the round of each response.
        similarity: the cosine of the meanings (-1 to 1) with level L2, else the Jaccard index of
            the words (0 to 1).
        measured_by: which of the two it is.
    """

    agents: tuple[str, str]
    rounds: tuple[int, int]
    similarity: float
    measured_by: Literal["meaning", "words"]


def similarity_of(
    transcript: Transcript, agents: tuple[str, str], embed: Embed | None = None
) -> AgentSimilarity:
    """Compare the latest responses of two agents.

    Raises:
        InputError: an agent says nothing in the transcript.
    """
    first = _latest_response(transcript, agents[0])
    second = _latest_response(transcript, agents[1])
    rounds = (first.round, second.round)

    if embed is not None:
        meanings = Meanings([first.text, second.text], embed)
        similarity = meanings.similarity([first.text], [second.text])
        return AgentSimilarity(agents, rounds, similarity or 0.0, "meaning")

    first_words = set(normalize(first.text).split())
    second_words = set(normalize(second.text).split())
    return AgentSimilarity(agents, rounds, jaccard(first_words, second_words), "words")


class _Response(NamedTuple):
    """What an agent said, and the number of the round."""

    round: int
    text: str


def _latest_response(transcript: Transcript, agent: str) -> _Response:
    for deliberation_round in reversed(transcript.rounds):
        text = answers_of(deliberation_round).get(agent, "").strip()
        if text:
            return _Response(deliberation_round.round, text)

    agents: dict[str, None] = {}
    for deliberation_round in transcript.rounds:
        agents |= dict.fromkeys(answers_of(deliberation_round))
    known = ", ".join(map(printable, agents))
    if not known:
        known = "none: give a round an agent, or its outputs responses by name"
    raise InputError(f"no response of an agent {printable(agent)}; known: {known}")


# Confidence

K_STEP = 1
PARAPHRASE_STEP = 0.1
LOW_STEP = 0.05
READY_STEP = 0.05


class Confidence(NamedTuple):
    """How firm a signal is. It is not a probability.

    Attributes:
        value: the share of neighbouring settings that give the same signal, 0 to 1.
        settings: how many settings were tried.
        others: how many settings give each other signal.
    """

    value: float
    settings: int
    others: dict[str, int]


def confidence_in(
    transcript: Transcript,
    result: DRResult,
    profile: Profile = DEFAULT,
    embed: Embed | None = None,
) -> Confidence:
    """Score a transcript with neighbouring settings, and count how often the signal is the same.

    ``k``, the threshold of paraphrases, that of low novelty and those of readiness are one step
    lower, the same and one step higher, in all combinations.

    Args:
        transcript: the transcript.
        result: its result under ``profile``.
        profile: the setting in the middle.
        embed: the embedder; None leaves level L2 out.
    """
    thresholds = profile.thresholds
    counts = Counter[str]()
    for paraphrase in _around(thresholds.paraphrase, PARAPHRASE_STEP, 0.01, 1.0):
        neighbour = replace(profile, thresholds=replace(thresholds, paraphrase=paraphrase))
        measured = score_transcript(transcript, profile=neighbour, embed=embed)
        for other in _neighbours(neighbour):
            # Measured rounds are only classified otherwise.
            limits = other.thresholds
            novelty = classify(measured.novelty, other)
            readiness = []
            for ready in measured.readiness:
                readiness.append(replace(ready, level=limits.readiness_level(ready.value)))
            counts[recommend(novelty, readiness, other)[-1].signal] += 1

    total = counts.total()
    agreed = counts.pop(result.signal, 0)
    return Confidence(agreed / total, total, counts)


def _neighbours(profile: Profile) -> Iterator[Profile]:
    """Yield profiles around one that differ in how measured values are classified."""
    thresholds = profile.thresholds
    ks = range(max(1, profile.k - K_STEP), profile.k + K_STEP + 1)
    lows = _around(thresholds.novelty_low, LOW_STEP, 0.0, thresholds.novelty_high)
    shifts = (-READY_STEP, 0.0, READY_STEP)
    for k, low, shift in product(ks, lows, shifts):
        shifted = replace(
            thresholds,
            novelty_low=low,
            readiness_high=thresholds.readiness_high + shift,
            readiness_medium=thresholds.readiness_medium + shift,
        )
        yield replace(profile, k=k, thresholds=shifted)


def _around(value: float, step: float, least: float, most: float) -> Sequence[float]:
    """Return a value and its neighbours at a distance of ``step``, within bounds, each once."""
    return sorted({min(most, max(least, value + count * step)) for count in (-1, 0, 1)})


def observations(
    transcript: Transcript,
    result: DRResult,
    agents: tuple[str, str] | None = None,
    *,
    profile: Profile = DEFAULT,
    embed: Embed | None = None,
) -> PlainData:
    """Return observations on a scored transcript as plain values, numbers to 4 places.

    Args:
        transcript: the transcript.
        result: what the meter says of it.
        agents: two agents to compare; None compares none.
        profile: the profile of the result.
        embed: the embedder; None leaves level L2 out.

    Raises:
        InputError: one of the agents says nothing in the transcript.
    """
    agreement = [row._asdict() for row in agreement_by_round(transcript, profile)]
    confidence = confidence_in(transcript, result, profile, embed)
    observed: PlainData = {
        "structural_agreement_by_round": agreement,
        "confidence": {**confidence._asdict(), "value": rounded(confidence.value)},
    }
    if agents is not None:
        similarity = similarity_of(transcript, agents, embed)
        observed["agents"] = {
            **asdict(similarity),
            "similarity": rounded(similarity.similarity),
        }
    return observed
