"""What is in a JSON text, and in a value that should be an object and may be anything."""

import json
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import msgspec
from msgspec import UNSET, UnsetType

from scoring.errors import InputError
from scoring.evidence.transcripts.facts import NS_MAX, timestamp_ns
from scoring.files import read_file

COUNT_LIMIT = 1 << 40  # the largest number of tokens that one line may state

Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=COUNT_LIMIT)]
RawField: TypeAlias = msgspec.Raw | UnsetType  # a field that is only decoded where it is needed

BROKEN = (
    msgspec.MsgspecError,
    ValueError,
    RecursionError,
)  # what decoding raises, also of another type or too deep

_anything, _keys = msgspec.json.Decoder(), msgspec.json.Decoder(dict[str, msgspec.Raw])


def decoded(decoder: msgspec.json.Decoder[Any], text: "bytes | msgspec.Raw") -> Any:
    """Decode a JSON text, also with broken characters: harnesses cut text anywhere (raises as in :data:`BROKEN`)."""
    try:
        return decoder.decode(text)
    except msgspec.ValidationError:
        raise
    except (msgspec.MsgspecError, ValueError) as e:
        try:
            whole = json.loads(bytes(text).decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            raise e from None
        return decoder.decode(json.dumps(whole, ensure_ascii=False).encode("utf-8", "replace"))


def value_of(
    raw: bytes | RawField, decoder: msgspec.json.Decoder[Any] = _anything, otherwise: Any = None
) -> Any:
    """Return what a text or a field holds; something else where it is missing or broken."""
    try:
        return otherwise if raw is UNSET else decoded(decoder, raw)
    except BROKEN:
        return otherwise


def value_in(path: Path, limit: int = 1 << 20) -> Any:
    """Return what a JSON file holds, of up to so many bytes; None where it is missing, larger or broken."""
    try:
        return value_of(read_file(path, limit))
    except InputError:
        return None


def keys_of(line: bytes) -> frozenset[str]:
    """Return the keys of a JSON object; none of anything else."""
    return frozenset(value_of(line, _keys, ()))


def is_too_deep(line: bytes) -> bool:
    """Return whether a text is nested too deep, also behind a field of another type."""
    try:
        _keys.decode(line)
    except RecursionError:
        return True
    except (msgspec.MsgspecError, ValueError):
        pass
    return False


def member(value: Any, *names: str) -> Any:
    """Return what is under some names, one within the other; None when it is not there."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def text_in(value: Any, *names: str) -> str:
    """Return the text under some names, or the texts of a list of parts, one below the other; "" when there is none."""
    found = member(value, *names)
    if isinstance(found, list):
        texts = [part if isinstance(part, str) else member(part, "text") for part in found]
        return "\n".join(text for text in texts if isinstance(text, str))
    return found if isinstance(found, str) else ""


def items_in(value: Any, *names: str) -> list[Any]:
    """Return the list under some names; an empty one when it is none."""
    found = member(value, *names)
    return found if isinstance(found, list) else []


def count_in(value: Any, *names: str) -> int | None:
    """Return the number of tokens under some names; None when it is none."""
    found = member(value, *names)
    return found if type(found) is int and 0 <= found <= COUNT_LIMIT else None


def id_in(value: Any, *names: str) -> str:
    """Return the id under some names; "" where there is none, or a tool that hides secrets has put its word for it."""
    found = text_in(value, *names)
    return "" if "REDACTED" in found else found


def time_in(value: Any, *names: str) -> int | None:
    """Return the time stamp under some names in nanoseconds since 1970; None where there is none."""
    return timestamp_ns(text_in(value, *names))


def milliseconds(value: object) -> int | None:
    """Return a time in milliseconds since 1970 in nanoseconds; None where it is none."""
    return value * 1_000_000 if type(value) is int and 0 <= value < NS_MAX // 1_000_000 else None
