"""The released rubrics, each a YAML file in ``rubric/versions/``, and the reader of these and of a user's own files."""

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, fields
from functools import cache
from pathlib import Path
from typing import Any

from rubric.datafiles import RUBRIC_VERSION, RubricError, is_rubric_file, read_data, read_released
from rubric.model import Rubric, ScoreBand, SignalSpec

VERSIONS_DIR = Path(__file__).parent / "versions"

REMOVED_VERSIONS = {"2.3.0": "3.1.0"}
"""Versions that were taken out before a release, and what to name instead."""


def rubric_versions() -> list[str]:
    """List the released versions, oldest first."""
    return sorted(
        (p.stem for p in VERSIONS_DIR.glob("*.yaml")), key=lambda v: [int(n) for n in v.split(".")]
    )


def newest_version(evidence: str) -> str:
    """Return the newest released version that reads evidence under some rules; RubricError where none does."""
    for version in reversed(rubric_versions()):
        if released_rubric(version).evidence == evidence:
            return version
    raise RubricError(f"no released rubric reads evidence under the rules {evidence!r}")


def default_rubric() -> Rubric:
    """Return the rubric of :data:`RUBRIC_VERSION`."""
    return released_rubric(RUBRIC_VERSION)


@cache
def released_rubric(version: str) -> Rubric:
    """Return a released rubric; RubricError where no release has that version."""
    if version in REMOVED_VERSIONS:
        raise RubricError(f"rubric {version} was removed; use {REMOVED_VERSIONS[version]}")
    if version not in rubric_versions():
        raise RubricError(
            f"rubric {version!r} is not released; released: {', '.join(rubric_versions())}"
        )
    return _valid(VERSIONS_DIR / f"{version}.yaml", read_released)


def find_rubric(name: str) -> Rubric:
    """Return the rubric a user means, a released version or a valid file's path; RubricError where it is neither."""
    if is_rubric_file(name):
        return load_rubric(Path(name))
    try:
        return released_rubric(name)
    except RubricError as e:
        if os.path.isfile(name):
            raise RubricError(f"{e}; the file of that name is ./{name}") from e
        raise


def rubric_behind(version: str, otherwise: str) -> Rubric:
    """Return the released rubric that a score has the version of, else the one named ``otherwise``; RubricError."""
    return released_rubric(version) if version in rubric_versions() else find_rubric(otherwise)


def load_rubric(path: Path) -> Rubric:
    """Read and validate a rubric file; RubricError names the file and the field at fault."""
    return _valid(path, read_data)


def _valid(path: Path, read: Callable[[Path], object]) -> Rubric:
    try:
        rubric = parse_rubric(read(path))
        rubric.validate()
    except RubricError as e:
        raise RubricError(f"{path}: {e}") from e
    return rubric


def parse_rubric(data: object) -> Rubric:
    """Build a rubric from plain data, its invariants unchecked; RubricError names a missing, unknown or wrong field."""
    top = _fields(data, "the rubric", (*_RUBRIC, "signals", "bands"))
    signals = tuple(SignalSpec(**spec) for spec in _items(top, "signals", _SIGNAL))
    bands = tuple(ScoreBand(**band) for band in _items(top, "bands", _BAND))
    return Rubric(signals=signals, bands=bands, **_values(top, "the rubric", _RUBRIC))


_KINDS = {str: "text; put it in quotes", float: "a number", bool: "true or false"}


def _kinds(model: type[Any]) -> dict[str, tuple[type, Any]]:
    """Return the single values of a class, each with its kind and what a file that leaves it out has."""
    kinds = {field: getattr(field.type, "__supertype__", field.type) for field in fields(model)}
    return {
        field.name: (
            kind,
            ("" if kind is str else None) if field.default is MISSING else field.default,
        )
        for field, kind in kinds.items()
        if kind in _KINDS
    }


_RUBRIC, _SIGNAL, _BAND = map(_kinds, (Rubric, SignalSpec, ScoreBand))


def _fields(data: object, where: str, allowed: Iterable[str]) -> dict[str, Any]:
    if not isinstance(data, dict):
        raise RubricError(f"{where} is not a mapping")
    for key in data:
        if key not in allowed:
            raise RubricError(f"{where} has an unknown field {key!r}; known: {', '.join(allowed)}")
    return data


def _items(
    top: dict[str, Any], key: str, kinds: Mapping[str, tuple[type, Any]]
) -> list[dict[str, Any]]:
    items = top.get(key) or []
    if not isinstance(items, list):
        raise RubricError(f"{key} is not a list")
    given = [_fields(item, f"{key}[{n}]", kinds) for n, item in enumerate(items)]
    return [_values(one, f"{key}[{n}]", kinds) for n, one in enumerate(given)]


def _values(
    given: dict[str, Any], where: str, kinds: Mapping[str, tuple[type, Any]]
) -> dict[str, Any]:
    found = {}
    for key, (kind, default) in kinds.items():
        value = given.get(key, default)
        if not (type(value) in (int, float) if kind is float else isinstance(value, kind)):
            raise RubricError(f"{where}.{key} is {value!r}, not {_KINDS[kind]}")
        try:
            found[key] = kind(value)
        except OverflowError as e:
            raise RubricError(f"{where}.{key} is too large a number") from e
    return found
