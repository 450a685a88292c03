"""The lines of a rollout of Codex as they are written, decoded as far as they are needed."""

from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from scoring.evidence.harnesses.fields import Count, RawField


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

    A field that may be long, and is not always needed, is decoded when it is.
    """

    type: str | None = None
    call_id: str | None = None
    name: str | None = None
    message: Any = None
    exit_code: Any = None
    aggregated_output: Any = None
    info: RawField = UNSET
    arguments: Any = None
    input: Any = None
    output: RawField = UNSET
    action: Any = None
    success: Any = None
    result: Any = None
    id: Any = None
    forked_from_id: Any = None
    history_base: Any = None
    subagent_history_start_ordinal: Any = None
    item: Any = None
    source: Any = None
    cwd: Any = None
    turn_id: Any = None
    reason: Any = None
    git: Any = None
    model: Any = None
    thread_settings: Any = None
    service_tier: Any = None
    role: Any = None
    content: Any = None


class CodexLine(msgspec.Struct, gc=False):
    """A line of a rollout.

    A line without a payload is that of another harness.
    """

    type: str | None = None
    timestamp: str | None = None
    ordinal: Any = None
    payload: CodexPayload | UnsetType | None = UNSET


def only_text(value: object) -> str:
    """Return a text, or "" in the place of any other value."""
    return value if isinstance(value, str) else ""
