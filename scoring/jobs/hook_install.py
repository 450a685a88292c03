"""Puts the close-task hook into a harness's settings, and takes it out again; every other byte stays as it was.

Both harnesses keep hooks in the same shape: ``{"hooks": {EVENT: [{"hooks": [{"type": "command", "command": …}]}]}}``,
Claude Code in ``.claude/settings.json``, Codex in ``.codex/hooks.json``, in the project or in the user's home.
A settings file belongs to its user, and writing it anew from parsed data would reformat it; so what is put in is
spliced into the text, in the style of the text around it.

The module is long because where a file is, what is spliced into it and how it is written are read together.
"""

import json
import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from scoring.errors import InputError, WriteError
from scoring.files import is_inside, read_file, remove_stale, write_atomically

COMMAND = "da-score close-task"
EVENT = "Stop"
HARNESS_TIMEOUT = 30
"""Seconds that the harness gives the hook; the hook gives itself 20."""

FILES = {"claude": Path(".claude/settings.json"), "codex": Path(".codex/hooks.json")}
HOMES = {"claude": "CLAUDE_CONFIG_DIR", "codex": "CODEX_HOME"}
"""The variables that say where the settings of the user are, for each harness."""

BACKUP_SUFFIX = ".da-score-backup"

_MOST_HOOKS = 100
"""How often a file may run the hook for it to be taken out, since the file is read anew for each."""

_SPACE = re.compile(r"[ \t\r\n]*")
_STRING = re.compile(r'"(?:[^"\\]++|\\.)*+"')
_SCALAR = re.compile(r"[^\s,\]}]+")


@dataclass(frozen=True, slots=True)
class HookChange:
    """What was done to a settings file. ``backup`` is where its former content is, None when there was none."""

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
    """Raise for a settings file of a project that is not in it once links are followed.

    Raises:
        InputError: a checkout leads to a file that is somebody else's.
    """
    if not is_inside(path, project):
        raise InputError(f"{path}: it leads out of the project, to {os.path.realpath(path)}; it was left alone")


def install_hook(path: Path, command: str = COMMAND) -> HookChange:
    """Put the hook into a settings file, which is made when it does not exist. Does nothing when it is there.

    Raises:
        InputError: the file cannot be read or is not JSON of the expected shape; it is left alone.
        WriteError: it could not be written; it is as it was.
    """
    text = _read(path)
    if installed_in(path):
        return HookChange(path, changed=False)
    entry = {"hooks": [{"type": "command", "command": command, "timeout": HARNESS_TIMEOUT}]}
    try:
        new = put_item(text, ("hooks", EVENT), entry)
    except InputError as e:
        raise InputError(f"{path}: {e}; fix it by hand, it was left alone") from e
    return HookChange(path, changed=True, backup=_write(path, new))


def uninstall_hook(path: Path) -> HookChange:
    """Take the hook out of a settings file. Does nothing when it is not there; raises as :func:`install_hook`."""
    text = new = _read(path)
    if len(_places(path, text)) > _MOST_HOOKS:
        raise InputError(f"{path}: runs the hook more than {_MOST_HOOKS} times; fix it by hand, it was left alone")
    while places := _places(path, new):
        event, number, inner = places[-1]
        group = parse_spans(new)[0]["hooks"][event][number]
        alone, groups = len(group["hooks"]) == 1, ("hooks", event)
        new = take_item(new, groups, number) if alone else take_item(new, (*groups, number, "hooks"), inner)
    if new == text:
        return HookChange(path, changed=False)
    return HookChange(path, changed=True, backup=_write(path, new))


def installed_in(path: Path) -> list[str]:
    """Return the events for which a settings file runs the hook; raises as :func:`install_hook`."""
    return list(dict.fromkeys(event for event, _, _ in _places(path, _read(path))))


def commands_in(path: Path) -> list[str]:
    """Return the command of each hook in a settings file, as it is written; raises as :func:`install_hook`."""
    text = _read(path)
    places = _places(path, text)
    data: Any = parse_spans(text)[0] if places else {}
    return [data["hooks"][event][number]["hooks"][inner]["command"] for event, number, inner in places]


def _places(path: Path, text: str) -> list[tuple[str, int, int]]:
    """Return where the hook is: event, group and place in the group."""
    try:
        data: Any = parse_spans(text)[0] if text.strip() else {}
    except InputError as e:
        raise InputError(f"{path}: {e}; fix it by hand, it was left alone") from e
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


def _read(path: Path) -> str:
    try:
        return read_file(path).decode("utf-8")
    except FileNotFoundError:
        return ""
    except UnicodeDecodeError as e:
        raise InputError(f"{path}: is not UTF-8; it was left alone") from e


def _write(path: Path, new: str) -> Path | None:
    """Write a settings file through a symlink, with the owner and mode it had, and leave what it was beside it."""
    target = Path(os.path.realpath(path))
    backup = None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        remove_stale(target.parent)
        mode, owner = 0o644, None
        if target.exists():
            found = target.stat()
            mode, owner = stat.S_IMODE(found.st_mode), (found.st_uid, found.st_gid)
            backup = target.with_name(target.name + BACKUP_SUFFIX)
            # and never through a symlink in its place
            write_atomically(backup, target.read_bytes(), mode=mode, owner=owner)
    except WriteError:
        raise
    except OSError as e:
        old = "; the file is untouched" if os.path.lexists(path) else ""
        raise WriteError(f"{path}: cannot write: {(e.strerror or str(e)).lower()}{old}") from e
    write_atomically(target, new.encode("utf-8"), mode=mode, owner=owner)
    return backup


class JsonSpan(NamedTuple):
    """Where a value is in a text, with its members (objects: by key) or items (lists: by number)."""

    start: int
    end: int
    inside: "dict[str, JsonSpan] | list[JsonSpan] | None"


def parse_spans(text: str) -> tuple[Any, JsonSpan]:
    """Return a JSON document as data and as spans.

    Raises:
        InputError: it is not JSON, or gives a key twice.
    """
    try:
        data = json.loads(text, object_pairs_hook=_unique)
        return data, _span(text, _skip(text, 0))
    except (ValueError, RecursionError) as e:
        raise InputError(f"not JSON: {e}") from e


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key is given twice")
    return found


def _span(text: str, at: int) -> JsonSpan:
    """Return the span of the value that begins at an offset of a text that is known to be JSON."""
    if text[at] == '"':
        return JsonSpan(at, _end(_STRING, text, at), None)
    if text[at] not in "{[":
        return JsonSpan(at, _end(_SCALAR, text, at), None)
    closing = "}" if text[at] == "{" else "]"
    members: dict[str, JsonSpan] = {}
    items: list[JsonSpan] = []
    here = _skip(text, at + 1)
    while text[here] != closing:
        if closing == "}":
            end = _end(_STRING, text, here)
            value = _span(text, _skip(text, _skip(text, end) + 1))  # behind the colon
            members[json.loads(text[here:end])] = value
        else:
            value = _span(text, here)
            items.append(value)
        here = _skip(text, value.end)
        if text[here] == ",":
            here = _skip(text, here + 1)
    return JsonSpan(at, here + 1, members if closing == "}" else items)


def _skip(text: str, at: int) -> int:
    return _end(_SPACE, text, at)


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    """Return where what a pattern describes ends; it is known to begin at ``at``."""
    return pattern.match(text, at).end()  # type: ignore[union-attr]


def put_item(text: str, path: tuple[str, ...], item: Any) -> str:
    """Append an item to the list at a path of keys, making what is missing on the way.

    Raises:
        InputError: the text is not JSON, or something on the path is of another kind.
    """
    if not text.strip():
        text = "{}\n"
    _, span = parse_spans(text)
    for depth, key in enumerate(path):
        if not isinstance(span.inside, dict):
            raise InputError(f"{'.'.join(path[:depth]) or 'the file'} is not a JSON object")
        if key not in span.inside:
            value: Any = [item]
            for missing in reversed(path[depth + 1 :]):
                value = {missing: value}
            return _insert(text, span, f"{json.dumps(key, ensure_ascii=False)}: ", value, depth + 1)
        span = span.inside[key]
    if not isinstance(span.inside, list):
        raise InputError(f"{'.'.join(path)} is not a list")
    return _insert(text, span, "", item, len(path) + 1)


def _insert(text: str, container: JsonSpan, before: str, value: Any, depth: int) -> str:
    """Put a value at the end of a container, indented as deep as it is nested."""
    unit = _indentation(text)
    last = max((span.end for span in _members(container)), default=None)
    if unit is None:  # the whole text is on one line
        written = before + json.dumps(value, ensure_ascii=False)
        if last is not None:
            return _splice(text, last, last, f", {written}")
        return _splice(text, container.end - 1, container.end - 1, written)
    line = "\r\n" if "\r\n" in text else "\n"
    pad = line + unit * depth
    written = before + json.dumps(value, ensure_ascii=False, indent=unit).replace("\n", pad)
    if last is not None:
        return _splice(text, last, last, f",{pad}{written}")
    return _splice(text, container.start + 1, container.end - 1, f"{pad}{written}{line}{unit * (depth - 1)}")


def _members(container: JsonSpan) -> list[JsonSpan]:
    return list(container.inside.values() if isinstance(container.inside, dict) else container.inside or ())


def _indentation(text: str) -> str | None:
    """Return what one level of a text is indented with; None when it is on one line."""
    if m := re.search(r"[{\[]\r?\n([ \t]+)\S", text):
        return m[1]
    return "  " if "\n" in text.strip() or text.strip() in ("{}", "[]") else None


def _splice(text: str, start: int, end: int, new: str) -> str:
    return text[:start] + new + text[end:]


def take_item(text: str, path: tuple[str | int, ...], number: int) -> str:
    """Remove an item of the list at a path of keys and numbers; lists and objects that become empty go with it."""
    spans = [parse_spans(text)[1]]
    for name in path:
        spans.append(spans[-1].inside[name])  # type: ignore[index]
    # The outermost container that holds nothing else goes as a whole.
    keys = (*path, number)
    depth = len(keys) - 1
    while depth > 0 and len(spans[depth].inside or ()) == 1:
        depth -= 1
    container, key = spans[depth], keys[depth]
    values = _members(container)
    place = list(container.inside).index(str(key)) if isinstance(container.inside, dict) else int(key)
    start = values[place - 1].end if place else container.start + 1
    if place == len(values) - 1:
        end = values[place].end if place else container.end - 1
    else:
        end = text.index(",", values[place].end) + 1 if not place else values[place].end
    return _splice(text, start, end, "")
