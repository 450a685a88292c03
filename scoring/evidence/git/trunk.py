"""Finds the trunk: the branch on which work lands (``docs/EVIDENCE.md``, "Landing")."""

from collections.abc import Mapping
from typing import NamedTuple

from scoring.errors import GitError
from scoring.evidence.git.facts import Trunk
from scoring.evidence.git.repository import GitRepository
from scoring.evidence.git.starter import as_text

USUAL_NAMES = ("main", "master")
"""Names that are tried, of the remote and then here, when the remote names no default branch."""

_HEADS = "refs/heads/"
_REMOTES = "refs/remotes/"
_PREFERRED_REMOTE = "origin"


class Branches(NamedTuple):
    """The branches of a repository, local and of remotes.

    Attributes:
        tips: the tip of each branch by its full name.
        targets: the full names that symbolic branches point to, by their own full names.
        remote: the remote that decides: origin or the only one; "" without one.
    """

    tips: Mapping[str, str]
    targets: Mapping[str, str]
    remote: str

    def of_remote(self, branch: str) -> str:
        """Return the full name of a branch of the remote that decides."""
        return f"{_REMOTES}{self.remote}/{branch}"


class _Choice(NamedTuple):
    """The full name of the trunk and how it was found, or "" and why it was not."""

    ref: str
    how: str


def read_branches(repository: GitRepository) -> Branches:
    """Return all branches, and the remote that decides."""
    tips = {}
    targets = {}
    for branch in repository.branches:
        tips[branch.name] = branch.sha
        if branch.target:
            targets[branch.name] = branch.target
    return Branches(tips, targets, remote=_deciding_remote(repository))


def _deciding_remote(repository: GitRepository) -> str:
    prefix = f"{_REMOTES}{_PREFERRED_REMOTE}/"
    if any(branch.name.startswith(prefix) for branch in repository.branches):
        return _PREFERRED_REMOTE

    remotes = [name for name in as_text(repository.run("remote")).split("\n") if name]
    if _PREFERRED_REMOTE in remotes:
        return _PREFERRED_REMOTE
    return remotes[0] if len(remotes) == 1 else ""


def choose_trunk(
    repository: GitRepository,
    branches: Branches,
    wanted: str | None = None,
) -> Trunk:
    """Find the trunk.

    Args:
        repository: an open repository.
        branches: its branches.
        wanted: the name of a branch, here or at the remote, that is to be the trunk; None looks
            for one.

    Raises:
        GitError: there is no branch with the wanted name.
    """
    choice = _named(repository, branches, wanted) if wanted else _found(repository, branches)
    if not choice.ref:
        return Trunk("", "", None, choice.how, repository.is_shallow)

    commit = branches.tips.get(choice.ref)
    if commit is None:
        commit = repository.resolve([choice.ref])[choice.ref]
    if wanted and commit is None:
        raise GitError(
            f"{repository.directory}: no trunk {wanted!r} here; name a branch with --trunk"
        )
    return Trunk(choice.ref, short_name(choice.ref), commit, choice.how, repository.is_shallow)


def _named(
    repository: GitRepository,
    branches: Branches,
    wanted: str,
) -> _Choice:
    how = "named by --trunk"

    is_full_name = wanted in branches.tips or f"{_REMOTES}{wanted}" in branches.tips
    if branches.remote and wanted != "HEAD" and not is_full_name:
        of_remote = branches.of_remote(wanted)
        if of_remote in branches.tips:
            return _newer_of_pair(repository, branches, of_remote, how)

    for name in (wanted, f"{_HEADS}{wanted}", f"{_REMOTES}{wanted}"):
        if name in branches.tips:
            return _Choice(name, how)
    return _Choice(wanted, how)


def _found(repository: GitRepository, branches: Branches) -> _Choice:
    """Choose a trunk where the user named none."""
    remote = branches.remote
    lost_default = ""
    if remote:
        head = branches.of_remote("HEAD")
        if head in branches.tips:
            target = branches.targets.get(head, head)
            hint = _hint_of_rename(repository, branches, target)
            how = f"the default branch of {remote} ({remote}/HEAD){hint}"
            return _newer_of_pair(repository, branches, target, how)

        answer = repository.ask("symbolic-ref", "--quiet", head)
        lost = answer.stdout.decode(errors="replace").strip()
        if lost:
            lost_default = f"; {remote}/HEAD points to {short_name(lost)}, which is gone"

        for name in USUAL_NAMES:
            of_remote = branches.of_remote(name)
            if of_remote in branches.tips:
                how = f"{remote} names no default branch and has {name}{lost_default}"
                return _newer_of_pair(repository, branches, of_remote, how)

    for name in USUAL_NAMES:
        local = f"{_HEADS}{name}"
        if local in branches.tips:
            how = f"no remote has a trunk, and there is a local branch {name}{lost_default}"
            return _Choice(local, how)

    names = " or ".join(USUAL_NAMES)
    why = f"no remote with a default branch, and no branch {names}{lost_default}"
    return _Choice("", f"{why}; name it with --trunk")


def _newer_of_pair(
    repository: GitRepository,
    branches: Branches,
    remote_branch: str,
    how: str,
) -> _Choice:
    """Choose the local branch of the same name where it holds all of the remote branch."""
    name = remote_branch.removeprefix(branches.of_remote(""))
    local = f"{_HEADS}{name}"
    if name in (remote_branch, "HEAD") or local not in branches.tips:
        return _Choice(remote_branch, how)

    if _holds(repository, branches.tips[local], branches.tips[remote_branch]):
        short = short_name(remote_branch)
        return _Choice(local, f"{how}; the local branch holds all of {short}")
    return _Choice(remote_branch, f"{how}; the local branch {name} does not hold all of it")


def _holds(
    repository: GitRepository,
    sha: str,
    commit: str,
) -> bool:
    """Return whether a commit is another one or contains it."""
    if sha == commit:
        return True
    return repository.ask("merge-base", "--is-ancestor", commit, sha).returncode == 0


def _hint_of_rename(
    repository: GitRepository,
    branches: Branches,
    target: str,
) -> str:
    """Return a hint where the default branch may have been renamed since the clone was made."""
    if target.removeprefix(branches.of_remote("")) not in USUAL_NAMES:
        return ""

    old_tip = branches.tips[target]
    for name in USUAL_NAMES:
        new_tip = branches.tips.get(branches.of_remote(name), old_tip)
        if new_tip != old_tip and _holds(repository, new_tip, old_tip):
            remote = branches.remote
            return (
                f"; {remote}/{name} is ahead of it: if the default branch was renamed,"
                f" run git remote set-head {remote} --auto"
            )
    return ""


def short_name(ref: str) -> str:
    """Return the name of a branch for people, such as ``main`` or ``origin/main``."""
    return ref.removeprefix(_HEADS).removeprefix(_REMOTES)
