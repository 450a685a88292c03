"""The transcripts that were found, and what was read of each."""

from pathlib import Path
from typing import Literal, NamedTuple

from scoring.evidence.git.repository import GitRepository

from .facts import FileFound, RootFound
from .transcript_events import EventsByHarness

UNKNOWN_KIND = "of a kind that is not known: "
"""How the reason to skip a line of an unknown kind begins. The name of the kind follows."""


FileKind = Literal["lines", "document", "store"]
"""The form of a transcript.

``lines``: each line is a JSON text. ``document``: the file is one JSON text. ``store``: the harness
makes the lines itself, as of a database, or of a file that is known by its name.
"""


class TranscriptFile(NamedTuple):
    """A transcript to read: a file, or objects in git.

    Attributes:
        name: the path of the file. Objects in git have a name that looks like a path.
        whole: whether all of it counts, and not only the work done in the repository.
        kind: its form.
        blobs: the ids of the objects in git, in the order of the transcript; empty for a file.
        repository: the repository that has the objects; None for a file.
        size: how many bytes the objects have in all; 0 for a file.
        session: the id of the session of which a checkpoint holds this copy; "" for a file.
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
        """The name as a path. It is made when asked for, since many paths take much memory."""
        return Path(self.name)

    @property
    def compressed(self) -> bool:
        """Whether it must be decompressed."""
        return self.name.endswith(".zst")


class Discovery(NamedTuple):
    """What looking for transcripts found.

    Attributes:
        transcripts: the transcripts to read, each once.
        left_out: files that are not read, as they are copies, and transcripts that are not here.
        roots: the places that were looked in.
    """

    transcripts: tuple[TranscriptFile, ...] = ()
    left_out: tuple[FileFound, ...] = ()
    roots: tuple[RootFound, ...] = ()

    def with_others(self, other: "Discovery") -> "Discovery":
        """Return this with what another discovery found, at the end of each field."""
        return Discovery(
            self.transcripts + other.transcripts,
            self.left_out + other.left_out,
            self.roots + other.roots,
        )


class FileRead(NamedTuple):
    """What was read of a transcript.

    Attributes:
        events: its events; None where it cannot be read. In a worker process always None.
        warnings: what was skipped, in words.
        encoded: the events as a worker process encoded them; None where this process read the
            transcript, or it cannot be read.
        seconds: how much processor time the reading took.
        refusal: which bound it exceeds, in words, so that it is not read at all; "" otherwise.
    """

    events: EventsByHarness | None
    warnings: list[str]
    encoded: bytes | None = None
    seconds: float = 0.0
    refusal: str = ""
