"""The plain part of YAML, read line by line: what tools and most people write into an entry.

That is block mappings and lists of scalars on one line, plain or in quotes without escapes. :func:`parsed_plain` makes
of it the nodes that libyaml's events would make, line numbers included, in a small part of the time. At anything else
it gives up, and libyaml decides (``docs/DEPENDENCIES.md``, "YAML").
"""

import re
from functools import cache

from scoring.yamlnodes import MappingNode, Node, Scalar, Sequence

_DEEPEST = 40
_PLAIN = (
    r"(?:[A-Za-z0-9_./+~=;^(<$\\]|[^\x00-\x7f]|-(?=[^\x00- \x7f]))"
    r"(?:[^\x00- :\x7f]++|:(?=[^\x00- \x7f])| ++(?=[^\x00- #\x7f]))*+"
)
_LINE = re.compile(
    r"( *+)(- ++)?+(?:([A-Za-z_][A-Za-z0-9_-]{0,99}+):(?=[ \n]|\Z) *+)?+"
    rf"(?:({_PLAIN})|\"([^\x00-\x1f\"\\\x7f]*+)\"|'([^\x00-\x1f'\x7f]*+)'|(\[\]|\{{\}})|)"
    r" *+((?<![^ \n])\#[^\x00-\x1f\x7f]*+)?+(?:\n|\Z)"
)
"""A line: indentation, the dash of an item, a key, a value in one of four forms, a comment."""


@cache
def _odd() -> re.Pattern[str]:
    """Return what ends a line or is no text, beyond ASCII; few files have any, and the pattern takes long to make."""
    return re.compile("[\x80-\xa0\u2028\u2029\ud800-\U0010ffff]")


class _Open:
    """A collection that is not complete: a mapping with the key that waits for its value, or a list."""

    __slots__ = ("indent", "is_list", "key", "node")

    def __init__(self, indent: int, node: MappingNode | Sequence) -> None:
        self.indent, self.node, self.is_list = indent, node, isinstance(node, Sequence)
        self.key: Node | None = None

    def take(self, value: Node) -> None:
        """Put a value where it belongs."""
        if isinstance(self.node, Sequence):
            self.node.items.append(value)
        elif self.key is not None:
            self.node.pairs.append((self.key, value))
            self.key = None

    def close(self) -> None:
        """Give the last key its value: nothing."""
        if self.key is not None:
            self.take(Scalar("", "", False, self.key.line))


def parsed_plain(data: bytes) -> Node | None:
    """Return the nodes of a document that is plain throughout; None of any other, and of an empty one."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    if not text.isascii() and _odd().search(text):
        return None
    stack: list[_Open] = []
    root: Node | None = None
    at = number = 0
    match, end = _LINE.match, len(text)
    while at < end:
        found = match(text, at)
        if found is None:
            return None
        at, number = found.end(), number + 1
        spaces, dash, key, plain, double, single, flow, _ = found.groups()
        value: Node | None = None
        if plain is not None:
            value = Scalar(plain, "", False, number)
        elif double is not None:
            value = Scalar(double, "", True, number)
        elif single is not None:
            value = Scalar(single, "", True, number)
        elif flow is not None:
            value = Sequence(number) if flow == "[]" else MappingNode(number)
        if key is None and dash is None:
            if value is not None:
                return None
            continue
        indent, listed = len(spaces), dash is not None
        while stack and (stack[-1].indent > indent or (stack[-1].indent == indent and stack[-1].is_list > listed)):
            stack.pop().close()
        top = stack[-1] if stack else None
        if top is None or top.indent != indent or top.is_list != listed:
            node: MappingNode | Sequence = Sequence(number) if listed else MappingNode(number)
            if top is None and root is None:
                root = node
            elif top is not None and top.key is not None and top.indent <= indent - (not listed):
                top.take(node)
            else:
                return None
            top = _Open(indent, node)
            stack.append(top)
        if dash is not None:
            if key is None:
                if value is None:
                    return None
                top.take(value)
                continue
            node = MappingNode(number)
            top.take(node)
            top = _Open(indent + len(dash), node)
            stack.append(top)
        top.close()
        top.key = Scalar(key, "", False, number)
        if value is not None:
            top.take(value)
        if len(stack) > _DEEPEST:
            return None
    while stack:
        stack.pop().close()
    return root
