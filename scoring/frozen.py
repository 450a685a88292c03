"""The base of classes that have values and nothing else: frozen, compared by their fields, and quickly made."""

from typing import Any, ClassVar

import msgspec


class Frozen(msgspec.Struct, frozen=True):
    """A class of values: ``class Place(Frozen, frozen=True)`` with a line for each field; quickly made."""


class PartlyCompared(Frozen, frozen=True, eq=False):
    """A class of values that are equal although the fields differ that are named in ``_aside``."""

    _aside: ClassVar[frozenset[str]] = frozenset()

    def _compared(self) -> tuple[Any, ...]:
        return tuple(
            getattr(self, name) for name in self.__struct_fields__ if name not in self._aside
        )

    def __eq__(self, other: object) -> bool:
        return (
            self._compared() == other._compared() if type(other) is type(self) else NotImplemented
        )

    def __hash__(self) -> int:
        return hash(self._compared())
