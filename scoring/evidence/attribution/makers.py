"""Which commits sessions made, and what these became: docs/EVIDENCE.md, "Attribution"."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple, TypeAlias

from scoring.evidence.attribution.session_trees import NO_ITERATION, OTHER_COMMIT, Asked
from scoring.evidence.transcripts.facts import NS
from scoring.evidence.transcripts.streams import Session, SessionCommit, SessionKey

DAY = 86_400 * NS
"""How far the author time may be from when a session made a commit of the same subject."""

_LEAST_DIGITS = 7


class KnownCommit(NamedTuple):
    """A commit of a session.

    Attributes:
        is_named: whether the iteration has it under the name that the line shows.
        made: what a line shows of it.
        session: the session.
        place: the index of its iteration, or :data:`OTHER_COMMIT`.
    """

    is_named: bool
    made: SessionCommit
    session: SessionKey
    place: int


Names: TypeAlias = list[tuple[str, int]]
"""Names of commits with the indices of their iterations, in order."""


def in_order(names: Iterable[Sequence[str]]) -> Names:
    """Return the names of each iteration's commits, with its index."""
    pairs = []
    for index, names_of_iteration in enumerate(names):
        for name in names_of_iteration:
            if len(name) >= _LEAST_DIGITS:
                pairs.append((name, index))
    return sorted(pairs)


def place_of(names: Names, sha: str) -> int:
    """Return the index of the first iteration with a commit of this name, or of part of it."""
    digits = sha[:_LEAST_DIGITS]
    candidates = names[bisect_left(names, (digits,)) : bisect_left(names, (f"{digits}~",))]
    return min(
        (index for name, index in candidates if name.startswith(sha) or sha.startswith(name)),
        default=NO_ITERATION,
    )


class HeldCommit(NamedTuple):
    """A commit that git has.

    Attributes:
        authored: the author time in ns since 1970.
        listed: the ids of the sessions in its checkpoints.
        shown: for each line that shows it, the id of the session and what the line shows.
    """

    authored: int
    listed: Collection[str]
    shown: Collection[tuple[str, SessionCommit]]

    def was_made_in(self, session: str, made: SessionCommit) -> bool:
        """Return whether a commit that git does not have can be what became this one.

        The session itself made this one, at the time of the other, and shows no third one.
        """
        if not self._is_at(made):
            return False

        of_session = [shown for name, shown in self.shown if name == session]
        if len(of_session) < len(self.shown):
            return False
        if any(self._is_at(shown) and not shown.amends for shown in of_session):
            return False
        return bool(of_session) or session in self.listed

    def _is_at(self, made: SessionCommit) -> bool:
        """Return whether the author time is between a command and its result."""
        return made.begun - made.begun % NS <= self.authored <= made.time  # git has whole seconds


def amended(
    made: Mapping[str, Sequence[SessionCommit]],
    lost: Collection[SessionCommit],
    held: Mapping[str, HeldCommit],
) -> dict[SessionCommit, str]:
    """Return what commits became that git does not have, as far as that is certain.

    Whatever an amend changes, the author time stays, which is between the command that made the
    commit and its result.

    Args:
        made: the commits of sessions, by the ids of the sessions.
        lost: those that git does not have.
        held: the commits that git has, by their SHAs.
    """
    by_time = sorted((commit.authored, name) for name, commit in held.items())
    became: dict[SessionCommit, str] = {}
    for session, commits in made.items():
        for commit in commits:
            if commit not in lost or commit.amends:
                continue
            first = bisect_left(by_time, (commit.begun - NS,))
            end = bisect_left(by_time, (commit.time + 1,))
            names = [
                name for _, name in by_time[first:end] if held[name].was_made_in(session, commit)
            ]
            if len(names) == 1:
                became[commit] = names[0]

    name_of: dict[SessionCommit, str] = {}
    for name, commit_in_git in held.items():
        for _, shown in commit_in_git.shown:
            name_of.setdefault(shown, name)

    counts = Counter(became.values())
    became = {commit: name for commit, name in became.items() if counts[name] == 1}
    for commit, former in amends(made, lost).items():
        if former in became and commit in lost:
            became[commit] = became[former]
        elif commit in name_of and commit.folder == former.folder:
            became.setdefault(former, name_of[commit])
    return became


def amends(
    made: Mapping[str, Sequence[SessionCommit]], lost: Collection[SessionCommit]
) -> dict[SessionCommit, SessionCommit]:
    """Return the commits that replace the one before in their session, which git does not have."""
    amended_by = {}
    for commits in made.values():
        for former, commit in pairwise(sorted(commits)):
            if commit.amends and former in lost:
                amended_by[commit] = former
    return amended_by


def known_commits(
    asked: Sequence[Asked], sessions: Mapping[SessionKey, Session], became: Mapping[str, str]
) -> list[KnownCommit]:
    """Return the known commits of sessions: by time, those that iterations name last.

    Rewritten ones are there as what they became. Others are left out.

    Args:
        asked: the iterations.
        sessions: the sessions, by their keys.
        became: the name of each commit that is known, or of what it became, by the digits shown.
    """
    names = in_order(question.commits for question in asked)
    landed = in_order(question.landed for question in asked)

    known = []
    for key, session in sessions.items():
        for made in session.made:
            index = place_of(names, made.sha)
            is_named = index != NO_ITERATION
            if not is_named:
                index = place_of(landed, made.sha)
            if index == NO_ITERATION and made.sha in became:
                index = place_of(names, became[made.sha])
                if index == NO_ITERATION:
                    index = OTHER_COMMIT  # no entry is about it
            if index != NO_ITERATION:
                known.append(KnownCommit(is_named, made, key, index))
    return sorted(known)
