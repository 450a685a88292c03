"""What a program of Codex's ``exec`` printed, with the results of its commands in JSON."""

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from typing import Any, NamedTuple

_JSON_BEGINS = re.compile(r'\{\s*"|\[\s*\{')
_MOST_VALUES = 100
"""At how many places of an output JSON is looked for."""

_STATE_OF_RESULT = (
    "exit_code",
    "session_id",
    "wall_time_seconds",
    "exitCode",
    "exit",
    "code",
    "status",
)
"""The fields next to the output by which the result of a command is known.

The last ones are names that programs give to the exit code. What these hold is not believed.
"""

# a cut output has line breaks in its strings
_json_decoder = json.JSONDecoder(strict=False)


class ProgramOutput(NamedTuple):
    """What a program printed.

    Attributes:
        printed: what it printed, where the output of a command replaces its result in JSON.
        exit_codes: the exit codes of the commands of which it printed the result in JSON.
        process: the id of the last process that still runs; "" without one.
    """

    printed: str
    exit_codes: list[int]
    process: str


def program_output(text: str) -> ProgramOutput:
    """Return what a program printed, with the outputs in place of results that are JSON."""
    text = _text_in_json(text)
    printed = []
    exit_codes = []
    process = ""
    end = 0

    for begin in islice(_JSON_BEGINS.finditer(text), _MOST_VALUES):
        if begin.start() < end:
            continue
        try:
            value, value_end = _json_decoder.raw_decode(text, begin.start())
        except (ValueError, RecursionError):
            continue

        results = list(_results_in(value))
        if not results:
            continue
        printed.append(text[end : begin.start()])
        end = value_end
        for result in results:
            printed.append(f"{result['output']}\n")
            exit_code = result.get("exit_code")
            if type(exit_code) is int:
                exit_codes.append(exit_code)
            elif result.get("session_id") is not None:
                process = str(result["session_id"])

    printed.append(text[end:])
    return ProgramOutput("".join(printed), exit_codes, process)


def _text_in_json(text: str) -> str:
    """Return the text that a program printed as a string of JSON, or else ``text`` itself."""
    if text.lstrip().startswith('"'):
        with suppress(ValueError):
            return str(_json_decoder.decode(text.strip()))
    return text


def _results_in(value: Any) -> Iterator[dict[str, Any]]:
    """Yield the results of commands that are in a JSON value, at any depth, in their order."""
    if isinstance(value, dict):
        if isinstance(value.get("output"), str) and any(
            map(value.__contains__, _STATE_OF_RESULT)
        ):
            yield value
        else:
            for part in value.values():
                yield from _results_in(part)
    elif isinstance(value, list):
        for part in value:
            yield from _results_in(part)
