"""Which trunk work lands on, and how that was found out (``docs/EVIDENCE.md``, "Landing")."""

from collections.abc import Mapping
from typing import NamedTuple

from scoring.errors import GitError
from scoring.evidence.git.facts import Trunk
from scoring.evidence.git.repository import GitRepository
from scoring.evidence.git.starter import as_text

FALLBACKS = ("main", "master")  # tried, of the remote and then here, when the remote names no default
_HEADS, _REMOTES = "refs/heads/", "refs/remotes/"
_PREFERRED = "origin"


class References(NamedTuple):
    """The branches: tips and symbolic targets by full name; ``remote`` is origin or the only one, else ""."""

    commits: Mapping[str, str]
    targets: Mapping[str, str]
    remote: str


def read_references(repository: GitRepository) -> References:
    """Ask for all branches, local and remote-tracking, and for the remotes where these do not show the one."""
    rows = repository.references
    remote = _PREFERRED
    if not any(ref.startswith(f"{_REMOTES}{_PREFERRED}/") for _, ref, _ in rows):
        remotes = [name for name in as_text(repository.run("remote")).split("\n") if name]
        if _PREFERRED not in remotes:
            remote = remotes[0] if len(remotes) == 1 else ""
    return References({ref: sha for sha, ref, _ in rows}, {ref: target for _, ref, target in rows if target}, remote)


def choose_trunk(repository: GitRepository, references: References, wanted: str | None = None) -> Trunk:
    """Find the trunk, or take the one ``wanted``, bare names here or at the remote; GitError where there is none."""
    ref, how = _named(repository, references, wanted) if wanted else _found(repository, references)
    if not ref:
        return Trunk("", "", None, how, repository.is_shallow)
    commit = references.commits.get(ref) or repository.resolve([ref])[ref]
    if wanted and commit is None:
        raise GitError(f"{repository.directory}: no trunk {wanted!r} here; name a branch with --trunk")
    return Trunk(ref, _short(ref), commit, how, repository.is_shallow)


def _named(repository: GitRepository, references: References, wanted: str) -> tuple[str, str]:
    how = "named by --trunk"
    remote = f"{_REMOTES}{references.remote}/{wanted}" if references.remote and wanted != "HEAD" else ""
    if wanted not in references.commits and remote in references.commits:
        return _paired(repository, references, remote, how)
    names = (wanted, f"{_HEADS}{wanted}", f"{_REMOTES}{wanted}")
    return next((name for name in names if name in references.commits), wanted), how


def _found(repository: GitRepository, references: References) -> tuple[str, str]:
    """Return the full name of a trunk that the user did not name, and how it was found; "" when it was not."""
    remote = references.remote
    head = f"{_REMOTES}{remote}/HEAD"
    gone = ""
    if remote and head in references.commits:
        target = references.targets.get(head, head)
        how = f"the default branch of {remote} ({remote}/HEAD)"
        return _paired(repository, references, target, how + _renamed(repository, references, target))
    if remote and (lost := repository.ask("symbolic-ref", "--quiet", head).stdout.decode(errors="replace").strip()):
        gone = f"; {remote}/HEAD points to {_short(lost)}, which is gone"
    for name in FALLBACKS if remote else ():
        if (ref := f"{_REMOTES}{remote}/{name}") in references.commits:
            return _paired(repository, references, ref, f"{remote} names no default branch and has {name}{gone}")
    for name in FALLBACKS:
        if (ref := f"{_HEADS}{name}") in references.commits:
            return ref, f"no remote has a trunk, and there is a local branch {name}{gone}"
    return "", f"no remote with a default branch, and no branch {' or '.join(FALLBACKS)}{gone}; name it with --trunk"


def _paired(repository: GitRepository, references: References, ref: str, how: str) -> tuple[str, str]:
    branch = ref.removeprefix(f"{_REMOTES}{references.remote}/")
    local = f"{_HEADS}{branch}"
    if branch in (ref, "HEAD") or local not in references.commits:
        return ref, how
    here, there = references.commits[local], references.commits[ref]
    if here == there or repository.ask("merge-base", "--is-ancestor", there, here).returncode == 0:
        return local, f"{how}; the local branch holds all of {_short(ref)}"
    return ref, f"{how}; the local branch {branch} does not hold all of it"


def _renamed(repository: GitRepository, references: References, target: str) -> str:
    """Return a hint when the default branch seems to have been renamed since the clone was made; "" otherwise."""
    remote = f"{_REMOTES}{references.remote}/"
    for name in FALLBACKS if target.removeprefix(remote) in FALLBACKS else ():
        old, new = references.commits[target], references.commits.get(remote + name, "")
        if new not in ("", old) and repository.ask("merge-base", "--is-ancestor", old, new).returncode == 0:
            advice = f"if the default branch was renamed, run git remote set-head {references.remote} --auto"
            return f"; {references.remote}/{name} is ahead of it: {advice}"
    return ""


def _short(ref: str) -> str:
    return ref.removeprefix(_HEADS).removeprefix(_REMOTES)
