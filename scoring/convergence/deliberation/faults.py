"""What is wrong with a judge's record or a config, in words that name the place, the field and the reason."""

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from scoring.text import cut, printable

_WIDTH = 40
"""Characters of a value that a message shows."""

_MOST_BITS = 4000
"""Python writes no whole number that is much longer."""

Model = TypeVar("Model", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong: where (``round 3``), the field (``focus.core_count``; "" for all of it), and why."""

    where: str
    field: str
    reason: str

    def __str__(self) -> str:
        return ": ".join(part for part in (self.where, self.field, self.reason) if part)


class Repeating(dict[str, Any]):
    """An object of a file in which some keys stand more than once."""

    def __init__(self, pairs: Iterable[tuple[str, Any]], repeated: Iterable[str]) -> None:
        super().__init__(pairs)
        self.repeated = tuple(repeated)


def mapping(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the pairs of an object as a mapping that remembers which keys stood there more than once."""
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    keys = [key for key, _ in pairs]
    return Repeating(pairs, (key for key in found if keys.count(key) > 1))


def checked(model: type[Model], data: Mapping[str, Any], where: str) -> tuple[Model | None, list[Fault]]:
    """Read plain data into a model, and list everything that is wrong with it; None where anything is."""
    faults = [Fault(where, field, reason) for field, reason in _unreadable(data)]
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


def dotted(path: Iterable[str | int]) -> str:
    """Return a path into data as it is written: ``exploration.aspects[2].name``."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return printable(text)


def _unreadable(data: Any) -> Iterator[tuple[str, str]]:
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
    "int_type": "{value} is not a whole number",
    "int_from_float": "{value} is not a whole number",
    "float_type": "{value} is not a number",
    "string_type": "{value} is not text",
    "string_unicode": "is not text that UTF-8 can hold",
    "bool_type": "{value} is not true or false",
    "list_type": "{value} is not a list",
    "dict_type": "{value} is not an object",
    "model_type": "{value} is not an object",
    "model_attributes_type": "{value} is not an object",
    "literal_error": "{value} is not one of: {expected}",
    "greater_than_equal": "{value} is below {ge:g}",
    "less_than_equal": "{value} is above {le:g}",
    "finite_number": "is not a finite number",
    "string_pattern_mismatch": "is blank",
}
"""Kinds of error of pydantic, and how they are said here; others are said in its words."""


def _in_words(error: Any) -> str:
    context = {**error.get("ctx", {})}
    if "expected" in context:
        context["expected"] = str(context["expected"]).replace("'", "").replace(" or ", ", ")
    template = _REASONS.get(error["type"])
    return template.format(value=shown(error["input"]), **context) if template else printable(error["msg"])


def shown(value: Any) -> str:
    """Return a value as JSON, cut to a width that a line can hold."""
    if isinstance(value, Mapping | list):
        return "an object" if isinstance(value, Mapping) else "a list"
    if isinstance(value, int) and value.bit_length() > _MOST_BITS:
        return "a number of too many digits"
    try:
        return cut(printable(json.dumps(value, ensure_ascii=False)), _WIDTH)
    except (TypeError, ValueError):
        return cut(printable(repr(value)), _WIDTH)
