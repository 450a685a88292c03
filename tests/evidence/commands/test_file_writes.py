"""Files that commands change in place, by their programs and options."""

import pytest
from helpers import tables

from scoring.evidence.commands.file_writes import (
    maybe_written,
    removed_paths,
    rewritten_path,
)
from scoring.evidence.commands.shell import commands_of


@pytest.mark.parametrize(("text", "path"), tables.cases("gitcommands", "in place"))
def test_a_command_that_changes_files_in_place(text: str, path: str) -> None:
    assert rewritten_path(text.split()) == path


@pytest.mark.parametrize("text", tables.cases("gitcommands", "changes none"))
def test_a_command_that_changes_none(text: str) -> None:
    assert rewritten_path(text.split()) == ""


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("rm -f a.py", ["a.py"]),
        ("git rm -q --cached src/a.py b.py", ["src/a.py", "b.py"]),
        ("git mv a.py src/b.py", ["a.py", "src/b.py"]),
        ("mv a.py b.py", ["a.py", "b.py"]),
        ("rm *.py $NAME", []),
        ("git rm --dry-run a.py", []),
        ("git mv -n a.py b.py", []),
        ("ls a.py", []),
        ("git status a.py", []),
    ],
)
def test_the_files_that_a_command_deletes_or_moves(text: str, paths: list[str]) -> None:
    assert removed_paths(text.split()) == paths


@pytest.mark.parametrize("depth", [1, 2, 3, 4, 3000])
def test_what_find_within_find_writes_is_known_up_to_a_depth(depth: int) -> None:
    line = "find . -exec " * depth + "cp x out.txt"
    paths = list(maybe_written(commands_of(line), "/r", line))
    if depth <= 3:
        assert any(path.endswith("out.txt") for path in paths)
    else:
        assert paths == ["/r/$"]  # anything
