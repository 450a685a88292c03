"""The released rubrics, each a YAML file in ``rubric/versions/``, and a user's own files."""

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, fields
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from rubric.datafiles import RUBRIC_VERSION, RubricError, is_rubric_file, read_data, read_released
from rubric.model import Rubric, ScoreBand, SignalSpec

VERSIONS_DIR = Path(__file__).parent / "versions"

REMOVED_VERSIONS = {"2.3.0": "3.1.0"}
"""Versions that were taken out before a release, and what to name instead."""


def rubric_versions() -> list[str]:
    """List the released versions, oldest first."""
    versions = [path.stem for path in VERSIONS_DIR.glob("*.yaml")]
    return sorted(versions, key=_numbers)


def _numbers(version: str) -> list[int]:
    return list(map(int, version.split(".")))


def newest_version(evidence: str) -> str:
    """Return the newest released version that reads evidence under some rules.

    Raises:
        RubricError: no released version does.
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
        raise RubricError(f"rubric {version} was removed; use {REMOVED_VERSIONS[version]}")
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
    """Return the released rubric of a score's version, else the one named ``otherwise``.

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
    top = _mapping(data, "the rubric", [*_RUBRIC_FIELDS, "signals", "bands"])
    signals = _items(top, "signals", _SIGNAL_FIELDS)
    bands = _items(top, "bands", _BAND_FIELDS)
    return Rubric(
        signals=tuple(SignalSpec(**spec) for spec in signals),
        bands=tuple(ScoreBand(**band) for band in bands),
        **_values(top, "the rubric", _RUBRIC_FIELDS),
    )


class _Field(NamedTuple):
    """A field that holds a single value.

    Attributes:
        kind: the type of the value.
        default: what a file that leaves it out has; None where it must not.
    """

    kind: type
    default: Any


_Fields = Mapping[str, _Field]

_KINDS = {str: "text; put it in quotes", float: "a number", bool: "true or false"}


def _single_fields(model: type[Any]) -> _Fields:
    """Return the fields of a class that hold text, a number, or true or false."""
    single: dict[str, _Field] = {}
    for field in fields(model):
        # A new type such as SignalID is text.
        kind = getattr(field.type, "__supertype__", field.type)
        if kind not in _KINDS:
            continue

        default = field.default
        if default is MISSING:
            default = "" if kind is str else None
        single[field.name] = _Field(kind, default)
    return single


_RUBRIC_FIELDS = _single_fields(Rubric)
_SIGNAL_FIELDS = _single_fields(SignalSpec)
_BAND_FIELDS = _single_fields(ScoreBand)


def _mapping(data: object, where: str, allowed: Iterable[str]) -> dict[str, Any]:
    if not isinstance(data, dict):
        raise RubricError(f"{where} is not a mapping")

    for key in data:
        if key not in allowed:
            raise RubricError(f"{where} has an unknown field {key!r}; known: {', '.join(allowed)}")
    return data


def _items(top: dict[str, Any], key: str, allowed: _Fields) -> list[dict[str, Any]]:
    items = top.get(key) or []
    if not isinstance(items, list):
        raise RubricError(f"{key} is not a list")

    # Unknown fields of any item come before wrong values.
    mappings = [_mapping(item, f"{key}[{n}]", allowed) for n, item in enumerate(items)]
    return [_values(mapping, f"{key}[{n}]", allowed) for n, mapping in enumerate(mappings)]


def _values(mapping: dict[str, Any], where: str, wanted: _Fields) -> dict[str, Any]:
    values = {}
    for name, field in wanted.items():
        value = mapping.get(name, field.default)
        # True and False are integers for Python.
        is_number = type(value) in (int, float)
        if not (is_number if field.kind is float else isinstance(value, field.kind)):
            raise RubricError(f"{where}.{name} is {value!r}, not {_KINDS[field.kind]}")
        try:
            values[name] = field.kind(value)
        except OverflowError as e:
            raise RubricError(f"{where}.{name} is too large a number") from e
    return values
