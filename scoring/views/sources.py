"""Which evidence a signal of one iteration comes from, as places that can be opened: a file and line, a commit, a time.

One small function per signal, in one table. A signal that is not in the table has no places to name.
"""

import datetime
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from scoring.evidence.deliberations import deliberation_file
from scoring.evidence.hooks import hook_file
from scoring.evidence.scopes import declaring_plan
from scoring.evidence.transcripts.facts import IterationWindow
from scoring.log.places import EntryPlaces
from scoring.signals.values import (
    CORRECTION_PRESSURE,
    DIMINISHING_RETURNS,
    HOOK_OUTCOMES,
    LANDED,
    SCOPE,
    TESTS,
    TOKEN_EFFICIENCY,
    VERIFIER,
)
from scoring.text import short, trim
from scoring.views.examined import Examined


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Where the evidence of an iteration lies."""

    iter_log_dir: Path
    repo_dir: Path
    entry: EntryPlaces | None


def sources(signal: str, one: Examined, around: Surroundings) -> list[str]:
    """Return the places that a signal of an iteration was read from, in words."""
    find = _SOURCES.get(signal)
    return list(find(one, around)) if find else []


def _fields(around: Surroundings, *names: str) -> Iterator[str]:
    for name in names:
        if around.entry and (place := around.entry.place(name)):
            yield f"{name} at {place}"


def _commit(one: Examined, around: Surroundings) -> Iterator[str]:
    if raw := trim(one.record.commit):
        known = f"commit {short(one.sha)}" if one.sha else f"commit {short(raw)}, which is not in this repository"
        place = around.entry.place("commit") if around.entry else None
        yield f"{known}, named at {place}" if place else known


def _landed(one: Examined, around: Surroundings) -> Iterator[str]:
    yield from _commit(one, around)
    if one.sha is None:
        yield from _fields(around, "impl.summary", "summary")


def _verifier(one: Examined, around: Surroundings) -> Iterator[str]:
    for n, verifier in enumerate(one.record.verifiers):
        yield from _fields(around, f"verifiers.{n}.status")
        if verifier.result_artifact:
            yield f"artifact {verifier.result_artifact}"
    if not one.record.verifiers:
        yield from _fields(around, "tests_total_pass")


def _tests(one: Examined, around: Surroundings) -> Iterator[str]:
    flags = [f"verifiers.{n}.tests_total_pass" for n in range(len(one.record.verifiers))]
    yield from _fields(around, "impl.focused_tests_pass", "tests_total_pass", *flags)


def _correction_pressure(one: Examined, around: Surroundings) -> Iterator[str]:
    retries = [f"verifiers.{n}.retries" for n in range(len(one.record.verifiers))]
    yield from _fields(around, "retries", "impl.retries", *retries)
    if one.record.review.decision_artifact:
        yield f"artifact {one.record.review.decision_artifact}"
    if "tool-error rate" in one.signals.value(CORRECTION_PRESSURE).detail:
        yield from _window(one, around)


def _scope(one: Examined, around: Surroundings) -> Iterator[str]:
    if plan := declaring_plan(around.repo_dir, one.record.task_id):
        yield from _commit(one, around)
        yield f"write_scope in {plan}"
    else:
        yield from _fields(around, "impl.scope_note", "scope_note")


def _hook_outcomes(one: Examined, around: Surroundings) -> Iterator[str]:
    path = hook_file(around.iter_log_dir, one.record.iteration)
    if path.is_file():
        yield str(path)


def _diminishing_returns(one: Examined, around: Surroundings) -> Iterator[str]:
    if path := deliberation_file(around.iter_log_dir, one.record.iteration):
        yield str(path)


def _token_efficiency(one: Examined, around: Surroundings) -> Iterator[str]:
    if one.record.session_tokens is not None:
        yield from _fields(around, "session_tokens.cache_hit_rate")
    else:
        yield from _window(one, around)


def _window(one: Examined, _: Surroundings) -> Iterator[str]:
    if one.window:
        yield f"transcripts {window_text(one.window)}"


def window_text(window: IterationWindow) -> str:
    """Return a window in words."""
    end = _moment(window.end)
    return f"up to {end}" if window.start is None else f"after {_moment(window.start)}, up to {end}"


def _moment(ns: int) -> str:
    """Return a time to the second, UTC."""
    try:
        return datetime.datetime.fromtimestamp(ns // 10**9, datetime.UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (OverflowError, ValueError, OSError):
        return f"{ns // 10**9} seconds after 1970"


_SOURCES: Mapping[str, Callable[[Examined, Surroundings], Iterator[str]]] = {
    LANDED: _landed,
    VERIFIER: _verifier,
    TESTS: _tests,
    CORRECTION_PRESSURE: _correction_pressure,
    SCOPE: _scope,
    HOOK_OUTCOMES: _hook_outcomes,
    TOKEN_EFFICIENCY: _token_efficiency,
    DIMINISHING_RETURNS: _diminishing_returns,
}
