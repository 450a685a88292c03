"""Puts things with the same key together."""

from collections.abc import Hashable, Iterable
from typing import TypeVar

Key = TypeVar("Key", bound=Hashable)
Item = TypeVar("Item")


def lists_by_key(pairs: Iterable[tuple[Key, Item]]) -> dict[Key, list[Item]]:
    """Return the items of each key as a list, in the order of the pairs.

    Args:
        pairs: keys, each with an item. A key may come several times.

    Example:
        ``lists_by_key([("a", 1), ("b", 2), ("a", 3)])`` is ``{"a": [1, 3], "b": [2]}``.
    """
    lists: dict[Key, list[Item]] = {}
    for key, item in pairs:
        lists.setdefault(key, []).append(item)
    return lists
