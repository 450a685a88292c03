"""What is wrong with input, in one line: the field, what stands there, and what belongs there."""

from typing import TYPE_CHECKING, Any

from scoring.text import cut

if TYPE_CHECKING:
    from pydantic import ValidationError
    from pydantic_core import ErrorDetails

_WANTED = {
    "string_type": "text",
    "string_unicode": "text that is Unicode",
    "int_type": "a whole number",
    "tuple_type": "a list",
    "model_type": "an object",
}
"""What a field takes, by the kind of pydantic's complaint."""

_SHOWN = 40


def describe(value: Any) -> str:
    """Say what a value of JSON is, in a few words."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list | tuple):
        return "a list"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str):
        return f"the text {cut(ascii(value), _SHOWN)}"
    try:
        return cut(str(value), _SHOWN)
    except ValueError:  # an integer of thousands of digits
        return "a huge number"


def first_fault(error: "ValidationError") -> str:
    """Return the first fault that a model found: its field, what is there, what belongs there, and how many more."""
    faults = error.errors(include_url=False, include_context=False)
    more = "" if len(faults) == 1 else f" (and {len(faults) - 1} more)"
    return _fault(faults[0]) + more


def _fault(fault: "ErrorDetails") -> str:
    field = field_name(fault["loc"])
    kind = fault["type"]
    if kind == "missing":
        return f"{field}: missing; it has to be given"
    if kind in _WANTED:
        return f"{field}: {describe(fault['input'])} where {_WANTED[kind]} belongs"
    text = fault["msg"].removeprefix("Value error, ")
    return f"{field}: {text}" if field else text


def field_name(location: tuple[int | str, ...]) -> str:
    """Return a place in a document as ``outputs.claims[2]``."""
    text = ""
    for part in location:
        text += f"[{part}]" if isinstance(part, int) else f"{'.' if text else ''}{part}"
    return text
