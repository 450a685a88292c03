"""Takes times of whole processes, in turns, and turns them into ratios.

A machine's speed changes while one measures. So every round runs every case once, each round in the
opposite order of the one before, and a ratio is taken within a round; what is reported is the
median of the rounds, with their range.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

HERE = Path(__file__).parent

PYTHON = (sys.executable, "-P")
"""Starts Python without importing from the directory that it is started in."""

BARE = "`python -c pass`"


def nothing() -> None:
    """Prepare nothing."""


@dataclass(frozen=True, slots=True)
class Case:
    """A command to time.

    Attributes:
        name: what tables call it.
        command: the command line.
        ready: called before each run; its time does not count.
        variables: environment variables to set.
    """

    name: str
    command: Sequence[str]
    ready: Callable[[], None] = nothing
    variables: Mapping[str, str] | None = None


BARE_CASE = Case(BARE, (*PYTHON, "-c", "pass"))


@dataclass(frozen=True, slots=True)
class Spread:
    """The median and the range of some numbers."""

    middle: float
    low: float
    high: float

    @classmethod
    def of(cls, numbers: Sequence[float]) -> "Spread":
        """Sum up one number or more."""
        return cls(median(numbers), min(numbers), max(numbers))


class Times:
    """What was measured: the seconds of each case, one per round."""

    def __init__(self, seconds: Mapping[str, list[float]]) -> None:
        self.seconds = dict(seconds)

    def ratio(self, case: str, base: str, less: str = "") -> Spread:
        """Return the time of ``case``, less that of ``less``, as a multiple of that of ``base``."""
        ratios = []
        for index, seconds in enumerate(self.seconds[case]):
            subtracted = self.seconds[less][index] if less else 0.0
            ratios.append((seconds - subtracted) / self.seconds[base][index])
        return Spread.of(ratios)

    def __str__(self) -> str:
        width = max(map(len, self.seconds))
        lines = (
            f"  {name:<{width}}  {median(taken) * 1e3:9.1f} ms"
            f"   ({min(taken) * 1e3:.1f} to {max(taken) * 1e3:.1f})"
            for name, taken in self.seconds.items()
        )
        return "\n".join(lines)


def take_times(cases: Sequence[Case], repeat: int) -> Times:
    """Run every case ``repeat`` times in turns, after a round that does not count."""
    seconds: dict[str, list[float]] = {case.name: [] for case in cases}
    for turn in range(repeat + 1):
        ordered = cases if turn % 2 else list(reversed(cases))
        for case in ordered:
            taken, _ = timed(case)
            if turn:
                seconds[case.name].append(taken)
    return Times(seconds)


def timed(case: Case) -> tuple[float, str]:
    """Run a case once, and return how many seconds that took and what it printed.

    Raises:
        RuntimeError: it failed; the text says why.
    """
    case.ready()
    start = time.perf_counter()
    printed = run(case)
    return time.perf_counter() - start, printed


def run(case: Case) -> str:
    """Run a case once and return what it printed.

    Raises:
        RuntimeError: it failed; the text says why.
    """
    process = subprocess.run(
        case.command, capture_output=True, text=True, env=environment(case), check=False
    )
    if process.returncode:
        raise RuntimeError(
            f"{' '.join(case.command)}: exit {process.returncode}: {process.stderr}"
        )
    return process.stdout


def environment(case: Case) -> dict[str, str]:
    """Return the environment of a case: no one's settings apply, and modules stay compiled."""
    dropped = ("DA_SCORE_", "GIT_", "PYTHON", "XDG_")
    variables = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(dropped)
    }
    return variables | dict(case.variables or {})
