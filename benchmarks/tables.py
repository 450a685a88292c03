"""Tables for the document: Markdown between two marks that name them."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from benchmarks.measure import Spread

DOCUMENT = "PERFORMANCE.md"


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of Markdown. All columns but the first are numbers."""
    rule = ["---"] + ["---:"] * (len(head) - 1)
    lines = [head, rule, *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def number(value: float) -> str:
    """Write a ratio with as many digits as it deserves."""
    if abs(value) >= 100:
        return f"{value:.0f}"
    if abs(value) >= 10:
        return f"{value:.1f}"
    return f"{value:.2f}"


def spread(numbers: Spread) -> tuple[str, str]:
    """Write a median, and a range."""
    return number(numbers.middle), f"{number(numbers.low)} to {number(numbers.high)}"


def put(directory: Path, name: str, text: str, document: str = DOCUMENT) -> None:
    """Write a text into the document of a directory, between the marks of that name.

    Raises:
        LookupError: the document has no such marks.
    """
    page = directory / document
    start = f"<!-- measured: {name} -->"
    end = "<!-- /measured -->"
    block = re.compile(f"{re.escape(start)}\n.*?{re.escape(end)}", re.S)

    replacement = f"{start}\n{text}\n{end}"
    changed, count = block.subn(lambda _: replacement, page.read_text("utf-8"))
    if count != 1:
        raise LookupError(f"{page}: has {count} places marked {start}")
    page.write_text(changed, "utf-8")
