"""The report of a log: a page of HTML in one file, which asks no network for anything."""

import json
from collections.abc import Iterator
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

from scoring.errors import InputError
from scoring.files import read_file
from scoring.outcomes.validity import Validity
from scoring.text import counted, json_escaped
from scoring.views.outcome_pages import validity_parts, validity_row, validity_sentences
from scoring.views.report import answers, charts
from scoring.views.report.digest import Digest
from scoring.views.report.essentials import certainty
from scoring.views.report.links import commit_page
from scoring.views.report.since import ReportChanges
from scoring.views.score_cells import band_text
from scoring.views.spending import (
    Purchase,
    cost_text,
    duration_text,
    price_note,
    spending_lines,
    tokens_text,
)
from scoring.views.table import number

_SIZE_LIMIT = 256 << 20
"""The largest earlier page, in bytes, that is compared with; that of 100,000 iterations has about 80 MB."""
_MOST_ROWS = 100
_MOST_CHANGES = 8
_MOST_CLAIMS = 10
_SHA = 10
_AT_ONCE = 1000
_DATA = b'<script type="application/json" id="da-score-data">'
"""What the data of a page begins with, which the page's script shows and the next report compares with."""


def page(digest: Digest, since: ReportChanges | None) -> str:
    """Return a report as HTML; ``since`` is what changed since the last one, None when there is none."""
    return "".join(page_parts(digest, since))


def page_parts(digest: Digest, since: ReportChanges | None) -> Iterator[str]:
    """Yield the text of a report part by part: that of a long log is never in memory as a whole."""
    import jinja2

    folder = files(__name__) / "page"
    environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string((folder / "report.html.j2").read_text("utf-8"))
    every = answers.group("", digest.lines)
    stream = template.stream(
        d=digest,
        project=digest.project or "This log",
        since=since,
        most=_MOST_ROWS,
        changes_shown=_MOST_CHANGES,
        claims_shown=_MOST_CLAIMS,
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
    """Yield what is to be known of the costs."""
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
    """Return whether the scores foretell what became of the work: sentences, tables of figures, and the bands."""
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
