"""What the exit status of a whole line says about one command in it."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from scoring.evidence.commands.shell_command import ShellCommand
from scoring.evidence.commands.starters import FAIL_BY_THEMSELVES

_STOPS_ON_FAILURE = re.compile(r"set (?:-[a-z]*e|-[a-z]*o errexit)|exit\b|return\b")
_ENDS_WITH_SUCCESS = re.compile(r"(?:exit|return)(?: 0)?$")


class ExitProof(NamedTuple):
    """What the exit status of a line proves about one command in it.

    Attributes:
        of_success: whether a status of 0 proves that the command ran and succeeded.
        of_failure: whether another status proves that it ran and failed.
    """

    of_success: bool
    of_failure: bool


def exit_proof(commands: Sequence[ShellCommand], index: int, harmless: frozenset[str]) -> ExitProof:
    """Return what the status of a line proves about one of its commands.

    Args:
        commands: all commands of the line.
        index: which of them.
        harmless: programs that do not fail, or say so.
    """
    command = commands[index]
    if command.status_hidden or not command.is_last:
        return ExitProof(of_success=False, of_failure=False)

    required = commands_required_by(commands, index)
    earlier = commands[:index]
    texts = [" ".join(other.words) for other in earlier]

    # "?": its statement is in a branch that may not be reached
    first = [*required, command][0]
    is_reached = command.connector != "||" and first.connector != "?"
    may_end_early = any(_ENDS_WITH_SUCCESS.match(text) for text in texts)
    may_not_run = "xargs" in command.starters
    of_success = is_reached and not may_end_early and not may_not_run

    may_stop = any(_STOPS_ON_FAILURE.match(text) for text in texts)
    may_fail = not FAIL_BY_THEMSELVES.isdisjoint(command.starters)
    for other in earlier if may_stop else required:
        if other.connector == "|" or not harmless.intersection(other.words[:1]):
            may_fail = True
    return ExitProof(of_success, of_failure=not may_fail)


def commands_required_by(commands: Sequence[ShellCommand], index: int) -> list[ShellCommand]:
    """Return the commands that must have succeeded for one to be reached, in order."""
    first = index
    while first > 0 and commands[first].connector in ("&&", "|"):
        first -= 1
    return list(commands[first:index])
