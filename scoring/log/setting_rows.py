"""The settings: one field each, from which options, variables, settings files and errors follow."""

import math
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, NamedTuple, get_args

from rubric import RUBRIC_VERSION
from scoring.frozen import Frozen, Texts
from scoring.settings_table import FLAG, TEXT, Kind, ListOf, filled_text, is_whole

DEFAULT_LOG_DIR = Path(".agents/active/iteration-log")
"""Where the log is in its repository, unless a setting names another place."""

_SPAN = re.compile(r"(\d{1,5}(?:\.\d{1,3})?)([hdw]?)", re.ASCII)
_DAYS_PER_UNIT = {"h": 1 / 24, "": 1, "d": 1, "w": 7}


def days_of(text: object) -> float:
    """Return how many days a span such as ``14d``, ``2w``, ``36h`` or ``14`` has.

    Returns:
        The number, an integer where it is whole; 0 for anything that is not a span.
    """
    if not isinstance(text, str):
        return 0

    match = _SPAN.fullmatch(text.strip())
    if not match:
        return 0

    days = float(match[1]) * _DAYS_PER_UNIT[match[2]]
    return int(days) if days == int(days) else days


PATH = Kind(
    "a path", lambda value: isinstance(value, str | Path) and "\0" not in str(value)
)
COUNT = Kind("a number above 0", lambda value: is_whole(value, 1, math.inf))
FOLDERS = filled_text("a glob of folders")
_BRANCH = filled_text("the name of a branch")
_COMMANDS = ListOf("a list of commands", filled_text("a command"))
_FILES = ListOf("a list of globs of files", filled_text("a glob of files"))
_WORDS = ListOf("a list of words", filled_text("a word"))
_SPAN_OF_TIME = Kind(
    "a time above 0 such as 14d, 2w or 36h", lambda value: days_of(value) > 0
)
_AUTO_OR_NONE = Kind("auto or none", lambda value: value in ("auto", "none"))


class SettingRow(NamedTuple):
    """How a setting is given.

    Attributes:
        kind: what it may be.
        help: the help of its option.
        metavar: what the help calls the option's value; None for a flag.
        separator: what separates the items of a list in a variable.
        personal: whether only its user chooses it, and no file of a repository.
    """

    kind: Kind | ListOf
    help: str
    metavar: str | None = None
    separator: str = os.pathsep
    personal: bool = False

    @property
    def item(self) -> Kind:
        """What the value may be, or where it is a list, what each item may be."""
        if isinstance(self.kind, ListOf):
            return self.kind.item
        return self.kind

    def each(self, value: Any, change: Callable[[Any], Any]) -> Any:
        """Return ``change(value)``, or for a list setting the tuple of ``change`` of each item."""
        if isinstance(self.kind, ListOf):
            return tuple(map(change, value))
        return change(value)


class Settings(Frozen):
    """What a command works on.

    Without ``transcript_dirs`` and ``transcripts`` the rules of the rubric decide where transcripts
    are looked for. With both, ``transcript_dirs`` decides. The help of each field's option says
    what it means.
    """

    iter_log_dir: Annotated[
        Path,
        SettingRow(
            PATH,
            f"The iteration log.  [default: {DEFAULT_LOG_DIR} in the repository]",
            metavar="DIR",
        ),
    ] = DEFAULT_LOG_DIR

    repo_dir: Annotated[
        Path,
        SettingRow(
            PATH,
            "The git repository that the log is about.  [default: that of the current directory]",
            metavar="DIR",
        ),
    ] = Path()

    transcript_dirs: Annotated[
        tuple[Path, ...],
        SettingRow(
            ListOf("a list of paths", PATH),
            "A folder of agent transcripts, all of which count; may be given several times.",
            metavar="DIR",
        ),
    ] = ()

    transcripts: Annotated[
        str | None,
        SettingRow(
            _AUTO_OR_NONE,
            "Without a folder: auto reads the harnesses' own folders, none nothing."
            "  [default: auto from rubric 3.1.0 on]",
            metavar="auto|none",
        ),
    ] = None

    trunk: Annotated[
        str | None,
        SettingRow(
            _BRANCH,
            "The branch on which work lands, from rubric 3.1.0 on."
            "  [default: the remote's default branch, or main]",
            metavar="REF",
        ),
    ] = None

    worktrees: Annotated[
        Texts,
        SettingRow(
            ListOf("a list of globs of folders", FOLDERS),
            "Folders where work trees may have been, as in '~/trees/*', from rubric 3.1.0 on;"
            " may be given several times.",
            metavar="GLOB",
        ),
    ] = ()

    test_commands: Annotated[
        Texts,
        SettingRow(
            _COMMANDS,
            "How a command begins that runs tests here, as in './check --all';"
            " may be given several times.",
            metavar="COMMAND",
            separator=";",
        ),
    ] = ()

    code_globs: Annotated[
        Texts,
        SettingRow(
            _FILES,
            "Which files are code, for outcomes; may be given several times."
            "  [default: known source files]",
            metavar="GLOB",
        ),
    ] = ()

    fix_words: Annotated[
        Texts,
        SettingRow(
            _WORDS,
            "A word that shows a fix in a commit's subject; may be given several times."
            "  [default: fix, bug, revert …]",
            metavar="WORD",
            separator=",",
        ),
    ] = ()

    horizon: Annotated[
        str,
        SettingRow(
            _SPAN_OF_TIME,
            "How long work is watched after it landed, as in 14d, 2w or 36h.  [default: 14d]",
            metavar="TIME",
        ),
    ] = "14d"

    rubric: Annotated[
        str,
        SettingRow(
            TEXT,
            "A released rubric, or a rubric file.  [default: 2.1.0; init writes 3.1.0]",
            metavar="VERSION|FILE",
        ),
    ] = RUBRIC_VERSION

    derive: Annotated[
        bool,
        SettingRow(FLAG, "First write the entries that the session which ended lacks."),
    ] = False

    json: Annotated[bool, SettingRow(FLAG, "Print JSON.")] = False

    cache_dir: Annotated[
        Path | None,
        SettingRow(
            PATH,
            "Where what was read from transcripts and git is cached."
            "  [default: the user's cache directory]",
            metavar="DIR",
            personal=True,
        ),
    ] = None

    no_cache: Annotated[
        bool, SettingRow(FLAG, "Read everything again and cache nothing.")
    ] = False

    processes: Annotated[
        int | None,
        SettingRow(
            COUNT,
            "How many processes read transcripts.  [default: as many as are worth it]",
            metavar="N",
        ),
    ] = None

    @property
    def store_dir(self) -> Path | None:
        """The folder of the store, or None where nothing is kept."""
        if self.no_cache:
            return None
        if self.cache_dir:
            return self.cache_dir

        # A command with a folder of its own does not need the library.
        from platformdirs import user_cache_path

        return user_cache_path("da-score", appauthor=False)


def _option_name(field: str) -> str:
    """Return the long option of a field, without the two dashes: ``repo-dir`` of ``repo_dir``."""
    return "transcript-dir" if field == "transcript_dirs" else field.replace("_", "-")


FIELDS: dict[str, str] = {
    _option_name(field): field for field in Settings.__struct_fields__
}
"""The field of each setting, by its long option, which is its key in files and variables too."""

SETTINGS: dict[str, SettingRow] = {
    option: get_args(Settings.__annotations__[field])[1]
    for option, field in FIELDS.items()
}
"""Every setting, by its long option."""
