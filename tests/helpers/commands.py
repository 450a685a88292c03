"""Command lines run as users run them: in this process, in one of their own, or on a terminal."""

import contextlib
import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from scoring.cli import main

COMMAND = (sys.executable, "-m", "scoring")
"""The command line in a process of its own."""


@dataclass(frozen=True)
class Outcome:
    """How a command ended and what it printed."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """What it printed, as JSON. It must have ended well, without a word on standard error."""
        assert (self.status, self.err) == (0, "")
        return json.loads(self.out)

    @property
    def lines(self) -> list[str]:
        """The lines that it printed before the first empty one."""
        return self.out.partition("\n\n")[0].splitlines()


def one_line(found: Outcome) -> str:
    """Return the message of an error, which must be the only line of output."""
    match = re.fullmatch(r"da-score: error: (.+)\n", found.err)
    assert match, found
    assert found.out == ""
    return match[1]


DaScore: TypeAlias = Callable[..., Outcome]
"""Takes the arguments of a command line and runs it."""


def in_process(
    captured: pytest.CaptureFixture[bytes], *arguments: str | Path
) -> Outcome:
    """Run a command line in this process."""
    captured.readouterr()
    status = main([str(argument) for argument in arguments])
    out, err = captured.readouterr()
    return Outcome(status, out.decode(), err.decode())


def process(
    *arguments: str | Path,
    cwd: Path | None = None,
    stdin: int = subprocess.DEVNULL,
    given: bytes | None = None,
    **variables: str,
) -> Outcome:
    """Run a command line in its own process, on pipes, with ``given`` on its standard input."""
    source: dict[str, Any] = {"stdin": stdin} if given is None else {"input": given}
    done: subprocess.CompletedProcess[bytes] = subprocess.run(
        [*COMMAND, *map(str, arguments)],
        capture_output=True,
        cwd=cwd,
        env=os.environ | variables,
        timeout=600,
        check=False,
        **source,
    )
    return Outcome(done.returncode, done.stdout.decode(), done.stderr.decode())


@contextlib.contextmanager
def running(
    *arguments: str | Path, stdin: int = subprocess.DEVNULL
) -> Iterator["subprocess.Popen[str]"]:
    """Start a command line that goes on, in its own process, on pipes, and kill it at the end."""
    command = [*COMMAND, *map(str, arguments)]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, stdin=stdin, stdout=pipe, stderr=pipe, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


@contextlib.contextmanager
def terminal(columns: int = 160) -> Iterator[tuple[int, list[bytes]]]:
    """Open a terminal to write to, and collect what it shows until it is closed."""
    parent, child = pty.openpty()
    fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    shown: list[bytes] = []

    def read() -> None:
        # how Linux says that the other end was closed
        with contextlib.suppress(OSError):
            while data := os.read(parent, 65536):
                shown.append(data)

    reader = threading.Thread(target=read)
    reader.start()
    try:
        yield child, shown
    finally:
        os.close(child)
        reader.join()
        os.close(parent)


def lines_of(shown: list[bytes]) -> list[str]:
    """Return the lines of a terminal without their colors and the spaces at their ends."""
    return [
        line.rstrip()
        for line in re.sub(
            r"\x1b\[[0-9;?]*[A-Za-z]", "", b"".join(shown).decode()
        ).splitlines()
    ]


def process_on_a_terminal(
    *arguments: str | Path,
    columns: int = 160,
    cwd: Path | None = None,
    **variables: str,
) -> tuple[int, list[bytes]]:
    """Run a command line in its own process, on a terminal, and return its status and output."""
    with terminal(columns) as (child, shown):
        kept = {
            name: value
            for name, value in os.environ.items()
            if name not in ("COLUMNS", "LINES", "NO_COLOR")
        }
        environment = kept | {"TERM": "xterm", **variables}
        command = [*COMMAND, *map(str, arguments)]
        done = subprocess.run(
            command,
            stdin=child,
            stdout=child,
            stderr=child,
            cwd=cwd,
            env=environment,
            timeout=600,
            check=False,
        )
    return done.returncode, shown


OnTerminal: TypeAlias = Callable[..., tuple[int, list[bytes]]]
"""Takes the arguments of a command line, runs it on a terminal, and returns status and output."""
