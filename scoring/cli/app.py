"""The options that commands share."""

import functools
import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from scoring.cli.group import loudness_options
from scoring.errors import SettingsError
from scoring.files import remove_stale, remove_stale_directories
from scoring.log.selection import Selection
from scoring.log.setting_rows import COUNT, SETTINGS, SettingRow
from scoring.log.setting_rows import PATH as SETTING_PATH
from scoring.log.settings import Settings, resolve_settings
from scoring.settings_table import FLAG, ListOf

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


class _SameContext(click.Context):
    @property
    def command_path(self) -> str:
        return self.parent.command_path if self.parent else ""


class OwnCommand(click.Command):
    """What an :class:`OwnGroup` does itself, with the help of the group."""

    context_class = _SameContext

    def get_help(self, ctx: click.Context) -> str:
        """Return the help of the group."""
        return ctx.parent.get_help() if ctx.parent else ""


class OwnGroup(click.Group):
    """A group that does something itself: words that name none of its commands are arguments of its ``own`` command."""

    def __init__(self, own: click.Command, usage: str, **more: Any) -> None:
        super().__init__(**more, context_settings={"ignore_unknown_options": True})
        self.own, self.usage = own, usage

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the first word names, but for --json, else its own."""
        if args[:1] == ["--json"] and args[1:] and args[1] in self.commands:
            args = [args[1], args[0], *args[2:]]
        return (
            super().resolve_command(ctx, args)
            if args[0] in self.commands
            else (self.name, self.own, args)
        )

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return how it is called."""
        return [f"{self.usage} [OPTIONS]", "| COMMAND [ARGS]..."]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options of its own command, then the commands."""
        self.own.format_options(ctx, formatter)
        self.format_commands(ctx, formatter)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> "list[CompletionItem]":
        """Offer the commands, and what its own argument may be."""
        arguments = (
            [] if incomplete.startswith("-") else self.own.params[0].shell_complete(ctx, incomplete)
        )
        return [*super().shell_complete(ctx, incomplete), *arguments]


class Number(click.FloatRange):
    """The type of an option that takes a number in a range; not-a-number is in none."""

    name = "number"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return a value as a number; raise click's error where it is none in the range."""
        number: float = super().convert(value, param, ctx)
        if math.isnan(number):  # every comparison with it is false, so a range lets it through
            self.fail(f"{value!r} is not a valid number.", param, ctx)
        return number


class Whole(click.IntRange):
    """The type of an option or argument that takes a whole number in a range."""

    name = "whole number"


SHARE = Number(0, 1)
PATH = click.Path(path_type=Path)


def _option(setting: SettingRow) -> dict[str, Any]:
    if setting.kind == FLAG:
        return {"is_flag": True, "default": None, "help": setting.help}
    kind = PATH if setting.item is SETTING_PATH else Whole(1) if setting.kind == COUNT else None
    several = isinstance(setting.kind, ListOf)
    return {"type": kind, "metavar": setting.metavar, "multiple": several, "help": setting.help}


_OPTIONS = {name: _option(setting) for name, setting in SETTINGS.items()}


def shared_options(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add ``--json`` and some of the shared options to a command, which gets them as ``options``, by long name."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(command)
        def with_options(**arguments: Any) -> Any:
            given = {key: arguments.pop(key.replace("-", "_")) for key in (*names, "json")}
            repository = given.get("repo-dir")
            if repository is not None and not repository.is_dir():
                wrong = "is no folder" if repository.exists() else "there is no such folder"
                raise SettingsError(
                    f"--repo-dir {str(repository)!r}: {wrong}; name the repository of the log"
                )
            context = click.get_current_context()
            given["json"] = given["json"] or (context.find_root().obj or {}).get("json") or None
            return command(options=given, **arguments)

        for name in ("json", *reversed(names)):
            with_options = click.option(f"--{name}", **_OPTIONS[name])(with_options)
        return loudness_options(with_options)

    return decorate


def settings_options(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add some of the shared options to a command, which gets the resolved ``settings``."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @shared_options(*names)
        @functools.wraps(command)
        def with_settings(options: dict[str, Any], **arguments: Any) -> Any:
            return command(settings=swept(resolve_settings(options)), **arguments)

        return with_settings

    return decorate


def swept(settings: Settings) -> Settings:
    """Return settings, and remove what commands that were killed left in the temporary directory and in the log."""
    remove_stale_directories()
    remove_stale(settings.iter_log_dir)
    return settings


def selection_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that choose among the entries of a log; the command gets their ``selection``."""

    @functools.wraps(command)
    def with_selection(
        last: int | None, since: str | None, task: str | None, **arguments: Any
    ) -> Any:
        return command(selection=Selection.of(last, since, task), **arguments)

    for name, options in reversed(_SELECTION.items()):
        with_selection = click.option(f"--{name}", **options)(with_selection)
    return with_selection


_SELECTION: dict[str, dict[str, Any]] = {
    "last": {"type": Whole(1), "metavar": "K", "help": "The K newest iterations only."},
    "since": {"metavar": "DATE", "help": "Only iterations of this day (YYYY-MM-DD) or later."},
    "task": {
        "metavar": "ID",
        "help": "Only iterations of this task; * and ? stand for any characters.",
    },
}

LOG_OPTIONS = ("iter-log-dir", "repo-dir")
EVIDENCE_OPTIONS = (
    *(*LOG_OPTIONS, "transcript-dir", "transcripts", "trunk", "worktrees", "test-commands"),
    *("cache-dir", "no-cache", "processes"),
)
SCORING_OPTIONS = (*EVIDENCE_OPTIONS, "rubric")
OUTCOME_OPTIONS = ("code-globs", "fix-words", "horizon")
