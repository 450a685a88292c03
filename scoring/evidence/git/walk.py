"""The commits of a trunk and those beside it: parents, subjects, times and files.

Of commits that the cache knows only the order is asked: children before their parents over all branches.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from scoring.evidence.git.cache import GitCache
from scoring.evidence.git.graph import Line
from scoring.evidence.git.repository import GitRepository, answered, as_lines, as_text
from scoring.text import fold, trim

# Each field ends with NUL, and each commit too (-z), so that no message can be taken for a separator.
_LINE = ("-z", "--format=%H%x00%P%x00%s%x00%B%x00")
_NAMED = ("-z", "--format=%H%x00%ct%x00%P%x00%s%x00")
_SHOW = ("show", "--stdin", "--name-only", "--ignore-submodules=none", "--format=%x00%H %ct")
MOST_NEW = 5000
"""From how many new commits on the trunk is walked anew rather than asked about them one by one."""


class TrunkLine(NamedTuple):
    """One commit of the trunk; ``message`` is kept where it speaks of a revert, and empty elsewhere."""

    sha: str
    parents: tuple[str, ...]
    subject: str
    message: str


class ShownCommit(NamedTuple):
    """The committer time of a commit in seconds since 1970, and the files it changed.

    ``time`` is None where the commit names none that git can read. ``files`` are as ``git show`` prints them (odd names
    in git's quoted form; a clean merge has none), None where git could not say, because an object is missing.
    """

    time: int | None
    files: tuple[str, ...] | None


class NamedCommit(NamedTuple):
    """A commit that a log names. ``time`` is in seconds since 1970, None where the commit names none."""

    time: int | None
    parents: tuple[str, ...]
    subject: str


def trunk_lines(repository: GitRepository, tip: str, cache: GitCache) -> list[TrunkLine]:
    """Return a commit and its ancestors, newest first, children before their parents.

    Raises:
        GitError: git cannot read the history of the trunk.
    """
    known = cache.section("lines", list[TrunkLine])
    orders = cache.section("order", dict[str, list[int]])  # that of the last tip
    kept = orders.get(tip, [])
    if kept and max(kept) < len(known):
        return [known[n] for n in kept]
    cache.changed = True
    orders.clear()
    if known:
        shas = repository.run("rev-list", "--date-order", tip, "--").decode().split()
        places = {line.sha: n for n, line in enumerate(known)}
        new = [sha for sha in shas if sha not in places]
        if len(new) < MOST_NEW:
            for line in _described(repository, new):
                places[line.sha] = len(known)
                known.append(line)
            orders[tip] = [places[sha] for sha in shas]
            return [known[n] for n in orders[tip]]
    known[:] = _lines(repository.run("log", "--date-order", *_LINE, tip, "--"))
    orders[tip] = list(range(len(known)))
    return list(known)


def _described(repository: GitRepository, shas: Sequence[str]) -> list[TrunkLine]:
    if not shas:
        return []
    return _lines(repository.run("log", "--no-walk=unsorted", "--stdin", *_LINE, given=as_lines(shas)))


def _lines(output: bytes) -> list[TrunkLine]:
    return [
        TrunkLine(sha, tuple(parents.split()), subject, message if "revert" in message.lower() else "")
        for sha, parents, subject, message in _fours(output)
    ]


def _fours(output: bytes) -> "zip[tuple[str, ...]]":
    """Return the four fields of each commit."""
    fields = as_text(output).split("\0")
    return zip(fields[0:-1:5], fields[1::5], fields[2::5], fields[3::5], strict=True)


def newest_by_subject(lines: Sequence[TrunkLine]) -> dict[str, str]:
    """Return the newest commit of each subject, trimmed and folded to one case; an empty subject is left out."""
    found = {fold(trim(line.subject)): line.sha for line in reversed(lines)}
    found.pop("", None)
    return found


def lines_beside(repository: GitRepository, shas: Sequence[str], tips: Sequence[str], trunk: str | None) -> list[Line]:
    """Return the ancestry of commits and branch tips as far as the trunk does not contain it, children first.

    A history that lacks a commit stops the walk: the tips are then left out, and each of ``shas`` whose history is not
    whole.
    """

    def ask(batch: Sequence[str]) -> Mapping[str, list[str]] | None:
        given = as_lines((*batch, f"^{trunk}") if trunk else batch)
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


def named_commits(repository: GitRepository, shas: Iterable[str], cache: GitCache) -> dict[str, NamedCommit]:
    """Return the time, the parents and the subject of commits; one that git cannot read is left out."""
    wanted = list(dict.fromkeys(shas))
    known = cache.section("named", dict[str, NamedCommit])

    def ask(batch: Sequence[str]) -> Mapping[str, NamedCommit] | None:
        answer = repository.ask("log", "--no-walk=unsorted", "--stdin", *_NAMED, given=as_lines(batch))
        if answer.returncode:
            return None
        return {
            sha: NamedCommit(int(time) if time else None, tuple(parents.split()), subject)
            for sha, time, parents, subject in _fours(answer.stdout)
        }

    if found := answered(ask, [sha for sha in wanted if sha not in known]):
        known.update(found)
        cache.changed = True
    return {sha: known[sha] for sha in wanted if sha in known}


def shown_commits(repository: GitRepository, shas: Iterable[str]) -> dict[str, ShownCommit]:
    """Return the time and the changed files of commits, as ``git show --name-only`` names them.

    A commit that git cannot read at all is left out.
    """
    shown: dict[str, ShownCommit] = {}
    for part, answer in repository.ask_in_parts(*_SHOW, questions=list(dict.fromkeys(shas))):
        shown |= _shown(answer.stdout) if answer.returncode == 0 else _shown_alone(repository, part)
    return shown


def _shown_alone(repository: GitRepository, shas: Iterable[str]) -> dict[str, ShownCommit]:
    """Return the same of a batch that was stopped by one missing object; only the time of a commit that lacks it."""
    shown: dict[str, ShownCommit] = {}
    for sha in shas:
        if (answer := repository.ask(*_SHOW, given=as_lines([sha]))).returncode == 0:
            shown |= _shown(answer.stdout)
        else:
            answer = repository.ask("log", "--no-walk", "--no-patch", "--format=%x00%H %ct", sha, "--")
            shown |= {name: ShownCommit(commit.time, None) for name, commit in _shown(answer.stdout).items()}
    return shown


def _shown(output: bytes) -> dict[str, ShownCommit]:
    found = {}
    names: dict[str, str] = {}  # many commits change the same file
    for block in as_text(output).split("\0")[1:]:
        header, *files = block.split("\n")
        sha, _, time = header.partition(" ")
        found[sha] = ShownCommit(
            int(time) if time else None, tuple(names.setdefault(name, name) for name in files if name)
        )
    return found
