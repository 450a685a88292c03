"""Every error da-score raises on purpose, as one tree.

::

    DaScoreError                 something a user can act on; one line of text
    ├── RubricError              a rubric that cannot be read or is not valid (rubric.datafiles)
    ├── InputError               a file that is not what it should be
    │   ├── NoFileError          there is no such file
    │   ├── YamlError            text that is not YAML, or not the YAML a field takes
    │   ├── LogError             an iteration log that cannot be loaded; ``faults`` lists every broken file
    │   ├── TranscriptError      a transcript of a deliberation that cannot be read
    │   └── MeetingError         a judge's records or a meeting's config; ``faults`` lists what is wrong
    ├── GitError                 git is missing, too old, or failed
    │   └── NotARepositoryError  a repository directory that is no git work tree
    ├── FleetError               what keeps many repositories from being scored together
    ├── NotFoundError            an iteration or session that is not there
    ├── SettingsError            a setting that cannot be used
    │   └── OptionError          an option that cannot be used as it was given: wrong usage
    └── WriteError               a sidecar that could not be written; ``written`` lists those that were

Anything else that escapes is a bug and must look like one.
"""

from collections.abc import Callable
from pathlib import Path

from rubric.datafiles import DaScoreError as DaScoreError
from rubric.datafiles import RubricError as RubricError

Warn = Callable[[str], None]
"""Takes a warning: one line of text for people about what was skipped, or reads otherwise than it was meant."""


def silent(_: object) -> None:
    """Drop a warning, or a broken entry."""


class InputError(DaScoreError, ValueError):
    """A file that cannot be read or is not what it should be."""


class NoFileError(InputError, FileNotFoundError):
    """There is no such file."""


class YamlError(InputError):
    """Text that is not YAML, or a value that does not fit its field."""


def installing(extra: str) -> str:
    """Return how an extra is installed, in each of the ways in which da-score is; it is on no package index."""
    return f"in a clone of da-score run pipx install --force '.[{extra}]', or likewise uv tool install or pip install"


class LogError(InputError):
    """An iteration log that cannot be loaded: the first file at fault; ``faults`` has a line for each, in order."""

    def __init__(self, text: str, *others: str) -> None:
        super().__init__(text)
        self.faults = (text, *others)


class TranscriptError(InputError):
    """A transcript that cannot be read; the text names the file, the line or round, and the field."""


class MeetingError(InputError):
    """A judge's records or a meeting's config that are wrong; ``faults`` has a line for each, with its place."""

    def __init__(self, *faults: str) -> None:
        super().__init__("; ".join(faults))
        self.faults = faults


class GitError(DaScoreError):
    """Git is missing, too old, or failed."""


class NotARepositoryError(GitError):
    """The repository directory is not a git work tree."""


class FleetError(DaScoreError):
    """A data set that another fleet writes, or a scheduler that is lost; the text says what to do."""


class NotFoundError(DaScoreError, LookupError):
    """No such iteration or session."""


class SettingsError(DaScoreError, ValueError):
    """A setting that cannot be used; the text names where it was set."""


class OptionError(SettingsError):
    """A value that an option does not take, or options that do not go together; ``da-score`` ends with 2."""


class WriteError(DaScoreError, OSError):
    """A sidecar that could not be written; ``written`` holds the paths that were written before, in order and whole."""

    def __init__(self, message: str, written: tuple[Path, ...] = ()) -> None:
        super().__init__(message)
        self.written = written
