"""Codex: what a line of its rollouts holds.

``docs/EVIDENCE.md``, "Lines of Codex", shows the format. The module is long because the format is: five kinds of calls
and of verdicts, written differently by each version.
"""

from array import array
from collections.abc import Callable, Iterable, Sequence
from operator import lt
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import msgspec
from msgspec import UNSET, UnsetType
from msgspec.structs import astuple

from scoring.evidence.transcripts.facts import timestamp_ns
from scoring.evidence.transcripts.harness import (
    COUNT_LIMIT,
    MODEL_LIMIT,
    NO_TIME,
    OTHER_TYPE,
    JsonReader,
    command_flags,
    decoded,
)
from scoring.evidence.transcripts.rows import LineSpan, Rows, columns_of, key_of

if TYPE_CHECKING:  # reading that observes nothing needs no test tools
    pass

META, CONTEXT = 1, 2
"""What opens a span: a ``session_meta``, a ``turn_context``."""

COUNT, CALL, VERDICT, TURN, REPEAT = range(5)
"""The tables. Behind span and time they have these columns, the first of them how many counts are before the row:

- count, as it is written: what it counts (:data:`TOTALS`, or :data:`LAST` where an event has no totals), and the six
  of :data:`FIELDS`, -1 for those left out;
- call: key of the id, the bits that it shows;
- verdict: key of the id, whether it failed;
- turn, worked out of the counts: output, input, cache reads, cache creations;
- repeat, worked out of the counts too: nothing more.
"""

TOTALS, LAST = range(2)

_Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=COUNT_LIMIT)]
_Counts: TypeAlias = tuple[int, ...]


class _Usage(msgspec.Struct, gc=False):
    input_tokens: _Count = -1
    cached_input_tokens: _Count = -1
    cache_write_input_tokens: _Count = -1
    output_tokens: _Count = -1
    reasoning_output_tokens: _Count = -1
    total_tokens: _Count = -1


FIELDS = _Usage.__struct_fields__
"""The totals of a session."""


class _Info(msgspec.Struct, gc=False):
    total_token_usage: _Usage | None = None
    last_token_usage: _Usage | None = None


class Payload(msgspec.Struct, gc=False):
    """A payload of any kind: fields that one kind has as something else than another one are decoded when needed."""

    type: str | None = None
    call_id: str | None = None
    name: str | None = None
    info: msgspec.Raw | UnsetType = UNSET
    arguments: msgspec.Raw | UnsetType = UNSET
    input: msgspec.Raw | UnsetType = UNSET
    output: msgspec.Raw | UnsetType = UNSET
    action: msgspec.Raw | UnsetType = UNSET
    success: msgspec.Raw | UnsetType = UNSET
    result: msgspec.Raw | UnsetType = UNSET
    id: msgspec.Raw | UnsetType = UNSET
    forked_from_id: msgspec.Raw | UnsetType = UNSET
    source: msgspec.Raw | UnsetType = UNSET
    cwd: msgspec.Raw | UnsetType = UNSET
    turn_id: msgspec.Raw | UnsetType = UNSET
    reason: msgspec.Raw | UnsetType = UNSET
    git: msgspec.Raw | UnsetType = UNSET
    model: msgspec.Raw | UnsetType = UNSET


class RolloutLine(msgspec.Struct, gc=False):
    """A line of a rollout."""

    type: str | None = None
    timestamp: str | None = None
    payload: Payload | UnsetType | None = UNSET


_decode_info = msgspec.json.Decoder(_Info | None).decode
_anything = msgspec.json.Decoder()


class CodexReader(JsonReader):
    """See :class:`~scoring.evidence.transcripts.harness.JsonReader`."""

    decoder = msgspec.json.Decoder(RolloutLine)

    def __init__(self) -> None:
        super().__init__()
        self._spans: list[LineSpan] = [LineSpan()]
        self._covers: list[list[int]] = [[]]
        self._cover = self._covers[0].append
        self._counts: list[tuple[int, ...]] = []
        self._tables: dict[int, list[tuple[int, ...]]] = {COUNT: self._counts, CALL: [], VERDICT: []}

    def take(self, lines: Sequence[RolloutLine]) -> list[int]:
        """Take some lines; those without a ``payload`` are another harness's."""
        foreign: list[int] = []
        observes = self.observes
        for number, line in enumerate(lines):
            payload = line.payload
            if payload is UNSET:
                foreign.append(number)
                continue
            stamp = line.timestamp
            time = None if stamp is None else timestamp_ns(stamp)
            if time is None:
                self.skipped[NO_TIME] += 1
                continue
            at = self._observe(number, time, line) if observes else time
            self._cover(at)
            if payload is None:
                continue
            try:
                kind = payload.type
                if kind == "token_count":
                    if payload.info is not UNSET:
                        self._count(at, _decode_info(payload.info))
                elif kind in _VERDICTS:
                    self._end(at, payload, _VERDICTS[kind](payload))
                elif kind in _COMMANDS:
                    self._call(at, payload, _COMMANDS[kind](payload))
                elif line.type == "session_meta" or line.type == "turn_context":
                    self._open(at, time, line.type, payload)
                elif kind == "turn_aborted":
                    self._abort(payload)
            except (msgspec.MsgspecError, ValueError, RecursionError, TypeError):
                self.skipped[OTHER_TYPE] += 1
        return foreign

    def _observe(self, position: int, time: int, line: RolloutLine) -> int:
        """Note the line at a position, and return what stands for its time; only for a reader that observes."""
        raise NotImplementedError

    def _call(self, time: int, payload: Payload, command: str | None) -> None:
        """Note a call, and what its command shows, if it runs one."""
        if command is not None:
            self._row(CALL, time, payload.call_id, command_flags(command))

    def _end(self, time: int, payload: Payload, failed: bool | None) -> None:
        """Note how a call ended, if that is said."""
        if failed is not None:
            self._row(VERDICT, time, payload.call_id, failed)

    def _abort(self, payload: Payload) -> None:
        """Note that a turn was broken off; only a reader that observes does."""

    def _row(self, kind: int, time: int, call_id: str | None, value: int) -> None:
        key = key_of(call_id) if call_id else 0
        self._tables[kind].append((len(self._spans) - 1, time, len(self._counts), key, value))

    def _count(self, time: int, info: _Info | None) -> None:
        totals, last = (None, None) if info is None else (info.total_token_usage, info.last_token_usage)
        usage = last if totals is None else totals
        if usage is None:  # an event about rate limits alone
            return
        kind = LAST if totals is None else TOTALS
        self._counts.append((len(self._spans) - 1, time, len(self._counts), kind, *astuple(usage)))

    def _open(self, at: int, time: int, line: str, payload: Payload) -> None:
        """Begin a span: what follows is of this session, or was done in this folder."""
        cwd, own, turn = text_of(payload.cwd), text_of(payload.id), text_of(payload.turn_id)
        model = text_of(payload.model)[:MODEL_LIMIT]
        span = LineSpan(cwd, "", CONTEXT, "", _uuid7_ms(turn), time, "", model)
        if line == "session_meta":
            parent = text_of(payload.forked_from_id) or as_text(member(value_of(payload.source), *_SPAWNED_BY))
            remote = as_text(member(value_of(payload.git), "repository_url")) if self.observes else ""
            span = LineSpan(cwd, own, META, parent, _uuid7_ms(own), time, remote, model)
        self._covers[-1].pop()  # this line belongs to what it opens
        self._covers.append([at])
        self._cover = self._covers[-1].append
        self._spans.append(span)

    def rows(self) -> Rows:
        """Return what was taken."""
        covers = [array("q", times) for times in self._covers]
        tables = {kind: columns_of(rows) for kind, rows in self._tables.items() if rows}
        return settled(Rows(self._spans, covers, tables, self.skipped))


def value_of(raw: "msgspec.Raw | UnsetType") -> Any:
    """Return what a field of a payload holds; None when it is not there."""
    return None if raw is UNSET else decoded(_anything, raw)


def text_of(raw: "msgspec.Raw | UnsetType") -> str:
    """Return the text that a field of a payload holds; "" when it is none."""
    return as_text(value_of(raw))


def as_text(value: Any) -> str:
    """Return what should be text; "" when it is not."""
    return value if isinstance(value, str) else ""


def parsed(text: str) -> Any:
    """Return what is in a text that should be JSON; None when it is not."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None


def member(value: Any, *names: str) -> Any:
    """Return what is under some names, one within the other; None when it is not there."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _uuid7_ms(name: str) -> int:
    """Return the milliseconds since 1970 that a UUID of version 7 carries; -1 for any other name."""
    parts = name.split("-")
    if list(map(len, parts)) != [8, 4, 4, 4, 12] or parts[2][0] != "7" or not set(name) <= _UUID_LETTERS:
        return -1
    return int(parts[0] + parts[1], 16)


_UUID_LETTERS = frozenset("0123456789abcdefABCDEF-")


_SPAWNED_BY = "subagent", "thread_spawn", "parent_thread_id"
"""Where a sub-agent names the session that started it, in ``source``."""


# What a call asks for.


def _function_command(payload: Payload) -> str | None:
    """Return the command of a function call, None when it is no command tool."""
    field = COMMAND_TOOLS.get(payload.name or "")
    if field is None:
        return None
    return _command_text(member(parsed(text_of(payload.arguments)), field))


COMMAND_TOOLS = {"shell": "command", "container.exec": "command", "shell_command": "command", "exec_command": "cmd"}
"""The tools that run a command, and the argument that holds it."""


def _custom_command(payload: Payload) -> str | None:
    program = text_of(payload.input) if payload.name == "exec" else ""
    return program if "exec_command" in program else None


def _command_text(command: Any) -> str:
    if isinstance(command, list):
        return " ".join(part for part in command if isinstance(part, str))
    return as_text(command)


_COMMANDS: dict[str | None, Callable[[Payload], str | None]] = {
    "function_call": _function_command,
    "local_shell_call": lambda payload: _command_text(member(value_of(payload.action), "command")),
    "custom_tool_call": _custom_command,
}


# How a call ended: True failed, False did not, None does not say.

HEADER = (
    "Chunk ID",
    "Command",
    "Exit code",
    "Original token count",
    "Process exited",
    "Process running",
    "Script ",
    "Session ID",
    "Total output lines",
    "Wall time",
)
"""How a header begins."""
HEADER_LIMIT = 4096
"""How many characters a header may have."""
_EXIT = ("Exit code: ", "Process exited with code ")


def _output_failed(payload: Payload) -> bool | None:
    """Read the verdict off a tool's output: in the header before ``Output:``, or in an object, and nowhere else."""
    output = payload.output
    if output is UNSET:
        return None
    begins = bytes(memoryview(output)[:2])
    if begins not in _BEGINNINGS and begins[:1] != b"[":
        return None
    found = value_of(output)
    text = "".join(_texts(found)) if isinstance(found, list) else found
    return _json_verdict(text) if text.startswith("{") else _header_verdict(text)


_BEGINNINGS = frozenset(b'"' + letter.encode() for letter in "CEOPSTW{\\")
"""How an output begins that may have a verdict: with a word of the header, with an object, or escaped."""


def _texts(items: Any) -> Iterable[str]:
    """Yield the first texts of a list of them, as many as a header may need."""
    length = 0
    for item in items:
        text = item.get("text") if isinstance(item, dict) else None
        if isinstance(text, str):
            yield text
            length += len(text)
            if length >= HEADER_LIMIT:
                return


def _json_verdict(text: str) -> bool | None:
    code = member(parsed(text), "metadata", "exit_code")
    return code != 0 if isinstance(code, int) and not isinstance(code, bool) else None


def _header_verdict(text: str) -> bool | None:
    if not text.startswith(HEADER):
        return None
    found: list[bool] = []
    for line in text[:HEADER_LIMIT].split("\n"):
        said = line.rstrip()
        if said == "Output:":
            return any(found) if found else None
        if said.startswith(_EXIT):
            code = said.rpartition(" ")[2]
            if said.removesuffix(code) in _EXIT and code.removeprefix("-").isdecimal():
                found.append(code.strip("-0") != "")
        elif said in ("Script completed", "Script failed"):
            found.append(said == "Script failed")
    return None


def _patch_failed(payload: Payload) -> bool | None:
    success = value_of(payload.success)
    return not success if isinstance(success, bool) else None


def _mcp_failed(payload: Payload) -> bool | None:
    result = value_of(payload.result)
    if not isinstance(result, dict) or result.keys().isdisjoint(("Err", "Ok")):
        return None
    ended = result.get("Ok")
    return "Err" in result or member(ended, "isError") is True or member(ended, "is_error") is True


_VERDICTS: dict[str | None, Callable[[Payload], bool | None]] = {
    "function_call_output": _output_failed,
    "custom_tool_call_output": _output_failed,
    "patch_apply_end": _patch_failed,
    "mcp_tool_call_end": _mcp_failed,
}


def settled(rows: Rows) -> Rows:
    """Work the turns out of the counts of a whole transcript, or of a part of which they are done again later.

    A field that an event leaves out has not changed; an event that only changes other counts is no turn.
    """
    worked_out: dict[int, list[tuple[int, ...]]] = {TURN: [], REPEAT: []}
    running = _FROM_ZERO
    for span, time, before, kind, *counts in zip(*rows.table(COUNT, 4 + len(FIELDS)), strict=True):
        start = running
        if kind == LAST:
            running = tuple(max(old, 0) + new if new >= 0 else old for new, old in zip(counts, start, strict=True))
        else:
            running = tuple(counts)
            if any(map(lt, running, start)):
                running = tuple(old if new < 0 else new for new, old in zip(counts, start, strict=True))
                if any(map(lt, running, start)):
                    start = _FROM_ZERO
        given, cached, output = running[0] - start[0], running[1] - start[1], running[3] - start[3]
        written = running[2] - max(start[2], 0) if counts[2] >= 0 else max(given - cached, 0)
        if given or cached or output or written:
            worked_out[TURN].append((span, time, before, output, given, cached, written))
        else:
            worked_out[REPEAT].append((span, time, before))
    for table, found in worked_out.items():
        rows.tables.pop(table, None)
        if found:
            rows.tables[table] = columns_of(found)
    return rows


_FROM_ZERO: _Counts = (0, 0, -1, 0, -1, -1)
"""The totals before the first event: those that not every version states are left out."""


def own_meta(spans: Sequence[LineSpan]) -> LineSpan:
    """Return how a session introduces itself: only the first time, since later ones are replayed."""
    return next((span for span in spans if span.opens == META), LineSpan())
