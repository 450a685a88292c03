"""Puts the close-task hook into a harness's settings, and takes it out again.

Both harnesses keep hooks in the same shape: ``{"hooks": {EVENT: [{"hooks": [{"type": "command", "command": …}]}]}}``,
Claude Code in ``.claude/settings.json``, Codex in ``.codex/hooks.json``, in the project or in the user's home.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scoring.errors import InputError, WriteError
from scoring.files import read_file, write_atomically
from scoring.jobs.jsonedit import parse_spans, put_item, take_item

COMMAND = "da-score close-task"
EVENT = "Stop"
HARNESS_TIMEOUT = 30
"""Seconds that the harness gives the hook; the hook gives itself 20."""

FILES = {"claude": Path(".claude/settings.json"), "codex": Path(".codex/hooks.json")}
BACKUP_SUFFIX = ".da-score-backup"


@dataclass(frozen=True, slots=True)
class HookChange:
    """What was done to a settings file. ``backup`` is where its former content is, None when there was none."""

    path: Path
    changed: bool
    backup: Path | None = None


def hook_settings(harness: str, scope: str, project: Path, home: Path | None = None) -> Path:
    """Return the settings file of a harness (``claude`` or ``codex``), in the ``project`` or of the ``user``."""
    return (project if scope == "project" else home or Path.home()) / FILES[harness]


def install_hook(path: Path) -> HookChange:
    """Put the hook into a settings file, which is made when it does not exist. Does nothing when it is there.

    Raises:
        InputError: the file cannot be read or is not JSON of the expected shape; it is left alone.
        WriteError: it could not be written; it is as it was.
    """
    text = _read(path)
    if installed_in(path):
        return HookChange(path, changed=False)
    entry = {"hooks": [{"type": "command", "command": COMMAND, "timeout": HARNESS_TIMEOUT}]}
    try:
        new = put_item(text, ("hooks", EVENT), entry)
    except InputError as e:
        raise InputError(f"{path}: {e}; mend it by hand, it was left alone") from e
    return HookChange(path, changed=True, backup=_write(path, new))


def uninstall_hook(path: Path) -> HookChange:
    """Take the hook out of a settings file. Does nothing when it is not there; raises as :func:`install_hook`."""
    text = new = _read(path)
    while places := _places(path, new):
        event, number, inner = places[-1]
        group = parse_spans(new)[0]["hooks"][event][number]
        alone = len(group["hooks"]) == 1
        new = take_item(new, ("hooks", event), number) if alone else _take_inner(new, event, number, inner)
    if new == text:
        return HookChange(path, changed=False)
    return HookChange(path, changed=True, backup=_write(path, new))


def installed_in(path: Path) -> list[str]:
    """Return the events for which a settings file runs the hook; raises as :func:`install_hook`."""
    return list(dict.fromkeys(event for event, _, _ in _places(path, _read(path))))


def _places(path: Path, text: str) -> list[tuple[str, int, int]]:
    """Return where the hook is: event, group and place in the group."""
    try:
        data: Any = parse_spans(text)[0] if text.strip() else {}
    except InputError as e:
        raise InputError(f"{path}: {e}; mend it by hand, it was left alone") from e
    events = data.get("hooks") if isinstance(data, dict) else None
    return [
        (event, number, inner)
        for event, groups in (events.items() if isinstance(events, dict) else ())
        for number, group in enumerate(groups if isinstance(groups, list) else ())
        if isinstance(group, dict) and isinstance(group.get("hooks"), list)
        for inner, hook in enumerate(group["hooks"])
        if isinstance(hook, dict) and _is_the_hook(hook.get("command"))
    ]


def _is_the_hook(command: object) -> bool:
    """Tell whether a command is the hook, with whatever path and options."""
    if not isinstance(command, str):
        return False
    words = iter(command.split())
    return any(
        os.path.basename(word.strip("\"'")) == "da-score"
        and next((following for following in words if not following.startswith("-")), None) == "close-task"
        for word in words
    )


def _take_inner(text: str, event: str, number: int, inner: int) -> str:
    _, span = parse_spans(text)
    for key in ("hooks", event):
        assert isinstance(span.inside, dict)
        span = span.inside[key]
    assert isinstance(span.inside, list)
    group = span.inside[number]
    return text[: group.start] + take_item(text[group.start : group.end], ("hooks",), inner) + text[group.end :]


def _read(path: Path) -> str:
    try:
        return read_file(path).decode("utf-8")
    except FileNotFoundError:
        return ""
    except UnicodeDecodeError as e:
        raise InputError(f"{path}: is not UTF-8; it was left alone") from e


def _write(path: Path, new: str) -> Path | None:
    """Write a settings file through a symlink, with the mode it had, and leave its former content beside it."""
    target = Path(os.path.realpath(path))
    backup = None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        mode = target.stat().st_mode & 0o777 if target.exists() else 0o644
        if target.exists():
            backup = target.with_name(target.name + BACKUP_SUFFIX)
            write_atomically(backup, target.read_bytes(), mode=mode)  # and never through a symlink in its place
    except WriteError:
        raise
    except OSError as e:
        raise WriteError(f"{path}: cannot write: {(e.strerror or str(e)).lower()}; the file is untouched") from e
    write_atomically(target, new.encode("utf-8"), mode=mode)
    return backup
