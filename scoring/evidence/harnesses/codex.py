"""Codex: where its rollouts are, and what a line of one says.

``docs/EVIDENCE.md``, "What each harness writes", has the form of a line.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import UNSET
from msgspec.structs import astuple

from scoring.evidence.commands.objective_flags import command_flags
from scoring.evidence.commands.testruns import TestTools
from scoring.evidence.harnesses.codex_counts import TokenCount, TokenNumbers, settle
from scoring.evidence.harnesses.codex_lines import (
    CodexInfo,
    CodexLine,
    CodexPayload,
    CodexUsage,
    field_text,
    field_value,
    parsed,
)
from scoring.evidence.harnesses.codex_programs import (
    commands_in,
    process_continued,
    program_output,
    runs_commands,
)
from scoring.evidence.harnesses.codex_results import (
    OF_PROGRAM,
    RESULTS,
    output_of,
    was_not_run,
    was_refused,
)
from scoring.evidence.harnesses.codex_sessions import (
    count_rollout,
    folders_of,
    introduction_of,
    joined_events,
    without_replay,
)
from scoring.evidence.harnesses.fields import BROKEN, RawField, items_in, keys_of, member, text_in
from scoring.evidence.harnesses.harness import MODEL_LIMIT, Copy, Harness, Home, Hook
from scoring.evidence.harnesses.json_reader import NO_TIME, OTHER_TYPE, JsonReader
from scoring.evidence.harnesses.tool_calls import script_of
from scoring.evidence.transcripts.counter import EventsOfSession
from scoring.evidence.transcripts.edits import lines_patched, paths_patched
from scoring.evidence.transcripts.events import (
    Call,
    CallResult,
    LineSpan,
    SpanOpening,
    TranscriptEvents,
    key_of,
)
from scoring.evidence.transcripts.facts import special_service, timestamp_ns
from scoring.evidence.transcripts.observing import Observations
from scoring.evidence.transcripts.path_texts import AddedLines
from scoring.files import expanded

ARCHIVE = "archived_sessions"
"""The name of the folder for sessions that were put away."""

PREFIX = "rollout-"
"""How the names of rollouts begin."""

_COMMAND_ARGUMENTS = {
    "shell": "command",
    "container.exec": "command",
    "shell_command": "command",
    "exec_command": "cmd",
}
"""The tools that run a command, and the argument that holds it."""

_STARTER_IN_SOURCE = ("subagent", "thread_spawn", "parent_thread_id")
"""Where the source of a session names the session that started it."""

_STILL_RUNS = re.compile(r"(Process|Script) running with (?:session|cell) ID (\S+)")
_UUID7 = re.compile(
    r"([0-9a-fA-F]{8})-([0-9a-fA-F]{4})-7[0-9a-fA-F]{3}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"
)

_decode_info = msgspec.json.Decoder(CodexInfo | None).decode


class CodexReader(JsonReader):
    """See :class:`~scoring.evidence.harnesses.json_reader.JsonReader`."""

    decoder = msgspec.json.Decoder(CodexLine)
    goes_on = True

    def __init__(self, tools: TestTools | None) -> None:
        super().__init__()
        self._seen = Observations(tools)
        self._spans: list[LineSpan] = [LineSpan()]
        self._covers: list[list[int]] = [[]]
        self._folder = ""
        self._service = ""

        self._opens = False
        self._is_started_by_agent = False
        self._has_prompt_events = False
        self._goes_on_from_file = False
        self._own_from: int | None = None  # the ordinal of its first own line, until that comes

        self._called: set[str | None] = set()
        self._running: dict[str, str] = {}  # by a process or a program, the call that started it
        self._printed: dict[str, str] = {}  # by such a call, what it has printed so far
        self._continued: dict[str, str] = {}  # by a call for more output, the call it is about
        self._programs: dict[str | None, int] = {}  # calls of programs: how many commands they run

    def take(self, lines: Sequence[CodexLine]) -> list[int]:
        """Take some lines.

        Lines without a ``payload`` are those of another harness.
        """
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

            self._note_line(position, time, line)
            if payload is None:
                continue
            try:
                self._take_payload(self.number + position, time, line, payload)
            except (*BROKEN, TypeError):
                self.skipped[OTHER_TYPE] += 1
        return foreign

    def _note_line(self, position: int, time: int, line: CodexLine) -> None:
        """Note a line.

        Args:
            position: that among the lines that are taken.
            time: when it was written, in nanoseconds since 1970.
            line: the line.
        """
        number = self.number + position
        if self._own_from is not None and line.type != "session_meta":
            self._begin_own_lines(number, line, self._own_from)

        self._covers[-1].append(number)
        key = self._seen.line_key(self.written[position])
        self._seen.line(len(self._spans) - 1, number, time, key)
        if line.type == "compacted":
            self._seen.compacted()
        if number == 0:
            self._opens = line.type == "session_meta"

    def _begin_own_lines(self, number: int, line: CodexLine, own_from: int) -> None:
        """Begin a span at the first line that is the session's own."""
        ordinal = field_value(line.ordinal)
        if (ordinal if type(ordinal) is int else number) >= own_from:
            self._own_from = None
            is_agent = introduction_of(self._spans).agent
            self._begin_span(LineSpan(opens=SpanOpening.OWN_LINES, agent=is_agent))

    def _begin_span(self, span: LineSpan, *numbers: int) -> None:
        self._covers.append(list(numbers))
        self._spans.append(span)

    def _take_payload(self, number: int, time: int, line: CodexLine, payload: CodexPayload) -> None:
        """Take what a line holds, by its kind."""
        kind = payload.type
        if kind == "token_count":
            if payload.info is not UNSET:
                self._take_token_count(number, _decode_info(payload.info))
        elif kind in RESULTS:
            self._take_result(number, payload, RESULTS[kind](payload))
        elif kind == "exec_command_end":
            exit_code = field_value(payload.exit_code)
            self._end_process(number, payload.call_id, exit_code, payload.aggregated_output)
        elif kind == "item_completed":
            self._take_item(number, field_value(payload.item))
        elif kind == "custom_tool_call":
            self._take_custom_call(number, payload)
        elif kind in ("function_call", "local_shell_call"):
            self._take_call(number, payload)
        elif line.type in ("session_meta", "turn_context"):
            self._take_service(field_value(payload.service_tier))
            self._take_context(number, time, line, payload)
        elif kind == "thread_settings_applied":
            self._take_service(member(field_value(payload.thread_settings), "service_tier"))
        elif kind == "message":
            self._take_message(payload)
        elif kind == "user_message" and not self._is_started_by_agent:
            self._has_prompt_events = True
            self._seen.prompt(field_text(payload.message))
        elif kind == "reasoning":
            self._seen.responds(None)
        elif kind == "turn_aborted" and field_text(payload.reason) == "interrupted":
            self._seen.interrupted()

    # Sessions, folders and texts.

    def _take_context(self, number: int, time: int, line: CodexLine, payload: CodexPayload) -> None:
        """Begin a span: what follows is of this session, or was done in this folder."""
        is_session = line.type == "session_meta"
        span = self._span_of_turn(time, payload)
        if is_session:
            span = self._span_of_session(span, payload)

        self._covers[-1].pop()  # this line belongs to what it opens
        self._begin_span(span, number)
        if span.cwd and (not is_session or span is introduction_of(self._spans)):
            self._folder = span.cwd

    def _span_of_turn(self, time: int, payload: CodexPayload) -> LineSpan:
        return LineSpan(
            cwd=field_text(payload.cwd),
            opens=SpanOpening.TURN,
            born=_milliseconds_of_uuid(field_text(payload.turn_id)),
            time=time,
            model=field_text(payload.model)[:MODEL_LIMIT],
            agent=introduction_of(self._spans).agent,
        )

    def _span_of_session(self, span: LineSpan, payload: CodexPayload) -> LineSpan:
        """Return the span of a session, from what it has in common with that of a turn."""
        is_first = len(self._spans) == 1
        source = field_value(payload.source)
        if is_first and member(source, "subagent") is not None:
            self._is_started_by_agent = True

        session = field_text(payload.id)
        starter = text_in(source, *_STARTER_IN_SOURCE)
        parent = field_text(payload.forked_from_id) or starter
        remote = text_in(field_value(payload.git), "repository_url")
        if is_first:
            parent = self._note_base(payload) or parent

        return span._replace(
            session=session,
            opens=SpanOpening.SESSION,
            parent=parent,
            born=_milliseconds_of_uuid(session),
            remote=remote,
            agent=bool(starter),
        )

    def _note_base(self, payload: CodexPayload) -> str:
        """Note where a session begins that goes on from lines in another file.

        Returns:
            The session of these lines; "" where the session states that it was forked.
        """
        base = field_value(payload.history_base)
        first = field_value(payload.subagent_history_start_ordinal)
        self._goes_on_from_file = isinstance(base, dict)

        self._own_from = None
        if type(first) is int:
            self._own_from = first
        elif self._goes_on_from_file:
            self._own_from = 0

        if field_text(payload.forked_from_id):
            return ""
        return text_in(base, "thread_id")

    def _take_message(self, payload: CodexPayload) -> None:
        role = b"" if payload.role is UNSET else bytes(payload.role)
        if role == b'"assistant"':
            self._seen.said(text_in(field_value(payload.content)))
        elif role == b'"user"':
            self._seen.asked()

    # Tokens.

    def _take_service(self, tier: object) -> None:
        """Take the tier in which what follows is served. A line that names none changes nothing."""
        if isinstance(tier, str):
            self._service = special_service(tier)

    def _take_token_count(self, number: int, info: CodexInfo | None) -> None:
        if info is None:
            return
        totals = _numbers_of(info.total_token_usage)
        last = _numbers_of(info.last_token_usage)
        if totals is None and last is None:  # an event about rate limits alone
            return

        span = len(self._spans) - 1
        continues = self._goes_on_from_file
        count = TokenCount(span, number, totals, last, continues, self._service)
        self.counted[TokenCount].append(count)
        self._goes_on_from_file = False

    # Calls.

    def _note_call(self, number: int, call: str | None, shows: int) -> None:
        self._called.add(call)
        key = key_of(call) if call else 0
        self.counted[Call].append(Call(len(self._spans) - 1, number, id=key, shows=shows))

    def _take_call(self, number: int, payload: CodexPayload) -> None:
        """Take a call of a function or of the local shell."""
        is_local_shell = payload.type == "local_shell_call"
        argument = _COMMAND_ARGUMENTS.get(payload.name or "", "")
        if is_local_shell and not argument:
            argument = "command"

        arguments = (
            field_value(payload.action) if is_local_shell else parsed(field_text(payload.arguments))
        )
        goes_on = payload.name == "wait" and member(arguments, "cell_id") is not None
        if payload.name != "write_stdin" and not goes_on:
            asked = member(arguments, "command" if is_local_shell else argument)
            shows = command_flags(_joined_words(asked)) if argument else 0
            self._note_call(number, payload.call_id, shows)

        if payload.name == "apply_patch":
            patch = text_in(arguments, "input")
            changes = lines_patched(patch)
            self._seen.edit(payload.call_id, paths_patched(patch), self._folder, changes)
        elif argument:
            self._note_command(payload, arguments, argument)
        else:
            self._note_other_call(payload, arguments)

    def _note_command(self, payload: CodexPayload, arguments: Any, argument: str) -> None:
        """Note a call that runs a command, which may apply a patch."""
        folder = text_in(arguments, "workdir") or text_in(arguments, "working_directory")
        script = script_of(member(arguments, argument))
        patched = paths_patched(script) if "apply_patch" in script else ()
        lines: AddedLines = lines_patched(script) if patched else {}
        self._seen.command(payload.call_id, script, folder or self._folder, patched, lines)

    def _note_other_call(self, payload: CodexPayload, arguments: Any) -> None:
        """Note a call that neither runs a command nor edits files."""
        call = payload.call_id
        self._seen.call(call, agent=payload.name == "spawn_agent")
        if payload.name == "write_stdin":
            self._continue(call, f"process {member(arguments, 'session_id')}")
        elif payload.name == "wait":
            self._continue(call, f"program {member(arguments, 'cell_id')}")

    def _continue(self, call: str | None, running: str) -> None:
        """Note that a call asks for more output of what still runs."""
        starting_call = self._running.get(running)
        if call and starting_call:
            self._continued[call] = starting_call

    def _take_custom_call(self, number: int, payload: CodexPayload) -> None:
        """Take a call of a tool that is given a text: a patch, or a program."""
        call = payload.call_id
        text = field_text(payload.input)
        shows = payload.name == "exec" and runs_commands(text)
        self._note_call(number, call, command_flags(text) if shows else 0)

        if payload.name == "apply_patch":
            self._seen.edit(call, paths_patched(text), self._folder, lines_patched(text))
        elif payload.name == "exec":
            self._note_program(call, text)
        else:
            self._seen.call(call)

    def _note_program(self, call: str | None, program: str) -> None:
        """Note a call of ``exec``, a program that may run commands and apply patches."""
        commands = commands_in(program)
        patched = paths_patched(program)
        lines: AddedLines = {}
        if patched:
            has_line_breaks = "\n*** " in program
            lines = lines_patched(program if has_line_breaks else program.replace("\\n", "\n"))
        self._seen.command(call, "\n".join(commands), self._folder, patched, lines)
        self._programs[call] = len(commands)
        self._continue(call, f"process {process_continued(program)}")

    # Results.

    def _note_result(self, number: int, call: str | None, failed: bool) -> None:
        key = key_of(call) if call else 0
        result = CallResult(len(self._spans) - 1, number, id=key, failed=failed)
        self.counted[CallResult].append(result)

    def _take_result(self, number: int, payload: CodexPayload, failed: bool | None) -> None:
        """Take the result of a call.

        Args:
            number: the number of the line.
            payload: the result.
            failed: whether it states that the call failed; None where it states nothing.
        """
        call = payload.call_id
        starting_call = self._continued.get(call or "", call)
        if failed is None and was_not_run(payload):
            failed = True
        if was_refused(payload):
            self._seen.refused(call)
            return

        if call in self._programs or starting_call in self._programs:
            self._take_program_result(number, payload, starting_call, failed)
            return

        if failed is not None:
            self._note_result(number, starting_call, failed)
        if not _has_output_elsewhere(payload, failed):
            self._observe_result(payload, starting_call, failed)

    def _observe_result(
        self, payload: CodexPayload, starting_call: str | None, failed: bool | None
    ) -> None:
        """Note what a call printed, or the command that it asked for more output of."""
        if starting_call != payload.call_id:
            self._seen.result(payload.call_id, failed, str)

        running = _what_runs(output_of(payload).header) if failed is None else ""
        if running:
            self._goes_on(running, starting_call, output_of(payload).printed)
        else:
            earlier_output = self._printed.pop(starting_call or "", "")
            self._seen.result(
                starting_call, failed, lambda: earlier_output + output_of(payload).printed
            )

    def _take_program_result(
        self, number: int, payload: CodexPayload, call: str | None, failed: bool | None
    ) -> None:
        """Take what a program printed. It succeeds whatever its commands do.

        Args:
            number: the number of the line.
            payload: the result of its call, or of one that asked for more output.
            call: the call that started what this is the output of.
            failed: whether the program failed; None where it still runs.
        """
        answer = output_of(payload)
        output = program_output(answer.printed)
        running = _what_runs(answer.header) if failed is None else ""
        if output.process and not output.exit_codes and not failed:
            running = running or f"process {output.process}"

        if payload.call_id != call:
            self._seen.result(payload.call_id, failed, str)
            if payload.call_id in self._programs:
                self._note_result(number, payload.call_id, failed=failed is True)
        if running:
            self._goes_on(running, call, f"{output.printed}\n")
            return

        ended = None
        if self._programs.get(call, 1) == 1:
            if len(output.exit_codes) == 1:
                ended = output.exit_codes[0] != 0
            elif not answer.header.lstrip().startswith(OF_PROGRAM):
                ended = failed
        if failed is not None:
            self._note_result(number, call, failed or ended is True)
        earlier_output = self._printed.pop(call or "", "")
        self._seen.result(call, ended, lambda: earlier_output + output.printed)

    def _goes_on(self, running: str, call: str | None, printed: str) -> None:
        """Note that what a call started still runs, and what it has printed since."""
        self._running[running] = call or ""
        self._printed[call or ""] = self._printed.get(call or "", "") + printed
        self._seen.printed(call, printed)

    def _end_process(
        self, number: int, call: str | None, exit_code: object, printed: RawField | str
    ) -> None:
        """Note how a command ended that still ran when its output was given.

        A commit counts where its call is answered.
        """
        if call not in self._running.values() or type(exit_code) is not int:
            return

        failed = exit_code != 0
        self._note_result(number, call, failed)
        if not self._seen.commits(call):
            self._seen.result(call, failed, lambda: _printed_text(printed))

    def _take_item(self, number: int, item: Any) -> None:
        """Take what only an item of a paginated thread says.

        The call that it is about has lines of its own.
        """
        kind = text_in(item, "type")
        call = text_in(item, "id")
        status = text_in(item, "status")

        if kind == "UserMessage":
            if not self._is_started_by_agent and not self._has_prompt_events:
                texts = [text_in(part, "text") for part in items_in(item, "content")]
                self._seen.prompt("".join(texts))
        elif kind == "CommandExecution":
            printed = text_in(item, "aggregated_output")
            self._end_process(number, call, member(item, "exit_code"), printed)
        elif kind in ("FileChange", "McpToolCall"):
            if call in self._called and status in ("completed", "failed"):
                failed = status == "failed"
                self._note_result(number, call, failed)
                if failed and kind == "FileChange":
                    self._seen.result(call, True, str)

    def events(self) -> TranscriptEvents:
        """Return the events that were read. Calls that the user refused are not among them."""
        spans = list(self._spans)
        covers = [list(numbers) for numbers in self._covers]
        if self._own_from is not None:  # no line of its own came
            spans.append(LineSpan(opens=SpanOpening.OWN_LINES))
            covers.append([])

        refused = self._seen.refused_calls
        events = TranscriptEvents(spans=spans, covers=covers, skipped=dict(self.skipped))
        events.put(TokenCount, self.counted[TokenCount])
        for kind in (Call, CallResult):
            events.put(kind, [event for event in self.counted[kind] if event.id not in refused])
        return self._seen.fill(settle(events), self._opens)


def _milliseconds_of_uuid(name: str) -> int:
    """Return the milliseconds since 1970 that a UUID of version 7 carries.

    Return -1 for another name.
    """
    uuid = _UUID7.fullmatch(name)
    return int(uuid[1] + uuid[2], 16) if uuid else -1


def _joined_words(asked: object) -> str:
    """Return a command as one text, of the words that it may be given as."""
    words = asked if isinstance(asked, list) else [asked]
    return " ".join(word for word in words if isinstance(word, str))


def _numbers_of(usage: CodexUsage | None) -> TokenNumbers | None:
    return None if usage is None else TokenNumbers(*astuple(usage))


def _what_runs(header: str) -> str:
    """Return the process or the program that still runs, by the header of an output, or ""."""
    running = _STILL_RUNS.search(header)
    if running is None:
        return ""
    return f"{'process' if running[1] == 'Process' else 'program'} {running[2]}"


def _printed_text(printed: RawField | str) -> str:
    return printed if isinstance(printed, str) else field_text(printed)


def _has_output_elsewhere(payload: CodexPayload, failed: bool | None) -> bool:
    """Return whether the output of a call follows its result in a line of its own."""
    if payload.type == "mcp_tool_call_end":
        return True
    return payload.type == "patch_apply_end" and not failed


class Codex(Harness):
    """See :class:`~scoring.evidence.harnesses.harness.Harness`."""

    name = "codex"
    hook = Hook(".codex/hooks.json", "CODEX_HOME", "hooks.json", quiet=False)
    reader = CodexReader
    input_holds_cached = True

    def homes(self, environment: Mapping[str, str]) -> list[Home]:
        """Return the folders of sessions and of archived ones."""
        named = environment.get("CODEX_HOME", "").strip()
        home = expanded(named or "~/.codex")
        origin = "CODEX_HOME" if named else "~/.codex"
        return [Home(home / folder, origin, PREFIX) for folder in ("sessions", ARCHIVE)]

    def copy(self, path: Path) -> Copy | None:
        """Return of which rollout a file is a copy, by its name.

        It may be archived, compressed, or copied to a folder that is read too.
        """
        name = path.name.removesuffix(".zst").removesuffix(".jsonl")
        if not name.startswith(PREFIX):
            return None
        left_out = "an archived or second copy of a rollout that is read"
        return Copy(name, ARCHIVE in path.parts, left_out)

    def claims(self, line: bytes) -> bool:
        """Return whether it wrote a line, by its payload."""
        keys = keys_of(line)
        return "payload" in keys and "message" not in keys

    count = staticmethod(count_rollout)
    folders = staticmethod(folders_of)
    joined = staticmethod(joined_events)

    def original(self, events: TranscriptEvents, again: EventsOfSession) -> TranscriptEvents:
        """Return the events of a forked session without its replay."""
        return without_replay(events, again)
