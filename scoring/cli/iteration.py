"""``da-score iteration N``: the breakdown of one iteration."""

import contextlib
import dataclasses
from pathlib import Path
from typing import Any

import click
from msgspec.structs import replace

from rubric import find_rubric, rubric_behind
from scoring.cli.app import SCORING_OPTIONS, shared_options, swept
from scoring.cli.completion import complete_iterations
from scoring.cli.output import full_text, on_terminal, show, warn, write_json
from scoring.cli.reading import (
    broken_entries,
    iteration_named,
    meaning_of,
    sources,
    stop_if_left_out,
    view_under,
)
from scoring.errors import DaScoreError, NotFoundError
from scoring.evidence.beside import (
    PROFILE,
    HookOutcome,
    deliberation_facts,
    deliberation_file,
    hook_facts,
)
from scoring.evidence.facts import IterationFacts
from scoring.examine import ExaminedIteration, subject_of
from scoring.jobs.close_task import bring_session_up_to_date
from scoring.log.load import no_such_entry
from scoring.log.selection import Selection
from scoring.log.settings import Settings, cache_dir_of, resolve_settings
from scoring.outcomes.prices import stored_prices
from scoring.outcomes.spending import spending_of
from scoring.score import ScoredIteration, score_iterations, write_iterations
from scoring.sidecars.fingerprint import NOT_MEASURED, fingerprints
from scoring.sidecars.provenance import read_provenance
from scoring.sidecars.scores import PersistedScore, iteration_score_path, read_score
from scoring.sidecars.states import CURRENT, State
from scoring.signals.diminishing_returns import deliberation_shown
from scoring.signals.table import fact_of, meter_profile
from scoring.signals.values import Deliberation
from scoring.views.landing_text import landing_text, named_commit
from scoring.views.score_pages import (
    claims_payload,
    iteration_page,
    kept_payload,
    score_payload,
    scored_now_payload,
)


@click.command(epilog="Example:  da-score iteration 3 --recompute")
@click.argument("iteration", metavar="ITERATION", shell_complete=complete_iterations)
@shared_options(*SCORING_OPTIONS)
@click.option(
    "--recompute", is_flag=True, help="Score the iteration again, write its sidecar, and show it."
)
def command(iteration: str, options: dict[str, Any], recompute: bool) -> None:
    """Show how the score of one iteration came about, as a table.

    ITERATION is a number, last, a SHA of at least 7 digits, HEAD~2, a branch, or a session (its last one).
    Reads the iteration's sidecar, and says whether the evidence here gives the same. Where there is none, or
    with --recompute, scores the iteration and brings its session's sidecar up to date.
    """
    settings = swept(resolve_settings(options))
    number = iteration_named(iteration, settings)
    log_dir, state, kept = settings.iter_log_dir, CURRENT, None
    with contextlib.suppress(NotFoundError):
        kept = None if recompute else read_score(log_dir, number)
    now = _score(settings, number) if kept is None else None
    found: ExaminedIteration | ScoredIteration | None = now
    objectives = now.signals.objective if now else None
    if now:
        score, deliberation = now.persisted, now.signals.deliberation
    elif kept:
        deliberation = None
        if deliberation_file(log_dir, number) is not None:
            rubric = rubric_behind(kept.rubric_version, settings.rubric)
            measured = deliberation_facts(
                log_dir, number, meter_profile(rubric, observe=True) or PROFILE
            )
            deliberation = deliberation_shown(measured, number)
        state, found, score = _compared(
            settings, kept, "" if options["rubric"] else kept.rubric_version
        )
    facts = found.facts if found else None
    used = spending_of(facts) if facts else None
    full = not on_terminal() and full_text(score.rubric_version, settings.rubric)
    brief = not (
        settings.json or full or on_terminal()
    )  # the text of a reference rubric has no room for all
    subject = subject_of(settings.repo_dir, facts) if facts and not brief else ""
    with stored_prices(cache_dir_of(settings)):
        if settings.json:
            payload = (
                scored_now_payload(now)
                if now
                else _payload(log_dir, score, deliberation, state, facts)
            )
            write_json(payload | {"subject": subject or None})
            return
        if brief and state.name != "current":
            warn(f"iteration {number}: its sidecar is {state}")
        hooks, source = hooks_behind(score, log_dir), iteration_score_path(log_dir, number)
        about, meaning = [], NOT_MEASURED
        if facts and not brief:
            about = [
                line
                for line in (named_commit(facts.landing.sha, subject), landing_text(facts.landing))
                if line
            ]
            meaning = meaning_of(settings, score.rubric_version, [(score, facts)])
        page = iteration_page(
            score, hooks, source, deliberation, objectives, full, state, used, about, meaning
        )
        show(page, not full)


def _payload(
    log_dir: Path,
    score: PersistedScore,
    deliberation: Deliberation | None,
    state: State,
    facts: IterationFacts | None,
) -> dict[str, Any]:
    own, used = read_provenance(log_dir, score.iteration), spending_of(facts) if facts else None
    payload = score_payload(
        score, deliberation, kept_payload(own.own if own else None), state, used
    )
    if payload.get("attribution") and facts and facts.observed:
        payload["attribution"]["also_active"] = list(facts.observed.also_active)
    return payload | (claims_payload(facts) if facts else {})


def _compared(
    settings: Settings, kept: PersistedScore, version: str
) -> tuple[State, ExaminedIteration | None, PersistedScore]:
    try:
        found = next(
            view_under(version, settings, Selection(only={kept.iteration})).examine(score=kept),
            None,
        )
        if found is None:
            raise no_such_entry(settings.iter_log_dir, kept.iteration)
    except DaScoreError as e:
        return State("unverified", f"its evidence cannot be looked at: {e}"), None, kept
    rows = tuple(
        dataclasses.replace(row, fact=fact_of(row, found.signals)) for row in kept.breakdown
    )
    return found.state, found, replace(kept, breakdown=rows)


def _score(settings: Settings, iteration: int) -> ScoredIteration:
    """Score one iteration and write its sidecar and its session's; warns when the old one had more evidence."""
    rubric, log_dir, evidence = (
        find_rubric(settings.rubric),
        settings.iter_log_dir,
        sources(settings),
    )
    records = evidence.entries([rubric], log_dir, broken_entries)
    if records.index_of(iteration) is None:
        stop_if_left_out(log_dir, iteration)
        raise no_such_entry(log_dir, iteration)
    ((scored,),) = score_iterations(
        records, log_dir, evidence, rubric, only={iteration}, observe=True
    )
    with fingerprints(evidence.cache_dir, log_dir, rubric) as known:
        write_iterations(log_dir, [scored], warn, known)
    bring_session_up_to_date(log_dir, rubric, scored.record, warn, records)
    return scored


def hooks_behind(score: PersistedScore, log_dir: Path) -> list[HookOutcome]:
    """Return the hook records behind a score in which the hook signal is present, by the bytes of rule and sentinel."""
    if not any(row.signal == "hook_outcomes" and row.present for row in score.breakdown):
        return []
    found = hook_facts(log_dir, score.iteration)
    if found.failed:
        warn(f"the hook outcomes of iteration {score.iteration} cannot be shown: {found.problem}")
    records = found.records or ()
    return sorted(
        records,
        key=lambda h: [i.encode("utf-8", "surrogateescape") for i in (h.rule_id, h.sentinel_id)],
    )
