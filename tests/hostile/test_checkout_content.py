"""What a commit changes is read from git's objects, never from files of the checkout."""

import os

from helpers.repos import Repo

from scoring.evidence.git.changes import CommitPair
from scoring.evidence.git.line_history import LineHistory
from scoring.evidence.git.repository import GitRepository

OLD = 1_000_000_000


def pair_of_edit(repo: Repo) -> CommitPair:
    """Commit two versions of a file, the second with a time that a checkout can forge."""
    first = repo.commit({"a.py": "one = 1\n"})
    path = repo.path / "a.py"
    path.write_text("two = 2\n")
    os.utime(path, (OLD, OLD))
    return CommitPair(repo.commit(), first)


def test_a_lost_file_is_not_read_from_the_checkout(repo: Repo) -> None:
    pair = pair_of_edit(repo)
    repo.lose(f"{pair.commit}:a.py")
    assert LineHistory(GitRepository(repo.path)).patch(pair) is None


def test_a_file_that_the_index_takes_for_that_of_the_commit_is_not_read(
    repo: Repo,
) -> None:
    pair = pair_of_edit(repo)
    repo.git("config", "core.trustctime", "false")
    repo.git("config", "core.checkStat", "minimal")
    repo.git("status")
    before = LineHistory(GitRepository(repo.path)).text_added(pair)

    (repo.path / "a.py").write_text("six = 6\n")
    os.utime(repo.path / "a.py", (OLD, OLD))

    assert before == {"a.py": [b"two = 2"]}
    assert LineHistory(GitRepository(repo.path)).text_added(pair) == before


NAMES = [
    "line\nbreak.py",
    '"quote.py',
    "src/a.py b/src/a.py",
    "tab\there.py",
    "--- a/x.py",
    "+++ b",
    "@@ -1 +1 @@",
    "e\u0301.py",
    "\u00e9.py",
    "control\x01.py",
    ":100644 100644 0000 1111 A\tx",
    "caf\udce9.py",
]


def test_no_name_of_a_file_hides_its_lines(repo: Repo) -> None:
    first = repo.commit({"a": "1\n"})
    text = "--- a/x\n+++ b/y\n@@ -0,0 +1,2 @@\ncr\rand nul\0\n"
    pair = CommitPair(repo.commit(dict.fromkeys(NAMES, text)), first)

    patch = LineHistory(GitRepository(repo.path)).patch(pair)

    assert patch is not None
    assert {file.path: len(list(file.added())) for file in patch} == dict.fromkeys(
        NAMES, 4
    )
