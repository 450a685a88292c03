"""The report of a log: a page of HTML in one file, which asks no network for anything."""

import json
from collections.abc import Iterator
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

from scoring.errors import InputError
from scoring.files import read_file
from scoring.text import counted, json_escaped
from scoring.views.outcome_pages import validity_parts, validity_row, validity_sentences
from scoring.views.report import answers, charts
from scoring.views.report.digest import Digest
from scoring.views.report.essentials import certainty
from scoring.views.report.links import commit_page
from scoring.views.report.reported import ReportedIteration
from scoring.views.report.since import ReportChanges
from scoring.views.score_cells import band_text
from scoring.views.spending import (
    Purchase,
    cost_text,
    duration_text,
    price_note,
    purchase,
    spending_lines,
    tokens_text,
)

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
    bought = purchase(line.used for line in digest.lines)
    landing, fates = [line.landed for line in digest.lines], [line.sound for line in digest.lines]
    stream = template.stream(
        d=digest,
        project=digest.project or "This log",
        dates=_dates(digest),
        since=since,
        most=_MOST_ROWS,
        changes_shown=_MOST_CHANGES,
        claims_shown=_MOST_CLAIMS,
        certainty=list(certainty(digest)),
        mean_band="" if digest.mean is None else digest.rubric.band(digest.mean),
        foretold=_foretold(digest),
        over=sum(row.over_claims for row in digest.integrity),
        landed=landing.count(True),
        landing_known=len(landing) - landing.count(None),
        unsound=fates.count(False),
        fate_known=len(fates) - fates.count(None),
        fate_open=sum(line.landed is True and line.sound is None for line in digest.lines),
        timed=sum(line.spending is not None and line.spending.seconds is not None for line in digest.lines),
        trend=charts.trend_width(len(digest.lines)),
        linked=len(digest.lines) <= charts.MOST_LINKS,
        losses=answers.losses(digest),
        lowest=[line for line in digest.lowest() if line.band != digest.rubric.bands[0].name],
        steps=answers.steps(digest),
        compared=answers.comparisons(digest),
        bought=bought,
        price_notes=list(_price_notes(bought)),
        nothing=answers.nothing_known(digest),
        charts=charts.pictures(digest) if digest.lines else {},
        style=environment.filters["safe"]((folder / "report.css").read_text("utf-8")),
        script=(folder / "report.js").read_text("utf-8"),
        data=_data(digest),
        number=_number,
        percent=lambda share: f"{share * 100:.0f} %",
        cost=cost_text,
        duration=duration_text,
        tokens=tokens_text,
        plural=counted,
        label=band_text,
        about=answers.about,
        iteration=_link,
        commit=lambda line: _commit(line, digest.pages),
        version=version("da-score"),
    )
    stream.enable_buffering(_AT_ONCE)
    return stream


def _dates(digest: Digest) -> str:
    """Return the days that a report is of."""
    if digest.dates is None:
        return ""
    first, last = digest.dates
    return first if first == last else f"{first} to {last}"


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


def _foretold(digest: Digest) -> dict[str, Any] | None:
    """Return whether the scores foretell what became of the work: sentences, tables of figures, and the bands."""
    found = digest.validity
    if found is None:
        return None
    parts = {
        title: [validity_row(found, *row) for row in part.items()] for title, part in validity_parts(found).items()
    }
    verdict = "not known yet: too few outcomes" if found.verdict == "too few" else found.verdict
    any_figure = found.score.auc is not None
    return {
        "verdict": verdict,
        "any": any_figure,
        "sentences": list(validity_sentences(found)),
        "parts": parts,
        "bands": found.bands,
    }


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _link(line: ReportedIteration) -> Any:
    from markupsafe import Markup

    task = f" ({line.task_id})" if line.task_id else ""
    return Markup('<a href="#iter-{}">Iteration {}</a>{}').format(line.iteration, line.iteration, task)


def _commit(line: ReportedIteration, pages: str) -> Any:
    """Return the commit of an iteration, linked where its page is known."""
    from markupsafe import Markup

    short = line.commit[:_SHA]
    if url := commit_page(pages, line.commit):
        return Markup('<a href="{}" rel="noopener noreferrer">{}</a>').format(url, short)
    return short


def _data(digest: Digest) -> Iterator[str]:
    """Yield what the page's script shows, as JSON: texts are kept once each, since details repeat themselves."""
    texts: dict[str, int] = {}
    signals = list(digest.signals.items())
    places = {name: n for n, (name, _) in enumerate(signals)}

    def text(words: str) -> int:
        return texts.setdefault(words, len(texts))

    def breakdown(line: ReportedIteration) -> list[Any]:
        return [
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
            text(" · ".join(spending_lines(line.spending))),
            line.commit[:_SHA],
            commit_page(digest.pages, line.commit),
            [[text(path), first, last] for path, first, last in line.places],
        ]

    yield _json({"snapshot": digest.snapshot(), "signals": signals})[:-1] + ',"breakdowns":['
    for number, line in enumerate(digest.lines):
        yield ("," if number else "") + _json(breakdown(line))
    yield f'],"texts":{_json(list(texts))}}}'


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
