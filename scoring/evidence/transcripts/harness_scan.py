"""Reads the transcripts of all harnesses, and sums up what they tell (contract section 10).

Reading (in several processes, kept in the index) knows nothing of the repository, the log or the rubric; whose work
counts, and which lines are copies of others, is decided in :meth:`HarnessScan.facts`, over all files.
"""

import os
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Unpack

from scoring.evidence.transcripts.discovery import COMPRESSED, Discovery, discover
from scoring.evidence.transcripts.events import IterationWindow
from scoring.evidence.transcripts.facts import FileFound, ObservedFacts, TranscriptPlaces, TranscriptSurvey
from scoring.evidence.transcripts.in_repository import OurWork
from scoring.evidence.transcripts.index import TranscriptIndex
from scoring.evidence.transcripts.reader import LineBlocks, chunks, silent
from scoring.evidence.transcripts.readers import HARNESSES
from scoring.evidence.transcripts.routing import TOO_LONG, Lines
from scoring.evidence.transcripts.rows import FOLDER, FORMAT, FileRows, Rows, pack, plain, rows_of, unpack
from scoring.evidence.transcripts.scan import Found, Reading, Scan, Source
from scoring.evidence.transcripts.tally import Tallies
from scoring.evidence.transcripts.zstd import decompressed

EVENT_SIZE = 56
"""How many bytes an event takes in the index of the reference's rules, by which what is held is measured."""

UNREADABLE = "cannot be read"
NOTHING_USABLE = "no line that could be used"


class HarnessScan(Scan[FileRows]):
    """One reading of the transcripts in some places; see :class:`~scoring.policies.door.Transcripts`."""

    def __init__(self, places: TranscriptPlaces, **reading: Unpack[Reading]) -> None:
        """Prepare to read; ``reading`` says how."""
        self.cache_dir = reading.get("cache_dir")
        index = TranscriptIndex(self.cache_dir, FOLDER, FORMAT, pack, unpack) if self.cache_dir else None
        super().__init__(reading.get("warn", silent), index, reading.get("processes"), reading.get("keep", True))
        self._places = places
        self._discovery = Discovery((), (), ())
        self._whole: dict[Path, bool] = {}
        self._files: list[FileFound] = []
        self._skipped: Counter[str] = Counter()
        self._tallies = Tallies((), [harness.name for harness in HARNESSES])
        self._sessions: dict[tuple[str, str], list[Source[FileRows]]] = {}

    def facts(self, windows: Sequence[IterationWindow]) -> list[ObservedFacts]:
        """Return what lies in each window, when everything has been read; may be called once.

        Raises:
            NotARepositoryError: only work in the repository counts, and the directory named for it is in none.
        """
        self.start()
        tallies = self._tallies = Tallies(windows, [harness.name for harness in HARNESSES])
        ours = OurWork(self._places.repo_dir)
        counters = {
            harness.name: harness.counter(tallies.of[harness.name], ours, self._again(harness.name))
            for harness in HARNESSES
        }
        for number, source in enumerate(self._finished_sources()):
            found = self._events_of(source)
            if not found:
                self._files.append(FileFound(source.path, left_out=UNREADABLE))
                continue
            left_out: dict[str, str] = {}
            rows = self._joined(found)
            for name, part in rows.items():
                self._skipped += part.skipped
                left_out[name] = counters[name].add(number, part, self._whole[source.path])
                for session in part.sessions():
                    self._sessions.setdefault((name, session), []).append(source)
            self._files.append(_file_found(source.path, rows, left_out))
        for counter in counters.values():
            counter.finish()
        return tallies.facts()

    def survey(self) -> TranscriptSurvey:
        """Return what the reading met with."""
        return TranscriptSurvey(
            self._discovery.roots,
            tuple(sorted((*self._files, *self._discovery.left_out), key=lambda file: os.fsencode(file.path))),
            dict(sorted(self._skipped.items())),
            self._tallies.everything(),
        )

    def _again(self, name: str) -> Callable[[str], list[Rows]]:
        """Return what reads the transcripts of a harness's session once more: few are asked for twice."""

        def again(session: str) -> list[Rows]:
            found = []
            for source in self._sessions.get((name, session), ()):
                read = self._read_again(source)
                found += [read[name]] if name in read else []
            return found

        return again

    def _paths(self) -> list[Path]:
        self._discovery = discover(self._places, HARNESSES, os.environ, self._warn)
        self._whole = {transcript.path: transcript.whole for transcript in self._discovery.transcripts}
        return list(self._whole)

    def _in_one_piece(self, path: Path) -> bool:
        return path.name.endswith(COMPRESSED)

    def _read(self, fd: int, path: Path, start: int, end: int, too_long: Callable[[int], None]) -> Found[FileRows]:
        lines = Lines(HARNESSES)

        def skip(offset: int) -> None:
            lines.skip(TOO_LONG)
            too_long(offset)

        packed = self._in_one_piece(path)
        blocks = LineBlocks(decompressed(fd) if packed else chunks(fd, start, end), start, skip)
        for block in blocks:
            lines.block(block)
        if packed:  # it will not grow: a last line without an end is what there is
            lines.tail(blocks.rest)
            return Found(lines.rows(), end, None, [])
        tail = Lines(HARNESSES)
        tail.tail(blocks.rest)
        return Found(lines.rows(), blocks.behind, tail.rows() or None, [])

    def _joined(self, parts: Sequence[FileRows]) -> FileRows:
        if len(parts) == 1:
            return parts[0]
        of = {harness.name: [part[harness.name] for part in parts if harness.name in part] for harness in HARNESSES}
        return {harness.name: harness.joined(of[harness.name]) for harness in HARNESSES if of[harness.name]}

    def _weight(self, events: FileRows) -> int:
        return sum(rows.weight() for rows in events.values()) // EVENT_SIZE

    def _plain(self, events: FileRows) -> Any:
        return plain(events)

    def _events(self, plain: Any) -> FileRows:
        return rows_of(plain)


def _file_found(path: Path, rows: FileRows, left_out: dict[str, str]) -> FileFound:
    """Return what is told of a transcript; it counts when anything in it does."""
    sessions = tuple(dict.fromkeys(session for part in rows.values() for session in part.sessions()))
    cwd = next((span.cwd for part in rows.values() for span in reversed(part.spans) if span.cwd), "")
    why = "" if "" in left_out.values() else next(iter(left_out.values()), NOTHING_USABLE)
    return FileFound(path, "+".join(rows), sessions, cwd, why)
