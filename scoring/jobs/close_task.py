"""Scoring what was just finished, and what a harness sends to the hook, of which no field is trusted."""

import contextlib
import json
import os
import re
import select
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeGuard

from msgspec.structs import replace

from rubric import Rubric
from scoring.errors import DaScoreError, InputError, NotFoundError, SettingsError, Warn, silent
from scoring.evidence.rules import Sources
from scoring.log.load import Broken, no_such_entry
from scoring.log.model import IterationRecord, Records
from scoring.score import score_iterations, write_iterations, write_session
from scoring.sessions import session_score
from scoring.sidecars import scores as sidecars
from scoring.sidecars.fingerprint import fingerprints
from scoring.sidecars.scores import PersistedScore
from scoring.text import spans

_RECENT = re.compile(r"recent-([1-9][0-9]{0,8})")


@dataclass(frozen=True, slots=True)
class ClosedTask:
    """What closing a task wrote."""

    iteration: int
    sidecar_path: Path
    scored: bool
    value: float
    band: str
    session_sidecar_path: Path | None
    rubric_version: str
    warnings: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return plain data, as ``close-task --json`` prints it."""
        content = {name: getattr(self, name) for name in self.__slots__}
        paths = {
            name: path and str(path)
            for name, path in content.items()
            if name.endswith("sidecar_path")
        }
        return content | paths | {"warnings": list(self.warnings)}


def close_task(
    iter_log_dir: Path,
    sources: Sources,
    rubric: Rubric,
    iteration: int | None = None,
    recompute: str = "current",
    broken: Broken = silent,
) -> ClosedTask:
    """Score an iteration that was just closed (None is the highest), and rewrite its sidecar and its session's.

    ``recompute`` is ``current``, ``recent-K`` or ``all``. NotFoundError, SettingsError, else as a whole run.
    """
    warnings: list[str] = []
    also = sources.warn

    def warn(text: str) -> None:
        warnings.append(text)
        also(text)

    sources = replace(sources, reading={**sources.reading, "warn": warn})
    records = sources.entries([rubric], iter_log_dir, broken)
    record = _wanted(records, iteration, iter_log_dir)
    chosen = _chosen(records.numbers, record.iteration, recompute)
    of_session = [(one.iteration, one.agent.session_id) for one in records]
    sessions = {session for number, session in of_session if number in chosen} - {""}
    members = [(number, session) for number, session in of_session if session in sessions]
    kept = {
        number: _kept(iter_log_dir, number, rubric) for number, _ in members if number not in chosen
    }
    chosen |= {number for number, score in kept.items() if score is None}

    scored = [
        one for (one,) in score_iterations(records, iter_log_dir, sources, rubric, only=chosen)
    ]
    with fingerprints(sources.cache_dir, iter_log_dir, rubric) as known:
        write_iterations(iter_log_dir, scored, warn, known)
    scores = {one.record.iteration: one.persisted for one in scored}
    scores |= {number: score for number, score in kept.items() if score is not None}
    paths = {}
    for session_id in sorted(sessions):
        own = [scores[number] for number, session in members if session == session_id]
        paths[session_id] = write_session(
            iter_log_dir, session_score(rubric, session_id, own), warn
        )
    one, session = scores[record.iteration], paths.get(record.agent.session_id)
    path = sidecars.iteration_score_path(iter_log_dir, one.iteration)
    return ClosedTask(
        one.iteration,
        path,
        one.scored,
        one.value,
        one.band,
        session,
        rubric.version,
        tuple(warnings),
    )


def bring_session_up_to_date(
    iter_log_dir: Path | str, rubric: Rubric, record: IterationRecord, warn: Warn, records: Records
) -> None:
    """Write the sidecar of an iteration's session; warn that it is old where a member has no score under the rubric."""
    if not (session_id := record.agent.session_id):
        return
    members = [one.iteration for one in records if one.agent.session_id == session_id]
    kept = {number: _kept(iter_log_dir, number, rubric) for number in members}
    if not (missing := [number for number, score in kept.items() if score is None]):
        write_session(iter_log_dir, session_score(rubric, session_id, kept.values()), warn)
    elif (
        sidecars.is_plain_session_id(session_id)
        and sidecars.session_score_path(iter_log_dir, session_id).exists()
    ):
        warn(
            f"the sidecar of session {session_id} is old: iteration {spans(missing)} has no score under rubric "
            f"{rubric.version}; 'da-score run' scores them"
        )


def _wanted(records: Records, iteration: int | None, log: Path | str) -> IterationRecord:
    if not records:
        raise NotFoundError(f"{log}: no iterations found; there is nothing to close")
    if iteration is None:
        return records[-1]
    if (place := records.index_of(iteration)) is None:
        raise no_such_entry(log, iteration)
    return records[place]


def _chosen(numbers: Sequence[int], iteration: int, recompute: str) -> set[int]:
    upto = [number for number in numbers if number <= iteration]
    if recompute == "current":
        return {iteration}
    if recompute == "all":
        return set(numbers)
    if m := _RECENT.fullmatch(recompute):
        return set(upto[-int(m[1]) :])
    raise SettingsError(f"--score-recompute {recompute!r} is none of current, recent-K and all")


def _kept(log: Path | str, iteration: int, rubric: Rubric) -> PersistedScore | None:
    try:
        score = sidecars.read_score(log, iteration)
    except DaScoreError:
        return None
    # What is missing in a file reads as empty, so a part of a sidecar can pass for one: its breakdown has to be whole.
    whole = score.band and [row.signal for row in score.breakdown] == [
        spec.id for spec in rubric.signals
    ]
    return (
        score
        if whole and score.rubric_version == rubric.version and score.iteration == iteration
        else None
    )


PATIENCE = 0.1  # seconds that input on standard input is waited for
SIZE_LIMIT = 16 << 20

_ID = re.compile(r"[\w.:-]{1,200}")


@dataclass(frozen=True, slots=True)
class HookInput:
    """What a harness sent. All is optional."""

    cwd: Path | None = None
    transcript_dirs: tuple[Path, ...] = ()
    stop_hook_active: bool = False
    session_id: str | None = None


def parse_hook_input(text: str | bytes) -> HookInput:
    """Read a harness's JSON; InputError where it is no JSON object."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as e:
        raise InputError(f"the harness's input is not JSON: {e}") from e
    if not isinstance(data, dict):
        raise InputError("the harness's input is not a JSON object")
    roots = data.get("workspace_roots")
    cwd = data.get("cwd", roots[0] if isinstance(roots, list) and roots else None)
    files = [
        data.get(name) for name in ("transcript_path", "agent_transcript_path", "transcriptPath")
    ]
    folders = [Path(os.path.expanduser(file)).parent for file in files if _is_path(file)]
    ids = [data.get(name) for name in ("session_id", "thread-id", "sessionId", "conversation_id")]
    return HookInput(
        Path(cwd) if _is_path(cwd) else None,
        tuple(dict.fromkeys(folders)),
        data.get("stop_hook_active") is True,
        next((name for name in ids if isinstance(name, str) and _ID.fullmatch(name)), None),
    )


def _is_path(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and bool(value) and "\0" not in value


def read_hook_input(fd: int = 0, patience: float = PATIENCE) -> HookInput | None:
    """Read a harness's JSON, for at most ``patience`` seconds; None without any, InputError for no whole object."""
    data, until = b"", time.monotonic() + patience
    try:
        while len(data) <= SIZE_LIMIT and not os.isatty(fd):
            left = until - time.monotonic()
            if left <= 0 or not select.select([fd], [], [], left)[0]:
                break
            data += (block := os.read(fd, 1 << 16))
            if not block:
                break
            if data.rstrip().endswith(b"}"):
                with contextlib.suppress(ValueError, RecursionError):  # more of it may be to come
                    json.loads(data)
                    break
    except (OSError, ValueError):  # standard input is closed
        return None
    return parse_hook_input(data) if data.strip() else None
