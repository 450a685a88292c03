"""The pictures of a report, drawn by matplotlib as SVG: a function draws each and says in words what it shows.

What is drawn in ``INK`` becomes ``var(--ink)`` of the page, so that one picture serves light and dark. The module is
long because all pictures share one way of drawing.
"""

import html
import io
import math
import re
import warnings
from collections.abc import Callable, Sequence
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
_WIDE, _NARROW = 11, 4.7  # how wide a picture is, in inches, on a page and on a phone: letters are as large on both
MOST_LINKS = 1500  # up to how many iterations each dot of the scores leads to its breakdown
_MOST_RULES = 15
_MOST_DOTS = 600  # above that a picture shows the means of neighbours, which keeps the page small
_RC: Any = {"svg.hashsalt": "da-score", "font.size": 10, "axes.edgecolor": FAINT}
_RC |= dict.fromkeys(("svg.fonttype", "axes.facecolor", "figure.facecolor"), "none")
_RC |= dict.fromkeys(("axes.labelcolor", "text.color", "xtick.color", "ytick.color"), INK)
_RC |= dict.fromkeys(("text.parse_math", "axes.spines.top", "axes.spines.right"), False)

Values = Sequence[float | None]


def pictures(digest: Digest) -> dict[str, Any]:
    """Return the pictures by name, "" where there is nothing to draw; wide ones are there for a phone too."""
    present = {name: label for name, label in digest.signals.items() if digest.presence(name)}
    wide: dict[str, tuple[Callable[..., tuple[str, str]], float, object]] = {
        "scores": (scores, 3.6, True),
        "corrections": (corrections, 2.4, True),
        "presence": (presence, 0.5 + 0.32 * len(present), present),
        "deliberations": (deliberations, 2.4, digest.deliberated),
        "tokens": (tokens, 2.2, any(line.cache_hit_rate is not None for line in digest.lines)),
        "cost": (cost, 2.2, any(line.cost for line in digest.lines)),
    }
    found: dict[str, Any] = {}
    for name, (draw, height, wanted) in wide.items():
        for end, width in ("", _WIDE), ("_narrow", _NARROW):
            found[name + end] = drawn(draw, name + end, width, height, digest) if wanted else ""
    each = enumerate(present.items())
    found["signals"] = {name: drawn(signal, f"signal{n}", 3.6, 1.7, digest, name, label) for n, (name, label) in each}
    rows = max(len(_claim_means(digest)), 1), max(len(digest.rules[:_MOST_RULES]), 1)
    found["integrity"] = drawn(integrity, "integrity", 7, 0.7 + 0.4 * rows[0], digest) if digest.integrity else ""
    found["hooks"] = drawn(hooks, "hooks", 7, 0.7 + 0.3 * rows[1], digest) if digest.hooks else ""
    return found


def drawn(draw: Callable[..., tuple[str, str]], name: str, width: float, height: float, *what: Any) -> str:
    """Return what ``draw`` draws, in inches, as SVG with ids of its own; it returns the title and what that says."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    out = io.StringIO()
    with mpl.rc_context(_RC), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from")  # the browser's fonts have it
        figure = Figure(figsize=(width, height), layout="constrained")
        title, said = draw(figure.add_subplot(), *what)
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    text = out.getvalue()
    text = text[text.index("<svg") :].replace(' target="_blank"', ' tabindex="-1"')  # the table has links for keyboards
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.S)
    for colour, variable in zip(_COLOURS, _VARIABLES, strict=True):
        text = text.replace(colour, f"var(--{variable})")
    text = re.sub(r'\bid="([^"]+)"', rf'id="{name}-\1"', text)
    text = re.sub(r'(url\(|xlink:href=")#(?!iter-)', rf"\1#{name}-", text)
    head, _, drawing = text.partition(">")
    head = re.sub(r' (?:width|height)="[^"]*"', "", head) + f' role="img" aria-labelledby="{name}-title {name}-desc"'
    title, said = html.escape(title), html.escape(printable(said))
    return f'{head}><title id="{name}-title">{title}</title><desc id="{name}-desc">{said}</desc>{drawing}'


def _is_narrow(axes: Any) -> bool:
    return bool(axes.figure.get_figwidth() == _NARROW)


def _dots(axes: Any, values: Values) -> None:
    size = 4 if len(values) < 60 else 3 if len(values) < 200 else 1.5
    axes.plot(*_thinned(values), "o", color=INK, markersize=size, markeredgewidth=0, clip_on=False)


def _ticks(axes: Any, lines: Sequence[ReportedIteration]) -> None:
    places = list(range(0, len(lines), max(1, math.ceil(len(lines) / round(1.5 * axes.figure.get_figwidth())))))
    axes.set_xticks(places, [str(lines[n].iteration) for n in places])
    axes.set_xlim(-0.6, max(len(lines) - 0.4, 0.6))


def _trend(axes: Any, values: Values, **how: Any) -> None:
    width, last, means = trend_width(len(values)), list[float](), list[float]()
    for value in values:
        last = last if value is None else [*last, value][-width:]
        means.append(fmean(last) if last else math.nan)
    axes.plot(range(len(means)), means, **{"color": ACCENT} | how)


def trend_width(count: int) -> int:
    """Return over how many scores a trend is the mean: eight, and more of them in a long log."""
    return max(8, count // 50)


def _legend(axes: Any, **how: Any) -> None:
    axes.legend(frameon=False, loc="lower left", bbox_to_anchor=(0, 1), borderaxespad=0, **{"ncols": 4} | how)


def _rows(axes: Any, names: Sequence[str]) -> None:
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.4, -0.6)


def _mean(values: Values) -> float | None:
    there = [value for value in values if value is not None]
    return fmean(there) if there else None


def _thinned(values: Values) -> tuple[list[float], list[float | None]]:
    parts = min(len(values), _MOST_DOTS)
    bounds = [round(n * len(values) / parts) for n in range(parts + 1)] if parts else []
    spans = list(pairwise(bounds))
    return [(first + last - 1) / 2 for first, last in spans], [_mean(values[first:last]) for first, last in spans]


def scores(axes: Any, digest: Digest) -> tuple[str, str]:
    """Draw the score of every iteration over the bands, with a trend, and where the rubric changes."""
    lines, upper = digest.lines, 1.0
    for band in digest.rubric.bands:
        axes.axhspan(band.min, upper, color=_BAND_COLOURS.get(band.name, FAINT), alpha=0.09, linewidth=0)
        where = {"transform": axes.get_yaxis_transform(), "va": "center", "size": 9}
        axes.text(1.005, (band.min + upper) / 2, band.name, **where)
        upper = band.min
    _trend(axes, [line.value if line.counted else None for line in lines], linewidth=1.8)
    if len(lines) <= MOST_LINKS and not _is_narrow(axes):
        known = [(n, line) for n, line in enumerate(lines) if line.value is not None]
        colours = [_BAND_COLOURS.get(line.band, INK) if line.counted else FAINT for _, line in known]
        how = {"s": 50 if len(lines) < 200 else 12, "edgecolors": "none", "zorder": 3, "clip_on": False}
        points = axes.scatter([n for n, _ in known], [line.value for _, line in known], color=colours, **how)
        points.set_urls([f"#iter-{line.iteration}" for _, line in known])
    else:
        _dots(axes, [line.value for line in lines])
    for place, version in digest.rubric_changes[:20]:
        axes.axvline(place - 0.5, color=INK, linestyle=":", linewidth=1)
        axes.text(place - 0.4, 1.04, f"rubric {cell(version, 20)}", size=8, transform=axes.get_xaxis_transform())
    axes.set(ylim=(0, 1), ylabel="score", xlabel="iteration")
    _ticks(axes, lines)
    mean = "no scores" if digest.mean is None else f"mean {digest.mean:.3f}"
    changes = ", ".join(f"{version} from {lines[n].iteration}" for n, version in digest.rubric_changes)
    said = f"{counted(len(lines), 'iteration')}, {mean}; rubric {changes}. The line is the mean of the last "
    said += f"{trend_width(len(lines))} scores. The table of iterations has the same numbers."
    return "Score of every iteration", said


def signal(axes: Any, digest: Digest, name: str, label: str) -> tuple[str, str]:
    """Draw the sub-score of one signal over the iterations, with gaps where it is absent."""
    said = _shares(axes, digest, [line.sub_scores.get(name) for line in digest.lines])
    return f"{label}: sub-score over the iterations", f"Present {said}"


def tokens(axes: Any, digest: Digest) -> tuple[str, str]:
    """Draw the cache hit rate of every iteration, and its trend."""
    said = _shares(axes, digest, [line.cache_hit_rate for line in digest.lines])
    axes.set_ylabel("cache hit rate")
    return "Token efficiency: share of the cached prompt that was read rather than written", f"Known {said}"


def _shares(axes: Any, digest: Digest, values: Values) -> str:
    _trend(axes, values, linewidth=1.4)
    _dots(axes, values)
    axes.set(ylim=(-0.05, 1.05), yticks=[0, 0.5, 1])
    _ticks(axes, digest.lines)
    return f"in {len(values) - values.count(None)} of {counted(len(values), 'iteration')}, mean {_mean(values):.2f}."


def cost(axes: Any, digest: Digest) -> tuple[str, str]:
    """Draw what every iteration cost, what did not last in another colour, and the trend."""
    costs = [line.cost for line in digest.lines]
    width = min(14, max(0.6, (180 if _is_narrow(axes) else 420) / len(costs)))
    bars = [(n, line.cost, line.sound is False) for n, line in enumerate(digest.lines) if line.cost]
    for colour, label, lost in ((SECOND, "per iteration", False), (POOR, "reverted or fixed later", True)):
        found = [(n, cost) for n, cost, is_lost in bars if is_lost == lost]
        if found:  # one path, which keeps a picture of thousands small
            places = [place for n, _ in found for place in (n, n, math.nan)]
            heights = [height for _, cost in found for height in (0, cost, math.nan)]
            how: Any = {"linewidth": width, "solid_capstyle": "butt", "alpha": 0.8}
            axes.plot(places, heights, color=colour, label=label, **how)
    _trend(axes, costs, color=INK, linewidth=1.2, label=f"mean of the last {trend_width(len(costs))}")
    axes.set(ylabel="US dollars", ylim=(0, None))
    _ticks(axes, digest.lines)
    _legend(axes, ncols=3, fontsize=8)
    there = [cost for cost in costs if cost is not None]
    said = f"Known of {len(there)} of {counted(len(costs), 'iteration')}, {sum(there):.2f} US dollars in all."
    return "What each iteration cost", said


def presence(axes: Any, digest: Digest) -> tuple[str, str]:
    """Draw for every signal where it is present."""
    signals = [name for name in digest.signals if digest.presence(name)]
    for row, name in enumerate(signals):
        shares = _thinned([float(line.sub_scores.get(name) is not None) for line in digest.lines])[1]
        each = len(digest.lines) / len(shares)
        runs = (list(run) for _, run in groupby(enumerate(shares), key=lambda pair: (pair[1] or 0) >= 0.5))
        shown = [(run[0][0] * each - 0.5, len(run) * each) for run in runs if (run[0][1] or 0) >= 0.5]
        axes.broken_barh(shown, (row - 0.35, 0.7), color=ACCENT, linewidth=0)
    _rows(axes, [cell(digest.signals[name], 20 if _is_narrow(axes) else 30) for name in signals])
    _ticks(axes, digest.lines)
    listed = ", ".join(f"{name} {digest.presence(name):.0%}" for name in signals)
    return "Where each signal is present", f"Gaps are where the log is blind. {listed}."


def integrity(axes: Any, digest: Digest) -> tuple[str, str]:
    """Draw claimed beside observed, on average, per role and signal."""
    means = _claim_means(digest)
    for row, (_, claimed, observed) in enumerate(means):
        axes.plot([claimed, observed], [row, row], color=POOR if observed < claimed else GOOD, linewidth=2, zorder=1)
    axes.scatter([m[1] for m in means], range(len(means)), color=SECOND, marker="D", s=40, label="claimed")
    axes.scatter([m[2] for m in means], range(len(means)), color=ACCENT, s=46, label="observed")
    _rows(axes, [m[0] for m in means])
    axes.set_xlim(-0.03, 1.03)
    if means:
        _legend(axes)
    said = "; ".join(f"{name} claimed {a:.2f}, observed {b:.2f}" for name, a, b in means)
    return "Claimed against observed, mean", said or "Nothing compares."


def _claim_means(digest: Digest) -> list[tuple[str, float, float]]:
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


def deliberations(axes: Any, digest: Digest) -> tuple[str, str]:
    """Draw the meter's score, the novelty of the last round and the readiness of every deliberation."""
    found = digest.deliberated
    for label, colour, marker, values in (
        ("score", ACCENT, "o", [d.score for _, d in found]),
        ("novelty of the last round", SECOND, "D", [d.novelty for _, d in found]),
        ("readiness", GOOD, "s", [d.readiness for _, d in found]),
    ):
        places = [n for n, value in enumerate(values) if value is not None]
        there = [values[n] for n in places]
        axes.plot(places, there, color=colour, linewidth=0.8, alpha=0.5)
        axes.scatter(places, there, color=colour, marker=marker, s=26, label=label, zorder=3)
    axes.set(ylim=(-0.05, 1.05), xlabel="iteration that has a deliberation")
    _ticks(axes, [line for line, _ in found])
    _legend(axes)
    have = "has a deliberation" if len(found) == 1 else "have a deliberation"
    said = f"{len(found)} of {counted(len(digest.lines), 'iteration')} {have}, listed in the table below."
    return "Deliberations: score, novelty and readiness", said


def corrections(axes: Any, digest: Digest) -> tuple[str, str]:
    """Draw retries, corrections by the user, and the share of tool calls that failed."""
    lines = digest.lines
    retries, users = [line.retries or 0 for line in lines], [line.corrections or 0 for line in lines]
    (places, lower), (_, upper) = _thinned(retries), _thinned([a + b for a, b in zip(retries, users, strict=True)])
    how: Any = {"step": "mid", "alpha": 0.75, "linewidth": 0}
    axes.fill_between(places, 0, lower, color=SECOND, label="retries", **how)
    axes.fill_between(places, lower, upper, color=POOR, label="user corrections", hatch="///", **how)
    axes.set_ylabel("times")
    axes.yaxis.get_major_locator().set_params(integer=True)
    _ticks(axes, lines)
    rates = [None if line.tool_errors is None else line.tool_errors * 100 for line in lines]
    mean, failed = _mean(rates), ""
    if mean is not None:
        other = axes.twinx()
        other.spines["right"].set_visible(True)
        _dots(other, rates)
        other.set(ylim=(0, max(10.0, *(rate or 0 for rate in rates))), ylabel="failed tool calls, % (dots)")
        failed = f"; {mean:.0f}% of tool calls failed on average"
    _legend(axes)
    sums = f"{counted(sum(retries), 'retry', 'retries')} and {counted(sum(users), 'correction')} by the user"
    return "Correction pressure", f"{sums} in {counted(len(lines), 'iteration')}{failed}."
