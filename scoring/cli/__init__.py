"""The command line, ``da-score``: one small file per command.

A command parses, calls one library function and prints; what it prints is in :mod:`scoring.cli.tables` (on a pipe the
reference's text, byte for byte) and :mod:`scoring.cli.screen` (on a terminal).
"""

import contextlib
import errno
import os
import sys
import traceback
from collections.abc import Callable, Sequence

import click

from rubric import DaScoreError
from scoring.cli.app import COMMANDS, COMPLETION_VARIABLE, PROGRAM, cli
from scoring.cli.output import complain, warn, write
from scoring.errors import MeetingError

EXIT_OK, EXIT_ERROR, EXIT_USAGE, EXIT_INTERRUPTED = 0, 1, 2, 130
TRACEBACK_VARIABLE = "DA_SCORE_TRACEBACK"
HOOK = "close-task"
"""The command that a harness runs, and that must never fail it: an exit status of 2 reads as "block" there."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit status: 0 done, 1 an error, 2 wrong usage, 130 interrupted.

    The hook returns 0 whatever happens, and 1 instead of any failure with ``--strict``.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    if next((argument for argument in arguments if argument in COMMANDS), None) != HOOK:
        return _run(arguments, complain)
    strict = "--strict" in arguments
    try:
        status = _run(arguments, complain if strict else warn)
    except Exception:  # somebody asked for the traceback, and the harness must still not fail
        traceback.print_exc()
        status = EXIT_ERROR
    return EXIT_ERROR if status and strict else EXIT_OK


def _run(arguments: Sequence[str], say: Callable[[str], None]) -> int:
    try:
        status = cli.main(arguments, prog_name=PROGRAM, standalone_mode=False)
        if sys.stdout is not None:
            sys.stdout.flush()
    except click.exceptions.NoArgsIsHelpError as e:
        write(e.format_message() + "\n")
        return EXIT_OK
    except click.UsageError as e:
        help_command = e.ctx.command_path if e.ctx else PROGRAM
        say(f"{e.format_message()} (see '{help_command} --help')")
        return EXIT_USAGE
    except click.ClickException as e:
        say(e.format_message())
        return EXIT_ERROR
    except (click.Abort, KeyboardInterrupt):
        say("interrupted")
        return EXIT_INTERRUPTED
    except MeetingError as e:
        for fault in e.faults:
            say(fault)
        return EXIT_ERROR
    except DaScoreError as e:
        say(str(e))
        return EXIT_ERROR
    except SystemExit as e:
        if COMPLETION_VARIABLE in os.environ:  # a shell was given its completions
            return e.code if isinstance(e.code, int) else EXIT_OK
        _let_go_of_output()  # click ends like this when the reader of its output is gone
        return EXIT_OK
    except BrokenPipeError:
        _let_go_of_output()
        return EXIT_OK
    except Exception as e:
        if isinstance(e, OSError) and e.errno == errno.ENOSPC:
            say("standard output: no space left on device")
            return EXIT_ERROR
        # A bug must look like one, and still not throw a traceback at a user.
        if os.environ.get(TRACEBACK_VARIABLE):
            raise
        say(f"internal error, please report it: {type(e).__name__}: {e} ({TRACEBACK_VARIABLE}=1 shows where)")
        return EXIT_ERROR
    return status if isinstance(status, int) else EXIT_OK


def _let_go_of_output() -> None:
    """Give standard output nowhere to go: its reader has seen enough, and Python would complain when it flushes."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def run() -> None:
    """Run the command line of this process, and end the process with its status."""
    sys.exit(main())
