"""Finds what undid landed work: asks git, messages and lines, and applies the rules.

The rules are in :mod:`scoring.evidence.git.undone`, their table and figures in
``docs/VALIDITY.md``, "Taken back".
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, partial
from itertools import chain

from msgspec.structs import replace

from scoring.errors import GitError
from scoring.evidence.git.changes import CommitPair
from scoring.evidence.git.fates import fates
from scoring.evidence.git.followed_lines import Counts, Fate, FollowedWork
from scoring.evidence.git.graph import CommitGraph
from scoring.evidence.git.inversion import (
    HALF,
    WHOLE,
    Inversion,
    does_again,
    has_content_of,
    inversion,
    put_back,
)
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
    LandedWork,
    PartlyReverted,
    TakenBack,
    Undone,
    defines_again,
    identifiers,
    judge,
    nothing_in_place,
    undoes_run,
)
from scoring.evidence.git.walk import Commit

_MOST_RETURNS = 10  # how often work that came back may be taken back again
_MOST_NAMING = 50  # commits that name one work, which are compared with it


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
        patches = list(self._history.patches([self._pair(work.commit) for work in works]))
        suspects = self._suspects(works, patches)
        answers = []
        for work, patch in zip(works, patches, strict=True):
            if patch is None:
                answers.append(STANDS)
            else:
                candidates = self._candidates(work, suspects[work.commit])
                answers.append(self._undone(work, patch, candidates))

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
        return any(position[other] < position[since] for other in self._naming(commit, also))

    # One work

    def _undone(self, work: LandedWork, patch: Patch, candidates: Iterable[Candidate]) -> Undone:
        partly: PartlyReverted | None = None
        for candidate in candidates:
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
        undone = judged.code
        if not undone.lines:
            undone = judged.all_text
        lines = undone.took
        whole = undone.added
        if work.fate and candidate.taken and candidate.taken >= HALF * work.fate.added:
            lines = candidate.taken
            whole = work.fate.added
        elif not whole:
            lines = undone.back
            whole = undone.removed
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
        if judged.rule in ("b1", "b2") and not self._left_nothing(work, patch, candidate, judged):
            judged = judged._replace(rule="b3" if undoes_run() else None)
        if judged.rule == "b3" and self._wrote_anew(work, candidate):
            return judged._replace(rule=None)
        return judged

    def _wrote_anew(self, work: LandedWork, candidate: Candidate) -> bool:
        """Return whether a candidate defines again what some work did, or git cannot say."""
        try:
            added = self._history.text_added(self._pair(work.commit)).values()
            again = self._history.text_added(self._pair(candidate.commit)).values()
        except GitError:
            return True
        return defines_again(chain.from_iterable(added), chain.from_iterable(again))

    def _left_nothing(
        self, work: LandedWork, patch: Patch, candidate: Candidate, judged: Judged
    ) -> bool:
        """Return whether nothing came in the place of what a candidate took.

        Where git cannot say, something may have come.
        """
        pair = self._pair(work.commit)
        try:
            added = self._history.text_added(pair).values()
            removed = self._history.text_added(CommitPair(pair.base, pair.commit)).values()
            in_place = self._history.text_added(self._pair(candidate.commit)).values()
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
        for pair in self._oldest_first(self._graph.trunk[: self._index_on_trunk(taker)]):
            if self._time(pair.commit) <= end:
                later.append(pair)
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

    def _candidates(self, work: LandedWork, suspects: Iterable[str]) -> list[Candidate]:
        """Return the commits that may have taken some work back, oldest first.

        ``suspects`` are those of them that need not name it.
        """
        naming = self._naming(work.commit, work.also)
        position = self._graph.position
        candidates = []
        for commit in sorted({*naming, *suspects}, key=position.__getitem__, reverse=True):
            candidate = self._candidate(work, commit, names_work=commit in naming)
            if candidate is not None:
                candidates.append(candidate)
        return candidates

    def _suspects(
        self, works: Sequence[LandedWork], patches: Sequence[Patch | None]
    ) -> Mapping[str, set[str]]:
        """Return, by work, the commits that may have taken it back whatever they say.

        These are the last ones that took its lines, and those that contain it and restore the
        content of one of its files. The trunk is read once for all work, and only for work of
        which nearly all lines are gone at the end of its horizon.
        """
        suspects = defaultdict[str, set[str]](set)
        works_with = defaultdict[tuple[str, str], list[str]](list)
        later: dict[CommitPair, None] = {}
        for work, patch in zip(works, patches, strict=True):
            if patch is None or work.fate is None or not self._is_gone(patch, work.fate):
                continue
            suspects[work.commit].update(self._last_takers(work.fate))
            later |= dict.fromkeys(self._between(work.commit, work.until, last=True))
            for file in patch:
                works_with[file.old_path, file.old_blob].append(work.commit)

        for (commit, _), patch in zip(later, self._history.patches(list(later)), strict=True):
            for file in patch or ():
                for work_commit in works_with.get((file.path, file.new_blob), ()):
                    if commit != work_commit and self._graph.contains(commit, work_commit):
                        suspects[work_commit].add(commit)
        return suspects

    def _is_gone(self, patch: Patch, fate: Fate) -> bool:
        """Return whether nearly all lines are gone of work that is judged without words."""
        if len(fate.taken) < WHOLE * fate.added:
            return False
        return inversion(patch, [], self._counts).lines >= LEAST_LINES

    def _last_takers(self, fate: Fate) -> list[str]:
        """Return the commits that took lines of some work, after which nearly all were gone."""
        position = self._graph.position
        gone = 0
        takers = []
        for commit in sorted(fate.taken_by, key=position.__getitem__, reverse=True):
            gone += fate.taken_by[commit]
            if gone >= WHOLE * fate.added:
                takers.append(commit)
        return takers

    def _candidate(self, work: LandedWork, commit: str, *, names_work: bool) -> Candidate | None:
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
            put_back=partial(self._put_back, work.commit, commit),
        )

    def _put_back(self, work: str, taker: str, code: Inversion) -> int | None:
        """Count what commits between some work and a taker had taken and put back."""
        between = self._history.patches(self._between(work, taker))
        return put_back(filter(None, between), code.taken)

    def _naming(self, work: str, also: str) -> list[str]:
        """Return the newer commits of the trunk that say they take some work back, or its merge."""
        names = [work, *self._graph.brought_by(work), also]
        texts = {name: self._text(name) for name in names}
        position = self._graph.position
        newer = [c for c in self._index.naming(names, texts) if position[c] < position[work]]
        return newer[-_MOST_NAMING:]

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
        return self._oldest_first(self._graph.trunk[first : self._index_on_trunk(older)])

    def _oldest_first(self, newest_first: Sequence[str]) -> list[CommitPair]:
        """Return some commits, merges aside, each with its parent."""
        parents = self._graph.parents
        return [self._pair(commit) for commit in reversed(newest_first) if len(parents[commit]) < 2]

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
    undone = judged.all_text
    if not candidate.names_work or not undone.inverted:
        return None
    return PartlyReverted(candidate.commit, undone.inverted, undone.lines)


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
