"""The settings, one field each: options, variables, settings files and their errors come from these fields."""

import math
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, NamedTuple, get_args

from rubric import RUBRIC_VERSION
from scoring.frozen import Frozen
from scoring.settings_table import FLAG, Kind, ListOf, is_whole

DEFAULT_LOG_DIR = Path(".agents/active/iteration-log")  # in its repository

_SPAN = re.compile(r"(\d{1,5}(?:\.\d{1,3})?)([hdw]?)", re.ASCII)
_SPAN_UNITS = {"h": 1 / 24, "": 1, "d": 1, "w": 7}


def days_of(text: object) -> float:
    """Return the days of a time as ``14d``, ``2w``, ``36h`` or ``14``, whole ones as an integer; 0 of anything else."""
    m = _SPAN.fullmatch(text.strip()) if isinstance(text, str) else None
    days = float(m[1]) * _SPAN_UNITS[m[2]] if m else 0.0
    return int(days) if days == int(days) else days


def _written(name: str) -> Kind:
    return Kind(name, lambda value: isinstance(value, str) and value.strip() != "")


PATH = Kind("a path", lambda value: isinstance(value, str | Path))
COUNT = Kind("a number above 0", lambda value: is_whole(value, 1, math.inf))
RUBRIC = Kind("text", lambda value: isinstance(value, str | Path))
FOLDERS = _written("a glob of folders")
_TIME = Kind("a time above 0 such as 14d, 2w or 36h", lambda value: days_of(value) > 0)


class SettingRow(NamedTuple):
    """How a setting is set: its kind, its option's help and ``metavar``; a ``personal`` one no repository chooses."""

    kind: Kind | ListOf
    help: str
    metavar: str | None = None
    separator: str = os.pathsep
    personal: bool = False

    @property
    def item(self) -> Kind:
        """What one value may be."""
        return self.kind.item if isinstance(self.kind, ListOf) else self.kind

    def each(self, value: Any, change: Callable[[Any], Any]) -> Any:
        """Return the value, or each of its items, changed."""
        return tuple(map(change, value)) if isinstance(self.kind, ListOf) else change(value)


class Settings(Frozen, frozen=True):
    """What a command works on, each with its :class:`SettingRow`.

    ``transcripts`` None: the rubric's rules decide; folders count instead of ``auto``.
    """

    iter_log_dir: Annotated[
        Path, PATH, f"The iteration log.  [default: {DEFAULT_LOG_DIR} in the repository]", "DIR"
    ] = DEFAULT_LOG_DIR
    repo_dir: Annotated[
        Path,
        PATH,
        "The git repository that the log is about.  [default: the current directory]",
        "DIR",
    ] = Path()
    transcript_dirs: Annotated[
        tuple[Path, ...],
        ListOf("a list of paths", PATH),
        "A folder of agent transcripts, all of which count; may be given several times.",
        "DIR",
    ] = ()
    transcripts: Annotated[
        str | None,
        Kind("auto or none", lambda value: value in ("auto", "none")),
        "Without a folder: auto reads the harnesses' own folders, none nothing.  [default: auto from rubric 2.3.0 on]",
        "auto|none",
    ] = None
    trunk: Annotated[
        str | None,
        _written("the name of a branch"),
        "The branch on which work lands, from rubric 2.3.0 on.  [default: the remote's default branch, or main]",
        "REF",
    ] = None
    worktrees: Annotated[
        tuple[str, ...],
        ListOf("a list of globs of folders", FOLDERS),
        "Folders where work trees may have been, as in '~/trees/*', from rubric 3.1.0 on; may be given several times.",
        "GLOB",
    ] = ()
    test_commands: Annotated[
        tuple[str, ...],
        ListOf("a list of commands", _written("a command")),
        "How a command begins that runs tests here, as in './check --all'; may be given several times.",
        "COMMAND",
        ";",
    ] = ()
    code_globs: Annotated[
        tuple[str, ...],
        ListOf("a list of globs of files", _written("a glob of files")),
        "Which files are code, for outcomes; may be given several times.  [default: known source files]",
        "GLOB",
    ] = ()
    fix_words: Annotated[
        tuple[str, ...],
        ListOf("a list of words", _written("a word")),
        "A word that shows a fix in a commit's subject; may be given several times.  [default: fix, bug, revert …]",
        "WORD",
        ",",
    ] = ()
    horizon: Annotated[
        str,
        _TIME,
        "How long work is watched after it landed, as in 14d, 2w or 36h.  [default: 14d]",
        "TIME",
    ] = "14d"
    rubric: Annotated[
        str,
        RUBRIC,
        "A released rubric, or a rubric file.  [default: 2.1.0; init writes 3.1.0]",
        "VERSION|FILE",
    ] = RUBRIC_VERSION
    derive: Annotated[bool, FLAG, "First write the entries that the session which ended lacks."] = (
        False
    )
    json: Annotated[bool, FLAG, "Print JSON."] = False
    cache_dir: Annotated[
        Path | None,
        PATH,
        "Where what was read from transcripts and git is cached.  [default: the user's cache directory]",
        "DIR",
        os.pathsep,
        True,  # personal
    ] = None
    no_cache: Annotated[bool, FLAG, "Read everything again and cache nothing."] = False
    processes: Annotated[
        int | None,
        COUNT,
        "How many processes read transcripts.  [default: as many as are worth it]",
        "N",
    ] = None


SETTINGS: dict[str, SettingRow] = {
    "transcript-dir" if name == "transcript_dirs" else name.replace("_", "-"): SettingRow(
        *get_args(kind)[1:]
    )
    for name, kind in Settings.__annotations__.items()
}  # every setting by its long option, which is its key in files and variables too
