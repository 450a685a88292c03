"""What an iteration changed, and how much of it is in its scope, as observed."""

from pathlib import Path

import pytest
from helpers.doors import ends
from helpers.facts import facts_of
from helpers.landings import clone, record, started
from helpers.repos import Repo

from scoring.evidence.git.authorship import AttributedHistory
from scoring.evidence.git.facts import Changed
from scoring.evidence.scopes import DeclaredScope, path_scope
from scoring.signals.scope import Scope, scope_value
from scoring.signals.values import SignalValue


def history(repo: Repo, *commits: str) -> AttributedHistory:
    return AttributedHistory(
        repo.path, [record(n, sha) for n, sha in enumerate(commits, 1)]
    )


def changed(repo: Repo, *commits: str) -> Changed:
    """Return what the last of some iterations changed."""
    return history(repo, *commits).changed(record(len(commits), commits[-1]))


def files(repo: Repo, *commits: str) -> list[str]:
    """Return the files that the last of some iterations changed."""
    found = changed(repo, *commits)
    assert found.unknown is None, found
    return sorted(found.files)


def scope(
    repo: Repo, *commits: str, entries: tuple[str, ...] = ("src/",)
) -> SignalValue:
    return scope_value(changed(repo, *commits), entries, "t")


class TestOneCommit:
    def test_is_compared_with_its_parent(self, tmp_path: Path) -> None:
        repo = started(tmp_path)
        sha = repo.commit({"src/a": "1", "b.txt": "2"})
        assert scope(repo, sha) == SignalValue(
            True,
            0.5,
            f'1/2 changed files of commit {sha[:12]} within declared write_scope of task "t"',
        )

    def test_odd_names_also_of_a_first_commit_are_as_they_are(self, repo: Repo) -> None:
        names = [
            "caf\u00e9",
            "new\nline",
            'quo"te',
            "tab\tx",
            "back\\slash",
            "-x",
            " lead",
            "src/\u5e79",
        ]
        sha = repo.commit(dict.fromkeys(names, "1"))
        assert files(repo, sha) == sorted(names)
        assert (
            scope(
                repo, sha, entries=("caf\u00e9", "new\nline", 'quo"te', "src/")
            ).sub_score
            == 0.5
        )

    def test_a_renamed_file_counts_by_its_new_name_and_a_deleted_one_counts(
        self, tmp_path: Path
    ) -> None:
        repo = started(tmp_path)
        (repo.path / "src").mkdir()
        repo.git("mv", "a.txt", "src/a.txt")
        sha = repo.commit(message="rename")
        assert files(repo, sha) == ["src/a.txt"]
        assert scope(repo, sha).sub_score == 1
        assert files(repo, repo.commit({"src/a.txt": None})) == ["src/a.txt"]

    def test_a_renamed_file_counts_where_its_content_is_elsewhere(
        self, tmp_path: Path
    ) -> None:
        source = started(tmp_path)
        source.config("uploadpack.allowFilter", "true")
        source.commit({"src/a.txt": "1\n2\n3\n", "src/b.txt": "1\n"})
        source.git("mv", "src/a.txt", "src/c.txt")
        sha = source.commit({"src/c.txt": "1\n2\n3\n4\n"}, "rename and edit")
        partial = clone(
            source.path, tmp_path / "partial", "--filter=blob:none", "--no-checkout"
        )
        assert files(partial, sha) == ["src/a.txt", "src/c.txt"]

    def test_a_merge_is_compared_with_its_first_parent(self, tmp_path: Path) -> None:
        repo = started(tmp_path)
        repo.branch("work")
        repo.commit({"src/w": "1", "other": "1"})
        repo.checkout("master")
        repo.commit({"m": "1"})
        sha = repo.merge("work")
        assert files(repo, sha) == ["other", "src/w"]
        assert scope(repo, sha).detail == (
            f"1/2 changed files of merge {sha[:12]} against its first parent"
            ' within declared write_scope of task "t"'
        )


class TestRange:
    def test_is_the_net_change_since_the_iteration_before(self, tmp_path: Path) -> None:
        repo = started(tmp_path)
        one = repo.commit({"src/one": "1"})
        repo.commit({"src/two": "2", "back": "1"})
        repo.commit({"back": None, "src/three": "3"})
        two = repo.commit({"src/four": "4", "four": "4"})
        assert files(repo, one, two) == ["four", "src/four", "src/three", "src/two"]
        assert scope(repo, one, two).detail == (
            f"3/4 changed files of {one[:12]}..{two[:12]} (since iteration 1)"
            ' within declared write_scope of task "t"'
        )

    def test_starts_at_the_nearest_iteration_that_it_contains(
        self, tmp_path: Path
    ) -> None:
        repo = started(tmp_path)
        one = repo.commit({"one": "1"})
        two = repo.commit({"two": "1"})
        repo.branch("side", one)
        beside = repo.commit({"side": "1"})
        repo.checkout("master")
        three = repo.commit({"three": "1"})
        assert files(repo, one, two, beside, three) == ["three"]
        assert files(repo, one, beside, three) == ["three", "two"]

    def test_of_a_commit_named_twice_is_the_same_for_both_and_no_later_iteration_bounds_it(
        self, tmp_path: Path
    ) -> None:
        repo = started(tmp_path)
        one = repo.commit({"one": "1"})
        two = repo.commit({"two": "1"})
        assert files(repo, one, two) == files(repo, one, two, two) == ["two"]
        assert history(repo, two, one).changed(record(1, two)).files == ("two",)

    def test_of_a_commit_named_again_is_not_a_beginning(self, tmp_path: Path) -> None:
        repo = started(tmp_path)
        one, two, three = (repo.commit({name: "1"}) for name in "bcd")
        records = [record(n, sha) for n, sha in enumerate((one, two, one, three), 1)]
        found = AttributedHistory(repo.path, records).changed(records[-1])
        assert (found.since, len(found.files)) == (2, 1)


class TestWhatTheTrunkChanged:
    @pytest.fixture
    def begun(self, tmp_path: Path) -> tuple[Repo, str]:
        """A branch with one iteration on it, while the trunk moves on."""
        repo = started(tmp_path)
        repo.branch("work")
        one = repo.commit({"src/one": "1"}, "one")
        repo.checkout("master")
        repo.commit({"theirs": "1", "both": "theirs\n"}, "theirs")
        repo.checkout("work")
        return repo, one

    def test_is_left_out_when_it_was_merged_in(self, begun: tuple[Repo, str]) -> None:
        repo, one = begun
        repo.merge("master", "update")
        two = repo.commit({"src/two": "2"}, "two")
        assert files(repo, one, two) == ["src/two"]
        assert (
            "(since iteration 1, without the trunk's)" in scope(repo, one, two).detail
        )
        repo.checkout("master")
        repo.merge("work", "landed")
        repo.commit({"later": "1"}, "later")
        assert files(repo, one, two) == ["src/two"]

    def test_counts_where_the_iteration_changed_it_too(
        self, begun: tuple[Repo, str]
    ) -> None:
        repo, one = begun
        repo.merge("master", "update")
        two = repo.commit({"both": "ours\n"}, "two")
        assert files(repo, one, two) == ["both"]

    def test_other_branches_that_were_merged_in_count(
        self, begun: tuple[Repo, str]
    ) -> None:
        repo, one = begun
        repo.branch("helper", one)
        repo.commit({"helped": "1"}, "helper")
        repo.checkout("work")
        repo.commit({"mine": "1"}, "mine")
        repo.merge("helper", "join")
        repo.merge("master", "update")
        two = repo.commit({"src/two": "2"}, "two")
        assert files(repo, one, two) == ["helped", "mine", "src/two"]

    def test_of_a_new_branch_from_the_trunk_is_left_out(
        self, begun: tuple[Repo, str]
    ) -> None:
        """The first iteration landed, others worked on, and the second one started from there."""
        repo, one = begun
        repo.checkout("master")
        repo.merge("work", "landed")
        repo.commit({"more": "1"}, "more of theirs")
        repo.branch("next")
        repo.commit({"src/two": "2", "more": "tried"}, "two")
        two = repo.commit(
            {"src/three": "3", "more": "1"}, "three, and what was tried is taken back"
        )
        assert files(repo, one, two) == ["src/three", "src/two"]

    def test_before_the_merge_that_landed_it_is_left_out(
        self, begun: tuple[Repo, str]
    ) -> None:
        """The second iteration is the merge into the trunk, with what the trunk had already."""
        repo, one = begun
        repo.commit({"src/two": "2"}, "two")
        repo.checkout("master")
        merged = repo.merge("work", "landed")
        assert files(repo, one, merged) == ["src/two"]

    @pytest.mark.parametrize("trunk", ["master", "feature"])
    def test_on_the_trunk_itself_or_without_one_is_the_iterations_own(
        self, tmp_path: Path, trunk: str
    ) -> None:
        repo = started(tmp_path, trunk)
        one = repo.commit({"one": "1"})
        repo.commit({"between": "1"})
        two = repo.commit({"two": "1"})
        assert files(repo, one, two) == ["between", "two"]


class TestAbsent:
    def test_as_in_the_reference(self, tmp_path: Path) -> None:
        repo = started(tmp_path)
        sha = repo.commit({"x": "1"})
        assert scope(repo, sha, "").detail == "no commit SHA on iteration entry"
        assert (
            scope(repo, sha, "f" * 40).detail
            == "commit SHA ffffffffffff does not resolve"
        )
        assert (
            scope(repo, sha, entries=()).detail
            == 'no write_scope declared for task "t"'
        )
        assert not scope(repo, sha, entries=()).present

    def test_where_a_shallow_history_begins(self, tmp_path: Path) -> None:
        """Git would call every file of that commit new."""
        repo = started(tmp_path)
        one = repo.commit({"x": "1"})
        two = repo.commit({"src/x": "1"})
        shallow = clone(repo.path, tmp_path / "shallow", "--depth=2")
        assert scope(shallow, one) == SignalValue(
            False, 0.0, f"history is shallow: it begins with commit {one[:12]}"
        )
        assert scope(shallow, one, two).sub_score == 1

    def test_when_an_object_is_missing(self, tmp_path: Path) -> None:
        repo = started(tmp_path)
        one = repo.commit({"x": "1"})
        two = repo.commit({"deep/y": "1"})
        three = repo.commit({"deep/z": "1"})
        repo.lose(f"{two}^{{tree}}")
        assert (
            scope(repo, one, two).detail == f"cannot read changed files for {two[:12]}"
        )
        assert not scope(repo, one, two, three).present
        assert scope(repo, one).present


INSIDE = """
src/ src/a
src/ src/a/b
src/a.py src/a.py
./src//a.py src/a.py
src/*.py src/a.py
src/* src/.hidden
src/*.py src/.py
*.md README.md
* README.md
** a/b/c
**/*.py a.py
**/*.py a/b/c.py
src/** src/a
src/** src/a/b
src/**/api.py src/api.py
src/**/api.py src/a/b/api.py
src/**/a/**/b src/a/b
src/**/a/**/b src/x/a/y/z/b
src/**.py src/a/b.py
a**z a/b/c/z
a**z az
packages/*/ packages/one/deep/file
packages/*/src/ packages/one/src/a/b
**/tests/ tests/a
**/tests/ a/tests/b/c
app/[id]/page.tsx app/[id]/page.tsx
app/[id]/* app/[id]/page.tsx
what?* what?now
a*b*c aXbYbZc
*/*/c a/b/c
\u00e9* \u00e9t\u00e9
*** a/b
"""
OUTSIDE = """
src src/a
src/ src
src/ srcs/a
src/*.py src/a/b.py
src/* src/a/b
* a/b
*.py a.pyc
src/** src
src/** srcs/a
src/**/api.py src/xapi.py
src/**/api.py srcapi.py
src/**/api.py src/a/api.py/b
**/b ab
**/b a/ab
packages/*/ packages/file
packages/*/ packages/
app/[id]/page.tsx app/i/page.tsx
what? whata
a*c ab
a/*/c a/c
a/*/c a/b/b/c
./ a
/ a
/** a
/* a
../* a
SRC/* src/a
"""
"""Entries of a scope, each with a path that is inside or outside of it."""


def pairs(text: str) -> list[list[str]]:
    return [line.split(" ") for line in text.strip().splitlines()]


class TestGlobs:
    @pytest.mark.parametrize(
        ("entry", "path"),
        [*pairs(INSIDE), ("new*line", "new\nline"), (" src/*.py ", "src/a.py")],
    )
    def test_inside(self, entry: str, path: str) -> None:
        assert path in path_scope("attributed", (entry,))

    @pytest.mark.parametrize(
        ("entry", "path"), [*pairs(OUTSIDE), ("", "a"), (" ", "a")]
    )
    def test_outside(self, entry: str, path: str) -> None:
        assert path not in path_scope("attributed", (entry,))

    def test_any_of_several(self) -> None:
        scope = path_scope("attributed", ("docs/", "src/*.py", "README.md"))
        assert [
            path in scope for path in ("docs/a", "src/a.py", "README.md", "src/a/b.py")
        ] == [True] * 3 + [False]

    @pytest.mark.parametrize(
        "entry",
        ["*a" * 200, "**a" * 100, "**/" * 50_000 + "b", "*" * 50_000, "**/a/" * 100],
    )
    def test_no_entry_takes_long(self, entry: str) -> None:
        ends(
            lambda: [
                path in path_scope("attributed", (entry,))
                for path in ("a" * 1000, "a/" * 500 + "x")
            ],
            10,
        )


@pytest.mark.parametrize(("patterns", "measured"), [(50, True), (100, False)])
def test_a_large_commit_is_compared_with_as_many_patterns_as_take_seconds(
    patterns: int, measured: bool
) -> None:
    names = tuple(f"src/a{number}.js" for number in range(6_001))
    large = Changed("attributed", "a" * 40, "a" * 40, names)
    entries = tuple(f"**/*.{number}.js" for number in range(patterns))
    assert scope_value(large, entries, "t").present is measured

    task = DeclaredScope(entries, Path("TASKS.yaml"))
    facts = facts_of(record(1, "a" * 40), changed=large, scope=task)
    if not measured:
        assert Scope().advice(False, facts) == "declare fewer patterns, or folders"


def test_patterns_that_begin_otherwise_cost_little() -> None:
    names = tuple(f"src/a{number}.js" for number in range(6_001))
    large = Changed("attributed", "a" * 40, "a" * 40, names)
    entries = tuple(f"docs/{number}/*.md" for number in range(200))
    assert scope_value(large, (*entries, "src/*.js"), "t").sub_score == 1
