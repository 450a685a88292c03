"""Finds what undid landed work: asks git, messages and lines, and applies the rules.

The rules are in :mod:`scoring.evidence.git.undone`, their table and figures in
``docs/VALIDITY.md``, "Taken back".
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cached_property
from itertools import chain
from typing import NamedTuple

from scoring.errors import GitError
from scoring.evidence.git.changes import CommitPair
from scoring.evidence.git.fates import FollowedTrunk, fates
from scoring.evidence.git.followed_lines import Fate
from scoring.evidence.git.inversion import (
    HALF,
    WHOLE,
    Inversion,
    does_again,
    has_content_of,
    inversion,
    put_back,
)
from scoring.evidence.git.patches import Patch
from scoring.evidence.git.revert_words import WORDS, TakenBackIndex, says_so
from scoring.evidence.git.undone import (
    LEAST_LINES,
    LONGEST_RUN,
    STANDS,
    CameBack,
    PartlyReverted,
    TakenBack,
    TrunkWork,
    Undone,
    defines_again,
    identifiers,
    inverts_half,
    is_plain_removal,
    is_put_back,
    nothing_in_place,
    undoes_every_file,
    undoes_run,
)

_MOST_RETURNS = 10  # how often work that came back may be taken back again
_MOST_NAMING = 50  # commits that name one work, which are compared with it


class _Work(NamedTuple):
    """Some work on the trunk.

    Attributes:
        commit: the commit of the trunk that has all of it.
        also: another SHA by which messages may name it, or "".
        patch: what it changes.
        fate: where its lines went; None where that is not known.
    """

    commit: str
    also: str
    patch: Patch
    fate: Fate | None


class _Candidate(NamedTuple):
    """A commit that may have taken some work back.

    Attributes:
        commit: its SHA.
        patch: what it changes; a merge, against the clean merge of its parents.
        names_work: whether its message names the work as what it takes back.
        says_so: whether its message says that it undoes the work, or in any words something.
        all_text: what it inverts of the work.
        code: what it inverts of the code.
        taken: how many lines of code of the work it took, by their fate.
    """

    commit: str
    patch: Patch
    names_work: bool
    says_so: bool
    all_text: Inversion
    code: Inversion
    taken: int


class UndoneWork:
    """What undid landed work on one trunk."""

    def __init__(self, trunk: FollowedTrunk) -> None:
        self._trunk = trunk
        self._history = trunk.history
        self._graph = trunk.graph

    def find(
        self, fates_of: Mapping[TrunkWork, Fate | None], returns: int = _MOST_RETURNS
    ) -> dict[TrunkWork, Undone]:
        """Return what became of works.

        Args:
            fates_of: the works, each with where its lines went, or None where that is not known.
            returns: how often work that came back may be taken back again.

        Raises:
            GitError: the trunk cannot be read.
        """
        pairs = [self._graph.pair(work.commit) for work in fates_of]
        works: dict[TrunkWork, _Work] = {}
        for work, patch in zip(fates_of, self._history.patches(pairs), strict=True):
            if patch is not None:
                works[work] = _Work(work.commit, work.also, patch, fates_of[work])

        answers = dict.fromkeys(fates_of, STANDS)
        suspects = self._suspects(works.values())
        for key, each in works.items():
            answers[key] = self._undone(each, suspects[each.commit])

        back = dict.fromkeys(each.came_back.back_in for each in answers.values() if each.came_back)
        if back and returns:
            fate_of = dict(fates(self._trunk, list(back)))
            again = self.find({TrunkWork(commit): fate_of[commit] for commit in back}, returns - 1)
            for work, undone in answers.items():
                if undone.came_back:
                    last = again[TrunkWork(undone.came_back.back_in)]
                    answers[work] = _after_return(undone, undone.came_back, last)
        return answers

    def is_named_since(self, commit: str, also: str, since: str) -> bool:
        """Return whether a commit newer than another one says that it takes some work back."""
        position = self._graph.position
        return any(position[other] < position[since] for other in self._naming(commit, also))

    # One work

    def _undone(self, work: _Work, suspects: Iterable[str]) -> Undone:
        """Return what became of some work.

        ``suspects`` are the commits that may have taken it back and need not name it.
        """
        naming = self._naming(work.commit, work.also)
        position = self._graph.position
        partly: PartlyReverted | None = None
        for commit in sorted({*naming, *suspects}, key=position.__getitem__, reverse=True):
            candidate = self._candidate(work, commit, names_work=commit in naming)
            if candidate is None:
                continue

            all_text = candidate.all_text
            if not self._is_taker(work, candidate):
                if candidate.names_work and all_text.inverted:
                    partly = PartlyReverted(commit, all_text.inverted, all_text.lines)
                continue

            back_in = self._back_in(work.patch, commit, all_text)
            if back_in is not None:
                return Undone(came_back=CameBack(commit, back_in))
            return Undone(
                state="reverted" if candidate.says_so or all_text.is_exact else "taken_back",
                taken_back=self._taken_back(work, candidate),
            )
        return Undone(partly_reverted=partly)

    def _candidate(self, work: _Work, commit: str, *, names_work: bool) -> _Candidate | None:
        """Return a commit as a candidate, or None where git cannot say what it changes."""
        patch = self._history.own_patch(commit, self._graph.parents[commit])
        if patch is None:
            return None

        code = inversion(work.patch, patch, self._trunk.counts)
        all_text = code
        if names_work or code.is_whole:  # no rule asks about the text of any other commit
            all_text = inversion(work.patch, patch)
        return _Candidate(
            commit=commit,
            patch=patch,
            names_work=names_work,
            says_so=names_work or says_so(self._text(commit)),
            all_text=all_text,
            code=code,
            taken=work.fate.taken_by.get(commit, 0) if work.fate else 0,
        )

    def _taken_back(self, work: _Work, candidate: _Candidate) -> TakenBack:
        undone = candidate.code if candidate.code.lines else candidate.all_text
        lines = undone.took
        whole = undone.added
        if work.fate and candidate.taken and candidate.taken >= HALF * work.fate.added:
            lines = candidate.taken
            whole = work.fate.added
        elif not whole:
            lines = undone.back
            whole = undone.removed
        return TakenBack(
            by=candidate.commit,
            lines=lines,
            of=whole,
            seconds=max(self._trunk.time(candidate.commit) - self._trunk.time(work.commit), 0),
            said=candidate.says_so,
            subject=self._trunk.commits[candidate.commit].subject,
        )

    def _is_taker(self, work: _Work, candidate: _Candidate) -> bool:
        """Return whether one of the rules says that a candidate took some work back."""
        all_text = candidate.all_text
        if candidate.names_work and inverts_half(work.patch, candidate.patch, all_text):
            return True  # rule s

        code = candidate.code
        is_whole = code.is_whole and all_text.share >= HALF and code.lines >= LEAST_LINES
        if not is_whole or not undoes_every_file(work.patch, candidate.patch, all_text):
            return False
        if work.fate is None or not self._has_taken(work.commit, work.fate, candidate):
            return False
        if all_text.is_exact:
            return True  # rule a

        is_removal = is_put_back(work.patch, candidate.patch, self._trunk.counts)  # rule b1
        if not is_removal:  # rule b2
            is_removal = is_plain_removal(work.patch, work.fate, candidate.patch, code)
        if is_removal and self._left_nothing(work, candidate):
            return True
        if not self._undoes_run(work, candidate):  # rule b3
            return False
        try:
            added = self._lines_added(candidate.commit)
            return not defines_again(self._lines_added(work.commit), added)
        except GitError:  # git cannot say what came in its place
            return False

    def _has_taken(self, work: str, fate: Fate, candidate: _Candidate) -> bool:
        """Return whether nearly all lines of some work went by a candidate, within its horizon."""
        if self._graph.introduced[candidate.commit] < self._trunk.end(work):
            return False

        code = candidate.code
        between = self._since(work, self._index_on_trunk(candidate.commit) + 1)
        count = put_back(filter(None, self._history.patches(between)), code.taken)
        if count is None:
            return False
        if candidate.taken >= WHOLE * fate.added:
            return True
        share = candidate.taken / fate.added
        if code.took:
            share += count / code.took
        return share >= WHOLE

    def _left_nothing(self, work: _Work, candidate: _Candidate) -> bool:
        """Return whether nothing came in the place of what a candidate took, as far as known."""
        commit, parent = self._graph.pair(work.commit)
        try:
            removed = self._history.text_added(CommitPair(parent, commit))
            in_place = self._history.text_added(self._graph.pair(candidate.commit))
            new = identifiers(self._lines_added(work.commit))
        except GitError:  # git cannot say
            return False

        new -= identifiers(chain.from_iterable(removed.values()))
        return nothing_in_place(
            work.patch, candidate.patch, candidate.code, new, map(identifiers, in_place.values())
        )

    def _lines_added(self, commit: str) -> Iterable[bytes]:
        added = self._history.text_added(self._graph.pair(commit))
        return chain.from_iterable(added.values())

    def _undoes_run(self, work: _Work, candidate: _Candidate) -> bool:
        """Return whether a candidate undoes two or more commits before it, down to some work."""
        run: list[str] = []
        commit = self._graph.first_parent(candidate.commit)
        while commit in self._trunk.commits and len(run) < LONGEST_RUN:
            run.append(commit)
            if len(run) > 1 and work.commit in run:
                break
            commit = self._graph.first_parent(commit)
        if work.commit not in run:
            return False

        patches = self._history.patches([self._graph.pair(commit) for commit in run])
        readable = [patch for patch in patches if patch is not None]
        if len(readable) < len(run):
            return False
        return undoes_run(candidate.patch, readable)

    def _back_in(self, work: Patch, taker: str, inverted: Inversion) -> str | None:
        """Return the first commit after a taker, within the horizon, that undoes the undoing."""
        end = self._trunk.time(taker) + self._trunk.horizon
        later = [pair for pair in self._since(taker, 0) if self._trunk.time(pair.commit) <= end]
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

    def _suspects(self, works: Iterable[_Work]) -> Mapping[str, set[str]]:
        """Return, by work, the commits that may have taken it back whatever they say.

        These are the last ones that took its lines, and those that contain it and restore the
        content of one of its files. The trunk is read once for all work, and only for work of
        which nearly all lines are gone at the end of its horizon.
        """
        suspects = defaultdict[str, set[str]](set)
        works_with = defaultdict[tuple[str, str], list[str]](list)
        later: dict[CommitPair, None] = {}
        for work in works:
            if work.fate is None or not self._is_gone(work.patch, work.fate):
                continue
            suspects[work.commit].update(self._last_takers(work.fate))
            end = self._index_on_trunk(self._trunk.until(work.commit))
            later |= dict.fromkeys(self._since(work.commit, end))
            for file in work.patch:
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
        return inversion(patch, [], self._trunk.counts).lines >= LEAST_LINES

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

    def _naming(self, work: str, also: str) -> list[str]:
        """Return the newer commits of the trunk that say they take some work back, or its merge."""
        names = [work, *self._graph.brought_by(work), also]
        texts = {name: self._text(name) for name in names}
        position = self._graph.position
        newer = [c for c in self._index.naming(names, texts) if position[c] < position[work]]
        return newer[-_MOST_NAMING:]

    # The trunk

    def _since(self, commit: str, end: int) -> list[CommitPair]:
        """Return the commits of the trunk after a commit, oldest first, each with its parent.

        Merges are left out. ``end`` is the index in the trunk of the newest one.
        """
        newest_first = self._graph.trunk[end : self._index_on_trunk(commit)]
        return self._graph.pairs(reversed(newest_first))

    def _index_on_trunk(self, commit: str) -> int:
        """Return the index of a commit in the trunk, which comes last in the graph."""
        position = self._graph.position
        return position[commit] - position[self._graph.trunk[0]]

    def _text(self, commit: str) -> str:
        if commit not in self._trunk.commits:
            return ""
        return self._trunk.commits[commit].message or self._trunk.commits[commit].subject

    @cached_property
    def _index(self) -> TakenBackIndex:
        texts = ((commit, self._text(commit)) for commit in self._trunk.commits)
        return TakenBackIndex(pair for pair in texts if WORDS.search(pair[1]))


def _after_return(undone: Undone, came_back: CameBack, last: Undone) -> Undone:
    """Return what became of work that came back in a commit, by what became of that one."""
    if last.came_back:
        return Undone(came_back=CameBack(came_back.by, last.came_back.back_in))
    return last if last.taken_back else undone
