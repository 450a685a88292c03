"""Reads many transcripts, in several processes while the caller does something else, and sums up what they say.

The work is cut into tasks, ranges of whole lines of about 32 MB, largest first, which a pool of processes shares.
Reading, kept in the index, knows nothing of the repository, the log or the rubric; which work counts, and which lines
are copies of others, is decided in :meth:`Scan.facts`, over all files.

The module is long because one reading is one state: what was planned, what the index knew, what the tasks found.
"""

import contextlib
import gc
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import pairwise
from operator import add
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Self, Unpack

from scoring.errors import GitError, Warn, silent
from scoring.evidence.git.objects import ObjectReader
from scoring.evidence.git.repository import GitRepository
from scoring.evidence.transcripts.discovery import Discovery, TranscriptFile, writers
from scoring.evidence.transcripts.facts import (
    FileFound,
    IterationWindow,
    ReadingOptions,
    TranscriptFacts,
    TranscriptPlaces,
    TranscriptSurvey,
)
from scoring.evidence.transcripts.harness import Harness
from scoring.evidence.transcripts.lines import line_starts, opened, read_lines, read_parts, read_whole
from scoring.evidence.transcripts.rows import FileRows, Indexed, Rows, Stamp, TranscriptIndex, key_of, pack, unpack
from scoring.evidence.transcripts.tally import Tallies
from scoring.evidence.transcripts.work_trees import WorkTrees
from scoring.files import reason
from scoring.processes import Workers, how_many

if TYPE_CHECKING:  # reading that observes nothing needs no test tools
    from scoring.evidence.transcripts.testruns import TestTools

TASK_SIZE = 32 << 20
"""About how many bytes one task reads."""

HELD_BYTES = 5_600_000
"""How many bytes that the index knows are held until they are summed up; further ones are read from it twice."""

WORTH_A_PROCESS = 8 << 20
"""How many bytes there must be to read for each further process."""

UNREADABLE = "cannot be read"
NOTHING_USABLE = "no line that could be used"

_NOTHING = Discovery()


class TranscriptRules(NamedTuple):
    """Under which rules transcripts are read.

    ``discover`` finds them, ``harnesses`` returns those whose readers are used, ``index_name`` is the folder in
    the cache directory where what was read is kept. With ``tools``, which makes the test tools that some further
    commands belong to, the readers observe, and every transcript is read in one piece.
    """

    discover: Callable[[TranscriptPlaces, Sequence[Harness], Warn], Discovery]
    harnesses: Callable[[], Sequence[Harness]]
    index_name: str
    tools: "Callable[[Sequence[str]], TestTools] | None" = None


class ReadElsewhere(NamedTuple):
    """What one process read of a transcript for another one: its size, and its rows up to the offset ``behind``."""

    path: Path
    size: int
    behind: int
    rows: bytes
    warnings: list[str]
    readable: bool


class _Task(NamedTuple):
    """A range of lines of one transcript."""

    source: int
    start: int
    end: int


class _Found(NamedTuple):
    """What one task found.

    ``rows`` are those of the complete lines up to the offset ``behind``, ``tail`` is what the line after it says, which
    may still be growing. ``readable`` is false when the file could not be read.
    """

    rows: FileRows
    behind: int
    tail: FileRows
    warnings: list[str]
    readable: bool = True

    def packed(self) -> tuple[object, ...]:
        """Return what it says for another process."""
        return pack(self.rows), self.behind, pack(self.tail), self.warnings, self.readable

    @classmethod
    def unpacked(cls, packed: "tuple[bytes, int, bytes, list[str], bool]") -> "_Found":
        """Return what another process found."""
        rows, behind, tail, warnings, readable = packed
        return cls(unpack(rows), behind, unpack(tail), warnings, readable)


@dataclass(slots=True)
class _Source:
    """One transcript: its state when the scan began, what the index knew, and what its tasks found.

    ``recall`` is true when the index knows the transcript up to ``start`` and its rows must be fetched once more.
    """

    transcript: TranscriptFile
    stamp: Stamp
    start: int
    known: Indexed | None
    recall: bool
    tasks: int = 0
    parts: dict[int, _Found] = field(default_factory=dict)


class Scan:
    """One reading of the transcripts in some places.

    ``start`` lets it run in the background, ``close`` gives it up. Use it as a context manager, which closes it.
    """

    repository: GitRepository | None = None
    """The repository that the transcripts are about, where it had to be opened to find them."""

    def __init__(
        self,
        rules: TranscriptRules,
        places: TranscriptPlaces,
        extra: Discovery = _NOTHING,
        **reading: Unpack[ReadingOptions],
    ) -> None:
        """Prepare to read what is in some places and what ``extra`` was found; ``reading`` says how.

        Opens nothing yet.
        """
        self.cache_dir = reading.get("cache_dir")
        self._warned = 0
        self._tell = reading.get("warn", silent)
        self._processes, self._keeps = reading.get("processes"), reading.get("keep", True)
        self._rules, self._places = rules, places
        self._harnesses = rules.harnesses()
        commands = reading.get("test_commands", ())
        self._commands = commands
        name = rules.index_name + (f"-{key_of(chr(0).join(commands)):x}" if commands and rules.tools else "")
        self._index = TranscriptIndex(self.cache_dir, name) if self.cache_dir else None
        self._discovery = extra
        self._objects: dict[Path, ObjectReader] = {}
        self._sources: list[_Source] = []
        self._tasks: list[_Task] = []
        self._pool = Workers(lambda number: self._do(self._tasks[number]), _Found.packed, _Found.unpacked)
        self._started = False
        self._held = 0
        self._files: list[FileFound] = []
        self._skipped: Counter[str] = Counter()
        self._tallies = Tallies((), ())
        self._sessions: dict[tuple[str, str], list[_Source]] = {}
        self.folders: Mapping[str, tuple[bool, bool]] = {}
        """The folders that transcripts name, whether they are in the repository, and whether they are there."""

    @cached_property
    def _tools(self) -> "TestTools | None":
        """The test tools, for readers that observe; made when the first transcript is read."""
        return self._rules.tools(self._commands) if self._rules.tools else None

    def _warn(self, text: str) -> None:
        self._warned += 1
        self._tell(text)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def discovered(self) -> Discovery:
        """Return what is found on disk now; nothing is read."""
        return self._rules.discover(self._places, self._harnesses, silent)

    def start(self) -> Self:
        """Find out what must be read, and begin to read it in worker processes where that pays. Never raises."""
        if self._started:
            return self
        self._started = True
        found = self._rules.discover(self._places, self._harnesses, self._warn)
        self._discovery = Discovery(*map(add, found, self._discovery))
        self._begin()
        return self

    def _begin(self) -> None:
        """Begin to read what was found."""
        for transcript in self._discovery.transcripts:
            self._plan(transcript)
        self._tasks.sort(key=lambda task: task.start - task.end)
        size = sum(task.end - task.start for task in self._tasks)
        self._pool.start(len(self._tasks), how_many(self._processes, size // WORTH_A_PROCESS))

    def close(self) -> None:
        """Stop the worker processes, if they still run, and let go of everything."""
        self._pool.close()
        for reader in self._objects.values():
            reader.close()

    def facts(self, windows: Sequence[IterationWindow]) -> list[TranscriptFacts]:
        """Return what is in each window, when everything has been read; may be called once.

        Windows may be empty or overlap.

        Raises:
            NotARepositoryError: only work in the repository counts, and the directory named for it is in none.
        """
        self.start()
        tallies = self._tallies = Tallies(windows, [harness.name for harness in self._harnesses])
        in_repository = WorkTrees(self._places.repo_dir)
        counters = {
            harness.name: harness.counter(tallies.of[harness.name], in_repository, partial(self._again, harness.name))
            for harness in self._harnesses
        }
        for number, transcript, rows in self._read():
            left_out = {name: counters[name].add(number, part, transcript.whole) for name, part in rows.items()}
            self._files.append(file_found(transcript.path, rows, left_out))
        for counter in counters.values():
            counter.finish()
        self.folders = in_repository.folders
        return tallies.facts()

    def _read(self) -> Iterator[tuple[int, TranscriptFile, FileRows]]:
        """Yield every transcript that could be read, with its number and what it says by the name of the harness."""
        for number, source in enumerate(self._finished_sources()):
            found = self._rows_of(source)
            if not found:
                self._files.append(FileFound(source.transcript.path, left_out=UNREADABLE))
                continue
            rows = self._joined(found)
            for name, part in rows.items():
                self._skipped += part.skipped
                for session in part.sessions():
                    self._sessions.setdefault((name, session), []).append(source)
            yield number, source.transcript, rows

    def read_for_another(self, wanted: Callable[[Path], bool]) -> Iterator[ReadElsewhere]:
        """Read the ``wanted`` files, and yield what another process needs for its own scan to :meth:`know` them.

        Nothing is summed up here. To be called instead of all else.
        """
        self._started = True
        found = self._rules.discover(self._places, self._harnesses, self._warn)
        self._discovery = found._replace(transcripts=tuple(t for t in found.transcripts if wanted(t.path)))
        Scan._begin(self)
        for source in self._finished_sources():
            if source.recall:
                self._recall(source)
            parts = [source.parts[start] for start in sorted(source.parts)]
            warnings = [text for part in parts for text in part.warnings]
            behind = parts[-1].behind if parts else source.start
            rows = self._joined([*([source.known.rows] if source.known else []), *(part.rows for part in parts)])
            source.parts, source.known = {}, None
            readable = all(part.readable for part in parts)
            yield ReadElsewhere(source.transcript.path, source.stamp.size, behind, pack(rows), warnings, readable)

    def know(self, path: Path, behind: int, rows: bytes) -> None:
        """Put into the index what another process read of the transcript at a path, up to an offset.

        Raises:
            OSError: there is no such file.
            ValueError: ``rows`` are not what :meth:`read_for_another` gave.
        """
        assert self._index is not None
        with opened(path, silent) as fd:
            if fd is not None:
                self._index.save(path, fd, Indexed(Stamp.of(fd), behind, unpack(rows)))

    def survey(self) -> TranscriptSurvey:
        """Return what the reading met with; after :meth:`facts`."""
        return TranscriptSurvey(
            self._discovery.roots,
            tuple(sorted((*self._files, *self._discovery.left_out), key=lambda file: os.fsencode(file.path))),
            dict(sorted(self._skipped.items())),
            self._tallies.everything(),
        )

    def _again(self, name: str, session: str) -> list[Rows]:
        """Read the transcripts of a harness's session once more; few are asked for twice."""
        read = [self._read_again(source) for source in self._sessions.get((name, session), ())]
        return [rows[name] for rows in read if name in rows]

    def _plan(self, transcript: TranscriptFile) -> None:
        """Note a transcript, and the tasks that read what the index does not know of it."""
        path = transcript.path
        if transcript.blobs:
            stamp = Stamp(transcript.size, 0, 0)
            known = self._index.load_blobs(transcript.blobs) if self._index else None
            self._note(transcript, stamp, known, [stamp.size if known else 0, stamp.size])
            return
        try:
            with opened(path, self._warn) as fd:
                if fd is None:
                    return
                stamp = Stamp.of(fd)
                known = self._index.load(path, fd, stamp) if self._index else None
                if transcript.in_one_piece or self._rules.tools:
                    known = known if known and known.stamp == stamp else None
                    bounds = [stamp.size if known else 0, stamp.size]
                else:
                    start = known.offset if known else 0
                    bounds = [start, *line_starts(fd, start, stamp.size, TASK_SIZE), stamp.size]
        except OSError as e:
            self._warn(f"transcript {path}: {reason(e)}; skipped")
            return
        self._note(transcript, stamp, known, bounds)

    def _note(self, transcript: TranscriptFile, stamp: Stamp, known: Indexed | None, bounds: Sequence[int]) -> None:
        self._held += sum(rows.weight() for rows in known.rows.values()) if known else 0
        recall = known is not None and not self._rules.tools and self._held > HELD_BYTES
        source = _Source(transcript, stamp, bounds[0], None if recall else known, recall)
        tasks = [_Task(len(self._sources), a, b) for a, b in pairwise(bounds) if a < b]
        source.tasks = len(tasks)
        self._sources.append(source)
        self._tasks += tasks

    def _do(self, task: _Task) -> _Found:
        transcript = self._sources[task.source].transcript
        path, warnings = transcript.path, list[str]()

        def too_long(offset: int) -> None:
            warnings.append(f"transcript {path}: the line at byte {offset} is over 16 MiB; skipped")

        try:
            if transcript.blobs:
                with _no_collection():
                    parts = map(self._reader(transcript).pieces, transcript.blobs)
                    rows = read_parts(parts, writers(self._harnesses, transcript), too_long, self._tools)
                return _Found(rows, task.end, {}, warnings)
            with opened(path, warnings.append) as fd, _no_collection():
                if fd is not None:
                    harnesses = writers(self._harnesses, transcript)
                    if transcript.in_one_piece or self._rules.tools:
                        how = transcript.compressed, transcript.document, harnesses, too_long, self._tools
                        return _Found(read_whole(fd, *how), task.end, {}, warnings)
                    return _Found(*read_lines(fd, task.start, task.end, harnesses, too_long), warnings)
        except (OSError, GitError) as e:
            warnings.append(f"transcript {path}: {reason(e) if isinstance(e, OSError) else e}; skipped")
        return _Found({}, 0, {}, warnings, readable=False)

    def _reader(self, transcript: TranscriptFile) -> ObjectReader:
        repository = transcript.repository
        assert repository is not None
        return self._objects.setdefault(repository.common_dir, ObjectReader(repository))

    def _finished_sources(self) -> Iterator[_Source]:
        """Yield every transcript as soon as all of it has been read; nothing is held longer than that."""
        yield from (source for source in self._sources if not source.tasks)
        for number, part in self._pool.results():
            source = self._sources[self._tasks[number].source]
            source.parts[self._tasks[number].start] = part
            if len(source.parts) == source.tasks:
                yield source

    def _rows_of(self, source: _Source) -> list[FileRows]:
        """Return the rows of a transcript that was read, final ones first, and keep those in the index."""
        if source.recall:
            self._recall(source)
        parts = [source.parts[start] for start in sorted(source.parts)]
        source.parts = {}
        for part in parts:
            for warning in part.warnings:
                self._warn(warning)
        if not all(part.readable for part in parts):
            return []
        rows = self._joined([*([source.known.rows] if source.known else []), *(part.rows for part in parts)])
        tails = [part.tail for part in parts if part.tail]
        # What was warned of is read again next time, to be warned of again.
        if parts and self._index and self._keeps and not any(part.warnings for part in parts):
            self._keep(source, Indexed(source.stamp, parts[-1].behind, rows))
        source.known = None
        return [rows, *tails]

    def _recall(self, source: _Source) -> None:
        """Fetch what the index knew when the scan began; read the transcript when it knows it no more."""
        assert self._index is not None
        if source.transcript.blobs:
            source.known = self._index.load_blobs(source.transcript.blobs)
        else:
            with opened(source.transcript.path, silent) as fd:
                if fd is not None:
                    source.known = self._index.load(source.transcript.path, fd, Stamp.of(fd))
        if source.known is None or source.known.offset != source.start:
            source.known = None
            source.parts[0] = self._do(_Task(self._sources.index(source), 0, source.start))

    def _read_again(self, source: _Source) -> FileRows:
        """Read a transcript from its beginning, whatever is known of it, as it was when the scan began."""
        found = self._do(_Task(self._sources.index(source), 0, source.stamp.size))
        return self._joined([found.rows, found.tail])

    def _keep(self, source: _Source, indexed: Indexed) -> None:
        """Put a transcript into the index, unless it changed under the reading in another way than by growing."""
        assert self._index is not None
        if source.known and source.known.stamp == indexed.stamp and source.known.offset == indexed.offset:
            return
        if source.transcript.blobs:
            self._index.save_blobs(source.transcript.blobs, indexed)
            return
        with opened(source.transcript.path, silent) as fd:
            if fd is None:
                return
            now, old = Stamp.of(fd), source.stamp
            if now == old or (now.inode == old.inode and now.size > old.size):
                self._index.save(source.transcript.path, fd, indexed)

    def _joined(self, parts: Sequence[FileRows]) -> FileRows:
        if len(parts) == 1:
            return parts[0]
        of = {harness: [part[harness.name] for part in parts if harness.name in part] for harness in self._harnesses}
        return {harness.name: harness.joined(found) for harness, found in of.items() if found}


def file_found(path: Path, rows: FileRows, left_out: dict[str, str]) -> FileFound:
    """Return what is said of a transcript; it counts when anything in it does."""
    sessions = tuple(dict.fromkeys(session for part in rows.values() for session in part.sessions()))
    cwd = next((span.cwd for part in rows.values() for span in reversed(part.spans) if span.cwd), "")
    why = "" if "" in left_out.values() else next(iter(left_out.values()), NOTHING_USABLE)
    return FileFound(path, "+".join(rows), sessions, cwd, why)


@contextlib.contextmanager
def _no_collection() -> Iterator[None]:
    """Keep the garbage collector from looking through millions of tuples that hold no cycles."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
