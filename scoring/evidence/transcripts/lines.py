"""The short way through a transcript line: simdjson finds the few fields that count and decodes nothing else.

It vouches only for plain lines: every key that matters is spelled exactly and given once, and every typed field holds
its type. All other lines go to :func:`~scoring.evidence.transcripts.exact.read_exactly`, whose result is the same by
definition; a property test holds the two together.

The keys of an object decide whether it is plain. There are only a few dozen sets of keys in a transcript, so the answer
is looked up by the tuple of keys.
"""

from typing import Any

import simdjson

from scoring.evidence.transcripts.checks import is_test_command, reads_loop_state
from scoring.evidence.transcripts.events import Event
from scoring.evidence.transcripts.exact import codex_turn, read_exactly
from scoring.evidence.transcripts.times import timestamp_ns
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
_CLAUDE_COUNTS = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
_USAGES = _Shapes(*_CLAUDE_COUNTS)
_ITEMS = _Shapes("type", "is_error", "name", "input")
_INPUTS = _Shapes("command", "file_path")
_PAYLOADS = _Shapes("type", "info")
_INFOS = _Shapes("last_token_usage")
_CODEX_COUNTS = ("input_tokens", "cached_input_tokens", "output_tokens")
_TOKEN_USAGES = _Shapes(*_CODEX_COUNTS)


class LineReader:
    """Reads transcript lines. Holds a parser whose buffers are used again for every line."""

    def __init__(self) -> None:
        self._parse = simdjson.Parser().parse

    def read(self, line: bytes) -> Event | None:
        """Return what a line contributes, or None when it contributes nothing."""
        if not line or line[0] == 0xEF:  # a byte-order mark, which simdjson forgives
            return None
        try:
            return _read_plain(self._parse(line))
        except (_OddLineError, ValueError, TypeError, OverflowError):
            return read_exactly(line)


def _read_plain(line: Any) -> Event | None:
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
    if "payload" in shape:
        if "message" in shape:
            raise _OddLineError
        return _read_codex(time, line["payload"])
    if "message" not in shape:
        return Event(time, covered=1)
    return _read_message(time, kind, line["message"])


def _read_codex(time: int, payload: Any) -> Event:
    if type(payload) is not _Object:
        raise _OddLineError
    shape = _PAYLOADS[tuple(payload)]
    kind = payload["type"] if "type" in shape else ""
    if type(kind) is not str:
        raise _OddLineError
    info = payload["info"] if "info" in shape else None
    if info is None:
        return Event(time, covered=1)
    if type(info) is not _Object:
        raise _OddLineError
    usage = info["last_token_usage"] if _INFOS[tuple(info)] else None
    if usage is None:
        return Event(time, covered=1)
    given, cached, output = _counts(usage, _TOKEN_USAGES, _CODEX_COUNTS)
    if kind != "token_count":
        return Event(time, covered=1)
    return codex_turn(time, given, cached, output)._replace(covered=1)


def _counts(usage: Any, shapes: _Shapes, names: tuple[str, ...]) -> list[Any]:
    if type(usage) is not _Object:
        raise _OddLineError
    shape = shapes[tuple(usage)]
    counts = [usage[name] if name in shape else 0 for name in names]
    for count in counts:
        if type(count) is not int or count > INT_MAX:
            raise _OddLineError
    return counts


def _read_message(time: int, kind: str, message: Any) -> Event | None:
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
    counts = [0, 0, 0, 0] if usage is None else _counts(usage, _USAGES, _CLAUDE_COUNTS)
    calls = errors = bash = tests = loop_state = 0
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
        elif item_kind == "tool_use" and (name == "Bash" or name == "Read"):
            argument = _argument(item, "command" if name == "Bash" else "file_path")
            if name == "Bash":
                bash = 1
                tests = tests or int(is_test_command(argument))
            else:
                loop_state = loop_state or int(reads_loop_state(argument))
    if kind == "assistant" or kind == "user":
        given, output, reads, creations = counts
        turns = int(usage is not None)
        return Event(time, turns, given, output, reads, creations, calls, errors, 1, bash, tests, loop_state)
    return Event(time, covered=1, bash=bash, tests=tests, loop_state=loop_state)


def _argument(item: Any, name: str) -> str:
    given = item["input"] if "input" in _ITEMS[tuple(item)] else None
    if type(given) is not _Object:
        return ""
    value = given[name] if name in _INPUTS[tuple(given)] else ""
    if type(value) is not str:
        raise _OddLineError
    return value
