"""Settings: where a command takes what its options do not say (``docs/GUIDE.md``, "Settings").

The command line wins, then ``DA_SCORE_*`` variables, ``.agents/da-score.toml``, ``[tool.da-score]`` in
``pyproject.toml``. Paths in a file are relative to the repository, others to the current directory.
"""

import glob
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rubric import is_rubric_file
from scoring.errors import InputError, OptionError, SettingsError
from scoring.files import is_inside, read_file
from scoring.log.setting_rows import COUNT, FOLDERS, PATH, RUBRIC, SETTINGS
from scoring.log.setting_rows import DEFAULT_LOG_DIR as DEFAULT_LOG_DIR
from scoring.log.setting_rows import Settings as Settings
from scoring.log.setting_rows import days_of as days_of
from scoring.settings_table import FLAG, Kind, ListOf, checked_table, read_toml

SETTINGS_FILE = Path(".agents/da-score.toml")
PYPROJECT_FILE = Path("pyproject.toml")
PYPROJECT_TABLE = "da-score"
ENVIRONMENT_PREFIX = "DA_SCORE_"
_VARIABLES = f"the variables {ENVIRONMENT_PREFIX}*"
_COMMAND_LINE = "the command line"
_ATTRIBUTES = dict(zip(SETTINGS, Settings.__struct_fields__, strict=True))
_FLAGS = dict.fromkeys(("1", "true", "yes", "on"), True) | dict.fromkeys(
    ("0", "false", "no", "off"), False
)


def resolve_settings(
    options: Mapping[str, Any], environment: Mapping[str, str] | None = None, files: bool = True
) -> Settings:
    """Return the settings for command-line options, by long name; None and () mean not given.

    Without ``files`` those of the repository are not read. OptionError for a wrong option, SettingsError for a
    wrong file or variable, or where the repository itself leads to a log outside of it.
    """
    given = {
        key: value
        for key, value in options.items()
        if value is not None and value != () and key in SETTINGS
    }
    for key, value in given.items():
        kind = SETTINGS[key].kind
        if isinstance(kind, Kind) and not kind.fits(value):
            raise OptionError(f"--{key}: {value!r} is not {kind.name}")
    variables = _from_environment(os.environ if environment is None else environment)
    named = (variables | given).get("repo-dir")
    repository = Path(named) if named is not None else _repository_around(Path())
    shared = [
        (where, _checked(table, repository, where))
        for where, table in (tables_of(repository) if files else ())
    ]
    settings: dict[str, Any] = {
        "iter-log-dir": repository / DEFAULT_LOG_DIR,
        "repo-dir": str(repository),
    }
    for where, layer in (*shared, (_VARIABLES, variables), (_COMMAND_LINE, given)):
        _lay_over(settings, layer, where)
    if "iter-log-dir" not in variables | given and not is_inside(
        log := settings["iter-log-dir"], repository
    ):
        outside = (
            f"{log}: the log is outside of the repository, and only the repository itself says so"
        )
        raise SettingsError(
            f"{outside}; if that is meant, name it with --iter-log-dir or an environment variable"
        )
    return Settings(**{_ATTRIBUTES[key]: _typed(key, value) for key, value in settings.items()})


def set_by(options: Mapping[str, Any], repository: Path, files: bool = True) -> list[str]:
    """Return what sets something, from the weakest on: files, which are named and not quoted, variables, options."""
    places = [
        where.partition(": [")[0]
        for where, table in (tables_of(repository) if files else ())
        if table
    ]
    variables = [
        ENVIRONMENT_PREFIX + key.upper().replace("-", "_") for key in _from_environment(os.environ)
    ]
    return [
        *places,
        *variables,
        *(f"--{key}" for key, value in options.items() if value not in (None, ())),
    ]


def cache_dir_of(settings: Settings) -> Path | None:
    """Return where the cache is; None when there is to be none."""
    if settings.no_cache:
        return None
    if settings.cache_dir:
        return settings.cache_dir
    from platformdirs import (
        user_cache_path,
    )  # a cache directory that is named needs no look for one

    return user_cache_path("da-score", appauthor=False)


def _repository_around(folder: Path) -> Path:
    """Return the nearest folder upwards in the work tree with a log or settings, or its top, as a path from here."""
    start = Path(os.path.abspath(folder))
    found = None
    for here in (start, *start.parents):
        if found is None and (
            (here / DEFAULT_LOG_DIR).is_dir() or (here / SETTINGS_FILE).is_file()
        ):
            found = here
        if os.path.lexists(here / ".git"):
            found = found or here
            return folder if found == start else Path(os.path.relpath(found, start))
    return folder


def _lay_over(settings: dict[str, Any], layer: dict[str, Any], where: str) -> None:
    """Let a stronger source win; ``transcripts`` and folders of them say the same thing, so one drops the other."""
    if layer.get("transcripts") == "none" and layer.get("transcript-dir"):
        wrong = OptionError if where == _COMMAND_LINE else SettingsError
        raise wrong(
            f"{where}: transcripts is none and transcript-dir names folders; give one of them"
        )
    if "transcripts" in layer or "transcript-dir" in layer:
        settings.pop("transcripts", None)
        settings.pop("transcript-dir", None)
    settings.update(layer)


def _typed(key: str, value: Any) -> Any:
    setting = SETTINGS[key]
    if setting.item is PATH:
        return setting.each(value, Path)
    if setting.item is FOLDERS:
        return setting.each(value, lambda one: _glob(Path(), one, f"--{key}"))
    return value if setting.kind in (FLAG, COUNT) else setting.each(value, str)


def _from_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, setting in SETTINGS.items():
        name = ENVIRONMENT_PREFIX + key.upper().replace("-", "_")
        text, kind = environment.get(name, ""), setting.kind
        value: Any = text
        if not text:
            continue
        if isinstance(kind, ListOf):
            value = tuple(item for item in text.split(setting.separator) if item.strip())
        elif kind == FLAG:
            value = _FLAGS.get(text.lower(), text)
        elif kind == COUNT and text.isascii() and text.isdigit() and len(text) < 10:
            value = int(text)
        if isinstance(kind, Kind) and not kind.fits(value):
            raise SettingsError(
                f"{name}: {text!r} is not {kind.name}{'; use 1 or 0' if kind == FLAG else ''}"
            )
        found[key] = value
    return found


def tables_of(repository: Path, name: str = "") -> list[tuple[str, Any]]:
    """Return a repository's settings, or one table of them, with their places, what wins last; SettingsError."""
    own_file, project_file = repository / SETTINGS_FILE, repository / PYPROJECT_FILE
    own = _toml(own_file, repository)
    tools = _toml(project_file, repository, only_if=PYPROJECT_TABLE).get("tool", {})
    shared = tools.get(PYPROJECT_TABLE, {}) if isinstance(tools, dict) else {}
    if not name:
        return [(f"{project_file}: [tool.{PYPROJECT_TABLE}]", shared), (str(own_file), own)]
    tables = (
        (f"{project_file}: [tool.{PYPROJECT_TABLE}.{name}]", shared),
        (f"{own_file}: [{name}]", own),
    )
    return [
        (where, table[name]) for where, table in tables if isinstance(table, dict) and name in table
    ]


def _toml(path: Path, repository: Path, only_if: str = "") -> dict[str, Any]:
    """Read a TOML file; empty when there is none, or when it does not speak of ``only_if``."""
    try:
        data = read_file(path, within=repository)
    except FileNotFoundError:
        return {}
    except InputError as e:
        raise SettingsError(f"{e}; settings are a readable TOML file") from e
    if only_if.encode() not in data:
        return {}
    try:
        return read_toml(data.decode("utf-8"))
    except (ValueError, RecursionError) as e:
        raise SettingsError(f"{path}: not TOML: {e}") from e


def _place(repository: Path, path: str, where: str) -> Path:
    try:
        return repository / Path(path).expanduser()
    except RuntimeError as e:  # the user that ~ names has no home
        raise SettingsError(f"{where}: {path!r}: {e}") from e


def _glob(base: Path, text: str, where: str) -> str:
    """Return a glob of folders as it is compared: below a folder, where it is relative and begins with no wildcard."""
    if text[:1] in ("*", "?", "["):
        return text
    if text.startswith("~"):
        head, slash, rest = text.partition("/")
        return glob.escape(str(_place(base, head, where))) + slash + rest
    return (
        text
        if os.path.isabs(text)
        else os.path.normpath(os.path.join(glob.escape(os.path.abspath(base)), text))
    )


def _checked(table: Any, repository: Path, where: str) -> dict[str, Any]:
    personal = [key for key, setting in SETTINGS.items() if setting.personal]
    for key in personal if isinstance(table, dict) else ():
        if key in table:
            raise SettingsError(
                f"{where}: {key} cannot be set by a repository; use --{key} or an environment variable"
            )
    kinds = {key: setting.kind for key, setting in SETTINGS.items() if not setting.personal}
    found = checked_table(
        table, kinds, where, elsewhere={"dr"}
    )  # a command that takes that table checks it
    for key, value in found.items():
        setting = SETTINGS[key]
        if setting.item is PATH or (setting.item is RUBRIC and is_rubric_file(value)):
            found[key] = setting.each(value, lambda path: _place(repository, path, where))
        elif setting.item is FOLDERS:
            found[key] = setting.each(value, lambda text: _glob(repository, text, where))
    return found
