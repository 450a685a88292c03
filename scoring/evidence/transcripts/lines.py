"""The short way through a transcript line: simdjson finds the few fields that count and decodes nothing else.

It vouches only for plain lines: every key that matters is spelled exactly and given once, and every typed field holds
its type. All other lines go to :func:`~scoring.evidence.transcripts.exact.read_exactly`, whose result is the same by
definition; a property test holds the two together.

The keys of an object decide whether it is plain. There are only a few dozen sets of keys in a transcript, so the answer
is looked up by the tuple of keys. This is the one place where every line of every transcript passes, so it is written
for speed: results are plain tuples, and fields are looked at in the order in which they are likeliest to end the work.
"""

from typing import Any

import simdjson

from scoring.evidence.transcripts.checks import is_test_command, reads_loop_state
from scoring.evidence.transcripts.events import BASH, COVERED, LOOP_STATE, TESTS, PlainEvent
from scoring.evidence.transcripts.times import timestamp_ns
from scoring.evidence.transcripts.tokens import CLAUDE_COUNTS, CODEX_COUNTS, codex_turn
from scoring.numbers import INT_MAX
from scoring.text import fold

_Object, _Array = simdjson.Object, simdjson.Array


class _OddLineError(Exception):
    """The line is not plain."""


class _Shapes(dict[tuple[str, ...], frozenset[str]]):
    """Which of the fields that matter an object has, by its tuple of keys."""

    _KEPT = 10_000

    def __init__(self, *names: str) -> None:
        super().__init__()
        self._names = frozenset(names)

    def __missing__(self, keys: tuple[str, ...]) -> frozenset[str]:
        """Work the answer out for keys that are new.

        Raises:
            _OddLineError: a field that matters is given twice or spelled in another case.
        """
        given = [key for key in keys if key in self._names or fold(key) in self._names]
        shape = frozenset(given)
        if len(given) != len(shape) or not shape <= self._names:
            raise _OddLineError
        if len(self) >= self._KEPT:
            self.clear()
        self[keys] = shape
        return shape


_LINES = _Shapes("type", "timestamp", "payload", "message")
_MESSAGES = _Shapes("role", "usage", "content")
_USAGES = _Shapes(*CLAUDE_COUNTS)
_ITEMS = _Shapes("type", "is_error", "name", "input")
_INPUTS = _Shapes("command", "file_path")
_PAYLOADS = _Shapes("type", "info")
_INFOS = _Shapes("last_token_usage")
_TOKEN_USAGES = _Shapes(*CODEX_COUNTS)


class LineReader:
    """Reads transcript lines. Holds a parser whose buffers are used again for every line."""

    def __init__(self) -> None:
        self._parse = simdjson.Parser().parse

    def read(self, line: bytes) -> PlainEvent | None:
        """Return what a line contributes, or None when it contributes nothing."""
        if not line or line[0] == 0xEF:  # a byte-order mark, which simdjson forgives
            return None
        try:
            return _read_plain(self._parse(line))
        except (_OddLineError, ValueError, TypeError, RuntimeError):
            from scoring.evidence.transcripts.exact import read_exactly  # few transcripts have odd lines

            return read_exactly(line)


def _read_plain(line: Any) -> PlainEvent | None:
    if type(line) is not _Object:
        return None
    shape = _LINES[tuple(line)]
    if "timestamp" not in shape:
        return None
    stamp = line["timestamp"]
    if type(stamp) is not str:
        raise _OddLineError
    time = timestamp_ns(stamp)
    if time is None:
        return None
    kind = line["type"] if "type" in shape else ""
    if type(kind) is not str:
        raise _OddLineError
    if "message" not in shape:
        return _read_codex(time, line["payload"]) if "payload" in shape else (time, COVERED, 0, 0, None)
    if "payload" in shape:
        raise _OddLineError
    return _read_message(time, kind, line["message"])


def _read_codex(time: int, payload: Any) -> PlainEvent:
    if type(payload) is not _Object:
        raise _OddLineError
    shape = _PAYLOADS[tuple(payload)]
    kind = payload["type"] if "type" in shape else ""
    if type(kind) is not str:
        raise _OddLineError
    info = payload["info"] if "info" in shape else None
    if info is None:
        return time, COVERED, 0, 0, None
    if type(info) is not _Object:
        raise _OddLineError
    usage = info["last_token_usage"] if _INFOS[tuple(info)] else None
    if usage is None:
        return time, COVERED, 0, 0, None
    given, cached, output = _counts(usage, _TOKEN_USAGES, CODEX_COUNTS)
    if kind != "token_count":
        return time, COVERED, 0, 0, None
    return time, COVERED, 0, 0, codex_turn(given, cached, output)


def _counts(usage: Any, shapes: _Shapes, names: tuple[str, ...]) -> tuple[Any, ...]:
    if type(usage) is not _Object:
        raise _OddLineError
    counts: tuple[Any, ...]
    shape = shapes[tuple(usage)]
    if len(shape) == len(names):
        counts = tuple(map(usage.__getitem__, names))
    else:
        counts = tuple([usage[name] if name in shape else 0 for name in names])
    for count in counts:
        if type(count) is not int:
            raise _OddLineError
    if max(counts) > INT_MAX:
        raise _OddLineError
    return counts


def _read_message(time: int, kind: str, message: Any) -> PlainEvent | None:
    if type(message) is not _Object:
        raise _OddLineError
    shape = _MESSAGES[tuple(message)]
    content = message["content"] if "content" in shape else None
    if type(content) is str:  # neither view takes text for a list: the commonest of all odd lines
        return None
    if content is not None and type(content) is not _Array:
        raise _OddLineError
    if "role" in shape and type(message["role"]) is not str:
        raise _OddLineError
    usage = message["usage"] if "usage" in shape else None
    turn: Any = None if usage is None else _counts(usage, _USAGES, CLAUDE_COUNTS)
    calls = errors = 0
    flags = COVERED
    for item in content if content is not None else ():
        if type(item) is not _Object:
            raise _OddLineError
        fields = _ITEMS[tuple(item)]
        item_kind = item["type"] if "type" in fields else ""
        name = item["name"] if "name" in fields else ""
        error = item["is_error"] if "is_error" in fields else None
        if type(item_kind) is not str or type(name) is not str or (error is not None and type(error) is not bool):
            raise _OddLineError
        if item_kind == "tool_result":
            calls += 1
            errors += error is True
        elif item_kind == "tool_use":
            if name == "Bash":
                flags |= BASH | TESTS if is_test_command(_argument(item, fields, "command")) else BASH
            elif name == "Read" and reads_loop_state(_argument(item, fields, "file_path")):
                flags |= LOOP_STATE
    if kind == "assistant" or kind == "user":
        return time, flags, calls, errors, turn
    return time, flags, 0, 0, None


def _argument(item: Any, fields: frozenset[str], name: str) -> str:
    given = item["input"] if "input" in fields else None
    if type(given) is not _Object:
        return ""
    value = given[name] if name in _INPUTS[tuple(given)] else ""
    if type(value) is not str:
        raise _OddLineError
    return value
