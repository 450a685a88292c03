"""The command group, and the options that commands share."""

import functools
import importlib
import math
from collections.abc import Callable
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from rubric.names import RUBRIC_VERSION
from scoring.cli.helptext import COMMANDS, GROUPS, HelpfulContext, with_its_help
from scoring.cli.output import WARNINGS
from scoring.errors import SettingsError
from scoring.log.selection import Selection
from scoring.log.settings import DEFAULT_LOG_DIR, Settings, resolve_settings

PROGRAM = "da-score"
COMPLETION_VARIABLE = "_DA_SCORE_COMPLETE"


class _LazyGroup(click.Group):
    context_class = HelpfulContext

    def format_commands(self, _: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands in their groups, each summary whole."""
        formatter.write("\nCommands:\n")
        for title, summaries in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl(list(summaries.items()))

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Offer commands with their summaries, and options."""
        commands = [CompletionItem(name, help=text) for name, text in COMMANDS.items() if name.startswith(incomplete)]
        return [*commands, *click.Command.shell_complete(self, ctx, incomplete)]

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"scoring.cli.{cmd_name.replace('-', '_')}").command
        return with_its_help(command, _EVERYWHERE)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            meant = "".join(f" Did you mean {name!r}?" for name in get_close_matches(args[0], COMMANDS, 1))
            ctx.fail(f"No such command {args[0]!r}.{meant}")
        return super().resolve_command(ctx, args)


def _print_version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        from importlib.metadata import version  # takes long to load

        click.echo(f"{PROGRAM} {version(PROGRAM)} (default rubric {RUBRIC_VERSION})")
        ctx.exit()


def _loudness(name: str) -> Callable[[click.Context, click.Parameter, bool], None]:
    def set_it(_: click.Context, __: click.Parameter, wanted: bool) -> None:
        if wanted:
            setattr(WARNINGS, name, True)

    return set_it


def loudness_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``-q`` and ``-v``, which act by themselves."""
    how: dict[str, Any] = {"is_flag": True, "expose_value": False}
    quiet = click.option("-q", "--quiet", callback=_loudness("quiet"), help="Say no warnings.", **how)
    verbose = click.option("-v", "--verbose", callback=_loudness("verbose"), help="Say every warning by itself.", **how)
    return quiet(verbose(command))


@click.group(
    cls=_LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog="Example:  da-score run --last 5",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON; may also be given after the command.")
@click.option(
    "--version", is_flag=True, expose_value=False, is_eager=True, callback=_print_version, help="Print the version."
)
@loudness_options
@click.pass_context
def cli(ctx: click.Context, as_json: bool) -> None:
    """Score how good each iteration of a coding agent's work really was.

    Scores come from an iteration log and from evidence beside it: git, verification artifacts, hook outcomes and agent
    transcripts. Settings that are not given here are taken from DA_SCORE_* variables, .agents/da-score.toml and
    [tool.da-score] in pyproject.toml.
    """
    ctx.obj = {"json": as_json}


BROKEN = "da-score.broken"
"""Where the context of a command keeps which entries it left out because they cannot be read."""


@cli.result_callback()
def _status(status: object, **_: object) -> object:
    """Return the exit status of a command: 1 where it had to leave out entries."""
    return 1 if click.get_current_context().meta.get(BROKEN) else status


class Number(click.FloatRange):
    """The type of an option that takes a number in a range; not-a-number is in none."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return a value as a number; raise click's error where it is none in the range."""
        try:
            is_number = not math.isnan(float(value))  # every comparison with it is false, so a range lets it through
        except ValueError:
            is_number = False
        if not is_number:
            self.fail(f"{value!r} is not a number.", param, ctx)
        number: float = super().convert(value, param, ctx)
        return number


class Whole(click.IntRange):
    """The type of an option or argument that takes a whole number in a range."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return a value as a whole number; raise click's error where it is none in the range."""
        try:
            number: int = super().convert(int(value), param, ctx)
        except ValueError:
            self.fail(f"{value!r} is not a whole number.", param, ctx)
        return number


SHARE = Number(0, 1)
"""The type of an option that takes a number from 0 to 1."""

PATH = click.Path(path_type=Path)
_FOLDER: dict[str, Any] = {"type": PATH, "metavar": "DIR"}
_OPTIONS: dict[str, dict[str, Any]] = {
    "iter-log-dir": _FOLDER | {"help": f"The iteration log.  [default: {DEFAULT_LOG_DIR} in the repository]"},
    "repo-dir": _FOLDER | {"help": "The git repository that the log is about.  [default: the current directory]"},
    "transcript-dir": _FOLDER
    | {"multiple": True, "help": "A folder of agent transcripts, all of which count; may be given several times."},
    "transcripts": {
        "metavar": "auto|none",
        "help": "Where no folder is given: auto takes this repository's sessions from the default transcript "
        "directories, none takes none.  [default: auto from rubric 2.3.0 on]",
    },
    "trunk": {
        "metavar": "REF",
        "help": "The branch on which work lands, from rubric 2.3.0 on.  "
        "[default: the remote's default branch, or main]",
    },
    "worktrees": {
        "multiple": True,
        "metavar": "GLOB",
        "help": "Folders where work trees of the repository may have been, where rubrics attribute; may be given "
        "several times.",
    },
    "test-commands": {
        "multiple": True,
        "metavar": "COMMAND",
        "help": "How a command begins that runs tests here, beside the known tools; may be given several times.",
    },
    "code-globs": {
        "multiple": True,
        "metavar": "GLOB",
        "help": "Which files are code, for outcomes; may be given several times.  [default: known source files]",
    },
    "fix-words": {
        "multiple": True,
        "metavar": "WORD",
        "help": "A word that the subject of a fix has, for outcomes; may be given several times.  "
        "[default: fix, bug, revert and the like]",
    },
    "horizon": {
        "metavar": "TIME",
        "help": "How long work is watched after it landed, for outcomes, as in 14d, 2w or 36h.  [default: 14d]",
    },
    "rubric": {"metavar": "VERSION|FILE", "help": "The rubric to score under: a released version or a rubric file."},
    "cache-dir": _FOLDER
    | {"help": "Where what was read from transcripts and git is cached.  [default: the user's cache directory]"},
    "no-cache": {"is_flag": True, "default": None, "help": "Read everything again and cache nothing."},
    "processes": {
        "type": Whole(1),
        "metavar": "N",
        "help": "How many processes read and score, git not counted.  [default: as many as are worth it]",
    },
    "derive": {
        "is_flag": True,
        "default": None,
        "help": "First write an entry for every commit of the session that ended and has none.",
    },
    "json": {"is_flag": True, "default": None, "help": "Print JSON."},
}


_EVERYWHERE = {*_OPTIONS, "quiet", "verbose"}
"""The names of the options that commands share."""


def shared_options(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add some of the shared options to a command, which gets them as ``options``, by long name.

    ``--json`` is always among them, and counts before and after the command.
    """

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(command)
        def with_options(**arguments: Any) -> Any:
            given = {key: arguments.pop(key.replace("-", "_")) for key in (*names, "json")}
            _is_folder(given.get("repo-dir"))
            context = click.get_current_context()
            given["json"] = given["json"] or (context.find_root().obj or {}).get("json") or None
            return command(options=given, **arguments)

        for name in ("json", *reversed(names)):
            with_options = click.option(f"--{name}", **_OPTIONS[name])(with_options)
        return loudness_options(with_options)

    return decorate


def _is_folder(repository: Path | None) -> None:
    """Make sure that a repository which was named is a folder, before something in it is missed."""
    if repository is not None and not repository.is_dir():
        wrong = "is no folder" if repository.exists() else "there is no such folder"
        raise SettingsError(f"--repo-dir {str(repository)!r}: {wrong}; name the repository that the log is about")


def settings_options(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add some of the shared options to a command, which gets the resolved ``settings``."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(command)
        def with_settings(options: dict[str, Any], **arguments: Any) -> Any:
            settings: Settings = resolve_settings(options)
            return command(settings=settings, **arguments)

        return shared_options(*names)(with_settings)

    return decorate


def selection_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that choose among the entries of a log; the command gets their ``selection``."""

    @functools.wraps(command)
    def with_selection(last: int | None, since: str | None, task: str | None, **arguments: Any) -> Any:
        return command(selection=Selection.of(last, since, task), **arguments)

    for name, options in reversed(_SELECTION.items()):
        with_selection = click.option(f"--{name}", **options)(with_selection)
    return with_selection


_SELECTION: dict[str, dict[str, Any]] = {
    "last": {"type": Whole(1), "metavar": "K", "help": "The K newest iterations only."},
    "since": {"metavar": "DATE", "help": "Only iterations of this day (YYYY-MM-DD) or later."},
    "task": {"metavar": "ID", "help": "Only iterations of this task; * and ? stand for any characters."},
}

LOG_OPTIONS = ("iter-log-dir", "repo-dir")
EVIDENCE_OPTIONS = (
    *(*LOG_OPTIONS, "transcript-dir", "transcripts", "trunk", "worktrees", "test-commands"),
    *("cache-dir", "no-cache", "processes"),
)
SCORING_OPTIONS = (*EVIDENCE_OPTIONS, "rubric")
OUTCOME_OPTIONS = ("code-globs", "fix-words", "horizon")
