"""Whether work has landed, as observed and as the reference reads it, for each way of landing."""

import os
import shutil
import stat
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from helpers.doors import watched_doors
from helpers.harness_lines import cases
from helpers.landings import (
    SCENARIOS,
    answers,
    clone,
    forked,
    pick,
    record,
    squash,
    started,
)
from helpers.repos import Repo
from msgspec.structs import replace

from scoring.evidence.git.authorship import AttributedHistory
from scoring.evidence.git.facts import Landing
from scoring.log.model import IterationRecord
from scoring.signals.landed import landed_value


def landing(repo: Repo | Path, *commits: str, asked: int = 1) -> Landing:
    """Return the answer about one of some iterations before any lines are counted."""
    records = [record(n, commit) for n, commit in enumerate(commits, 1)]
    history = AttributedHistory(repo if isinstance(repo, Path) else repo.path, records)
    return without_lines(history, records[asked - 1])


def without_lines(history: AttributedHistory, entry: IterationRecord) -> Landing:
    """Return what history and patches alone say of an iteration."""
    sha = history.resolve(entry.commit)
    if sha is None:
        return history.landing(entry)
    landings = history._landings
    if landings._graph.on_trunk(sha) or landings._trunk.shallow:
        return replace(landings.of(sha), field=entry.commit)
    return replace(landings._decided[sha], field=entry.commit)


def with_undone(repo: Repo, *commits: str) -> Landing:
    """Return the answer about the first of some iterations, with what undid it."""
    records = [record(n, commit) for n, commit in enumerate(commits, 1)]
    return AttributedHistory(repo.path, records).landing(records[0])


def files_of(path: Path) -> dict[str, bytes]:
    return {
        str(p.relative_to(path)): p.read_bytes() for p in path.rglob("*") if p.is_file()
    }


class TestScenarios:
    @pytest.mark.parametrize("name", SCENARIOS)
    def test_each_way_of_landing(self, name: str, tmp_path: Path) -> None:
        scenario = SCENARIOS[name]
        case = scenario.build(tmp_path)
        reference, observed = answers(case)
        assert landed_value(reference).present
        assert landed_value(reference).sub_score == scenario.reference
        assert (
            landed_value(observed).sub_score if landed_value(observed).present else None
        ) == scenario.observed, observed
        assert observed.method == scenario.method
        assert case.commits[case.asked - 1][:12] in landed_value(observed).detail


class TestAncestor:
    def test_says_which_merge_brought_it_in(self, tmp_path: Path) -> None:
        repo, one, _ = forked(tmp_path)
        merged = repo.merge("work")
        found = landing(repo, one)
        assert landed_value(found).detail == (
            f"commit {one[:12]} is an ancestor of master, merged in {merged[:12]}; "
            "whether it was reverted is not known"
        )

    def test_of_an_octopus(self, tmp_path: Path) -> None:
        repo, one, _ = forked(tmp_path)
        repo.branch("other", "master~1")
        other = repo.commit({"o.txt": "o"}, "other")
        repo.checkout("master")
        repo.git("merge", "-q", "--no-edit", "work", "other")
        octopus = repo.head()
        for sha in (one, other):
            assert (
                f"merged in {octopus[:12]}" in landed_value(landing(repo, sha)).detail
            )
        repo.git("revert", "--no-edit", "-m", "1", octopus)
        assert (
            with_undone(repo, one).method
            == with_undone(repo, other).method
            == "reverted"
        )

    def test_a_revert_of_an_inner_merge_counts(self, tmp_path: Path) -> None:
        """The branch was merged through another one, and the first of both merges was reverted."""
        repo, one, _ = forked(tmp_path)
        repo.branch("integration", "master~1")
        other = repo.commit({"o.txt": "o"}, "other")
        inner = repo.merge("work", "inner")
        repo.checkout("master")
        repo.merge("integration", "outer")
        repo.git("revert", "--no-edit", "-m", "1", inner)
        assert with_undone(repo, one).method == "reverted"
        assert landing(repo, other).method == "ancestor"


class TestPatchId:
    @pytest.mark.parametrize(
        ("ours", "theirs"),
        [
            pytest.param({"f": "one\n"}, {"f": "other\n"}, id="other-content"),
            pytest.param({"f": "one\n"}, {"g": "one\n"}, id="other-path"),
            pytest.param({"f": "one\n"}, {"f": "one\n", "g": "x\n"}, id="more-files"),
            pytest.param({"f": b"\0\1"}, {"f": b"\0\2"}, id="other-binary"),
            pytest.param({"a.txt": None}, {"b.txt": None}, id="other-deletion"),
        ],
    )
    def test_of_another_change_is_another(
        self,
        tmp_path: Path,
        ours: dict[str, str | bytes | None],
        theirs: dict[str, str | bytes | None],
    ) -> None:
        repo = started(tmp_path)
        repo.branch("work")
        sha = repo.commit(ours, "ours")
        repo.checkout("master")
        repo.commit(theirs, "theirs")
        assert landing(repo, sha).method in ("not-landed", "merge-tree")
        assert (landing(repo, sha).method == "merge-tree") == (
            "g" in theirs and theirs.get("f") == ours.get("f")
        )

    @cases(
        "files",
        {
            "binary": {"f": b"\0\1\2" * 100},
            "odd names": {
                "new\nline": "1\n",
                'quo"te': "2\n",
                "tab\t": "3\n",
                "caf\u00e9": "4\n",
            },
            "names like options": {
                "-x": "1\n",
                "--all": "2\n",
                ":(glob)*": "3\n",
                " lead": "4\n",
            },
            "no line end": {"empty": "", "no-end": "no line end"},
            "content like a patch": {
                "looks": "diff --git a/x b/x\n@@ -1 +1 @@\n" + "0" * 40 + "\n"
            },
            "deletion": {"a.txt": None, "b.txt": "b\nmoved\n"},
        },
    )
    def test_of_any_content_is_found(
        self, tmp_path: Path, files: dict[str, str | bytes | None]
    ) -> None:
        repo = started(tmp_path)
        repo.branch("work")
        sha = repo.commit(files, "work")
        repo.checkout("master")
        repo.commit({"elsewhere": "1"}, "elsewhere")
        landed = pick(repo, sha)
        repo.commit({"elsewhere": "2"}, "after")
        found = landing(repo, sha)
        assert found.method == "patch-id"
        assert landed[:12] in landed_value(found).detail

    @cases(
        "change",
        {
            "mode": lambda repo: (repo.path / "b.txt").chmod(0o755),
            "rename": lambda repo: repo.git("mv", "a.txt", "renamed.txt"),
            "name that is no text": lambda repo: (
                repo.path / os.fsdecode(b"\xff\xfe")
            ).write_text("x"),
        },
    )
    def test_of_more_than_content_is_found(
        self, tmp_path: Path, change: Callable[[Repo], object]
    ) -> None:
        repo = started(tmp_path)
        repo.branch("work")
        change(repo)
        repo.git("add", "-A")
        sha = repo.commit(message="work")
        repo.checkout("master")
        repo.commit({"elsewhere": "1"}, "elsewhere")
        assert landing(repo, sha).method == "not-landed"
        pick(repo, sha)
        assert landing(repo, sha).method == "patch-id"

    def test_landed_before_the_merge_base_does_not_count(self, tmp_path: Path) -> None:
        """What the branch contains already is not where its own commit landed."""
        repo = started(tmp_path)
        repo.branch("older")
        older = repo.commit(
            {"o": "1\n"}, "an older branch, for which the whole trunk is looked at"
        )
        repo.checkout("master")
        one = repo.commit({"f": "1\n"}, "first time")
        repo.revert(one)
        repo.branch("work")
        again = repo.commit({"f": "1\n"}, "again")
        repo.checkout("master")
        repo.commit({"b.txt": "2\n"}, "elsewhere")
        assert landing(repo, again).method == "not-landed"
        third = repo.git("commit-tree", "HEAD^{tree}", "-p", "HEAD", "-m", "nothing")
        records = [record(n, sha) for n, sha in enumerate((third, older, again), 1)]
        git = AttributedHistory(repo.path, records)
        methods = [without_lines(git, r).method for r in records]
        assert methods == ["", "not-landed", "not-landed"]

    def test_landed_again_after_a_revert_stands(self, tmp_path: Path) -> None:
        repo, one, _ = forked(tmp_path)
        first = pick(repo, one)
        repo.commit({"one.txt": None}, f"This reverts commit {first}, which was {one}.")
        assert with_undone(repo, one).method == "reverted"
        second = pick(repo, one)
        assert f"in {second[:12]} with" in landed_value(landing(repo, one)).detail


class TestSquash:
    def test_over_several_merge_bases_is_found_by_merging(self, tmp_path: Path) -> None:
        """Each side took the other in: both old tips are merge bases, but not the squash's."""
        repo = started(tmp_path)
        repo.branch("work")
        repo.commit({"w.txt": "w\n"}, "w")
        repo.checkout("master")
        repo.commit({"m.txt": "m\n"}, "m")
        repo.git("branch", "old", "work")
        repo.checkout("work")
        repo.merge("master", "cross")
        repo.checkout("master")
        repo.merge("old", "criss")
        repo.checkout("work")
        repo.commit({"x.txt": "x\n"}, "x")
        sha = repo.commit({"y.txt": "y\n"}, "y")
        repo.checkout("master")
        assert len(repo.git("merge-base", "--all", "master", sha).split()) == 2
        assert landing(repo, sha).method == "not-landed"
        squash(repo, "work")
        assert landing(repo, sha).method == "merge-tree"


class TestMergeTree:
    def test_conflicts_are_no_landing(self, tmp_path: Path) -> None:
        repo, one, _ = forked(tmp_path)
        repo.commit({"one.txt": "something else\n"}, "in the way")
        assert landing(repo, one).method == "not-landed"

    def test_a_side_that_changes_nothing_has_not_landed_for_that(
        self, tmp_path: Path
    ) -> None:
        """Work that was taken back on its own branch merges without a trace."""
        repo, one, _ = forked(tmp_path)
        repo.checkout("work")
        repo.git("reset", "-q", "--hard", one)
        undone = repo.commit({"one.txt": None}, "never mind")
        repo.checkout("master")
        for asked in (1, 2):
            assert landing(repo, one, undone, asked=asked).method == "not-landed"

    @pytest.mark.parametrize(
        ("version", "said"),
        [("2.37.4", "2.37 is older than 2.38"), ("2.38.1", ""), ("2.39.0", "")],
    )
    def test_with_older_versions(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, said: str
    ) -> None:
        """2.37 cannot merge without a work tree, and 2.38 only one pair per process."""
        case = SCENARIOS["same-content"].build(tmp_path)
        (tmp_path / "bin").mkdir()
        fake = tmp_path / "bin/git"
        fake.write_text(
            "#!/bin/sh\n"
            f'case "$*" in *" version") echo "git version {version}"; exit 0;; esac\n'
            + (
                'case "$*" in *merge-tree*--stdin*) exit 129;; esac\n'
                if "2.38" in version
                else ""
            )
            + f'exec {shutil.which("git")} "$@"\n'
        )
        fake.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
        found = landing(case.path, *case.commits, asked=2)
        assert found.method == ("not-landed" if said else "merge-tree")
        assert ("no merge tried: git " + said in landed_value(found).detail) == bool(
            said
        )

    def test_leaves_nothing_behind_and_runs_nothing(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Merging and comparing write no object and use no driver of the repository."""
        repo = started(tmp_path)
        base = (repo.path / "a.txt").read_text()
        repo.commit(
            {".gitattributes": "* merge=evil diff=evil filter=evil\n"}, "attributes"
        )
        repo.branch("work")
        sha = repo.commit({"a.txt": base.replace("line 3\n", "line three\n")}, "work")
        repo.checkout("master")
        repo.commit({"a.txt": base.replace("line 15\n", "line fifteen\n")}, "elsewhere")
        repo.commit({"a.txt": base.replace("line 3\n", "line three\n")}, "and back")
        for key in (
            "merge.evil.driver",
            "diff.evil.command",
            "diff.evil.textconv",
            "filter.evil.clean",
        ):
            repo.config(key, f"touch {tmp_path}/ran")
        temporary = tmp_path / "temporary"
        temporary.mkdir()
        monkeypatch.setenv("TMPDIR", str(temporary))
        monkeypatch.setattr("tempfile.tempdir", None)
        before = files_of(repo.path)
        found = landing(repo, sha)
        assert found.method == "merge-tree"
        assert files_of(repo.path) == before
        assert list(temporary.iterdir()) == []
        assert not (tmp_path / "ran").exists()

    def test_of_a_repository_that_cannot_be_written_to(self, tmp_path: Path) -> None:
        case = SCENARIOS["same-content"].build(tmp_path)
        folders = [case.path, *(p for p in case.path.rglob("*") if p.is_dir())]
        for folder in folders:
            folder.chmod(stat.S_IRUSR | stat.S_IXUSR)
        try:
            assert landing(case.path, *case.commits, asked=2).method == "merge-tree"
        finally:
            for folder in folders:
                folder.chmod(0o755)


class TestLaterAncestor:
    def test_names_the_iteration_or_the_branch(self, tmp_path: Path) -> None:
        repo, one, two = forked(tmp_path, reworked=True)
        landed = squash(repo, "work")
        assert (
            f"ancestor of branch work {two[:12]}"
            in landed_value(landing(repo, one)).detail
        )
        repo.git("branch", "-q", "-D", "work")
        assert landed_value(landing(repo, one, two)).detail == (
            f"commit {one[:12]} landed on master in {landed[:12]}: "
            "it is an ancestor of iteration 2's commit "
            f"{two[:12]}, found by squash; "
            "whether it was reverted is not known"
        )

    def test_an_earlier_iteration_does_not_speak_for_it(self, tmp_path: Path) -> None:
        repo, one, two = forked(tmp_path, reworked=True)
        squash(repo, "work")
        repo.git("branch", "-q", "-D", "work")
        assert landing(repo, two, one, asked=2).method == "not-landed"

    def test_the_tip_is_reverted_with_what_landed_it(self, tmp_path: Path) -> None:
        repo, _, two = forked(tmp_path, reworked=True)
        landed = squash(repo, "work")
        who = repo.revert(landed)
        found = with_undone(repo, two)
        assert found.method == "reverted"
        assert landed_value(found).detail.endswith(f"but reverted by {who[:12]}")

    @pytest.mark.parametrize("landed", [True, False])
    def test_goes_on_over_many_iterations(self, tmp_path: Path, landed: bool) -> None:
        looked_up = []
        for count in (20, 40):
            (tmp_path / f"{count}").mkdir()
            repo = started(tmp_path / f"{count}")
            repo.branch("work")
            commits = [
                repo.commit({"one.txt": f"line {n}\n"}, f"step {n}")
                for n in range(count)
            ]
            repo.checkout("master")
            repo.commit({"b.txt": "2\n"}, "elsewhere")
            if landed:
                squash(repo, "work")
            repo.git("branch", "-q", "-D", "work")
            git = AttributedHistory(
                repo.path, [record(n, sha) for n, sha in enumerate(commits, 1)]
            )
            git.graph.parents = parents = Looked(git.graph.parents)
            methods = [one.method for one in git._landings._decided.values()]
            assert Counter(methods) == (
                {"later-ancestor": count - 1, "squash": 1}
                if landed
                else {"not-landed": count}
            )
            assert [git._landings.of(sha).sha for sha in commits] == commits
            looked_up.append(parents.times)
        # to walk the side of each grows with the square
        assert looked_up[1] < 2.5 * looked_up[0]


@pytest.mark.parametrize("how", ["replaced", "grafted", "as it is"])
def test_what_stands_in_for_a_commit_lands_nothing(tmp_path: Path, how: str) -> None:
    repo = started(tmp_path)
    repo.branch("work")
    sha = repo.commit({"one.txt": "1\n"}, "work")
    repo.checkout("master")
    tip = repo.commit({"two.txt": "2\n"}, "trunk")
    if how == "replaced":
        repo.git("replace", "--graft", tip, f"{tip}~1", sha)
    elif how == "grafted":
        (repo.path / ".git/info").mkdir(exist_ok=True)
        (repo.path / ".git/info/grafts").write_text(
            f"{tip} {repo.head(f'{tip}~1')} {sha}\n"
        )
    assert (
        AttributedHistory(repo.path, [record(1, sha)]).landing(record(1, sha)).landed
        is False
    )


class Looked(dict[str, tuple[str, ...]]):
    """The parents of commits, and how many times they were looked up."""

    times = 0

    def __getitem__(self, sha: str) -> tuple[str, ...]:
        self.times += 1
        return super().__getitem__(sha)

    def get(self, sha: str, default: Any = None) -> Any:
        self.times += 1
        return super().get(sha, default)


class TestUnresolved:
    def test_the_summary_is_looked_for(self, tmp_path: Path) -> None:
        repo = started(tmp_path, "main")
        sha = repo.commit({"x": "1"}, "Add x")
        entry = record(1, "f" * 40, "add X")
        found = AttributedHistory(repo.path, [entry]).landing(entry)
        assert (found.method, landed_value(found).sub_score) == ("message", 1)
        assert landed_value(found).detail == (
            f"unresolved SHA ffffffffffff; "
            f"main has {sha[:12]} with the summary as its subject, not reverted"
        )
        who = repo.revert(sha)
        found = AttributedHistory(repo.path, [entry]).landing(entry)
        assert (found.method, landed_value(found).sub_score) == ("reverted", 0)
        assert who[:12] in landed_value(found).detail

    def test_without_a_match_is_absent(self, tmp_path: Path) -> None:
        repo = started(tmp_path)
        for field, detail in (
            ("", "no commit SHA on iteration entry"),
            ("f" * 40, "commit SHA ffffffffffff does not resolve and no message match"),
            (
                "--output=x",
                "commit SHA --output=x does not resolve and no message match",
            ),
        ):
            found = landing(repo, field)
            assert (
                landed_value(found).present,
                landed_value(found).detail,
                found.method,
            ) == (
                False,
                detail,
                "",
            )


class TestDamage:
    @pytest.mark.parametrize(
        ("lost", "why"),
        [
            ("{}~1", "cannot read the history of commit"),
            ("{}^{{tree}}", "cannot read changed files for"),
        ],
    )
    def test_a_commit_that_cannot_be_compared_is_absent_and_spoils_nothing(
        self, tmp_path: Path, lost: str, why: str
    ) -> None:
        repo, _, two = forked(tmp_path)
        squash(repo, "work")
        repo.branch("broken", "master~1")
        repo.commit({"deep/e": "1\n"}, "before")
        broken = repo.commit({"deep/f": "1\n"}, "broken")
        repo.checkout("master")
        repo.lose(lost.format(broken))
        found = landing(repo, broken, two)
        assert (landed_value(found).present, landed_value(found).detail) == (
            False,
            f"{why} {broken[:12]}",
        )
        assert landing(repo, broken, two, asked=2).method == "squash"


class TestCost:
    def test_processes_do_not_grow_with_the_log(self, tmp_path: Path) -> None:
        repo = started(tmp_path)
        beside = []
        for n in range(12):
            repo.branch(f"work-{n}")
            beside += [
                repo.commit({f"f{n}": "1\n"}, f"work {n}"),
                repo.commit({f"h{n}": "1\n"}, "again"),
            ]
            repo.checkout("master")
            # Taken in by patch or subject, not at all, in one commit, and together with other work.
            f, g, h = f"f{n}", f"g{n}", f"h{n}"
            one, two = [
                ({f: "2\n"}, {h: "1\n"}),
                ({g: "1\n"}, {h: "2\n"}),
                ({f: "1\n", h: "1\n"}, {g: "1\n"}),
                ({f: "1\n", g: "1\n"}, {h: "1\n", g: "2\n"}),
            ][n % 4]
            repo.commit(one, f"work {n}" if n % 4 == 0 else "other")
            repo.commit(two, "again" if n % 4 < 2 else "another")
        on_trunk = repo.git("rev-list", "master").split()

        methods = set()

        def processes(commits: list[str]) -> int:
            records = [record(n, sha) for n, sha in enumerate(commits, 1)]
            with watched_doors() as doors:
                git = AttributedHistory(repo.path, records)
                for r in records:
                    methods.add(git.landing(r).method)
                    git.committed(r.commit)
                    git.changed(r)
            return len(doors.commands)

        few, many = (
            processes([*on_trunk[:3], *beside[:8]]),
            processes([*on_trunk, *beside]),
        )
        assert many <= few
        assert methods == {"ancestor", "patch-id", "squash", "merge-tree", ""}
        assert processes(on_trunk) <= 10

    def test_a_commit_of_the_log_is_compared_once_with_the_trunk(
        self, tmp_path: Path
    ) -> None:
        repo = started(tmp_path)
        lines = "".join(f"line {n}\n" for n in range(20))
        words = lines.replace("line", "word")
        texts = lines.replace("line", "text")
        repo.commit({"work.txt": lines, "left.txt": lines}, "older")
        repo.branch("work")
        sha = repo.commit({"work.txt": words}, "say words")
        repo.branch("other", "master")
        other = repo.commit({"work.txt": texts}, "say texts")
        repo.branch("away", "master")
        away = repo.commit({"left.txt": words}, "left alone by the trunk")
        repo.checkout("master")
        repo.commit({"work.txt": f"first\n{lines}"}, "begin with the first")

        def merges(*shas: str) -> int:
            with watched_doors() as doors:
                history.landings(shas)
            return sum("merge-tree" in command for command in doors.commands)

        entry = record(1, sha)
        history = AttributedHistory(repo.path, [entry])
        assert not history.landing(entry).landed
        assert (merges(sha), merges(away), merges(sha, other)) == (0, 0, 1)
        alone = AttributedHistory(repo.path, [])
        assert alone.landings([sha, other]) == history.landings([sha, other])
        repo.commit({"work.txt": words}, "say words")
        later = AttributedHistory(repo.path, [entry], former=history)
        assert later.landing(entry).landed


class TestPartialClone:
    """The content of files is left on the remote until it is needed, and scoring never fetches."""

    @pytest.fixture
    def source(self, tmp_path: Path) -> Repo:
        repo, _, _ = forked(tmp_path)
        repo.config("uploadpack.allowFilter", "true")
        repo.config("uploadpack.allowAnySHA1InWant", "true")
        return repo

    def test_cannot_tell_where_what_it_must_compare_is_missing(
        self, source: Repo, tmp_path: Path
    ) -> None:
        two = source.head("work")
        squash(source, "work")
        source.commit({"two.txt": "2\nand more\n"}, "worked on since")
        partial = clone(
            source.path, tmp_path / "partial", "--filter=blob:none", "--no-checkout"
        )
        found = landing(partial, two)
        assert (landed_value(found).present, found.method) == (False, "")
        assert (
            landed_value(found).detail
            == f"cannot tell whether commit {two[:12]} landed on master: objects are missing"
        )


class TestWhatIsNotKnown:
    """Nothing says that work was not reverted where git cannot say what a commit changes."""

    UNKNOWN = "; whether it was reverted is not known"

    def test_of_the_oldest_commits_of_a_shallow_clone(self, tmp_path: Path) -> None:
        repo = started(tmp_path)
        sha = repo.commit({"a.py": "value = compute()\n" * 9}, "work")
        repo.git("revert", "--no-edit", sha)
        details = {}
        for depth in (2, 3):
            shallow = clone(repo.path, tmp_path / f"{depth}", f"--depth={depth}")
            details[depth] = landed_value(with_undone(shallow, sha)).detail
        assert details[2].endswith(self.UNKNOWN)
        assert "but reverted by" in details[3]

    def test_of_work_that_is_too_large_to_read(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        repo = started(tmp_path)
        names = [f"{number}.py" for number in range(9)]
        sha = repo.commit(dict.fromkeys(names, "value = compute()\n" * 9), "work")
        repo.git("revert", "--no-edit", sha)
        assert "but reverted by" in landed_value(with_undone(repo, sha)).detail

        monkeypatch.setattr("scoring.evidence.git.patches.MOST_CHANGES", 5)
        for cache in (None, tmp_path / "cache", tmp_path / "cache"):
            records = [record(1, sha)]
            history = AttributedHistory(repo.path, records, cache_dir=cache)
            detail = landed_value(history.landing(records[0])).detail
            assert detail.endswith(self.UNKNOWN)
