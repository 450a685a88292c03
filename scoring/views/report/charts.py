"""The pictures of a report, drawn by matplotlib as SVG.

A colour here is a placeholder for one of the page: what is drawn in ``INK`` becomes ``var(--ink)``, so that one
picture serves light and dark. Many points are drawn as one path of dots, which keeps a picture of thousands small.
The module is long because a picture is a function, and there are nine.
"""

import html
import io
import math
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby, pairwise
from statistics import fmean
from typing import Any

from scoring.text import cell, counted, printable
from scoring.views.report.digest import RESULTS, Digest
from scoring.views.report.reported import ReportedIteration

_COLOURS = tuple(f"#0{n}0{n}0{n}" for n in range(1, 8))
INK, FAINT, ACCENT, GOOD, FAIR, POOR, SECOND = _COLOURS
_VARIABLES = ("ink", "faint", "accent", "good", "fair", "poor", "second")
_BAND_COLOURS = {"excellent": GOOD, "good": ACCENT, "fair": FAIR, "poor": POOR}
_WIDE, _NARROW = 11, 4.7
"""How wide a picture is, in inches, on a page and on a phone: letters are as large on both."""
MOST_LINKS = 1500
"""Up to how many iterations each dot of the scores leads to its breakdown."""
_MOST_CHANGES = 20
_FEW = 200
_MOST_DOTS = 600
"""Above how many iterations a picture shows the means of neighbours, which keeps the page small."""
_MOST_RULES = 15
_HALF = 0.5
_RC: Any = {
    "text.parse_math": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "da-score",
    "font.size": 10,
    "axes.edgecolor": FAINT,
    **dict.fromkeys(("axes.labelcolor", "text.color", "xtick.color", "ytick.color"), INK),
    **dict.fromkeys(("axes.spines.top", "axes.spines.right"), False),
}


Draw = Callable[..., tuple[str, str]]
"""Draws a picture on axes, and returns its title and what it says, in words."""


def drawn(draw: Draw, name: str, width: float, height: float, *what: Any) -> str:
    """Return a picture of a size in inches as SVG; ``what`` goes to ``draw``."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context(_RC), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from")  # the browser's fonts have it
        figure = Figure(figsize=(width, height), layout="constrained")
        figure.patch.set_alpha(0)
        axes = figure.add_subplot()
        axes.patch.set_alpha(0)
        return _svg(figure, name, *draw(axes, *what))


def pictures(digest: Digest) -> dict[str, Any]:
    """Return the pictures by name, "" where there is nothing to draw; wide ones are there for a phone too."""
    present = {name: label for name, label in digest.signals.items() if digest.presence(name)}
    shown: dict[str, tuple[Draw, float, object]] = {
        "scores": (scores, 3.6, True),
        "corrections": (corrections, 2.4, True),
        "presence": (presence, 0.5 + 0.32 * len(present), present),
        "deliberations": (deliberations, 2.4, digest.deliberated),
        "tokens": (tokens, 2.2, any(line.cache_hit_rate is not None for line in digest.lines)),
        "cost": (cost, 2.2, any(line.cost for line in digest.lines)),
    }
    found: dict[str, Any] = {}
    for name, (draw, height, wanted) in shown.items():
        found[name] = drawn(draw, name, _WIDE, height, digest, False) if wanted else ""
        found[f"{name}_narrow"] = drawn(draw, f"{name}-narrow", _NARROW, height, digest, True) if wanted else ""
    found["signals"] = {
        name: drawn(signal, f"signal{n}", 3.6, 1.7, digest, name, label)
        for n, (name, label) in enumerate(present.items())
    }
    rows = max(len(_claim_means(digest)), 1), max(len(digest.rules[:_MOST_RULES]), 1)
    found["integrity"] = drawn(integrity, "integrity", 7, 0.7 + 0.4 * rows[0], digest) if digest.integrity else ""
    found["hooks"] = drawn(hooks, "hooks", 7, 0.7 + 0.3 * rows[1], digest) if digest.hooks else ""
    return found


def _svg(figure: Any, name: str, title: str, description: str) -> str:
    """Return a figure as SVG for a page: in the colours of the page, with ids of its own, its meaning said in words."""
    out = io.StringIO()
    figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    text = out.getvalue()
    text = text[text.index("<svg") :]
    text = text.replace(' target="_blank"', ' tabindex="-1"')  # the table has the same links, for the keyboard
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.S)
    for colour, variable in zip(_COLOURS, _VARIABLES, strict=True):
        text = text.replace(colour, f"var(--{variable})")
    text = re.sub(r'\bid="([^"]+)"', rf'id="{name}-\1"', text)
    text = re.sub(r'(url\(|xlink:href=")#(?!iter-)', rf"\1#{name}-", text)
    for size in ("width", "height"):
        text = re.sub(rf'<svg ([^>]*?){size}="[^"]*"', r"<svg \1", text, count=1)
    text = text.replace("<svg ", f'<svg role="img" aria-labelledby="{name}-title {name}-desc" ', 1)
    head, _, drawing = text.partition(">")
    description = html.escape(printable(description))
    said = f'<title id="{name}-title">{html.escape(title)}</title><desc id="{name}-desc">{description}</desc>'
    return f"{head}>{said}{drawing}"


def _bars(axes: Any, found: Sequence[tuple[int, float]], width: float, colour: str, label: str) -> None:
    """Draw bars as one path."""
    places = [place for n, _ in found for place in (n, n, math.nan)]
    tops = [height for _, cost in found for height in (0, cost, math.nan)]
    axes.plot(places, tops, color=colour, linewidth=width, solid_capstyle="butt", alpha=0.8, label=label)


def _dots(axes: Any, xs: Sequence[float], ys: Sequence[float | None], colour: str, size: float) -> None:
    """Draw dots as one path: lines of no length with round ends."""
    there = [(x, y) for x, y in zip(xs, ys, strict=True) if y is not None]
    across = [place for x, _ in there for place in (x, x, math.nan)]
    up = [place for _, y in there for place in (y, y + 1e-9, math.nan)]
    axes.plot(across, up, color=colour, linewidth=size, solid_capstyle="round", clip_on=False)


def _size(values: Sequence[float | None]) -> float:
    """Return how large dots are, in points, so that many of them do not run together."""
    return 4 if len(values) < 60 else 3 if len(values) < _FEW else 1.5


def _ticks(axes: Any, lines: Sequence[ReportedIteration], narrow: bool = False, most: int = 16) -> None:
    step = max(1, math.ceil(len(lines) / (7 if narrow else most)))
    places = list(range(0, len(lines), step))
    axes.set_xticks(places, [str(lines[n].iteration) for n in places])
    axes.set_xlim(-0.6, max(len(lines) - 0.4, 0.6))


def _trend(axes: Any, values: Sequence[float | None], **how: Any) -> None:
    axes.plot(range(len(values)), smooth(values, trend_width(len(values))), **{"color": ACCENT} | how)


def _legend(axes: Any, **how: Any) -> None:
    axes.legend(frameon=False, loc="lower left", bbox_to_anchor=(0, 1), borderaxespad=0, **{"ncols": 4} | how)


def _rows(axes: Any, names: Sequence[str]) -> None:
    """Name the rows of a picture, the first at the top."""
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.4, -0.6)


def smooth(values: Sequence[float | None], width: int) -> list[float]:
    """Return the mean over the last ``width`` values that there are, at every place; nan where there are none."""
    held: list[float] = []
    found: list[float] = []
    for value in values:
        if value is not None:
            held = [*held, value][-width:]
        found.append(sum(held) / len(held) if held else math.nan)
    return found


def trend_width(count: int) -> int:
    """Return over how many scores a trend is the mean: eight, and more of them in a long log."""
    return max(8, count // 50)


def _thinned(values: Sequence[float | None], most: int = _MOST_DOTS) -> tuple[list[float], list[float | None]]:
    """Return places and values: the means of neighbours where there are more than so many."""
    if len(values) <= most:
        return [float(n) for n in range(len(values))], list(values)
    bounds = [round(n * len(values) / most) for n in range(most + 1)]
    means: list[float | None] = []
    for first, last in pairwise(bounds):
        there = [value for value in values[first:last] if value is not None]
        means.append(fmean(there) if there else None)
    return [(first + last - 1) / 2 for first, last in pairwise(bounds)], means


def scores(axes: Any, digest: Digest, narrow: bool) -> tuple[str, str]:
    """Draw the score of every iteration over the bands, with a trend, and where the rubric changes."""
    lines, values = digest.lines, [line.value for line in digest.lines]
    _bands(axes, digest)
    _trend(axes, [line.value if line.counted else None for line in lines], linewidth=1.8)
    if len(lines) <= MOST_LINKS and not narrow:
        _linked_dots(axes, lines)
    else:
        places, shown = _thinned(values) if narrow else (range(len(lines)), values)
        _dots(axes, places, shown, INK, _size(values))
    for place, version in digest.rubric_changes[:_MOST_CHANGES]:
        axes.axvline(place - 0.5, color=INK, linestyle=":", linewidth=1)
        axes.text(place - 0.4, 1.04, f"rubric {cell(version, 20)}", size=8, transform=axes.get_xaxis_transform())
    axes.set_ylim(0, 1)
    axes.set_ylabel("score")
    axes.set_xlabel("iteration")
    _ticks(axes, lines, narrow)
    mean = "no scores" if digest.mean is None else f"mean {digest.mean:.3f}"
    changes = ", ".join(f"{version} from {lines[n].iteration}" for n, version in digest.rubric_changes)
    said = f"{counted(len(lines), 'iteration')}, {mean}; rubric {changes}. The line is the mean of the last "
    said += f"{trend_width(len(lines))} scores. The table of iterations has the same numbers."
    return "Score of every iteration", said


def _bands(axes: Any, digest: Digest) -> None:
    upper, beside = 1.0, axes.get_yaxis_transform()
    for band in digest.rubric.bands:
        axes.axhspan(band.min, upper, color=_BAND_COLOURS.get(band.name, FAINT), alpha=0.09, linewidth=0)
        axes.text(1.005, (band.min + upper) / 2, band.name, transform=beside, va="center", size=9)
        upper = band.min


def _linked_dots(axes: Any, lines: Sequence[ReportedIteration]) -> None:
    """Draw a dot for every score, in the colour of its band, that leads to its breakdown."""
    known = [(n, line) for n, line in enumerate(lines) if line.value is not None]
    places, values = [n for n, _ in known], [line.value for _, line in known]
    colours = [_BAND_COLOURS.get(line.band, INK) if line.counted else FAINT for _, line in known]
    size = 50 if len(lines) < _FEW else 12
    points = axes.scatter(places, values, s=size, color=colours, edgecolors="none", zorder=3, clip_on=False)
    points.set_urls([f"#iter-{line.iteration}" for _, line in known])


def signal(axes: Any, digest: Digest, name: str, label: str) -> tuple[str, str]:
    """Draw the sub-score of one signal over the iterations, with gaps where it is absent."""
    values = [line.sub_scores.get(name) for line in digest.lines]
    _trend(axes, values, linewidth=1.2, alpha=0.8)
    _dots(axes, *_thinned(values), INK, _size(values))
    axes.set_ylim(-0.05, 1.05)
    axes.set_yticks([0, 0.5, 1])
    _ticks(axes, digest.lines, most=6)
    there = [v for v in values if v is not None]
    mean = f"mean {fmean(there):.2f}" if there else "never present"
    said = f"Present in {len(there)} of {counted(len(values), 'iteration')}, {mean}."
    return f"{label}: sub-score over the iterations", said


def tokens(axes: Any, digest: Digest, narrow: bool) -> tuple[str, str]:
    """Draw the cache hit rate of every iteration, and its trend."""
    rates = [line.cache_hit_rate for line in digest.lines]
    _trend(axes, rates, linewidth=1.6)
    _dots(axes, *_thinned(rates), INK, _size(rates))
    axes.set_ylim(-0.03, 1.03)
    axes.set_ylabel("cache hit rate")
    _ticks(axes, digest.lines, narrow)
    there = [rate for rate in rates if rate is not None]
    said = f"mean {fmean(there):.2f}" if there else "never known"
    title = "Token efficiency: share of the cached prompt that was read rather than written"
    return title, f"Known in {len(there)} of {counted(len(rates), 'iteration')}, {said}."


def cost(axes: Any, digest: Digest, narrow: bool) -> tuple[str, str]:
    """Draw what every iteration cost, what did not last in another colour, and the trend."""
    lines, costs = digest.lines, [line.cost for line in digest.lines]
    width = min(14, max(0.6, (300 if narrow else 700) / len(lines) * 0.6))
    bars = [(n, c, line.sound is False) for n, (c, line) in enumerate(zip(costs, lines, strict=True)) if c]
    for colour, label, lost in ((SECOND, "per iteration", False), (POOR, "reverted or fixed later", True)):
        if found := [(n, c) for n, c, is_lost in bars if is_lost == lost]:
            _bars(axes, found, width, colour, label)
    _trend(axes, costs, color=INK, linewidth=1.2, label=f"mean of the last {trend_width(len(costs))}")
    axes.set_ylim(bottom=0)
    axes.set_ylabel("US dollars")
    _ticks(axes, lines, narrow)
    _legend(axes, ncols=3, fontsize=8)
    there = [c for c in costs if c is not None]
    said = f"Known of {len(there)} of {counted(len(costs), 'iteration')}, {sum(there):.2f} US dollars in all."
    return "What each iteration cost", said


def presence(axes: Any, digest: Digest, narrow: bool) -> tuple[str, str]:
    """Draw for every signal where it is present."""
    signals = [name for name in digest.signals if digest.presence(name)]
    for row, name in enumerate(signals):
        places, shares = _thinned([float(line.sub_scores.get(name) is not None) for line in digest.lines])
        runs = _runs([(share or 0) >= _HALF for share in shares], len(digest.lines) / len(places))
        axes.broken_barh(list(runs), (row - 0.35, 0.7), color=ACCENT, linewidth=0)
    _rows(axes, [cell(digest.signals[name], 20 if narrow else 30) for name in signals])
    _ticks(axes, digest.lines, narrow)
    listed = ", ".join(f"{name} {digest.presence(name):.0%}" for name in signals)
    return "Where each signal is present", f"Gaps are where the log is blind. {listed}."


def _runs(flags: Sequence[bool], each: float) -> Iterator[tuple[float, float]]:
    """Yield where runs of true begin, and how long they are; a flag is for so many iterations."""
    for flag, run in groupby(enumerate(flags), key=lambda pair: pair[1]):
        if flag:
            places = [n for n, _ in run]
            yield places[0] * each - 0.5, len(places) * each


def integrity(axes: Any, digest: Digest) -> tuple[str, str]:
    """Draw claimed beside observed, on average, per role and signal."""
    means = _claim_means(digest)
    for row, (_, claimed, observed) in enumerate(means):
        colour = POOR if observed < claimed else GOOD
        axes.plot([claimed, observed], [row, row], color=colour, linewidth=2, zorder=1)
    axes.scatter([m[1] for m in means], range(len(means)), color=SECOND, marker="D", s=40, label="claimed")
    axes.scatter([m[2] for m in means], range(len(means)), color=ACCENT, s=46, label="observed")
    _rows(axes, [m[0] for m in means])
    axes.set_xlim(-0.03, 1.03)
    if means:
        _legend(axes)
    said = "; ".join(f"{name} claimed {a:.2f}, observed {b:.2f}" for name, a, b in means)
    return "Claimed against observed, mean", said or "Nothing compares."


def _claim_means(digest: Digest) -> list[tuple[str, float, float]]:
    """Return the means of what was claimed and of what was observed, by role and signal, where both are known."""
    sides: dict[str, list[tuple[float, float]]] = {f"{row.role}: {row.signal}": [] for row in digest.integrity}
    for claim in (claim for line in digest.lines for claim in line.claims):
        if claim.claimed is not None and claim.observed is not None:
            sides[f"{claim.role}: {claim.signal}"].append((claim.claimed, claim.observed))
    return [(name, fmean(a for a, _ in found), fmean(b for _, b in found)) for name, found in sides.items() if found]


def hooks(axes: Any, digest: Digest) -> tuple[str, str]:
    """Draw how often each rule of the hook gates had each result; the fifteen with the most to say."""
    rules = digest.rules[:_MOST_RULES]
    left = [0] * len(rules)
    for result, colour in zip(RESULTS, (POOR, FAIR, GOOD, FAINT), strict=True):
        counts = [results[result] for _, results in rules]
        if any(counts):
            axes.barh(range(len(rules)), counts, left=left, color=colour, label=result, height=0.7)
        left = [a + b for a, b in zip(left, counts, strict=True)]
    _rows(axes, [cell(rule, 40) for rule, _ in rules])
    axes.set_xlabel("records")
    axes.xaxis.get_major_locator().set_params(integer=True)
    _legend(axes)
    return "Hook outcomes by rule", "The table below has the same numbers."


def deliberations(axes: Any, digest: Digest, narrow: bool) -> tuple[str, str]:
    """Draw the meter's score, the novelty of the last round and the readiness of every deliberation."""
    found = digest.deliberated
    for label, colour, marker, values in (
        ("score", ACCENT, "o", [d.score for _, d in found]),
        ("novelty of the last round", SECOND, "D", [d.novelty for _, d in found]),
        ("readiness", GOOD, "s", [d.readiness for _, d in found]),
    ):
        known = [(n, value) for n, value in enumerate(values) if value is not None]
        places, there = [n for n, _ in known], [value for _, value in known]
        axes.plot(places, there, color=colour, linewidth=0.8, alpha=0.5)
        axes.scatter(places, there, color=colour, marker=marker, s=26, label=label, zorder=3)
    axes.set_ylim(-0.05, 1.05)
    _ticks(axes, [line for line, _ in found], narrow)
    axes.set_xlabel("iteration that has a deliberation")
    _legend(axes)
    have = "has a deliberation" if len(found) == 1 else "have a deliberation"
    said = f"{len(found)} of {counted(len(digest.lines), 'iteration')} {have}, listed in the table below."
    return "Deliberations: score, novelty and readiness", said


def corrections(axes: Any, digest: Digest, narrow: bool) -> tuple[str, str]:
    """Draw retries, corrections by the user, and the share of tool calls that failed."""
    lines = digest.lines
    retries, users = [line.retries or 0 for line in lines], [line.corrections or 0 for line in lines]
    places, lower = _thinned([float(count) for count in retries])
    upper = [(a or 0) + (b or 0) for a, b in zip(lower, _thinned([float(count) for count in users])[1], strict=True)]
    how = {"step": "mid", "alpha": 0.75, "linewidth": 0}
    axes.fill_between(places, 0, lower, color=SECOND, label="retries", **how)
    axes.fill_between(places, lower, upper, color=POOR, label="user corrections", hatch="///", **how)
    axes.set_ylabel("times")
    axes.yaxis.get_major_locator().set_params(integer=True)
    _ticks(axes, lines, narrow)
    rates = [line.tool_errors for line in lines]
    known = [rate for rate in rates if rate is not None]
    if known:
        _failed_calls(axes, rates, max(known))
    _legend(axes)
    failed = f"; {fmean(known):.0%} of tool calls failed on average" if known else ""
    sums = f"{counted(sum(retries), 'retry', 'retries')} and {counted(sum(users), 'correction')} by the user"
    return "Correction pressure", f"{sums} in {counted(len(lines), 'iteration')}{failed}."


def _failed_calls(axes: Any, rates: Sequence[float | None], most: float) -> None:
    other = axes.twinx()
    other.spines["right"].set_visible(True)
    other.patch.set_alpha(0)
    places, means = _thinned(rates)
    _dots(other, places, [None if rate is None else rate * 100 for rate in means], INK, _size(rates))
    other.set_ylim(0, max(100 * most, 10))
    other.set_ylabel("failed tool calls, % (dots)")
