"""In which file and line the fields of an entry are."""

import contextlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from scoring.errors import DaScoreError, InputError
from scoring.files import list_names, read_file
from scoring.frozen import Frozen
from scoring.yamlread import Reader, parse

from .find import ARCHIVE_NAME, is_entry_name
from .parse import MOST_IN_ENTRY, parse_archive, record_of


class EntryPlaces(Frozen):
    """Where the fields of an entry are. An entry that cannot be found has no fields.

    Attributes:
        path: the file that the entry is in; None where it cannot be found.
        lines: the line of the name of each field that counts, from 1, by its path such as
            ``verifiers.0.status``. A field that a mapping merges is where it is defined.
        missing: paths of artifacts in its fields at which no file is.
    """

    path: Path | None = None
    lines: Mapping[str, int] = {}
    missing: Sequence[str] = ()

    def place(self, field: str) -> str | None:
        """Return where a field is, as ``file:line``, or None when the entry does not have it."""
        return f"{self.path}:{self.lines[field]}" if field in self.lines else None


def entry_places(iter_log_dir: Path, iteration: int) -> EntryPlaces:
    """Return where the fields of an iteration's entry are. ``missing`` is empty. Never raises.

    Of several files with its number the last by name counts, and where no file has the number, the
    archive.
    """
    places = EntryPlaces()
    with contextlib.suppress(DaScoreError):
        names = list_names(iter_log_dir)
        for name in filter(is_entry_name, names):
            path = iter_log_dir / name
            lines: dict[str, int] = {}
            # Loading the log reported the files that cannot be read.
            with contextlib.suppress(InputError, FileNotFoundError):
                document = parse(read_file(path), MOST_IN_ENTRY)
                if record_of(document, Reader(lines=lines)).iteration == iteration:
                    places = EntryPlaces(path, lines)

        if not places.path and ARCHIVE_NAME in names:
            places = _places_in_archive(iter_log_dir / ARCHIVE_NAME, iteration)
    return places


def _places_in_archive(path: Path, iteration: int) -> EntryPlaces:
    """Return where the fields of an entry in the archive are, no fields where it is not there.

    Raises:
        InputError: the archive cannot be read.
    """
    lines: dict[str, int] = {}
    records = parse_archive(read_file(path), lines=lines)
    for index, record in enumerate(records):
        if record.iteration == iteration:
            prefix = f"iterations.{index}."
            of_entry = {
                name.removeprefix(prefix): line
                for name, line in lines.items()
                if name.startswith(prefix)
            }
            return EntryPlaces(path, of_entry)
    return EntryPlaces()
