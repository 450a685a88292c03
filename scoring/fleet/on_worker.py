"""Scores one repository on a worker, with the engine of ``backfill``, and returns rows instead of writing sidecars."""

import contextlib
import functools
import json
import os
import time
from dataclasses import dataclass, field, replace
from typing import Any

from rubric import Rubric
from scoring.errors import DaScoreError, GitError
from scoring.evidence.rules import Options, options_of
from scoring.fleet.archives import scratch_folder, unpacked
from scoring.fleet.fleet_toml import FleetConfig
from scoring.fleet.sources import Repository, fingerprint_of, folder_state
from scoring.fleet.tables import arrow_tables, rows_of_iteration, rows_of_work
from scoring.jobs.backfill import BackfillPlan, LogJob, Standing, backfill_log
from scoring.log.settings import days_of, resolve_settings
from scoring.outcomes.outcome import FIX_WORDS, Outcome, OutcomeRules, log_outcomes
from scoring.text import printable
from scoring.views.columns import DataRow
from scoring.views.examined import LogView
from scoring.views.work_pages import work_of

MOST_WARNINGS = 20
_REASON_LENGTH = 400

BEGUN = "da-score-fleet-begun"  # the topic on which workers say which task they begin with


@dataclass(slots=True)
class Result:
    """What a worker returns of one repository: the rows of each table of Arrow, or why there are none."""

    repository: str
    fingerprint: str = ""
    tables: dict[str, Any] = field(default_factory=dict)
    iterations: int = 0
    broken: int = 0
    watched: str = "[]"  # files that its entries name, as a JSON list
    warnings: tuple[str, ...] = ()
    error: str = ""
    seconds: float = 0.0


def begin_and_score(one: Repository, config: FleetConfig, rubric: Rubric, key: str) -> Result:
    """Tell the coordinator that a task begins, and score its repository."""
    from distributed import get_worker

    with contextlib.suppress(Exception):  # only the count of attempts depends on it
        get_worker().log_event(BEGUN, key)
    return score_repository(one, config, rubric)


def score_repository(one: Repository, config: FleetConfig, rubric: Rubric) -> Result:
    """Score one repository. Never raises: why it cannot be scored is in the result, a bug too."""
    began = time.monotonic()
    result = Result(one.name)
    try:
        if not one.url:
            _score(one, config, rubric, result)
        else:
            with scratch_folder(config) as scratch:
                here = replace(config, cache=str(scratch / "cache"))
                _score(unpacked(one, config, scratch / "unpacked"), here, rubric, result)
            result.fingerprint, result.watched = fingerprint_of(one, config, rubric), "[]"
    except DaScoreError as e:
        result.error = str(e)
    except Exception as e:
        result.error = f"internal error, please report it: {type(e).__name__}: {e}"
    result.error = " ".join(printable(result.error).split())[:_REASON_LENGTH]
    result.seconds = time.monotonic() - began
    return result


def _score(one: Repository, config: FleetConfig, rubric: Rubric, result: Result) -> None:
    assert one.repo_dir is not None
    assert one.log is not None
    settings = resolve_settings(one.options(), environment={})
    cache, horizon = config.cache_folder, days_of(config.horizon)
    before = fingerprint_of(one, config, rubric)
    plan = BackfillPlan(rubric, dry_run=True, cache_dir=cache, processes=1, keeps_cache=True, observe=True)
    found: list[Standing] = []
    report = backfill_log(LogJob(one.log, settings, rubric), plan, found.append)
    if report.error:
        raise DaScoreError(report.error)
    records, outcomes = [standing.facts.record for standing in found], dict[int, Outcome]()
    options: Options = {**options_of(settings), "cache_dir": cache, "processes": 1, "warn": report.warnings.append}
    rules = OutcomeRules(horizon, settings.code_globs, settings.fix_words or FIX_WORDS)
    view = LogView(one.log, one.repo_dir, settings.transcript_dirs, rubric, options=options, outcomes=rules)
    rows: list[tuple[str, DataRow]] = []
    try:
        outcomes = {o.iteration: o for o in log_outcomes(records, one.repo_dir, rules, cache, settings.trunk)}
        rows += rows_of_work(result.repository, work_of(view))
    except GitError as e:
        report.warnings.append(f"outcomes are not known: {e}")
    rows += (
        row
        for standing in found
        for row in rows_of_iteration(result.repository, standing, outcomes.get(standing.score.iteration), horizon)
    )
    result.tables = arrow_tables(rows, rubric.version)
    result.iterations, result.broken = len(found), len(report.broken)
    result.warnings = tuple(map(printable, [*dict.fromkeys(report.warnings)][:MOST_WARNINGS]))
    names = {os.path.normpath(name) for record in records for name in record.artifacts if name and "\0" not in name}
    result.watched = json.dumps(sorted(names))
    look = functools.cache(folder_state)
    if before == fingerprint_of(one, config, rubric, (), look):  # what changed meanwhile must show the next time
        result.fingerprint = fingerprint_of(one, config, rubric, sorted(names), look)
