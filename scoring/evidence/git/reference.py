"""The history of a repository as the reference reads it: reachability, reverts and subjects from one walk."""

import re
from collections.abc import Sequence
from functools import cached_property, partial
from pathlib import Path

from scoring.evidence.git import facts
from scoring.evidence.git.cache import GitCache
from scoring.evidence.git.facts import Changed, GitFacts, Landing, Trunk, Unknown
from scoring.evidence.git.places import TrunkPlaces, trunk_begun, trunk_places
from scoring.evidence.git.repository import TRUNK, GitRepository
from scoring.evidence.git.walk import ShownCommit, shown_commits
from scoring.log.kept import Records
from scoring.log.model import IterationRecord
from scoring.text import trim

_HEX_RUN = re.compile("[0-9a-fA-F]+")
_SHORTEST_RUN, _LONGEST_RUN = 7, 40


class ReferenceHistory(GitFacts):
    """What the reference would say of the commits of a log."""

    rules = "reference"

    def __init__(
        self,
        repo_dir: Path | str | GitRepository,
        records: Sequence[IterationRecord],
        cache_dir: Path | None = None,
        trunk: str | None = None,
    ) -> None:
        """Open the repository unless it is open, and resolve the commit fields.

        ``cache_dir`` is where answers that never change are kept (None keeps none); ``trunk`` is the local branch on
        which work lands, ``master`` unless it is named; it need not be there.

        Raises:
            NotARepositoryError: ``repo_dir`` is in no git work tree.
            GitError: git is missing or failed.
        """
        self._repository = GitRepository.of(repo_dir)
        self._cache = GitCache(cache_dir, self._repository.common_dir)
        trunk = TRUNK if trunk is None else trunk
        branch = f"refs/heads/{trunk}"
        self._records = Records.of(records)
        commits = self._records.commits
        fields = list(map(trim, commits))
        self._resolved = self._repository.resolve([*commits, *dict.fromkeys(fields), branch])
        self._lost = [place for place, field in enumerate(fields) if field and self._resolved[field] is None]
        how = "the trunk of the reference's rules"
        shallow = (self._repository.common_dir / "shallow").exists()
        self.trunk = Trunk(branch, trunk, self._resolved[branch], how, shallow)

    def _commit_of(self, sha: str) -> ShownCommit | None:
        return self._shown.get(sha)

    def landing(self, record: IterationRecord) -> Landing:
        """Look for the commit among the trunk's, or for one whose subject is the summary."""
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
        commit, field = self._shown.get(sha), trim(record.commit)
        if commit is None or commit.files is None:
            return Changed(self.rules, field, sha, unknown=Unknown.FILES)
        return Changed(self.rules, field, sha, commit.files)

    def gather(self, *_: object) -> None:
        """Ask git the same without a look at each entry."""
        with trunk_begun(self._repository, self.trunk.commit, self._cache, bool(self._lost)):
            if self._shown and self._places:
                for sha in filter(None, self._resolved.values()):
                    self.reverted_by(sha)

    def on_trunk(self, sha: str) -> bool:
        """Return whether the trunk contains a commit."""
        return self._places is not None and self._places.place(sha) is not None

    def reverted_by(self, sha: str) -> str | None:
        """Return the newest commit after ``sha`` on the trunk that says it reverts it; None when there is none.

        Such a message holds the word "revert" in any case and a run of 7 to 40 hex digits that starts the SHA.
        """
        own = self._places.place(sha) if self._places else None
        if own is None:
            return None
        for position, run in self._reverts.get(sha[:_SHORTEST_RUN], ()):
            if position >= own:
                return None
            if sha.startswith(run):
                return self._places.sha(position) if self._places else None
        return None

    def match_subject(self, text: str) -> str | None:
        """Return the newest trunk commit whose subject equals ``text``, ignoring case; None for an empty text.

        To be asked where the commit of an entry is not here.
        """
        return self._places.by_subject(text) if self._places else None

    @cached_property
    def _shown(self) -> dict[str, ShownCommit]:
        kept = self._cache.section("shown", dict[str, ShownCommit])
        found = shown_commits(self._repository, [sha for sha in self._resolved.values() if sha and sha not in kept])
        if not found:
            return kept
        # A commit whose files git cannot name today may be complete tomorrow: that is not kept.
        kept |= {sha: commit for sha, commit in found.items() if commit.files is not None}
        self._cache.changed = True
        unnamed = {sha: commit for sha, commit in found.items() if commit.files is None}
        return kept | unnamed if unnamed else kept

    @cached_property
    def _places(self) -> TrunkPlaces | None:
        if self.trunk.commit is None:
            return None
        places = trunk_places(self._repository, self.trunk.commit, self._cache, bool(self._lost))
        places.look_for(sha for sha in self._resolved.values() if sha)
        places.look_for_subjects(self._records[place].impl.summary for place in self._lost)
        return places

    @cached_property
    def _reverts(self) -> dict[str, list[tuple[int, str]]]:
        """Hex runs in messages that speak of a revert, newest first, by their first seven digits."""
        found: dict[str, list[tuple[int, str]]] = {}
        for position, message in self._places.messages if self._places else ():
            for m in _HEX_RUN.finditer(message):
                if _SHORTEST_RUN <= len(m[0]) <= _LONGEST_RUN:
                    run = m[0].lower()
                    found.setdefault(run[:_SHORTEST_RUN], []).append((position, run))
        return found
