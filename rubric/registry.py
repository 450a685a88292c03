"""The released rubrics, and the reader of rubric files.

A released rubric is a YAML file in ``rubric/versions/``, named by its version; a new one is one more file. The same
reader takes a user's own file.
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from rubric.datafiles import SIZE_LIMIT, read_data
from rubric.errors import RubricError
from rubric.model import EVIDENCE_REFERENCE, CombinationMethod, Rubric, ScoreBand, SignalID, SignalSpec

RUBRIC_VERSION = "2.1.0"
"""The version that scores when nobody names another."""

VERSIONS_DIR = Path(__file__).parent / "versions"


def rubric_versions() -> list[str]:
    """List the released versions, oldest first."""
    return sorted((p.stem for p in VERSIONS_DIR.glob("*.yaml")), key=lambda v: [int(n) for n in v.split(".")])


def default_rubric() -> Rubric:
    """Return the rubric of :data:`RUBRIC_VERSION`."""
    return released_rubric(RUBRIC_VERSION)


@cache
def released_rubric(version: str) -> Rubric:
    """Return a released rubric.

    Raises:
        RubricError: when no release has that version.
    """
    if version not in rubric_versions():
        raise RubricError(f"rubric {version!r} is not released; released: {', '.join(rubric_versions())}")
    return load_rubric(VERSIONS_DIR / f"{version}.yaml")


def find_rubric(name: str) -> Rubric:
    """Return the rubric a user means: a released version, or the path of a rubric file.

    Raises:
        RubricError: when it is neither, or the file is no valid rubric.
    """
    return load_rubric(Path(name)) if is_rubric_file(name) else released_rubric(name)


def evidence_of(name: str) -> str:
    """Return under which rules a rubric's evidence is read, as :func:`find_rubric` would, mostly without loading it.

    What reads long files begins with them before it reads the rubric; so a rubric file that does not have the word
    evidence is not parsed for it.

    Raises:
        RubricError: as :func:`find_rubric`, when the rubric had to be loaded.
    """
    path = Path(name) if is_rubric_file(name) else VERSIONS_DIR / f"{name}.yaml"
    try:
        names_it = path.is_file() and path.stat().st_size <= SIZE_LIMIT and b"evidence" in path.read_bytes()
    except (OSError, ValueError):
        names_it = False
    return find_rubric(name).evidence if names_it else EVIDENCE_REFERENCE


def is_rubric_file(name: str) -> bool:
    """Return whether a name that a user gives means a rubric file, and not a released version."""
    return name.endswith((".yaml", ".yml", ".json")) or "/" in name


def load_rubric(path: Path) -> Rubric:
    """Read and validate a rubric file.

    Raises:
        RubricError: naming the file and the field at fault.
    """
    try:
        rubric = parse_rubric(read_data(path))
        rubric.validate()
    except RubricError as e:
        raise RubricError(f"{path}: {e}") from e
    return rubric


def parse_rubric(data: object) -> Rubric:
    """Build a rubric from plain data (the content of a rubric file), without checking its invariants.

    Raises:
        RubricError: naming a field that is missing, unknown, or of the wrong kind.
    """
    top = _fields(data, "the rubric", ("version", "combination", "evidence", "signals", "bands"))
    signals = tuple(
        SignalSpec(
            SignalID(_text(s, "id", where)),
            _text(s, "label", where),
            _number(s, "weight", where),
            _text(s, "description", where),
            _flag(s, "two_way", where),
            _text(s, "profile", where),
        )
        for where, s in _items(top, "signals", ("id", "label", "weight", "description", "two_way", "profile"))
    )
    bands = tuple(
        ScoreBand(_text(b, "name", where), _number(b, "min", where))
        for where, b in _items(top, "bands", ("name", "min"))
    )
    return Rubric(
        _text(top, "version", "the rubric"),
        CombinationMethod(_text(top, "combination", "the rubric")),
        signals,
        bands,
        _text(top, "evidence", "the rubric") if "evidence" in top else EVIDENCE_REFERENCE,
    )


def _fields(data: object, where: str, allowed: tuple[str, ...]) -> Mapping[str, Any]:
    if not isinstance(data, dict):
        raise RubricError(f"{where} is not a mapping")
    for key in data:
        if key not in allowed:
            raise RubricError(f"{where} has an unknown field {key!r}; known: {', '.join(allowed)}")
    return data


def _items(top: Mapping[str, Any], key: str, allowed: tuple[str, ...]) -> list[tuple[str, Mapping[str, Any]]]:
    items = top.get(key) or []
    if not isinstance(items, list):
        raise RubricError(f"{key} is not a list")
    return [(f"{key}[{n}]", _fields(item, f"{key}[{n}]", allowed)) for n, item in enumerate(items)]


def _text(fields: Mapping[str, Any], key: str, where: str) -> str:
    value = fields.get(key, "")
    if not isinstance(value, str):
        raise RubricError(f"{where}.{key} is {value!r}, not text; put it in quotes")
    return value


def _number(fields: Mapping[str, Any], key: str, where: str) -> float:
    value = fields.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise RubricError(f"{where}.{key} is {value!r}, not a number")
    try:
        return float(value)
    except OverflowError as e:
        raise RubricError(f"{where}.{key} is too large a number") from e


def _flag(fields: Mapping[str, Any], key: str, where: str) -> bool:
    value = fields.get(key, False)
    if not isinstance(value, bool):
        raise RubricError(f"{where}.{key} is {value!r}, not true or false")
    return value
