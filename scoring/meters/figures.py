"""How the meters draw: SVG in one style, the same bytes for the same numbers; by matplotlib, an extra."""

import importlib.util
import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scoring.errors import InputError, installing
from scoring.meters.dr.dr_result import DRResult
from scoring.meters.meeting.config import MeetingConfig
from scoring.meters.meeting.verdicts import MeetingVerdict
from scoring.text import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_BLUE, _ORANGE, _GREY, _NOVELTY, _BLACK = "#0b62a4", "#c2541b", "#767676", "#7b3fa0", "#1f1f1f"
_STATUS_COLOURS = {
    "must_continue": "#b3261e",
    "continue_targeted": "#b26a00",
    "ready_to_decide": "#1b7a3d",
    "park_or_abort": "#5f5f5f",
}
_SETTINGS: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "da-score",
    "font.family": "sans-serif",
    "font.size": 10,
    "text.parse_math": False,
}
_MOST_TICKS = 20
_NOT_INSTALLED = f"a plot needs matplotlib, of the extra 'plot': {installing('plot')}"


def check_plot(path: Path) -> None:
    """Report in time, as InputError, that a plot has no name that ends with .svg, or that matplotlib is missing."""
    if path.suffix.lower() != ".svg":
        raise InputError(f"{path}: a plot is an SVG file; give it a name that ends with .svg")
    if importlib.util.find_spec("matplotlib") is None:
        raise InputError(_NOT_INSTALLED)


def draw_convergence(result: DRResult, title: str = "") -> bytes:
    """Return novelty and readiness as SVG, with the round that says stop; InputError without matplotlib."""

    def on(axes: "Axes") -> None:
        places = range(len(result.novelty))
        axes.plot(places, [n.rate for n in result.novelty], "v-", color=_NOVELTY, label="novelty rate")
        axes.plot(places, [r.value for r in result.readiness], "s--", color=_ORANGE, label="action readiness")
        numbers = [n.round for n in result.novelty]
        if result.stop_round is not None:
            at = numbers.index(result.stop_round)
            signal = result.recommendations[at].signal
            axes.axvline(at, color=_GREY, linestyle=":", label=f"{signal} at round {result.stop_round}")
        axes.set_ylim(-0.05, 1.05)
        _name_rounds(axes, places, numbers)
        axes.set_title(printable(title))

    return _drawn(on)


def draw_meeting(verdicts: Sequence[MeetingVerdict], config: MeetingConfig) -> bytes:
    """Return the scores of a meeting as SVG, with its statuses and thresholds; InputError without matplotlib."""

    def on(axes: "Axes") -> None:
        rounds = [verdict.round_index for verdict in verdicts]
        t = config.thresholds
        lines = (
            ("exploration", _BLUE, "o", t.exploration.min_to_allow_end),
            ("convergence", _ORANGE, "^", t.convergence.min_to_allow_end),
            ("focus", _GREY, "s", t.focus.min_acceptable),
            ("novelty_recent", _NOVELTY, "v", t.novelty.novelty_floor_recent),
            ("completeness", _BLACK, "D", t.composite.min_index_to_recommend_end),
        )
        for name, colour, marker, _ in lines:
            heights = [getattr(verdict.scores, name) for verdict in verdicts]
            axes.plot(rounds, heights, color=colour, marker=marker, label=name.replace("_", " "), gid=name)
        for limit in sorted({limit for *_, limit in lines}):
            label = ", ".join(name.replace("_", " ") for name, *_, own in lines if own == limit)
            axes.axhline(limit, color="#8a8a8a", linestyle="--", linewidth=0.8, gid=f"threshold-{limit:g}")
            axes.text(rounds[0] - 0.45, limit + 0.008, f"{label}: {limit:g}", color="#6a6a6a", fontsize=7)
        for status in dict.fromkeys(verdict.status for verdict in verdicts):
            at = [verdict.round_index for verdict in verdicts if verdict.status == status]
            colour = _STATUS_COLOURS[status]
            axes.scatter(at, [1.06] * len(at), color=colour, marker="s", s=50, label=status, gid=status, clip_on=False)
        axes.set_ylabel("score")
        axes.set_ylim(-0.02, 1.1)
        axes.set_yticks([0, 0.2, 0.4, 0.6, 0.8, 1])
        axes.set_xlim(rounds[0] - 0.5, rounds[-1] + 0.5)
        _name_rounds(axes, rounds, rounds)

    return _drawn(on)


def _drawn(draw: "Callable[[Axes], None]") -> bytes:
    """Return what ``draw`` puts on empty axes as SVG, with a legend beside them."""
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError as e:
        raise InputError(_NOT_INSTALLED) from e
    with matplotlib.rc_context(_SETTINGS):
        figure = Figure(figsize=(8, 4.5), layout="constrained")
        axes = figure.add_subplot()
        axes.set_xlabel("round")
        axes.spines[["top", "right"]].set_visible(False)
        draw(axes)
        axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
        out = io.BytesIO()
        figure.savefig(out, format="svg", facecolor="white", metadata={"Date": None, "Creator": "da-score"})
    return out.getvalue()


def _name_rounds(axes: "Axes", places: Sequence[float], numbers: Sequence[int]) -> None:
    step = -(-len(numbers) // _MOST_TICKS)
    axes.set_xticks(places[::step], [str(number) for number in numbers[::step]])
