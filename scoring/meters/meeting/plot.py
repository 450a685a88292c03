"""Draws the scores of a meeting over its rounds, with thresholds and statuses."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from scoring.meters.figures import BLACK, BLUE, GREY, NOVELTY, ORANGE, drawn, name_rounds
from scoring.meters.meeting.config import MeetingConfig
from scoring.meters.meeting.verdict import MeetingVerdict

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_STATUS_COLOURS = {
    "must_continue": "#b3261e",
    "continue_targeted": "#b26a00",
    "ready_to_decide": "#1b7a3d",
    "park_or_abort": "#5f5f5f",
}


def draw_meeting(verdicts: Sequence[MeetingVerdict], config: MeetingConfig) -> bytes:
    """Return a plot of the scores as SVG, with a dashed line at each threshold of an end that says whose it is.

    Raises:
        InputError: matplotlib is not installed.
    """
    return drawn(lambda axes: _draw_rounds(axes, verdicts, config))


def _draw_rounds(axes: "Axes", verdicts: Sequence[MeetingVerdict], config: MeetingConfig) -> None:
    rounds = [verdict.round_index for verdict in verdicts]
    t = config.thresholds
    lines = (
        ("exploration", BLUE, "o", t.exploration.min_to_allow_end),
        ("convergence", ORANGE, "^", t.convergence.min_to_allow_end),
        ("focus", GREY, "s", t.focus.min_acceptable),
        ("novelty_recent", NOVELTY, "v", t.novelty.novelty_floor_recent),
        ("completeness", BLACK, "D", t.composite.min_index_to_recommend_end),
    )
    for name, colour, marker, _ in lines:
        heights = [getattr(verdict.scores, name) for verdict in verdicts]
        axes.plot(rounds, heights, color=colour, marker=marker, label=name.replace("_", " "), gid=name)
    for limit in sorted({limit for *_, limit in lines}):
        whose = ", ".join(name.replace("_", " ") for name, *_, own in lines if own == limit)
        axes.axhline(limit, color="#8a8a8a", linestyle="--", linewidth=0.8, gid=f"threshold-{limit:g}")
        axes.text(rounds[0] - 0.45, limit + 0.008, f"{whose}: {limit:g}", color="#6a6a6a", fontsize=7)
    for status in dict.fromkeys(verdict.status for verdict in verdicts):
        at = [verdict.round_index for verdict in verdicts if verdict.status == status]
        colour = _STATUS_COLOURS[status]
        axes.scatter(at, [1.06] * len(at), color=colour, marker="s", s=50, label=status, gid=status, clip_on=False)
    axes.set_ylabel("score")
    axes.set_ylim(-0.02, 1.1)
    axes.set_yticks([0, 0.2, 0.4, 0.6, 0.8, 1])
    axes.set_xlim(rounds[0] - 0.5, rounds[-1] + 0.5)
    name_rounds(axes, rounds, rounds)
