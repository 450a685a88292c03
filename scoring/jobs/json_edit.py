"""JSON edited in place: an item goes into a list or comes out of it, and every other byte stays as it is."""

import json
import re
from typing import Any, NamedTuple

from scoring.errors import InputError

_SPACE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()


class _Member(NamedTuple):
    """A member of an object or an item of a list: its key or number, and where in the text its value is."""

    key: str | int
    start: int
    end: int


def parse_json(text: str) -> Any:
    """Return what a document says.

    Raises:
        InputError: it is not JSON, or gives a key twice.
    """
    try:
        return json.loads(text, object_pairs_hook=_unique)
    except (ValueError, RecursionError) as e:
        raise InputError(f"not JSON: {e}") from e


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key is given twice")
    return found


def put_item(text: str, path: tuple[str, ...], item: Any) -> str:
    """Append an item to the list at a path of keys, and make what is missing on the way.

    Raises:
        InputError: the text is not JSON, or something on the path is of another kind.
    """
    text = text if text.strip() else "{}\n"
    parse_json(text)
    at = _skip(text, 0)
    for depth, key in enumerate(path):
        if text[at] != "{":
            raise InputError(f"{'.'.join(path[:depth]) or 'the file'} is not a JSON object")
        below = next((member.start for member in _members(text, at) if member.key == key), None)
        if below is None:
            value: Any = [item]
            for missing in reversed(path[depth + 1 :]):
                value = {missing: value}
            return _append(text, at, f"{json.dumps(key, ensure_ascii=False)}: ", value, depth + 1)
        at = below
    if text[at] != "[":
        raise InputError(f"{'.'.join(path)} is not a list")
    return _append(text, at, "", item, len(path) + 1)


def take_item(text: str, path: tuple[str | int, ...], number: int) -> str:
    """Remove an item of the list at a path of keys and numbers; lists and objects that become empty go with it."""
    at, containers = _skip(text, 0), []
    for key in (*path, number):
        members = _members(text, at)
        place = [member.key for member in members].index(key)
        containers.append((at, members, place))
        at = members[place].start
    while len(containers) > 1 and len(containers[-1][1]) == 1:
        del containers[-1]
    opening, members, place = containers[-1]
    start = members[place - 1].end if place else opening + 1
    end = members[place].end
    if not place:  # up to the next member or the closing bracket
        end = _skip(text, end) + (len(members) > 1)
    return text[:start] + text[end:]


def _members(text: str, at: int) -> list[_Member]:
    """Return the members of the object or list that begins at an offset of a text that is known to be JSON."""
    found: list[_Member] = []
    here = _skip(text, at + 1)
    while text[here] not in "}]":
        key: str | int = len(found)
        if text[at] == "{":
            key, here = _DECODER.raw_decode(text, here)
            here = _skip(text, _skip(text, here) + 1)  # behind the colon
        end = _DECODER.raw_decode(text, here)[1]
        found.append(_Member(key, here, end))
        here = _skip(text, end)
        if text[here] == ",":
            here = _skip(text, here + 1)
    return found


def _skip(text: str, at: int) -> int:
    """Return where the white space that begins at an offset ends."""
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _append(text: str, at: int, before: str, value: Any, depth: int) -> str:
    """Put a value at the end of the container that begins at an offset, in the style of the text."""
    members, unit = _members(text, at), _indentation(text)
    line = "" if unit is None else "\r\n" if "\r\n" in text else "\n"
    pad = line + (unit or "") * depth
    written = before + json.dumps(value, ensure_ascii=False, indent=unit).replace("\n", pad)
    if members:
        end = members[-1].end
        return f"{text[:end]},{pad or ' '}{written}{text[end:]}"
    closing = _skip(text, at + 1)
    if unit is None:
        return text[:closing] + written + text[closing:]
    return f"{text[: at + 1]}{pad}{written}{line}{unit * (depth - 1)}{text[closing:]}"


def _indentation(text: str) -> str | None:
    """Return what one level of a text is indented with; None when it is on one line."""
    if m := re.search(r"[{\[]\r?\n([ \t]+)\S", text):
        return m[1]
    return "  " if "\n" in text.strip() or text.strip() in ("{}", "[]") else None
