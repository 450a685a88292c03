"""What became of work on the trunk: where its lines went, and what undid it.

Git is asked once, and the answer is kept. Scores, outcomes, units of work and reports all share
this one answer.
"""

from collections.abc import Collection, Iterable
from functools import cached_property
from hashlib import blake2b

import msgspec

from scoring.evidence.git.fates import FollowedTrunk, fates
from scoring.evidence.git.followed_lines import Fate
from scoring.evidence.git.undoing import UndoneWork
from scoring.evidence.git.undone import TrunkWork, Undone


class _KeptUndone(msgspec.Struct, array_like=True, frozen=True):
    """What is kept of one work: the tip of the trunk when it was asked, and the answer."""

    tip: str
    undone: Undone


class WorkOnTrunk:
    """Follows work on one trunk through a horizon."""

    def __init__(self, trunk: FollowedTrunk, rules: str) -> None:
        """Take what git knows of a trunk.

        Args:
            trunk: the trunk, and how work on it is followed.
            rules: a text that is another one for other rules of which lines count.
        """
        self._trunk = trunk
        self._undoing = UndoneWork(trunk)
        about = f"{rules} {trunk.horizon_days}"
        self._kept_name = b"undone " + blake2b(about.encode(), digest_size=8).digest()
        self._fates: dict[str, Fate | None] = {}

    # Answers

    def fates(self, works: Iterable[TrunkWork]) -> dict[TrunkWork, Fate | None]:
        """Return where the lines of works went within the horizon, or None where git lacks lines.

        Raises:
            GitError: the trunk cannot be read.
        """
        wanted = list(works)
        missing = dict.fromkeys(work.commit for work in wanted if work.commit not in self._fates)
        self._fates.update(fates(self._trunk, list(missing)))
        return {work: self._fates[work.commit] for work in wanted}

    def undone(self, works: Collection[TrunkWork]) -> dict[TrunkWork, Undone]:
        """Return what undid works: at any time if it says so, else within the horizon.

        Raises:
            GitError: the trunk cannot be read.
        """
        missing = [work for work in dict.fromkeys(works) if not self._has_kept(work)]
        if missing:
            for work, undone in self._undoing.find(self.fates(missing)).items():
                self._kept[work.key] = _KeptUndone(self._tip, undone)
            self._trunk.history.keep(self._kept_name, self._kept)
        return {work: self._kept[work.key].undone for work in works}

    def is_named_as_taken_back(self, commit: str) -> bool:
        """Return whether a newer commit of the trunk says that it takes a commit back."""
        return self._undoing.is_named_since(commit, "", commit)

    # What is kept

    def _has_kept(self, work: TrunkWork) -> bool:
        """Return whether an answer is kept that no commit since then can have changed."""
        kept = self._kept.get(work.key)
        if kept is None or not self._is_still_right(work, kept):
            return False
        self._kept[work.key] = _KeptUndone(self._tip, kept.undone)
        return True

    def _is_still_right(self, work: TrunkWork, kept: _KeptUndone) -> bool:
        trunk = self._trunk
        if kept.tip == self._tip:
            return True
        if kept.tip not in trunk.graph.mainline_index:
            return False  # the trunk was rewritten

        latest = trunk.time(kept.tip) - trunk.horizon
        taken = kept.undone.taken_back
        if trunk.end_of(work.commit) is None or trunk.time(work.commit) > latest:
            return False
        if taken is not None and trunk.time(taken.by) > latest:
            return False
        return not self._undoing.is_named_since(work.commit, work.also, kept.tip)

    @cached_property
    def _kept(self) -> dict[str, _KeptUndone]:
        """What the store has of the repository under these rules."""
        return self._trunk.history.kept(self._kept_name, dict[str, _KeptUndone]) or {}

    @property
    def _tip(self) -> str:
        return self._trunk.graph.mainline[0]
