"""Makes git work trees: of a stream of commits, a bundle, or a bare repository."""

import os
import re
import shutil
from pathlib import Path

from scoring.evidence.git.repository import TRUNK
from scoring.evidence.git.starter import Git

# The directory is trusted because its repository is made here; its owner may differ on a mounted file system.
_SETTINGS = ("core.logAllRefUpdates=false", "safe.directory=*")
_NAMED = re.compile(rb"^(?:[0-9a-f]{64}|[0-9a-f]{40})\b", re.MULTILINE)
_HEAD_LIMIT = 4096


def import_repository(directory: Path, stream: bytes) -> None:
    """Make a git work tree of a new directory by a ``git fast-import`` stream that holds the trunk; GitError."""
    git = Git(directory, _SETTINGS)
    git.run("init", "--quiet", "--template=", "--object-format=sha1", f"--initial-branch={TRUNK}")
    git.run("fast-import", "--quiet", "--done", given=stream)
    git.run("reset", "--quiet", "--hard", f"refs/heads/{TRUNK}")


def check_out(source: Path, directory: Path) -> None:
    """Make a git work tree in a new directory of a bundle or a bare repository, which may be hostile.

    Only objects and refs are copied, and links become plain files. GitError, or OSError when it cannot be copied.
    """
    git = Git(directory, (*_SETTINGS, "core.symlinks=false", "fetch.fsckObjects=false"))
    directory.mkdir(parents=True)
    head = _copied(source, git) if source.is_dir() else _unbundled(source, git)
    if head:
        git.run("symbolic-ref", "HEAD", head)
    if not git.ask("rev-parse", "--verify", "--quiet", "HEAD").returncode:
        git.run("reset", "--quiet", "--hard", "HEAD")


def _copied(source: Path, git: Git) -> str:
    """Copy a bare repository, and return the branch that its ``HEAD`` names; "" where it names none."""
    git.run("init", "--quiet", "--template=", f"--object-format={_object_format(source)}")
    own = git.directory / ".git"
    ignored = shutil.ignore_patterns("alternates", "http-alternates")
    shutil.copytree(source / "objects", own / "objects", dirs_exist_ok=True, ignore=ignored)
    if (source / "refs").is_dir():
        shutil.copytree(source / "refs", own / "refs", dirs_exist_ok=True)
    if (source / "packed-refs").is_file():
        shutil.copyfile(source / "packed-refs", own / "packed-refs")
    with open(source / "HEAD", "rb") as f:
        line = os.fsdecode(f.readline(_HEAD_LIMIT)).strip()
    name = line.removeprefix("ref: ")
    return name if line.startswith("ref: refs/heads/") and ".." not in name else ""


def _unbundled(source: Path, git: Git) -> str:
    """Unpack a bundle, and return the branch to check out, ``main`` and ``master`` first; "" without any."""
    listed = git.run("bundle", "list-heads", os.fspath(source))
    refs = [line.split(" ", 1) for line in listed.decode(errors="replace").splitlines() if " " in line]
    object_format = "sha256" if refs and len(refs[0][0]) == 64 else "sha1"
    git.run("init", "--quiet", "--template=", f"--object-format={object_format}")
    git.run("bundle", "unbundle", os.fspath(source))
    at = {name: sha for sha, name in refs}
    lines = "".join(f"create {name} {sha}\n" for name, sha in at.items() if name.startswith("refs/"))
    git.run("update-ref", "--stdin", given=lines.encode())
    branches = [name for name, sha in at.items() if name.startswith("refs/heads/") and sha == at.get("HEAD", sha)]
    usual = [name for name in ("refs/heads/main", "refs/heads/master") if name in branches]
    return (usual or branches or [""])[0]


def _object_format(bare: Path) -> str:
    """Return how the objects of a bare repository are named, as its refs show: its settings are not obeyed."""
    for path in (bare / "packed-refs", *(bare / "refs").rglob("*")):
        if path.is_file():
            with open(path, "rb") as f:
                if found := _NAMED.search(f.read(_HEAD_LIMIT)):
                    return "sha256" if len(found[0]) == 64 else "sha1"
    return "sha1"
