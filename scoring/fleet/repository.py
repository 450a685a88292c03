"""Scores one repository on a worker, with the engine of ``backfill``, and returns rows instead of writing sidecars."""

import contextlib
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rubric import Rubric
from scoring.errors import DaScoreError, GitError
from scoring.fleet.config import FleetConfig
from scoring.fleet.sources import Repository, fingerprint_of
from scoring.fleet.tables import arrow_tables, rows_of_iteration
from scoring.jobs.backfill import BackfillPlan, LogJob, Standing, backfill_log
from scoring.log.settings import Settings, days_of, resolve_settings
from scoring.outcomes.outcome import FIX_WORDS, Outcome, OutcomeRules, log_outcomes
from scoring.text import printable

MOST_WARNINGS = 20
_REASON_LENGTH = 400


@dataclass(slots=True)
class Result:
    """What a worker returns of one repository: the rows of each table as bytes of Arrow, or why there are none."""

    repository: str
    fingerprint: str = ""
    tables: dict[str, bytes] = field(default_factory=dict)
    iterations: int = 0
    broken: int = 0
    watched: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    error: str = ""
    seconds: float = 0.0


def score_repository(one: Repository, config: FleetConfig, rubric: Rubric, parts: Any = None) -> Result:
    """Score one repository. Never raises: why it cannot be scored is in the result, a bug too.

    ``parts`` are what :mod:`scoring.fleet.splitting` read of its transcripts, where that was done by others.
    """
    began = time.monotonic()
    result = Result(one.name)
    try:
        with _at_hand(one, config, parts) as place:
            _score(place, config, rubric, result)
            if place is not one:
                result.fingerprint = fingerprint_of(one, config, rubric)
    except DaScoreError as e:
        result.error = str(e)
    except Exception as e:
        result.error = f"internal error, please report it: {type(e).__name__}: {e}"
    result.error = " ".join(printable(result.error).split())[:_REASON_LENGTH]
    result.seconds = time.monotonic() - began
    return result


@contextlib.contextmanager
def _at_hand(one: Repository, config: FleetConfig, parts: Any) -> Iterator[Repository]:
    """Give a repository as a directory: itself, or what is unpacked of it while the block runs."""
    if one.url or parts is not None:
        from scoring.fleet.archives import unpacked  # directories do without

        with unpacked(one, config, parts) as place:
            yield place
    else:
        yield one


def _score(one: Repository, config: FleetConfig, rubric: Rubric, result: Result) -> None:
    assert one.repo_dir is not None
    assert one.log is not None
    settings = resolve_settings(one.options(), environment={})
    cache = cache_folder(config)
    before = fingerprint_of(one, config, rubric)
    job = LogJob(
        one.log,
        one.repo_dir,
        settings.transcript_dirs,
        rubric,
        settings.transcripts,
        settings.trunk,
        settings.worktrees,
        settings.test_commands,
    )
    plan = BackfillPlan(rubric, dry_run=True, cache_dir=cache, processes=1, keeps_cache=True, observe=True)
    found: list[Standing] = []
    report = backfill_log(job, plan, found.append)
    if report.error:
        raise DaScoreError(report.error)
    outcomes = _outcomes(found, one, settings, cache, config, report.warnings)
    horizon = days_of(config.horizon)
    tables = arrow_tables(
        row
        for standing in found
        for row in rows_of_iteration(result.repository, standing, outcomes.get(standing.score.iteration), horizon)
    )
    result.tables = {name: as_bytes(table) for name, table in tables.items()}
    result.iterations, result.broken = len(found), len(report.broken)
    result.warnings = tuple(map(printable, report.warnings[:MOST_WARNINGS]))
    names = {os.path.normpath(name) for s in found for name in s.facts.record.artifacts if name and "\0" not in name}
    result.watched = tuple(sorted(names))
    # Taken before anything was read: what changed meanwhile shows the next time.
    same = before == fingerprint_of(one, config, rubric)
    result.fingerprint = fingerprint_of(one, config, rubric, result.watched) if same else ""


def cache_folder(config: FleetConfig) -> Path | None:
    """Return where workers keep what they read of directories; None when nothing is kept."""
    if config.cache is None:
        from platformdirs import user_cache_path

        return user_cache_path("da-score", appauthor=False)
    return Path(config.cache) if config.cache else None


def _outcomes(
    found: list[Standing], one: Repository, settings: Settings, cache: Path | None, config: FleetConfig, said: list[str]
) -> dict[int, Outcome]:
    """Return what became of the work of each iteration; nothing where git cannot say."""
    assert one.repo_dir is not None
    rules = OutcomeRules(days_of(config.horizon), settings.code_globs, settings.fix_words or FIX_WORDS)
    records = [standing.facts.record for standing in found]
    try:
        outcomes = log_outcomes(records, one.repo_dir, rules, cache, settings.trunk)
    except GitError as e:
        said.append(f"outcomes are not known: {e}")
        return {}
    return {outcome.iteration: outcome for outcome in outcomes}


def as_bytes(table: Any) -> bytes:
    """Return a table of Arrow as bytes, compressed."""
    import pyarrow as pa

    out = pa.BufferOutputStream()
    with pa.ipc.new_stream(out, table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_table(table)
    data: bytes = out.getvalue().to_pybytes()
    return data


def from_bytes(data: bytes) -> Any:
    """Return the table that :func:`as_bytes` wrote."""
    import pyarrow as pa

    with pa.ipc.open_stream(data) as reader:
        return reader.read_all()
