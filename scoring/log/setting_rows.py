"""The settings, one row each: options, variables, settings files and their errors come from these rows."""

import math
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from scoring.settings_table import FLAG, Kind, ListOf, is_text, is_whole

DEFAULT_LOG_DIR = Path(".agents/active/iteration-log")
"""Where an iteration log is in its repository."""

_SPAN = re.compile(r"(\d{1,5}(?:\.\d{1,3})?)([hdw]?)", re.ASCII)
_SPAN_UNITS = {"h": 1 / 24, "": 1, "d": 1, "w": 7}


def days_of(text: object) -> float:
    """Return how many days a time such as ``14d``, ``2w`` or ``36h`` has, a bare number is in days; 0 of anything else.

    Whole days are an integer.
    """
    m = _SPAN.fullmatch(text.strip()) if isinstance(text, str) else None
    days = float(m[1]) * _SPAN_UNITS[m[2]] if m else 0.0
    return int(days) if days == int(days) else days


TRANSCRIPTS = ("auto", "none")
"""What may be said of transcripts instead of naming folders."""


def _written(name: str) -> Kind:
    return Kind(name, lambda value: is_text(value) and value.strip() != "")


PATH = Kind("a path", is_text)
COUNT = Kind("a number above 0", lambda value: is_whole(value, 1, math.inf))
RUBRIC = Kind("text", is_text)
WAY = Kind("auto or none", lambda value: value in TRANSCRIPTS)
BRANCH = _written("the name of a branch")
FOLDERS = _written("a glob of folders")
TIME = Kind("a time above 0 such as 14d, 2w or 36h", lambda value: days_of(value) > 0)


class SettingRow(NamedTuple):
    """A setting: its long option, which is its key in files and variables, what it may be, and the option's help.

    ``metavar`` is what the help calls its value. In a variable ``separator`` is between the items of a list. What is
    ``personal`` no repository may choose: a cache is trusted, and a checkout is not.
    """

    name: str
    kind: Kind | ListOf
    help: str
    metavar: str | None = None
    separator: str = os.pathsep
    personal: bool = False

    @property
    def attribute(self) -> str:
        """The field of :class:`Settings`."""
        return "transcript_dirs" if self.name == "transcript-dir" else self.name.replace("-", "_")

    @property
    def item(self) -> Kind:
        """What one value may be."""
        return self.kind.item if isinstance(self.kind, ListOf) else self.kind

    def each(self, value: Any, change: Callable[[Any], Any]) -> Any:
        """Return the value, or each of its items, changed."""
        return tuple(map(change, value)) if isinstance(self.kind, ListOf) else change(value)


_ROWS = (
    SettingRow("iter-log-dir", PATH, f"The iteration log.  [default: {DEFAULT_LOG_DIR} in the repository]", "DIR"),
    SettingRow("repo-dir", PATH, "The git repository that the log is about.  [default: the current directory]", "DIR"),
    SettingRow(
        "transcript-dir",
        ListOf("a list of paths", PATH),
        "A folder of agent transcripts, all of which count; may be given several times.",
        "DIR",
    ),
    SettingRow(
        "transcripts",
        WAY,
        "Where no folder is given: auto takes this repository's sessions from the default transcript directories, "
        "none takes none.  [default: auto from rubric 2.3.0 on]",
        "auto|none",
    ),
    SettingRow(
        "trunk",
        BRANCH,
        "The branch on which work lands, from rubric 2.3.0 on.  [default: the remote's default branch, or main]",
        "REF",
    ),
    SettingRow(
        "worktrees",
        ListOf("a list of globs of folders", FOLDERS),
        "Folders where work trees of the repository may have been, where rubrics attribute; may be given several "
        "times.",
        "GLOB",
    ),
    SettingRow(
        "test-commands",
        ListOf("a list of commands", _written("a command")),
        "How a command begins that runs tests here, beside the known tools; may be given several times.",
        "COMMAND",
        ";",
    ),
    SettingRow(
        "code-globs",
        ListOf("a list of globs of files", _written("a glob of files")),
        "Which files are code, for outcomes; may be given several times.  [default: known source files]",
        "GLOB",
    ),
    SettingRow(
        "fix-words",
        ListOf("a list of words", _written("a word")),
        "A word that the subject of a fix has, for outcomes; may be given several times.  "
        "[default: fix, bug, revert and the like]",
        "WORD",
        ",",
    ),
    SettingRow(
        "horizon",
        TIME,
        "How long work is watched after it landed, for outcomes, as in 14d, 2w or 36h.  [default: 14d]",
        "TIME",
    ),
    SettingRow("rubric", RUBRIC, "The rubric to score under: a released version or a rubric file.", "VERSION|FILE"),
    SettingRow("derive", FLAG, "First write an entry for every commit of the session that ended and has none."),
    SettingRow("json", FLAG, "Print JSON."),
    SettingRow(
        "cache-dir",
        PATH,
        "Where what was read from transcripts and git is cached.  [default: the user's cache directory]",
        "DIR",
        personal=True,
    ),
    SettingRow("no-cache", FLAG, "Read everything again and cache nothing."),
    SettingRow(
        "processes",
        COUNT,
        "How many processes read transcripts, git not counted.  [default: as many as are worth it]",
        "N",
    ),
)
SETTINGS = {setting.name: setting for setting in _ROWS}
"""Every setting, by its name: options, variables, files and their errors come from these rows."""
