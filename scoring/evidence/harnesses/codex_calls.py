"""The calls in rollouts of Codex: commands, patches and programs, and how they ended."""

import re

from scoring.evidence.commands.objective_flags import command_flags
from scoring.evidence.harnesses.codex_lines import CodexPayload, only_text
from scoring.evidence.harnesses.codex_programs import (
    commands_in,
    process_continued,
    program_output,
    runs_commands,
)
from scoring.evidence.harnesses.codex_results import OF_PROGRAM, output_of, was_refused
from scoring.evidence.harnesses.event_reader import EventReader
from scoring.evidence.harnesses.fields import json_in, member, text_in
from scoring.evidence.harnesses.tool_calls import script_of
from scoring.evidence.transcripts.edits import lines_patched, paths_patched
from scoring.evidence.transcripts.events import Call, CallResult

_COMMAND_ARGUMENTS = {
    "shell": "command",
    "container.exec": "command",
    "shell_command": "command",
    "exec_command": "cmd",
}
"""The tools that run a command, and the argument that holds it."""

_STILL_RUNS = re.compile(r"(Process|Script) running with (?:session|cell) ID (\S+)")


class CodexCalls(EventReader):
    """Notes calls and their results. What a call started may still run when its output is given.

    Attributes:
        called: the ids of the calls that were counted.
    """

    def set_up(self) -> None:
        """Prepare to read a transcript."""
        self.called: set[str | None] = set()
        self._running: dict[str, str] = {}  # by a process or a program, the call that started it
        self._printed: dict[str, str] = {}  # by such a call, what it has printed so far
        self._continued: dict[str, str] = {}  # by a call for more output, the call it is about
        self._programs: dict[str | None, int] = {}  # calls of programs: how many commands they run

    def id_of(self, call: object) -> str | None:
        """Return the id of a call as it is written, whatever it hides."""
        return only_text(call) or None

    def counts(self, event: Call | CallResult) -> bool:
        """Return whether a call counts. A refusal without an id is of all such."""
        return event.id not in self.seen.refused_calls

    def take_call(self, payload: CodexPayload) -> None:
        """Take a call of a function or of the local shell."""
        call = payload.call_id
        tool = payload.name or ""
        argument = _COMMAND_ARGUMENTS.get(tool, "")
        given = json_in(only_text(payload.arguments))
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

        self.called.add(call)
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

    def take_custom_call(self, payload: CodexPayload) -> None:
        """Take a call of a tool that is given a text: a patch, or a program."""
        call = payload.call_id
        text = only_text(payload.input)
        self.called.add(call)
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

    def take_result(self, payload: CodexPayload, failed: bool | None) -> None:
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

    def end_process(self, call: str | None, exit_code: object, printed: str) -> None:
        """Note how a command ended that still ran when its output was given.

        A commit counts where its call is answered.
        """
        if call not in self._running.values() or type(exit_code) is not int:
            return

        failed = exit_code != 0
        self.count_result(call, failed)
        if not self.seen.commits(call):
            self.seen.result(call, failed, lambda: printed)


def _what_runs(header: str) -> str:
    """Return the process or the program that still runs, by the header of an output, or ""."""
    running = _STILL_RUNS.search(header)
    if running is None:
        return ""
    return f"{'process' if running[1] == 'Process' else 'program'} {running[2]}"
