"""The report of a log: a page of HTML in one file, which asks no network for anything, or the essentials in lines."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import Any

from scoring.errors import InputError
from scoring.files import read_file
from scoring.text import cell, json_escaped, spans
from scoring.views.outcome_pages import validity_parts, validity_row, validity_sentences
from scoring.views.report import charts
from scoring.views.report.digest import Digest, ReportedIteration
from scoring.views.score_cells import band_text
from scoring.views.table import Cell, Line

_SIZE_LIMIT = 64 << 20
_MOST_ROWS = 100
_DATA = b'<script type="application/json" id="da-score-data">'
"""What the data of a page begins with, which the page's script shows and the next report compares with."""

_BLOCKS = "▁▂▃▄▅▆▇█"
_ABSENT = "·"
_STYLES = {"excellent": "bold green", "good": "green", "fair": "yellow", "poor": "red"}
_NARROWEST = 40


@dataclass(frozen=True, slots=True)
class ReportChanges:
    """What is different since the last report: iteration, and its score before and now (None: there was none)."""

    new: list[ReportedIteration]
    moved: list[tuple[ReportedIteration, float | None]]
    gone: list[int]

    def __bool__(self) -> bool:
        return bool(self.new or self.moved or self.gone)


def changes(now: Sequence[ReportedIteration], before: dict[str, list[Any]]) -> ReportChanges:
    """Compare a report's iterations with the snapshot of an earlier one."""
    new = [line for line in now if str(line.iteration) not in before]
    moved = [
        (line, before[str(line.iteration)][1])
        for line in now
        if str(line.iteration) in before and before[str(line.iteration)][:2] != [line.rubric_version, line.value]
    ]
    known = {str(line.iteration) for line in now}
    return ReportChanges(new, moved, sorted(int(n) for n in before if n not in known))


def page(digest: Digest, since: ReportChanges | None) -> str:
    """Return a report as HTML; ``since`` is what changed since the last one, None when there is none."""
    import jinja2

    folder = files(__name__) / "page"
    environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string((folder / "report.html.j2").read_text("utf-8"))
    return template.render(
        d=digest,
        since=since,
        most=_MOST_ROWS,
        certainty=list(_certainty(digest)),
        foretold=_foretold(digest),
        over=sum(row.over_claims for row in digest.integrity),
        charts=_charts(digest) if digest.lines else {},
        style=environment.filters["safe"]((folder / "report.css").read_text("utf-8")),
        script=(folder / "report.js").read_text("utf-8"),
        data=_json(_data(digest)),
        number=_number,
        percent=lambda share: f"{share * 100:.0f} %",
        label=band_text,
        spans=spans,
        iteration=_link,
        version=version("da-score"),
    )


def _foretold(digest: Digest) -> dict[str, Any] | None:
    """Return whether the scores foretell what became of the work: sentences, tables of figures, and the bands."""
    found = digest.validity
    if found is None:
        return None
    parts = {
        title: [validity_row(found, *row) for row in part.items()] for title, part in validity_parts(found).items()
    }
    return {"sentences": list(validity_sentences(found)), "parts": parts, "bands": found.bands}


def _charts(digest: Digest) -> dict[str, Any]:
    return {
        "scores": charts.scores(digest),
        "signals": {
            name: charts.signal(digest, name, label, n) for n, (name, label) in enumerate(digest.signals.items())
        },
        "presence": charts.presence(digest),
        "integrity": charts.integrity(digest),
        "hooks": charts.hooks(digest) if digest.hooks else "",
        "deliberations": charts.deliberations(digest) if digest.deliberated else "",
        "tokens": charts.tokens(digest),
        "corrections": charts.corrections(digest),
    }


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _link(line: ReportedIteration) -> Any:
    from markupsafe import Markup

    task = f" ({line.task_id})" if line.task_id else ""
    return Markup('<a href="#iter-{}">Iteration {}</a>{}').format(line.iteration, line.iteration, task)


def _data(digest: Digest) -> dict[str, Any]:
    """Return what the page's script shows: texts are kept once each, since details repeat themselves."""
    texts: dict[str, int] = {}
    signals = list(digest.signals.items())
    places = {name: n for n, (name, _) in enumerate(signals)}

    def text(words: str) -> int:
        return texts.setdefault(words, len(texts))

    breakdowns = [
        [
            line.iteration,
            line.task_id,
            line.date,
            line.session_id,
            line.rubric_version,
            _short(line.value),
            line.band,
            line.origin,
            line.state,
            text(line.state_reason),
            [
                [places[name], int(there), _short(sub), _short(weight), _short(added), text(detail)]
                for name, _, there, sub, weight, added, detail in line.rows
            ],
            [
                [text(role), text(signal), _short(claimed), _short(seen), text(said), text(observed)]
                for role, signal, claimed, seen, said, observed in line.claims
            ],
        ]
        for line in digest.lines
    ]
    return {"snapshot": digest.snapshot(), "signals": signals, "breakdowns": breakdowns, "texts": list(texts)}


def _short(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def _json(value: Any) -> str:
    """Return JSON that can be inside a script element: nothing in it ends the element."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return json_escaped(text).replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def read_snapshot(path: Path) -> dict[str, list[Any]] | None:
    """Return what an earlier report says of its iterations, as :meth:`Digest.snapshot` has it; None without a file.

    Raises:
        InputError: the file is no report.
    """
    try:
        data = read_file(path, _SIZE_LIMIT)
    except FileNotFoundError:
        return None
    try:
        snapshot = json.loads(data.partition(_DATA)[2].partition(b"</script>")[0])["snapshot"]
        return {
            str(int(n)): [str(version), None if value is None else float(value), str(band)]
            for n, (version, value, band) in snapshot.items()
        }
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError) as e:
        raise InputError(f"{path}: is no report of da-score; give another file with --out") from e


def sparkline(values: Sequence[float | None], width: int) -> str:
    """Return values in [0, 1] as block characters, a dot where there is none; means where they do not all fit."""
    if len(values) > width:
        bounds = [round(n * len(values) / width) for n in range(width + 1)]
        values = [_mean(values[a:b]) for a, b in pairwise(bounds)]
    return "".join(_ABSENT if v is None else _BLOCKS[min(int(max(v, 0) * 8), 7)] for v in values)


def _mean(values: Sequence[float | None]) -> float | None:
    there = [v for v in values if v is not None]
    return sum(there) / len(there) if there else None


def report_lines(digest: Digest, width: int) -> Iterator[Line]:
    """Yield a report as lines of at most ``width`` columns, or 40 where that is less."""
    width = max(width, _NARROWEST)
    count = len(digest.lines)
    mean = "no score" if digest.mean is None else f"mean {digest.mean:.3f}"
    yield Line(cell(f"{count} iterations, {mean}", width), "bold")
    yield from (Line(cell(text, width)) for text in _certainty(digest))
    yield Line(cell(f"rubric {digest.rubric.version}", width))
    yield Line(cell(digest.log, width))
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
    lowest = [cell(_low(line), width) for line in digest.lowest()]
    over = [
        cell(f"  {row.role}, {row.signal}: {row.over_claims} of {row.comparable}, in {spans(row.over_claimed)}", width)
        for row in digest.integrity
        if row.over_claims
    ]
    for head, texts in (("Lowest", lowest), ("Claimed more than was seen", over)):
        if texts:
            yield from (Line(), Line(head, "bold"), *map(Line, texts))


def _certainty(digest: Digest) -> Iterator[str]:
    """Yield how sure the mean is, where it goes, and how many scores are not in it."""
    if digest.interval:
        yield f"the mean is {digest.interval}, with 95 % confidence"
    if trend := digest.trend:
        change = f"{trend.newer - trend.older:+.3f} ({trend.interval.low:+.2f} to {trend.interval.high:+.2f})"
        yield f"older half {trend.older:.3f}, newer half {trend.newer:.3f}: {change}, {trend.verdict}"
    for state, iterations in digest.states.items():
        scores = "1 score is" if len(iterations) == 1 else f"{len(iterations)} scores are"
        yield f"{scores} {state}: iteration {spans(iterations)}"
    if digest.validity:
        yield f"foretelling defective work: {digest.validity.verdict}"
    if digest.insufficient:
        yield f"{digest.insufficient} without enough evidence, in no mean"


def _low(line: ReportedIteration) -> str:
    task = f" ({line.task_id})" if line.task_id else ""
    state = "" if line.state == "current" else f" [{line.state}]"
    return f"  {line.value or 0:.3f} {band_text(line.band):<9} {line.iteration}{task}{state}: {line.weakest}"
