"""The history of a repository as the reference reads it.

One walk of the trunk says of a commit whether it landed, what reverts it and which subject it has.
"""

import re
from collections.abc import Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import NamedTuple

from scoring.evidence.git import facts
from scoring.evidence.git.facts import Changed, GitFacts, Landing, Trunk, Unknown
from scoring.evidence.git.repository import GitRepository
from scoring.evidence.git.walk import (
    Commit,
    ShownCommit,
    shown_commits,
    trunk_commits,
)
from scoring.log.model import IterationRecord
from scoring.text import fold, trim

TRUNK = "master"
"""The branch on which work lands where no other one is named."""

_HEX_RUN = re.compile("[0-9a-fA-F]+")
_SHORTEST_RUN = 7
_LONGEST_RUN = 40


class _RevertMark(NamedTuple):
    """A run of hexadecimal digits in a message that speaks of a revert.

    Attributes:
        position: the index of the commit with the message in the walk of the trunk, newest first.
        digits: the digits, in lower case, 7 to 40 of them.
    """

    position: int
    digits: str


class ReferenceHistory(GitFacts):
    """What the reference says about the commits of a log: where they landed, what they changed."""

    rules = "reference"

    def __init__(
        self,
        repo_dir: Path | str | GitRepository,
        records: Sequence[IterationRecord],
        trunk: str | None = None,
    ) -> None:
        """Resolve the commit fields of a log.

        Args:
            repo_dir: the repository.
            records: the entries of the log.
            trunk: the local branch on which work lands, which need not exist; None: ``master``.

        Raises:
            NotARepositoryError: ``repo_dir`` is not in a work tree.
            GitError: git does not answer.
        """
        self.repository = GitRepository.of(repo_dir)
        # it reads commits as git replace and grafts change them
        self.repository.variables = {}
        if trunk is None:
            trunk = TRUNK
        branch = f"refs/heads/{trunk}"

        fields = [record.commit for record in records]
        self._resolved = self.repository.resolve(
            [*fields, *map(trim, fields), branch], searches=True
        )
        how = "the trunk of the reference's rules"
        self.trunk = Trunk(
            branch, trunk, self._resolved[branch], how, self.repository.is_shallow
        )

    def landing(self, record: IterationRecord) -> Landing:
        """Return whether the commit of an entry is on the trunk, and what reverted it.

        Where git does not have the commit, the newest commit of the trunk with the summary of the
        entry as its subject is taken for it. Without such a commit, or where the entry names none,
        the landing is unknown.
        """
        field, sha = self._commit(record)
        landing = partial(Landing, self.rules, self.trunk, field, sha)

        if not field:
            return landing(unknown=Unknown.NO_COMMIT)
        if sha is None:  # history may have been rewritten
            same_subject = self.match_subject(record.impl.summary)
            if same_subject is None:
                return landing(unknown=Unknown.UNRESOLVED)
            reverted_by = self.reverted_by(same_subject)
            return landing(facts.MESSAGE, same_subject, reverted_by=reverted_by)

        if not self.on_trunk(sha):
            return landing(facts.NOT_LANDED)
        return landing(facts.ANCESTOR, sha, reverted_by=self.reverted_by(sha))

    def _changed_by(self, record: IterationRecord, sha: str) -> Changed:
        """Return the files that a commit changed, as ``git show --name-only`` lists them."""
        changed = partial(Changed, self.rules, trim(record.commit), sha)
        commit = self._named.get(sha)
        if not commit or commit.files is None:
            return changed(unknown=Unknown.FILES)
        return changed(commit.files)

    def on_trunk(self, sha: str) -> bool:
        """Return whether the trunk contains a commit."""
        return sha in self._indices

    def reverted_by(self, sha: str) -> str | None:
        """Return the SHA of the newest trunk commit that reverts a trunk commit, or None.

        The reverting commit is later. Its message has the word "revert" and a run of 7 to 40
        hexadecimal digits with which the SHA of the other one begins.
        """
        index = self._indices.get(sha, -1)
        for mark in self._revert_marks.get(sha[:_SHORTEST_RUN], ()):
            if mark.position < index and sha.startswith(mark.digits):
                return self._walk[mark.position].sha
        return None

    def match_subject(self, text: str) -> str | None:
        """Return the SHA of the newest trunk commit with a subject, upper and lower case alike.

        None for an empty subject, and where no commit has it.
        """
        return self._subjects.get(fold(trim(text)))

    @cached_property
    def _named(self) -> dict[str, ShownCommit]:
        """What git shows of the commits that entries name, by their SHAs."""
        return shown_commits(
            self.repository, [sha for sha in self._resolved.values() if sha]
        )

    @cached_property
    def _walk(self) -> list[Commit]:
        """The commits of the trunk, newest first. Empty without a trunk."""
        return (
            trunk_commits(self.repository, self.trunk.commit)
            if self.trunk.commit
            else []
        )

    @cached_property
    def _indices(self) -> dict[str, int]:
        """The index of each commit in the walk of the trunk, by SHA."""
        return {commit.sha: index for index, commit in enumerate(self._walk)}

    @cached_property
    def _subjects(self) -> dict[str, str]:
        """The SHA of the newest commit by subject, which is trimmed and in one case."""
        subjects: dict[str, str] = {}
        for commit in self._walk:
            subjects.setdefault(fold(trim(commit.subject)), commit.sha)
        subjects.pop("", None)
        return subjects

    @cached_property
    def _revert_marks(self) -> dict[str, list[_RevertMark]]:
        """The marks of reverts, newest first, by their first seven digits."""
        marks: dict[str, list[_RevertMark]] = {}
        for index, commit in enumerate(self._walk):
            if "revert" not in commit.message.lower():
                continue

            for run in _HEX_RUN.findall(commit.message):
                if _SHORTEST_RUN <= len(run) <= _LONGEST_RUN:
                    mark = _RevertMark(index, run.lower())
                    marks.setdefault(mark.digits[:_SHORTEST_RUN], []).append(mark)
        return marks
