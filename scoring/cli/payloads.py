"""The JSON of commands: the keys of the sidecars, with what a sidecar does not hold beside them."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from rubric import Coverage
from scoring.score import ScoredIteration, ScoredLog
from scoring.sessions import SessionScore
from scoring.sidecars.scores import PersistedScore, session_as_dict
from scoring.signals.values import Deliberation, deliberation_dict


def score_payload(score: PersistedScore, deliberation: Deliberation | None = None) -> dict[str, Any]:
    """Return one iteration as its sidecar holds it, with its coverage, and the meter where there is a DR transcript."""
    return {**score.as_dict(), "coverage": asdict(score.coverage), **deliberation_dict(deliberation)}


def scored_now_payload(iteration: ScoredIteration) -> dict[str, Any]:
    """Return one iteration that was scored now, with the objective checks and integrity."""
    return {
        **score_payload(iteration.persisted, iteration.signals.deliberation),
        "objective": iteration.signals.objective.as_dict(),
        "integrity": [observation.as_dict() for observation in iteration.signals.integrity],
    }


def session_payload(session: SessionScore, coverages: Mapping[int, Coverage]) -> dict[str, Any]:
    """Return one session as its sidecar holds it, with how many members are scored and on how much weight they rest."""
    known = [coverages[n].weight for n in session.iterations if n in coverages]
    coverage = {
        "scored": sum(ref.scored for ref in session.per_iteration),
        "total": len(session.iterations),
        "weight": sum(known) / len(known) if known else None,
    }
    return {**session_as_dict(session), "coverage": coverage}


def run_payload(scored: ScoredLog) -> dict[str, Any]:
    """Return a whole scored log, with the share of iterations in which each signal is present."""
    coverages = {i.score.iteration: i.score.coverage for i in scored.iterations}
    return {
        "rubric_version": scored.rubric.version,
        "iterations": [score_payload(i.persisted, i.signals.deliberation) for i in scored.iterations],
        "sessions": [session_payload(session, coverages) for session in scored.sessions],
        "presence": scored.presence(),
    }


def signals_payload(iteration: ScoredIteration) -> dict[str, Any]:
    """Return the signals of one iteration, with the coverage they give its score."""
    return {**iteration.signals.as_dict(), "coverage": asdict(iteration.score.coverage)}
