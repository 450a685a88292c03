"""Which commands of a line are test runs, and what else the line does to their output."""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Literal, NamedTuple

from scoring.evidence.commands.exit_status import ExitProof, commands_required_by, exit_proof
from scoring.evidence.commands.git_commands import commit_requests
from scoring.evidence.commands.run_folders import folder_of, script_of
from scoring.evidence.commands.shell_command import ShellCommand
from scoring.evidence.commands.shown_output import ShownOutput, readers_of, shown_output
from scoring.evidence.commands.tested_code import tests_other_code
from scoring.evidence.commands.tool_table import SCRIPT_TOOL, ToolTable, program_name

OWN_COMMANDS = "test-commands"
"""The name of the tool that the commands of the setting ``test-commands`` are."""

LABEL_LIMIT = 60
"""How many characters of a command reports name."""

_CARRIER_LIMIT = 3
"""How many carriers may precede a tool: ``coverage run -m pytest`` has one."""

_HOOK_WORD_LIMIT = 4
"""Among how many words after ``git`` its subcommand is looked for."""

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]+")

_ANY_OUTPUT = ShownOutput(own_failures=True, own_passes=True, printed_words=[])


class TestCommand(NamedTuple):
    """A command line that runs tests.

    Attributes:
        tool: the tool of its last test command.
        label: the first words of that command.
        proof: what the exit status of the line proves about that command.
        tools: all tools that it runs, each once.
        folder: the folder that its last test command runs in, from that of the line; None where no
            plain word says it.
        other_tools: the tools that the programs of its other commands may run.
        readers: the words of each command that reads the output of the last test command.
        after_cd: whether that command is reached only after a ``cd`` that succeeds.
        hooks: where a commit or a push is, before the first test command or after: its hooks may
            print anything.
        repeats_failed: whether it runs tests again, at least where the run before it failed.
        shown: what the output of the line says about its test runs.
        other_code: whether its last test run tests other code than the work, or an earlier one.
        is_wrapped: whether another program starts the last one.
        follows_commit: whether the line commits before its first test command.
    """

    tool: str
    label: str
    proof: ExitProof = ExitProof(of_success=False, of_failure=False)
    tools: tuple[str, ...] = ()
    folder: str | None = ""
    other_tools: frozenset[str] = frozenset()
    readers: tuple[tuple[str, ...], ...] = ()
    after_cd: bool = False
    hooks: Literal["", "before", "after"] = ""
    repeats_failed: bool = False
    shown: ShownOutput = _ANY_OUTPUT
    other_code: Literal["", "earlier", "last"] = ""
    is_wrapped: bool = False
    follows_commit: bool = False


def find_test_command(
    commands: Sequence[ShellCommand],
    line: str,
    table: ToolTable,
    own_commands: Sequence[tuple[str, ...]],
    *,
    stashed: bool = False,
) -> TestCommand | None:
    """Return what tests a command line runs.

    Return None when it runs none.

    Args:
        commands: the commands of the line.
        line: its text.
        table: the test tools.
        own_commands: the first words of commands that run tests in this repository.
        stashed: whether an earlier line left the work in a stash.
    """
    tools = _tools_by_index(commands, table, own_commands)
    if not tools:
        return None

    first_index = min(tools)
    last_index = max(tools)
    last = commands[last_index]
    required = commands_required_by(commands, last_index)
    earlier_runs = [commands[index].words for index in tools if index != last_index]
    folders = {
        index: folder_of(commands, index, table.folders, is_script=tool == SCRIPT_TOOL)
        for index, tool in tools.items()
    }

    return TestCommand(
        tool=tools[last_index],
        label=_label(last.words),
        proof=exit_proof(commands, last_index, table.harmless),
        tools=tuple(dict.fromkeys(tools.values())),
        folder=folders[last_index],
        other_tools=_tools_of_others(commands, tools, table),
        readers=tuple(reader.words for reader in readers_of(commands, last_index)),
        after_cd=any(command.words[:1] in (("cd",), ("pushd",)) for command in required),
        hooks=_hooks_in(commands, first_index, table),
        repeats_failed=len(tools) > 1 and (last.connector == "||" or last.words in earlier_runs),
        shown=shown_output(commands, tools, line),
        other_code=_run_of_other_code(commands, folders, stashed=stashed),
        is_wrapped=bool(last.starters),
        follows_commit=bool(commit_requests(commands[:first_index])),
    )


def _run_of_other_code(
    commands: Sequence[ShellCommand], folders: Mapping[int, str | None], *, stashed: bool
) -> Literal["", "earlier", "last"]:
    """Return which test run tests other code than the work, by the folders of the runs."""
    if not stashed and not any(command.words[:1] == ("git",) for command in commands):
        return ""

    last_index = max(folders)
    if tests_other_code(commands, last_index, folders[last_index], stashed=stashed):
        return "last"
    for index, folder in folders.items():
        if tests_other_code(commands, index, folder, stashed=stashed):
            return "earlier"
    return ""


def _tools_by_index(
    commands: Sequence[ShellCommand],
    table: ToolTable,
    own_commands: Sequence[tuple[str, ...]],
) -> dict[int, str]:
    """Return the names of the tools that a line runs, by the index of the command."""
    tools: dict[int, str] = {}
    runs = are_run(commands)
    for index, command in enumerate(commands):
        if not runs[index]:
            continue
        tool = _tool_of(command, table, own_commands)
        if tool:
            tools[index] = tool
    return tools


def are_run(commands: Sequence[ShellCommand]) -> list[bool]:
    """Return whether each command of a line runs a program.

    A function or an alias that the line defines is not a program, and the body of a function that
    the line never calls does not run.
    """
    defined = _defined_names(commands)
    called = {
        command.words[0] for command in commands if command.words and not command.defines_function
    }

    runs: list[bool] = []
    uncalled_depth: int | None = None  # of a function; its body follows
    for command in commands:
        if uncalled_depth is not None and command.depth <= uncalled_depth:
            uncalled_depth = None
        if command.defines_function and uncalled_depth is None and command.words[0] not in called:
            uncalled_depth = command.depth

        is_program = not command.defines_function and command.words[:1] not in defined
        runs.append(is_program and uncalled_depth is None)
    return runs


def _defined_names(commands: Sequence[ShellCommand]) -> set[tuple[str, ...]]:
    """Return the names of functions and aliases that a line defines, each as the only word."""
    defined: set[tuple[str, ...]] = set()
    for command in commands:
        if command.defines_function:
            defined.add(command.words[:1])
        elif command.words[:1] == ("function",) and len(command.words) > 1:
            defined.add(command.words[1:2])
        elif command.words[:1] == ("alias",):
            defined.update((word.partition("=")[0],) for word in command.words[1:])
    return defined


def _tool_of(
    command: ShellCommand, table: ToolTable, own_commands: Sequence[tuple[str, ...]]
) -> str:
    """Return the name of the tool that a simple command runs.

    It is "" when the command runs none.
    """
    words: Sequence[str] = command.words
    if not words:
        return ""
    if any(_begins_as_own(words, own) for own in own_commands):
        return OWN_COMMANDS

    for _ in range(_CARRIER_LIMIT):
        tool = table.tool_begun_by(words)
        if tool is not None:
            runs_tests = tool.never.isdisjoint(words[1:])
            return tool.name if runs_tests else ""

        words = table.carried_by(words)
        if not words:
            break

    script = script_of(command.words)
    never = table.tools[SCRIPT_TOOL].never
    if table.is_test_script(script.path, script.argument) and never.isdisjoint(command.words):
        return SCRIPT_TOOL
    return ""


def _begins_as_own(words: Sequence[str], own: tuple[str, ...]) -> bool:
    """Return whether a command begins as one of the setting does, in whatever folder that is."""
    program = own[0].removeprefix("./")
    return f"/{words[0]}".endswith(f"/{program}") and tuple(words[1 : len(own)]) == own[1:]


def _tools_of_others(
    commands: Sequence[ShellCommand], runs: Mapping[int, str], table: ToolTable
) -> frozenset[str]:
    """Return the tools that the programs of commands may run which are not test runs here."""
    tools: set[str] = set()
    for index, command in enumerate(commands):
        if index not in runs and command.words:
            starts = table.starts.get(program_name(command.words[0]), ())
            tools.update(name for _, name in starts)
    return frozenset(tools)


def _hooks_in(
    commands: Sequence[ShellCommand], first_run_index: int, table: ToolTable
) -> Literal["", "before", "after"]:
    """Return where hooks run: before the first test run, or after.

    It is "" where none run.
    """
    for index, command in enumerate(commands):
        if _runs_hooks(command, table.hooks):
            return "before" if index < first_run_index else "after"
    return ""


def _runs_hooks(command: ShellCommand, subcommands: Collection[str]) -> bool:
    """Return whether a command is one of git that runs hooks."""
    if command.words[:1] != ("git",) or "--no-verify" in command.words:
        return False
    first_words = command.words[1 : 1 + _HOOK_WORD_LIMIT]
    return "stash" not in first_words and any(word in subcommands for word in first_words)


def _label(words: Sequence[str]) -> str:
    """Return the first words of a command, with nothing in them that could move a cursor."""
    label = ""
    for word in words:
        printable = _CONTROL.sub(" ", word[: LABEL_LIMIT + 1]).strip()
        longer = f"{label} {printable}".strip()
        if len(longer) > LABEL_LIMIT:
            return f"{label} …" if label else longer[: LABEL_LIMIT - 1] + "…"
        label = longer
    return label
