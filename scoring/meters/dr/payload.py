"""A result as JSON: the shape and key order of contract section 6, numbers rounded to 4 places.

What section 6 leaves open is added behind its keys, and only where it applies: ``semantic_similarity_of`` with level
L2, ``added_words`` when somebody's words matched.
"""

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from scoring.meters.dr.novelty import RoundNovelty
from scoring.meters.dr.readiness import RoundReadiness
from scoring.meters.dr.thresholds import rounded

if TYPE_CHECKING:
    from scoring.meters.dr.meter import DRResult


def payload(result: "DRResult") -> dict[str, Any]:
    """Return a result as JSON."""
    last, ready, recommended = result.novelty[-1], result.readiness[-1], result.recommendations[-1]
    return {
        "score": rounded(result.score),
        "components": {
            **_rates(last),
            "action_readiness": rounded(ready.value),
            "action_readiness_detail": _scores(ready),
            **_similarity(result),
            "structural_agreement": None,
        },
        "novelty_by_round": [_novelty(new) for new in result.novelty],
        "readiness_by_round": [
            {
                "round": r.round,
                "action_readiness": rounded(r.value),
                "readiness_classification": r.level,
                **_scores(r),
            }
            for r in result.readiness
        ],
        "stop_recommendation": {
            "signal": recommended.signal,
            "novelty_classification": last.level,
            "readiness_classification": ready.level,
            "k_consecutive_low_novelty": last.low_run,
            "rationale": recommended.rationale,
        },
        "composite": asdict(result.composite),
        "flags": [asdict(flag) for flag in result.flags],
        "hint": recommended.hint,
        **({"added_words": [asdict(word) for word in result.added_words]} if result.added_words else {}),
    }


def _similarity(result: "DRResult") -> dict[str, Any]:
    """Return how alike the last two rounds are, and with level L2 what was compared."""
    if result.similarity is None:
        return {"semantic_similarity": None}
    return {"semantic_similarity": rounded(result.similarity.value), "semantic_similarity_of": result.similarity.of}


def _novelty(new: RoundNovelty) -> dict[str, Any]:
    counts = _by_level("new_claims", new.new)
    numbers = {"round": new.round, "claims": new.claims, "new_claims": new.new_claims}
    return {**numbers, **counts, **_rates(new), "classification": new.level}


def _rates(new: RoundNovelty) -> dict[str, float]:
    by_level = _by_level("novelty_rate", {level: rounded(rate) for level, rate in new.rates.items()})
    return {"novelty_rate": rounded(new.rate), **by_level}


def _by_level(name: str, values: Mapping[str, Any]) -> dict[str, Any]:
    return {f"{name}_{level}": value for level, value in values.items()}


def _scores(ready: RoundReadiness) -> dict[str, float]:
    return {
        "next_actions_score": rounded(ready.next_actions.score),
        "open_questions_score": rounded(ready.open_questions.score),
        "blocker_score": rounded(ready.blockers.score),
    }
