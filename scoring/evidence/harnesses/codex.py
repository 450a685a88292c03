"""Codex: where its rollouts are, and what a line of one says (``docs/EVIDENCE.md``); long, as a reader is one file."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import IntEnum
from operator import lt
from pathlib import Path
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType
from msgspec.structs import astuple, replace

from scoring.evidence.commands.objective_flags import command_flags
from scoring.evidence.commands.testruns import TestTools
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
    MODEL_LIMIT,
    NO_TIME,
    OTHER_TYPE,
    Copy,
    Harness,
    Home,
    Hook,
    JsonReader,
)
from scoring.evidence.harnesses.tool_calls import script_of
from scoring.evidence.transcripts.counter import (
    ELSEWHERE,
    NO_FOLDER,
    CountedHarness,
    EventsOfSession,
    InRepository,
    LineClock,
    TranscriptCounter,
    times_of_lines,
)
from scoring.evidence.transcripts.edits import lines_patched, paths_patched
from scoring.evidence.transcripts.events import (
    OBSERVED,
    Call,
    CallResult,
    Event,
    LineSpan,
    SpanOpening,
    TranscriptEvents,
    key_of,
)
from scoring.evidence.transcripts.facts import NS, timestamp_ns
from scoring.evidence.transcripts.observing import Observations
from scoring.evidence.transcripts.tally import Tally, TurnTokens


class CountKind(IntEnum):
    """What the numbers of a :class:`TokenCount` are."""

    TOTALS = 0
    """The totals of the session so far."""
    LAST = 1
    """The tokens since the count before, of an event that has no totals."""
    BASE = 2
    """The totals in the file from which this one goes on, before its first event."""


class TokenCount(Event, frozen=True):
    """A count of tokens as the transcript states it; -1 for what it leaves out.

    Attributes:
        kind: what the numbers are.
        input: tokens of input, with cached ones.
        cached_input: tokens of input that were read from the cache.
        cache_writes: tokens of input that were written to the cache.
        output: tokens of output, with those of reasoning.
        reasoning_output: tokens of reasoning.
        total: all tokens.
    """

    kind: CountKind
    input: int
    cached_input: int
    cache_writes: int
    output: int
    reasoning_output: int
    total: int

    @property
    def numbers(self) -> "tuple[int, ...]":
        """The numbers, in the order of the fields."""
        return (
            self.input,
            self.cached_input,
            self.cache_writes,
            self.output,
            self.reasoning_output,
            self.total,
        )


class CountedTurn(Event, frozen=True):
    """The tokens of one response, worked out of the counts. Without any, it repeats a count.

    Attributes:
        counts_before: how many counts of the transcript come before it.
        output: tokens of output, with those of reasoning.
        input: tokens of input, with cached ones.
        cache_reads: tokens of input that were read from the cache.
        cache_writes: tokens of input that were written to the cache.
    """

    counts_before: int
    output: int
    input: int
    cache_reads: int
    cache_writes: int

    @property
    def repeats(self) -> bool:
        """Whether it only repeats the count before it."""
        return not (self.output or self.input or self.cache_reads or self.cache_writes)


def settle(events: TranscriptEvents) -> TranscriptEvents:
    """Work the turns out of the counts of a transcript; a number that is left out is unchanged."""
    turns: list[CountedTurn] = []
    running = _FROM_ZERO
    for index, count in enumerate(events.of(TokenCount)):
        start = running
        if count.kind == CountKind.BASE:
            running = count.numbers
            continue
        if count.kind == CountKind.LAST:
            running = tuple(
                max(old, 0) + new if new >= 0 else old
                for new, old in zip(count.numbers, start, strict=True)
            )
        else:
            running = count.numbers
            if any(map(lt, running, start)):
                running = tuple(
                    old if new < 0 else new for new, old in zip(count.numbers, start, strict=True)
                )
                if any(map(lt, running, start)):
                    start = _FROM_ZERO

        given = running[0] - start[0]
        cached = running[1] - start[1]
        written = max(given - cached, 0)
        if count.cache_writes >= 0:
            written = running[2] - max(start[2], 0)
        turn = CountedTurn(
            count.span,
            count.line,
            counts_before=index,
            output=running[3] - start[3],
            input=given,
            cache_reads=cached,
            cache_writes=written,
        )
        turns.append(turn)

    events.put(CountedTurn, turns)
    return events


# The totals before the first event: those that not every version states are left out.
_FROM_ZERO: tuple[int, ...] = (0, 0, -1, 0, -1, -1)


def own_meta(spans: Sequence[LineSpan]) -> LineSpan:
    """Return how a session introduces itself: only the first time, since later ones are replayed."""
    return next((span for span in spans if span.opens == SpanOpening.SESSION), LineSpan())


def folders_of(spans: Sequence[LineSpan]) -> list[str]:
    """Return, for each span, the folder it was done in; "" is not said."""
    found: list[str] = []
    cwd, own = "", own_meta(spans)
    for span in spans:
        if span.cwd and (span.opens == SpanOpening.TURN or span is own):
            cwd = span.cwd
        found.append(cwd)
    return found


class _Boundary:
    """Where a replay ends: before the span of an index, and after a number of token counts.

    Args:
        events: the events of the transcript.
        span: the index of the first span that is not replayed.
        counts: how many token counts are replayed.
    """

    def __init__(self, events: TranscriptEvents, span: int = 0, counts: int = 0) -> None:
        self.span = span
        self.counts = counts
        self.last_count = events.of(TokenCount)[counts - 1] if counts else None

    def is_before(self, event: Event) -> bool:
        """Return whether an event comes after the replay."""
        if event.span < self.span:
            return False
        if isinstance(event, CountedTurn):
            return event.counts_before >= self.counts
        return self.last_count is None or event.line > self.last_count.line


def _boundary(events: TranscriptEvents, again: EventsOfSession) -> _Boundary:
    """Find out where the replay at the beginning of a forked session ends."""
    spans = events.spans
    own = own_meta(spans)
    for index, span in enumerate(spans):
        if span.opens == SpanOpening.OWN_LINES:
            return _Boundary(events, span=index)

    turns = [(n, span.born) for n, span in enumerate(spans) if span.opens == SpanOpening.TURN]
    if own.born >= 0:
        for index, born in turns:
            if born >= own.born:
                return _Boundary(events, span=index)
        if turns and all(born >= 0 for _, born in turns):
            return _Boundary(events, span=len(spans))

    counts = events.of(TokenCount)
    parents = again(own.parent)
    if parents:  # both begin with equal token counts
        return _Boundary(events, counts=max(_equal_counts(counts, one) for one in parents))

    times = _times_of(events)
    late = (n for n, count in enumerate(counts) if times[count.line] - own.time >= NS)
    return _Boundary(events, counts=next(late, len(counts)))


def _equal_counts(counts: Sequence[TokenCount], parent: TranscriptEvents) -> int:
    """Return with how many equal counts a transcript and its parent begin."""
    equal = 0
    for count, other in zip(counts, parent.of(TokenCount), strict=False):
        if (count.kind, count.numbers) != (other.kind, other.numbers):
            break
        equal += 1
    return equal


def _times_of(events: TranscriptEvents) -> dict[int, int]:
    """Return when each line was written, by its number."""
    return {line.number: line.time for line in events.lines}


def _live_lines(events: TranscriptEvents, boundary: _Boundary) -> list[list[int]]:
    """Return, for each span, the numbers of its lines after a boundary, ascending."""
    live = [
        sorted(numbers) if index >= boundary.span else []
        for index, numbers in enumerate(events.covers)
    ]
    last = boundary.last_count
    if last is not None:
        times = _times_of(events)
        for index in range(last.span):
            live[index] = []
        live[last.span] = [number for number in live[last.span] if times[number] > times[last.line]]
    return live


def without_replay(events: TranscriptEvents, again: EventsOfSession) -> TranscriptEvents:
    """Return what was observed without the replay of a forked session; it counts like one that was not forked."""
    own = own_meta(events.spans)
    if not own.parent or own.parent == own.session:
        return events

    boundary = _boundary(events, again)
    live = _live_lines(events, boundary)
    turns = [
        turn for turn in events.of(CountedTurn) if not turn.repeats and boundary.is_before(turn)
    ]
    numbers = {number for found in live for number in found} | {turn.line for turn in turns}

    kept = replace(
        events,
        covers=live,
        lists=dict(events.lists),
        lines=[line for line in events.lines if line.number in numbers],
    )
    kept.put(TokenCount, ())
    kept.put(CountedTurn, turns)
    for counted in (Call, CallResult):
        kept.put(counted, [event for event in events.of(counted) if boundary.is_before(event)])
    for kind in OBSERVED:
        kept.put(kind, [event for event in events.of(kind) if event.line in numbers])
    return kept


def joined_events(
    first: TranscriptEvents, second: TranscriptEvents, shift: int
) -> TranscriptEvents:
    """Return two parts of a transcript as one: totals run from the first into the second."""
    spans = len(first.spans)
    joined = TranscriptEvents(
        spans=[*first.spans, *second.spans],
        covers=[
            *first.covers,
            *([number + shift for number in numbers] for numbers in second.covers),
        ],
    )
    for kind in (TokenCount, Call, CallResult):
        behind = [
            replace(event, span=event.span + spans, line=event.line + shift)
            for event in second.of(kind)
        ]
        joined.put(kind, [*first.of(kind), *behind])
    return settle(joined)


class CodexCounter(TranscriptCounter):
    """Counts rollouts, those of forked sessions when their parents are known."""

    def __init__(
        self,
        harness: CountedHarness,
        tally: Tally,
        in_repository: InRepository,
        events_of: EventsOfSession,
    ) -> None:
        super().__init__(harness, tally, in_repository, events_of)
        self._parents: dict[str, str] = {}
        self._forks: list[tuple[int, TranscriptEvents, LineClock, list[bool]]] = []

    def add(self, file: int, events: TranscriptEvents, clock: LineClock, whole: bool) -> str:
        """See :class:`~scoring.evidence.transcripts.counter.TranscriptCounter`; a forked session has to wait."""
        own = own_meta(events.spans)
        forked = bool(own.parent) and own.parent != own.session
        if forked:
            self._parents[own.session] = own.parent
        here = [
            whole or (bool(cwd) and self._in_repository(cwd)) for cwd in folders_of(events.spans)
        ]
        if not any(here):
            return ELSEWHERE if any(span.cwd for span in events.spans) else NO_FOLDER
        if forked:
            self._forks.append((file, events, clock, here))
        else:
            self._count(file, events, clock, here, _Boundary(events))
        return ""

    def finish(self) -> None:
        """Count the forked sessions, now that their parents are known."""
        for file, events, clock, here in self._forks:
            self._count(file, events, clock, here, _boundary(events, self._events_of))
        self._forks = []
        super().finish()

    def _family(self, session: str) -> int:
        """Return the key of the session from which this one descends, as far as it is known."""
        seen = {session}
        while (parent := self._parents.get(session)) and parent not in seen:
            session = parent
            seen.add(session)
        return key_of(session)

    def _count(
        self,
        file: int,
        events: TranscriptEvents,
        clock: LineClock,
        here: list[bool],
        boundary: _Boundary,
    ) -> None:
        """Count what is behind a boundary; what is before it only sets the totals."""
        tally = self._tally
        session = own_meta(events.spans).session
        for counts, numbers in zip(here, _live_lines(events, boundary), strict=True):
            times = times_of_lines(numbers, clock) if counts else []
            if times:
                tally.cover(file, session, times)

        models: list[int] = []
        for span in events.spans:
            models.append(tally.model(span.model) if span.model or not models else models[-1])

        for turn in events.of(CountedTurn):
            time = clock.of_line(turn.line)
            if time is None or not here[turn.span]:
                continue
            if turn.repeats or not boundary.is_before(turn):
                tally.drop(time)  # a replay repeats what the parent has counted
            else:
                tokens = TurnTokens(turn.output, turn.input, turn.cache_reads, turn.cache_writes)
                tally.turn(time, tokens, models[turn.span])

        family = self._family(session)
        for call in events.of(Call):
            time = clock.of_line(call.line)
            if time is not None and here[call.span] and boundary.is_before(call):
                tally.note_call(time, _key_in(family, call.id), call.shows)
        for result in events.of(CallResult):
            time = clock.of_line(result.line)
            if time is not None and here[result.span] and boundary.is_before(result):
                tally.note_result(time, _key_in(family, result.id), result.failed)


def _key_in(family: int, key: int) -> int:
    """Return a key for a call that sessions of one family share, and no others."""
    return (hash((family, key)) or 1) if key else 0


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
    """The totals of a session, in the order of the fields of :class:`TokenCount`."""

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
            self._begin(LineSpan(opens=SpanOpening.OWN_LINES, agent=own_meta(self._spans).agent))

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

    def _note_call(self, number: int, call_id: str | None, shows: int) -> None:
        self._asked.add(call_id)
        key = key_of(call_id) if call_id else 0
        self.counted[Call].append(Call(len(self._spans) - 1, number, id=key, shows=shows))

    def _note_result(self, number: int, call_id: str | None, failed: bool) -> None:
        key = key_of(call_id) if call_id else 0
        result = CallResult(len(self._spans) - 1, number, id=key, failed=failed)
        self.counted[CallResult].append(result)

    def _note_count(self, number: int, kind: CountKind, numbers: Iterable[int]) -> None:
        count = TokenCount(len(self._spans) - 1, number, kind, *numbers)
        self.counted[TokenCount].append(count)

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
            self._note_count(number, CountKind.BASE, before)
        self._on_a_base = False
        kind = CountKind.LAST if totals is None else CountKind.TOTALS
        self._note_count(number, kind, astuple(usage))

    def _open(self, number: int, time: int, line: str, payload: _Payload) -> None:
        """Begin a span: what follows is of this session, or was done in this folder."""
        cwd, own, turn = _text_of(payload.cwd), _text_of(payload.id), _text_of(payload.turn_id)
        model = _text_of(payload.model)[:MODEL_LIMIT]
        agent = own_meta(self._spans).agent
        span = LineSpan(cwd, "", SpanOpening.TURN, "", _uuid7_ms(turn), time, "", model, agent)
        if line == "session_meta":
            source = _value_of(payload.source)
            self._by_agent |= len(self._spans) == 1 and member(source, "subagent") is not None
            starter = text_in(source, *_SPAWNED_BY)
            parent = _text_of(payload.forked_from_id) or starter
            remote = text_in(_value_of(payload.git), "repository_url")
            if self._seen.looks and len(self._spans) == 1:
                parent = self._goes_on_from(payload) or parent
            span = LineSpan(
                cwd,
                own,
                SpanOpening.SESSION,
                parent,
                _uuid7_ms(own),
                time,
                remote,
                model,
                bool(starter),
            )
        self._covers[-1].pop()  # this line belongs to what it opens
        self._begin(span, number)
        if span.cwd and (span.opens == SpanOpening.TURN or span is own_meta(self._spans)):
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
            self._note_call(number, call, command_flags(text) if runs else 0)
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
            self._note_call(number, call, command_flags(text) if field else 0)
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
            self._note_result(number, begun, failed)
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
            self._note_result(number, call, code != 0)
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
            self._note_result(number, call, failed)
            if failed and kind == "FileChange":
                self._seen.result(call, True, str)

    def events(self) -> TranscriptEvents:
        """Return the events that were read. Calls that the user refused are not among them."""
        spans = list(self._spans)
        covers = [list(numbers) for numbers in self._covers]
        if self._own_from is not None:  # nothing of its own came
            spans.append(LineSpan(opens=SpanOpening.OWN_LINES))
            covers.append([])

        refused = self._seen.refused_calls
        events = TranscriptEvents(spans=spans, covers=covers, skipped=dict(self.skipped))
        events.put(TokenCount, self.counted[TokenCount])
        for kind in (Call, CallResult):
            events.put(kind, [event for event in self.counted[kind] if event.id not in refused])
        return self._seen.fill(settle(events), self._opens)


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
    joined = staticmethod(joined_events)
