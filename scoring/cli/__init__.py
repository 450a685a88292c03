"""The command line, ``da-score``: a small file a command, which parses, calls a function and shows what it returns."""

import contextlib
import errno
import gc
import os
import re
import signal
import sys
from collections.abc import Callable, Sequence

import click

from rubric import DaScoreError
from scoring.cli.group import COMPLETION_VARIABLE, PROGRAM, cli
from scoring.cli.helptext import COMMANDS
from scoring.cli.output import WARNINGS, complain, warn, write
from scoring.errors import LogError, MeetingError, OptionError

EXIT_OK, EXIT_ERROR, EXIT_USAGE, EXIT_INTERRUPTED = 0, 1, 2, 130
TRACEBACK_VARIABLE = "DA_SCORE_TRACEBACK"
_OBJECTS = 400_000  # how many objects are made before cycles are looked for: a command makes many, and most have none
_BREAK = re.compile(r"\s*\n\s*")
HOOK = "close-task"  # a harness runs it and must not fail: there, an exit status of 2 means "block"


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit status: 0 done, 1 an error, 2 wrong usage, 130 interrupted.

    The hook returns 0 whatever happens, and 1 instead of any failure with ``--strict``.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    if next((argument for argument in arguments if argument in COMMANDS), None) != HOOK:
        return _run(arguments, complain)
    strict = "--strict" in arguments
    faults: list[str] = []
    try:
        status = _run(arguments, faults.append)
        if faults:
            (complain if strict else warn)("; ".join(faults))
    except Exception:  # even where a traceback was asked for, the harness must not fail
        sys.excepthook(*sys.exc_info())
        status = EXIT_ERROR
    return EXIT_ERROR if status and strict else EXIT_OK


def _run(arguments: Sequence[str], report: Callable[[str], None]) -> int:
    WARNINGS.quiet = WARNINGS.verbose = False
    WARNINGS.holds = True
    try:
        status = cli.main(arguments, prog_name=PROGRAM, standalone_mode=False)
        if sys.stdout is not None:
            sys.stdout.flush()
    except click.exceptions.NoArgsIsHelpError as e:
        write(e.format_message() + "\n")
        return EXIT_OK
    except click.UsageError as e:
        help_command = e.ctx.command_path if e.ctx else PROGRAM
        message = _BREAK.sub(" ", e.format_message())  # click lists choices a line each
        report(f"{message} (see '{help_command} --help')")
        return EXIT_USAGE
    except click.ClickException as e:
        report(e.format_message())
        return EXIT_ERROR
    except (click.Abort, KeyboardInterrupt):
        report("interrupted")
        return EXIT_INTERRUPTED
    except DaScoreError as e:
        for fault in e.faults if isinstance(e, LogError | MeetingError) else [str(e)]:
            report(fault)
        return EXIT_USAGE if isinstance(e, OptionError) else EXIT_ERROR
    except SystemExit as e:
        if COMPLETION_VARIABLE in os.environ:  # the shell asked for completions
            return e.code if isinstance(e.code, int) else EXIT_OK
        _discard_output()  # click ends like this when the reader of its output is gone
        return EXIT_OK
    except BrokenPipeError:
        _discard_output()
        return EXIT_OK
    except Exception as e:
        if isinstance(e, OSError) and e.errno == errno.ENOSPC:
            report("standard output: no space left on device")
            return EXIT_ERROR
        if isinstance(e, FileNotFoundError) and not e.filename:  # as tempfile says it
            report(
                "no folder for temporary files can be written to; make room, or set TMPDIR to one"
            )
            return EXIT_ERROR
        if isinstance(e, PermissionError) and e.filename:
            report(f"{e.filename}: permission denied")
            return EXIT_ERROR
        # A bug must be recognisable as one, without a traceback that a user cannot read.
        if os.environ.get(TRACEBACK_VARIABLE) or WARNINGS.verbose:
            raise
        report(
            f"internal error, please report it: {type(e).__name__}: {e} ({TRACEBACK_VARIABLE}=1 shows where)"
        )
        return EXIT_ERROR
    finally:
        WARNINGS.hold_no_longer()
    return status if isinstance(status, int) else EXIT_OK


def _discard_output() -> None:
    """Point standard output at nothing: its reader is gone, and Python would complain when it flushes at the end."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def run() -> None:
    """Run the command line of this process, and end the process with its status."""
    gc.set_threshold(_OBJECTS, 20, 20)
    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:  # as it was while this was loaded
        signal.signal(signal.SIGINT, signal.default_int_handler)
    status = main()
    gc.freeze()  # all that is left goes with the process: no search for cycles in it
    sys.exit(status)
