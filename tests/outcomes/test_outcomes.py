"""What became of work: made histories with known truth, and ``git blame -w`` to compare."""

import contextlib
import random
import re
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from helpers.repos import START, Files, Repo
from helpers.timing import seconds_of, too_slow

from scoring.log.model import IterationRecord
from scoring.outcomes.outcome import Outcome, log_outcomes
from scoring.outcomes.outcome_rules import OutcomeRules

DAY = 86_400
LATER = START + 100 * DAY


def lines(name: str, count: int, start: int = 0) -> str:
    return "".join(f"{name} = {n}\n" for n in range(start, start + count))


def outcome(
    repo: Repo, commit: str, rules: OutcomeRules | None = None, *, close: bool = True
) -> Outcome:
    """Return what became of one commit; the history goes on long enough for it to be known."""
    if close:
        repo.commit(message="much later", time=LATER)
    (found,) = log_outcomes(
        [IterationRecord(1, 1, commit=commit)], repo.path, rules, trunk="master"
    )
    return found


def numbers(found: Outcome) -> tuple[int | None, int | None, int | None, bool | None]:
    return found.lines_added, found.lines_changed, found.lines_fixed, found.defective


def fate(
    repo: Repo, work: Files, *later: tuple[Files, str]
) -> tuple[int | None, int | None, int | None, bool | None]:
    """Return the numbers of work after later commits, of which each has files and a subject."""
    sha = repo.commit(work)
    for files, subject in later:
        repo.commit(files, subject)
    return numbers(outcome(repo, sha))


@pytest.fixture
def started(repo: Repo) -> Repo:
    repo.commit({"a.py": lines("old", 5), "notes.md": "x\n"})
    return repo


class TestLines:
    def test_of_untouched_work_all_survive(self, started: Repo) -> None:
        work = started.commit({"b.py": lines("b", 10)})
        assert outcome(started, work) == Outcome(
            1, "known", work, 10, 0, 1.0, 0, False, None, False
        )

    def test_nothing_says_that_work_stayed_where_git_did_not_answer_all(
        self, started: Repo, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        work = started.commit({"b.py": lines("b", 10)})
        fixed = started.commit({"c.py": lines("c", 10)})
        started.commit({"c.py": lines("d", 10)}, "fix: c")
        monkeypatch.setattr(
            "scoring.evidence.git.limits.GitTime.left_uncompared",
            property(lambda _: True),
        )
        stayed = outcome(started, work)
        assert (stayed.reverted, stayed.defective) == (None, None)
        assert stayed.lines_changed == 0
        mended = outcome(started, fixed, close=False)
        assert (mended.defective, mended.lines_fixed) == (None, 10)

    def test_blank_ones_and_documents_are_left_out(self, started: Repo) -> None:
        work = started.commit(
            {"b.py": "a = 1\n\n   \nb = 2\n", "notes.md": "x\ny\n", "data.json": "{}\n"}
        )
        assert outcome(started, work).lines_added == 2
        assert (
            outcome(
                started, work, OutcomeRules(code_globs=("*.md",)), close=False
            ).lines_added
            == 1
        )

    def test_changed_and_removed_ones_are_counted_once(self, started: Repo) -> None:
        later = (
            {"b.py": f"{first}\n" + lines("b", 7, 1)}
            for first in ("changed", "changed again")
        )
        assert fate(
            started, {"b.py": lines("b", 10)}, *((files, "work") for files in later)
        ) == (
            10,
            3,
            0,
            False,
        )

    def test_an_indentation_is_no_change(self, started: Repo) -> None:
        indented = "if True:\n" + "".join(f"    b = {n}\n" for n in range(10))
        assert fate(
            started, {"b.py": lines("b", 10)}, ({"b.py": indented}, "fix: indent")
        ) == (
            10,
            0,
            0,
            False,
        )

    def test_the_lines_that_a_commit_only_indents_are_not_its_own(
        self, started: Repo
    ) -> None:
        assert (
            fate(
                started,
                {"a.py": "if True:\n" + "".join(f"    old = {n}\n" for n in range(5))},
            )[0]
            == 1
        )

    @pytest.mark.parametrize(
        "name",
        ["c.py", "sub/b.py", 'a "b"\t.py', "\u00e9 \u4e2d.py"],
        ids=["name", "folder", "odd", "text"],
    )
    def test_a_rename_is_followed(self, started: Repo, name: str) -> None:
        later = (
            ({"b.py": None, name: lines("b", 10)}, "move"),
            ({name: lines("b", 8)}, "fix: less"),
        )
        assert fate(started, {"b.py": lines("b", 10)}, *later) == (10, 2, 2, True)

    def test_a_file_that_goes_takes_its_lines_along(self, started: Repo) -> None:
        work = {"b.py": lines("b", 10), "c.py": lines("c", 2)}
        assert fate(started, work, ({"b.py": None}, "work")) == (12, 10, 0, False)

    def test_a_block_that_moves_is_changed_and_the_rest_is_not(
        self, started: Repo
    ) -> None:
        x, y = lines("x", 3), lines("y", 10)
        assert fate(started, {"b.py": x + y}, ({"b.py": y + x}, "move a block")) == (
            13,
            3,
            0,
            False,
        )

    def test_what_is_changed_after_the_horizon_survives(self, started: Repo) -> None:
        work = started.commit({"b.py": lines("b", 10)}, time=START + DAY)
        started.commit({"b.py": lines("b", 5)}, "fix", START + 16 * DAY)
        assert numbers(outcome(started, work)) == (10, 0, 0, False)
        assert numbers(outcome(started, work, OutcomeRules(15), close=False)) == (
            10,
            5,
            5,
            True,
        )


class TestFixes:
    @pytest.mark.parametrize(
        ("subject", "fixed"),
        [
            *(
                (subject, 1)
                for subject in (
                    "fix: it",
                    "Fixes #3",
                    "a Bugfix",
                    "was broken",
                    'Revert "x"',
                    "crash (#2)",
                )
            ),
            *(
                (subject, 0)
                for subject in (
                    "prefix",
                    "suffixes",
                    "debug",
                    "feature",
                    "fixture",
                    "x\n\nfix",
                )
            ),
        ],
    )
    def test_are_known_by_a_whole_word_of_their_subject(
        self, started: Repo, subject: str, fixed: int
    ) -> None:
        later = {"b.py": "fixed\n" + lines("b", 39, 1)}
        assert fate(started, {"b.py": lines("b", 40)}, (later, subject)) == (
            40,
            1,
            fixed,
            False,
        )

    @pytest.mark.parametrize(
        ("count", "defective"), [(20, True), (21, False)], ids=["5 %", "less"]
    )
    def test_five_percent_are_defective(
        self, started: Repo, count: int, defective: bool
    ) -> None:
        later = {"b.py": "fixed\n" + lines("b", count - 1, 1)}
        assert fate(started, {"b.py": lines("b", count)}, (later, "fix")) == (
            count,
            1,
            1,
            defective,
        )

    def test_the_words_are_a_setting(self, started: Repo) -> None:
        work = started.commit({"b.py": lines("b", 10)})
        started.commit({"b.py": lines("b", 5)}, "repair it")
        assert (
            outcome(started, work, OutcomeRules(fix_words=("repair",))).lines_fixed == 5
        )

    def test_are_named_those_that_changed_most_first(self, started: Repo) -> None:
        work = started.commit({"b.py": lines("b", 10)})
        small = started.commit({"b.py": lines("b", 9)}, "fix the end")
        large = started.commit({"b.py": lines("b", 5)}, "fix the middle")
        started.commit({"b.py": lines("b", 4)}, "tidy up")
        found = outcome(started, work)
        assert (found.lines_fixed, found.fixed_in) == (5, (large, small))

    def test_the_last_one_to_touch_a_line_counts_when_an_earlier_did_not_take_it(
        self, started: Repo
    ) -> None:
        z = lines("z", 3)
        later = (
            ({"b.py": z + lines("b", 10)}, "fix: before it"),
            ({"b.py": z + lines("b", 9, 1)}, "feature"),
        )
        assert fate(started, {"b.py": lines("b", 10)}, *later) == (10, 1, 0, False)


class TestReverts:
    def test_are_found_with_what_reverted(self, started: Repo) -> None:
        work = started.commit({"b.py": lines("b", 10)})
        by = started.revert(work)
        found = outcome(started, work)
        assert (found.reverted, found.reverted_by, found.survival, found.defective) == (
            True,
            by,
            0.0,
            True,
        )

    @pytest.mark.parametrize(
        ("reverts", "by"),
        [
            pytest.param([2, 3], None, id="a revert of a revert leaves the work in"),
            pytest.param([2, 40], 0, id="one after the horizon is too late"),
            pytest.param([16], None, id="and so is the first"),
        ],
    )
    def test_count_within_the_horizon(
        self, started: Repo, reverts: list[int], by: int | None
    ) -> None:
        work = started.commit({"b.py": lines("b", 10)}, time=START + DAY)
        made = [work]
        for day in reverts:
            made.append(started.revert(made[-1], START + day * DAY))
        found = outcome(started, work)
        reverted_by = None if by is None else made[1:][by]
        assert (found.reverted, found.reverted_by) == (by is not None, reverted_by)
        assert (found.lines_fixed, found.defective) == (
            (0, False) if by is None else (10, True)
        )

    def test_of_the_merge_that_brought_it_counts(self, started: Repo) -> None:
        started.branch("side")
        work = started.commit({"b.py": lines("b", 10)})
        started.checkout("master")
        merge = started.merge("side")
        started.git("revert", "--no-edit", "-m", "1", merge, time=started.clock + 60)
        assert outcome(started, work).reverted_by == started.head("HEAD~1")


class TestMerges:
    def test_a_branch_that_is_not_merged_within_the_horizon_changes_nothing(
        self, started: Repo
    ) -> None:
        work = started.commit({"b.py": lines("b", 10)}, time=START + DAY)
        started.branch("side")
        started.commit({"b.py": lines("b", 5)}, "fix", START + 2 * DAY)
        started.checkout("master")
        started.commit({"c.py": "c\n"}, time=START + 30 * DAY)
        started.merge("side", time=START + 40 * DAY)
        assert numbers(outcome(started, work)) == (10, 0, 0, False)

    def test_work_of_a_branch_lands_with_its_merge(self, started: Repo) -> None:
        started.branch("side")
        work = started.commit({"b.py": lines("b", 10)}, time=START + DAY)
        started.checkout("master")
        started.merge("side", time=START + 10 * DAY)
        started.commit({"b.py": lines("b", 5)}, "fix", START + 20 * DAY)
        assert numbers(outcome(started, work)) == (10, 5, 5, True)

    def test_a_fix_of_the_same_merge_counts(self, started: Repo) -> None:
        started.branch("side")
        work = started.commit({"b.py": lines("b", 10)}, time=START + DAY)
        started.commit({"b.py": lines("b", 5)}, "fix", START + 2 * DAY)
        started.checkout("master")
        started.merge("side", time=START + 3 * DAY)
        started.commit({"c.py": "c\n"}, time=START + 30 * DAY)
        assert numbers(outcome(started, work)) == (10, 5, 5, True)

    def test_an_iteration_that_is_a_merge_is_what_it_brought(
        self, started: Repo
    ) -> None:
        started.branch("side")
        started.commit({"b.py": lines("b", 10)})
        started.commit({"b.py": lines("b", 8), "d.py": lines("d", 4)})
        started.checkout("master")
        started.commit({"c.py": lines("c", 30)})
        work = started.merge("side", files={"e.py": "merged = 1\n"})
        started.commit({"d.py": None}, "fix")
        assert numbers(outcome(started, work)) == (13, 4, 4, True)


class TestStatus:
    def test_is_too_young_until_the_horizon_is_over(self, started: Repo) -> None:
        work = started.commit({"b.py": lines("b", 10)}, time=START + DAY)
        started.commit(message="tip", time=START + 15 * DAY - 1)
        assert outcome(started, work, close=False) == Outcome(1, "too_young", work)
        started.commit(message="tip", time=START + 15 * DAY)
        assert outcome(started, work, close=False).status == "known"

    def test_is_not_landed_off_the_trunk_or_without_a_commit(
        self, started: Repo
    ) -> None:
        started.branch("side")
        work = started.commit({"b.py": lines("b", 10)})
        started.checkout("master")
        started.commit(message="tip", time=LATER)
        assert outcome(started, work, close=False) == Outcome(1, "not_landed")
        assert outcome(started, "", close=False) == Outcome(1, "not_landed")
        assert outcome(started, "0" * 40, close=False) == Outcome(1, "not_landed")

    def test_of_squashed_work_is_that_of_what_landed(self, started: Repo) -> None:
        started.branch("side")
        work = started.commit({"b.py": lines("b", 10)})
        started.checkout("master")
        started.commit({"c.py": "c\n"})
        started.git("merge", "-q", "--squash", "side")
        squash = started.commit(message="all of it")
        started.commit({"b.py": lines("b", 9)}, "fix")
        found = outcome(started, work)
        assert (found.commit, found.lines_added, found.lines_fixed) == (squash, 10, 1)


class TestCache:
    def test_an_answer_stays_when_the_trunk_goes_on(
        self, started: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        work = started.commit({"b.py": lines("b", 10)}, time=START + DAY)
        started.commit({"b.py": lines("b", 9)}, "fix", START + 2 * DAY)
        started.commit(message="tip", time=LATER)
        records = [IterationRecord(1, 1, commit=work)]
        cold = log_outcomes(records, started.path, cache_dir=tmp_path / "cache")
        started.commit({"b.py": lines("b", 1)}, "fix more", LATER + DAY)
        monkeypatch.setattr("scoring.evidence.git.trunk_work.fates", None)
        assert log_outcomes(records, started.path, cache_dir=tmp_path / "cache") == cold
        with pytest.raises(TypeError):
            log_outcomes(
                records,
                started.path,
                OutcomeRules(fix_words=("x",)),
                tmp_path / "cache",
            )


Line = tuple[str, bytes, bytes]
"""A line of code as its commit knows it: the commit, the file and the number there."""


def blamed(repo: Repo, at: str, code: str = r"\.py$") -> set[Line]:
    """Return which lines of code, without blank ones, plain git blame gives to which commits.

    A line that a split left in two files is one line.
    """
    found: set[Line] = set()
    for path in repo.git("ls-tree", "-r", "-z", "--name-only", at).split("\0"):
        if re.search(code, path):
            sha = number = name = b""
            for line in repo.git_bytes(
                "blame", "-w", "--line-porcelain", at, "--", path
            ).splitlines():
                if re.match(rb"[0-9a-f]{40} ", line):
                    sha, number = line.split()[:2]
                elif line.startswith(b"filename "):
                    name = line
                elif line.startswith(b"\t") and line.strip():
                    found.add((sha.decode(), name, number))
    return found


def count(lines: set[Line], sha: str) -> int:
    return sum(line[0] == sha for line in lines)


@contextlib.contextmanager
def or_not_at_all(repo: Repo) -> Iterator[None]:
    """Leave out what git gives up, as what it is about has changed since."""
    try:
        yield
    except AssertionError:
        repo.reset("HEAD")


def grown(repo: Repo, chance: random.Random, steps: int) -> list[str]:
    """Make a history of edits, moves, splits, indentation, branches and merges."""
    repo.commit({f"f{n}.py": lines(f"f{n}", 12) for n in range(4)})
    commits: list[str] = []
    for step in range(steps):
        if step % 5 == 0:
            repo.checkout("master")
            with or_not_at_all(repo):
                repo.merge("side")
            repo.git("branch", "-q", "-f", "side")
        repo.checkout(chance.choice(("master", "master", "side")))
        files = sorted(path.name for path in repo.path.glob("*.py"))
        name = chance.choice(files)
        text = (repo.path / name).read_text().splitlines(keepends=True)
        at = chance.randrange(len(text) + 1)
        fresh = "".join(
            f"s{step} = {n}\n" * chance.choice((1, 1, 2)) + chance.choice(("", "\n"))
            for n in range(chance.randrange(1, 9))
        )
        match chance.randrange(11):
            case 0:
                change: dict[str, str | None] = {
                    name: None,
                    f"m{step}.py": "".join(text),
                }
            case 9 | 10 if commits:
                with or_not_at_all(repo):
                    commits.append(repo.revert(chance.choice(commits[-3:])))
                continue
            case 8:
                change = {
                    name: None,
                    f"r{step}.py": "".join([*text[:at], fresh, *text[at + 1 :]]),
                }
            case 1:
                change = {
                    name: "".join(
                        "  " + line if n > at else line for n, line in enumerate(text)
                    )
                }
            case 2:
                change = {name: "".join(text[at:] + text[:at])}
            case 3:
                change = {
                    name: None,
                    f"p{step}.py": "".join(text[: at + 6]),
                    f"q{step}.py": "".join(text[at:]),
                }
            case 4:
                change = {f"n{step}.py": fresh}
            case 5:
                change = {name: "".join(text[:at] + text[at + 3 :]) or "x\n"}
            case _:
                change = {
                    name: "".join(
                        [*text[:at], fresh, *text[at + chance.randrange(3) :]]
                    )
                }
        commits.append(
            repo.commit(change, chance.choice(("fix it", "work", "more")) + str(step))
        )
    repo.checkout("master")
    repo.commit(message="the end", time=repo.clock + 30 * DAY)
    return [sha for sha in commits if repo.git("merge-base", sha, "master") == sha]


def taken_back(repo: Repo, commits: Sequence[str]) -> dict[str, str]:
    """Return which commits were taken back, and by which revert that was not itself reverted."""
    says = {
        sha: re.search(
            r"This reverts commit ([0-9a-f]{40})",
            repo.git("log", "-1", "--format=%B", sha),
        )
        for sha in commits
    }
    live: dict[str, str] = {}
    for sha in reversed(commits):  # whatever reverts a commit is newer
        if (said := says[sha]) and sha not in live:
            live.setdefault(said[1], sha)
    return live


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", range(1, 16))
def test_plain_blame_says_the_same(repo: Repo, seed: int) -> None:
    """Plain blame says which lines of every commit are left, and who took the others."""
    commits = grown(repo, random.Random(seed), 25)
    records = [IterationRecord(1, n, commit=sha) for n, sha in enumerate(commits, 1)]
    found = log_outcomes(records, repo.path, OutcomeRules(20))
    history = repo.git(
        "rev-list", "--reverse", "--topo-order", "--parents", "master"
    ).splitlines()
    parents = {line.split()[0]: line.split()[1:] for line in history}
    held = {sha: blamed(repo, sha) for sha in parents}
    back = taken_back(repo, [sha for sha in parents if sha != repo.head("master")])
    subjects = {sha: repo.git("log", "-1", "--format=%s", sha) for sha in parents}
    takers: dict[Line, set[str]] = {}
    for sha, of in parents.items():
        for line in held[of[0]] - held[sha] if len(of) == 1 else ():
            takers.setdefault(line, set()).add(sha)
    fixes = {
        sha
        for sha, subject in subjects.items()
        if re.match("fix|Revert", subject) and sha not in back
    }
    for sha, one in zip(commits, found, strict=True):
        gone = {
            line for line in held[sha] - held[repo.head("master")] if line[0] == sha
        }
        fixed = sum(not fixes.isdisjoint(takers.get(line, ())) for line in gone)
        assert one.status == "known"
        assert (one.lines_added, one.lines_changed) == (
            count(held[sha], sha),
            len(gone),
        ), sha
        assert (one.lines_fixed, one.reverted) == (fixed, sha in back), sha
        assert one.defective == (
            sha in back or bool(one.lines_added and fixed >= 0.05 * one.lines_added)
        ), sha


REAL = Path(__file__).parents[3] / "shared" / "real" / "entire-cli.bundle"


@pytest.mark.slow
@pytest.mark.skipif(not REAL.exists(), reason="the real repository is not here")
def test_a_real_repository_is_as_plain_blame_has_it_and_in_time(tmp_path: Path) -> None:
    subprocess.run(["git", "clone", "-q", REAL, tmp_path / "real"], check=True)
    repo = Repo.at(tmp_path / "real")
    commits = repo.git("rev-list", "--no-merges", "--reverse", "HEAD").split()
    records = [IterationRecord(1, n, commit=sha) for n, sha in enumerate(commits, 1)]
    found: list[Outcome] = []

    def look() -> None:
        found[:] = log_outcomes(records, repo.path, cache_dir=tmp_path / "cache")

    cold, first = seconds_of(look), found.copy()
    assert not too_slow(lambda: seconds_of(look), lambda: cold, times=0.2)
    assert found == first
    tip = int(repo.git("log", "-1", "--format=%ct"))
    known = [one for one in found if one.status == "known" and one.lines_added]
    for one in random.Random(1).sample(known, 3):
        holding = {
            one.commit,
            *repo.git("rev-list", "--ancestry-path", f"{one.commit}..HEAD").split(),
        }
        brought = [
            sha
            for sha in repo.git("rev-list", "--first-parent", "HEAD").split()
            if sha in holding
        ][-1]
        landed = int(repo.git("log", "-1", "--format=%ct", brought))
        assert landed + 14 * DAY <= tip
        until = repo.git(
            "log",
            "-1",
            "--first-parent",
            f"--before={landed + 14 * DAY}",
            "--format=%H",
        )
        left = blamed(repo, until, r"\.go$")
        added = blamed(repo, one.commit or "", r"\.go$")
        record = IterationRecord(1, 1, commit=one.commit or "")
        (code,) = log_outcomes([record], repo.path, OutcomeRules(code_globs=("**.go",)))
        assert code.lines_added == count(added, record.commit)
        assert count(added, one.commit or "") - (code.lines_changed or 0) == count(
            left, one.commit or ""
        )
