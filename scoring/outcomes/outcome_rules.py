"""How outcomes are measured: how long, in which files, and which words call a commit a fix."""

import re
from functools import lru_cache
from hashlib import blake2b

from scoring.frozen import Frozen, Texts
from scoring.log.settings import Settings, days_of

HORIZON_DAYS = 14

FIX_WORDS = (
    "fix",
    "fixes",
    "fixed",
    "bug",
    "bugfix",
    "hotfix",
    "regression",
    "revert",
    "broken",
    "crash",
)


class OutcomeRules(Frozen):
    """How outcomes are measured.

    Attributes:
        horizon_days: how many days work is followed after it landed.
        code_globs: patterns of the files in which lines count; empty for all source files.
        fix_words: the words by which the subject of a commit calls it a fix.
    """

    horizon_days: float = HORIZON_DAYS
    code_globs: Texts = ()
    fix_words: Texts = FIX_WORDS

    def is_fix(self, subject: str) -> bool:
        """Return whether a subject calls its commit a fix: by one of the words, in any case."""
        return _any_of(self.fix_words).search(subject) is not None

    @property
    def digest(self) -> str:
        """A name for the files and the words that count, whatever the horizon.

        Answers are kept under it.
        """
        return blake2b(
            repr((self.code_globs, self.fix_words)).encode(), digest_size=8
        ).hexdigest()


def outcome_rules(settings: Settings) -> OutcomeRules:
    """Return how outcomes are measured under settings."""
    words = settings.fix_words or FIX_WORDS
    return OutcomeRules(days_of(settings.horizon), settings.code_globs, words)


@lru_cache(maxsize=8)
def _any_of(words: Texts) -> re.Pattern[str]:
    """Return a pattern of any of some whole words, in any case.

    Without words it matches nothing.
    """
    if not words:
        return re.compile("(?!)")
    alternatives = "|".join(map(re.escape, words))
    return re.compile(rf"(?<!\w)(?:{alternatives})(?!\w)", re.IGNORECASE)
