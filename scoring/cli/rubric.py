"""``da-score rubric``: list, show, validate and compare rubrics."""

import os
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from rubric import (
    RUBRIC_VERSION,
    Rubric,
    find_rubric,
    load_rubric,
    model,
    released_rubric,
    rubric_versions,
)
from scoring.cli import app
from scoring.cli.output import reply
from scoring.cli.reading import broken_entries, sources_of_each
from scoring.errors import InputError
from scoring.log.settings import DEFAULT_LOG_DIR, Settings, resolve_settings
from scoring.score import score_log_under
from scoring.text import printable
from scoring.views.compare import diff_logs, diff_rubrics
from scoring.views.compare_page import comparison_page, comparison_payload
from scoring.views.table import Block, Cell, Column, Line, Table, TableRow


@click.group("rubric", epilog="Example:  da-score rubric show 2.1.0")
def command() -> None:
    """List, show, check and compare rubrics."""


@command.command("list", epilog="Example:  da-score rubric list --json")
@app.settings_options()
def list_(settings: Settings) -> None:
    """List the released rubrics."""
    rows = []
    for released in map(released_rubric, rubric_versions()):
        count, is_default = len(released.signals), released.version == RUBRIC_VERSION
        default = Cell(is_default, "(default)" if is_default else "")
        rows.append((released.version, Cell(count, f"{count} signals"), default))
    table = Table(
        (Column("", "version", 8), Column("", "signals"), Column("", "default")), rows, heads=False
    )
    reply(settings.json, table.as_json(), [table])


@command.command("show", epilog="Example:  da-score rubric show 2.0.2")
@click.argument("rubric", metavar="[VERSION|FILE]", required=False)
@app.settings_options()
def show(rubric: str | None, settings: Settings) -> None:
    """Show the signals, weights and bands of a rubric, by default the one that scores."""
    found = find_rubric(rubric or settings.rubric)
    reply(settings.json, asdict(found), _page(found))


@command.command("validate", epilog="Example:  da-score rubric validate my-rubric.yaml")
@click.argument("file", type=app.PATH)
@app.settings_options()
def validate(file: Path, settings: Settings) -> None:
    """Check a rubric file; exit 1 and say what is wrong when it is not valid."""
    found = load_rubric(file)
    text = f"{file}: valid rubric {printable(found.version)}, {len(found.signals)} signals\n"
    reply(
        settings.json,
        {"valid": True, "version": found.version, "signals": len(found.signals)},
        text,
    )


@command.command("diff", epilog="Example:  da-score rubric diff 2.1.0 2.2.0")
@click.argument("a", metavar="A")
@click.argument("b", metavar="B")
@app.shared_options(*app.EVIDENCE_OPTIONS)
@click.option(
    "--no-log", is_flag=True, help="Compare the rubrics alone, whether or not there is a log."
)
def diff(a: str, b: str, options: dict[str, Any], no_log: bool) -> None:
    """Compare two rubrics, released versions or files, and a log's scores under both.

    Shows weights and bands side by side. Where there is an iteration log, shows too which scores move from A to B, by
    how much, and which signals move them. Writes nothing.
    """
    settings = app.swept(resolve_settings(options))
    before, after = find_rubric(a), find_rubric(b)
    found, log, tasks = diff_rubrics(before, after), None, {}
    default = (
        options["iter-log-dir"] is None
        and settings.iter_log_dir == settings.repo_dir / DEFAULT_LOG_DIR
    )
    if not no_log and (not default or os.path.exists(settings.iter_log_dir)):
        one, other = score_log_under(
            [before, after], settings.iter_log_dir, sources_of_each([before, after], settings)
        )
        broken_entries(*one.broken, *other.broken)
        log, tasks = (
            diff_logs(one, other),
            {i.record.iteration: i.record.task_id for i in one.iterations},
        )
    place = None if no_log else settings.iter_log_dir
    reply(
        settings.json,
        comparison_payload(found, log, place, tasks),
        comparison_page(found, log, place, tasks),
    )


@command.command(
    "fit", hidden=True, context_settings={"ignore_unknown_options": True, "help_option_names": []}
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def fit(arguments: tuple[str, ...]) -> int:  # noqa: ARG001 - of the command that was removed
    """Say what took the place of a command that was removed."""
    raise InputError(
        "rubric fit was removed; write your weights into a rubric file, and compare it with"
        " da-score validate --rubric FILE"
    )


_DATA: dict[str, dict[object, str]] = {
    "evidence": {
        model.EVIDENCE_REFERENCE: "reference (read as the reference implementation reads it)",
        model.EVIDENCE_ATTRIBUTED: "attributed (of each iteration its own work, and what was observed in it)",
    },
    "claims_vote": {False: "no (only what was observed votes)"},
    "loading": {model.LENIENT: "lenient (a broken entry is left out, and the rest is scored)"},
    "text": {model.FULL_TEXT: "full (a pipe has the coverage and whole names)"},
    "sidecar": {model.BOUNDS_SIDECAR: "bounds (sidecars have bounds and coverage)"},
    "test_flags": {model.ALL_FLAGS: "all (impl.tests_total_pass of schema 2 is a claim too)"},
}
"""The words for a rubric's data; beside its evidence only where it differs from the reference's."""
_COLUMNS = (
    Column("SIGNAL", width=20),
    Column("WEIGHT", width=7),
    Column("TWO-WAY", width=7),
    Column("LABEL", width=0),
)


def _page(rubric: Rubric) -> Iterator[Block]:
    yield Line(f"Rubric {rubric.version}   {rubric.combination}", "bold")
    yield Line()
    rows = [
        TableRow((s.id, f"{s.weight:.4g}", "yes" if s.two_way else "no", s.label), [s.description])
        for s in rubric.signals
    ]
    yield Table(_COLUMNS, rows, notes="DESCRIPTION", notes_indent=40)
    yield Line()
    for key, words in _DATA.items():
        if (value := getattr(rubric, key)) in words:
            yield Line(f"{key.replace('_', ' ').upper()}  {words[value]}")
    if rubric.minimum_coverage:
        yield Line(
            f"MINIMUM COVERAGE  {rubric.minimum_coverage * 100:.1f} % of the weight, or there is no band"
        )
    yield Line("BANDS  " + "   ".join(f"{band.name} from {band.min:g}" for band in rubric.bands))
