"""Keeping a log by hand: a new entry, and a checked value set in one (``docs/LOG.md``, "Keeping a log")."""

import os
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from scoring.errors import (
    InputError,
    LogError,
    NotFoundError,
    SettingsError,
    Warn,
    YamlError,
    silent,
)
from scoring.evidence.git.authorship import AttributedHistory, ChangeSize
from scoring.evidence.git.repository import GitRepository
from scoring.files import alone_in, list_names, make_folder, read_file, write_atomically
from scoring.jobs.derive import MODE, git_fields, quoted
from scoring.log.find import is_entry_name
from scoring.log.load import load_entry, no_such_entry
from scoring.log.model import SCHEMA_NESTED
from scoring.log.parse import ENTRIES, DescribedField, described_fields, parse_iteration_record
from scoring.log.schema import faults_of
from scoring.text import shown, trim
from scoring.yamlnodes import NULLS, Scalar, Sequence
from scoring.yamlread import Reader, parse

_FIXED = ("schema_version", "iteration")
_WIDTH = 118
_BOM = "\ufeff"
SAME_COMMIT = 7  # the fewest digits by which a commit is named, and how many must agree where git does not know it


def new_entry(
    log_dir: Path,
    repo_dir: Path,
    iteration: int | None = None,
    commit: str = "HEAD",
    warn: Warn = silent,
) -> Path:
    """Write an iteration's entry, or the next one, from a commit; InputError, NotFoundError, WriteError."""
    known = known_of(repo_dir, commit)
    make_folder(log_dir)
    with alone_in(log_dir):
        entries = _entries(log_dir)
        number = max(entries, default=0) + 1 if iteration is None else iteration
        path = log_dir / f"iter-{number}.yaml"
        if number in entries or os.path.lexists(path):
            place = entries[number][0] if number in entries else path
            raise InputError(f"{place}: iteration {number} has an entry already; it was left alone")
        write_atomically(path, template(number, known).encode(), mode=MODE)
    sha = known.get("commit", "").strip('"')
    for n, (_, name) in entries.items():
        if len(name) >= SAME_COMMIT and sha.startswith(name.lower()):
            warn(
                f"{path}: commit {sha[:12]} is named by iteration {n} as well; name another one with --commit"
            )
            break
    return path


def _entries(log_dir: Path) -> dict[int, tuple[Path, str]]:
    found: dict[int, tuple[Path, str]] = {}
    for name in filter(is_entry_name, list_names(log_dir) if log_dir.is_dir() else ()):
        try:
            record = load_entry(log_dir / name)
            found[record.iteration] = log_dir / name, trim(record.commit)
        except LogError:
            found[number_of(name)] = log_dir / name, ""
    return found


def number_of(name: str) -> int:
    """Return the iteration in the name of an entry."""
    return int(name.removeprefix("iter-").removesuffix(".yaml").lstrip("0")[:18] or 0)


def known_of(repo_dir: Path, name: str = "HEAD") -> dict[str, str]:
    """Return what git knows of a commit, as YAML by field: nothing without commits; NotFoundError of an unknown one."""
    repository = GitRepository(repo_dir)
    history = AttributedHistory(repository, [])
    sha = history.resolved([name]).get(name)
    commit = history.written([sha]).get(sha) if sha else None
    if commit is None:
        if name == "HEAD":
            return {}
        raise NotFoundError(f"{repo_dir}: no commit {shown(name)} here")
    current = repository.branch if name == "HEAD" else ""
    branch = current or history.tips().get(commit.sha) or history.branch_behind(commit.sha)
    size = history.sizes([commit.sha]).get(commit.sha, ChangeSize())
    known = git_fields(commit, branch, size) | {"impl.summary": quoted(trim(commit.subject))}
    return known | ({} if commit.parents else {"first_commit": "true"})


_EXAMPLES = {
    "text": '""',
    "integer": "0",
    "number": "0.0",
    "yes or no": "false",
    "flag": "true",
    "list": "[]",
}


def template(iteration: int, known: Mapping[str, str]) -> str:
    """Return an entry with a comment for each field; what is not known is a comment too, and claims nothing."""
    first = f"Iteration {iteration}. Say what you know and leave out the rest: it does not count against you."
    lines = [
        f"# {line}"
        for line in textwrap.wrap(f"{first} `da-score lint` checks the log.", _WIDTH - 2)
    ]
    given = {"schema_version": "2", "iteration": str(iteration), **known}
    before = ""
    for field in described_fields(ENTRIES[SCHEMA_NESTED]):
        if field.path.count(".") < 2:  # the template shows no field that is deeper
            lines += _described(field, given, before)
            before = field.path
    return "\n".join(lines) + "\n"


def _described(field: DescribedField, given: Mapping[str, str], before: str) -> Iterator[str]:
    block, _, name = field.path.rpartition(".")
    root = field.path.partition(".")[0].removesuffix("[]")
    held = any(way == root or way.startswith(f"{root}.") for way in given)
    value = given.get(field.path, _EXAMPLES.get(field.kind, "{}"))
    if not block:
        mark = "" if held else "# "
        yield ""
        yield from (f"# {line}" for line in textwrap.wrap(field.meaning, _WIDTH - 2))
        yield (
            f"{mark}{root}:"
            if field.kind == "block" or field.path.endswith("[]")
            else f"{mark}{root}: {value}"
        )
        return
    indent = ("  - " if before == block else "    ") if block.endswith("[]") else "  "
    line = f"{indent}{name.removesuffix('[]')}: {value}  # {field.meaning}"
    yield line if field.path in given else f"  # {line.removeprefix('  ')}" if held else f"# {line}"


def set_value(log_dir: Path, iteration: int, way: str, text: str) -> Path:
    """Set one field (``verifiers.0.status``), return the file; NotFoundError, SettingsError, InputError, WriteError."""
    if iteration not in (entries := _entries(log_dir)):
        raise no_such_entry(log_dir, iteration)
    path = entries[iteration][0]
    with alone_in(log_dir):
        before = read_file(path, within=log_dir)
        after = _changed(path, before, way, text)
        if after != before:
            write_atomically(path, after, mode=path.stat().st_mode & 0o777)
    return path


def _changed(path: Path, before: bytes, way: str, text: str) -> bytes:
    try:
        document = parse(before)
        version = (
            Reader().struct(document, {"schema_version": Reader.integer}).get("schema_version")
            if document
            else 0
        )
    except YamlError as e:
        raise InputError(f"{path}: {e}; mend it by hand first") from e
    model = ENTRIES.get(version or 0)
    if model is None:
        raise InputError(f"{path}: schema_version is neither 1 nor 2; mend it by hand first")
    parts = way.split(".")
    numbered = "".join("[]" if part.isdigit() else f".{part}" for part in parts)[1:]
    ways = (numbered, numbered.removesuffix("[]"))
    field = next((field for field in described_fields(model) if field.path in ways), None)
    if field is None or way in _FIXED or field.kind == "block" or field.path.endswith("[]"):
        why = "stays as it is" if way in _FIXED else "is no field that holds one value"
        raise SettingsError(
            f"{way}: {why} in schema {version}; da-score schema entry lists the fields"
        )
    written = _written(field, text, way)
    try:
        source = before.decode()
        root = next(yaml.compose_all(source.removeprefix(_BOM), Loader=yaml.CBaseLoader))
        start, end, new = _change(source.removeprefix(_BOM), root, parts, written, way)
        skipped = len(source) - len(source.removeprefix(_BOM))
        after = (source[: start + skipped] + new + source[end + skipped :]).encode()
        faults = faults_of(parse(after))
    except (UnicodeError, yaml.YAMLError, YamlError) as e:
        raise InputError(
            f"{path}: {way} cannot be set without changing more; change it by hand"
        ) from e
    for fault in faults:
        if fault.path == way or fault.path.startswith(f"{way}."):
            raise SettingsError(f"{fault.text}; nothing was written")
    _unless_more(path, before, after, [".".join(parts[: n + 1]) for n in range(len(parts))])
    return after


def _written(field: DescribedField, text: str, way: str) -> str:
    """Return a value as YAML in one line; SettingsError where it is none for the field."""
    if field.kind == "text":
        return quoted(text)
    try:
        node = parse(text.encode("utf-8", "surrogateescape"))
    except YamlError as e:
        raise SettingsError(f"{way}: {shown(text)} is no YAML value: {e}") from e
    if field.kind == "list":
        items = (
            [item.value for item in node.items if isinstance(item, Scalar)]
            if isinstance(node, Sequence)
            else None
        )
        return quoted(text) if items is None else f"[{', '.join(map(quoted, items))}]"
    if not isinstance(node, Scalar) or node.quoted or node.tag or "\n" in node.value:
        raise SettingsError(f"{way}: {shown(text)} is no single value; nothing was written")
    return node.value


def _change(
    source: str, node: yaml.Node, parts: list[str], value: str, way: str
) -> tuple[int, int, str]:
    name, rest = parts[0], parts[1:]
    after = node.start_mark.index
    if isinstance(node, yaml.SequenceNode):
        place = int(name) if name.isdigit() and len(name) < 6 else -1
        if not 0 <= place <= len(node.value):
            raise SettingsError(
                f"{way}: there are {len(node.value)} in the list; the next one is {len(node.value)}"
            )
        inner = node.value[place] if place < len(node.value) else None
    elif isinstance(node, yaml.MappingNode):
        pair = next(((key, inner) for key, inner in node.value if key.value == name), None)
        inner = pair and pair[1]
        after = pair[0].end_mark.index if pair else after
    else:
        raise SettingsError(
            f"{way}: {way.removesuffix('.' + '.'.join(parts))} holds no fields; change it by hand"
        )
    if inner is None:
        return _added(source, node, parts, value)
    if inner.start_mark.index < after:
        raise YamlError("an alias")
    is_null = isinstance(inner, yaml.ScalarNode) and not inner.style and inner.value in NULLS
    if rest and not is_null:
        return _change(source, inner, rest, value, way)
    start = inner.start_mark.index
    space = " " if source[start - 1] in ":-" else ""
    return start, _end_of(source, inner), space + _flow(rest, value)


def _added(
    source: str, node: yaml.CollectionNode, parts: list[str], value: str
) -> tuple[int, int, str]:
    """Return the same for a field or an item that a block or a list does not have."""
    is_list = isinstance(node, yaml.SequenceNode)
    rest, name = parts[1:], "" if is_list else f"{parts[0]}: "
    if node.flow_style or not node.value:
        inside = source[node.start_mark.index + 1 : node.end_mark.index - 1].strip()
        at = _end_of(source, _last(node)) if inside and node.value else node.end_mark.index - 1
        return at, at, f"{', ' if node.value else ''}{name}{_flow(rest, value)}"
    indent = " " * node.start_mark.column
    at = _end_of(source, _last(node))
    at = next((n for n in range(at, len(source)) if source[n] in "\r\n"), len(source))
    line = "\r\n" if "\r\n" in source else "\n"
    if is_list:
        new = (
            f"- {rest[0]}: {value}"
            if len(rest) == 1 and not rest[0].isdigit()
            else f"- {_flow(rest, value)}"
        )
    elif rest and not rest[0].isdigit():
        blocks = (
            inner
            for _, inner in node.value
            if isinstance(inner, yaml.MappingNode) and not inner.flow_style
        )
        step = next((inner.start_mark.column - node.start_mark.column for inner in blocks), 2)
        new = f"{parts[0]}:{line}{indent}{' ' * step}{rest[0]}: {_flow(rest[1:], value)}"
    else:
        new = name + _flow(rest, value)
    return at, at, f"{line}{indent}{new}"


def _last(node: yaml.CollectionNode) -> yaml.Node:
    last = node.value[-1]
    key, inner = last if isinstance(last, tuple) else (node, last)
    found: yaml.Node = inner if inner.start_mark.index >= key.start_mark.index else key
    return found


def _end_of(source: str, node: yaml.Node) -> int:
    """Return where a node ends, without the blank lines and comments behind it."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        return _end_of(source, _last(node))
    end = node.end_mark.index
    return (
        len(source[:end].rstrip())
        if isinstance(node, yaml.ScalarNode) and node.style in ("|", ">")
        else end
    )


def _flow(parts: list[str], value: str) -> str:
    """Return a value inside the blocks and lists that it is still to be in, in one line."""
    for part in reversed(parts):
        value = f"[{value}]" if part.isdigit() else f"{{{part}: {value}}}"
    return value


def _unless_more(path: Path, before: bytes, after: bytes, ways: list[str]) -> None:
    try:
        old, new = (dict(_flat(parse_iteration_record(data).as_dict())) for data in (before, after))
    except YamlError:  # it could not be read before either; what was set is right
        return
    changed = [way for way in old.keys() | new.keys() if old.get(way) != new.get(way)]
    first = ways[-1]
    allowed = {
        first,
        f"impl.{first}",
        *({"impl.focused_tests_added"} if first == "tests_added" else ()),
    }
    inside = tuple(f"{one}." for one in ways)
    if any(
        w not in allowed
        and not w.startswith(f"{first}.")
        and (w in old or not w.startswith(inside))
        for w in changed
    ):
        raise InputError(
            f"{path}: its parts share values by aliases; nothing was written, change it by hand"
        )


def _flat(value: Any, way: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for key, inside in value.items():
            yield from _flat(inside, f"{way}.{key}" if way else key)
    elif isinstance(value, tuple | list):
        for n, inside in enumerate(value):
            yield from _flat(inside, f"{way}.{n}")
    else:
        yield way, value
