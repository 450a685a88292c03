"""The history of a repository as the reference reads it: reachability, reverts and subjects from one walk."""

import re
from collections.abc import Sequence
from functools import cached_property, partial
from pathlib import Path

from scoring.evidence.git import facts
from scoring.evidence.git.facts import Changed, GitFacts, Landing, Trunk, Unknown
from scoring.evidence.git.repository import GitRepository
from scoring.evidence.git.walk import (
    Commit,
    ShownCommit,
    newest_by_subject,
    shown_commits,
    trunk_commits,
)
from scoring.log.model import IterationRecord
from scoring.text import fold, trim

TRUNK = "master"
"""The branch on which work lands where no other one is named."""

_HEX_RUN = re.compile("[0-9a-fA-F]+")
_SHORTEST_RUN, _LONGEST_RUN = 7, 40


class ReferenceHistory(GitFacts):
    """What the reference would say of the commits of a log."""

    rules = "reference"

    def __init__(
        self,
        repo_dir: Path | str | GitRepository,
        records: Sequence[IterationRecord],
        trunk: str | None = None,
    ) -> None:
        """Resolve the commit fields; ``trunk`` is the local branch on which work lands, which may be missing."""
        self._repository = GitRepository.of(repo_dir)
        trunk = TRUNK if trunk is None else trunk
        branch = f"refs/heads/{trunk}"
        commits = [record.commit for record in records]
        self._resolved = self._repository.resolve([*commits, *map(trim, commits), branch])
        how = "the trunk of the reference's rules"
        self.trunk = Trunk(branch, trunk, self._resolved[branch], how, self._repository.is_shallow)

    def _time_of(self, sha: str) -> int | None:
        return self._shown[sha].time if sha in self._shown else None

    def landing(self, record: IterationRecord) -> Landing:
        """Look for the commit among the trunk's, or for one with the summary as its subject."""
        field, sha = self._commit(record)
        found = partial(Landing, self.rules, self.trunk, field, sha)
        if not field:
            return found(unknown=Unknown.NO_COMMIT)
        if sha is None:  # history may have been rewritten
            alike = self.match_subject(trim(record.impl.summary))
            if alike is None:
                return found(unknown=Unknown.UNRESOLVED)
            return found(facts.MESSAGE, alike, reverted_by=self.reverted_by(alike))
        if not self.on_trunk(sha):
            return found(facts.NOT_LANDED)
        return found(facts.ANCESTOR, sha, reverted_by=self.reverted_by(sha))

    def _changed_by(self, record: IterationRecord, sha: str) -> Changed:
        commit, found = self._shown.get(sha), partial(Changed, self.rules, trim(record.commit), sha)
        return (
            found(unknown=Unknown.FILES)
            if commit is None or commit.files is None
            else found(commit.files)
        )

    def on_trunk(self, sha: str) -> bool:
        """Return whether the trunk contains a commit."""
        return sha in self._places

    def reverted_by(self, sha: str) -> str | None:
        """Return the newest later commit of the trunk with "revert" and 7 to 40 hex digits that begin ``sha``."""
        own, runs = self._places.get(sha, -1), self._reverts.get(sha[:_SHORTEST_RUN], ())
        return next(
            (self._walk[place].sha for place, run in runs if place < own and sha.startswith(run)),
            None,
        )

    def match_subject(self, text: str) -> str | None:
        """Return the newest trunk commit with the subject ``text`` in any case; None for an empty text."""
        return self._subjects.get(fold(trim(text)))

    @cached_property
    def _shown(self) -> dict[str, ShownCommit]:
        return shown_commits(self._repository, [sha for sha in self._resolved.values() if sha])

    @cached_property
    def _walk(self) -> list[Commit]:
        return trunk_commits(self._repository, self.trunk.commit) if self.trunk.commit else []

    @cached_property
    def _places(self) -> dict[str, int]:
        return {line.sha: place for place, line in enumerate(self._walk)}

    @cached_property
    def _subjects(self) -> dict[str, str]:
        return newest_by_subject(self._walk)

    @cached_property
    def _reverts(self) -> dict[str, list[tuple[int, str]]]:
        """Hex runs in messages that speak of a revert, newest first, by their first seven digits."""
        found: dict[str, list[tuple[int, str]]] = {}
        for place, line in enumerate(self._walk):
            for m in _HEX_RUN.finditer(line.message if "revert" in line.message.lower() else ""):
                if _SHORTEST_RUN <= len(m[0]) <= _LONGEST_RUN:
                    run = m[0].lower()
                    found.setdefault(run[:_SHORTEST_RUN], []).append((place, run))
        return found
