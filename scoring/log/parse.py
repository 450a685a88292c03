"""From one YAML document to one record: the two schemas, field by field.

See ``docs/LOG.md``, "One record for both schemas" and "How YAML scalars are read".
"""

from collections.abc import Callable, Collection, Mapping
from typing import Any

from scoring.errors import YamlError
from scoring.log.model import (
    SCHEMA_FLAT,
    SCHEMA_NESTED,
    AgentInfo,
    ImplBlock,
    IterationRecord,
    LinkedTrace,
    ReviewBlock,
    SelfAssessment,
    TestAdded,
    TokenUsage,
    VerifierRecord,
)
from scoring.yamlnodes import Node
from scoring.yamlread import TRUE_FLAGS, Reader, Take, items_of, parse

_BUILT_IN: dict[Any, Take] = {
    str: Reader.string,
    int: Reader.integer,
    float: Reader.number,
    bool: Reader.boolean,
    bool | None: Reader.flag,
}


def _fields(model: type[Any], *left_out: str, **others: Take) -> dict[str, Take]:
    """Return how the fields of a model are taken: scalars by their type, the rest as given."""
    taken = {name: _BUILT_IN[kind] for name, kind in model.__annotations__.items() if kind in _BUILT_IN}
    return {name: take for name, take in taken.items() if name not in left_out} | others


def _block(build: Callable[..., Any], fields: Mapping[str, Take]) -> Take:
    def take(reader: Reader, node: Node) -> Any:
        return build(**reader.struct(node, fields))

    return take


def _retrying(build: Callable[..., Any]) -> Callable[..., Any]:
    """Return how a block with retries is built: with a note of whether there were any."""

    def with_note(**values: Any) -> Any:
        retries = values.pop("retries", None)
        return build(**values, retries=retries or 0, retries_reported=retries is not None)

    return with_note


def _retries(reader: Reader, node: Node) -> int | None:
    number = reader.integer(node)
    return None if reader.is_null(node) else number


def _tuple_of(take: Take) -> Take:
    take_list = items_of(take)
    return lambda reader, node: tuple(take_list(reader, node))


_impl = _retrying(ImplBlock)


def _nested_impl(**values: Any) -> ImplBlock:
    """Build the block of schema 2, whose ``tests_total_pass`` is no field of the reference and is kept apart."""
    block: ImplBlock = _impl(tests_total_claim=values.pop("tests_total_pass", None), **values)
    return block


def _flag_if_any(reader: Reader, node: Node) -> bool | None:
    """Take a flag; None for what is none, because the reference does not look at it."""
    try:
        return reader.flag(node)
    except YamlError:
        return None


_self_assessment = _block(SelfAssessment, _fields(SelfAssessment))

_FLAT_IMPL = {
    "summary": Reader.string,
    "scope_note": Reader.string,
    "retries": _retries,
    "tests_added": Reader.integer,
    "tests_total_pass": Reader.flag,
    "self_assessment": _self_assessment,
}
_FLAT_NAMES = {"tests_added": "focused_tests_added"}

_FLAT = _fields(IterationRecord, "checkpoint_at", "branch", **_FLAT_IMPL)

_token_usage = _block(TokenUsage, _fields(TokenUsage))

_verifier = _block(
    _retrying(VerifierRecord),
    _fields(
        VerifierRecord,
        "retries_reported",
        retries=_retries,
        tests_added_by_kind=_tuple_of(_block(TestAdded, _fields(TestAdded))),
        linked_traces=_tuple_of(_block(LinkedTrace, _fields(LinkedTrace))),
        self_assessment=_self_assessment,
    ),
)

_NESTED = _fields(
    IterationRecord,
    agent=_block(AgentInfo, _fields(AgentInfo)),
    session_tokens=lambda reader, node: None if reader.is_null(node) else _token_usage(reader, node),
    impl=_block(
        _nested_impl,
        _fields(
            ImplBlock,
            *("retries_reported", "tests_total_claim"),
            tests_total_pass=_flag_if_any,
            retries=_retries,
            self_assessment=_self_assessment,
        ),
    ),
    verifiers=_tuple_of(_verifier),
    review=_block(ReviewBlock, _fields(ReviewBlock, failed_gates=_tuple_of(Reader.string))),
)


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
        return IterationRecord(**{"impl": _impl()} | reader.struct(node, _NESTED))
    raise YamlError(
        "schema_version is missing; write 1 (flat) or 2 (nested)"
        if version is None
        else f"schema_version {version} is not supported; write 1 (flat) or 2 (nested)"
    )


def flat_record(reader: Reader, node: Node) -> IterationRecord:
    """Take a node as a schema-1 entry, whatever schema it names."""
    values = reader.struct(node, _FLAT)
    impl = {_FLAT_NAMES.get(name, name): values.pop(name) for name in _FLAT_IMPL if name in values}
    return IterationRecord(**values | {"schema_version": SCHEMA_FLAT}, impl=_impl(**impl))


def parse_archive(
    data: bytes, true_flags: Collection[str] = TRUE_FLAGS, broken: Callable[[YamlError], None] | None = None
) -> list[IterationRecord]:
    """Read ``historical.yaml``: a mapping with a list ``iterations`` of schema-1 entries.

    With ``broken`` an entry whose fields do not fit is passed to it, and left out.

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
