"""What became of work on the trunk: where its lines went, and what undid it.

Git is asked once, and the answer is kept. Scores, outcomes, units of work and reports all share
this one answer.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from hashlib import blake2b

import msgspec

from scoring.evidence.git.fates import fates
from scoring.evidence.git.followed_lines import Counts, Fate, FollowedWork
from scoring.evidence.git.graph import CommitGraph
from scoring.evidence.git.line_history import LineHistory
from scoring.evidence.git.undoing import UndoneWork
from scoring.evidence.git.undone import LandedWork, Undone
from scoring.evidence.git.walk import Commit
from scoring.frozen import Frozen

DAY = 86_400


class TrunkWork(Frozen, frozen=True):
    """Some work on the trunk.

    Attributes:
        commit: the commit of the trunk that has all of it.
        also: another SHA by which messages may name it, as of the commit before a squash; or "".
    """

    commit: str
    also: str = ""

    @property
    def key(self) -> str:
        """The name under which answers about it are kept."""
        if self.also == self.commit:
            return f"{self.commit} "
        return f"{self.commit} {self.also}"


class _KeptUndone(msgspec.Struct, array_like=True, frozen=True):
    """What is kept of one work: the tip of the trunk when it was asked, and the answer."""

    tip: str
    undone: Undone


class WorkOnTrunk:
    """Follows work on one trunk through a horizon."""

    def __init__(
        self,
        history: LineHistory,
        graph: CommitGraph,
        commits: Mapping[str, Commit],
        counts: Counts,
        *,
        rules: str,
        horizon_days: float,
        end_of: Callable[[str], str | None],
        keeps: bool = True,
    ) -> None:
        """Take what git knows of a trunk.

        Args:
            history: the lines of its commits.
            graph: the trunk, and what is off it.
            commits: the commits of the trunk by SHA, newest first.
            counts: says of a path whether its lines are code that counts.
            rules: a text that is another one for other ``counts``.
            horizon_days: how long work is followed, in days.
            end_of: gives the commit of the mainline that ends the horizon of a commit of the
                trunk; None where the trunk is not that old.
            keeps: whether the history keeps answers.
        """
        self._history = history
        self._graph = graph
        self._commits = commits
        self._counts = counts
        self._horizon = int(horizon_days * DAY)
        self._end_of = end_of
        rules_digest = blake2b(f"{rules} {horizon_days}".encode(), digest_size=8).digest()
        self._kept_name = b"undone " + rules_digest
        self._keeps = keeps
        self._fates: dict[str, Fate | None] = {}
        self._undone: dict[str, Undone] = {}

    # Answers

    def fates(self, works: Collection[TrunkWork]) -> dict[TrunkWork, Fate | None]:
        """Return where the lines of works went within the horizon, or None where git lacks lines.

        Raises:
            GitError: the trunk cannot be read.
        """
        missing = list(dict.fromkeys(w.commit for w in works if w.commit not in self._fates))
        followed = []
        for commit in missing:
            followed.append(
                FollowedWork(commit, self._parts(commit), self._end_of(commit) or self._tip)
            )
        for index, fate in fates(self._history, self._graph, followed, self._counts):
            self._fates[missing[index]] = fate
        return {work: self._fates[work.commit] for work in works}

    def undone(self, works: Collection[TrunkWork]) -> dict[TrunkWork, Undone]:
        """Return what undid works: at any time if it says so, else within the horizon.

        Raises:
            GitError: the trunk cannot be read.
        """
        missing = [work for work in dict.fromkeys(works) if work.key not in self._undone]
        if missing:
            self._take_kept(missing)
            missing = [work for work in missing if work.key not in self._undone]
        if missing:
            self._undone.update(self._find(missing))
            self._keep()
        return {work: self._undone[work.key] for work in works}

    def is_named_as_taken_back(self, commit: str) -> bool:
        """Return whether a newer commit of the trunk says that it takes a commit back."""
        return self._undoing.is_named_since(commit, "", commit)

    def _find(self, works: Sequence[TrunkWork]) -> dict[str, Undone]:
        fates_of = self.fates(works)
        landed = []
        for work in works:
            landed.append(
                LandedWork(
                    commit=work.commit,
                    also=work.also,
                    until=self._end_of(work.commit) or self._tip,
                    fate=fates_of[work],
                )
            )
        answers = self._undoing.find(landed)
        return {work.key: undone for work, undone in zip(works, answers, strict=True)}

    # What is kept

    def _take_kept(self, works: Sequence[TrunkWork]) -> None:
        """Take the kept answers that no commit since then can have changed."""
        for work in works:
            answer = self._kept.get(work.key)
            if answer is not None and self._is_still_right(work, answer):
                self._undone[work.key] = answer.undone

    def _is_still_right(self, work: TrunkWork, answer: _KeptUndone) -> bool:
        if answer.tip == self._tip:
            return True
        if answer.tip not in self._graph.mainline_index:
            return False  # the trunk was rewritten

        then = self._time(answer.tip)
        if self._end_of(work.commit) is None or self._time(work.commit) + self._horizon > then:
            return False
        taken = answer.undone.taken_back
        if taken is not None and self._time(taken.by) + self._horizon > then:
            return False
        return not self._undoing.is_named_since(work.commit, work.also, answer.tip)

    def _keep(self) -> None:
        for key, undone in self._undone.items():
            self._kept[key] = _KeptUndone(self._tip, undone)
        if self._keeps:
            self._history.keep(self._kept_name, self._kept)

    @cached_property
    def _kept(self) -> dict[str, _KeptUndone]:
        """What the store has of the repository under these rules."""
        return self._history.kept(self._kept_name, dict[str, _KeptUndone]) or {}

    # The trunk

    @property
    def _tip(self) -> str:
        return self._graph.mainline[0]

    def _parts(self, commit: str) -> tuple[str, ...]:
        """Return the commits that wrote the lines of some work: one, or those of a merge."""
        parents = self._graph.parents[commit]
        if len(parents) < 2:
            return (commit,)
        introduced = self._graph.introduced
        brought = self._graph.between(commit, parents[:1])
        return tuple(part for part in brought if introduced.get(part) == introduced[commit])

    def _time(self, commit: str) -> int:
        return self._commits[commit].time or 0

    @cached_property
    def _undoing(self) -> UndoneWork:
        return UndoneWork(
            self._history, self._graph, self._commits, self._counts, self._horizon, self._end_of
        )
