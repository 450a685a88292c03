"""Where the close-task hook goes: into which settings file of a harness, and who else gets that."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from scoring.errors import InputError
from scoring.evidence.git.repository import GitRepository
from scoring.evidence.harnesses.harness import Hook
from scoring.evidence.harnesses.readers import HARNESSES
from scoring.own_repository import own_repository
from scoring.paths import expanded, is_inside

PROGRAM = "da-score"

SCOPES = ("project", "user")
"""Of whom the settings of a harness are."""

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
        shared: whether git tracks it, so that its command must run on other machines too.
    """

    path: Path
    shared: bool


def hook_of(harness: str) -> Hook:
    """Return how a harness runs the hook.

    Raises:
        InputError: it runs no hooks.
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

    In a project, some harnesses have settings for one person alone besides its own.

    Args:
        harness: the name of the harness.
        scope: ``project`` or ``user``.
        project: the folder of the project.

    Raises:
        InputError: the harness runs no hooks.
    """
    hook = hook_of(harness)
    if scope == "project":
        return [project / name for name in (hook.file, hook.personal) if name]

    folder = os.environ.get(hook.variable, "").partition(",")[0].strip()
    if folder:
        return [expanded(folder) / hook.below]
    return [Path.home() / (hook.at_home or hook.file)]


def hook_files(project: Path) -> Iterator[HookFile]:
    """Yield the settings files of all harnesses that may hold the hook of a project."""
    for harness, hook in HOOKS.items():
        if not hook:
            continue
        for scope in SCOPES:
            for path in hook_settings(harness, scope, project):
                yield HookFile(harness, scope, path)


def place_in_project(harness: str, project: Path) -> PlaceOfHook:
    """Return where a hook goes that is to be in the settings of a project.

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
    """Return whether git tracks a file of a project, so that others get it too."""
    repository = GitRepository(own_repository(project).top_level)
    answer = repository.ask("ls-files", "--error-unmatch", "--", str(path.absolute()))
    return answer.returncode == 0


def refuse_outside(path: Path, project: Path) -> None:
    """Refuse a settings file of a project that a link leads out of it.

    Raises:
        InputError: it does.
    """
    if not is_inside(path, project):
        raise InputError(
            f"{path}: it leads out of the project, to {os.path.realpath(path)}; it was left alone"
        )
