"""FLEET.toml: which repositories are scored, where results go, on which file systems, and the limits."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rubric import RUBRIC_VERSION, is_rubric_file
from scoring.errors import InputError, SettingsError
from scoring.files import read_file
from scoring.settings_table import TEXT, Kind, Kinds, ListOf, checked_table, is_whole, read_toml
from scoring.text import shown
from scoring.views.formats import require

SIZE_LIMIT = 1 << 20  # the largest FLEET.toml, in bytes
ATTEMPTS = 3

_UNITS = {"": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40}
_SIZE = re.compile(r"(\d{1,9}) ?([KMGT]B)", re.ASCII)
_SECRET = re.compile(
    r"secret|token|password|passwd|credential|(^|_)key$|access_key|account_key|sas", re.I
)
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*(::|://)")


def bytes_of(text: object) -> int:
    """Return how many bytes a size such as ``512MB`` has; 0 of anything else."""
    m = _SIZE.fullmatch(text.strip()) if isinstance(text, str) else None
    return int(m[1]) * _UNITS[m[2]] if m else 0


def is_url(text: str) -> bool:
    """Return whether a text names its file system, as ``s3://bucket/folder`` does."""
    return _URL.match(text) is not None


@dataclass(frozen=True, slots=True)
class Source:
    """Some repositories, and how they are read."""

    paths: tuple[str, ...] = ()  # directories and globs, absolute
    urls: tuple[str, ...] = ()  # archives, and folders on other file systems
    transcripts: tuple[
        str, ...
    ] = ()  # folders, perhaps with ``{name}``; without any the repository's settings decide
    way: str | None = None
    trunk: str | None = None
    worktrees: tuple[str, ...] = ()
    test_commands: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FleetConfig:
    """What a FLEET.toml says, its paths absolute."""

    results: str
    rubric: str = RUBRIC_VERSION
    sources: tuple[Source, ...] = ()
    storage: dict[str, dict[str, Any]] = field(
        default_factory=dict
    )  # options of file systems, by protocol
    workers: int | None = None
    memory: int = 0  # bytes of a worker; 0 leaves that to Dask
    expanded: int = 16 << 30  # the most bytes of an archive when it is unpacked
    attempts: int = ATTEMPTS
    scratch: str | None = None  # None for the system's folder of temporary files
    cache: str | None = None  # None for the user's cache directory, "" where nothing is kept
    horizon: str = "14d"


_SIZE_KIND = Kind("a size such as 512MB or 16GB", lambda value: bytes_of(value) > 0)
_COUNT = Kind("a number from 1 to 1000", lambda value: is_whole(value, 1, 1000))
_NAMES = ListOf(
    "a list of texts",
    Kind("a text that is not empty", lambda v: isinstance(v, str) and v.strip() != ""),
)
_KINDS: Kinds = {
    **dict.fromkeys(("results", "rubric", "horizon", "scratch", "cache"), TEXT),
    "workers": {"count": _COUNT, "memory": _SIZE_KIND},
    "limits": {"expanded": _SIZE_KIND, "attempts": _COUNT},
}
_SOURCE: Kinds = {
    **dict.fromkeys(("path", "url", "transcripts"), _NAMES),
    "trunk": TEXT,
    **dict.fromkeys(("worktrees", "test-commands"), _NAMES),
}
_OPTION = Kind(
    "text, a number, or true or false", lambda value: isinstance(value, str | int | float | bool)
)


def read_fleet(path: Path) -> FleetConfig:
    """Read a FLEET.toml, paths in it being relative to its folder; SettingsError, in one line, says what to do."""
    import tomllib

    try:
        text = read_file(path, SIZE_LIMIT).decode()
        given = tomllib.loads(text)
    except FileNotFoundError as e:
        raise SettingsError(f"{path}: no such file; write one with 'da-score fleet init'") from e
    except InputError as e:
        raise SettingsError(str(e)) from e
    except (ValueError, RecursionError) as e:
        raise SettingsError(f"{path}: not TOML: {' '.join(str(e).split())}") from e
    return _config(given, str(path), Path(os.path.abspath(path)).parent)


def _config(given: dict[str, Any], where: str, here: Path) -> FleetConfig:
    found = checked_table(given, _KINDS, where, elsewhere={"source", "storage"})
    if not found.get("results", "").strip():
        raise SettingsError(
            f"{where}: results is missing; name the folder or the URL of the data set"
        )
    sources = given.get("source", [])
    if not isinstance(sources, list) or not sources:
        raise SettingsError(
            f"{where}: there is no [[source]]; name at least one, with a path or a url"
        )
    limits, workers = found.pop("limits", {}), found.pop("workers", {})
    keeps_nothing = found.get("cache") == "none"
    places: dict[str, Any] = {
        name: _place(found[name], here, where)
        for name in ("results", "scratch", "cache")
        if name in found
    }
    found |= places | ({"cache": ""} if keeps_nothing else {})
    if is_rubric_file(found.get("rubric", RUBRIC_VERSION)):
        found["rubric"] = str(here / found["rubric"])
    if "expanded" in limits:
        found["expanded"] = bytes_of(limits["expanded"])
    return FleetConfig(
        **found,
        sources=tuple(
            _source(table, here, where, f"source[{n}]") for n, table in enumerate(sources)
        ),
        storage={
            protocol: _options(options, where, f"storage.{protocol}")
            for protocol, options in _table(given.get("storage", {}), where, "storage").items()
        },
        workers=workers.get("count"),
        memory=bytes_of(workers.get("memory")),
        attempts=limits.get("attempts", ATTEMPTS),
    )


def _source(table: Any, here: Path, where: str, name: str) -> Source:
    found = checked_table(table, _SOURCE, where, name=name)
    paths, urls = found.get("path", ()), found.get("url", ())
    if not paths and not urls:
        raise SettingsError(f"{where}: {name} has neither path nor url")
    for text in paths:
        if is_url(text):
            raise SettingsError(f"{where}: {name}.path {shown(text)} is a URL; give it as url")
    for text in urls:
        if not is_url(text):
            raise SettingsError(
                f"{where}: {name}.url {shown(text)} is no URL; give directories as path"
            )
    transcripts = found.get("transcripts", ())
    way = transcripts[0] if transcripts in (("auto",), ("none",)) else None
    return Source(
        tuple(_place(text, here, where) for text in paths),
        tuple(_expanded(text, where) for text in urls),
        () if way else transcripts,
        way,
        found.get("trunk"),
        found.get("worktrees", ()),
        found.get("test-commands", ()),
    )


def _options(given: Any, where: str, name: str) -> dict[str, Any]:
    """Return the options of a file system, which may be nested; a credential in them is refused."""
    found: dict[str, Any] = {}
    for key, value in _table(given, where, name).items():
        if isinstance(value, dict):
            found[key] = _options(value, where, f"{name}.{key}")
        elif not _OPTION.fits(value):
            raise SettingsError(f"{where}: {name}.{key} is {shown(value)}, not {_OPTION.name}")
        elif _SECRET.search(key) and not (isinstance(value, str) and _VARIABLE.fullmatch(value)):
            raise SettingsError(
                f"{where}: {name}.{key} holds a credential; leave it to the environment of coordinator and workers, "
                f"or name a variable, as in {key} = '${{NAME}}'"
            )
        else:
            found[key] = _expanded(value, where) if isinstance(value, str) else value
    return found


def _table(given: Any, where: str, name: str) -> dict[str, Any]:
    if not isinstance(given, dict):
        raise SettingsError(f"{where}: {name} is {shown(given)} where a table belongs")
    return given


def _expanded(text: str, where: str) -> str:
    def value(m: re.Match[str]) -> str:
        if m[1] not in os.environ:
            raise SettingsError(f"{where}: the variable {m[1]} is not set")
        return os.environ[m[1]]

    return _VARIABLE.sub(value, text)


def _place(text: str, here: Path, where: str) -> str:
    text = _expanded(text, where)
    if is_url(text):
        return text
    if "\0" in text:
        raise SettingsError(f"{where}: {shown(text)} is no path")
    try:
        return os.path.normpath(here / Path(text).expanduser())
    except RuntimeError as e:  # the user that ~ names has no home
        raise SettingsError(f"{where}: {shown(text)}: {e}") from e


Storage = Mapping[
    str, Mapping[str, Any]
]  # options of file systems by protocol, as FLEET.toml has them
_STORES = {  # where results may be besides a folder: the protocol of delta-rs, and the names that fsspec has for it
    "s3": ("s3", "s3a"),
    "gs": ("gs", "gcs"),
    "az": ("az", "abfs", "abfss", "adl"),
}
_OPTIONS = read_toml((Path(__file__).parent / "storage.toml").read_text("utf-8"))


def file_system(url: str, storage: Storage) -> tuple[Any, str]:
    """Return the fsspec file system of a URL, and the path there; InputError, with what to do, where there is none."""
    require("fleet", "fsspec")
    import fsspec

    try:
        found: tuple[Any, str] = fsspec.core.url_to_fs(
            url, **dict(storage.get(protocol_of(url), {}))
        )
    except (ImportError, ValueError) as e:
        raise InputError(
            f"{url}: {one_line(e)}; the extra 'fleet' has what local folders and S3 need"
        ) from e
    except Exception as e:
        raise InputError(f"{url}: cannot be reached: {one_line(e)}") from e
    return found


def results_at(url: str, storage: Storage) -> tuple[str, dict[str, str], Path | None]:
    """Return the URI of a data set for delta-rs, its store's options, and the folder if it is one; else InputError."""
    protocol = protocol_of(url)
    if protocol == "file":
        folder = Path(url.removeprefix("file://"))
        if re.search("%[0-9A-Fa-f]{2}", str(folder)):
            raise InputError(
                f"{url}: results cannot be in a folder with %XX in its name; name another one"
            )
        try:
            return folder.as_uri(), {}, folder
        except ValueError as e:
            raise InputError(f"{url}: no absolute path") from e
    store = next((name for name, names in _STORES.items() if protocol in names), None)
    if store is None:
        raise InputError(
            f"{url}: results may be in a folder, or at a URL of S3, Google Cloud Storage or Azure"
        )
    given = dict(storage.get(protocol, {}))
    given |= given.pop("client_kwargs", {}) if isinstance(given.get("client_kwargs"), dict) else {}
    known = _OPTIONS[store] | {name: name for name in _OPTIONS[store].values()}
    options = {
        known[name]: str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in given.items()
        if name in known
    }
    if any(
        value.startswith("http://")
        for value in (*options.values(), os.environ.get("AWS_ENDPOINT_URL", ""))
    ):
        options["allow_http"] = "true"
    place = url.partition("://")[2].rstrip("/")
    return f"{'abfss' if store == 'az' and '@' in place else store}://{place}", options, None


def protocol_of(url: str) -> str:
    """Return the protocol of a URL, ``file`` for a path."""
    return url.partition("://")[0].partition("::")[0] if "://" in url else "file"


def one_line(error: BaseException, length: int = 300) -> str:
    """Return what an error of some library says, in one line of at most ``length`` characters."""
    return " ".join(str(error).split())[:length] or type(error).__name__
