"""Draws the scores of a meeting over its rounds, with thresholds and statuses, as SVG; by matplotlib, an extra."""

import importlib
import importlib.util
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from scoring.atomic import write_atomically
from scoring.convergence.deliberation.config import MeetingConfig
from scoring.convergence.deliberation.verdict import MeetingVerdict
from scoring.errors import InputError

_STATUS_COLOURS = {
    "must_continue": "#b3261e",
    "continue_targeted": "#b26a00",
    "ready_to_decide": "#1b7a3d",
    "park_or_abort": "#5f5f5f",
}
_SETTINGS = {
    "svg.fonttype": "none",
    "svg.hashsalt": "da-score",
    "font.family": "sans-serif",
    "font.size": 10,
    "text.parse_math": False,
}


def check_plot(path: Path) -> None:
    """Tell in time that a plot cannot be drawn.

    Raises:
        InputError: the name does not end with .svg, or matplotlib is not installed.
    """
    if path.suffix.lower() != ".svg":
        raise InputError(f"{path}: a plot is an SVG file; give it a name that ends with .svg")
    if importlib.util.find_spec("matplotlib") is None:
        raise InputError("--plot needs matplotlib, which is not installed: pip install 'da-score[plot]'")


def draw_meeting(path: Path, verdicts: Sequence[MeetingVerdict], config: MeetingConfig) -> None:
    """Draw scores over rounds, with a dashed line at each threshold of an end that says whose it is.

    Raises:
        InputError: see :func:`check_plot`.
        WriteError: the file could not be written; an old one is as it was.
    """
    check_plot(path)
    matplotlib: Any = importlib.import_module("matplotlib")
    figures: Any = importlib.import_module("matplotlib.figure")
    ticks: Any = importlib.import_module("matplotlib.ticker")
    rounds = [verdict.round_index for verdict in verdicts]
    t = config.thresholds
    lines = (
        ("exploration", "#0b62a4", "o", t.exploration.min_to_allow_end),
        ("convergence", "#c2541b", "^", t.convergence.min_to_allow_end),
        ("focus", "#767676", "s", t.focus.min_acceptable),
        ("novelty_recent", "#7b3fa0", "v", t.novelty.novelty_floor_recent),
        ("completeness", "#1f1f1f", "D", t.composite.min_index_to_recommend_end),
    )
    with matplotlib.rc_context(_SETTINGS):
        figure = figures.Figure(figsize=(8, 4.5), layout="constrained")
        axes = figure.add_subplot()
        for name, colour, marker, _ in lines:
            heights = [getattr(verdict.scores, name) for verdict in verdicts]
            label = name.replace("_", " ")
            axes.plot(rounds, heights, color=colour, marker=marker, label=label, gid=name)
        for limit in sorted({limit for *_, limit in lines}):
            whose = ", ".join(name.replace("_", " ") for name, *_, own in lines if own == limit)
            axes.axhline(limit, color="#8a8a8a", linestyle="--", linewidth=0.8, gid=f"threshold-{limit:g}")
            axes.text(rounds[0] - 0.45, limit + 0.008, f"{whose}: {limit:g}", color="#6a6a6a", fontsize=7)
        seen = dict.fromkeys(verdict.status for verdict in verdicts)
        for status in seen:
            at = [verdict.round_index for verdict in verdicts if verdict.status == status]
            colour = _STATUS_COLOURS[status]
            axes.scatter(at, [1.06] * len(at), color=colour, marker="s", s=50, label=status, gid=status, clip_on=False)
        axes.set_xlabel("round")
        axes.set_ylabel("score")
        axes.set_ylim(-0.02, 1.1)
        axes.set_yticks([0, 0.2, 0.4, 0.6, 0.8, 1])
        axes.set_xlim(rounds[0] - 0.5, rounds[-1] + 0.5)
        axes.xaxis.set_major_locator(ticks.MaxNLocator(integer=True))
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
        drawn = io.BytesIO()
        figure.savefig(drawn, format="svg", facecolor="white", metadata={"Date": None})
    write_atomically(path, drawn.getvalue(), mode=0o644)
