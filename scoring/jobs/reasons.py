"""Why signals are absent, without what is particular to one iteration, so that reasons can be counted."""

import re

_PARTICULARS = (
    (re.compile(r"iter-\d+"), "iter-N"),
    (re.compile(r'"(?:[^"\\]|\\.)*"'), '"…"'),
    (re.compile(r"SHA \S+ does"), "SHA … does"),
    (re.compile(r"changed files for \S+"), "changed files for …"),
    (re.compile(r"commit [0-9a-f]{7,12}\b"), "commit …"),
    (re.compile(r"(cannot (?:parse|read) [^:]*:).*", re.DOTALL), r"\1 …"),
)


def general(detail: str) -> str:
    """Return why a signal is absent without what is particular to one iteration."""
    for pattern, replacement in _PARTICULARS:
        detail = pattern.sub(replacement, detail)
    return detail
