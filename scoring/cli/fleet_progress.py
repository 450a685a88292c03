"""How a fleet says what happens: a bar on a terminal, else a line or a JSON object for each event."""

import contextlib
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from scoring.cli.output import warn, write, write_json
from scoring.text import counted, printable

if TYPE_CHECKING:
    from scoring.fleet.coordinator import FleetEvent
    from scoring.fleet.run import FleetReport, Say


@contextlib.contextmanager
def sayer(as_json: bool) -> "Iterator[Say]":
    """Give the function that says the events of a run, while it runs."""
    if as_json:
        yield say_json
    elif sys.stderr is None or not sys.stderr.isatty():
        yield say_line
    else:
        with _bar() as say:
            yield say


def say_json(event: "FleetEvent", _: "FleetReport") -> None:
    """Write an event as JSON on one line."""
    named = {"repository": event.repository} if event.repository else {}
    write_json({"event": event.kind, "time": round(time.time(), 3), **named, **event.more}, indent=None)


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
            dashboard = f", dashboard {more['dashboard']}" if more.get("dashboard") else ""
            return f"scheduler {more['scheduler']}{dashboard}"
        case "done":
            left = f", {counted(more['broken'], 'broken entry', 'broken entries')} left out" if more["broken"] else ""
            return f"{place}: {more['iterations']} scored{left}"
        case "retried":
            return f"{place}: failed, will be tried again: {printable(more['reason'])}"
        case "failed":
            return f"{place}: failed {counted(more['attempts'], 'time')}: {printable(more['reason'])}"
    return ""


@contextlib.contextmanager
def _bar() -> "Iterator[Say]":
    """Show how far a run is: done, running, failed, how fast, and how long it takes still."""
    from rich import progress
    from rich.console import Console

    counts = "{task.fields[running]} running, {task.fields[failed]} failed, {task.fields[rate]} a minute,"
    shown = (progress.TextColumn("fleet"), progress.BarColumn(), progress.MofNCompleteColumn())
    left = (progress.TextColumn(counts), progress.TimeRemainingColumn(), progress.TextColumn("left"))
    with progress.Progress(*shown, *left, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("fleet", total=None, running=0, failed=0, rate="-")

        def say(event: "FleetEvent", report: "FleetReport") -> None:
            if event.kind == "begun":
                bar.update(task, total=event.more["to_score"])
            elif event.kind in ("cluster", "failed", "retried"):
                bar.console.print(_text(event, report), markup=False, highlight=False)
            done, minutes = report.scored + len(report.failed), (bar.tasks[0].elapsed or 0) / 60
            rate = f"{done / minutes:.0f}" if done and minutes else "-"
            bar.update(task, completed=done, failed=len(report.failed), rate=rate, running=report.running)

        yield say
