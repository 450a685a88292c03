"""``da-score fleet``: many repositories on a cluster, and what is kept of them scored again."""

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from scoring.errors import DaScoreError, InputError
from scoring.files import write_atomically
from scoring.frozen import PlainData, fields_of
from scoring.log.settings import Settings
from scoring.text import counted, printable
from scoring.views.table import Column, Line, Page, Table, pairs

from .group import DefaultCommand, GroupWithDefault
from .options import PATH, Whole, flag, shared_options, valued
from .output import reply, say, show, warn, write, write_json

if TYPE_CHECKING:  # help needs none of them
    from scoring.fleet.coordinator import FleetEvent
    from scoring.fleet.dataset import DataSet, RepositoryState
    from scoring.fleet.run import FleetReport

_MOST_FAILURES_SHOWN = 50

_SECONDS_WITHOUT_WORD = 10
"""The line of a repository that took longer says so."""

_FAILURE_COLUMNS = ("FAILED", "TIMES", Column("REASON", prose=True))
_STATUS_COLUMNS = ("RUBRIC", "REPOSITORIES", "ITERATIONS", "BROKEN ENTRIES", "FAILED")


@click.command("fleet", cls=DefaultCommand)
@click.argument("fleet", metavar="FLEET.toml", type=PATH)
@valued("--scheduler", "tcp://…", "The address of a Dask scheduler that is running.")
@valued(
    "--workers",
    "N",
    "How many processes to start on this machine.  [one per core]",
    type=Whole(1, 1000),
)
@valued("--rubric", "VERSION|FILE", "Use this rubric, not that of the file.")
@flag("--force", "Score what did not change too.")
@shared_options()
def run(
    fleet: Path,
    options: PlainData,
    rubric: str | None,
    force: bool,
    **where: Any,
) -> None:
    """Run a fleet, as ``da-score fleet FLEET.toml`` does.

    Args:
        fleet: the path of the settings of the fleet.
        options: how the results are printed.
        rubric: the version that scores; None: that of the settings.
        force: whether to score what did not change.
        where: ``scheduler``, an address, or ``workers``, their number; each may be None.
    """
    from scoring.fleet.fleet_toml import read_fleet
    from scoring.fleet.run import run_fleet
    from scoring.views.formats import require

    if where["scheduler"] and where["workers"]:
        raise click.UsageError(
            "--workers starts processes here, and --scheduler names some that run; give one."
        )

    require("fleet", "distributed", "fsspec", "pyarrow", "deltalake")
    config = read_fleet(fleet)
    if rubric:
        config = config._replace(rubric=rubric)

    print_event = _print_json_event if options["json"] else _print_line_event
    report = run_fleet(config, print_event, force=force, **where)
    if not options["json"]:
        show(_report_page(report))

    if report.failed:
        repositories = counted(report.repositories, "repository", "repositories")
        raise DaScoreError(
            f"{len(report.failed)} of {repositories} failed; 'da-score fleet status' lists them"
        )


@click.group(
    "fleet",
    cls=GroupWithDefault,
    default=run,
    usage="FLEET.toml",
)
def command() -> None:
    """Score many repositories on Dask, and keep their rows as Delta tables.

    FLEET.toml lists the sources; da-score fleet init writes one with comments. If you run it
    again, it scores what changed in the meantime. Exits with 1 when a repository failed, after
    all others are done. Needs the extra 'fleet'.

    Example:  da-score fleet FLEET.toml
    """


def _report_page(report: "FleetReport") -> Page:
    """Yield what a run of a fleet did, with the repositories that failed."""
    yield Line()
    yield Line(f"Fleet — rubric {report.rubric}", "bold")
    yield Line()

    rows = {
        "REPOSITORIES": str(report.repositories),
        "             scored": str(report.scored),
        "             as before": str(report.skipped),
        "             failed": str(len(report.failed)),
    }
    if report.in_no_source:
        rows["             in no source"] = (
            f"{report.in_no_source}, whose rows still count; with other results they do not"
        )
    rows |= {
        "ITERATIONS scored": str(report.iterations),
        "RESULTS": report.results,
        "TIME": f"{report.seconds:.1f} s",
    }
    yield pairs(rows.items())
    yield from _failures(report.failed)


def _failures(failed: "list[RepositoryState]") -> Page:
    """Yield a table of the first repositories that failed and why, or nothing if none did."""
    if not failed:
        return

    shown = failed[:_MOST_FAILURES_SHOWN]
    yield Line()
    yield Table(
        _FAILURE_COLUMNS,
        [(each.repository, each.attempts, each.reason) for each in shown],
    )
    if len(failed) > len(shown):
        yield Line(f"and {len(failed) - len(shown)} more; --json lists all")


def open_dataset(place: str) -> "DataSet":
    """Return the data set of a fleet.

    Args:
        place: a FLEET.toml, or the folder or URL of the data set.

    Raises:
        InputError: the folder does not exist, the data set cannot be read, or a package is not
            installed.
        SettingsError: the FLEET.toml cannot be read or used.
    """
    from scoring.fleet.dataset import DataSet
    from scoring.fleet.fleet_toml import read_fleet
    from scoring.fleet.storage import is_url

    if is_url(place):
        return DataSet(place)
    if place.endswith(".toml"):
        config = read_fleet(Path(place))
        return DataSet(config.results, config.storage)
    if not Path(place).is_dir():
        raise InputError(
            f"{place}: no such folder; name a FLEET.toml, or the folder or URL of a data set"
        )
    return DataSet(str(Path(place).absolute()))


_PLACE = click.argument("place", metavar="FLEET.toml|URL", default="FLEET.toml")


@command.command
@_PLACE
@shared_options()
def status(place: str, options: PlainData) -> None:
    """Say what a data set holds, and what failed.

    Prints the number of repositories and iterations under each rubric, and why what failed last
    did so.

    Example:  da-score fleet status FLEET.toml
    """
    dataset = open_dataset(place)
    rubrics = []
    rows = []
    failed = []

    for rubric in dataset.rubrics:
        states = [state for _, state in sorted(dataset.of(rubric).items())]
        failed_here = [state for state in states if state.reason]
        failed += failed_here

        scored = [state for state in states if state.scored]
        summary: PlainData = {
            "rubric": rubric,
            "repositories": len(scored),
            "iterations": sum(state.iterations for state in scored),
            "broken_entries": sum(state.broken for state in scored),
        }
        rows.append([*map(str, summary.values()), str(len(failed_here))])
        summary["failed"] = [
            fields_of(state, "repository", "attempts", "reason")
            for state in failed_here
        ]
        rubrics.append(summary)

    page = [Table(_STATUS_COLUMNS, rows), *_failures(failed)]
    settings = Settings(json=bool(options["json"]))
    reply(settings, {"results": dataset.url, "rubrics": rubrics}, page)


@command.command
@_PLACE
@valued("--rubric", "VERSION|FILE", "The rubric to score under.", required=True)
@valued(
    "--from",
    "VERSION",
    "Take the rows under this rubric.  [one that reads alike]",
    key="source",
)
@shared_options()
def rescore(
    place: str,
    rubric: str,
    source: str | None,
    options: PlainData,
) -> None:
    """Score what is kept under another rubric, without git and transcripts.

    Both rubrics must read evidence in the same way; otherwise it says so, and exits with 1.

    Example:  da-score fleet rescore FLEET.toml --rubric 3.1.0
    """
    from rubric import find_rubric
    from scoring.fleet.rescore import rescore as rescore_dataset

    result = rescore_dataset(open_dataset(place), find_rubric(rubric), source)

    iterations = counted(result.iterations, "iteration")
    repositories = counted(result.repositories, "repository", "repositories")
    page = [Line(f"{iterations} of {repositories} scored under {result.rubric}")]
    settings = Settings(json=bool(options["json"]))
    reply(settings, result._asdict(), page)
    if not settings.json:
        for text in result.left_out:
            warn(text)


@command.command
@click.argument("file", metavar="[FLEET.toml]", type=PATH, default=Path("FLEET.toml"))
def init(file: Path) -> None:
    """Write a FLEET.toml with comments, for you to change.

    Example:  da-score fleet init
    """
    from importlib.resources import files

    if os.path.lexists(file):
        raise InputError(f"{file}: is there already; name another file")

    template = files("scoring.fleet").joinpath("FLEET.toml").read_bytes()
    write_atomically(file, template, mode=0o644)
    name = printable(file)
    say(f"{name} is written; change the sources in it, then: da-score fleet {name}\n")


# Events of a run


def _print_json_event(event: "FleetEvent", _: "FleetReport") -> None:
    """Print an event as a JSON object on one line."""
    value: PlainData = {"event": event.kind, "time": round(time.time(), 3)}
    if event.repository:
        value["repository"] = event.repository
    write_json({**value, **event.more}, indent=0)


def _print_line_event(event: "FleetEvent", report: "FleetReport") -> None:
    """Print an event as a line, if it is one for people, and its warnings."""
    if text := _text_of(event, report):
        write(f"{text}\n")
    if event.kind == "done":
        for warning in event.more["warnings"]:
            warn(f"{printable(event.repository)}: {warning}")


def _text_of(event: "FleetEvent", report: "FleetReport") -> str:
    """Return an event as text for people, or "" if it is not for them."""
    repository = printable(event.repository)
    more = event.more
    match event.kind:
        case "begun":
            count = counted(report.repositories, "repository", "repositories")
            return f"{count}, {more['to_score']} to score"
        case "cluster":
            return f"scheduler {more['scheduler']}"
        case "done":
            iterations = more["iterations"]
            scored = (
                f"{iterations} scored" if iterations else "work read, no iterations"
            )
            text = f"{repository}: {scored}"
            if more["broken"]:
                broken = counted(more["broken"], "broken entry", "broken entries")
                text += f", {broken} left out"
            if more["seconds"] > _SECONDS_WITHOUT_WORD:
                text += f" (took {more['seconds']:.0f} s)"
            return text
        case "retried":
            return f"{repository}: failed, will be tried again: {printable(more['reason'])}"
        case "failed":
            times = counted(more["attempts"], "time")
            return f"{repository}: failed {times}: {printable(more['reason'])}"
    return ""
