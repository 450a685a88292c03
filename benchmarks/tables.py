"""Tables for the document: Markdown between two marks that name them."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from benchmarks.measure import Spread

DOCUMENT = "PERFORMANCE.md"


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; all columns but the first are numbers."""
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def number(value: float) -> str:
    """Write a ratio with as many digits as it deserves."""
    return (
        f"{value:.0f}"
        if abs(value) >= 100
        else f"{value:.1f}"
        if abs(value) >= 10
        else f"{value:.2f}"
    )


def spread(found: Spread) -> tuple[str, str]:
    """Write a median, and a range."""
    return number(found.middle), f"{number(found.low)} to {number(found.high)}"


def put(directory: Path, name: str, text: str, document: str = DOCUMENT) -> None:
    """Write a text into the document of a directory, between the marks of that name.

    Raises:
        LookupError: the document has no such marks.
    """
    page = directory / document
    whole = page.read_text("utf-8")
    start, end = f"<!-- measured: {name} -->", "<!-- /measured -->"
    changed, count = re.subn(
        f"({re.escape(start)}\n).*?({re.escape(end)})",
        lambda m: f"{m[1]}{text}\n{m[2]}",
        whole,
        flags=re.S,
    )
    if count != 1:
        raise LookupError(f"{page}: has {count} places marked {start}")
    page.write_text(changed, "utf-8")
