"""How outcomes are measured: how long, in which files, and which words call a commit a fix."""

import re
from functools import lru_cache
from hashlib import blake2b

from scoring.frozen import Frozen

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

_OTHER_FIX = re.compile(
    r"[,;&+]|(?<!\w)(?:and|also|revert\w*|chore|refactor\w*|(?:golangci-|es)?lint\w*|\w*fmt"
    r"|format\w*|styl\w+|indent\w*|white ?space|imports?|typos?|spelling|wording|grammar"
    r"|comments?|docs?|documentation|readme|changelog|test(?:s|ing)?|ci|workflows?|build|deps"
    r"|nits?|reviews?|feedback|findings?|warnings?|renam\w+|names?|merge\w*|conflicts?"
    r"|optimi[sz]\w*|rewr\w+|duplicat\w*|ux|trailing (?:white )?spaces?"
    r"|(?<=: )(?:(?:improv|enhanc)\w+|(?:updat|chang|switch|migrat|convert)\w*(?= .* to )"
    r"|replac\w*(?= .* with )))(?!\w)",
    re.IGNORECASE,
)
"""Words by which a commit does more than fix, only tidies, or does a thing in another way."""


class OutcomeRules(Frozen):
    """How outcomes are measured.

    Attributes:
        horizon_days: how many days work is followed after it landed.
        code_globs: patterns of the files in which lines count; empty for all source files.
        fix_words: the words by which the subject of a commit calls it a fix.
    """

    horizon_days: float = HORIZON_DAYS
    code_globs: tuple[str, ...] = ()
    fix_words: tuple[str, ...] = FIX_WORDS

    def is_fix(self, subject: str) -> bool:
        """Return whether a subject calls its commit a fix."""
        return _any_of(self.fix_words).search(subject) is not None

    def is_plain_fix(self, subject: str) -> bool:
        """Return whether a subject calls its commit a fix alone, as in ``parser: fix a crash``."""
        prefixes = r"(?:\[[^\]]*\] *|[^\s:]{1,40}: *)*"
        begins_with_it = _any_of(self.fix_words, prefixes).match(subject)
        return begins_with_it is not None and not _OTHER_FIX.search(subject)

    @property
    def digest(self) -> str:
        """A name for how lines are counted, under which answers are kept."""
        return blake2b(
            repr((self.code_globs, self.fix_words, _OTHER_FIX.pattern)).encode(),
            digest_size=8,
        ).hexdigest()


@lru_cache(maxsize=8)
def _any_of(words: tuple[str, ...], prefix: str = "") -> re.Pattern[str]:
    """Return a pattern of any of some whole words, in any case, after the pattern ``prefix``.

    Without words it matches nothing.
    """
    if not words:
        return re.compile("(?!)")
    alternatives = "|".join(map(re.escape, words))
    return re.compile(rf"{prefix}(?<!\w)(?:{alternatives})(?!\w)", re.IGNORECASE)
