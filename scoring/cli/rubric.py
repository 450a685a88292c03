"""``da-score rubric``: list, show, validate and compare rubrics."""

from dataclasses import asdict
from pathlib import Path

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
from scoring.frozen import PlainData
from scoring.log.settings import Settings
from scoring.score import score_log_under
from scoring.text import printable
from scoring.views.compare import diff_logs, diff_rubrics
from scoring.views.compare_page import comparison_page, comparison_payload
from scoring.views.table import Line, Page, Table, TableRow

from .group import CommandGroup
from .options import (
    EVIDENCE_OPTIONS,
    PATH,
    prepared_settings,
    settings_options,
    shared_options,
)
from .output import reply
from .reading import report_broken_entries, sources_by_rules
from .work_reading import has_no_log

_LIST_COLUMNS = ("", "", "")
_SIGNAL_COLUMNS = ("SIGNAL", "WEIGHT", "TWO-WAY", "LABEL")

_PROPERTIES: dict[str, dict[object, str]] = {
    "evidence": {
        model.EVIDENCE_REFERENCE: "reference (read as the reference implementation reads it)",
        model.EVIDENCE_ATTRIBUTED: (
            "attributed (of each iteration its own work, and what was observed in it)"
        ),
    },
    "claims_vote": {False: "no (only what was observed votes)"},
    "loading": {
        model.LENIENT: "lenient (a broken entry is left out, and the rest is scored)"
    },
    "text": {model.FULL_TEXT: "full (a pipe has the text of a terminal)"},
    "sidecar": {model.BOUNDS_SIDECAR: "bounds (sidecars have bounds and coverage)"},
    "test_flags": {
        model.ALL_FLAGS: "all (impl.tests_total_pass of schema 2 is a claim too)"
    },
}
"""The properties of a rubric in words, except values that the reference's rubrics have."""


@click.group(cls=CommandGroup)
def command() -> None:
    """List, show, check and compare rubrics.

    Example:  da-score rubric show 2.1.0
    """


@command.command("list")
@settings_options()
def list_(settings: Settings) -> None:
    """List the released rubrics.

    Example:  da-score rubric list --json
    """
    value = []
    rows = []
    for version in rubric_versions():
        count = len(released_rubric(version).signals)
        is_default = version == RUBRIC_VERSION
        value.append({"version": version, "signals": count, "default": is_default})
        rows.append((version, f"{count} signals", "(default)" if is_default else ""))

    reply(settings, value, [Table(_LIST_COLUMNS, rows, heads=False)])


@command.command
@click.argument("rubric", metavar="[VERSION|FILE]", required=False)
@settings_options()
def show(rubric: str | None, settings: Settings) -> None:
    """Show the signals, weights and bands of a rubric, by default the one that scores.

    Example:  da-score rubric show 2.0.2
    """
    chosen = find_rubric(rubric or settings.rubric)
    reply(settings, asdict(chosen), _rubric_page(chosen))


def _rubric_page(rubric: Rubric) -> Page:
    """Yield the signals of a rubric, what is special about it, and its bands."""
    yield Line(f"Rubric {rubric.version}   {rubric.combination}", "bold")
    yield Line()

    rows = []
    for signal in rubric.signals:
        two_way = "yes" if signal.two_way else "no"
        cells = (signal.id, f"{signal.weight:.4g}", two_way, signal.label)
        rows.append(TableRow(cells, [signal.description]))
    yield Table(_SIGNAL_COLUMNS, rows, notes="DESCRIPTION", notes_indent=40)
    yield Line()

    for name, texts in _PROPERTIES.items():
        value = getattr(rubric, name)
        if value in texts:
            yield Line(f"{name.replace('_', ' ').upper()}  {texts[value]}")
    if rubric.minimum_coverage:
        percent = rubric.minimum_coverage * 100
        yield Line(
            f"MINIMUM COVERAGE  {percent:.1f} % of the weight, or there is no band"
        )
    yield Line(
        "BANDS  "
        + "   ".join(f"{band.name} from {band.min:g}" for band in rubric.bands)
    )


@command.command
@click.argument("file", type=PATH)
@settings_options()
def validate(file: Path, settings: Settings) -> None:
    """Check a rubric file.

    If the file is not valid, says what is wrong and exits with 1.

    Example:  da-score rubric validate my-rubric.yaml
    """
    rubric = load_rubric(file)
    count = len(rubric.signals)
    value = {"valid": True, "version": rubric.version, "signals": count}
    text = f"{file}: valid rubric {printable(rubric.version)}, {count} signals\n"
    reply(settings, value, text)


@command.command
@click.argument("a", metavar="A")
@click.argument("b", metavar="B")
@shared_options(*EVIDENCE_OPTIONS)
def diff(
    a: str,
    b: str,
    options: PlainData,
) -> None:
    """Compare two rubrics, released versions or files, and a log's scores under both.

    Shows weights and bands side by side. If there is a log, also shows which scores move from A
    to B, by how much, and which signals move them. Writes nothing.

    Example:  da-score rubric diff 2.1.0 2.2.0
    """
    settings = prepared_settings(options)
    rubric_a = find_rubric(a)
    rubric_b = find_rubric(b)
    rubric_diff = diff_rubrics(rubric_a, rubric_b)

    log_diff = None
    is_named = options["iter-log-dir"] is not None  # and must then exist
    if is_named or not has_no_log(settings):
        rubrics = [rubric_a, rubric_b]
        evidence = sources_by_rules(rubrics, settings)
        log_a, log_b = score_log_under(rubrics, settings.iter_log_dir, evidence)
        report_broken_entries(*log_a.broken, *log_b.broken)
        log_diff = diff_logs(log_a, log_b)

    payload = comparison_payload(rubric_diff, log_diff, settings.iter_log_dir)
    page = comparison_page(rubric_diff, log_diff, settings.iter_log_dir)
    reply(settings, payload, page)
