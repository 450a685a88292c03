"""``python -m benchmarks`` measures how long da-score takes.

Its sub-commands check whether da-score is right: ``truth`` compares what it says with what readers
found, ``spent`` compares its tokens with those of another program, and ``landings`` checks what it
says of work off the trunk in histories that it rewrites. ``taken-back`` asks whether lines alone
find work that was undone. ``placebo`` counts the false alarms of comparisons. ``reader`` shows what
is understood of a transcript.
"""

import sys
from collections.abc import Callable

from benchmarks import landings, placebo, reader, run, spent, taken_back, truth

_SUB_COMMANDS: dict[str, Callable[[list[str]], int]] = {
    "truth": truth.main,
    "spent": spent.main,
    "landings": landings.main,
    "taken-back": taken_back.main,
    "placebo": placebo.main,
    "reader": reader.main,
}


def main(arguments: list[str]) -> int:
    """Run a sub-command, or measure."""
    if arguments and arguments[0] in _SUB_COMMANDS:
        return _SUB_COMMANDS[arguments[0]](arguments[1:])
    return run.main(arguments)


sys.exit(main(sys.argv[1:]))
