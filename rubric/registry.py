"""The released rubrics, each a YAML file in ``rubric/versions/``, and a user's own files."""

import os
from collections.abc import Callable, Iterable
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any, cast

import msgspec

from .datafiles import (
    RUBRIC_VERSION,
    RubricError,
    is_rubric_file,
    read_data,
    read_released,
)
from .model import Rubric, ScoreBand, SignalSpec

VERSIONS_DIR = Path(__file__).parent / "versions"

REMOVED_VERSIONS = {"2.3.0": "3.1.0"}
"""Versions that were removed before a release, each with the version to use instead."""


def rubric_versions() -> list[str]:
    """Return the released versions, the lowest number first."""
    versions = [path.stem for path in VERSIONS_DIR.glob("*.yaml")]
    return sorted(versions, key=_numbers)


def _numbers(version: str) -> list[int]:
    return list(map(int, version.split(".")))


def newest_version(evidence: str) -> str:
    """Return the newest released version that reads evidence under some rules.

    Args:
        evidence: the name of the rules, one of :data:`rubric.model.EVIDENCE`.

    Raises:
        RubricError: no released version reads evidence under them.
    """
    for version in reversed(rubric_versions()):
        if released_rubric(version).evidence == evidence:
            return version
    raise RubricError(f"no released rubric reads evidence under the rules {evidence!r}")


def default_rubric() -> Rubric:
    """Return the rubric of :data:`RUBRIC_VERSION`."""
    return released_rubric(RUBRIC_VERSION)


@cache
def released_rubric(version: str) -> Rubric:
    """Return a released rubric.

    Raises:
        RubricError: no release has that version.
    """
    if version in REMOVED_VERSIONS:
        raise RubricError(
            f"rubric {version} was removed; use {REMOVED_VERSIONS[version]}"
        )
    if version not in rubric_versions():
        released = ", ".join(rubric_versions())
        raise RubricError(f"rubric {version!r} is not released; released: {released}")
    return _valid(VERSIONS_DIR / f"{version}.yaml", read_released)


def find_rubric(name: str) -> Rubric:
    """Return the rubric that a user means.

    Args:
        name: a released version, or the path of a rubric file.

    Raises:
        RubricError: it is neither, or the file is not a valid rubric.
    """
    if is_rubric_file(name):
        return load_rubric(Path(name))

    try:
        return released_rubric(name)
    except RubricError as e:
        if os.path.isfile(name):
            raise RubricError(f"{e}; the file of that name is ./{name}") from e
        raise


def rubric_behind(version: str, otherwise: str) -> Rubric:
    """Return the released rubric of a score's version, else the rubric that ``otherwise`` means.

    Args:
        version: the version that the score names.
        otherwise: a released version, or the path of a rubric file.

    Raises:
        RubricError: there is neither.
    """
    if version in rubric_versions():
        return released_rubric(version)
    return find_rubric(otherwise)


def load_rubric(path: Path) -> Rubric:
    """Read and validate a rubric file.

    Raises:
        RubricError: names the file and the field at fault.
    """
    return _valid(path, read_data)


def _valid(path: Path, read: Callable[[Path], object]) -> Rubric:
    """Return the rubric in a file.

    Args:
        path: the file.
        read: returns the plain data of the file.

    Raises:
        RubricError: the file cannot be read or is not a valid rubric; the text names the file.
    """
    try:
        rubric = parse_rubric(read(path))
        rubric.validate()
    except RubricError as e:
        raise RubricError(f"{path}: {e}") from e
    return rubric


def parse_rubric(data: object) -> Rubric:
    """Build a rubric from plain data, its invariants unchecked.

    Raises:
        RubricError: names a missing, unknown or wrong field.
    """
    try:
        rubric = msgspec.convert(data, Rubric)
    except msgspec.ValidationError as e:
        problem, _, path = str(e).partition(" - at `$.")
        if "Expected `str`" in problem:
            problem += "; put it in quotes"
        raise RubricError(f"{path.rstrip('`') or 'the rubric'}: {problem}") from e

    # What could be converted has this shape.
    table = cast(dict[str, Any], data)
    _refuse_unknown_fields("the rubric", table, Rubric)
    for key, model in (("signals", SignalSpec), ("bands", ScoreBand)):
        for index, item in enumerate(table[key]):
            _refuse_unknown_fields(f"{key}[{index}]", item, model)
    return rubric


def _refuse_unknown_fields(
    where: str, table: Iterable[object], model: type[Any]
) -> None:
    """Raise a RubricError if a mapping has other keys than a class has fields."""
    known = [field.name for field in fields(model)]
    for key in table:
        if key not in known:
            raise RubricError(
                f"{where} has an unknown field {key!r}; known: {', '.join(known)}"
            )
