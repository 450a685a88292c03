"""Command lines in forked processes, which begin at once and are killed at some step."""

import multiprocessing
import os
import signal
import sys
from multiprocessing.context import ForkServerProcess
from typing import Any

import scoring.files
from scoring.cli import main

_SERVER = multiprocessing.get_context("forkserver")
_SERVER.set_forkserver_preload(
    ["pytest", *(f"scoring.cli.{name}" for name in ("backfill", "close_task", "run"))]
)


class _Mortal:
    """The module ``os`` in a process that is killed before the n-th call that changes a file."""

    def __init__(self, left: int) -> None:
        self.left = left

    def __getattr__(self, name: str) -> Any:
        found = getattr(os, name)
        if name not in ("open", "write", "fsync", "replace", "unlink"):
            return found

        def call(*arguments: Any, **named: Any) -> Any:
            if self.left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            self.left -= 1
            return found(*arguments, **named)

        return call


def _work(arguments: list[str], die_at: int | None, output: tuple[str, str]) -> None:
    for fd, name in enumerate(output, 1):
        os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), fd)
    if die_at is not None:
        # setattr, because the types say that it is the module
        setattr(scoring.files, "os", _Mortal(die_at))  # noqa: B010
    sys.exit(main(arguments))


def begin(
    arguments: list[str],
    die_at: int | None = None,
    out: str = os.devnull,
    err: str = os.devnull,
) -> ForkServerProcess:
    """Start a command line."""
    process = _SERVER.Process(target=_work, args=(arguments, die_at, (out, err)))
    process.start()
    return process


def end(process: ForkServerProcess) -> int:
    """Wait for the end of a command line, and return its status; a signal is negative."""
    process.join()
    assert process.exitcode is not None
    return process.exitcode


def run(arguments: list[str], die_at: int | None = None) -> int:
    """Run a command line, and return its status."""
    return end(begin(arguments, die_at))
