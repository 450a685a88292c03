"""Where commits are on the trunk, newest first, as the reference's history asks for it.

A trunk may have many more commits than a log has entries, so nothing is made for each of them: their SHAs are one text,
the digests of their subjects are bytes, and only messages that speak of a revert are kept.
"""

import contextlib
from collections.abc import Iterable
from typing import NamedTuple

from scoring.evidence.git.cache import GitCache
from scoring.evidence.git.repository import GitRepository, as_lines, as_text
from scoring.evidence.git.walk import MOST_NEW
from scoring.text import fold, trim

_LINE = ("-z", "--format=%H%x00%s%x00%B%x00")
_WIDTH = 4
"""How many fields a commit has in that output: each ends with NUL, and so does the commit."""

_DIGEST = 16
_EMPTY = bytes(_DIGEST)

_FEW = 64
"""From how many questions on it pays to look at the whole trunk for their answers."""


class _Commits(NamedTuple):
    """Commits, newest first.

    ``shas`` has a line break behind each, ``messages`` those that speak of a revert with the places of their commits,
    from 0, and ``subjects`` the digests of all subjects, where these were asked for.
    """

    shas: str
    messages: list[tuple[int, str]]
    subjects: bytes


class TrunkPlaces:
    """Where commits are on the trunk, newest first from 0, and which of them speak of a revert."""

    def __init__(self, commits: _Commits) -> None:
        """Take the commits of the trunk."""
        self._shas, self.messages, self._subjects = commits
        self._width = self._shas.find("\n") + 1
        self._known: dict[str, int | None] = {}
        self._of_subject: dict[bytes, int] = {}

    def sha(self, place: int) -> str:
        """Return the commit at a place."""
        return self._shas[place * self._width : (place + 1) * self._width - 1]

    def place(self, sha: str) -> int | None:
        """Return the place of a commit, by its SHA in full; None when the trunk does not contain it."""
        if sha not in self._known:
            at = self._shas.find(sha + "\n") if len(sha) + 1 == self._width else -1
            self._known[sha] = None if at < 0 else at // self._width
        return self._known[sha]

    def look_for(self, shas: Iterable[str]) -> None:
        """Find the places of many commits at once."""
        wanted = dict.fromkeys(shas)
        if len(wanted) > _FEW:
            self._known |= wanted
            for place, sha in enumerate(map(self.sha, range(self._count))):
                if sha in wanted:
                    self._known[sha] = place

    def by_subject(self, text: str) -> str | None:
        """Return the newest commit of a subject, trimmed and without regard to case; None for an empty one."""
        digest = _digest(text)
        if digest == _EMPTY:
            return None
        if digest not in self._of_subject:
            self._of_subject[digest] = self._find(digest)
        place = self._of_subject[digest]
        if place < 0:
            return None
        sha = self.sha(place)
        self._known[sha] = place
        return sha

    def look_for_subjects(self, texts: Iterable[str]) -> None:
        """Find the newest commits of many subjects at once."""
        wanted = dict.fromkeys(map(_digest, texts), -1)
        if len(wanted) > _FEW:
            for place in range(self._count - 1, -1, -1):
                digest = self._subjects[place * _DIGEST : (place + 1) * _DIGEST]
                if digest in wanted:
                    wanted[digest] = place
            self._of_subject |= wanted

    def _find(self, digest: bytes) -> int:
        at = self._subjects.find(digest)
        while at % _DIGEST and at > 0:  # it lies across two others
            at = self._subjects.find(digest, at + 1)
        return at // _DIGEST

    @property
    def _count(self) -> int:
        return len(self._shas) // self._width if self._width else 0


def trunk_places(repository: GitRepository, tip: str, cache: GitCache, subjects: bool) -> TrunkPlaces:
    """Return the places of a commit and its ancestors; those that are known are not read again.

    ``subjects`` is whether commits will be looked for by their subjects.

    Raises:
        GitError: git cannot read the history of the trunk.
    """
    kept = _kept(cache, subjects)
    commits = kept.get(tip)
    if commits is None:
        before = next(iter(kept.values()), None)
        commits = (before and _grown(repository, tip, before)) or _read(repository, subjects, *_whole(tip))
        section = cache.section("places", dict[str, _Commits])
        section.clear()
        section[tip] = commits
        cache.changed = True
    return TrunkPlaces(commits)


def trunk_begun(
    repository: GitRepository, tip: str | None, cache: GitCache, subjects: bool
) -> contextlib.AbstractContextManager[None]:
    """Let git begin to read a trunk of which nothing is known; in the block its places are asked for."""
    if tip is None or _kept(cache, subjects):
        return contextlib.nullcontext()
    return repository.begun(*_whole(tip))


def _kept(cache: GitCache, subjects: bool) -> dict[str, _Commits]:
    """Return the commits that the trunk had, by the tip that it had, with their ``subjects`` where these are wanted."""
    section = cache.section("places", dict[str, _Commits])
    return {tip: commits for tip, commits in section.items() if commits.subjects or not subjects}


def _whole(tip: str) -> tuple[str, ...]:
    return "log", *_LINE, tip, "--"


def _grown(repository: GitRepository, tip: str, kept: _Commits) -> _Commits | None:
    """Return the commits of a trunk with what it is known to have had; None where it has too much that is new."""
    shas, (then, messages, subjects) = repository.run("rev-list", tip, "--").decode(), kept
    width = shas.find("\n") + 1
    if shas.endswith(then):  # it grew at its end
        new, places = shas[: len(shas) - len(then)], None
    else:
        places = {sha: n for n, sha in enumerate(then.split())}
        new = "".join(f"{sha}\n" for sha in shas.split() if sha not in places)
    count = len(new) // width
    if count >= MOST_NEW:
        return None
    asked = "log", "--no-walk=unsorted", "--stdin", *_LINE
    found = _read(repository, bool(subjects), *asked, given=as_lines(new.split())) if new else _Commits("", [], b"")
    if places is None:
        moved = [(place + count, message) for place, message in messages]
        return _Commits(shas, [*found.messages, *moved], found.subjects + subjects)
    message_of = dict(messages)
    new_places = {sha: n for n, sha in enumerate(new.split())}
    new_messages, both, digests = dict(found.messages), [], []
    for place, sha in enumerate(shas.split()):
        at = new_places.get(sha)
        message = message_of.get(places[sha]) if at is None else new_messages.get(at)
        if message:
            both.append((place, message))
        if subjects:
            start = (places[sha] if at is None else at) * _DIGEST
            digests.append((subjects if at is None else found.subjects)[start : start + _DIGEST])
    return _Commits(shas, both, b"".join(digests))


def _read(repository: GitRepository, subjects: bool, *arguments: str, given: bytes = b"") -> _Commits:
    """Return what git says of some commits, which is never held whole."""
    shas, digests = bytearray(), bytearray()
    messages: list[tuple[int, str]] = []
    for place, (sha, subject, message, _) in enumerate(repository.records(*arguments, given=given, width=_WIDTH)):
        shas += sha + b"\n"
        if subjects:
            digests += _digest(as_text(subject))
        if "revert" in (text := as_text(message)).lower():
            messages.append((place, text))
    return _Commits(shas.decode(), messages, bytes(digests))


def _digest(subject: str) -> bytes:
    """Return a digest of a subject, equal for those that differ only in case and space around them."""
    from hashlib import blake2b  # where all commits are there, nobody looks for a subject

    text = fold(trim(subject))
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_DIGEST).digest() if text else _EMPTY
