"""Whether a test run tests other code than the work: what a whole line says of it."""

import pytest

from scoring.evidence.commands.shell import commands_of
from scoring.evidence.commands.tested_code import tests_other_code as is_of_other_code


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
