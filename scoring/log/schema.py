"""What an entry may hold, field by field: the one source of its JSON Schema, of ``lint`` and of docs/LOG.md's table.

The models say what belongs into an entry; what is made of one that is not so the parser decides
(:mod:`scoring.log.parse`). A scalar is taken as the parser takes it, so the two never disagree on what can be read;
what is read otherwise than it is written is a fault that stops nothing. pydantic takes long to load, so a command
imports this only when it needs it.

The module is long, because it describes some seventy fields.
"""

from collections.abc import Callable, Iterator
from functools import cache
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, PlainValidator, TypeAdapter, ValidationError, WithJsonSchema
from pydantic_core import PydanticCustomError

from scoring.errors import YamlError
from scoring.log.model import SCHEMA_FLAT, SCHEMA_NESTED
from scoring.text import shown
from scoring.yamlnodes import BOOL, FLOAT, INT, NULL, Alias, MappingNode, Node, Scalar, Sequence
from scoring.yamlread import Reader

_OTHERWISE = "read_otherwise"
_MOST_NODES = 20_000
"""How many values of one entry are looked at; aliases may make many of few."""

_READER = Reader()


def _taken(take: Callable[[Reader, Node], Any], wanted: str, schema: dict[str, Any], *plain: str) -> tuple[Any, Any]:
    """Return how a field takes a scalar, and its JSON Schema; ``plain`` are the tags of what is read as written."""

    def check(value: Any) -> Any:
        if not isinstance(value, Scalar | Sequence | MappingNode):  # plain data, as a program gives it
            return value
        try:
            taken = take(_READER, value)
            tag = value.resolved()[0] if isinstance(value, Scalar) else ""
        except YamlError as e:
            raise PydanticCustomError("misfit", "{what}", {"what": f"{_words(value)} where {wanted} belongs"}) from e
        if plain and tag not in (*plain, NULL):
            said = f"{_words(value)} is no {wanted.removeprefix('a ')}, and is read as {shown(taken)}"
            raise PydanticCustomError(_OTHERWISE, "{what}", {"what": said})
        return taken

    return PlainValidator(check), WithJsonSchema(schema)


def _words(node: Node) -> str:
    if isinstance(node, Scalar):
        return shown(node.value)
    return "a list" if isinstance(node, Sequence) else "a mapping"


Text: TypeAlias = Annotated[str, *_taken(Reader.string, "text", {"type": "string"})]
Whole: TypeAlias = Annotated[int, *_taken(Reader.integer, "a whole number", {"type": "integer"}, INT)]
Count: TypeAlias = Annotated[int, *_taken(Reader.integer, "a whole number", {"type": "integer", "minimum": 0}, INT)]
Amount: TypeAlias = Annotated[float, *_taken(Reader.number, "a number", {"type": "number"}, INT, FLOAT)]
YesOrNo: TypeAlias = Annotated[bool, *_taken(Reader.boolean, "true or false", {"type": "boolean"}, BOOL)]
Flag: TypeAlias = Annotated[
    bool | None, *_taken(Reader.flag, "a flag (true, false, or nothing)", {"type": ["boolean", "null"]}, BOOL)
]


def _field(description: str, *, required: bool = False, default: Any = None) -> Any:
    return Field(description=description) if required else Field(default, description=description)


class EntryPart(BaseModel):
    """A mapping of an entry: unknown keys are faults."""

    model_config = ConfigDict(extra="forbid", json_schema_extra=lambda schema: _without_defaults(schema))


def _without_defaults(schema: dict[str, Any]) -> None:
    """Leave out what says only that a field may be left out."""
    schema.pop("description", None)
    for described in schema.get("properties", {}).values():
        described.pop("default", None)
        described.pop("title", None)


class AssessmentFields(EntryPart):
    """What an agent says of its own discipline."""

    read_loop_state: YesOrNo = _field("The state of the loop was read before the work began.")
    one_item_only: Flag = _field("The iteration did one item and no more.")
    committed_after_tests: YesOrNo = _field("The commit came after the tests had run.")
    aligned_with_canonical_tasks: Flag = _field("The work is one of the tasks that the plan lists.")
    persisted_via_workflow_commands: Text = _field("How the state was kept, in words.")
    ran_cli_command: YesOrNo = _field("A command was run to see the change work.")
    exercised_new_scenario: YesOrNo = _field("Something was tried that had not been tried before.")
    tests_positive_and_negative: YesOrNo = _field("Tests say both what works and what is refused.")
    tests_used_sandbox: YesOrNo = _field("Tests ran in a sandbox.")
    cli_produced_actionable_feedback: Text = _field("What the command that was run said, in words.")
    linked_traces_to_outcomes: YesOrNo = _field("Traces are linked to the outcomes they led to.")
    stayed_under_10_files: YesOrNo = _field("Fewer than 10 files changed.")
    no_destructive_commands: Flag = _field("No command destroyed anything.")
    scoped_tests_to_write_scope: Flag = _field("The tests are of the files that the task may change.")
    tdd_refresh_performed: YesOrNo = _field("The tests were gone over before the code was written.")


class AgentFields(EntryPart):
    """Who did the iteration."""

    session_id: Text = _field("The id of the session, as the harness has it; by it transcripts are found.")
    harness: Text = _field("The harness: `claude-code`, `codex`, `gemini-cli`.")
    model: Text = _field("The model.")


class TokenFields(EntryPart):
    """The tokens that the log itself captured."""

    input_tokens: Count = _field("Tokens of input that were neither read from the cache nor written to it.")
    output_tokens: Count = _field("Tokens of output.")
    cache_read_tokens: Count = _field("Tokens of input that came from the cache.")
    cache_creation_tokens: Count = _field("Tokens of input that were written to the cache.")
    cache_hit_rate: Amount = _field("The share of the input that came from the cache, 0 to 1.")


class ImplFields(EntryPart):
    """What the agent that did the work reports."""

    summary: Text = _field("One line on what was done: the subject of the commit.")
    scope_note: Text = _field("`on-target`, or in words what went beyond the task.")
    retries: Count = _field("How often the work was begun anew; leave it out rather than guess.")
    focused_tests_added: Count = _field("How many tests were added for this change.")
    focused_tests_pass: Flag = _field("Whether these pass.")
    self_assessment: AssessmentFields = _field("What the agent says of its own discipline.")


class TestFields(EntryPart):
    """One test that a verifier names."""

    __test__ = False  # no class of tests

    name: Text = _field("Its name.")
    kind: Text = _field("`positive`, `negative`, `edge` or `regression`.")


class TraceFields(EntryPart):
    """One trace and the outcome it led to."""

    trace_ref: Text = _field("Where the trace is.")
    outcome_ref: Text = _field("Where the outcome is.")


class VerifierFields(EntryPart):
    """What one verifier reports."""

    type: Text = _field("What it is: `unit`, `lint`, `e2e`, a name.")
    status: Text = _field("How it ended: `pass`, `fail`, `partial`, `unknown`.")
    gate_passed: YesOrNo = _field("Whether the gate that it guards was open.")
    tests_added: Count = _field("How many tests it added.")
    tests_added_by_kind: list[TestFields] = _field("These tests.")
    linked_traces: list[TraceFields] = _field("Traces and the outcomes they led to.")
    tests_total_pass: Flag = _field("Whether all tests pass.")
    retries: Count = _field("How often it had to run again.")
    result_artifact: Text = _field("The file, relative to the repository, that holds its result.")
    self_assessment: AssessmentFields = _field("What it says of its own discipline.")


class ReviewFields(EntryPart):
    """What the review decided."""

    phase_1_decision: Text = _field("What the first phase decided.")
    phase_2_decision: Text = _field("What the second phase decided.")
    overall_decision: Text = _field("What was decided in the end.")
    failed_gates: list[Text] = _field("The gates that were not passed.")
    decision_artifact: Text = _field("The file, relative to the repository, that holds the decision.")


class _CommonFields(EntryPart):
    iteration: Whole = _field("The number of the iteration; the file is `iter-N.yaml`.", required=True)
    date: Text = _field("The day of the work, as `2026-06-03`.")
    wave: Text = _field("The group of tasks that the work is part of, where there are such.")
    task_id: Text = _field("The task: its id in the plan, or the issue.")
    commit: Text = _field("The SHA of the commit that holds the work, in full.")
    files_changed: Count = _field("How many files the commit changed.")
    lines_added: Count = _field("How many lines it added.")
    lines_removed: Count = _field("How many lines it removed.")
    first_commit: YesOrNo = _field("Whether it is the first commit of the repository.")


class FlatEntry(_CommonFields):
    """Schema 1, which is flat."""

    model_config = ConfigDict(title="Entry, schema 1")

    schema_version: Literal[1] = _field("The version of this form of entries: 1.", required=True)
    summary: Text = _field("One line on what was done: the subject of the commit.")
    scope_note: Text = _field("`on-target`, or in words what went beyond the task.")
    retries: Count = _field("How often the work was begun anew; leave it out rather than guess.")
    tests_added: Count = _field("How many tests were added for this change.")
    tests_total_pass: Flag = _field("Whether all tests pass.")
    self_assessment: AssessmentFields = _field("What the agent says of its own discipline.")


class NestedEntry(_CommonFields):
    """Schema 2, which has blocks."""

    model_config = ConfigDict(title="Entry, schema 2")

    schema_version: Literal[2] = _field("The version of this form of entries: 2.", required=True)
    branch: Text = _field("The branch on which the work was done.")
    checkpoint_at: Text = _field("When the state was last kept, as a time.")
    agent: AgentFields = _field("Who did the work.")
    session_tokens: TokenFields = _field("The tokens that it took, where the harness says so.")
    impl: ImplFields = _field("What the agent that did the work reports.")
    verifiers: list[VerifierFields] = _field("What each verifier reports.")
    review: ReviewFields = _field("What the review decided.")


MODELS: dict[int, type[FlatEntry] | type[NestedEntry]] = {SCHEMA_FLAT: FlatEntry, SCHEMA_NESTED: NestedEntry}

NOT_READ = {
    (SCHEMA_NESTED, "impl.tests_total_pass"): "is no field of the reference, and rubrics before 3.0.0 do not read it; "
    "for them a verifier has one (verifiers[].tests_total_pass)"
}
"""Keys that are written by mistake so often that they are no error, by schema, and what is said of them."""


def entry_schema() -> dict[str, Any]:
    """Return the JSON Schema of an entry of either schema, as ``da-score schema entry`` prints it."""
    either: Any = Annotated[Union[FlatEntry, NestedEntry], Field(discriminator="schema_version")]  # noqa: UP007
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "An entry of an iteration log (iter-N.yaml)",
        "description": "What an agent reports of one iteration. Leave out what is not known: absent is not zero.",
        **TypeAdapter(either).json_schema(),
    }


class DescribedField(NamedTuple):
    """One field: its way through the entry (``verifiers[].status``), what it takes, and what it means."""

    way: str
    kind: str
    required: bool
    meaning: str


_KINDS = {"string": "text", "integer": "integer", "number": "number", "boolean": "yes or no"}


def described_fields(model: type[EntryPart], way: str = "") -> Iterator[DescribedField]:
    """Yield the fields of an entry's model in the order in which they are written, blocks before what is in them."""
    properties = model.model_json_schema()["properties"]
    first = ("schema_version",) if "schema_version" in model.model_fields else ()
    for name in dict.fromkeys((*first, *model.model_fields)):
        field = model.model_fields[name]
        inside, is_list = _part(field.annotation)
        said = properties[name].get("type")
        kind = "list" if is_list else "block" if inside else "flag" if isinstance(said, list) else _KINDS.get(said, "")
        whole = f"{way}{name}{'[]' if is_list and inside else ''}"
        yield DescribedField(whole, kind or "integer", field.is_required(), field.description or "")
        if inside:
            yield from described_fields(inside, f"{whole}.")


def _part(annotation: Any) -> tuple[type[EntryPart] | None, bool]:
    """Return the model of a block or of the items of a list, and whether it is a list."""
    if get_origin(annotation) is list:
        return _part(get_args(annotation)[0])[0], True
    return (annotation if isinstance(annotation, type) and issubclass(annotation, EntryPart) else None), False


class EntryFault(NamedTuple):
    """What is wrong with an entry: where (``impl.retries``; "" for all of it), its line, and what.

    What is no error is read, but otherwise than it is written, or not at all.
    """

    way: str
    line: int | None
    what: str
    is_error: bool = True


def faults_of(document: Node | None, archived: bool = False) -> list[EntryFault]:
    """Compare a document with the model of its schema; an archived one has schema 1, whatever it says.

    What the parser refuses beyond single fields (keys given twice, aliases that multiply) is not looked for.
    """
    document = _target(document)
    if not isinstance(document, MappingNode):
        return [EntryFault("", getattr(document, "line", None), "an entry is a mapping")]
    version = SCHEMA_FLAT if archived else _version(document)
    if version not in MODELS:
        return []  # the parser says so
    lines: dict[str, int] = {}
    budget = [_MOST_NODES]
    data = _data(document, MODELS[version], "", lines, budget)
    if archived:
        data.setdefault("schema_version", SCHEMA_FLAT)
    data["schema_version"] = version
    try:
        MODELS[version].model_validate(data)
    except ValidationError as e:
        return sorted(
            (_fault(error, version, lines, document.line) for error in e.errors(include_url=False)),
            key=lambda fault: (fault.line or 0, fault.way),
        )
    return []


def _fault(error: Any, version: int, lines: dict[str, int], first: int) -> EntryFault:
    way = ".".join(map(str, error["loc"]))
    line = lines.get(way, lines.get(way.rpartition(".")[0], first))
    kind = error["type"]
    if kind == "missing":
        return EntryFault(way, first, f"{way} is missing")
    if kind == "extra_forbidden":
        if said := NOT_READ.get((version, way)):
            return EntryFault(way, line, f"{way} {said}", is_error=False)
        return EntryFault(way, line, f"unknown key {shown(way)}{_meant(way, version)}")
    if kind in ("misfit", _OTHERWISE):
        return EntryFault(way, line, f"{way}: {error['msg']}", kind == "misfit")
    wanted = "a list" if kind == "list_type" else "a mapping"
    given = error["input"]
    return EntryFault(
        way, line, f"{way}: {_words(given) if not isinstance(given, list | dict) else 'this'} where {wanted} belongs"
    )


def _meant(way: str, version: int) -> str:
    """Say which key may have been meant."""
    from difflib import get_close_matches

    numbered = "".join("[]" if part.isdigit() else f".{part}" for part in way.split("."))[1:]
    known = _known_ways()
    other = SCHEMA_FLAT + SCHEMA_NESTED - version
    name = numbered.rpartition(".")[2]
    if numbered in known[other]:
        return f", which is a field of schema {other}"
    if same := [one for one in known[version] if one.rpartition(".")[2] == name]:
        return f"; did you mean {same[0]}?"
    close = get_close_matches(numbered, known[version], 1, 0.75)
    names = {one.rpartition(".")[2]: one for one in reversed(known[version])}
    close = close or [names[one] for one in get_close_matches(name, names, 1, 0.75)]
    return f"; did you mean {close[0]}?" if close else ""


@cache
def _known_ways() -> dict[int, list[str]]:
    return {number: [field.way for field in described_fields(model)] for number, model in MODELS.items()}


def _version(document: MappingNode) -> int | None:
    try:
        found: int | None = Reader().struct(document, {"schema_version": Reader.integer}).get("schema_version")
    except YamlError:
        return None
    return found


def _target(node: Node | None) -> Node | None:
    while isinstance(node, Alias):
        node = node.target
    return node


def _data(
    node: MappingNode, model: type[EntryPart], way: str, lines: dict[str, int], budget: list[int]
) -> dict[str, Any]:
    """Return a mapping as what its model takes: blocks as dictionaries, scalars as they are; note each field's line."""
    found: dict[str, Any] = {}
    merged: list[Node] = []
    for key, value in node.pairs:
        name = _target(key)
        budget[0] -= 1
        if not isinstance(name, Scalar) or budget[0] < 0:
            continue
        if name.value == "<<" and not name.quoted:
            target = _target(value)
            merged.extend(target.items if isinstance(target, Sequence) else [value])
            continue
        place = f"{way}{name.value}"
        lines[place] = key.line
        target = _target(value)
        if isinstance(target, Scalar) and _READER.is_null(target):
            if name.value not in model.model_fields:
                found[name.value] = None
            continue
        found[name.value] = _value(target, model, name.value, place, lines, budget)
    for other in merged:
        source = _target(other)
        if isinstance(source, MappingNode) and source is not node and budget[0] > 0:
            for given, taken in _data(source, model, way, {}, budget).items():
                if given not in found:
                    found[given] = taken
                    lines.setdefault(f"{way}{given}", other.line)
    return found


def _value(
    node: Node | None, model: type[EntryPart], name: str, place: str, lines: dict[str, int], budget: list[int]
) -> Any:
    field = model.model_fields.get(name)
    inside, is_list = _part(field.annotation) if field else (None, False)
    if is_list and isinstance(node, Sequence):
        items: list[Any] = []
        for item in node.items:
            target = _target(item)
            budget[0] -= 1
            if budget[0] < 0 or (isinstance(target, Scalar) and _READER.is_null(target)):
                continue
            at = f"{place}.{len(items)}"
            lines[at] = item.line
            within = inside and isinstance(target, MappingNode)
            items.append(_data(target, inside, f"{at}.", lines, budget) if within else target)  # type: ignore[arg-type]
        return items
    if inside and not is_list and isinstance(node, MappingNode):
        return _data(node, inside, f"{place}.", lines, budget)
    return node
