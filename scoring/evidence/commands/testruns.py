"""The test tools as transcripts ask for them: which commands run tests, and how a run ended."""

from collections.abc import Sequence

from scoring.evidence.commands.shell_command import ShellCommand
from scoring.evidence.commands.testcommands import TestCommand, find_test_command
from scoring.evidence.commands.testverdicts import TestVerdict, verdict_of
from scoring.evidence.commands.tool_table import tool_table


class TestTools:
    """The test tools of a repository: those of the table, and the setting ``test-commands``."""

    def __init__(self, own_commands: Sequence[str] = ()) -> None:
        """Take the beginnings of commands that run tests here, such as ``./check --all``."""
        self._table = tool_table()
        self._own_commands = [tuple(text.split()) for text in own_commands if text.strip()]
        self._own_programs = [words[0].removeprefix("./") for words in self._own_commands]

    def may_run(self, line: str) -> bool:
        """Return whether a command line can be a test run at all.

        This is quick, and never False for a line that is one.
        """
        if self._table.may_run.search(line) is not None:
            return True
        return any(program in line for program in self._own_programs)

    def run_of(
        self, commands: Sequence[ShellCommand], line: str, *, stashed: bool = False
    ) -> TestCommand | None:
        """Return what tests a command line runs.

        Return None when it runs none.

        Args:
            commands: the commands of the line.
            line: its text.
            stashed: whether an earlier line left the work in a stash.
        """
        return find_test_command(commands, line, self._table, self._own_commands, stashed=stashed)

    def verdict(
        self, command: TestCommand | None, output: str, failed: bool | None
    ) -> TestVerdict | None:
        """Return how a test run ended.

        Return None where no test can have run.

        Args:
            command: the command line; None where only its result is known.
            output: what the line printed.
            failed: whether the call failed by its status; None when it is not stated.
        """
        return verdict_of(command, output, failed, self._table)
