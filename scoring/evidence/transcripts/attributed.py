"""The transcripts of a repository with each line given to one iteration, and what is seen and counted in the lines.

Files of checkpoints in git come to those on disk. The module is long because it is where all of that meets.
"""

import contextlib
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple, Self, Unpack

from msgspec.structs import replace

from scoring.errors import DaScoreError
from scoring.evidence.git.checkpoints import Checkpoint, CheckpointSession, TokenTotals, has_own_ref, read_checkpoints
from scoring.evidence.git.repository import GitRepository
from scoring.evidence.transcripts import readers
from scoring.evidence.transcripts.attribution import NO_TRANSCRIPT, NOT_READ, Attribution, Share, attribute
from scoring.evidence.transcripts.claims import Spoken, claims_seen, spoken_in
from scoring.evidence.transcripts.counting import as_turn_counts, count_lines, stated_totals
from scoring.evidence.transcripts.discovery import checkpoint_transcripts, discover
from scoring.evidence.transcripts.facts import (
    CheckpointsFound,
    FileFound,
    IterationWindow,
    LinesFound,
    Observed,
    ReadingOptions,
    SessionFound,
    TranscriptFacts,
    TranscriptPlaces,
    TranscriptSurvey,
)
from scoring.evidence.transcripts.harness import ELSEWHERE, NO_FOLDER, Harness, InRepository
from scoring.evidence.transcripts.makers import LandedAs
from scoring.evidence.transcripts.rows import Rows
from scoring.evidence.transcripts.scan import NOTHING_USABLE, Scan, TranscriptRules, file_found
from scoring.evidence.transcripts.session_trees import NO_ITERATION, Asked
from scoring.evidence.transcripts.sightings import (
    Sightings,
    lines_found,
    lines_that_made,
    places_seen,
    sightings_of,
    together,
)
from scoring.evidence.transcripts.streams import (
    File,
    Session,
    SessionKey,
    count_once,
    number_lines,
    order_lines,
    sessions_of,
)
from scoring.evidence.transcripts.testruns import TestTools
from scoring.evidence.transcripts.work_trees import (
    Neighbourhood,
    WorkTrees,
    may_be_written,
    was_written,
    written_paths,
    written_through_links,
)
from scoring.evidence.transcripts.written import LinesAdded, least_share, written_lines

ATTRIBUTED_TRANSCRIPTS = TranscriptRules(discover, lambda: readers.ATTRIBUTED_HARNESSES, "attributed-rows", TestTools)
"""Transcripts as found on disk and in checkpoints, with what is seen in each line."""


class Verification(NamedTuple):
    """What a verifier of an entry is called, the path of its result artifact, and where that really is."""

    kind: str
    artifact: str
    place: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked about an iteration: lines, verifiers, and of the commit ``written`` how much agents wrote."""

    asked: Asked
    verifiers: tuple[Verification, ...] = ()
    written: str = ""


class AttributedFacts(NamedTuple):
    """What transcripts say of one iteration."""

    transcripts: TranscriptFacts
    observed: Observed


class AllWork(NamedTuple):
    """All that was read, as attribution left it: the transcripts, the owners of lines, and which folders are here."""

    files: Sequence[File]
    given: Attribution
    harnesses: Sequence[Harness]
    in_repository: InRepository


def attributed_scan(places: TranscriptPlaces, **reading: Unpack[ReadingOptions]) -> "AttributedScan":
    """Prepare to read the transcripts of all harnesses and of the checkpoints; ``reading`` says how."""
    return AttributedScan(ATTRIBUTED_TRANSCRIPTS, places, **reading)


class AttributedScan(Scan):
    """One reading of the transcripts in some places and in the checkpoints of the repository."""

    checkpoints: Mapping[str, Checkpoint] = {}  # the checkpoints of the repository, by their ids
    work: AllWork | None = None  # after the answers
    _unclaimed: Sequence[SessionFound] = ()
    _not_fetched: Sequence[str] = ()

    def start(self) -> Self:
        """Find the checkpoints too, and begin to read. Never raises."""
        if self._pool is None:
            # A directory in no repository is no matter here: the caller gets an error when it asks git.
            with contextlib.suppress(DaScoreError):
                repository = self.repository = GitRepository(self._places.repo_dir)
                if self._places.checkpoints:
                    self.checkpoints = read_checkpoints(repository, self._warn)
                self._discovery = checkpoint_transcripts(self.checkpoints.values(), repository)
        return super().start()

    def answers(
        self,
        questions: Sequence[Question],
        neighbourhood: Callable[[WorkTrees, Collection[str]], Neighbourhood],
        landed_as: LandedAs,
        lines_added: LinesAdded = lambda _: {},
    ) -> list[AttributedFacts]:
        """Return what each iteration shows, when everything has been read; may be called once.

        ``neighbourhood`` is made of the repository's work trees and the known parts of the names of the commits that
        sessions made. Raises NotARepositoryError where only work in the repository counts and its directory is in none.
        """
        self.start()
        files = self._files_read()
        lines = number_lines(files)
        sessions = sessions_of(files)
        made = {commit.sha for session in sessions.values() for commit in session.made}
        there = neighbourhood(WorkTrees(self._places.repo_dir), made)
        there.mark(sessions.values())
        count_once(files, lines)
        order_lines(sessions.values())
        asked = [question.asked for question in questions]
        read = {file.checkpoint for file in files if file.numbers}
        totals = stated_totals(self.checkpoints.values(), read)
        given = attribute(asked, files, sessions, lines, landed_as, self._listing(files), totals)
        self.work = AllWork(files, given, self._harnesses, there.in_repository)
        self._name_unread(given.shares, asked, read)
        groups = [share.own for share in given.shares] + [range(part, part + 1) for part in range(given.total)]
        counted, self._tallies = count_lines(files, given.parts, groups, self._harnesses)
        of_part = counted[len(given.shares) :]
        places = {part: place for place, share in enumerate(given.shares) for part in share.own}
        seen = sightings_of(files, given.parts, given.total, places)
        spoken = spoken_in(files, given.parts, {key for share in given.shares for key in share.sessions})
        asked_of = [(q.written, s.voting) for q, s in zip(questions, given.shares, strict=True) if q.written]
        wrote = written_lines(files, given.parts, {part for _, voting in asked_of for part in voting})
        added = lines_added([sha for sha, _ in asked_of])
        written = written_paths(files) if any(v.artifact for q in questions for v in q.verifiers) else {}
        verifiers = (verifier for question in questions for verifier in question.verifiers)
        linked = written_through_links(Path(self._places.repo_dir), {v.place for v in verifiers}, written)
        made_at = lines_that_made(files, given.shares)
        lines_of = lines_found(files, given.parts, given.total)
        self._files += _found(files)
        self._unclaimed = _unclaimed(sessions.values(), given.owners)
        named = {name for one in asked for name in one.checkpoints if has_own_ref(name)}
        self._not_fetched = sorted(named - self.checkpoints.keys())
        return [
            from_totals(question, share, totals)
            or self._answer(
                question,
                share,
                counted[place],
                [of_part[part] for part in share.voting],
                together(seen[part] for part in share.voting),
                made_at,
                written,
                linked,
                tuple(found for part in share.voting for found in lines_of[part]),
                questions[share.shared].asked.iteration if share.shared is not None else None,
                spoken,
                least_share(added.get(question.written, {}), [wrote[part] for part in share.voting if part in wrote]),
            )
            for place, (question, share) in enumerate(zip(questions, given.shares, strict=True))
        ]

    def _name_unread(self, shares: Iterable[Share], asked: Iterable[Asked], read: Collection[str]) -> None:
        """Say of iterations without lines where the transcript of a checkpoint is here and of another harness."""
        for share, one in zip(shares, asked, strict=True):
            found = (
                self.checkpoints[name] for name in one.checkpoints if name in self.checkpoints and name not in read
            )
            agents = [s.agent for checkpoint in found for s in checkpoint.sessions if s.blobs and not s.missing]
            if agents and (share.stated or share.problem == NO_TRANSCRIPT):
                share.problem = NOT_READ.format(agent=agents[0] or "a harness without a name")

    def _listing(self, files: Iterable[File]) -> dict[str, set[str]]:
        """Return the ids of the sessions of each checkpoint, as it lists them and as its transcripts are named."""
        found = {name: {one.session_id for one in each.sessions} - {""} for name, each in self.checkpoints.items()}
        for file in files:
            if file.checkpoint:
                found[file.checkpoint].add(file.owner)
        return found

    def facts(self, windows: Sequence[IterationWindow], whole: bool = True) -> list[TranscriptFacts]:  # noqa: ARG002
        """Read everything for a survey without iterations; windows of time say nothing here."""
        self.answers(
            [], lambda work_trees, _: Neighbourhood(work_trees, (), frozenset(), lambda _: False), lambda _: {}
        )
        return [TranscriptFacts() for _ in windows]

    def survey(self) -> TranscriptSurvey:
        """Return what the reading met with; after :meth:`answers`."""
        held = [s for checkpoint in self.checkpoints.values() for s in checkpoint.sessions if s.blobs]
        missing = tuple(Path(session.path) for session in held if session.missing)
        checkpoints = CheckpointsFound(len(self.checkpoints), len(held), missing, tuple(self._not_fetched))
        return replace(super().survey(), unclaimed=tuple(self._unclaimed), checkpoints=checkpoints)

    def sessions(self, neighbourhood: Callable[[WorkTrees, Collection[str]], Neighbourhood]) -> Sequence[Session]:
        """Return every session that was read, with the commits that it made; may be called once, and then no other."""
        self.start()
        files = self._files_read()
        number_lines(files)
        found = sessions_of(files)
        made = {commit.sha for session in found.values() for commit in session.made}
        neighbourhood(WorkTrees(self._places.repo_dir), made).mark(found.values())
        return list(found.values())

    def session_ids(self) -> set[str]:
        """Return the ids of all sessions that transcripts and checkpoints have; may be called once, and no other."""
        self.start()
        stated = {one.session_id for checkpoint in self.checkpoints.values() for one in checkpoint.sessions}
        return stated | {name for _, of in self._read() for rows in of.values() for name in rows.sessions()}

    def _files_read(self) -> list[File]:
        """Return every transcript that could be read, by harness, and those of checkpoints once for each of them."""
        harnesses = {harness.name: harness for harness in self._harnesses}
        held: dict[tuple[str, ...], list[tuple[str, CheckpointSession]]] = {}
        for checkpoint in self.checkpoints.values():
            for session in checkpoint.sessions:
                if session.blobs:
                    held.setdefault(session.blobs, []).append((checkpoint.id, session))
        read = [(transcript, harnesses[name], rows) for transcript, of in self._read() for name, rows in of.items()]
        known: dict[SessionKey, list[Rows]] = {}
        for _, harness, rows in read:
            for name in rows.sessions():
                known.setdefault((harness.name, name), []).append(rows)

        def again(harness: Harness, name: str) -> list[Rows]:
            return known.get((harness.name, name), [])

        files: list[File] = []
        for transcript, harness, found in read:
            rows = harness.original(found, partial(again, harness))
            if transcript.blobs:
                of_it = held[transcript.blobs]
                for name, one in of_it:
                    files.append(File(transcript, harness, rows, name, one.session_id, rows.line_of(one.start)))
            elif transcript.store and len(rows.sessions()) > 1:
                apart = rows.by_session()
                files += (File(transcript, harness, part, session=part.sessions()[0]) for part in apart)
            else:
                files.append(File(transcript, harness, rows))
        files.sort(key=lambda file: (not file.checkpoint, file.order, os.fsencode(file.transcript.path)))
        return files

    def _answer(
        self,
        question: Question,
        share: Share,
        counted: TranscriptFacts,
        voting: Sequence[TranscriptFacts],
        seen: Sightings,
        made: Mapping[int, tuple[File, int]],
        written: Mapping[str, Collection[str]],
        linked: Collection[str],
        lines: tuple[LinesFound, ...],
        shared_with: int | None,
        spoken: Spoken,
        by_agents: float | None,
    ) -> AttributedFacts:
        names, also = (tuple(sorted({name for _, name in keys})) for keys in (share.sessions, share.also))
        checkpoints = question.asked.checkpoints
        if share.method is None:
            return AttributedFacts(
                TranscriptFacts(),
                Observed(sessions=names, also_active=also, problem=share.problem, checkpoints=checkpoints),
            )
        tests, last = seen.tests(share.end)
        corrections, breaks = seen.corrections()
        verifiers = question.verifiers
        return AttributedFacts(
            counted,
            Observed(
                share.method,
                names,
                share.problem,
                shared_with,
                sum(part.tool_calls for part in voting),
                tests,
                corrections,
                frozenset(
                    v.place for v in verifiers if v.place in linked or any(was_written(p, written) for p in v[1:] if p)
                ),
                frozenset(v.place for v in verifiers if any(may_be_written(p, written) for p in v[1:] if p)),
                tuple(seen.ran_for(v.kind) for v in verifiers),
                places_seen(share.made, made.get(share.made.line) if share.made else None, last, breaks),
                checkpoints=checkpoints,
                lines=lines,
                work=seen.work(),
                by_agents=by_agents,
                claims=tuple(claims_seen(share, spoken, seen)),
                also_active=also,
                failed_calls=_failed(voting),
            ),
        )


def _failed(parts: Sequence[TranscriptFacts]) -> int | None:
    """Return how many tool calls failed in some parts; None where they have some, and none states how it ended."""
    called = [part for part in parts if part.tool_calls]
    if called and all(part.ends_unknown for part in called):
        return None
    return sum(part.tool_errors for part in called)


def from_totals(
    question: Question, share: Share, totals: Mapping[str, Mapping[str, TokenTotals]]
) -> AttributedFacts | None:
    """Return what the totals of checkpoints say of an iteration of which nothing else is known; None of any other."""
    tokens = [(name, found) for checkpoint in share.stated for name, found in totals[checkpoint].items()]
    if not tokens:
        return None
    counts = [as_turn_counts(found) for _, found in tokens]
    given, output, reads, creations, responses = map(sum, zip(*counts, strict=True))
    names, checkpoints = tuple(sorted({name for name, _ in tokens if name})), question.asked.checkpoints
    counted = TranscriptFacts(max(responses, 1), given, output, reads, creations)
    return AttributedFacts(
        counted, Observed(share.method, names, share.problem, checkpoint_tokens=True, checkpoints=checkpoints)
    )


def _unclaimed(sessions: Iterable[Session], owners: Sequence[int]) -> list[SessionFound]:
    """Return the sessions with lines of work in the repository that all belong to no iteration, by path."""
    found = [
        SessionFound(*session.key, session.files[0].transcript.path, len(session.lines))
        for session in sessions
        if session.lines and all(owners[line] == NO_ITERATION for line in session.lines)
    ]
    return sorted(found, key=lambda one: (os.fsencode(one.path), one.session))


def _found(files: Sequence[File]) -> list[FileFound]:
    by_path: dict[Path, list[File]] = {}
    for file in files:
        by_path.setdefault(file.transcript.path, []).append(file)
    found = []
    for path, parts in by_path.items():
        rows: dict[str, list[Rows]] = {}
        for file in parts:
            rows.setdefault(file.harness.name, []).append(file.rows)
        named = any(span.cwd for file in parts for span in file.rows.spans)
        why = ELSEWHERE if named else NO_FOLDER if any(file.numbers for file in parts) else NOTHING_USABLE
        why = "" if any(any(file.here) for file in parts) else why
        found.append(file_found(path, rows, dict.fromkeys(rows, why)))
    return found
