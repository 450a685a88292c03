"""How the meters draw: SVG in one style, the same bytes for the same numbers; by matplotlib, an extra."""

import importlib
import importlib.util
import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scoring.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BLUE, ORANGE, GREY, PURPLE, BLACK = "#0b62a4", "#c2541b", "#767676", "#7b3fa0", "#1f1f1f"
"""The colours of lines; novelty is purple in every plot."""

NOVELTY = PURPLE
_SIZE = (8, 4.5)
_SETTINGS = {
    "svg.fonttype": "none",
    "svg.hashsalt": "da-score",
    "font.family": "sans-serif",
    "font.size": 10,
    "text.parse_math": False,
}
_MOST_TICKS = 20
_NOT_INSTALLED = "a plot needs matplotlib, which is not installed: pip install 'da-score[plot]'"


def check_plot(path: Path) -> None:
    """Tell in time that a plot cannot be drawn.

    Raises:
        InputError: the name does not end with .svg, or matplotlib is not installed.
    """
    if path.suffix.lower() != ".svg":
        raise InputError(f"{path}: a plot is an SVG file; give it a name that ends with .svg")
    if importlib.util.find_spec("matplotlib") is None:
        raise InputError(_NOT_INSTALLED)


def drawn(draw: "Callable[[Axes], None]") -> bytes:
    """Return what ``draw`` puts on empty axes as SVG, with a legend beside them.

    Raises:
        InputError: matplotlib is not installed.
    """
    try:
        matplotlib: Any = importlib.import_module("matplotlib")
        figures: Any = importlib.import_module("matplotlib.figure")
    except ImportError as e:
        raise InputError(_NOT_INSTALLED) from e
    with matplotlib.rc_context(_SETTINGS):
        figure = figures.Figure(figsize=_SIZE, layout="constrained")
        axes = figure.add_subplot()
        axes.set_xlabel("round")
        axes.spines[["top", "right"]].set_visible(False)
        draw(axes)
        axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
        out = io.BytesIO()
        figure.savefig(out, format="svg", facecolor="white", metadata={"Date": None, "Creator": "da-score"})
    return out.getvalue()


def name_rounds(axes: "Axes", places: Sequence[float], numbers: Sequence[int]) -> None:
    """Write the numbers of rounds below their places, of many rounds only some."""
    step = -(-len(numbers) // _MOST_TICKS)
    axes.set_xticks(places[::step], [str(number) for number in numbers[::step]])
