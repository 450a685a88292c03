"""What the messages of commits name: other commits, subjects, and pull and merge requests."""

import re
from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from scoring.evidence.git.walk import Commit
from scoring.text import trim

_NUMBERED = re.compile(r"(.*) \([#!](\d{1,9})\)")
_MERGED_REQUEST = re.compile(
    r"\AMerge pull request #(\d{1,9})\b"
    r"|\A.*\(pull request #(\d{1,9})\)$"
    r"|^See merge request \S*!(\d{1,9})[ \t\r]*$",
    re.MULTILINE,
)
_MENTIONED_REQUEST = re.compile(r"[#!](\d{1,9})\b")
_LISTED_SUBJECT = re.compile(r"^ *[*-] +(\S.*)$", re.MULTILINE)
_LISTED_SHA = re.compile(
    r"^[ *-]*(?:commit |\(cherry picked from commit )?([0-9a-f]{7,64})\b", re.MULTILINE
)
_NAMED_SHA = re.compile(r"(?<![0-9A-Za-z])[0-9a-f]{7,64}(?![0-9A-Za-z])")
_SHORTEST_SHA = 7


def without_number(subject: str) -> str:
    """Return a subject without the number of a pull or merge request at its end."""
    match = _NUMBERED.fullmatch(subject)
    return trim(match[1]) if match else subject


def request_of(message: str) -> int | None:
    """Return the number of the pull or merge request that a commit brought, or None."""
    first_line = trim(message.partition("\n")[0])
    match = _NUMBERED.fullmatch(first_line) or _MERGED_REQUEST.search(message)
    if not match:
        return None
    return int(match[match.lastindex or 0])


class _NamedSha(NamedTuple):
    """Digits in a message.

    Attributes:
        digits: the first digits of another commit, or all of them.
        commit: the commit with the message.
        listed: whether the message lists the other commit as its own part.
    """

    digits: str
    commit: str
    listed: bool


class CommitNames:
    """What the messages of some commits name."""

    def __init__(self, commits: Iterable[Commit]) -> None:
        """Read the messages of commits."""
        self.request: dict[str, int] = {}
        """The pull or merge request that a commit brought in."""

        self.requests = defaultdict[int, dict[str, bool]](dict)
        """The commits that name a request, and whether they brought it in."""

        self.subjects = defaultdict[str, list[str]](list)
        """The commits that list a subject."""

        self._by_prefix = defaultdict[str, list[_NamedSha]](list)
        for commit in commits:
            sha = commit.sha
            message = commit.message
            brought = request_of(message)
            if brought:
                self.request[sha] = brought

            for number in map(int, _MENTIONED_REQUEST.findall(message)):
                self.requests[number][sha] = number == brought

            subjects = map(trim, _LISTED_SUBJECT.findall(message))
            for subject in dict.fromkeys(subjects):
                self.subjects[subject].append(sha)

            listed = set(_LISTED_SHA.findall(message))
            for digits in _NAMED_SHA.findall(message):
                mention = _NamedSha(digits, sha, listed=digits in listed)
                self._by_prefix[digits[:_SHORTEST_SHA]].append(mention)

    def naming(self, sha: str) -> dict[str, bool]:
        """Return the commits that name a commit, by its SHA in full or abbreviated.

        Each is there with whether it lists the commit as its own part.
        """
        naming = defaultdict[str, bool](bool)
        for mention in self._by_prefix[sha[:_SHORTEST_SHA]]:
            if sha.startswith(mention.digits):
                naming[mention.commit] |= mention.listed
        return naming
