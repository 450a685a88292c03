"""The one checker of tables of settings: every key is known, and every value is of its kind."""

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Union

from .errors import SettingsError
from .files import size_in_words
from .frozen import PlainData
from .text import shown

SIZE_LIMIT = 128 << 10
"""The largest file of settings, in bytes: people write them, and a few KiB are long."""

MOST_ITEMS = 500
"""How many items a list may have by default: each command or file is compared with each."""

_MOST_DOTS = 1000
"""How many dots a line of TOML may have, since the time of a dotted key grows with their square."""


def read_toml(text: str) -> PlainData:
    """Return the table that TOML describes.

    Raises:
        ValueError: the text is not TOML, is too large, or has too many dots in a line.
        RecursionError: it nests too deep.
    """
    if len(text) > SIZE_LIMIT:
        raise ValueError(f"larger than {size_in_words(SIZE_LIMIT)}")
    for number, line in enumerate(text.split("\n"), start=1):
        if line.count(".") > _MOST_DOTS:
            raise ValueError(f"more than {_MOST_DOTS} dots (at line {number})")

    import tomllib  # a repository without settings does not need it

    return tomllib.loads(text)


def own_table(module_file: str, name: str) -> PlainData:
    """Return the table in a TOML file of da-score.

    Args:
        module_file: ``__file__`` of a module.
        name: the path of the file in the folder of that module.
    """
    return read_toml((Path(module_file).parent / name).read_text("utf-8"))


class Kind(NamedTuple):
    """What the value of a setting may be.

    Attributes:
        name: the kind in words, as errors say it: "text".
        fits: returns whether a value is of this kind.
    """

    name: str
    fits: Callable[[Any], bool]


class ListOf(NamedTuple):
    """A list of values of one kind, of which :func:`checked_table` makes a tuple.

    A text in place of the list counts as a list of one.

    Attributes:
        name: the kind in words, as errors say it: "a list of texts".
        item: the kind of each value.
        most: how many values it may have.
    """

    name: str
    item: Kind
    most: int = MOST_ITEMS


Kinds = Mapping[str, Union[Kind, ListOf, "Kinds"]]
"""What the keys of a table may hold. A table inside of it has kinds of its own."""


def is_whole(value: Any, least: float, most: float) -> bool:
    """Return whether a value is a whole number from ``least`` to ``most``, and not a boolean."""
    return (
        isinstance(value, int)
        and not isinstance(value, bool)
        and least <= value <= most
    )


def filled_text(name: str) -> Kind:
    """Return the kind of texts that are more than white space, under a name."""
    return Kind(name, lambda value: isinstance(value, str) and value.strip() != "")


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
) -> PlainData:
    """Return the settings of a table, each checked. A list of values becomes a tuple.

    Args:
        table: the table as plain data.
        kinds: what its keys may hold, by key.
        where: the file or the like that the table comes from, for errors.
        name: the name of the table in there; "" for the outermost one.
        elsewhere: keys of tables that something else checks, and that are left out here.
        whole: whether every key must be there.

    Raises:
        SettingsError: a key is unknown or missing, or a value is not of its kind.
    """
    place = f"{where}: {name}" if name else where
    if not isinstance(table, Mapping):
        raise SettingsError(f"{place}: {shown(table)} where a table belongs")

    settings: PlainData = {}
    for key, value in table.items():
        if key in elsewhere:
            continue
        if key not in kinds:
            known_keys = _names_for_people(kinds, elsewhere)
            raise SettingsError(
                f"{place}: unknown setting {key!r}; known: {known_keys}"
            )

        kind = kinds[key]
        full_name = f"{name}.{key}" if name else key
        if isinstance(kind, Mapping):
            settings[key] = checked_table(
                value, kind, where, name=full_name, whole=whole
            )
        else:
            settings[key] = _checked_value(value, kind, where, full_name)

    missing = [key for key in kinds if key not in settings]
    if whole and missing:
        raise SettingsError(
            f"{place}: {', '.join(missing)} missing; nothing may be left out"
        )
    return settings


def _names_for_people(kinds: Kinds, elsewhere: Collection[str]) -> str:
    """Return the keys of a table, with the tables inside of it at the end and in brackets."""
    tables = [key for key, kind in kinds.items() if isinstance(kind, Mapping)]
    keys = [key for key in kinds if key not in (*tables, *elsewhere)]
    return ", ".join([*keys, *(f"[{table}]" for table in (*tables, *elsewhere))])


def _checked_value(
    value: Any,
    kind: Kind | ListOf,
    where: str,
    name: str,
) -> Any:
    """Return a value that is of a kind. Where that is a list, return a tuple of its items.

    Args:
        value: the value. One text counts as a list of one.
        kind: the kind.
        where: the file or the like that the value comes from, for errors.
        name: the full name of the setting, for errors.

    Raises:
        SettingsError: the value, or an item of the list, is not of its kind, or the list has too
            many items.
    """
    if isinstance(kind, Kind):
        if kind.fits(value):
            return value
    elif isinstance(value, str):
        return (_checked_value(value, kind.item, where, f"{name}[0]"),)
    elif isinstance(value, list):
        if len(value) > kind.most:
            raise SettingsError(f"{where}: {name} has more than {kind.most} items")
        return tuple(
            _checked_value(item, kind.item, where, f"{name}[{index}]")
            for index, item in enumerate(value)
        )
    raise SettingsError(f"{where}: {name} is {shown(value)}, not {kind.name}")
