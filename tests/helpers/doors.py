"""A watch on what goes outside: which files are opened and which processes are started."""

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")


@dataclass
class Doors:
    """What was opened and started while somebody watched."""

    opened: list[str] = field(default_factory=list)
    commands: list[list[str]] = field(default_factory=list)
    environments: list[dict[str, str]] = field(default_factory=list)


_watching: list[Doors] = []
_hooked = False


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if not _watching:
        return
    if event == "open" and isinstance(arguments[0], str | bytes | os.PathLike):
        for doors in _watching:
            doors.opened.append(os.fsdecode(arguments[0]))
    elif event == "subprocess.Popen":
        for doors in _watching:
            doors.commands.append([os.fsdecode(part) for part in arguments[1]])
            doors.environments.append(dict(arguments[3] or os.environ))


@contextmanager
def watched_doors() -> Iterator[Doors]:
    """Record what Python opens and starts; an audit hook sees every way of doing it."""
    global _hooked
    if not _hooked:
        sys.addaudithook(_hook)
        _hooked = True
    doors = Doors()
    _watching.append(doors)
    try:
        yield doors
    finally:
        _watching.remove(doors)


def ends(work: Callable[[], T], seconds: float = 120) -> T:
    """Return what ``work`` returns, and fail when it takes longer than any machine needs."""
    outcome: list[T] = []
    raised: list[BaseException] = []

    def run() -> None:
        try:
            outcome.append(work())
        except BaseException as e:  # handed on below
            raised.append(e)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    assert not thread.is_alive(), f"still running after {seconds} seconds"
    if raised:
        raise raised[0]
    return outcome[0]


def make_fifo(path: Path) -> Path:
    """Make a FIFO that nobody writes to: whoever opens it the plain way waits for ever."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    return path
