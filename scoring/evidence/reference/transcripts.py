"""The rules of the reference: every line as it is written, in the files directly inside the named folders.

Scores under these rules stay comparable with the reference's, so nothing here may ever change. It decodes as Go's
``encoding/json``: keys match without regard to case, one given twice is decoded twice into the same place, null leaves
a plain field alone, and one field of the wrong type costs the line. The module is long, as it has all of these habits.
"""

import json
import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeAlias

from scoring.evidence.commands.objective_flags import (
    BASH,
    LOOP_STATE,
    TESTS,
    is_test_command,
    reads_loop_state,
)
from scoring.evidence.commands.testruns import TestTools
from scoring.evidence.harnesses.harness import NOT_JSON, Harness, JsonReader
from scoring.evidence.transcripts.counter import LineClock, TranscriptCounter
from scoring.evidence.transcripts.discovery import list_directly
from scoring.evidence.transcripts.events import Event, LineSpan, TranscriptEvents
from scoring.evidence.transcripts.facts import COVERED, timestamp_ns
from scoring.evidence.transcripts.scan import Scan, TranscriptRules
from scoring.evidence.transcripts.tally import TurnTokens
from scoring.text import INT_MAX, INT_MIN, fold, wrap64

# The counts of a turn as the reference knows them, in the order of :data:`Turn`, and those of a ``payload``.
CLAUDE_COUNTS = (
    "input_tokens",
    "output_tokens",
    "cache_read_input_tokens",
    "cache_creation_input_tokens",
)
CODEX_COUNTS = ("input_tokens", "cached_input_tokens", "output_tokens")
Turn: TypeAlias = tuple[
    int, int, int, int
]  # tokens: input, output, cache reads, cache creations; 64 bits signed


class LineContent(NamedTuple):
    """What one line contributes, at a time in nanoseconds since 1970, UTC."""

    time: int
    flags: int = 0
    tool_calls: int = 0
    tool_errors: int = 0
    turn: Turn | None = None


_DEEPEST, _LEVELS = (
    10_000,
    100,
)  # how deep the reference lets JSON nest, and how much of it is parsed at a time
# What may be nested, and texts, one that never ends up to the end: what is in it is not looked at again.
_STRUCTURE = re.compile(r'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)|[\[\]{}]', re.DOTALL)


class WrongTypeError(Exception):
    """A typed field holds another JSON type: the line does not count."""


class _Pairs(list[tuple[str, Any]]):
    """A JSON object as written: its pairs in order, none dropped."""


_NOT_WHOLE = object()  # A number that is not written as a whole number

Spec: TypeAlias = Callable[
    [Any, Any], Any
]  # decodes a value over what its place holds, and returns what it holds then


def _text(value: Any, old: Any) -> Any:
    if value is None:
        return old
    if not isinstance(value, str):
        raise WrongTypeError
    return value


def _whole(value: Any, old: Any) -> Any:
    if value is None:
        return old
    if isinstance(value, bool) or not isinstance(value, int) or not INT_MIN <= value <= INT_MAX:
        raise WrongTypeError
    return value


def _optional_flag(value: Any, _old: Any) -> Any:
    if value is not None and not isinstance(value, bool):
        raise WrongTypeError
    return value


def _raw(value: Any, _old: Any) -> Any:
    return value


_MOST_KEYS, _LONGEST_KEY = 500, 64  # that are remembered, of which transcripts have a few dozen


class _Specs(dict[str, tuple[str, Spec] | None]):
    """Fields by the keys that name them, in any case; None for keys that name none, of which it remembers some."""

    def __missing__(self, key: str) -> tuple[str, Spec] | None:
        found = self.get(fold(key))
        if len(self) < _MOST_KEYS and len(key) < _LONGEST_KEY:
            self[key] = found
        return found


def _fields(value: Any, old: Any, specs: _Specs) -> dict[str, Any]:
    if not isinstance(value, _Pairs):
        raise WrongTypeError
    held = dict(old) if old else {}
    wrong = False
    for key, item in value:
        if named := specs[key]:
            name, spec = named
            try:
                held[name] = spec(item, held.get(name))
            except WrongTypeError:
                wrong = True
    if wrong:
        raise WrongTypeError
    return held


def _object(**fields: Spec) -> Spec:
    """Return the spec of an object that is always there: null leaves it as it is."""
    specs = _Specs((name, (name, spec)) for name, spec in fields.items())
    return lambda value, old: (old or {}) if value is None else _fields(value, old, specs)


def _optional(**fields: Spec) -> Spec:
    """Return the spec of an object that may be missing: null takes it away."""
    there = _object(**fields)
    return lambda value, old: None if value is None else there(value, old)


class _Items(list[Any]):
    """A decoded list that remembers the items it held before it got shorter: a later list is decoded over them."""

    spare: list[Any]


def _list_of(item: Spec) -> Spec:
    def decode(value: Any, old: Any) -> Any:
        if value is None:
            return None
        if not isinstance(value, list) or isinstance(value, _Pairs):
            raise WrongTypeError
        held = [*old, *old.spare] if isinstance(old, _Items) else []
        items = _Items(item(v, held[n] if n < len(held) else None) for n, v in enumerate(value))
        items.spare = held[len(items) :] if items else []
        return items

    return decode


_LINE = _object(type=_text, timestamp=_text, payload=_raw)
_CLAUDE = _object(
    message=_optional(
        role=_text,
        usage=_optional(**dict.fromkeys(CLAUDE_COUNTS, _whole)),
        content=_list_of(_object(type=_text, is_error=_optional_flag)),
    )
)
_CODEX = _object(
    payload=_object(
        type=_text,
        info=_optional(last_token_usage=_optional(**dict.fromkeys(CODEX_COUNTS, _whole))),
    )
)
_OBJECTIVE = _object(
    timestamp=_text,
    message=_optional(content=_list_of(_object(type=_text, name=_text, input=_raw))),
)
_ARGUMENTS = {name: _object(**{name: _text}) for name in ("command", "file_path")}


def read_exactly(line: bytes) -> LineContent | None:
    """Return what a line contributes, or None when it contributes nothing."""
    try:
        value = _loads(line)
    except ValueError:
        return None
    tokens, objective = _token_view(value), _objective_view(value)
    if tokens is None:
        return objective
    return tokens if objective is None else tokens._replace(flags=objective.flags)


def _loads(line: bytes) -> Any:
    """Parse one JSON value (raises ValueError: it is not one, or is nested deeper than the reference goes)."""
    if line.startswith(b"\xef\xbb\xbf"):
        raise ValueError("a byte-order mark is no JSON")
    text = line.decode("utf-8", "replace").strip(" \t\r\n")
    try:
        return _parse(text)
    except RecursionError:
        return _parse(_flattened(text))


def _flattened(text: str) -> str:
    """Put 0 for what is nested more than 100 deep, having parsed it 100 levels at a time (raises ValueError)."""
    kept: list[list[str]] = [[]]
    at = depth = 0
    for found in _STRUCTURE.finditer(text):
        if found[0] in ("[", "{"):
            depth += 1
            if depth > _DEEPEST:
                raise ValueError("nested too deep")
            if depth % _LEVELS == 0:
                kept[-1].append(text[at : found.start()])
                kept.append([])
                at = found.start()
        elif found[0] in ("]", "}"):
            if depth % _LEVELS == 0 and len(kept) > 1:
                _parse("".join(kept.pop()) + text[at : found.end()])
                kept[-1].append("0")
                at = found.end()
            depth -= 1
    return "".join(kept[0]) + text[at:] if len(kept) == 1 else ""


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


_parse = json.JSONDecoder(
    object_pairs_hook=_Pairs,
    parse_int=lambda digits: int(digits) if len(digits) < 25 else _NOT_WHOLE,
    parse_float=lambda _: _NOT_WHOLE,
    parse_constant=_refuse_constant,
).decode


def _token_view(value: Any) -> LineContent | None:
    try:
        line = _LINE(value, None)
        if (time := timestamp_ns(line.get("timestamp") or "")) is None:
            return None
        if "payload" in line:
            return _codex_event(time, _CODEX(value, None))
        if line.get("type") in ("assistant", "user"):
            return _claude_event(time, _CLAUDE(value, None))
    except WrongTypeError:
        pass
    return None


def _claude_event(time: int, line: dict[str, Any]) -> LineContent:
    message = line.get("message") or {}
    usage = message.get("usage")
    results = [item for item in message.get("content") or () if item.get("type") == "tool_result"]
    errors = sum(item.get("is_error") is True for item in results)
    if usage is None:
        return LineContent(time, 0, len(results), errors)
    given, output, reads, creations = (usage.get(name) or 0 for name in CLAUDE_COUNTS)
    return LineContent(time, 0, len(results), errors, (given, output, reads, creations))


def _codex_event(time: int, line: dict[str, Any]) -> LineContent:
    payload = line.get("payload") or {}
    usage = (payload.get("info") or {}).get("last_token_usage")
    if payload.get("type") != "token_count" or usage is None:
        return LineContent(time)
    given, cached, output = (
        usage.get(name) or 0 for name in CODEX_COUNTS
    )  # what was not cached was created
    return LineContent(time, turn=(given, output, cached, max(wrap64(given - cached), 0)))


def _objective_view(value: Any) -> LineContent | None:
    try:
        line = _OBJECTIVE(value, None)
    except WrongTypeError:
        return None
    if (time := timestamp_ns(line.get("timestamp") or "")) is None:
        return None
    flags = COVERED
    for item in (line.get("message") or {}).get("content") or ():
        name, given = item.get("name"), item.get("input")
        if item.get("type") != "tool_use":
            continue
        if name == "Bash":
            flags |= BASH | TESTS if is_test_command(_input(given, "command")) else BASH
        elif name == "Read" and reads_loop_state(_input(given, "file_path")):
            flags |= LOOP_STATE
    return LineContent(time, flags)


def _input(value: Any, name: str) -> str:
    try:
        return _ARGUMENTS[name](value, None).get(name) or ""
    except WrongTypeError:
        return ""


# A line that shows no more than that it is there is no event. Events have the time of their line in
# the place of its number.


class LineShows(Event, frozen=True):
    """A line that shows more than that it is there.

    Attributes:
        flags: what it shows, as bits.
    """

    flags: int


class CallsEnded(Event, frozen=True):
    """A line that says how calls of tools ended.

    Attributes:
        calls: how many calls.
        errors: how many of them failed.
    """

    calls: int
    errors: int


class ReferenceTurn(Event, frozen=True):
    """The tokens of a response, as the reference counts them.

    Attributes:
        output: tokens of output.
        input: tokens of input.
        cache_reads: tokens that were read from the cache.
        cache_creations: tokens that were written to the cache.
    """

    output: int
    input: int
    cache_reads: int
    cache_creations: int


class ReferenceReader(JsonReader):
    """Reads every line as the reference does: odd lines are no others', and skipped ones are not reported."""

    def __init__(self, _: TestTools | None = None) -> None:
        super().__init__()
        self._lines: list[LineContent] = []

    def block(self, block: bytes) -> Sequence[tuple[int, bytes]]:
        """Read some whole lines; the block ends with a line break."""
        self._lines += filter(None, map(read_exactly, block.split(b"\n")))
        return ()

    def line(self, line: bytes, broken: str = NOT_JSON) -> None:  # noqa: ARG002 - the exact reading knows every line
        """Read one line."""
        self._lines += filter(None, [read_exactly(line)])

    def events(self) -> TranscriptEvents:
        """Return the events that were read."""
        if not self._lines:
            return TranscriptEvents()

        covers = [line.time for line in self._lines if line.flags & COVERED]
        events = TranscriptEvents(spans=[LineSpan()], covers=[sorted(covers)])

        shows: list[LineShows] = []
        ended: list[CallsEnded] = []
        turns: list[ReferenceTurn] = []
        for line in self._lines:
            flags = line.flags & ~COVERED
            if flags:
                shows.append(LineShows(0, line.time, flags))
            if line.tool_calls:
                ended.append(CallsEnded(0, line.time, line.tool_calls, line.tool_errors))
            if line.turn:
                given, output, reads, creations = line.turn
                turns.append(ReferenceTurn(0, line.time, output, given, reads, creations))
        events.put(LineShows, shows)
        events.put(CallsEnded, ended)
        events.put(ReferenceTurn, turns)
        return events


class ReferenceCounter(TranscriptCounter):
    """Counts every line, as often as it is written."""

    def add(
        self,
        file: int,
        events: TranscriptEvents,
        clock: LineClock,  # noqa: ARG002 - events have their times
        whole: bool,  # noqa: ARG002 - everything counts whole
    ) -> str:
        """Count a transcript."""
        tally = self._tally
        for times in events.covers:
            tally.cover(file, "", times)
        for line in events.of(LineShows):
            tally.flag(line.line, line.flags)
        for ended in events.of(CallsEnded):
            tally.end(ended.line, ended.calls, ended.errors)
        for turn in events.of(ReferenceTurn):
            tokens = TurnTokens(turn.output, turn.input, turn.cache_reads, turn.cache_creations)
            tally.turn(turn.line, tokens)
        return ""


class Reference(Harness):
    """See :class:`~scoring.evidence.harnesses.harness.Harness`."""

    name = ""
    reader, counter = ReferenceReader, ReferenceCounter

    def claims(self, line: bytes) -> bool:  # noqa: ARG002 - whatever it is
        """Claim it."""
        return True


# Plain ``*.jsonl`` files directly inside folders that are named by hand.
REFERENCE_TRANSCRIPTS = TranscriptRules(
    list_directly, lambda: (Reference(),), "transcripts", alone=True
)
reference_scan = partial(Scan, REFERENCE_TRANSCRIPTS)
