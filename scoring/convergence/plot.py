"""Draws novelty and readiness over the rounds, with the round at which the meter says stop."""

import io
from typing import TYPE_CHECKING

from scoring.errors import SettingsError
from scoring.text import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from scoring.convergence.meter import DRResult

NOVELTY_COLOUR, READINESS_COLOUR, STOP_COLOUR = "#1b6ca8", "#c8641b", "#555555"


def draw(result: "DRResult", title: str = "") -> bytes:
    """Return a plot as SVG, the same bytes for the same result.

    Raises:
        SettingsError: matplotlib is not installed.
    """
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure
    except ImportError:
        raise SettingsError("a plot needs matplotlib; install da-score[plot]") from None
    with rc_context({"svg.hashsalt": "da-score", "svg.fonttype": "none", "text.parse_math": False}):
        figure = Figure(figsize=(8, 4), layout="constrained")
        axes = figure.add_subplot()
        _draw_rounds(axes, result)
        axes.set_title(printable(title))
        figure.legend(loc="outside lower center", ncols=3, frameon=False)
        out = io.BytesIO()
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": "da-score"})
    return out.getvalue()


def _draw_rounds(axes: "Axes", result: "DRResult") -> None:
    places = range(len(result.novelty))
    axes.plot(places, [n.rate for n in result.novelty], "o-", color=NOVELTY_COLOUR, label="novelty rate")
    axes.plot(places, [r.value for r in result.readiness], "s--", color=READINESS_COLOUR, label="action readiness")
    numbers = [n.round for n in result.novelty]
    if result.stop_round is not None:
        at = numbers.index(result.stop_round)
        signal = result.recommendations[at].signal
        axes.axvline(at, color=STOP_COLOUR, linestyle=":", label=f"{signal} at round {result.stop_round}")
    axes.set_ylim(-0.05, 1.05)
    step = max(1, len(numbers) // 20)
    axes.set_xticks(list(places)[::step], [str(number) for number in numbers[::step]])
    axes.set_xlabel("round")
    axes.grid(visible=True, alpha=0.3)
