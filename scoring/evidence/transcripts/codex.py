"""Codex: where its rollouts are, what a line holds, and how its running totals become turns.

``docs/EVIDENCE.md``, "Lines of Codex", shows the format, and "Transcripts" what counts once. The module is long because
the format is: five kinds of calls and of verdicts, written differently by each version, and totals that only the
counting of forks makes sense of. They share the tables, so they are in one file.
"""

from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from operator import lt
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeAlias

import msgspec
from msgspec import UNSET, UnsetType
from msgspec.structs import astuple

from scoring.evidence.transcripts.facts import NS, timestamp_ns
from scoring.evidence.transcripts.harness import (
    COUNT_LIMIT,
    ELSEWHERE,
    NO_FOLDER,
    NO_TIME,
    OTHER_TYPE,
    Copy,
    Harness,
    Home,
    InRepository,
    JsonReader,
    ReadAgain,
    TranscriptCounter,
    command_flags,
    decoded,
    keys_of,
)
from scoring.evidence.transcripts.rows import Columns, LineSpan, Rows, columns_of, key_of
from scoring.evidence.transcripts.tally import Tally, chosen

if TYPE_CHECKING:  # reading that observes nothing needs no test tools
    from scoring.evidence.transcripts.testruns import TestTools

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

ARCHIVE = "archived_sessions"
"""The name of the folder for sessions that were put away."""

PREFIX = "rollout-"
"""How the names of rollouts begin."""

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


class Line(msgspec.Struct, gc=False):
    type: str | None = None
    timestamp: str | None = None
    payload: Payload | UnsetType | None = UNSET


_decode_info = msgspec.json.Decoder(_Info | None).decode
_anything = msgspec.json.Decoder()


class CodexReader(JsonReader):
    """See :class:`~scoring.evidence.transcripts.harness.JsonReader`."""

    decoder = msgspec.json.Decoder(Line)

    def __init__(self) -> None:
        super().__init__()
        self._spans: list[LineSpan] = [LineSpan()]
        self._covers: list[list[int]] = [[]]
        self._cover = self._covers[0].append
        self._counts: list[tuple[int, ...]] = []
        self._tables: dict[int, list[tuple[int, ...]]] = {COUNT: self._counts, CALL: [], VERDICT: []}

    def take(self, lines: Sequence[Line]) -> list[int]:
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

    def _observe(self, position: int, time: int, line: Line) -> int:
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
        span = LineSpan(cwd, "", CONTEXT, "", _uuid7_ms(turn), time)
        if line == "session_meta":
            parent = text_of(payload.forked_from_id) or as_text(member(value_of(payload.source), *_SPAWNED_BY))
            remote = as_text(member(value_of(payload.git), "repository_url")) if self.observes else ""
            span = LineSpan(cwd, own, META, parent, _uuid7_ms(own), time, remote)
        self._covers[-1].pop()  # this line belongs to what it opens
        self._covers.append([at])
        self._cover = self._covers[-1].append
        self._spans.append(span)

    def rows(self) -> Rows:
        """Return what was taken."""
        covers = [array("q", times) for times in self._covers]
        tables = {kind: columns_of(rows) for kind, rows in self._tables.items() if rows}
        return _settled(Rows(self._spans, covers, tables, self.skipped))


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


class _Boundary(NamedTuple):
    """Where a replay ends: before the span of a number, and behind so many token counts."""

    span: int = 0
    counts: int = 0


def _boundary(rows: Rows, again: ReadAgain) -> _Boundary:
    """Find out where the replay at the beginning of a forked session ends."""
    spans, own = rows.spans, own_meta(rows.spans)
    turns = [(n, span.born) for n, span in enumerate(spans) if span.opens == CONTEXT]
    if own.born >= 0:
        for n, born in turns:
            if born >= own.born:
                return _Boundary(span=n)
        if turns and all(born >= 0 for _, born in turns):
            return _Boundary(span=len(spans))
    mine = _token_counts(rows)
    if parents := again(own.parent):
        return _Boundary(counts=max(_common(mine, _token_counts(parent)) for parent in parents))
    clock = _clock(rows)
    late = (n for n, at in enumerate(rows.table(COUNT, 2)[1]) if clock(at) - own.time >= NS)
    return _Boundary(counts=next(late, len(mine)))


class CodexCounter(TranscriptCounter):
    """Counts rollouts, those of forked sessions when their parents are known."""

    def __init__(self, tally: Tally, in_repository: InRepository, again: ReadAgain) -> None:
        super().__init__(tally, in_repository, again)
        self._parents: dict[str, str] = {}
        self._forks: list[tuple[int, Rows, list[bool]]] = []

    def add(self, file: int, rows: Rows, whole: bool) -> str:
        """See :class:`~scoring.evidence.transcripts.harness.TranscriptCounter`; a forked session has to wait."""
        own = own_meta(rows.spans)
        forked = bool(own.parent) and own.parent != own.session
        if forked:
            self._parents[own.session] = own.parent
        here = [whole or (bool(cwd) and self._in_repository(cwd)) for cwd in _folders(rows.spans)]
        if not any(here):
            return ELSEWHERE if any(span.cwd for span in rows.spans) else NO_FOLDER
        if forked:
            self._forks.append((file, rows, here))
        else:
            self._count(file, rows, here, _Boundary())
        return ""

    def finish(self) -> None:
        """Count the forked sessions, now that their parents are known."""
        for file, rows, here in self._forks:
            self._count(file, rows, here, _boundary(rows, self._again))
        self._forks = []
        super().finish()

    def _family(self, session: str) -> int:
        """Return the key of the session from which this one descends, as far as it is known."""
        seen = {session}
        while (parent := self._parents.get(session)) and parent not in seen:
            session = parent
            seen.add(session)
        return key_of(session)

    def _count(self, file: int, rows: Rows, here: list[bool], boundary: _Boundary) -> None:
        """Count what is behind a boundary; what is before it only sets the totals."""
        tally, session = self._tally, own_meta(rows.spans).session
        for counts, times in zip(here, _live_times(rows, boundary), strict=True):
            if counts and times:
                tally.cover(file, session, times)
        family, everything = self._family(session), all(here) and boundary == _Boundary()
        for kind in rows.tables.keys() & {TURN, REPEAT, CALL, VERDICT}:
            spans, times, _, *columns = rows.tables[kind]
            table = [times, *columns]
            if not everything:
                live = _live_rows(rows.tables[kind], boundary)
                if kind in (TURN, REPEAT):  # a replay repeats what the parent has counted
                    replayed = [here[n] and not counts for n, counts in zip(spans, live, strict=True)]
                    tally.dropped(chosen(table[:1], replayed)[0])
                table = chosen(table, [here[n] and counts for n, counts in zip(spans, live, strict=True)])
            if kind == TURN:
                tally.turns(*table)
            elif kind == REPEAT:
                tally.dropped(table[0])
            else:
                table[1] = array("q", [key and (hash((family, key)) or 1) for key in table[1]])
                (tally.calls if kind == CALL else tally.verdicts)(table)


def _settled(rows: Rows) -> Rows:
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


def _folders(spans: Sequence[LineSpan]) -> list[str]:
    """Return, for each span, the folder it was done in; "" is not said."""
    found: list[str] = []
    cwd, own = "", own_meta(spans)
    for span in spans:
        if span.cwd and (span.opens == CONTEXT or span is own):
            cwd = span.cwd
        found.append(cwd)
    return found


def _token_counts(rows: Rows) -> list[_Counts]:
    return list(zip(*rows.table(COUNT, 4 + len(FIELDS))[3:], strict=True))


def _common(mine: Sequence[_Counts], others: Sequence[_Counts]) -> int:
    pairs = zip(mine, others, strict=False)
    return next((n for n, (one, other) in enumerate(pairs) if one != other), min(len(mine), len(others)))


def _clock(rows: Rows) -> Callable[[int], int]:
    """Return what gives the time of a row in nanoseconds: the row has it, or the number of the line that does."""
    return dict(zip(*rows.lines[:2], strict=True)).__getitem__ if rows.lines else int


def _live_rows(columns: Columns, boundary: _Boundary) -> list[bool]:
    """Say of each row of a table whether it is behind a boundary."""
    pairs = zip(columns[0], columns[2], strict=True)
    return [span >= boundary.span and before >= boundary.counts for span, before in pairs]


def _live_times(rows: Rows, boundary: _Boundary) -> list[list[int]]:
    """Return, for each span, the times of its lines behind a boundary, ascending; or their numbers."""
    first, after = boundary.span, None
    if boundary.counts:
        spans, times, *_ = rows.tables[COUNT]
        first, after = spans[boundary.counts - 1], times[boundary.counts - 1]
    live = [sorted(times) if n >= first else [] for n, times in enumerate(rows.covers)]
    if after is not None:
        clock = _clock(rows)
        behind = clock(after)
        live[first] = [at for at in live[first] if clock(at) > behind]
    return live


class Codex(Harness):
    """See :class:`~scoring.evidence.transcripts.harness.Harness`."""

    name = "codex"
    runs_on = True
    reader, counter = CodexReader, CodexCounter

    def homes(self, environment: Mapping[str, str]) -> list[Home]:
        """Return the folders of sessions and of archived ones."""
        named = environment.get("CODEX_HOME", "").strip()
        home, origin = Path(named or "~/.codex").expanduser(), "CODEX_HOME" if named else "~/.codex"
        return [Home(home / folder, origin, PREFIX) for folder in ("sessions", ARCHIVE)]

    def copy(self, path: Path) -> Copy | None:
        """Know a rollout by its name: it may be archived, compressed, or copied to a folder that is read too."""
        name = path.name.removesuffix(".zst").removesuffix(".jsonl")
        left_out = "an archived or second copy of a rollout that is read"
        return Copy(name, ARCHIVE in path.parts, left_out) if name.startswith(PREFIX) else None

    def claims(self, line: bytes) -> bool:
        """Know a line by its payload."""
        keys = keys_of(line)
        return "payload" in keys and "message" not in keys

    def observer(self, tools: "TestTools") -> JsonReader:
        """Return a reader that observes."""
        from scoring.evidence.transcripts.codex_observing import CodexObserver  # only what observes pays for it

        return CodexObserver(tools)

    def folders(self, spans: Sequence[LineSpan]) -> list[str]:
        """Return the folder of each span, which may be named by an earlier one."""
        return _folders(spans)

    def original(self, rows: Rows, again: ReadAgain) -> Rows:
        """Return what was observed without the replay of a forked session; it counts like one that was not forked."""
        own = own_meta(rows.spans)
        if not own.parent or own.parent == own.session:
            return rows
        boundary = _boundary(rows, again)
        live = _live_times(rows, boundary)
        numbers = {number for found in live for number in found}
        tables: dict[int, Columns] = {}
        for kind in (TURN, CALL, VERDICT):
            if kind in rows.tables:
                tables[kind] = chosen(rows.tables[kind], _live_rows(rows.tables[kind], boundary))
        numbers.update(tables[TURN][1] if TURN in tables else ())
        for kind in rows.tables.keys() - {COUNT, TURN, REPEAT, CALL, VERDICT}:
            tables[kind] = chosen(rows.tables[kind], [number in numbers for number in rows.tables[kind][1]])
        tables = {kind: columns for kind, columns in tables.items() if columns[0]}
        lines = chosen(rows.lines, [number in numbers for number in rows.lines[0]]) if rows.lines else []
        return replace(rows, covers=[array("q", found) for found in live], tables=tables, lines=lines)

    def joined(self, parts: Sequence[Rows]) -> Rows:
        """Put the parts of one transcript together: totals run from one into the next."""
        whole = Rows()
        for part in parts:
            counts = len(whole.table(COUNT, 1)[0])
            tables = {
                kind: [spans, times, array("q", [n + counts for n in before]), *columns]
                for kind, (spans, times, before, *columns) in part.tables.items()
            }
            whole.extend(Rows(part.spans, part.covers, tables, part.skipped))
        return _settled(whole)
