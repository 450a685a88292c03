"""From one YAML document to one record: both schemas, by the table of their fields (:mod:`scoring.log.fields`).

See ``docs/LOG.md``, "One record for both schemas" and "How YAML scalars are read".
"""

from collections.abc import Callable, Collection
from typing import Any

from scoring.errors import YamlError
from scoring.log.fields import ENTRIES, FLAT_IMPL, NESTED_IMPL, EntryBlock, Field, Fields
from scoring.log.model import SCHEMA_FLAT, SCHEMA_NESTED, ImplBlock, IterationRecord
from scoring.yamlnodes import Node
from scoring.yamlread import TRUE_FLAGS, Reader, Take, items_of, parse


def _retries(reader: Reader, node: Node) -> int | None:
    number = reader.integer(node)
    return None if reader.is_null(node) else number


def _flag_if_any(reader: Reader, node: Node) -> bool | None:
    """Take a flag; None for what is none, because the reference does not look at it."""
    try:
        return reader.flag(node)
    except YamlError:
        return None


def _made(model: type[Any], values: dict[str, Any]) -> Any:
    """Return a block; one that may have retries notes whether there are any."""
    if "retries_reported" in model.__struct_fields__:
        values["retries_reported"] = values.get("retries") is not None
        values["retries"] = values.get("retries") or 0
    return model(**values)


def _take_block(block: EntryBlock) -> Take:
    takes = _takes(block.fields)
    if block is NESTED_IMPL:
        takes["tests_total_pass"] = _flag_if_any

    def take(reader: Reader, node: Node) -> Any:
        values = reader.struct(node, takes)
        if block is NESTED_IMPL and "tests_total_pass" in values:
            values["tests_total_claim"] = values.pop("tests_total_pass")
        return _made(block.model, values)

    return take


def _take(field: Field) -> Take:
    take = _take_block(field.holds) if isinstance(field.holds, EntryBlock) else field.holds.take
    if field.is_list:
        take_list = items_of(take)
        return lambda reader, node: tuple(take_list(reader, node))
    if field.may_be_none:
        return lambda reader, node: None if reader.is_null(node) else take(reader, node)
    return take


def _takes(fields: Fields) -> dict[str, Take]:
    return {name: _retries if name == "retries" else _take(field) for name, field in fields.items()}


_FLAT, _NESTED = (_takes(ENTRIES[version].fields) for version in (SCHEMA_FLAT, SCHEMA_NESTED))


def parse_iteration_record(data: bytes | str, true_flags: Collection[str] = TRUE_FLAGS) -> IterationRecord:
    """Read one iteration-log entry of either schema.

    Args:
        data: the entry's text.
        true_flags: the spellings of a plain boolean that a tri-state flag takes for true.

    Raises:
        YamlError: broken YAML, a value that does not fit its field, or a ``schema_version`` other than 1 and 2.
    """
    node = parse(data.encode("utf-8", "surrogateescape") if isinstance(data, str) else data)
    reader = Reader(true_flags)
    given = {} if node is None else reader.struct(node, {"schema_version": Reader.integer})
    version = given.get("schema_version")
    if node is not None and version == SCHEMA_FLAT:
        return flat_record(reader, node)
    if node is not None and version == SCHEMA_NESTED:
        return IterationRecord(**{"impl": _made(ImplBlock, {})} | reader.struct(node, _NESTED))
    raise YamlError(
        "schema_version is missing; write 1 (flat) or 2 (nested)"
        if version is None
        else f"schema_version {version} is not supported; write 1 (flat) or 2 (nested)"
    )


def flat_record(reader: Reader, node: Node) -> IterationRecord:
    """Take a node as a schema-1 entry, whatever schema it names."""
    values = reader.struct(node, _FLAT)
    impl = {there: values.pop(name) for name, there in FLAT_IMPL.items() if name in values}
    return IterationRecord(**values | {"schema_version": SCHEMA_FLAT}, impl=_made(ImplBlock, impl))


def parse_archive(
    data: bytes, true_flags: Collection[str] = TRUE_FLAGS, broken: Callable[[YamlError], None] | None = None
) -> list[IterationRecord]:
    """Read ``historical.yaml``: a mapping with a list ``iterations`` of schema-1 entries.

    With ``broken`` an entry with fields that do not fit is passed to it, and left out.

    Raises:
        YamlError: broken YAML or a value that does not fit its field.
    """

    def fitting_record(reader: Reader, node: Node) -> IterationRecord | None:
        try:
            return flat_record(reader, node)
        except YamlError as e:
            if broken is None:
                raise
            broken(e)
            return None

    node = parse(data)
    given = {} if node is None else Reader(true_flags).struct(node, {"iterations": items_of(fitting_record)})
    return [record for record in given.get("iterations", []) if record is not None]
