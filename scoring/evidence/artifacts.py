"""Verification artifacts: small YAML files in the repository that a record names by path, and what they say.

Every path comes from a log and is not trusted: it must be relative and stay inside the repository, also through
symlinks. An artifact that is missing, unreadable or malformed is as if it had not been named.
"""

import os
import posixpath
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from scoring.errors import InputError, Warn
from scoring.files import read_file
from scoring.log.model import IterationRecord
from scoring.numbers import wrap64
from scoring.text import trim
from scoring.yamlread import Reader, Take, items_of, parse


def artifact_status(repo_root: Path | str, path: str) -> str:
    """Return the ``status`` of a verifier's result artifact, "" when there is none."""
    return str((_read(repo_root, path, {"status": Reader.string}) or {}).get("status", ""))


def artifact_place(repo_root: Path | str, path: str) -> str:
    """Return where an artifact lies in the repository, relative to it and without symlinks; "" where there is none."""
    if not trim(path):
        return ""
    found = artifact_path(repo_root, path)
    return os.path.relpath(found, os.path.realpath(repo_root)) if found and found.is_file() else ""


class Corrections(NamedTuple):
    """What an entry and its review artifact say of corrections.

    ``retries`` are those of the implementation and of every verifier, ``corrections`` what the review artifact counts:
    corrections by the user and retries in the loop; 64-bit integers, below 0 where the log says so. ``reported`` is
    whether anybody reported any of them.
    """

    retries: int
    corrections: int
    reported: bool


def reference_corrections(record: IterationRecord, repo_root: Path | str, warn: Warn) -> Corrections:  # noqa: ARG001
    """Count what is there, as the reference does: an entry that reports nothing reports that there was nothing."""
    retries = wrap64(record.impl.retries + sum(v.retries for v in record.verifiers))
    counts = _counts(repo_root, record.review.decision_artifact) or {}
    return Corrections(retries, sum(counts.values()), True)


def reported_corrections(record: IterationRecord, repo_root: Path | str, warn: Warn) -> Corrections:
    """Count what is reported; a count below 0 is read as 0, with a warning."""
    found = _counts(repo_root, record.review.decision_artifact)
    counts = {"retries": record.impl.retries}
    counts |= {f"retries of verifier {n}": v.retries for n, v in enumerate(record.verifiers, 1)}
    counts |= found or {}
    for name, count in counts.items():
        if count < 0:
            warn(f"iteration {record.iteration}: {name} is {count}; a count below 0 is read as 0")
    corrections = sum(max(count, 0) for count in (found or {}).values())
    retries = sum(max(count, 0) for count in counts.values()) - corrections
    return Corrections(wrap64(retries), wrap64(corrections), record.retries_reported or found is not None)


def _counts(repo_root: Path | str, path: str) -> dict[str, int] | None:
    """Return the counts in a review's decision artifact, by the names of their fields; None when it is unusable."""
    fields = {"user_corrections": items_of(Reader.string), "retries_in_loop": Reader.integer}
    given = _read(repo_root, path, {"post_invocation": lambda reader, node: reader.struct(node, fields)})
    if given is None:
        return None
    after = given.get("post_invocation", {})
    corrections, retries = after.get("user_corrections", ()), after.get("retries_in_loop", 0)
    return {"user_corrections": len(corrections), "retries_in_loop": int(retries)}


def _read(repo_root: Path | str, path: str, fields: Mapping[str, Take]) -> dict[str, Any] | None:
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
