"""Where the time of one command goes.

It runs in this process, with a stopwatch around each of its parts.

A function that is watched charges its time to its part, except for what other watched functions
take inside it. There are a few thousand such calls, so the watching itself costs next to nothing (a
profiler would count every call, and make whatever calls often look slow). Prints the seconds of
each part, a line each.
"""

import contextlib
import functools
import importlib
import io
import sys
from collections import defaultdict
from collections.abc import Callable
from time import perf_counter
from typing import Any

START, REST = "Python's start and end", "the rest"
IMPORTS = {
    "click": "import of click",
    "yaml": "import of yaml",
    "msgspec": "import of msgspec",
}
OWN = "import of da-score and the standard library"
TRANSCRIPTS, LOG, HOOKS, AROUND = (
    "transcripts",
    "entries (YAML)",
    "hook outcomes (YAML)",
    "plans and artifacts (YAML)",
)
GIT, SCORING, OUTPUT = "git", "signals and scores", "output and sidecars"

PARTS = (
    START,
    OWN,
    *IMPORTS.values(),
    TRANSCRIPTS,
    LOG,
    HOOKS,
    AROUND,
    GIT,
    SCORING,
    OUTPUT,
    REST,
)
"""Every part, in the order of the table. The first is the time outside all others."""

_COMMANDS = (
    "scoring.cli",
    "scoring.cli.run",
    "scoring.cli.iteration",
    "scoring.cli.reading",
    "scoring.views.score_pages",
)

_WATCHED = {
    TRANSCRIPTS: (
        "scoring.evidence.harnesses.scan:Scan.start",
        "scoring.evidence.harnesses.scan:Scan.facts",
        "scoring.evidence.harnesses.scan:Scan.close",
    ),
    LOG: ("scoring.log.load:load_log_for",),
    HOOKS: ("scoring.evidence.entry_files:hook_facts",),
    AROUND: (
        "scoring.evidence.scopes:declared_scopes",
        "scoring.evidence.facts:Evidence.of",
    ),
    GIT: (
        "scoring.evidence.git.repository:GitRepository.__init__",
        "scoring.evidence.reference.git:ReferenceHistory.__init__",
        "scoring.evidence.reference.git:ReferenceHistory.committed",
        "scoring.evidence.reference.git:ReferenceHistory.landing",
        "scoring.evidence.reference.git:ReferenceHistory.changed",
    ),
    SCORING: (
        "scoring.signals.table:signal_set",
        "rubric.model:Rubric.score_all",
        "rubric.model:Rubric.score",
        "scoring.sessions:aggregate_sessions",
    ),
    OUTPUT: (
        "scoring.views.run_pages:run_page",
        "scoring.views.table:pipe_text",
        "scoring.cli.output:write",
        "scoring.sidecars.writing:sidecar_of",
        "scoring.sidecars.writing:write_scores",
        "scoring.sidecars.scores:write_session_scores",
    ),
}
"""The doors of each part, as module and name."""


class Stopwatch:
    """Charges every moment to one part: that of the watched function which was entered last."""

    def __init__(self, began: float) -> None:
        """Begin to charge to the own imports, from a time on."""
        self.seconds: dict[str, float] = defaultdict(float)
        self._parts = [REST, OWN]
        self._since = began

    def enter(self, part: str) -> None:
        """Charge to a part from now on."""
        self._charge()
        self._parts.append(part)

    def leave(self) -> None:
        """Charge again to the part that was charged before."""
        self._charge()
        self._parts.pop()

    def watching(self, part: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that does the same, and charges its time to a part."""

        @functools.wraps(function)
        def watched(*arguments: Any, **named: Any) -> Any:
            self.enter(part)
            try:
                return function(*arguments, **named)
            finally:
                self.leave()

        return watched

    def _charge(self) -> None:
        now = perf_counter()
        self.seconds[self._parts[-1]] += now - self._since
        self._since = now


def watch_all(watch: Stopwatch) -> None:
    """Put the stopwatch at every door, wherever a module has taken the function by name."""
    for part, doors in _WATCHED.items():
        for door in doors:
            module_name, _, path = door.partition(":")
            *holders, name = path.split(".")
            holder: Any = importlib.import_module(module_name)
            for each in holders:
                holder = getattr(holder, each)
            function = getattr(holder, name)
            watched = watch.watching(part, function)
            setattr(holder, name, watched)
            for module in [
                m
                for n, m in sys.modules.items()
                if n.partition(".")[0] in ("scoring", "rubric")
            ]:
                for taken in [
                    n for n, value in vars(module).items() if value is function
                ]:
                    setattr(module, taken, watched)


def main(began: float, argv: list[str]) -> None:
    """Run a command line of da-score and print where its time went.

    Args:
        argv: the command line.
        began: when the process began, by the performance counter.
    """
    watch = Stopwatch(began)
    for name, part in IMPORTS.items():
        watch.enter(part)
        importlib.import_module(name)
        watch.leave()
    for name in (
        *_COMMANDS,
        *(door.partition(":")[0] for doors in _WATCHED.values() for door in doors),
    ):
        importlib.import_module(name)
    watch.leave()
    watch_all(watch)
    cli: Any = importlib.import_module("scoring.cli")
    with contextlib.redirect_stdout(io.StringIO()):
        status = cli.main(argv)
    watch.enter(REST)
    print("\n".join(f"{seconds} {part}" for part, seconds in watch.seconds.items()))
    sys.exit(status)


def parse(printed: str) -> dict[str, float]:
    """Return the seconds of each part from what was printed."""
    return {
        part: float(seconds)
        for seconds, _, part in (line.partition(" ") for line in printed.splitlines())
    }
