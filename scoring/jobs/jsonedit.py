"""Edits a JSON file in place: one item put into a list or taken out, everything else byte for byte as it was.

A settings file belongs to its user. Writing it anew from parsed data would reorder nothing but reformat everything, so
the item is spliced into the text, in the style of the text around it.
"""

import json
import re
from typing import Any, NamedTuple

from scoring.errors import InputError

_SPACE = re.compile(r"[ \t\r\n]*")
_SCALAR = re.compile(r"[^\s,\]}]+")


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
        return data, _span(text, _SPACE.match(text, 0).end())  # type: ignore[union-attr]
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
        return JsonSpan(at, _string_end(text, at), None)
    if text[at] not in "{[":
        return JsonSpan(at, _SCALAR.match(text, at).end(), None)  # type: ignore[union-attr]
    closing = "}" if text[at] == "{" else "]"
    members: dict[str, JsonSpan] = {}
    items: list[JsonSpan] = []
    here = _skip(text, at + 1)
    while text[here] != closing:
        if closing == "}":
            end = _string_end(text, here)
            key = json.loads(text[here:end])
            value = _span(text, _skip(text, _skip(text, end) + 1))  # behind the colon
            members[key] = value
        else:
            value = _span(text, here)
            items.append(value)
        here = _skip(text, value.end)
        if text[here] == ",":
            here = _skip(text, here + 1)
    return JsonSpan(at, here + 1, members if closing == "}" else items)


def _string_end(text: str, at: int) -> int:
    here = at + 1
    while text[here] != '"':
        here += 2 if text[here] == "\\" else 1
    return here + 1


def _skip(text: str, at: int) -> int:
    return _SPACE.match(text, at).end()  # type: ignore[union-attr]


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
    members = container.inside.values() if isinstance(container.inside, dict) else container.inside or ()
    last = max((span.end for span in members), default=None)
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


def _indentation(text: str) -> str | None:
    """Return what one level of a text is indented with; None when it is on one line."""
    if m := re.search(r"[{\[]\r?\n([ \t]+)\S", text):
        return m[1]
    return "  " if "\n" in text.strip() or text.strip() in ("{}", "[]") else None


def _splice(text: str, start: int, end: int, new: str) -> str:
    return text[:start] + new + text[end:]


def take_item(text: str, path: tuple[str, ...], number: int) -> str:
    """Remove an item of the list at a path of keys; lists and objects that become empty go with it."""
    spans = [parse_spans(text)[1]]
    for name in path:
        assert isinstance(spans[-1].inside, dict)
        spans.append(spans[-1].inside[name])
    # The outermost container that holds nothing else goes as a whole.
    keys: list[str | int] = [*path, number]
    depth = len(keys) - 1
    while depth > 0 and len(spans[depth].inside or ()) == 1:
        depth -= 1
    container, key = spans[depth], keys[depth]
    assert container.inside is not None
    values = list(container.inside.values()) if isinstance(container.inside, dict) else container.inside
    place = list(container.inside).index(str(key)) if isinstance(container.inside, dict) else int(key)
    start = values[place - 1].end if place else container.start + 1
    if place == len(values) - 1:
        end = values[place].end if place else container.end - 1
    else:
        end = text.index(",", values[place].end) + 1 if not place else values[place].end
    return _splice(text, start, end, "")
