"""The history of a repository as found on disk, asked when first needed, and its trunk: docs/EVIDENCE.md."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from scoring.errors import GitError, InputError
from scoring.evidence.git import facts
from scoring.evidence.git.facts import Changed, GitFacts, Landing, Tip, Trunk, Unknown
from scoring.evidence.git.graph import CommitGraph, CommitWithParents
from scoring.evidence.git.landing import Landings
from scoring.evidence.git.repository import GitRepository
from scoring.evidence.git.reverts import TrunkMessage
from scoring.evidence.git.scope_ranges import (
    EarlierIteration,
    ScopeRange,
    changed_files,
    scope_range,
)
from scoring.evidence.git.starter import as_text
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

FALLBACKS = (
    "main",
    "master",
)  # tried, of the remote and then here, when the remote names no default
_HEADS, _REMOTES = "refs/heads/", "refs/remotes/"
_PREFERRED = "origin"


class TrunkHistory(GitFacts):
    """What is found on disk about the commits of a log."""

    rules = "attributed"

    _decides: type[Landings] = Landings

    def __init__(
        self,
        repo_dir: Path | str | GitRepository,
        records: Sequence[IterationRecord],
        trunk: str | None = None,
    ) -> None:
        """Take all records of a log, by iteration, and a trunk (None looks for it); raises as git and the trunk do."""
        self._records = Records.of(records)
        self._known_landings: dict[tuple[str, str], Landing] = {}
        self._known_files: dict[ScopeRange, tuple[str, ...] | None] = {}
        self._repository = GitRepository.of(repo_dir)
        self._references = read_references(self._repository)
        self.trunk = choose_trunk(self._repository, self._references, trunk)
        commits = self._records.commits
        self._resolved = self._repository.resolve([*commits, *map(trim, commits)])

    def walked(self) -> tuple[GitRepository, Mapping[str, Commit], CommitGraph]:
        """Return the repository, the commits of its trunk, newest first, and their graph with what is beside it."""
        return self._repository, self._walk, self._graph

    def messages(self) -> Sequence[TrunkMessage]:
        """Return what trunk commits say that may speak of a revert, each with its place and SHA."""
        return self._landings.messages

    def _time_of(self, sha: str) -> int | None:
        return self._named[sha].time if sha in self._named else None

    def landing(self, record: IterationRecord) -> Landing:
        """Look for the commit, for its change, for its side's, and for what else says that the work is there."""
        question = (
            record.commit,
            record.impl.summary,
        )  # the facts of an iteration ask more than once
        if question not in self._known_landings:
            self._known_landings[question] = self._landing(record)
        return self._known_landings[question]

    def _landing(self, record: IterationRecord) -> Landing:
        field, sha = self._commit(record)
        found = partial(Landing, self.rules, self.trunk, field, sha)
        if not field or self.trunk.commit is None:
            return found(unknown=Unknown.NO_TRUNK if field else Unknown.NO_COMMIT)
        if (
            sha is None
        ):  # history may have been rewritten: is there a trunk commit with the summary as its subject?
            alike = self._same_subject(record)
            if alike is None:
                return found(unknown=Unknown.UNRESOLVED)
            return found(facts.MESSAGE, alike, reverted_by=self._landings.reverted_by(alike))
        return replace(self._landings.of(sha), field=field)

    def _same_subject(self, record: IterationRecord) -> str | None:
        return self._subjects.get(fold(trim(record.impl.summary)))

    def _changed_by(self, record: IterationRecord, sha: str) -> Changed:
        found = partial(Changed, self.rules, trim(record.commit), sha)
        if sha not in self._graph:
            return found(unknown=Unknown.HISTORY)
        over = self._ranges[record.iteration]
        if over.base == "" and sha in self._shallow:
            return found(unknown=Unknown.SHALLOW)
        if (paths := self._files_over(over)) is None:
            return found(unknown=Unknown.FILES)
        merge = len(self._graph.parents[sha]) > 1
        return found(paths, over.base, over.earlier, over.without_trunk, merge)

    @cached_property
    def _iterations(self) -> list[tuple[int, str]]:
        named = zip(self._records.numbers, self._records.commits, strict=True)
        return [(number, sha) for number, field in named if (sha := self._resolved[trim(field)])]

    @cached_property
    def _named(self) -> dict[str, Commit]:
        return self._commits([sha for sha in self._resolved.values() if sha])

    def _commits(self, shas: Collection[str]) -> dict[str, Commit]:
        """Return commits by their SHAs, those of the trunk as the walk has them; what git cannot read is left out."""
        beside = [sha for sha in shas if sha not in self._walk]
        return {sha: self._walk[sha] for sha in shas if sha in self._walk} | named_commits(
            self._repository, beside
        )

    @cached_property
    def _walk(self) -> dict[str, Commit]:
        """The commits of the trunk by their SHAs, newest first."""
        tip = self.trunk.commit
        return (
            {line.sha: line for line in trunk_commits(self._repository, tip, "--date-order")}
            if tip
            else {}
        )

    @cached_property
    def _subjects(self) -> dict[str, str]:
        return newest_by_subject(self._walk.values())

    @cached_property
    def _graph(self) -> CommitGraph:
        return self._graph_with([sha for _, sha in self._iterations])

    def _graph_with(self, shas: Iterable[str]) -> CommitGraph:
        """Return the trunk with what is beside it: commits, and where these are also the tips of branches."""
        trunk = [CommitWithParents(line.sha, line.parents) for line in self._walk.values()]
        beside = [sha for sha in dict.fromkeys(shas) if sha not in self._walk]
        if not beside:
            return CommitGraph(trunk)
        # Without a trunk nothing lands, and no branch can speak for what it contains.
        tips = [
            sha for sha in dict.fromkeys(self._tips_beside()) if trunk and sha not in self._walk
        ]
        lines = lines_off_trunk(self._repository, beside, tips, self.trunk.commit)
        # Where clocks were wrong, git may list commits that the trunk contains.
        return CommitGraph(trunk, [line for line in lines if line[0] not in self._walk])

    def _tips_beside(self) -> Iterable[str]:
        return self._references.commits.values()

    @cached_property
    def _landings(self) -> Landings:
        return self._landings_of(
            self._graph, self._named, {sha: n for n, sha in reversed(self._iterations)}
        )

    def _landings_of(
        self, graph: CommitGraph, commits: Mapping[str, Commit], first: Mapping[str, int]
    ) -> Landings:
        refs = {sha: ref for ref, sha in sorted(self._references.commits.items(), reverse=True)}
        names = {
            sha: ref.removeprefix("refs/heads/").removeprefix("refs/remotes/")
            for sha, ref in refs.items()
        }
        iterations = sorted(
            (Tip(sha, number) for sha, number in first.items()), key=lambda tip: tip.iteration
        )
        branches = sorted(
            (Tip(sha, branch=name) for sha, name in names.items()), key=lambda tip: tip.branch
        )
        return self._decides(
            self._repository, self.trunk, self._walk.values(), graph, commits, iterations, branches
        )

    @cached_property
    def _shallow(self) -> frozenset[str]:
        try:
            return frozenset(read_file(self._repository.common_dir / "shallow").decode().split())
        except (InputError, ValueError):
            return frozenset()

    @cached_property
    def _ranges(self) -> dict[int, ScopeRange]:
        known = [(number, sha) for number, sha in self._iterations if sha in self._graph]
        first = {sha: number for number, sha in reversed(known)}
        counts = [first[sha] == number for number, sha in known]
        nearest = self._graph.nearest([sha for _, sha in known], counts)
        found: dict[int, ScopeRange] = {}
        for (number, sha), place in zip(known, nearest, strict=True):
            found[number] = scope_range(
                self._graph, sha, None if place is None else EarlierIteration(*known[place])
            )
        return found

    def _files_over(self, over: ScopeRange) -> tuple[str, ...] | None:
        """Return the files that changed over a range; the first question asks git about it alone, the second of all."""
        if over not in self._known_files:
            asked = list(dict.fromkeys(self._ranges.values())) if self._known_files else [over]
            self._known_files |= dict.fromkeys(asked) | changed_files(
                self._repository, self._graph, asked
            )
        return self._known_files[over]


class References(NamedTuple):
    """The branches: tips and symbolic targets by full name; ``remote`` is origin or the only one, else ""."""

    commits: Mapping[str, str]
    targets: Mapping[str, str]
    remote: str


def read_references(repository: GitRepository) -> References:
    """Ask for all branches, local and remote-tracking, and for the remotes where these do not show the one."""
    rows = repository.branches
    remote = _PREFERRED
    if not any(ref.startswith(f"{_REMOTES}{_PREFERRED}/") for _, ref, _ in rows):
        remotes = [name for name in as_text(repository.run("remote")).split("\n") if name]
        if _PREFERRED not in remotes:
            remote = remotes[0] if len(remotes) == 1 else ""
    return References(
        {ref: sha for sha, ref, _ in rows},
        {ref: target for _, ref, target in rows if target},
        remote,
    )


def choose_trunk(
    repository: GitRepository, references: References, wanted: str | None = None
) -> Trunk:
    """Find the trunk, or take the one ``wanted``, bare names here or at the remote; GitError where there is none."""
    ref, how = _named(repository, references, wanted) if wanted else _found(repository, references)
    if not ref:
        return Trunk("", "", None, how, repository.is_shallow)
    commit = references.commits.get(ref) or repository.resolve([ref])[ref]
    if wanted and commit is None:
        raise GitError(
            f"{repository.directory}: no trunk {wanted!r} here; name a branch with --trunk"
        )
    return Trunk(ref, _short(ref), commit, how, repository.is_shallow)


def _named(repository: GitRepository, references: References, wanted: str) -> tuple[str, str]:
    how = "named by --trunk"
    remote = (
        f"{_REMOTES}{references.remote}/{wanted}" if references.remote and wanted != "HEAD" else ""
    )
    if (
        not {wanted, f"{_REMOTES}{wanted}"} & references.commits.keys()
        and remote in references.commits
    ):
        return _paired(repository, references, remote, how)
    names = (wanted, f"{_HEADS}{wanted}", f"{_REMOTES}{wanted}")
    return next((name for name in names if name in references.commits), wanted), how


def _found(repository: GitRepository, references: References) -> tuple[str, str]:
    """Return the full name of a trunk that the user did not name, and how it was found; "" when it was not."""
    remote = references.remote
    head = f"{_REMOTES}{remote}/HEAD"
    gone = ""
    if remote and head in references.commits:
        target = references.targets.get(head, head)
        how = f"the default branch of {remote} ({remote}/HEAD)"
        return _paired(
            repository, references, target, how + _renamed(repository, references, target)
        )
    if remote and (
        lost := repository.ask("symbolic-ref", "--quiet", head)
        .stdout.decode(errors="replace")
        .strip()
    ):
        gone = f"; {remote}/HEAD points to {_short(lost)}, which is gone"
    for name in FALLBACKS if remote else ():
        if (ref := f"{_REMOTES}{remote}/{name}") in references.commits:
            return _paired(
                repository,
                references,
                ref,
                f"{remote} names no default branch and has {name}{gone}",
            )
    for name in FALLBACKS:
        if (ref := f"{_HEADS}{name}") in references.commits:
            return ref, f"no remote has a trunk, and there is a local branch {name}{gone}"
    return (
        "",
        f"no remote with a default branch, and no branch {' or '.join(FALLBACKS)}{gone}; name it with --trunk",
    )


def _paired(
    repository: GitRepository, references: References, ref: str, how: str
) -> tuple[str, str]:
    branch = ref.removeprefix(f"{_REMOTES}{references.remote}/")
    local = f"{_HEADS}{branch}"
    if branch in (ref, "HEAD") or local not in references.commits:
        return ref, how
    here, there = references.commits[local], references.commits[ref]
    if here == there or repository.ask("merge-base", "--is-ancestor", there, here).returncode == 0:
        return local, f"{how}; the local branch holds all of {_short(ref)}"
    return ref, f"{how}; the local branch {branch} does not hold all of it"


def _renamed(repository: GitRepository, references: References, target: str) -> str:
    """Return a hint when the default branch seems to have been renamed since the clone was made; "" otherwise."""
    remote = f"{_REMOTES}{references.remote}/"
    for name in FALLBACKS if target.removeprefix(remote) in FALLBACKS else ():
        old, new = references.commits[target], references.commits.get(remote + name, "")
        if (
            new not in ("", old)
            and repository.ask("merge-base", "--is-ancestor", old, new).returncode == 0
        ):
            advice = f"if the default branch was renamed, run git remote set-head {references.remote} --auto"
            return f"; {references.remote}/{name} is ahead of it: {advice}"
    return ""


def _short(ref: str) -> str:
    return ref.removeprefix(_HEADS).removeprefix(_REMOTES)
