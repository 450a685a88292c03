"""The page of a report: everything in one file, which asks no network for anything."""

import json
import re
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

from scoring.errors import InputError
from scoring.files import read_file
from scoring.text import spans
from scoring.views.report import charts
from scoring.views.report.digest import Changed, Digest, Line

_SIZE_LIMIT = 64 << 20
_MOST_ROWS = 100
_DATA = re.compile(rb'<script type="application/json" id="da-score-data">(.*?)</script>', re.S)


def page(digest: Digest, since: Changed | None) -> str:
    """Return a report as HTML; ``since`` is what changed since the last one, None when there is none."""
    import jinja2

    room = files("scoring.views.report") / "page"
    environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string((room / "report.html.j2").read_text("utf-8"))
    return template.render(
        d=digest,
        since=since,
        most=_MOST_ROWS,
        over=sum(row.over_claims for row in digest.integrity),
        charts=_charts(digest) if digest.lines else {},
        style=environment.filters["safe"]((room / "report.css").read_text("utf-8")),
        script=(room / "report.js").read_text("utf-8"),
        data=_json(_data(digest)),
        number=_number,
        percent=lambda share: f"{share * 100:.0f} %",
        spans=spans,
        iteration=_link,
        version=version("da-score"),
    )


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
        "corrections": charts.corrections(digest),
        "tokens": charts.tokens(digest),
    }


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _link(line: Line) -> Any:
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
    """Return JSON that can stand inside a script element."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def read_snapshot(path: Path) -> dict[str, list[Any]] | None:
    """Return what an earlier report says of its iterations, as :meth:`Digest.snapshot` has it; None without a file.

    Raises:
        InputError: the file is no report.
    """
    try:
        data = read_file(path, _SIZE_LIMIT)
    except FileNotFoundError:
        return None
    found = _DATA.search(data)
    try:
        if found is None:
            raise ValueError
        snapshot = json.loads(found[1])["snapshot"]
        return {str(int(n)): [str(version), _score(value), str(band)] for n, (version, value, band) in snapshot.items()}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as e:
        raise InputError(f"{path}: is no report of da-score; give another file with --out") from e


def _score(value: Any) -> float | None:
    return None if value is None else float(value)
