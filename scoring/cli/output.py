"""What leaves the program: text and JSON on standard output, warnings and errors on standard error, a line each."""

import contextlib
import io
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from scoring.errors import WriteError
from scoring.text import as_utf8, printable

if TYPE_CHECKING:
    from scoring.views.table import Block


def write(text: str) -> None:
    """Write text to standard output as UTF-8, whatever the locale."""
    if sys.stdout is None:  # it was closed before the program began
        return
    sys.stdout.flush()
    data = text.encode("utf-8", "backslashreplace")
    binary = getattr(sys.stdout, "buffer", None)
    try:
        if binary is None:
            sys.stdout.write(data.decode())
        else:
            binary.write(data)
            binary.flush()
    except BrokenPipeError:
        raise
    except OSError as e:
        raise WriteError(f"standard output: cannot write: {(e.strerror or str(e)).lower()}") from e


def write_json(value: Any, indent: int | None = 1) -> None:
    """Write a value as JSON, on one line without ``indent``; what is not UTF-8 becomes replacement characters."""
    import json

    text = json.dumps(value, ensure_ascii=False, indent=indent, allow_nan=False)
    write(as_utf8(text) + "\n")


def show(page: "Iterable[Block]") -> None:
    """Show lines and tables: drawn on a terminal, as text on a pipe."""
    from scoring.views.table import draw, pipe_text  # most failures and JSON need neither

    if not on_terminal():
        write(pipe_text(page))
        return
    from rich.console import Console

    if isinstance(sys.stdout, io.TextIOWrapper):  # a terminal that lacks a character gets another one
        sys.stdout.reconfigure(errors="replace")
    draw(page, Console(highlight=False, markup=False, emoji=False))


def on_terminal() -> bool:
    """Return whether standard output is a terminal."""
    return sys.stdout is not None and sys.stdout.isatty()


def full_text(version: str, named: str) -> bool:
    """Return whether a pipe shows in full what a rubric scored; a terminal does anyway.

    ``version`` is what the score names: a released rubric, or else the one that the settings have ``named``.
    """
    from rubric import RubricError, find_rubric, released_rubric, rubric_versions  # JSON and terminals need none
    from rubric.model import FULL_TEXT

    try:
        rubric = released_rubric(version) if version in rubric_versions() else find_rubric(named)
    except RubricError:
        return False
    return rubric.version == version and rubric.text == FULL_TEXT


def warn(text: str) -> None:
    """Print on standard error what was left out, in one line."""
    _say("warning", text)


def complain(text: str) -> None:
    """Print on standard error what went wrong, in one line."""
    _say("error", text)


def _say(kind: str, text: str) -> None:
    if sys.stderr is None:  # print would fall back on standard output, which is not for this
        return
    line = printable(" ".join(text.splitlines())).encode("utf-8", "backslashreplace").decode()
    with contextlib.suppress(OSError, ValueError):  # nobody may be listening
        print(f"da-score: {kind}: {line}", file=sys.stderr)
