"""Finds iteration logs, as a directory or below a folder of repositories; a :class:`Selection` chooses entries."""

import datetime
import os
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from scoring.errors import InputError, LogError, OptionError
from scoring.files import is_of_the_system, list_names, read_file
from scoring.frozen import Frozen
from scoring.log.model import IterationRecord
from scoring.log.settings import DEFAULT_LOG_DIR, SETTINGS_FILE

ARCHIVE_NAME = "historical.yaml"
_ENTRY = re.compile(r"iter-[0-9]+\.yaml")
_PASSED_OVER = {".git", "node_modules", ".venv", "__pycache__"}


@dataclass(frozen=True, slots=True)
class FoundLog:
    """An iteration log, and the repository it is about; None when its place does not tell."""

    iter_log_dir: Path
    repo_dir: Path | None


def find_logs(roots: Iterable[Path]) -> list[FoundLog]:
    """Return the logs that some roots stand for, each once, in order; InputError for a root without any."""
    found: dict[str, FoundLog] = {}
    for root in roots:
        logs = list(_logs_of(root))
        if not logs:
            raise InputError(
                f"{root}: no iteration log here; name a repository with {DEFAULT_LOG_DIR}, a folder of such "
                "repositories, or a log directory"
            )
        for log in logs:
            found.setdefault(os.path.realpath(log.iter_log_dir), log)
    return list(found.values())


def is_entry_name(name: str) -> bool:
    """Tell whether a file name is that of an entry."""
    return _ENTRY.fullmatch(name) is not None


def holds_entries(folder: Path) -> bool:
    """Return whether there are entries, or an archive of them, in a folder; there may be no such folder."""
    names = list_names(folder) if folder.is_dir() else ()
    return any(is_entry_name(name) or name == ARCHIVE_NAME for name in names)


def _logs_of(root: Path) -> Iterator[FoundLog]:
    if not root.is_dir():
        raise InputError(f"{root}: {'not a directory' if root.exists() else 'no such directory'}")
    if is_of_the_system(root):
        raise InputError(f"{root}: is a system folder, in which no log is looked for")
    if _may_be_log(root / DEFAULT_LOG_DIR):
        yield FoundLog(root / DEFAULT_LOG_DIR, root)
    elif holds_entries(root):
        yield FoundLog(root, repository_of_log(root))
    else:
        for folder, names, _ in os.walk(root):
            names[:] = sorted(name for name in names if name not in _PASSED_OVER)
            here = Path(folder)
            if _may_be_log(here / DEFAULT_LOG_DIR):
                yield FoundLog(here / DEFAULT_LOG_DIR, here)
                names.remove(DEFAULT_LOG_DIR.parts[0])


def _may_be_log(folder: Path) -> bool:
    try:
        return folder.is_dir()
    except PermissionError:  # who reads it says so, and goes on with the next one
        return True


def roots_from_file(path: Path) -> list[Path]:
    """Read roots, one per line but for blank lines and those with ``#`` first; InputError if that cannot be read."""
    text = read_file(path).decode("utf-8", "surrogateescape")
    lines = (line.strip() for line in text.splitlines())
    try:
        return [Path(line).expanduser() for line in lines if line and not line.startswith("#")]
    except RuntimeError as e:  # the user that ~ names has no home
        raise InputError(f"{path}: {e}") from e


def no_log(directory: Path, said: str) -> str:
    """Return the message of an error: what is ``said`` of a directory that is no log, and what to do about it."""
    repository = repository_of_log(
        directory
    )  # in no work tree it is the wrong place, and a log there would be refused
    if repository is not None and not any(
        os.path.lexists(folder / ".git") for folder in _upwards(repository)
    ):
        return f"{repository}: not a git work tree; run da-score in a repository, or name it with --repo-dir; {said}"
    if os.path.isdir(directory):
        return f"{said}; let the user who runs da-score list that folder"
    return f"{said}; name the iteration log with --iter-log-dir, or make one with {how_to_make_one(directory)}"


def names_in_log(directory: Path) -> list[str]:
    """List the names in a log, in byte order; LogError, with what to do about it, where it cannot be listed."""
    try:
        return list_names(directory)
    except InputError as e:
        raise LogError(no_log(directory, str(e))) from e


def how_to_make_one(directory: Path) -> str:
    """Return the commands that make a log: the first step, or what comes after it where it was taken already."""
    for folder in _upwards(directory):
        if os.path.isfile(folder / SETTINGS_FILE):
            return "'da-score derive' (from git) or 'da-score entry new' (by hand)"
        if os.path.lexists(folder / ".git"):
            break
    return "'da-score init'"


def repository_of_log(log: Path) -> Path | None:
    """Return the repository of a log directory that is in its usual place; None elsewhere."""
    parts = DEFAULT_LOG_DIR.parts
    absolute = log.absolute()
    return absolute.parents[len(parts) - 1] if absolute.parts[-len(parts) :] == parts else None


def _upwards(folder: Path) -> tuple[Path, ...]:
    here = Path(os.path.abspath(folder))
    return here, *here.parents


class Selection(Frozen, frozen=True):
    """A choice of entries, by number with ``only``; None chooses nothing out, and ``last`` counts after the others."""

    last: int | None = None
    since: datetime.date | None = None
    task: str | None = None
    only: Collection[int] | None = None
    session: str | None = None

    @classmethod
    def of(
        cls, last: int | None = None, since: str | None = None, task: str | None = None
    ) -> "Selection":
        """Return the choice that some options make; OptionError when ``since`` is no date."""
        return cls(last, None if since is None else day(since), task)

    def chosen(self, records: Sequence[IterationRecord]) -> list[IterationRecord]:
        """Return the entries of the choice, in their order."""
        found = [record for record in records if self._takes(record)]
        return found if self.last is None else found[-self.last :]

    def numbers(self, records: Sequence[IterationRecord]) -> set[int]:
        """Return their numbers."""
        return {record.iteration for record in self.chosen(records)}

    def _takes(self, record: IterationRecord) -> bool:
        if self.only is not None and record.iteration not in self.only:
            return False
        if self.session is not None and record.agent.session_id != self.session:
            return False
        if (
            self.task is not None
            and record.task_id != self.task
            and not fnmatchcase(record.task_id, self.task)
        ):
            return False
        found = day_of(record.date[:10])  # one without a date is taken
        return self.since is None or found is None or found >= self.since


def day(text: str, option: str = "--since") -> datetime.date:
    """Return the day that an option names; OptionError when it names none."""
    if (found := day_of(text)) is None:
        raise OptionError(f"{option} {text!r} is no date; write it as 2026-06-03")
    return found


def day_of(text: str) -> datetime.date | None:
    """Return the day that a text is; None when it is none."""
    try:
        return datetime.date.fromisoformat(text)
    except ValueError:
        return None
