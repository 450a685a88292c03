"""What commits say of who wrote them, and what they change."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from scoring.evidence.git.agents import NO_AGENTS, CommitAgents, Identity, agents_of
from scoring.evidence.git.branch_history import BranchHistory
from scoring.evidence.git.changes import CommitPair, ask_about_commits, changes, net_changes
from scoring.evidence.git.checkpoints import checkpoint_ids
from scoring.evidence.git.patches import FileLine, hashes_added
from scoring.evidence.git.starter import as_lines, as_text

_NUMSTAT = (
    "diff-tree",
    "--stdin",
    "--root",
    "-r",
    "-M",
    "--numstat",
    "--diff-merges=first-parent",
)
LIST_FILES = ("ls-tree", "-r", "-z", "--full-tree")
"""What lists the files of a commit."""

_SHA = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


class WrittenCommit(NamedTuple):
    """A commit, and what its message says of who wrote it.

    Attributes:
        sha: the full SHA.
        parents: the full SHAs of its parents.
        time: author time in seconds since 1970; None when git has none.
        date: the author's day, as YYYY-MM-DD.
        subject: the subject.
        checkpoints: the ids of the checkpoints that the message names.
        agents: the agents that it names.
        committed: committer time in seconds since 1970; None when git has none.
        author: who wrote it; nobody where git does not have the commit.
    """

    sha: str
    parents: tuple[str, ...]
    time: int | None
    date: str
    subject: str
    checkpoints: tuple[str, ...] = ()
    agents: CommitAgents = NO_AGENTS
    committed: int | None = None
    author: Identity = Identity("", "")

    @property
    def change(self) -> CommitPair:
        """The commit and its first parent."""
        return _with_first_parent(self.sha, self.parents)


class ChangeSize(NamedTuple):
    """How many files a commit changed, and how many lines. Binary files have no lines."""

    files: int = 0
    added: int = 0
    removed: int = 0


class TrunkPaths(NamedTuple):
    """The paths of the trunk since some time.

    Attributes:
        names: all paths that the trunk has, or changed since then.
        moves: the old and the new path of each file that it renamed.
        submodules: the folders that are repositories of their own.
    """

    names: set[str]
    moves: list[tuple[str, str]]
    submodules: set[str]


def _with_first_parent(sha: str, parents: Sequence[str]) -> CommitPair:
    return CommitPair(sha, parents[0] if parents else "")


class CommitHistory(BranchHistory):
    """What git knows of commits beyond landing."""

    @cached_property
    def _written(self) -> dict[str, WrittenCommit]:
        """What commits say of who wrote them, as far as it was asked."""
        return {}

    def written(self, shas: Iterable[str]) -> dict[str, WrittenCommit]:
        """Return what commits say of who wrote them, without those that git cannot read."""
        written = {}
        for sha, commit in self._commits(dict.fromkeys(shas)).items():
            if sha not in self._written:
                self._written[sha] = WrittenCommit(
                    sha,
                    parents=commit.parents,
                    time=commit.authored,
                    date=commit.date,
                    subject=commit.subject,
                    checkpoints=checkpoint_ids(commit.message),
                    agents=agents_of(commit.message, (commit.author, commit.committer)),
                    committed=commit.time,
                    author=commit.author,
                )
            written[sha] = self._written[sha]
        return written

    def checkpoints_without_commit(self, names: Collection[str]) -> set[str]:
        """Return those of some checkpoints that the message of no commit names."""
        left = set(names)
        for message in (commit.message for commit in self.walk.values()):
            left.difference_update(checkpoint_ids(message))
        if left:
            for commit in self.commits.values():
                left.difference_update(checkpoint_ids(commit.message))
        return left

    def lines_added(
        self, shas: Iterable[str], *, is_strict: bool = False
    ) -> dict[str, Mapping[FileLine, int]]:
        """Return how often commits add each significant line, as :func:`hashes_added` counts it.

        Merges, and commits that git cannot read, are left out.
        """
        pairs = []
        for sha, commit in self._commits(dict.fromkeys(shas)).items():
            if len(commit.parents) < 2:
                pairs.append(_with_first_parent(sha, commit.parents))

        added: dict[str, Mapping[FileLine, int]] = {}
        for pair, patch in zip(pairs, self.lines.patches(pairs), strict=True):
            if patch is not None:
                added[pair.commit] = hashes_added(patch, is_strict=is_strict)
        return added

    def sizes(self, shas: Iterable[str]) -> dict[str, ChangeSize]:
        """Return how much commits changed against their first parents.

        Commits that git cannot compare are left out.
        """

        def ask(batch: Sequence[str]) -> Mapping[str, ChangeSize] | None:
            answer = self.repository.ask(*_NUMSTAT, stdin=as_lines(batch))
            if answer.returncode:
                return None

            unchanged = dict.fromkeys(batch, ChangeSize())
            return unchanged | _parse_numstat(as_text(answer.stdout))

        wanted = list(dict.fromkeys(shas))
        return ask_about_commits(self.repository, ask, wanted)

    def files(self, commits: Iterable[WrittenCommit]) -> dict[str, frozenset[str]]:
        """Return the paths that commits changed against their first parents.

        Commits that git cannot compare are left out.
        """
        pairs = [commit.change for commit in commits]
        changed = changes(self.repository, pairs)

        files = {}
        for pair in pairs:
            if pair in changed:
                files[pair.commit] = frozenset(change.path for change in changed[pair])
        return files

    def trunk_paths_since(self, time: int) -> TrunkPaths:
        """Return the paths that the trunk has, or changed since a time in seconds since 1970."""
        pairs = []
        for commit in self.walk.values():
            is_recent = (commit.time or 0) >= time
            if is_recent and len(commit.parents) < 2:
                pairs.append(_with_first_parent(commit.sha, commit.parents))

        names: set[str] = set()
        moves = []
        for changed in net_changes(self.repository, pairs).values():
            for change in changed:
                names |= {change.path, change.old_path}
                if change.status == "R":
                    moves.append((change.old_path, change.path))

        submodules = set()
        if self.trunk.commit:
            for entry in self.repository.run(*LIST_FILES, self.trunk.commit).split(b"\0")[:-1]:
                about, _, path = as_text(entry).partition("\t")
                names.add(path)
                if " commit " in about:
                    submodules.add(path)
        return TrunkPaths(names, moves, submodules)

    def remotes(self) -> list[str]:
        """Return the URLs of the remotes, as they are configured."""
        return [setting.url for setting in self.repository.remotes]


def _parse_numstat(output: str) -> dict[str, ChangeSize]:
    """Return the sizes of commits that change something, as ``git diff-tree --numstat`` prints."""
    sizes: dict[str, ChangeSize] = {}
    sha = ""
    for line in output.split("\n"):
        if _SHA.fullmatch(line):
            sha = line
        elif line:
            # Of a binary file git counts no lines.
            added, removed, _ = line.replace("-\t-\t", "0\t0\t", 1).split("\t", 2)
            size = sizes.get(sha, ChangeSize())
            sizes[sha] = ChangeSize(
                size.files + 1, size.added + int(added), size.removed + int(removed)
            )
    return sizes
