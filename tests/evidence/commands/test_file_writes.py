"""Files that commands change in place, by their programs and options."""

import pytest
from helpers import tables

from scoring.evidence.commands.file_writes import rewritten_path


@pytest.mark.parametrize(("text", "path"), tables.cases("gitcommands", "in place"))
def test_a_command_that_changes_files_in_place(text: str, path: str) -> None:
    assert rewritten_path(text.split()) == path


@pytest.mark.parametrize("text", tables.cases("gitcommands", "changes none"))
def test_a_command_that_changes_none(text: str) -> None:
    assert rewritten_path(text.split()) == ""
