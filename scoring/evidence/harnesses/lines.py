"""Cuts transcripts into lines and gives each line to the reader of the harness that wrote it."""

import contextlib
import errno
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path

from scoring.evidence.commands.testruns import TestTools
from scoring.evidence.transcripts.opening import BLOCK, chunks, decompressed
from scoring.evidence.transcripts.transcript_events import (
    EventsByHarness,
    TranscriptEvents,
)
from scoring.evidence.transcripts.transcript_files import UNKNOWN_KIND, TranscriptFile

from .fields import has_many_values, keys_of, value_of
from .harness import ForeignFileError, Harness
from .json_reader import (
    DOCUMENT_LIMIT,
    HALF_WRITTEN,
    NOT_JSON,
    TOO_LONG,
    JsonReader,
    document_of,
)
from .unread import NOT_KNOWN

LINE_LIMIT = 16 << 20
"""The longest line that is read, in bytes. A longer one is skipped with a warning."""

FREE_SECONDS = 20.0
"""How many seconds of processor time any transcript may take to read, whatever its size."""

SLOWEST = 1 << 20
"""How many bytes must be read in each second after :data:`FREE_SECONDS`."""

MOST_UNCLAIMED = 300
"""How many lines that no harness claims there may be. Then no harness is asked any more."""

TooLong = Callable[[int], None]
"""Takes the offset in bytes of a line that is too long."""


class Lines:
    """Gives each line to the reader of the harness that wrote it.

    That is the harness of the first line that was claimed, unless its reader cannot read the line.
    Then it is the harness that claims the line, if one does. As long as no line was claimed, it is
    the only harness, or, of several, one that is not known.

    What reads lines raises an OSError where there are too many of them.

    Args:
        harnesses: the harnesses that may have written the lines.
        tools: the test tools; None: those of the table alone.
        too_long: takes the offset in bytes of each line that is too long.
    """

    def __init__(
        self,
        harnesses: Sequence[Harness],
        tools: TestTools | None = None,
        too_long: TooLong = lambda _: None,
    ) -> None:
        self._harnesses = harnesses
        self._of_documents = [
            harness for harness in harnesses if harness.writes_documents
        ]
        self._tools = tools
        self.too_long = too_long
        self._readers: dict[str, JsonReader] = {}
        self._first: JsonReader | None = None
        self._number = 0
        self._unclaimed = 0
        self._size = 0
        self._began = time.thread_time()

    def block(self, lines: Sequence[bytes]) -> None:
        """Read some whole lines, given without their line breaks.

        Raises:
            OSError: the transcript has too many lines, or takes too long.
        """
        self._size += sum(map(len, lines)) + len(lines)
        _refuse_slow(self._began, self._size)

        if not self._first:
            self._first = next(filter(None, map(self._writer, lines)), None)
        for line in lines:
            self.line(line)
            self._number += 1

    def _main(self) -> JsonReader:
        """Return the reader of a line that no harness claims, as the class says."""
        if self._first:
            return self._first
        return self._reader(
            self._harnesses[0] if len(self._harnesses) == 1 else NOT_KNOWN
        )

    def line(self, line: bytes, broken: str = NOT_JSON) -> None:
        """Read one line. A blank one is passed over.

        Args:
            line: the line, without its line break.
            broken: the reason that is noted when the line is skipped since it is not JSON.
        """
        if not line.strip():
            return
        if self._first and self._first.read_own_line(self._number, line):
            return
        reader = self._writer(line) or self._main()
        reader.line(self._number, line, broken)

    def last(self, line: bytes) -> None:
        """Read what follows the last line break of a file or a part, which may be nothing."""
        self.line(line, HALF_WRITTEN)
        if line:
            self._number += 1

    def document(self, text: bytes) -> None:
        """Read a text as one document, or as lines where its first line is a document by itself.

        A text that no harness claims is skipped. That is noted for the only harness of documents,
        or without exactly one for a harness that is not known.
        """
        documents = [text]
        writer = self.document_writer(text)
        if not writer:
            documents = text.split(b"\n")
            writer = self.document_writer(text.lstrip().partition(b"\n")[0])
        if writer:
            reader = self._reader(writer)
            for number, document in enumerate(documents):
                if document.strip():
                    reader.line(number, document)
            return

        by_name = self._of_documents
        reader = self._reader(by_name[0] if len(by_name) == 1 else NOT_KNOWN)
        reader.skip(f"{UNKNOWN_KIND}document" if keys_of(text) else NOT_JSON)

    def document_writer(self, text: bytes) -> Harness | None:
        """Return the harness that claims a text as a document, or None where none does."""
        return _claimant(self._of_documents, text)

    def can_go_on(self) -> bool:
        """Return whether, in a longer copy, only what follows the lines so far must be read."""
        if not self._first or not self._first.goes_on or len(self._readers) > 1:
            return False
        return {HALF_WRITTEN, TOO_LONG}.isdisjoint(self._first.skipped)

    def skip_long(self, offset: int) -> None:
        """Note that the line at an offset in bytes was skipped because it is too long."""
        self._number += 1
        self._main().skip(TOO_LONG)
        self.too_long(offset)

    def events(self) -> EventsByHarness:
        """Return the events that were read so far."""
        return {name: reader.events() for name, reader in self._readers.items()}

    def _writer(self, line: bytes) -> JsonReader | None:
        """Return the reader of the harness that wrote a line, or None when no harness claims it.

        The harness of the first claimed line is asked first, then all from the last of the table
        to the first. After :data:`MOST_UNCLAIMED` lines without a claim it is always None.
        """
        if self._unclaimed >= MOST_UNCLAIMED:
            return None

        order = list(reversed(self._harnesses))
        if self._first:
            order.sort(
                key=lambda harness: self._readers.get(harness.name) is not self._first
            )
        harness = _claimant(order, line)
        if harness:
            return self._reader(harness)
        self._unclaimed += 1
        return None

    def _reader(self, harness: Harness) -> JsonReader:
        if harness.name not in self._readers:
            self._readers[harness.name] = harness.reader(self._tools)
        return self._readers[harness.name]


def _refuse_slow(began: float, size: int) -> None:
    """Raise an OSError if ``size`` bytes take too long. ``began`` is processor time, in seconds."""
    seconds = time.thread_time() - began
    if seconds > FREE_SECONDS + size / SLOWEST:
        raise OSError(errno.EFBIG, f"takes more than {seconds:.0f} seconds to read")


def _claimant(harnesses: Iterable[Harness], text: bytes) -> Harness | None:
    """Return the first harness that claims a line or a document, or None without one.

    Also None for a text with too many values, and for any other text than a JSON object.
    """
    value = None if has_many_values(text) else value_of(text)
    if isinstance(value, dict):
        for harness in harnesses:
            if harness.claims(value):
                return harness
    return None


def read_whole(fd: int, transcript: TranscriptFile, lines: Lines) -> EventsByHarness:
    """Read a transcript from an open file.

    Args:
        fd: the descriptor of the file.
        transcript: the transcript, which is not a store.
        lines: what reads its lines.

    Raises:
        OSError: the file cannot be read, is too large, has too many lines, or takes too long.
    """
    data = (
        decompressed(fd) if transcript.compressed else chunks(fd, os.fstat(fd).st_size)
    )
    if transcript.kind == "document":
        lines.document(document_of(data))
    else:
        _read_lines(data, 0, lines)
    return lines.events()


def read_store(
    path: Path, harness: Harness, tools: TestTools | None
) -> EventsByHarness:
    """Read a store, of which its harness makes the lines.

    A store that another program wrote has no events, under the name of :data:`NOT_KNOWN`. Lines
    over :data:`DOCUMENT_LIMIT` are skipped.

    Raises:
        OSError: it cannot be read, has too many lines, takes too long, or its form is not known.
    """
    reader = harness.reader(tools)
    size = 0
    began = time.thread_time()
    # what a file states may be nested too deep
    with contextlib.suppress(RecursionError):
        # Through JSON and back: what a reader cannot take from a line it is not given here.
        reader.shown = value_of(json.dumps(harness.shown(path)).encode())
    try:
        for number, line in enumerate(harness.lines_of(path)):
            size += len(line)
            _refuse_slow(began, size)
            if len(line) > DOCUMENT_LIMIT:
                reader.skip(TOO_LONG)
            else:
                reader.line(number, line)
    except ForeignFileError:
        return {NOT_KNOWN.name: TranscriptEvents()}
    return {harness.name: reader.events()}


def read_parts(parts: Iterable[Iterator[bytes]], lines: Lines) -> EventsByHarness:
    """Read a transcript in parts.

    Args:
        parts: the parts, in order, each in pieces. Each part has whole lines, or one document.
        lines: what reads their lines.

    Raises:
        OSError: a part cannot be read, or they are too large or long, or take too long.
    """
    start = 0
    for part in parts:
        start = _read_part(part, start, lines)
    return lines.events()


def _read_part(part: Iterator[bytes], start: int, lines: Lines) -> int:
    """Read a part as the document that it is, or else as lines. Return the offset of its end.

    Args:
        part: the part, in pieces.
        start: the offset in bytes at which it begins.
        lines: what reads its lines.
    """
    head = _head(part)
    opening, line_break, rest = head.lstrip().partition(b"\n")
    more = b"" if rest or not line_break else next(part, b"")
    data = chain((head, more), part)

    is_one_line = not (rest + more).strip()
    is_document = is_one_line and lines.document_writer(opening) is not None
    if is_document or opening.rstrip() in (b"{", b"["):
        text = document_of(data)
        lines.document(text)
        return start + len(text)

    return _read_lines(data, start, lines)


class Copies:
    """Reads transcripts that may be copies of one transcript that grew, the shortest first.

    Where a transcript begins with all of the one read before, only the rest of it is read.

    Args:
        harnesses: the harnesses that may have written the transcripts.
        tools: the test tools; None: those of the table alone.
    """

    def __init__(self, harnesses: Sequence[Harness], tools: TestTools | None) -> None:
        self._new_lines = partial(Lines, harnesses, tools)
        self._previous = b""
        self._lines = self._new_lines()

    def read(self, text: bytes, too_long: TooLong) -> EventsByHarness:
        """Read a transcript of one part, and return all of its events.

        Raises:
            OSError: it has too many lines, takes too long, or is too large a document.
        """
        previous = self._previous
        self._previous = b""
        start = len(previous)
        has_last_break = previous.endswith(b"\n")
        ends_alike = has_last_break or text.startswith(b"\n", start)
        if previous and text.startswith(previous) and ends_alike:
            if not has_last_break:
                start += 1
            self._lines.too_long = too_long
            _read_lines(_pieces(text, start), start, self._lines)
        else:
            self._lines = self._new_lines(too_long=too_long)
            _read_part(_pieces(text), 0, self._lines)

        if self._lines.can_go_on():
            self._previous = text
        return self._lines.events()


def _pieces(text: bytes, start: int = 0) -> Iterator[bytes]:
    """Yield a text from an offset on, in pieces of :data:`BLOCK` bytes."""
    for offset in range(start, len(text), BLOCK):
        yield text[offset : offset + BLOCK]


def _head(data: Iterable[bytes]) -> bytes:
    """Join the first pieces of data, until they hold a line that is not blank, or are too long."""
    head = bytearray()
    has_text = False
    for piece in data:
        head += piece
        if b"\n" in (piece if has_text else piece.lstrip()) or len(head) > LINE_LIMIT:
            break
        has_text = has_text or not piece.isspace()
    return bytes(head)


def _read_lines(data: Iterable[bytes], start: int, lines: Lines) -> int:
    """Read data as blocks of whole lines and a last line. Return the offset at which it ends.

    Args:
        data: the data, in pieces.
        start: the offset in bytes at which the data begins.
        lines: what reads the lines; of one over :data:`LINE_LIMIT` it gets the offset alone.
    """
    end = line_start = start
    rest = b""
    skipping = False
    for piece in data:
        end += len(piece)
        has_break = b"\n" in piece
        length = len(rest) + (piece.index(b"\n") if has_break else len(piece))
        if length > LINE_LIMIT:
            rest = b""
            skipping = True
        if skipping:
            if not has_break:
                continue
            lines.skip_long(line_start)
            skipping = False
            piece = piece[piece.index(b"\n") + 1 :]
            line_start = end - len(piece)

        *whole, rest = (rest + piece).split(b"\n")
        if whole:
            lines.block(whole)
            line_start = end - len(rest)

    if skipping:
        lines.skip_long(line_start)
    lines.last(rest)
    return end
