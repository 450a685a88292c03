"""The essentials of a report on a terminal: trends in block characters, bands as bars, the lowest and why."""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from scoring.text import cell, spans
from scoring.views.report.digest import Digest, Line

_BLOCKS = "▁▂▃▄▅▆▇█"
_ABSENT = "·"
_COLOURS = {"excellent": "1;32", "good": "32", "fair": "33", "poor": "31"}

Paint = Callable[[str, str], str]


def sparkline(values: Sequence[float | None], width: int) -> str:
    """Return values in [0, 1] as block characters, a dot where there is none; means where they do not all fit."""
    if len(values) > width:
        bounds = [round(n * len(values) / width) for n in range(width + 1)]
        values = [_mean(values[a:b]) for a, b in pairwise(bounds)]
    return "".join(_ABSENT if v is None else _BLOCKS[min(int(max(v, 0) * 8), 7)] for v in values)


def _mean(values: Sequence[float | None]) -> float | None:
    there = [v for v in values if v is not None]
    return sum(there) / len(there) if there else None


def terminal_text(digest: Digest, width: int, colour: bool) -> str:
    """Return a report for ``width`` columns, with or without colour."""

    def paint(text: str, style: str) -> str:
        return f"\x1b[{style}m{text}\x1b[0m" if colour and style else text

    return "".join(line + "\n" for line in _lines(digest, max(width, 40), paint))


def _lines(digest: Digest, width: int, paint: Paint) -> Iterator[str]:
    count = len(digest.lines)
    mean = "no score" if digest.mean is None else f"mean {digest.mean:.3f}"
    yield paint(cell(f"{count} iterations, {mean}", width), "1")
    yield cell(f"rubric {digest.rubric.version}", width)
    yield cell(digest.log, width)
    if not digest.lines:
        return
    label = min(max(len("SCORE"), *(len(name) for name in digest.signals)), 20)
    room = width - label - 8
    yield ""
    yield f"{'SCORE':<{label}}  {paint(sparkline([line.value for line in digest.lines], room), '36')}"
    for name in digest.signals:
        values = [line.sub_scores.get(name) for line in digest.lines]
        line = sparkline(values, room)
        yield f"{cell(name, label):<{label}}  {line:<{min(room, count)}} {digest.presence(name) * 100:3.0f} %"
    first, newest = digest.lines[0].iteration, digest.lines[-1].iteration
    yield paint(cell(f"{'':<{label}}  iterations {first} to {newest}; % present", width), "2")
    yield ""
    most = max(digest.bands.values())
    for name, number in digest.bands.items():
        bar = "█" * round(number / most * min(room, 40))
        yield f"{cell(name, label):<{label}}  {paint(bar, _COLOURS.get(name, '2'))} {number}"
    lowest = digest.lowest()
    if lowest:
        yield ""
        yield paint("Lowest", "1")
        for one in lowest:
            yield cell(_low(one), width)
    over = [row for row in digest.integrity if row.over_claims]
    if over:
        yield ""
        yield paint("Claimed more than was seen", "1")
        for row in over:
            text = f"  {row.role}, {row.signal}: {row.over_claims} of {row.comparable}, in {spans(row.over_claimed)}"
            yield cell(text, width)


def _low(line: Line) -> str:
    task = f" ({line.task_id})" if line.task_id else ""
    return f"  {line.value or 0:.3f} {line.band:<9} {line.iteration}{task}: {line.weakest}"
