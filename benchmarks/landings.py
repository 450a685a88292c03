"""``python -m benchmarks landings REPO ...`` checks what da-score says of rewritten history.

The history of a clone is written anew: each merge of its mainline becomes a squash, an amended
squash, one squash of two, a row of picked commits, or a squash behind which all files move; the
last ones become none, and a commit of a month later ends the trunk. So it is known of every commit
of the old sides whether its work landed. Left out are sides that begin while other work waits for
its squash, as their first commit would hold that too. Printed is a row for each way: how many
commits, how many are said to have landed, to be absent, and not to have landed; once as in a plain
clone, and once with the heads of pull requests. docs/VALIDITY.md has the figures.
"""

import argparse
import random
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.tables import markdown
from benchmarks.truth import share
from scoring.evidence.git.authorship import AttributedHistory

WAYS = (
    "title and number",
    "subjects listed",
    "no name",
    "amended",
    "two in one",
    "picked",
    "moved",
)
NEVER = "never landed"
A_MONTH = 30 * 86_400
SEED = 20_260_101


class Old(NamedTuple):
    """A commit of the old history: its parents, its tree, when it was made, its message."""

    sha: str
    parents: tuple[str, ...]
    tree: str
    time: int
    message: str

    @property
    def subject(self) -> str:
        """The first line of its message."""
        return self.message.partition("\n")[0]


def git(repo: Path, *arguments: str, given: bytes = b"") -> str:
    """Return what git prints."""
    done = subprocess.run(
        ["git", "-C", repo, *arguments], input=given, stdout=subprocess.PIPE, check=True
    )
    return done.stdout.decode("utf-8", "replace")


def history(repo: Path) -> dict[str, Old]:
    """Return the commits of the trunk, parents first."""
    text = git(
        repo,
        "log",
        "--topo-order",
        "--reverse",
        "--format=%H%x00%P%x00%T%x00%ct%x00%B%x01",
        "HEAD",
    )
    rows = (row.strip("\n").split("\0") for row in text.split("\1") if row.strip())
    return {
        sha: Old(sha, tuple(of.split()), tree, int(time), said)
        for sha, of, tree, time, said in rows
    }


class Rewriter:
    """Writes the new history for ``git fast-import``, and notes what became of each old commit."""

    def __init__(
        self, repo: Path, commits: Mapping[str, Old], rng: random.Random
    ) -> None:
        self._repo, self._commits, self._rng = repo, commits, rng
        self._stream: list[bytes] = []
        self._new: dict[str, int] = {}
        self._prefix = ""
        self._below: dict[
            int, str
        ] = {}  # by the mark of a commit, the folder that all its files are in
        self._files: dict[
            int, dict[str, str]
        ] = {}  # by the mark of a commit, what it has beside its tree
        # the old commits whose work was not on the new trunk yet
        self._waited: set[str] = set()
        self._count = 0
        self.way: dict[int, str] = {}
        """How the work of a new commit beside the trunk landed, by its mark."""
        self.heads: dict[int, int] = {}
        """The tip of each pull request, by its number."""

    def commit(
        self,
        ref: str,
        time: int,
        message: str,
        parent: int,
        tree: str,
        files: Mapping[str, str] = {},
    ) -> int:
        """Write a commit with further files and a tree, below the folder that files moved to."""
        self._count += 1
        text = message.encode()
        made = [
            f"commit {ref}\nmark :{self._count}\n",
            f"author A <a@example.org> {time} +0000\n",
        ]
        made += [f"committer A <a@example.org> {time} +0000\ndata {len(text)}\n"]
        tail = (
            f"from :{parent}\n" if parent else ""
        ) + f"deleteall\nM 040000 {tree} {self._prefix}\n"
        tail = (
            tail
            if self._prefix
            else tail.replace("M 040000 " + tree + " \n", f'M 040000 {tree} ""\n')
        )
        self._files[self._count] = self._files.get(parent, {}) | {**files}
        for path, content in self._files[self._count].items():
            tail += f"M 100644 inline {path}\ndata {len(content.encode())}\n{content}\n"
        self._stream.append("".join(made).encode() + text + b"\n" + tail.encode())
        self._below[self._count] = self._prefix
        return self._count

    def side(self, tip: str, base: set[str]) -> list[Old]:
        """Return the commits that a merge brought, oldest first, or none where one is a merge."""
        found, waiting = dict[str, Old](), [tip]
        while waiting:
            sha = waiting.pop()
            if sha not in found and sha not in base:
                found[sha] = self._commits[sha]
                waiting += found[sha].parents
        some = [one for one in self._commits.values() if one.sha in found]
        return [] if any(len(one.parents) != 1 for one in some) else some

    def write(self) -> None:
        """Write all of it."""
        mainline = list(self._commits.values())[-1:]
        while mainline[-1].parents:
            mainline.append(self._commits[mainline[-1].parents[0]])
        mainline.reverse()
        on_trunk, last, waiting = set[str](), 0, list[list[Old]]()
        end = len(mainline) * 3 // 4
        for n, one in enumerate(mainline):
            some = self.side(one.parents[1], on_trunk) if len(one.parents) == 2 else []
            on_trunk |= {one.sha, *(side.sha for side in some)}
            begins = some[0].parents[0] if some else ""
            branch = (
                self._branch(some, n)
                if begins in self._new and begins not in self._waited
                else []
            )
            way = NEVER if n >= end else self._rng.choice(WAYS)
            if way == "picked" and begins != one.parents[0]:
                # what the trunk got meanwhile is not in the trees of the side
                way = WAYS[0]
            self.way |= dict.fromkeys(branch, way)
            if n >= end:
                self._new[one.sha] = self._written(
                    one, f"refs/keep/{n}", self._new[one.parents[0]]
                )
                continue
            if waiting and some:
                some, way = [*waiting.pop(), *some], "two in one"
            elif way == "two in one" and some:
                waiting.append(some)
                self._new[one.sha] = last  # its work comes with the next one
                self._waited.add(one.sha)
                continue
            last = self._land(one, some, way, last, n)
            self._new[one.sha] = last
        tail = mainline[end - 1]
        self._prefix = self._prefix or "everything"
        self.commit(
            "refs/heads/main",
            mainline[-1].time + A_MONTH,
            "A month later",
            last,
            tail.tree,
            {"LATER": "later\n"},
        )

    def _branch(self, some: Sequence[Old], number: int) -> list[int]:
        """Write the commits of a pull request where they were, and return their marks."""
        marks: dict[str, int] = {}
        for one in some:
            parent = marks.get(one.parents[0]) or self._new.get(one.parents[0], 0)
            marks[one.sha] = self._written(one, f"refs/keep/{number}", parent)
        self.heads[number] = list(marks.values())[-1]
        return list(marks.values())

    def _written(self, one: Old, ref: str, parent: int) -> int:
        """Write a commit off the trunk, with its files where those of its parent are."""
        prefix, self._prefix = self._prefix, self._below.get(parent, "")
        mark = self.commit(ref, one.time, one.message, parent, one.tree)
        self._prefix = prefix
        return mark

    def _land(
        self, one: Old, some: Sequence[Old], way: str, last: int, number: int
    ) -> int:
        title = some[-1].subject if len(some) == 1 else f"Work {number}"
        listed = (
            [f"* {side.subject}" for side in some] if way == "subjects listed" else []
        )
        name = "" if way == "no name" or not some else f" (#{number})"
        files: dict[str, str] = {}
        if way == "amended":
            files = {
                f"review-{number}.txt": "".join(
                    f"what the review asked for, {n}\n" for n in range(3)
                )
            }
        if way == "moved" and not self._prefix:
            self._prefix = "everything"
        if way == "picked":
            for side in some[:-1]:
                last = self.commit(
                    "refs/heads/main", one.time, side.message, last, side.tree
                )
            return self.commit(
                "refs/heads/main",
                one.time,
                (some[-1] if some else one).message,
                last,
                one.tree,
            )
        message = f"{title if some else one.subject}{name}\n\n" + "\n\n".join(listed)
        return self.commit("refs/heads/main", one.time, message, last, one.tree, files)

    def load(self) -> dict[int, str]:
        """Give the stream to git; return the new commits by their marks."""
        marks = self._repo / ".git" / "new-marks"
        stream = b"".join(self._stream) + b"done\n"
        git(
            self._repo,
            "fast-import",
            "--quiet",
            "--force",
            "--done",
            f"--export-marks={marks}",
            given=stream,
        )
        rows = (row.split() for row in marks.read_text().splitlines())
        return {int(mark[1:]): sha for mark, sha in rows}


class Asked(NamedTuple):
    """A commit off the trunk: how its work landed, and whether that is said (None: absent)."""

    way: str
    sha: str
    said: bool | None


def asked_of(repo: Path, seed: int) -> dict[bool, list[Asked]]:
    """Rewrite a repository, and return what da-score says of its commits.

    It is asked without and with the heads of pull requests.
    """
    rewriter = Rewriter(repo, history(repo), random.Random(seed))
    rewriter.write()
    made = rewriter.load()
    git(repo, "remote", "remove", "origin")
    git(repo, "symbolic-ref", "HEAD", "refs/heads/main")
    found: dict[bool, list[Asked]] = {}
    for with_heads in (False, True):
        if with_heads:
            lines = (
                f"create refs/pull/{n}/head {made[mark]}\n"
                for n, mark in rewriter.heads.items()
            )
            git(repo, "update-ref", "--stdin", given="".join(lines).encode())
        landings = AttributedHistory(repo, ()).landings(
            made[mark] for mark in rewriter.way
        )
        said = {
            sha: None if one.unknown else one.landed for sha, one in landings.items()
        }
        found[with_heads] = [
            Asked(way, made[mark], said[made[mark]])
            for mark, way in rewriter.way.items()
        ]
    return found


def table(asked: Sequence[Asked]) -> Iterator[str]:
    """Yield a table of what is said by way, and the shares that count."""
    rows = []
    for way in (*WAYS, NEVER):
        counts = Counter(one.said for one in asked if one.way == way)
        rows.append(
            (
                way,
                *map(str, (counts.total(), counts[True], counts[None], counts[False])),
            )
        )
    yield markdown(("way", "commits", "landed", "absent", "not landed"), rows)
    landed = [one for one in asked if one.way != NEVER]
    said = [one for one in asked if one.said]
    right = sum(one.way != NEVER for one in said)
    zero = [one for one in asked if one.said is False]
    yield f"landed: precision {share(right, len(said))}; recall {share(right, len(landed))}"
    wrong = [one for one in zero if one.way != NEVER]
    never = f"{len(zero) - len(wrong)} of {len(asked) - len(landed)} that never did"
    yield f"not landed: {never}, {len(wrong)} that did"
    yield from (f"  {one.way}: {one.sha}" for one in wrong)


def main(arguments: list[str]) -> int:
    """Rewrite copies of some repositories, and print what is said of their commits."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks landings", description=__doc__
    )
    parser.add_argument(
        "repositories", type=Path, nargs="+", metavar="REPO", help="a clone or a bundle"
    )
    parser.add_argument(
        "--seeds", type=int, default=2, help="how many histories of each"
    )
    parser.add_argument(
        "--keep",
        type=Path,
        metavar="DIR",
        help="where the histories stay, to look at them",
    )
    given = parser.parse_args(arguments)
    everything: dict[bool, list[Asked]] = {False: [], True: []}
    for seed in range(given.seeds):
        for source in given.repositories:
            with tempfile.TemporaryDirectory() as name:
                repo = (given.keep or Path(name)) / f"{source.stem}-{seed}"
                subprocess.run(
                    ["git", "clone", "-q", "--no-checkout", source, repo], check=True
                )
                for heads, asked in asked_of(repo, SEED + seed).items():
                    everything[heads] += asked
    for heads, asked in everything.items():
        print(
            "\n".join(
                _with_title("With pull requests" if heads else "Plain", table(asked))
            )
        )
    return 0


def _with_title(title: str, lines: Iterable[str]) -> Iterator[str]:
    yield f"\n{title}\n"
    yield from lines
