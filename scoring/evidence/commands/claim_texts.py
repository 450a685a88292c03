"""Recognizes claims that tests pass in what an agent says.

The forms of claims are in ``claims.toml``.
"""

import re
from functools import cache
from typing import NamedTuple

from .programs import read_table

_TEXT_LIMIT = 20_000
"""How many characters of a text are searched, the last ones."""

_CLAUSE_LIMIT = 500
"""The longest clause, in characters, that can be a plain claim."""

_WORDS_OF_SUCCESS = ("pass", "green", "clean", "succe", " failures", "✅", "✓")
_WORDS_OF_TESTS = ("test", "suite", "all ", "spec", "everything", "phpunit", "jest")

_CODE_BLOCK = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_QUOTATION = re.compile(r'"[^"\n]*"|“[^”\n]*”')
_IN_BACKTICKS = re.compile(r"`[^`\n]*`")
_CLAUSE_END = re.compile(r"(?<=[.!?;])\s+|,? (?:—|–|-|and) (?=(?:all )?(?:`|tests ))")


class _ClaimForms(NamedTuple):
    """The patterns of ``claims.toml``, all forms of one kind joined by "or".

    Attributes:
        says: matches clauses that claim that tests pass.
        runs: matches clauses that claim that a command in backticks passes.
        clean: matches words about what is missing, such as "no errors", which weaken no claim.
        unless: matches words by which a clause claims something else: a wish, a doubt, a claim
            about some of the tests.
    """

    says: re.Pattern[str]
    runs: re.Pattern[str]
    clean: re.Pattern[str]
    unless: re.Pattern[str]


def claims_tests_pass(text: str) -> bool:
    """Return whether a text says, in words that leave no doubt, that tests passed.

    One clause that says so is enough, whatever the others say. Blocks of code, quotations and
    quoted lines (``> ...``) do not count, and of a longer text only the last 20,000 characters do.
    """
    text = text[-_TEXT_LIMIT:].lower()
    if not _may_claim(text):
        return False

    if "```" in text:
        text = _CODE_BLOCK.sub("\n", text)

    for line in text.split("\n"):
        if _may_claim(line) and not line.lstrip().startswith(">"):
            clauses = _CLAUSE_END.split(_QUOTATION.sub("…", line))
            if any(map(_clause_claims, clauses)):
                return True
    return False


def _may_claim(text: str) -> bool:
    """Return whether a text, in lower case, names success and tests.

    This is a quick check before the forms of claims are tried.
    """
    names_success = any(word in text for word in _WORDS_OF_SUCCESS)
    return names_success and any(word in text for word in _WORDS_OF_TESTS)


def _clause_claims(clause: str) -> bool:
    """Return whether a clause, in lower case, has the form of a claim that nothing in it weakens.

    A clause of more than 500 characters claims nothing.
    """
    if len(clause) > _CLAUSE_LIMIT or not _may_claim(clause):
        return False

    forms = _claim_forms()
    without_commands = _IN_BACKTICKS.sub("…", clause)
    bare = forms.clean.sub("…", without_commands)

    if forms.unless.search(bare):
        return False
    return forms.says.search(bare) is not None or forms.runs.search(clause) is not None


@cache
def _claim_forms() -> _ClaimForms:
    forms_by_kind = read_table("claims.toml")
    patterns = {
        kind: re.compile("|".join(forms)) for kind, forms in forms_by_kind.items()
    }
    return _ClaimForms(**patterns)
