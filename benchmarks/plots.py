"""Line plots as SVG, by matplotlib where it is installed."""

import importlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

_STYLES = (
    ("#767676", "s", "--"),
    ("#0b62a4", "o", "-"),
    ("#c2541b", "^", "-"),
    ("#3d7d3a", "d", "-"),
    ("#7a4a9e", "v", "-"),
)


def draw(
    path: Path,
    across: str,
    up: str,
    sizes: Sequence[float],
    lines: Mapping[str, Sequence[float]],
) -> None:
    """Draw some lines over common sizes into a file.

    Without matplotlib this says so and leaves the file as it was.
    """
    try:
        matplotlib: Any = importlib.import_module("matplotlib")
        figures: Any = importlib.import_module("matplotlib.figure")
    except ImportError:
        print(f"  {path.name} was not drawn: matplotlib is not installed")
        return
    settings = {
        "svg.fonttype": "none",
        "svg.hashsalt": "da-score",
        "font.family": "sans-serif",
        "font.size": 10,
    }
    with matplotlib.rc_context(settings):
        figure = figures.Figure(figsize=(6.4, 3.6), layout="constrained")
        axes = figure.add_subplot()
        for (name, heights), (color, marker, dash) in zip(
            lines.items(), _STYLES[: len(lines)], strict=True
        ):
            axes.plot(
                sizes,
                heights,
                color=color,
                marker=marker,
                linestyle=dash,
                label=name.replace("`", ""),
            )
        axes.set_xlabel(across)
        axes.set_ylabel(up)
        axes.set_xticks(sizes, [f"{size:.0f}" for size in sizes])
        axes.set_xlim(0)
        axes.set_ylim(0)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False)
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, format="svg", facecolor="white", metadata={"Date": None})
