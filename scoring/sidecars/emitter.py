"""Writes sidecars in the style of yaml.v3, the YAML library of the reference: the same bytes for the same data.

``docs/SIDECARS.md``, "Scores", has the style. The analysis follows libyaml's emitter with the port's own habits: text
that starts with a byte-order mark is escaped throughout, and a block that ends with a line separator ends its line with
it. Text of several lines that starts with white space is double-quoted, as yaml.v3's block of it does not read back.
"""

import base64
import functools
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from scoring.yamlnodes import OLD_BOOLEANS, STR, resolve

_Put: TypeAlias = Callable[[str], None]
Value: TypeAlias = "str | bool | int | float | Sequence[Value] | Mapping[str, Value] | None"

_INDENT = 4
_BLOCKS = frozenset({dict, list, tuple})
_BREAKS = "\n\r\x85\u2028\u2029"
_UNPRINTED = r"\0-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufeff\ufffe\uffff\U00010000-\U0010ffff"
"""What libyaml does not print as it is, beside tabs: characters beyond U+FFFF, and the byte-order mark, among it."""
_ESCAPED = re.compile(rf'[\t{_UNPRINTED}"\\{_BREAKS}]')
# By libyaml's analysis, what a text may not have to be a literal block, in single quotes, or plain.
_NO_BLOCK = re.compile(rf"\A[ \t{_BREAKS}]| [{_BREAKS}]| \Z|[{_UNPRINTED}]")
_NO_QUOTES = re.compile(rf"[{_BREAKS}] | [{_BREAKS}]|[\t{_UNPRINTED}]")
_NO_PLAIN = re.compile(
    rf"""\A(?:---|\.\.\.|[ ,\[\]{{}}&*!|>'"%@`]|[?-](?=[ \t]|\Z))"""
    rf"|:(?=[ \t]|\Z)|(?<![^ \t{_BREAKS}])#|[{_BREAKS}]| \Z"
)
_BASE_60 = re.compile(r"[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?", re.ASCII)
_SURROGATES = re.compile("[\ud800-\udfff]")
_ESCAPES = dict(zip('\0\a\b\t\n\v\f\r\x1b"\\\x85\xa0\u2028\u2029', '0abtnvfre"\\N_LP', strict=True))


def emit(document: Mapping[str, Value]) -> bytes:
    """Return the document as UTF-8 YAML, in the style this module describes."""
    parts: list[str] = []
    _mapping(document, 0, "", parts.append)
    return "".join(parts).encode("utf-8")


def _mapping(mapping: Mapping[str, Value], indent: int, first: str, put: _Put) -> None:
    """Write a mapping with its keys at ``indent``; ``first`` comes before the first key."""
    inside = _INDENT * (
        (indent + _INDENT) // _INDENT
    )  # the next multiple of four, as yaml.v3 indents
    spaces = " " * indent
    before = first or spaces
    for key, value in mapping.items():
        if type(value) not in _BLOCKS or not value:
            put(f"{before}{key}: {_scalar_line(value, inside)}")
        else:
            put(f"{before}{key}:\n")
            if isinstance(value, dict):
                _mapping(value, inside, "", put)
            elif isinstance(value, list | tuple):
                for item in value:
                    _item(item, inside, put)
        before = spaces


def _item(item: Value, indent: int, put: _Put) -> None:
    dash = " " * indent + "- "
    if isinstance(item, dict) and item:
        _mapping(item, indent + 2, dash, put)
    else:
        put(f"{dash}{_scalar_line(item, indent + 2)}")


def _scalar_line(value: Value, indent: int) -> str:
    """Return a value that takes no lines of its own as the end of a line."""
    if isinstance(value, str):
        return _text_line(value, indent)
    if value is None:
        return "null\n"
    if isinstance(value, bool | int | float):
        return f"{scalar(value)}\n"
    if value:
        raise TypeError("sidecars hold no lists of lists")
    return "{}\n" if isinstance(value, dict) else "[]\n"


@functools.lru_cache(4096)  # the sidecars of a log say the same labels and reasons over and over
def _text_line(value: str, indent: int) -> str:
    """Return a string scalar as the end of a line, unless a block has ended it with a break of its own."""
    written = text(value, indent)
    return written if written[-1] in "\n\u2028\u2029" else written + "\n"


def scalar(value: bool | int | float) -> str:
    """Return a truth value or number: the shortest text that reads back the same, whole numbers without a point."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    return _float(value) if value else "-0" if math.copysign(1, value) < 0 else "0"


@functools.lru_cache(4096)  # weights and whole votes, over and over
def _float(value: float) -> str:
    if value != value or value in (float("inf"), float("-inf")):
        return ".nan" if value != value else ".inf" if value > 0 else "-.inf"
    # repr gives the shortest digits that read back the same; only their layout is made here.
    mantissa, _, exponent = repr(abs(value)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    point = len(whole) + int(
        exponent or 0
    )  # where the decimal point is, counted from the first digit
    figures = (whole + fraction).rstrip("0")
    point -= len(figures) - len(figures := figures.lstrip("0"))
    # Go's shortest %g: an exponent below 1e-4, and from seven digits before the point on.
    if not -4 < point <= 6:
        mantissa = figures[0] + ("." + figures[1:] if len(figures) > 1 else "")
        written = f"{mantissa}e{'-' if point - 1 < 0 else '+'}{abs(point - 1):02d}"
    elif point <= 0:
        written = "0." + "0" * -point + figures
    elif point >= len(figures):
        written = figures + "0" * (point - len(figures))
    else:
        written = figures[:point] + "." + figures[point:]
    return ("-" if value < 0 else "") + written


def text(value: str, indent: int) -> str:
    """Return a string scalar; lines after the first stand at ``indent``."""
    if _SURROGATES.search(value):  # not UTF-8: bytes that were carried through
        encoded = base64.b64encode(value.encode("utf-8", "surrogateescape")).decode()
        lines = [encoded[i : i + 70] for i in range(0, len(encoded), 70)]
        return (
            f"!!binary {encoded}"
            if len(encoded) < 70
            else "!!binary " + _literal("\n".join(lines) + "\n", indent)
        )
    if "\n" in value:
        return _double_quoted(value) if _NO_BLOCK.search(value) else _literal(value, indent)
    if resolve(value)[0] != STR or _BASE_60.fullmatch(value) or value in OLD_BOOLEANS:
        return _double_quoted(value)
    if _NO_QUOTES.search(value):
        return _double_quoted(value)
    return (
        "'" + _indented(value.replace("'", "''"), indent) + "'"
        if _NO_PLAIN.search(value)
        else value
    )


def _double_quoted(value: str) -> str:
    all_of_it = value.startswith("\ufeff")
    return '"' + re.sub("(?s)." if all_of_it else _ESCAPED, lambda m: _escape(m[0]), value) + '"'


def _escape(char: str) -> str:
    if char in _ESCAPES:
        return "\\" + _ESCAPES[char]
    code = ord(char)
    return (
        f"\\x{code:02X}"
        if code <= 0xFF
        else f"\\u{code:04X}"
        if code <= 0xFFFF
        else f"\\U{code:08X}"
    )


def _literal(value: str, indent: int) -> str:
    stripped = value.rstrip(_BREAKS)
    trailing = len(value) - len(stripped)
    chomping = "-" if trailing == 0 else "" if trailing == 1 and stripped else "+"
    return f"|{chomping}\n{' ' * indent}{_indented(value, indent)}"


def _indented(value: str, indent: int) -> str:
    """Put the indentation before every line but the first; empty lines get none."""
    return re.sub(f"([{_BREAKS}]+)(?=[^{_BREAKS}])", lambda m: m[1] + " " * indent, value)
