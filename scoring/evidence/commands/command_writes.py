"""Where commands run and which files they may write, as far as plain words say so."""

import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence

from scoring.evidence.commands.file_writes import possible_targets
from scoring.evidence.commands.run_folders import TEMPORARY_FOLDERS
from scoring.evidence.commands.shell import ShellCommand, commands_of

_EXPANDED = re.compile(r"[$`*?\[{]")
"""What a shell replaces in a path."""

_UNKNOWN_FOLDERS = frozenset(("-", "$", "~", ""))
"""How the argument of ``cd`` begins when the folder is not known."""

_MOVES = (("cd",), ("pushd",), ("popd",))


def folder_after(commands: Iterable[ShellCommand], folder: str) -> str:
    """Return the folder in which commands end.

    Only ``cd`` with one plain word changes it; anything else leaves it as it is.
    """
    for command in commands:
        is_cd = command.words[:1] == ("cd",) and len(command.words) == 2
        if is_cd and command.words[1][:1] not in _UNKNOWN_FOLDERS:
            folder = posixpath.join(folder, command.words[1])
    return folder


def with_folders(
    commands: Iterable[ShellCommand], folder: str
) -> Iterator[tuple[ShellCommand, str]]:
    """Yield each command with the folder in which it runs, where the first runs in ``folder``."""
    for command in commands:
        yield command, folder
        folder = folder_after((command,), folder)


def maybe_written(commands: Sequence[ShellCommand], folder: str, text: str) -> Iterator[str]:
    """Yield the paths that commands may write, where no plain words say which.

    Args:
        commands: the commands, in order.
        folder: where they start.
        text: the whole text of the commands.

    Returns:
        Paths in which ``$`` stands for what is not known.
    """
    unknown_start = ""
    for command, here in with_folders(commands, folder):
        for path in _possible_targets(command, here, unknown_start, text):
            in_temporary = path.startswith(TEMPORARY_FOLDERS)
            if in_temporary and not folder.startswith(TEMPORARY_FOLDERS):
                continue
            yield path if _EXPANDED.search(path) else f"$/{path}"

        if _moves_somewhere(command):
            unknown_start = "$"


def _possible_targets(command: ShellCommand, here: str, unknown_start: str, text: str) -> list[str]:
    """Return the paths that one command may write, from the folder ``here``."""
    evaluated: Sequence[ShellCommand] = ()
    if command.words[:1] == ("eval",):
        evaluated = commands_of(" ".join(command.words[1:]))

    redirected = list(command.writes)
    for inner in evaluated:
        redirected += inner.writes
    paths = [
        posixpath.join(unknown_start, path)
        for path in redirected
        if unknown_start or evaluated or _EXPANDED.search(path)
    ]

    for part in (command, *evaluated):
        if part.words:
            targets = possible_targets(part.words, text, takes_words="xargs" in part.through)
            paths += [posixpath.join(unknown_start or here, path) for path in targets]
    return paths


def _moves_somewhere(command: ShellCommand) -> bool:
    """Return whether a command may change the folder in a way that is not known afterwards."""
    if command.words[:1] not in _MOVES:
        return False
    if command.depth or command.after in ("&&", "||", "?"):
        return True
    return not folder_after((command,), "")


def work_trees_added(words: Sequence[str]) -> list[str]:
    """Return what may be the folder of a work tree that a git command adds."""
    if words[:1] != ("git",) or "worktree" not in words:
        return []
    arguments = list(words[words.index("worktree") + 1 :])
    if arguments[:1] != ["add"]:
        return []
    return [word for word in arguments[1:] if not word.startswith("-")]
