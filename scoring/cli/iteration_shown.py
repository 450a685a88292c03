"""What ``da-score iteration N`` shows where no answer is kept: a sidecar beside its evidence, or a score made now."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path

from msgspec.structs import replace

from rubric import find_rubric, released_rubric, rubric_versions
from scoring.cli.output import full_text, on_terminal, show, warn, write_json
from scoring.cli.reading import broken_entries, stop_if_left_out
from scoring.cli.reading import options as evidence_options
from scoring.errors import DaScoreError, NotFoundError, silent
from scoring.evidence.beside import HookOutcome, deliberation_file, hook_facts
from scoring.evidence.rules import Sources, rules_of
from scoring.jobs.unchanged import Unchanged
from scoring.log.load import no_such_entry
from scoring.log.settings import Settings, cache_dir_of
from scoring.score import ScoredIteration, Scorer, examine_iteration, remember, write_scored_iteration
from scoring.sidecars.fingerprint import store_of
from scoring.sidecars.provenance import read_provenance
from scoring.sidecars.scores import PersistedScore, iteration_score_path, read_score
from scoring.sidecars.states import CURRENT, State
from scoring.signals.table import fact_of
from scoring.signals.values import Deliberation
from scoring.views.chain import kept_payload
from scoring.views.examined import LogView
from scoring.views.score_pages import iteration_page, score_payload, scored_now_payload
from scoring.views.spending import Spending, spending_of


def show_iteration(
    settings: Settings, iteration: int, recompute: bool, follow: bool, unchanged: Unchanged
) -> Mapping[str, tuple[bool, bool]] | None:
    """Show the breakdown of one iteration, from its sidecar or scored now.

    To ``follow`` is to look at a sidecar under its own rubric, where nobody named another. Returns the folders that
    transcripts name, as they were seen, where the answer rests on nothing else that ``unchanged`` does not look at;
    None where it is not to be kept.
    """
    log_dir, state, used, folders = settings.iter_log_dir, CURRENT, None, None
    kept = None if recompute else _sidecar(log_dir, iteration)
    source = iteration_score_path(log_dir, iteration)
    if kept is None:
        now = _score(settings, iteration)
        score, deliberation, objectives = now.persisted, now.signals.deliberation, now.signals.objective
        payload, used = scored_now_payload(now), spending_of(now.facts)
    else:
        score, deliberation, objectives = kept, deliberation_of(log_dir, iteration), None
        state, used, score, folders = _seen_now(settings, kept, follow, unchanged)
        provenance = read_provenance(log_dir, iteration) if settings.json else None
        payload = score_payload(score, deliberation, kept_payload(provenance.own if provenance else None), state, used)
    if settings.json:
        write_json(payload)
        return folders
    full = not on_terminal() and full_text(score.rubric_version, settings.rubric)
    if state.name != "current" and not (full or on_terminal()):  # the text of a reference rubric has no place for it
        warn(f"iteration {iteration}: its sidecar is {state}")
    show(iteration_page(score, hooks_behind(score, log_dir), source, deliberation, objectives, full, state, used))
    return folders


def _seen_now(
    settings: Settings, kept: PersistedScore, follow: bool, unchanged: Unchanged
) -> tuple[State, Spending | None, PersistedScore, Mapping[str, tuple[bool, bool]] | None]:
    """Return what a sidecar is worth, what its iteration used as far as that is known, and its score with facts.

    Last come the folders that transcripts name, None where there was something to warn of.
    """
    log, n, warned = settings.iter_log_dir, kept.iteration, list[str]()
    own = follow and kept.rubric_version in rubric_versions()
    rubric = released_rubric(kept.rubric_version) if own else find_rubric(settings.rubric)
    where = settings.repo_dir, settings.transcript_dirs
    try:
        how = evidence_options(settings, rules_of(rubric), silent)
        how["warn"] = warned.append
        sources, store = Sources.under(rules_of(rubric), *where, how), store_of(cache_dir_of(settings), log, rubric)
        unchanged.begin(sources, store.files_of(n))
        records = sources.entries([rubric], log, silent)
        place = records.place(n)
        if place is None:
            raise no_such_entry(log, n)
        unchanged.rests_on([records[place]])
        with sources.transcripts().start() as scan:
            ((one,),) = Scorer(records, log, sources, scan, rubric, only={n}).every()
    except DaScoreError as e:
        return State("unverified", f"its evidence cannot be looked at: {e}"), None, kept, None
    found = LogView(log, *where, rubric, options=how).examined(one, warned.append, store)
    rows = tuple(dataclasses.replace(row, fact=fact_of(row, found.signals)) for row in kept.breakdown)
    seen = None if warned else scan.folders
    return found.state, found.spending, replace(kept, breakdown=rows), seen


def _sidecar(log_dir: Path, iteration: int) -> PersistedScore | None:
    """Read the score of a sidecar; None when there is none."""
    try:
        return read_score(log_dir, iteration)
    except NotFoundError:
        return None


def _score(settings: Settings, iteration: int) -> ScoredIteration:
    """Score one iteration and write its sidecar and its session's; warns when the old one had more evidence."""
    from scoring.jobs.close_task import bring_session_up_to_date  # most calls score nothing

    rubric, log_dir = find_rubric(settings.rubric), settings.iter_log_dir
    rules = rules_of(rubric)
    how = evidence_options(settings, rules)
    sources = Sources.under(rules, settings.repo_dir, settings.transcript_dirs, how)
    records = sources.entries([rubric], log_dir, broken_entries)
    if records.place(iteration) is None:
        stop_if_left_out(log_dir, iteration)
    where, folders = (log_dir, settings.repo_dir, iteration), settings.transcript_dirs
    scored = examine_iteration(*where, *folders, rubric=rubric, observe=True, records=records, **how)
    write_scored_iteration(log_dir, scored, warn)
    remember(cache_dir_of(settings), log_dir, settings.repo_dir, rubric, scored)
    bring_session_up_to_date(log_dir, rubric, scored.record, warn, records)
    return scored


def hooks_behind(score: PersistedScore, log_dir: Path) -> list[HookOutcome]:
    """Return the hook records behind a score whose hook signal is present, by the bytes of rule and sentinel."""
    if not any(row.signal == "hook_outcomes" and row.present for row in score.breakdown):
        return []
    found = hook_facts(log_dir, score.iteration)
    if found.failed:
        warn(f"the hook outcomes of iteration {score.iteration} cannot be shown: {found.problem}")
    records = found.records or ()
    return sorted(records, key=lambda h: [i.encode("utf-8", "surrogateescape") for i in (h.rule_id, h.sentinel_id)])


def deliberation_of(log_dir: Path, iteration: int) -> Deliberation | None:
    """Return what the meter says of an iteration's DR transcript; None when there is none."""
    if deliberation_file(log_dir, iteration) is None:  # most logs have none, and load no signal to show a sidecar
        return None
    from scoring.evidence.beside import deliberation_facts
    from scoring.signals.diminishing_returns import deliberation_shown

    return deliberation_shown(deliberation_facts(log_dir, iteration), iteration)
