"""What the message of a commit says it takes back: commits, titles and numbers of pull requests.

Words alone never make a revert. They name a candidate, and the lines decide
(``docs/EVIDENCE.md``, "Taken back").
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from scoring.evidence.git.commit_names import request_of, without_number
from scoring.text import fold, trim

_LONGEST_LINE = 1000  # characters of a line that are read
_NEAR = 40  # characters between a word and what it takes back
_SHA_DIGITS = 7

_UNDO = (
    r"\b(?:revert(?:s|ed|ing)?|back(?:s|ed|ing)?[ -]?out|roll(?:s|ed|ing)?[ -]?back"
    r"|undo(?:es|ne|ing)?|undid)\b"
)
_TAKE_OUT = (
    r"\btak(?:e|es|en|ing)\b.{1,40}\bout\b|\btak(?:e|es|en|ing) out\b|\btook\b.{1,40}\bout\b"
)
_DROP = r"\b(?:drop(?:s|ped|ping)?|remov(?:e|es|ed|ing))\b"

WORDS = re.compile(f"{_UNDO}|{_TAKE_OUT}|{_DROP}", re.IGNORECASE)
"""The words of a message that may take something back."""

_SAYS_SO = re.compile(_UNDO, re.IGNORECASE)
_NAMED = re.compile(
    r"(?<![0-9A-Za-z_])(?P<sha>[0-9a-f]{7,64})(?![0-9A-Za-z_])|[#!](?P<number>\d{1,9})\b",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"[\"\u201c\u2018'`](?P<title>.+)[\"\u201d\u2019'`]")
_AFTER_COLON = re.compile(
    rf"\A\s*(?:{_UNDO})(?:\([^)]*\))?!?\s*:\s*(?P<title>\S.*)$", re.IGNORECASE
)
_OWN_NUMBER = re.compile(r" \([#!]\d{1,9}\)\s*$")
_IN_PART = re.compile(
    r"\bpartial(?:ly)?\b.*\brevert"
    r"|\brevert\w*\b.*\b(?:partial(?:ly)?|in part)\b"
    r"|\brevert\w*\s+(?:(?:back|only|just)\s+)*"
    r"(?:some|(?:a\s+)?(?:part|few|bit|half)|parts|bits|pieces|portions|most)\s",
    re.IGNORECASE,
)
_REAPPLY = re.compile(r"\A\s*re-?(?:apply|land|introduce)\b", re.IGNORECASE)
_NEGATED = re.compile(
    r"(?:\b(?:not|cannot|never|without)\b|n['\u2019]t\b)[^.;:!?,]{0,60}$", re.IGNORECASE
)


class TakenBackNames(NamedTuple):
    """What a message says it takes back.

    Attributes:
        shas: full or abbreviated SHAs, in lower case.
        titles: subjects of commits, folded to one case, without the number of a pull request.
        numbers: numbers of pull or merge requests.
    """

    shas: set[str]
    titles: set[str]
    numbers: set[int]


def says_so(message: str) -> bool:
    """Return whether a message says, in any words, that it undoes something."""
    return _SAYS_SO.search(message) is not None


def names_taken_back(message: str) -> TakenBackNames:
    """Return what a message says it takes back as a whole."""
    names = TakenBackNames(set(), set(), set())
    for index, line in enumerate(message.split("\n")):
        line = line[:_LONGEST_LINE]
        if _IN_PART.search(line):
            continue
        if index == 0:
            names.titles.update(_titles_in(line))
            line = _OWN_NUMBER.sub("", line)
        _add_named(line, names)
    return names


def title_of(subject: str) -> str:
    """Return a subject as titles are compared: in one case, without the number of a request."""
    return fold(trim(without_number(trim(subject))))


def _titles_in(subject: str) -> set[str]:
    """Return the titles of which a subject says that they are taken back."""
    plain = without_number(trim(subject))
    quoted = _QUOTED.search(plain)

    if _REAPPLY.match(plain):  # Reapply "X" takes back the commit that is called Revert "X"
        if quoted is None:
            return set()
        return {
            title_of(f'Revert "{quoted["title"]}"'),
            title_of(f'Revert "{title_of(quoted["title"])}"'),
        }

    if not says_so(plain):
        return set()

    match = quoted or _AFTER_COLON.match(plain)
    if match is None:
        return set()
    return {title_of(match["title"])} - {""}


def _add_named(line: str, names: TakenBackNames) -> None:
    """Add the SHAs and numbers that stand near a word that takes something back."""
    words = [word for word in WORDS.finditer(line) if not _NEGATED.search(line[: word.start()])]
    if not words:
        return

    for name in _NAMED.finditer(line):
        if not any(_gap(word, name) <= _NEAR for word in words):
            continue
        if name["number"]:
            names.numbers.add(int(name["number"]))
        else:
            names.shas.add(name["sha"].lower())


def _gap(word: "re.Match[str]", name: "re.Match[str]") -> int:
    """Return the characters between a word and a name, below 0 where they overlap."""
    return max(name.start() - word.end(), word.start() - name.end())


class TakenBackIndex:
    """Which messages say that they take a commit back."""

    def __init__(self, messages: Iterable[tuple[str, str]]) -> None:
        """Take the SHA and the message of each commit that may take something back."""
        self._by_sha = defaultdict[str, list[tuple[str, str]]](list)
        self._by_title = defaultdict[str, list[str]](list)
        self._by_number = defaultdict[int | None, list[str]](list)
        for commit, message in messages:
            names = names_taken_back(message)
            for sha in names.shas:
                self._by_sha[sha[:_SHA_DIGITS]].append((sha, commit))
            for title in names.titles:
                self._by_title[title].append(commit)
            for number in names.numbers:
                self._by_number[number].append(commit)

    def naming(self, shas: Iterable[str], subjects: Mapping[str, str]) -> list[str]:
        """Return the commits that say they take back one of some commits.

        Args:
            shas: full SHAs by which the work may be named.
            subjects: messages by SHA, as far as known; their titles and numbers name the work too.
        """
        commits: dict[str, None] = {}
        for sha in shas:
            for named, commit in self._by_sha.get(sha[:_SHA_DIGITS], ()):
                if sha.startswith(named):
                    commits[commit] = None
            subject = subjects.get(sha)
            if subject:
                commits |= dict.fromkeys(self._by_title.get(title_of(subject), ()))
                commits |= dict.fromkeys(self._by_number.get(request_of(subject), ()))
        return list(commits)
