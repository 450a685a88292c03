"""Settings: where a command takes what its options do not say.

The first place that sets a key wins: the command line, ``DA_SCORE_*`` variables, ``.agents/da-score.toml`` in the
repository, ``[tool.da-score]`` in its ``pyproject.toml`` (``docs/COMMANDS.md``, "Settings"). Keys are the long
options. Paths in a file are relative to the repository, and so is the default log; paths in variables and options are
relative to the current directory.
"""

import glob
import math
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rubric import RUBRIC_VERSION, is_rubric_file
from scoring.errors import InputError, OptionError, SettingsError
from scoring.files import is_inside, read_file
from scoring.frozen import Frozen
from scoring.settings_table import FLAG, TEXT, Kind, Kinds, ListOf, checked_table, is_text, is_whole, read_toml

DEFAULT_LOG_DIR = Path(".agents/active/iteration-log")
"""Where an iteration log is in its repository."""

PLANS_DIR, TASKS_NAME = ".agents/workflow/plans", "TASKS.yaml"
"""Where the plans of tasks are in it, and what each is called in a folder of its own."""

SETTINGS_FILE = Path(".agents/da-score.toml")
PYPROJECT_FILE = Path("pyproject.toml")
PYPROJECT_TABLE = "da-score"
ENVIRONMENT_PREFIX = "DA_SCORE_"
_VARIABLES = f"the variables {ENVIRONMENT_PREFIX}*"
_COMMAND_LINE = "the command line"


class Settings(Frozen, frozen=True):
    """What a command works on, from wherever it was set.

    ``transcripts`` is ``auto`` (the default transcript directories) or ``none``; without it the rubric's rules decide,
    and ``transcript_dirs`` count instead of ``auto``. ``trunk`` is the branch on which work lands; without it, it is
    found. ``worktrees`` are globs of folders, absolute or beginning with a wildcard, where work trees of the repository
    may have been; ``test_commands`` the beginnings of commands that run tests here. ``code_globs`` are the files whose
    lines count as code in outcomes, by default all known source files; ``fix_words`` the words of which the subject of
    a fix has one, and ``horizon`` how long work is watched (:func:`days_of`). ``derive`` is whether ``close-task``
    writes the entries that the session which ended lacks.
    """

    iter_log_dir: Path = DEFAULT_LOG_DIR
    repo_dir: Path = Path()
    transcript_dirs: tuple[Path, ...] = ()
    transcripts: str | None = None
    trunk: str | None = None
    worktrees: tuple[str, ...] = ()
    test_commands: tuple[str, ...] = ()
    code_globs: tuple[str, ...] = ()
    fix_words: tuple[str, ...] = ()
    horizon: str = "14d"
    rubric: str = RUBRIC_VERSION
    derive: bool = False
    json: bool = False
    cache_dir: Path | None = None
    no_cache: bool = False
    processes: int | None = None


TRANSCRIPTS = ("auto", "none")
"""What may be said of transcripts instead of naming folders."""

_PATH = Kind("a path", is_text)
_PATHS = ListOf("a list of paths", _PATH)
_WAY = Kind("auto or none", lambda value: value in TRANSCRIPTS)
_NAME = Kind("the name of a branch", lambda value: is_text(value) and value.strip() != "")
_GLOBS = ListOf(
    "a list of globs of folders", Kind("a glob of folders", lambda value: is_text(value) and value.strip() != "")
)
_COMMANDS = ListOf("a list of commands", Kind("a command", lambda value: is_text(value) and value.strip() != ""))
_FILES = ListOf(
    "a list of globs of files", Kind("a glob of files", lambda value: is_text(value) and value.strip() != "")
)
_WORDS = ListOf("a list of words", Kind("a word", lambda value: is_text(value) and value.strip() != ""))
_SPAN = re.compile(r"(\d{1,5}(?:\.\d{1,3})?)([hdw]?)", re.ASCII)
_SPAN_UNITS = {"h": 1 / 24, "": 1, "d": 1, "w": 7}


def days_of(text: object) -> float:
    """Return how many days a time such as ``14d``, ``2w`` or ``36h`` has, a bare number is in days; 0 of anything else.

    Whole days are an integer.
    """
    m = _SPAN.fullmatch(text.strip()) if isinstance(text, str) else None
    days = float(m[1]) * _SPAN_UNITS[m[2]] if m else 0.0
    return int(days) if days == int(days) else days


_TIME = Kind("a time above 0 such as 14d, 2w or 36h", lambda value: days_of(value) > 0)
_COUNT = Kind("a number above 0", lambda value: is_whole(value, 1, math.inf))
_KINDS: dict[str, Kind | ListOf] = {
    "iter-log-dir": _PATH,
    "repo-dir": _PATH,
    "transcript-dir": _PATHS,
    "transcripts": _WAY,
    "trunk": _NAME,
    "worktrees": _GLOBS,
    "test-commands": _COMMANDS,
    "code-globs": _FILES,
    "fix-words": _WORDS,
    "horizon": _TIME,
    "rubric": TEXT,
    "derive": FLAG,
    "json": FLAG,
    "cache-dir": _PATH,
    "no-cache": FLAG,
    "processes": _COUNT,
}
_SEPARATORS = {"test-commands": ";", "fix-words": ","}
"""What is between the items of a list in a variable, where it is not what is between paths."""

_FLAGS = dict.fromkeys(("1", "true", "yes", "on"), True) | dict.fromkeys(("0", "false", "no", "off"), False)
"""How a variable says true and false."""

_PERSONAL = {"cache-dir"}
"""What a repository must not choose: a cache is trusted, and a checkout is not."""

_TABLES = {"dr"}
"""Tables of a settings file that belong to one command, which reads them by :func:`tables_of`."""

_SHARED: Kinds = {key: kind for key, kind in _KINDS.items() if key not in _PERSONAL}
_ATTRIBUTES = {key: key.replace("-", "_") for key in _KINDS} | {"transcript-dir": "transcript_dirs"}


def resolve_settings(
    options: Mapping[str, Any],
    environment: Mapping[str, str] | None = None,
    files: bool = True,
) -> Settings:
    """Return the settings for some command-line options.

    Args:
        options: by long option name without dashes in front (``iter-log-dir``); None and () mean not given.
        environment: the variables to look at; those of the process by default.
        files: whether the repository's settings files are read.

    Raises:
        OptionError: an option is of the wrong kind.
        SettingsError: a file or variable sets something that is unknown or of the wrong kind, or the repository itself
            leads to a log that is outside of it.
    """
    given = {key: value for key, value in options.items() if value is not None and value != () and key in _KINDS}
    for key, value in given.items():
        kind = _KINDS[key]
        if kind in (_WAY, _NAME, _TIME) and not kind.fits(value):
            raise OptionError(f"--{key}: {value!r} is not {kind.name}")
    variables = _from_environment(os.environ if environment is None else environment)
    named = (variables | given).get("repo-dir")
    repository = Path(named) if named is not None else repository_around(Path())
    layers = [*(_from_files(repository) if files else ()), (_VARIABLES, variables), (_COMMAND_LINE, given)]
    settings: dict[str, Any] = {"iter-log-dir": repository / DEFAULT_LOG_DIR, "repo-dir": str(repository)}
    for where, layer in layers:
        _lay_over(settings, layer, where)
    if "iter-log-dir" not in variables | given and not is_inside(log := settings["iter-log-dir"], repository):
        whose = f"{log}: the log is outside of the repository, and only the repository itself says so"
        raise SettingsError(f"{whose}; if that is meant, name it with --iter-log-dir or an environment variable")
    return Settings(**{_ATTRIBUTES[key]: _typed(key, value) for key, value in settings.items()})


def cache_dir_of(settings: Settings) -> Path | None:
    """Return where the cache is; None when there is to be none."""
    if settings.no_cache:
        return None
    if settings.cache_dir:
        return settings.cache_dir
    from platformdirs import user_cache_path  # a cache directory that is named does not pay for it

    return user_cache_path("da-score", appauthor=False)


def repository_around(folder: Path) -> Path:
    """Return the folder of a repository to which a folder in it belongs, as a path from there.

    That is the nearest one upwards that has a log or settings, or else the top of the work tree. Outside of a work tree
    nothing is looked for: what lies above may be somebody else's.
    """
    start = here = os.path.abspath(folder)
    found = ""
    while True:
        if not found and ((Path(here) / DEFAULT_LOG_DIR).is_dir() or (Path(here) / SETTINGS_FILE).is_file()):
            found = here
        if os.path.lexists(os.path.join(here, ".git")):
            return folder if (found or here) == start else Path(os.path.relpath(found or here, start))
        above = os.path.dirname(here)
        if above == here:
            return folder
        here = above


def _lay_over(settings: dict[str, Any], layer: dict[str, Any], where: str) -> None:
    """Let a stronger source win; ``transcripts`` and folders of them say the same thing, so one drops the other."""
    if layer.get("transcripts") == "none" and layer.get("transcript-dir"):
        wrong = OptionError if where == _COMMAND_LINE else SettingsError
        raise wrong(f"{where}: transcripts is none and transcript-dir names folders; give one of them")
    if "transcripts" in layer or "transcript-dir" in layer:
        settings.pop("transcripts", None)
        settings.pop("transcript-dir", None)
    settings.update(layer)


def _typed(key: str, value: Any) -> Any:
    kind = _KINDS[key]
    if kind in (FLAG, _COUNT):
        return value
    if kind == _PATHS:
        return tuple(map(Path, value))
    if kind == _GLOBS:
        return tuple(_glob(Path(), one, f"--{key}") for one in value)
    if kind in (_COMMANDS, _FILES, _WORDS):
        return tuple(value)
    return Path(value) if kind == _PATH else str(value)


def _from_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, kind in _KINDS.items():
        name = ENVIRONMENT_PREFIX + key.upper().replace("-", "_")
        text = environment.get(name, "")
        if not text:
            continue
        value: Any = text
        if isinstance(kind, ListOf):
            value = tuple(item for item in text.split(_SEPARATORS.get(key, os.pathsep)) if item.strip())
        elif kind == FLAG:
            value = _FLAGS.get(text.lower())
        elif kind == _COUNT and text.isascii() and text.isdigit() and len(text) < 10:
            value = int(text)
        found[key] = _fitting(value, kind, name, text, "; use 1 or 0" if kind == FLAG else "")
    return found


def _fitting(value: Any, kind: Kind | ListOf, where: str, text: str, remedy: str = "") -> Any:
    """Return the value of a variable, which was given as a text, if it is of its kind, else raise."""
    if isinstance(kind, Kind) and not kind.fits(value):
        raise SettingsError(f"{where}: {text!r} is not {kind.name}{remedy}")
    return value


def tables_of(repository: Path, name: str) -> list[tuple[str, Any]]:
    """Return one table of a repository's settings files, with where it stands; the one that wins comes last.

    Raises:
        SettingsError: a settings file cannot be read.
    """
    wheres = (
        f"{repository / PYPROJECT_FILE}: [tool.{PYPROJECT_TABLE}.{name}]",
        f"{repository / SETTINGS_FILE}: [{name}]",
    )
    tables = zip(wheres, _file_tables(repository), strict=True)
    return [(where, table[name]) for where, table in tables if isinstance(table, dict) and name in table]


def _from_files(repository: Path) -> list[tuple[str, dict[str, Any]]]:
    """Return what the files of a repository set, the stronger one last, each with how errors name it."""
    wheres = f"{repository / PYPROJECT_FILE}: [tool.{PYPROJECT_TABLE}]", str(repository / SETTINGS_FILE)
    tables = zip(wheres, _file_tables(repository), strict=True)
    return [(where, _checked(given, repository, where)) for where, given in tables]


def _file_tables(repository: Path) -> tuple[Any, dict[str, Any]]:
    """Return the settings of ``pyproject.toml`` and those of da-score's own file."""
    own = _toml(repository / SETTINGS_FILE)
    shared = _toml(repository / PYPROJECT_FILE, only_if=PYPROJECT_TABLE).get("tool", {})
    return (shared.get(PYPROJECT_TABLE, {}) if isinstance(shared, dict) else {}), own


def _toml(path: Path, only_if: str = "") -> dict[str, Any]:
    """Read a TOML file; empty when there is none, or when it does not speak of ``only_if``."""
    try:
        data = read_file(path)
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
    """Return where a path in a settings file leads."""
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
    return text if os.path.isabs(text) else os.path.normpath(os.path.join(glob.escape(os.path.abspath(base)), text))


def _checked(table: Any, repository: Path, where: str) -> dict[str, Any]:
    for key in _PERSONAL & table.keys() if isinstance(table, dict) else ():
        raise SettingsError(f"{where}: {key} cannot be set by a repository; use --{key} or an environment variable")
    found = checked_table(table, _SHARED, where, elsewhere=_TABLES)
    for key, value in found.items():
        if _KINDS[key] == _PATHS:
            found[key] = tuple(_place(repository, path, where) for path in value)
        elif _KINDS[key] == _GLOBS:
            found[key] = tuple(_glob(repository, text, where) for text in value)
        elif _KINDS[key] == _PATH or (key == "rubric" and is_rubric_file(value)):
            found[key] = _place(repository, value, where)
    return found
