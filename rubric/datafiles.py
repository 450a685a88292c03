"""The data files of rubrics and of profiles, by which meters go where they vote; a released one never changes.

A released YAML file is read from the JSON beside it where that has its checksum, for a YAML reader takes long to load.
"""

from functools import cache
from pathlib import Path
from zlib import crc32

PROFILES_DIR = Path(__file__).parent / "profiles"

RUBRIC_VERSION = "2.1.0"  # the version that scores when the user names no other

SIZE_LIMIT = 128 << 10  # the largest rubric, in bytes; the longest that was released has 10 KiB

_DEPTH_LIMIT = 8


class DaScoreError(Exception):
    """The root of every error da-score raises on purpose: one line that says what, where and what to do."""


class RubricError(DaScoreError, ValueError):
    """A rubric that cannot be read or breaks an invariant."""


def profile_names() -> list[str]:
    """List the released profiles by name."""
    return sorted(path.stem for path in PROFILES_DIR.glob("*.yaml"))


@cache
def released_profile(name: str) -> dict[str, object]:
    """Return a released profile as plain data, always the same object; RubricError where there is none."""
    if name not in profile_names():
        raise RubricError(
            f"profile {name!r} is not released; released: {', '.join(profile_names())}"
        )
    data = read_released(PROFILES_DIR / f"{name}.yaml")
    if not isinstance(data, dict):
        raise RubricError(f"profile {name!r} is not a mapping")
    return data


def read_released(path: Path) -> object:
    """Return the plain data of a released YAML file; raises as :func:`read_data`."""
    import json  # a command that only names a rubric reads none

    try:
        kept = json.loads(path.with_suffix(".json").read_bytes())
        if kept["checksum"] == crc32(path.read_bytes()):
            data: object = kept["data"]
            return data
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        pass
    return read_data(path)


def as_json(path: Path) -> str:
    """Return what the file beside a released YAML file is to hold."""
    import json

    content = {"checksum": crc32(path.read_bytes()), "data": read_data(path)}
    return json.dumps(content, ensure_ascii=False, separators=(",", ":")) + "\n"


def read_data(path: Path) -> object:
    """Return the plain data of a YAML file; RubricError where it cannot be read, or is not plain YAML."""
    try:
        if not path.is_file():
            raise RubricError("no such rubric file")
        if path.stat().st_size > SIZE_LIMIT:
            raise RubricError("larger than 128 KiB; this is no rubric")
        return _plain_data(path.read_text("utf-8"))
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
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(
                event, yaml.CollectionEndEvent
            )
            if depth > _DEPTH_LIMIT:
                raise RubricError("not YAML that a rubric may use: it is nested too deep")
        return yaml.load(text, Loader=yaml.CSafeLoader)
    except RubricError:
        raise
    except (yaml.YAMLError, ValueError) as e:
        raise RubricError(f"not YAML: {' '.join(str(e).split())}") from e


def is_rubric_file(name: str) -> bool:
    """Return whether a name that a user gives means a rubric file, and not a released version."""
    return name.endswith((".yaml", ".yml", ".json")) or "/" in name
