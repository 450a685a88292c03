"""Transcripts of a repository: each line belongs to one iteration, and observations are counted."""

import contextlib
import os
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Self, TypeAlias, Unpack

from msgspec.structs import replace

from scoring.errors import DaScoreError
from scoring.evidence.attribution import sightings
from scoring.evidence.attribution.attribution import NO_TRANSCRIPT, NOT_READ, Share, attribute
from scoring.evidence.attribution.checkpoint_transcripts import checkpoint_transcripts
from scoring.evidence.attribution.claims import claims_seen, spoken_in
from scoring.evidence.attribution.makers import LandedAs
from scoring.evidence.attribution.neighbourhood import Neighbourhood, Writes
from scoring.evidence.attribution.session_trees import NO_ITERATION, Asked, Tree
from scoring.evidence.attribution.written import LinesAdded, least_share, written_lines
from scoring.evidence.commands.testruns import TestTools
from scoring.evidence.git.checkpoints import (
    Checkpoint,
    CheckpointSession,
    TokenTotals,
    has_own_ref,
    read_checkpoints,
)
from scoring.evidence.git.repository import GitRepository
from scoring.evidence.harnesses import readers
from scoring.evidence.harnesses.reading import transcript_rules
from scoring.evidence.harnesses.unread import UNREAD
from scoring.evidence.transcripts import counting, streams
from scoring.evidence.transcripts.counter import ELSEWHERE, NO_FOLDER, InRepository
from scoring.evidence.transcripts.events import TranscriptEvents
from scoring.evidence.transcripts.facts import (
    CheckpointsFound,
    FileFound,
    IterationWindow,
    Observed,
    ReadingOptions,
    SessionFound,
    TranscriptFacts,
    TranscriptPlaces,
    TranscriptSurvey,
    timestamp_ns,
)
from scoring.evidence.transcripts.scan import NOTHING_USABLE, Scan, file_found
from scoring.evidence.transcripts.work_trees import WorkTrees

ATTRIBUTED_TRANSCRIPTS = transcript_rules(
    "attributed-events", lambda: readers.HARNESSES, tools=TestTools, unread=UNREAD
)
"""Transcripts as found on disk and in checkpoints, with what is seen in each line."""


class Verification(NamedTuple):
    """The kind of a verifier, the path of its result artifact, and where that really is."""

    kind: str
    artifact: str
    place: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """A question about an iteration: its lines, its verifiers, and the share that agents wrote."""

    asked: Asked
    verifiers: tuple[Verification, ...] = ()
    written: str = ""
    documents: bool = False  # whether its commit changed nothing else


class AttributedFacts(NamedTuple):
    """What transcripts say of one iteration."""

    transcripts: TranscriptFacts
    observed: Observed


_NOTHING = TranscriptFacts()  # of every iteration without lines


class AllWork(NamedTuple):
    """All that was read: transcripts, the owners of their lines, trees, and folders here."""

    files: Sequence[streams.File]
    owners: Sequence[int]
    trees: Sequence[Tree]
    in_repository: InRepository


NeighbourhoodOf: TypeAlias = Callable[[WorkTrees, Collection[str]], Neighbourhood]


def attributed_scan(
    places: TranscriptPlaces, **reading: Unpack[ReadingOptions]
) -> "AttributedScan":
    """Prepare to read the transcripts of all harnesses and of the checkpoints."""
    return AttributedScan(ATTRIBUTED_TRANSCRIPTS, places, **reading)


class AttributedScan(Scan):
    """One reading of the transcripts in some places and in the checkpoints of the repository."""

    checkpoints: Mapping[str, Checkpoint] = {}  # the checkpoints of the repository, by their ids
    work: AllWork | None = None  # after the answers
    _not_fetched: Sequence[str] = ()

    def start(self) -> Self:
        """Find the checkpoints too, and begin to read. Never raises."""
        if self._pool is None:
            with contextlib.suppress(
                DaScoreError
            ):  # outside of a repository the caller gets an error when it asks git
                repository = self.repository = GitRepository(self._places.repo_dir)
                if self._places.checkpoints:
                    self.checkpoints = read_checkpoints(
                        repository, self._warn, self._places.trusted
                    )
                self._discovery = checkpoint_transcripts(self.checkpoints.values(), repository)
        return super().start()

    def answers(
        self,
        questions: Sequence[Question],
        neighbourhood: NeighbourhoodOf,
        landed_as: LandedAs,
        lines_added: LinesAdded = lambda _: {},
    ) -> list[AttributedFacts]:
        """Return what each iteration shows, when everything has been read.

        It may be called once. Raises NotARepositoryError.

        ``neighbourhood`` is made of the work trees and the known parts of the names of the commits
        that sessions made.
        """
        files, lines, sessions, there, trees = self._begun(neighbourhood)
        streams.count_once(files, lines, streams.order_lines(sessions.values()))
        asked = [question.asked for question in questions]
        read = {file.checkpoint for file in files if file.numbers}
        totals = counting.stated_totals(self.checkpoints.values(), read)
        given = attribute(asked, files, sessions, lines, landed_as, self._listing(files), totals)
        self.work = AllWork(files, given.owners, given.trees, there.in_repository)
        self._name_unread(given.shares, asked, read)
        groups = [share.own for share in given.shares] + [
            range(part, part + 1) for part in range(given.total)
        ]
        counted, self._counted = counting.count_lines(files, given.parts, groups)
        counted = counting.with_times(counted, files, given.parts, groups)
        of_part = counted[len(given.shares) :]
        places = {part: place for place, share in enumerate(given.shares) for part in share.own}
        seen = sightings.sightings_of(files, given.parts, given.total, places)
        spoken = spoken_in(
            files, given.parts, {key for share in given.shares for key in share.sessions}
        )
        shares = zip(questions, given.shares, strict=True)
        asked_of = [(q.written, share.voting) for q, share in shares if q.written and share.voting]
        wrote = written_lines(
            files, given.parts, {part for _, voting in asked_of for part in voting}
        )
        added = lines_added([sha for sha, _ in asked_of])
        artifacts = {
            verifier.place
            for question in questions
            for verifier in question.verifiers
            if verifier.artifact
        }
        writes = Writes.of(
            Path(self._places.repo_dir), trees, files if artifacts else (), artifacts
        )
        made_at = sightings.lines_that_made(files, given.shares)
        missing = streams.missing_sub_agents(
            files, given.parts, (share.voting for share in given.shares)
        )
        lines_of = sightings.lines_found(files, given.parts, given.total)
        named = {name for one in asked for name in one.checkpoints if has_own_ref(name)}
        self._not_fetched = sorted(named - self.checkpoints.keys())
        found, alike = [], dict[Observed, Observed]()  # most that have no lines are alike
        for question, share, counts, absent in zip(
            questions, given.shares, counted, missing, strict=False
        ):
            names, also = (
                tuple(sorted({name for _, name in keys})) for keys in (share.sessions, share.also)
            )
            observed = Observed(
                share.method,
                names,
                share.problem,
                checkpoints=question.asked.checkpoints,
                also_active=also,
                documents=question.documents,
            )
            if share.method is None:
                found.append(AttributedFacts(_NOTHING, alike.setdefault(observed, observed)))
                continue
            if stated := [
                (name, of) for checkpoint in share.stated for name, of in totals[checkpoint].items()
            ]:
                found.append(_from_totals(observed, stated))
                continue
            voting = [of_part[part] for part in share.voting]
            of_it = sightings.together([seen[n] for n in share.voting])
            tests, last = of_it.tests(share.end)
            corrections, breaks = of_it.corrections()
            own_files = [
                file for key in (*share.sessions, *share.also) for file in sessions[key].files
            ]
            observed = replace(
                observed,
                shared_with=None if share.shared is None else asked[share.shared].iteration,
                tool_calls=sum(part.tool_calls for part in voting),
                failed_calls=_failed(voting),
                tests=tests,
                corrections=corrections,
                written=frozenset(
                    v.place for v in question.verifiers if writes.surely(v.place, v.artifact)
                ),
                unsure=frozenset(
                    v.place
                    for v in question.verifiers
                    if writes.maybe(own_files, v.place, v.artifact)
                ),
                ran=tuple(of_it.ran_for(v.kind) for v in question.verifiers),
                seen=sightings.places_seen(share.made, made_at, last, breaks),
                lines=tuple(one for part in share.voting for one in lines_of[part]),
                elsewhere=sum(
                    one.total
                    for part in share.voting
                    if part not in share.own
                    for one in lines_of[part]
                ),
                work=of_it.work(absent),
                by_agents=least_share(
                    added.get(question.written, {}), [wrote[n] for n in share.voting if n in wrote]
                ),
                claims=tuple(claims_seen(share, spoken, of_it)),
            )
            found.append(AttributedFacts(counts, observed))
        return found

    def _begun(
        self, neighbourhood: NeighbourhoodOf
    ) -> tuple[
        list[streams.File], int, dict[streams.SessionKey, streams.Session], Neighbourhood, WorkTrees
    ]:
        """Return what was read, its lines and sessions, and how much of it is the repository's."""
        self.start()
        files = self._files_read()
        lines, trees = (
            streams.number_lines(files),
            WorkTrees(self.repository or self._places.repo_dir),
        )
        sessions = streams.sessions_of(files)
        there = neighbourhood(
            trees, {made.sha for session in sessions.values() for made in session.made}
        )
        there.mark(sessions.values())
        return files, lines, sessions, there, trees

    def _name_unread(
        self, shares: Iterable[Share], asked: Iterable[Asked], read: Collection[str]
    ) -> None:
        """Note the iterations without lines that have a checkpoint of another harness here."""
        unread = {name: found for name, found in self.checkpoints.items() if name not in read}
        for share, one in zip(shares, asked, strict=True):
            found = (unread[name] for name in one.checkpoints if name in unread)
            agents = [
                s.agent
                for checkpoint in found
                for s in checkpoint.sessions
                if s.blobs and not s.missing
            ]
            if agents and (share.stated or share.problem == NO_TRANSCRIPT):
                share.problem = NOT_READ.format(agent=agents[0] or "a harness without a name")

    def _listing(self, files: Iterable[streams.File]) -> dict[str, set[str]]:
        """Return the session ids of each checkpoint, as it lists them and names its transcripts."""
        found = {
            name: {one.session_id for one in each.sessions} - {""}
            for name, each in self.checkpoints.items()
        }
        for file in files:
            if file.checkpoint:
                found[file.checkpoint].add(file.owner)
        return found

    def facts(
        self,
        windows: Sequence[IterationWindow],
        whole: bool = True,  # noqa: ARG002
    ) -> list[TranscriptFacts]:
        """Read everything for a survey without iterations; windows of time say nothing here."""
        self.answers(
            [], lambda trees, _: Neighbourhood(trees, (), frozenset, lambda _: False), lambda _: {}
        )
        return [_NOTHING for _ in windows]

    def survey(self) -> TranscriptSurvey:
        """Return what the reading met with; after :meth:`answers`."""
        held = [
            s for checkpoint in self.checkpoints.values() for s in checkpoint.sessions if s.blobs
        ]
        missing = tuple(Path(session.path) for session in held if session.missing)
        checkpoints = CheckpointsFound(
            len(self.checkpoints), len(held), missing, tuple(self._not_fetched)
        )
        known, more = super().survey(), _found(self.work.files if self.work else ())
        files = tuple(sorted((*known.files, *more), key=lambda file: os.fsencode(file.path)))
        unclaimed = tuple(_unclaimed(self.work)) if self.work else ()
        return replace(known, files=files, unclaimed=unclaimed, checkpoints=checkpoints)

    def sessions(self, neighbourhood: NeighbourhoodOf) -> Sequence[streams.Session]:
        """Return every session that was read, with its commits.

        It may be called once, and then no other method.
        """
        return list(self._begun(neighbourhood)[2].values())

    def session_ids(self) -> set[str]:
        """Return the ids of all sessions in transcripts and checkpoints.

        It may be called once, and then no other method.
        """
        self.start()
        stated = {
            one.session_id
            for checkpoint in self.checkpoints.values()
            for one in checkpoint.sessions
        }
        return stated | {
            name for _, of in self._read() for events in of.values() for name in events.sessions()
        }

    def _files_read(self) -> list[streams.File]:
        """Return every readable transcript, by harness, and checkpoints' ones once each."""
        harnesses = {harness.name: harness for harness in self._harnesses}
        held: dict[tuple[str, ...], list[tuple[str, CheckpointSession]]] = {}
        for checkpoint in self.checkpoints.values():
            for session in checkpoint.sessions:
                held.setdefault(session.blobs, []).append((checkpoint.id, session))
        read = [
            (transcript, harnesses[name], events)
            for transcript, of in self._read()
            for name, events in of.items()
        ]
        known = defaultdict[str, defaultdict[str, list[TranscriptEvents]]](
            lambda: defaultdict(list)
        )
        for _, harness, events in read:
            for name in events.sessions():
                known[harness.name][name].append(events)
        files: list[streams.File] = []
        for transcript, harness, found in read:
            events = harness.original(found, known[harness.name].__getitem__)
            if transcript.blobs:
                for name, one in held[transcript.blobs]:
                    start, stored = events.line_of_message(one.start), timestamp_ns(one.created_at)
                    files.append(
                        streams.File(
                            transcript, harness, events, name, one.session_id, start, stored
                        )
                    )
            elif transcript.store and len(events.sessions()) > 1:
                apart = events.by_session()
                files += (
                    streams.File(transcript, harness, part, session=part.sessions()[0])
                    for part in apart
                )
            else:
                files.append(streams.File(transcript, harness, events))
        for file in files:
            file.events.lines = []  # what is known of them is in the files
        files.sort(
            key=lambda file: (not file.checkpoint, file.order, os.fsencode(file.transcript.name))
        )
        return files


def _failed(parts: Sequence[TranscriptFacts]) -> int | None:
    """Return how many tool calls of some parts failed, or None where none states how it ended."""
    called = [part for part in parts if part.tool_calls]
    if called and all(part.ends_unknown for part in called):
        return None
    return sum(part.tool_errors for part in called)


def _from_totals(observed: Observed, stated: Sequence[tuple[str, TokenTotals]]) -> AttributedFacts:
    """Return what the totals of an iteration's checkpoints say, where nothing else is known."""
    counts = [counting.as_turn_counts(tokens) for _, tokens in stated]
    given, output, reads, creations, responses = map(sum, zip(*counts, strict=True))
    names = tuple(sorted({name for name, _ in stated if name}))
    counted = TranscriptFacts(max(responses, 1), given, output, reads, creations)
    return AttributedFacts(
        counted, replace(observed, sessions=names, also_active=(), checkpoint_tokens=True)
    )


def _unclaimed(work: AllWork) -> list[SessionFound]:
    """Return the sessions with work in the repository that belongs to no iteration, by path."""
    sessions = streams.sessions_of(work.files).values()
    streams.order_lines(sessions)
    found = [
        SessionFound(*session.key, session.files[0].transcript.path, len(session.lines))
        for session in sessions
        if session.lines and all(work.owners[line] == NO_ITERATION for line in session.lines)
    ]
    return sorted(found, key=lambda one: (os.fsencode(one.path), one.session))


def _found(files: Sequence[streams.File]) -> list[FileFound]:
    by_path: dict[Path, list[streams.File]] = {}
    for file in files:
        by_path.setdefault(file.transcript.path, []).append(file)
    found = []
    for path, parts in by_path.items():
        events: dict[str, list[TranscriptEvents]] = {}
        for file in parts:
            events.setdefault(file.harness.name, []).append(file.events)
        named = any(span.cwd for file in parts for span in file.events.spans)
        why = (
            ELSEWHERE
            if named
            else NO_FOLDER
            if any(file.numbers for file in parts)
            else NOTHING_USABLE
        )
        why = "" if any(any(file.here) for file in parts) else why
        found.append(file_found(path, events, dict.fromkeys(events, why)))
    return found
