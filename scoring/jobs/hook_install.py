"""Puts the close-task hook into a harness's settings, and takes it out again.

All else in such a file stays, a copy is kept, and taking the hook out gives back its bytes.
"""

import contextlib
import json
import os
import re
import shlex
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scoring.errors import InputError, WriteError
from scoring.evidence.harnesses.harness import Hook
from scoring.evidence.harnesses.readers import ATTRIBUTED_HARNESSES
from scoring.files import is_inside, make_folder, read_file, reason, write_atomically

PROGRAM = "da-score"
HOOKS = {harness.name: harness.hook for harness in ATTRIBUTED_HARNESSES}
"""How each harness runs the hook; None where it cannot."""
USUAL = Hook("", quiet=False)
_ONLY_VERSION = {
    "version": 1
}  # what is left of a file with a list without groups, which says how it is written
BACKUP_SUFFIX = ".da-score-backup"

_BY_HAND = "fix it by hand, it was left alone"


@dataclass(frozen=True, slots=True)
class HookChange:
    """What was done to a settings file, and where its former content is."""

    path: Path
    changed: bool
    backup: Path | None = None


def hook_settings(harness: str, scope: str, project: Path) -> Path:
    """Return the settings file of a harness, of a ``project`` or its ``user``; InputError if it runs no known hook."""
    hook = HOOKS[harness]
    if hook is None:
        raise InputError(
            f"{harness} runs no command when its agent stops; 'da-score watch' scores what it does"
        )
    named = os.environ.get(hook.variable, "").partition(",")[0].strip()
    if scope == "user" and named:
        return Path(named).expanduser() / hook.below
    return project / hook.file if scope == "project" else Path.home() / (hook.at_home or hook.file)


def refuse_outside(path: Path, project: Path) -> None:
    """Refuse, by an InputError, a settings file of a project that is not in it once links are followed."""
    if not is_inside(path, project):
        raise InputError(
            f"{path}: it leads out of the project, to {os.path.realpath(path)}; it was left alone"
        )


def why_it_does_not_run(command: str) -> str:
    """Run the program of a hook once, for its help; return why that fails, "" when it does not."""
    try:
        words = shlex.split(command)
    except ValueError as e:
        return f"{command!r} is no command line: {e}"
    program = next((word for word in words if os.path.basename(word) == PROGRAM), None)
    if program is None:
        return f"{command!r} does not name {PROGRAM}"
    if shutil.which(program) is None:
        where = "is not there, or not executable" if "/" in program else "is not on the path"
        return f"{program} {where}"
    try:
        how: Any = {
            "stdin": subprocess.DEVNULL,
            "capture_output": True,
            "timeout": 30,
            "check": False,
        }
        done = subprocess.run([program, "close-task", "--help"], **how)
    except (OSError, subprocess.TimeoutExpired) as e:
        return f"{program} does not run: {e}"
    if done.returncode:
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
        return f"{program} ends with status {done.returncode}{f': {lines[-1]}' if lines else ''}"
    return ""


def install_command(path: Path, hook: Hook = USUAL) -> HookChange:
    """Put the da-score that runs now into a settings file as :func:`install_hook`; InputError where it does not run."""
    beside = (
        Path(sys.argv[0])
        if os.path.basename(sys.argv[0]) == PROGRAM
        else Path(sys.executable).with_name(PROGRAM)
    )
    found = shutil.which(os.path.abspath(beside)) or shutil.which(PROGRAM)
    if found is None:
        raise InputError(
            f"there is no program {PROGRAM} beside {sys.executable} nor on the path: install da-score"
        )
    command = (
        f"{shlex.quote(os.path.abspath(found))} close-task{' >/dev/null' if hook.quiet else ''}"
    )
    if why := why_it_does_not_run(command):
        raise InputError(f"the hook would not run, and was not installed: {why}")
    return install_hook(path, command, hook)


def install_hook(
    path: Path, command: str = f"{PROGRAM} close-task", hook: Hook = USUAL
) -> HookChange:
    """Put the hook into a settings file, unless it is in it and runs; InputError, WriteError, then it is as it was."""
    text, data = _read(path)
    if places := _hooks(data):
        program = _program(command)
        bare = [one for *_, one in places if not os.access(_program(_command_of(one)), os.X_OK)]
        bare = bare if os.path.isabs(program) else []
        for one in bare:  # it needs a path that is set up, or names a da-score that is gone
            key = "command" if "command" in one else "bash"
            one[key] = re.sub(rf"[^\s\"']*\b{PROGRAM}\b", lambda _: program, one[key], count=1)
        return HookChange(
            path, bool(bare), _write(path, _written(path, data, text), keep=True) if bare else None
        )
    hooks = data.setdefault("hooks", {}) if isinstance(data, dict) else None
    groups = hooks.setdefault(hook.event, []) if isinstance(hooks, dict) else None
    if not isinstance(groups, list):
        shape = (
            "hooks is not a JSON object" if hooks is not None else "the file is not a JSON object"
        )
        wrong = f"hooks.{hook.event} is not a list" if isinstance(hooks, dict) else shape
        raise InputError(f"{path}: {wrong}; {_BY_HAND}")
    added = {"type": "command", hook.key: command, **hook.limit}
    groups.append(added if hook.flat else {"hooks": [added]})
    if hook.flat:
        data |= _ONLY_VERSION | data
    return HookChange(
        path, changed=True, backup=_write(path, _written(path, data, text), keep=True)
    )


def uninstall_hook(path: Path) -> HookChange:
    """Take the hook out of a settings file, which has its former bytes again; raises as :func:`install_hook`."""
    text, data = _read(path)
    places = _hooks(data)
    for event, group, hook in places:
        if group is not hook:
            group["hooks"].remove(hook)
        if group is hook or not group["hooks"]:
            data["hooks"][event].remove(group)
        if not data["hooks"][event]:
            del data["hooks"][event]
        if not data["hooks"]:
            del data["hooks"]
    if not places:
        return HookChange(path, changed=False)
    backup = _backup_of(path)
    if data not in ({}, _ONLY_VERSION) or backup.is_file() or path.is_symlink():
        new = _written(path, data, text)
        with contextlib.suppress(InputError, WriteError):
            former = _read(backup)
            new = former[0].encode() if backup.is_file() and former[1] == data else new
        _write(path, new, keep=False)
        backup.unlink(missing_ok=True)
    else:
        try:
            path.unlink()
            if not any(path.parent.iterdir()):
                path.parent.rmdir()
        except OSError as e:
            raise WriteError(f"{path}: cannot write: {reason(e)}") from e
    return HookChange(path, changed=True)


def installed_in(path: Path) -> list[str]:
    """Return the events for which a settings file runs the hook; raises as :func:`install_hook`."""
    return list(dict.fromkeys(event for event, *_ in _hooks(_read(path)[1])))


def hooks_that_do_not_run(path: Path) -> Iterator[str]:
    """Yield why a hook of a settings file does not run, for each that does not; raises as :func:`install_hook`."""
    for command in dict.fromkeys(_command_of(hook) for _, _, hook in _hooks(_read(path)[1])):
        if why := why_it_does_not_run(command):
            yield why


def _hooks(data: Any) -> list[tuple[str, dict[str, Any], dict[str, Any]]]:
    events = data.get("hooks") if isinstance(data, dict) else None
    return [
        (event, group, hook)
        for event, groups in (events.items() if isinstance(events, dict) else ())
        for group in (groups if isinstance(groups, list) else ())
        if isinstance(group, dict)
        for hook in (group["hooks"] if isinstance(group.get("hooks"), list) else [group])
        if isinstance(hook, dict) and _is_the_hook(_command_of(hook))
    ]


def _command_of(hook: dict[str, Any]) -> Any:
    return hook.get("command", hook.get("bash"))


def _program(command: str) -> str:
    with contextlib.suppress(ValueError):
        for word in shlex.split(command):
            if os.path.basename(word) == PROGRAM:
                return word
    return ""


def _is_the_hook(command: object) -> bool:
    if not isinstance(command, str):
        return False
    words = iter(command.split())
    return any(
        os.path.basename(word.strip("\"'")) == PROGRAM
        and next((following for following in words if not following.startswith("-")), None)
        == "close-task"
        for word in words
    )


def _read(path: Path) -> tuple[str, Any]:
    try:
        text = read_file(path).decode("utf-8")
    except FileNotFoundError:
        return "", {}
    except UnicodeDecodeError as e:
        raise InputError(f"{path}: is not UTF-8; it was left alone") from e
    try:
        return text, json.loads(text, object_pairs_hook=_unique) if text.strip() else {}
    except (ValueError, RecursionError) as e:
        raise InputError(f"{path}: not JSON: {e}; {_BY_HAND}") from e


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(found := dict(pairs)) != len(pairs):
        raise ValueError("a key is given twice")
    return found


def _written(path: Path, data: Any, like: str) -> bytes:
    body = like.strip()
    unit = re.search(r"\n([ \t]+)\S", body)
    indent = unit[1] if unit else "  " if "\n" in body or body in ("", "{}") else None
    surrogates = (
        re.search(r"\\u[dD][89a-fA-F]", body) is not None
    )  # such an escape may be half a character
    try:
        text = json.dumps(data, indent=indent, ensure_ascii=surrogates, allow_nan=False)
    except (ValueError, RecursionError) as e:
        raise InputError(f"{path}: cannot be written again: {e}; {_BY_HAND}") from e
    if "\r\n" in body:
        text = text.replace("\n", "\r\n")
    return (text + (like[len(like.rstrip()) :] if body else "\n")).encode()


def _backup_of(path: Path) -> Path:
    target = Path(os.path.realpath(path))
    return target.with_name(target.name + BACKUP_SUFFIX)


def _write(path: Path, new: bytes, keep: bool) -> Path | None:
    target, backup = Path(os.path.realpath(path)), None
    mode, owner = 0o644, None
    make_folder(target.parent)
    if target.exists():
        found = target.stat()
        mode, owner = stat.S_IMODE(found.st_mode), (found.st_uid, found.st_gid)
        if keep:
            backup = _backup_of(
                path
            )  # written like the file, so never through a symlink in its place
            write_atomically(backup, read_file(target), mode=mode, owner=owner)
    write_atomically(target, new, mode=mode, owner=owner)
    return backup
