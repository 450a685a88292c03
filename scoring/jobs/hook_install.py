"""Puts the close-task hook into a harness's settings, and takes it out again.

Both harnesses keep hooks in the same shape: ``{"hooks": {EVENT: [{"hooks": [{"type": "command", "command": …}]}]}}``,
Claude Code in ``.claude/settings.json``, Codex in ``.codex/hooks.json``, in the project or in the user's home.
A settings file belongs to its user, so it is edited in place: every other byte stays as it is.
"""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scoring.errors import InputError, WriteError
from scoring.files import is_inside, read_file, reason, remove_stale, write_atomically
from scoring.jobs.hook_command import PROGRAM, hook_command, why_it_does_not_run
from scoring.jobs.json_edit import parse_json, put_item, take_item

EVENT = "Stop"
HARNESS_TIMEOUT = 30
"""Seconds that the harness gives the hook; the hook gives itself 20."""

FILES = {"claude": Path(".claude/settings.json"), "codex": Path(".codex/hooks.json")}
HOMES = {"claude": "CLAUDE_CONFIG_DIR", "codex": "CODEX_HOME"}
"""The variables that say where the settings of the user are, for each harness."""

BACKUP_SUFFIX = ".da-score-backup"

_MOST_HOOKS = 100
"""How often a file may run the hook for it to be taken out, since the file is read anew for each."""


@dataclass(frozen=True, slots=True)
class HookChange:
    """What was done to a settings file. ``backup`` is where its former content is, None when there is none."""

    path: Path
    changed: bool
    backup: Path | None = None


def hook_settings(harness: str, scope: str, project: Path, home: Path | None = None) -> Path:
    """Return the settings file of a harness (``claude`` or ``codex``), in the ``project`` or of the ``user``.

    The user's are where the harness looks for them: in the folder that its variable names, else below ``home``.
    """
    named = os.environ.get(HOMES[harness], "").partition(",")[0].strip()
    if scope == "user" and home is None and named:
        return Path(named).expanduser() / FILES[harness].name
    return (project if scope == "project" else home or Path.home()) / FILES[harness]


def refuse_outside(path: Path, project: Path) -> None:
    """Refuse a settings file of a project that is not in it once links are followed.

    Raises:
        InputError: a link leads to a file outside the project.
    """
    if not is_inside(path, project):
        raise InputError(f"{path}: it leads out of the project, to {os.path.realpath(path)}; it was left alone")


def install_command(path: Path) -> HookChange:
    """Put the da-score that runs now into a settings file, after running it once.

    Raises:
        InputError: the command does not run, or as :func:`install_hook`.
        WriteError: as :func:`install_hook`.
    """
    command = hook_command()
    if why := why_it_does_not_run(command):
        raise InputError(f"the hook would not run, and was not installed: {why}")
    return install_hook(path, command)


def install_hook(path: Path, command: str = f"{PROGRAM} close-task") -> HookChange:
    """Put the hook into a settings file, which is made when it does not exist. Does nothing when the hook is in it.

    Raises:
        InputError: the file cannot be read or is not JSON of the expected shape; it is left alone.
        WriteError: it could not be written; it is as it was.
    """
    if installed_in(path):
        return HookChange(path, changed=False)
    entry = {"hooks": [{"type": "command", "command": command, "timeout": HARNESS_TIMEOUT}]}
    try:
        new = put_item(_read(path), ("hooks", EVENT), entry)
    except InputError as e:
        raise InputError(f"{path}: {e}; fix it by hand, it was left alone") from e
    return HookChange(path, changed=True, backup=_write(path, new, keep=True))


def uninstall_hook(path: Path) -> HookChange:
    """Take the hook out of a settings file, and what installing it left behind; raises as :func:`install_hook`.

    The copy of the former file goes, and so does a file that had nothing but the hook from the beginning.
    """
    text = new = _read(path)
    if len(_hooks(path, text)) > _MOST_HOOKS:
        raise InputError(f"{path}: runs the hook more than {_MOST_HOOKS} times; fix it by hand, it was left alone")
    while hooks := _hooks(path, new):
        event, number, inner, _ = hooks[-1]
        alone, groups = len(parse_json(new)["hooks"][event][number]["hooks"]) == 1, ("hooks", event)
        new = take_item(new, groups, number) if alone else take_item(new, (*groups, number, "hooks"), inner)
    if new == text:
        return HookChange(path, changed=False)
    _write(path, new, keep=False)
    backup = _backup_of(path)
    if not backup.is_file() and not path.is_symlink() and new.strip() == "{}":
        path.unlink()
        if not any(path.parent.iterdir()):
            path.parent.rmdir()
    backup.unlink(missing_ok=True)
    return HookChange(path, changed=True)


def installed_in(path: Path) -> list[str]:
    """Return the events for which a settings file runs the hook; raises as :func:`install_hook`."""
    return list(dict.fromkeys(event for event, *_ in _hooks(path, _read(path))))


def hooks_that_do_not_run(path: Path) -> Iterator[str]:
    """Yield why a hook of a settings file does not run, for each that does not; raises as :func:`install_hook`."""
    for command in dict.fromkeys(command for *_, command in _hooks(path, _read(path))):
        if why := why_it_does_not_run(command):
            yield why


def _hooks(path: Path, text: str) -> list[tuple[str, int, int, str]]:
    """Return where the hook is, as event, group and place in the group, and its command."""
    try:
        data: Any = parse_json(text) if text.strip() else {}
    except InputError as e:
        raise InputError(f"{path}: {e}; fix it by hand, it was left alone") from e
    events = data.get("hooks") if isinstance(data, dict) else None
    return [
        (event, number, inner, hook["command"])
        for event, groups in (events.items() if isinstance(events, dict) else ())
        for number, group in enumerate(groups if isinstance(groups, list) else ())
        if isinstance(group, dict) and isinstance(group.get("hooks"), list)
        for inner, hook in enumerate(group["hooks"])
        if isinstance(hook, dict) and _is_the_hook(hook.get("command"))
    ]


def _is_the_hook(command: object) -> bool:
    """Return whether a command is the hook, with whatever path and options."""
    if not isinstance(command, str):
        return False
    words = iter(command.split())
    return any(
        os.path.basename(word.strip("\"'")) == PROGRAM
        and next((following for following in words if not following.startswith("-")), None) == "close-task"
        for word in words
    )


def _read(path: Path) -> str:
    try:
        return read_file(path).decode("utf-8")
    except FileNotFoundError:
        return ""
    except UnicodeDecodeError as e:
        raise InputError(f"{path}: is not UTF-8; it was left alone") from e


def _backup_of(path: Path) -> Path:
    target = Path(os.path.realpath(path))
    return target.with_name(target.name + BACKUP_SUFFIX)


def _write(path: Path, new: str, keep: bool) -> Path | None:
    """Write a settings file through a symlink, with the owner and mode it had; to ``keep`` is to copy it before."""
    target, backup = Path(os.path.realpath(path)), None
    mode, owner = 0o644, None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        remove_stale(target.parent)
        if target.exists():
            found = target.stat()
            mode, owner = stat.S_IMODE(found.st_mode), (found.st_uid, found.st_gid)
            if keep:
                backup = _backup_of(path)  # written like the file, so never through a symlink in its place
                write_atomically(backup, target.read_bytes(), mode=mode, owner=owner)
    except WriteError:
        raise
    except OSError as e:
        old = "; the file is untouched" if os.path.lexists(path) else ""
        raise WriteError(f"{path}: cannot write: {reason(e)}{old}") from e
    write_atomically(target, new.encode("utf-8"), mode=mode, owner=owner)
    return backup
