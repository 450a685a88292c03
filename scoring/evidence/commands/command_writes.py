"""Where the commands of a line run one after the other, and which files they may write."""

import posixpath
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from scoring.evidence.commands.file_writes import EXPANDED, possible_targets
from scoring.evidence.commands.programs import Words, is_option
from scoring.evidence.commands.run_folders import TEMPORARY_FOLDERS
from scoring.evidence.commands.shell import commands_of
from scoring.evidence.commands.shell_command import Commands, ShellCommand

_UNKNOWN_FOLDERS = ("-", "$", "~")
"""How the argument of ``cd`` begins when the folder is not known."""

_CHANGE_FOLDER = (("cd",), ("pushd",), ("popd",))
_UNKNOWN = "$"


class PlacedCommand(NamedTuple):
    """A command, and the folder that it runs in as far as ``cd`` says so in plain words."""

    command: ShellCommand
    folder: str


def folder_after(commands: Iterable[ShellCommand], folder: str) -> str:
    """Return the folder in which commands end that start in a folder.

    Only ``cd`` with one plain word changes it.
    """
    for command in commands:
        is_cd = command.words[:1] == ("cd",) and len(command.words) == 2
        if is_cd and command.words[1] and not command.words[1].startswith(_UNKNOWN_FOLDERS):
            folder = posixpath.join(folder, command.words[1])
    return folder


def with_folders(commands: Iterable[ShellCommand], folder: str) -> Iterator[PlacedCommand]:
    """Yield each command with the folder that it runs in.

    The first one runs in ``folder``.
    """
    for command in commands:
        yield PlacedCommand(command, folder)
        folder = folder_after((command,), folder)


def maybe_written(commands: Commands, folder: str, line: str) -> Iterator[str]:
    """Yield the paths that commands may write, where no plain words say which.

    ``$`` in a path means anything.

    Args:
        commands: the commands of a line.
        folder: where they start.
        line: the text of the line.
    """
    starts_in_temporary = folder.startswith(TEMPORARY_FOLDERS)
    is_lost = False  # whether it is unknown where the line goes on

    for placed in with_folders(commands, folder):
        for path in _possible_paths(placed, line, is_lost=is_lost):
            if path.startswith(TEMPORARY_FOLDERS) and not starts_in_temporary:
                continue
            yield path if EXPANDED.search(path) else f"{_UNKNOWN}/{path}"

        is_lost = is_lost or _leaves_folder_unknown(placed.command)


def _possible_paths(placed: PlacedCommand, line: str, *, is_lost: bool) -> Iterator[str]:
    """Yield the paths that one command may write."""
    command = placed.command
    parts = [command]
    if command.words[:1] == ("eval",):
        parts += commands_of(" ".join(command.words[1:]))

    folder = _UNKNOWN if is_lost else placed.folder
    for part in parts:
        for path in part.writes:
            if is_lost or len(parts) > 1 or EXPANDED.search(path):
                yield posixpath.join(_UNKNOWN, path) if is_lost else path
        if part.words:
            takes_words = "xargs" in part.starters
            for path in possible_targets(part.words, line, takes_words=takes_words):
                yield posixpath.join(folder, path)


def _leaves_folder_unknown(command: ShellCommand) -> bool:
    """Return whether it is unknown after a command where the line goes on."""
    if command.words[:1] not in _CHANGE_FOLDER:
        return False
    if command.depth or command.connector in ("&&", "||", "?"):
        return True
    return not folder_after((command,), "")


def work_trees_added(words: Words) -> list[str]:
    """Return the words that may be the folder of a work tree that a ``git`` command adds."""
    if words[:1] != ("git",) or "worktree" not in words:
        return []

    arguments = list(words[words.index("worktree") + 1 :])
    if arguments[:1] != ["add"]:
        return []
    return [word for word in arguments[1:] if not is_option(word)]
