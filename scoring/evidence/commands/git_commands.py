"""What commands of git make and take back, and the commits that git reports."""

import re
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise
from typing import Literal, NamedTuple

from scoring.evidence.commands.programs import base_name, git_subcommand_index, is_option
from scoring.evidence.commands.run_folders import folder_of
from scoring.evidence.commands.shell_command import ShellCommand

ROOT_COMMIT = "(root-commit)"
"""What git writes after the branch of the first commit of a repository."""

_COMMIT_LINE = re.compile(
    r"^\[([^\[\]\n]{1,255}) ([0-9a-f]{7,40})\] ([^\r\n]{0,1000})", re.MULTILINE
)
_COMMIT_LINE_LIMIT = 1000
"""How many commits of one output are read, the first ones."""

_MAKE_COMMITS = frozenset({"commit", "cherry-pick", "revert", "rebase", "merge"})
_CONTINUE_A_REVERT = frozenset({"--abort", "--continue", "--quit", "--skip"})
_RESTORE_VALUED_OPTIONS = frozenset({"-s", "--source", "--pathspec-from-file", "--conflict"})

_REMOTE_REVISION = re.compile(r"(?:remotes/)?(?:origin|upstream)/|FETCH_HEAD|\S*@\{u")
"""A revision of a remote: to reset to it updates the work tree."""

_FOLDER_OPTIONS = ("-C",)

ResetKind = Literal["hard", "paths", "revert", "amend"]
"""``git reset --hard``; files restored from git; ``git revert``; ``git commit --amend``."""


class CommitLine(NamedTuple):
    """A commit as git reports it.

    Attributes:
        branch: what is before the digits: a branch, ``detached HEAD``, with :data:`ROOT_COMMIT`.
        sha: 7 to 40 hexadecimal digits.
        subject: the first line of its message.
    """

    branch: str
    sha: str
    subject: str


class CommitRequest(NamedTuple):
    """A command that has git make commits.

    Attributes:
        folder: the folder it runs in, from that of the line; None where no plain word says it.
        amends: whether it amends the last commit.
    """

    folder: str | None
    amends: bool


class Reset(NamedTuple):
    """Work that a command takes back.

    Attributes:
        kind: what takes it back.
        paths: the files and folders for the kind "paths", as written.
    """

    kind: ResetKind
    paths: tuple[str, ...] = ()


class _GitCommand(NamedTuple):
    """A command of git: its position in the line, its subcommand and the words after that."""

    position: int
    subcommand: str
    arguments: tuple[str, ...]


def commit_requests(commands: Sequence[ShellCommand]) -> list[CommitRequest]:
    """Return the commands of a line that have git make commits, in order."""
    requests: list[CommitRequest] = []
    for command in _git_commands(commands):
        if command.subcommand in _MAKE_COMMITS:
            folder = folder_of(commands, command.position, _FOLDER_OPTIONS)
            requests.append(CommitRequest(folder, amends="--amend" in command.arguments))
    return requests


def commit_lines(output: str) -> list[CommitLine]:
    """Return the commits that an output reports in lines ``[BRANCH SHA] SUBJECT``, in order."""
    matches = islice(_COMMIT_LINE.finditer(output), _COMMIT_LINE_LIMIT)
    return [CommitLine(match[1], match[2], match[3].strip()) for match in matches]


def resets(commands: Sequence[ShellCommand]) -> list[Reset]:
    """Return what a command line takes back, in order.

    A command that only changes the index takes nothing back.
    """
    taken_back: list[Reset] = []
    for command in _git_commands(commands):
        reset = _reset_of(command)
        if reset is not None:
            taken_back.append(reset)
    return taken_back


def _git_commands(commands: Sequence[ShellCommand]) -> Iterator[_GitCommand]:
    for index, command in enumerate(commands):
        words = command.words
        if not words or base_name(words[0]) not in ("git", "git.exe"):
            continue

        subcommand_index = git_subcommand_index(words)
        if subcommand_index < len(words):
            yield _GitCommand(index, words[subcommand_index], words[subcommand_index + 1 :])


def _reset_of(command: _GitCommand) -> Reset | None:
    """Return what a command of git takes back.

    Return None where it takes nothing back.
    """
    subcommand = command.subcommand
    arguments = command.arguments

    if subcommand == "reset" and "--hard" in arguments:
        is_update = any(_REMOTE_REVISION.match(argument) for argument in arguments)
        return None if is_update else Reset("hard")
    if subcommand == "commit" and "--amend" in arguments:
        return Reset("amend")
    if subcommand == "revert" and _CONTINUE_A_REVERT.isdisjoint(arguments):
        return Reset("revert")

    paths: tuple[str, ...] = ()
    if subcommand == "checkout" and "--" in arguments:
        paths = arguments[arguments.index("--") + 1 :]
    elif subcommand == "restore" and not _restores_index_alone(arguments):
        paths = _restored_paths(arguments)
    return Reset("paths", paths) if paths else None


def _restores_index_alone(arguments: Sequence[str]) -> bool:
    of_index = not {"--staged", "-S"}.isdisjoint(arguments)
    of_work_tree = not {"--worktree", "-W"}.isdisjoint(arguments)
    return of_index and not of_work_tree


def _restored_paths(arguments: Sequence[str]) -> tuple[str, ...]:
    """Return the paths of ``git restore``, without the value of its first option that has one."""
    value = ""
    for argument, following in pairwise(arguments):
        if argument in _RESTORE_VALUED_OPTIONS:
            value = following
            break
    return tuple(word for word in arguments if not is_option(word) and word != value)
