"""Programs that only start another one, such as ``env`` and ``uv run`` (``starters.toml``)."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from scoring.settings_table import read_toml

STARTER_TABLE = Path(__file__).parent / "starters.toml"


class Starter(NamedTuple):
    """How a program passes a command on.

    Attributes:
        subcommands: its next words, each one of some.
        valued_options: its options that take the next word as their value.
        leading_words: how many words of its own precede the command, such as a duration.
        queries: words with which it only answers a question, and starts nothing.
        markers: the command follows the first of these words, wherever that is.
        optional_words: one of these may precede the command.
    """

    subcommands: tuple[frozenset[str], ...] = ()
    valued_options: frozenset[str] = frozenset()
    leading_words: int = 0
    queries: frozenset[str] = frozenset()
    markers: frozenset[str] = frozenset()
    optional_words: frozenset[str] = frozenset()

    @classmethod
    def from_row(cls, row: dict[str, Any]) -> "Starter":
        """Read a row of the table, in which several words are one text."""
        words = {
            name: frozenset(row.get(name, "").split())
            for name in ("valued_options", "queries", "markers", "optional_words")
        }
        subcommands = [frozenset(names.split()) for names in row.get("subcommands", ())]
        return cls(
            subcommands=tuple(subcommands),
            leading_words=row.get("leading_words", 0),
            **words,
        )

    def command_index(self, words: Sequence[str], index: int) -> int | None:
        """Return where the command begins that the program at an index starts.

        Return None where it starts none, because it has another subcommand or only answers, or
        because no word follows.
        """
        position = self._after_subcommands(words, index + 1)
        if position is None:
            return None

        if self.markers:
            position = self._after_marker(words, position)
        if position + 1 < len(words) and words[position] in self.optional_words:
            position = self._after_options(words, position + 1)

        position += self.leading_words
        if position < len(words) and words[position] == "--":
            position += 1

        if position >= len(words) or not self.queries.isdisjoint(words[index:position]):
            return None
        return position

    def _after_subcommands(self, words: Sequence[str], position: int) -> int | None:
        """Return the position after options and subcommands.

        Return None where a subcommand differs.
        """
        position = self._after_options(words, position)
        for names in self.subcommands:
            if position >= len(words) or words[position] not in names:
                return None

            position += 1
            if not self.markers:
                position = self._after_options(words, position)
        return position

    def _after_options(self, words: Sequence[str], position: int) -> int:
        while position < len(words) and words[position].startswith("-"):
            position += 2 if words[position] in self.valued_options else 1
        return position

    def _after_marker(self, words: Sequence[str], position: int) -> int:
        for index in range(position, len(words)):
            if words[index] in self.markers:
                return index + 1
        return len(words)


def _read_table() -> tuple[dict[str, Starter], frozenset[str]]:
    """Return the starters by the name of the program, and the programs that fail by themselves."""
    table = read_toml(STARTER_TABLE.read_text("utf-8"))

    starters: dict[str, Starter] = {}
    for names, row in table["starts"].items():
        starter = Starter.from_row(row)
        starters.update(dict.fromkeys(names.split(), starter))

    return starters, frozenset(table["own_failures"].split())


STARTERS, FAIL_BY_THEMSELVES = _read_table()
"""The starters by program, and programs that may fail before what they start runs."""
