"""Declared task scopes (``.agents/workflow/plans/*/TASKS.yaml``), and what a file is by its path, unopened.

An entry that ends in a slash is a folder; as observed it may be a glob (``docs/EVIDENCE.md``, "Scope").
"""

import posixpath
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from scoring.errors import InputError
from scoring.evidence.git.facts import Rules
from scoring.files import list_names
from scoring.text import trim
from scoring.yamlread import Reader, items_of, read_fields

PLANS_DIR, TASKS_NAME = (
    ".agents/workflow/plans",
    "TASKS.yaml",
)  # each plan has a folder of its own there

_TASK = {"id": Reader.string, "write_scope": items_of(Reader.string)}
_PLAN = {"tasks": items_of(lambda reader, node: reader.struct(node, _TASK))}
_STAR, _STARS, _FOLDERS, _IN_FOLDERS = "*", "**", "**/", "/**/"


class DeclaredScope(NamedTuple):
    """The write scope of one task as written, and the plan file that declares it."""

    entries: tuple[str, ...]
    plan: Path


def declared_scopes(repo_dir: Path | str) -> dict[str, DeclaredScope]:
    """Return the write scope of each task id, of the first plan (by bytes) with one; broken plans are skipped."""
    scopes: dict[str, DeclaredScope] = {}
    plans = Path(repo_dir) / PLANS_DIR
    try:
        names = list_names(plans)
    except InputError:
        return scopes
    for name in names:
        path = plans / name / TASKS_NAME
        for task in (read_fields(path, _PLAN, repo_dir) or {}).get("tasks", []):
            if task.get("write_scope"):
                scopes.setdefault(
                    task.get("id", ""), DeclaredScope(tuple(task["write_scope"]), path)
                )
    return scopes


@dataclass(frozen=True, slots=True)
class PathScope:
    """A set of paths: some exact ones, those in some folders, and those that globs fit."""

    exact: set[str]
    folders: tuple[str, ...]
    globs: "list[_Glob]"

    def __contains__(self, path: str) -> bool:
        return (
            path in self.exact
            or path.startswith(self.folders)
            or any(glob.matches(path) for glob in self.globs)
        )


@lru_cache(1024)  # the tasks of a log declare the same scopes over and over
def path_scope(rules: Rules, entries: tuple[str, ...]) -> PathScope:
    """Return the paths that the entries of a scope name, under some rules; globs are none for the reference."""
    end = "/" if rules == "reference" else "/**"
    cleaned = [
        (_clean(entry).removesuffix(end), entry.endswith(("/", end)))
        for entry in map(trim, entries)
        if entry
    ]
    globs = (
        path + "/**" * is_folder
        for path, is_folder in cleaned
        if _STAR in path and rules != "reference"
    )
    folders = tuple(f"{path}/" for path, is_folder in cleaned if is_folder)
    exact = {path for path, is_folder in cleaned if not is_folder}
    return PathScope(exact, folders, [_Glob(glob) for glob in dict.fromkeys(globs)])


def _clean(path: str) -> str:
    """Clean a path without looking at the disk; unlike Python, two leading slashes are one."""
    return posixpath.normpath("/" + path.lstrip("/") if path.startswith("/") else path)


class _Glob:
    """One pattern: tokens, and the places reached without a character; matching takes time as entry times path."""

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
    """Split a pattern; ``at_name`` is whether it begins where a name begins, where ``**/`` may be no folder."""
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


# Suffixes, one line a family: scripts, the web, the JVM, native, .NET and mobile, functional, shells, build, queries.
# Then names that are code without a suffix, or with that of something else.
_DATA = (Path(__file__).parent / "scopes.txt").read_text("utf-8")
_CODE_SUFFIXES, _CODE_NAMES = (frozenset(part.split()) for part in _DATA.split("\n\n"))

_TEXTS = {"md", "markdown", "rst", "txt", "adoc", "asciidoc"}
_IMAGES = {"png", "jpg", "jpeg", "gif", "svg", "webp", "bmp", "ico", "tif", "tiff", "avif"}
_DOCUMENT_SUFFIXES = frozenset(_TEXTS | _IMAGES)
_LICENCES = frozenset({"license", "licence", "copying", "notice"})


def is_code(path: str, globs: Sequence[str] = ()) -> bool:
    """Return whether a file is code, by its path; ``globs``, read as those of a task's scope, alone decide if given."""
    if globs:
        return path in path_scope("attributed", tuple(globs))
    name, suffix = _name_and_suffix(path)
    return suffix in _CODE_SUFFIXES or name in _CODE_NAMES


def is_document(path: str) -> bool:
    """Return whether a file is a document: text to read, a licence or an image; no test says anything about it."""
    name, suffix = _name_and_suffix(path)
    if suffix in _CODE_SUFFIXES or name in _CODE_NAMES:
        return False
    return suffix in _DOCUMENT_SUFFIXES or name.partition(".")[0].partition("-")[0] in _LICENCES


def _name_and_suffix(path: str) -> tuple[str, str]:
    """Return the last part of a path, and what is behind its last dot; both in lower case."""
    name = path.rpartition("/")[2].lower()
    stem, _, suffix = name.rpartition(".")
    return name, suffix if stem else ""
