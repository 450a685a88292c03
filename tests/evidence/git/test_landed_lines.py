"""Whether work has landed by its lines, as observed: each way with a twin that does not fire."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest
from helpers.doors import watched_doors
from helpers.landings import record, started
from helpers.repos import Repo
from msgspec.structs import replace

from scoring.evidence.git import landed_lines, lines_on_trunk
from scoring.evidence.git.authorship import AttributedHistory
from scoring.evidence.git.facts import Landing
from scoring.signals.landed import landed_value

DAY = 86_400
SUBJECT = "count the visitors"


def lines(*numbers: int, of: str = "visitors") -> str:
    return "".join(f"the {n}th of all {of}\n" for n in numbers)


TEN = range(10)
OTHER = range(90, 96)  # lines of the same commit of the trunk that are not the work's


class Work(NamedTuple):
    """A repository at its trunk, and a commit off the trunk that adds ten lines to work.txt."""

    repo: Repo
    sha: str


def work(
    folder: Path,
    files: dict[str, str | bytes | None] | None = None,
    subject: str = SUBJECT,
) -> Work:
    repo = started(folder)
    repo.commit({"old.txt": lines(1, 2, 3, of="old days") + "x\n"}, "older")
    repo.branch("work")
    sha = repo.commit(files or {"work.txt": lines(*TEN)}, subject)
    repo.commit({"work.txt": lines(7), "more.txt": "more\n"}, "go on with it")
    repo.checkout("master")
    return Work(repo, sha)


def taken(
    made: Work,
    part: Sequence[int],
    message: str,
    path: str = "work.txt",
    days: float = 1,
) -> str:
    """Commit some of the ten lines on the trunk, with others, so many days after the work."""
    content = lines(*OTHER, *part)
    return made.repo.commit({path: content}, message, made.repo.clock + int(days * DAY))


def later(made: Work, days: float = 20) -> None:
    made.repo.commit(
        {"b.txt": f"{days} days later\n"},
        "time goes by",
        made.repo.clock + int(days * DAY),
    )


def without_branch(made: Work) -> None:
    made.repo.git("update-ref", "refs/kept/work", made.sha)
    made.repo.git("branch", "-q", "-D", "work")


def asked(repo: Repo | Path, *commits: str) -> list[Landing]:
    records = [record(n, commit) for n, commit in enumerate(commits, 1)]
    history = AttributedHistory(repo if isinstance(repo, Path) else repo.path, records)
    return [history.landing(one) for one in records]


def verdict(landing: Landing) -> tuple[float | None, str]:
    value = landed_value(landing)
    return (value.sub_score if value.present else None), landing.found_by or (
        landing.unknown or ""
    ).split(",")[0]


class Way(NamedTuple):
    """A message of the trunk commit, how that is found, and what is said of too few lines.

    ``{sha}`` in the message is the work's.
    """

    message: str
    found_by: str
    few: str
    ref: str = ""


LIST = "all about visitors (#7)\n\n* show them\n\n* count the visitors\n\n  and why\n"
WAYS = {
    "same subject": Way(
        SUBJECT, "subject", "not found on master: 4 of 10 lines are there"
    ),
    "with a number": Way(
        f"{SUBJECT} (#7)",
        "numbered-subject",
        "not found on master: 4 of 10 lines are there",
    ),
    "listed subject": Way(
        LIST, "listed-subject", "not found on master: 4 of 10 lines are there"
    ),
    "listed by SHA": Way(
        "squashed\n\ncommit {sha}\nAuthor: A\n", "named", "is part of {taken}"
    ),
    "cherry-picked": Way(
        "other\n\n(cherry picked from commit {sha})", "named", "is part of {taken}"
    ),
    "named by SHA": Way(
        "goes on from {sha:.9}", "named", "not found on master: 4 of 10 lines are there"
    ),
    "pull request": Way(
        "visitors (#7)", "pull-request", "is part of #7", "refs/pull/7/head"
    ),
    "fetched as a branch": Way(
        "visitors (#7)", "pull-request", "is part of #7", "refs/remotes/origin/pr/7"
    ),
    "merge request": Way(
        "visitors (!7)", "pull-request", "is part of #7", "refs/merge-requests/7/head"
    ),
    "mentioned request": Way(
        "see #7", "pull-request", "not found on master: 4 of 10", "refs/pull/7/head"
    ),
    "another request": Way(
        "visitors (#8)", "", "not found on master: 4 of 10", "refs/pull/7/head"
    ),
    "no name": Way("visitors", "", "not found on master: 4 of 10 lines are there"),
}


@pytest.mark.parametrize("name", WAYS)
class TestNamed:
    def arranged(
        self, folder: Path, name: str, part: Sequence[int]
    ) -> tuple[Work, str, Landing]:
        way, made = WAYS[name], work(folder)
        if way.ref:
            made.repo.git("update-ref", way.ref, "work")
        without_branch(made)
        sha = taken(made, part, way.message.format(sha=made.sha))
        later(made)
        return made, sha, asked(made.repo, made.sha)[0]

    def test_with_half_of_the_lines_is_found(self, tmp_path: Path, name: str) -> None:
        made, sha, found = self.arranged(tmp_path, name, TEN[:5])
        if not WAYS[name].found_by:
            assert verdict(found) == (None, "some of its lines are on the trunk")
            return
        assert (verdict(found), found.commit) == ((1, WAYS[name].found_by), sha)
        assert landed_value(found).detail.startswith(
            f"commit {made.sha[:12]} landed on master in {sha[:12]}"
        )
        assert "5 of its 10 lines" in landed_value(found).detail

    def test_with_fewer_is_not(self, tmp_path: Path, name: str) -> None:
        _, sha, found = self.arranged(tmp_path, name, TEN[:4])
        assert landed_value(found).present is False
        assert WAYS[name].few.format(taken=sha[:12]) in landed_value(found).detail
        assert found.part_of == (sha if "part of" in WAYS[name].few else None)


def test_what_only_removes_lines_is_not_found_by_them(tmp_path: Path) -> None:
    made = work(tmp_path, {"old.txt": "x\n"}, "drop old days")
    made.repo.commit({"old.txt": "", "b.txt": "with more\n"}, "drop old days (#7)")
    without_branch(made)
    later(made)
    landing = asked(made.repo, made.sha)[0]
    assert verdict(landing) == (None, "it adds no lines that could be found")


class TestByLines:
    @pytest.mark.parametrize(
        ("files", "part", "days", "found"),
        [
            pytest.param({}, TEN[:9], 1, True, id="nine-tenths"),
            pytest.param({}, TEN[:8], 1, False, id="eight-tenths"),
            pytest.param({}, TEN, 13.5, True, id="within-the-horizon"),
            pytest.param({}, TEN, 14.5, False, id="behind-the-horizon"),
            pytest.param({}, TEN, -1, False, id="made-before-it"),
            pytest.param(
                {"work.txt": lines(*TEN[:5])}, TEN[:5], 1, True, id="five-lines"
            ),
            pytest.param(
                {"work.txt": lines(*TEN[:4])}, TEN[:4], 1, False, id="four-lines"
            ),
            pytest.param(
                {"work.txt": lines(1, 1, 1, 2, 2, 2)},
                [1, 1, 1, 2, 2, 2],
                1,
                False,
                id="two-different-lines",
            ),
            pytest.param(
                {"work.txt": lines(*TEN) + "\n}\n  {}\n" * 9},
                TEN,
                1,
                True,
                id="short-lines-do-not-count",
            ),
            pytest.param(
                {"work.txt": lines(*TEN).replace("\n", "\r\n")},
                TEN,
                1,
                True,
                id="other-line-ends",
            ),
            pytest.param(
                {"work.txt": lines(*TEN).replace("the", "\tthe")},
                TEN,
                1,
                True,
                id="indented",
            ),
            pytest.param(
                {"done.txt": lines(*TEN)},
                TEN,
                1,
                True,
                id="in-a-file-that-was-moved-since",
            ),
            pytest.param(
                {"done.txt": lines(*TEN[:4])},
                TEN[:4],
                1,
                False,
                id="too-few-for-a-moved-file",
            ),
        ],
    )
    def test_alone(
        self,
        tmp_path: Path,
        files: dict[str, str | bytes | None],
        part: Sequence[int],
        days: float,
        found: bool,
    ) -> None:
        made = work(tmp_path, files)
        without_branch(made)
        taken(made, part, "visitors", days=days)
        landing = asked(made.repo, made.sha)[0]
        assert landing.found_by == ("lines" if found else "")
        assert landed_value(landing).present is found

    def test_in_a_file_that_the_trunk_moved(self, tmp_path: Path) -> None:
        made = work(
            tmp_path, {"old.txt": lines(1, 2, 3, of="old days") + lines(*TEN[:5])}
        )
        without_branch(made)
        made.repo.git("mv", "old.txt", "new.txt")
        made.repo.commit(message="moved")
        sha = made.repo.commit(
            {"new.txt": lines(1, 2, 3, of="old days") + lines(*TEN[:5], *OTHER)},
            "visitors",
        )
        landing = asked(made.repo, made.sha)[0]
        assert (landing.found_by, landing.commit) == ("lines", sha)


class TestNotThere:
    @pytest.mark.parametrize(
        ("files", "trunk", "days", "expected"),
        [
            pytest.param({}, "", 20, (0, "not-landed"), id="none-after-a-horizon"),
            pytest.param(
                {},
                "",
                12,
                (None, "none of its lines is on the trunk yet"),
                id="younger",
            ),
            pytest.param(
                {},
                SUBJECT,
                20,
                (None, "none of its lines is on the trunk"),
                id="but-its-subject-is-there",
            ),
            pytest.param(
                {"a.md": lines(1, 2)},
                lines(2),
                20,
                (None, "its lines are in other files of the trunk"),
                id="elsewhere",
            ),
            pytest.param(
                {"old.txt": None},
                "",
                20,
                (None, "it adds no lines that could be found"),
                id="deletes",
            ),
            pytest.param(
                {"old.txt": "}\n"},
                "",
                20,
                (None, "it adds no lines that could be found"),
                id="short-lines",
            ),
            pytest.param(
                {"p.png": b"\0\1\n"},
                "",
                20,
                (None, "it adds no lines that could be found"),
                id="binary",
            ),
        ],
    )
    def test_of_all_its_lines(
        self,
        tmp_path: Path,
        files: dict[str, str | bytes | None],
        trunk: str,
        days: int,
        expected: tuple[object, str],
    ) -> None:
        made = work(tmp_path, files)
        if trunk:
            made.repo.commit({"b.txt": trunk}, trunk)
        later(made, days)
        found = asked(made.repo, made.sha)[0]
        assert verdict(found) == expected
        said = "did not land on master: none of its 10 lines is there after 14 days"
        assert (said in landed_value(found).detail) is (expected[0] == 0)

    @pytest.mark.parametrize(
        "there",
        [10, 6, 0],
        ids=[
            "which landed by its lines",
            "of which half is there",
            "of which nothing is",
        ],
    )
    def test_is_not_said_where_a_later_commit_of_its_side_has_its_lines_anew(
        self, tmp_path: Path, there: int
    ) -> None:
        made = work(tmp_path)
        made.repo.checkout("work")
        settled = made.repo.commit({"work.txt": lines(*TEN, of="guests")}, "settle it")
        made.repo.checkout("master")
        files = (
            {"work.txt": lines(*range(there), *OTHER, of="guests")}
            if there
            else {"b.txt": "c\n"}
        )
        sha = made.repo.commit(files, "visitors")
        without_branch(made)
        made.repo.git("update-ref", "refs/kept/settled", settled)
        later(made)
        one, two = asked(made.repo, made.sha, settled)
        assert (two.landed, two.commit) == (
            (True, sha) if there == 10 else (False, None)
        )
        assert (verdict(one)[0], one.part_of) == (
            None if there else 0,
            sha if there == 10 else None,
        )

    @pytest.mark.parametrize(
        ("limit", "unknown"),
        [
            ("MOST_LINES", "it adds too many lines"),
            ("MOST_READ", "too many commits of the trunk came after it"),
        ],
    )
    def test_is_not_said_of_what_was_not_read(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, unknown: str
    ) -> None:
        made = work(tmp_path)
        later(made)
        later(made)
        monkeypatch.setattr(lines_on_trunk, limit, 1)
        monkeypatch.setattr(landed_lines, "MOST_READ", lines_on_trunk.MOST_READ)
        assert verdict(asked(made.repo, made.sha)[0]) == (None, unknown)


class TestLaterAncestor:
    @pytest.mark.parametrize(
        "kept", [True, False], ids=["is-found", "of-what-the-branch-undid-is-a-part"]
    )
    def test_that_landed(self, tmp_path: Path, kept: bool) -> None:
        made = work(tmp_path)
        made.repo.checkout("work")
        made.repo.commit(
            {"work.txt": lines(*TEN, 11) if kept else lines(80, 81)}, "settle it"
        )
        made.repo.checkout("master")
        made.repo.git("merge", "-q", "--squash", "work")
        sha = made.repo.commit(message="all of it")
        found = asked(made.repo, made.sha)[0]
        assert (found.landed, found.commit or found.part_of) == (kept, sha)
        assert found.found_by == ("later-ancestor" if kept else "")

    @pytest.mark.parametrize(
        "missing",
        [0, 2],
        ids=["with nine tenths of the lines of its side", "with fewer"],
    )
    def test_that_a_squash_without_a_name_brought(
        self, tmp_path: Path, missing: int
    ) -> None:
        made = work(tmp_path)
        made.repo.checkout("work")
        made.repo.commit(
            {"work.txt": lines(*range(3, 16))}, "three of them go, and more come"
        )
        made.repo.checkout("master")
        taken(made, range(3, 16 - missing), "all of the work")
        later(made)
        found = verdict(asked(made.repo, made.sha)[0])
        assert found == (
            (None, "some of its lines are on the trunk")
            if missing
            else (1, "later-ancestor")
        )


class TestReverts:
    TITLE = f"{SUBJECT} (#7)"

    @pytest.mark.parametrize(
        ("messages", "value"),
        [
            pytest.param(["this reverts {sha}"], 0, id="by-sha"),
            pytest.param(
                [f'Revert "{TITLE}" (#8)\n\nReverts some/place#7'], 0, id="by-both"
            ),
            pytest.param([f'Revert "{TITLE}"'], 0, id="by-subject"),
            pytest.param(
                [f'Revert "{TITLE}"\n\nThis reverts commit {"ab" * 20}.'],
                0,
                id="by-a-sha-of-the-branch",
            ),
            pytest.param(["undo it (#8)\n\nReverts some/place#7"], 0, id="by-request"),
            pytest.param(
                ["this reverts some of the changes of {sha}"], 1, id="in-part"
            ),
            pytest.param(
                [f'Revert "{TITLE}"\n\nThis partially reverts commit {{sha}}.'],
                1,
                id="partially",
            ),
            pytest.param(
                ['Revert "some other"', "Reverts some/place#6"], 1, id="of-another"
            ),
            pytest.param([f'not to revert: "{TITLE}" (#7)'], 1, id="in-passing"),
            pytest.param(
                [f'Revert "{TITLE}" (#8)', f'Revert "Revert "{TITLE}" (#8)" (#9)'],
                1,
                id="of-the-revert",
            ),
        ],
    )
    @pytest.mark.parametrize(
        "on_trunk", [True, False], ids=["on-the-trunk", "beside-it"]
    )
    def test_are_found_by_what_they_say(
        self, tmp_path: Path, messages: Sequence[str], value: float, on_trunk: bool
    ) -> None:
        made = work(tmp_path)
        sha = taken(made, TEN, self.TITLE)
        content = lines(*OTHER, *TEN)
        for n, message in enumerate(messages):
            again = content if n % 2 else None
            changed = (
                {"b.txt": f"{n}\n"}
                if value and len(messages) == 1
                else {"work.txt": again}
            )
            made.repo.commit(changed, message.format(sha=sha))
        assert verdict(asked(made.repo, sha if on_trunk else made.sha)[0])[0] == value

    def test_of_which_no_line_is_gone_are_none(self, tmp_path: Path) -> None:
        made = work(tmp_path)
        sha = taken(made, TEN, self.TITLE)
        made.repo.commit({"b.txt": "words alone\n"}, f"This reverts commit {sha}.")
        assert verdict(asked(made.repo, sha)[0])[0] == 1

    def test_what_landed_again_has_landed(self, tmp_path: Path) -> None:
        made = work(tmp_path)
        made.repo.revert(taken(made, TEN, self.TITLE))
        assert verdict(asked(made.repo, made.sha)[0])[0] == 0
        again = taken(made, TEN, f"{SUBJECT} (#9)")
        found = asked(made.repo, made.sha)[0]
        assert (verdict(found)[0], found.commit) == (1, again)


class TestGoneCommit:
    @pytest.mark.parametrize(
        ("subjects", "day", "value"),
        [
            pytest.param(["Count the visitors"], "", 1, id="one-has-its-subject"),
            pytest.param(["count the visitors"], "2026-04-13", 1, id="a-day-apart"),
            pytest.param(
                ["count the visitors"], "2026-04-01", None, id="eleven-days-later"
            ),
            pytest.param(
                ["count the visitors (#7)"],
                "2026-04-01",
                1,
                id="with-a-number-eleven-days-later",
            ),
            pytest.param(
                ["count the visitors (#7)"],
                "2026-03-01",
                None,
                id="with-a-number-six-weeks-later",
            ),
            pytest.param(
                ["count the visitors (#7)"], "2026-04-15", None, id="before-it"
            ),
            pytest.param(
                ["count the visitors", "count the visitors (#7)"],
                "",
                None,
                id="two-have",
            ),
        ],
    )
    def test_is_found_by_the_summary(
        self, tmp_path: Path, subjects: Sequence[str], day: str, value: float | None
    ) -> None:
        repo = started(tmp_path)
        for n, subject in enumerate(subjects):
            repo.commit({"b.txt": f"{n}\n"}, subject)
        entry = replace(record(1, "f" * 40, SUBJECT), date=day)
        assert verdict(AttributedHistory(repo.path, [entry]).landing(entry))[0] == value


def test_a_name_in_another_unicode_form_is_the_same_file(tmp_path: Path) -> None:
    """A Mac writes "é" as two characters, and others as one."""
    made = work(tmp_path, {"re\u0301sume\u0301.txt": lines(*TEN)})
    sha = taken(made, TEN, "something else", path="r\u00e9sum\u00e9.txt")
    later(made)
    found = AttributedHistory(made.repo.path, []).landings([made.sha])[made.sha]
    assert (found.found_by, found.commit) == ("lines", sha)


class TestBecame:
    def test_names_the_trunk_commit_and_how(self, tmp_path: Path) -> None:
        made = work(tmp_path)
        tip = made.repo.head("work")
        made.repo.git("update-ref", "refs/pull/7/head", made.sha)
        sha = taken(made, TEN[:4], "visitors (#7)")
        other = made.repo.commit(
            {"more.txt": "more\n", "c.txt": "c\n"}, "another thing"
        )
        history = AttributedHistory(made.repo.path, [])
        landings = history.landings([made.sha, tip, sha])
        assert (landings[made.sha].part_of, landings[made.sha].landed) == (sha, False)
        assert (landings[sha].commit, landings[sha].found_by) == (sha, "ancestor")
        assert {landings[tip].commit, landings[tip].part_of}.isdisjoint({sha, other})


def test_a_warm_question_reads_no_patch(tmp_path: Path) -> None:
    made = work(tmp_path)
    taken(made, TEN, SUBJECT)
    records = [record(1, made.repo.head()), record(2, made.sha)]

    def patches_read() -> int:
        with watched_doors() as doors:
            history = AttributedHistory(
                made.repo.path, records, cache_dir=tmp_path / "cache"
            )
            for entry in records:
                history.landing(entry)
        return sum("--patch" in command for command in doors.commands)

    assert patches_read() > 0
    assert patches_read() == 0


class TestAFileThatThisCloneLacks:
    @pytest.mark.parametrize("landed", [True, False], ids=["on-the-trunk", "nowhere"])
    def test_lets_the_lines_of_the_others_decide(
        self, tmp_path: Path, landed: bool
    ) -> None:
        data = lines(1, 2, 3, of="data")
        made = work(tmp_path, {"work.txt": lines(*TEN), "data.txt": data})
        oid = made.repo.git("rev-parse", f"{made.sha}:data.txt").strip()
        if landed:
            files = {"work.txt": lines(*OTHER, *TEN), "data.txt": data}
            made.repo.commit(files, "all of it", made.repo.clock + DAY)
        later(made)
        (made.repo.path / ".git" / "objects" / oid[:2] / oid[2:]).unlink()
        found = verdict(asked(made.repo, made.sha)[0])
        assert found == ((1, "lines") if landed else (None, "objects are missing"))
