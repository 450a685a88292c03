"""Reads a configuration file, TOML, JSON or YAML by its name, into plain values."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from scoring.errors import InputError, SettingsError
from scoring.evidence.files import read_file

SIZE_LIMIT = 1 << 20
"""The largest configuration file, in bytes."""

_MAX_DEPTH = 20


def read_config(path: Path | str) -> dict[str, Any]:
    """Return what a configuration file says.

    Raises:
        SettingsError: there is no such file, its name does not say what it is, or it is not that, or not a mapping.
    """
    path = Path(path)
    load = _LOADERS.get(path.suffix.lower())
    if load is None:
        raise SettingsError(f"{path}: name the file .toml, .json, .yaml or .yml after what is in it")
    kind = load.__name__.removeprefix("_").upper()
    try:
        value = load(read_file(path, SIZE_LIMIT).decode("utf-8-sig"))
    except FileNotFoundError as e:
        raise SettingsError(f"{path}: no such file") from e
    except InputError as e:
        raise SettingsError(f"{e}; settings are a readable file") from e
    except RecursionError as e:
        raise SettingsError(f"{path}: not {kind}: nested too deep") from e
    except ValueError as e:
        raise SettingsError(f"{path}: not {kind}: {' '.join(str(e).split())}") from e
    if not isinstance(value, dict):
        raise SettingsError(f"{path}: not a table of settings")
    return value


def _toml(text: str) -> Any:
    import tomllib

    return tomllib.loads(text)


def _json(text: str) -> Any:
    return json.loads(text)


def _yaml(text: str) -> Any:
    import yaml

    depth = 0
    try:
        for event in yaml.parse(text, Loader=yaml.CSafeLoader):
            if isinstance(event, yaml.AliasEvent) or getattr(event, "tag", None):
                raise ValueError("aliases and tags have no place in settings")
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > _MAX_DEPTH:
                raise ValueError(f"nested more than {_MAX_DEPTH} deep")
        return yaml.load(text, Loader=yaml.CSafeLoader)
    except yaml.YAMLError as e:
        raise ValueError(e) from e


_LOADERS: dict[str, Callable[[str], Any]] = {".toml": _toml, ".json": _json, ".yaml": _yaml, ".yml": _yaml}
