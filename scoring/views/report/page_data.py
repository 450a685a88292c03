"""What the script of a report shows, as JSON."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from scoring.frozen import PlainData
from scoring.text import json_escaped, short, show_hidden
from scoring.views.comparisons import months
from scoring.views.cost import cost_sums, expenses
from scoring.views.look_at import look_at
from scoring.views.report.answers import Piece
from scoring.views.report.commit_links import commit_page
from scoring.views.report.digest import Digest
from scoring.views.report.reported import ReportedIteration
from scoring.views.spending_text import spending_lines
from scoring.views.work_rows import STATES, WorkRow, work_by, work_summary

_MOST_DOTS = 3000  # of a chart: the newest
_DIGITS = 9  # of a number; every other command shows three


def _packed(value: Any, numbers: dict[str, int]) -> Any:
    """Return a value with each text in it replaced by its number, as details repeat themselves.

    Args:
        value: the value.
        numbers: the number of each text; a new one gets the next number.
    """
    if isinstance(value, str):
        return numbers.setdefault(value, len(numbers))
    if isinstance(value, float):
        return round(value, _DIGITS)
    if isinstance(value, tuple | list):
        return [_packed(item, numbers) for item in value]
    return value


def page_data(digest: Digest, pieces: Sequence[Piece]) -> Iterator[str]:
    """Yield one JSON object, part by part.

    ``report.js`` reads an iteration by the positions of :func:`_iteration_values`.
    """
    signals = digest.signals
    head = {
        "snapshot": {
            line.iteration: [line.rubric_version, line.value, line.band] for line in digest.lines
        },
        "score": digest.meaning.name,
        "graded": digest.meaning.means_something,
        "work": _work(digest, pieces),
        "signals": list(signals.items()),
    }
    yield _json(head)[:-1]

    texts: dict[str, int] = {}
    signal_positions = {signal: position for position, signal in enumerate(signals)}
    subjects = {line.iteration: piece.subject for piece in pieces for line in piece.lines}
    yield ',"breakdowns":['
    for index, line in enumerate(digest.lines):
        values = _iteration_values(line, digest, signal_positions, subjects)
        yield ("," if index else "") + _json(_packed(values, texts))

    yield '],"texts":['
    for index, text in enumerate(texts):
        yield ("," if index else "") + _json(text)
    yield "]}"


def _work(digest: Digest, pieces: Sequence[Piece]) -> PlainData:
    counts_by_month = []
    for month in months(digest.work):
        if month.name:
            counts = [month.summary[state] for state in STATES]
            counts_by_month.append((month.name, *counts))

    units = []
    for piece in pieces:
        row = piece.row
        if row and piece.date:
            unit = (
                piece.number,
                row.values["ended"],
                piece.subject,
                short(piece.commit),
                row.unit.state,
                row.cost,
                row.unit.minutes,
            )
            units.append(unit)

    return {
        "summary": work_summary(digest.work),
        "by": work_by(digest.work),
        "look_at": look_at(digest.work),
        "months": counts_by_month,
        "days": [(day["name"], day["cost"]) for day in days_of(digest.work)],
        "units": units[-_MOST_DOTS:],
    }


def days_of(work: Sequence[WorkRow]) -> list[PlainData]:
    """Return what work cost on each day of this machine's time zone, from :func:`cost_sums`."""
    dated = [expense for expense in expenses(work) if expense.day]
    return [day for day in cost_sums(dated, "day") if day["cost"] is not None]


def _iteration_values(
    line: ReportedIteration,
    digest: Digest,
    signal_positions: Mapping[str, int],
    subjects: Mapping[int, str],
) -> Sequence[Any]:
    votes = []
    for row in line.rows:
        weight = row.effective_weight if row.present else row.nominal_weight
        numbers = (int(row.present), row.sub_score, weight, row.contribution)
        votes.append((signal_positions[row.signal], *numbers, row.detail))

    return (
        line.iteration,
        line.task_id,
        line.date,
        line.session_id,
        line.rubric_version,
        line.value,
        line.band,
        line.origin,
        line.state,
        line.state_reason,
        votes,
        line.claims,
        " · ".join(spending_lines(line.spending)),
        short(line.commit),
        commit_page(digest.pages, line.commit),
        line.places,
        subjects.get(line.iteration, ""),
    )


def _json(value: Any) -> str:
    """Return JSON in which nothing ends the script element that holds it."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return json_escaped(show_hidden(text, "\\")).replace("<", "\\u003c")
