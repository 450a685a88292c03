"""Until ``meeting`` uses :mod:`scoring.views.table`: the rows of its tables on a pipe."""

from collections.abc import Sequence


def _row(widths: Sequence[int], cells: Sequence[str]) -> str:
    """Join cells, all but the last padded, two spaces between."""
    padded = [f"{text:<{width}}" for text, width in zip(cells, widths, strict=False)]
    return "  ".join([*padded, cells[-1]]) + "\n"
