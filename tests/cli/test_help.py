"""Help and version: every command documents its options and gives an example."""

import re
from collections.abc import Iterator

import click
import pytest
from helpers.commands import DaScore

from scoring.cli.group import COMMANDS, OLD_NAMES, cli
from scoring.cli.options import FROM_DAYS


def every_command() -> Iterator[tuple[str, ...]]:
    """Yield the words of every command, groups included."""
    return commands_below(cli, ())


def commands_below(
    group: click.Group, path: tuple[str, ...]
) -> Iterator[tuple[str, ...]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if not command.hidden:
            yield (*path, name)
        if isinstance(command, click.Group):
            yield from commands_below(command, (*path, name))


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
        assert re.search(
            rf"^  Example:  .*da-score {' '.join(path)}", found.out, re.MULTILINE
        )
        documented = dict(
            re.findall(
                r"^  (-.*?)(?:  |$)((?s:.*?)(?=^  -|^$|\Z))", found.out, re.MULTILINE
            )
        )
        command: click.Command = cli
        for name in path:
            assert isinstance(command, click.Group)
            found_command = command.get_command(click.Context(command), name)
            assert found_command is not None
            command = found_command
        for parameter in command.params:
            if "--since" in parameter.opts:
                assert f" {FROM_DAYS}" in " ".join(documented["--since DAYS"].split())
            if isinstance(parameter, click.Option):
                assert parameter.help, f"{parameter.name} says nothing"
                assert any(parameter.opts[0] in flags for flags in documented), (
                    f"{parameter.name} is not listed"
                )
        name = " ".join(path)
        if name in COMMANDS:
            assert command.get_short_help_str(10**6) == COMMANDS[name]

    def test_of_check_begins_with_the_gates_on_work(self, da_score: DaScore) -> None:
        text = " ".join(da_score("check", "--help").out.split())
        _, _, options = text.partition("Options: ")
        on_work = re.findall(r"--[a-z-]+", options.partition("--min-score")[0])
        assert on_work == [
            "--max-reverted",
            "--max-taken-back",
            "--max-lost-cost",
            "--no-failing-tests",
        ]
        assert "and no later pass in its session" in options

    def test_says_where_settings_come_from(self, da_score: DaScore) -> None:
        said = da_score("--help").out
        assert all(
            word in said
            for word in ("DA_SCORE_*", ".agents/da-score.toml", "pyproject.toml")
        )

    @pytest.mark.parametrize(
        "path",
        [[], ["rubric"], ["meeting"], ["log"]],
        ids=["da-score", "rubric", "meeting", "log"],
    )
    def test_comes_in_full_when_there_is_no_command(
        self, da_score: DaScore, path: list[str]
    ) -> None:
        found = da_score(*path)
        shown = found.out + found.err
        assert found.status in (0, 2)
        assert "\nCommands:\n" in shown
        assert "error" not in shown


class TestHelpCommand:
    @pytest.mark.parametrize(
        "path",
        [[], ["work"], ["close-task"], ["label"], ["log", "lint"], ["lint"]],
        ids=lambda path: " ".join(path) or "alone",
    )
    def test_prints_what_the_option_prints(
        self, da_score: DaScore, path: list[str]
    ) -> None:
        assert da_score("help", *path) == da_score(*path, "--help")
        assert da_score("help", *path, "-h") == da_score(*path, "--help")

    def test_may_come_any_number_of_times(self, da_score: DaScore) -> None:
        assert da_score(*["help"] * 2000, "work") == da_score("work", "--help")

    def test_of_an_unknown_command_is_an_error(self, da_score: DaScore) -> None:
        found = da_score("help", "wrok")
        assert (found.status, found.out) == (2, "")
        assert "No such command 'wrok'. Did you mean 'work'?" in found.err

    def test_is_a_word_like_any_other_after_a_command(self, da_score: DaScore) -> None:
        found = da_score("cost", "help")
        assert (found.status, found.out) == (2, "")
        assert "'help' names no days" in found.err


class TestOldNames:
    def test_are_not_shown(self, da_score: DaScore) -> None:
        shown = da_score("--help").out
        for name in OLD_NAMES:
            assert not re.search(rf"^ +{name} ", shown, re.MULTILINE)

    @pytest.mark.usefixtures("scored")
    @pytest.mark.parametrize(
        "arguments",
        [
            ("lint", "--json"),
            ("records", "--last", "1"),
            ("schema", "entry"),
            ("entry", "set", "1", "impl.retries", "x"),
            ("integrity", "--no-cache"),
            ("signals", "--last", "1", "--no-cache"),
        ],
        ids=" ".join,
    )
    def test_do_what_they_did(
        self, da_score: DaScore, arguments: tuple[str, ...]
    ) -> None:
        assert arguments[0] in OLD_NAMES
        assert da_score(*arguments) == da_score("log", *arguments)

    @pytest.mark.parametrize("name", OLD_NAMES)
    def test_are_named_in_errors_as_they_were_typed(
        self, da_score: DaScore, name: str
    ) -> None:
        assert f"(see 'da-score {name} --help')" in da_score(name, "--nothing").err
        assert (
            f"(see 'da-score log {name} --help')"
            in da_score("log", name, "--nothing").err
        )


class TestMistypedWords:
    @pytest.mark.parametrize(
        ("words", "meant"),
        [
            (["exlpain"], "explain"),
            (["recods"], "log records"),
            (["log", "recods"], "records"),
            (["log", "lnit"], "lint"),
        ],
    )
    def test_get_a_suggestion(
        self, da_score: DaScore, words: list[str], meant: str
    ) -> None:
        found = da_score(*words)
        assert found.status == 2
        assert f"No such command {words[-1]!r}. Did you mean {meant!r}?" in found.err

    def test_get_none_that_is_far_away(self, da_score: DaScore) -> None:
        assert "Did you mean" not in da_score("log", "explain").err

    @pytest.mark.parametrize("word", ["status", "remove"])
    def test_that_are_like_no_command_of_a_group_get_all_it_has(
        self, da_score: DaScore, word: str
    ) -> None:
        found = da_score("hook", word)
        assert found.status == 2
        commands = "install, record, show, uninstall"
        assert f"No such command {word!r}. The commands are {commands}." in found.err


class TestVersion:
    def test_names_the_program_and_the_rubric(self, da_score: DaScore) -> None:
        found = da_score("--version")
        assert (found.status, found.err) == (0, "")
        assert re.fullmatch(
            r"da-score \d+\.\d+\.\d+ \(default rubric 2\.1\.0\)\n", found.out
        )
