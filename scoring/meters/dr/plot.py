"""Draws novelty and readiness over the rounds, with the round at which the meter says stop."""

from typing import TYPE_CHECKING

from scoring.meters.figures import GREY, NOVELTY, ORANGE, drawn, name_rounds
from scoring.text import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from scoring.meters.dr.meter import DRResult


def draw(result: "DRResult", title: str = "") -> bytes:
    """Return a plot as SVG.

    Raises:
        InputError: matplotlib is not installed.
    """

    def on(axes: "Axes") -> None:
        _draw_rounds(axes, result)
        axes.set_title(printable(title))

    return drawn(on)


def _draw_rounds(axes: "Axes", result: "DRResult") -> None:
    places = range(len(result.novelty))
    axes.plot(places, [n.rate for n in result.novelty], "v-", color=NOVELTY, label="novelty rate")
    axes.plot(places, [r.value for r in result.readiness], "s--", color=ORANGE, label="action readiness")
    numbers = [n.round for n in result.novelty]
    if result.stop_round is not None:
        at = numbers.index(result.stop_round)
        signal = result.recommendations[at].signal
        axes.axvline(at, color=GREY, linestyle=":", label=f"{signal} at round {result.stop_round}")
    axes.set_ylim(-0.05, 1.05)
    name_rounds(axes, places, numbers)
