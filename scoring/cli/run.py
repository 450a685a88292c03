"""``da-score run``: what became of the work, and the scores of the whole log."""

from tempfile import SpooledTemporaryFile

import click
from msgspec.structs import replace

from rubric import find_rubric
from rubric.model import FULL_TEXT
from scoring.cli.app import SCORING_OPTIONS, selection_options, settings_options
from scoring.cli.output import on_terminal, put_item, say, show, write_json_around
from scoring.cli.reading import broken_entries, log_view, outcome_rules, scores_about, sources
from scoring.errors import silent
from scoring.evidence.git.walk import subjects_of
from scoring.examine import PreloadedEvidence
from scoring.log.selection import Selection
from scoring.log.settings import Settings, cache_dir_of
from scoring.score import LogSummary, score_whole_log
from scoring.sidecars.fingerprint import kept_meaning
from scoring.views.run_pages import RunShown, run_item, run_page, run_payload
from scoring.views.work_rows import work_of

_IN_MEMORY = 8 << 20  # how many bytes of JSON wait in memory; more of them wait in a temporary file


@click.command(epilog="Example:  da-score run --last 5")
@settings_options(*SCORING_OPTIONS)
@selection_options
@click.option(
    "--all", "every", is_flag=True, help="Show every iteration on a terminal, not only the last 20."
)
@click.option("--sessions", is_flag=True, help="Show the sessions too where there are 20 or more.")
@click.option("--no-write", is_flag=True, help="Print the scores and write no sidecar.")
def command(
    settings: Settings, selection: Selection, every: bool, sessions: bool, no_write: bool
) -> None:
    """Say what became of the work, score every iteration and session of a log, and say what to look at.

    Writes iter-N.score.yaml and session-ID.score.yaml beside the entries. --last, --since and --task choose what is
    printed; the whole log is scored and written all the same.
    """
    log_dir, evidence, rubric = (
        settings.iter_log_dir,
        sources(settings),
        find_rubric(settings.rubric),
    )
    terminal = on_terminal() and not settings.json
    looks = rubric.text == FULL_TEXT or terminal
    read: list[PreloadedEvidence] = []

    with SpooledTemporaryFile(_IN_MEMORY) as items:
        log = score_whole_log(
            *(log_dir, evidence, rubric, selection),
            (lambda *found: put_item(items, run_item(*found))) if settings.json else None,
            write=not no_write,
            observe=settings.json,
            broken=broken_entries,
            beside=(lambda found: read.append(PreloadedEvidence(found)))
            if looks and evidence.rules.as_observed
            else silent,
        )
        more = _more(settings, selection, log, read) if looks and log.lines else None
        if settings.json:
            write_json_around(run_payload(log, more=more), "iterations", items)
            return
    if not log.lines:
        all_of_them = "; da-score work shows what the sessions did" if looks else ""
        chosen = (
            all_of_them if selection == Selection() else " that --last, --since and --task choose"
        )
        say(f"score: no iterations found in {log_dir}{chosen}\n")
        return
    shown = replace(more or RunShown(), terminal=terminal, every=every, sessions=sessions)
    show(run_page(log, log_dir, log.written, shown), bound=rubric.text != FULL_TEXT)


def _more(
    settings: Settings, selection: Selection, log: LogSummary, read: list[PreloadedEvidence]
) -> RunShown:
    # What was read is taken out, so that it does not stay while a long page is made.
    rows = work_of(
        log_view(settings, selection=selection, outcomes=True), read.pop() if read else None
    )
    subjects = subjects_of(settings.repo_dir, [line.commit for line in log.lines if line.commit])
    meaning = kept_meaning(
        cache_dir_of(settings), scores_about(settings, log.rubric.version), log.marks
    )
    return RunShown(rows, subjects, meaning, outcome_rules(settings).horizon_days)
