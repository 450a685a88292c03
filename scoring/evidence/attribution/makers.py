"""Which commits sessions made, and what these became: docs/EVIDENCE.md, "Attribution"."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain, pairwise
from typing import NamedTuple

from scoring.evidence.transcripts.facts import NS
from scoring.evidence.transcripts.streams import SessionCommit

from .iteration_shares import Question
from .session_trees import NO_ITERATION, OTHER_COMMIT, Tree

_LEAST_DIGITS = 7


class NamedCommits:
    """The names of the commits of iterations: whole SHAs, and parts of them."""

    def __init__(self, names: Iterable[Iterable[str]]) -> None:
        """Take the names of each iteration's commits, in order of the iterations."""
        self._names: list[tuple[str, int]] = []
        for index, names_of_iteration in enumerate(names):
            for name in names_of_iteration:
                if len(name) >= _LEAST_DIGITS:
                    self._names.append((name, index))
        self._names.sort()

    def index_of(self, sha: str) -> int:
        """Return the index of the first iteration with a commit of this name, or of part of it."""
        digits = sha[:_LEAST_DIGITS]
        first = bisect_left(self._names, (digits,))
        end = bisect_left(self._names, (f"{digits}~",))

        indices = []
        for name, index in self._names[first:end]:
            if name.startswith(sha) or sha.startswith(name):
                indices.append(index)
        return min(indices, default=NO_ITERATION)


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
        # git has whole seconds
        return made.begun - made.begun % NS <= self.authored <= made.time


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
                name
                for _, name in by_time[first:end]
                if held[name].was_made_in(session, commit)
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
    by_session: Mapping[str, Sequence[SessionCommit]], lost: Collection[SessionCommit]
) -> dict[SessionCommit, SessionCommit]:
    """Return the commits that replace the one before in their session, which git does not have."""
    amended_by = {}
    for commits in by_session.values():
        for former, commit in pairwise(sorted(commits)):
            if commit.amends and former in lost:
                amended_by[commit] = former
    return amended_by


class KnownCommit(NamedTuple):
    """A commit of a session.

    Attributes:
        made: what a line shows of it.
        tree: the tree that has its session.
        place: the index of its iteration, or :data:`OTHER_COMMIT`.
    """

    made: SessionCommit
    tree: Tree
    place: int


def known_commits(
    questions: Sequence[Question], trees: Iterable[Tree], became: Mapping[str, str]
) -> list[KnownCommit]:
    """Return the known commits of the sessions in trees: by time, those that iterations name last.

    Rewritten ones are there as what they became. Others are left out.

    Args:
        questions: the iterations.
        trees: the sessions with their sub-agents.
        became: the name of each commit that is known, or of what it became, by the digits shown.
    """
    names = NamedCommits(question.commits for question in questions)
    landed = NamedCommits(question.landed for question in questions)

    by_name = []
    others = []
    for tree in trees:
        for commit in chain.from_iterable(session.made for session in tree.sessions):
            index = names.index_of(commit.sha)
            if index != NO_ITERATION:
                by_name.append(KnownCommit(commit, tree, index))
                continue

            index = landed.index_of(commit.sha)
            if index == NO_ITERATION and commit.sha in became:
                index = names.index_of(became[commit.sha])
                if index == NO_ITERATION:
                    index = OTHER_COMMIT  # no entry is about it
            if index != NO_ITERATION:
                others.append(KnownCommit(commit, tree, index))
    return sorted(others) + sorted(by_name)
