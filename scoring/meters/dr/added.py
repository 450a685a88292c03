"""Which of the words that somebody added were found, so that a result can be traced to them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from scoring.meters.dr.phrases import has_word, has_word_start, plain, starts_with
from scoring.meters.dr.words import Words


@dataclass(frozen=True, slots=True)
class AddedWord:
    """A word that was added to a list and matched in a round."""

    list: str
    word: str
    round: int


_Matches = Callable[[tuple[str, ...], str], bool]

_LISTS: dict[str, tuple[_Matches, bool]] = {
    "verbs": (has_word, False),
    "vague_starts": (starts_with, False),
    "vague": (has_word, False),
    "blockers": (has_word_start, True),
    "ownership": (has_word, False),
}
"""How the words of each list match, and whether open questions are searched as well as next actions."""


def added_words(number: int, actions: Sequence[str], questions: Sequence[str], words: Words) -> list[AddedWord]:
    """Return the added words that matched in a round, in the order of the lists."""
    found = []
    for name, (matches, everywhere) in _LISTS.items():
        texts = [plain(text) for text in ((*questions, *actions) if everywhere else actions)]
        matched = [word for word in dict.fromkeys(getattr(words, name)) if any(matches((word,), t) for t in texts)]
        found += [AddedWord(name, word, number) for word in matched]
    return found
