"""Finds what undid landed work: asks git, messages and lines, and applies the rules.

The rules are in :mod:`scoring.evidence.git.undone`, their table and figures in
``docs/VALIDITY.md``, "Taken back".
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from itertools import chain
from typing import NamedTuple

from msgspec.structs import replace

from scoring.errors import GitError
from scoring.evidence.git.changes import CommitPair
from scoring.evidence.git.fates import fates
from scoring.evidence.git.followed_lines import Counts, Fate, FollowedWork
from scoring.evidence.git.graph import CommitGraph
from scoring.evidence.git.inversion import Inversion, does_again, has_content_of, lines_again
from scoring.evidence.git.line_history import LineHistory
from scoring.evidence.git.patches import Patch
from scoring.evidence.git.revert_words import WORDS, TakenBackIndex, says_so
from scoring.evidence.git.undone import (
    LEAST_LINES,
    LONGEST_RUN,
    STANDS,
    CameBack,
    Candidate,
    Judged,
    PartlyReverted,
    TakenBack,
    Undone,
    identifiers,
    judge,
    nothing_in_place,
    undoes_run,
)
from scoring.evidence.git.walk import Commit

_MOST_RETURNS = 10  # how often work that came back may be taken back again
_MOST_NAMING = 50  # commits that name one work, which are compared with it


class LandedWork(NamedTuple):
    """Some work on the trunk.

    Attributes:
        commit: the commit of the trunk that has all of it.
        also: another SHA by which messages may name it, as of the commit before a squash; or "".
        until: the commit of the mainline that ends its horizon, or the tip.
        fate: where its lines went up to there; None where that is not known.
    """

    commit: str
    also: str
    until: str
    fate: Fate | None


class UndoneWork:
    """What undid landed work on one trunk."""

    def __init__(
        self,
        history: LineHistory,
        graph: CommitGraph,
        commits: Mapping[str, Commit],
        counts: Counts,
        horizon: int,
        end_of: Callable[[str], str | None],
    ) -> None:
        """Take what git knows of a trunk.

        Args:
            history: the lines of its commits.
            graph: the trunk and what is off it.
            commits: the commits of the trunk, with messages.
            counts: says of a path whether it is code.
            horizon: seconds within which a commit may take work back without saying so, and
                within which work that was taken back may come back.
            end_of: gives the commit of the mainline that ends the horizon of a commit of the trunk;
                None where the trunk is not that old.
        """
        self._history = history
        self._graph = graph
        self._commits = commits
        self._counts = counts
        self._horizon = horizon
        self._end_of = end_of

    def find(self, works: Sequence[LandedWork]) -> list[Undone]:
        """Return what became of each of some works. GitError: the trunk cannot be read."""
        return self._find(works, _MOST_RETURNS)

    def _find(self, works: Sequence[LandedWork], returns: int) -> list[Undone]:
        patches = self._history.patches([self._pair(work.commit) for work in works])
        answers = []
        for work, patch in zip(works, patches, strict=True):
            answers.append(STANDS if patch is None else self._undone(work, patch))

        came_back = [undone.came_back.back_in for undone in answers if undone.came_back]
        if came_back and returns:
            again = self._taken_again(list(dict.fromkeys(came_back)), returns - 1)
            answers = [_after_return(undone, again) for undone in answers]
        return answers

    def _taken_again(self, commits: Sequence[str], returns: int) -> dict[str, Undone]:
        """Return what became of commits that brought work back, by their SHAs."""
        tip = self._graph.mainline[0]
        followed = [
            FollowedWork(commit, (commit,), self._end_of(commit) or tip) for commit in commits
        ]
        fate_of = dict(fates(self._history, self._graph, followed, self._counts))
        works = []
        for index, work in enumerate(followed):
            works.append(LandedWork(work.commit, "", work.until, fate_of.get(index)))
        return dict(zip(commits, self._find(works, returns), strict=True))

    def is_named_since(self, commit: str, also: str, since: str) -> bool:
        """Return whether a commit newer than another one says that it takes some work back."""
        position = self._graph.position
        naming = self._naming(LandedWork(commit, also, commit, None))
        return any(position[other] < position[since] for other in naming)

    # One work

    def _undone(self, work: LandedWork, patch: Patch) -> Undone:
        partly: PartlyReverted | None = None
        for candidate in self._candidates(work, patch):
            judged = self._judge(work, patch, candidate)
            if judged.rule is None:
                partly = _partly(candidate, judged) or partly
                continue

            back_in = self._back_in(patch, candidate.commit, judged.all_text)
            if back_in is not None:
                return Undone(came_back=CameBack(candidate.commit, back_in))
            return Undone(
                state="reverted" if judged.rule in ("s", "a") or candidate.said else "taken_back",
                taken_back=self._taken_back(work, candidate, judged),
            )
        return replace(STANDS, partly_reverted=partly) if partly else STANDS

    def _taken_back(self, work: LandedWork, candidate: Candidate, judged: Judged) -> TakenBack:
        lines = judged.code.took
        whole = judged.code.added
        if work.fate is not None and candidate.commit in work.fate.taken_by:
            lines = work.fate.taken_by[candidate.commit]
            whole = work.fate.added
        elif not whole:
            lines = judged.code.back
            whole = judged.code.removed
        seconds = self._time(candidate.commit) - self._time(work.commit)
        return TakenBack(
            by=candidate.commit,
            lines=lines,
            of=whole,
            seconds=max(seconds, 0),
            said=candidate.said,
            subject=self._commits[candidate.commit].subject,
        )

    def _judge(self, work: LandedWork, patch: Patch, candidate: Candidate) -> Judged:
        undoes_run = partial(self._undoes_run, candidate, work.commit)
        judged = judge(patch, work.fate, candidate, self._counts, undoes_run)
        if judged.rule in (None, "s"):
            return judged
        if self._moved_before(work.commit, candidate.commit, judged.code):
            return judged._replace(rule=None)
        if judged.rule in ("b1", "b2") and not self._left_nothing(work, patch, candidate, judged):
            return judged._replace(rule=None)
        return judged

    def _moved_before(self, work: str, taker: str, code: Inversion) -> bool:
        """Return whether a commit in between added half of the lines that the taker took."""
        between = self._between(work, taker)
        return any(
            patch is not None and does_again(patch, code)
            for patch in self._history.patches(between)
        )

    def _left_nothing(
        self, work: LandedWork, patch: Patch, candidate: Candidate, judged: Judged
    ) -> bool:
        """Return whether nothing came in the place of what a candidate took.

        Where git cannot say, something may have come.
        """
        try:
            added = self._history.text_added(*self._pair(work.commit)).values()
            removed = self._history.text_removed(*self._pair(work.commit)).values()
            in_place = self._history.text_added(*self._pair(candidate.commit)).values()
        except GitError:
            return False
        old = identifiers(chain.from_iterable(removed))
        new = identifiers(chain.from_iterable(added)) - old
        return nothing_in_place(
            patch, candidate.patch, judged.code, new, [identifiers(lines) for lines in in_place]
        )

    def _undoes_run(self, candidate: Candidate, work: str) -> bool:
        """Return whether a candidate undoes a run of commits before it that has some work."""
        run: list[str] = []
        commit = self._graph.first_parent(candidate.commit)
        while commit in self._commits and len(run) < LONGEST_RUN:
            run.append(commit)
            if len(run) > 1 and work in run:
                break
            commit = self._graph.first_parent(commit)
        if work not in run:
            return False

        patches = list(self._history.patches([self._pair(commit) for commit in run]))
        readable = [patch for patch in patches if patch is not None]
        if len(readable) < len(run):
            return False
        return undoes_run(candidate.patch, readable, run.index(work))

    def _back_in(self, work: Patch, taker: str, inverted: Inversion) -> str | None:
        """Return the first commit after a taker, within the horizon, that undoes the undoing."""
        end = self._time(taker) + self._horizon
        later = []
        for commit in reversed(self._graph.trunk[: self._index_on_trunk(taker)]):
            if self._time(commit) <= end and len(self._graph.parents[commit]) < 2:
                later.append(self._pair(commit))
        for (commit, _), patch in zip(later, self._history.patches(later), strict=True):
            if patch is None:
                continue
            is_back = does_again(patch, inverted)
            if not inverted.lines:  # as of pictures
                is_back = has_content_of(patch, work)
            if is_back:
                return commit
        return None

    # Candidates

    def _candidates(self, work: LandedWork, patch: Patch) -> list[Candidate]:
        """Return the commits that may have taken some work back, oldest first."""
        fate = work.fate
        commits: dict[str, bool] = {}
        for commit in self._naming(work):
            commits[commit] = True
        if fate is not None and self._is_large_enough(patch):
            for commit, count in fate.taken_by.items():
                if count * 2 >= fate.added:
                    commits.setdefault(commit, False)
            if not fate.added:
                for commit in self._restoring(work, patch):
                    commits.setdefault(commit, False)

        ordered = sorted(commits, key=self._graph.position.__getitem__, reverse=True)
        candidates = []
        for commit in ordered:
            candidate = self._candidate(work, patch, commit, names_work=commits[commit])
            if candidate is not None:
                candidates.append(candidate)
        return candidates

    def _is_large_enough(self, patch: Patch) -> bool:
        """Return whether work changed enough lines of code to be judged without words."""
        count = 0
        for file in patch:
            if self._counts(file.path):
                count += len(list(file.added())) + len(list(file.removed()))
        return count >= LEAST_LINES

    def _candidate(
        self, work: LandedWork, patch: Patch, commit: str, *, names_work: bool
    ) -> Candidate | None:
        """Return a commit as a candidate, or None where git cannot say what it changes."""
        parents = self._graph.parents[commit]
        if len(parents) > 1:
            changed = self._history.merge_patch(commit, parents)
        else:
            changed = self._history.patch(*self._pair(commit))
        if changed is None:
            return None

        end = self._graph.mainline_index.get(work.until, 0)
        return Candidate(
            commit=commit,
            patch=changed,
            names_work=names_work,
            says_so=says_so(self._text(commit)),
            within_horizon=self._graph.introduced[commit] >= end,
            taken=work.fate.taken_by.get(commit, 0) if work.fate else 0,
            returned=partial(self._returned, work, patch, commit),
        )

    def _returned(self, work: LandedWork, patch: Patch, taker: str) -> int:
        """Count the lines of some work that commits between it and a taker add again."""
        between = self._history.patches(self._between(work.commit, taker))
        return lines_again(patch, filter(None, between), self._counts)

    def _naming(self, work: LandedWork) -> list[str]:
        """Return the newer commits of the trunk that say they take some work back, or its merge."""
        names = [work.commit, *self._graph.brought_by(work.commit), work.also]
        texts = {name: self._text(name) for name in names}
        position = self._graph.position
        newer = []
        for commit in self._index.naming(names, texts):
            if position[commit] < position[work.commit]:
                newer.append(commit)
        return newer[-_MOST_NAMING:]

    def _restoring(self, work: LandedWork, patch: Patch) -> list[str]:
        """Return the commits within the horizon that restore a file's content before some work."""
        blobs = {(file.old_path, file.old_blob) for file in patch}
        pairs = self._between(work.commit, work.until, last=True)
        restoring = []
        for (commit, _), later in zip(pairs, self._history.patches(pairs), strict=True):
            if later and any((file.path, file.new_blob) in blobs for file in later):
                restoring.append(commit)
        return restoring

    # The trunk

    def _between(self, older: str, newer: str, last: bool = False) -> list[CommitPair]:
        """Return the commits of the trunk between two, oldest first, each with its parent.

        Merges are left out.

        Args:
            older: the commit after which they come.
            newer: the commit before which they come.
            last: whether that one is among them.
        """
        first = self._index_on_trunk(newer)
        if not last:
            first += 1
        commits = self._graph.trunk[first : self._index_on_trunk(older)]
        pairs = []
        for commit in reversed(commits):
            if len(self._graph.parents[commit]) < 2:
                pairs.append(self._pair(commit))
        return pairs

    def _pair(self, commit: str) -> CommitPair:
        return CommitPair(commit, self._graph.first_parent(commit))

    def _time(self, commit: str) -> int:
        return self._commits[commit].time or 0

    def _text(self, commit: str) -> str:
        if commit not in self._commits:
            return ""
        return self._commits[commit].message or self._commits[commit].subject

    def _index_on_trunk(self, commit: str) -> int:
        """Return the index of a commit in the trunk, which comes last in the graph."""
        position = self._graph.position
        return position[commit] - position[self._graph.trunk[0]]

    @cached_property
    def _index(self) -> TakenBackIndex:
        texts = ((commit, self._text(commit)) for commit in self._commits)
        return TakenBackIndex(pair for pair in texts if WORDS.search(pair[1]))


def _partly(candidate: Candidate, judged: Judged) -> PartlyReverted | None:
    inversion = judged.all_text
    if not candidate.names_work or not inversion.inverted:
        return None
    return PartlyReverted(candidate.commit, inversion.inverted, inversion.lines)


def _after_return(undone: Undone, again: Mapping[str, Undone]) -> Undone:
    """Return what became of work that came back, once it is known what became of that."""
    if undone.came_back is None:
        return undone
    last = again.get(undone.came_back.back_in, STANDS)
    if last.came_back is not None:
        return Undone(came_back=CameBack(undone.came_back.by, last.came_back.back_in))
    if last.taken_back is None:
        return undone
    return last
