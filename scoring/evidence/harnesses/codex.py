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
from scoring.evidence.harnesses.codex_lines import CodexInfo, CodexLine, CodexPayload, CodexUsage
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
    was_refused,
)
from scoring.evidence.harnesses.codex_sessions import (
    count_rollout,
    folders_of,
    introduction_of,
    joined_events,
    without_replay,
)
from scoring.evidence.harnesses.event_reader import EventReader
from scoring.evidence.harnesses.fields import (
    BROKEN,
    decoded,
    items_in,
    json_in,
    member,
    text_in,
)
from scoring.evidence.harnesses.harness import Copy, Harness, Home, Hook, home_named
from scoring.evidence.harnesses.json_reader import NO_TIME, OTHER_TYPE
from scoring.evidence.harnesses.tool_calls import script_of
from scoring.evidence.transcripts.counter import EventsOfSession
from scoring.evidence.transcripts.edits import lines_patched, paths_patched
from scoring.evidence.transcripts.facts import special_service, timestamp_ns
from scoring.evidence.transcripts.transcript_events import LineSpan, SpanOpening, TranscriptEvents
from scoring.frozen import PlainData

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

_info_decoder = msgspec.json.Decoder(CodexInfo | None)


class CodexReader(EventReader):
    """See :class:`~scoring.evidence.harnesses.json_reader.JsonReader`."""

    decoder = msgspec.json.Decoder(CodexLine)
    goes_on = True
    opens = False

    def __init__(self, tools: TestTools | None) -> None:
        super().__init__(tools)
        self.add_span(LineSpan())
        self._service = ""

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
            self.place = self.number + position
            payload = line.payload
            if payload is UNSET:
                foreign.append(position)
                continue

            time = timestamp_ns(line.timestamp)
            if time is None:
                self.skip(NO_TIME)
                continue

            self._begin_line(time, line, position)
            if payload is None:
                continue
            try:
                self._take_payload(time, line, payload)
            except (*BROKEN, TypeError):
                self.skip(OTHER_TYPE)
        return foreign

    def _begin_line(self, time: int, line: CodexLine, position: int) -> None:
        """Begin a line.

        Args:
            time: when it was written, in nanoseconds since 1970.
            line: the line.
            position: that among the lines that are taken.
        """
        if self._own_from is not None and line.type != "session_meta":
            ordinal = line.ordinal if type(line.ordinal) is int else self.place
            if ordinal >= self._own_from:
                self._own_from = None
                is_agent = introduction_of(self.spans).agent
                self.add_span(LineSpan(opens=SpanOpening.OWN_LINES, agent=is_agent))

        key = self.seen.line_key(self.written[position])
        self.begin(len(self.spans) - 1, self.place, time, key)
        if line.type == "compacted":
            self.seen.compacted()
        if self.place == 0:
            self.opens = line.type == "session_meta"

    def _take_payload(self, time: int, line: CodexLine, payload: CodexPayload) -> None:
        """Take what a line holds, by its kind."""
        kind = payload.type
        if kind == "token_count":
            if payload.info is not UNSET:
                self._take_token_count(decoded(_info_decoder, payload.info))
        elif kind in RESULTS:
            self._take_result(payload, RESULTS[kind](payload))
        elif kind == "exec_command_end":
            printed = text_in(payload.aggregated_output)
            self._end_process(payload.call_id, payload.exit_code, printed)
        elif kind == "item_completed":
            self._take_item(payload.item)
        elif kind == "custom_tool_call":
            self._take_custom_call(payload)
        elif kind in ("function_call", "local_shell_call"):
            self._take_call(payload)
        elif line.type in ("session_meta", "turn_context"):
            self._take_service(payload.service_tier)
            self._take_context(time, line, payload)
        elif kind == "thread_settings_applied":
            self._take_service(member(payload.thread_settings, "service_tier"))
        elif kind == "message":
            if payload.role == "assistant":
                self.seen.said(text_in(payload.content))
            elif payload.role == "user":
                self.seen.asked()
        elif kind == "user_message" and not self._is_started_by_agent:
            self._has_prompt_events = True
            self.seen.prompt(text_in(payload.message))
        elif kind == "reasoning":
            self.seen.responds(None)
        elif kind == "turn_aborted" and payload.reason == "interrupted":
            self.seen.interrupted()

    # Sessions, folders and tokens.

    def _take_context(self, time: int, line: CodexLine, payload: CodexPayload) -> None:
        """Begin a span: what follows is of this session, or was done in this folder."""
        span = LineSpan(
            cwd=text_in(payload.cwd),
            opens=SpanOpening.TURN,
            born=_milliseconds_of_uuid(text_in(payload.turn_id)),
            time=time,
            model=text_in(payload.model),
            agent=introduction_of(self.spans).agent,
        )
        is_session = line.type == "session_meta"
        if is_session:
            span = self._span_of_session(span, payload)

        self.covers[-1].pop()  # this line belongs to what it opens
        self.add_span(span, self.place)
        if span.cwd and (not is_session or span is introduction_of(self.spans)):
            self.where = span

    def _span_of_session(self, span: LineSpan, payload: CodexPayload) -> LineSpan:
        """Return the span of a session, from what it has in common with that of a turn."""
        is_first = len(self.spans) == 1
        if is_first and member(payload.source, "subagent") is not None:
            self._is_started_by_agent = True

        session = text_in(payload.id)
        starter = text_in(payload.source, *_STARTER_IN_SOURCE)
        parent = text_in(payload.forked_from_id) or starter
        if is_first:
            parent = self._note_base(payload) or parent

        return span._replace(
            session=session,
            opens=SpanOpening.SESSION,
            parent=parent,
            born=_milliseconds_of_uuid(session),
            remote=text_in(payload.git, "repository_url"),
            agent=bool(starter),
        )

    def _note_base(self, payload: CodexPayload) -> str:
        """Note where a session begins that goes on from lines in another file.

        Returns:
            The session of these lines; "" where the session states that it was forked.
        """
        first = payload.subagent_history_start_ordinal
        self._goes_on_from_file = isinstance(payload.history_base, dict)

        self._own_from = None
        if type(first) is int:
            self._own_from = first
        elif self._goes_on_from_file:
            self._own_from = 0

        if text_in(payload.forked_from_id):
            return ""
        return text_in(payload.history_base, "thread_id")

    def _take_service(self, tier: object) -> None:
        """Take the tier in which what follows is served. A line that names none changes nothing."""
        if isinstance(tier, str):
            self._service = special_service(tier)

    def _take_token_count(self, info: CodexInfo | None) -> None:
        if info is None:
            return
        totals = _numbers_of(info.total_token_usage)
        last = _numbers_of(info.last_token_usage)
        if totals is None and last is None:  # an event about rate limits alone
            return

        count = TokenCount(*self.at, totals, last, self._goes_on_from_file, self._service)
        self.counted[TokenCount].append(count)
        self._goes_on_from_file = False

    # Calls.

    def _take_call(self, payload: CodexPayload) -> None:
        """Take a call of a function or of the local shell."""
        call = payload.call_id
        tool = payload.name or ""
        argument = _COMMAND_ARGUMENTS.get(tool, "")
        given = json_in(payload.arguments)
        if payload.type == "local_shell_call":
            argument = "command"
            given = payload.action

        cell = member(given, "cell_id")
        if tool == "write_stdin":
            self._take_call_for_more(call, f"process {member(given, 'session_id')}")
            return
        if tool == "wait" and cell is not None:
            self._take_call_for_more(call, f"program {cell}")
            return

        self._called.add(call)
        if tool == "apply_patch":
            self._take_patch(call, text_in(given, "input"))
        elif argument:
            folder = text_in(given, "workdir") or text_in(given, "working_directory")
            script = script_of(member(given, argument))
            patch = script if "apply_patch" in script else ""
            self.command(call, script, folder, paths_patched(patch), lines_patched(patch))
        else:
            self.call(call, agent=tool == "spawn_agent")

    def _take_call_for_more(self, call: str | None, running: str) -> None:
        """Take a call that asks for more output of what still runs."""
        self.seen.call(call)
        self._continue(call, running)

    def _continue(self, call: str | None, running: str) -> None:
        starting_call = self._running.get(running)
        if call and starting_call:
            self._continued[call] = starting_call

    def _take_patch(self, call: str | None, patch: str) -> None:
        self.edit(call, paths_patched(patch), lines_patched(patch))

    def _take_custom_call(self, payload: CodexPayload) -> None:
        """Take a call of a tool that is given a text: a patch, or a program."""
        call = payload.call_id
        text = text_in(payload.input)
        self._called.add(call)
        if payload.name == "apply_patch":
            self._take_patch(call, text)
        elif payload.name == "exec":
            self._take_program(call, text)
        else:
            self.call(call)

    def _take_program(self, call: str | None, program: str) -> None:
        """Take a call of ``exec``, a program that may run commands and apply patches."""
        commands = commands_in(program)
        patch = program if "\n*** " in program else program.replace("\\n", "\n")
        lines = lines_patched(patch)
        key = self.seen.command(
            call, "\n".join(commands), self.folder, paths_patched(program), lines
        )
        self.count_call(key, command_flags(program) if runs_commands(program) else 0)
        self._programs[call] = len(commands)
        self._continue(call, f"process {process_continued(program)}")

    # Results.

    def _take_result(self, payload: CodexPayload, failed: bool | None) -> None:
        """Take the result of a call.

        Args:
            payload: the result.
            failed: whether it states that the call failed; None where it states nothing.
        """
        call = payload.call_id
        starting_call = self._continued.get(call or "", call)
        if was_refused(payload):
            self.seen.refused(call)
            return

        if call in self._programs or starting_call in self._programs:
            self._take_program_result(payload, starting_call, failed)
            return

        if failed is not None:
            self.count_result(starting_call, failed)
        has_patched = payload.type == "patch_apply_end" and not failed
        if not has_patched and payload.type != "mcp_tool_call_end":  # their output follows
            self._observe_result(payload, starting_call, failed)

    def _observe_result(
        self, payload: CodexPayload, starting_call: str | None, failed: bool | None
    ) -> None:
        """Note what a call printed, or the command that it asked for more output of."""
        if starting_call != payload.call_id:
            self.seen.result(payload.call_id, failed, str)

        running = _what_runs(output_of(payload).header) if failed is None else ""
        if running:
            self._goes_on(running, starting_call, output_of(payload).printed)
        else:
            earlier_output = self._printed.pop(starting_call or "", "")
            self.seen.result(
                starting_call, failed, lambda: earlier_output + output_of(payload).printed
            )

    def _take_program_result(
        self, payload: CodexPayload, call: str | None, failed: bool | None
    ) -> None:
        """Take what a program printed. It succeeds whatever its commands do.

        Args:
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
            self.seen.result(payload.call_id, failed, str)
            if payload.call_id in self._programs:
                self.count_result(payload.call_id, failed=failed is True)
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
            self.count_result(call, failed or ended is True)
        earlier_output = self._printed.pop(call or "", "")
        self.seen.result(call, ended, lambda: earlier_output + output.printed)

    def _goes_on(self, running: str, call: str | None, printed: str) -> None:
        """Note that what a call started still runs, and what it has printed since."""
        self._running[running] = call or ""
        self._printed[call or ""] = self._printed.get(call or "", "") + printed
        self.seen.printed(call, printed)

    def _end_process(self, call: str | None, exit_code: object, printed: str) -> None:
        """Note how a command ended that still ran when its output was given.

        A commit counts where its call is answered.
        """
        if call not in self._running.values() or type(exit_code) is not int:
            return

        failed = exit_code != 0
        self.count_result(call, failed)
        if not self.seen.commits(call):
            self.seen.result(call, failed, lambda: printed)

    def _take_item(self, item: Any) -> None:
        """Take what only an item of a paginated thread says.

        The call that it is about has lines of its own.
        """
        kind = text_in(item, "type")
        call = text_in(item, "id")
        status = text_in(item, "status")

        if kind == "UserMessage":
            if not self._is_started_by_agent and not self._has_prompt_events:
                texts = [text_in(part, "text") for part in items_in(item, "content")]
                self.seen.prompt("".join(texts))
        elif kind == "CommandExecution":
            printed = text_in(item, "aggregated_output")
            self._end_process(call, member(item, "exit_code"), printed)
        elif kind in ("FileChange", "McpToolCall"):
            if call in self._called and status in ("completed", "failed"):
                failed = status == "failed"
                self.count_result(call, failed)
                if failed and kind == "FileChange":
                    self.seen.result(call, True, str)

    def events(self) -> TranscriptEvents:
        """Return the events that were read."""
        events = super().events()
        if self._own_from is not None:  # no line of its own came
            events.spans.append(LineSpan(opens=SpanOpening.OWN_LINES))
            events.covers.append([])
        return settle(events)


def _milliseconds_of_uuid(name: str) -> int:
    """Return the milliseconds since 1970 that a UUID of version 7 carries.

    Return -1 for another name.
    """
    uuid = _UUID7.fullmatch(name)
    return int(uuid[1] + uuid[2], 16) if uuid else -1


def _numbers_of(usage: CodexUsage | None) -> TokenNumbers | None:
    return None if usage is None else TokenNumbers(*astuple(usage))


def _what_runs(header: str) -> str:
    """Return the process or the program that still runs, by the header of an output, or ""."""
    running = _STILL_RUNS.search(header)
    if running is None:
        return ""
    return f"{'process' if running[1] == 'Process' else 'program'} {running[2]}"


class Codex(Harness):
    """See :class:`~scoring.evidence.harnesses.harness.Harness`."""

    name = "codex"
    hook = Hook(".codex/hooks.json", "CODEX_HOME", "hooks.json", quiet=False)
    reader = CodexReader
    input_holds_cached = True

    def homes(self, environment: Mapping[str, str]) -> list[Home]:
        """Return the folders of sessions and of archived ones."""
        home = home_named(environment, "CODEX_HOME", "~/.codex")
        return [Home(home.path / folder, home.origin, PREFIX) for folder in ("sessions", ARCHIVE)]

    def copy(self, path: Path) -> Copy | None:
        """Return of which rollout a file is a copy, by its name.

        It may be archived, compressed, or copied to a folder that is read too.
        """
        name = path.name.removesuffix(".zst").removesuffix(".jsonl")
        if not name.startswith(PREFIX):
            return None
        left_out = "an archived or second copy of a rollout that is read"
        return Copy(name, ARCHIVE in path.parts, left_out)

    def claims(self, line: PlainData) -> bool:
        """Return whether it wrote a line, by its payload."""
        return "payload" in line and "message" not in line

    count = staticmethod(count_rollout)
    folders = staticmethod(folders_of)
    joined = staticmethod(joined_events)

    def original(self, events: TranscriptEvents, again: EventsOfSession) -> TranscriptEvents:
        """Return the events of a forked session without its replay."""
        return without_replay(events, again)
