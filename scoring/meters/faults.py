"""What is wrong with input, in words that name the place, the field, what is there and what belongs there."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from scoring.text import printable, shown

if TYPE_CHECKING:  # only what reads into a model pays for it
    from pydantic import BaseModel

_DIALECT = "https://json-schema.org/draft/2020-12/schema"

Model = TypeVar("Model", bound="BaseModel")


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong: where (``round 3``), the field (``focus.core_count``; "" for all of it), and why."""

    where: str
    field: str
    reason: str

    def __str__(self) -> str:
        return ": ".join(part for part in (self.where, self.field, self.reason) if part)


class Repeating(dict[str, Any]):
    """An object of a file that has some keys more than once."""

    def __init__(self, pairs: Iterable[tuple[str, Any]], repeated: Iterable[str]) -> None:
        super().__init__(pairs)
        self.repeated = tuple(repeated)


def mapping(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the pairs of an object as a mapping that remembers which keys it has more than once."""
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    keys = [key for key, _ in pairs]
    return Repeating(pairs, (key for key in found if keys.count(key) > 1))


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
    """Return text as it is, for a field of a model.

    Raises:
        PydanticCustomError: it has half of a surrogate pair, which a JSON escape can spell and no file can hold.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        from pydantic_core import PydanticCustomError

        raise PydanticCustomError("string_unicode", "not UTF-8") from None
    return text


def json_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON schema of a model with the dialect that it is written in."""
    return {"$schema": _DIALECT, **schema}


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


def in_a_line(faults: Sequence[Fault]) -> str:
    """Return the first of some faults, and how many more there are."""
    return str(faults[0]) + ("" if len(faults) == 1 else f" (and {len(faults) - 1} more)")
