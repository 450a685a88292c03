"""The one checker for tables of settings: every key is known, every value is of its kind, and an error is one line."""

from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple, TypeAlias, Union

from scoring.errors import SettingsError
from scoring.files import size_in_words
from scoring.text import shown

SIZE_LIMIT = 128 << 10
"""The largest file of settings or configuration, in bytes: people write them, and a few KiB are long."""

_MOST_DOTS = 1000
"""How many dots a line of TOML may have: the time that a dotted key takes grows with the square of its parts."""


def read_toml(text: str) -> dict[str, Any]:
    """Return what TOML says; ValueError for none, too large, or too many dots in a line, RecursionError if too deep."""
    if len(text) > SIZE_LIMIT:
        raise ValueError(f"larger than {size_in_words(SIZE_LIMIT)}")
    for number, line in enumerate(text.split("\n"), start=1):
        if line.count(".") > _MOST_DOTS:
            raise ValueError(f"more than {_MOST_DOTS} dots (at line {number})")
    import tomllib  # a repository without settings does without

    return tomllib.loads(text)


class Kind(NamedTuple):
    """What a setting may be: in words, as errors say it, and whether a value is that."""

    name: str
    fits: Callable[[Any], bool]


class ListOf(NamedTuple):
    """A list of values of one kind, read as a tuple; a text alone is a list of one."""

    name: str
    item: Kind


Kinds: TypeAlias = Mapping[str, Union[Kind, ListOf, "Kinds"]]
"""What the keys of a table may hold; a table in it has kinds of its own."""


def is_whole(value: Any, least: int, most: float) -> bool:
    """Return whether a value is a whole number from ``least`` to ``most``; true and false are none."""
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


TEXT = Kind("text", lambda value: isinstance(value, str))
FLAG = Kind("true or false", lambda value: isinstance(value, bool))


def checked_table(
    table: Any,
    kinds: Kinds,
    where: str,
    *,
    name: str = "",
    elsewhere: Collection[str] = (),
    whole: bool = False,
) -> dict[str, Any]:
    """Return what a table of plain data sets, checked; SettingsError names ``where`` it is from, and its ``name``.

    Tables that something ``elsewhere`` checks are left out; with ``whole`` every key must be there.
    """
    at = f"{where}: {name}" if name else where
    if not isinstance(table, Mapping):
        raise SettingsError(f"{at}: {shown(table)} where a table belongs")
    found: dict[str, Any] = {}
    for key, value in table.items():
        if key in elsewhere:
            continue
        if key not in kinds:
            tables = [
                *(known for known, kind in kinds.items() if isinstance(kind, Mapping)),
                *elsewhere,
            ]
            known = [known for known in kinds if known not in tables] + [
                f"[{known}]" for known in tables
            ]
            raise SettingsError(f"{at}: unknown setting {key!r}; known: {', '.join(known)}")
        kind, full = kinds[key], f"{name}.{key}" if name else key
        if isinstance(kind, Mapping):
            found[key] = checked_table(value, kind, where, name=full, whole=whole)
        else:
            found[key] = _value(value, kind, where, full)
    if whole and (missing := [key for key in kinds if key not in found]):
        raise SettingsError(f"{at}: {', '.join(missing)} missing; nothing may be left out")
    return found


def _value(value: Any, kind: Kind | ListOf, where: str, name: str) -> Any:
    if isinstance(kind, Kind):
        if kind.fits(value):
            return value
    elif isinstance(value, str | list):
        items = [value] if isinstance(value, str) else value
        return tuple(_value(item, kind.item, where, f"{name}[{n}]") for n, item in enumerate(items))
    raise SettingsError(f"{where}: {name} is {shown(value)}, not {kind.name}")
