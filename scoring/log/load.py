"""An iteration log on disk: its entries, and the lines of their fields. See ``docs/LOG.md``, "Entries"."""

import contextlib
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import TypeAlias

import msgspec

from rubric.model import STRICT, Rubric
from scoring.errors import DaScoreError, InputError, LogError, NotFoundError, YamlError
from scoring.files import is_inside, list_names, read_file, reason
from scoring.frozen import Frozen
from scoring.log.find import ARCHIVE_NAME, is_entry_name, no_log
from scoring.log.model import IterationRecord, Records
from scoring.log.parse import parse_archive, parse_iteration_record
from scoring.store import Store, stamp_of
from scoring.yamlnodes import MappingNode, Node, Scalar, Sequence, is_merge, target_of
from scoring.yamlread import TRUE_FLAGS, parse

Broken: TypeAlias = Callable[
    [LogError], None
]  # takes an entry or an archive that cannot be read and is left out
_CAPITAL = re.compile(rb"T(?:rue|RUE)\b")
_RECORD = msgspec.msgpack.Decoder(IterationRecord)


def no_such_entry(directory: Path | str, iteration: int) -> NotFoundError:
    """Return the error for an iteration that a log does not have; it says where it was looked for."""
    path = Path(directory) / f"iter-{iteration}.yaml"
    why = "; numbers begin with 0" if iteration < 0 else ""
    return NotFoundError(f"{path}: no entry for iteration {iteration} in this log{why}")


def load_iteration_log(
    directory: Path | str, true_flags: Collection[str] = TRUE_FLAGS, broken: Broken | None = None
) -> list[IterationRecord]:
    """Read every entry of a log, sorted by iteration; of one iteration the last file name wins over the archive.

    ``true_flags`` are as for :class:`~scoring.yamlread.Reader`. ``broken`` takes what cannot be read, else LogError
    has a line for each in ``faults``; LogError also without a directory.
    """
    return list(load_log_for((), directory, true_flags, broken))


def load_log_for(
    rubrics: Iterable[Rubric],
    directory: Path | str,
    true_flags: Collection[str],
    broken: Broken | None,
    cache_dir: Path | None = None,
    keep: bool = True,
) -> Records:
    """Return the entries of a log as some rubrics load it, sorted; LogError, or ``broken`` takes them.

    With a ``cache_dir`` unchanged entries are not opened, and with ``keep`` new ones are kept there.
    """
    if any(rubric.loading == STRICT for rubric in rubrics):
        broken = None
    directory = Path(directory)
    found: list[LogError] = []
    leave_out = found.append if broken is None else broken
    try:
        names = os.listdir(directory)
    except (OSError, ValueError) as e:
        raise LogError(no_log(directory, f"{directory}: {reason(e)}")) from e
    files = sorted(filter(is_entry_name, names))
    parsed = _entries(directory, files, true_flags, leave_out, cache_dir, keep)
    entries = {entry.iteration: entry for entry in parsed}
    if ARCHIVE_NAME in names:
        try:
            for record in load_archive(directory / ARCHIVE_NAME, true_flags, broken):
                entries.setdefault(record.iteration, record)
        except LogError as e:
            leave_out(e)
    if found:
        raise LogError(*map(str, found)) from found[0]
    return Records(entries[number] for number in sorted(entries))


def _entries(
    directory: Path,
    names: Iterable[str],
    true_flags: Collection[str],
    broken: Broken,
    cache_dir: Path | None,
    keep: bool,
) -> Iterator[IterationRecord]:
    """Yield the entries in some files of a log; what cannot be read goes to ``broken``.

    A file that did not change is not opened: 2,000 entries take 1.1 s to read, and 0.06 s from the store.
    """
    folder = os.path.realpath(directory)
    prefix = os.fsencode(f"{' '.join(sorted(true_flags))}\0{folder}/")
    with Store(cache_dir, keep) as store:
        kept = store.get_all("entry", prefix)
        for name in names:
            key = prefix + name.encode()
            stamp = _stamp(f"{folder}/{name}") if cache_dir else None
            try:
                record = _RECORD.decode(kept[key, stamp or b""])
            except (KeyError, msgspec.MsgspecError):  # it is not kept, or not as it is kept now
                try:
                    record = load_entry(directory / name, true_flags)
                except LogError as e:
                    broken(e)
                    continue
                with contextlib.suppress(
                    UnicodeEncodeError, OverflowError
                ):  # no UTF-8, or more than 64 bits
                    store.put("entry", key, stamp, msgspec.msgpack.encode(record))
            yield record


def claims_read_as_false(directory: Path | str) -> list[int]:
    """Return the iterations with a claim ``True`` or ``TRUE``, which is false by the rules of the reference."""
    found: list[int] = []
    for name in list_names(directory):
        if is_entry_name(name) or name == ARCHIVE_NAME:
            path = Path(directory, name)
            with contextlib.suppress(InputError):  # such a file was reported already
                if _CAPITAL.search(read_file(path)):
                    readings = load_records(path), load_records(path, ("true", "True", "TRUE"))
                    found += [
                        one.iteration
                        for one, other in zip(*readings, strict=True)
                        if repr(one) != repr(other)
                    ]
    return sorted(found)


def _stamp(path: str) -> bytes | None:
    try:
        return stamp_of(os.stat(path))
    except OSError:
        return None


def load_records(path: Path, true_flags: Collection[str] = TRUE_FLAGS) -> list[IterationRecord]:
    """Read the entries of one file, which is an entry or the archive; raises as :func:`load_entry`."""
    return (
        load_archive(path, true_flags)
        if path.name == ARCHIVE_NAME
        else [load_entry(path, true_flags)]
    )


def load_entry(path: Path, true_flags: Collection[str] = TRUE_FLAGS) -> IterationRecord:
    """Read one entry file; LogError when it cannot be read or is no entry."""
    try:
        return parse_iteration_record(read_file(path), true_flags)
    except FileNotFoundError as e:
        raise LogError(f"{path}: disappeared while the log was read; run again") from e
    except YamlError as e:
        raise _no_entry(path, e) from e
    except InputError as e:
        raise LogError(f"{e}; an entry must be a readable file of YAML") from e


def _no_entry(path: Path, error: YamlError) -> LogError:
    """Return the error for what is no entry; it does not quote a file that a link leads to outside of the log."""
    return LogError(
        f"{path}: {error if is_inside(path, path.parent) else 'is a link to a file that is no entry'}"
    )


def load_archive(
    path: Path, true_flags: Collection[str] = TRUE_FLAGS, broken: Broken | None = None
) -> list[IterationRecord]:
    """Read the archive's entries, none without a file; LogError, or ``broken`` takes an entry that does not fit."""
    left_out = (lambda error: broken(_no_entry(path, error))) if broken else None
    try:
        return parse_archive(read_file(path), true_flags, left_out)
    except FileNotFoundError:
        return []
    except YamlError as e:
        raise _no_entry(path, e) from e
    except InputError as e:
        raise LogError(f"{e}; the archive must be a readable file of YAML") from e


class EntryPlaces(Frozen, frozen=True):
    """The file that an entry is in, and the line, from 1, of each field by its way (``verifiers.0.status``)."""

    path: Path
    lines: dict[str, int]

    def place(self, field: str) -> str | None:
        """Return where a field is, as ``file:line``; None when the entry does not have it."""
        line = self.lines.get(field)
        return None if line is None else f"{self.path}:{line}"


def entry_places(iter_log_dir: Path, iteration: int) -> EntryPlaces | None:
    """Find the entry that counts for an iteration; None when it cannot be found (any more)."""
    found: EntryPlaces | None = None
    try:
        names = list_names(iter_log_dir)
        for name in filter(is_entry_name, names):
            path = iter_log_dir / name
            with contextlib.suppress(
                LogError
            ):  # the broken ones were reported when the log was loaded
                if load_entry(path).iteration == iteration:
                    found = EntryPlaces(path, dict(field_lines(parse(read_file(path)))))
        if found is None and ARCHIVE_NAME in names:
            found = _archived(iter_log_dir / ARCHIVE_NAME, iteration)
    except DaScoreError:
        return None
    return found


def _archived(path: Path, iteration: int) -> EntryPlaces | None:
    data = read_file(path)
    numbers = [record.iteration for record in parse_archive(data)]
    if iteration not in numbers:
        return None
    way = f"iterations.{numbers.index(iteration)}."
    lines = {field: line for field, line in field_lines(parse(data)) if field.startswith(way)}
    return EntryPlaces(path, {field.removeprefix(way): line for field, line in lines.items()})


def field_lines(node: Node | None, way: str = "", depth: int = 0) -> Iterator[tuple[str, int]]:
    """Yield the way to every field and the line of its name; where a way is met twice, the later line is right."""
    if node is None or depth > 8:
        return
    node = target_of(node)
    if isinstance(node, MappingNode):
        pairs = [(target_of(key), value) for key, value in node.pairs]
        for part in (target_of(value) for key, value in pairs if is_merge(key)):
            for mapping in reversed(part.items) if isinstance(part, Sequence) else (part,):
                yield from field_lines(mapping, way, depth + 1)
        for key, value in pairs:
            if isinstance(key, Scalar) and not is_merge(key):
                yield f"{way}{key.value}", key.line
                yield from field_lines(value, f"{way}{key.value}.", depth + 1)
    elif isinstance(node, Sequence):
        for n, item in enumerate(map(target_of, node.items)):
            yield f"{way}{n}", item.line
            yield from field_lines(item, f"{way}{n}.", depth + 1)
