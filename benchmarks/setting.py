"""What every part of a measurement is given."""

from dataclasses import dataclass
from pathlib import Path

from benchmarks.corpus import Corpus


@dataclass(frozen=True, slots=True)
class Setting:
    """A backlog, a directory to work in, and how much to measure.

    ``directory`` is on the file system of the backlog, so that transcripts can be linked. ``out``
    is where the document lies; ``plots`` tells whether to draw; ``trunk`` is the length of a long
    trunk.
    """

    corpus: Corpus
    directory: Path
    repeat: int
    out: Path
    plots: bool
    trunk: int

    def room(self, name: str) -> Path:
        """Make a directory for one's own use."""
        room = self.directory / name
        room.mkdir()
        return room
