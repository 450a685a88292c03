"""The report of a log: a page of HTML in one file, which asks no network for anything."""

from collections.abc import Iterator, Sequence
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

from scoring.files import read_file
from scoring.frozen import PlainData
from scoring.outcomes.spending import together
from scoring.outcomes.validity import Validity
from scoring.text import SHORT_LENGTH, counted, shortened, some_spans, visible
from scoring.views.comparisons import comparisons, months, trend
from scoring.views.cost import HEADINGS, shares_of
from scoring.views.landing_text import STATE_WORDS
from scoring.views.report import answers
from scoring.views.report.commit_links import commit_page
from scoring.views.report.digest import Digest
from scoring.views.report.page_data import days_of, page_data
from scoring.views.report.report_text import certainty
from scoring.views.report.reported import DETAIL
from scoring.views.spending_text import (
    cost_text,
    duration_text,
    per_landed_text,
    price_note,
)
from scoring.views.table import band_text, number
from scoring.views.validity_pages import validity_parts, validity_sentences
from scoring.views.work_pages import by_state
from scoring.views.work_rows import WorkGroup, WorkRow, spending_of_unit

_SIZE_LIMIT = 256 << 20  # bytes of an earlier page; that of 100,000 iterations has about 80 MB
_AT_ONCE = 1000  # parts of a page that are joined before they are written
_MOST_ROWS = 100  # of a table of sessions, rules or deliberations
_MOST_CLAIMS = 10
_MOST_MODELS = 5
_SCRIPTS = ("vendor/d3.min.js", "vendor/plot.umd.min.js", "report.js")

_DATA_ELEMENT = b'<script type="application/json" id="da-score-data">'
"""What every report has, and other pages do not."""


def page_parts(digest: Digest) -> Iterator[str]:
    """Yield a report as HTML, part by part.

    The page of a long log is never in memory as a whole.
    """
    import jinja2

    environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.finalize = _without_hidden
    page = files(__name__) / "page"
    template = environment.from_string((page / "report.html.j2").read_text("utf-8"))

    stream = template.stream(
        **_contents(digest),
        version=version("da-score"),
        style=(page / "report.css").read_text("utf-8"),
        scripts=[(page / name).read_text("utf-8") for name in _SCRIPTS],
    )
    stream.enable_buffering(_AT_ONCE)
    return stream


def _without_hidden(value: Any) -> Any:
    """Return a value of the template with invisible characters shown as escapes."""
    if type(value) is str:
        return visible(value)
    return value


def _contents(digest: Digest) -> PlainData:
    """Return what the template shows, and the functions that it calls, by its names for them."""
    work = digest.work
    pieces = answers.pieces(digest)
    return {
        "d": digest,
        "project": digest.project or "This log",
        "most": _MOST_ROWS,
        "claims_shown": _MOST_CLAIMS,
        "sha": SHORT_LENGTH,
        "states": STATE_WORDS,
        "every": WorkGroup.of("", work),
        "pieces": pieces,
        "looked_at": answers.looked_at(pieces),
        "months": months(work),
        "better": trend(work),
        "compared": comparisons(work),
        "by_state": by_state(work),
        "minutes": [row.unit.minutes for row in work if row.unit.minutes is not None],
        "price_notes": [] if digest.is_fleet else list(_price_notes(work)),
        "score": digest.meaning.name,
        "certainty": list(certainty(digest)),
        "foretold": _foretold(digest.validity) if digest.validity else None,
        "signals": answers.signal_rows(digest),
        "nothing": answers.nothing_known(digest) if digest.lines else [],
        "days": days_of(digest.work),
        "fates": HEADINGS,
        "data": page_data(digest, pieces),
        "number": number,
        "percent": lambda share: f"{share * 100:.0f} %",
        "cost": cost_text,
        "per_landed": per_landed_text,
        "shares_of": shares_of,
        "duration": duration_text,
        "plural": counted,
        "label": band_text,
        "some": some_spans,
        "detail": lambda text: shortened(text, DETAIL),
        "page_of": lambda sha: commit_page(digest.pages, sha),
    }


def _price_notes(work: Sequence[WorkRow]) -> Iterator[str]:
    """Yield which prices the costs are of, and what they leave out."""
    spending = together(spending_of_unit(row.unit) for row in work)
    if not spending:
        return

    note = price_note(spending)
    if note:
        yield f"{note[0].upper()}{note[1:]}."
    if any(row.cost is not None for row in work):
        models = ", ".join(spending.models[:_MOST_MODELS]) or "no named model"
        yield (
            f"At list prices of genai-prices, for {models}. "
            "A landed unit costs what those of them with a known cost did."
        )


def _foretold(validity: Validity) -> PlainData:
    return {
        "any": validity.score.auc is not None,
        "sentences": list(validity_sentences(validity)),
        "parts": validity_parts(validity),
        "bands": validity.bands,
    }


def is_report(path: Path) -> bool:
    """Return whether a file may be replaced by a report: it is one, or it does not exist."""
    try:
        return _DATA_ELEMENT in read_file(path, _SIZE_LIMIT)
    except FileNotFoundError:
        return True
