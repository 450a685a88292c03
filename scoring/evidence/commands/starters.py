"""Programs that only start another one, such as ``env`` and ``uv run`` (``starters.toml``)."""

from scoring.evidence.commands.programs import (
    Words,
    WordSet,
    is_option,
    read_table,
    rows_by_program,
)
from scoring.frozen import Frozen


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
        while position < len(words) and is_option(words[position]):
            position += 2 if words[position] in self.valued_options else 1
        return position


_TABLE = read_table("starters.toml")

STARTERS = rows_by_program(_TABLE["starts"], Starter)
FAIL_BY_THEMSELVES = frozenset(_TABLE["own_failures"].split())
"""The starters by program, and programs that may fail before what they start runs."""
