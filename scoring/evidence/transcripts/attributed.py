"""The transcripts of a repository with each line given to one iteration, and what is seen and counted in the lines.

Reading is that of all transcripts (:mod:`scoring.evidence.transcripts.scan`); to the files on disk come those of the
checkpoints in git. When everything is read, lines get their sessions, sessions their place in the repository, and
lines their iterations; then responses and calls are counted by iteration as they else are by window of time.

The module is long because it is where all of that meets.
"""

import contextlib
import os
from array import array
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import NamedTuple, Self, Unpack

from scoring.errors import DaScoreError
from scoring.evidence.git.cache import GitCache
from scoring.evidence.git.checkpoints import BRANCH, Checkpoint, CheckpointSession, TokenTotals, read_checkpoints
from scoring.evidence.git.repository import GitRepository
from scoring.evidence.transcripts import readers
from scoring.evidence.transcripts.attribution import EMPTY, NOBODY, Asked, Attribution, LandedAs, Share
from scoring.evidence.transcripts.discovery import WorkTrees, discover
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
from scoring.evidence.transcripts.harness import ELSEWHERE, NO_FOLDER, Harness
from scoring.evidence.transcripts.in_git import checkpoint_transcripts
from scoring.evidence.transcripts.kept_answers import AnswersFile, KeptAnswers, digest_of, sources_digest
from scoring.evidence.transcripts.rows import RUN, Rows
from scoring.evidence.transcripts.scan import Scan, TranscriptRules, file_found
from scoring.evidence.transcripts.sightings import (
    Sightings,
    lines_found,
    lines_that_made,
    places_seen,
    sightings_of,
    was_written,
    written_paths,
)
from scoring.evidence.transcripts.streams import (
    File,
    Neighbourhood,
    Session,
    SessionKey,
    continued,
    count_once,
    number_lines,
    order_lines,
    sessions_of,
)
from scoring.evidence.transcripts.tally import Tallies, chosen
from scoring.evidence.transcripts.testruns import TestTools

ATTRIBUTED_TRANSCRIPTS = TranscriptRules(
    discover, lambda: readers.ATTRIBUTED_HARNESSES, "attributed-transcripts", TestTools
)
"""Transcripts as found on disk and in checkpoints, with what is seen in each line."""


class Verification(NamedTuple):
    """What a verifier of an entry is called, the path of its result artifact, and where that really is."""

    kind: str
    artifact: str
    place: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked about one iteration: whose lines they are, and which verifiers its entry lists."""

    asked: Asked
    verifiers: tuple[Verification, ...] = ()


class AttributedFacts(NamedTuple):
    """What transcripts say of one iteration."""

    transcripts: TranscriptFacts
    observed: Observed


def attributed_scan(places: TranscriptPlaces, **reading: Unpack[ReadingOptions]) -> "AttributedScan":
    """Prepare to read the transcripts of all harnesses and of the checkpoints; ``reading`` says how."""
    return AttributedScan(ATTRIBUTED_TRANSCRIPTS, places, **reading)


class AttributedScan(Scan):
    """One reading of the transcripts in some places and in the checkpoints of the repository."""

    _checkpoints: Mapping[str, Checkpoint] = {}
    _unclaimed: Sequence[SessionFound] = ()
    _found_state: bytes | None = None
    _kept: KeptAnswers | None = None
    _anew: Callable[[], object] | None = None
    """What reads everything, where that was not needed for the answers."""

    def start(self) -> Self:
        """Find the checkpoints too, and begin to read. Never raises."""
        if not self._started:
            # A directory in no repository is no matter here: whoever asks about its commits will say so.
            with contextlib.suppress(DaScoreError):
                repository = GitRepository(self._places.repo_dir)
                cache = GitCache(self.cache_dir, repository.common_dir)
                self._checkpoints = read_checkpoints(repository, cache, self._warn)
                self._discovery = checkpoint_transcripts(self._checkpoints.values(), repository)
                cache.save()
        return super().start()

    def _begin(self) -> None:
        """Begin to read, unless the answers of an earlier run were found in the same transcripts."""
        if self.cache_dir:
            seen = sorted(self._checkpoints.items()), [h.name for h in self._harnesses], self._reading
            self._found_state = sources_digest(self._discovery.transcripts, seen)
            self._answers_file = AnswersFile(self.cache_dir, (self._rules.index_name, self._places))
            kept = self._answers_file.load()
            if kept and kept.sources == self._found_state:
                self._kept = kept
                return
        super()._begin()

    def answers(
        self,
        questions: Sequence[Question],
        neighbourhood: Callable[[WorkTrees, Collection[str]], Neighbourhood],
        landed_as: LandedAs,
        state: object = None,
    ) -> list[AttributedFacts]:
        """Return what each iteration shows, when everything has been read; may be called once.

        Args:
            questions: what is asked, in the order of the iterations.
            neighbourhood: makes what decides whether work belongs to the repository, of its work trees and what is
                known of the names of the commits that sessions made.
            landed_as: says of commits that sessions made as which commits they landed.
            state: what else the answers rest on, as the branches of the repository.

        Raises:
            NotARepositoryError: only work in the repository counts, and the directory named for it is in none.
        """
        self.start()
        asked = digest_of((questions, state))
        anew = partial(self._answers_anew, questions, neighbourhood, landed_as, asked)
        if kept := self._kept:
            there = neighbourhood(WorkTrees(self._places.repo_dir), kept.commits)
            folders = {folder: there.look(folder) for folder in kept.folders}
            if (kept.asked, kept.commits, kept.folders) == (asked, there.commits, folders):
                self._anew = anew
                return [AttributedFacts(*answer) for answer in kept.answers]
            super()._begin()
        return anew()

    def _answers_anew(
        self,
        questions: Sequence[Question],
        neighbourhood: Callable[[WorkTrees, Collection[str]], Neighbourhood],
        landed_as: LandedAs,
        asked_digest: bytes,
    ) -> list[AttributedFacts]:
        """Read everything and answer, and keep the answers for the next run."""
        files = self._files_read()
        lines = number_lines(files)
        sessions = sessions_of(files)
        made = {commit.sha for session in sessions.values() for commit in session.made}
        there = neighbourhood(WorkTrees(self._places.repo_dir), made)
        there.mark(sessions.values())
        count_once(files, lines)
        order_lines(sessions.values())
        asked = [question.asked for question in questions]
        totals = stated_totals(self._checkpoints.values(), {file.checkpoint for file in files})
        attribution = Attribution(asked, files, sessions, landed_as, [NOBODY] * lines, totals)
        shares = attribution.run()
        counted = self._count(files, attribution.owners, len(questions))
        seen = sightings_of(files, attribution.owners, len(questions))
        written = written_paths(files) if any(v.artifact for q in questions for v in q.verifiers) else {}
        places = lines_that_made(files, shares)
        lines_of = lines_found(files, attribution.owners, len(questions))
        self._files += _found(files)
        self._unclaimed = _unclaimed(sessions.values(), attribution.owners)
        answers = [
            from_totals(question, share, totals)
            or self._answer(
                question, share, counted[share.group], seen[share.group], places, written, lines_of[share.group]
            )
            for question, share in zip(questions, shares, strict=True)
        ]
        # What was warned of is read again next time, to be warned of again.
        if self.cache_dir and self._found_state and self._keeps and not self._warned:
            found = [(answer.transcripts, answer.observed) for answer in answers]
            kept = KeptAnswers(self._found_state, asked_digest, dict(there.folders), dict(there.commits), found)
            self._answers_file.save(kept)
        return answers

    def facts(self, windows: Sequence[IterationWindow]) -> list[TranscriptFacts]:
        """Read everything for a survey without iterations; windows of time say nothing here."""
        self.answers(
            [], lambda work_trees, _: Neighbourhood(work_trees, (), frozenset(), lambda _: False), lambda _: {}
        )
        return [TranscriptFacts() for _ in windows]

    def survey(self) -> TranscriptSurvey:
        """Return what the reading met with; after :meth:`answers`."""
        if self._anew:
            super()._begin()
            self._anew()
        held = [s for checkpoint in self._checkpoints.values() for s in checkpoint.sessions if s.blobs]
        missing = tuple(Path(f"{BRANCH}:{session.path}") for session in held if session.missing)
        checkpoints = CheckpointsFound(len(self._checkpoints), len(held), missing)
        return replace(super().survey(), unclaimed=tuple(self._unclaimed), checkpoints=checkpoints)

    def _files_read(self) -> list[File]:
        """Return every transcript that could be read, by harness, and those of checkpoints once for each of them."""
        harnesses = {harness.name: harness for harness in self._harnesses}
        held: dict[tuple[str, ...], list[tuple[str, CheckpointSession]]] = {}
        for checkpoint in self._checkpoints.values():
            for session in checkpoint.sessions:
                if session.blobs:
                    held.setdefault(session.blobs, []).append((checkpoint.id, session))
        read = [(transcript, harnesses[name], rows) for _, transcript, of in self._read() for name, rows in of.items()]
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
                files += (File(transcript, harness, rows, name, one.session_id, one.start) for name, one in of_it)
            else:
                files.append(File(transcript, harness, rows))
        files.sort(key=lambda file: (not file.checkpoint, file.order, os.fsencode(file.transcript.path)))
        return files

    def _count(self, files: Sequence[File], owners: Sequence[int], count: int) -> list[TranscriptFacts]:
        """Count responses and calls by iteration: the place of an iteration is in the place of a time."""
        windows = [IterationWindow(place, place - 1, place) for place in range(1, count + 1)]
        tallies = self._tallies = Tallies(windows, [harness.name for harness in self._harnesses])
        counters = {h.name: h.counter(tallies.of[h.name], lambda _: True, lambda _: []) for h in self._harnesses}
        for number, file in enumerate(continued(files)):
            places = [
                (owners[line] + 1 if owners[line] >= 0 else count + 1) if fresh else 0
                for line, fresh in zip(file.ids, file.fresh, strict=True)
            ]
            rows = placed(file.rows, dict(zip(file.numbers, places, strict=True)))
            counters[file.harness.name].add(number, rows, True)
        for counter in counters.values():
            counter.finish()
        return tallies.facts()

    def _answer(
        self,
        question: Question,
        share: Share,
        counted: TranscriptFacts,
        seen: Sightings,
        made: Mapping[int, tuple[File, int]],
        written: Mapping[str, Collection[str]],
        lines: tuple[LinesFound, ...],
    ) -> AttributedFacts:
        """Put together what is known of one iteration."""
        names, checkpoints = tuple(sorted({name for _, name in share.sessions})), question.asked.checkpoints
        if share.method is None:
            return AttributedFacts(
                TranscriptFacts(), Observed(sessions=names, problem=share.problem, checkpoints=checkpoints)
            )
        problem = share.problem or ("" if counted.turns else EMPTY)
        tests, last = seen.tests(share.end)
        corrections, breaks = seen.corrections()
        verifiers = question.verifiers
        return AttributedFacts(
            counted,
            Observed(
                share.method,
                names,
                problem,
                share.shared_with,
                seen.tool_calls,
                tests,
                corrections,
                frozenset(v.place for v in verifiers if any(was_written(p, written) for p in v[1:] if p)),
                tuple(seen.ran_for(v.kind, v.artifact) for v in verifiers),
                places_seen(share.made, made.get(share.made.line) if share.made else None, last, breaks),
                checkpoints=checkpoints,
                lines=lines,
            ),
        )


def stated_totals(checkpoints: Iterable[Checkpoint], read: Collection[str]) -> dict[str, dict[str, TokenTotals]]:
    """Return the tokens that checkpoints state, by session, of those from which no transcript was ``read``.

    They are of the session up to the checkpoint, in newer layouts of its part: their proportions are what counts.
    """
    found = {
        checkpoint.id: {session.session_id: session.tokens for session in checkpoint.sessions if session.tokens}
        for checkpoint in checkpoints
        if checkpoint.id not in read
    }
    return {name: tokens for name, tokens in found.items() if tokens}


def from_totals(
    question: Question, share: Share, totals: Mapping[str, Mapping[str, TokenTotals]]
) -> AttributedFacts | None:
    """Return what the totals of checkpoints say of an iteration of which nothing else is known; None of any other."""
    tokens = [(name, found) for checkpoint in share.stated for name, found in totals[checkpoint].items()]
    if not tokens:
        return None
    counts = [_as_claude_counts(found) for _, found in tokens]
    given, output, reads, creations, responses = map(sum, zip(*counts, strict=True))
    names = tuple(sorted({name for name, _ in tokens if name}))
    counted = TranscriptFacts(max(responses, 1), given, output, reads, creations)
    return AttributedFacts(
        counted, Observed(share.method, names, checkpoint_tokens=True, checkpoints=question.asked.checkpoints)
    )


def _as_claude_counts(tokens: TokenTotals) -> TokenTotals:
    """Return totals with the input that was not read from the cache as what was written to it, where nothing says that.

    Codex counts cached tokens in its input and does not say what it wrote to the cache, as in its transcripts.
    """
    if tokens.cache_creation or not 0 < tokens.cache_read <= tokens.input:
        return tokens
    return tokens._replace(cache_creation=tokens.input - tokens.cache_read)


def placed(rows: Rows, places: Mapping[int, int]) -> Rows:
    """Return rows with the place of an iteration instead of a line's number, without the lines whose place is 0."""
    covers = [array("q", filter(None, map(places.__getitem__, numbers))) for numbers in rows.covers]
    tables = {}
    for kind, columns in rows.tables.items():
        if kind < RUN:
            found = array("q", map(places.__getitem__, columns[1]))
            whole = [columns[0], found, *columns[2:]]
            tables[kind] = whole if all(found) else chosen(whole, list(map(bool, found)))
    # What repeats another session's lines is left out already: no session counts as a fork of another one.
    return Rows([span._replace(parent="") for span in rows.spans], covers, tables, rows.skipped)


def _unclaimed(sessions: Iterable[Session], owners: Sequence[int]) -> list[SessionFound]:
    """Return the sessions with lines of work in the repository that all belong to no iteration, by path."""
    found = [
        SessionFound(*session.key, session.files[0].transcript.path, len(session.lines))
        for session in sessions
        if session.lines and all(owners[line] == NOBODY for line in session.lines)
    ]
    return sorted(found, key=lambda one: (os.fsencode(one.path), one.session))


def _found(files: Sequence[File]) -> list[FileFound]:
    """Return what is said of the transcripts."""
    by_path: dict[Path, list[File]] = {}
    for file in files:
        by_path.setdefault(file.transcript.path, []).append(file)
    found = []
    for path, parts in by_path.items():
        rows = {file.harness.name: file.rows for file in parts}
        named = any(span.cwd for file in parts for span in file.rows.spans)
        why = "" if any(any(file.here) for file in parts) else ELSEWHERE if named else NO_FOLDER
        found.append(file_found(path, rows, dict.fromkeys(rows, why)))
    return found
