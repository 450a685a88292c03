"""The files that here-documents of a command write, as the hashes of their lines."""

import re
from itertools import islice

from .edits import lines_added
from .events import Hashes

_MOST_DOCUMENTS = 50
"""How many here-documents of one command are read."""

_INTO = r"""[ \t]*>{1,2}[ \t]*["']?(?P<%s>[\w./+-]+)["']?"""
_HERE = r"""[ \t]*<<-?[ \t]*["']?(?P<%s>\w+)["']?"""
_DOCUMENT = re.compile(
    rf"\bcat(?:{_INTO % 'to'}{_HERE % 'end'}|{_HERE % 'end2'}{_INTO % 'to2'})[ \t]*\n"
)
"""How a command begins by which ``cat`` writes a here-document to a file."""


def lines_of_documents(command: str, written: list[str]) -> dict[str, Hashes]:
    """Return the hashes of lines and words of the here-documents that ``cat`` writes to files.

    Those of several documents for one file are together. One without an end is left out.

    Args:
        command: the text of the command.
        written: the paths that the command writes; other files are left out.

    Returns:
        The lines, by the first path of ``written`` that ends as the command spells it.
    """
    lines: dict[str, Hashes] = {}
    command = f"{command}\n"
    for document in islice(_DOCUMENT.finditer(command), _MOST_DOCUMENTS):
        mark = document["end"] or document["end2"]
        end = command.find(f"\n{mark}\n", document.end() - 1)
        target = "/" + (document["to"] or document["to2"])
        path = next((path for path in written if f"/{path}".endswith(target)), "")
        if end >= 0 and path:
            text = command[document.end() : end]
            lines[path] = (*lines.get(path, ()), *lines_added(text))
    return lines
