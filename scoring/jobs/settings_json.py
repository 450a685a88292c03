"""Reads and writes the settings file of a harness, which keeps its layout and gets a backup."""

import json
import os
import re
from pathlib import Path
from typing import Any, NamedTuple

from scoring.errors import InputError
from scoring.files import make_folder, overwrite, read_file

BACKUP_SUFFIX = ".da-score-backup"
BY_HAND = "fix it by hand, it was left alone"


class JsonFile(NamedTuple):
    """A settings file.

    Attributes:
        text: its text; "" where it does not exist.
        data: what it holds; an empty object where it does not exist or is empty.
    """

    text: str
    data: Any


def read_json_file(path: Path) -> JsonFile:
    """Read a settings file.

    Raises:
        InputError: it cannot be read, is not JSON, or has a key twice.
    """
    try:
        text = read_file(path).decode("utf-8")
    except FileNotFoundError:
        return JsonFile("", {})
    except UnicodeDecodeError as e:
        raise InputError(f"{path}: is not UTF-8; it was left alone") from e

    if not text.strip():
        return JsonFile(text, {})
    try:
        return JsonFile(text, json.loads(text, object_pairs_hook=_object_of_unique_keys))
    except (ValueError, RecursionError) as e:
        raise InputError(f"{path}: not JSON: {e}; {BY_HAND}") from e


def _object_of_unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if len(data) != len(pairs):
        raise ValueError("a key is given twice")
    return data


def json_in_layout_of(path: Path, data: Any, layout: str) -> bytes:
    """Return data as JSON with the indentation, line ends and last line of a text.

    Args:
        path: the file, for errors.
        data: the data.
        layout: the text; "" for the usual layout.

    Raises:
        InputError: the data cannot be written as JSON.
    """
    body = layout.strip()
    indent = None
    if "\n" in body or body in ("", "{}"):
        indent = "  "
    if indented_line := re.search(r"\n([ \t]+)\S", body):
        indent = indented_line[1]
    # Such an escape may be half of a character, which UTF-8 cannot hold.
    has_surrogates = re.search(r"\\u[dD][89a-fA-F]", body) is not None

    try:
        text = json.dumps(data, indent=indent, ensure_ascii=has_surrogates, allow_nan=False)
    except (ValueError, RecursionError) as e:
        raise InputError(f"{path}: cannot be written again: {e}; {BY_HAND}") from e

    if "\r\n" in body:
        text = text.replace("\n", "\r\n")
    end = layout[len(layout.rstrip()) :] if body else "\n"
    return (text + end).encode()


def backup_of(path: Path) -> Path:
    """Return where the backup of a settings file is: next to the file that links lead to."""
    target = Path(os.path.realpath(path))
    return target.with_name(target.name + BACKUP_SUFFIX)


def write_settings_file(path: Path, data: bytes, *, keep: bool) -> Path | None:
    """Write a settings file with the mode and the owner that it has, through links.

    Args:
        path: the file.
        data: its new content.
        keep: whether the old content goes into a backup.

    Returns:
        The backup; None without one.

    Raises:
        InputError: the old content cannot be read.
        WriteError: the file or the backup cannot be written.
    """
    target = Path(os.path.realpath(path))
    make_folder(target.parent)
    backup = None
    if keep and target.exists():
        # Written whole like the file, so never through a link in its place.
        backup = backup_of(path)
        overwrite(backup, read_file(target), rights_from=target)
    overwrite(target, data)
    return backup
