"""What is shown of a session: its mean, how sure that is, and its iterations, as lines, a row and JSON."""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rubric import Bounds
from rubric.breakdown import Rested
from scoring.outcomes.spending import Spending
from scoring.sessions import SessionIterRef, SessionScore
from scoring.sidecars.fingerprint import NOT_MEASURED, Meaning
from scoring.sidecars.scores import PersistedScore, session_as_dict
from scoring.sidecars.states import CURRENT, State
from scoring.statistics import Interval, bootstrap_interval
from scoring.views import table
from scoring.views.spending_text import spending_lines

SESSIONS = [table.Column("SESSION", width=40, cut=True), table.SCORE, table.BOUNDS, table.INTERVAL]
SESSIONS += [table.Column("ITERS", width=11, right=True), table.BAND, table.COVERAGE]
_BEGINNING = 8
_MEMBERS = [
    table.ITER,
    *(column._replace(only="full") for column in table.NAMED[1:]),
    table.SCORE,
    table.BOUNDS,
]
_MEMBERS += [table.BAND, table.COVERAGE, table.Column("STATE", only="full", prose=True)]


def session_rows(
    sessions: Sequence[SessionScore],
    members: Mapping[int, Rested],
    intervals: bool,
    graded: bool = True,
) -> list[tuple[table.AnyCell, ...]]:
    """Return sessions as rows of :data:`SESSIONS`; with ``intervals`` those of their means, which take a moment."""
    beginnings = _beginnings([session.session_id for session in sessions])
    return [
        (
            table.Cell(session.session_id, brief=beginnings[session.session_id]),
            table.number(session.value, session.scored),
            table.bounds_text(_bounds(session, members)),
            str(_interval(session) or "") if intervals else "",
            len(session.iterations),
            table.band_cell(session.band, graded),
            _coverage_cell(session, members),
        )
        for session in sessions
    ]


def _beginnings(ids: Sequence[str]) -> dict[str, str]:
    ordered = ["", *sorted(set(ids)), ""]
    beginnings = {}
    for before, this, after in zip(ordered, ordered[1:], ordered[2:], strict=False):
        shared = max(len(os.path.commonprefix((this, other))) for other in (before, after))  # noqa: RUF071 - of letters
        beginnings[this] = this[: max(_BEGINNING, shared + 1)]
    return beginnings


def session_page(
    session: SessionScore,
    members: Mapping[int, Rested],
    source: Path,
    intervals: bool = False,
    full: bool = False,
    spending: Spending | None = None,
    states: Mapping[int, State] | None = None,
    names: Mapping[int, tuple[table.AnyCell, ...]] | None = None,
    became: str = "",
    meaning: Meaning = NOT_MEASURED,
) -> Iterator[table.Block]:
    """Yield a session and its iterations, with the ``members`` that are known; ``full`` shows a pipe everything.

    What ``became`` of the work comes first, and the score by what it means; a pipe has neither unless it is full.
    """
    name = f"Session {session.session_id}"
    if not full:
        value, band = table.number(session.value, session.scored), table.band_text(session.band)
        yield table.Line(
            f"{name}   rubric {session.rubric_version}   score {value}   band {band}", only="pipe"
        )
        yield table.Line(f"Iterations: {len(session.iterations)}", only="pipe")
    only: table.Place | None = None if full else "terminal"
    yield table.Line(name, "bold", only=only)
    said = filter(None, (became, score_text(meaning, session, _bounds(session, members))))
    yield from (table.Line(text, only=only) for text in said)
    rests = _coverage_cell(session, members, " iterations scored", " on average").shown()
    yield table.Line(rests, "dim", only=only)
    if intervals and (interval := _interval(session)):
        yield table.Line(f"mean {interval}, with 95 % confidence", "dim", only="terminal")
    yield table.Line()
    known, named = states or {}, names or {}
    graded = meaning.means_something or not (full or intervals)
    rows = [
        (
            *named.get(ref.iteration, table.named_cells(ref.iteration, "", "", None)),
            *_member_cells(ref, members.get(ref.iteration), known.get(ref.iteration), graded),
        )
        for ref in session.per_iteration
    ]
    head = "SCORE" if graded else meaning.name.partition(" ")[0].upper()
    columns = [one._replace(head=head) if one == table.SCORE else one for one in _MEMBERS]
    yield table.Table(columns, rows, full=full)
    yield from spending_section(spending, full)
    yield from (table.Line(), table.Line(f"Source: {source}", "dim"))


def spending_section(found: Spending | None, full: bool = False) -> Iterator[table.Block]:
    """Yield what an iteration or a session used; only on a terminal, and where the text is ``full``."""
    only: table.Place | None = None if full else "terminal"
    if lines := spending_lines(found):
        yield from (table.Line(only=only), table.Line("Used", "bold", only=only))
        yield from (table.Line(text, only=only) for text in lines)


def score_text(
    meaning: Meaning, score: PersistedScore | SessionScore, bounds: Bounds | None
) -> str:
    """Return a score with its bounds and with what it is worth here; a grade only where that means something."""
    band = table.band_cell(score.band, meaning.means_something).text
    between = f" {table.bounds_text(bounds)}" if bounds and score.scored else ""
    value = f"{table.number(score.value, score.scored)}{between}{f', {band}' if band else ''}"
    return f"{meaning.name} {value}, under rubric {score.rubric_version}: {meaning}"


def _member_cells(
    ref: SessionIterRef, member: Rested | None, state: State | None, graded: bool
) -> tuple[table.AnyCell, ...]:
    bounds = table.bounds_text(member.bounds, ref.scored) if member else ""
    coverage = table.coverage_cell(member.coverage) if member else table.Cell(None, "-")
    worth = table.Cell(None, "")
    if state is not None:
        style = "dim" if state.name == "current" else "bold yellow"
        worth = table.Cell(state.name, str(state), style, brief=state.name)
    band = table.band_cell(ref.band, graded)
    return table.number(ref.value, ref.scored), bounds, band, coverage, worth


def _interval(session: SessionScore) -> Interval | None:
    return bootstrap_interval([ref.value for ref in session.per_iteration if ref.suffices])


def _bounds(session: SessionScore, members: Mapping[int, Rested]) -> Bounds | None:
    counting = [ref.iteration for ref in session.per_iteration if ref.suffices]
    if not counting or not all(n in members for n in counting):
        return None
    known = [members[n].bounds for n in counting]
    return Bounds(
        sum(bounds.low for bounds in known) / len(known),
        sum(bounds.high for bounds in known) / len(known),
    )


def _coverage(session: SessionScore, members: Mapping[int, Rested]) -> dict[str, Any]:
    known = [members[n].coverage.weight for n in session.iterations if n in members]
    return {
        "scored": sum(ref.scored for ref in session.per_iteration),
        "total": len(session.iterations),
        "weight": sum(known) / len(known) if known else None,
        "insufficient": session.insufficient,
    }


def _coverage_cell(
    session: SessionScore, members: Mapping[int, Rested], what: str = "", average: str = ""
) -> table.Cell:
    scored, total, weight, too_few = _coverage(session, members).values()
    text, brief = [f"{scored} of {total}{what}"], [f"{scored}/{total}"]
    if weight is not None:
        text.append(f"{weight * 100:.1f} % of the weight{average}")
        brief.append(f"{weight * 100:.0f} %")
    if too_few:
        text.append(f"{too_few} without enough evidence")
        brief.append(f"{too_few} not enough")
    return table.Cell(None, ", ".join(text), brief=" · ".join(brief))


def session_payload(
    session: SessionScore,
    members: Mapping[int, Rested],
    spending: Spending | None = None,
    states: Mapping[int, State] | None = None,
    sidecar: State = CURRENT,
) -> dict[str, Any]:
    """Return one session as JSON: its sidecar, bounds, interval, coverage, and with ``states`` what that is worth."""
    bounds, interval, worth = _bounds(session, members), _interval(session), {}
    if states is not None:
        names = {
            state.name
            for state in (*states.values(), *([sidecar] if states or sidecar != CURRENT else []))
        }
        worth = {
            "state": next(
                (name for name in ("stale", "unverified", "current") if name in names), None
            ),
            "state_reason": sidecar.reason or None,
            "states": [
                {"iteration": n, "state": state.name, "state_reason": state.reason or None}
                for n, state in states.items()
            ],
        }
    return {
        **session_as_dict(session),
        "bounds": {"low": bounds and bounds.low, "high": bounds and bounds.high},
        "interval": interval,
        "coverage": _coverage(session, members),
        **({"spending": spending.as_dict()} if spending else {}),
        **worth,
    }
