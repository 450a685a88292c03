"""``da-score fleet``: many repositories on a cluster, and what is kept of them scored anew."""

import contextlib
import os
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from scoring.cli.app import PATH, OwnCommand, OwnGroup, Whole
from scoring.cli.group import loudness_options
from scoring.cli.output import reply, say, show, warn, write, write_json
from scoring.errors import DaScoreError, InputError
from scoring.files import write_atomically
from scoring.text import counted, printable
from scoring.views.table import Block, Column, Line, Table, pairs

if TYPE_CHECKING:  # --help needs neither
    from scoring.fleet.coordinator import FleetEvent
    from scoring.fleet.dataset import DataSet, RepositoryState
    from scoring.fleet.run import Failed, FleetReport, Say

_MOST_SHOWN = 50


def _json_option(function: Any) -> Any:
    how: dict[str, Any] = {"is_flag": True, "help": "Print JSON."}
    how["callback"] = lambda ctx, _, given: given or bool((ctx.find_root().obj or {}).get("json"))
    return click.option("--json", "as_json", **how)(loudness_options(function))


@click.command("fleet", cls=OwnCommand)
@click.argument("fleet", metavar="FLEET.toml", type=PATH)
@click.option(
    "--scheduler", metavar="tcp://…", help="The address of a Dask scheduler that runs already."
)
@click.option(
    "--workers",
    type=Whole(1, 1000),
    metavar="N",
    help="How many processes on this machine.  [one per core]",
)
@click.option("--rubric", metavar="VERSION|FILE", help="The rubric, instead of that of the file.")
@click.option("--force", is_flag=True, help="Score what did not change too.")
@_json_option
def run(fleet: Path, rubric: str | None, force: bool, as_json: bool, **where: Any) -> None:
    """Run a fleet."""
    from dataclasses import replace

    from scoring.fleet.fleet_toml import read_fleet
    from scoring.fleet.run import run_fleet
    from scoring.views.formats import require

    if where["scheduler"] and where["workers"]:
        raise click.UsageError(
            "--workers starts processes here, and --scheduler names some that run; give one."
        )
    require("fleet", "distributed", "fsspec", "pyarrow", "deltalake")
    config = read_fleet(fleet)
    config = replace(config, rubric=rubric) if rubric else config
    with _sayer(as_json) as say_event:
        report = run_fleet(config, say_event, force=force, **where)
    if not as_json:
        show(_page(report))
    if report.failed:
        of = counted(report.repositories, "repository", "repositories")
        raise DaScoreError(
            f"{len(report.failed)} of {of} failed; 'da-score fleet status' lists them"
        )


@click.group(
    "fleet", cls=OwnGroup, own=run, usage="FLEET.toml", epilog="Example:  da-score fleet FLEET.toml"
)
def command() -> None:
    """Score many repositories on Dask, and keep their rows as Delta tables.

    FLEET.toml lists the sources; 'da-score fleet init' writes one with comments. Started again, it scores what changed
    since. Exit 1 when a repository failed, after all others are done. Needs the extra 'fleet'.
    """


def _page(report: "FleetReport") -> Iterator[Block]:
    yield from (Line(), Line(f"Fleet — rubric {report.rubric}", "bold"), Line())
    rows = {
        "REPOSITORIES": report.repositories,
        "             scored": report.scored,
        "             as before": report.skipped,
        "             failed": len(report.failed),
        "ITERATIONS scored": report.iterations,
        "RESULTS": report.results,
        "TIME": f"{report.seconds:.1f} s",
    }
    yield pairs([(name, str(value)) for name, value in rows.items()], 26)
    yield from _failures(report.failed)


def _failures(failed: "Sequence[Failed | RepositoryState]") -> Iterator[Block]:
    if not failed:
        return
    yield Line()
    columns = (
        Column("FAILED", width=0),
        Column("TIMES", width=5),
        Column("REASON", width=0, prose=True),
    )
    yield Table(
        columns, [(one.repository, str(one.attempts), one.reason) for one in failed[:_MOST_SHOWN]]
    )
    if (more := len(failed) - _MOST_SHOWN) > 0:
        yield Line(f"and {more} more; --json lists all")


def opened(place: str) -> "DataSet":
    """Return the data set of a FLEET.toml, or at a URL or path; InputError or SettingsError where there is none."""
    from scoring.fleet.dataset import DataSet
    from scoring.fleet.fleet_toml import is_url, read_fleet

    if place.endswith(".toml") and not is_url(place):
        config = read_fleet(Path(place))
        return DataSet(config.results, config.storage)
    if not is_url(place) and not Path(place).is_dir():
        raise InputError(
            f"{place}: no such folder; name a FLEET.toml, or the folder or URL of a data set"
        )
    return DataSet(place if is_url(place) else str(Path(place).absolute()))


_PLACE = click.argument("place", metavar="FLEET.toml|URL", default="FLEET.toml")


@command.command("status", epilog="Example:  da-score fleet status FLEET.toml")
@_PLACE
@_json_option
def status(place: str, as_json: bool) -> None:
    """Say what a data set has: repositories and iterations by rubric, and what failed last and why."""
    dataset = opened(place)
    failed, rubrics = [], []
    for rubric in dataset.rubrics:
        states = [state for _, state in sorted(dataset.of(rubric).items())]
        of_it, keys = (
            [state for state in states if state.reason],
            ("repository", "attempts", "reason"),
        )
        failed += of_it
        scored = [state for state in states if state.scored]
        rubrics.append(
            {
                "rubric": rubric,
                "repositories": len(scored),
                "iterations": sum(state.iterations for state in scored),
                "broken_entries": sum(state.broken for state in scored),
                "failed": [{name: getattr(state, name) for name in keys} for state in of_it],
            }
        )
    names = ("RUBRIC", "REPOSITORIES", "ITERATIONS", "BROKEN ENTRIES", "FAILED")
    rows = [[str(len(v) if isinstance(v, list) else v) for v in one.values()] for one in rubrics]
    page = [Table([Column(name) for name in names], rows), *_failures(failed)]
    reply(as_json, {"results": dataset.url, "rubrics": rubrics}, page)


@command.command("rescore", epilog="Example:  da-score fleet rescore FLEET.toml --rubric 3.1.0")
@_PLACE
@click.option("--rubric", metavar="VERSION|FILE", required=True, help="The rubric to score under.")
@click.option(
    "--from",
    "source",
    metavar="VERSION",
    help="Take the rows under this rubric.  [one that reads alike]",
)
@_json_option
def rescore(place: str, rubric: str, source: str | None, as_json: bool) -> None:
    """Score what is kept under another rubric, without git and transcripts.

    That works where both rubrics have evidence read alike; where they do not it says so, with exit status 1.
    """
    from rubric import find_rubric
    from scoring.fleet.rescore import rescore as score_anew

    done = score_anew(opened(place), find_rubric(rubric), source)
    of = counted(done.repositories, "repository", "repositories")
    page = [Line(f"{counted(done.iterations, 'iteration')} of {of} scored under {done.rubric}")]
    reply(as_json, done.as_dict(), page)
    for text in () if as_json else done.left_out:
        warn(text)


@command.command("init", epilog="Example:  da-score fleet init")
@click.argument("file", metavar="[FLEET.toml]", type=PATH, default=Path("FLEET.toml"))
def init(file: Path) -> None:
    """Write a FLEET.toml with comments, for you to change."""
    from importlib.resources import files

    if os.path.lexists(file):
        raise InputError(f"{file}: is there already; name another file")
    write_atomically(file, files("scoring.fleet").joinpath("FLEET.toml").read_bytes(), mode=0o644)
    name = printable(str(file))
    say(f"{name} is written; change the sources in it, then: da-score fleet {name}\n")


def _sayer(as_json: bool) -> "contextlib.AbstractContextManager[Say]":
    if as_json:
        return contextlib.nullcontext(_say_json)
    return (
        _bar()
        if sys.stderr is not None and sys.stderr.isatty()
        else contextlib.nullcontext(say_line)
    )


def _say_json(event: "FleetEvent", _: "FleetReport") -> None:
    named = {"repository": event.repository} if event.repository else {}
    write_json(
        {"event": event.kind, "time": round(time.time(), 3), **named, **event.more}, indent=None
    )


def say_line(event: "FleetEvent", report: "FleetReport") -> None:
    """Write an event as a line for people, if it is for them."""
    if text := _text(event, report):
        write(f"{text}\n")
    for warning in event.more["warnings"] if event.kind == "done" else ():
        warn(f"{printable(event.repository)}: {warning}")


def _text(event: "FleetEvent", report: "FleetReport") -> str:
    place, more = printable(event.repository), event.more
    match event.kind:
        case "begun":
            return f"{counted(report.repositories, 'repository', 'repositories')}, {more['to_score']} to score"
        case "cluster":
            return f"scheduler {more['scheduler']}"
        case "done":
            left = (
                f", {counted(more['broken'], 'broken entry', 'broken entries')} left out"
                if more["broken"]
                else ""
            )
            return f"{place}: {more['iterations']} scored{left}"
        case "retried":
            return f"{place}: failed, will be tried again: {printable(more['reason'])}"
        case "failed":
            return (
                f"{place}: failed {counted(more['attempts'], 'time')}: {printable(more['reason'])}"
            )
    return ""


@contextlib.contextmanager
def _bar() -> "Iterator[Say]":
    from rich import progress
    from rich.console import Console

    counts = "{task.fields[running]} running, {task.fields[failed]} failed, {task.fields[rate]} a minute,"
    shown = (progress.TextColumn("fleet"), progress.BarColumn(), progress.MofNCompleteColumn())
    left = (
        progress.TextColumn(counts),
        progress.TimeRemainingColumn(),
        progress.TextColumn("left"),
    )
    with progress.Progress(*shown, *left, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("fleet", total=None, running=0, failed=0, rate="-")

        def say(event: "FleetEvent", report: "FleetReport") -> None:
            if event.kind == "begun":
                bar.update(task, total=event.more["to_score"])
            elif event.kind in ("cluster", "failed", "retried"):
                bar.console.print(_text(event, report), markup=False, highlight=False)
            done, minutes = report.scored + len(report.failed), (bar.tasks[0].elapsed or 0) / 60
            rate = f"{done / minutes:.0f}" if done and minutes else "-"
            bar.update(
                task, completed=done, failed=len(report.failed), rate=rate, running=report.running
            )

        yield say
