"""The released rubrics, and the reader of rubric files.

A released rubric is a YAML file in ``rubric/versions/``, named by its version; a new one is one more file. The same
reader takes a user's own file.
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from rubric.errors import RubricError
from rubric.model import EVIDENCE_REFERENCE, CombinationMethod, Rubric, ScoreBand, SignalID, SignalSpec

RUBRIC_VERSION = "2.1.0"
"""The version that scores when nobody names another."""

VERSIONS_DIR = Path(__file__).parent / "versions"

_SIZE_LIMIT = 1 << 20
_DEPTH_LIMIT = 8


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
    """Return by which rules a rubric's evidence is read, as :func:`find_rubric` would say, mostly without loading it.

    What is to read long files begins with them before it reads the rubric; so a rubric that does not speak of evidence
    is looked through and no more.

    Raises:
        RubricError: as :func:`find_rubric`, when the rubric had to be loaded.
    """
    path = Path(name) if is_rubric_file(name) else VERSIONS_DIR / f"{name}.yaml"
    try:
        speaks_of_it = path.is_file() and path.stat().st_size <= _SIZE_LIMIT and b"evidence" in path.read_bytes()
    except (OSError, ValueError):
        speaks_of_it = False
    return find_rubric(name).evidence if speaks_of_it else EVIDENCE_REFERENCE


def is_rubric_file(name: str) -> bool:
    """Tell whether a name that a user gives means a rubric file, and not a released version."""
    return name.endswith((".yaml", ".yml", ".json")) or "/" in name


def load_rubric(path: Path) -> Rubric:
    """Read and validate a rubric file.

    Raises:
        RubricError: naming the file and the field at fault.
    """
    try:
        rubric = parse_rubric(_plain_data(_read_text(path)))
        rubric.validate()
    except RubricError as e:
        raise RubricError(f"{path}: {e}") from e
    return rubric


def _read_text(path: Path) -> str:
    try:
        if not path.is_file():
            raise RubricError("no such rubric file")
        if path.stat().st_size > _SIZE_LIMIT:
            raise RubricError("larger than 1 MiB; this is no rubric")
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as e:
        raise RubricError(f"cannot read the rubric: {getattr(e, 'strerror', None) or e}") from e


def _plain_data(text: str) -> object:
    """Read YAML that needs no tags, no aliases and no depth: what does would crash or stall the loader."""
    import yaml  # released rubrics alone need no YAML until one is asked for

    depth = 0
    try:
        for event in yaml.parse(text, Loader=yaml.CSafeLoader):
            if isinstance(event, yaml.AliasEvent) or getattr(event, "tag", None):
                raise RubricError("not YAML that a rubric may use: it has an alias or a tag")
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > _DEPTH_LIMIT:
                raise RubricError("not YAML that a rubric may use: it is nested too deep")
        return yaml.load(text, Loader=yaml.CSafeLoader)
    except RubricError:
        raise
    except (yaml.YAMLError, ValueError) as e:
        raise RubricError(f"not YAML: {' '.join(str(e).split())}") from e


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
        )
        for where, s in _items(top, "signals", ("id", "label", "weight", "description", "two_way"))
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
