"""``da-score log``: the entries of a log, and the signals as they are read from it."""

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from scoring.frozen import PlainData
from scoring.log.selection import Selection
from scoring.log.settings import Settings
from scoring.text import counted, printable

from .group import CommandGroup
from .iteration_names import complete_iterations
from .options import (
    EVIDENCE_OPTIONS,
    LOG_OPTIONS,
    NUMBER,
    SCORING_OPTIONS,
    Whole,
    flag,
    selection_options,
    settings_options,
    shared_options,
    valued,
)
from .output import WARNINGS, progress, reply, warn, write_json
from .reading import (
    log_view,
    observing_sources,
    report_broken_entries,
    rubric_of,
    settings_of_whole_repository,
    sources_by_rules,
)

if TYPE_CHECKING:
    from scoring.evidence.transcripts.observed_facts import Observed


@click.group(cls=CommandGroup)
def command() -> None:
    """Check, print and write the entries of a log.

    What a log holds is described in docs/LOG.md. To score it, use run, iteration or check.

    Example:  da-score log lint
    """


@command.command
@settings_options(*EVIDENCE_OPTIONS)
@flag("--strict", "Also report keys that only dot-agents knows.")
def lint(settings: Settings, strict: bool) -> int | None:
    """Check the entries of a log, each by itself and all together.

    Errors are broken files, unknown keys, values of a wrong type, two files of one iteration, and
    a commit that two entries name. Keys that dot-agents writes and da-score ignores are right
    unless you say --strict. Warnings, which --quiet only counts, are sessions that no transcript
    knows, and values that do not mean what they look like. Exits with 1 when there is an error.

    Example:  da-score log lint --json
    """
    from scoring.jobs.lint import lint_log

    # stays None, for not known, where the settings say that no transcript is read
    session_ids = None
    if settings.transcripts != "none":
        from scoring.evidence.attribution.attributed import AttributedScan

        with observing_sources(settings).transcripts().start() as scan:
            assert isinstance(scan, AttributedScan)
            session_ids = scan.session_ids()

    count, findings = lint_log(
        settings.iter_log_dir, settings.repo_dir, session_ids, strict
    )
    errors = sum(finding.level == "error" for finding in findings)

    value = {
        "entries": count,
        "errors": errors,
        "warnings": len(findings) - errors,
        "findings": [finding._asdict() for finding in findings],
    }

    lines = []
    for finding in findings:
        if WARNINGS.quiet and finding.level == "warning":
            continue
        place = str(finding.path)
        if finding.line:
            place += f":{finding.line}"
        lines.append(
            f"{printable(place)}: {finding.level}: {printable(finding.text)}\n"
        )

    total = "nothing is wrong"
    if findings:
        total = (
            f"{counted(errors, 'error')}, {counted(len(findings) - errors, 'warning')}"
        )
    lines.append(f"{counted(count, 'entry', 'entries')}: {total}\n")
    reply(settings, value, "".join(lines))
    return 1 if errors else None


@command.command
@settings_options(*LOG_OPTIONS)
@selection_options
def records(settings: Settings, selection: Selection) -> None:
    """Print the entries of a log as a JSON list, both schemas in one shape.

    Example:  da-score log records --last 1
    """
    from scoring.log.load import load_log_for
    from scoring.yamlread import TRUE_FLAGS

    rubric = rubric_of(settings)
    entries = load_log_for(
        [rubric], settings.iter_log_dir, TRUE_FLAGS, report_broken_entries
    )
    write_json([record.as_dict() for record in selection.select(entries)])


@command.group
def entry() -> None:
    """Write an entry of the log, or set a value in one.

    Example:  da-score log entry new 12
    """


@entry.command
@click.argument("iteration", metavar="[N]", type=NUMBER, required=False)
@valued("--commit", "REF", "The commit that holds the work.", default="HEAD")
@shared_options(*LOG_OPTIONS)
def new(iteration: int | None, commit: str, options: PlainData) -> None:
    """Write the entry of iteration N, by default the next, with what git knows of a commit.

    Every other field is a comment that says what it means. Never replaces an entry.

    Example:  da-score log entry new 12 --commit HEAD~1
    """
    from scoring.jobs.entries import new_entry  # loads pydantic and ruamel.yaml

    settings = settings_of_whole_repository(options)
    path = new_entry(
        settings.iter_log_dir,
        settings.repo_dir,
        iteration,
        commit,
        warn,
    )
    reply(settings, {"path": path}, f"Wrote {printable(path)}\n")


@entry.command("set")
@click.argument(
    "iteration", metavar="N", type=Whole(0), shell_complete=complete_iterations
)
@click.argument("key")
@click.argument("value")
@settings_options(*LOG_OPTIONS)
def set_(
    iteration: int,
    key: str,
    value: str,
    settings: Settings,
) -> None:
    """Set one field of an entry, named by its path: impl.retries or verifiers.0.status.

    Checks the value before it writes it. Comments and everything else stay as they are.

    Example:  da-score log entry set 12 impl.retries 1
    """
    from scoring.jobs.entry_edit import set_value  # loads pydantic and ruamel.yaml

    path = set_value(settings.iter_log_dir, iteration, key, value)
    reply(settings, {"path": path}, f"Wrote {printable(path)}\n")


@command.group
def schema() -> None:
    """Print the JSON Schema of a file, for an editor or an agent's instructions.

    Example:  da-score log schema entry > entry.schema.json
    """


@schema.command("entry")
@shared_options()
def schema_of_entry(options: PlainData) -> None:  # noqa: ARG001 - it prints JSON in any case
    """Print what an entry (iter-N.yaml) may hold in either schema, and what each field means.

    Example:  da-score log schema entry > entry.schema.json
    """
    from scoring.log.schema import entry_schema

    write_json(entry_schema())


@command.command
@settings_options(*SCORING_OPTIONS)
@selection_options
def integrity(settings: Settings, selection: Selection) -> None:
    """Compare what agents claimed with what was observed, over a log or some of it.

    Has a row for each role and signal. Weights and bands play no part; --rubric only chooses the
    rules under which evidence is read.

    Example:  da-score log integrity --json
    """
    from scoring.views.integrity import (
        integrity_page,
        summarize_integrity,
        summarize_words,
    )

    signal_sets = []
    observed: list[Observed | None] = []
    view = log_view(settings, recompute=True, selection=selection)
    with progress("Scoring the log"):
        for iteration in view.examine():
            signal_sets.append(iteration.signals)
            observed.append(iteration.facts.observed)

    rows = summarize_integrity(signal_sets)
    claims = summarize_words(observed)

    value: PlainData = {"pairs": [row._asdict() for row in rows]}
    if claims:
        value["claims"] = claims._asdict() if any(claims) else None
    reply(settings, value, integrity_page(rows, settings.iter_log_dir, claims))


@command.command
@settings_options(*SCORING_OPTIONS)
@selection_options
def signals(settings: Settings, selection: Selection) -> None:
    """Print the signals of every iteration as JSON.

    With them come integrity, the objective checks, and the deliberation, where there is one.

    Example:  da-score log signals --last 1
    """
    from scoring.score import score_log_under

    rubrics = [rubric_of(settings)]
    evidence = sources_by_rules(rubrics, settings)
    with progress("Scoring the log"):
        (log,) = score_log_under(rubrics, settings.iter_log_dir, evidence, observe=True)
    report_broken_entries(*log.broken)

    chosen = selection.numbers([iteration.record for iteration in log.iterations])
    rows = []
    for iteration in log.iterations:
        if iteration.record.iteration in chosen:
            row: PlainData = iteration.signals.as_dict()
            row["bounds"] = asdict(iteration.score.bounds)
            row["coverage"] = asdict(iteration.score.coverage)
            rows.append(row)
    write_json(rows)
