"""Puts together what transcripts show of each iteration: docs/EVIDENCE.md, "Observations"."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from scoring.evidence.attribution.artifact_writes import Writes
from scoring.evidence.attribution.attribution import Attribution
from scoring.evidence.attribution.claims import Spoken, claims_seen, spoken_in
from scoring.evidence.attribution.collecting import (
    LinePlace,
    lines_found,
    lines_that_made,
    places_seen,
    sightings_of,
)
from scoring.evidence.attribution.iteration_shares import Share
from scoring.evidence.attribution.session_trees import Asked
from scoring.evidence.attribution.sightings import Sightings, together
from scoring.evidence.attribution.written import (
    SAME_PATCH,
    LinesAdded,
    WrittenLines,
    least_share,
    written_lines,
)
from scoring.evidence.git.agents import NOTHING_STATED, StatedAgent
from scoring.evidence.git.checkpoints import TokenTotals
from scoring.evidence.git.patches import FileLine
from scoring.evidence.transcripts.counting import as_turn_counts
from scoring.evidence.transcripts.facts import LinesFound, Observed, TestsSeen, TranscriptFacts
from scoring.evidence.transcripts.streams import File, Session, SessionKey
from scoring.evidence.transcripts.sub_agents import missing_sub_agents


class Verification(NamedTuple):
    """A verifier of an entry.

    Attributes:
        kind: its type.
        artifact: the path of its result artifact, as the entry has it.
        place: the path of that in the repository.
    """

    kind: str
    artifact: str
    place: str = ""


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
    verifiers: tuple[Verification, ...] = ()
    written: str = ""
    documents: bool = False
    stated: StatedAgent = NOTHING_STATED
    is_strict: bool = False
    is_wanted: bool = True


class AttributedFacts(NamedTuple):
    """What transcripts show of one iteration."""

    transcripts: TranscriptFacts
    observed: Observed


class SeenInParts(NamedTuple):
    """What was seen in each part, and in the sessions as a whole.

    Attributes:
        counts: what is counted in each part.
        sightings: what was seen in each part.
        lines: where the lines of each part are.
        spoken: what sessions said and did.
        commits: where the lines are that show commits.
        written: the lines that were written in parts.
        added: the lines that commits add, by SHA.
        writes: which artifacts were written.
        missing: for each iteration how many sub-agents have no lines.
        sessions: the sessions, by their keys.
        totals: the tokens that checkpoints state, by checkpoint and session.
    """

    counts: Sequence[TranscriptFacts]
    sightings: Sequence[Sightings]
    lines: Sequence[tuple[LinesFound, ...]]
    spoken: Spoken
    commits: Mapping[int, LinePlace]
    written: Mapping[int, WrittenLines]
    added: Mapping[str, Mapping[FileLine, int]]
    writes: Writes
    missing: Sequence[int]
    sessions: Mapping[SessionKey, Session]
    totals: Mapping[str, Mapping[str, TokenTotals]]


def seen_in_parts(
    questions: Sequence[Question],
    given: Attribution,
    files: Sequence[File],
    files_about: Sequence[File],
    counts: Sequence[TranscriptFacts],
    sessions: Mapping[SessionKey, Session],
    totals: Mapping[str, Mapping[str, TokenTotals]],
    lines_added: LinesAdded,
    root: Path,
    tops: Callable[[], Sequence[str]],
) -> SeenInParts:
    """Look through the lines of all parts.

    Args:
        questions: the iterations.
        given: which lines belong to which iteration.
        files: the transcripts.
        files_about: those with lines of the iterations that are wanted.
        counts: what is counted in each part.
        sessions: the sessions, by their keys.
        totals: the tokens that checkpoints state, by checkpoint and session.
        lines_added: returns the lines that commits add.
        root: a directory of the repository.
        tops: returns the tops of its work trees.
    """
    iteration_of = {}
    shares = []
    for index, share in enumerate(given.shares):
        iteration_of.update(dict.fromkeys(share.own, index))
        if questions[index].is_wanted:
            shares.append(share)

    asked_shares = [
        (question.written, share.voting)
        for question, share in zip(questions, given.shares, strict=True)
        if question.written and share.voting
    ]
    asked_parts = {part for _, voting in asked_shares for part in voting}

    artifacts = _artifacts(questions)
    files_with_artifacts = files if artifacts else ()
    return SeenInParts(
        counts=counts,
        sightings=sightings_of(files_about, given.parts, given.total, iteration_of),
        lines=lines_found(files_about, given.parts, given.total),
        spoken=spoken_in(
            files_about, given.parts, {key for share in shares for key in share.sessions}
        ),
        commits=lines_that_made(files, shares),
        written=written_lines(files_about, given.parts, asked_parts),
        added=lines_added([sha for sha, _ in asked_shares]),
        writes=Writes.of(root, tops() if artifacts else (), files_with_artifacts, artifacts),
        missing=missing_sub_agents(
            files_about, given.parts, (share.voting for share in given.shares)
        ),
        sessions=sessions,
        totals=totals,
    )


def _artifacts(questions: Sequence[Question]) -> Collection[str]:
    """Return the paths of the result artifacts that entries name."""
    return {
        verifier.place
        for question in questions
        for verifier in question.verifiers
        if verifier.artifact and question.is_wanted
    }


def facts_of(
    index: int,
    question: Question,
    share: Share,
    counts: TranscriptFacts,
    seen: SeenInParts,
    questions: Sequence[Question],
) -> AttributedFacts:
    """Return what transcripts show of one iteration.

    Args:
        index: its index.
        question: what is asked about it.
        share: its lines.
        counts: what is counted in its own lines.
        seen: what was seen in all parts.
        questions: all iterations.
    """
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

    written = [seen.written[part] for part in share.voting if part in seen.written]
    by_agents = least_share(seen.added.get(question.written, {}), written)
    if question.is_strict and (by_agents or 0) < SAME_PATCH:
        share_written = f"{(by_agents or 0) * 100:.0f} %"
        problem = f"its session wrote {share_written} of the commit; --trusted takes 90 % or more"
        return AttributedFacts(TranscriptFacts(), replace(observed, method=None, problem=problem))

    if share.stated:
        return _facts_of_totals(observed, share, seen.totals)

    sightings = together([seen.sightings[part] for part in share.voting])
    tests, last_run = sightings.tests(share.end)
    corrections, corrected_at = sightings.corrections()
    voting = [seen.counts[part] for part in share.voting]

    shared_with = None
    if share.shared is not None:
        shared_with = questions[share.shared].asked.iteration

    observed = replace(
        observed,
        shared_with=shared_with,
        tool_calls=sum(part.tool_calls for part in voting),
        failed_calls=_failed_calls(voting),
        elsewhere=_lines_of_others(share, seen.lines),
        tests=tests,
        corrections=corrections,
        written=_surely_written(question, seen.writes),
        unsure=_maybe_written(question, share, seen),
        ran=tuple(sightings.ran_for(verifier.kind) for verifier in question.verifiers),
        seen=places_seen(share.made, seen.commits, last_run, corrected_at),
        lines=tuple(lines for part in share.voting for lines in seen.lines[part]),
        work=sightings.work(seen.missing[index]),
        by_agents=by_agents,
        claims=tuple(claims_seen(share, seen.spoken, sightings)),
    )
    return AttributedFacts(counts, observed)


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


def _lines_of_others(share: Share, lines: Sequence[tuple[LinesFound, ...]]) -> int:
    """Return how many lines vote on an iteration, with tokens that count for another one."""
    count = 0
    for part in share.voting:
        if part not in share.own:
            count += sum(lines_in_file.total for lines_in_file in lines[part])
    return count


def _surely_written(question: Question, writes: Writes) -> frozenset[str]:
    return frozenset(
        verifier.place
        for verifier in question.verifiers
        if writes.surely(verifier.place, verifier.artifact)
    )


def _maybe_written(question: Question, share: Share, seen: SeenInParts) -> frozenset[str]:
    files = [file for key in (*share.sessions, *share.also) for file in seen.sessions[key].files]
    return frozenset(
        verifier.place
        for verifier in question.verifiers
        if seen.writes.maybe(files, verifier.place, verifier.artifact)
    )


def _facts_of_totals(
    observed: Observed, share: Share, totals: Mapping[str, Mapping[str, TokenTotals]]
) -> AttributedFacts:
    """Return what the totals of an iteration's checkpoints say, where nothing else is known."""
    total = TranscriptFacts()
    sessions = set()
    for checkpoint in share.stated:
        for session, stated in totals[checkpoint].items():
            sessions.add(session)
            tokens = as_turn_counts(stated)
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
