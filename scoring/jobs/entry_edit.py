"""Sets one field in an entry, and leaves all other text as it is.

``docs/LOG.md``, "Keeping a log".
"""

import warnings
from collections.abc import Iterator, Mapping
from itertools import accumulate
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import ReusedAnchorWarning, YAMLError
from ruamel.yaml.nodes import CollectionNode, MappingNode, ScalarNode, SequenceNode
from ruamel.yaml.nodes import Node as WrittenNode

from scoring.errors import InputError, SettingsError, YamlError
from scoring.files import exclusive_lock, overwrite, read_file
from scoring.log.load import no_such_entry
from scoring.log.parse import ENTRIES, MOST_IN_ENTRY, parse_iteration_record
from scoring.log.schema import (
    DescribedField,
    described_fields,
    faults_of,
    numberless_path,
)
from scoring.text import shown
from scoring.yamlnodes import NULLS, Scalar, Sequence
from scoring.yamlread import Reader, fields_in, parse

from .entries import existing_entries, quoted

_FIXED_FIELDS = ("schema_version", "iteration")
_MOST_DIGITS_OF_INDEX = 5
_USUAL_INDENT = 2


def set_value(
    log_dir: Path,
    iteration: int,
    path: str,
    text: str,
) -> Path:
    """Set one field of an entry, and return the entry's file.

    Args:
        log_dir: the log.
        iteration: the number of the entry.
        path: the field, as ``impl.retries`` or ``verifiers.0.status``.
        text: the value, as YAML. For a field that holds a text, it is the text itself.

    Raises:
        NotFoundError: the log does not have the entry.
        SettingsError: the field does not exist or does not take the value.
        InputError: the file cannot be read, or the edit would change more than the field.
        WriteError: the file cannot be written.
    """
    entries = existing_entries(log_dir)
    if iteration not in entries:
        raise no_such_entry(log_dir, iteration)

    file = entries[iteration].path
    with exclusive_lock(log_dir):
        old = read_file(file, within=log_dir)
        overwrite(file, _with_value(file, old, path, text))
    return file


def _with_value(
    file: Path,
    data: bytes,
    path: str,
    text: str,
) -> bytes:
    """Return the content of an entry with a field set.

    Args:
        file: the entry's file, for errors.
        data: the content of the file.
        path: the field.
        text: the value, as for :func:`set_value`.

    Raises:
        SettingsError: the field does not exist or does not take the value.
        InputError: the entry cannot be read, or the edit would change more than the field.
    """
    field = _field_at(path, _version_of(file, data))
    value = _as_yaml(field, text, path)

    try:
        source = data.decode()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ReusedAnchorWarning)  # YAML allows it
            root = YAML(typ="rt", pure=True).compose(source)
        new = _edited(source, root, path, value).encode()
        faults = faults_of(parse(new))
    except (UnicodeError, YAMLError, YamlError) as e:
        raise InputError(
            f"{file}: {path} cannot be set without changing more; change it by hand"
        ) from e

    for fault in faults:
        if fault.path == path:
            raise SettingsError(f"{fault.text}; nothing was written")

    if _changes_more(data, new, path):
        raise InputError(
            f"{file}: its parts share values by aliases; nothing was written, change it by hand"
        )
    return new


def _version_of(file: Path, data: bytes) -> int:
    """Return the number of the schema of an entry, 1 or 2.

    Raises:
        InputError: the entry cannot be read, or has another schema or none.
    """
    try:
        fields = fields_in(data, {"schema_version": Reader.integer}, MOST_IN_ENTRY)
    except YamlError as e:
        raise InputError(f"{file}: {e}; mend it by hand first") from e

    version: int = fields.get("schema_version", 0)
    if version not in ENTRIES:
        raise InputError(
            f"{file}: schema_version is neither 1 nor 2; mend it by hand first"
        )
    return version


def _field_at(path: str, version: int) -> DescribedField:
    """Return the field at a path, such as ``verifiers.0.status``, of a schema.

    Raises:
        SettingsError: no field with one value has this path, or the field must not be changed.
    """
    problem = "stays as it is"
    if path not in _FIXED_FIELDS:
        problem = "is not a field that holds one value"
        field_path = numberless_path(path).removesuffix("[]")
        for field in described_fields(ENTRIES[version]):
            holds_one_value = field.kind != "block" and not field.path.endswith("[]")
            if field.path == field_path and holds_one_value:
                return field

    raise SettingsError(
        f"{path}: {problem} in schema {version}; da-score log schema entry lists the fields"
    )


def _as_yaml(field: DescribedField, text: str, path: str) -> str:
    """Return a value as YAML in one line.

    Args:
        field: the field that is to hold the value.
        text: the value: any text for a field of text, else YAML.
        path: the path of the field, for errors.

    Raises:
        SettingsError: the field cannot hold the value.
    """
    if field.kind == "text":
        return quoted(text)

    try:
        node = parse(text.encode("utf-8", "surrogateescape"))
    except YamlError as e:
        raise SettingsError(f"{path}: {shown(text)} is not a YAML value: {e}") from e

    if field.kind == "list":
        if not isinstance(node, Sequence):
            return quoted(text)
        items = [quoted(item.value) for item in node.items if isinstance(item, Scalar)]
        return f"[{', '.join(items)}]"

    if not isinstance(node, Scalar) or node.quoted or node.tag:
        raise SettingsError(
            f"{path}: {shown(text)} is not a single value; nothing was written"
        )
    return node.value


def _edited(
    source: str,
    root: WrittenNode,
    path: str,
    value: str,
) -> str:
    """Return the text of an entry with a value set.

    Args:
        source: the text.
        root: the top node of the entry in that text.
        path: the field.
        value: the value, as YAML.

    Raises:
        SettingsError: the path goes through a value without fields, or past the end of a list.
        YamlError: the path goes through an alias.
    """
    node = root
    parts = path.split(".")
    while True:
        name, *inner_parts = parts

        # A node that begins before its key ends is elsewhere in the text: an alias.
        earliest = node.start_mark.index
        inner = None
        if isinstance(node, SequenceNode):
            inner = _item_at(node, name, path)
        elif isinstance(node, MappingNode):
            for key, key_value in node.value:
                if key.value == name:
                    inner = key_value
                    earliest = key.end_mark.index
                    break
        else:
            parent = path.removesuffix("." + ".".join(parts))
            raise SettingsError(f"{path}: {parent} holds no fields; change it by hand")

        if inner is None:
            return _with_part(source, node, parts, value)
        if inner.start_mark.index < earliest:
            raise YamlError("an alias")

        is_null = (
            isinstance(inner, ScalarNode) and not inner.style and inner.value in NULLS
        )
        if is_null or not inner_parts:
            break
        node = inner
        parts = inner_parts

    start: int = inner.start_mark.index
    end = _end_of(source, inner)
    if start == end and isinstance(node, MappingNode):
        # A field without a value: right after its colon, and not where the next thing begins.
        start = source.index(":", earliest) + 1
        end = start
    space = " " if source[start - 1] in ":-" else ""
    return source[:start] + space + _in_one_line(inner_parts, value) + source[end:]


def _item_at(node: SequenceNode, name: str, path: str) -> WrittenNode | None:
    """Return the item of a list at an index, or None for the index after the last item.

    Args:
        node: the list.
        name: the index in digits, from 0.
        path: the whole path, for errors.

    Raises:
        SettingsError: the name is not an index, or is higher than the index after the last item.
    """
    count = len(node.value)
    index = -1
    if name.isdigit() and len(name) <= _MOST_DIGITS_OF_INDEX:
        index = int(name)

    if not 0 <= index <= count:
        raise SettingsError(
            f"{path}: there are {count} in the list; the next one is {count}"
        )
    return node.value[index] if index < count else None


def _with_part(
    source: str,
    node: CollectionNode,
    parts: list[str],
    value: str,
) -> str:
    """Return the text with a field added to a block, or an item to a list.

    Args:
        source: the text.
        node: the block or the list.
        parts: the rest of the path, which begins with the field or the index that the node lacks.
            Blocks and lists on the way to the value are made.
        value: the value, as YAML.
    """
    name, *inner_parts = parts
    inline = _in_one_line(inner_parts, value)
    is_list = isinstance(node, SequenceNode)
    head = "" if is_list else f"{name}: "

    index: int = node.end_mark.index - 1  # before the bracket of an empty one
    if node.value:
        index = _end_of(source, _last_node(node))
    if node.flow_style:
        separator = ", " if node.value else ""
        return source[:index] + separator + head + inline + source[index:]

    line_break = "\r\n" if "\r\n" in source else "\n"
    next_line = f"{line_break}{' ' * node.start_mark.column}"
    holds_field = bool(inner_parts) and not inner_parts[0].isdigit()
    if is_list:
        head = "- "
        if holds_field and len(inner_parts) == 1:
            inline = inline[1:-1]
    elif holds_field:
        head = f"{name}:{next_line}{' ' * _indent_of_blocks(node)}"
        inline = inline[1:-1]

    while index < len(source) and source[index] not in "\r\n":
        index += 1
    return source[:index] + next_line + head + inline + source[index:]


def _indent_of_blocks(block: CollectionNode) -> int:
    """Return how many columns the first block in a block is indented by, or two without one."""
    for _, inner in block.value:
        if isinstance(inner, MappingNode) and not inner.flow_style:
            indent: int = inner.start_mark.column - block.start_mark.column
            return indent
    return _USUAL_INDENT


def _last_node(node: CollectionNode) -> WrittenNode:
    """Return the last value of a block or list, or the last key if its value is an alias.

    Raises:
        YamlError: the last item of a list is an alias.
    """
    last: WrittenNode
    if isinstance(node, MappingNode):
        key: WrittenNode
        key, last = node.value[-1]
        return key if key.start_mark.index > last.start_mark.index else last

    last = node.value[-1]
    previous = node.value[-2] if len(node.value) > 1 else node
    if last.start_mark.index <= previous.start_mark.index:
        raise YamlError("an alias")
    return last


def _end_of(source: str, node: WrittenNode) -> int:
    """Return the index where a node ends, without the blank lines and comments that follow."""
    if isinstance(node, CollectionNode) and not node.flow_style and node.value:
        return _end_of(source, _last_node(node))

    end: int = node.end_mark.index
    if isinstance(node, ScalarNode) and node.style in ("|", ">"):
        return len(source[:end].rstrip())
    return end


def _in_one_line(parts: list[str], value: str) -> str:
    """Return a value in YAML inside of new blocks and lists, in one line.

    Args:
        parts: the path to the value, the outermost part first. Digits are the item of a new list.
        value: the value, as YAML.
    """
    for part in reversed(parts):
        value = f"[{value}]" if part.isdigit() else f"{{{part}: {value}}}"
    return value


def _changes_more(old: bytes, new: bytes, path: str) -> bool:
    """Return whether an edit changed the value of any field of the record but that at ``path``."""
    try:
        old_values = dict(_flattened(parse_iteration_record(old).as_dict()))
        new_values = dict(_flattened(parse_iteration_record(new).as_dict()))
    except YamlError:
        # The entry could not be read before the edit, and what was set is right.
        return False

    # Fields of schema 1 are in the block impl of a record.
    names_in_record = {path, f"impl.{path}"}
    if path == "tests_added":
        names_in_record.add("impl.focused_tests_added")

    prefixes = tuple(accumulate(f"{part}." for part in path.split(".")))
    for name in old_values.keys() | new_values.keys():
        if old_values.get(name) == new_values.get(name):
            continue
        if name in names_in_record or name.startswith(f"{path}."):
            continue

        # A new item of a list has empty fields, which the record did not have.
        is_new_part = name not in old_values and name.startswith(prefixes)
        if not is_new_part:
            return True

    return False


def _flattened(value: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the values inside of a value by their paths, such as ``verifiers.0.status``."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _flattened(inner, f"{prefix}.{name}" if prefix else name)
    elif isinstance(value, tuple | list):
        for index, inner in enumerate(value):
            yield from _flattened(inner, f"{prefix}.{index}")
    else:
        yield prefix, value
