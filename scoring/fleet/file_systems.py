"""The file systems of sources and results: sources through fsspec, results through the object stores of delta-rs."""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scoring.errors import InputError
from scoring.settings_table import read_toml
from scoring.views.formats import require

Storage = Mapping[str, Mapping[str, Any]]  # options of file systems by protocol, as FLEET.toml has them
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
        found: tuple[Any, str] = fsspec.core.url_to_fs(url, **dict(storage.get(protocol_of(url), {})))
    except (ImportError, ValueError) as e:
        raise InputError(f"{url}: {one_line(e)}; the extra 'fleet' has what local folders and S3 need") from e
    except Exception as e:
        raise InputError(f"{url}: cannot be reached: {one_line(e)}") from e
    return found


def results_at(url: str, storage: Storage) -> tuple[str, dict[str, str], Path | None]:
    """Return the URI of a data set for delta-rs, its store's options, and the folder if it is one; else InputError."""
    protocol = protocol_of(url)
    if protocol == "file":
        folder = Path(url.removeprefix("file://"))
        if re.search("%[0-9A-Fa-f]{2}", str(folder)):
            raise InputError(f"{url}: results cannot be in a folder with %XX in its name; name another one")
        try:
            return folder.as_uri(), {}, folder
        except ValueError as e:
            raise InputError(f"{url}: no absolute path") from e
    store = next((name for name, names in _STORES.items() if protocol in names), None)
    if store is None:
        raise InputError(f"{url}: results may be in a folder, or at a URL of S3, Google Cloud Storage or Azure")
    given = dict(storage.get(protocol, {}))
    given |= given.pop("client_kwargs", {}) if isinstance(given.get("client_kwargs"), dict) else {}
    known = _OPTIONS[store] | {name: name for name in _OPTIONS[store].values()}
    options = {
        known[name]: str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in given.items()
        if name in known
    }
    if any(value.startswith("http://") for value in (*options.values(), os.environ.get("AWS_ENDPOINT_URL", ""))):
        options["allow_http"] = "true"
    place = url.partition("://")[2].rstrip("/")
    return f"{'abfss' if store == 'az' and '@' in place else store}://{place}", options, None


def protocol_of(url: str) -> str:
    """Return the protocol of a URL, ``file`` for a path."""
    return url.partition("://")[0].partition("::")[0] if "://" in url else "file"


def one_line(error: BaseException, length: int = 300) -> str:
    """Return what an error of some library says, in one line of at most ``length`` characters."""
    return " ".join(str(error).split())[:length] or type(error).__name__
