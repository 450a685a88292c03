"""Help and version: every command documents its options and gives an example."""

import re
from collections.abc import Iterator

import click
import pytest
from helpers.commands import DaScore

from scoring.cli.group import cli
from scoring.cli.helptext import COMMANDS


def every_command() -> Iterator[tuple[str, ...]]:
    for name in COMMANDS:
        yield (name,)
        command = cli.get_command(click.Context(cli), name)
        if isinstance(command, click.Group):
            yield from ((name, inner) for inner in command.commands)


class TestHelp:
    @pytest.mark.parametrize(
        "path", [(), *every_command()], ids=lambda path: " ".join(path) or "da-score"
    )
    def test_of_every_command_documents_its_options_and_gives_an_example(
        self, da_score: DaScore, path: tuple[str, ...]
    ) -> None:
        found = da_score(*path, "--help")
        assert (found.status, found.err) == (0, "")
        assert da_score(*path, "-h") == found
        assert found.out.startswith(f"Usage: {' '.join(('da-score', *path))} ")
        assert re.search(rf"^  Example:  .*da-score {' '.join(path)}", found.out, re.MULTILINE)
        documented = dict(
            re.findall(r"^  (-.*?)(?:  |$)((?s:.*?)(?=^  -|^$|\Z))", found.out, re.MULTILINE)
        )
        command: click.Command = cli
        for name in path:
            assert isinstance(command, click.Group)
            found_command = command.get_command(click.Context(command), name)
            assert found_command is not None
            command = found_command
        for parameter in command.params:
            if isinstance(parameter, click.Option):
                assert parameter.help, f"{parameter.name} says nothing"
                assert any(parameter.opts[0] in flags for flags in documented), (
                    f"{parameter.name} is not listed"
                )
        if len(path) == 1:
            assert command.get_short_help_str(10**6) == COMMANDS[path[0]]

    def test_says_where_settings_come_from(self, da_score: DaScore) -> None:
        said = da_score("--help").out
        assert all(
            word in said for word in ("DA_SCORE_*", ".agents/da-score.toml", "pyproject.toml")
        )

    @pytest.mark.parametrize(
        "path", [[], ["rubric"], ["meeting"]], ids=["da-score", "rubric", "meeting"]
    )
    def test_comes_in_full_when_there_is_no_command(
        self, da_score: DaScore, path: list[str]
    ) -> None:
        found = da_score(*path)
        shown = found.out + found.err
        assert found.status in (0, 2)
        assert "\nCommands:\n" in shown
        assert "error" not in shown


class TestVersion:
    def test_names_the_program_and_the_rubric(self, da_score: DaScore) -> None:
        found = da_score("--version")
        assert (found.status, found.err) == (0, "")
        assert re.fullmatch(r"da-score \d+\.\d+\.\d+ \(default rubric 2\.1\.0\)\n", found.out)
