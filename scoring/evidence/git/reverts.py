"""Which trunk commits say that they revert another one, and which of these reverts still hold.

The rules are in ``docs/EVIDENCE.md``, "Reverts".
"""

import re
from bisect import bisect
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

_SHORTEST_SHA = 7
_MOST_BETWEEN = 40  # characters between a SHA and the word
_LONGEST_CLAUSE = 200  # characters before the word that are searched for "not"
_MOST_OF_LINE = 1000  # characters of a line that are searched for "partially"

_WORD = re.compile(r"\b(?:revert|reverts|reverted)\b", re.IGNORECASE)
_SHA = re.compile(r"(?<![0-9A-Za-z_])[0-9A-Fa-f]{7,64}(?![0-9A-Za-z_])")
_NEGATION = re.compile(r"(?:\b(?:not|cannot|never)\b|n['\u2019]t\b)[^.;:!?,]*$", re.IGNORECASE)

_IN_PART = re.compile(
    r"\bpartial(?:ly)?\b.*\brevert"
    r"|\brevert\w*\b.*\b(?:partial(?:ly)?|in part)\b"
    r"|\brevert\w*\s+(?:(?:back|only|just)\s+)*"
    r"(?:some|(?:a\s+)?(?:part|few|bit|half)|parts|bits|pieces|portions|most)\s",
    re.IGNORECASE,
)


def whole_reverts(message: str) -> str:
    """Return a message without the lines that say that only a part of something is reverted."""
    if "revert" not in message.lower():
        return message

    whole = []
    for line in message.split("\n"):
        if not _IN_PART.search(line[:_MOST_OF_LINE]):
            whole.append(line)
    return "\n".join(whole)


def reverted_shas(message: str) -> list[str]:
    """Return the SHAs that a message says to revert, in its order.

    They may be abbreviated, and are in lower case.
    """
    shas = []
    for line in message.split("\n"):
        if "revert" in line.lower():
            shas += _reverted_shas_in_line(line)
    return shas


def _reverted_shas_in_line(line: str) -> list[str]:
    words = list(_WORD.finditer(line))
    starts = [word.start() for word in words]

    shas = []
    for sha in _SHA.finditer(line):
        # The last word before the SHA comes first, then the next one after it.
        following = bisect(starts, sha.start())
        if following and sha.start() - words[following - 1].end() <= _MOST_BETWEEN:
            index = following - 1
        elif following < len(words) and starts[following] - sha.end() <= _MOST_BETWEEN:
            index = following
        else:
            continue

        # A "not" between the word before and this word, in the same clause, denies it.
        end = starts[index]
        start = max(end - _LONGEST_CLAUSE, 0)
        if index:
            start = max(start, words[index - 1].end())
        if not _NEGATION.search(line, start, end):
            shas.append(sha[0].lower())
    return shas


class TrunkMessage(NamedTuple):
    """The message of a trunk commit.

    Attributes:
        position: where the commit is in the history; smaller is newer.
        sha: the full SHA of the commit.
        message: the whole message.
    """

    position: int
    sha: str
    message: str


class _Statement(NamedTuple):
    """A commit that says it reverts the commit with these first digits."""

    digits: str
    reverting: str


class Reverts:
    """The reverts on one trunk.

    A revert holds unless a revert that holds reverts it.
    """

    def __init__(
        self, messages: Iterable[TrunkMessage], brought_by: Callable[[str], Sequence[str]]
    ) -> None:
        """Read the messages of trunk commits.

        Args:
            messages: those that may speak of a revert.
            brought_by: returns the merges that brought in a commit. To revert one of these
                reverts the commit too.
        """
        self._brought_by = brought_by
        self._positions: dict[str, int] = {}
        self._statements: dict[str, list[_Statement]] = {}
        self._holds: dict[str, bool] = {}

        for position, sha, message in messages:
            self._positions[sha] = position
            for digits in dict.fromkeys(reverted_shas(message)):
                prefix = digits[:_SHORTEST_SHA]
                same_prefix = self._statements.setdefault(prefix, [])
                same_prefix.append(_Statement(digits, reverting=sha))

    def of(self, targets: Iterable[str], position: int) -> str | None:
        """Return the newest revert of some commits that holds, or None.

        Args:
            targets: the full SHAs of commits; to revert one of them is enough.
            position: only commits that are newer than this position count.
        """
        candidates = self._stated_by(targets, position)
        self._decide(candidates)
        for sha in candidates:
            if self._holds[sha]:
                return sha
        return None

    def _stated_by(self, targets: Iterable[str], position: int) -> list[str]:
        """Return the commits newer than a position that say they revert a target, newest first."""
        commits = set()
        for target in targets:
            for statement in self._statements.get(target[:_SHORTEST_SHA], ()):
                is_newer = self._positions[statement.reverting] < position
                if is_newer and target.startswith(statement.digits):
                    commits.add(statement.reverting)
        return sorted(commits, key=self._positions.__getitem__)

    def _decide(self, shas: Iterable[str]) -> None:
        """Find out which reverts hold.

        Whatever reverts a revert is newer, so no chain of them comes back to its start.
        """
        reverted_by: dict[str, list[str]] = {}
        waiting = [sha for sha in shas if sha not in self._holds]
        while waiting:
            sha = waiting.pop()
            if sha in reverted_by:
                continue

            targets = (sha, *self._brought_by(sha))
            reverted_by[sha] = self._stated_by(targets, self._positions[sha])
            for other in reverted_by[sha]:
                if other not in self._holds:
                    waiting.append(other)

        newest_first = sorted(reverted_by, key=self._positions.__getitem__)
        for sha in newest_first:
            self._holds[sha] = not any(self._holds[other] for other in reverted_by[sha])
