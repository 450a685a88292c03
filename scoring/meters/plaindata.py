"""Reads files of plain data as written, into values or models, and says what is wrong with them, where, in words.

JSON and JSONL are read strictly, configuration as TOML, JSON or YAML. What is not JSON is refused with its place, and
nothing is guessed: most of it comes from language models, which like to put words or a code fence around their JSON, or
a comma too many into it, and a parser that forgives would sometimes read another thing than was meant. The module is
long because each way to be wrong has its own words.
"""

import json
import math
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from scoring.errors import InputError, MeetingError, YamlError
from scoring.files import SIZE_LIMIT, read_file
from scoring.settings_table import SIZE_LIMIT as CONFIG_LIMIT
from scoring.settings_table import read_toml
from scoring.text import cell, printable, shown

if TYPE_CHECKING:  # only what reads into a model needs it
    from pydantic import BaseModel

Model = TypeVar("Model", bound="BaseModel")

CONFIG_SUFFIXES = (".toml", ".json", ".yaml", ".yml")
_SPACE = " \t\n\r"
_EXCERPT = 40
_LONGEST_INTEGER = 400
"""A whole number of more digits is beyond every float, and slow to read."""

_FENCE = "```"
_ALONE = "give the JSON alone"


class Fault(NamedTuple):
    """One thing that is wrong: where (``round 3``), the field (``focus.core_count``; "" for all of it), and why."""

    where: str
    field: str
    reason: str

    def __str__(self) -> str:
        return ": ".join(part for part in (self.where, self.field, self.reason) if part)


class Repeating(dict[str, Any]):
    """An object of a file that has some keys more than once."""

    repeated: Sequence[str] = ()


def mapping(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the pairs of an object as a mapping that remembers which keys it has more than once."""
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    repeating = Repeating(found)
    repeating.repeated = [name for name, count in Counter(name for name, _ in pairs).items() if count > 1]
    return repeating


def _integer(text: str) -> int | float:
    return int(text) if len(text) <= _LONGEST_INTEGER else math.inf


_decoder = json.JSONDecoder(object_pairs_hook=mapping, parse_int=_integer)


def read_standard_input() -> bytes:
    """Return all of standard input; InputError when it is closed, too large, or cannot be read."""
    if sys.stdin is None:
        raise InputError("standard input: is closed")
    try:
        data = sys.stdin.buffer.read(SIZE_LIMIT + 1)
    except OSError as e:
        raise InputError(f"standard input: {(e.strerror or str(e)).lower()}") from e
    if len(data) > SIZE_LIMIT:
        raise InputError(f"standard input: larger than {SIZE_LIMIT >> 20} MiB")
    return data


def decode(data: bytes, source: str) -> str:
    """Return the text of some bytes, without a byte-order mark; InputError when they are not UTF-8."""
    try:
        return data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as e:
        line = data.count(b"\n", 0, e.start) + 1
        raise InputError(f"{source}: line {line}: not UTF-8; save the file as UTF-8") from e


def read_json(text: str, source: str, line: int = 1) -> Any:
    """Return the one JSON value of a text, which begins in a line; an object remembers the keys that it has twice.

    Raises:
        InputError: the text is anything else; the message has line, column and an excerpt.
    """
    value, end = _first(text, source, line)
    _refuse_rest(text, end, source, line)
    return value


def read_values(text: str, source: str) -> list[Any]:
    """Return the values of a text: the items of a JSON list, a JSON value alone, or one from each line of JSONL.

    Blank lines are left out. InputError when it is neither; MeetingError lists every line of JSONL that is no JSON.
    """
    value, end = _first(text, source)
    rest = _skip(text, end)
    is_line = isinstance(value, dict) and "\n" not in text[:end].strip(_SPACE) and "\n" in text[end:rest]
    if rest == len(text) or not is_line:
        _refuse_rest(text, end, source)
        return value if isinstance(value, list) else [value]
    values: list[Any] = []
    faults: list[str] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip(_SPACE):
            try:
                values.append(read_json(line, source, number))
            except InputError as e:
                faults.append(str(e))
    if faults:
        raise MeetingError(*faults)
    return values


def _first(text: str, source: str, line: int = 1) -> tuple[Any, int]:
    """Return the value that a text begins with, and where it ends."""
    start = _skip(text, 0)
    if start == len(text):
        raise InputError(f"{source}: is empty; give JSON")
    try:
        return _decoder.raw_decode(text, start)
    except json.JSONDecodeError as e:
        at, what, remedy = _diagnosis(text, start, e)
        raise _error(text, at, what, remedy, source, line) from e
    except RecursionError as e:
        remedy = "nothing that is read here goes so deep"
        raise _error(text, start, "nested too deep", remedy, source, line) from e


def _refuse_rest(text: str, position: int, source: str, line: int = 1) -> None:
    """Raise InputError for anything but white space from a position on."""
    rest = _skip(text, position)
    if rest < len(text):
        raise _error(text, rest, *_after(text, rest), source, line)


def _error(text: str, position: int, what: str, remedy: str, source: str, line: int) -> InputError:
    line += text.count("\n", 0, position)
    column = position - text.rfind("\n", 0, position)
    excerpt = text[position : position + 4 * _EXCERPT].split("\n")[0].rstrip(_SPACE)
    near = f" at '{cell(excerpt, _EXCERPT)}'" if excerpt else ""
    return InputError(f"{source}: line {line}, column {column}: {what}{near}; {remedy}")


def _skip(text: str, position: int) -> int:
    """Return the position of the next character that is no white space."""
    while position < len(text) and text[position] in _SPACE:
        position += 1
    return position


def _diagnosis(text: str, start: int, error: json.JSONDecodeError) -> tuple[int, str, str]:
    """Return where the fault is, what it is, and what to do about it."""
    here = _skip(text, error.pos)
    if text.startswith(_FENCE, start):
        return start, "a code fence around the JSON", _ALONE
    if error.pos == start and text[here] not in "{[":
        return start, "text that is no JSON", _ALONE
    comma = error.pos if text[error.pos : error.pos + 1] == "," else len(text[:here].rstrip(_SPACE)) - 1
    closer = _skip(text, comma + 1)
    if text[comma] == "," and text[closer : closer + 1] in ("}", "]"):
        return comma, f"a comma before the closing {text[closer]}", "JSON has none there, take it out"
    if text.startswith(("//", "/*", "#"), here):
        return here, "a comment", "JSON has none, take it out"
    if text.startswith("'", here):
        return here, "text in single quotes", 'JSON has double quotes (")'
    if here >= len(text) or error.msg.startswith("Unterminated"):
        return min(error.pos, len(text)), "the text ends within the JSON", "it was cut off, get all of it"
    return error.pos, f"not JSON: {error.msg[:1].lower()}{error.msg[1:]}", "fix it there"


def _after(text: str, position: int) -> tuple[str, str]:
    """Return what follows the JSON, and what to do about it."""
    if text.startswith(_FENCE, position):
        return "a code fence after the JSON", _ALONE
    if text[position] in "{[":
        return "a second value", "put both into a list, or each on a line of its own"
    return "text after the JSON", _ALONE


def read_config(path: Path | str) -> dict[str, Any]:
    """Return what a configuration file says, TOML, JSON or YAML by its name.

    Raises:
        InputError: there is no such file, its name does not say what it is, or it is not that, gives a key twice, holds
            a number without a value, or is no mapping.
    """
    path = Path(path)
    kind = path.suffix.lower()
    if kind not in CONFIG_SUFFIXES:
        *most, last = CONFIG_SUFFIXES
        raise InputError(f"{path}: name the file {', '.join(most)} or {last} after what is in it")
    try:
        value = _config(read_file(path, CONFIG_LIMIT), kind, str(path))
    except FileNotFoundError as e:
        raise InputError(f"{path}: no such file") from e
    for field, reason in unreadable(value):
        raise InputError(f"{path}: {field}: {reason}")
    if not isinstance(value, dict):
        raise InputError(f"{path}: not a table of settings")
    return value


def _config(data: bytes, kind: str, source: str) -> Any:
    if kind in (".yaml", ".yml"):
        return read_yaml(data, source)
    text = decode(data, source)
    if kind == ".json":
        return read_json(text, source)
    try:
        return read_toml(text)
    except (ValueError, RecursionError) as e:
        raise InputError(f"{source}: not TOML: {e}") from e


def read_yaml(data: bytes, source: str) -> Any:
    """Return the first document of some YAML 1.2 as lists, dictionaries, text, numbers, true, false and None.

    InputError, with the line, when it is no YAML, or has anchors, tags or a key twice: plain data has no need of them.
    """
    from scoring import yamlnodes, yamlread  # other formats do without

    def plain(node: yamlnodes.Node) -> Any:
        if isinstance(node, yamlnodes.Alias):
            raise YamlError(f"line {node.line}: an alias; write the value out")
        if isinstance(node, yamlnodes.Scalar):
            if node.tag:
                raise YamlError(f"line {node.line}: a tag ({node.tag}); write the value without it")
            return node.resolved()[1]
        if isinstance(node, yamlnodes.Sequence):
            return [plain(item) for item in node.items]
        found: dict[str, Any] = {}
        for key, value in node.pairs:
            if not isinstance(key, yamlnodes.Scalar):
                raise YamlError(f"line {key.line}: a key that is no text")
            if key.value in found:
                raise YamlError(f"line {key.line}: {key.value} is given twice")
            found[key.value] = plain(value)
        return found

    try:
        node = yamlread.parse(data)
        return None if node is None else plain(node)
    except (YamlError, ValueError) as e:
        raise InputError(f"{source}: {e}") from e


# What is wrong with values


def checked(model: type[Model], data: Mapping[str, Any], where: str) -> tuple[Model | None, list[Fault]]:
    """Read plain data into a model, and list everything that is wrong with it; None where anything is."""
    from pydantic import ValidationError

    faults = [Fault(where, field, reason) for field, reason in unreadable(data)]
    seen = {fault.field for fault in faults}
    found = None
    try:
        found = model.model_validate(dict(data))
    except ValidationError as e:
        for error in e.errors(include_url=False):
            field = dotted(error["loc"])
            if field not in seen:
                faults.append(Fault(where, field, _in_words(error)))
    return (None, faults) if faults else (found, [])


def utf8(text: str) -> str:
    """Return text for a field of a model; PydanticCustomError for half of a surrogate pair, which no file can hold."""
    try:
        text.encode()
    except UnicodeEncodeError:
        from pydantic_core import PydanticCustomError

        raise PydanticCustomError("string_unicode", "not UTF-8") from None
    return text


def json_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON schema of a model with the dialect that it is written in."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def dotted(path: Iterable[str | int]) -> str:
    """Return a path into data as it is written: ``exploration.aspects[2].name``."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return printable(text)


def unreadable(data: Any) -> Iterator[tuple[str, str]]:
    """Yield the fields that are given twice or hold a number without a value, unknown ones included, however deep."""
    left: list[tuple[tuple[str | int, ...], Any]] = [((), data)]
    while left:
        path, value = left.pop()
        if isinstance(value, Mapping):
            for key in value.repeated if isinstance(value, Repeating) else ():
                yield dotted((*path, key)), "is given twice"
            left += reversed([((*path, str(key)), item) for key, item in value.items()])
        elif isinstance(value, list):
            left += reversed([((*path, n), item) for n, item in enumerate(value)])
        elif isinstance(value, float) and not math.isfinite(value):
            yield dotted(path), "is not a finite number"


_REASONS = {
    "missing": "is missing",
    "int_type": "{value} where a whole number belongs",
    "int_from_float": "{value} where a whole number belongs",
    "float_type": "{value} where a number belongs",
    "string_type": "{value} where text belongs",
    "string_unicode": "is not text that UTF-8 can hold",
    "bool_type": "{value} where true or false belongs",
    "list_type": "{value} where a list belongs",
    "tuple_type": "{value} where a list belongs",
    "dict_type": "{value} where an object belongs",
    "model_type": "{value} where an object belongs",
    "model_attributes_type": "{value} where an object belongs",
    "literal_error": "{value} is not one of: {expected}",
    "greater_than_equal": "{value} is below {ge:g}",
    "less_than_equal": "{value} is above {le:g}",
    "finite_number": "is not a finite number",
    "string_pattern_mismatch": "is blank",
}
"""Kinds of error of pydantic in plain words; others keep its words."""


def _in_words(error: Any) -> str:
    context = {**error.get("ctx", {})}
    if "expected" in context:
        context["expected"] = str(context["expected"]).replace("'", "").replace(" or ", ", ")
    template = _REASONS.get(error["type"])
    if template is None:
        return printable(error["msg"].removeprefix("Value error, "))
    return template.format(value=shown(error["input"]), **context)
