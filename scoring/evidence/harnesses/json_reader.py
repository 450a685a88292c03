"""The base of all readers: JSON values, a line each, become the events of a transcript."""

import contextlib
import errno
from collections import Counter
from collections.abc import Iterable
from typing import Any, ClassVar

import msgspec

from scoring.evidence.transcripts.transcript_events import TranscriptEvents

from .fields import BROKEN, MANY_VALUES, decoded, has_many_values, is_too_deep

DOCUMENT_LIMIT = 256 << 20
"""The longest document that is read, in bytes."""

MODEL_LIMIT = 200
"""How many characters of the name of a model are kept."""

# Why a line is skipped.
NOT_JSON = "not JSON"
OTHER_TYPE = "a field of another type"
NO_TIME = "no time stamp"
TOO_DEEP = "nested too deep"
TOO_LONG = "over 16 MiB"
HALF_WRITTEN = "half-written last line"


class JsonReader:
    """Reads the lines of a transcript, in order, into its events.

    Attributes:
        decoder: decodes a line.
        goes_on: whether more lines may be read after a call of :meth:`events`, which then may be
            called again for all lines.
        skipped: how many lines were skipped, by reason.
        number: the number in the file, from 0, of the first line that :meth:`take` is given.
        shown: what :meth:`~.harness.Harness.shown` says of the file; None where nothing does.
        next_number: the number of the line after the last block.
        written: the lines that :meth:`take` is given, as they are written in the file.
    """

    decoder: ClassVar[msgspec.json.Decoder[Any]]
    goes_on: ClassVar[bool] = False

    def __init__(self) -> None:
        self.skipped: Counter[str] = Counter()
        self.number = 0
        self.shown: Any = None
        self.next_number = 0
        self.written: list[bytes] = []

    def take(self, lines: list[Any]) -> list[int]:
        """Take some decoded lines, and return the positions of those that another harness wrote."""
        raise NotImplementedError

    def events(self) -> TranscriptEvents:
        """Return the events that were read."""
        raise NotImplementedError

    def block(self, block: bytes) -> list[tuple[int, bytes]]:
        """Read some whole lines, each with its line break.

        Returns:
            The lines that must be read one by one, each with its position in the block: those of
            another harness; or all, where one of them is odd or blank.
        """
        written = block.split(b"\n")
        self.next_number = self.number + len(written) - 1
        lines: list[Any] = []
        if not has_many_values(block):
            with contextlib.suppress(*BROKEN):  # one of them is odd
                lines = self.decoder.decode_lines(block)
        if len(lines) != len(written) - 1:  # or blank lines are in between
            return list(enumerate(written))

        self.written = written
        return [(position, written[position]) for position in self.take(lines)]

    def line(self, line: bytes, broken: str = NOT_JSON) -> None:
        """Read one line, or one document. What cannot be read is skipped with a reason.

        Args:
            line: the line, or the document.
            broken: the reason that is noted when the line is not JSON.
        """
        self.written = [line]
        if has_many_values(line):
            self.skip(MANY_VALUES)
            return
        try:
            for value in self._values_of(line):
                self.take([value])
        except RecursionError:
            self.skip(TOO_DEEP)
        except msgspec.ValidationError:
            self.skip(TOO_DEEP if is_too_deep(line) else OTHER_TYPE)
        except (msgspec.MsgspecError, ValueError):
            self.skip(broken)

    def _values_of(self, line: bytes) -> list[Any]:
        """Return the values in a line: several where a line break between them is missing.

        Raises:
            msgspec.MsgspecError, ValueError, RecursionError: as in :data:`.fields.BROKEN`.
        """
        try:
            return self.decoder.decode_lines(line)
        except BROKEN:
            return [decoded(self.decoder, line)]

    def skip(self, reason: str) -> None:
        """Note that a line, or a part of one, was skipped for a reason."""
        self.skipped[reason] += 1


def document_of(data: Iterable[bytes]) -> bytes:
    """Return data as one text.

    Raises:
        OSError: it has over :data:`DOCUMENT_LIMIT` bytes, or too many values.
    """
    text = bytearray()
    for chunk in data:
        text += chunk
        if len(text) > DOCUMENT_LIMIT:
            raise OSError(errno.EFBIG, f"a document over {DOCUMENT_LIMIT >> 20} MiB")
    document = bytes(text)
    if has_many_values(document):
        raise OSError(errno.EFBIG, f"a document with {MANY_VALUES}")
    return document
