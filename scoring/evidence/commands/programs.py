"""How the tables of this room name a program, its subcommands and its options."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import msgspec

from scoring.frozen import Frozen

_RowT = TypeVar("_RowT")

_TRAILING_VERSION = re.compile(r"(?<![\d.])[\d.]+$")
_HAVE_SUBCOMMANDS = ("git", "gh")

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


def git_subcommand_index(words: Sequence[str]) -> int:
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


class ProgramCall(NamedTuple):
    """A simple command as a table of programs has it.

    Attributes:
        name: the program, with the subcommands that the table names.
        arguments: all words after the program; for git after its own options.
        operands: the arguments that are neither options nor those subcommands.
    """

    name: str
    arguments: list[str]
    operands: list[str]

    @property
    def program(self) -> str:
        """The program without subcommands."""
        return self.name.partition(" ")[0]

    @property
    def options(self) -> list[str]:
        """The arguments that are options."""
        return [word for word in self.arguments if is_option(word)]


class ProgramNames:
    """The names that a table has, each a program or a program with its subcommands."""

    def __init__(self, *tables: Collection[str]) -> None:
        self._have_subcommands = {*_HAVE_SUBCOMMANDS}
        for table in tables:
            self._have_subcommands |= {name.rpartition(" ")[0] for name in table} - {""}

    def call(self, words: Sequence[str], names: Collection[str]) -> ProgramCall:
        """Return a command's program by the longest of the names that it begins with.

        Args:
            words: the words of a simple command, at least one.
            names: those that count in this table.
        """
        name = base_name(words[0])
        if name not in names:
            name = without_version(name)

        first_argument = git_subcommand_index(words) if name == "git" else 1
        arguments = list(words[first_argument:])
        operands = [word for word in arguments if not is_option(word)]

        while name in self._have_subcommands and name not in names and operands:
            name = f"{name} {operands.pop(0)}"
        return ProgramCall(name, arguments, operands)
