"""Edits YAML that a person wrote: everything that is not changed keeps its spelling and layout."""

import contextlib
import io
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.constructor import RoundTripConstructor
from ruamel.yaml.error import ReusedAnchorWarning, YAMLError
from ruamel.yaml.representer import RoundTripRepresenter

from scoring.errors import InputError

_WINDOWS_LINE_END = b"\r\n"
_LINE_END = b"\n"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_WIDTH = 1 << 20  # no line is wrapped
_USUAL_OFFSET = 2


class AsWritten(str):
    """A scalar that is not a text, kept as it was spelled."""

    __slots__ = ("tag",)
    tag: str
    """The YAML tag of the scalar, such as ``tag:yaml.org,2002:int``."""


class _Constructor(RoundTripConstructor):
    def construct_as_written(self, node: Any) -> AsWritten:
        scalar = AsWritten(node.value)
        scalar.tag = str(node.tag)
        return scalar


class _Representer(RoundTripRepresenter):
    def represent_as_written(self, data: AsWritten) -> Any:
        return self.represent_scalar(data.tag, str(data))


for _name in ("null", "bool", "int", "float", "timestamp"):
    _Constructor.add_constructor(
        f"tag:yaml.org,2002:{_name}", _Constructor.construct_as_written
    )
_Representer.add_representer(AsWritten, _Representer.represent_as_written)


def is_null(node: object) -> bool:
    """Return whether a part of a document is null, which readers take for nothing."""
    return isinstance(node, AsWritten) and node.tag.endswith(":null")


def with_changed_list(
    data: bytes,
    path: Path,
    key: str,
    change: Callable[[CommentedSeq], object],
    **before_list: object,
) -> bytes:
    """Return a document with a list changed, and everything else as it was spelled.

    Args:
        data: the document. The caller has checked that what it holds at ``key``, if it holds
            anything there, is a list.
        path: the file of the document, for errors.
        key: the key of the list, at the top of the document.
        change: changes the list, which is empty if the document does not have one.
        before_list: keys and values that come before the list in a document that was empty.

    Raises:
        InputError: the document cannot be read, or more than the list would change.
    """
    yaml = _reader_and_writer(data, key)
    tree = _kept_tree(yaml, data, path)
    if not isinstance(tree, CommentedMap):
        tree = CommentedMap(before_list)
    if not isinstance(tree.get(key), CommentedSeq):
        tree[key] = CommentedSeq()

    nodes = tree[key]
    if not nodes:
        nodes.fa.set_block_style()
    change(nodes)
    return _dumped(yaml, tree, data, path)


def _reader_and_writer(data: bytes, key: str) -> YAML:
    """Return a reader and writer of YAML that keeps what is not changed.

    Args:
        data: the document. New items of lists are indented as its first item is.
        key: the key of the list that decides on indentation.
    """
    yaml = YAML(typ="rt")
    yaml.Constructor = _Constructor
    yaml.Representer = _Representer
    yaml.preserve_quotes = True
    yaml.width = _WIDTH
    yaml.allow_unicode = True
    yaml.explicit_start = data.removeprefix(_BYTE_ORDER_MARK).startswith(b"---")
    yaml.explicit_end = re.search(rb"(?m)^\.\.\.\s*\Z", data) is not None

    # The key, blank lines and comments, and the indentation of the first item.
    first_item = re.search(
        rb"(?m)^" + key.encode() + rb":[^\n]*\n(?: *+(?:#[^\n]*)?\n)*+( *)- ",
        data.replace(_WINDOWS_LINE_END, _LINE_END),
    )
    offset = len(first_item[1]) if first_item else _USUAL_OFFSET
    yaml.indent(mapping=2, sequence=offset + 2, offset=offset)
    return yaml


def _kept_tree(yaml: YAML, data: bytes, path: Path) -> Any:
    """Return what a document holds, with its comments and its spelling.

    Raises:
        InputError: the reader that keeps comments and spelling cannot read the document.
    """
    try:
        return _loaded(yaml, data.replace(_WINDOWS_LINE_END, _LINE_END))
    except (YAMLError, ValueError, RecursionError) as e:
        problem = " ".join(str(getattr(e, "problem", None) or e).split())
        raise InputError(
            f"{path}: cannot be kept as it is ({problem}); nothing is added to it"
        ) from e


def _dumped(yaml: YAML, tree: Any, data: bytes, path: Path) -> bytes:
    """Return a changed document, in the line ends and after the byte order mark of the old one.

    Args:
        yaml: the writer.
        tree: the changed document.
        data: the bytes of the old document.
        path: the file of the document, for errors.

    Raises:
        InputError: the writer would spell the old document so that it says something else.
    """
    new = _dump(yaml, tree)
    if not data.strip():
        return new

    old = data.removeprefix(_BYTE_ORDER_MARK).replace(_WINDOWS_LINE_END, _LINE_END)
    unchanged = _dump(yaml, _loaded(yaml, old))
    is_same = False
    with contextlib.suppress(YAMLError):
        is_same = _content(yaml, unchanged) == _content(yaml, old)
    if not is_same:
        raise InputError(
            f"{path}: cannot be kept as it is (its comments or layout would change what it says);"
            " nothing is added to it, edit it by hand"
        )
    new = _with_change(old.rstrip(_LINE_END) + _LINE_END, unchanged, new)

    if _WINDOWS_LINE_END in data:
        new = new.replace(_LINE_END, _WINDOWS_LINE_END)
    if data.startswith(_BYTE_ORDER_MARK):
        new = _BYTE_ORDER_MARK + new
    return new


def _loaded(yaml: YAML, data: bytes) -> Any:
    """Return what a document holds, with its comments and its spelling."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ReusedAnchorWarning)  # YAML allows it
        return yaml.load(data)


def _dump(yaml: YAML, tree: Any) -> bytes:
    """Return a document as a writer spells it."""
    out = io.BytesIO()
    yaml.dump(tree, out)
    return out.getvalue()


def _content(yaml: YAML, data: bytes) -> list[tuple[str, str, object]]:
    """Return the kinds, tags and values of all parts of a document, in the order of its text.

    Raises:
        YAMLError: the text is not YAML.
    """
    content = []
    for event in yaml.parse(data):
        tag = str(getattr(event, "tag", None))
        content.append((type(event).__name__, tag, getattr(event, "value", None)))
    return content


def _with_change(text: bytes, unchanged: bytes, changed: bytes) -> bytes:
    """Return a text in which only the lines that a change touches are spelled by the writer.

    Where the writer indents the unchanged document differently, it spells the whole text.

    Args:
        text: the text as a person wrote it.
        unchanged: the same document as the writer spells it.
        changed: the changed document as the writer spells it.
    """
    lines = text.split(_LINE_END)
    old_lines = unchanged.split(_LINE_END)
    new_lines = changed.split(_LINE_END)
    if list(map(_indentation, lines)) != list(map(_indentation, old_lines)):
        return changed  # the new lines would not fit between those of the text

    start = _common(old_lines, new_lines)
    end = _common(old_lines[start:][::-1], new_lines[start:][::-1])
    middle = new_lines[start : len(new_lines) - end]
    return _LINE_END.join([*lines[:start], *middle, *lines[len(lines) - end :]])


def _indentation(line: bytes) -> bytes:
    """Return the spaces and dashes at the beginning of a line."""
    return line[: len(line) - len(line.lstrip(b" -"))]


def _common(lines: list[bytes], others: list[bytes]) -> int:
    """Return how many lines two lists have in common at their beginning."""
    for index, (line, other) in enumerate(zip(lines, others, strict=False)):
        if line != other:
            return index
    return min(len(lines), len(others))
