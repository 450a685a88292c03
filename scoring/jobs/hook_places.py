"""The settings files of harnesses: where the close-task hook goes, and how the files are changed.

A file that is changed keeps its layout, and gets a backup.
"""

import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from scoring.errors import InputError
from scoring.evidence.git.repository import GitRepository
from scoring.evidence.harnesses.harness import Hook
from scoring.evidence.harnesses.readers import HARNESSES
from scoring.files import make_folder, overwrite, read_file, read_or_none
from scoring.own_repository import own_repository
from scoring.paths import expanded, is_inside, real_path
from scoring.text import syntax_problem

PROGRAM = "da-score"

BACKUP_SUFFIX = ".da-score-backup"
BY_HAND = "fix it by hand, it was left alone"

SCOPES = ("project", "user")
"""Which settings of a harness there are: those of a project, and those of the user."""

HOOKS = {harness.name: harness.hook for harness in HARNESSES}
"""How each harness runs the hook; None for a harness that runs none."""


class HookFile(NamedTuple):
    """A settings file that may hold the hook, with its harness and its scope."""

    harness: str
    scope: str
    path: Path


class PlaceOfHook(NamedTuple):
    """Where the hook of a project goes.

    Attributes:
        path: the settings file.
        shared: whether git tracks the file, so that its command must run on other machines too.
    """

    path: Path
    shared: bool


def hook_of(harness: str) -> Hook:
    """Return how a harness runs the hook.

    Raises:
        InputError: the harness runs no hooks.
        KeyError: no harness has that name.
    """
    hook = HOOKS[harness]
    if hook is None:
        raise InputError(
            f"{harness} runs no command when its agent stops; 'da-score watch' scores what it does"
        )
    return hook


def hook_settings(
    harness: str,
    scope: str,
    project: Path,
) -> list[Path]:
    """Return the settings files that may hold the hook, the usual one first.

    A project may have a second file, which is for one person alone. For the user there is one file.

    Args:
        harness: the name of the harness.
        scope: ``project`` or ``user``.
        project: the folder of the project.

    Raises:
        InputError: the harness runs no hooks.
        KeyError: no harness has that name.
    """
    hook = hook_of(harness)
    if scope == "project":
        return [project / name for name in (hook.file, hook.personal) if name]

    folder = os.environ.get(hook.variable, "").partition(",")[0].strip()
    if folder:
        return [expanded(folder) / hook.below]
    return [Path.home() / (hook.at_home or hook.file)]


def hook_files(project: Path) -> Iterator[HookFile]:
    """Yield the files that may hold the hook, of each harness the ones of the project first."""
    for harness, hook in HOOKS.items():
        if not hook:
            continue
        for scope in SCOPES:
            for path in hook_settings(harness, scope, project):
                yield HookFile(harness, scope, path)


def place_in_project(harness: str, project: Path) -> PlaceOfHook:
    """Return where a hook goes that is to be in the settings of a project.

    Where a harness has personal settings in a project, they are used unless git tracks the usual
    file and da-score is on the path.

    Raises:
        InputError: the harness runs no hooks.
        NotARepositoryError: the folder is not in a git work tree.
        GitError: the repository cannot be read.
    """
    usual, *personal = hook_settings(harness, "project", project)
    shared = is_tracked(usual, project)
    if personal and not (shared and shutil.which(PROGRAM)):
        return PlaceOfHook(personal[0], shared=False)
    return PlaceOfHook(usual, shared)


def is_tracked(path: Path, project: Path) -> bool:
    """Return whether git tracks a file of a project, so that others get it too.

    Raises:
        GitError: the project is in no repository, or git does not answer.
    """
    repository = GitRepository(own_repository(project).top_level)
    answer = repository.ask("ls-files", "--error-unmatch", "--", str(path.absolute()))
    return answer.returncode == 0


def refuse_outside(path: Path, project: Path) -> None:
    """Refuse the settings file of a project if a link leads from it to outside of the project.

    Raises:
        InputError: a link does.
    """
    if not is_inside(path, project):
        raise InputError(
            f"{path}: it leads out of the project, to {real_path(path)}; it was left alone"
        )


# Reading and writing


class JsonFile(NamedTuple):
    """A settings file.

    Attributes:
        text: the text of the file; "" where the file does not exist.
        data: what the file holds; an empty object where it does not exist or is empty.
    """

    text: str
    data: Any


def read_json_file(path: Path) -> JsonFile:
    """Read a settings file, which holds ``{}`` where it does not exist or is empty.

    The data may be any JSON value, not only an object.

    Raises:
        InputError: the file exists but cannot be read, is not UTF-8 or JSON, or has a key twice.
    """
    try:
        text = (read_or_none(path) or b"").decode("utf-8")
    except UnicodeDecodeError as e:
        raise InputError(f"{path}: is not UTF-8; it was left alone") from e

    if not text.strip():
        return JsonFile(text, {})
    try:
        return JsonFile(
            text, json.loads(text, object_pairs_hook=_object_of_unique_keys)
        )
    except (ValueError, RecursionError) as e:
        raise InputError(f"{path}: not JSON: {syntax_problem(e)}; {BY_HAND}") from e


def _object_of_unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object from its keys and values.

    Raises:
        ValueError: a key is given twice, so that a value would be lost.
    """
    data = dict(pairs)
    if len(data) != len(pairs):
        raise ValueError("a key is given twice")
    return data


def json_in_layout_of(path: Path, data: Any, layout: str) -> bytes:
    """Return data as JSON with the indentation, line ends and last line of a text.

    Args:
        path: the file, for errors.
        data: the data.
        layout: the text; "" for the usual layout.

    Raises:
        InputError: the data cannot be written as JSON.
    """
    body = layout.strip()
    indent = None
    if "\n" in body or body in ("", "{}"):
        indent = "  "
    if indented_line := re.search(r"\n([ \t]+)\S", body):
        indent = indented_line[1]
    # Such an escape may be half of a character, which UTF-8 cannot hold.
    has_surrogates = re.search(r"\\u[dD][89a-fA-F]", body) is not None

    try:
        text = json.dumps(
            data, indent=indent, ensure_ascii=has_surrogates, allow_nan=False
        )
    except (ValueError, RecursionError) as e:
        raise InputError(f"{path}: cannot be written again: {e}; {BY_HAND}") from e

    if "\r\n" in body:
        text = text.replace("\n", "\r\n")
    end = layout[len(layout.rstrip()) :] if body else "\n"
    return (text + end).encode()


def backup_of(path: Path) -> Path:
    """Return the path of the backup of a settings file: next to the file that links lead to."""
    target = Path(real_path(path))
    return target.with_name(target.name + BACKUP_SUFFIX)


def write_settings_file(path: Path, data: bytes, *, keep: bool) -> Path | None:
    """Write a settings file with the mode and the owner that it has, through links.

    Missing folders above it are made.

    Args:
        path: the file.
        data: its new content.
        keep: whether the old content goes into a backup. An earlier backup is replaced.

    Returns:
        The backup; None where none was written, as for a new file.

    Raises:
        InputError: the old content cannot be read for the backup.
        WriteError: the file, the backup or a folder cannot be written.
    """
    target = Path(real_path(path))
    make_folder(target.parent)
    backup = None
    if keep and target.exists():
        # Written whole like the file, so never through a link in its place.
        backup = backup_of(path)
        overwrite(backup, read_file(target), rights_from=target)
    overwrite(target, data)
    return backup
