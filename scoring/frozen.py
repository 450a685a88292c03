"""The base of classes that have values and nothing else: frozen, compared by field, and small."""

from typing import Any, ClassVar, dataclass_transform

import msgspec

PlainData = dict[str, Any]
"""A value as JSON has it: a dictionary of strings, numbers, lists and further dictionaries."""

Texts = tuple[str, ...]
"""Some texts, in order."""


def fields_of(value: object, *names: str) -> PlainData:
    """Return the named attributes of a value by name, in order of the names, as they are."""
    return {name: getattr(value, name) for name in names}


@dataclass_transform(frozen_default=True, field_specifiers=(msgspec.field,))
class Frozen(msgspec.Struct, frozen=True):
    """A class of values, which has a line for each field.

    It is like a frozen dataclass, but quicker to define and to make. Subclasses are frozen too.
    """


class PartlyCompared(Frozen, eq=False):
    """A class of values that are equal even if some fields differ.

    Attributes:
        _ignored: the names of the fields that do not count.
    """

    _ignored: ClassVar[frozenset[str]] = frozenset()

    def _compared_values(self) -> tuple[Any, ...]:
        names = [name for name in self.__struct_fields__ if name not in self._ignored]
        return tuple(getattr(self, name) for name in names)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self._compared_values() == other._compared_values()

    def __hash__(self) -> int:
        return hash(self._compared_values())
