"""Whether a test run tests other code than the work: what a whole line says of it."""

import pytest

from scoring.evidence.commands.shell import commands_of
from scoring.evidence.commands.tested_code import tests_other_code as is_of_other_code
from scoring.evidence.commands.tested_code import work_trees_added
from scoring.evidence.commands.undone_code import undone_spans


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        pytest.param("git restore; pytest", False, id="nothing to restore"),
        pytest.param("git stash; pytest", True, id="the work is in a stash"),
        pytest.param("git stash list; pytest", False, id="stashes are listed"),
        pytest.param("git checkout v1.0; pytest", True, id="an older commit"),
        pytest.param("git switch -; pytest", False, id="the branch before"),
    ],
)
def test_the_code_that_a_run_tests(line: str, expected: bool) -> None:
    assert is_of_other_code(commands_of(line), 1, "", stashed=False) is expected


FILES = [" ".join(f"{letter}{number}.py" for number in range(40)) for letter in "ab"]


@pytest.mark.parametrize(
    ("line", "spans"),
    [
        pytest.param("rm a.py; pytest; git checkout a.py", [(0, 2)], id="a file"),
        pytest.param("rm a.py; pytest; git checkout b.py", [], id="another file"),
        pytest.param("rm a/b.py; pytest; git restore a", [(0, 2)], id="a folder"),
        pytest.param("rm a.py; rm b.py; git reset --hard", [(0, 2)], id="all files"),
        pytest.param("pytest; rm a.py; git checkout a.py", [(1, 2)], id="after a run"),
        pytest.param("mv a.py ../b; pytest; mv ../b a.py", [(0, 2)], id="moved back"),
        pytest.param("mv a.py ..; pytest; mv ../a.py .", [(0, 2)], id="moved here"),
        pytest.param("rm a.txt; pytest; mv ../b.txt .", [], id="no code is removed"),
        pytest.param("mv a.py b.py; pytest; mv b.py c.py", [], id="moved again"),
        pytest.param("rm a.txt; pytest; git reset --hard", [], id="no code"),
        pytest.param(
            f"rm {FILES[0]}; git checkout -- {FILES[1]}", [(0, 1)], id="too many"
        ),
    ],
)
def test_where_a_line_has_code_that_it_takes_back(
    line: str, spans: list[tuple[int, int]]
) -> None:
    assert undone_spans(commands_of(line)) == spans


@pytest.mark.parametrize(
    ("command", "folders"),
    [
        ("git worktree add ../hotfix", ["../hotfix"]),
        ("git worktree add -b fix ../hotfix main", ["fix", "../hotfix", "main"]),
        ("git -C repo worktree add hotfix", ["hotfix"]),
        ("git worktree list", []),
        ("git worktree remove ../hotfix", []),
        ("worktree add ../hotfix", []),
        ("git add worktree", []),
    ],
)
def test_the_folders_of_work_trees_that_a_command_may_add(
    command: str, folders: list[str]
) -> None:
    assert work_trees_added(tuple(command.split())) == folders
