"""The report of a log: a page of HTML in one file, which asks no network for anything, or its essentials as text."""

import json
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

from scoring.files import read_file
from scoring.outcomes.spending import together
from scoring.outcomes.validity import Validity
from scoring.text import (
    SHORT_LENGTH,
    counted,
    json_escaped,
    short,
    shortened,
    show_hidden,
    some_spans,
    spans,
    visible,
)
from scoring.views import comparisons, work_pages
from scoring.views.look_at import look_at, look_at_page
from scoring.views.report import answers
from scoring.views.report.answers import Piece
from scoring.views.report.digest import Digest, commit_page
from scoring.views.report.reported import DETAIL
from scoring.views.run_pages import scores_head
from scoring.views.spending_text import cost_text, duration_text, price_note, spending_lines
from scoring.views.table import Block, Line, band_text, number
from scoring.views.validity_pages import validity_parts, validity_row, validity_sentences
from scoring.views.work_pages import became_page
from scoring.views.work_rows import STATES, WorkRow, spending_of_unit, work_by, work_summary

_SIZE_LIMIT = 256 << 20  # of an earlier page; that of 100,000 iterations has about 80 MB
_MOST_DOTS = 3000  # of a chart: the newest
_SCRIPTS = ("vendor/d3.min.js", "vendor/plot.umd.min.js", "report.js")
_AT_ONCE = 1000
_DATA = b'<script type="application/json" id="da-score-data">'
"""What the data of a page begins with, which the page's script shows."""


def page_parts(digest: Digest) -> Iterator[str]:
    """Yield a report as HTML, part by part: that of a long log is never in memory as a whole."""
    import jinja2

    folder = files(__name__) / "page"
    environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.finalize = lambda value: visible(value) if type(value) is str else value
    template = environment.from_string((folder / "report.html.j2").read_text("utf-8"))
    pieces = answers.pieces(digest)
    every = comparisons.Group.of("", digest.work)
    stream = template.stream(
        d=digest,
        project=digest.project or "This log",
        most=100,
        claims_shown=10,
        states=work_pages.STATE_WORDS,
        every=every,
        pieces=pieces,
        looked_at=answers.looked_at(pieces),
        months=comparisons.months(digest.work),
        better=comparisons.trend(digest.work),
        compared=comparisons.comparisons(digest.work),
        by_state=work_pages.by_state(digest.work),
        minutes=[row.unit.minutes for row in digest.work if row.unit.minutes is not None],
        price_notes=[] if digest.is_fleet else list(_price_notes(digest.work)),
        score=digest.meaning.name,
        certainty=list(certainty(digest, digest.meaning.means_something)),
        foretold=_foretold(digest.validity) if digest.validity else None,
        signals=answers.signal_rows(digest),
        nothing=answers.nothing_known(digest) if digest.lines else [],
        style=(folder / "report.css").read_text("utf-8"),
        scripts=[(folder / name).read_text("utf-8") for name in _SCRIPTS],
        data=_data(digest, pieces),
        number=lambda value: number(value or 0, value is not None),
        percent=lambda share: f"{share * 100:.0f} %",
        cost=cost_text,
        duration=duration_text,
        plural=counted,
        label=band_text,
        some=some_spans,
        sha=SHORT_LENGTH,
        detail=lambda text: shortened(text, DETAIL),
        page_of=lambda sha: commit_page(digest.pages, sha),
        version=version("da-score"),
    )
    stream.enable_buffering(_AT_ONCE)
    return stream


def _price_notes(work: Sequence[WorkRow]) -> Iterator[str]:
    known = [row for row in work if row.cost is not None]
    used = together(spending_of_unit(row.unit) for row in work)
    if used and (note := price_note(used)):
        yield f"{note[0].upper()}{note[1:]}."
    if used and known:
        models = ", ".join(used.models[:5]) or "no named model"
        yield f"At list prices of genai-prices, for {models}. Work that came to nothing is in what a landed unit costs."


def _foretold(found: Validity) -> dict[str, Any]:
    parts = validity_parts(found).items()
    return {
        "any": found.score.auc is not None,
        "sentences": list(validity_sentences(found)),
        "parts": {
            title: [validity_row(found, *row) for row in part.items()] for title, part in parts
        },
        "bands": found.bands,
    }


def _data(digest: Digest, pieces: Sequence[Piece]) -> Iterator[str]:
    """Yield what the page's script shows, as JSON: texts are kept once each, since details repeat themselves."""
    texts: dict[str, int] = {}
    signals = list(digest.signals.items())
    places = {name: n for n, (name, _) in enumerate(signals)}
    subjects = {line.iteration: piece.subject for piece in pieces for line in piece.lines}

    def packed(value: Any) -> Any:
        if isinstance(value, str):
            return texts.setdefault(value, len(texts))
        if isinstance(value, float):
            return round(value, 9)  # three digits of it are what every other command shows
        return list(map(packed, value)) if isinstance(value, tuple | list) else value

    months = comparisons.months(digest.work)
    known = [piece for piece in pieces if piece.row and piece.date][-_MOST_DOTS:]
    figures = {
        "summary": work_summary(digest.work),
        "by": work_by(digest.work),
        "look_at": look_at(digest.work),
        "months": [
            (month.name, *(month.summary[state] for state in STATES))
            for month in months
            if month.name
        ],
        "units": [
            (
                one.place,
                row.values["ended"],
                one.subject,
                short(one.commit),
                row.unit.state,
                row.cost,
                row.unit.minutes,
            )
            for one in known
            if (row := one.row)
        ],
    }
    whole = {
        "snapshot": {
            line.iteration: [line.rubric_version, line.value, line.band] for line in digest.lines
        },
        "score": digest.meaning.name,
        "graded": digest.meaning.means_something,
        "work": figures,
    }
    yield _json({**whole, "signals": signals})[:-1] + ',"breakdowns":['
    for n, line in enumerate(digest.lines):
        votes = [
            (places[v.signal], int(v.present), v.sub_score, v.weight, v.contribution, v.detail)
            for v in line.rows
        ]
        made = (line.date, line.session_id, line.rubric_version, line.value, line.band, line.origin)
        used, page = (
            " · ".join(spending_lines(line.spending)),
            commit_page(digest.pages, line.commit),
        )
        more = (
            line.state,
            line.state_reason,
            votes,
            line.claims,
            used,
            short(line.commit),
            page,
            line.places,
        )
        all_of_it = (line.iteration, line.task_id, *made, *more, subjects.get(line.iteration, ""))
        yield ("," if n else "") + _json(packed(all_of_it))
    yield '],"texts":['
    for n, text in enumerate(texts):
        yield ("," if n else "") + _json(text)
    yield "]}"


def _json(value: Any) -> str:
    """Return JSON that can be inside a script element: nothing in it ends the element."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return json_escaped(show_hidden(text, "\\")).replace("<", "\\u003c")


def is_report(path: Path) -> bool:
    """Return whether a file, if there is one, is a report, which another one may replace."""
    try:
        return _DATA in read_file(path, _SIZE_LIMIT)
    except FileNotFoundError:
        return True


def report_lines(digest: Digest) -> Iterator[Block]:
    """Yield the essentials of a report: what became of the work, what the scores are worth, and what to look at."""
    yield from became_page(digest.work, digest.horizon_days)
    if not digest.is_fleet:
        scores = [(line.value, line.band) for line in digest.lines]
        yield Line()
        yield from scores_head(digest.meaning, digest.rubric.version, scores, digest.log)
        yield from map(Line, certainty(digest, digest.meaning.means_something))
        said = [digest.words.text] if digest.words else []
        for row in (row for row in digest.integrity if row.over_claims):
            over = f"{row.over_claims} of {row.comparable}, in iteration {spans(row.over_claimed)}"
            said.append(f"More claimed than was observed, by {row.role} of {row.signal}: {over}.")
        if said:
            yield from (Line(), Line("Claimed against observed", "bold"), *map(Line, said))
    yield Line()
    yield from look_at_page(digest.work)


def certainty(digest: Digest, compares: bool) -> Iterator[str]:
    """Yield on how much evidence scores rest, and what is in no mean; with ``compares`` the mean, and where it goes."""
    if compares and digest.interval:
        low, high = digest.interval
        yield f"The mean is between {low:.3f} and {high:.3f}, with 95 % confidence."
    if digest.coverage is not None:
        yield f"Evidence: on average {digest.coverage * 100:.0f} % of the rubric's weight voted."
    if compares and (trend := digest.trend):
        change = f"{trend.change:+.3f} ({trend.interval.low:+.2f} to {trend.interval.high:+.2f})"
        verdict = trend.verdict[0].upper() + trend.verdict[1:]
        yield f"{verdict}: older half {trend.older:.3f}, newer half {trend.newer:.3f}, {change}."
    for state, iterations in digest.states.items():
        scores = "1 score is" if len(iterations) == 1 else f"{len(iterations)} scores are"
        yield f"{scores} {state}: iteration {some_spans(iterations)}."
    if digest.insufficient:
        yield f"{counted(digest.insufficient, 'iteration')} without enough evidence, not counted in any mean."
