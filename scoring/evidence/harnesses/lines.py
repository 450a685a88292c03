"""Opens a transcript, cuts it into lines, and gives each to the reader that claims it; long, as every form is here."""

import contextlib
import errno
import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path

from scoring.errors import Warn
from scoring.evidence.commands.testruns import TestTools
from scoring.evidence.harnesses.fields import keys_of
from scoring.evidence.harnesses.harness import (
    HALF_WRITTEN,
    NOT_JSON,
    TOO_LONG,
    UNKNOWN_KIND,
    Harness,
    JsonReader,
)
from scoring.evidence.transcripts.events import EventsByHarness
from scoring.files import READ_PLAIN, reason, refuse_special

LINE_LIMIT = (
    16 << 20
)  # the longest line, in bytes, that is read; a longer one is skipped with a warning
DOCUMENT_LIMIT = 256 << 20  # bytes
LIMIT, MOST_LINES = 4 << 30, 1 << 20  # bytes, decompressed, and lines of one transcript
EXPANSION = 500  # how many times as long one over FREE bytes may get; rollouts of Codex get 5 to 50 times as long
FREE = 16 << 20  # how many bytes a transcript may have when it is decompressed, whatever its size
WINDOW_LOG_LIMIT = 27  # how much memory decompressing may need, as a power of two of bytes: 128 MiB
_BLOCK = 120_000  # many lines at once, and below 128 KiB, from where the allocator asks the system every time


@contextlib.contextmanager
def opened(path: Path, warn: Warn) -> Iterator[int | None]:
    """Open a transcript; None, with a warning, when it is no plain file, and without one when it is a directory."""
    try:
        refuse_special(path)
        fd = os.open(path, READ_PLAIN)
    except (OSError, ValueError) as e:
        warn(f"transcript {path}: {reason(e)}; skipped")
        yield None
        return
    try:
        mode = os.fstat(fd).st_mode
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            warn(f"transcript {path}: is not a plain file; skipped")
        yield fd if stat.S_ISREG(mode) else None
    finally:
        os.close(fd)


def chunks(fd: int, end: int) -> Iterator[bytes]:
    """Yield a file up to an offset, a block at a time (raises OSError: the file cannot be read)."""
    start = 0
    while start < end and (data := os.pread(fd, min(_BLOCK, end - start), start)):
        start += len(data)
        yield data


def decompressed(fd: int) -> Iterator[bytes]:
    """Yield the content of a zstd file, a piece at a time, which may end early; OSError if unreadable or too large."""
    if sys.version_info >= (3, 14):  # loaded here: few machines have compressed transcripts
        from compression import zstd
    else:
        from backports import zstd

    length, taken, given = 0, 0, b""
    limits = {int(zstd.DecompressionParameter.window_log_max): WINDOW_LOG_LIMIT}
    frame = zstd.ZstdDecompressor(options=limits)
    os.lseek(fd, 0, os.SEEK_SET)
    while True:
        if frame.eof:
            given, frame = frame.unused_data, zstd.ZstdDecompressor(options=limits)
        if frame.needs_input and not given:
            given = os.read(fd, _BLOCK)
            if not given:
                return
            taken += len(given)
        try:
            piece = frame.decompress(given, _BLOCK)
        except zstd.ZstdError as e:
            raise OSError(
                errno.EBADMSG, f"no zstd data that can be read ({str(e).rstrip('.').lower()})"
            ) from e
        given = b""
        length += len(piece)
        if length > LIMIT:
            raise OSError(errno.EFBIG, f"more than {LIMIT >> 30} GiB when it is decompressed")
        if length > max(FREE, taken * EXPANSION):
            raise OSError(
                errno.EFBIG, f"more than {EXPANSION} times as long when it is decompressed"
            )
        if piece:
            yield piece


class Lines:
    """Gives each line to the reader of the harness that wrote it, or of the first line that a harness claims."""

    def __init__(self, harnesses: Sequence[Harness], tools: TestTools | None = None) -> None:
        """Take the harnesses, and the test tools where the readers shall observe."""
        self._harnesses, self._tools = harnesses, tools
        self._readers: dict[str, JsonReader] = {}
        self._first: JsonReader | None = None
        self._number = 0

    def block(self, block: bytes) -> None:
        """Read some whole lines."""
        if self._first is None:
            self._first = next(filter(None, map(self._writer, block.split(b"\n"))), None)
        reader, first = self._first or self._reader(self._harnesses[0]), self._number
        reader.number = first
        odd = reader.block(block)
        behind = reader.behind
        if behind > MOST_LINES:
            raise OSError(errno.EFBIG, f"more than {MOST_LINES:,} lines")
        for number, line in odd:
            self._number = first + number
            self.line(line)
        self._number = behind

    def line(self, line: bytes, broken: str = NOT_JSON) -> None:
        """Read one line; ``broken`` is the reason to skip it when it is no JSON."""
        if line.strip():
            reader = self._writer(line) or self._first or self._reader(self._harnesses[0])
            reader.number = self._number
            reader.line(line, broken)

    def last(self, line: bytes) -> None:
        """Read what follows the last line break of a file or a part."""
        self.line(line, HALF_WRITTEN)
        self._number += bool(line)

    def document(self, text: bytes) -> None:
        """Read a whole document, or lines in its place; one that is not understood is its harness's by its name."""
        if writer := self.document_writer(text):
            self._reader(writer).line(text)
        elif writer := self.document_writer(text.lstrip().partition(b"\n")[0]):
            reader = self._reader(writer)
            for number, line in enumerate(text.split(b"\n")):
                if line.strip():
                    reader.number = number
                    reader.line(line)
        elif (
            len(by_name := [harness for harness in self._harnesses if harness.writes_documents])
            == 1
        ):
            self._reader(by_name[0]).skip(f"{UNKNOWN_KIND}document" if keys_of(text) else NOT_JSON)

    def document_writer(self, text: bytes) -> Harness | None:
        """Return the harness that may have written a text as a document; None where none has."""
        return next(
            (
                harness
                for harness in self._harnesses
                if harness.writes_documents and harness.claims(text)
            ),
            None,
        )

    def can_go_on(self) -> bool:
        """Return whether a transcript that begins with these lines can be read from here on."""
        if self._first is None or not self._first.goes_on or len(self._readers) > 1:
            return False
        return {HALF_WRITTEN, TOO_LONG}.isdisjoint(self._first.skipped)

    def skip(self, reason: str) -> None:
        """Note that a line was skipped."""
        self._number += 1
        (self._first or self._reader(self._harnesses[0])).skip(reason)

    def events(self) -> EventsByHarness:
        """Return what was read."""
        return {name: reader.events() for name, reader in self._readers.items()}

    def _writer(self, line: bytes) -> JsonReader | None:
        """Return the harness that wrote a line: that of the first one, or the last of the table that claims it."""
        order = [*reversed(self._harnesses)]
        if self._first is not None:
            order.sort(key=lambda harness: self._readers.get(harness.name) is not self._first)
        return next((self._reader(harness) for harness in order if harness.claims(line)), None)

    def _reader(self, harness: Harness) -> JsonReader:
        if harness.name not in self._readers:
            self._readers[harness.name] = harness.reader(self._tools)
        return self._readers[harness.name]


def read_whole(
    fd: int,
    compressed: bool,
    document: bool,
    harnesses: Sequence[Harness],
    too_long: Callable[[int], None],
    tools: TestTools | None = None,
) -> EventsByHarness:
    """Read a transcript of one of ``harnesses``; OSError. ``too_long`` takes the offset of a line over the limit."""
    data = decompressed(fd) if compressed else chunks(fd, os.fstat(fd).st_size)
    lines = Lines(harnesses, tools)
    if document:
        lines.document(_document(data))
    else:  # it will not grow: a last line without an end is what there is
        _, rest = _read_lines(data, 0, lines, too_long)
        lines.last(rest)
    return lines.events()


def read_store(path: Path, harness: Harness, tools: TestTools | None = None) -> EventsByHarness:
    """Read a transcript of which the harness makes the lines (raises OSError: it cannot be read, or not understood)."""
    reader = harness.reader(tools)
    for number, line in enumerate(harness.lines_of(path)):
        if number >= MOST_LINES:
            raise OSError(errno.EFBIG, f"more than {MOST_LINES:,} lines")
        reader.number = number
        if len(line) > DOCUMENT_LIMIT:
            reader.skip(TOO_LONG)
        else:
            reader.line(line)
    return {harness.name: reader.events()}


def read_parts(
    parts: Iterable[Iterator[bytes]],
    harnesses: Sequence[Harness],
    too_long: Callable[[int], None],
    tools: TestTools | None = None,
) -> EventsByHarness:
    """Read a transcript in parts, each of whole lines or one document, in pieces; OSError."""
    lines = Lines(harnesses, tools)
    start = 0
    for part in parts:
        start = _read_part(part, start, lines, too_long)
    return lines.events()


def _read_part(
    part: Iterator[bytes], start: int, lines: Lines, too_long: Callable[[int], None]
) -> int:
    """Read a part that begins at an offset, and return that of its end."""
    head = _head(part)
    opening, ends, rest = head.lstrip().partition(b"\n")
    more = b"" if rest or not ends else next(part, b"")
    data = chain((head, more), part)
    alone = not (rest + more).strip() and lines.document_writer(opening)
    if alone or opening.rstrip() in (b"{", b"["):
        text = _document(data)
        lines.document(text)
        return start + len(text)
    behind, rest = _read_lines(data, start, lines, too_long)
    lines.last(rest)
    return behind + len(rest)


class Copies:
    """Reads transcripts that may be copies of one that grew: what one has of the one before is not read again."""

    def __init__(self, harnesses: Sequence[Harness], tools: TestTools | None) -> None:
        self._new = partial(Lines, harnesses, tools)
        self._before, self._lines = b"", self._new()

    def read(self, text: bytes, too_long: Callable[[int], None]) -> EventsByHarness:
        """Read a transcript of one part; OSError."""
        before, lines, start = self._before, self._lines, len(self._before)
        self._before = b""
        if before and text.startswith(before) and b"\n" in (before[-1:], text[start : start + 1]):
            start += before[-1:] != b"\n"
            lines.last(_read_lines(_pieces(text, start), start, lines, too_long)[1])
        else:
            lines = self._lines = self._new()
            _read_part(_pieces(text), 0, lines, too_long)
        if lines.can_go_on():
            self._before = text
        return lines.events()


def _pieces(text: bytes, start: int = 0) -> Iterator[bytes]:
    return (text[at : at + _BLOCK] for at in range(start, len(text), _BLOCK))


def _head(data: Iterable[bytes]) -> bytes:
    """Return what comes up to the end of the first line that is not blank, and some more."""
    head = bytearray()
    said = False
    for piece in data:
        head += piece
        if b"\n" in (piece if said else piece.lstrip()) or len(head) > LINE_LIMIT:
            break
        said = said or not piece.isspace()
    return bytes(head)


def _document(data: Iterable[bytes]) -> bytes:
    text = bytearray()
    for chunk in data:
        text += chunk
        if len(text) > DOCUMENT_LIMIT:
            raise OSError(errno.EFBIG, f"a document over {DOCUMENT_LIMIT >> 20} MiB")
    return bytes(text)


def _read_lines(
    data: Iterable[bytes], start: int, lines: Lines, too_long: Callable[[int], None]
) -> tuple[int, bytes]:
    """Read data in blocks of whole lines; return the offset behind the last line break, and what follows it."""
    at = behind = start
    rest, skipping = b"", False
    for chunk in data:
        piece = chunk
        at += len(piece)
        if (
            not skipping
            and len(rest) + (piece.find(b"\n") if b"\n" in piece else len(piece)) > LINE_LIMIT
        ):
            rest, skipping = b"", True
        if skipping:
            _, found, piece = piece.partition(b"\n")
            if not found:
                continue
            lines.skip(TOO_LONG)
            too_long(behind)
            skipping, behind = False, at - len(piece)
        whole, found, tail = piece.rpartition(b"\n")
        if found:
            lines.block(rest + whole + found)
            rest, behind = tail, at - len(tail)
        else:
            rest += piece
    if skipping:
        lines.skip(TOO_LONG)
        too_long(behind)
    return behind, rest
