"""What commands do with git: make commits, and take work back; and the commits that git reports.

Which commands are meant is in ``docs/TEST_TOOLS.md``, "Commands of git". Nothing is looked up in a repository here.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from scoring.evidence.transcripts.shell import ShellCommand

ResetKind = Literal["hard", "paths", "revert", "amend"]
"""``git reset --hard``; files taken back from git; ``git revert``; ``git commit --amend``."""


class CommitLine(NamedTuple):
    """A commit as git reports one: the branch as written, 7 to 40 hexadecimal digits, the first line of its message."""

    branch: str
    sha: str
    subject: str


class Reset(NamedTuple):
    """Work that a command takes back; ``paths`` are those of ``paths``, as written."""

    kind: ResetKind
    paths: tuple[str, ...] = ()


_MAKE_COMMITS = frozenset({"commit", "cherry-pick", "revert", "rebase", "merge"})
_VALUED = frozenset(
    {"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--super-prefix", "--config-env"}
)
"""Options of git itself that take the next word as their value."""

_RESTORE_VALUED = frozenset({"-s", "--source", "--pathspec-from-file", "--conflict"})
_NO_REVERT = frozenset({"--abort", "--continue", "--quit", "--skip"})
_COMMIT_LINE = re.compile(r"\[([^\[\]\n]{1,255}) ([0-9a-f]{7,40})\] ([^\r\n]{0,1000})")
_LIMIT = 1000  # how many commits of one output are read, the first ones


def makes_commits(commands: Sequence[ShellCommand]) -> bool:
    """Return whether a command line runs git with something that makes commits."""
    return any(name in _MAKE_COMMITS for name, _ in _git_commands(commands))


def commit_lines(output: str) -> list[CommitLine]:
    """Return the commits that an output reports in lines ``[BRANCH SHA] SUBJECT``, in order."""
    found: list[CommitLine] = []
    start = 0
    while len(found) < _LIMIT:
        if line := _COMMIT_LINE.match(output, start):
            found.append(CommitLine(line[1], line[2], line[3].strip()))
        start = output.find("\n[", start) + 1
        if not start:
            break
    return found


def resets(commands: Sequence[ShellCommand]) -> list[Reset]:
    """Return what a command line takes back, in order; what only changes the index takes nothing back."""
    return [reset for name, words in _git_commands(commands) if (reset := _reset_of(name, words))]


def _reset_of(name: str, words: Sequence[str]) -> Reset | None:
    if name == "reset" and "--hard" in words:
        return Reset("hard")
    if name == "commit" and "--amend" in words:
        return Reset("amend")
    if name == "revert" and _NO_REVERT.isdisjoint(words):
        return Reset("revert")
    if name == "checkout" and "--" in words:
        paths = tuple(words[words.index("--") + 1 :])
        return Reset("paths", paths) if paths else None
    if name == "restore":
        index_alone = not {"--staged", "-S"}.isdisjoint(words) and {"--worktree", "-W"}.isdisjoint(words)
        paths = () if index_alone else tuple(_paths(words))
        return Reset("paths", paths) if paths else None
    return None


def _paths(words: Sequence[str]) -> Iterator[str]:
    """Yield the words of ``git restore`` that are no options and no value of one."""
    values = iter(words)
    for word in values:
        if word == "--":
            yield from values
        elif word in _RESTORE_VALUED:
            next(values, None)
        elif not word.startswith("-"):
            yield word


def _git_commands(commands: Sequence[ShellCommand]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the name and the other words of each command of git."""
    for command in commands:
        words = command.words
        if not words or (words[0] != "git" and words[0].rpartition("/")[2] not in ("git", "git.exe")):
            continue
        at = 1
        while at < len(words) and words[at].startswith("-"):
            at += 2 if words[at] in _VALUED else 1
        if at < len(words):
            yield words[at], words[at + 1 :]
