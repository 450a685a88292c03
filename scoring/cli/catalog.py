"""The names of the commands with their summaries, as ``commands.txt`` lists them.

A command without indentation there begins a section of the help, and one that is indented twice
belongs to the group above it. The module of a command has its name: ``scoring/cli/close_task.py``
is ``close-task``, and ``scoring/cli/log_lint.py`` is ``log lint``.
"""

from collections import ChainMap
from collections.abc import Mapping
from pathlib import Path

SECTIONS: dict[str, dict[str, str]] = {}
"""The summaries of the commands at the top, by section of the help and by name."""

SUBCOMMANDS: dict[str, dict[str, str]] = {}
"""The summaries of the commands of each group that ``commands.txt`` lists, by name."""

OLD_NAMES: Mapping[str, str] = {
    "entry": "log entry",
    "integrity": "log integrity",
    "lint": "log lint",
    "records": "log records",
    "schema": "log schema",
    "signals": "log signals",
}
"""Names of earlier versions, which still work and which no help shows."""


def _read_commands() -> None:
    text = (Path(__file__).parent / "commands.txt").read_text("utf-8")
    section = ""
    group = ""

    for line in text.splitlines():
        indentation = len(line) - len(line.lstrip())
        name, _, summary = line.strip().partition(": ")
        if not name:
            continue

        if indentation == 0:
            section = name
            SECTIONS[section] = {}
        elif indentation == 2:
            group = name
            SECTIONS[section][name] = summary
        else:
            SUBCOMMANDS.setdefault(group, {})[name] = summary


_read_commands()

COMMANDS: Mapping[str, str] = ChainMap(*reversed(SECTIONS.values()))
"""The summaries of all commands at the top, in the order of the help."""


def commands_in(group: str) -> Mapping[str, str]:
    """Return the summaries of the commands of a group, by name.

    Args:
        group: the name of the group; "" for the program itself.
    """
    if group:
        return SUBCOMMANDS[group]
    return COMMANDS


def module_of(command: str) -> str:
    """Return the module of a command, named in full: "scoring.cli.log_lint" of "log lint"."""
    return "scoring.cli." + command.replace("-", "_").replace(" ", "_")
