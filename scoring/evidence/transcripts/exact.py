"""The exact reading of one transcript line, for the lines that the short way cannot vouch for.

The reference decodes a line into typed fields with Go's ``encoding/json``, whose habits decide odd lines
(contract section 2.7): keys match without regard to case, a key given twice is decoded twice into the same place (a
scalar is replaced, an object is merged, a list is merged item by item), null leaves a plain field alone and empties an
optional one, and one field of the wrong type costs the whole line. This module is those habits, as a small decoder
over plain specifications.

Two views of a line are typed differently, so each is decoded by itself: the token view and the objective view.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from scoring.evidence.transcripts.checks import is_test_command, reads_loop_state
from scoring.evidence.transcripts.events import Event
from scoring.evidence.transcripts.times import timestamp_ns
from scoring.numbers import INT_MAX, INT_MIN
from scoring.text import fold


class WrongTypeError(Exception):
    """A typed field holds another JSON type: the line does not count."""


class _Pairs(list[tuple[str, Any]]):
    """A JSON object as written: its pairs in order, none dropped."""


class _NotWhole:
    """A number that is not written as a whole number."""


_NOT_WHOLE = _NotWhole()
_ABSENT: Any = object()

Spec: TypeAlias = Callable[[Any, Any], Any]
"""Decodes a JSON value over what its place already holds, and returns what it holds then."""


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


def _fields(value: Any, old: Any, specs: Mapping[str, Spec]) -> dict[str, Any]:
    if not isinstance(value, _Pairs):
        raise WrongTypeError
    held = dict(old) if old else {}
    wrong = False
    for key, item in value:
        name = key if key in specs else fold(key)
        if spec := specs.get(name):
            try:
                held[name] = spec(item, held.get(name))
            except WrongTypeError:
                wrong = True
    if wrong:
        raise WrongTypeError
    return held


def _object(**specs: Spec) -> Spec:
    """Return the spec of an object that is always there: null leaves it as it is."""
    return lambda value, old: (old or {}) if value is None else _fields(value, old, specs)


def _optional(**specs: Spec) -> Spec:
    """Return the spec of an object that may be missing: null takes it away."""
    return lambda value, old: None if value is None else _fields(value, old, specs)


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
        usage=_optional(
            input_tokens=_whole,
            output_tokens=_whole,
            cache_read_input_tokens=_whole,
            cache_creation_input_tokens=_whole,
        ),
        content=_list_of(_object(type=_text, is_error=_optional_flag)),
    )
)
_CODEX = _object(
    payload=_object(
        type=_text,
        info=_optional(
            last_token_usage=_optional(input_tokens=_whole, cached_input_tokens=_whole, output_tokens=_whole)
        ),
    )
)
_OBJECTIVE = _object(
    timestamp=_text,
    message=_optional(content=_list_of(_object(type=_text, name=_text, input=_raw))),
)
_TOOL_INPUT = _object(command=_text)
_READ_INPUT = _object(file_path=_text)


def read_exactly(line: bytes) -> Event | None:
    """Return what a line contributes, or None when it contributes nothing."""
    try:
        value = _loads(line)
    except (ValueError, RecursionError):
        return None
    tokens, objective = _token_view(value), _objective_view(value)
    if tokens is None:
        return objective
    if objective is None:
        return tokens
    return tokens._replace(
        covered=objective.covered, bash=objective.bash, tests=objective.tests, loop_state=objective.loop_state
    )


def _loads(line: bytes) -> Any:
    """Parse one JSON value; bytes that are not UTF-8 become replacement characters."""
    if line.startswith(b"\xef\xbb\xbf"):
        raise ValueError("a byte-order mark is no JSON")
    return json.loads(
        line.decode("utf-8", "replace").strip(" \t\r\n"),
        object_pairs_hook=_Pairs,
        parse_int=lambda text: int(text) if len(text) < 25 else _NOT_WHOLE,
        parse_float=lambda _: _NOT_WHOLE,
        parse_constant=_refuse_constant,
    )


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def _token_view(value: Any) -> Event | None:
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


def _claude_event(time: int, line: dict[str, Any]) -> Event:
    message = line.get("message") or {}
    usage = message.get("usage")
    counts = usage or {}
    results = [item for item in message.get("content") or () if item.get("type") == "tool_result"]
    return Event(
        time,
        turns=int(usage is not None),
        input_tokens=counts.get("input_tokens") or 0,
        output_tokens=counts.get("output_tokens") or 0,
        cache_reads=counts.get("cache_read_input_tokens") or 0,
        cache_creations=counts.get("cache_creation_input_tokens") or 0,
        tool_calls=len(results),
        tool_errors=sum(item.get("is_error") is True for item in results),
    )


def _codex_event(time: int, line: dict[str, Any]) -> Event:
    payload = line.get("payload") or {}
    usage = (payload.get("info") or {}).get("last_token_usage")
    if payload.get("type") != "token_count" or usage is None:
        return Event(time)
    return codex_turn(
        time, usage.get("input_tokens") or 0, usage.get("cached_input_tokens") or 0, usage.get("output_tokens") or 0
    )


def codex_turn(time: int, given: int, cached: int, output: int) -> Event:
    """Return one Codex turn: cached input was read, what is left of the input was created."""
    return Event(
        time,
        turns=1,
        input_tokens=given,
        output_tokens=output,
        cache_reads=cached,
        cache_creations=max(given - cached, 0),
    )


def _objective_view(value: Any) -> Event | None:
    try:
        line = _OBJECTIVE(value, None)
    except WrongTypeError:
        return None
    if (time := timestamp_ns(line.get("timestamp") or "")) is None:
        return None
    uses = [i for i in (line.get("message") or {}).get("content") or () if i.get("type") == "tool_use"]
    bash = [i.get("input") for i in uses if i.get("name") == "Bash"]
    reads = [i.get("input") for i in uses if i.get("name") == "Read"]
    return Event(
        time,
        covered=1,
        bash=int(bool(bash)),
        tests=int(any(is_test_command(_input(i, _TOOL_INPUT, "command")) for i in bash)),
        loop_state=int(any(reads_loop_state(_input(i, _READ_INPUT, "file_path")) for i in reads)),
    )


def _input(value: Any, spec: Spec, name: str) -> str:
    try:
        return spec(value, None).get(name) or ""
    except WrongTypeError:
        return ""
