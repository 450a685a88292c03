"""The command that a hook runs: where it is, whether it runs, and how it leaves a settings file without a trace.

A harness starts hooks with the environment that it was started with, in which a virtual environment need not be. So
what is installed is the absolute path of the command that installs it, and it is run once before.
"""

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from scoring.errors import InputError
from scoring.files import read_file
from scoring.jobs.hook_install import BACKUP_SUFFIX, HookChange, commands_in, uninstall_hook

PROGRAM = "da-score"
_SECONDS = 30


def hook_command() -> str:
    """Return the command line that scores a task, with the absolute path of the program that runs now.

    Raises:
        InputError: no program of this name is to be found.
    """
    beside = Path(sys.argv[0]) if os.path.basename(sys.argv[0]) == PROGRAM else Path(sys.executable).with_name(PROGRAM)
    found = shutil.which(os.path.abspath(beside)) or shutil.which(PROGRAM)
    if found is None:
        raise InputError(f"there is no program {PROGRAM} beside {sys.executable} nor on the path: install da-score")
    return f"{shlex.quote(os.path.abspath(found))} close-task"


def why_it_does_not_run(command: str) -> str:
    """Run the program of a hook once, for nothing but its help; return why that fails, "" when it does not."""
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


def hooks_that_do_not_run(path: Path) -> Iterator[str]:
    """Yield why a hook of a settings file does not run, for each that does not; raises as :func:`commands_in`."""
    for command in dict.fromkeys(commands_in(path)):
        if why := why_it_does_not_run(command):
            yield why


def remove_hook(path: Path) -> HookChange:
    """Take the hook out of a settings file, and what installing it left behind; raises as :func:`uninstall_hook`.

    The copy of the former file goes; a file that only the hook was in goes too, where nothing was there before.
    """
    target = Path(os.path.realpath(path))
    backup = target.with_name(target.name + BACKUP_SUFFIX)
    was_there = backup.is_file()
    change = uninstall_hook(path)
    if not change.changed:
        return change
    backup.unlink(missing_ok=True)
    if not was_there and not path.is_symlink() and read_file(path).strip() == b"{}":
        path.unlink()
        if not any(path.parent.iterdir()):
            path.parent.rmdir()
    return replace(change, backup=None)
