"""The commits of a trunk and those beside it: parents, subjects, times and files."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from scoring.evidence.git.graph import Line
from scoring.evidence.git.repository import MOST_FAILURES, GitRepository, answered
from scoring.evidence.git.reverts import reverted_shas
from scoring.evidence.git.starter import as_lines, as_text
from scoring.text import fold, trim

# Each field ends with NUL, and each commit too (-z), so that no message can be taken for a separator.
_LOG = ("-z", "--format=%H%x00%P%x00%ct%x00%at%x00%as%x00%s%x00%B%x00")
_TELLING = re.compile("revert|entire-checkpoint:|co-authored-by:", re.IGNORECASE)
_NAMED = ("log", "--no-walk=unsorted", "--stdin", *_LOG)
_SHOW = ("show", "--stdin", "--name-only", "--ignore-submodules=none", "--format=%x00%H %ct")

_NUMBERED = re.compile(r"(.*) \([#!](\d{1,9})\)")
_MERGED = re.compile(
    r"\AMerge pull request #(\d{1,9})\b|\A.*\(pull request #(\d{1,9})\)$|^See merge request \S*!(\d{1,9})[ \t\r]*$",
    re.MULTILINE,
)
_MENTIONED = re.compile(r"[#!](\d{1,9})\b")
_LISTED_SUBJECT = re.compile(r"^ *[*-] +(\S.*)$", re.MULTILINE)
_LISTED_SHA = re.compile(
    r"^[ *-]*(?:commit |\(cherry picked from commit )?([0-9a-f]{7,64})\b", re.MULTILINE
)
_NAMED_SHA = re.compile(r"(?<![0-9A-Za-z])[0-9a-f]{7,64}(?![0-9A-Za-z])")
_SHA_DIGITS = 7


class Commit(NamedTuple):
    """A commit; ``time`` and ``authored`` in seconds since 1970 or None, ``date`` the author's day, as YYYY-MM-DD."""

    sha: str
    parents: tuple[str, ...]
    time: int | None
    authored: int | None
    date: str
    subject: str
    message: str


class ShownCommit(NamedTuple):
    """The committer time of a commit in s since 1970, and the files it changed, as git prints them; None if unknown."""

    time: int | None
    files: tuple[str, ...] | None


def _commits(fields: Iterable[str]) -> Iterator[Commit]:
    """Yield the commits of a log: seven fields each, behind which an empty one is."""
    shas: dict[
        str, str
    ] = {}  # a parent and its own commit, which comes later, share the text of its name
    days: dict[str, str] = {}
    for sha, named, time, authored, date, subject, message, _ in zip(
        *[iter(fields)] * 8, strict=False
    ):
        parents = tuple(shas.setdefault(parent, parent) for parent in named.split())
        day = days.setdefault(date, date)
        yield Commit(
            shas.pop(sha, sha), parents, _time(time), _time(authored), day, subject, message
        )


def _time(text: str) -> int | None:
    return int(text) if text else None


def trunk_commits(repository: GitRepository, tip: str, *order: str) -> list[Commit]:
    """Return a commit and its ancestors, newest first, with messages where they matter; GitError."""
    found = _commits(map(as_text, repository.lines("log", *order, *_LOG, tip, "--", end=b"\0")))
    return [
        commit if _TELLING.search(commit.message) else commit._replace(message="")
        for commit in found
    ]


def newest_by_subject(walk: Iterable[Commit]) -> dict[str, str]:
    """Return the newest commit of each subject, trimmed and folded to one case; an empty subject is left out."""
    found: dict[str, str] = {}
    for commit in walk:
        found.setdefault(fold(trim(commit.subject)), commit.sha)
    found.pop("", None)
    return found


def without_number(subject: str) -> str:
    """Return a subject without the number of a pull or merge request behind it."""
    m = _NUMBERED.fullmatch(subject)
    return trim(m[1]) if m else subject


def request_of(message: str) -> int | None:
    """Return the number of the pull or merge request that a commit brought, as its message says; None without one."""
    m = _NUMBERED.fullmatch(trim(message.partition("\n")[0])) or _MERGED.search(message)
    return int(m[m.lastindex or 0]) if m else None


class CommitNames:
    """What the messages of commits name: other commits, subjects, and pull and merge requests."""

    def __init__(self, commits: Iterable[Commit]) -> None:
        """Read messages; those that revert a commit do not name it."""
        self.request: dict[str, int] = {}  # the pull or merge request that a commit brought
        self.requests: dict[
            int, dict[str, bool]
        ] = {}  # the commits that name a request, and whether they brought it
        self.subjects: dict[str, list[str]] = {}  # the commits that list a subject
        self._shas: dict[str, list[tuple[str, str, bool]]] = {}
        for sha, message in ((commit.sha, commit.message) for commit in commits):
            if brought := request_of(message):
                self.request[sha] = brought
            for number in dict.fromkeys(map(int, _MENTIONED.findall(message))):
                self.requests.setdefault(number, {})[sha] = number == brought
            for subject in dict.fromkeys(map(trim, _LISTED_SUBJECT.findall(message))):
                self.subjects.setdefault(subject, []).append(sha)
            listed, reverted = set(_LISTED_SHA.findall(message)), set(reverted_shas(message))
            for named in dict.fromkeys(_NAMED_SHA.findall(message)):
                if named not in reverted:
                    self._shas.setdefault(named[:_SHA_DIGITS], []).append(
                        (named, sha, named in listed)
                    )

    def naming(self, sha: str) -> list[tuple[str, bool]]:
        """Return the commits that name a commit, in full or in part, and whether they list it as their own."""
        return [
            (by, listed)
            for part, by, listed in self._shas.get(sha[:_SHA_DIGITS], ())
            if sha.startswith(part)
        ]


def lines_beside(
    repository: GitRepository, shas: Sequence[str], tips: Sequence[str], trunk: str | None
) -> list[Line]:
    """Return the ancestry of commits and tips down to the trunk, children first, without incomplete histories."""

    def ask(batch: Sequence[str]) -> Mapping[str, list[str]] | None:
        given = as_lines((*batch, f"^{trunk}") if trunk else batch)
        answer = repository.ask("rev-list", "--date-order", "--parents", "--stdin", given=given)
        return (
            None if answer.returncode else dict.fromkeys(batch, answer.stdout.decode().splitlines())
        )

    if not (everything := [*shas, *tips]):
        return []
    if (found := ask(everything)) is None:
        whole = list(answered(ask, shas))
        found = (ask(whole) if whole else None) or {}
    rows = [line.split() for line in next(iter(found.values()), [])]
    return [(sha, tuple(parents)) for sha, *parents in rows]


def named_commits(
    repository: GitRepository, shas: Iterable[str], most_failures: int = MOST_FAILURES
) -> dict[str, Commit]:
    """Return commits by their SHAs; one that git cannot read is left out, and all after so many of these."""

    def ask(batch: Sequence[str]) -> Mapping[str, Commit] | None:
        answer = repository.ask(*_NAMED, given=as_lines(batch))
        found = _commits(as_text(answer.stdout).split("\0"))
        return None if answer.returncode else {commit.sha: commit for commit in found}

    return answered(ask, shas, most_failures)


def subjects_of(repo_dir: Path | str, shas: Iterable[str]) -> dict[str, str]:
    """Return the subjects of commits, by their SHAs, as far as git has them."""
    wanted = list(dict.fromkeys(shas))
    found = named_commits(GitRepository(repo_dir), wanted, len(wanted)) if wanted else {}
    return {sha: commit.subject for sha, commit in found.items()}


def shown_commits(repository: GitRepository, shas: Iterable[str]) -> dict[str, ShownCommit]:
    """Return the time and the changed files of commits, as ``git show --name-only`` names them, as far as git can."""

    def ask(batch: Sequence[str]) -> Mapping[str, ShownCommit] | None:
        answer = repository.ask(*_SHOW, given=as_lines(batch))
        return None if answer.returncode else _shown(answer.stdout)

    wanted = list(dict.fromkeys(shas))
    shown = answered(ask, wanted, len(wanted))
    times = named_commits(repository, [sha for sha in wanted if sha not in shown], len(wanted))
    return shown | {sha: ShownCommit(commit.time, None) for sha, commit in times.items()}


def _shown(output: bytes) -> dict[str, ShownCommit]:
    found = {}
    names: dict[str, str] = {}  # many commits change the same file
    for block in as_text(output).split("\0")[1:]:
        header, *files = block.split("\n")
        sha, _, time = header.partition(" ")
        found[sha] = ShownCommit(
            _time(time), tuple(names.setdefault(name, name) for name in files if name)
        )
    return found
