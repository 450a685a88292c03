"""The trunk and the commits beside it, as the search for landed work needs them: parents, subjects, reverts.

The trunk is walked once, children before parents and otherwise by date; of commits that the cache knows only the order
is asked. What lies beside the trunk is walked once too, for all commits of a log and all branches.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from scoring.evidence.git.batches import answered
from scoring.evidence.git.graph import Line
from scoring.evidence.git.landcache import LandingCache, TrunkLine
from scoring.evidence.git.repository import GitRepository

_LINE = ("-z", "--format=%H%x00%P%x00%s%x00%B%x00")
_NAMED = ("-z", "--format=%H%x00%ct%x00%P%x00%s%x00")
_MOST_NEW = 5000
"""From how many new commits on the trunk is walked anew rather than asked about them one by one."""


class NamedCommit(NamedTuple):
    """A commit that a log names. ``time`` is in seconds since 1970, None where the commit names none."""

    time: int | None
    parents: tuple[str, ...]
    subject: str


def trunk_lines(repository: GitRepository, tip: str, cache: LandingCache) -> list[TrunkLine]:
    """Return the commits of the trunk, newest first, no commit before its descendants.

    Raises:
        GitError: git cannot read the history of the trunk.
    """
    order = cache.orders.get(tip)
    if order is None or not cache.lines.keys() >= set(order):
        order = _walked(repository, tip, cache)
        cache.orders = {tip: order}
        cache.changed = True
    return [cache.lines[sha] for sha in order]


def _walked(repository: GitRepository, tip: str, cache: LandingCache) -> list[str]:
    if cache.lines:
        order = repository.run("rev-list", "--date-order", tip, "--").decode().split()
        new = [sha for sha in order if sha not in cache.lines]
        if len(new) < _MOST_NEW:
            given = "".join(f"{sha}\n" for sha in new).encode()
            told = repository.run("log", "--no-walk=unsorted", "--stdin", *_LINE, given=given) if new else b""
            cache.lines |= {line.sha: line for line in _lines(told)}
            return order
    cache.lines = {line.sha: line for line in _lines(repository.run("log", "--date-order", *_LINE, tip, "--"))}
    return list(cache.lines)


def _lines(output: bytes) -> list[TrunkLine]:
    fields = output.split(b"\0")
    return [
        TrunkLine(
            fields[i].decode(),
            tuple(fields[i + 1].decode().split()),
            _text(fields[i + 2]),
            _text(fields[i + 3]) if b"revert" in fields[i + 3].lower() else "",
        )
        for i in range(0, len(fields) - 4, 5)
    ]


def lines_beside(repository: GitRepository, shas: Sequence[str], tips: Sequence[str], trunk: str | None) -> list[Line]:
    """Return the ancestry of commits and branch tips as far as the trunk does not contain it, children first.

    A history that lacks a commit stops the walk: the tips are then left out, and each of ``shas`` whose history is not
    whole.
    """

    def ask(batch: Sequence[str]) -> "Mapping[str, list[str]] | None":
        without = (f"^{trunk}",) if trunk else ()
        given = "".join(f"{sha}\n" for sha in (*batch, *without)).encode()
        answer = repository.ask("rev-list", "--date-order", "--parents", "--stdin", given=given)
        return None if answer.returncode else dict.fromkeys(batch, answer.stdout.decode().splitlines())

    everything = [*shas, *tips]
    if not everything:
        return []
    if (found := ask(everything)) is None:
        whole = list(answered(ask, shas))
        found = (ask(whole) if whole else None) or {}
    rows = [line.split() for line in next(iter(found.values()), [])]
    return [(sha, tuple(parents)) for sha, *parents in rows]


def named_commits(repository: GitRepository, shas: Iterable[str]) -> dict[str, NamedCommit]:
    """Return the time, the parents and the subject of commits; one that git cannot read is left out."""

    def ask(batch: Sequence[str]) -> Mapping[str, NamedCommit] | None:
        given = "".join(f"{sha}\n" for sha in batch).encode()
        answer = repository.ask("log", "--no-walk=unsorted", "--stdin", *_NAMED, given=given)
        if answer.returncode:
            return None
        fields = answer.stdout.split(b"\0")
        return {
            fields[i].decode(): NamedCommit(
                int(fields[i + 1]) if fields[i + 1] else None,
                tuple(fields[i + 2].decode().split()),
                _text(fields[i + 3]),
            )
            for i in range(0, len(fields) - 4, 5)
        }

    return answered(ask, list(dict.fromkeys(shas)))


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")
