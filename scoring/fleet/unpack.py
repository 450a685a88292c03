"""Unpacks the archive of a repository into a folder, within limits and never outside of it."""

import contextlib
import posixpath
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Self

from scoring.errors import DaScoreError, InputError
from scoring.evidence.git.checkout import check_out
from scoring.files import reason
from scoring.log.settings import DEFAULT_LOG_DIR
from scoring.temporary import temporary_directory

from .fleet_toml import FleetConfig
from .sources import Repository
from .storage import file_system, one_line

MOST_FILES = 300_000
"""How many files and folders one archive may hold."""

HEADER_LIMIT = 1 << 20
"""The most bytes of a header in a tar archive, which is held in memory."""

LOG_FOLDERS = ("log", "iteration-log")
TRANSCRIPTS = "transcripts"

_CHECKED_OUT = ".da-score-work-tree"
"""Where the work tree goes, with objects and refs alone: a configuration could run programs."""

_HEADERS = {
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
}
"""The types of members that tarfile reads whole."""

_PIECE = 1 << 20
_LONGEST_REASON = 200
_DEEPEST_TOP = 3

# The type of a file in the upper bits of a ZIP entry's attributes.
_ZIP_TYPE_SHIFT = 28
_ZIP_UNKNOWN = 0
_ZIP_PLAIN_FILE = 8


@contextlib.contextmanager
def scratch_folder(config: FleetConfig) -> Iterator[Path]:
    """Make a folder that is removed afterwards, and remove those of workers that were killed.

    Raises:
        InputError: it cannot be made.
    """
    base = Path(config.scratch or tempfile.gettempdir())
    with contextlib.ExitStack() as stack:
        try:
            base.mkdir(parents=True, exist_ok=True)
            folder = stack.enter_context(temporary_directory("fleet", base))
        except OSError as e:
            raise InputError(f"{base}: no room to unpack: {reason(e)}") from e
        yield folder


def unpacked(repository: Repository, config: FleetConfig, folder: Path) -> Repository:
    """Unpack a repository at a URL, and return it as a directory.

    Args:
        repository: the repository.
        config: the fleet.
        folder: where to unpack it; it must not exist.

    Raises:
        InputError: the archive cannot be read, holds too much, or lacks a log or a repository.
        GitError: the repository in it cannot be checked out.
    """
    folder.mkdir()
    _fetch(repository, config, folder)

    git_data = _repository_in(folder, repository.url)
    top = git_data.parent
    work_tree = folder / _CHECKED_OUT / repository.short
    check_out(git_data, work_tree)

    source = repository.source._replace(transcripts=(), transcript_mode="none")
    if (top / TRANSCRIPTS).is_dir():
        source = source._replace(
            transcripts=(str(top / TRANSCRIPTS),), transcript_mode=None
        )

    logs = [top / name for name in LOG_FOLDERS]
    for log in (*logs, work_tree / DEFAULT_LOG_DIR):
        if log.is_dir():
            return repository._replace(source=source, repo_dir=work_tree, log=log)
    raise InputError(
        f"{repository.url}: holds no iteration log, neither as log/ nor in the repository"
    )


def _fetch(repository: Repository, config: FleetConfig, folder: Path) -> None:
    """Copy all files of an archive, or of a folder at a URL, into a local folder.

    Raises:
        InputError: it is gone, is not an archive, holds too much, or leads outside.
    """
    url = repository.url
    system, path = file_system(url, config.storage)
    target = _LimitedFolder(folder, config.expanded, url)

    try:
        for name, content in _members(system, path):
            target.take(name, content)
    except DaScoreError:
        raise
    except FileNotFoundError as e:
        raise InputError(f"{url}: is gone") from e
    except (
        tarfile.TarError,
        zipfile.BadZipFile,
        EOFError,
        ValueError,
        RuntimeError,
    ) as e:
        problem = one_line(e, _LONGEST_REASON)
        raise InputError(f"{url}: no archive that can be read: {problem}") from e
    except Exception as e:
        raise InputError(
            f"{url}: cannot be read: {one_line(e, _LONGEST_REASON)}"
        ) from e


def _members(system: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Yield the name of each file and folder at a path, and for a plain file its open content."""
    if system.isdir(path):
        prefix = path.rstrip("/") + "/"
        for name in sorted(system.find(path)):
            with system.open(name, "rb", block_size=_PIECE) as file:
                yield name.removeprefix(prefix), file
    elif path.endswith(".zip"):
        with system.open(path, "rb") as file:
            yield from _members_of_zip(file)
    else:
        with system.open(path, "rb", block_size=8 * _PIECE) as file:
            yield from _members_of_tar(file, path)


def _members_of_zip(file: IO[bytes]) -> Iterator[tuple[str, Any]]:
    with zipfile.ZipFile(file) as archive:
        for info in archive.infolist():
            file_type = info.external_attr >> _ZIP_TYPE_SHIFT
            if info.is_dir() or file_type not in (_ZIP_UNKNOWN, _ZIP_PLAIN_FILE):
                yield info.filename, None
                continue
            with archive.open(info) as member:
                yield info.filename, member


def _members_of_tar(file: IO[bytes], path: str) -> Iterator[tuple[str, Any]]:
    """Yield the name of each member of a tar archive, and the open content of a plain file.

    The archive may be compressed in any way that Python knows, or with zstd where the name says so.
    """
    with contextlib.ExitStack() as stack:
        if path.endswith(".zst"):
            try:
                from compression import zstd  # type: ignore[import-not-found, unused-ignore]
            except ImportError:
                from backports import zstd
            file = stack.enter_context(zstd.ZstdFile(file))

        archive = stack.enter_context(
            tarfile.open(fileobj=file, mode="r|*", tarinfo=_LimitedMember)
        )
        for member in archive:
            yield member.name, archive.extractfile(member) if member.isreg() else None


class _LimitedMember(tarfile.TarInfo):
    """A member of a tar archive with headers of a sane size."""

    @classmethod
    def frombuf(
        cls,
        buf: bytes | bytearray,
        encoding: str,
        errors: str,
    ) -> Self:
        """Return the member that a block begins.

        Raises:
            tarfile.ReadError: it is a header that would fill memory.
        """
        member = super().frombuf(buf, encoding, errors)
        if member.type in _HEADERS and member.size > HEADER_LIMIT:
            raise tarfile.ReadError(f"a header over {HEADER_LIMIT >> 20} MiB")
        return member


@dataclass
class _LimitedFolder:
    """A folder that takes plain files, up to a number of bytes.

    Attributes:
        folder: the folder.
        limit: how many bytes it takes.
        url: what errors call the archive.
        size: how many bytes were written.
        files: how many files and folders were counted.
    """

    folder: Path
    limit: int
    url: str
    size: int = 0
    files: int = 0

    def take(self, name: str, content: Any) -> None:
        """Count a file or folder, and write a plain file.

        Args:
            name: its name.
            content: what is in the file; None writes nothing.

        Raises:
            InputError: there are too many, its name leads outside, or it is too large.
        """
        self.files += 1
        if self.files > MOST_FILES:
            raise InputError(f"{self.url}: holds more than {MOST_FILES:,} files")
        if content is None:
            return

        relative = posixpath.normpath(name)
        leads_outside = name.startswith("/") or relative.split("/")[0] == ".."
        if leads_outside or "\\" in name or "\0" in name:
            raise InputError(
                f"{self.url}: has a file named {name[:200]!r}, which leads outside; nothing is read"
            )

        path = self.folder / relative
        path.parent.mkdir(parents=True, exist_ok=True)

        with open(path, "xb") as file:
            while True:
                piece = content.read(_PIECE)
                if not piece:
                    break
                self.size += len(piece)
                if self.size > self.limit:
                    raise InputError(
                        f"{self.url}: is more than {self.limit:,} bytes when unpacked;"
                        " limits.expanded allows that"
                    )
                file.write(piece)


def _repository_in(folder: Path, url: str) -> Path:
    """Return the git bundle, or the bare repository, at the top of what was unpacked."""
    top = _top_of(folder)

    candidates: list[Path] = []
    for path in top.iterdir():
        is_bundle = path.suffix == ".bundle" and path.is_file()
        if is_bundle or ((path / "HEAD").is_file() and (path / "objects").is_dir()):
            candidates.append(path)

    if len(candidates) == 1:
        return candidates[0]

    contents = "no git bundle and no bare repository"
    if candidates:
        contents = f"{len(candidates)} repositories"
    raise InputError(
        f"{url}: holds {contents}; one NAME.bundle or NAME.git/ belongs in it"
    )


def _top_of(folder: Path) -> Path:
    """Return the folder inside of folders that hold nothing else, unless it is a repository."""
    top = folder
    for _ in range(_DEEPEST_TOP):
        children = list(top.iterdir())
        if len(children) != 1:
            break
        (child,) = children
        if not child.is_dir() or (child / "HEAD").is_file():
            break
        top = child
    return top
