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
_PARENT_REMOTE = "upstream"
"""What people call the remote from which theirs was forked."""


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
    """A choice of the trunk.

    Attributes:
        ref: its full name; "" where none was found.
        how: how it was found, or why it was not.
        doubt: what people should hear of it and do about it; "" for nothing.
    """

    ref: str
    how: str
    doubt: str = ""


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
        GitError: no branch has the wanted name.
    """
    choice = _named(repository, branches, wanted) if wanted else _found(repository, branches)
    if not choice.ref:
        return Trunk("", "", None, choice.how, repository.is_shallow, choice.doubt)

    commit = branches.tips.get(choice.ref)
    if commit is None:
        commit = repository.resolve([choice.ref])[choice.ref]
    if wanted and commit is None:
        raise GitError(
            f"{repository.directory}: no trunk {wanted!r} here; name a branch with --trunk"
        )
    return Trunk(
        ref=choice.ref,
        name=short_name(choice.ref),
        commit=commit,
        how=choice.how,
        shallow=repository.is_shallow,
        doubt=choice.doubt,
    )


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
            return _or_of_parent(repository, branches, _default(repository, branches, target))

        answer = repository.ask("symbolic-ref", "--quiet", head)
        lost = answer.stdout.decode(errors="replace").strip()
        if lost:
            lost_default = f"; {remote}/HEAD points to {short_name(lost)}, which is gone"

        for name in USUAL_NAMES:
            of_remote = branches.of_remote(name)
            if of_remote in branches.tips:
                how = f"{remote} names no default branch and has {name}{lost_default}"
                choice = _newer_of_pair(repository, branches, of_remote, how)
                return _or_of_parent(repository, branches, choice)

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


def _default(repository: GitRepository, branches: Branches, target: str) -> _Choice:
    """Choose the default branch of the remote.

    Git does not notice when that is renamed. Where another usual name holds all of it, that one is
    chosen if the branch that is checked out tracks it, and else it is said.

    Args:
        repository: an open repository.
        branches: its branches.
        target: the branch that the remote's HEAD points to here.
    """
    remote = branches.remote
    how = f"the default branch of {remote} ({remote}/HEAD)"
    ahead = _branch_ahead(repository, branches, target)
    if not ahead:
        return _newer_of_pair(repository, branches, target, how)

    name = short_name(ahead)
    advice = f"run git remote set-head {remote} --auto"
    if _tracked(repository) == ahead:
        doubt = f"{remote}/HEAD is out of date: {name} holds all of {short_name(target)}; {advice}"
        how = f"tracked by the branch that is checked out; {doubt}"
        return _newer_of_pair(repository, branches, ahead, how)._replace(doubt=doubt)

    doubt = f"{name} is ahead of it: if the default branch was renamed, {advice}"
    choice = _newer_of_pair(repository, branches, target, f"{how}; {doubt}")
    return choice._replace(doubt=doubt)


def _branch_ahead(repository: GitRepository, branches: Branches, target: str) -> str:
    """Return the remote branch of another usual name that is ahead of one, or ""."""
    if target.removeprefix(branches.of_remote("")) not in USUAL_NAMES:
        return ""

    old_tip = branches.tips[target]
    for name in USUAL_NAMES:
        new_tip = branches.tips.get(branches.of_remote(name), old_tip)
        if new_tip != old_tip and _holds(repository, new_tip, old_tip):
            return branches.of_remote(name)
    return ""


def _tracked(repository: GitRepository) -> str:
    """Return the full name of the branch that the checked-out one tracks, or "" without one."""
    answer = repository.ask("rev-parse", "--symbolic-full-name", "@{upstream}")
    return as_text(answer.stdout).strip()


def _or_of_parent(repository: GitRepository, branches: Branches, choice: _Choice) -> _Choice:
    """Choose the default branch of the remote ``upstream`` where it holds all of a choice."""
    prefix = f"{_REMOTES}{_PARENT_REMOTE}/"
    name = choice.ref.removeprefix(branches.of_remote("")).removeprefix(_HEADS)
    default = branches.targets.get(f"{prefix}HEAD", f"{prefix}{name}")
    tip = branches.tips.get(default)
    if branches.remote == _PARENT_REMOTE or tip is None:
        return choice

    own_tip = branches.tips[choice.ref]
    if tip == own_tip or not _holds(repository, tip, own_tip):
        return choice
    how = f"the default branch of {_PARENT_REMOTE}, which holds all of {short_name(choice.ref)}"
    return _Choice(default, how, choice.doubt)


def short_name(ref: str) -> str:
    """Return the name of a branch for people, such as ``main`` or ``origin/main``."""
    return ref.removeprefix(_HEADS).removeprefix(_REMOTES)
