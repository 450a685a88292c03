"""What the module of a harness provides.

See docs/ARCHITECTURE.md, "A harness".
"""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal, NamedTuple

from scoring.evidence.commands.testruns import TestTools
from scoring.evidence.transcripts.counter import CountedHarness
from scoring.evidence.transcripts.transcript_files import FileKind
from scoring.frozen import PlainData
from scoring.paths import expanded

from .event_reader import lines_in
from .json_reader import JsonReader


class ForeignFileError(Exception):
    """A file that is named as one of a harness was written by another program."""


class FileNames(NamedTuple):
    """How some files of a harness are named.

    Attributes:
        pattern: the pattern of their names, with ``*``.
        kind: what they are. What is ``other`` is no transcript, even if another pattern fits.
        folder: the end of the path of the folder that they are in, a pattern too; "": any folder.
    """

    pattern: str
    kind: FileKind | Literal["other"] = "lines"
    folder: str = ""

    def fit(self, path: str) -> bool:
        """Return whether a file is named so, and is in such a folder."""
        folder, name = os.path.split(path)
        if not fnmatchcase(name, self.pattern):
            return False
        return not self.folder or fnmatchcase(f"/{folder}", f"*/{self.folder}")


class Home(NamedTuple):
    """A folder to look in for transcripts.

    Attributes:
        path: the folder, which need not be there.
        origin: how it is known: a variable, or the usual place.
        prefix: how the names of transcripts begin.
        below: whether its sub-folders have transcripts too.
        names: how the files are named.
        harness: the harness that the files are of; "": of any.
        whole: whether they count whole.
    """

    path: Path
    origin: str
    prefix: str = ""
    below: bool = True
    names: Sequence[FileNames] = ()
    harness: str = ""
    whole: bool = False

    def inside(self, folder: str) -> "Home":
        """Return a folder in this one, known in the same way."""
        return self._replace(path=self.path / folder)


def home_named(
    environment: Mapping[str, str], variables: str, usual: str, below: str = ""
) -> Home:
    """Return a folder below the one that the first variable of some names, or the usual one.

    Its origin is the variable, or the usual folder.
    """
    for variable in variables.split():
        value = environment.get(variable, "").strip()
        if value:
            return Home(expanded(value) / below, variable)
    return Home(expanded(usual) / below, f"{usual}/{below}".rstrip("/"))


class Hook(NamedTuple):
    """How a harness runs a command when its agent stops.

    Attributes:
        file: the settings file of a project, or of a user's home.
        variable: the variable that may name another folder of the user.
        below: the path of the file in that folder.
        event: the name of the event.
        limit: what bounds the time of a hook, as the settings say it.
        key: the key of the command.
        flat: whether the hooks of an event are in one list, and not in groups.
        quiet: whether the command must not print, since that would be an answer.
        at_home: where else the file is in a home.
        personal: the settings file of a project that is for one person alone; "" without one.
    """

    file: str
    variable: str = ""
    below: str = ""
    event: str = "Stop"
    limit: Mapping[str, int] = {"timeout": 30}
    key: str = "command"
    flat: bool = False
    quiet: bool = True
    at_home: str = ""
    personal: str = ""


class Copy(NamedTuple):
    """A file that may be one of several copies of a transcript.

    Attributes:
        transcript: what all copies have in common.
        archived: whether it only counts where it is the only copy.
    """

    transcript: str
    archived: bool


class Harness(CountedHarness):
    """A program that runs agents and writes transcripts. It holds no state of a reading.

    Attributes:
        files: how its transcripts are named.
        hook: how it runs a command when its agent stops; None where it cannot, or that is not
            known.
        reader: makes a reader of one transcript, from the test tools; None: those of the table.
        keys: the keys that each of its lines, or documents, has; none where they do not tell.
        places: where it keeps transcripts: variables that may name a folder, the usual folder
            without them, and what is below it.
    """

    files: Sequence[FileNames] = (FileNames("*.jsonl"), FileNames("*.jsonl.zst"))
    hook: Hook | None = None
    reader: Callable[[TestTools | None], JsonReader]
    keys: frozenset[str] = frozenset()
    places: Sequence[tuple[str, str, str]] = ()

    @property
    def writes_documents(self) -> bool:
        """Whether some of its transcripts are one JSON text each."""
        return any(names.kind == "document" for names in self.files)

    def homes(self, environment: Mapping[str, str]) -> list[Home]:
        """Return the folders where it keeps transcripts, by the variables of an environment."""
        homes: dict[Path, Home] = {}
        for place in self.places:
            home = home_named(environment, *place)
            homes.setdefault(home.path, home)
        return list(homes.values())

    def lines_of(self, path: Path) -> Iterable[bytes]:
        """Yield the lines of a store.

        Raises:
            OSError: it cannot be read, or its form is not known.
            ForeignFileError: another program wrote it.
        """
        return lines_in(path)

    def shown(self, path: Path) -> PlainData:  # noqa: ARG002 - for those that need it
        """Return what the place of a store shows, and its lines do not."""
        return {}

    def sibling_files(self, path: Path) -> list[Path] | None:  # noqa: ARG002 - for stores
        """Return the files that change a store, or None where they are not known."""
        return None

    def copy(self, path: Path) -> Copy | None:  # noqa: ARG002 - for those that copy
        """Return of which transcript a file is a copy, by its path, or None without copies."""
        return None

    def claims(self, line: PlainData) -> bool:
        """Return whether a line, or a document, is one of its."""
        return bool(self.keys) and line.keys() >= self.keys
