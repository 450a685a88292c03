"""On random histories the graph in memory agrees with git, and so do digests of patches."""

import functools
import random
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from helpers.repos import START, Repo

from scoring.evidence.git.changes import CommitPair, changes
from scoring.evidence.git.graph import CommitGraph, Parents
from scoring.evidence.git.index_set import NO_INDICES
from scoring.evidence.git.isolated import isolated_repository, patch_ids
from scoring.evidence.git.repository import GitRepository
from scoring.evidence.git.walk import lines_off_trunk, trunk_commits


def made_history(folder: Path, seed: int, size: int = 60) -> Repo:
    """Return a repository with a random history: merges of two or three commits, several roots."""
    chance = random.Random(seed)
    repo = Repo(folder / f"repo-{seed}")
    stream = []
    for n in range(1, size + 1):
        back = min(n - 1, 12)
        parents = (
            []
            if chance.random() < 0.03
            else chance.sample(
                range(n - back, n), min(back, chance.choice([1, 1, 2, 3]))
            )
        )
        when = START + n * 60 + chance.choice([0, 0, -5_000])
        stream.append(
            f"commit refs/heads/c{n}\nmark :{n}\ncommitter C <c@x> {when} +0000\ndata 1\nx\n"
        )
        stream += [
            f"{'merge' if i else 'from'} :{parent}\n"
            for i, parent in enumerate(parents)
        ]
        stream.append(f"M 644 inline f{n % 7}\ndata {len(str(n))}\n{n}\n\n")
    repo.git("fast-import", "--quiet", given="".join(stream).encode())
    repo.git("update-ref", "refs/heads/master", f"refs/heads/c{size - 5}")
    return repo


def graph_of(repo: Repo) -> CommitGraph:
    repository = GitRepository(repo.path)
    walk = trunk_commits(repository, repo.head("master"), "--date-order")
    trunk = {line.sha: line.parents for line in walk}
    every = repo.git("rev-list", "--branches").split()
    beside = [sha for sha in every if sha not in trunk]
    lines = lines_off_trunk(repository, beside, [], repo.head("master"))
    return CommitGraph(
        trunk, {sha: line for sha, line in lines.items() if sha not in trunk}
    )


class History(NamedTuple):
    """A random history, and for every commit on a branch what git says it contains."""

    repo: Repo
    inside: dict[str, set[str]]


@pytest.fixture(scope="module")
def histories(tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], History]:
    """Histories by their seed, each made once: nothing here writes to them."""

    @functools.cache
    def made(seed: int) -> History:
        repo = made_history(tmp_path_factory.mktemp("histories"), seed)
        every = repo.git("rev-list", "--branches").split()
        return History(
            repo, {sha: set(repo.git("rev-list", sha).split()) for sha in every}
        )

    return made


@pytest.mark.parametrize("seed", range(6))
class TestSecondOpinion:
    def test_on_what_contains_what(
        self, histories: Callable[[int], History], seed: int
    ) -> None:
        repo, inside = histories(seed)
        graph = graph_of(repo)
        every = list(inside)
        containing, counts = graph.containing(every), graph.counts(every[::3])
        for tip in inside:
            assert {sha for sha in graph.trunk if graph.contains(tip, sha)} == inside[
                tip
            ] & set(graph.trunk)
            if not graph.on_trunk(tip):
                side = {sha for sha in inside[tip] if not graph.on_trunk(sha)}
                assert (graph.side(tip), counts[tip]) == (
                    side,
                    len(side.intersection(every[::3])),
                )
                behind = [
                    n
                    for n, sha in enumerate(every)
                    if tip in inside[sha] and sha != tip
                ]
                assert list(containing.get(tip, NO_INDICES).indices()) == behind

    def test_on_the_nearest_commit_before(
        self, histories: Callable[[int], History], seed: int
    ) -> None:
        repo, inside = histories(seed)
        chance = random.Random(seed)
        shas = chance.choices(list(inside), k=80)  # some are named several times
        counts = [chance.random() < 0.8 for _ in shas]
        for n, place in enumerate(graph_of(repo).nearest(shas, counts)):
            before = [
                k
                for k in range(n)
                if counts[k] and shas[k] != shas[n] and shas[k] in inside[shas[n]]
            ]
            assert place == (before[-1] if before else None)

    def test_on_merge_bases(
        self, histories: Callable[[int], History], seed: int
    ) -> None:
        repo = histories(seed).repo
        graph = graph_of(repo)
        for tip in repo.git("rev-list", "--branches", "^master").split():
            done = (
                repo.git("merge-base", "--all", "master", tip)
                if graph.boundary(tip)
                else ""
            )
            assert sorted(graph.merge_bases(tip)) == sorted(done.split())

    def test_on_ranges(self, histories: Callable[[int], History], seed: int) -> None:
        repo, inside = histories(seed)
        graph = graph_of(repo)
        chance = random.Random(seed)
        every = list(inside)
        for _ in range(200):
            tip, one, two = chance.choices(every, k=3)
            # Not asked with ^one ^two: with wrong clocks git itself may list what these contain.
            assert (
                set(graph.between(tip, (one, two)))
                == inside[tip] - inside[one] - inside[two]
            )

    def test_on_the_mainline_and_what_it_brought_in(
        self, histories: Callable[[int], History], seed: int
    ) -> None:
        repo = histories(seed).repo
        graph = graph_of(repo)
        assert (
            graph.mainline == repo.git("rev-list", "--first-parent", "master").split()
        )
        for sha in graph.trunk:
            brought = next(
                c for c in reversed(graph.mainline) if graph.contains(c, sha)
            )
            merges = graph.brought_by(sha)
            assert graph.mainline[graph.introduced[sha]] == brought
            assert merges[:1] == ([] if sha in graph.mainline else [brought])
            for merge in merges:
                assert graph.contains(merge, sha)
                assert not graph.contains(graph.parents[merge][0], sha)


def test_what_contains_commits_of_many_branches_takes_memory_by_their_number() -> None:
    def most_memory(branches: int) -> int:
        tips = [f"tip-{n}" for n in range(branches)]
        off_trunk: Parents = {tip: (f"first-of-{tip}",) for tip in tips}
        off_trunk |= {f"first-of-{tip}": ("trunk",) for tip in tips}
        graph = CommitGraph({"trunk": ()}, off_trunk)
        tracemalloc.start()
        try:
            assert len(graph.containing(tips)) == branches
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    assert most_memory(16_000) < 10 * most_memory(2_000)


@pytest.mark.parametrize("count", [20, pytest.param(60, marks=pytest.mark.slow)])
def test_patches_are_equal_where_git_calls_them_equal(
    tmp_path: Path, count: int
) -> None:
    """Every pair of many small changes, among them moved, indented and repeated ones."""
    chance = random.Random(7)
    repo = Repo(tmp_path / "repo")
    repo.commit({"f": "".join(f"{n}\n" for n in range(40)), "g": "g\n"})
    shas = []
    for n in range(count):
        repo.git("checkout", "-q", "--detach", "master")
        lines = [f"{n}\n" for n in range(40)]
        if chance.random() < 0.5:
            lines = ["above\n"] * chance.choice([1, 3]) + lines
            repo.commit({"f": "".join(lines)}, f"moved {n}")
        at = lines.index(f"{chance.choice([20, 21])}\n")
        lines[at] = chance.choice(["new\n", "  new\n", "n e w\n", "other\n"])
        repo.commit(
            {"f": "".join(lines)} | chance.choice([{}, {"g": "gg\n"}]), f"change {n}"
        )
        shas.append(repo.head())
    pairs = [CommitPair(sha, repo.head(f"{sha}~1")) for sha in shas]
    repository = GitRepository(repo.path)
    with isolated_repository(repository, shas[0]) as isolated:
        ours = patch_ids(isolated, pairs)
    shown = repo.git_bytes(
        "diff-tree", "--stdin", "-p", given="".join(f"{sha}\n" for sha in shas).encode()
    )
    theirs = {
        line.split()[1]: line.split()[0]
        for line in repo.git("patch-id", "--stable", given=shown).splitlines()
    }
    assert len(set(theirs.values())) > 5
    for one in pairs:
        for two in pairs:
            assert (ours[one] == ours[two]) == (
                theirs[one.commit] == theirs[two.commit]
            )
    assert len(changes(repository, pairs)) == len(set(pairs))
