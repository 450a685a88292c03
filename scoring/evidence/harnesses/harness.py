"""What the module of a harness provides, and what such modules have in common: long, as it is all an author needs."""

from collections import Counter as Counts
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import msgspec

from scoring.evidence.commands.testruns import TestTools
from scoring.evidence.harnesses.fields import BROKEN, decoded, is_too_deep, keys_of
from scoring.evidence.transcripts.counter import EventsOfSession, TranscriptCounter
from scoring.evidence.transcripts.events import Event, LineSpan, TranscriptEvents


class Home(NamedTuple):
    """A folder where a harness keeps transcripts, names beginning with ``prefix``; ``origin`` is how it is known."""

    path: Path
    origin: str
    prefix: str = ""
    below: bool = True


class FileNames(NamedTuple):
    """How the files of a harness are named: a pattern with ``*``, and the ``folder`` that they are in ("": in any).

    ``folder`` is the end of its path, a pattern too. A ``document`` is one JSON text and is read whole. Of a ``store``
    the harness makes the lines itself, as of a database. Any other file is read line by line. What is beside
    transcripts and ``none`` is left out, whatever other patterns say.
    """

    pattern: str
    document: bool = False
    folder: str = ""
    store: bool = False
    none: bool = False


class Hook(NamedTuple):
    """How a harness runs a command when its agent stops: in which settings ``file`` of a project, or of a user's home.

    ``variable`` may name another folder of the user, in which the file is ``below``; ``at_home`` is where else it is in
    a home. Hooks of an event are in groups, or in one ``flat`` list. ``limit`` bounds the time of one. A ``quiet`` one
    must not print: that would be an answer.
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


class Copy(NamedTuple):
    """A file that may be one of several copies of a transcript, for which ``transcript`` is the same.

    An ``archived`` one counts only where there is no other; ``left_out`` is what is reported of those not read.
    """

    transcript: str
    archived: bool
    left_out: str


NOT_JSON, OTHER_TYPE, NO_TIME = (
    "not JSON",
    "a field of another type",
    "no time stamp",
)  # why a line is skipped
TOO_DEEP, TOO_LONG, HALF_WRITTEN = "nested too deep", "over 16 MiB", "half-written last line"
UNKNOWN_KIND = "of a kind that is not known: "  # likewise, before the name of the kind
MODEL_LIMIT = 200  # how many characters of the name of a model are kept

HASHED_FOLDER = "sha256:"  # before the SHA-256 of the path of a folder of which only that is known
SPELLED_FOLDER = (
    "spelled:"  # before a path that has a dash for each slash and dot, without the first slash
)


class JsonReader:
    """Reads the lines of a transcript, in order, into its events."""

    decoder: ClassVar[msgspec.json.Decoder[Any]]
    goes_on: ClassVar[bool] = (
        False  # whether more lines may be read when the rows were returned, and rows again
    )

    def __init__(self) -> None:
        self.skipped: Counts[str] = Counts()
        self.counted: defaultdict[type[Event], list[Any]] = defaultdict(list)
        self.number = 0  # in the file, of the first of the lines that are taken
        self.behind = 0  # the number of the line after the last block
        self._block = b""
        self._written: Sequence[bytes] | None = None

    @property
    def written(self) -> Sequence[bytes]:
        """The lines that are taken, as they are written."""
        if self._written is None:
            self._written = self._block.split(b"\n")
        return self._written

    def take(self, lines: Sequence[Any]) -> list[int]:
        """Take some decoded lines, and return the positions of those that another harness wrote."""
        raise NotImplementedError

    def events(self) -> TranscriptEvents:
        """Return the events that were read."""
        raise NotImplementedError

    def block(self, block: bytes) -> Sequence[tuple[int, bytes]]:
        """Read some whole lines, and return those to read one by one, with their numbers: odd and other harnesses'."""
        try:
            lines = self.decoder.decode_lines(block)
        except BROKEN:  # one of them is odd
            lines = None
        if lines is None or not _has_lines(block, len(lines)):  # blank ones are in between
            written = block.split(b"\n")
            self.behind = self.number + len(written) - 1
            return list(enumerate(written))
        self._block, self._written, self.behind = block, None, self.number + len(lines)
        foreign = self.take(lines)
        return [(number, self.written[number]) for number in foreign]

    def line(self, line: bytes, broken: str = NOT_JSON) -> None:
        """Read one line, or one document; ``broken`` is the reason to skip it when it is no JSON."""
        self._written = (line,)
        try:
            try:
                values = self.decoder.decode_lines(line)  # several where a line break is missing
            except BROKEN:
                values = [decoded(self.decoder, line)]
            for value in values:
                self.take([value])
        except RecursionError:
            self.skip(TOO_DEEP)
        except msgspec.ValidationError:
            self.skip(TOO_DEEP if is_too_deep(line) else OTHER_TYPE)
        except (msgspec.MsgspecError, ValueError):
            self.skip(broken)

    def skip(self, reason: str) -> None:
        """Note that a line was skipped."""
        self.skipped[reason] += 1


class Harness:
    """A program that runs agents and writes transcripts. Holds no state of a reading."""

    name: str  # as details and provenance write it; "" when it is not reported
    files: Sequence[FileNames] = (
        FileNames("*.jsonl"),
        FileNames("*.jsonl.zst"),
    )  # how its transcripts are named
    hook: Hook | None = (
        None  # how it runs a command when its agent stops; None where it cannot, or that is not known
    )
    reader: Callable[
        [TestTools | None], JsonReader
    ]  # without test tools what is done in a transcript is not looked at
    keys: frozenset[str]  # those that each of its lines, or documents, has
    # Where it keeps transcripts: variables that may name a folder, the usual one in its stead, what is below it.
    places: Sequence[tuple[str, str, str]] = ()
    counter: type[TranscriptCounter] = TranscriptCounter  # counts its transcripts into a tally
    input_holds_cached = (
        False  # whether the input that it states has in it what was read from the cache
    )

    @property
    def writes_documents(self) -> bool:
        """Whether some of its transcripts are one JSON text each."""
        return any(names.document for names in self.files)

    def homes(self, environment: Mapping[str, str]) -> list[Home]:
        """Return the folders where it keeps transcripts; they need not be there."""
        found: dict[Path, Home] = {}
        for variables, usual, below in self.places:
            name = next(
                (name for name in variables.split() if environment.get(name, "").strip()), ""
            )
            path = Path(environment[name].strip() if name else usual).expanduser() / below
            found.setdefault(path, Home(path, name or f"{usual}/{below}"))
        return list(found.values())

    def lines_of(self, path: Path) -> Iterable[bytes]:
        """Yield the lines of a store (raises OSError: it cannot be read, or is in a form that is not known)."""
        raise NotImplementedError

    def beside(self, path: Path) -> Sequence[Path] | None:  # noqa: ARG002 - for those that have stores
        """Return the files beside a store that change it when they change; None where these are not known."""
        return None

    def copy(self, path: Path) -> Copy | None:  # noqa: ARG002 - for those that copy
        """Return of which transcript a file is a copy, by its path alone; None when there are no copies of it."""
        return None

    def claims(self, line: bytes) -> bool:
        """Say whether a line, or a document, is one of its."""
        return keys_of(line) >= self.keys

    def folders(self, spans: Sequence[LineSpan]) -> list[str]:
        """Return, for each span of a transcript, the folder its work was done in; "" where that is not said."""
        return [span.cwd for span in spans]

    def original(self, events: TranscriptEvents, again: EventsOfSession) -> TranscriptEvents:  # noqa: ARG002 - for those that repeat lines
        """Return what was observed without the lines of a fork that only repeat another session's, stamped anew.

        ``again`` gives the rows of a session, as they were read.
        """
        return events

    def joined(
        self,
        first: TranscriptEvents,  # noqa: ARG002 - for those with totals
        second: TranscriptEvents,  # noqa: ARG002
        shift: int,  # noqa: ARG002
    ) -> TranscriptEvents | None:
        """Return two parts of a transcript as one, the numbers of the second's lines higher by ``shift``.

        None where what a line counts depends on no line before it.
        """
        return None


def _has_lines(block: bytes, count: int) -> bool:
    """Say whether so many line breaks end with the block; a few lines are found faster than all breaks are counted."""
    at, find = 0, block.find
    for _ in range(count):
        at = find(b"\n", at) + 1
    return at == len(block)
