"""Where in a log something stands: the file of an entry, and the lines of its fields."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml

from scoring.errors import DaScoreError, InputError
from scoring.files import list_names, read_file
from scoring.log.load import ARCHIVE_NAME, is_entry_name, load_entry
from scoring.log.parse import parse_archive

_MERGE = "tag:yaml.org,2002:merge"


@dataclass(frozen=True, slots=True)
class EntryPlaces:
    """The file that an entry stands in, and the line of each of its fields, from 1.

    Fields are named by their way through the entry: ``impl.retries``, ``verifiers.0.status``.
    """

    path: Path
    lines: dict[str, int]

    def place(self, field: str) -> str | None:
        """Return where a field stands, as ``file:line``; None when the entry does not have it."""
        line = self.lines.get(field)
        return None if line is None else f"{self.path}:{line}"


def entry_places(iter_log_dir: Path, iteration: int) -> EntryPlaces | None:
    """Find the entry that counts for an iteration; None when it cannot be found (any more)."""
    found: EntryPlaces | None = None
    try:
        names = list_names(iter_log_dir)
        for name in filter(is_entry_name, names):
            path = iter_log_dir / name
            if load_entry(path).iteration == iteration:
                found = EntryPlaces(path, dict(_lines(_composed(read_file(path)))))
        if found is None and ARCHIVE_NAME in names:
            found = _archived(iter_log_dir / ARCHIVE_NAME, iteration)
    except (DaScoreError, FileNotFoundError, yaml.YAMLError):
        return None
    return found


def _archived(path: Path, iteration: int) -> EntryPlaces | None:
    data = read_file(path)
    numbers = [record.iteration for record in parse_archive(data)]
    if iteration not in numbers:
        return None
    way = f"iterations.{numbers.index(iteration)}."
    lines = {field: line for field, line in _lines(_composed(data)) if field.startswith(way)}
    return EntryPlaces(path, {field.removeprefix(way): line for field, line in lines.items()})


def _composed(data: bytes) -> yaml.Node | None:
    try:
        node: yaml.Node | None = yaml.compose(data, Loader=yaml.CSafeLoader)
    except RecursionError as e:
        raise InputError("nested too deeply") from e
    return node


def _lines(node: yaml.Node | None, way: str = "", depth: int = 0) -> Iterator[tuple[str, int]]:
    """Yield the way to every field and the line of its name; where a way is met twice, the later line is right.

    What an alias or a merge (``<<``) brings in stands where it is defined, and what a mapping says itself comes last.
    """
    if depth > 8:
        return
    if isinstance(node, yaml.MappingNode):
        merged = [value for key, value in node.value if key.tag == _MERGE]
        for part in merged:
            for mapping in reversed(part.value) if isinstance(part, yaml.SequenceNode) else (part,):
                yield from _lines(mapping, way, depth + 1)
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode) and key.tag != _MERGE:
                yield f"{way}{key.value}", key.start_mark.line + 1
                yield from _lines(value, f"{way}{key.value}.", depth + 1)
    elif isinstance(node, yaml.SequenceNode):
        for n, item in enumerate(node.value):
            yield f"{way}{n}", item.start_mark.line + 1
            yield from _lines(item, f"{way}{n}.", depth + 1)
