"""The paths that a task may write, with globs (contract sections 2.2 and 10).

An entry that ends in a slash is a folder with all that is in it; any other is one path. In both ``*`` stands for any
characters of one name, ``**`` for any at all, and ``**/`` also for no folder. Nothing else is special: brackets and
question marks are common in file names. Matching takes time proportional to entry times path, whatever the entry says.
"""

import posixpath
import re
from collections.abc import Iterable

from scoring.text import trim

_STAR, _STARS, _FOLDERS, _IN_FOLDERS = "*", "**", "**/", "/**/"


class WriteScope:
    """A set of paths."""

    def __init__(self, entries: Iterable[str]) -> None:
        cleaned = [(_clean(entry).removesuffix("/**"), entry.endswith(("/", "/**"))) for entry in map(trim, entries)]
        cleaned = [(path, is_folder) for path, is_folder in cleaned if path]
        self._exact = {path for path, is_folder in cleaned if not is_folder}
        self._prefixes = tuple(path + "/" for path, is_folder in cleaned if is_folder)
        globs = [path + ("/**" if is_folder else "") for path, is_folder in cleaned if _STAR in path]
        self._globs = [_Glob(glob) for glob in dict.fromkeys(globs)]

    def __contains__(self, path: str) -> bool:
        return path in self._exact or path.startswith(self._prefixes) or any(g.matches(path) for g in self._globs)


def _clean(path: str) -> str:
    """Clean a path without looking at the disk; unlike Python, two leading slashes are one."""
    return posixpath.normpath("/" + path.lstrip("/") if path.startswith("/") else path)


class _Glob:
    """One pattern: tokens, and for each place between them the places that are reached without a character."""

    def __init__(self, glob: str) -> None:
        self._prefix = glob[: glob.index(_STAR)]
        self._tokens = _tokens(glob[len(self._prefix) :], self._prefix[-1:] in ("", "/"))
        self._end = len(self._tokens)
        self._arrive: list[tuple[int, ...]] = [(self._end,)]
        for at in range(self._end - 1, -1, -1):
            skips = {_STAR: 1, _STARS: 1, _FOLDERS: 2}.get(self._tokens[at], 0)
            behind = self._arrive[-skips] if skips else ()
            enters = (at + 1,) if self._tokens[at] == _FOLDERS else ()
            self._arrive.append((at, *enters, *behind))
        self._arrive.reverse()

    def matches(self, path: str) -> bool:
        if not path.startswith(self._prefix):
            return False
        places = set(self._arrive[0])
        for char in path[len(self._prefix) :]:
            after: set[int] = set()
            for at in places:
                token = self._tokens[at] if at < self._end else ""
                if token == _STARS or (token == _STAR and char != "/"):
                    after.update(self._arrive[at])
                elif token == _IN_FOLDERS:
                    after.add(at)
                    if char == "/":
                        after.update(self._arrive[at + 1])
                elif token == char:
                    after.update(self._arrive[at + 1])
            if not after:
                return False
            places = after
        return self._end in places


def _tokens(glob: str, at_name: bool) -> list[str]:
    """Split a pattern; ``at_name`` says whether it begins where a name begins, where ``**/`` may be no folder."""
    tokens: list[str] = []
    for part in re.findall(r"\*\*+/?|.", glob, re.DOTALL):
        if not part.startswith(_STARS):
            tokens.append(part)
        elif not part.endswith("/"):
            tokens.append(_STARS)
        elif at_name:
            tokens += () if tokens[-1:] == [_IN_FOLDERS] else (_FOLDERS, _IN_FOLDERS)
        else:
            tokens += (_STARS, "/")
        at_name = part.endswith("/")
    return tokens
