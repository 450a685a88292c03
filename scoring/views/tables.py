"""Turns what a pass over a log finds into rows of tables."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from rubric import Rubric
from scoring.sessions import SessionIterRef, session_score
from scoring.signals.values import SignalValue
from scoring.views.columns import Row
from scoring.views.examined import Examined


def iteration_rows(log: Path, examined: Examined) -> Iterator[Row]:
    """Yield the row of ``iterations``."""
    record, score, tokens = examined.record, examined.score, examined.record.session_tokens
    objective, computed = examined.signals.objective, examined.computed
    yield {
        "log": str(log),
        "iteration": record.iteration,
        "date": record.date,
        "task_id": record.task_id,
        "wave": record.wave,
        "commit": record.commit,
        "session_id": record.agent.session_id or None,
        "harness": record.agent.harness or None,
        "model": record.agent.model or None,
        "schema_version": record.schema_version,
        "rubric_version": score.rubric_version,
        "origin": examined.origin,
        "scored": score.scored,
        "score": score.value if score.scored else None,
        "band": score.band,
        "computed": computed.value if computed.scored else None,
        "signals_present": score.coverage.present,
        "signals_total": score.coverage.total,
        "weight_present": score.coverage.weight,
        "retries": record.impl.retries,
        "files_changed": record.files_changed,
        "lines_added": record.lines_added,
        "lines_removed": record.lines_removed,
        "input_tokens": tokens.input_tokens if tokens else None,
        "output_tokens": tokens.output_tokens if tokens else None,
        "cache_read_tokens": tokens.cache_read_tokens if tokens else None,
        "cache_creation_tokens": tokens.cache_creation_tokens if tokens else None,
        "ran_cli_command": _seen(objective.ran_cli_command),
        "committed_after_tests": _seen(objective.committed_after_tests),
        "read_loop_state": _seen(objective.read_loop_state),
        "linked_traces_to_outcomes": score.linked_traces_to_outcomes,
    }


def signal_rows(log: Path, examined: Examined) -> Iterator[Row]:
    """Yield a row of ``signals`` per signal of the score's rubric."""
    score = examined.score
    for row in score.breakdown:
        yield {
            "log": str(log),
            "iteration": score.iteration,
            "rubric_version": score.rubric_version,
            "signal": row.signal,
            "label": row.label,
            "present": row.present,
            "sub_score": float(row.sub_score) if row.present else None,
            "nominal_weight": row.nominal_weight,
            "effective_weight": row.effective_weight,
            "contribution": float(row.contribution),
            "detail": row.detail,
        }


def integrity_rows(log: Path, examined: Examined) -> Iterator[Row]:
    """Yield a row of ``integrity`` per signal and role that could be claimed."""
    for observation in examined.signals.integrity:
        yield {
            "log": str(log),
            "iteration": examined.record.iteration,
            "signal": str(observation.signal),
            "role": str(observation.role),
            "claimed": _value(observation.claimed),
            "observed": _value(observation.observed),
            "delta": float(observation.delta) if observation.comparable else None,
            "over_claim": observation.delta < 0,
            "claimed_detail": observation.claimed.detail,
            "observed_detail": observation.observed.detail,
        }


class SessionRows:
    """Collects the members of sessions during a pass, and makes the rows of ``sessions`` of them."""

    def __init__(self, log: Path, rubric: Rubric) -> None:
        """Begin; ``rubric`` names the bands."""
        self._log = log
        self._rubric = rubric
        self._members: dict[tuple[str, str], list[SessionIterRef]] = {}

    def add(self, examined: Examined) -> None:
        """Note one iteration."""
        score = examined.score
        if session := examined.record.agent.session_id:
            ref = SessionIterRef(score.iteration, score.scored, score.value, score.band)
            self._members.setdefault((session, score.rubric_version), []).append(ref)

    def rows(self) -> Iterator[Row]:
        """Yield the rows, by session and rubric version."""
        for session_id, version in sorted(self._members):
            members = self._members[session_id, version]
            session = session_score(self._rubric, session_id, members)
            yield {
                "log": str(self._log),
                "session_id": session_id,
                "rubric_version": version,
                "iterations": len(members),
                "scored_iterations": sum(ref.scored for ref in members),
                "first_iteration": members[0].iteration,
                "last_iteration": members[-1].iteration,
                "scored": session.scored,
                "score": session.value if session.scored else None,
                "band": session.band,
            }


def table_rows(log: Path, rubric: Rubric, examined: Iterable[Examined]) -> Iterator[tuple[str, Row]]:
    """Yield the rows of every table of one log, each with the name of its table, as the pass goes on."""
    sessions = SessionRows(log, rubric)
    for one in examined:
        sessions.add(one)
        for name, rows in (("iterations", iteration_rows), ("signals", signal_rows), ("integrity", integrity_rows)):
            yield from ((name, row) for row in rows(log, one))
    yield from (("sessions", row) for row in sessions.rows())


def _value(value: SignalValue) -> float | None:
    return float(value.sub_score) if value.present else None


def _seen(value: SignalValue) -> bool | None:
    return bool(value.sub_score) if value.present else None
