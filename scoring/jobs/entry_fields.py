"""The YAML of an entry that da-score writes: fields that git knows, and texts that stay texts."""

import json
import re

from scoring.evidence.git.commit_history import ChangeSize, WrittenCommit

ENTRY_MODE = 0o644

_ISSUE_IN_SUBJECT = re.compile(
    r"(?<![\w#/&])(?:#|GH-)([0-9]{1,9})\b"
    r"|(?<![\w-])([A-Z][A-Z0-9]{1,9}-[0-9]{1,9})(?![\w-]|\.[0-9])"
)
_NUMBER_IN_BRANCH = re.compile(
    r"(?:^|[/_-])(?:issues?|gh|bug|ticket)[/_-]?#?([0-9]{1,9})(?![0-9])|(?:^|/)([0-9]{1,9})[-_]",
    re.IGNORECASE,
)
_KEY_IN_BRANCH = re.compile(r"(?:^|[/_-])([A-Za-z][A-Za-z0-9]{1,9}-[0-9]{1,9})(?![0-9A-Za-z])")

_NOT_A_PROJECT = set("UTF SHA ISO RFC HTTP CVE GPT MD AES PEP UTC TLS ES V X H".split())
"""What precedes a number as in the key of an issue, though it is the name of something else."""

_NOT_A_PROJECT_IN_BRANCH = _NOT_A_PROJECT.union(
    "ISSUE ISSUES GH BUG TICKET FIX FEATURE PR RELEASE PHASE".split()
)

_SURROGATE = re.compile("[\ud800-\udfff]")
_NOT_PLAIN_IN_YAML = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")


def git_fields(commit: WrittenCommit, branch: str, size: ChangeSize) -> dict[str, str]:
    """Return what git knows of a commit: fields of an entry, and their values as YAML.

    Args:
        commit: the commit.
        branch: the branch that the work was done on; "" where nothing tells.
        size: how much the commit changed.
    """
    return {
        "date": quoted(commit.date),
        "task_id": quoted(task_of(branch, commit.subject)),
        "commit": quoted(commit.sha),
        "branch": quoted(branch),
        "files_changed": str(size.files),
        "lines_added": str(size.added),
        "lines_removed": str(size.removed),
    }


def quoted(text: str) -> str:
    """Return a text as a YAML scalar that every reader takes for a text."""
    valid = _SURROGATE.sub("\ufffd", text)
    escaped = json.dumps(valid, ensure_ascii=False)
    return _NOT_PLAIN_IN_YAML.sub(lambda match: f"\\u{ord(match[0]):04x}", escaped)


def task_of(branch: str, subject: str) -> str:
    """Return the issue that a branch or a subject refers to, as ``ABC-12`` or ``#12``.

    Returns:
        The issue; without one the branch.
    """
    key = _KEY_IN_BRANCH.search(branch)
    if key is not None:
        project, number = key[1].upper().split("-")
        if project not in _NOT_A_PROJECT_IN_BRANCH:
            return f"{project}-{number}"

    numbered = _NUMBER_IN_BRANCH.search(branch)
    if numbered is not None:
        return f"#{numbered[1] or numbered[2]}"

    for issue in _ISSUE_IN_SUBJECT.finditer(subject):
        if issue[1]:
            return f"#{issue[1]}"
        if issue[2].partition("-")[0] not in _NOT_A_PROJECT:
            return issue[2]

    return branch


def entry_text(
    iteration: int,
    fields: dict[str, str],
    agent: dict[str, str],
    summary: str,
) -> bytes:
    """Return an entry of schema 2, without the fields that are empty.

    Args:
        iteration: its number.
        fields: fields at its top, with their values as YAML.
        agent: fields of its block ``agent``, with texts.
        summary: the text of ``impl.summary``.
    """
    lines = ["schema_version: 2", f"iteration: {iteration}"]
    for name, value in fields.items():
        if value != quoted(""):
            lines.append(f"{name}: {value}")

    agent_lines = [f"  {name}: {quoted(text)}" for name, text in agent.items() if text]
    if agent_lines:
        lines += ["agent:", *agent_lines]

    if summary:
        lines += ["impl:", f"  summary: {quoted(summary)}"]

    return ("\n".join(lines) + "\n").encode()
