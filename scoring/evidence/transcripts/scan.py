"""Reads the transcripts in some places, or takes what is kept of them, and sums up what they say."""

import contextlib
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import add
from pathlib import Path
from sys import intern
from typing import NamedTuple, Self, Unpack

import msgspec

from scoring.errors import Warn, silent
from scoring.evidence.attribution.work_trees import WorkTrees
from scoring.evidence.commands.testruns import TestTools
from scoring.evidence.git.repository import GitRepository
from scoring.evidence.harnesses.harness import UNKNOWN_KIND, Harness
from scoring.evidence.harnesses.lines import opened
from scoring.evidence.table_digest import digest_of_tables
from scoring.evidence.transcripts.counter import LineClock
from scoring.evidence.transcripts.discovery import Discovery, TranscriptFile, writers
from scoring.evidence.transcripts.events import EventsByHarness, TranscriptEvents, key_of
from scoring.evidence.transcripts.facts import (
    FileFound,
    HarnessFacts,
    IterationWindow,
    ReadingOptions,
    TranscriptFacts,
    TranscriptPlaces,
    TranscriptSurvey,
)
from scoring.evidence.transcripts.kept import (
    KeptTranscript,
    decode_kept,
    encode_events,
    encode_kept,
)
from scoring.evidence.transcripts.reading import Pool, Reading
from scoring.evidence.transcripts.tally import Tallies
from scoring.store import Store, stamp_of

UNREADABLE, NOTHING_USABLE = "cannot be read", "no line that could be used"


class TranscriptRules(NamedTuple):
    """How transcripts are read and kept under ``name``."""

    discover: Callable[[TranscriptPlaces, Sequence[Harness], Warn], Discovery]
    harnesses: Callable[[], Sequence[Harness]]
    name: str
    tools: Callable[[Sequence[str]], TestTools] | None = (
        None  # makes the test tools to observe with, if any
    )
    alone: bool = (
        False  # whether a transcript counts whatever the others say, and its rows hold times
    )


@dataclass(slots=True)
class _Source:
    """A transcript, its size in bytes, its stamp if it may be trusted, what is kept of it, and its rows once read."""

    transcript: TranscriptFile
    size: int
    stamp: bytes | None
    kept: KeptTranscript | None
    events: EventsByHarness | None = None


def _name_of_reading(rules: TranscriptRules, test_commands: Sequence[str]) -> str:
    """Return the name under which the store keeps what is read: with another one it is read again.

    It has everything that decides what is seen in a transcript: the rules, the tables of what
    commands and texts mean, and the commands that run tests in this repository.
    """
    if rules.tools is None:
        return rules.name

    reading = key_of("\0".join([digest_of_tables(), *test_commands]))
    return f"{rules.name}-{reading:x}"


class Scan:
    """One reading of the transcripts in some places, a context manager; ``start`` lets it run in the background."""

    repository: GitRepository | None = (
        None  # that the transcripts are about, where it had to be opened to find them
    )

    def __init__(
        self, rules: TranscriptRules, places: TranscriptPlaces, **reading: Unpack[ReadingOptions]
    ) -> None:
        """Prepare to read what is in some places; ``reading`` says how. Opens nothing yet."""
        self.cache_dir = reading.get("cache_dir")
        self._warn = reading.get("warn", silent)
        self._processes, self._keeps = reading.get("processes"), reading.get("keep", True)
        self._rules, self._places = rules, places
        self._harnesses = rules.harnesses()
        commands = reading.get("test_commands", ()) if rules.tools else ()
        self._name = _name_of_reading(rules, commands)
        self._reading = Reading(
            self._harnesses, partial(rules.tools, commands) if rules.tools else None
        )
        self._discovery = Discovery()
        self._sources: list[_Source] = []
        self._pool: Pool | None = None
        self._files: list[FileFound] = []
        self._skipped: Counter[str] = Counter()
        self._secret = b""
        self._counted: tuple[HarnessFacts, ...] = ()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(self) -> Self:
        """Find out what must be read, and begin to read it in worker processes where that pays. Never raises."""
        if self._pool is None:
            found = self._rules.discover(self._places, self._harnesses, self._warn)
            self._discovery = Discovery(*map(add, found, self._discovery))
            with Store(self.cache_dir, self._keeps) as store:
                for transcript in self._discovery.transcripts:
                    self._note(transcript, store)
            unread = (
                (n, s) for n, s in enumerate(self._sources) if s.kept is None and s.events is None
            )
            self._pool = Pool(
                self._reading, {n: (s.transcript, s.size) for n, s in unread}, self._processes
            )
        return self

    def close(self) -> None:
        """Stop the worker processes, if they still run."""
        if self._pool is not None:
            self._pool.close()

    def facts(
        self, windows: Sequence[IterationWindow], whole: bool = True
    ) -> list[TranscriptFacts]:
        """Return what is in each window, when everything has been read; may be called once. NotARepositoryError.

        Without ``whole``, kept transcripts that touch no window and count alone are left out.
        """
        self.start()
        read = list(self._read(None if whole or not self._rules.alone else windows))
        tallies = Tallies(windows, [harness.name for harness in self._harnesses])
        in_repository = WorkTrees(self._places.repo_dir)

        def again(name: str, session: str) -> list[TranscriptEvents]:
            return [
                events[name]
                for _, events in read
                if name in events and session in events[name].sessions()
            ]

        counters = {
            harness.name: harness.counter(
                harness, tallies.of[harness.name], in_repository, partial(again, harness.name)
            )
            for harness in self._harnesses
        }
        for number, (transcript, events) in enumerate(read):
            left_out = {
                name: counters[name].add(number, part, LineClock.by_time(part), transcript.whole)
                for name, part in events.items()
            }
            parts = {name: [part] for name, part in events.items()}
            self._files.append(file_found(transcript.path, parts, left_out))
        for counter in counters.values():
            counter.finish()
        self._counted = tallies.everything()
        return tallies.facts()

    def survey(self) -> TranscriptSurvey:
        """Return what the reading met with; after :meth:`facts`."""
        return TranscriptSurvey(
            self._discovery.roots,
            tuple(
                sorted(
                    (*self._files, *self._discovery.left_out),
                    key=lambda file: os.fsencode(file.path),
                )
            ),
            dict(sorted(self._skipped.items())),
            self._counted,
        )

    def _read(
        self, windows: Sequence[IterationWindow] | None = None
    ) -> Iterator[tuple[TranscriptFile, EventsByHarness]]:
        """Keep what was read, and yield what readable transcripts say, by the name of the harness."""
        assert self._pool is not None
        with Store(self.cache_dir if self._keeps else None) as store:
            for number, (events, warnings, encoded) in self._pool.results():
                source = self._sources[number]
                # What was warned of is read again next time, to be warned of again.
                if events is not None and not warnings and source.stamp is not None and store.keeps:
                    encoded = encoded or encode_events(events)
                    value = encode_kept(events, encoded, store.secret, source.stamp)
                    store.put("transcript", self._key(source.transcript), source.stamp, value)
                source.events = events and self._waiting(events)
                for warning in warnings:
                    self._warn(warning)
        for source in self._sources:
            events = source.events
            if events is None and source.kept is not None and source.stamp is not None:
                if windows is not None and not any(map(source.kept.touches, windows)):
                    continue
                try:
                    events = source.kept.events(self._secret, source.stamp)
                except ValueError:  # as if nothing were kept
                    events = self._reading.read(source.transcript).events
            if events is None:
                self._files.append(FileFound(source.transcript.path, left_out=UNREADABLE))
                continue
            for name, part in events.items():
                for why, count in part.skipped.items():
                    self._skipped[f"{why} ({name})" if why.startswith(UNKNOWN_KIND) else why] += (
                        count
                    )
            yield source.transcript, events
        self._sources = []

    def _waiting(self, events: EventsByHarness) -> EventsByHarness:
        """Pack events that wait for those of all other transcripts, which share names of folders."""
        for part in events.values() if not self._rules.alone else ():
            part.pack_events()
            part.spans = [
                span._replace(cwd=intern(span.cwd), model=intern(span.model)) for span in part.spans
            ]
            part.texts = list(map(intern, part.texts))
        return events

    def _note(self, transcript: TranscriptFile, store: Store) -> None:
        stamp: bytes | None
        if transcript.blobs:
            size, stamp = transcript.size, " ".join(transcript.blobs).encode()
        else:
            with opened(transcript.path, self._warn) as fd:
                if fd is None:
                    return
                found = os.fstat(fd)
                size, stamp = found.st_size, stamp_of(found)
                if transcript.store:
                    beside = writers(self._harnesses, transcript)[0].beside(transcript.path)
                    size, stamp = _stamp_of_store(beside, size, stamp)
        value = store.get("transcript", self._key(transcript), stamp)
        kept = events = None
        if value is not None and stamp is not None:
            self._secret = store.secret
            with contextlib.suppress(msgspec.MsgspecError, ValueError):  # as if nothing were kept
                opened_row = decode_kept(value)
                if self._rules.alone:  # whether its rows are needed depends on the windows
                    kept = opened_row
                else:
                    events = self._waiting(opened_row.events(store.secret, stamp))
        self._sources.append(_Source(transcript, size, stamp, kept, events))

    def _key(self, transcript: TranscriptFile) -> bytes:
        """Return what rows are kept under: the path of a file, or the ids of objects, which no path can have."""
        blobs, path = transcript.blobs, transcript.path
        name = b"git " + " ".join(blobs).encode() if blobs else os.fsencode(path.absolute())
        return self._name.encode() + b" " + name


def _stamp_of_store(
    beside: Sequence[Path] | None, size: int, stamp: bytes | None
) -> tuple[int, bytes | None]:
    """Return the size and the stamp of a store, with the files beside it that are there; no stamp if not all have."""
    stamps = [stamp if beside is not None else None]
    for path in beside or ():
        with contextlib.suppress(FileNotFoundError):
            found = os.stat(path)
            size += found.st_size
            stamps.append(stamp_of(found))
    return size, None if None in stamps else b" ".join(filter(None, stamps))


def file_found(
    path: Path, events: Mapping[str, Sequence[TranscriptEvents]], left_out: dict[str, str]
) -> FileFound:
    """Return what is said of a transcript, of which each harness wrote some parts; it counts when anything does."""
    parts = [part for of_it in events.values() for part in of_it]
    sessions = tuple(dict.fromkeys(session for part in parts for session in part.sessions()))
    cwd = next((span.cwd for part in parts for span in reversed(part.spans) if span.cwd), "")
    why = "" if "" in left_out.values() else next(iter(left_out.values()), NOTHING_USABLE)
    return FileFound(path, "+".join(events), sessions, cwd, why)
