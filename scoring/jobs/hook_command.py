"""The command that a hook runs: where it is, and whether it runs.

A harness may start hooks without the virtual environment of the project, so the command has an absolute path.
"""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from scoring.errors import InputError

PROGRAM = "da-score"
_SECONDS = 30


def hook_command() -> str:
    """Return the command line that scores a task, with the absolute path of the program that runs now.

    Raises:
        InputError: there is no such program.
    """
    beside = Path(sys.argv[0]) if os.path.basename(sys.argv[0]) == PROGRAM else Path(sys.executable).with_name(PROGRAM)
    found = shutil.which(os.path.abspath(beside)) or shutil.which(PROGRAM)
    if found is None:
        raise InputError(f"there is no program {PROGRAM} beside {sys.executable} nor on the path: install da-score")
    return f"{shlex.quote(os.path.abspath(found))} close-task"


def why_it_does_not_run(command: str) -> str:
    """Run the program of a hook once, for its help; return why that fails, "" when it does not."""
    try:
        words = shlex.split(command)
    except ValueError as e:
        return f"{command!r} is no command line: {e}"
    place = next((n for n, word in enumerate(words) if os.path.basename(word) == PROGRAM), None)
    if place is None:
        return f"{command!r} does not name {PROGRAM}"
    program = words[place]
    if shutil.which(program) is None:
        where = "is not there, or not executable" if "/" in program else "is not on the path"
        return f"{program} {where}"
    try:
        how = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
        done = subprocess.run([program, "close-task", "--help"], timeout=_SECONDS, check=False, **how)  # type: ignore[call-overload]
    except (OSError, subprocess.TimeoutExpired) as e:
        return f"{program} does not run: {e}"
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        return f"{program} ends with status {done.returncode}{f': {said[-1]}' if said else ''}"
    return ""
