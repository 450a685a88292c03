"""Codex: where its rollouts are, and what a line of one says (``docs/EVIDENCE.md``); long, as a reader is one file."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import takewhile
from operator import lt
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec import UNSET, UnsetType
from msgspec.structs import astuple, replace

from scoring.evidence.commands.objective_flags import command_flags
from scoring.evidence.commands.testruns import TestTools
from scoring.evidence.harnesses.events import script_of
from scoring.evidence.harnesses.fields import (
    BROKEN,
    Count,
    RawField,
    decoded,
    items_in,
    keys_of,
    member,
    text_in,
)
from scoring.evidence.harnesses.harness import (
    ELSEWHERE,
    MODEL_LIMIT,
    NO_FOLDER,
    NO_TIME,
    OTHER_TYPE,
    Copy,
    Harness,
    Home,
    Hook,
    InRepository,
    JsonReader,
    ReadAgain,
    TranscriptCounter,
)
from scoring.evidence.transcripts.facts import NS, timestamp_ns
from scoring.evidence.transcripts.observing import Observations
from scoring.evidence.transcripts.rows import CALL, RUN, VERDICT, LineSpan, Rows, key_of
from scoring.evidence.transcripts.tally import Tally
from scoring.evidence.transcripts.written import lines_patched, paths_patched

# What opens a span: a ``session_meta``, a ``turn_context``, the first line that is said to be the session's own.
META, CONTEXT, OWN = 1, 2, 3

COUNT, TURN, REPEAT = 0, 3, 4
"""Tables beside those of calls and verdicts. Behind span and line each row has how many counts are before it, and then:

- count, as it is written: what it counts (:data:`TOTALS`, or :data:`LAST` where an event has no totals; :data:`BASE`,
  what the file that this one goes on from has counted), and the totals (input, cached input, input written to the
  cache, output, reasoning output, all), -1 for those left out;
- turn, worked out of the counts: output, input, cache reads, cache creations;
- repeat, worked out of the counts too: nothing more.
"""

TOTALS, LAST, BASE = range(3)


def settled(rows: Rows) -> Rows:
    """Work the turns out of the counts of a transcript; a field that an event leaves out has not changed."""
    worked_out: dict[int, list[tuple[int, ...]]] = {TURN: [], REPEAT: []}
    running = _FROM_ZERO
    for span, time, before, kind, *counts in rows.tables.get(COUNT, ()):
        start = running
        if kind == BASE:
            running = tuple(counts)
            continue
        if kind == LAST:
            running = tuple(
                max(old, 0) + new if new >= 0 else old
                for new, old in zip(counts, start, strict=True)
            )
        else:
            running = tuple(counts)
            if any(map(lt, running, start)):
                running = tuple(
                    old if new < 0 else new for new, old in zip(counts, start, strict=True)
                )
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
            rows.tables[table] = found
    return rows


# The totals before the first event: those that not every version states are left out.
_FROM_ZERO: tuple[int, ...] = (0, 0, -1, 0, -1, -1)


def own_meta(spans: Sequence[LineSpan]) -> LineSpan:
    """Return how a session introduces itself: only the first time, since later ones are replayed."""
    return next((span for span in spans if span.opens == META), LineSpan())


def folders_of(spans: Sequence[LineSpan]) -> list[str]:
    """Return, for each span, the folder it was done in; "" is not said."""
    found: list[str] = []
    cwd, own = "", own_meta(spans)
    for span in spans:
        if span.cwd and (span.opens == CONTEXT or span is own):
            cwd = span.cwd
        found.append(cwd)
    return found


class _Boundary(NamedTuple):
    """Where a replay ends: before the span of a number, and behind so many token counts."""

    span: int = 0
    counts: int = 0

    def is_before(self, row: Sequence[int]) -> bool:
        return row[0] >= self.span and row[2] >= self.counts


def _boundary(rows: Rows, again: ReadAgain) -> _Boundary:
    """Find out where the replay at the beginning of a forked session ends."""
    spans, own = rows.spans, own_meta(rows.spans)
    if (first := next((n for n, span in enumerate(spans) if span.opens == OWN), None)) is not None:
        return _Boundary(span=first)
    turns = [(n, span.born) for n, span in enumerate(spans) if span.opens == CONTEXT]
    if own.born >= 0:
        for n, born in turns:
            if born >= own.born:
                return _Boundary(span=n)
        if turns and all(born >= 0 for _, born in turns):
            return _Boundary(span=len(spans))
    clock, counts = _clock(rows), rows.tables.get(COUNT, ())
    if parents := again(own.parent):  # both begin with equal token counts
        pairs = (zip(counts, parent.tables.get(COUNT, ()), strict=False) for parent in parents)
        equal = (takewhile(lambda pair: pair[0][3:] == pair[1][3:], one) for one in pairs)
        return _Boundary(counts=max(sum(1 for _ in one) for one in equal))
    late = (n for n, row in enumerate(counts) if clock(row[1]) - own.time >= NS)
    return _Boundary(counts=next(late, len(counts)))


def _clock(rows: Rows) -> Callable[[int], int]:
    """Return what gives the time of a row in nanoseconds: the row has it, or the number of the line that does."""
    return {number: time for number, time, _ in rows.lines}.__getitem__ if rows.lines else int


def _live_times(rows: Rows, boundary: _Boundary) -> list[list[int]]:
    """Return, for each span, the times of its lines behind a boundary, ascending; or their numbers."""
    first, after = boundary.span, None
    if boundary.counts:
        first, after, *_ = rows.tables[COUNT][boundary.counts - 1]
    live = [sorted(times) if n >= first else [] for n, times in enumerate(rows.covers)]
    if after is not None:
        clock = _clock(rows)
        behind = clock(after)
        live[first] = [at for at in live[first] if clock(at) > behind]
    return live


def without_replay(rows: Rows, again: ReadAgain) -> Rows:
    """Return what was observed without the replay of a forked session; it counts like one that was not forked."""
    own = own_meta(rows.spans)
    if not own.parent or own.parent == own.session:
        return rows
    boundary = _boundary(rows, again)
    live = _live_times(rows, boundary)
    tables = {
        kind: list(filter(boundary.is_before, rows.tables.get(kind, ())))
        for kind in (TURN, CALL, VERDICT)
    }
    numbers = {number for found in live for number in found} | {row[1] for row in tables[TURN]}
    for kind in rows.tables.keys() - {COUNT, REPEAT, *tables}:
        tables[kind] = [row for row in rows.tables[kind] if row[1] in numbers]
    tables = {kind: found for kind, found in tables.items() if found}
    return replace(
        rows, covers=live, tables=tables, lines=[line for line in rows.lines if line[0] in numbers]
    )


def joined_rows(first: Rows, second: Rows, shift: int) -> Rows:
    """Return two parts of a transcript as one: totals run from the first into the second."""
    spans, counts = len(first.spans), len(first.tables.get(COUNT, ()))
    tables = {kind: list(found) for kind, found in first.tables.items()}
    for kind, rows in second.tables.items():
        if kind < RUN:
            behind = (
                (span + spans, at + shift, before + counts, *rest)
                for span, at, before, *rest in rows
            )
            tables.setdefault(kind, []).extend(behind)
    covers = ([number + shift for number in numbers] for numbers in second.covers)
    return settled(Rows([*first.spans, *second.spans], [*first.covers, *covers], tables))


class CodexCounter(TranscriptCounter):
    """Counts rollouts, those of forked sessions when their parents are known."""

    def __init__(
        self, harness: Harness, tally: Tally, in_repository: InRepository, again: ReadAgain
    ) -> None:
        super().__init__(harness, tally, in_repository, again)
        self._parents: dict[str, str] = {}
        self._forks: list[tuple[int, Rows, list[bool]]] = []

    def add(self, file: int, rows: Rows, whole: bool) -> str:
        """See :class:`~scoring.evidence.harnesses.harness.TranscriptCounter`; a forked session has to wait."""
        own = own_meta(rows.spans)
        forked = bool(own.parent) and own.parent != own.session
        if forked:
            self._parents[own.session] = own.parent
        here = [whole or (bool(cwd) and self._in_repository(cwd)) for cwd in folders_of(rows.spans)]
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
        family, models = self._family(session), list[int]()
        for span in rows.spans:
            models.append(tally.model(span.model) if span.model or not models else models[-1])
        for kind in (TURN, REPEAT, CALL, VERDICT):
            for row in rows.tables.get(kind, ()):
                n, time, _, *rest = row
                live = boundary.is_before(row)
                if not here[n]:
                    continue
                if kind == REPEAT or (
                    kind == TURN and not live
                ):  # a replay repeats what the parent has counted
                    tally.drop(time)
                elif kind == TURN:
                    tally.turn(time, *[*rest, 0, models[n]])
                elif live:
                    key, value = rest
                    found = tally.calls if kind == CALL else tally.verdicts
                    found.append((time, key and (hash((family, key)) or 1), value))


ARCHIVE = "archived_sessions"  # the name of the folder for sessions that were put away
PREFIX = "rollout-"  # how the names of rollouts begin
REFUSALS = (
    b'"exec command rejected by user"',
    b'"patch rejected by user"',
)  # outputs of calls that the user refused

_COMMAND_IN_PROGRAM = re.compile(  # a command that a program of ``exec`` runs
    r"""\bcmd["']?\s*:\s*(?:"((?:[^"\\\n]|\\.)*+)"|'((?:[^'\\\n]|\\.)*+)'|`((?:[^`\\]|\\.)*+)`)""",
    re.DOTALL,
)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_RUNNING = re.compile(r"Process running with session ID (\d+)")


class _Usage(msgspec.Struct, gc=False):
    """The totals of a session, in the order of the columns of :data:`COUNT`."""

    input_tokens: Count = -1
    cached_input_tokens: Count = -1
    cache_write_input_tokens: Count = -1
    output_tokens: Count = -1
    reasoning_output_tokens: Count = -1
    total_tokens: Count = -1


class _Info(msgspec.Struct, gc=False):
    total_token_usage: _Usage | None = None
    last_token_usage: _Usage | None = None


class _Payload(msgspec.Struct, gc=False):
    """A payload of any kind: fields that one kind has as something else than another one are decoded when needed."""

    type: str | None = None
    call_id: str | None = None
    name: str | None = None
    message: RawField = UNSET
    exit_code: RawField = UNSET
    aggregated_output: RawField = UNSET
    info: RawField = UNSET
    arguments: RawField = UNSET
    input: RawField = UNSET
    output: RawField = UNSET
    action: RawField = UNSET
    success: RawField = UNSET
    result: RawField = UNSET
    id: RawField = UNSET
    forked_from_id: RawField = UNSET
    history_mode: RawField = UNSET
    history_base: RawField = UNSET
    subagent_history_start_ordinal: RawField = UNSET
    item: RawField = UNSET
    source: RawField = UNSET
    cwd: RawField = UNSET
    turn_id: RawField = UNSET
    reason: RawField = UNSET
    git: RawField = UNSET
    model: RawField = UNSET
    role: RawField = UNSET
    content: RawField = UNSET


class _Line(msgspec.Struct, gc=False):
    type: str | None = None
    timestamp: str | None = None
    ordinal: RawField = UNSET
    payload: _Payload | UnsetType | None = UNSET


_decode_info = msgspec.json.Decoder(_Info | None).decode
_anything = msgspec.json.Decoder()


class CodexReader(JsonReader):
    """See :class:`~scoring.evidence.harnesses.harness.JsonReader`."""

    decoder, goes_on = msgspec.json.Decoder(_Line), True

    def __init__(self, tools: TestTools | None) -> None:
        super().__init__()
        self._seen = Observations(tools)
        self._spans: list[LineSpan] = [LineSpan()]
        self._covers: list[list[int]] = [[]]
        self._cover = self._covers[0].append
        self._counts = self.tables[COUNT]
        self._opens = self._by_agent = self._says_prompts = self._on_a_base = False
        self._own_from: int | None = (
            None  # the ordinal of the first line of its own, until it comes
        )
        self._asked: set[str | None] = set()
        self._folder = ""
        self._running: dict[
            str, str
        ] = {}  # by the id of a process that still runs, the call that started it
        self._goes_on: dict[
            str, str
        ] = {}  # by a call that asks for more of its output, the call that started it
        self._programs: set[str | None] = (
            set()
        )  # calls that complete whatever the commands in them did

    def take(self, lines: Sequence[_Line]) -> list[int]:
        """Take some lines; those without a ``payload`` are another harness's."""
        foreign: list[int] = []
        for position, line in enumerate(lines):
            payload = line.payload
            if payload is UNSET:
                foreign.append(position)
                continue
            time = timestamp_ns(line.timestamp)
            if time is None:
                self.skipped[NO_TIME] += 1
                continue
            number = self.number + position
            if self._own_from is not None and line.type != "session_meta":
                self._begin_own(number, line)
            self._note_line(number, time, position, line)
            if payload is None:
                continue
            try:
                kind = payload.type
                if kind == "token_count":
                    if payload.info is not UNSET:
                        self._count(number, _decode_info(payload.info))
                elif kind in _VERDICTS:
                    self._end(number, payload, _VERDICTS[kind](payload))
                elif kind == "exec_command_end":
                    code = _value_of(payload.exit_code)
                    self._process_ended(number, payload.call_id, code, payload.aggregated_output)
                elif kind == "item_completed" and self._seen.looks:
                    self._item_completed(number, _value_of(payload.item))
                elif kind == "custom_tool_call":
                    self._custom_call(number, payload)
                elif kind in ("function_call", "local_shell_call"):
                    self._call(number, payload)
                elif line.type == "session_meta" or line.type == "turn_context":
                    self._open(number, time, line.type, payload)
                elif kind == "message" and self._seen.looks:
                    self._say(payload)
                elif kind == "user_message" and not self._by_agent:
                    self._says_prompts = True
                    self._seen.prompt(_text_of(payload.message))
                elif kind == "reasoning":
                    self._seen.responds(None)
                elif kind == "turn_aborted" and _text_of(payload.reason) == "interrupted":
                    self._seen.interrupted()
            except (*BROKEN, TypeError):
                self.skipped[OTHER_TYPE] += 1
        return foreign

    def _begin_own(self, number: int, line: _Line) -> None:
        """Begin a span at the first line that is the session's own, where its number is stated."""
        ordinal, first = _value_of(line.ordinal), self._own_from
        if first is not None and (ordinal if type(ordinal) is int else number) >= first:
            self._own_from = None
            self._begin(LineSpan(opens=OWN, agent=own_meta(self._spans).agent))

    def _begin(self, span: LineSpan, *numbers: int) -> None:
        self._covers.append(list(numbers))
        self._cover = self._covers[-1].append
        self._spans.append(span)

    def _note_line(self, number: int, time: int, position: int, line: _Line) -> None:
        seen = self._seen
        self._cover(number)
        seen.line(
            len(self._spans) - 1,
            number,
            time,
            seen.line_key(self.written[position]) if seen.looks else 0,
        )
        if line.type == "compacted":
            seen.compacted()
        if number == 0:
            self._opens = line.type == "session_meta"

    def _say(self, payload: _Payload) -> None:
        role = b"" if payload.role is UNSET else bytes(payload.role)
        if role == b'"assistant"':
            self._seen.said(text_in(_value_of(payload.content)))
        elif role == b'"user"':
            self._seen.asked()

    def _row(self, kind: int, number: int, call_id: str | None, value: int) -> None:
        if kind == CALL:
            self._asked.add(call_id)
        key = key_of(call_id) if call_id else 0
        self.tables[kind].append((len(self._spans) - 1, number, len(self._counts), key, int(value)))

    def _count(self, number: int, info: _Info | None) -> None:
        totals, last = (
            (None, None) if info is None else (info.total_token_usage, info.last_token_usage)
        )
        usage = last if totals is None else totals
        if usage is None:  # an event about rate limits alone
            return
        if self._on_a_base and totals is not None and last is not None:
            before = (
                max(new - max(old, 0), -1)
                for new, old in zip(astuple(totals), astuple(last), strict=True)
            )
            self._counts.append((len(self._spans) - 1, number, len(self._counts), BASE, *before))
        self._on_a_base = False
        kind = LAST if totals is None else TOTALS
        self._counts.append(
            (len(self._spans) - 1, number, len(self._counts), kind, *astuple(usage))
        )

    def _open(self, number: int, time: int, line: str, payload: _Payload) -> None:
        """Begin a span: what follows is of this session, or was done in this folder."""
        cwd, own, turn = _text_of(payload.cwd), _text_of(payload.id), _text_of(payload.turn_id)
        model = _text_of(payload.model)[:MODEL_LIMIT]
        agent = own_meta(self._spans).agent
        span = LineSpan(cwd, "", CONTEXT, "", _uuid7_ms(turn), time, "", model, agent)
        if line == "session_meta":
            source = _value_of(payload.source)
            self._by_agent |= len(self._spans) == 1 and member(source, "subagent") is not None
            starter = text_in(source, *_SPAWNED_BY)
            parent = _text_of(payload.forked_from_id) or starter
            remote = text_in(_value_of(payload.git), "repository_url")
            if self._seen.looks and len(self._spans) == 1:
                parent = self._goes_on_from(payload) or parent
            span = LineSpan(
                cwd, own, META, parent, _uuid7_ms(own), time, remote, model, bool(starter)
            )
        self._covers[-1].pop()  # this line belongs to what it opens
        self._begin(span, number)
        if span.cwd and (span.opens == CONTEXT or span is own_meta(self._spans)):
            self._folder = span.cwd

    def _goes_on_from(self, payload: _Payload) -> str:
        """Note where a session begins that goes on from lines in another file, and return the session they are of."""
        base, first = (
            _value_of(payload.history_base),
            _value_of(payload.subagent_history_start_ordinal),
        )
        self._on_a_base = isinstance(base, dict)
        self._own_from = first if type(first) is int else 0 if self._on_a_base else None
        return "" if _text_of(payload.forked_from_id) else text_in(base, "thread_id")

    def _custom_call(self, number: int, payload: _Payload) -> None:
        """Note a call of a tool that is given a text: a patch, or a program."""
        call, seen, text = payload.call_id, self._seen, _text_of(payload.input)
        runs = payload.name == "exec" and "exec_command" in text
        if seen.looks or runs:
            self._row(CALL, number, call, command_flags(text) if runs else 0)
        if not seen.looks:
            return
        if payload.name == "apply_patch":
            seen.edit(call, paths_patched(text), self._folder, lines_patched(text))
        elif payload.name == "exec":
            escapes = {"n": "\n", "t": "\t"}
            several = map("".join, _COMMAND_IN_PROGRAM.findall(text))
            commands = "\n".join(
                _ESCAPED.sub(lambda m: escapes.get(m[1], m[1]), one) for one in several
            )
            patched = paths_patched(text)
            patch = text if "\n*** " in text else text.replace("\\n", "\n")
            seen.command(
                call, commands, self._folder, patched, lines_patched(patch) if patched else {}
            )
            self._programs.add(call)
        else:
            seen.call(call)

    def _call(self, number: int, payload: _Payload) -> None:
        call, seen, local = payload.call_id, self._seen, payload.type == "local_shell_call"
        field = _COMMAND_TOOLS.get(payload.name or "", "command" if local else "")
        if not field and not seen.looks:
            return
        given = _value_of(payload.action) if local else _parsed(_text_of(payload.arguments))
        asked = member(given, "command" if local else field)
        words = asked if isinstance(asked, list) else [asked]
        text = " ".join(word for word in words if isinstance(word, str))
        if payload.name != "write_stdin":  # it goes on with a call
            self._row(CALL, number, call, command_flags(text) if field else 0)
        if not seen.looks:
            return
        if payload.name == "apply_patch":
            text = text_in(given, "input")
            seen.edit(call, paths_patched(text), self._folder, lines_patched(text))
        elif not field:
            seen.call(call, agent=payload.name == "spawn_agent")
            begun = self._running.get(str(member(given, "session_id")))
            if payload.name == "write_stdin" and call and begun:
                self._goes_on[call] = begun
        else:
            folder = text_in(given, "workdir") or text_in(given, "working_directory")
            script = script_of(member(given, field))
            patched = paths_patched(script) if "apply_patch" in script else ()
            seen.command(
                call,
                script,
                folder or self._folder,
                patched,
                lines_patched(script) if patched else {},
            )

    def _end(self, number: int, payload: _Payload, failed: bool | None) -> None:
        call, seen = payload.call_id, self._seen
        begun = self._goes_on.get(call or "", call)
        if seen.looks and failed is None and _text_of(payload.output).startswith(_NOT_RUN):
            failed = True
        if seen.looks and payload.output is not UNSET and bytes(payload.output) in REFUSALS:
            seen.refused(call)
            return
        if failed is not None:
            self._row(VERDICT, number, begun, failed)
        if not seen.looks:
            return
        if payload.type == "mcp_tool_call_end" or (
            payload.type == "patch_apply_end" and not failed
        ):
            return  # its output follows
        if begun != call:
            seen.result(call, failed, str)
        if failed is None and (running := _RUNNING.search(_parts(payload)[0])):
            self._running[running[1]] = begun or ""
            seen.printed(begun, _parts(payload)[1])
        else:
            seen.result(
                begun, None if begun in self._programs else failed, lambda: _parts(payload)[1]
            )

    def _process_ended(
        self, number: int, call: str | None, code: object, printed: RawField | str
    ) -> None:
        """Note how a command ended that still ran when its output was given; a commit counts where it is answered."""
        if call in self._running.values() and type(code) is int:
            self._row(VERDICT, number, call, code != 0)
            if not self._seen.commits(call):
                self._seen.result(
                    call,
                    code != 0,
                    lambda: printed if isinstance(printed, str) else _text_of(printed),
                )

    def _item_completed(self, number: int, item: Any) -> None:
        """Note what only an item of a paginated thread says; the call that it is about has lines of its own."""
        kind, call, status = (text_in(item, name) for name in ("type", "id", "status"))
        if kind == "UserMessage" and not self._by_agent and not self._says_prompts:
            self._seen.prompt("".join(text_in(part, "text") for part in items_in(item, "content")))
        elif kind == "CommandExecution":
            self._process_ended(
                number, call, member(item, "exit_code"), text_in(item, "aggregated_output")
            )
        elif (
            kind in ("FileChange", "McpToolCall")
            and call in self._asked
            and status in ("completed", "failed")
        ):
            failed = status == "failed"
            self._row(VERDICT, number, call, failed)
            if failed and kind == "FileChange":
                self._seen.result(call, True, str)

    def rows(self) -> Rows:
        """Return what was taken."""
        refused = self._seen.refused_calls
        tables = {kind: list(rows) for kind, rows in self.tables.items() if rows}
        for kind in {CALL, VERDICT} & tables.keys() if refused else ():
            tables[kind] = [row for row in tables[kind] if row[3] not in refused]
        spans, covers = list(self._spans), list(map(list, self._covers))
        if self._own_from is not None:  # nothing of its own came
            spans.append(LineSpan(opens=OWN))
            covers.append([])
        rows = settled(
            Rows(
                spans,
                covers,
                {kind: rows for kind, rows in tables.items() if rows},
                dict(self.skipped),
            )
        )
        return self._seen.fill(rows, self._opens)


def _value_of(raw: RawField) -> Any:
    return None if raw is UNSET else decoded(_anything, raw)


def _text_of(raw: RawField) -> str:
    return found if isinstance(found := _value_of(raw), str) else ""


def _parsed(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except BROKEN:
        return None


_UUID7 = re.compile(
    r"([0-9a-fA-F]{8})-([0-9a-fA-F]{4})-7[0-9a-fA-F]{3}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"
)


def _uuid7_ms(name: str) -> int:
    """Return the milliseconds since 1970 that a UUID of version 7 carries; -1 for any other name."""
    found = _UUID7.fullmatch(name)
    return int(found[1] + found[2], 16) if found else -1


_SPAWNED_BY = (
    "subagent",
    "thread_spawn",
    "parent_thread_id",
)  # where ``source`` names the session that started it
# The tools that run a command, and the argument that holds it.
_COMMAND_TOOLS = {
    "shell": "command",
    "container.exec": "command",
    "shell_command": "command",
    "exec_command": "cmd",
}


# How a call ended: True failed, False did not, None does not say.

# How the answer to a call begins that came to nothing.
_NOT_RUN = (
    *(
        "apply_patch verification failed",
        "exec_command failed for ",
        "failed to parse function arguments",
    ),
    *("resources/list failed: ", "resources/read failed: ", "collab spawn failed: "),
)

_HEADER = (
    *(
        "Chunk ID",
        "Command",
        "Exit code",
        "Original token count",
        "Process exited",
        "Process running",
    ),
    *("Script ", "Session ID", "Total output lines", "Wall time"),
)
_HEADER_LIMIT = 4096  # characters
_EXIT = ("Exit code: ", "Process exited with code ")


def _output_failed(payload: _Payload) -> bool | None:
    """Read the verdict off a tool's output: in the header before ``Output:``, or in an object, and nowhere else."""
    output = payload.output
    if output is UNSET:
        return None
    begins = bytes(memoryview(output)[:2])
    if begins not in _BEGINNINGS and begins[:1] != b"[":
        return None
    found = _value_of(output)
    text = "".join(_texts(found)) if isinstance(found, list) else found
    if not text.startswith("{"):
        return _header_verdict(text)
    code = member(_parsed(text), "metadata", "exit_code")
    return code != 0 if type(code) is int else None


# How an output begins that may have a verdict: with a word of the header, with an object, or escaped.
_BEGINNINGS = frozenset(b'"' + letter.encode() for letter in "CEOPSTW{\\")


def _texts(items: Any) -> Iterable[str]:
    """Yield the first texts of a list of them, as many as a header may need."""
    length = 0
    for item in items:
        text = item.get("text") if isinstance(item, dict) else None
        if isinstance(text, str):
            yield text
            length += len(text)
            if length >= _HEADER_LIMIT:
                return


def _header_verdict(text: str) -> bool | None:
    if not text.startswith(_HEADER):
        return None
    found: list[bool] = []
    for line in text[:_HEADER_LIMIT].split("\n"):
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


def _patch_failed(payload: _Payload) -> bool | None:
    success = _value_of(payload.success)
    return not success if isinstance(success, bool) else None


def _mcp_failed(payload: _Payload) -> bool | None:
    result = _value_of(payload.result)
    if not isinstance(result, dict) or result.keys().isdisjoint(("Err", "Ok")):
        return None
    ended = result.get("Ok")
    return "Err" in result or member(ended, "isError") is True or member(ended, "is_error") is True


_VERDICTS: dict[str | None, Callable[[_Payload], bool | None]] = {
    "function_call_output": _output_failed,
    "custom_tool_call_output": _output_failed,
    "patch_apply_end": _patch_failed,
    "mcp_tool_call_end": _mcp_failed,
}


def _parts(payload: _Payload) -> tuple[str, str]:
    """Return the header of an output, "" where it has none, and what a program printed."""
    text = text_in(_value_of(payload.output))
    if text.startswith("{") and isinstance(printed := member(_parsed(text), "output"), str):
        return "", printed
    if text.startswith(_HEADER):
        header, behind, printed = f"\n{text[:_HEADER_LIMIT]}".partition("\nOutput:\n")
        if behind:
            return header, printed + text[_HEADER_LIMIT:]
    return "", text


class Codex(Harness):
    """See :class:`~scoring.evidence.harnesses.harness.Harness`."""

    name = "codex"
    hook = Hook(".codex/hooks.json", "CODEX_HOME", "hooks.json", quiet=False)
    reader, counter = CodexReader, CodexCounter
    input_holds_cached = True

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

    folders = staticmethod(folders_of)
    original = staticmethod(without_replay)
    joined = staticmethod(joined_rows)
