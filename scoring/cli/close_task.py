"""``da-score close-task``: the hook. It never holds an agent up and never fails it."""

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from rubric import find_rubric
from scoring.cli.app import SCORING_OPTIONS, Number, shared_options
from scoring.cli.output import reply, warn
from scoring.cli.reading import sources
from scoring.errors import InputError, LogError, SettingsError
from scoring.evidence.git.repository import GitRepository
from scoring.evidence.rules import ATTRIBUTED
from scoring.jobs.close_task import close_task
from scoring.jobs.hook_input import HookInput, parse_hook_input, read_hook_input
from scoring.log.find import holds_entries
from scoring.log.settings import Settings, resolve_settings
from scoring.text import printable
from scoring.views.table import band_text, number

_AGAIN = 1.0  # after how many seconds the end of the time is signalled again


class _GaveUp(BaseException):
    """The time that the hook may take is over."""


@click.command(
    "close-task", epilog='Example:  echo \'{"cwd": "/home/me/app"}\' | da-score close-task --json'
)
@click.argument("arguments", nargs=-1, metavar="[N] [HOOK-JSON]")
@shared_options(*SCORING_OPTIONS, "derive")
@click.option(
    "--recompute",
    "--score-recompute",
    "score_recompute",
    default="current",
    show_default=True,
    metavar="current|recent-K|all",
    help="Which iterations to score anew, beside members of the session that have no score.",
)
@click.option(
    "--timeout",
    type=Number(0, 86400, min_open=True),
    default=20.0,
    show_default=True,
    metavar="SECONDS",
    help="When to give up.",
)
@click.option("--strict", is_flag=True, help="Exit 1 when the task could not be scored.")
def command(
    arguments: tuple[str, ...],
    options: dict[str, Any],
    score_recompute: str,
    timeout: float,
    strict: bool,
) -> int:
    """Score the iteration that was just closed (the highest, or N), and its session.

    Meant to be run by an agent harness after every task. Takes the harness's JSON from standard input or as the last
    argument: its cwd gives the repository, its transcript_path a folder of transcripts. Always exits 0, with one
    warning line when something went wrong (with --strict, 1), and gives up after --timeout. With the setting derive
    the commits of the session that ended get their entries first, where the log has none.
    """
    del strict  # main() reads it, because it is in force for wrong options too
    warnings: list[str] = []
    broken: list[LogError] = []
    with _deadline(timeout):
        iteration, hook = _hook_input(arguments)
        if hook.stop_hook_active:
            return 0
        settings = _settings(options, hook)
        hinted = _hinted(settings, hook)
        if (
            settings.derive and iteration is None
        ):  # a harness that does not name the session gets the entries of all
            from scoring.jobs.derive import derive  # loads every harness, 0.04 s

            places = sources(settings, ATTRIBUTED, warnings.append, hinted)
            derived = derive(settings.iter_log_dir, places, session=hook.session_id).written
            if not holds_entries(settings.iter_log_dir):
                return 0
            if derived and score_recompute == "current":
                score_recompute = f"recent-{len(derived)}"
        rubric = find_rubric(settings.rubric)
        places = sources(settings, warn=warnings.append, hinted=hinted)
        closed = close_task(
            settings.iter_log_dir, places, rubric, iteration, score_recompute, broken.append
        )
    score, path = number(closed.value, closed.scored), printable(str(closed.sidecar_path))
    text = f"iteration {closed.iteration}  score {score}  {band_text(closed.band)}  → {path}\n"
    reply(settings.json, closed.as_dict(), text)
    if said := [*warnings, *map(str, broken)]:
        warn("; ".join(said))
    return 1 if broken else 0


@contextlib.contextmanager
def _deadline(seconds: float) -> Iterator[None]:
    def give_up(*_: object) -> None:
        raise _GaveUp

    before = signal.signal(signal.SIGALRM, give_up)
    try:
        try:
            # Repeated, because an exception that is raised within a callback of the interpreter is lost.
            signal.setitimer(signal.ITIMER_REAL, seconds, _AGAIN)
            yield
        finally:  # the time may be over while it is switched off: that is caught below as well
            signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt as e:
        raise click.Abort from e  # click would print an empty line first
    except _GaveUp as e:
        raise SettingsError(
            f"close-task gave up after {seconds:g} s; allow it more with --timeout"
        ) from e
    finally:
        signal.signal(signal.SIGALRM, before)


def _hook_input(arguments: tuple[str, ...]) -> tuple[int | None, HookInput]:
    iteration: int | None = None
    hook: HookInput | None = None
    for argument in arguments:
        if argument.lstrip().startswith("{"):
            hook = parse_hook_input(argument)
        elif (
            iteration is None
            and argument.isascii()
            and argument.removeprefix("-").isdigit()
            and len(argument) < 20
        ):
            iteration = int(argument)
        else:
            raise SettingsError(
                f"argument {argument!r} is neither an iteration nor the harness's JSON"
            )
    return iteration, hook or read_hook_input() or HookInput()


def _settings(options: dict[str, Any], hook: HookInput) -> Settings:
    if hook.cwd is None or options.get("repo-dir"):
        return resolve_settings(options)
    if not os.path.isdir(hook.cwd):  # unlike Path.is_dir, this takes whatever a harness may say
        raise InputError(f"{hook.cwd}: the harness's cwd is no directory")
    return resolve_settings(options | {"repo-dir": GitRepository(hook.cwd).top_level})


def _hinted(settings: Settings, hook: HookInput) -> list[Path]:
    known = set(map(os.path.realpath, settings.transcript_dirs))
    found: dict[str, Path] = {}
    for folder in filter(os.path.isdir, hook.transcript_dirs):
        found.setdefault(os.path.realpath(folder), folder)
    return [folder for real, folder in found.items() if real not in known]
