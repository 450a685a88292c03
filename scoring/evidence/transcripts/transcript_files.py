"""The transcripts that were found, and what was read of each."""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple, Protocol, TypeAlias

from scoring.evidence.git.repository import GitRepository

from .facts import FileFound, RootFound
from .transcript_events import EventsByHarness

UNKNOWN_KIND = "of a kind that is not known: "
"""Begins the reason to skip a line of an unknown kind; the name of the kind follows."""


FileKind: TypeAlias = Literal["lines", "document", "store"]
"""What a transcript is.

``lines`` are JSON, one text a line. A ``document`` is one JSON text, which is read as a whole. A
``store`` is something else, such as a database, of which its harness makes lines.
"""


class TranscriptFile(NamedTuple):
    """A transcript to read: a file, or objects in git.

    Attributes:
        name: its path. Objects in git have a name that looks like one.
        whole: whether all of it counts, and not only the work done in the repository.
        kind: what it is.
        blobs: the ids of the objects in git, in order; none for a file.
        repository: the repository that has these.
        size: how many bytes these have in all.
        session: the id of the session of which it is a copy, in a checkpoint.
    """

    name: str
    whole: bool
    kind: FileKind = "lines"
    blobs: tuple[str, ...] = ()
    repository: GitRepository | None = None
    size: int = 0
    session: str = ""

    @property
    def path(self) -> Path:
        """Its path. It is made when asked for, since the paths of many files take much memory."""
        return Path(self.name)

    @property
    def compressed(self) -> bool:
        """Whether it must be decompressed."""
        return self.name.endswith(".zst")


class Discovery(NamedTuple):
    """What was found.

    Attributes:
        transcripts: the transcripts to read.
        left_out: copies that are not read, and transcripts that are not here.
        roots: the places that were looked in.
    """

    transcripts: tuple[TranscriptFile, ...] = ()
    left_out: tuple[FileFound, ...] = ()
    roots: tuple[RootFound, ...] = ()

    def with_others(self, other: "Discovery") -> "Discovery":
        """Return what was found here and there."""
        return Discovery(
            self.transcripts + other.transcripts,
            self.left_out + other.left_out,
            self.roots + other.roots,
        )


class FileRead(NamedTuple):
    """What was read of a transcript.

    Attributes:
        events: its events; None where it cannot be read.
        warnings: what was skipped, in words.
        encoded: the events as a worker process encoded them; None where this process read it.
    """

    events: EventsByHarness | None
    warnings: list[str]
    encoded: bytes | None = None


class TranscriptPool(Protocol):
    """Transcripts that are being read, maybe by other processes."""

    def results(self) -> Iterator[tuple[int, FileRead]]:
        """Yield the number of each transcript and what was read of it."""

    def close(self) -> None:
        """Stop, and leave what is not read yet."""
