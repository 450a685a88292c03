"""Puts together what transcripts show of each iteration: docs/EVIDENCE.md, "Observations"."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from scoring.evidence.attribution.artifact_writes import Writes
from scoring.evidence.attribution.attribution import Attribution
from scoring.evidence.attribution.claims import claims_seen, spoken_in
from scoring.evidence.attribution.collecting import (
    lines_found,
    lines_that_made,
    missing_sub_agents,
    places_seen,
    sightings_of,
)
from scoring.evidence.attribution.iteration_shares import Share
from scoring.evidence.attribution.session_trees import Asked
from scoring.evidence.attribution.sightings import together
from scoring.evidence.attribution.written import (
    SAME_PATCH,
    LinesAdded,
    least_share,
    written_lines,
)
from scoring.evidence.git.agents import StatedAgent
from scoring.evidence.git.checkpoints import TokenTotals
from scoring.evidence.transcripts.facts import TranscriptFacts
from scoring.evidence.transcripts.observed_facts import Observed, TestsSeen
from scoring.evidence.transcripts.streams import File, Session, SessionKey
from scoring.evidence.transcripts.work_trees import WorkTrees


class Verification(NamedTuple):
    """A verifier of an entry.

    Attributes:
        kind: its type.
        artifact: the path of its result artifact, as the entry has it.
        place: the path of that in the repository.
    """

    kind: str
    artifact: str
    place: str


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked about an iteration.

    Attributes:
        asked: all by which its lines may be found.
        verifiers: its verifiers.
        written: the SHA of the commit of which the share is wanted that agents wrote; "": none.
        documents: whether its commit changed nothing but documents.
        stated: the harness and the model that its commit and its checkpoints state.
        is_strict: whether sessions count only where they wrote the lines of its commit.
        is_wanted: whether it matters what was seen in its lines. If not, only which sessions it has
            is found out.
    """

    asked: Asked
    verifiers: tuple[Verification, ...]
    written: str
    documents: bool
    stated: StatedAgent
    is_strict: bool
    is_wanted: bool


class AttributedFacts(NamedTuple):
    """What transcripts show of one iteration."""

    transcripts: TranscriptFacts
    observed: Observed


class IterationsSeen:
    """What was seen in the lines of iterations.

    Args:
        questions: the iterations.
        given: which lines belong to which iteration.
        files: the transcripts.
        files_about: those with lines of the iterations that are wanted.
        counts: what is counted in the own lines of each iteration, then in those of each part.
        sessions: the sessions, by their keys.
        totals: the tokens that checkpoints state, by checkpoint and session.
        lines_added: returns the lines that commits add.
        root: a directory of the repository.
        trees: its work trees.
    """

    def __init__(
        self,
        questions: Sequence[Question],
        given: Attribution,
        files: Sequence[File],
        files_about: Sequence[File],
        counts: Sequence[TranscriptFacts],
        sessions: Mapping[SessionKey, Session],
        totals: Mapping[str, Mapping[str, TokenTotals]],
        lines_added: LinesAdded,
        root: Path,
        trees: WorkTrees,
    ) -> None:
        self._questions = questions
        self._shares = given.shares
        self._counts = counts
        self._counts_of_parts = counts[len(questions) :]
        self._sessions = sessions
        self._totals = totals

        iteration_of = {}
        shares = []
        written_shas = []
        written_parts: set[int] = set()
        artifacts: set[str] = set()
        for index, (question, share) in enumerate(zip(questions, given.shares, strict=True)):
            iteration_of.update(dict.fromkeys(share.own, index))
            if question.written and share.voting:
                written_shas.append(question.written)
                written_parts.update(share.voting)
            if question.is_wanted:
                shares.append(share)
                artifacts.update(each.place for each in question.verifiers if each.artifact)

        self._sightings = sightings_of(files_about, given.total, iteration_of)
        self._lines = lines_found(files_about, given.total)
        self._spoken = spoken_in(files_about, {key for share in shares for key in share.sessions})
        self._commits = lines_that_made(files, shares)
        self._written = written_lines(files_about, written_parts)
        self._added = lines_added(written_shas)
        self._writes = Writes(
            root, trees.tops if artifacts else (), files if artifacts else (), artifacts
        )
        voting = (share.voting for share in given.shares)
        self._missing = missing_sub_agents(files_about, voting)

    def facts(self, index: int) -> AttributedFacts:
        """Return what transcripts show of one iteration, by its index."""
        question = self._questions[index]
        share = self._shares[index]
        observed = Observed(
            method=share.method,
            sessions=_names(share.sessions),
            problem=share.problem,
            checkpoints=question.asked.checkpoints,
            also_active=_names(share.also),
            documents=question.documents,
            stated=question.stated,
        )
        if share.method is None or not question.is_wanted:
            return AttributedFacts(TranscriptFacts(), observed)

        written = [self._written[part] for part in share.voting if part in self._written]
        by_agents = least_share(self._added.get(question.written, {}), written)
        if question.is_strict and (by_agents or 0) < SAME_PATCH:
            share_written = f"{(by_agents or 0) * 100:.0f} %"
            problem = (
                f"its session wrote {share_written} of the commit; --trusted takes 90 % or more"
            )
            return AttributedFacts(
                TranscriptFacts(), replace(observed, method=None, problem=problem)
            )

        if share.stated:
            return self._facts_of_totals(observed, share)
        return self._facts_of_lines(replace(observed, by_agents=by_agents), question, share)

    def _facts_of_lines(
        self, observed: Observed, question: Question, share: Share
    ) -> AttributedFacts:
        """Return what the lines of an iteration show, in addition to what is observed of it."""
        sightings = together([self._sightings[part] for part in share.voting])
        tests, last_run = sightings.tests(share.end)
        corrections, corrected_at = sightings.corrections()
        voting = [self._counts_of_parts[part] for part in share.voting]
        lines = [lines for part in share.voting for lines in self._lines[part]]
        of_others = [part for part in share.voting if part not in share.own]

        written_artifacts = set()
        unsure_artifacts = set()
        session_files: list[File] = []
        for key in (*share.sessions, *share.also):
            session_files += self._sessions[key].files
        for verifier in question.verifiers:
            if self._writes.surely(verifier.place, verifier.artifact):
                written_artifacts.add(verifier.place)
            if self._writes.maybe(session_files, verifier.place, verifier.artifact):
                unsure_artifacts.add(verifier.place)

        shared_with = None
        if share.shared is not None:
            shared_with = self._questions[share.shared].asked.iteration

        observed = replace(
            observed,
            shared_with=shared_with,
            tool_calls=sum(part.tool_calls for part in voting),
            failed_calls=_failed_calls(voting),
            elsewhere=sum(lines.total for part in of_others for lines in self._lines[part]),
            tests=tests,
            corrections=corrections,
            written=frozenset(written_artifacts),
            unsure=frozenset(unsure_artifacts),
            ran=tuple(sightings.ran_for(verifier.kind) for verifier in question.verifiers),
            seen=places_seen(share.made, self._commits, last_run, corrected_at),
            lines=tuple(lines),
            work=sightings.work(self._missing[share.index]),
            claims=tuple(claims_seen(share, self._spoken, sightings)),
        )
        return AttributedFacts(self._counts[share.index], observed)

    def _facts_of_totals(self, observed: Observed, share: Share) -> AttributedFacts:
        """Return what the totals of an iteration's checkpoints say, where nothing else is known."""
        total = TranscriptFacts()
        sessions = set()
        for checkpoint in share.stated:
            for session, tokens in self._totals[checkpoint].items():
                sessions.add(session)
                total = replace(
                    total,
                    turns=total.turns + tokens.responses,
                    input_tokens=total.input_tokens + tokens.input,
                    output_tokens=total.output_tokens + tokens.output,
                    cache_reads=total.cache_reads + tokens.cache_read,
                    cache_creations=total.cache_creations + tokens.cache_creation,
                )
        observed = replace(
            observed,
            sessions=tuple(sorted(sessions - {""})),
            also_active=(),
            checkpoint_tokens=True,
        )
        return AttributedFacts(replace(total, turns=max(total.turns, 1)), observed)


def count_against_each(
    answers: list[AttributedFacts], questions: Sequence[Question], shares: Sequence[Share]
) -> None:
    """Let what speaks against a commit count against each iteration that names it.

    What speaks for it counts for the first one alone.
    """
    for index, share in enumerate(shares):
        if share.counted_for is None:
            continue

        first = answers[share.counted_for].observed
        tests = first.tests
        corrections = first.corrections
        against = Observed(
            tests=tests if tests.last_passed is False or tests.edited_after else TestsSeen(),
            corrections=corrections,
            tool_calls=first.tool_calls if corrections.corrections or corrections.resets else 0,
            failed_calls=first.failed_calls,
            seen=first.seen,
        )
        if against.tests.runs or against.tool_calls:
            number = questions[share.counted_for].asked.iteration
            observed = replace(
                against, method="shared", sessions=first.sessions, shared_with=number
            )
            answers[index] = AttributedFacts(TranscriptFacts(), observed)


def _names(keys: Collection[SessionKey]) -> tuple[str, ...]:
    return tuple(sorted({name for _, name in keys}))


def _failed_calls(parts: Sequence[TranscriptFacts]) -> int | None:
    """Return how many tool calls failed, or None where no call states how it ended."""
    with_calls = [part for part in parts if part.tool_calls]
    if with_calls and all(part.ends_unknown for part in with_calls):
        return None
    return sum(part.tool_errors for part in with_calls)
