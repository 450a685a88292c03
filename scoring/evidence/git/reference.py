"""What git says about the commits of a log, asked once for the whole log.

The trunk is walked once, and only when somebody asks about it: reachability, reverts and subjects all come out of that
one walk.
"""

import re
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path

from scoring.evidence.git.cache import GitCache
from scoring.evidence.git.repository import TRUNK, GitRepository, ShownCommit, TrunkCommit
from scoring.text import fold, trim

_HEX_RUN = re.compile(rb"[0-9a-fA-F]+")
_SHORTEST_RUN, _LONGEST_RUN = 7, 40
_MOST_NEW = 5000
"""From how many new commits on the trunk is walked anew rather than asked about them one by one."""


class GitHistory:
    """Answers about the commits that a set of names stands for, against one trunk."""

    def __init__(
        self,
        repository: GitRepository,
        names: Iterable[str],
        trunk: str = TRUNK,
        cache_dir: Path | None = None,
    ) -> None:
        """Resolve the names.

        Args:
            repository: the work tree to ask.
            names: every commit field that will be asked about.
            trunk: the local branch on which work lands.
            cache_dir: where answers that never change are kept; None keeps none.
        """
        self.trunk = trunk
        self._repository = repository
        self._cache = GitCache(cache_dir, repository.common_dir)
        branch = f"refs/heads/{trunk}"
        self._resolved = repository.resolve([*names, branch])
        self._tip = self._resolved[branch]

    @property
    def tip(self) -> str | None:
        """The SHA of the trunk's tip; None when there is no such branch."""
        return self._tip

    def keep(self) -> None:
        """Keep what was learnt for the next run."""
        self._cache.save()

    def resolve(self, name: str) -> str | None:
        """Return the SHA that a name of this log stands for; None when it stands for no commit."""
        return self._resolved[name]

    def commit(self, sha: str) -> ShownCommit | None:
        """Return the time and the changed files of a resolved commit; None when git could not show it."""
        return self._shown.get(sha)

    def on_trunk(self, sha: str) -> bool:
        """Tell whether the trunk contains a commit."""
        return sha in self._positions

    def reverted_by(self, sha: str) -> str | None:
        """Return the newest commit after ``sha`` on the trunk that says it reverts it; None when there is none.

        Such a message holds the word "revert" in any case and a run of 7 to 40 hex digits that starts the SHA.
        """
        own = self._positions[sha]
        for position, run in self._reverts.get(sha[:_SHORTEST_RUN], ()):
            if position >= own:
                return None
            if sha.startswith(run):
                return self._walk[position].sha
        return None

    def match_subject(self, text: str) -> str | None:
        """Return the newest trunk commit whose subject equals ``text``, ignoring case; None for an empty text."""
        return self._subjects.get(fold(text)) if text else None

    @cached_property
    def _shown(self) -> dict[str, ShownCommit]:
        wanted = [sha for sha in self._resolved.values() if sha and sha not in self._cache.shown]
        if wanted:
            found = self._repository.show(wanted)
            # A commit whose files git cannot tell today may be told tomorrow: that is not kept.
            self._cache.shown |= {sha: commit for sha, commit in found.items() if commit.files is not None}
            self._cache.changed = True
            return self._cache.shown | found
        return self._cache.shown

    @cached_property
    def _walk(self) -> list[TrunkCommit]:
        if self._tip is None:
            return []
        cache = self._cache
        order = cache.walks.get(self._tip)
        if order is None or not cache.trunk.keys() >= set(order):
            order = self._new_walk(self._tip)
            cache.walks = {self._tip: order}
            cache.changed = True
        return [cache.trunk[sha] for sha in order]

    def _new_walk(self, tip: str) -> list[str]:
        """Walk the trunk; of commits that are known already only the order is asked."""
        known = self._cache.trunk
        if known:
            order = self._repository.order(tip)
            new = [sha for sha in order if sha not in known]
            if len(new) < _MOST_NEW:
                described = self._repository.describe(new) if new else []
                self._cache.trunk = known | {commit.sha: commit for commit in described}
                return order
        walk = self._repository.walk(tip)
        self._cache.trunk = {commit.sha: commit for commit in walk}
        return list(self._cache.trunk)

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {commit.sha: n for n, commit in enumerate(self._walk)}

    @cached_property
    def _subjects(self) -> dict[str, str]:
        return {fold(trim(commit.subject)): commit.sha for commit in reversed(self._walk)}

    @cached_property
    def _reverts(self) -> dict[str, list[tuple[int, str]]]:
        """Hex runs in messages that speak of a revert, newest first, by their first seven digits."""
        found: dict[str, list[tuple[int, str]]] = {}
        for position, commit in enumerate(self._walk):
            for m in _HEX_RUN.finditer(commit.message):
                if _SHORTEST_RUN <= len(m[0]) <= _LONGEST_RUN:
                    run = m[0].decode().lower()
                    found.setdefault(run[:_SHORTEST_RUN], []).append((position, run))
        return found
