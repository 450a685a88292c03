"""Commands of git: which make commits, which take work back, and the commits that git reports."""

import pytest
from helpers import tables
from helpers.timing import is_linear

from scoring.evidence.commands.git_commands import (
    CommitLine,
    Reset,
    commit_lines,
    commit_requests,
    resets,
)
from scoring.evidence.commands.shell import commands_of

HARD = Reset("hard")
REVERT = Reset("revert")
AMEND = Reset("amend")


MAKE_COMMITS = [
    "git commit -m x",
    "git -C dir commit",
    "git -c user.name=me --no-pager commit",
    "git cherry-pick abc",
    "git revert abc",
    "git --git-dir .git --work-tree=. merge x",
    "git add -A && git commit -qm x",
    "git rebase main",
    "/usr/bin/git commit",
    "A=1 timeout 5 git commit",
    "bash -lc 'cd x && git commit'",
    "(git commit)",
]


@pytest.mark.parametrize("text", MAKE_COMMITS)
def test_commands_that_make_commits(text: str) -> None:
    assert commit_requests(commands_of(text))


@pytest.mark.parametrize("text", tables.cases("gitcommands", "make none"))
def test_commands_that_make_none(text: str) -> None:
    assert not commit_requests(commands_of(text))


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("[main 1a2b3c4] Subject", CommitLine("main", "1a2b3c4", "Subject")),
        (
            "[main (root-commit) 1a2b3c4d] A b c",
            CommitLine("main (root-commit)", "1a2b3c4d", "A b c"),
        ),
        ("[detached HEAD 1a2b3c4] x]", CommitLine("detached HEAD", "1a2b3c4", "x]")),
        (
            "[feature/x-1 " + "a" * 40 + "] [tag] y",
            CommitLine("feature/x-1", "a" * 40, "[tag] y"),
        ),
        ("[main 1a2b3c4] \u00fc\r", CommitLine("main", "1a2b3c4", "\u00fc")),
    ],
)
def test_a_commit_is_read(line: str, found: CommitLine) -> None:
    for output in (line, f"before\n{line}\n 1 file changed", f"[x]\n{line}"):
        assert commit_lines(output) == [found]


@pytest.mark.parametrize(
    "output",
    [
        *tables.cases("gitcommands", "no commit"),
        pytest.param("[main " + "a" * 41 + "] x", id="41 digits"),
    ],
)
def test_no_commit_is_read(output: str) -> None:
    assert commit_lines(output) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("git reset --hard", [HARD]),
        ("git -C x reset --hard HEAD~1 && git clean -fd", [HARD]),
        ("git checkout -- a.py 'b c.py'", [Reset("paths", ("a.py", "b c.py"))]),
        ("git checkout HEAD -- a.py", [Reset("paths", ("a.py",))]),
        ("git checkout a.py .", [Reset("checkout", ("a.py", "."))]),
        ("git checkout HEAD a.py", [Reset("checkout", ("a.py",))]),
        ("git restore a.py", [Reset("paths", ("a.py",))]),
        ("git restore --source HEAD~1 -- a.py", [Reset("paths", ("a.py",))]),
        ("git restore -SW a.py --staged --worktree", [Reset("paths", ("a.py",))]),
        ("git restore .", [Reset("paths", (".",))]),
        ("git revert --no-edit HEAD", [REVERT]),
        ("git commit --amend --no-edit", [AMEND]),
        ("git reset --hard; git revert x", [HARD, REVERT]),
    ],
)
def test_work_is_taken_back(text: str, found: list[Reset]) -> None:
    assert resets(commands_of(text)) == found


@pytest.mark.parametrize("text", tables.cases("gitcommands", "takes nothing back"))
def test_no_work_is_taken_back(text: str) -> None:
    assert resets(commands_of(text)) == []


@pytest.mark.parametrize(
    "piece",
    ["[", "\n[", "[a ", "\n[main 1a2b3c4", "\n[" + "a " * 40, "[main 1a2b3c4] x\n"],
)
def test_the_time_is_linear(piece: str) -> None:
    assert is_linear(commit_lines, piece, 40_000, 0.01)
