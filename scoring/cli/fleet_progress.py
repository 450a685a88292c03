"""How a fleet says what happens: a bar on a terminal, else a line or a JSON object for each event."""

import sys
import time
from typing import TYPE_CHECKING

from scoring.cli.output import warn, write, write_json
from scoring.text import counted, printable

if TYPE_CHECKING:
    from scoring.fleet.coordinator import FleetEvent
    from scoring.fleet.run import FleetReport


class Progress:
    """Says what happens, a line each: for people, or as JSON."""

    def __init__(self, as_json: bool) -> None:
        self._json = as_json

    def __enter__(self) -> "Progress":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def say(self, event: "FleetEvent", report: "FleetReport") -> None:
        """Say one event."""
        if self._json:
            named = {"repository": event.repository} if event.repository else {}
            write_json({"event": event.kind, "time": round(time.time(), 3), **named, **event.more}, indent=None)
            return
        place = printable(event.repository)
        if event.kind == "begun":
            many = counted(report.repositories, "repository", "repositories")
            write(f"{many}, {event.more['to_score']} to score\n")
        elif event.kind == "cluster":
            write(f"scheduler {event.more['scheduler']}{_dashboard(event)}\n")
        elif event.kind == "done":
            broken = counted(event.more["broken"], "broken entry", "broken entries")
            left = f", {broken} left out" if event.more["broken"] else ""
            write(f"{place}: {event.more['iterations']} scored{left}\n")
            for text in event.more["warnings"]:
                warn(f"{place}: {text}")
        elif event.kind == "retried":
            write(f"{place}: failed, will be tried again: {printable(event.more['reason'])}\n")
        elif event.kind == "failed":
            write(f"{place}: failed {counted(event.more['attempts'], 'time')}: {printable(event.more['reason'])}\n")


def _dashboard(event: "FleetEvent") -> str:
    return f", dashboard {event.more['dashboard']}" if event.more.get("dashboard") else ""


class _Bar(Progress):
    """Shows on a terminal how far it is: done, running, failed, how fast, and how long it takes still."""

    def __init__(self) -> None:
        super().__init__(False)
        from rich import progress
        from rich.console import Console

        self._progress = progress.Progress(
            progress.TextColumn("fleet"),
            progress.BarColumn(),
            progress.MofNCompleteColumn(),
            progress.TextColumn(
                "{task.fields[running]} running, {task.fields[failed]} failed, {task.fields[rate]} a minute,"
            ),
            progress.TimeRemainingColumn(),
            progress.TextColumn("left"),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._progress.add_task("fleet", total=None, running=0, failed=0, rate="-")
        self._began = time.monotonic()

    def __enter__(self) -> "_Bar":
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def say(self, event: "FleetEvent", report: "FleetReport") -> None:
        """Show one event."""
        if event.kind == "begun":
            self._progress.update(self._task, total=event.more["to_score"])
        elif event.kind == "cluster":
            self._began = time.monotonic()
            text = f"scheduler {event.more['scheduler']}{_dashboard(event)}"
            self._progress.console.print(text, markup=False, highlight=False)
        elif event.kind in ("failed", "retried"):
            text = f"{printable(event.repository)}: {event.kind}: {printable(event.more['reason'])}"
            self._progress.console.print(text, markup=False, highlight=False)
        done = report.scored + len(report.failed)
        minutes = (time.monotonic() - self._began) / 60
        rate = f"{done / minutes:.0f}" if done and minutes else "-"
        failed, running = len(report.failed), report.running
        self._progress.update(self._task, completed=done, failed=failed, rate=rate, running=running)


def sayer(as_json: bool) -> Progress:
    """Return what says the events of a run, as a context that is entered while it runs."""
    on_terminal = sys.stderr is not None and sys.stderr.isatty()
    return _Bar() if on_terminal and not as_json else Progress(as_json)
