"""The report of a log: a page of HTML in one file, which asks no network for anything, or its essentials as text."""

import json
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import Any

from scoring.errors import InputError
from scoring.files import read_file
from scoring.outcomes.validity import Validity
from scoring.text import cell, counted, json_escaped, spans
from scoring.views.outcome_pages import validity_parts, validity_row, validity_sentences
from scoring.views.report import answers, charts
from scoring.views.report.answers import ReportChanges, about
from scoring.views.report.digest import Digest, commit_page
from scoring.views.spending import Purchase, cost_text, duration_text, price_note, spending_lines, tokens_text
from scoring.views.table import BAND_STYLES, Cell, Line, band_text, number

_SIZE_LIMIT = 256 << 20  # of an earlier page that is compared with; that of 100,000 iterations has about 80 MB
_SHA = 10
_AT_ONCE = 1000
_DATA = b'<script type="application/json" id="da-score-data">'
"""What the data of a page begins with, which the page's script shows and the next report compares with."""


def page_parts(digest: Digest, since: ReportChanges | None) -> Iterator[str]:
    """Yield a report as HTML, part by part: that of a long log is never in memory as a whole.

    ``since`` is what changed since the last report, None when there is none.
    """
    import jinja2

    folder = files(__name__) / "page"
    environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string((folder / "report.html.j2").read_text("utf-8"))
    every = answers.group("", digest.lines)
    stream = template.stream(
        d=digest,
        project=digest.project or "This log",
        since=since,
        most=100,
        changes_shown=8,
        claims_shown=10,
        certainty=list(certainty(digest)),
        mean_band="" if digest.mean is None else digest.rubric.band(digest.mean),
        foretold=_foretold(digest.validity) if digest.validity else None,
        every=every,
        bought=every.bought,
        fate_open=sum(line.landed is True and line.sound is None for line in digest.lines),
        timed=sum(line.spending is not None and line.spending.seconds is not None for line in digest.lines),
        trend=charts.trend_width(len(digest.lines)),
        linked=len(digest.lines) <= charts.MOST_LINKS,
        losses=answers.losses(digest),
        lowest=[line for line in digest.lowest() if line.band != digest.rubric.bands[0].name],
        steps=answers.steps(digest),
        compared=answers.comparisons(digest),
        price_notes=list(_price_notes(every.bought)),
        nothing=answers.nothing_known(digest),
        charts=charts.pictures(digest) if digest.lines else {},
        style=(folder / "report.css").read_text("utf-8"),
        script=(folder / "report.js").read_text("utf-8"),
        data=_data(digest),
        number=lambda value: number(value or 0, value is not None),
        percent=lambda share: f"{share * 100:.0f} %",
        cost=cost_text,
        duration=duration_text,
        tokens=tokens_text,
        plural=counted,
        label=band_text,
        about=answers.about,
        page_of=lambda line: commit_page(digest.pages, line.commit),
        version=version("da-score"),
    )
    stream.enable_buffering(_AT_ONCE)
    return stream


def _price_notes(bought: Purchase) -> Iterator[str]:
    used = bought.spending
    if used is None:
        return
    if note := price_note(used):
        yield f"{note[0].upper()}{note[1:]}."
    if 0 < bought.priced < bought.iterations:
        yield f"A cost is known for {bought.priced} of {counted(bought.iterations, 'iteration')}."
    if used.cost is not None:
        models = ", ".join(used.models[:5]) or "no named model"
        yield f"At list prices of genai-prices, for {models}. Work that came to nothing is in what a landed one costs."


def _foretold(found: Validity) -> dict[str, Any]:
    parts = validity_parts(found).items()
    return {
        "verdict": "not known yet: too few outcomes" if found.verdict == "too few" else found.verdict,
        "any": found.score.auc is not None,
        "sentences": list(validity_sentences(found)),
        "parts": {title: [validity_row(found, *row) for row in part.items()] for title, part in parts},
        "bands": found.bands,
    }


def _data(digest: Digest) -> Iterator[str]:
    """Yield what the page's script shows, as JSON: texts are kept once each, since details repeat themselves."""
    texts: dict[str, int] = {}
    signals = list(digest.signals.items())
    places = {name: n for n, (name, _) in enumerate(signals)}

    def packed(value: Any) -> Any:
        if isinstance(value, str):
            return texts.setdefault(value, len(texts))
        if isinstance(value, float):
            return round(value, 4)
        return list(map(packed, value)) if isinstance(value, tuple | list) else value

    yield _json({"snapshot": digest.snapshot(), "signals": signals})[:-1] + ',"breakdowns":['
    for n, line in enumerate(digest.lines):
        votes = [(places[v.signal], int(v.present), v.sub_score, v.weight, v.contribution, v.detail) for v in line.rows]
        made = (line.date, line.session_id, line.rubric_version, line.value, line.band, line.origin)
        used, page = " · ".join(spending_lines(line.spending)), commit_page(digest.pages, line.commit)
        more = (line.state, line.state_reason, votes, line.claims, used, line.commit[:_SHA], page, line.places)
        yield ("," if n else "") + _json(packed((line.iteration, line.task_id, *made, *more)))
    yield f'],"texts":{_json(list(texts))}}}'


def _json(value: Any) -> str:
    """Return JSON that can be inside a script element: nothing in it ends the element."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return json_escaped(text).replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def read_snapshot(path: Path) -> dict[str, list[Any]] | None:
    """Return the :meth:`Digest.snapshot` of an earlier report; None without a file, InputError if it is no report."""
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


_BLOCKS = "▁▂▃▄▅▆▇█"
_NARROWEST = 40


def sparkline(values: Sequence[float | None], width: int) -> str:
    """Return values in [0, 1] as block characters, a dot where there is none; means where they do not all fit."""
    if len(values) > width:
        bounds = [round(n * len(values) / width) for n in range(width + 1)]
        parts = ([v for v in values[a:b] if v is not None] for a, b in pairwise(bounds))
        values = [sum(part) / len(part) if part else None for part in parts]
    return "".join("·" if v is None else _BLOCKS[min(int(max(v, 0) * 8), 7)] for v in values)


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
    for name, n in digest.bands.items():
        bar = Cell("█" * round(n / most * min(room, 40)), style=BAND_STYLES.get(name, "dim"))
        yield Line((f"{cell(band_text(name), label):<{label}}  ", bar, f" {n}"))
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
    words = [f"  {digest.words.text}"] if digest.words else []
    for head, texts in (("Lowest", lowest), ("Claimed more than was seen", over), ("Claimed", words)):
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
