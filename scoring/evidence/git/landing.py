"""Has a commit's work landed on the trunk, and by which method was that found out.

``docs/EVIDENCE.md``, "Landing", describes the methods, in the order in which they are tried. Each asks git about all
commits at once. The first question decides about one commit and its descendants, the second about all the others: a
command about one iteration needs no more.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, partial

from scoring.evidence.git import facts
from scoring.evidence.git.changes import Change, Pair, changes
from scoring.evidence.git.facts import Landing, Tip, Trunk, Unknown
from scoring.evidence.git.graph import CommitGraph, Contained
from scoring.evidence.git.patches import IsolatedRepository, same_changes
from scoring.evidence.git.repository import GitRepository
from scoring.evidence.git.reverts import Reverts
from scoring.evidence.git.walk import NamedCommit

MOST_TIPS = 200
"""How many branches that contain unlanded commits are looked at."""

_MOST_ALIKE = 50
_MOST_BASES = 4
_EVERYWHERE = 1 << 62


class Landings:
    """The landing of the commits of one log on one trunk."""

    def __init__(
        self,
        repository: GitRepository,
        graph: CommitGraph,
        reverts: Reverts,
        commits: Mapping[str, NamedCommit],
        iterations: Sequence[Tip],
        branches: Sequence[Tip],
        subjects: Mapping[str, Sequence[str]],
        trunk: Trunk,
    ) -> None:
        """Take what is known of the history.

        ``iterations`` are the commits of the log, once each, by their first iteration in ascending order, and
        ``commits`` what they say; ``branches`` are the tips of all branches; ``subjects`` are the trunk's commits by
        subject, newest first.
        """
        self._repository, self._graph, self._reverts, self._commits = repository, graph, reverts, commits
        self._subjects, self._tip = subjects, trunk.commit or ""
        self._found = partial(Landing, "corrected", trunk, "")
        self._iterations = [tip for tip in iterations if not graph.on_trunk(tip.sha)]
        self._branches = [tip for tip in branches if tip.sha in graph and not graph.on_trunk(tip.sha)]
        self._decided: dict[str, Landing] = {}
        self._ancestors: dict[str, Landing] = {}
        self._changes: dict[Pair, tuple[Change, ...]] = {}
        self._own: dict[str, Landing | None] = {}
        self._unsure: set[str] = set()
        self._old_git: tuple[int, int] | None = None

    def of(self, sha: str) -> Landing:
        """Return whether a resolved commit has landed; the commit field of the entry is left empty."""
        if self._graph.on_trunk(sha):
            if sha not in self._ancestors:
                merges = self._graph.brought_by(sha)
                reverted_by = self._reverts.of((sha, *merges), self._graph.position[sha])
                self._ancestors[sha] = self._found(sha, facts.ANCESTOR, sha, next(iter(merges), None), reverted_by)
            return self._ancestors[sha]
        if sha not in self._decided:
            self._decide([sha] if not self._decided else [tip.sha for tip in self._iterations])
        return self._decided[sha]

    def reverted_by(self, landed: str, *also: str) -> str | None:
        """Return the commit that reverts a trunk commit, a merge that brought it in, or ``also`` after it."""
        targets = (landed, *self._graph.brought_by(landed), *also)
        return self._reverts.of(targets, self._graph.position[landed])

    def _decide(self, wanted: Sequence[str]) -> None:
        """Decide about some commits of the log, and about those that contain them, which may speak for them."""
        waiting = [tip for tip in self._iterations if tip.sha not in self._decided]
        marks = self._graph.marks([tip.sha for tip in waiting])
        bits = {tip.sha: 1 << n for n, tip in enumerate(waiting)}
        asked_for = sum(bits[sha] for sha in set(wanted) & bits.keys())
        waiting = [tip for tip in waiting if bits[tip.sha] & asked_for or marks.get(tip.sha, 0) & asked_for]
        tried = [tip for tip in waiting if not self._unknown_by_parents(tip.sha)]
        self._try([tip.sha for tip in tried])
        tried = [tip for tip in tried if not self._unknown_by_changes(tip.sha)]
        missing = sum(bits[tip.sha] for tip in tried if self._own[tip.sha] is None)
        branches = [tip for tip in self._branches if marks[tip.sha] & missing & ~bits.get(tip.sha, 0)][:MOST_TIPS]
        self._try([tip.sha for tip in branches])
        by_subject = self._by_subject([tip.sha for tip in tried if self._own[tip.sha] is None])
        later, holding = {}, {}
        for tip in tried:
            own = bits[tip.sha]
            later[tip.sha] = [t for t in self._iterations if t.iteration > tip.iteration and marks.get(t.sha, 0) & own]
            holding[tip.sha] = [t for t in branches if t.sha != tip.sha and marks[t.sha] & own]
        self._ask_moved(
            (sha, by.commit)
            for sha in by_subject
            for tip in (*later[sha], *holding[sha])
            for by in (self._own.get(tip.sha), self._decided.get(tip.sha), by_subject.get(tip.sha))
            if by is not None and by.commit is not None and not by.whole
        )
        for tip in reversed(tried):
            sha = tip.sha
            self._decided[sha] = (
                self._own[sha]
                or self._by_later(sha, later[sha], self._decided)
                or self._by_later(sha, holding[sha], self._own)
                or by_subject[sha]
                or self._not_landed(sha)
            )

    def _unknown_by_parents(self, sha: str) -> bool:
        """Decide about a commit with an incomplete history, and about a merge."""
        if sha not in self._graph or sha not in self._commits:
            self._decided[sha] = self._found(sha, unknown=Unknown.HISTORY)
        elif len(self._graph.parents[sha]) > 1:
            self._decided[sha] = self._found(sha, unknown=Unknown.MERGE)
        return sha in self._decided

    def _unknown_by_changes(self, sha: str) -> bool:
        """Decide about a commit with changes that cannot be read, and about one without any."""
        changed = self._changes.get((sha, self._graph.first_parent(sha)))
        if not changed:
            why = Unknown.FILES if changed is None else Unknown.NO_CHANGE
            self._decided[sha] = self._found(sha, unknown=why)
        return sha in self._decided

    def _try(self, shas: Iterable[str]) -> None:
        shas = [sha for sha in dict.fromkeys(shas) if sha not in self._own]
        if not shas:
            return
        own = {sha: [] if len(self._graph.parents[sha]) > 1 else [(sha, self._graph.first_parent(sha))] for sha in shas}
        sides = {sha: [(sha, base) for base in self._graph.merge_bases(sha)[:_MOST_BASES]] for sha in shas}
        wanted = {sha: own[sha] + sides[sha] for sha in shas}
        self._ask_changes(pair for pairs in wanted.values() for pair in pairs)
        with IsolatedRepository(self._repository, "sha256" if len(shas[0]) == 64 else "sha1") as isolated:
            same, unread = same_changes(self._repository, self._graph, isolated, wanted, self._changes)
            self._own |= {sha: self._by_patch(sha, pairs, same) for sha, pairs in wanted.items()}
            # A side that changes nothing can be merged without a trace, and has not landed for that.
            rest = [sha for sha in shas if self._own[sha] is None and any(map(self._changes.get, sides[sha]))]
            merged = self._merged(rest, isolated)
        self._unsure |= unread | ({*rest} - merged.keys() if self._old_git is None else set())
        for sha in rest:
            if merged.get(sha) == self._trunk_tree:
                who = self._reverts.of((sha,), _EVERYWHERE)
                self._own[sha] = self._found(sha, facts.MERGE_TREE, reverted_by=who)

    def _by_patch(self, sha: str, pairs: Sequence[Pair], same: Mapping[Pair, Sequence[str]]) -> Landing | None:
        before = Contained(self._graph, sha)
        parent = self._graph.first_parent(sha)
        for pair in pairs:
            if found := [commit for commit in same.get(pair, ()) if commit not in before]:
                landed, who = self._standing(found, sha)
                if pair[1] == parent and len(self._graph.parents[sha]) < 2:
                    alone = not parent or self._graph.on_trunk(parent)
                    return self._found(sha, facts.PATCH_ID, landed, reverted_by=who, whole=alone)
                return self._found(sha, facts.SQUASH, landed, reverted_by=who)
        return None

    def _by_later(self, sha: str, tips: Iterable[Tip], found: Mapping[str, Landing | None]) -> Landing | None:
        good: list[Landing] = []
        for tip in tips:
            by = found.get(tip.sha)
            if by is None or not by.landed or not (by.whole or self._may_be_there(sha, by.commit)):
                continue
            who = self.reverted_by(by.commit, sha) if by.commit else self._reverts.of((sha, tip.sha), _EVERYWHERE)
            speaks = tip._replace(method=by.found_by)
            method = facts.LATER_ANCESTOR
            good.append(self._found(sha, method, by.commit, reverted_by=who, whole=by.whole, tip=speaks))
            if who is None:
                return good[-1]
        return good[0] if good else None

    def _may_be_there(self, sha: str, landed: str | None) -> bool:
        """Return whether the trunk changed all files of a commit between the merge base and what landed of its side."""
        pair = self._moved(sha, landed)
        self._ask_moved([(sha, landed)])
        moved = {change.path for change in self._changes.get(pair, ())}
        return all(change.path in moved for change in self._files(sha))

    def _moved(self, sha: str, landed: str | None) -> Pair:
        """Return the pair over which the trunk moved, from the merge base to what landed; "" where there is none."""
        bases = self._graph.merge_bases(sha)
        parents = self._graph.parents.get(landed or "", ())
        return (parents[0], bases[0]) if bases and parents else ("", "")

    def _ask_moved(self, wanted: Iterable[tuple[str, str | None]]) -> None:
        self._ask_changes(pair for sha, landed in dict.fromkeys(wanted) if (pair := self._moved(sha, landed))[0])

    def _by_subject(self, shas: Iterable[str]) -> dict[str, Landing | None]:
        alike: dict[str, list[str]] = {}
        for sha in shas:
            before, subject = Contained(self._graph, sha), self._commits[sha].subject
            candidates = self._subjects.get(subject, ()) if subject else ()
            alike[sha] = [commit for commit in candidates if commit not in before][:_MOST_ALIKE]
        self._ask_changes((commit, self._graph.first_parent(commit)) for some in alike.values() for commit in some)
        return {sha: self._with_common_files(sha, some) for sha, some in alike.items()}

    def _with_common_files(self, sha: str, alike: Sequence[str]) -> Landing | None:
        own = {change.path for change in self._files(sha)}
        pairs = {commit: (commit, self._graph.first_parent(commit)) for commit in alike}
        common = {one: sum(c.path in own for c in self._changes.get(pair, ())) for one, pair in pairs.items()}
        if not (found := [commit for commit in alike if common[commit]]):
            return None
        landed, who = self._standing(found, sha)
        return self._found(sha, facts.SUBJECT, landed, reverted_by=who, whole=False, common_files=common[landed])

    def _not_landed(self, sha: str) -> Landing:
        if sha in self._unsure:
            return self._found(sha, unknown=Unknown.OBJECTS)
        return self._found(sha, facts.NOT_LANDED, old_git=self._old_git)

    def _standing(self, found: Sequence[str], sha: str) -> tuple[str, str | None]:
        """Return, of the commits that landed one, the newest without a revert, else the newest and what reverts it."""
        reverted = [(commit, self.reverted_by(commit, sha)) for commit in found]
        return next((pair for pair in reverted if pair[1] is None), reverted[0])

    def _files(self, sha: str) -> tuple[Change, ...]:
        return self._changes[sha, self._graph.first_parent(sha)]

    def _ask_changes(self, pairs: Iterable[Pair]) -> None:
        self._changes |= changes(self._repository, [pair for pair in pairs if pair not in self._changes])

    @cached_property
    def _trunk_tree(self) -> str:
        return self._repository.run("rev-parse", f"{self._tip}^{{tree}}").decode().strip()

    def _merged(self, shas: Sequence[str], isolated: IsolatedRepository) -> dict[str, str]:
        if not shas:
            return {}
        self._old_git = isolated.too_old_to_merge()
        return {} if self._old_git else isolated.merged_trees(self._tip, shas)
