"""How the tables of this room name a program and its options, and programs that start another one.

The latter, such as ``env`` and ``uv run``, are in ``starters.toml``.
"""

import re
from collections.abc import Sequence
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

    def applies(self, options: list[str]) -> bool:
        """Return whether the program does it with these options."""
        if any(self.unless.fullmatch(option) for option in options):
            return False
        return self.when is None or any(
            self.when.fullmatch(option) for option in options
        )


def read_table(name: str) -> PlainData:
    """Return a table of this room, by the name of its file."""
    return read_toml((Path(__file__).parent / name).read_text("utf-8"))


class WordSet(frozenset[str]):
    """Words that a table has as one text."""


def rows_by_program(table: PlainData, row_type: type[_RowT]) -> dict[str, _RowT]:
    """Return the rows of a table, each by the programs that share it.

    The table has these in one key, with spaces between them. ``git_stash_pop`` is the program
    ``git stash pop``.

    Args:
        table: the table.
        row_type: the type of its rows. A text becomes a pattern, or a :class:`WordSet`, as the
            type of its field says.
    """
    rows = {}
    for names, cells in table.items():
        row = msgspec.convert(cells, row_type, dec_hook=_read_text)
        for name in names.split():
            rows[name.replace("_", " ")] = row
    return rows


def _read_text(kind: Any, text: str) -> WordSet | re.Pattern[str]:
    """Return a text of a table as a set of words or as a pattern, by the type of its field."""
    if kind is WordSet:
        return WordSet(text.split())
    return re.compile(text, re.DOTALL)


class Starter(Frozen):
    """How a program passes a command on.

    Attributes:
        subcommands: its next words, each one of some.
        valued_options: its options that take the next word as their value.
        leading_words: how many words of its own precede the command, such as a duration.
        queries: words with which it only answers a question, and starts nothing.
        markers: the command follows the first of these words, wherever that is.
        optional_words: one of these may precede the command.
    """

    subcommands: tuple[WordSet, ...] = ()
    valued_options: WordSet = WordSet()
    leading_words: int = 0
    queries: WordSet = WordSet()
    markers: WordSet = WordSet()
    optional_words: WordSet = WordSet()

    def command_index(self, words: Words, index: int) -> int | None:
        """Return where the command begins that the program at an index starts.

        Return None where it starts none, because it has another subcommand or only answers, or
        because no word follows.
        """
        position = self._after_options(words, index + 1)
        for names in self.subcommands:
            if position >= len(words) or words[position] not in names:
                return None

            position += 1
            if not self.markers:
                position = self._after_options(words, position)

        if self.markers:
            while position < len(words) and words[position] not in self.markers:
                position += 1
            position += 1
        if position + 1 < len(words) and words[position] in self.optional_words:
            position = self._after_options(words, position + 1)

        position += self.leading_words
        if position < len(words) and words[position] == "--":
            position += 1

        if position >= len(words) or not self.queries.isdisjoint(words[index:position]):
            return None
        return position

    def _after_options(self, words: Words, position: int) -> int:
        """Return the first position from one on that has neither an option nor its value."""
        while position < len(words) and is_option(words[position]):
            position += 2 if words[position] in self.valued_options else 1
        return position


_STARTER_TABLE = read_table("starters.toml")

STARTERS = rows_by_program(_STARTER_TABLE["starts"], Starter)
FAIL_BY_THEMSELVES = frozenset(_STARTER_TABLE["own_failures"].split())
"""The starters by program, and programs that may fail before what they start runs."""
