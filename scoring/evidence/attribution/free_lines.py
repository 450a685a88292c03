"""Lines that led to no commit, and the iterations without any: docs/EVIDENCE.md, "Attribution"."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

from scoring.evidence.attribution.iteration_shares import (
    EMPTY,
    NO_TRANSCRIPT,
    NO_WINDOW,
    NOT_COVERED,
    OVERLAP,
    OwnedLines,
    Share,
)
from scoring.evidence.attribution.session_trees import NO_ITERATION, Asked, Tree
from scoring.evidence.transcripts.facts import IterationWindow
from scoring.evidence.transcripts.streams import Session, SessionKey


def give_by_session(
    asked: Sequence[Asked],
    shares: Sequence[Share],
    sessions: Mapping[SessionKey, Session],
    ownership: OwnedLines,
) -> None:
    """Give iterations without lines the free ones of the session that their entry names.

    These are the lines after the last one of another iteration up to the author time.
    """
    sessions_by_id: dict[str, list[Session]] = {}
    for key, session in sessions.items():
        if session.lines:
            sessions_by_id.setdefault(key[1], []).append(session)

    for index, share in enumerate(shares):
        authored = asked[index].authored
        named_sessions = sessions_by_id.get(asked[index].session, ())
        if share.method or share.problem or not named_sessions or authored is None:
            continue

        count = 0
        for session in named_sessions:
            lines = session.lines[: bisect_right(session.times, authored)]
            first = len(lines)
            while first and ownership.owners[lines[first - 1]] == NO_ITERATION:
                first -= 1
            count += ownership.take(index, lines[first:])
        share.method = "session"
        share.end = authored
        share.sessions = tuple(sorted(session.key for session in named_sessions))
        share.problem = "" if count else EMPTY


def note_totals(asked: Sequence[Asked], shares: Sequence[Share], stated: Collection[str]) -> None:
    """Note the iterations that only have the totals of checkpoints, which no other one names."""
    counts = Counter(name for question in asked for name in question.checkpoints)
    for question, share in zip(asked, shares, strict=True):
        if share.method is None:
            share.stated = tuple(
                name for name in question.checkpoints if name in stated and counts[name] == 1
            )
            if share.stated:
                share.method = "checkpoint"


def give_by_time(
    asked: Sequence[Asked], shares: Sequence[Share], trees: Sequence[Tree], ownership: OwnedLines
) -> None:
    """Give iterations without lines the free ones in their windows, if they are one session's.

    Where a commit names a checkpoint, that says which sessions did it, and no other one counts.
    """
    for index, share in enumerate(shares):
        question = asked[index]
        if share.method is not None or share.problem:
            continue
        if question.checkpoints:
            share.problem = NO_TRANSCRIPT
            continue
        if question.window is None:
            share.problem = NO_WINDOW
            continue

        free = _free_lines(trees, question.window, ownership)
        if len(free) == 1:
            for lines in free.values():
                ownership.take(index, lines)
            share.method = "time"
            share.sessions = tuple(free)
            share.end = question.authored
            if share.end is None:
                share.end = question.window.end
        else:
            share.problem = f"{len(free)} {OVERLAP}" if free else NOT_COVERED


def _free_lines(
    trees: Iterable[Tree], window: IterationWindow, ownership: OwnedLines
) -> dict[SessionKey, list[int]]:
    """Return the lines in a window that belong to no iteration, by the roots of their trees."""
    free: dict[SessionKey, list[int]] = {}
    for tree in trees:
        first = 0 if window.start is None else bisect_right(tree.times, window.start)
        lines = tree.lines[first : bisect_right(tree.times, window.end)]
        without_owner = [line for line in lines if ownership.owners[line] == NO_ITERATION]
        if without_owner:
            free[tree.sessions[0]] = without_owner
    return free
