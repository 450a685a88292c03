"""What a derived entry says: what git knows of a commit, its session, and the issue that it refers to."""

import json
import re
from collections.abc import Sequence

from scoring.evidence.git.authorship import ChangeSize, WrittenCommit
from scoring.text import trim

_ISSUE = re.compile(r"(?<![\w#/&])(?:#|GH-)([0-9]{1,9})\b|(?<![\w-])([A-Z][A-Z0-9]{1,9}-[0-9]{1,9})(?![\w-]|\.[0-9])")
_BRANCH_NUMBER = re.compile(
    r"(?:^|[/_-])(?:issues?|gh|bug|ticket)[/_-]?#?([0-9]{1,9})(?![0-9])|(?:^|/)([0-9]{1,9})[-_]", re.I
)
_BRANCH_KEY = re.compile(r"(?:^|[/_-])([A-Za-z][A-Za-z0-9]{1,9}-[0-9]{1,9})(?![0-9A-Za-z])")
_NO_ISSUES = ("UTF", "SHA", "ISO", "RFC", "HTTP", "CVE", "GPT", "MD", "AES", "PEP", "UTC", "TLS", "ES", "V", "X", "H")
_NO_KEYS = ("ISSUE", "ISSUES", "GH", "BUG", "TICKET", "FIX", "FEATURE", "PR", "RELEASE", "PHASE")
"""What looks like the key of an issue and is none, and what else a branch begins with that is none."""

_NO_TEXT = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_SURROGATE = re.compile("[\ud800-\udfff]")


def entry_text(
    iteration: int, commit: WrittenCommit, branch: str, size: ChangeSize, sessions: Sequence[str] = ()
) -> str:
    """Return an entry of schema 2 that says what git knows of a commit, and the session that made it."""
    lines = [
        "schema_version: 2",
        f"iteration: {iteration}",
        f"date: {quoted(commit.date)}",
        f"task_id: {quoted(task_of(branch, commit.subject))}",
        f"commit: {quoted(commit.sha)}",
        f"branch: {quoted(branch)}",
        f"files_changed: {size.files}",
        f"lines_added: {size.added}",
        f"lines_removed: {size.removed}",
        *(line for session in sessions for line in ("agent:", f"  session_id: {quoted(session)}")),
        "impl:",
        f"  summary: {quoted(trim(commit.subject))}",
    ]
    return "\n".join(lines) + "\n"


def quoted(text: str) -> str:
    """Return text as a YAML scalar that every reader takes for text."""
    plain = _SURROGATE.sub("\ufffd", text)
    return _NO_TEXT.sub(lambda m: f"\\u{ord(m[0]):04x}", json.dumps(plain, ensure_ascii=False))


def task_of(branch: str, subject: str) -> str:
    """Return the issue that a branch or a subject refers to (``ABC-12``, ``#12``), else the branch."""
    if m := _BRANCH_KEY.search(branch):
        key, number = m[1].upper().split("-")
        if key not in (*_NO_ISSUES, *_NO_KEYS):
            return f"{key}-{number}"
    if m := _BRANCH_NUMBER.search(branch):
        return f"#{m[1] or m[2]}"
    for m in _ISSUE.finditer(subject):
        if m[1]:
            return f"#{m[1]}"
        if m[2].partition("-")[0] not in _NO_ISSUES:
            return m[2]
    return branch
