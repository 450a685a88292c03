"""Writes sidecars in the style of yaml.v3, the YAML library of the reference: the same bytes for the same data.

The style (``docs/SIDECARS.md``, "Scores"): block collections, four spaces of indentation with lists indented under
their key, no line folding. A string is plain when a reader would take it for that string; otherwise

- text of several lines is a literal block (``|``),
- text that reads as another type (``"true"``, ``"123"``, ``"2026-01-01"``) is double-quoted,
- text that only its characters forbid to be plain (``a: b``, a leading ``#``) is single-quoted, or double-quoted when
  it holds what single quotes cannot (tabs, control characters, characters beyond U+FFFF).

The analysis follows libyaml's emitter, of which yaml.v3 is a port, with the port's own habits: text that starts with a
byte-order mark is escaped throughout, and a block that ends with a line separator ends its line with it. One deviation:
text of several lines that starts with white space is double-quoted, because yaml.v3's literal block of it does not read
back; no sidecar of the reference can hold such a text.
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
_BREAKS = "\n\r\x85\u2028\u2029"
_INDICATORS_FIRST = "#,[]{}&*!|>'\"%@`"
_BASE_60 = re.compile(r"[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?", re.ASCII)
_SIMPLE = re.compile(r"[A-Za-z0-9](?: ?[!-\"$-9;-~])*+")
"""Text that is plain whatever it says, unless it reads as another type: ASCII without ``:``, ``#`` and odd spaces."""
_SURROGATES = re.compile("[\ud800-\udfff]")
_ESCAPES = {
    "\0": "0",
    "\a": "a",
    "\b": "b",
    "\t": "t",
    "\n": "n",
    "\v": "v",
    "\f": "f",
    "\r": "r",
    "\x1b": "e",
    '"': '"',
    "\\": "\\",
    "\x85": "N",
    "\xa0": "_",
    "\u2028": "L",
    "\u2029": "P",
}


def emit(document: Mapping[str, Value]) -> bytes:
    """Return the document as UTF-8 YAML, in the style this module describes."""
    parts: list[str] = []
    _mapping(document, 0, "", parts.append)
    return "".join(parts).encode("utf-8")


def _mapping(mapping: Mapping[str, Value], indent: int, first: str, put: _Put) -> None:
    """Write a mapping with its keys at ``indent``; ``first`` comes before the first key."""
    before, spaces = first or " " * indent, " " * indent
    for key, value in mapping.items():
        put(f"{before}{key}:")
        _value(value, indent, put)
        before = spaces


def _value(value: Value, indent: int, put: _Put) -> None:
    if isinstance(value, str):
        put(f" {_text_line(value, _next_stop(indent))}")
    elif value is None:
        put(" null\n")
    elif isinstance(value, bool | int | float):
        put(f" {scalar(value)}\n")
    elif isinstance(value, Mapping):
        if not value:
            put(" {}\n")
        else:
            put("\n")
            _mapping(value, _next_stop(indent), "", put)
    elif not value:
        put(" []\n")
    else:
        put("\n")
        for item in value:
            _item(item, _next_stop(indent), put)


def _item(item: Value, indent: int, put: _Put) -> None:
    dash = " " * indent + "- "
    if isinstance(item, Mapping) and item:
        _mapping(item, indent + 2, dash, put)
    elif isinstance(item, str):
        put(f"{dash}{_text_line(item, indent + 2)}")
    elif isinstance(item, bool | int | float):
        put(f"{dash}{scalar(item)}\n")
    else:
        raise TypeError("sidecars hold no lists of lists")


@functools.lru_cache(4096)  # the sidecars of a log say the same labels and reasons over and over
def _text_line(value: str, indent: int) -> str:
    """Return a string scalar as the end of a line, unless a block has ended it with a break of its own."""
    written = text(value, indent)
    return written if written[-1] in "\n\u2028\u2029" else written + "\n"


def _next_stop(indent: int) -> int:
    """Return the next multiple of four, as yaml.v3 indents."""
    return _INDENT * ((indent + _INDENT) // _INDENT)


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
    point = len(whole) + int(exponent or 0)  # where the decimal point is, counted from the first digit
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
        return f"!!binary {encoded}" if len(encoded) < 70 else "!!binary " + _literal("\n".join(lines) + "\n", indent)
    shape = None if _SIMPLE.fullmatch(value) else _Shape(value)
    if shape and "\n" in value:
        return _literal(value, indent) if shape.block_allowed else _double_quoted(value)
    if resolve(value)[0] != STR or _BASE_60.fullmatch(value) or value in OLD_BOOLEANS:
        return _double_quoted(value)
    if shape is None or shape.plain_allowed:
        return value
    return _single_quoted(value, indent) if shape.single_quoted_allowed else _double_quoted(value)


class _Shape:
    """Which styles the characters of a text allow, by libyaml's analysis."""

    def __init__(self, value: str) -> None:
        indicators = value.startswith(("---", "...", *_INDICATORS_FIRST))
        breaks = tabs = special = space_break = break_space = False
        before = ""  # the character before, "" at the start
        for n, char in enumerate(value):
            after_blank = value[n + 1 : n + 2] in ("", " ", "\t")
            if (char == ":" or (n == 0 and char in "?-")) and after_blank:
                indicators = True
            if char == "#" and (before in ("", " ", "\t") or before in _BREAKS):
                indicators = True
            if char == "\t":
                tabs = True
            elif not _is_printable(char):
                special = True
            if char == " " and before and before in _BREAKS:
                break_space = True
            if char in _BREAKS:
                breaks = True
                space_break = space_break or before == " "
            before = char
        edges = value[:1] + value[-1:]
        spaced = any(c == " " or c in _BREAKS for c in edges)
        self.single_quoted_allowed = not (break_space or space_break or tabs or special)
        self.plain_allowed = self.single_quoted_allowed and not (spaced or breaks or indicators)
        self.block_allowed = not (
            space_break or special or value.endswith(" ") or value.startswith((" ", "\t", *_BREAKS))
        )


def _is_printable(char: str) -> bool:
    """Tell what libyaml prints as it is; characters beyond U+FFFF are not among it."""
    code = ord(char)
    return (
        code == 0x0A or 0x20 <= code <= 0x7E or 0xA0 <= code <= 0xD7FF or (0xE000 <= code <= 0xFFFD and code != 0xFEFF)
    )


def _double_quoted(value: str) -> str:
    if value.startswith("\ufeff"):
        return '"' + "".join(map(_escape, value)) + '"'
    return '"' + "".join(c if _is_printable(c) and c not in '"\\' + _BREAKS else _escape(c) for c in value) + '"'


def _escape(char: str) -> str:
    if char in _ESCAPES:
        return "\\" + _ESCAPES[char]
    code = ord(char)
    return f"\\x{code:02X}" if code <= 0xFF else f"\\u{code:04X}" if code <= 0xFFFF else f"\\U{code:08X}"


def _single_quoted(value: str, indent: int) -> str:
    return "'" + _indented(value.replace("'", "''"), indent) + "'"


def _literal(value: str, indent: int) -> str:
    stripped = value.rstrip(_BREAKS)
    trailing = len(value) - len(stripped)
    chomping = "-" if trailing == 0 else "" if trailing == 1 and stripped else "+"
    return f"|{chomping}\n{' ' * indent}{_indented(value, indent)}"


def _indented(value: str, indent: int) -> str:
    """Put the indentation before every line but the first; empty lines get none."""
    return re.sub(f"([{_BREAKS}]+)(?=[^{_BREAKS}])", lambda m: m[1] + " " * indent, value)
