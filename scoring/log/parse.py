"""From one YAML document to one record, by one table, as JSON Schema, lint and templates have it (``docs/LOG.md``)."""

from collections.abc import Callable, Collection, Iterator, Mapping
from types import GenericAlias, UnionType
from typing import Any, NamedTuple, TypeAlias, get_args

from scoring.errors import YamlError
from scoring.log import model
from scoring.yamlnodes import BOOL, FLOAT, INT, Node
from scoring.yamlread import TRUE_FLAGS, Reader, Take, items_of, parse


class ScalarField(NamedTuple):
    """How a single value is taken, and is called; with one of the ``tags`` of YAML, or any, it is read as written."""

    name: str
    wanted: str
    take: Callable[[Reader, Node], Any]
    json: Mapping[str, Any]
    tags: tuple[str, ...] = ()


_WHOLE = ScalarField("integer", "a whole number", Reader.integer, {"type": "integer"}, (INT,))
_SCALARS: dict[Any, ScalarField] = {
    str: ScalarField("text", "text", Reader.string, {"type": "string"}),
    int: _WHOLE._replace(json={"minimum": 0, "type": "integer"}),
    float: ScalarField("number", "a number", Reader.number, {"type": "number"}, (INT, FLOAT)),
    bool: ScalarField("yes or no", "true or false", Reader.boolean, {"type": "boolean"}, (BOOL,)),
    bool | None: ScalarField(
        "flag",
        "a flag (true, false, or nothing)",
        Reader.flag,
        {"type": ["boolean", "null"]},
        (BOOL,),
    ),
}


class EntryBlock(NamedTuple):
    """A mapping in an entry: its name in JSON Schema, the class of its value, and its fields by name."""

    name: str
    model: type[Any]
    fields: "Fields"


class Field(NamedTuple):
    """A field: a value or a list of values; ``may_be_none``: without it the record has None there."""

    holds: ScalarField | EntryBlock
    description: str
    is_list: bool = False
    required: bool = False
    may_be_none: bool = False


Fields: TypeAlias = Mapping[str, Field]


def _fields(model: type[Any]) -> dict[str, Field]:
    kinds = {
        name: kind for name, kind in model.__annotations__.items() if hasattr(kind, "__metadata__")
    }
    return {name: _field(*get_args(kind)) for name, kind in kinds.items()}


def _field(kind: Any, description: str) -> Field:
    if kind in _SCALARS:
        return Field(_SCALARS[kind], description)
    if isinstance(kind, GenericAlias):  # tuple[X, ...]
        return _field(get_args(kind)[0], description)._replace(is_list=True)
    if isinstance(kind, UnionType):
        return _field(get_args(kind)[0], description)._replace(may_be_none=True)
    return Field(_BLOCKS[kind], description)


_BLOCKS: dict[Any, EntryBlock] = {}
for _model, _name in {
    model.SelfAssessment: "AssessmentFields",
    model.AgentInfo: "AgentFields",
    model.TokenUsage: "TokenFields",
    model.ImplBlock: "ImplFields",
    model.TestAdded: "TestFields",
    model.LinkedTrace: "TraceFields",
    model.VerifierRecord: "VerifierFields",
    model.ReviewBlock: "ReviewFields",
}.items():  # a block comes before those that hold it
    _BLOCKS[_model] = EntryBlock(_name, _model, _fields(_model))


def _version(number: int) -> Field:
    version = _WHOLE._replace(json={"const": number, "type": "integer"})
    return Field(version, f"The version of this form of entries: {number}.", required=True)


_IMPL = _BLOCKS[model.ImplBlock]
_TOP = _fields(model.IterationRecord)
_TOP["iteration"] = _TOP["iteration"]._replace(holds=_WHOLE, required=True)
_ONLY_NESTED = (
    "branch",
    "known_from",
    "checkpoint_at",
    "agent",
    "session_tokens",
    "impl",
    "verifiers",
    "review",
)
_COMMON = {name: field for name, field in _TOP.items() if name not in _ONLY_NESTED}

FLAT_IMPL = {
    "summary": "summary",
    "scope_note": "scope_note",
    "retries": "retries",
    "tests_added": "focused_tests_added",
    "tests_total_pass": "tests_total_pass",
    "self_assessment": "self_assessment",
}  # the fields of schema 1 that are in the block ``impl`` of a record, with their names there

# schema 2 has a claim there that the reference does not read
NESTED_IMPL = _IMPL._replace(
    fields={name: one for name, one in _IMPL.fields.items() if name != "tests_total_pass"}
)

ENTRIES: dict[int, EntryBlock] = {
    model.SCHEMA_FLAT: EntryBlock(
        "FlatEntry",
        model.IterationRecord,
        _COMMON
        | {"schema_version": _version(1)}
        | {name: _IMPL.fields[there] for name, there in FLAT_IMPL.items()},
    ),
    model.SCHEMA_NESTED: EntryBlock(
        "NestedEntry",
        model.IterationRecord,
        _COMMON
        | {"schema_version": _version(2)}
        | {name: _TOP[name] for name in _ONLY_NESTED}
        | {"impl": _TOP["impl"]._replace(holds=NESTED_IMPL)},
    ),
}


class DescribedField(NamedTuple):
    """A field with its way through the entry (``verifiers[].status``), what it holds, and what it means."""

    way: str
    kind: str
    required: bool
    meaning: str


def described_fields(entry: EntryBlock, way: str = "") -> Iterator[DescribedField]:
    """Yield the fields of a block in the order in which they are written, blocks before what is in them."""
    first = ("schema_version",) if "schema_version" in entry.fields else ()
    for name in dict.fromkeys((*first, *entry.fields)):
        field = entry.fields[name]
        inside = field.holds if isinstance(field.holds, EntryBlock) else None
        whole = f"{way}{name}{'[]' if field.is_list and inside else ''}"
        kind = "list" if field.is_list else "block" if inside else field.holds.name
        yield DescribedField(whole, kind, field.required, field.description)
        if inside:
            yield from described_fields(inside, f"{whole}.")


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
    """Return a block; one that may have retries has a note of whether there are any."""
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


_FLAT, _NESTED = (
    _takes(ENTRIES[version].fields) for version in (model.SCHEMA_FLAT, model.SCHEMA_NESTED)
)


def parse_iteration_record(
    data: bytes | str, true_flags: Collection[str] = TRUE_FLAGS
) -> model.IterationRecord:
    """Read one entry of either schema; YamlError for broken YAML, a misfit, or a schema other than 1 and 2."""
    node = parse(data.encode("utf-8", "surrogateescape") if isinstance(data, str) else data)
    reader = Reader(true_flags)
    version = (
        reader.struct(node, {"schema_version": Reader.integer}).get("schema_version")
        if node
        else None
    )
    if node and version == model.SCHEMA_FLAT:
        return flat_record(reader, node)
    if node and version == model.SCHEMA_NESTED:
        return model.IterationRecord(
            **{"impl": _made(model.ImplBlock, {})} | reader.struct(node, _NESTED)
        )
    wrong = "is missing" if version is None else f"{version} is not supported"
    raise YamlError(f"schema_version {wrong}; write 1 (flat) or 2 (nested)")


def flat_record(reader: Reader, node: Node) -> model.IterationRecord:
    """Take a node as a schema-1 entry, whatever schema it names."""
    values = reader.struct(node, _FLAT)
    impl = {there: values.pop(name) for name, there in FLAT_IMPL.items() if name in values}
    return model.IterationRecord(
        **values | {"schema_version": model.SCHEMA_FLAT}, impl=_made(model.ImplBlock, impl)
    )


def parse_archive(
    data: bytes,
    true_flags: Collection[str] = TRUE_FLAGS,
    broken: Callable[[YamlError], None] | None = None,
) -> list[model.IterationRecord]:
    """Read ``historical.yaml``, a list ``iterations`` of schema 1; YamlError, or ``broken`` takes misfits."""

    def fitting_record(reader: Reader, node: Node) -> model.IterationRecord | None:
        try:
            return flat_record(reader, node)
        except YamlError as e:
            if broken is None:
                raise
            broken(e)
            return None

    node = parse(data)
    given = (
        {}
        if node is None
        else Reader(true_flags).struct(node, {"iterations": items_of(fitting_record)})
    )
    return [record for record in given.get("iterations", []) if record is not None]
