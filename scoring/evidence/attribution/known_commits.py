"""Which commits of sessions are those of iterations, or became those: docs/EVIDENCE.md."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from scoring.evidence.transcripts.streams import SessionCommit

from .iteration_shares import Question
from .session_trees import NO_ITERATION, OTHER_COMMIT, Tree

_LEAST_DIGITS = 7


class NamedCommits:
    """The names of the commits of iterations: whole SHAs, and beginnings of SHAs.

    A name is in it where :meth:`index_of` finds an iteration.
    """

    def __init__(self, names: Iterable[Iterable[str]]) -> None:
        """Take the names of each iteration's commits, in order of the iterations.

        A name of fewer than seven digits is left out.
        """
        self._by_digits: dict[str, list[tuple[str, int]]] = {}
        for index, names_of_iteration in enumerate(names):
            for name in names_of_iteration:
                if len(name) >= _LEAST_DIGITS:
                    digits = name[:_LEAST_DIGITS]
                    self._by_digits.setdefault(digits, []).append((name, index))

    def index_of(self, sha: str) -> int:
        """Return the index of the first iteration with a commit of a name, or NO_ITERATION.

        The name asked for may be the beginning of the iteration's, or the other way round. The
        shorter one has at least seven digits.
        """
        for name, index in self._by_digits.get(sha[:_LEAST_DIGITS], ()):
            if name.startswith(sha) or sha.startswith(name):
                return index
        return NO_ITERATION

    def __contains__(self, sha: str) -> bool:
        return self.index_of(sha) != NO_ITERATION


class KnownCommit(NamedTuple):
    """A commit of a session.

    Attributes:
        made: what a line shows of the commit.
        tree: the tree that has the session.
        iteration_index: the index of the commit's iteration, or :data:`OTHER_COMMIT`.
    """

    made: SessionCommit
    tree: Tree
    iteration_index: int


def known_commits(
    questions: Sequence[Question], trees: Iterable[Tree], became: Mapping[str, str]
) -> list[KnownCommit]:
    """Return the known commits of the sessions in trees.

    Those that iterations name come after all others. Each of the two groups is in order of time.

    A commit is known in these cases, of which the first that fits counts:

    - an iteration has its name;
    - the commit of an iteration became this commit, by ``Question.landed``;
    - ``became`` has its digits. Its iteration is then the one with the commit that it became, or
      none.

    Args:
        questions: the iterations.
        trees: the sessions with their sub-agents.
        became: the name of each commit that is known, or of what the commit became, by the digits
            that sessions show.
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
