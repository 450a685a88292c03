"""Reads a configuration file, TOML, JSON or YAML by its name, into plain values; the one way that the meters have."""

import tomllib
from pathlib import Path
from typing import Any

from scoring.errors import InputError
from scoring.files import read_file
from scoring.meters.faults import unreadable
from scoring.meters.strictjson import decode, read_json

SUFFIXES = (".toml", ".json", ".yaml", ".yml")
SIZE_LIMIT = 1 << 20
"""The largest configuration file, in bytes."""


def read_config(path: Path | str) -> dict[str, Any]:
    """Return what a configuration file says.

    Raises:
        InputError: there is no such file, its name does not say what it is, or it is not that, gives a key twice, holds
            a number without a value, or is no mapping.
    """
    path = Path(path)
    kind = path.suffix.lower()
    if kind not in SUFFIXES:
        raise InputError(f"{path}: name the file {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]} after what is in it")
    try:
        value = _value(read_file(path, SIZE_LIMIT), kind, str(path))
    except FileNotFoundError as e:
        raise InputError(f"{path}: no such file") from e
    for field, reason in unreadable(value):
        raise InputError(f"{path}: {field}: {reason}")
    if not isinstance(value, dict):
        raise InputError(f"{path}: not a table of settings")
    return value


def _value(data: bytes, kind: str, source: str) -> Any:
    if kind == ".json":
        return read_json(decode(data, source), source)
    if kind == ".toml":
        try:
            return tomllib.loads(decode(data, source))
        except InputError:
            raise
        except (ValueError, RecursionError) as e:
            raise InputError(f"{source}: not TOML: {e}") from e
    from scoring.meters.yamldata import read_yaml  # other formats do not pay for it

    return read_yaml(data, source)
