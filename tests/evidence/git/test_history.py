"""What the trunk says of commits: reachability, reverts and subjects, on real repositories."""

from collections.abc import Callable
from typing import NamedTuple

import pytest
from helpers.doors import watched_doors
from helpers.repos import START, Repo

from scoring.evidence.git.reference import ReferenceHistory
from scoring.log.model import IterationRecord

pytestmark = pytest.mark.sampled(3)

LONG_S, KELVIN, SHARP_S, CAPITAL_SHARP_S = "\u017f", "\u212a", "\u00df", "\u1e9e"


def record(number: int, commit: str) -> IterationRecord:
    return IterationRecord(1, number, commit=commit)


def history(repo: Repo, *names: str, trunk: str = "master") -> ReferenceHistory:
    """Return what is said of a log whose entries name these; subjects are only read where one names none."""
    return ReferenceHistory(repo.path, [record(n, name) for n, name in enumerate(names, 1)], trunk=trunk)


class TestNames:
    def test_cost_no_walk_when_nobody_asks_about_the_trunk(self, repo: Repo) -> None:
        sha = repo.commit({"a": "1"})
        with watched_doors() as doors:
            found = history(repo, sha, "gone")  # which may be there under its subject
            found.committed(sha)
            assert not [command for command in doors.commands if "log" in command]
            assert found.on_trunk(sha)
            assert found.match_subject("work") == sha
            assert found.reverted_by(sha) is None
        assert len([command for command in doors.commands if "log" in command]) == 1


class TestTrunk:
    def test_is_a_local_branch_and_nothing_else_of_that_name(self, repo: Repo) -> None:
        sha = repo.commit({"a": "1"}, "subject")
        repo.git("branch", "-m", "master", "main")
        repo.tag("master")
        repo.git("update-ref", "refs/remotes/origin/master", sha)
        found = history(repo, sha)
        assert found.resolve(sha) == sha
        assert not found.on_trunk(sha)
        assert found.match_subject("subject") is None

    @pytest.mark.parametrize("name", ["--all", "--output=x", "-h", "master..side", "^master", "side^{tree}", ""])
    def test_of_an_odd_name_is_missing(self, repo: Repo, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
        monkeypatch.chdir(repo.path)
        sha = repo.commit({"a": "1"})
        repo.git("branch", "side")
        assert not history(repo, trunk=name).on_trunk(sha)
        assert sorted(path.name for path in repo.path.iterdir()) == [".git", "a"]


class TestReachability:
    def test_of_the_trunk_and_what_was_merged_into_it(self, repo: Repo) -> None:
        one = repo.commit({"a": "1"})
        lost = repo.commit({"a": "lost"})
        repo.reset("HEAD~1")
        repo.branch("side")
        on_side = repo.commit({"s": "1"})
        assert not history(repo).on_trunk(on_side)
        assert history(repo, trunk="side").on_trunk(on_side)
        repo.checkout("master")
        two = repo.commit({"a": "2"})
        merged = repo.merge("side")
        found = history(repo, lost)
        assert [found.on_trunk(sha) for sha in (one, on_side, two, merged, lost)] == [True] * 4 + [False]
        assert found.resolve(lost) == lost


Message = Callable[[str], str | bytes]
"""Makes the message of a later commit from the SHA of an earlier one."""

REVERTS: dict[str, Message] = {
    "gits-own-words": lambda sha: f'Revert "one"\n\nThis reverts commit {sha}.\n',
    "seven-digits": lambda sha: f"revert {sha[:7]}",
    "capitals": lambda sha: f"REVERT {sha[:7].upper()}",
    "sha-before-the-word": lambda sha: f"{sha[:7]} is what this reverts",
    "run-inside-a-word": lambda sha: f"revert x{sha[:7]}y now",
    "second-run": lambda sha: f"revert 1234567 and {sha[:7]}",
    "said-with-not-counts-all-the-same": lambda sha: f"do not revert {sha[:7]}",
    "word-inside-another": lambda sha: f"irrevertible: {sha[:7]}",
    "run-between-bytes-that-are-no-text": lambda sha: b"revert \xff" + sha[:7].encode() + b"\xfe",
}
NO_REVERTS: dict[str, Message] = {
    "other-word": lambda sha: f"undo {sha}",
    "no-sha": lambda _: 'Revert "one"',
    "six-digits": lambda sha: f"revert {sha[:6]}",
    "forty-one-digits": lambda sha: f"revert {sha}0",
    "other-eighth-digit": lambda sha: f"revert {sha[:7]}{'0' if sha[7] != '0' else '1'}",
    "run-that-starts-earlier": lambda sha: f"revert a{sha[:7]}",
    "run-over-two-lines": lambda sha: f"revert {sha[:4]}\n{sha[4:8]}",
}


class Spoken(NamedTuple):
    """One trunk on which every message comes after a commit of its own, whose SHA it was made from."""

    history: ReferenceHistory
    commits: dict[str, str]
    messages: dict[str, str]


@pytest.fixture(scope="session")
def spoken(tmp_path_factory: pytest.TempPathFactory) -> Spoken:
    repo = Repo(tmp_path_factory.mktemp("spoken") / "repo")
    commits, messages = {}, {}
    for name, message in (REVERTS | NO_REVERTS).items():
        commits[name] = repo.commit(message=f"work on {name}")
        messages[name] = repo.commit(message=message(commits[name]))
    return Spoken(history(repo), commits, messages)


class TestReverts:
    @pytest.mark.sampled(100)
    @pytest.mark.parametrize("name", REVERTS)
    def test_are_read_in_a_later_message(self, spoken: Spoken, name: str) -> None:
        assert spoken.history.reverted_by(spoken.commits[name]) == spoken.messages[name]

    @pytest.mark.parametrize("name", NO_REVERTS)
    def test_are_not_read_in_other_messages(self, spoken: Spoken, name: str) -> None:
        assert spoken.history.reverted_by(spoken.commits[name]) is None

    def test_the_newest_of_several_is_named(self, repo: Repo) -> None:
        sha = repo.commit({"a": "1"}, "one")
        repo.commit({"a": "2"}, f"revert {sha}")
        newest = repo.commit({"a": "3"}, f"revert {sha[:7]} again")
        assert history(repo).reverted_by(sha) == newest

    def test_before_the_commit_do_not_count(self, repo: Repo) -> None:
        # Made in two repositories, because the earlier message has to hold the later commit's SHA.
        repo.commit({"a": "0"}, "zero", START)
        twin = Repo(repo.path.parent / "twin")
        twin.commit({"a": "0"}, "zero", START)
        sha = twin.commit({"a": "1"}, "one", START + 7_200)
        repo.git("fetch", "-q", str(twin.path), "master")
        early = repo.commit({"b": "1"}, f"revert {sha}", START + 3_600)
        repo.git("merge", "-q", "--no-verify", "-m", "join", "FETCH_HEAD", time=START + 10_800)
        found = history(repo)
        assert [found.on_trunk(early), found.on_trunk(sha)] == [True, True]
        assert found.reverted_by(sha) is None

    @pytest.mark.slow
    def test_keep_commits_apart_that_start_with_the_same_seven_digits(self, repo: Repo) -> None:
        tree = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
        who = "author A <a@x> 1776000000 +0000\ncommitter A <a@x> 1776000000 +0000"
        repo.write("tree", b"")
        one = repo.write("commit", f"tree {tree}\n{who}\n\n40677\n".encode())
        other = repo.write("commit", f"tree {tree}\n{who}\n\n41064\n".encode())
        assert one[:7] == other[:7]
        repo.reset(one)
        repo.git("merge", "-q", "--allow-unrelated-histories", "-m", "join", other, time=START + 60)
        by_eight = repo.commit({"a": "1"}, f"revert {one[:8]}", START + 120)
        assert history(repo).reverted_by(one) == by_eight
        assert history(repo).reverted_by(other) is None
        by_seven = repo.commit({"a": "2"}, f"revert {one[:7]}", START + 180)
        assert history(repo).reverted_by(one) == by_seven
        assert history(repo).reverted_by(other) == by_seven


EQUAL = {
    "equal": ("feat: one", "feat: one"),
    "body-does-not-count": ("feat: two\n\nbody\n", "feat: two"),
    "case": ("Feat: THREE", "fEAT: three"),
    "subject-of-two-lines": ("long subject\nsecond line\n", "long subject second line"),
    "white-space-around-the-subject": ("  padded  ", "padded"),
    "unicode-white-space-around-the-subject": ("\u3000indented\u00a0", "indented"),
    "capital-sharp-s": (f"stra{SHARP_S}e", f"STRA{CAPITAL_SHARP_S}E"),
    "kelvin-and-long-s": (f"{KELVIN} is {LONG_S}mall", "k IS Small"),
    "final-sigma": ("\u039f\u0394\u039f\u03a3", "\u03bf\u03b4\u03bf\u03c2"),
}
UNEQUAL = {
    "prefix": ("fix: one", "fix: on"),
    "body": ("fix: one\n\nthe body\n", "the body"),
    "first-of-two-lines": ("first line\nsecond line\n", "first line"),
    "white-space-inside": ("fix:  two", "fix: two"),
    "sharp-s-is-not-ss": (f"stra{SHARP_S}e", "strasse"),
    "i-with-dot-is-not-i": ("\u0130stanbul", "istanbul"),
    "composed-is-not-decomposed": ("r\u00e9sum\u00e9", "re\u0301sume\u0301"),
    "zero-width-space-is-not-trimmed": ("\u200bhidden", "hidden"),
    "empty-matches-nothing": ("", ""),
}


@pytest.fixture(scope="session")
def subjects(tmp_path_factory: pytest.TempPathFactory) -> tuple[ReferenceHistory, dict[str, str]]:
    """One trunk with every message, and the commit of each."""
    repo = Repo(tmp_path_factory.mktemp("subjects") / "repo")
    commits = {name: repo.commit(message=message) for name, (message, _) in (UNEQUAL | EQUAL).items()}
    return history(repo, "gone"), commits


class TestSubjects:
    @pytest.mark.sampled(100)
    @pytest.mark.parametrize("name", EQUAL)
    def test_match_ignoring_case(self, subjects: tuple[ReferenceHistory, dict[str, str]], name: str) -> None:
        found, commits = subjects
        assert found.match_subject(EQUAL[name][1]) == commits[name]

    @pytest.mark.parametrize("name", UNEQUAL)
    def test_do_not_match_otherwise(self, subjects: tuple[ReferenceHistory, dict[str, str]], name: str) -> None:
        found, _ = subjects
        assert found.match_subject(UNEQUAL[name][1]) is None

    def test_of_branches_that_were_not_merged_do_not_count(self, repo: Repo) -> None:
        repo.commit({"a": "1"})
        repo.branch("side")
        repo.commit({"s": "1"}, "on the side")
        assert history(repo, "gone").match_subject("on the side") is None
