"""What shell commands do to files, as a call notes it until its result comes."""

import posixpath
from collections.abc import Iterable, Sequence

from scoring.evidence.commands import git_commands
from scoring.evidence.commands.command_writes import folder_after, maybe_written, with_folders
from scoring.evidence.commands.file_writes import removed_paths, rewritten_path
from scoring.evidence.commands.shell import is_cut
from scoring.evidence.commands.shell_command import ShellCommand
from scoring.evidence.commands.verifier_programs import program_names
from scoring.evidence.transcripts.edits import PATHS_OF_A_CALL, PathTexts, lines_of_documents
from scoring.evidence.transcripts.events import (
    Edit,
    FileRemoved,
    PossibleEdit,
    UnseenEdit,
    WorkReset,
    key_of,
)
from scoring.evidence.transcripts.open_calls import OpenCall

NAMES_OF_A_CALL = 240
"""How many programs are kept of one call."""


def note_writes(
    opened: OpenCall, commands: Sequence[ShellCommand], text: str, paths: PathTexts
) -> None:
    """Note which files commands write, may write, and change in an unknown way."""
    placed = list(with_folders(commands, opened.folder))
    targets: list[str] = []
    for command, folder in placed:
        targets += [posixpath.join(folder, path) for path in command.writes]
    possible = list(dict.fromkeys(maybe_written(commands, opened.folder, text)))
    if is_cut(text, commands) or max(len(targets), len(possible)) > PATHS_OF_A_CALL:
        possible = ["$"]
    unseen = []
    removed = []
    for command, folder in placed:
        if not command.words:
            continue
        path = rewritten_path(command.words)
        if path:
            unseen.append(posixpath.join(folder, path))
        removed += [posixpath.join(folder, path) for path in removed_paths(command.words)]

    opened.note(Edit, paths.path_numbers(targets))
    opened.note(PossibleEdit, paths.path_numbers(possible))
    opened.note(UnseenEdit, paths.path_numbers(unseen))
    opened.note(FileRemoved, paths.path_numbers(removed[:PATHS_OF_A_CALL]))
    if targets:
        documents = lines_of_documents(text, targets)
        opened.written = paths.changes(documents, "", whole=">>" not in text)


def note_resets(opened: OpenCall, commands: Sequence[ShellCommand], paths: PathTexts) -> None:
    """Note what commands take back."""
    for reset in git_commands.resets(commands):
        folder = folder_after(commands, opened.folder)
        numbers: list[int | None] = [*paths.path_numbers(reset.paths, folder)]
        for number in numbers or [None]:
            opened.effects.append(WorkReset(*opened.place, reset.kind, number))


def program_keys(commands: Iterable[ShellCommand]) -> list[int]:
    """Return the keys of the programs that commands run, each once, as many as are kept."""
    names: list[str] = []
    for command in commands:
        if command.words and not command.defines_function:
            names += program_names(command.words)
    return [key_of(name) for name in dict.fromkeys(names[:NAMES_OF_A_CALL])]
