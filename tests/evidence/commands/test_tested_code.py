"""Whether a test run tests other code than the work: what a whole line says of it."""

import pytest

from scoring.evidence.commands.shell import commands_of
from scoring.evidence.commands.tested_code import tests_other_code as is_of_other_code
from scoring.evidence.commands.tested_code import work_trees_added


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
