"""The essentials of a report in lines of text, for a terminal."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from scoring.text import cell, counted, spans
from scoring.views.report.answers import about
from scoring.views.report.digest import Digest
from scoring.views.score_cells import band_text
from scoring.views.table import Cell, Line

_BLOCKS = "▁▂▃▄▅▆▇█"
_ABSENT = "·"
_STYLES = {"excellent": "bold green", "good": "green", "fair": "yellow", "poor": "red"}
_NARROWEST = 40


def sparkline(values: Sequence[float | None], width: int) -> str:
    """Return values in [0, 1] as block characters, a dot where there is none; means where they do not all fit."""
    if len(values) > width:
        bounds = [round(n * len(values) / width) for n in range(width + 1)]
        parts = ([v for v in values[a:b] if v is not None] for a, b in pairwise(bounds))
        values = [sum(part) / len(part) if part else None for part in parts]
    return "".join(_ABSENT if v is None else _BLOCKS[min(int(max(v, 0) * 8), 7)] for v in values)


def report_lines(digest: Digest, width: int) -> Iterator[Line]:
    """Yield a report as lines of at most ``width`` columns, or 40 where that is less."""
    width = max(width, _NARROWEST)
    count = len(digest.lines)
    mean = "no score" if digest.mean is None else f"mean {digest.mean:.3f}"
    yield from _said(f"{counted(count, 'iteration')}, {mean}", width, "bold")
    for text in certainty(digest):
        yield from _said(text, width)
    if digest.validity:
        yield from _said(f"Foretelling defective work: {digest.validity.verdict}.", width)
    yield from _said(f"rubric {digest.rubric.version}", width)
    yield from _said(digest.log, width)
    if not digest.lines:
        return
    label = min(max(len("SCORE"), *(len(name) for name in digest.signals)), 20)
    room = width - label - 8
    trend = Cell(sparkline([line.value for line in digest.lines], room), style="cyan")
    yield Line()
    yield Line((f"{'SCORE':<{label}}  ", trend))
    for name in digest.signals:
        blocks = sparkline([line.sub_scores.get(name) for line in digest.lines], room)
        share = f"{digest.presence(name) * 100:3.0f} %"
        yield Line(f"{cell(name, label):<{label}}  {blocks:<{min(room, count)}} {share}")
    first, newest = digest.lines[0].iteration, digest.lines[-1].iteration
    yield Line(cell(f"{'':<{label}}  iterations {first} to {newest}; % present", width), "dim")
    yield Line()
    most = max(digest.bands.values())
    for name, number in digest.bands.items():
        bar = Cell("█" * round(number / most * min(room, 40)), style=_STYLES.get(name, "dim"))
        yield Line((f"{cell(band_text(name), label):<{label}}  ", bar, f" {number}"))
    lowest = []
    for line in digest.lowest():
        task = f" ({line.task_id})" if line.task_id else ""
        state = "" if line.state == "current" else f" [{line.state}]"
        name = f"{line.iteration}{task}{state}"
        lowest.append(f"  {line.value or 0:.3f} {band_text(line.band):<9} {name}: {line.weakest}")
    over = [
        f"  {row.role}, {row.signal}: {row.over_claims} of {row.comparable}, in {spans(row.over_claimed)}"
        for row in digest.integrity
        if row.over_claims
    ]
    for head, texts in (("Lowest", lowest), ("Claimed more than was seen", over)):
        if texts:
            yield from (Line(), Line(head, "bold"))
            for text in texts:
                yield from _said(text, width)


def _said(text: str, width: int, style: str = "") -> Iterator[Line]:
    """Yield a line, cut to a width on a pipe; a terminal folds it."""
    yield Line(cell(text, width), style, only="pipe")
    yield Line(text, style, only="terminal")


def certainty(digest: Digest) -> Iterator[str]:
    """Yield how sure the mean is, on how much evidence it rests, where it goes, and how many scores are not in it."""
    if digest.interval:
        low, high = digest.interval
        yield f"The mean is between {low:.3f} and {high:.3f}, with 95 % confidence."
    if digest.coverage is not None:
        yield f"Evidence: on average {digest.coverage * 100:.0f} % of the rubric's weight voted."
    if trend := digest.trend:
        change = f"{trend.change:+.3f} ({trend.interval.low:+.2f} to {trend.interval.high:+.2f})"
        verdict = trend.verdict[0].upper() + trend.verdict[1:]
        yield f"{verdict}: older half {trend.older:.3f}, newer half {trend.newer:.3f}, {change}."
    for state, iterations in digest.states.items():
        scores = "1 score is" if len(iterations) == 1 else f"{len(iterations)} scores are"
        yield f"{scores} {state}: iteration {about(iterations)}."
    if digest.insufficient:
        yield f"{counted(digest.insufficient, 'iteration')} without enough evidence, in no mean."
