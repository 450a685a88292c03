"""What the objective checks ask of a tool call: whether it ran tests, or read the loop state.

These checks are older than :mod:`scoring.evidence.commands.testruns`. They know a test tool by its
name alone, wherever in a command line the name is.
"""

import re
from enum import Flag


class CallFlag(Flag):
    """What a call of a tool shows to the objective checks. The store has the numbers.

    Attributes:
        NOTHING: none of the others.
        SHELL: it runs shell commands.
        TESTS: its commands name a test tool.
        LOOP_STATE: it reads the loop state.
    """

    NOTHING = 0
    SHELL = 2
    TESTS = 4
    LOOP_STATE = 8


TEST_COMMANDS = (
    "go test",
    "pytest",
    "npm test",
    "yarn test",
    "make test",
    "cargo test",
    "rspec",
    "phpunit",
)
LOOP_STATE_FILE = "loop-state.md"

_SHOW_FILES = ("cat", "sed", "head", "tail")
_SEPARATOR = re.compile(r"[|;&>\n]")
_WORD = re.compile(r"[\w./~$*+@%-]+")
_WRITES_IN_PLACE = re.compile(r"-\w*i|--in-place")


def is_test_command(command: str) -> bool:
    """Return whether a shell command has the name of a known test tool anywhere in its text."""
    return any(name in command for name in TEST_COMMANDS)


def reads_loop_state(path: str) -> bool:
    """Return whether a path, or a word, ends with the name of the file of the loop state."""
    return path.endswith(LOOP_STATE_FILE)


def command_flags(command: str) -> CallFlag:
    """Return what a call of a shell shows: SHELL, and TESTS and LOOP_STATE where they apply.

    TESTS applies where its text has the name of a test tool anywhere, run or not. LOOP_STATE
    applies where one of its commands shows the file of the loop state.
    """
    flags = CallFlag.SHELL
    if is_test_command(command):
        flags |= CallFlag.TESTS
    if LOOP_STATE_FILE in command and any(
        map(_shows_loop_state, _SEPARATOR.split(command))
    ):
        flags |= CallFlag.LOOP_STATE
    return flags


def _shows_loop_state(command: str) -> bool:
    """Return whether a single command shows the file of the loop state.

    ``sed -i`` does not: it writes the file.
    """
    reader = ""
    for word in _WORD.findall(command):
        program = word.rpartition("/")[2]
        if program in _SHOW_FILES:
            reader = program
        elif reader == "sed" and _WRITES_IN_PLACE.match(word):
            reader = ""
        elif reader and reads_loop_state(word):
            return True
    return False
