"""Which trunk commits say that they revert another one, and which still count (``docs/EVIDENCE.md``, "Reverts")."""

import re
from bisect import bisect
from collections.abc import Callable, Iterable, Sequence

_SHORTEST, _FURTHEST, _CLAUSE = (
    7,
    40,
    200,
)  # characters of a SHA, between it and the word, before the word
_LINE = 1000  # characters of a line in which it is looked for that only a part is reverted
_WORD = re.compile(r"\b(?:revert|reverts|reverted)\b", re.IGNORECASE)
_SHA = re.compile(r"(?<![0-9A-Za-z_])[0-9A-Fa-f]{7,64}(?![0-9A-Za-z_])")
_NEGATION = re.compile(r"(?:\b(?:not|cannot|never)\b|n['\u2019]t\b)[^.;:!?,]*$", re.IGNORECASE)

_TITLE = re.compile(r'\ARevert "(.+)"(?: \([#!]\d{1,9}\))?$', re.MULTILINE)
_REQUEST = re.compile(
    r"^(?:This reverts|Reverts) (?:merge request )?[\w./-]*[#!](\d{1,9})\.?[ \t\r]*$", re.MULTILINE
)

_IN_PART = re.compile(
    r"\bpartial(?:ly)?\b.*\brevert|\brevert\w*\b.*\b(?:partial(?:ly)?|in part)\b|"
    r"\brevert\w*\s+(?:(?:back|only|just)\s+)*(?:some|(?:a\s+)?(?:part|few|bit|half)|parts|bits|pieces|portions|most)\s",
    re.IGNORECASE,
)


def whole_reverts(message: str) -> str:
    """Return a message without the lines that say that only a part of something is reverted."""
    if "revert" not in message.lower():
        return message
    return "\n".join(line for line in message.split("\n") if not _IN_PART.search(line[:_LINE]))


def reverted_name(message: str) -> tuple[str, int]:
    """Return the subject, and the number of the pull or merge request, that a generated message says to revert."""
    title, request = _TITLE.search(message), _REQUEST.search(message)
    return title[1] if title else "", int(request[1]) if request else 0


def reverted_shas(message: str) -> list[str]:
    """Return the SHAs, full or abbreviated and in lower case, that a message says to revert, in its order."""
    return [
        sha for line in message.split("\n") if "revert" in line.lower() for sha in _in_line(line)
    ]


def _in_line(line: str) -> list[str]:
    words = list(_WORD.finditer(line))
    starts = [word.start() for word in words]
    found = []
    for sha in _SHA.finditer(line):
        n = bisect(starts, sha.start())
        if n and sha.start() - words[n - 1].end() <= _FURTHEST:
            n -= 1
        elif n == len(words) or starts[n] - sha.end() > _FURTHEST:
            continue
        end = words[
            n
        ].start()  # *not* between the word before it and itself, in its clause, denies it
        if not _NEGATION.search(line, max(words[n - 1].end() if n else 0, end - _CLAUSE), end):
            found.append(sha[0].lower())
    return found


class Reverts:
    """The reverts on one trunk. A place is a number that is smaller for what is newer."""

    def __init__(
        self, messages: Iterable[tuple[int, str, str]], brought_by: Callable[[str], Sequence[str]]
    ) -> None:
        """Take places, SHAs and messages, and which merges brought a commit in: to revert one reverts it too."""
        self._brought_by = brought_by
        self._places: dict[str, int] = {}
        self._said: dict[str, list[tuple[str, str]]] = {}
        for place, sha, message in messages:
            self._places[sha] = place
            for run in dict.fromkeys(reverted_shas(message)):
                self._said.setdefault(run[:_SHORTEST], []).append((run, sha))
        self._live: dict[str, bool] = {}

    def of(self, targets: Iterable[str], place: int) -> str | None:
        """Return the newest live commit, newer than ``place``, that says it reverts one of ``targets`` (full SHAs)."""
        saying = self._saying(targets, place)
        self._settle(saying)
        return next((sha for sha in saying if self._live[sha]), None)

    def mentioned(self, targets: Iterable[str], place: int) -> bool:
        """Return whether any commit newer than ``place``, live or not, says it reverts one of ``targets``."""
        return bool(self._saying(targets, place))

    def _saying(self, targets: Iterable[str], place: int) -> list[str]:
        found = {
            sha
            for target in targets
            for run, sha in self._said.get(target[:_SHORTEST], ())
            if target.startswith(run) and self._places[sha] < place
        }
        return sorted(found, key=self._places.__getitem__)

    def _settle(self, shas: Iterable[str]) -> None:
        """Find out which commits are live. Whatever speaks against one is newer, so no chain of them is a ring."""
        against: dict[str, list[str]] = {}
        todo = [sha for sha in shas if sha not in self._live]
        while todo:
            sha = todo.pop()
            if sha not in against:
                against[sha] = self._saying((sha, *self._brought_by(sha)), self._places[sha])
                todo += [other for other in against[sha] if other not in self._live]
        for sha in sorted(against, key=self._places.__getitem__):
            self._live[sha] = not any(self._live[other] for other in against[sha])
