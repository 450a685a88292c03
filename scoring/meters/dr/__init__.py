"""The diminishing-returns meter: a transcript in, a result out, as JSON and as advice; docs/DIMINISHING_RETURNS.md."""

from dataclasses import asdict, dataclass
from typing import Any

from scoring.meters import rounded
from scoring.meters.dr import recommendation
from scoring.meters.dr.extraction import FROM_TEXT
from scoring.meters.dr.novelty import RoundNovelty, distinct, measure_novelty
from scoring.meters.dr.profile import BUILT_IN, DEFAULT, DRThresholds, Profile, Words
from scoring.meters.dr.readiness import AddedWord, ReadinessMeter, RoundReadiness
from scoring.meters.dr.recommendation import (
    CHANGES,
    HINTS,
    CompositeRule,
    Flag,
    RoundSignal,
    RoundSimilarity,
    Signal,
)
from scoring.meters.dr.semantic import Embed, Meanings, open_embedder
from scoring.meters.dr.transcript import (
    Outputs,
    Round,
    Transcript,
    parse_transcript,
    read_transcript,
)

__all__ = [
    "BUILT_IN",
    "DRResult",
    "DRThresholds",
    "Embed",
    "Outputs",
    "Profile",
    "Round",
    "Signal",
    "Transcript",
]
__all__ += ["Words", "open_embedder", "parse_transcript", "read_transcript", "score_transcript"]

ROUGH = "The claims of some rounds were cut out of text by rough rules: look at them before you rely on this."


@dataclass(frozen=True, slots=True)
class DRResult:
    """What the meter says of a transcript, with everything that led to it, round by round."""

    k: int
    novelty: tuple[RoundNovelty, ...]
    readiness: tuple[RoundReadiness, ...]
    recommendations: tuple[RoundSignal, ...]  # what to do as of each round; the last one counts
    similarity: (
        RoundSimilarity | None
    )  # of the last two rounds; None without level L2, or when they cannot be compared
    composite: CompositeRule
    flags: tuple[Flag, ...]
    added_words: tuple[AddedWord, ...]
    rough_rounds: tuple[int, ...] = ()  # the rounds with claims that were cut out of text by rules

    @property
    def signal(self) -> Signal:
        """What to do now."""
        return self.recommendations[-1].signal

    @property
    def score(self) -> float:
        """How far the transcript has converged, 0 to 1: what is missing from 1 is the novelty rate. Unrounded."""
        return 1.0 - self.novelty[-1].rate

    def payload(self) -> dict[str, Any]:
        """Return the result as JSON, its keys in the order of docs/DIMINISHING_RETURNS.md, numbers to 4 places."""
        last, ready, recommended = self.novelty[-1], self.readiness[-1], self.recommendations[-1]
        similarity: dict[str, Any] = {"semantic_similarity": None}
        if (alike := self.similarity) is not None:
            similarity = {
                "semantic_similarity": rounded(alike.value),
                "semantic_similarity_of": alike.of,
            }
        found: dict[str, Any] = {
            "score": rounded(self.score),
            "components": {
                **_rates(last),
                "action_readiness": rounded(ready.value),
                "action_readiness_detail": _scores(ready),
                **similarity,
                "structural_agreement": None,
            },
            "novelty_by_round": [
                {"round": new.round, "claims": new.claims, "new_claims": new.new_claims}
                | {f"new_claims_{level}": count for level, count in new.new.items()}
                | {**_rates(new), "classification": new.level}
                for new in self.novelty
            ],
            "readiness_by_round": [
                {"round": r.round, "action_readiness": rounded(r.value)}
                | {"readiness_classification": r.level, **_scores(r)}
                for r in self.readiness
            ],
            "stop_recommendation": {
                "signal": recommended.signal,
                "novelty_classification": last.level,
                "readiness_classification": ready.level,
                "k_consecutive_low_novelty": last.low_run,
                "rationale": recommended.rationale,
            },
            "composite": asdict(self.composite),
            "flags": [asdict(flag) for flag in self.flags],
            "hint": recommended.hint,
        }
        if self.added_words:
            found["added_words"] = [asdict(word) for word in self.added_words]
        if self.rough_rounds:
            found["claims_from_text"] = {"rounds": list(self.rough_rounds), "note": ROUGH}
        return found

    def advice(self, transcript: Transcript) -> dict[str, Any]:
        """Return what to do with the transcript, why, and what is not claimed, as plain values."""
        last = self.recommendations[-1]
        flags: dict[str, list[int]] = {}
        for flag in self.flags:
            flags.setdefault(flag.flag, []).append(flag.round)
        outputs = transcript.rounds[-1].outputs
        following = last.hint
        if last.change:
            following = (
                f"{last.hint.removesuffix(HINTS['ESCALATE'])}Stop this loop. {CHANGES[last.change]}"
            )
        if last.signal == "CONTINUE" and outputs.open_questions:
            following += f" Take up: {outputs.open_questions[0]}"
        converged = any(
            flag.reason.endswith(recommendation.MAY_BE_CONVERGED) for flag in self.flags
        )
        notes = [
            recommendation.NOT_CLAIMED,
            *([f"{recommendation.MAY_BE_CONVERGED}."] if converged else []),
            *([ROUGH] if self.rough_rounds else []),
        ]
        return {
            "signal": last.signal,
            "round": self.novelty[-1].round,
            "reasons": list(last.reasons),
            "next_action": following,
            "change": last.change,
            "first_next_action": outputs.next_actions[0]
            if outputs.next_actions and last.signal == "SHIP"
            else None,
            "flags": [{"flag": name, "rounds": rounds} for name, rounds in flags.items()],
            "does_not_claim": " ".join(notes),
        }


def _rates(new: RoundNovelty) -> dict[str, float]:
    by_level = {f"novelty_rate_{level}": rounded(rate) for level, rate in new.rates.items()}
    return {"novelty_rate": rounded(new.rate), **by_level}


def _scores(ready: RoundReadiness) -> dict[str, float]:
    return {
        "next_actions_score": rounded(ready.next_actions.score),
        "open_questions_score": rounded(ready.open_questions.score),
        "blocker_score": rounded(ready.blockers.score),
    }


def score_transcript(
    transcript: Transcript,
    *,
    profile: Profile | None = None,
    words: Words = BUILT_IN,
    embed: Embed | None = None,
) -> DRResult:
    """Score a transcript of at least one round; ``embed`` turns on level L2 (ValueError when it gives no vectors)."""
    profile = profile or DEFAULT
    rounds = transcript.rounds
    claims = [distinct(r.outputs.claims) for r in rounds]
    meanings = None
    if embed is not None:
        raw = [claim.raw for of_round in claims for claim in of_round]
        meanings = Meanings([*raw, *filter(None, map(recommendation.summary_of, rounds))], embed)
    novelty = measure_novelty([r.round for r in rounds], claims, profile, meanings)
    meter = ReadinessMeter(profile, words)
    given = [(r.round, r.outputs.next_actions, r.outputs.open_questions) for r in rounds]
    questions = [len(asked) for _, _, asked in given]
    readiness = tuple(
        meter.measure(*parts, before)
        for parts, before in zip(given, [None, *questions[:-1]], strict=True)
    )
    stability = recommendation.similarities(rounds, claims, meanings) if meanings else None
    return DRResult(
        k=profile.k,
        novelty=novelty,
        readiness=readiness,
        recommendations=recommendation.recommend(novelty, readiness, profile),
        similarity=stability[-1] if stability else None,
        composite=recommendation.compose(novelty, readiness, stability, profile),
        flags=recommendation.find_flags(novelty, readiness, questions),
        added_words=tuple(word for parts in given for word in meter.added_words(*parts))
        if words != BUILT_IN
        else (),
        rough_rounds=tuple(r.round for r in rounds if r.outputs.claims_from == FROM_TEXT),
    )
