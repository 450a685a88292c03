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
from scoring.signals.signal import counted
from scoring.text import cell, spans
from scoring.views.outcome_pages import validity_parts, validity_row, validity_sentences
from scoring.views.report import answers, charts
from scoring.views.report.digest import Digest
from scoring.views.report.lines import ReportedIteration
from scoring.views.report.links import commit_page
from scoring.views.score_cells import band_text
from scoring.views.spending import cost_text, duration_text, price_note, spending_lines, tokens_text
from scoring.views.table import Cell, Line

_SIZE_LIMIT = 64 << 20
_MOST_ROWS = 100
_MOST_CHANGES = 8
_MOST_CLAIMS = 10
_SHA = 10
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

    @property
    def groups(self) -> "list[tuple[str, list[tuple[ReportedIteration, float | None]]]]":
        """What changed, by what it is; those that moved most come first."""
        up, down, other = [], [], []
        for line, before in self.moved:
            if before is None or line.value is None or line.value == before:
                other.append((line, before))
            else:
                (up if line.value > before else down).append((line, before))
        for found in (up, down):
            found.sort(key=lambda pair: -abs((pair[0].value or 0) - (pair[1] or 0)))
        new = [(line, None) for line in reversed(self.new)]
        return [("New", new), ("Better", up), ("Worse", down), ("Scored otherwise", other)]

    @property
    def summary(self) -> str:
        """How many changed, and in which way."""
        found = [f"{len(lines)} {title[0].lower()}{title[1:]}" for title, lines in self.groups if lines]
        values = [line.value for line in self.new if line.counted and line.value is not None]
        if values:
            found[0] += f" with a mean of {sum(values) / len(values):.3f}"
        return ", ".join([*found, f"{len(self.gone)} gone"] if self.gone else found)


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
    bought = answers.purchase(digest.lines)
    landing, fates = [line.landed for line in digest.lines], [line.sound for line in digest.lines]
    return template.render(
        d=digest,
        project=digest.project or "This log",
        dates=_dates(digest),
        since=since,
        most=_MOST_ROWS,
        changes_shown=_MOST_CHANGES,
        claims_shown=_MOST_CLAIMS,
        certainty=list(_certainty(digest)),
        mean_band="" if digest.mean is None else digest.rubric.band(digest.mean),
        foretold=_foretold(digest),
        over=sum(row.over_claims for row in digest.integrity),
        landed=landing.count(True),
        landing_known=len(landing) - landing.count(None),
        unsound=fates.count(False),
        fate_known=len(fates) - fates.count(None),
        losses=answers.losses(digest),
        lowest=digest.lowest(),
        steps=answers.steps(digest),
        compared=answers.comparisons(digest),
        bought=bought,
        price_notes=list(_price_notes(bought)),
        nothing=answers.nothing_known(digest),
        charts=_charts(digest) if digest.lines else {},
        style=environment.filters["safe"]((folder / "report.css").read_text("utf-8")),
        script=(folder / "report.js").read_text("utf-8"),
        data=_json(_data(digest)),
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


def _dates(digest: Digest) -> str:
    """Return the days that a report is of."""
    if digest.dates is None:
        return ""
    first, last = digest.dates
    return first if first == last else f"{first} to {last}"


def _price_notes(bought: answers.Purchase) -> Iterator[str]:
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
    verdict = found.verdict[0].upper() + found.verdict[1:]
    return {"verdict": verdict, "sentences": list(validity_sentences(found)), "parts": parts, "bands": found.bands}


def _charts(digest: Digest) -> dict[str, Any]:
    """Return the pictures; those that are as wide as the page are there for a phone too."""
    shown = {
        "scores": charts.scores,
        "corrections": charts.corrections,
        "presence": charts.presence if any(digest.presence(name) for name in digest.signals) else None,
        "deliberations": charts.deliberations if digest.deliberated else None,
        "tokens": charts.tokens if any(line.cache_hit_rate is not None for line in digest.lines) else None,
        "cost": charts.cost if any(line.cost for line in digest.lines) else None,
    }
    drawn: dict[str, Any] = {name: draw(digest) if draw else "" for name, draw in shown.items()}
    drawn |= {f"{name}_narrow": draw(digest, narrow=True) if draw else "" for name, draw in shown.items()}
    present = {name: label for name, label in digest.signals.items() if digest.presence(name)}
    drawn["signals"] = {name: charts.signal(digest, name, label, n) for n, (name, label) in enumerate(present.items())}
    drawn["integrity"] = charts.integrity(digest) if digest.integrity else ""
    drawn["hooks"] = charts.hooks(digest) if digest.hooks else ""
    return drawn


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
            text(" · ".join(spending_lines(line.spending))),
            line.commit[:_SHA],
            commit_page(digest.pages, line.commit),
            [[text(path), first, last] for path, first, last in line.places],
        ]
        for line in digest.lines
    ]
    return {"snapshot": digest.snapshot(), "signals": signals, "breakdowns": breakdowns, "texts": list(texts)}


def _short(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def _json(value: Any) -> str:
    """Return JSON that can be inside a script element: nothing in it ends the element."""
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
    if digest.validity:
        yield Line(cell(f"Foretelling defective work: {digest.validity.verdict}.", width))
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
    """Yield how sure the mean is, on how much evidence it rests, where it goes, and how many scores are not in it."""
    if digest.interval:
        low, high = digest.interval
        yield f"The mean is between {low:.2f} and {high:.2f}, with 95 % confidence."
    if digest.coverage is not None:
        yield f"Evidence: on average {digest.coverage * 100:.0f} % of the rubric's weight voted."
    if trend := digest.trend:
        change = f"{trend.newer - trend.older:+.3f} ({trend.interval.low:+.2f} to {trend.interval.high:+.2f})"
        verdict = trend.verdict[0].upper() + trend.verdict[1:]
        yield f"{verdict}: older half {trend.older:.3f}, newer half {trend.newer:.3f}, {change}."
    for state, iterations in digest.states.items():
        scores = "1 score is" if len(iterations) == 1 else f"{len(iterations)} scores are"
        yield f"{scores} {state}: iteration {answers.about(iterations)}."
    if digest.insufficient:
        yield f"{counted(digest.insufficient, 'iteration')} without enough evidence, in no mean."


def _low(line: ReportedIteration) -> str:
    task = f" ({line.task_id})" if line.task_id else ""
    state = "" if line.state == "current" else f" [{line.state}]"
    return f"  {line.value or 0:.3f} {band_text(line.band):<9} {line.iteration}{task}{state}: {line.weakest}"
