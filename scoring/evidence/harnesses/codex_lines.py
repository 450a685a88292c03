"""The lines of a rollout of Codex as they are written, decoded as far as they are needed."""

from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from scoring.evidence.harnesses.fields import BROKEN, Count, RawField, decoded

_anything = msgspec.json.Decoder()


class CodexUsage(msgspec.Struct, gc=False):
    """Numbers of tokens, in the order of the fields of :class:`TokenNumbers`."""

    input_tokens: Count = -1
    cached_input_tokens: Count = -1
    cache_write_input_tokens: Count = -1
    output_tokens: Count = -1
    reasoning_output_tokens: Count = -1
    total_tokens: Count = -1


class CodexInfo(msgspec.Struct, gc=False):
    """What an event states of tokens."""

    total_token_usage: CodexUsage | None = None
    last_token_usage: CodexUsage | None = None


class CodexPayload(msgspec.Struct, gc=False):
    """A payload of any kind.

    A field that has other types in other kinds is decoded when it is needed.
    """

    type: str | None = None
    call_id: str | None = None
    name: str | None = None
    message: RawField = UNSET
    exit_code: RawField = UNSET
    aggregated_output: RawField = UNSET
    info: RawField = UNSET
    arguments: RawField = UNSET
    input: RawField = UNSET
    output: RawField = UNSET
    action: RawField = UNSET
    success: RawField = UNSET
    result: RawField = UNSET
    id: RawField = UNSET
    forked_from_id: RawField = UNSET
    history_base: RawField = UNSET
    subagent_history_start_ordinal: RawField = UNSET
    item: RawField = UNSET
    source: RawField = UNSET
    cwd: RawField = UNSET
    turn_id: RawField = UNSET
    reason: RawField = UNSET
    git: RawField = UNSET
    model: RawField = UNSET
    thread_settings: RawField = UNSET
    service_tier: RawField = UNSET
    role: RawField = UNSET
    content: RawField = UNSET


class CodexLine(msgspec.Struct, gc=False):
    """A line of a rollout.

    A line without a payload is that of another harness.
    """

    type: str | None = None
    timestamp: str | None = None
    ordinal: RawField = UNSET
    payload: CodexPayload | UnsetType | None = UNSET


def field_value(raw: RawField) -> Any:
    """Return what a field holds.

    Return None where the field is missing. Raises what :data:`BROKEN` lists.
    """
    return None if raw is UNSET else decoded(_anything, raw)


def field_text(raw: RawField) -> str:
    """Return the text that a field holds, or "". Raises what :data:`BROKEN` lists."""
    value = field_value(raw)
    return value if isinstance(value, str) else ""


def parsed(text: str) -> Any:
    """Return the value of a JSON text.

    Return None where it is broken.
    """
    try:
        return msgspec.json.decode(text)
    except BROKEN:
        return None
