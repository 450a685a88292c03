"""Ways in which work lands, or does not, each on a repository built for it.

The table in ``docs/EVIDENCE.md`` is made from these scenarios.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from helpers.repos import Repo
from scoring.evidence.git.authorship import AttributedHistory
from scoring.evidence.git.facts import Landing
from scoring.evidence.reference.git import ReferenceHistory
from scoring.log.model import IterationRecord
from scoring.log.parse import parse_iteration_record

BASE = {"a.txt": "".join(f"line {n}\n" for n in range(20)), "b.txt": "b\n"}


class Case(NamedTuple):
    """A repository and its commits, one per iteration, of which ``asked`` is in question."""

    path: Path
    commits: Sequence[str]
    asked: int = 1


@dataclass(frozen=True)
class Scenario:
    """One way of landing, with the value under both sets of rules, and how it was found.

    A value of None means absent.
    """

    title: str
    build: Callable[[Path], Case]
    reference: float | None
    observed: float | None
    method: str


def record(
    number: int, commit: str, summary: str = "", task: str = "t"
) -> IterationRecord:
    """Return an entry that names a commit."""
    lines = (
        f"schema_version: 1\niteration: {number}\ntask_id: {task}\n"
        f"commit: {commit}\nsummary: '{summary}'\n"
    )
    return parse_iteration_record(lines)


def answers(case: Case, trunk: str | None = None) -> tuple[Landing, Landing]:
    """Return what the reference's history and the one as observed say."""
    records = [record(n, commit) for n, commit in enumerate(case.commits, 1)]
    asked = records[case.asked - 1]
    observed = AttributedHistory(case.path, records, trunk=trunk)
    return ReferenceHistory(case.path, records).landing(asked), observed.landing(asked)


def started(folder: Path, branch: str = "master") -> Repo:
    """Return a repository with one commit on its trunk."""
    repo = Repo(folder / "repo", branch=branch)
    repo.commit(BASE, "base")
    return repo


def forked(folder: Path, *, reworked: bool = False) -> tuple[Repo, str, str]:
    """Return a repository on master, and the two commits of its branch ``work``.

    Master moved on after the branch left it.
    With ``reworked`` the second one changes what the first one wrote, so that the first alone does
    not merge any more.
    """
    repo = started(folder)
    repo.branch("work")
    one = repo.commit({"one.txt": "the first half\n"}, "first half")
    two = repo.commit(
        {"two.txt": "the second half\n"}
        | ({"one.txt": "the first half again\n"} if reworked else {}),
        "second half",
    )
    repo.checkout("master")
    repo.commit({"b.txt": "moved on\n"}, "elsewhere")
    return repo, one, two


def squash(repo: Repo, branch: str, message: str = "squashed") -> str:
    """Squash a branch onto the one that is checked out."""
    repo.git("merge", "-q", "--squash", branch)
    return repo.commit(message=message)


def pick(repo: Repo, sha: str) -> str:
    """Cherry-pick a commit."""
    repo.clock += 3_600
    repo.git("cherry-pick", sha)
    return repo.head()


def clone(source: Path, to: Path, *options: str) -> Repo:
    """Clone a repository over the file protocol."""
    Repo.at(source).git(
        "clone", "-q", "--template=", *options, f"file://{source}", str(to)
    )
    return Repo.at(to)


def _merge(folder: Path) -> Case:
    repo, one, _ = forked(folder)
    repo.merge("work")
    return Case(repo.path, [one])


def _fast_forward(folder: Path) -> Case:
    repo = started(folder)
    repo.branch("work")
    sha = repo.commit({"one.txt": "the first half\n"}, "work")
    repo.checkout("master")
    repo.git("merge", "-q", "--ff-only", "work")
    return Case(repo.path, [sha])


def _squash(folder: Path) -> Case:
    repo, _, two = forked(folder)
    squash(repo, "work")
    return Case(repo.path, [two])


def _squash_earlier(folder: Path) -> Case:
    repo, one, two = forked(folder, reworked=True)
    squash(repo, "work")
    repo.git("branch", "-q", "-D", "work")
    return Case(repo.path, [one, two])


def _squash_updated(folder: Path) -> Case:
    """The branch took the trunk in before it was squashed, as a button on many forges does."""
    repo, one, _ = forked(folder, reworked=True)
    repo.checkout("work")
    repo.merge("master", "update branch")
    repo.checkout("master")
    squash(repo, "work")
    return Case(repo.path, [one])


def _squash_edited(folder: Path) -> Case:
    repo, one, two = forked(folder)
    squash(repo, "work")
    repo.commit({"one.txt": "the first half otherwise\n"}, "polish")
    return Case(repo.path, [one, two], 2)


def _squash_amended(folder: Path) -> Case:
    """Reworked while it was squashed: nothing shows that this is the same work."""
    repo, _, two = forked(folder)
    repo.git("merge", "-q", "--squash", "work")
    repo.commit({"two.txt": "quite other\n"}, "reworked")
    return Case(repo.path, [two])


def _rebase(folder: Path) -> Case:
    repo, one, two = forked(folder)
    pick(repo, one)
    pick(repo, two)
    return Case(repo.path, [one, two])


def _cherry_pick(folder: Path) -> Case:
    repo, _, two = forked(folder)
    pick(repo, two)
    repo.commit({"two.txt": "the second half\nand more\n"}, "later work on it")
    return Case(repo.path, [two])


def _cherry_pick_of_another(folder: Path) -> Case:
    repo, one, two = forked(folder)
    pick(repo, two)
    return Case(repo.path, [one, two])


def _revert(folder: Path) -> Case:
    repo = started(folder)
    sha = repo.commit({"one.txt": "the first half\n"}, "work")
    repo.revert(sha)
    return Case(repo.path, [sha])


def _revert_of_merge(folder: Path) -> Case:
    repo, one, _ = forked(folder)
    merged = repo.merge("work")
    repo.git("revert", "--no-edit", "-m", "1", merged)
    return Case(repo.path, [one])


def _revert_of_squash(folder: Path) -> Case:
    repo, _, two = forked(folder)
    repo.revert(squash(repo, "work"))
    return Case(repo.path, [two])


def _revert_of_revert(folder: Path) -> Case:
    repo = started(folder)
    sha = repo.commit({"one.txt": "the first half\n"}, "work")
    repo.revert(repo.revert(sha))
    return Case(repo.path, [sha])


def _not_a_revert(folder: Path) -> Case:
    repo = started(folder)
    sha = repo.commit({"one.txt": "the first half\n"}, "work")
    repo.commit({"b.txt": "2\n"}, f"not a revert of {sha}")
    return Case(repo.path, [sha])


def _amended(folder: Path) -> Case:
    repo, _, two = forked(folder)
    repo.checkout("work")
    repo.commit(
        {"two.txt": "the second half\nand what was forgotten\n"}, "to be folded in"
    )
    repo.git("reset", "-q", "--soft", "HEAD~2")
    repo.commit(message="second half")
    repo.checkout("master")
    repo.merge("work")
    return Case(repo.path, [two])


def _force_pushed(folder: Path) -> Case:
    repo = started(folder)
    sha = repo.commit({"one.txt": "the first half\n"}, "work")
    repo.reset("HEAD~1")
    repo.commit({"b.txt": "other\n"}, "other work")
    return Case(repo.path, [sha])


def _deleted_branch(folder: Path) -> Case:
    repo, _, two = forked(folder)
    squash(repo, "work")
    repo.git("branch", "-q", "-D", "work")
    return Case(repo.path, [two])


def _open_branch(folder: Path) -> Case:
    repo, _, two = forked(folder)
    return Case(repo.path, [two])


def _work_tree(folder: Path) -> Case:
    repo, _, two = forked(folder)
    squash(repo, "work")
    repo.git("worktree", "add", "-q", str(folder / "linked"), "work")
    return Case(folder / "linked", [two])


def _shallow_beside(folder: Path) -> Case:
    repo, _, two = forked(folder)
    squash(repo, "work")
    shallow = clone(repo.path, folder / "shallow", "--depth=1", "--no-single-branch")
    return Case(shallow.path, [two])


def _shallow_on_trunk(folder: Path) -> Case:
    repo = started(folder)
    sha = repo.commit({"one.txt": "the first half\n"}, "work")
    return Case(clone(repo.path, folder / "shallow", "--depth=1").path, [sha])


def _submodule(folder: Path) -> Case:
    inner, _, two = forked(folder)
    squash(inner, "work")
    outer = Repo(folder / "outer")
    outer.commit({"o.txt": "o\n"}, "outer")
    outer.git(
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        f"file://{inner.path}",
        "sub",
    )
    outer.commit(message="take it in")
    return Case(folder / "outer/sub", [two])


def _renamed(folder: Path) -> Case:
    repo = started(folder)
    sha = repo.commit({"one.txt": "the first half\n"}, "work")
    repo.git("branch", "-m", "master", "main")
    return Case(repo.path, [sha])


def _pushed_only(folder: Path) -> Case:
    """Merged on the remote and fetched, while the local trunk is where it was."""
    repo, one, _ = forked(folder)
    mine = clone(repo.path, folder / "mine")
    repo.merge("work")
    mine.git("fetch", "-q")
    return Case(mine.path, [one])


def _not_pushed(folder: Path) -> Case:
    source = started(folder, "main")
    mine = clone(source.path, folder / "mine")
    return Case(mine.path, [mine.commit({"one.txt": "the first half\n"}, "work")])


def _same_content(folder: Path) -> Case:
    """Taken in by hand, together with other work, in commits that are nobody's patch."""
    repo, one, two = forked(folder)
    repo.commit({"two.txt": "the second half\n", "c.txt": "c\n"}, "imported, part one")
    repo.commit({"one.txt": "the first half\n", "d.txt": "d\n"}, "imported, part two")
    return Case(repo.path, [one, two], 2)


def _empty(folder: Path) -> Case:
    repo = started(folder)
    repo.branch("work")
    sha = repo.commit(message="nothing")
    repo.checkout("master")
    return Case(repo.path, [sha])


def _merge_beside(folder: Path) -> Case:
    repo, _, _ = forked(folder)
    repo.checkout("work")
    sha = repo.merge("master", "update branch")
    repo.checkout("master")
    return Case(repo.path, [sha])


SCENARIOS: dict[str, Scenario] = {
    "merge": Scenario("merged with a merge commit", _merge, 1, 1, "ancestor"),
    "fast-forward": Scenario("fast-forward", _fast_forward, 1, 1, "ancestor"),
    "squash": Scenario("squash merge", _squash, 0, 1, "squash"),
    "squash-earlier": Scenario(
        "an earlier commit of a squashed branch, which is deleted",
        _squash_earlier,
        0,
        None,
        "",
    ),
    "squash-updated": Scenario(
        "squash merge after the branch took the trunk in", _squash_updated, 0, None, ""
    ),
    "squash-edited": Scenario(
        "squash merge, worked on since", _squash_edited, 0, 1, "squash"
    ),
    "squash-amended": Scenario(
        "squash merge that was reworked", _squash_amended, 0, None, ""
    ),
    "rebase": Scenario("rebase merge", _rebase, 0, 1, "patch-id"),
    "cherry-pick": Scenario(
        "cherry-pick, worked on since", _cherry_pick, 0, 1, "patch-id"
    ),
    "cherry-pick-of-another": Scenario(
        "only the commit after it was cherry-picked",
        _cherry_pick_of_another,
        0,
        None,
        "",
    ),
    "same-content": Scenario(
        "the same content in other commits", _same_content, 0, 1, "merge-tree"
    ),
    "revert": Scenario("reverted", _revert, 0, 0, "reverted"),
    "revert-of-merge": Scenario(
        "the merge was reverted", _revert_of_merge, 1, 0, "reverted"
    ),
    "revert-of-squash": Scenario(
        "the squash was reverted", _revert_of_squash, 0, 0, "reverted"
    ),
    "revert-of-revert": Scenario(
        "revert of a revert", _revert_of_revert, 0, 1, "ancestor"
    ),
    "not-a-revert": Scenario(
        'a later message says "not a revert of" it', _not_a_revert, 0, 1, "ancestor"
    ),
    "amended": Scenario("amended, then merged", _amended, 0, 1, "subject"),
    "force-pushed": Scenario("force-pushed away", _force_pushed, 0, None, ""),
    "deleted-branch": Scenario(
        "squash merge, branch deleted", _deleted_branch, 0, 1, "squash"
    ),
    "open-branch": Scenario(
        "on a branch that is still open", _open_branch, 0, None, ""
    ),
    "worktree": Scenario(
        "squash merge, asked from a linked work tree", _work_tree, 0, 1, "squash"
    ),
    "shallow": Scenario(
        "shallow clone, not in what it has of the trunk", _shallow_beside, 0, None, ""
    ),
    "shallow-trunk": Scenario(
        "shallow clone, on the trunk", _shallow_on_trunk, 1, 1, "ancestor"
    ),
    "submodule": Scenario("squash merge in a submodule", _submodule, 0, 1, "squash"),
    "renamed": Scenario("trunk renamed to main", _renamed, 0, 1, "ancestor"),
    "pushed-only": Scenario(
        "merged on the remote, local trunk behind", _pushed_only, 0, 1, "ancestor"
    ),
    "not-pushed": Scenario(
        "on the local main, not pushed yet", _not_pushed, 0, 1, "ancestor"
    ),
    "empty": Scenario("an empty commit off the trunk", _empty, 0, None, ""),
    "merge-beside": Scenario(
        "a merge commit off the trunk", _merge_beside, 0, None, ""
    ),
}


def table() -> str:
    """Return the scenarios as the table in the documentation, which a test compares."""
    rows = [
        "| what happened | `reference` | `attributed` | found by |",
        "|---|---|---|---|",
    ]
    for scenario in SCENARIOS.values():
        words = [
            "absent" if value is None else f"{value:g}"
            for value in (scenario.reference, scenario.observed)
        ]
        rows.append(
            f"| {scenario.title} | {words[0]} | {words[1]} | {scenario.method or '-'} |"
        )
    return "\n".join(rows) + "\n"
