"""How the calls of Codex ended: what their results state, in words or in fields."""

import re
from collections.abc import Callable
from typing import NamedTuple

from msgspec import UNSET

from scoring.evidence.harnesses.codex_lines import CodexPayload
from scoring.evidence.harnesses.fields import json_in, member, text_in, value_of

_REFUSALS = (b'"exec command rejected by user"', b'"patch rejected by user"')
"""The outputs of calls that the user refused."""

_NOT_RUN = (
    "apply_patch verification failed",
    "exec_command failed for ",
    "failed to parse function arguments",
    "resources/list failed: ",
    "resources/read failed: ",
    "collab spawn failed: ",
)
"""How the output of a call begins that could not be run."""

_HEADER = (
    "Chunk ID",
    "Command",
    "Exit code",
    "Original token count",
    "Process exited",
    "Process running",
    "Script ",
    "Session ID",
    "Total output lines",
    "Wall time",
)
"""How an output begins that has a header."""

OF_PROGRAM = "Script "
"""How the header of what a program of ``exec`` printed begins."""

_HEADER_LIMIT = 4096
"""How many characters of an output may be its header."""

_END_OF_HEADER = "\nOutput:\n"
_OUTPUT = re.compile(r"^Output:[^\S\n]*$", re.MULTILINE)
_STATUS = re.compile(
    r"^(?:(?:Exit code: |Process exited with code )(-?\d+)|Script (completed|failed))[^\S\n]*$",
    re.MULTILINE,
)


class CodexOutput(NamedTuple):
    """The output of a call: its header, "" where it has none, and what the program printed."""

    header: str
    printed: str


def was_refused(payload: CodexPayload) -> bool:
    """Return whether a result says that the user refused the call."""
    return payload.output is not UNSET and bytes(payload.output) in _REFUSALS


def output_of(payload: CodexPayload) -> CodexOutput:
    """Return the output of a call."""
    text = _text_of(payload)
    if text.startswith("{"):
        printed = member(json_in(text), "output")
        if isinstance(printed, str):
            return CodexOutput("", printed)

    if text.startswith(_HEADER):
        if text.endswith(_END_OF_HEADER.rstrip()):
            text += "\n"
        head = f"\n{text[:_HEADER_LIMIT]}"
        header, end_of_header, printed = head.partition(_END_OF_HEADER)
        if end_of_header:
            return CodexOutput(header, printed + text[_HEADER_LIMIT:])
    return CodexOutput("", text)


def _text_of(payload: CodexPayload) -> str:
    return text_in(value_of(payload.output))


def _output_failed(payload: CodexPayload) -> bool | None:
    """Return whether an output says that its call failed.

    That is in the header before ``Output:``, in an object, or how it begins, and nowhere else.
    """
    text = _text_of(payload)
    if text.startswith(_NOT_RUN):
        return True
    if not text.startswith("{"):
        return _header_says_failed(text)
    exit_code = member(json_in(text), "metadata", "exit_code")
    return exit_code != 0 if type(exit_code) is int else None


def _header_says_failed(text: str) -> bool | None:
    """Return whether a header has the status of a program that failed.

    Return None where it has none.
    """
    if not text.startswith(_HEADER):
        return None

    header, *after_header = _OUTPUT.split(text[:_HEADER_LIMIT], 1)
    statuses = _STATUS.findall(header)
    if not after_header or not statuses:
        return None
    return any(code.strip("-0") or script == "failed" for code, script in statuses)


def _patch_failed(payload: CodexPayload) -> bool | None:
    return not payload.success if isinstance(payload.success, bool) else None


def _mcp_call_failed(payload: CodexPayload) -> bool | None:
    """Return whether a call of a server of tools failed, in the form of an ``Err`` or an ``Ok``."""
    result = payload.result
    if not isinstance(result, dict) or result.keys().isdisjoint(("Err", "Ok")):
        return None

    answer = result.get("Ok")
    says_error = member(answer, "isError") is True or member(answer, "is_error") is True
    return "Err" in result or says_error


RESULTS: dict[str | None, Callable[[CodexPayload], bool | None]] = {
    "function_call_output": _output_failed,
    "custom_tool_call_output": _output_failed,
    "patch_apply_end": _patch_failed,
    "mcp_tool_call_end": _mcp_call_failed,
}
"""The kinds of payloads that are results; the functions return whether one failed, or None."""
