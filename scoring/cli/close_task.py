"""``da-score close-task``: the hook of harnesses, which never stops an agent or holds it up."""

import contextlib
import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import click

from scoring.errors import InputError, LogError, SettingsError
from scoring.evidence.git.repository import GitRepository
from scoring.evidence.rules import rules_of
from scoring.frozen import PlainData, Texts
from scoring.jobs.close_task import ClosedTask, close_task
from scoring.jobs.hook_input import HookInput, parse_hook_input, read_hook_input
from scoring.log.find import holds_entries
from scoring.log.settings import Settings, resolve_settings
from scoring.paths import real_path
from scoring.text import printable
from scoring.views.table import number

from .options import SCORING_OPTIONS, Number, flag, shared_options, valued
from .output import reply, warn
from .reading import observing_sources, rubric_of, sources
from .work_reading import score_words

_SECONDS_BETWEEN_SIGNALS = 1.0
"""The deadline is signalled again after each second: an exception in a callback may be lost."""

_NUMBER = re.compile(r"-?[0-9]{1,18}|[0-9]{19}")


class _GaveUp(BaseException):
    """The deadline of the hook has passed."""


@click.command
@click.argument("arguments", nargs=-1, metavar="[N] [HOOK-JSON]")
@shared_options(*SCORING_OPTIONS, "derive")
@click.option(
    "--recompute",
    "--score-recompute",
    "score_recompute",
    default="current",
    metavar="current|recent-K|all",
    help="Which iterations to score again, in addition to those of the session without a score.",
)
@valued(
    "--timeout",
    "SECONDS",
    "When to give up.",
    type=Number(0, 86400, min_open=True),
    default=20.0,
)
@flag("--strict", "Exit 1 when the task could not be scored.")
def command(
    arguments: Texts,
    options: PlainData,
    score_recompute: str,
    timeout: float,
    strict: bool,  # noqa: ARG001 - main() reads it, since it counts for wrong options too
) -> int:
    """Score the iteration that was just closed, and its session.

    That is iteration N, by default the highest. Agent harnesses run this command after every
    task. It reads the harness's JSON from standard input or from the last argument: "cwd" names
    the repository, "transcript_path" a folder of transcripts. It always exits with 0, and prints
    one line of warning when something went wrong; with --strict it then exits with 1. It gives up
    after --timeout. With the setting derive, commits of the session without an entry get theirs
    first.

    Example:  echo '{"cwd": "/home/me/app"}' | da-score close-task --json
    """
    warnings: list[str] = []
    broken: list[LogError] = []

    with _deadline(timeout):
        iteration, hook = _parse_arguments(arguments)
        if hook.stop_hook_active:
            return 0

        settings = _settings_for(hook, options)
        hinted = _hinted_folders(hook, settings)
        derived = None
        of_work = None
        if settings.derive and iteration is None:
            # loads every harness, which takes 0.04 s
            from scoring.jobs.derive import derive

            # Where the harness does not name the session, the commits of all sessions get entries.
            of_work = observing_sources(settings, warnings.append, hinted)
            derived = derive(settings.iter_log_dir, of_work, session=hook.session_id)
            count = len(derived.written)
            if not holds_entries(settings.iter_log_dir):
                _warn_in_one_line(warnings)
                return 0
            if count and score_recompute == "current":
                score_recompute = f"recent-{count}"

        rubric = rubric_of(settings)
        evidence = of_work
        if evidence is None or evidence.rules != rules_of(rubric):
            evidence = sources(settings, warn=warnings.append, hinted=hinted)
        work = derived.work if derived and evidence is of_work else None
        log_dir = settings.iter_log_dir
        closed = close_task(
            log_dir, evidence, rubric, iteration, score_recompute, broken.append, work
        )

    reply(settings, closed._asdict(), _text(closed, settings))
    _warn_in_one_line([*warnings, *map(str, broken)])
    return 1 if broken else 0


def _warn_in_one_line(problems: list[str]) -> None:
    """Print all problems as one warning, each once, or nothing without any."""
    if problems:
        warn("; ".join(dict.fromkeys(problems)))


@contextlib.contextmanager
def _deadline(seconds: float) -> Iterator[None]:
    """Run a block of code, and end it if it takes longer than so many seconds.

    Raises:
        SettingsError: the time is over.
        click.Abort: the block was interrupted.
    """

    def give_up(*_: object) -> None:
        raise _GaveUp

    previous_handler = signal.signal(signal.SIGALRM, give_up)
    try:
        try:
            signal.setitimer(signal.ITIMER_REAL, seconds, _SECONDS_BETWEEN_SIGNALS)
            yield
        finally:  # inside the outer ``try``, since the timer may still fire here
            signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt as e:
        raise click.Abort from e  # click would print an empty line first
    except _GaveUp as e:
        raise SettingsError(
            f"close-task gave up after {seconds:g} s; allow it more with --timeout"
        ) from e
    finally:
        signal.signal(signal.SIGALRM, previous_handler)


def _parse_arguments(arguments: Texts) -> tuple[int | None, HookInput]:
    """Return the iteration, or None if no argument is a number, and what the harness says.

    Of several JSON arguments the last counts. Without one, what the harness says is read from
    standard input.

    Raises:
        InputError: the JSON is not a whole object.
        SettingsError: an argument is neither a number nor JSON, or is a second number.
    """
    iteration: int | None = None
    hook: HookInput | None = None

    for argument in arguments:
        if argument.lstrip().startswith("{"):
            hook = parse_hook_input(argument)
        elif iteration is None and _NUMBER.fullmatch(argument):
            iteration = int(argument)
        else:
            raise SettingsError(
                f"argument {argument!r} is neither an iteration nor the harness's JSON"
            )

    if hook is None:
        hook = read_hook_input() or HookInput()
    return iteration, hook


def _settings_for(hook: HookInput, options: PlainData) -> Settings:
    """Return the settings for the repository that the command line names, or else the harness.

    If neither names one, the settings decide, as they do for any command.

    Raises:
        InputError: the folder that the harness names does not exist.
        GitError: that folder is not in a git work tree.
        SettingsError: a setting cannot be used.
    """
    if hook.cwd is None or options.get("repo-dir"):
        return resolve_settings(options)
    # unlike Path.is_dir, this takes whatever a harness may say
    if not os.path.isdir(hook.cwd):
        raise InputError(f"{hook.cwd}: the harness's cwd is not a directory")
    return resolve_settings(options | {"repo-dir": GitRepository(hook.cwd).top_level})


def _hinted_folders(hook: HookInput, settings: Settings) -> list[Path]:
    """Return the transcript folders that exist and that the harness names, but not the settings."""
    folders: dict[str, Path] = {}
    for folder in hook.transcript_dirs:
        if os.path.isdir(folder):  # which also takes names that no file can have
            folders.setdefault(real_path(folder), folder)

    for folder in settings.transcript_dirs:
        folders.pop(real_path(folder), None)
    return list(folders.values())


def _text(closed: ClosedTask, settings: Settings) -> str:
    """Return the score and where it is kept, in one line."""
    words = score_words(settings, closed.rubric_version, closed.band)
    score = f"{words.name} {number(closed.value, closed.scored)}"
    if words.band:
        score += f"  {words.band}"

    path = printable(closed.sidecar_path)
    return f"iteration {closed.iteration}  {score}  → {path}\n"
