"""Help and version: every command documents its options and gives an example."""

import re
from collections.abc import Iterator

import click
import pytest
from helpers.commands import DaScore, one_line, process

from scoring.cli.app import cli
from scoring.cli.helptext import COMMANDS


def every_command() -> Iterator[tuple[str, ...]]:
    for name in COMMANDS:
        yield (name,)
        command = cli.get_command(click.Context(cli), name)
        if isinstance(command, click.Group):
            yield from ((name, inner) for inner in command.commands)


class TestHelp:
    @pytest.mark.parametrize("path", [(), *every_command()], ids=lambda path: " ".join(path) or "da-score")
    @pytest.mark.parametrize("option", ["--help", "-h"])
    def test_of_every_command_documents_its_options_and_gives_an_example(
        self, da_score: DaScore, path: tuple[str, ...], option: str
    ) -> None:
        found = da_score(*path, option)
        assert (found.status, found.err) == (0, "")
        assert found.out.startswith(f"Usage: {' '.join(('da-score', *path))} ")
        assert re.search(rf"^  Example:  .*da-score {' '.join(path)}", found.out, re.MULTILINE)
        documented = dict(re.findall(r"^  (-.*?)(?:  |$)((?s:.*?)(?=^  -|^$|\Z))", found.out, re.MULTILINE))
        command: click.Command = cli
        for name in path:
            assert isinstance(command, click.Group)
            found_command = command.get_command(click.Context(command), name)
            assert found_command is not None
            command = found_command
        for parameter in command.params:
            if isinstance(parameter, click.Option):
                assert parameter.help, f"{parameter.name} says nothing"
                assert any(parameter.opts[0] in flags for flags in documented), f"{parameter.name} is not listed"
        if len(path) == 1:
            assert command.get_short_help_str(10**6) == COMMANDS[path[0]]

    def test_lists_every_command(self, da_score: DaScore) -> None:
        listed = re.findall(r"^  ([a-z-]+)  +\S", da_score("--help").out.split("Commands:")[1], re.MULTILINE)
        assert listed == list(COMMANDS)

    def test_says_where_settings_come_from(self, da_score: DaScore) -> None:
        said = " ".join(da_score("--help").out.replace("-\n", "-").split())
        assert all(word in said for word in ("DA_SCORE_*", ".agents/da- score.toml", "pyproject.toml")) or all(
            word in said for word in ("DA_SCORE_*", ".agents/da-score.toml", "pyproject.toml")
        )

    @pytest.mark.parametrize("path", [[], ["rubric"]], ids=["da-score", "rubric"])
    def test_comes_in_full_when_there_is_no_command(self, da_score: DaScore, path: list[str]) -> None:
        found = da_score(*path)
        shown = found.out + found.err
        assert found.status in (0, 2)
        assert "\nCommands:\n" in shown
        assert "error" not in shown

    def test_of_a_wrong_option_names_the_help_of_its_command(self, da_score: DaScore) -> None:
        message = one_line(da_score("rubric", "show", "--nope"))
        assert re.fullmatch(r"No such option:? '?--nope'?\.? \(see 'da-score rubric show --help'\)", message)


class TestVersion:
    def test_names_the_program_and_the_rubric(self, da_score: DaScore) -> None:
        found = da_score("--version")
        assert (found.status, found.err) == (0, "")
        assert re.fullmatch(r"da-score \d+\.\d+\.\d+ \(default rubric 2\.1\.0\)\n", found.out)

    @pytest.mark.slow
    def test_is_that_of_python_m_scoring(self, da_score: DaScore) -> None:
        assert process("--version") == da_score("--version")
