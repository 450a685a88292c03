"""The folder of a data set on any file system that fsspec knows: whole files put in place at once, and listed.

Object stores put a file in place as a whole. Elsewhere a file gets another name first, and is renamed.
"""

import contextlib
import os
import posixpath
import uuid
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from scoring.errors import InputError, WriteError
from scoring.files import atomic_stream, write_atomically
from scoring.views.formats import require

READABLE = 0o644
_PUTS_WHOLE = {"s3", "s3a", "gs", "gcs", "abfs", "abfss", "az", "adl", "memory", "oss", "r2"}
_LIMIT = 1 << 30


def file_system(url: str, storage: Mapping[str, Mapping[str, Any]]) -> tuple[Any, str]:
    """Return the file system of a URL, or of an absolute path, and the path there.

    Raises:
        InputError: nothing here knows such a file system, or it cannot be reached; the text says what to do.
    """
    require("fleet", "fsspec")
    import fsspec

    protocol = url.partition("://")[0].partition("::")[0] if "://" in url else "file"
    try:
        found: tuple[Any, str] = fsspec.core.url_to_fs(url, **dict(storage.get(protocol, {})))
    except (ImportError, ValueError) as e:
        raise InputError(f"{url}: {_line(e)}; the extra 'fleet' has what local folders and S3 need") from e
    except Exception as e:
        raise InputError(f"{url}: cannot be reached: {_line(e)}") from e
    return found


def _line(error: BaseException) -> str:
    """Return what an error of some library says, in one line of sane length."""
    return " ".join(str(error).split())[:300] or type(error).__name__


class Store:
    """The files below one URL, by names with slashes."""

    def __init__(self, url: str, storage: Mapping[str, Mapping[str, Any]] | None = None) -> None:
        """Reach the file system.

        Raises:
            InputError: as :func:`file_system`.
        """
        self.url = url
        self.fs, root = file_system(url, storage or {})
        self.root = root.rstrip("/")
        protocols = (self.fs.protocol,) if isinstance(self.fs.protocol, str) else tuple(self.fs.protocol)
        self.local = "file" in protocols
        self._whole = not _PUTS_WHOLE.isdisjoint(protocols)

    def path(self, name: str) -> str:
        """Return the path of a file as the file system has it."""
        return f"{self.root}/{name}"

    def put(self, name: str, data: bytes) -> None:
        """Put a file in place; whoever reads sees the old one or the new one.

        Raises:
            WriteError: it could not be written.
        """
        path = self.path(name)
        with self._said(path):
            if self.local:
                os.makedirs(posixpath.dirname(path), exist_ok=True)
                write_atomically(Path(path), data, mode=READABLE)
            elif self._whole:
                self.fs.pipe_file(path, data)
            else:
                self.fs.makedirs(posixpath.dirname(path), exist_ok=True)
                temporary = f"{path}.{uuid.uuid4().hex}.tmp"
                self.fs.pipe_file(temporary, data)
                self.fs.mv(temporary, path)

    @contextlib.contextmanager
    def writing(self, name: str) -> Iterator[Any]:
        """Give a stream to write to in any number of steps; the file is put in place when all are done.

        Raises:
            WriteError: it could not be written.
        """
        path = self.path(name)
        if self.local:
            os.makedirs(posixpath.dirname(path), exist_ok=True)
            with atomic_stream(Path(path), READABLE) as out:
                yield out
            return
        import tempfile

        with tempfile.NamedTemporaryFile(prefix="da-score-fleet-") as out:
            yield out
            out.flush()
            with self._said(path):
                goal = path if self._whole else f"{path}.{uuid.uuid4().hex}.tmp"
                self.fs.put_file(out.name, goal)
                if goal != path:
                    self.fs.mv(goal, path)

    def get(self, name: str) -> bytes | None:
        """Return what is in a file; None when there is none.

        Raises:
            InputError: it cannot be read.
        """
        path = self.path(name)
        try:
            if not self.local:
                self.fs.invalidate_cache()
            data: bytes = self.fs.cat_file(path)
        except FileNotFoundError:
            return None
        except Exception as e:
            raise InputError(f"{path}: cannot be read: {_line(e)}") from e
        return data

    def names(self, folder: str) -> list[str]:
        """Return the names of all files in a folder and below, sorted; none when there is no such folder.

        Raises:
            InputError: it cannot be listed.
        """
        path = self.path(folder)
        try:
            self.fs.invalidate_cache()
            found = self.fs.find(path)
        except FileNotFoundError:
            return []
        except Exception as e:
            raise InputError(f"{path}: cannot be listed: {_line(e)}") from e
        return sorted(one[len(self.root) + 1 :] for one in found)

    def remove(self, names: Iterable[str]) -> None:
        """Take files away, and what cannot be taken away stays."""
        for name in names:
            with contextlib.suppress(Exception):
                self.fs.rm_file(self.path(name))

    def copy(self, name: str, to: str) -> None:
        """Put a copy of a file in place.

        Raises:
            WriteError: it could not be written.
            InputError: there is nothing to copy.
        """
        with self._said(self.path(to)):
            if self.local or not self._whole:
                data = self.get(name)
                if data is None:
                    raise InputError(f"{self.path(name)}: is gone")
                self.put(to, data)
            else:
                self.fs.cp_file(self.path(name), self.path(to))

    @contextlib.contextmanager
    def _said(self, path: str) -> Iterator[None]:
        try:
            yield
        except (WriteError, InputError):
            raise
        except Exception as e:
            raise WriteError(f"{path}: cannot write: {_line(e)}") from e
