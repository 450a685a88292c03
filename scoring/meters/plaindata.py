"""Reads plain data, JSON and JSONL strictly, configuration as TOML, JSON or YAML, and checks it by a model."""

import contextlib
import json
import math
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from scoring.errors import InputError, MeetingError, NoFileError, YamlError
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
_LONGEST_INTEGER = 400  # a whole number of more digits is beyond every float, and slow to read


class Repeating(dict[str, Any]):
    """An object of a file that has some keys more than once."""

    repeated: tuple[str, ...] = ()


def _mapping(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        found = Repeating(found)
        found.repeated = tuple(
            name for name, count in Counter(name for name, _ in pairs).items() if count > 1
        )
    return found


_decoder = json.JSONDecoder(
    object_pairs_hook=_mapping,
    parse_int=lambda text: int(text) if len(text) <= _LONGEST_INTEGER else math.inf,
)


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


def read_given(path: Path | str, what: str) -> tuple[bytes, str]:
    """Return the bytes of a file, or for ``-`` of standard input, and its name; InputError asks to name ``what``."""
    if str(path) == "-":
        return read_standard_input(), "standard input"
    try:
        return read_file(path), str(path)
    except NoFileError as e:
        raise InputError(f"{e}; name {what}") from e


def decode(data: bytes, source: str) -> str:
    """Return the text of some bytes, without a byte-order mark; InputError when they are not UTF-8."""
    try:
        return data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as e:
        line = data.count(b"\n", 0, e.start) + 1
        raise InputError(f"{source}: line {line}: not UTF-8; save the file as UTF-8") from e


def read_json(text: str, source: str, line: int = 1) -> Any:
    """Return the one JSON value of a text, objects with keys given twice; InputError, with line, column, excerpt."""
    if not text.strip(_SPACE):
        raise InputError(f"{source}: is empty; give JSON")
    try:
        return _decoder.decode(text)
    except json.JSONDecodeError as e:
        where, what = (
            f"line {line + e.lineno - 1}, column {e.colno}",
            f"not JSON: {e.msg[:1].lower()}{e.msg[1:]}",
        )
        excerpt = text[e.pos : e.pos + 4 * _EXCERPT].split("\n")[0].rstrip(_SPACE)
        near = f" at '{cell(excerpt, _EXCERPT)}'" if excerpt else ""
        remedy = "give the JSON alone, whole, and without a code fence or comments"
        raise InputError(f"{source}: {where}: {what}{near}; {remedy}") from e
    except RecursionError as e:
        raise InputError(
            f"{source}: line {line}: nested too deep; nothing that is read here goes so deep"
        ) from e


@contextlib.contextmanager
def raised_as(kind: type[InputError]) -> Iterator[None]:
    """Raise every InputError as one of a kind."""
    try:
        yield
    except kind:
        raise
    except InputError as e:
        raise kind(str(e)) from e


def is_object(line: str | bytes) -> bool:
    """Return whether a line is an object of JSON."""
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def read_values(text: str, source: str) -> list[Any]:
    """Return the items of a JSON list, one JSON value, or those of JSONL; InputError, MeetingError for broken lines."""
    lines = [
        (number, line)
        for number, line in enumerate(text.split("\n"), start=1)
        if line.strip(_SPACE)
    ]
    if len(lines) < 2 or not is_object(lines[0][1]):
        value = read_json(text, source)
        return value if isinstance(value, list) else [value]
    values: list[Any] = []
    faults: list[str] = []
    for number, line in lines:
        try:
            values.append(read_json(line, source, number))
        except InputError as e:
            faults.append(str(e))
    if faults:
        raise MeetingError(*faults)
    return values


def read_config(path: Path | str) -> dict[str, Any]:
    """Return what a TOML, JSON or YAML file says; InputError where it is none, or no mapping with each key once."""
    path = Path(path)
    kind = path.suffix.lower()
    if kind not in CONFIG_SUFFIXES:
        raise InputError(
            f"{path}: name the file {', '.join(CONFIG_SUFFIXES[:-1])} or .yml after what is in it"
        )
    data = read_file(path, CONFIG_LIMIT)
    try:
        if kind == ".json":
            value = read_json(decode(data, str(path)), str(path))
        elif kind == ".toml":
            value = read_toml(decode(data, str(path)))
        else:
            value = read_yaml(data, str(path))
    except InputError:
        raise
    except (ValueError, RecursionError) as e:
        raise InputError(f"{path}: not TOML: {e}") from e
    for field, reason in unreadable(value):
        raise InputError(f"{path}: {field}: {reason}")
    if not isinstance(value, dict):
        raise InputError(f"{path}: not a table of settings")
    return value


def read_yaml(data: bytes, source: str) -> Any:
    """Return the first document of some YAML 1.2; InputError, with the line, also for aliases, tags or a key twice."""
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


def fault(where: str, field: str, reason: str) -> str:
    """Return one thing that is wrong as a line: where (``round 3``), the field ("" for all of it), and why."""
    return ": ".join(part for part in (where, field, reason) if part)


def checked(
    model: type[Model], data: Mapping[str, Any], where: str
) -> tuple[Model | None, list[str]]:
    """Read plain data into a model, and list everything that is wrong with it; None where anything is."""
    from pydantic import ValidationError

    faults = {field: fault(where, field, reason) for field, reason in unreadable(data)}
    try:
        found = model.model_validate(dict(data))
    except ValidationError as e:
        found = None
        for error in e.errors(include_url=False):
            field = dotted(error["loc"])
            faults.setdefault(field, fault(where, field, _in_words(error)))
    return (None, [*faults.values()]) if faults else (found, [])


def _in_words(error: Any) -> str:
    """Return what pydantic says of a field, and the value; what is only missing or blank has none."""
    if error["type"] in ("missing", "string_pattern_mismatch"):
        return "is missing" if error["type"] == "missing" else "is blank"
    reason = printable(error["msg"].removeprefix("Value error, "))
    return (
        f"{shown(error['input'])}: {reason[:1].lower()}{reason[1:]}"
        if reason.startswith("Input should")
        else reason
    )


def utf8(text: str) -> str:
    """Return text for a field of a model; ValueError for half of a surrogate pair, which no file can hold."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("is not text that UTF-8 can hold") from None
    return text


def json_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON schema of a model with the dialect that it is written in."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def dotted(path: Iterable[str | int]) -> str:
    """Return a path into data as it is written: ``exploration.aspects[2].name``."""
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return printable("".join(parts).removeprefix("."))


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
