"""Has a commit's work landed on the trunk, and by which method was that found out (``docs/EVIDENCE.md``, "Landing")."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial

from scoring.evidence.git import facts
from scoring.evidence.git.changes import Change, CommitPair, changes
from scoring.evidence.git.facts import MERGE_GIT, Landing, Tip, Trunk, Unknown
from scoring.evidence.git.graph import NO_INDICES, CommitGraph, IndexSet
from scoring.evidence.git.isolated import git_version, isolated_repository, merged_trees
from scoring.evidence.git.repository import GitRepository
from scoring.evidence.git.reverts import Reverts, TrunkMessage
from scoring.evidence.git.same_changes import same_changes
from scoring.evidence.git.walk import Commit

MOST_TIPS = 200  # branches that contain unlanded commits and are looked at
_MOST_ALIKE = 50
_MOST_BASES = 4
_EVERYWHERE = 1 << 62


class Landings:
    """The landing of the commits of one log on one trunk."""

    def __init__(
        self,
        repository: GitRepository,
        trunk: Trunk,
        walk: Collection[Commit],
        graph: CommitGraph,
        commits: Mapping[str, Commit],
        iterations: Sequence[Tip],
        branches: Sequence[Tip],
    ) -> None:
        """Take the commits of the trunk, newest first, those of the log by SHA and once each, and all branches."""
        self._repository, self._walk, self._graph, self._commits = repository, walk, graph, commits
        self._tip, self._shallow = trunk.commit or "", trunk.shallow
        self._found = partial(Landing, "attributed", trunk, "")
        self._iterations = [tip for tip in iterations if not graph.on_trunk(tip.sha)]
        self._branches = [
            tip for tip in branches if tip.sha in graph and not graph.on_trunk(tip.sha)
        ]
        self.messages = list(self._messages(walk))
        self._reverts = Reverts(self.messages, graph.brought_by)
        self._changes: dict[CommitPair, tuple[Change, ...]] = {}
        self._unsure: set[str] = set()
        self._old_git: tuple[int, int] | None = None

    @cached_property
    def _subjects(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for commit in self._walk:
            found.setdefault(commit.subject, []).append(commit.sha)
        return found

    @cached_property
    def _times(self) -> dict[str, int]:
        return {commit.sha: commit.time or 0 for commit in self._walk}

    def _messages(self, walk: Iterable[Commit]) -> Iterator[TrunkMessage]:
        for commit in walk:
            if commit.message:
                yield TrunkMessage(self._graph.position[commit.sha], commit.sha, commit.message)

    def of(self, sha: str) -> Landing:
        """Return whether a resolved commit has landed; the commit field of the entry is left empty."""
        if not self._graph.on_trunk(sha):
            return (
                self._found(sha, unknown=Unknown.SHALLOW) if self._shallow else self._decided[sha]
            )
        merges = self._graph.brought_by(sha)
        reverted_by = self._reverts.of((sha, *merges), self._graph.position[sha])
        return self._found(sha, facts.ANCESTOR, sha, next(iter(merges), None), reverted_by)

    def reverted_by(self, landed: str, *also: str) -> str | None:
        """Return the commit that reverts a trunk commit, a merge that brought it in, or ``also`` after it."""
        targets = (landed, *self._graph.brought_by(landed), *also)
        return self._reverts.of(targets, self._graph.position[landed])

    @cached_property
    def _decided(self) -> dict[str, Landing]:
        decided: dict[str, Landing] = {}
        shas = [tip.sha for tip in self._iterations]
        for sha in shas:
            if sha not in self._graph or sha not in self._commits:
                decided[sha] = self._found(sha, unknown=Unknown.HISTORY)
            elif len(self._graph.parents[sha]) > 1:
                decided[sha] = self._found(sha, unknown=Unknown.MERGE)
        own = self._tried([sha for sha in shas if sha not in decided])
        for sha in own:
            if not (changed := self._changes.get(CommitPair(sha, self._graph.first_parent(sha)))):
                why = Unknown.FILES if changed is None else Unknown.NO_CHANGE
                decided[sha] = self._found(sha, unknown=why)
        tried = [tip for tip in self._iterations if tip.sha not in decided]
        missing = {tip.sha for tip in tried if own[tip.sha] is None}
        held = self._graph.counts(missing)
        branches = [tip for tip in self._branches if held[tip.sha] > (tip.sha in missing)][
            :MOST_TIPS
        ]
        own |= self._tried(
            [sha for sha in dict.fromkeys(tip.sha for tip in branches) if sha not in own]
        )
        by_subject = self._by_subject(tip.sha for tip in tried if tip.sha in missing)
        tips = [*tried, *branches]
        containing = self._graph.containing(tip.sha for tip in tips)
        in_part = [
            [by for by in (own.get(tip.sha), by_subject.get(tip.sha)) if by and not by.whole]
            for tip in tips
        ]
        waiting: dict[str, IndexSet] = {}  # the commits that contain those with a merge base
        for sha in by_subject:
            base = self._base(sha)
            waiting[base] = waiting.get(base, NO_INDICES) | containing.get(sha, NO_INDICES)
        self._ask_changes(
            self._moved(base, by.commit)
            for base, some in waiting.items()
            for n in some.indices()
            for by in in_part[n]
        )
        landed, of_branches = 0, -1 << len(tried)
        for n in range(len(tried) - 1, -1, -1):
            sha = tried[n].sha
            later = containing.get(sha, NO_INDICES)
            decided[sha] = (
                own[sha]
                or self._by_later(sha, (tips[k] for k in later.indices(landed)), decided)
                or self._by_later(sha, (tips[k] for k in later.indices(of_branches)), own)
                or by_subject[sha]
                or (self._found(sha, unknown=Unknown.OBJECTS) if sha in self._unsure else None)
                or self._found(sha, facts.NOT_LANDED, old_git=self._old_git)
            )
            landed |= decided[sha].landed << n
        return decided

    def _tried(self, shas: Sequence[str]) -> dict[str, Landing | None]:
        """Look for each commit by itself: for its patch, its side's, and for a merge that would change nothing."""
        if not shas:
            return {}
        own = {
            sha: []
            if len(self._graph.parents[sha]) > 1
            else [CommitPair(sha, self._graph.first_parent(sha))]
            for sha in shas
        }
        sides = {
            sha: [CommitPair(sha, base) for base in self._graph.merge_bases(sha)[:_MOST_BASES]]
            for sha in shas
        }
        wanted = {sha: own[sha] + sides[sha] for sha in shas}
        self._ask_changes(pair for pairs in wanted.values() for pair in pairs)
        with isolated_repository(self._repository, sha256=len(shas[0]) == 64) as isolated:
            same, unread = same_changes(
                self._repository, self._graph, isolated, wanted, self._changes
            )
            found = {sha: self._by_patch(sha, pairs, same) for sha, pairs in wanted.items()}
            # A side that changes nothing can be merged without a trace, and has not landed for that.
            rest = [
                sha
                for sha in shas
                if found[sha] is None and any(map(self._changes.get, sides[sha]))
            ]
            version = git_version(isolated) if rest else MERGE_GIT
            self._old_git = version if version < MERGE_GIT else None
            merged = (
                merged_trees(isolated, version, self._tip, rest)
                if rest and not self._old_git
                else {}
            )
        self._unsure |= unread | ({*rest} - merged.keys() if self._old_git is None else set())
        same_tree = (
            self._repository.run("rev-parse", f"{self._tip}^{{tree}}").decode().strip()
            if merged
            else ""
        )
        for sha in rest:
            if merged.get(sha) == same_tree:
                who = self._reverts.of((sha,), _EVERYWHERE)
                found[sha] = self._found(sha, facts.MERGE_TREE, reverted_by=who)
        return found

    def _by_patch(
        self, sha: str, pairs: Sequence[CommitPair], same: Mapping[CommitPair, Sequence[str]]
    ) -> Landing | None:
        parent = self._graph.first_parent(sha)
        for pair in pairs:
            if found := [
                commit for commit in same.get(pair, ()) if not self._graph.contains(sha, commit)
            ]:
                landed, who = self._standing(found, sha)
                if pair[1] == parent and len(self._graph.parents[sha]) < 2:
                    alone = not parent or self._graph.on_trunk(parent)
                    return self._found(sha, facts.PATCH_ID, landed, reverted_by=who, whole=alone)
                return self._found(sha, facts.SQUASH, landed, reverted_by=who)
        return None

    def _by_later(
        self, sha: str, tips: Iterable[Tip], found: Mapping[str, Landing | None]
    ) -> Landing | None:
        good: list[Landing] = []
        for tip in tips:
            by = found.get(tip.sha)
            if by is None or not by.landed or not (by.whole or self._may_be_there(sha, by.commit)):
                continue
            who = (
                self.reverted_by(by.commit, sha)
                if by.commit
                else self._reverts.of((sha, tip.sha), _EVERYWHERE)
            )
            how, speaks = facts.LATER_ANCESTOR, tip._replace(method=by.found_by)
            good.append(
                self._found(sha, how, by.commit, reverted_by=who, whole=by.whole, tip=speaks)
            )
            if who is None:
                return good[-1]
        return good[0] if good else None

    def _may_be_there(self, sha: str, landed: str | None) -> bool:
        """Return whether the trunk changed all files of a commit between the merge base and what landed of its side."""
        pair = self._moved(self._base(sha), landed)
        self._ask_changes([pair])
        moved = {change.path for change in self._changes.get(pair, ())}
        return all(change.path in moved for change in self._files(sha))

    def _base(self, sha: str) -> str:
        """Return the newest merge base of a commit and the trunk; "" where there is none."""
        return next(iter(self._graph.merge_bases(sha)), "")

    def _moved(self, base: str, landed: str | None) -> CommitPair:
        """Return the pair over which the trunk moved, from a merge base to what landed; "" where there is none."""
        parents = self._graph.parents.get(landed or "", ())
        return CommitPair(parents[0], base) if base and parents else CommitPair("", "")

    def _by_subject(self, shas: Iterable[str]) -> dict[str, Landing | None]:
        alike: dict[str, list[str]] = {}
        for sha in shas:
            subject = self._commits[sha].subject
            candidates = self._subjects.get(subject, ()) if subject else ()
            alike[sha] = [commit for commit in candidates if not self._graph.contains(sha, commit)][
                :_MOST_ALIKE
            ]
        self._ask_changes(
            CommitPair(commit, self._graph.first_parent(commit))
            for some in alike.values()
            for commit in some
        )
        return {sha: self._with_common_files(sha, some) for sha, some in alike.items()}

    def _with_common_files(self, sha: str, alike: Sequence[str]) -> Landing | None:
        own = {change.path for change in self._files(sha)}
        common = {
            commit: sum(change.path in own for change in self._files(commit)) for commit in alike
        }
        if not any(common.values()):
            return None
        landed, who = self._standing([commit for commit in alike if common[commit]], sha)
        return self._found(
            sha, facts.SUBJECT, landed, reverted_by=who, whole=False, common_files=common[landed]
        )

    def _standing(self, found: Sequence[str], sha: str) -> tuple[str, str | None]:
        """Return, of the commits that landed one, the newest without a revert, else the newest and what reverts it."""
        reverted = [(commit, self.reverted_by(commit, sha)) for commit in found]
        return next((pair for pair in reverted if pair[1] is None), reverted[0])

    def _files(self, sha: str) -> tuple[Change, ...]:
        """Return what changed against the first parent; nothing where git cannot say."""
        return self._changes.get(CommitPair(sha, self._graph.first_parent(sha)), ())

    def _ask_changes(self, pairs: Iterable[CommitPair]) -> None:
        self._changes |= changes(
            self._repository, [pair for pair in pairs if pair[0] and pair not in self._changes]
        )
