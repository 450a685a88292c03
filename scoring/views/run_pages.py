"""What ``run`` shows: what became of the work, the scores of a log, and what to look at (docs/COMMANDS.md)."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import field

from rubric import BAND_INSUFFICIENT
from rubric.model import FULL_TEXT
from scoring.frozen import Frozen
from scoring.outcomes.outcome import HORIZON_DAYS
from scoring.score import LogSummary, ScoredIteration, ScoredLine
from scoring.sidecars.fingerprint import NOT_MEASURED, Meaning
from scoring.sidecars.provenance import Loss
from scoring.sidecars.states import in_words
from scoring.text import counted
from scoring.views import table
from scoring.views.became import became_page, look_at_page
from scoring.views.score_pages import score_payload
from scoring.views.session_pages import SESSIONS, session_payload, session_rows
from scoring.views.table import Block, Column, Line, Table
from scoring.views.work_pages import WorkRow, look_at, work_by, work_summary

LOST = Column("", only="full", prose=True)
_OLD = [table.ITER, table.TASK, table.SCORE, table.BAND._replace(width=26), Column("DATE", width=0)]
"""The columns of ``run`` on a pipe, under rubrics with the reference's text there."""
_MOST_ROWS = 20  # that a terminal shows without being asked for more
_FEW_SESSIONS = 20  # fewer of them are shown without being asked for


class RunShown(Frozen, frozen=True):
    """What ``run`` shows beside the scores of a log, and how much of it.

    ``rows`` are all of the work, ``subjects`` those of commits, ``meaning`` what is known of the scores. On a terminal
    the last iterations are shown, or all of them with ``every``; many sessions only where they are asked for.
    """

    rows: Sequence[WorkRow] = ()
    subjects: Mapping[str, str] = field(default_factory=dict)
    meaning: Meaning = NOT_MEASURED
    horizon_days: float = HORIZON_DAYS
    terminal: bool = False
    every: bool = False
    sessions: bool = False


def run_page(
    scored: LogSummary, source: Path, written: tuple[int, int] | None, more: RunShown
) -> Iterator[Block]:
    """Yield what became of the work, then the scores of a log, then what to look at.

    ``written`` counts the iteration and session sidecars that were written; None when none were meant to be. Under
    rubrics with the reference's text a pipe shows the scores alone.
    """
    old = scored.rubric.text != FULL_TEXT
    if old and not more.terminal:
        yield from _old_page(scored, source, written)
        return
    yield from became_page(more.rows, more.horizon_days)
    yield Line()
    yield from _scores_page(scored, source, more)
    yield Line()
    if written is None:
        yield Line("Wrote nothing (--no-write)", "dim")
    else:
        count, sessions = written
        text = f"Wrote {counted(count, 'iteration sidecar')} and {counted(sessions, 'session sidecar')} to {source}"
        yield Line(text, "dim")
    yield Line()
    yield from look_at_page(more.rows)


def _old_page(scored: LogSummary, source: Path, written: tuple[int, int] | None) -> Iterator[Block]:
    yield Line(f"Outcome scoring — rubric {scored.rubric.version}")
    yield Line(
        f"Iterations: {len(scored.lines)}   Sessions: {len(scored.sessions)}   Source: {source}"
    )
    yield Line()
    cells = ((o, table.number(o.value, o.scored), table.band_cell(o.band)) for o in scored.lines)
    yield Table(_OLD, [(o.iteration, o.task_id, value, band, o.date) for o, value, band in cells])
    if scored.sessions:
        yield from (Line(), Table(SESSIONS, session_rows(scored.sessions, {}, intervals=False)))
    yield Line()
    done = "Wrote {} iter sidecars + {} session sidecars to {}"
    yield Line(done.format(*written, source) if written else "Wrote nothing (--no-write)")


def scores_head(
    meaning: Meaning, rubric: str, scores: Sequence[tuple[float | None, str]], source: Path | str
) -> Iterator[Line]:
    """Yield what scores are worth here, and what they are: numbers and bands only where they foretell something."""
    enough = [
        (value, band) for value, band in scores if value is not None and band != BAND_INSUFFICIENT
    ]
    yield Line(f"{meaning.name}s under rubric {rubric}: {meaning}", "bold")
    text = f"{counted(len(scores), 'iteration')} in {source}, {len(enough)} with enough evidence"
    if enough and meaning.means_something:
        bands = Counter(band for _, band in enough)
        listed = ", ".join(
            f"{count} {table.band_text(band)}" for band, count in bands.most_common()
        )
        text += f"; mean {sum(value for value, _ in enough) / len(enough):.3f}: {listed}"
    yield Line(text)


def _scores_page(scored: LogSummary, source: Path, more: RunShown) -> Iterator[Block]:
    lines, meaning = scored.lines, more.meaning
    scores = [(line.value if line.scored else None, line.band) for line in lines]
    yield from scores_head(meaning, scored.rubric.version, scores, source)
    yield Line()
    shown = lines if more.every or not more.terminal else lines[-_MOST_ROWS:]
    score = table.SCORE._replace(head=meaning.name.partition(" ")[0].upper())
    columns = [*table.NAMED, score, table.BOUNDS, table.BAND, table.COVERAGE, Column("DATE"), LOST]
    yield Table(columns, [_iteration_row(line, more) for line in shown], full=True)
    if len(shown) < len(lines):
        yield Line(
            f"The last {len(shown)} of {counted(len(lines), 'iteration')}; --all shows every one.",
            "dim",
        )
    if scored.sessions and (more.sessions or len(scored.sessions) < _FEW_SESSIONS):
        members = {line.iteration: line for line in lines}
        columns = [score if one == table.SCORE else one for one in SESSIONS]
        rows = session_rows(scored.sessions, members, more.terminal, meaning.means_something)
        yield from (Line(), Table(columns, rows, full=True))
    elif scored.sessions:
        yield Line(f"{counted(len(scored.sessions), 'session')}; --sessions shows them.", "dim")


def _iteration_row(line: ScoredLine, more: RunShown) -> tuple[table.AnyCell, ...]:
    value, bounds = (
        table.number(line.value, line.scored),
        table.bounds_text(line.bounds, line.scored),
    )
    lost = f"lost: {', '.join(in_words(line.lost))}" if line.lost else ""
    band = table.band_cell(line.band, more.meaning.means_something)
    named = table.named_cells(
        line.iteration, line.task_id, more.subjects.get(line.commit) or line.summary, line.commit
    )
    return *named, value, bounds, band, table.coverage_cell(line.coverage), line.date, lost


def run_payload(
    scored: LogSummary, items: Iterable[object] = (), more: RunShown | None = None
) -> dict[str, Any]:
    """Return a whole scored log with its ``items`` of :func:`run_item`, and with ``more`` what became of the work."""
    members = {line.iteration: line for line in scored.lines}
    became: dict[str, Any] = {}
    if more:
        became = {"work": {"summary": work_summary(more.rows), "by": work_by(more.rows)}}
        became |= {"look_at": look_at(more.rows), "verdict": more.meaning.verdict}
    return {
        "rubric_version": scored.rubric.version,
        "iterations": list(items),
        "sessions": [session_payload(session, members) for session in scored.sessions],
        "presence": scored.shares,
        **became,
    }


def run_item(one: ScoredIteration, lost: Sequence[Loss] = ()) -> dict[str, Any]:
    """Return one iteration of a scored log, with what its score ``lost`` of the evidence that its sidecar had."""
    gone = {"lost": in_words(lost)} if lost else {}
    return {**score_payload(one.persisted, one.signals.deliberation), **gone}
