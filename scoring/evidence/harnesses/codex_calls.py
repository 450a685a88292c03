"""The calls in rollouts of Codex: commands, patches and programs, and how they ended.

A program of the tool ``exec`` runs commands. It prints the output of one as it is, or the whole
result as JSON.
"""

import re
from collections.abc import Sequence
from typing import Any

from scoring.evidence.commands.objective_flags import command_flags
from scoring.evidence.transcripts.open_calls import OpenCall

from .codex_lines import (
    OF_PROGRAM,
    RESULTS,
    CodexOutput,
    CodexPayload,
    only_text,
    output_of,
    was_refused,
)
from .codex_programs import program_output
from .event_reader import EventReader
from .fields import failure_in, json_in, member, path_of_uri, text_in
from .tool_calls import script_of

_COMMAND_ARGUMENTS = {
    "shell": "command",
    "container.exec": "command",
    "shell_command": "command",
    "exec_command": "cmd",
}
"""The tools that run a command, and the argument that holds it."""

_STILL_RUNS = re.compile(r"(Process|Script) running with (?:session|cell) ID (\S+)")


_QUOTED = r"""(?:"((?:[^"\\\n]|\\.)*+)"|'((?:[^'\\\n]|\\.)*+)'|`((?:[^`\\]|\\.)*+)`)"""
_COMMAND = re.compile(rf"""\b(?:cmd|command)["']?\s*[:=]\s*{_QUOTED}""", re.DOTALL)
_FOLDER = re.compile(rf"""\bworkdir["']?\s*[:=]\s*(?:{_QUOTED}|.)""", re.DOTALL)
_TAKES_FOLDER = re.compile(r"""\bworkdir["']?\s*[:,}]""")
_TAKES_VARIABLE = re.compile(r"""\b(?:cmd|command)["']?\s*:""")
"""Matches a command that a variable names, in a program without the texts of its commands."""

_REWRITES = re.compile(
    r"""\.(?:filter|match|matchAll|replace|replaceAll)\s*\(
        (?!/\\(?:x1b|u001b)\\\[\[[^]/|]*]\*m/g,\s*["'`]{2}\))
    |\.join\s*\(\s*(?!["'`](?:\\n|[^\w"'`\\])*["'`])|\w["'`]\s*\+\s*["'`]\w
    |(?<!\\n["'`/]\))\.(?:slice|substr|substring)\s*\(
        (?!\s*(?:-|0\s*,\s*)\d{4,}\s*\)|[^()]*\)\s*\.join\b)""",
    re.VERBOSE,
)
"""Matches what changes more of an output than colors, picks lines, or puts a text together.

What cuts a text counts too, for a piece of a summary may read as another one. Lists of lines may be
cut, and a text to its first or last 1,000 characters or more.
"""

_STATES_EXIT_CODE = re.compile(r"""\bexit_code["'\]]*\s*(?::|=(?!=))\s*-?\d""")
_CONTINUES = re.compile(
    r"""\bwrite_stdin\s*\(\s*\{[^{}]*?\bsession_id["']?\s*:\s*["']?(\d+)"""
)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t"}


class CodexCalls(EventReader):
    """Notes calls and their results. What a call started may still run when its result comes.

    Attributes:
        called: the ids of the calls that were counted, None among them if one has no id. Calls of
            ``write_stdin`` and ``wait``, which only ask for more output, are not counted; a program
            of ``exec`` that does so is.
    """

    def set_up(self) -> None:
        """Prepare to read a transcript."""
        self.called: set[str | None] = set()
        # by a process or a program, the call that started it
        self._running: dict[str, str] = {}
        self._printed: dict[str, str] = {}  # by such a call, what it has printed so far
        # by a call for more output, the call it is about
        self._continued: dict[str, str] = {}
        # calls of programs: whether an exit code that they print is that of their only command
        self._programs: dict[str | None, bool] = {}
        self._last_program: OpenCall | None = None

    def take_call(self, payload: CodexPayload) -> None:
        """Take a call of a function or of the local shell.

        One that only asks for more output of an earlier call is not counted.
        """
        call = payload.call_id
        tool = payload.name or ""
        argument = _COMMAND_ARGUMENTS.get(tool, "")
        given = json_in(only_text(payload.arguments))
        if payload.type == "local_shell_call":
            argument = "command"
            given = payload.action

        running = ""
        if tool == "write_stdin":
            running = f"process {member(given, 'session_id')}"
        elif tool == "wait" and member(given, "cell_id") is not None:
            running = f"program {member(given, 'cell_id')}"
        if running:  # the call asks for more of its output
            self.open_call(call)
            self._continue(call, running)
            return

        self.called.add(call)
        if tool == "apply_patch":
            self.note_patch(call, text_in(given, "input"))
        elif argument:
            folder = text_in(given, "workdir", "working_directory") or self.folder
            script = script_of(member(given, argument))
            patch = script if "apply_patch" in script else ""
            self.note_command(call, script, folder, patch)
        else:
            self.note_call(call, agent=tool == "spawn_agent")

    def _continue(self, call: str | None, running: str) -> None:
        """Note that a call asks for more output of what an earlier call started.

        Args:
            call: the id of the call.
            running: the process or the program, as :func:`_what_runs` names it. One that no
                call is known to have started is passed over.
        """
        starting_call = self._running.get(running)
        if call and starting_call:
            self._continued[call] = starting_call

    def take_custom_call(self, payload: CodexPayload) -> None:
        """Take a call of a tool with one text as its argument: a patch, a program, or another."""
        call = payload.call_id
        text = only_text(payload.input)
        self.called.add(call)
        if payload.name == "apply_patch":
            self.note_patch(call, text)
        elif payload.name == "exec":
            self._take_program(call, text)
        else:
            self.note_call(call)

    def _take_program(self, call: str | None, program: str) -> None:
        """Take a call of ``exec``, a program that may run commands and apply patches.

        Where the commands run in several folders, or in one that a variable names, their folder is
        not known.
        """
        commands = _commands_in(program)
        own_text = _COMMAND.sub("", program)
        script = "\n".join(commands)
        folder = self._folder_of_commands(commands, own_text)
        if not folder:
            folder = self.folder
            script = f'cd "$workdir"\n{script}'
        patch = program if "\n*** " in program else program.replace("\\n", "\n")
        opened = self.open_call(call)
        self._last_program = opened
        self.note_commands_of_call(opened, script, folder, patch)
        self._programs[call] = len(commands) == 1 and _prints_results(program)
        if opened.run:
            is_rewritten = _REWRITES.search(own_text) is not None
            opened.run = opened.run.shown_by(own_text, is_rewritten=is_rewritten)
        if _runs_commands(program):
            self.count_call(opened, command_flags(program))
            return

        self.count_call(opened)
        continued = _CONTINUES.search(program)
        if continued:
            self._continue(call, f"process {continued[1]}")

    def _folder_of_commands(self, commands: Sequence[str], own_text: str) -> str:
        """Return the folder in which the commands of a program run, or "" where it is not known."""
        folders = _folders_in(own_text) if commands else set()
        if not folders:
            return self.folder

        command_count = len(commands) + len(_TAKES_VARIABLE.findall(own_text))
        if len(_TAKES_FOLDER.findall(own_text)) < command_count:
            folders.add(self.folder)  # where a command without a folder runs
        return folders.pop() if len(folders) == 1 else ""

    def take_result(self, payload: CodexPayload) -> None:
        """Take the result of a call: it was refused, has ended, or still runs.

        What a call that still runs has printed is held until a later result says how it ended.
        """
        call = payload.call_id
        starting_call = self._continued.get(call or "", call)
        if was_refused(payload):
            self.note_refusal(call)
            return

        output = output_of(payload)
        # words alone may refuse it only where nothing says that it ran
        says_that_it_ran = output.failed is not None and not output.is_not_run
        self.refuses_in_words = not output.header and not says_that_it_ran
        states_failure = RESULTS[payload.type]
        failed = states_failure(payload) if states_failure else output.failed
        if call in self._programs or starting_call in self._programs:
            self._take_program_result(call, output, starting_call, failed)
            return

        if failed is not None:
            self.count_result(starting_call, failed)
        has_patched = payload.type == "patch_apply_end" and not failed
        if has_patched or payload.type == "mcp_tool_call_end":  # their output follows
            return

        if starting_call != call:
            self.note_end(call, failed, "")
        running = _what_runs(output.header) if failed is None else ""
        if running:
            self._goes_on(running, starting_call, output.printed)
        else:
            earlier_output = self._printed.pop(starting_call or "", "")
            self.note_end(starting_call, failed, earlier_output + output.printed)

    def _take_program_result(
        self,
        call: str | None,
        result: CodexOutput,
        starting_call: str | None,
        failed: bool | None,
    ) -> None:
        """Take what a program printed. A program succeeds whatever its commands do.

        So where it has one command, and prints the exit code of that, this says how the call ended.

        Args:
            call: the call of the result, which may be one that asked for more output.
            result: the output of the result.
            starting_call: the call that started the program.
            failed: whether the program failed; None where it still runs.
        """
        output = program_output(result.printed)
        running = _what_runs(result.header) if failed is None else ""
        if output.process and not output.exit_codes and not failed:
            running = running or f"process {output.process}"

        if call != starting_call:
            self.note_end(call, failed, "")
            if call in self._programs:
                self.count_result(call, failed=failed is True)
        if running:
            self._goes_on(running, starting_call, f"{output.printed}\n")
            return

        ended = None
        if self._programs.get(starting_call, True):
            if len(output.exit_codes) == 1:
                ended = output.exit_codes[0] != 0
            elif not result.header.lstrip().startswith(OF_PROGRAM):
                ended = failed
        if failed is not None:
            self.count_result(starting_call, failed or ended is True)
        earlier_output = self._printed.pop(starting_call or "", "")
        self.note_end(starting_call, ended, earlier_output + output.printed)

    def _goes_on(self, running: str, call: str | None, printed: str) -> None:
        """Note that what a call started still runs.

        Args:
            running: the process or the program, as :func:`_what_runs` names it.
            call: the id of the call.
            printed: what was printed since the last time.
        """
        self._running[running] = call or ""
        self._printed[call or ""] = self._printed.get(call or "", "") + printed
        self.note_printed(call, printed)

    def take_command_of_program(self, command: Any) -> None:
        """Take a command that the last program ran: an item that says what ran and how it ended.

        From then on, the text of the program says nothing about tests and commits.
        """
        if self._last_program is not None:
            self._last_program.run = None
            self._last_program.commits = ()
        call = text_in(command, "id")
        folder = path_of_uri(text_in(command, "cwd"))
        opened = self.open_call(call)
        self.note_commands_of_call(
            opened, script_of(member(command, "command")), folder
        )
        failed = failure_in(command, "exit_code")
        self.note_end(call, failed, text_in(command, "aggregated_output"))

    def end_process(self, call: str | None, exit_code: object, printed: str) -> None:
        """Note how a command ended that still ran when the result of its call came.

        Commands that were not running, and ends without an exit code, are passed over. A call that
        makes commits is not ended here: its commits count in the line of its result.
        """
        failed = failure_in(exit_code)
        if failed is None or call not in self._running.values():
            return

        self.count_result(call, failed)
        if not self.makes_commits(call):
            self.note_end(call, failed, printed)


def _what_runs(header: str) -> str:
    """Return what still runs by the header of an output: ``process 12``, ``program 3``, or ""."""
    running = _STILL_RUNS.search(header)
    if not running:
        return ""
    return f"{'process' if running[1] == 'Process' else 'program'} {running[2]}"


def _runs_commands(program: str) -> bool:
    """Return whether a program names a tool that runs commands."""
    return "exec_command" in program or "shell_command" in program


def _commands_in(program: str) -> list[str]:
    """Return the commands that a program runs, without the escapes of their quotes."""
    if not _runs_commands(program):
        return []

    return [_unescaped("".join(quoted)) for quoted in _COMMAND.findall(program)]


def _folders_in(own_text: str) -> set[str]:
    """Return the folders that a program names for its commands, "" for one that is a variable.

    Args:
        own_text: the program without the texts of its commands, which may name other folders.
    """
    folders = {_unescaped("".join(quoted)) for quoted in _FOLDER.findall(own_text)}
    if not folders and _TAKES_FOLDER.search(own_text):  # ``{cmd: "pytest", workdir}``
        return {""}
    return {"" if "$" in folder else folder for folder in folders}


def _prints_results(program: str) -> bool:
    """Return whether results in JSON that a program prints can be those of its commands."""
    prints_output_alone = ".output" in program and "exit_code" not in program
    return not prints_output_alone and not _STATES_EXIT_CODE.search(program)


def _unescaped(text: str) -> str:
    """Return a text of a program without the escapes of its quotes."""
    return _ESCAPED.sub(lambda escape: _ESCAPES.get(escape[1], escape[1]), text)
