"""How the tables of this room name a program, its subcommands and its options."""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import msgspec

from scoring.frozen import Frozen, PlainData
from scoring.settings_table import read_toml

_RowT = TypeVar("_RowT")

Words: TypeAlias = Sequence[str]
"""Words of a command, or some of them, such as its options."""

_TRAILING_VERSION = re.compile(r"(?<![\d.])[\d.]+$")

_GIT_VALUED_OPTIONS = frozenset(
    {
        "-C",
        "-c",
        "--git-dir",
        "--work-tree",
        "--namespace",
        "--exec-path",
        "--super-prefix",
        "--config-env",
    }
)
"""Options of git itself that take the next word as their value."""


def base_name(word: str) -> str:
    """Return the name of a program without its folder."""
    return word.rpartition("/")[2]


def without_version(name: str) -> str:
    """Return the name of a program without a version at its end: ``python3.12`` is ``python``."""
    return _TRAILING_VERSION.sub("", name)


def is_option(word: str) -> bool:
    """Return whether a word is an option of a program."""
    return word.startswith("-")


def git_subcommand_index(words: Words) -> int:
    """Return where the subcommand of a ``git`` command is, after the options of git itself."""
    index = 1
    while index < len(words) and is_option(words[index]):
        index += 2 if words[index] in _GIT_VALUED_OPTIONS else 1
    return index


class OptionRule(Frozen):
    """When a program does what a row of a table says.

    Attributes:
        when: it does so with an option that this pattern matches; None: with any.
        unless: it does not with an option that this pattern matches.
    """

    when: re.Pattern[str] | None = None
    unless: re.Pattern[str] = re.compile("", re.DOTALL)

    def applies(self, options: Iterable[str]) -> bool:
        """Return whether the program does it with these options."""
        options = list(options)
        if any(self.unless.fullmatch(option) for option in options):
            return False
        return self.when is None or any(self.when.fullmatch(option) for option in options)


def read_table(name: str) -> PlainData:
    """Return a table of this room, by the name of its file."""
    return read_toml((Path(__file__).parent / name).read_text("utf-8"))


class WordSet(frozenset[str]):
    """Words that a table has as one text."""


def rows_by_program(table: Mapping[str, Any], row_type: type[_RowT]) -> dict[str, _RowT]:
    """Return the rows of a table by each of the names that they have in common.

    A name is a program, or a program with subcommands: ``git_stash_pop`` is ``git stash pop``. A
    text is read as the kind of its field: as a pattern, or as :class:`WordSet`.
    """
    rows: dict[str, _RowT] = {}
    for names, cells in table.items():
        row = msgspec.convert(cells, row_type, dec_hook=_read_text)
        for name in names.split():
            rows[name.replace("_", " ")] = row
    return rows


def _read_text(kind: Any, text: str) -> WordSet | re.Pattern[str]:
    if kind is WordSet:
        return WordSet(text.split())
    return re.compile(text, re.DOTALL)
