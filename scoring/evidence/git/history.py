"""What git says about the commits of a log under the corrected rules, asked once for the whole log (section 10).

The counterpart of :mod:`scoring.evidence.git.reference`: it finds the trunk, walks it and what lies beside it, and
answers about landing, reverts and changed files. Nothing is asked before somebody wants to know.
"""

from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path

from scoring.errors import InputError
from scoring.evidence.git.facts import Trunk
from scoring.evidence.git.graph import CommitGraph
from scoring.evidence.git.landcache import LandingCache, TrunkLine
from scoring.evidence.git.landing import Landed, Landings, Tip
from scoring.evidence.git.ranges import Changed, Range, changed_files, range_of
from scoring.evidence.git.repository import GitRepository
from scoring.evidence.git.reverts import Reverts
from scoring.evidence.git.trunk import choose_trunk, read_references
from scoring.evidence.git.walk import NamedCommit, lines_beside, named_commits, trunk_lines
from scoring.files import read_file
from scoring.text import fold, short, trim


class CorrectedHistory:
    """Answers about the commits that a log names."""

    def __init__(
        self,
        repo_dir: Path | str,
        fields: Iterable[tuple[int, str]],
        cache_dir: Path | None = None,
        trunk: str | None = None,
    ) -> None:
        """Open the repository, choose its trunk and resolve the names.

        Args:
            repo_dir: a directory in a git work tree.
            fields: the number and the commit field, as written, of each iteration in ascending order.
            cache_dir: where answers that never change are kept; None keeps none.
            trunk: the branch on which work lands; None looks for it.

        Raises:
            NotARepositoryError: ``repo_dir`` lies in no git work tree.
            GitError: there is no branch ``trunk``, or git is missing or failed.
        """
        self._fields = list(fields)
        self._repository = GitRepository(repo_dir)
        self._cache = LandingCache(cache_dir, self._repository.common_dir)
        self._references = read_references(self._repository)
        self.trunk: Trunk = choose_trunk(self._repository, self._references, trunk)
        names = dict.fromkeys(name for _, field in self._fields for name in (field, trim(field)))
        self._resolved = self._repository.resolve(names)

    def keep(self) -> None:
        """Keep what was learnt for the next run."""
        self._cache.save()

    def resolve(self, name: str) -> str | None:
        """Return the SHA that a name of this log stands for; None when it stands for no commit."""
        return self._resolved[name]

    def time(self, sha: str) -> int | None:
        """Return the committer time of a resolved commit, in seconds since 1970; None where it names none."""
        commit = self._named.get(sha)
        return commit.time if commit else None

    def is_merge(self, sha: str) -> bool:
        """Tell whether a commit has several parents."""
        return len(self._graph.parents[sha]) > 1

    def landing(self, sha: str) -> Landed:
        """Tell whether a resolved commit has landed; there is a trunk."""
        if self.trunk.shallow and not self._graph.on_trunk(sha):
            why = f"history is shallow: commit {short(sha)} may have landed on {self.trunk.name} before it begins"
            return Landed("", why)
        return self._landings.of(sha)

    def reverted_by(self, sha: str) -> str | None:
        """Return the trunk commit that reverts a trunk commit; None when none does."""
        return self._landings.reverted_by(sha)

    def match_subject(self, text: str) -> str | None:
        """Return the newest trunk commit whose subject equals ``text``, ignoring case; None for an empty text."""
        return self._folded_subjects.get(fold(text)) if text else None

    def changed(self, iteration: int, sha: str) -> Changed | str:
        """Return what an iteration changed, or why that cannot be told."""
        if sha not in self._graph:
            return f"cannot read the history of commit {short(sha)}"
        over = self._ranges[iteration]
        if over.base == "" and sha in self._shallow:
            return f"history is shallow: it begins with commit {short(sha)}"
        return self._changed.get(over) or f"cannot read changed files for {short(sha)}"

    @cached_property
    def _iterations(self) -> list[tuple[int, str]]:
        """The iterations whose commit resolves."""
        return [(number, sha) for number, field in self._fields if (sha := self._resolved[trim(field)])]

    @cached_property
    def _named(self) -> dict[str, NamedCommit]:
        return named_commits(self._repository, [sha for sha in self._resolved.values() if sha])

    @cached_property
    def _walk(self) -> Sequence[TrunkLine]:
        return trunk_lines(self._repository, self.trunk.commit, self._cache) if self.trunk.commit else ()

    @cached_property
    def _graph(self) -> CommitGraph:
        trunk = [(line.sha, line.parents) for line in self._walk]
        contained = {sha for sha, _ in trunk}
        beside = [sha for sha in dict.fromkeys(sha for _, sha in self._iterations) if sha not in contained]
        if not beside:
            return CommitGraph(trunk)
        # Without a trunk nothing lands, and no branch can speak for what it contains.
        tips = [sha for sha in dict.fromkeys(self._references.commits.values()) if trunk and sha not in contained]
        lines = lines_beside(self._repository, beside, tips, self.trunk.commit)
        # Where clocks were wrong, git may list commits that the trunk contains.
        return CommitGraph(trunk, [line for line in lines if line[0] not in contained])

    @cached_property
    def _landings(self) -> Landings:
        first = {sha: number for number, sha in reversed(self._iterations)}
        iterations = [Tip(sha, f"iteration {number}'s commit", number) for sha, number in first.items()]
        branches = {sha: ref for ref, sha in sorted(self._references.commits.items(), reverse=True)}
        names = ((ref.removeprefix("refs/heads/").removeprefix("refs/remotes/"), sha) for sha, ref in branches.items())
        subjects: dict[str, list[str]] = {}
        for line in self._walk:
            subjects.setdefault(line.subject, []).append(line.sha)
        places = self._graph.position
        said = ((places[line.sha], line.sha, line.message) for line in self._walk if line.message)
        return Landings(
            self._repository,
            self._graph,
            Reverts(said, self._graph.brought_by),
            self._named,
            sorted(iterations, key=lambda tip: tip.number),
            sorted((Tip(sha, f"branch {name}") for name, sha in names), key=lambda tip: tip.name),
            subjects,
            self._cache,
            self.trunk.name,
        )

    @cached_property
    def _folded_subjects(self) -> dict[str, str]:
        return {fold(trim(line.subject)): line.sha for line in reversed(self._walk)}

    @cached_property
    def _shallow(self) -> frozenset[str]:
        """The commits at which a shallow history begins."""
        try:
            return frozenset(read_file(self._repository.common_dir / "shallow").decode().split())
        except (FileNotFoundError, InputError, ValueError):
            return frozenset()

    @cached_property
    def _ranges(self) -> dict[int, Range]:
        known = [(number, sha) for number, sha in self._iterations if sha in self._graph]
        places = {sha: n for n, sha in enumerate(dict.fromkeys(sha for _, sha in known))}
        marks = self._graph.marks(list(places))
        found: dict[int, Range] = {}
        seen: list[tuple[int, str]] = []
        for number, sha in known:
            inside = (e for e in reversed(seen) if e[1] != sha and marks[sha] >> places[e[1]] & 1)
            found[number] = range_of(self._graph, sha, next(inside, None))
            seen.append((number, sha))
        return found

    @cached_property
    def _changed(self) -> dict[Range, Changed]:
        ranges = list(dict.fromkeys(self._ranges.values()))
        before = len(self._cache.nets)
        found = changed_files(self._repository, self._graph, ranges, self._cache.nets)
        self._cache.changed |= len(self._cache.nets) > before
        return found
