"""The diminishing-returns meter: from a transcript to a result, as JSON and as advice.

docs/DIMINISHING_RETURNS.md describes both.
"""

from itertools import chain

from msgspec.structs import asdict

from scoring.frozen import Frozen, PlainData, fields_of
from scoring.grouping import lists_by_key
from scoring.meters import rounded

from .composite import (
    MAY_BE_CONVERGED,
    CompositeRule,
    Flag,
    RoundSimilarity,
    compose,
    find_flags,
    similarities,
    summary_of,
)
from .extraction import FROM_TEXT
from .novelty import RoundNovelty, distinct, measure_novelty
from .profile import DEFAULT, DRThresholds, Profile, Words
from .readiness import AddedWord, ReadinessMeter, RoundReadiness
from .recommendation import (
    CHANGES,
    HINTS,
    NOT_CLAIMED,
    RoundSignal,
    Signal,
    recommend,
)
from .semantic import Embed, Meanings, open_embedder
from .transcript import (
    Outputs,
    Round,
    Transcript,
    parse_transcript,
    read_transcript,
)

__all__ = [
    "DRResult",
    "DRThresholds",
    "Embed",
    "Outputs",
    "Profile",
    "Round",
    "Signal",
    "Transcript",
    "Words",
    "open_embedder",
    "parse_transcript",
    "read_transcript",
    "score_transcript",
]

ROUGH = (
    "The claims of some rounds were cut out of text by rough rules: look at them before you rely "
    "on this."
)


class DRResult(Frozen):
    """What the meter says of a transcript, with everything that led to it.

    Attributes:
        novelty: what each round adds, in order of the rounds.
        readiness: how ready each round is, in order of the rounds.
        recommendations: what to do as of each round, in order. The last one counts.
        similarity: the similarity of the last two rounds. None without level L2, or when the two
            cannot be compared.
        composite: the composite rule, which does not change the signal.
        flags: odd rounds.
        rough_rounds: the numbers of the rounds with claims that were cut out of text by rules.
    """

    novelty: tuple[RoundNovelty, ...]
    readiness: tuple[RoundReadiness, ...]
    recommendations: tuple[RoundSignal, ...]
    similarity: RoundSimilarity | None
    composite: CompositeRule
    flags: tuple[Flag, ...]
    rough_rounds: tuple[int, ...]

    @property
    def signal(self) -> Signal:
        """The signal after the last round: what to do now."""
        return self.recommendations[-1].signal

    @property
    def score(self) -> float:
        """How far the transcript has converged: 1 minus the last novelty rate, not rounded."""
        return 1.0 - self.novelty[-1].rate

    @property
    def added_words(self) -> tuple[AddedWord, ...]:
        """The words of the settings that matched, in order of the rounds."""
        return tuple(chain(*[readiness.added_words for readiness in self.readiness]))

    def payload(self) -> PlainData:
        """Return the result as plain data for JSON, with numbers to 4 places.

        Its keys have the order of docs/DIMINISHING_RETURNS.md.
        """
        last = self.recommendations[-1]
        data: PlainData = {
            "score": rounded(self.score),
            "components": self._components(),
            "novelty_by_round": list(map(_novelty_row, self.novelty)),
            "readiness_by_round": list(map(_readiness_row, self.readiness)),
            "stop_recommendation": {
                "signal": last.signal,
                "novelty_classification": self.novelty[-1].level,
                "readiness_classification": self.readiness[-1].level,
                "k_consecutive_low_novelty": self.novelty[-1].low_run,
                "rationale": last.rationale,
            },
            "composite": asdict(self.composite),
            "flags": list(map(asdict, self.flags)),
            "hint": last.hint,
        }
        if self.added_words:
            data["added_words"] = list(map(asdict, self.added_words))
        if self.rough_rounds:
            data["claims_from_text"] = {
                "rounds": list(self.rough_rounds),
                "note": ROUGH,
            }
        return data

    def _components(self) -> PlainData:
        """Return what was measured of the last round: novelty, readiness and similarity."""
        components: PlainData = {
            **_rates(self.novelty[-1]),
            "action_readiness": rounded(self.readiness[-1].value),
            "action_readiness_detail": _part_scores(self.readiness[-1]),
            "semantic_similarity": None,
        }
        if self.similarity is not None:
            components["semantic_similarity"] = rounded(self.similarity.value)
            components["semantic_similarity_of"] = self.similarity.of
        components["structural_agreement"] = None
        return components

    def advice(self, transcript: Transcript) -> PlainData:
        """Return what to do with the transcript, why, and what is not claimed, as plain values.

        Args:
            transcript: the transcript that the result is of.
        """
        last = self.recommendations[-1]
        outputs = transcript.rounds[-1].outputs

        next_action = last.hint
        if last.change:
            reason = last.hint.removesuffix(HINTS["ESCALATE"])
            next_action = f"{reason}Stop this loop. {CHANGES[last.change]}"
        if last.signal == "CONTINUE" and outputs.open_questions:
            next_action += f" Take up: {outputs.open_questions[0]}"

        first_next_action = None
        if outputs.next_actions and last.signal == "SHIP":
            first_next_action = outputs.next_actions[0]

        notes = [NOT_CLAIMED]
        if any(flag.reason.endswith(MAY_BE_CONVERGED) for flag in self.flags):
            notes.append(f"{MAY_BE_CONVERGED}.")
        if self.rough_rounds:
            notes.append(ROUGH)

        rounds_by_flag = lists_by_key((flag.flag, flag.round) for flag in self.flags)

        return {
            "signal": last.signal,
            "round": self.novelty[-1].round,
            "reasons": list(last.reasons),
            "next_action": next_action,
            "change": last.change,
            "first_next_action": first_next_action,
            "flags": [
                {"flag": name, "rounds": rounds}
                for name, rounds in rounds_by_flag.items()
            ],
            "does_not_claim": " ".join(notes),
        }


def _novelty_row(novelty: RoundNovelty) -> PlainData:
    row = fields_of(novelty, "round", "claims", "new_claims")
    for level, count in novelty.new.items():
        row[f"new_claims_{level}"] = count
    return {**row, **_rates(novelty), "classification": novelty.level}


def _readiness_row(readiness: RoundReadiness) -> PlainData:
    return {
        "round": readiness.round,
        "action_readiness": rounded(readiness.value),
        "readiness_classification": readiness.level,
        **_part_scores(readiness),
    }


def _rates(novelty: RoundNovelty) -> dict[str, float]:
    rates = {"novelty_rate": rounded(novelty.rate)}
    for level, rate in novelty.rates.items():
        rates[f"novelty_rate_{level}"] = rounded(rate)
    return rates


def _part_scores(readiness: RoundReadiness) -> dict[str, float]:
    return {
        "next_actions_score": rounded(readiness.next_actions.score),
        "open_questions_score": rounded(readiness.open_questions.score),
        "blocker_score": rounded(readiness.blockers.score),
    }


def score_transcript(
    transcript: Transcript,
    *,
    profile: Profile | None = None,
    embed: Embed | None = None,
) -> DRResult:
    """Score a transcript.

    Args:
        transcript: a transcript of at least one round.
        profile: what the meter goes by; None is the current released profile.
        embed: an embedder, which turns on level L2; None leaves L2 out.

    Raises:
        SettingsError: level L2 needs numpy, which is not installed.
        ValueError: the embedder does not return a vector for each text.
    """
    profile = profile or DEFAULT
    rounds = transcript.rounds

    claims = {r.round: distinct(r.outputs.claims) for r in rounds}
    meanings = None
    if embed is not None:
        texts: list[str] = []
        for claims_of_round in claims.values():
            texts += claims_of_round.values()
        texts += filter(None, map(summary_of, rounds))
        meanings = Meanings(texts, embed)

    novelty = measure_novelty(claims, profile, meanings)
    readiness = ReadinessMeter(profile).measure(rounds)
    similarity = None
    if meanings is not None:
        similarity = similarities(rounds, claims, meanings)

    return DRResult(
        novelty=novelty,
        readiness=readiness,
        recommendations=recommend(novelty, readiness, profile),
        similarity=similarity[-1] if similarity else None,
        composite=compose(novelty, readiness, similarity, profile),
        flags=find_flags(novelty, readiness),
        rough_rounds=tuple(
            r.round for r in rounds if r.outputs.claims_from == FROM_TEXT
        ),
    )
