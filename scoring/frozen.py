"""The base of classes that hold values and nothing else: frozen, compared by their fields, and quickly made.

To make a dataclass, the text of its methods is executed; for the sixty classes that a command loads that takes longer
than all that it reads. A :class:`msgspec.Struct` has these methods in C. The functions of :mod:`dataclasses`
(``fields``, ``replace``, ``asdict``) take such values too.
"""

from typing import TYPE_CHECKING, Any, ClassVar

import msgspec

if TYPE_CHECKING:
    from dataclasses import Field


class _Fields:
    """The fields of a class as :mod:`dataclasses` describes them, which is done when they are first asked for."""

    def __get__(self, _: object, cls: type[msgspec.Struct]) -> "dict[str, Field[Any]]":
        import dataclasses

        kinds: dict[str, Any] = {}
        for base in reversed(cls.__mro__):
            kinds |= vars(base).get("__annotations__", {})
        names, defaults = cls.__struct_fields__, cls.__struct_defaults__
        given = dict(zip(names[len(names) - len(defaults) :], map(_described, defaults), strict=True))
        listed = [(name, kinds[name], given.get(name) or dataclasses.field()) for name in names]
        namespace = {"__doc__": cls.__name__}
        made = dataclasses.make_dataclass(cls.__name__, listed, init=False, repr=False, eq=False, namespace=namespace)
        found = {field.name: field for field in dataclasses.fields(made)}
        type.__setattr__(cls, "__dataclass_fields__", found)
        return found


def _described(default: Any) -> Any:
    import dataclasses

    if type(default).__name__ == "Factory":  # of msgspec, which has no public name for it
        return dataclasses.field(default_factory=default.factory)
    return dataclasses.field(default=default)


class Frozen(msgspec.Struct, frozen=True):
    """A class of values: ``class Place(Frozen, frozen=True)`` with a line for each field, as a dataclass has them."""

    if TYPE_CHECKING:
        __dataclass_fields__: "ClassVar[dict[str, Field[Any]]]"
    else:
        __dataclass_fields__ = _Fields()


class PartlyCompared(Frozen, frozen=True, eq=False):
    """A class of values that are equal although the fields differ that are named in ``_aside``."""

    _aside: ClassVar[frozenset[str]] = frozenset()

    def _compared(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in self.__struct_fields__ if name not in self._aside)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self._compared() == other._compared()

    def __hash__(self) -> int:
        return hash(self._compared())
