"""The paths and other texts that events name, each once, and what sessions wrote into files."""

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import NamedTuple, TypeAlias

from scoring.evidence.transcripts.edits import KnownFiles, path_in
from scoring.evidence.transcripts.events import TEXT_LIMIT, Hashes

PATHS_OF_A_CALL = 240
"""How many paths are kept of one call."""

AddedLines: TypeAlias = Mapping[str, Hashes]
"""The lines that an edit adds and takes away, by path."""

NO_LINES: AddedLines = {}


class FileChange(NamedTuple):
    """What a call changes of the lines of a file.

    Attributes:
        path: the path of the file.
        number: the number of that text.
        hashes: the lines that it adds and takes away.
    """

    path: str
    number: int
    hashes: Hashes


class PathTexts:
    """The texts of one transcript.

    Attributes:
        texts: the number of each text.
        files: what the session wrote and was shown of files.
    """

    def __init__(self) -> None:
        self.texts: dict[str, int] = {}
        self.files = KnownFiles()

    def path_numbers(self, paths: Iterable[str], folder: str = "") -> list[int]:
        """Return the numbers of paths, each once, as many as are kept of one call."""
        numbers: dict[int | None, None] = {}
        for path in islice(filter(None, paths), PATHS_OF_A_CALL):
            numbers[self.number(path_in(folder, path))] = None
        return [number for number in numbers if number is not None]

    def changes(self, lines: AddedLines, folder: str, *, whole: bool) -> list[FileChange]:
        """Return what changes of the lines of each file.

        Args:
            lines: what a call writes, by path.
            folder: where relative paths begin.
            whole: whether ``lines`` are all lines of the files.
        """
        changes: dict[str, Hashes] = {}
        for name, hashes in islice(lines.items(), PATHS_OF_A_CALL):
            path = path_in(folder, name)
            changes[path] = self.files.change(path, hashes, whole)

        numbered = []
        for path, change in changes.items():
            if not change:
                continue
            number = self.number(path)
            if number is not None:
                numbered.append(FileChange(path, number, change))
        return numbered

    def take_back(self, changes: Iterable[FileChange]) -> None:
        """Note that a call was refused or failed, so that its changes are not in the files."""
        for change in changes:
            self.files.take_back(change.path, change.hashes)

    def number(self, text: str) -> int | None:
        """Return the number of a text, or None where it is too long to be kept."""
        if len(text) > TEXT_LIMIT:
            return None
        return self.texts.setdefault(text, len(self.texts))
