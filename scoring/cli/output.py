"""What leaves the program: text and JSON on standard output, warnings and errors on standard error, a line each."""

import contextlib
import os
import re
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import IO, TYPE_CHECKING, Any, TextIO

import msgspec

from scoring.errors import WriteError
from scoring.text import as_utf8, json_escaped, show_hidden, spans, visible

if TYPE_CHECKING:
    from scoring.views.table import Block


def write(text: str, bound: bool = False) -> None:
    """Write text to standard output as UTF-8, whatever the locale; nothing in it is hidden.

    That is otherwise on a pipe where it is ``bound`` to the bytes of the reference.
    """
    write_bytes(
        (text if bound and not on_terminal() else show_hidden(text)).encode(
            "utf-8", "backslashreplace"
        )
    )


def write_bytes(data: bytes) -> None:
    """Write bytes, which are UTF-8, to standard output."""
    if sys.stdout is None:  # it was closed before the program began
        return
    sys.stdout.flush()
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


def say(text: str) -> None:
    """Write lines for people to standard output; on a terminal they are folded between words."""
    write(_folded(text, sys.stdout) if on_terminal() else text)


def _folded(text: str, stream: TextIO) -> str:
    from scoring.views.drawing import folded_text  # rich, which a pipe does not need

    width = 0
    with contextlib.suppress(OSError, ValueError):
        width = int(os.environ.get("COLUMNS") or 0) or os.get_terminal_size(stream.fileno()).columns
    return folded_text(text, width or 80)


def write_json(value: Any, indent: int | None = 1) -> None:
    """Write a value as JSON, on one line without ``indent``; what is not UTF-8 becomes replacement characters."""
    write_bytes(_json(value, indent) + b"\n")


def put_item(items: IO[bytes], value: Any) -> None:
    """Add a value to the items that :func:`write_json_around` takes from a file: memory does not hold a whole log."""
    item = _json([[value]])[len(b"[\n [\n") : -len(b"\n ]\n]")]
    try:
        items.write((b",\n" if items.tell() else b"\n") + item)
    except OSError as e:
        raise WriteError(
            f"temporary file: cannot write: {e.strerror}; set TMPDIR to a folder with room"
        ) from e


def write_json_around(value: Mapping[str, Any], key: str, items: IO[bytes]) -> None:
    """Write a value as :func:`write_json` does, with these items in its empty list under ``key``."""
    place = f'"{key}": ['.encode()
    before, _, after = _json(value).partition(place + b"]")
    write_bytes(before + place)
    end = b"\n ]" if items.tell() else b"]"
    items.seek(0)
    while piece := items.read(1 << 20):
        write_bytes(piece)
    write_bytes(end + after + b"\n")


def _json(value: Any, indent: int | None = 1) -> bytes:
    data = _encoded(value)
    if not data.isascii() or b"\x7f" in data:
        data = json_escaped(data.decode()).encode()
    return msgspec.json.format(data, indent=indent or 0)


def _encoded(value: Any) -> bytes:
    try:
        return msgspec.json.encode(value)
    except (
        UnicodeEncodeError,
        TypeError,
    ):  # Python's own encoder takes text that is no UTF-8, and more kinds of keys
        import json

        text = as_utf8(json.dumps(value, ensure_ascii=False))
        return msgspec.json.encode(json.loads(text, parse_constant=lambda _: None))


def show(page: "Iterable[Block]", bound: bool = False) -> None:
    """Show lines and tables: drawn on a terminal, as text on a pipe, where it may be ``bound`` as in :func:`write`."""
    if not on_terminal():
        from scoring.views.table import pipe_text  # the version and JSON need none

        write(pipe_text(page), bound)
        return
    from rich.console import Console

    from scoring.views.drawing import draw, unpadded  # rich, which a pipe does not need

    colours: Any = (
        None if os.environ.get("NO_COLOR") else "auto"
    )  # without them there is no bold and no dim either
    console = Console(highlight=False, markup=False, emoji=False, color_system=colours)
    with console.capture() as captured:
        draw(page, console)
    # A terminal that lacks a character gets another one.
    write_bytes(unpadded(captured.get()).encode(sys.stdout.encoding or "utf-8", "replace"))


def reply(as_json: bool, value: Any, page: "Iterable[Block] | str", indent: int | None = 1) -> None:
    """Print a value as JSON as :func:`write_json` does, or the page or the text of it for people."""
    if as_json:
        write_json(value, indent)
    elif isinstance(page, str):
        say(page)
    else:
        show(page)


@contextlib.contextmanager
def progress(text: str) -> Iterator[None]:
    """Say on a terminal what takes longer than a second, on standard error."""
    shown = sys.stderr is not None and sys.stderr.isatty()
    timer = threading.Timer(1.0, lambda: print(f"{text} …", file=sys.stderr, flush=True))
    timer.daemon = True
    if shown:
        timer.start()
    try:
        yield
    finally:
        timer.cancel()


def on_terminal() -> bool:
    """Return whether standard output is a terminal."""
    return sys.stdout is not None and sys.stdout.isatty()


def full_text(version: str, named: str) -> bool:
    """Return whether a pipe shows in full what ``version`` scored: a released rubric, or else the ``named`` one."""
    from rubric import RubricError, rubric_behind  # JSON and terminals need none
    from rubric.model import FULL_TEXT

    try:
        rubric = rubric_behind(version, named)
    except RubricError:
        return False
    return rubric.version == version and rubric.text == FULL_TEXT


class Warnings:
    """The warnings of a command, said together, alike ones as one; ``verbose`` says each at once, ``quiet`` none."""

    def __init__(self) -> None:
        self.quiet = self.verbose = self.holds = False
        self._waiting: dict[str, list[str]] = {}

    def take(self, text: str) -> None:
        """Take a warning, and say it when its time has come."""
        if self.quiet:
            return
        if self.holds and not self.verbose:
            self._waiting.setdefault(alike(text), []).append(text)
        else:
            _say("warning", text)

    def hold_no_longer(self) -> None:
        """Say what waits, and from now on each when it comes: the end of the command may be far away."""
        self.say()
        self.holds = False

    def say(self) -> None:
        """Say what waits, in the order of the first of each kind."""
        waiting, self._waiting = self._waiting, {}
        for texts in waiting.values():
            _say("warning", _together(texts))


WARNINGS = Warnings()
warn = WARNINGS.take
_NUMBER = re.compile(r"[0-9]+")
_ITERATION = re.compile(r"iteration ([0-9]{1,9}): (.*)", re.DOTALL)


def alike(text: str) -> str:
    """Return what is the same in texts that differ in their numbers alone."""
    return _NUMBER.sub("#", text)


def _together(texts: Sequence[str]) -> str:
    found = [match for text in texts if (match := _ITERATION.fullmatch(text))]
    if len(texts) == 1:
        return texts[0]
    if len(found) == len(texts) and len({match[2] for match in found}) == 1:
        return f"iteration {spans(sorted({int(match[1]) for match in found}))}: {found[0][2]}"
    if len(set(texts)) == 1:
        return f"{texts[0]} ({len(texts)} times)"
    return f"{texts[0]} (and {len(texts) - 1} more like it; -v says each)"


def complain(text: str) -> None:
    """Print on standard error what went wrong, in one line."""
    WARNINGS.say()
    _say("error", text)


def _say(kind: str, text: str) -> None:
    if sys.stderr is None:  # print would fall back on standard output, which is not for this
        return
    line = visible(" ".join(text.splitlines())).encode("utf-8", "backslashreplace").decode()
    said = f"da-score: {kind}: {line}\n"
    with contextlib.suppress(OSError, ValueError):  # the reader may be gone
        print(_folded(said, sys.stderr) if sys.stderr.isatty() else said, end="", file=sys.stderr)
