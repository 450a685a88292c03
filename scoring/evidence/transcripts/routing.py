"""Cuts a transcript into lines and gives each to the reader of the harness that wrote it.

Lines are decoded a block at a time, and one by one where a block has an odd one. A line that no reader can use is
skipped and counted by the reason.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from scoring.evidence.transcripts.harness import Harness, LineReader
from scoring.evidence.transcripts.rows import FileRows

NOT_JSON = "not JSON"
OTHER_TYPE = "a field of another type"
TOO_DEEP = "nested too deep"
HALF_WRITTEN = "half-written last line"
TOO_LONG = "over 16 MiB"

_keys = msgspec.json.Decoder(dict[str, msgspec.Raw])


class Lines:
    """Reads the lines of one part of a transcript."""

    def __init__(self, harnesses: Sequence[Harness]) -> None:
        self._harnesses = harnesses
        self._readers: dict[str, LineReader] = {}
        self._first: LineReader | None = None

    def block(self, block: bytes) -> None:
        """Read some whole lines."""
        first = self._first or self._choose(block)
        try:
            lines = first.decoder.decode_lines(block)
        except (msgspec.MsgspecError, ValueError, RecursionError):  # one of them is odd
            for line in block.split(b"\n"):
                self._line(line)
            return
        if foreign := first.take(lines):
            written = [line for line in block.split(b"\n") if line.strip()]
            for number in foreign:
                self._line(written[number])

    def tail(self, line: bytes) -> None:
        """Read a last line that no line break ends."""
        self._line(line, HALF_WRITTEN)

    def skip(self, reason: str) -> None:
        """Note that a line was skipped."""
        (self._first or self._reader(self._harnesses[0])).skip(reason)

    def rows(self) -> FileRows:
        """Return what was read."""
        return {name: reader.rows() for name, reader in self._readers.items()}

    def _choose(self, block: bytes) -> LineReader:
        """Return the reader of the harness that wrote the first line that can be told; it takes most of them."""
        for line in block.split(b"\n"):
            if (keys := _keys_of(line)) and (harness := self._writer(keys)):
                self._first = self._reader(harness)
                return self._first
        return self._reader(self._harnesses[0])

    def _writer(self, keys: Mapping[str, Any]) -> Harness | None:
        return next((harness for harness in self._harnesses if harness.claims(keys)), None)

    def _reader(self, harness: Harness) -> LineReader:
        if harness.name not in self._readers:
            self._readers[harness.name] = harness.reader()
        return self._readers[harness.name]

    def _line(self, line: bytes, broken: str = NOT_JSON) -> None:
        """Read one line; ``broken`` is what it is called when it is no JSON."""
        if not line.strip():
            return
        try:
            reason = self._taken(line)
        except (msgspec.MsgspecError, ValueError):
            try:
                reason = self._taken(mended(line))
            except (msgspec.MsgspecError, ValueError):
                reason = broken
        if reason:
            self.skip(reason)

    def _taken(self, line: bytes) -> str:
        """Give a line to who wrote it; return why it was skipped, "" when it was not.

        Raises:
            msgspec.MsgspecError, ValueError: it is no JSON.
        """
        try:
            writer = self._writer(_keys.decode(line))
            reader = self._reader(writer) if writer else (self._first or self._reader(self._harnesses[0]))
            reader.take([reader.decoder.decode(line)])
        except RecursionError:
            return TOO_DEEP
        except msgspec.ValidationError:
            return OTHER_TYPE
        return ""


def mended(line: bytes) -> bytes:
    """Put something else for characters of which only a part is there: harnesses cut the text of tools anywhere.

    What is no JSON for another reason is returned as it is.
    """
    try:
        return json.dumps(json.loads(line.decode("utf-8", "replace")), ensure_ascii=False).encode("utf-8", "replace")
    except (ValueError, RecursionError):
        return line


def _keys_of(line: bytes) -> Mapping[str, Any]:
    try:
        return _keys.decode(line)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return {}
