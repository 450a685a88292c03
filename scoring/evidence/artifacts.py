"""The door to verification artifacts: small YAML files in the repository that a record names by path.

Every path comes from a log and is not trusted: it must be relative and stay inside the repository, also through
symlinks. An artifact that is missing, unreadable or malformed is as if it had not been named (contract section 2.3).
"""

import os
import posixpath
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scoring.errors import InputError
from scoring.files import read_file
from scoring.text import trim
from scoring.yamlread import Reader, Take, items_of, parse


def artifact_status(repo_root: Path | str, path: str) -> str:
    """Return the ``status`` of a verifier's result artifact, "" when there is none."""
    return str((_read(repo_root, path, {"status": Reader.string}) or {}).get("status", ""))


def artifact_corrections(repo_root: Path | str, path: str) -> int:
    """Return the number of user corrections and in-loop retries in a review's decision artifact, 0 when unusable."""
    return sum((reported_corrections(repo_root, path) or {}).values())


def reported_corrections(repo_root: Path | str, path: str) -> dict[str, int] | None:
    """Return the counts in a review's decision artifact, by the names of their fields; None when it is unusable."""
    fields = {"user_corrections": items_of(Reader.string), "retries_in_loop": Reader.integer}
    given = _read(repo_root, path, {"post_invocation": lambda reader, node: reader.struct(node, fields)})
    if given is None:
        return None
    after = given.get("post_invocation", {})
    return {
        "user_corrections": len(after.get("user_corrections", ())),
        "retries_in_loop": int(after.get("retries_in_loop", 0)),
    }


def _read(repo_root: Path | str, path: str, fields: Mapping[str, Take]) -> dict[str, Any] | None:
    """Return some fields of an artifact; None when it is unusable."""
    found = artifact_path(repo_root, path)
    if found is None:
        return None
    try:
        node = parse(read_file(found))
        return {} if node is None else Reader().struct(node, fields)
    except (InputError, FileNotFoundError):
        return None


def artifact_path(repo_root: Path | str, path: str) -> Path | None:
    """Return where an artifact lies, or None when its path is no relative path inside the repository.

    An empty ``repo_root`` means that artifacts are not read.
    """
    path = trim(path)
    root = os.fspath(repo_root)
    if not root or not path or path.startswith("/") or "\0" in path:
        return None
    cleaned = posixpath.normpath(path)
    if cleaned == ".." or cleaned.startswith("../"):
        return None
    try:
        real_root = os.path.realpath(root)
        real = os.path.realpath(f"{real_root}/{cleaned}")
    except (OSError, ValueError):
        return None
    return Path(real) if real.startswith(real_root.rstrip("/") + "/") else None
