"""``da-score report``: a log to look at."""

from pathlib import Path

import click
from msgspec.structs import replace

from rubric import find_rubric
from scoring.cli.app import (
    OUTCOME_OPTIONS,
    PATH,
    SCORING_OPTIONS,
    selection_options,
    settings_options,
)
from scoring.cli.fleet import opened
from scoring.cli.output import on_terminal, reply, show, write_bytes
from scoring.cli.reading import log_view, outcome_rules, scores_about
from scoring.errors import InputError, OptionError
from scoring.examine import PreloadedEvidence
from scoring.files import atomic_stream
from scoring.log.selection import Selection
from scoring.log.settings import Settings, cache_dir_of
from scoring.outcomes.validity import Case, validity
from scoring.sidecars.fingerprint import keep_meaning
from scoring.text import counted
from scoring.views.formats import require
from scoring.views.look_at import look_at
from scoring.views.report import is_report, page_parts, report_lines
from scoring.views.report.answers import fleet_work
from scoring.views.report.digest import Digest, digest, where_it_is
from scoring.views.validity_pages import with_cases
from scoring.views.work_rows import work_of, work_summary

_OUT = "Where the page goes; - is standard output.  [default: report.html]"


@click.command(epilog="Example:  da-score report --out report.html")
@settings_options(*SCORING_OPTIONS, *OUTCOME_OPTIONS)
@click.option("--out", type=PATH, metavar="FILE", default=Path("report.html"), help=_OUT)
@selection_options
@click.option(
    "--fleet",
    metavar="URL",
    help="Show the work of a fleet instead, by its folder, URL or FLEET.toml.",
)
@click.option("--terminal", is_flag=True, help="Show the essentials here, and write no page.")
@click.option("--recompute", is_flag=True, help="Take no score from a sidecar.")
def command(
    settings: Settings,
    out: Path,
    selection: Selection,
    fleet: str | None,
    terminal: bool,
    recompute: bool,
) -> None:
    """Show what became of the work, and the log: one page of HTML to mail, publish, or open from disk.

    Needs the extra 'report', --terminal does not.
    """
    piped = out == Path("-") and not terminal
    if piped and settings.json:
        raise OptionError("--out - and --json both want standard output: give --out FILE")
    if piped and on_terminal():
        raise OptionError("HTML is not for a terminal: give --out FILE")
    if not terminal:
        require("report", "jinja2")
        if not piped and not is_report(out):
            raise InputError(f"{out}: is no report of da-score; give another file with --out")
    if fleet is not None and selection != Selection():
        raise click.UsageError(
            "--last, --since and --task choose among the entries of a log, not of a fleet."
        )
    found = (
        _of_fleet(settings, fleet)
        if fleet is not None
        else _of_log(settings, recompute, selection, not terminal)
    )
    if terminal:
        show(report_lines(found))
        return
    page = (part.encode("utf-8", "replace") for part in page_parts(found))
    if piped:
        write_bytes(b"".join(page))
        return
    with atomic_stream(out, mode=0o644) as f:
        f.writelines(page)
    value = {
        "report": str(out),
        "iterations": len(found.lines),
        "mean": found.mean,
        "interval": found.interval and list(found.interval),
        "bands": found.bands,
        "insufficient": found.insufficient,
        "trend": found.trend and found.trend.as_dict(),
        "validity": found.validity and found.validity.as_dict(),
        "work": work_summary(found.work),
        "look_at": look_at(found.work),
    }
    what = (
        counted(len(found.lines), "iteration")
        if found.lines
        else counted(len(found.work), "piece") + " of work"
    )
    reply(settings.json, value, f"Wrote {out}: {what}\n")


def _of_log(settings: Settings, recompute: bool, selection: Selection, observe: bool) -> Digest:
    view = replace(log_view(settings, recompute, selection, outcomes=True), observe=observe)
    cases: list[Case] = []
    read: list[PreloadedEvidence] = []
    marks: list[bytes] = []
    rules = outcome_rules(settings)
    examined = view.examine(read.append)
    found = digest(
        view.iter_log_dir, view.rubric, with_cases(examined, view.rubric.version, cases, marks)
    )
    found.project, found.pages = where_it_is(view.repo_dir)
    found.validity = validity(cases, "defective", view.rubric.version, rules.horizon_days)
    cases.clear()  # what only the validity needs, and then what only the work does, leaves memory
    found.work, found.horizon_days = work_of(view, read.pop() if read else None), rules.horizon_days
    if selection == Selection():  # run shows it too
        about = scores_about(settings, view.rubric.version)
        keep_meaning(cache_dir_of(settings), about, marks, found.validity.verdict)
    return found


def _of_fleet(settings: Settings, place: str) -> Digest:
    require("fleet", "deltalake", "pyarrow")
    work = fleet_work(opened(place).rows("work").to_table().to_pylist())
    return Digest(place, find_rubric(settings.rubric), work=work, project=place, is_fleet=True)
