"""In which file and line the fields of an entry are."""

import contextlib
from collections.abc import Mapping
from pathlib import Path

from scoring.errors import DaScoreError, InputError
from scoring.files import list_names, read_file
from scoring.frozen import Frozen
from scoring.yamlnodes import MappingNode, Node, Scalar, Sequence, is_merge, target_of
from scoring.yamlread import Reader, items_of, parse

from .find import ARCHIVE_NAME, is_entry_name
from .parse import MOST_IN_ENTRY, parse_archive, record_of

_DEEPEST_FIELD = 8
_MOST_LINES = 20_000  # of fields; the others have none
_LONGEST_PATH = 1000  # of a field, in characters; those below a longer one are left out


class EntryPlaces(Frozen):
    """Where the fields of an entry are. An entry that cannot be found has no fields.

    Attributes:
        path: the file that the entry is in; None where it cannot be found.
        lines: the line of each field, from 1, by its path such as ``verifiers.0.status``.
    """

    path: Path | None = None
    lines: Mapping[str, int] = {}

    def place(self, field: str) -> str | None:
        """Return where a field is, as ``file:line``, or None when the entry does not have it."""
        return f"{self.path}:{self.lines[field]}" if field in self.lines else None


def entry_places(iter_log_dir: Path, iteration: int) -> EntryPlaces:
    """Return where the fields of an iteration's entry are. Never raises.

    Of several files with its number the last by name counts, and where no file has the number, the
    archive.
    """
    places = EntryPlaces()
    with contextlib.suppress(DaScoreError):
        names = list_names(iter_log_dir)
        for name in filter(is_entry_name, names):
            path = iter_log_dir / name
            # Loading the log reported the files that cannot be read.
            with contextlib.suppress(InputError, FileNotFoundError):
                document = parse(read_file(path), MOST_IN_ENTRY)
                if record_of(document).iteration == iteration:
                    places = EntryPlaces(path, field_lines(document))

        if not places.path and ARCHIVE_NAME in names:
            places = _places_in_archive(iter_log_dir / ARCHIVE_NAME, iteration)
    return places


def _places_in_archive(path: Path, iteration: int) -> EntryPlaces:
    """Return where the fields of an entry in the archive are, no fields where it is not there.

    Raises:
        InputError: the archive cannot be read.
    """
    data = read_file(path)
    iterations = [record.iteration for record in parse_archive(data)]
    if iteration not in iterations:
        return EntryPlaces()

    document = parse(data)
    assert document
    fields = {"iterations": items_of(lambda _, node: node)}
    entries = Reader().struct(document, fields)["iterations"]
    return EntryPlaces(path, field_lines(entries[iterations.index(iteration)]))


def field_lines(entry: Node | None) -> dict[str, int]:
    """Return the line of the name of each field in an entry, by the path of the field.

    Aliases can stand for far more fields than an entry may have. The lines of the first ones are
    returned then.
    """
    lines = _FieldLines()
    if entry:
        lines.add(entry, "")
    return lines.by_path


class _FieldLines:
    """The lines of fields, up to a number of values.

    Attributes:
        by_path: the line of each field, by its path.
    """

    def __init__(self) -> None:
        self.by_path: dict[str, int] = {}
        self._values_left = _MOST_LINES

    def add(self, node: Node, prefix: str, depth: int = 0) -> None:
        """Add the fields in a list or mapping of an entry.

        Where a mapping has a field that it also merges, the line of its own field counts.

        Args:
            node: the list or mapping; nothing is added for any other node.
            prefix: its path, with a dot at its end; "" for the entry as a whole.
            depth: how many levels are above it.
        """
        if depth > _DEEPEST_FIELD or len(prefix) > _LONGEST_PATH:
            return

        target = target_of(node)
        if isinstance(target, Sequence):
            for index, item in enumerate(map(target_of, target.items)):
                if not self._is_one_more():
                    return
                self.by_path[f"{prefix}{index}"] = item.line
                self.add(item, f"{prefix}{index}.", depth + 1)
        elif isinstance(target, MappingNode):
            self._add_merged(target, prefix, depth)
            self._add_own(target, prefix, depth)

    def _add_merged(self, mapping: MappingNode, prefix: str, depth: int) -> None:
        for key, value in mapping.pairs:
            if not is_merge(target_of(key)):
                continue

            merged = target_of(value)
            sources = merged.items if isinstance(merged, Sequence) else [merged]
            # The first of several mappings wins, so it comes last.
            for source in reversed(sources):
                if not self._is_one_more():
                    return
                self.add(source, prefix, depth + 1)

    def _add_own(self, mapping: MappingNode, prefix: str, depth: int) -> None:
        for key, value in mapping.pairs:
            name = target_of(key)
            if not isinstance(name, Scalar) or is_merge(name):
                continue
            if not self._is_one_more():
                return
            self.by_path[f"{prefix}{name.value}"] = name.line
            self.add(value, f"{prefix}{name.value}.", depth + 1)

    def _is_one_more(self) -> bool:
        """Count one more value, and return whether it is not too many."""
        self._values_left -= 1
        return self._values_left >= 0
