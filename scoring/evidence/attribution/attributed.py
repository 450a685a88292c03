"""Transcripts of a repository: each line belongs to one iteration, and observations are counted."""

import contextlib
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple, Self, TypeAlias

from msgspec.structs import replace

from scoring.errors import DaScoreError
from scoring.evidence.attribution.attribution import Attribution, attribute
from scoring.evidence.attribution.checkpoint_transcripts import (
    ReadTranscript,
    checkpoint_transcripts,
    files_of,
)
from scoring.evidence.attribution.iteration_shares import NO_TRANSCRIPT, NOT_READ, Share
from scoring.evidence.attribution.neighbourhood import Neighbourhood
from scoring.evidence.attribution.observing_iterations import (
    AttributedFacts,
    IterationsSeen,
    Question,
    count_against_each,
)
from scoring.evidence.attribution.session_trees import Tree
from scoring.evidence.attribution.written import LinesAdded
from scoring.evidence.commands.testruns import TestTools
from scoring.evidence.git.checkpoints import (
    Checkpoint,
    CheckpointSession,
    has_own_ref,
    read_checkpoints,
)
from scoring.evidence.git.repository import GitRepository
from scoring.evidence.harnesses import readers
from scoring.evidence.harnesses.reading import transcript_rules
from scoring.evidence.harnesses.unread import UNREAD
from scoring.evidence.transcripts import counting, streams
from scoring.evidence.transcripts.facts import (
    CheckpointsFound,
    FileFound,
    IterationWindow,
    SessionFound,
    TranscriptFacts,
    TranscriptSurvey,
)
from scoring.evidence.transcripts.scan import (
    ELSEWHERE,
    NO_FOLDER,
    NOTHING_USABLE,
    Scan,
    file_found,
)
from scoring.evidence.transcripts.work_trees import InRepository, WorkTrees

ATTRIBUTED_TRANSCRIPTS = transcript_rules(
    "attributed-events", lambda: readers.HARNESSES, tools=TestTools, unread=UNREAD
)
"""Transcripts as found on disk and in checkpoints, with what is seen in each line."""


class AllWork(NamedTuple):
    """All that was read.

    Attributes:
        files: the transcripts.
        owners: for each line the index of its iteration, or below 0.
        entries: how many iterations the log has; an index from there on is of a commit without.
        trees: the sessions with their sub-agents.
        in_repository: returns whether a folder is in the repository.
    """

    files: Sequence[streams.File]
    owners: Sequence[int]
    entries: int
    trees: Sequence[Tree]
    in_repository: InRepository


NeighbourhoodOf: TypeAlias = Callable[[WorkTrees, Collection[streams.Session]], Neighbourhood]
"""Returns what is the repository's, by its work trees and all sessions."""


QuestionsFor: TypeAlias = Callable[
    [Collection[streams.Session]], tuple[Sequence[Question], Mapping[str, str]]
]
"""Returns what is asked about each iteration, and what the commits of all sessions became."""


class AttributedScan(Scan):
    """One reading of the transcripts in some places and in the checkpoints of the repository.

    Attributes:
        checkpoints: the checkpoints of the repository, by their ids.
        work: all that was read; None before :meth:`observe`.
    """

    checkpoints: Mapping[str, Checkpoint] = {}
    work: AllWork | None = None
    _not_fetched: Sequence[str] = ()

    def start(self) -> Self:
        """Find the checkpoints too, and begin to read. Never raises."""
        if self._pool is None:
            # Outside of a repository the caller gets an error when it asks git.
            with contextlib.suppress(DaScoreError):
                repository = self.repository = GitRepository(self._places.repo_dir)
                if self._places.checkpoints:
                    self.checkpoints = read_checkpoints(
                        repository, self._warn, self._places.trusted
                    )
                self._discovery = checkpoint_transcripts(self.checkpoints.values(), repository)
        return super().start()

    def observe(
        self,
        questions_for: QuestionsFor,
        neighbourhood: NeighbourhoodOf,
        lines_added: LinesAdded = lambda _: {},
        entries: int = 0,
    ) -> list[AttributedFacts]:
        """Return what the transcripts show of each iteration. It may be called once.

        Args:
            questions_for: returns what is asked about each iteration, in order of the log.
            neighbourhood: returns what is the repository's.
            lines_added: returns the lines that commits add.
            entries: how many iterations the log has; the others are commits without an entry.

        Raises:
            NotARepositoryError: outside a work tree.
        """
        files = self._read_files()
        sessions = streams.sessions_of(files)
        trees = self._mark(sessions.values(), neighbourhood)
        questions, became = questions_for(sessions.values())
        if self._places.trusted:
            _keep_known_commits(sessions.values(), became)
        streams.count_once(files, streams.order_lines(sessions.values()))

        asked = [question.asked for question in questions]
        read = {file.checkpoint for file in files if file.numbers}
        totals = counting.stated_totals(self.checkpoints.values(), read)
        reviewers = {each.session_id for each in self._stated_sessions() if each.reviews}
        given = attribute(
            asked,
            files,
            sessions,
            became,
            self._session_ids_by_checkpoint(files),
            totals,
            trees,
            entries,
            reviewers,
        )
        self.work = AllWork(files, given.owners, entries, given.trees, trees)
        self._report_unread(given.shares, read)

        streams.note_parts(files, given.parts)
        files_about = _files_about(questions, given, files)
        groups = [share.own for share in given.shares]
        groups += [range(part, part + 1) for part in range(given.total)]
        counts, self._counted = counting.count_lines(files_about, groups)
        seen = IterationsSeen(
            questions,
            given,
            files,
            files_about,
            counting.with_times(counts, files_about, groups),
            sessions,
            totals,
            lines_added,
            Path(self._places.repo_dir),
            trees,
        )
        answers = [seen.facts(index) for index in range(len(questions))]
        if self._places.trusted:
            count_against_each(answers, questions, given.shares)
        return answers

    def _mark(
        self, sessions: Collection[streams.Session], neighbourhood: NeighbourhoodOf
    ) -> WorkTrees:
        """Mark what of sessions is the repository's, and return its work trees."""
        trees = WorkTrees(self.repository or self._places.repo_dir)
        neighbourhood(trees, sessions).mark(sessions)
        return trees

    def _read_files(self) -> list[streams.File]:
        """Return every readable transcript, by harness, and those of checkpoints once each."""
        self.start()
        harnesses = {harness.name: harness for harness in self._harnesses}
        read = []
        for transcript, events_by_harness in self._read():
            for name, events in events_by_harness.items():
                read.append(ReadTranscript(transcript, harnesses[name], events))
        files = files_of(read, self.checkpoints.values())
        streams.number_lines(files)
        return files

    def _report_unread(self, shares: Iterable[Share], read: Collection[str]) -> None:
        """Note which checkpoints have transcripts that are not read, and which are not here."""
        agent_of_unread: dict[str, str] = {}
        for name in self.checkpoints.keys() - read:
            for session in self.checkpoints[name].sessions:
                if session.blobs and not session.missing:
                    agent_of_unread.setdefault(name, session.agent)

        names: set[str] = set()
        for share in shares:
            names.update(share.asked.checkpoints)
            unread = [name for name in share.asked.checkpoints if name in agent_of_unread]
            if unread and (share.stated or share.problem == NO_TRANSCRIPT):
                agent = agent_of_unread[unread[0]] or "a harness without a name"
                share.problem = NOT_READ.format(agent=agent)

        missing = names - self.checkpoints.keys()
        self._not_fetched = sorted(name for name in missing if has_own_ref(name))

    def _session_ids_by_checkpoint(self, files: Iterable[streams.File]) -> dict[str, set[str]]:
        """Return the session ids of each checkpoint, as it lists them and names its transcripts."""
        session_ids: dict[str, set[str]] = {}
        for name, checkpoint in self.checkpoints.items():
            session_ids[name] = {session.session_id for session in checkpoint.sessions} - {""}
        for file in files:
            if file.checkpoint:
                session_ids[file.checkpoint].add(file.owner)
        return session_ids

    def _stated_sessions(self) -> list[CheckpointSession]:
        """Return the sessions as all checkpoints state them."""
        sessions: list[CheckpointSession] = []
        for checkpoint in self.checkpoints.values():
            sessions += checkpoint.sessions
        return sessions

    def facts(self, windows: Sequence[IterationWindow]) -> list[TranscriptFacts]:
        """Read everything for a survey without iterations. Windows of time say nothing here."""
        self.observe(
            lambda _: ([], {}),
            lambda trees, _: Neighbourhood(trees, (), frozenset, lambda _: False),
        )
        return [TranscriptFacts() for _ in windows]

    def survey(self) -> TranscriptSurvey:
        """Return what the reading met with. Call it after :meth:`observe`."""
        stored = [session for session in self._stated_sessions() if session.blobs]
        checkpoints = CheckpointsFound(
            count=len(self.checkpoints),
            transcripts=len(stored),
            missing=tuple(Path(session.path) for session in stored if session.missing),
            not_fetched=tuple(self._not_fetched),
        )
        survey = super().survey()
        files = list(survey.files)
        unclaimed: list[SessionFound] = []
        if self.work:
            files += _files_found(self.work.files)
            unclaimed = _unclaimed(self.work)
        files.sort(key=lambda file: os.fsencode(file.path))
        return replace(
            survey, files=tuple(files), unclaimed=tuple(unclaimed), checkpoints=checkpoints
        )

    def sessions(self, neighbourhood: NeighbourhoodOf) -> Sequence[streams.Session]:
        """Return every session that was read, with its commits.

        It may be called once, and then no other method.
        """
        sessions = self.unmarked_sessions()
        self._mark(sessions, neighbourhood)
        return sessions

    def unmarked_sessions(self) -> Sequence[streams.Session]:
        """Return the same, of which no line is marked as work in the repository.

        It may be called once, and then no other method. It needs no repository.
        """
        return list(streams.sessions_of(self._read_files()).values())

    def session_ids(self) -> set[str]:
        """Return the ids of all sessions in transcripts and checkpoints.

        It may be called once, and then no other method.
        """
        self.start()
        ids = {session.session_id for session in self._stated_sessions()}
        for _, events_by_harness in self._read():
            for events in events_by_harness.values():
                ids.update(events.sessions())
        return ids


attributed_scan = partial(AttributedScan, ATTRIBUTED_TRANSCRIPTS)
"""Prepares to read the transcripts of all harnesses and of the checkpoints."""


def _keep_known_commits(sessions: Iterable[streams.Session], known: Mapping[str, str]) -> None:
    """Keep the commits of sessions that git has, by their whole SHAs.

    Nothing but the digits that git printed, which must not be those of two commits or the name of
    a tag, says which commit of the repository it is.
    """
    for session in sessions:
        session.made = [
            made._replace(sha=known[made.sha])
            for made in session.made
            if made.sha in known and known[made.sha].startswith(made.sha)
        ]


def _files_about(
    questions: Sequence[Question], given: Attribution, files: Sequence[streams.File]
) -> Sequence[streams.File]:
    """Return the files on which depends what was seen of the iterations that are wanted."""
    shares = [
        share for question, share in zip(questions, given.shares, strict=True) if question.is_wanted
    ]
    if len(shares) == len(questions):
        return files

    wanted = {part for share in shares for part in (*share.own, *share.voting)}
    return counting.files_about(files, wanted)


def _unclaimed(work: AllWork) -> list[SessionFound]:
    """Return the sessions with work in the repository that belongs to no iteration, by path."""
    sessions = streams.sessions_of(work.files).values()
    streams.order_lines(sessions)

    unclaimed = []
    for session in sessions:
        is_free = not any(0 <= work.owners[line] < work.entries for line in session.lines)
        if session.lines and is_free:
            path = session.files[0].transcript.path
            unclaimed.append(SessionFound(*session.key, path, len(session.lines)))
    return sorted(unclaimed, key=lambda session: (os.fsencode(session.path), session.session))


def _files_found(files: Sequence[streams.File]) -> list[FileFound]:
    """Return what is said of each transcript."""
    by_path: dict[Path, list[streams.File]] = {}
    for file in files:
        by_path.setdefault(file.transcript.path, []).append(file)

    files_found = []
    for path, files_at in by_path.items():
        parts = [(file.harness.name, file.events) for file in files_at]
        files_found.append(file_found(path, parts, _why_left_out(files_at)))
    return files_found


def _why_left_out(files: Sequence[streams.File]) -> str:
    """Return why nothing of a transcript counts, or "" when something does."""
    if any(any(file.here) for file in files):
        return ""
    if any(span.cwd for file in files for span in file.events.spans):
        return ELSEWHERE
    return NO_FOLDER if any(file.numbers for file in files) else NOTHING_USABLE
