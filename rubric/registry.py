"""The released rubrics, each a YAML file in ``rubric/versions/``, and a user's own files."""

import os
from collections.abc import Callable, Iterable
from dataclasses import MISSING, Field, fields
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

from .datafiles import (
    RUBRIC_VERSION,
    RubricError,
    is_rubric_file,
    read_data,
    read_released,
)
from .model import Rubric, ScoreBand, SignalSpec

VERSIONS_DIR = Path(__file__).parent / "versions"

_Table: TypeAlias = dict[str, Any]
"""A mapping of a rubric file."""

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
    top = _mapping(data, "the rubric", [*_single_fields(Rubric), "signals", "bands"])
    signals = _items(top, "signals", SignalSpec)
    bands = _items(top, "bands", ScoreBand)
    return Rubric(
        signals=tuple(SignalSpec(**spec) for spec in signals),
        bands=tuple(ScoreBand(**band) for band in bands),
        **_values(top, "the rubric", Rubric),
    )


_KINDS = {str: "text; put it in quotes", float: "a number", bool: "true or false"}


def _single_fields(model: type[Any]) -> dict[str, Field[Any]]:
    """Return the fields of a class that hold text, a number, or true or false."""
    return {field.name: field for field in fields(model) if _kind_of(field) in _KINDS}


def _kind_of(field: Field[Any]) -> Any:
    """Return the type of a field, which is text for a new type such as SignalID."""
    return getattr(field.type, "__supertype__", field.type)


def _mapping(data: object, where: str, allowed: Iterable[str]) -> _Table:
    """Return plain data that is a mapping with no other keys than ``allowed``.

    Raises:
        RubricError: it is something else; the text begins with ``where``.
    """
    if not isinstance(data, dict):
        raise RubricError(f"{where} is not a mapping")

    for key in data:
        if key not in allowed:
            raise RubricError(
                f"{where} has an unknown field {key!r}; known: {', '.join(allowed)}"
            )
    return data


def _items(top: _Table, key: str, model: type[Any]) -> list[_Table]:
    """Return the field values of each item of the list under a key, none where it is missing.

    Args:
        top: the rubric as plain data.
        key: the key of the list.
        model: the class of an item.

    Raises:
        RubricError: the value of the key is not a list, an item is not a mapping, or a field is
            unknown or wrong.
    """
    items = top.get(key) or []
    if not isinstance(items, list):
        raise RubricError(f"{key} is not a list")

    # Unknown fields of any item come before wrong values.
    allowed = _single_fields(model)
    mappings = [_mapping(item, f"{key}[{n}]", allowed) for n, item in enumerate(items)]
    return [
        _values(mapping, f"{key}[{n}]", model) for n, mapping in enumerate(mappings)
    ]


def _values(mapping: _Table, where: str, model: type[Any]) -> _Table:
    """Return the single fields of a class from a mapping, with defaults for those that it lacks.

    Text without a default is "" where it is missing; any other field without a default must be
    there.

    Args:
        mapping: the mapping.
        where: what errors call the mapping.
        model: the class.

    Raises:
        RubricError: a value is missing, not of its kind, or too large a number.
    """
    values = {}
    for name, field in _single_fields(model).items():
        kind = _kind_of(field)
        default = field.default
        if default is MISSING:
            default = "" if kind is str else None

        value = mapping.get(name, default)
        # True and False are integers for Python.
        is_number = type(value) in (int, float)
        if not (is_number if kind is float else isinstance(value, kind)):
            raise RubricError(f"{where}.{name} is {value!r}, not {_KINDS[kind]}")
        try:
            values[name] = kind(value)
        except OverflowError as e:
            raise RubricError(f"{where}.{name} is too large a number") from e
    return values
