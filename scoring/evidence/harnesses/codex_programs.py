"""Programs of Codex's tool ``exec``: the commands that one runs, and what it prints of them.

A program prints the output of a command as it is, or the whole result as JSON.
"""

import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

_QUOTED = r"""(?:"((?:[^"\\\n]|\\.)*+)"|'((?:[^'\\\n]|\\.)*+)'|`((?:[^`\\]|\\.)*+)`)"""
_COMMAND = re.compile(rf"""\b(?:cmd|command)["']?\s*[:=]\s*{_QUOTED}""", re.DOTALL)
_CONTINUES = re.compile(r"""\bwrite_stdin\s*\(\s*\{[^{}]*?\bsession_id["']?\s*:\s*["']?(\d+)""")
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t"}

_JSON_BEGINS = re.compile(r'\{\s*"|\[\s*\{')
_MOST_VALUES = 100
"""At how many places of an output JSON is looked for."""

_STATE_OF_RESULT = ("exit_code", "session_id", "wall_time_seconds")
"""The fields next to the output by which the result of a command is known."""

_decoder = json.JSONDecoder(strict=False)  # a cut output has line breaks in its strings


class ProgramOutput(NamedTuple):
    """What a program printed.

    Attributes:
        printed: what its commands printed.
        exit_codes: the exit status of each command of which it printed the result.
        process: the id of a process that still runs; "" without one.
    """

    printed: str
    exit_codes: list[int]
    process: str


def runs_commands(program: str) -> bool:
    """Return whether a program runs commands."""
    return "exec_command" in program or "shell_command" in program


def commands_in(program: str) -> list[str]:
    """Return the commands that a program runs, without the escapes of their quotes."""
    if not runs_commands(program):
        return []
    return [_ESCAPED.sub(_unescaped, "".join(quoted)) for quoted in _COMMAND.findall(program)]


def process_continued(program: str) -> str:
    """Return the id of the process of which a program only asks for more output, or ""."""
    continued = None if runs_commands(program) else _CONTINUES.search(program)
    return continued[1] if continued else ""


def _unescaped(escape: re.Match[str]) -> str:
    return _ESCAPES.get(escape[1], escape[1])


def program_output(text: str) -> ProgramOutput:
    """Return what a program printed, with the outputs in place of results that are JSON."""
    printed: list[str] = []
    exit_codes: list[int] = []
    process = ""
    end = 0

    for begin in islice(_JSON_BEGINS.finditer(text), _MOST_VALUES):
        if begin.start() < end:
            continue
        try:
            value, value_end = _decoder.raw_decode(text, begin.start())
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


def _results_in(value: Any) -> Iterator[dict[str, Any]]:
    """Yield the results of commands that are in a value."""
    if isinstance(value, dict):
        if isinstance(value.get("output"), str) and any(map(value.__contains__, _STATE_OF_RESULT)):
            yield value
        else:
            for part in value.values():
                yield from _results_in(part)
    elif isinstance(value, list):
        for part in value:
            yield from _results_in(part)
