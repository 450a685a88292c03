"""Command lines run as users run them, and what they left on the screen."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias


@dataclass(frozen=True)
class Outcome:
    """How a command ended and what it printed."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """What it printed, as JSON; it must have ended well and said nothing else."""
        assert (self.status, self.err) == (0, "")
        return json.loads(self.out)


DaScore: TypeAlias = Callable[..., Outcome]
"""Takes the arguments of a command line and runs it."""


def process(*arguments: str | Path, **variables: str) -> Outcome:
    """Run a command line in a process of its own, on pipes."""
    command = [sys.executable, "-m", "scoring", *map(str, arguments)]
    done = subprocess.run(
        command, capture_output=True, stdin=subprocess.DEVNULL, env=os.environ | variables, check=False
    )
    return Outcome(done.returncode, done.stdout.decode(), done.stderr.decode())
