"""The commits of a trunk and those beside it: parents, subjects, times and files."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from scoring.evidence.git.graph import Line
from scoring.evidence.git.repository import GitRepository, answered
from scoring.evidence.git.starter import as_lines, as_text
from scoring.text import fold, trim

# Each field ends with NUL, and each commit too (-z), so that no message can be taken for a separator.
_LINE = ("-z", "--format=%H%x00%P%x00%s%x00%B%x00")
_NAMED = ("log", "--no-walk=unsorted", "--stdin", "-z", "--format=%H%x00%ct%x00%P%x00%s%x00")
_SHOW = ("show", "--stdin", "--name-only", "--ignore-submodules=none", "--format=%x00%H %ct")
_TIMES = ("log", "--no-walk=unsorted", "--stdin", "--no-patch", "--format=%x00%H %ct")


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


def trunk_lines(repository: GitRepository, tip: str, *order: str) -> list[TrunkLine]:
    """Return a commit and its ancestors, newest first, in the ``order`` that an option of ``git log`` names.

    Raises:
        GitError: git cannot read the history of the trunk.
    """
    fields = map(as_text, repository.lines("log", *order, *_LINE, tip, "--", end=b"\0"))
    return [
        TrunkLine(sha, tuple(parents.split()), subject, message if "revert" in message.lower() else "")
        for sha, parents, subject, message in _fours(fields)
    ]


def _fours(fields: Iterable[str]) -> Iterator[tuple[str, ...]]:
    """Yield the four fields of each commit, behind which an empty one is."""
    rest = iter(fields)
    return (five[:4] for five in zip(*[rest] * 5, strict=False))


def newest_by_subject(lines: Sequence[TrunkLine]) -> dict[str, str]:
    """Return the newest commit of each subject, trimmed and folded to one case; an empty subject is left out."""
    found = {fold(trim(line.subject)): line.sha for line in reversed(lines)}
    found.pop("", None)
    return found


def lines_beside(repository: GitRepository, shas: Sequence[str], tips: Sequence[str], trunk: str | None) -> list[Line]:
    """Return the ancestry of commits and branch tips as far as the trunk does not contain it, children first.

    A history that lacks a commit stops the walk: the tips are then left out, and each of ``shas`` with an incomplete
    history.
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


def named_commits(repository: GitRepository, shas: Iterable[str]) -> dict[str, NamedCommit]:
    """Return the time, the parents and the subject of commits; one that git cannot read is left out."""

    def ask(batch: Sequence[str]) -> Mapping[str, NamedCommit] | None:
        answer = repository.ask(*_NAMED, given=as_lines(batch))
        if answer.returncode:
            return None
        return {
            sha: NamedCommit(int(time) if time else None, tuple(parents.split()), subject)
            for sha, time, parents, subject in _fours(as_text(answer.stdout).split("\0"))
        }

    return answered(ask, shas)


def shown_commits(repository: GitRepository, shas: Iterable[str]) -> dict[str, ShownCommit]:
    """Return the time and the changed files of commits, as ``git show --name-only`` names them.

    Of a commit with missing objects only the time is known; one that git cannot read at all is left out.
    """

    def ask(*question: str) -> Callable[[Sequence[str]], Mapping[str, ShownCommit] | None]:
        def shown(batch: Sequence[str]) -> Mapping[str, ShownCommit] | None:
            answer = repository.ask(*question, given=as_lines(batch))
            return None if answer.returncode else _shown(answer.stdout)

        return shown

    wanted = list(dict.fromkeys(shas))
    shown = answered(ask(*_SHOW), wanted, len(wanted))
    times = answered(ask(*_TIMES), [sha for sha in wanted if sha not in shown], len(wanted))
    return shown | {sha: commit._replace(files=None) for sha, commit in times.items()}


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
