"""A simple command of a command line, and what separates two of them."""

from collections.abc import Sequence
from enum import Enum

from scoring.frozen import Frozen, Texts


class ShellCommand(Frozen):
    """One simple command of a command line.

    Attributes:
        words: the words without quotes, assignments and programs that only start another one. Empty
            for a command that only writes a file, and for a shell that is given a text.
        writes: the files that redirections and ``tee`` write, as the line has them.
        status_hidden: whether the exit status of the line says nothing about that of this command.
        is_last: whether this is the last command of the line that has words.
        connector: what joins this command to the one before: ``&&``, ``||`` or ``|``. "?" where
            this command begins a statement in an ``if`` or a ``case`` that may not be reached,
            else "".
        depth: how many groups it is in: parentheses, substitutions, loops, bodies of functions.
        outer_depth: the smallest depth between the command before and this one.
        starters: the programs that start this command, such as ``timeout``, the outermost first.
        defines_function: whether the only word is the name of a function that the line defines.
        output_file: the file that the output goes to; ``>>FILE`` where the output is appended to
            FILE, "" where the output goes to no file.
        reads_input: whether the input is redirected, or comes from a here-document.
    """

    words: Texts
    writes: Texts = ()
    status_hidden: bool = False
    is_last: bool = False
    connector: str = ""
    depth: int = 0
    outer_depth: int = 0
    starters: Texts = ()
    defines_function: bool = False
    output_file: str = ""
    reads_input: bool = False


Commands = Sequence[ShellCommand]
"""Commands of a line, in order."""


class Between(Enum):
    """What separates two commands of a line."""

    AND = "&&"
    OR = "||"
    PIPE = "|"
    BACKGROUND = "&"
    SEQUENCE = ";"

    GROUP_OPENS = "group opens"
    GROUP_CLOSES = "group closes"

    HIDDEN_GROUP_CLOSES = "hidden group closes"
    """The end of a group that hides its status: a substitution, a loop, a function."""

    BRANCHES_OPEN = "branches open"
    """The beginning of ``if`` or ``case``: what follows may not be reached."""

    BRANCHES_CLOSE = "branches close"


ShellEvent = ShellCommand | Between
"""A command, or what separates two commands, as a reader of a command line meets them in order.

``status_hidden`` of such a command only says whether keywords hide its status.
"""
