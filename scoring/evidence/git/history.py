"""The history of a repository as it is found on disk (``docs/EVIDENCE.md``, "Landing" and "Scope").

Git is asked for each thing when it is first needed.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path

from msgspec.structs import replace

from scoring.errors import InputError, Warn, silent
from scoring.evidence.git.facts import MESSAGE, Changed, GitFacts, Landing, Tip, Unknown
from scoring.evidence.git.graph import CommitGraph, CommitWithParents
from scoring.evidence.git.landing import Landings
from scoring.evidence.git.line_history import LineHistory
from scoring.evidence.git.repository import GitRepository
from scoring.evidence.git.scope_ranges import (
    EarlierIteration,
    ScopeRange,
    changed_files,
    scope_range,
)
from scoring.evidence.git.trunk import choose_trunk, read_branches, short_name
from scoring.evidence.git.walk import (
    Commit,
    lines_off_trunk,
    named_commits,
    newest_by_subject,
    trunk_commits,
)
from scoring.files import read_file
from scoring.log.model import IterationRecord, Records
from scoring.text import fold, trim


class TrunkHistory(GitFacts):
    """What is found on disk about the commits of a log."""

    rules = "attributed"

    _decides: type[Landings] = Landings

    def __init__(
        self,
        repo_dir: Path | str | GitRepository,
        records: Sequence[IterationRecord],
        trunk: str | None = None,
        *,
        cache_dir: Path | None = None,
        warn: Warn = silent,
    ) -> None:
        """Open the repository and find the trunk.

        Args:
            repo_dir: a directory of the repository, or the open repository.
            records: all records of a log, by iteration.
            trunk: the branch on which work lands; None looks for it.
            cache_dir: where what is known of objects is kept; None keeps nothing.
            warn: takes a line of text about what git cannot read.

        Raises:
            NotARepositoryError: ``repo_dir`` is in no work tree.
            GitError: git fails, or no branch has the name of the trunk.
        """
        self._records = Records.of(records)
        self._files_by_range: dict[ScopeRange, tuple[str, ...] | None] = {}

        self._repository = GitRepository.of(repo_dir)
        self.lines = LineHistory(self._repository, cache_dir, warn)
        self._branches = read_branches(self._repository)
        self.trunk = choose_trunk(self._branches, trunk)

        fields = self._records.commits
        self._resolved = self._repository.resolve([*fields, *map(trim, fields)])

    def walked(self) -> tuple[GitRepository, Mapping[str, Commit], CommitGraph]:
        """Return what others need to ask more of git.

        Returns:
            The repository, the commits of the trunk by SHA, newest first, and the graph of these
            and of the log's commits off the trunk.
        """
        return self._repository, self._walk, self._graph

    def _time_of(self, sha: str) -> int | None:
        commit = self._named.get(sha)
        return commit.time if commit else None

    def landing(self, record: IterationRecord) -> Landing:
        """Return whether the work of an iteration came to the trunk.

        The trunk is searched for the commit, for its change, for that of its side, and for what
        else says that the work is there.
        """
        field, sha = self._commit(record)
        question = Landing(self.rules, self.trunk, field, sha)
        if not field:
            return replace(question, unknown=Unknown.NO_COMMIT)
        if self.trunk.commit is None:
            return replace(question, unknown=Unknown.NO_TRUNK)
        if sha is not None:
            return replace(self._landings.of(sha), field=field)

        # History may have been rewritten, so look for a commit with the summary as its subject.
        same_subject = self._same_subject(record)
        if same_subject is None:
            return replace(question, unknown=Unknown.UNRESOLVED)
        return replace(question, found_by=MESSAGE, commit=same_subject)

    def _same_subject(self, record: IterationRecord) -> str | None:
        """Return the trunk commit that has an entry's summary as its subject."""
        return self._subjects.get(fold(trim(record.impl.summary)))

    def _changed_by(self, record: IterationRecord, sha: str) -> Changed:
        question = Changed(self.rules, trim(record.commit), sha)
        if sha not in self._graph:
            return replace(question, unknown=Unknown.HISTORY)

        measured = self._ranges[record.iteration]
        if measured.base == "" and sha in self._shallow:
            return replace(question, unknown=Unknown.SHALLOW)

        files = self._files_over(measured)
        if files is None:
            return replace(question, unknown=Unknown.FILES)
        return replace(
            question,
            files=files,
            base=measured.base,
            since=measured.earlier,
            without_trunk=measured.without_trunk,
            merge=self._graph.is_merge(sha),
        )

    @cached_property
    def _iterations(self) -> list[tuple[int, str]]:
        """The iterations that name a commit, each with the SHA."""
        iterations = []
        for number, field in zip(self._records.numbers, self._records.commits, strict=True):
            sha = self._resolved[trim(field)]
            if sha:
                iterations.append((number, sha))
        return iterations

    @cached_property
    def _first_iterations(self) -> dict[str, int]:
        """The lowest iteration that names each commit."""
        return {sha: number for number, sha in reversed(self._iterations)}

    @cached_property
    def _named(self) -> dict[str, Commit]:
        return self._commits([sha for sha in self._resolved.values() if sha])

    def _commits(self, shas: Collection[str]) -> dict[str, Commit]:
        """Return commits by their SHAs, without those that git cannot read.

        Commits of the trunk come first and are as the walk has them.
        """
        on_trunk = {}
        off_trunk = []
        for sha in shas:
            if sha in self._walk:
                on_trunk[sha] = self._walk[sha]
            else:
                off_trunk.append(sha)
        return on_trunk | named_commits(self._repository, off_trunk)

    @cached_property
    def _walk(self) -> dict[str, Commit]:
        """The commits of the trunk by their SHAs, newest first."""
        if not self.trunk.commit:
            return {}
        commits = trunk_commits(self._repository, self.trunk.commit, "--date-order")
        return {commit.sha: commit for commit in commits}

    @cached_property
    def _subjects(self) -> dict[str, str]:
        return newest_by_subject(self._walk.values())

    @cached_property
    def _graph(self) -> CommitGraph:
        return self._graph_with([sha for _, sha in self._iterations])

    def _graph_with(self, shas: Iterable[str]) -> CommitGraph:
        """Return the trunk with some commits and with the branches off the trunk."""
        trunk = [CommitWithParents(commit.sha, commit.parents) for commit in self._walk.values()]
        off_trunk = [sha for sha in dict.fromkeys(shas) if sha not in self._walk]
        if not off_trunk:
            return CommitGraph(trunk)

        tips: list[str] = []
        if trunk:  # without a trunk nothing lands, and no branch can show that something did
            all_tips = dict.fromkeys(self._tips_off_trunk())
            tips = [sha for sha in all_tips if sha not in self._walk]

        lines = lines_off_trunk(
            self._repository,
            shas=off_trunk,
            tips=tips,
            trunk=self.trunk.commit,
        )
        # Where clocks were wrong, git may list commits that the trunk contains.
        off_trunk_lines = [line for line in lines if line.sha not in self._walk]
        return CommitGraph(trunk, off_trunk_lines)

    def _tips_off_trunk(self) -> Iterable[str]:
        return self._branches.tips.values()

    @cached_property
    def _landings(self) -> Landings:
        return self._landings_of(self._graph, self._named, self._first_iterations)

    def _landings_of(
        self,
        graph: CommitGraph,
        commits: Mapping[str, Commit],
        numbers: Mapping[str, int],
    ) -> Landings:
        """Return what decides whether commits landed.

        Args:
            graph: the trunk and what is off it.
            commits: the commits in question, by their SHAs.
            numbers: the iteration of each commit in question.
        """
        iterations = [Tip(sha, iteration=number) for sha, number in numbers.items()]
        iterations.sort(key=lambda tip: tip.iteration)

        # Of several branches with one tip, the first by its full name counts.
        names: dict[str, str] = {}
        for ref, sha in sorted(self._branches.tips.items(), reverse=True):
            names[sha] = short_name(ref)
        branches = [Tip(sha, branch=name) for sha, name in names.items()]
        branches.sort(key=lambda tip: tip.branch)

        return self._decides(
            self.lines,
            self.trunk,
            self._walk,
            graph,
            commits,
            iterations,
            branches,
        )

    @cached_property
    def _shallow(self) -> frozenset[str]:
        """The commits at which history is cut off."""
        try:
            content = read_file(self._repository.common_dir / "shallow")
            return frozenset(content.decode().split())
        except (InputError, ValueError):
            return frozenset()

    @cached_property
    def _ranges(self) -> dict[int, ScopeRange]:
        """The commits over which the change of each iteration is measured."""
        iterations = [pair for pair in self._iterations if pair[1] in self._graph]
        shas = [sha for _, sha in iterations]
        is_first = [self._first_iterations[sha] == number for number, sha in iterations]
        nearest = self._graph.nearest(shas, is_first)

        ranges: dict[int, ScopeRange] = {}
        for (number, sha), index in zip(iterations, nearest, strict=True):
            earlier = None
            if index is not None:
                earlier = EarlierIteration(*iterations[index])
            ranges[number] = scope_range(self._graph, sha, earlier)
        return ranges

    def _files_over(self, measured: ScopeRange) -> tuple[str, ...] | None:
        """Return the files that changed over a range, or None when git cannot say.

        The first question asks git about one range, and the second about all of them: most
        commands ask about one iteration only.
        """
        if measured not in self._files_by_range:
            wanted = [measured]
            if self._files_by_range:
                wanted = list(dict.fromkeys(self._ranges.values()))

            files = changed_files(self._repository, self._graph, wanted)
            self._files_by_range |= {asked: files.get(asked) for asked in wanted}
        return self._files_by_range[measured]
