"""What a harness's own module provides, and what reading and counting ask of it.

Reading a transcript (:class:`LineReader`) looks at one line at a time and at nothing else, so that a large file can be
read in parts and a file that grew from where it was left. Counting (:class:`Counter`) sees the whole of every file.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import msgspec

from scoring.evidence.transcripts.rows import Rows
from scoring.evidence.transcripts.tally import Tally


class Home(NamedTuple):
    """A folder where a harness keeps transcripts.

    ``origin`` says how it is known. ``prefix`` is what the names of transcripts begin with; ``archive`` is whether they
    are kept copies, which count where there is no other.
    """

    path: Path
    origin: str
    prefix: str = ""
    archive: bool = False


class LineReader(Protocol):
    """Reads the lines of one part of a transcript, in order."""

    @property
    def decoder(self) -> msgspec.json.Decoder[Any]:
        """Decodes a line to what :meth:`take` takes."""

    def take(self, lines: Sequence[Any]) -> list[int]:
        """Take some decoded lines, and return the positions of those that another harness wrote."""

    def skip(self, reason: str) -> None:
        """Note that a line was skipped."""

    def rows(self) -> Rows:
        """Return what was taken."""


class Counter(Protocol):
    """Counts what the transcripts of a harness say, each deed once."""

    def add(self, file: int, rows: Rows, whole: bool) -> str:
        """Count a transcript, of which nothing is missing.

        Args:
            file: its number.
            rows: what it says.
            whole: whether it counts whole, or only the work done in the repository.

        Returns:
            Why nothing of it counts; "" when something may.
        """

    def finish(self) -> None:
        """Count what had to wait for all the transcripts."""


Ours = Callable[[str], bool]
"""Tells whether work in a folder is work in the repository."""

Again = Callable[[str], list[Rows]]
"""Reads the transcripts of a session, named by its id, once more."""


class Harness(Protocol):
    """A program that runs agents and writes transcripts."""

    @property
    def name(self) -> str:
        """Its name, as details and provenance write it."""

    def homes(self, environment: Mapping[str, str]) -> list[Home]:
        """Return the folders where it keeps transcripts; they need not be there."""

    def claims(self, keys: Mapping[str, Any]) -> bool:
        """Tell whether a line with these keys is one of its."""

    def joined(self, parts: Sequence[Rows]) -> Rows:
        """Put the parts of one transcript, in order, together."""

    def reader(self) -> LineReader:
        """Return what reads a part of a transcript."""

    def counter(self, tally: Tally, ours: Ours, again: Again) -> Counter:
        """Return what counts its transcripts into a tally."""
