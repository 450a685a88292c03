"""What ``run``, ``iteration`` and ``session`` show: scores as lines and tables, and as JSON.

A pipe gets the reference's tables, byte for byte (docs/COMMANDS.md, "Tables on a pipe"); a terminal gets the same with
colours, and with the coverage beside every score. The JSON has the keys of the sidecars, and what a sidecar does not
hold beside them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rubric import BAND_LABELS, Bounds
from rubric.model import FULL_TEXT
from scoring.signals.values import deliberation_dict
from scoring.statistics import Interval, bootstrap_interval
from scoring.views.table import AnyCell, Block, Cell, Column, Line, Table, TableRow, number, pairs

if TYPE_CHECKING:  # what is shown was loaded by whoever computed it
    from rubric import SignalContribution
    from rubric.scorer import Breakdown
    from scoring.evidence.beside import HookOutcome
    from scoring.score import ScoredIteration, ScoredLog
    from scoring.sessions import SessionIterRef, SessionScore
    from scoring.sidecars.scores import PersistedScore
    from scoring.signals.values import Deliberation, IterationObjectives

_BAND_STYLES = {"excellent": "bold green", "good": "green", "fair": "yellow", "poor": "red", "unscored": "dim"}
_BAND_STYLES["insufficient"] = "dim"
_BAR = 20

ITER = Column("ITER", width=6, right=True)
_SCORE = Column("SCORE", width=9, right=True)
BAND = Column("BAND", width=0)
_BOUNDS = Column("BOUNDS", only="terminal")
_INTERVAL = Column("95 %", only="terminal")
_COVERAGE = Column("COVERAGE", only="full")
TASK = Column("TASK", width=12, cut=True)
_RUN = (ITER, TASK, _SCORE, _BOUNDS, BAND._replace(width=26), _COVERAGE, Column("DATE", width=0))
_SESSIONS = (
    Column("SESSION", width=40, cut=True),
    _SCORE,
    _BOUNDS,
    _INTERVAL,
    Column("ITERS", width=11, right=True),
    BAND,
    _COVERAGE,
)
_MEMBERS = (ITER, _SCORE, _BOUNDS, BAND, _COVERAGE)
_BREAKDOWN = (
    Column("SIGNAL", width=22),
    Column("PRESENT", width=7),
    Column("SUBSCORE", width=8, right=True),
    Column("WEIGHT", width=8, right=True),
    Column("CONTRIB", width=8, right=True),
    Column("DETAIL", width=60, cut=True),
)
_HOOKS = (
    Column("RULE_ID", width=40, cut=True),
    Column("SENTINEL_ID", width=32, cut=True),
    Column("LIFECYCLE", width=22, cut=True),
    Column("RESULT", width=10, cut=True),
    Column("INTERVENTION", width=0),
)


def score_cell(value: float, scored: bool) -> Cell:
    """Return a score as a cell; what is not scored has no value."""
    return Cell(value if scored else None, number(value, scored))


def band_cell(band: str) -> Cell:
    """Return a band as a cell, in its colour and by the name that people read."""
    return Cell(band, band_text(band), _BAND_STYLES.get(band, ""))


def band_text(band: str) -> str:
    """Return what people read for a band."""
    return BAND_LABELS.get(band, band)


def bounds_text(bounds: "Bounds | None", scored: bool = True) -> str:
    """Return what the absent signals could make of a value, as a terminal shows it beside the value."""
    return f"({bounds.low:.2f}–{bounds.high:.2f})" if bounds and scored else ""


def value_text(value: float, scored: bool, bounds: "Bounds | None") -> str:
    """Return a value with its bounds, as a terminal shows both."""
    return f"{number(value, scored)}  {bounds_text(bounds, scored)}".rstrip()


def run_page(
    scored: "ScoredLog", source: Path, written: tuple[int, int] | None, intervals: bool = False
) -> Iterator[Block]:
    """Yield the summary of a scored log; a terminal sees too how sure the scores are, and where the log is blind.

    ``written`` counts the iteration and session sidecars that were written; None when none were meant to be. With
    ``intervals`` a terminal shows those of the means of sessions, which take a moment.
    """
    title, iterations = f"Outcome scoring — rubric {scored.rubric.version}", len(scored.iterations)
    full = scored.rubric.text == FULL_TEXT
    yield Line([Cell(title, style="bold"), f" · {source}"], only="terminal")
    yield Line(title, only="pipe")
    yield Line(f"Iterations: {iterations}   Sessions: {len(scored.sessions)}   Source: {source}", only="pipe")
    yield Line()
    yield Table(_RUN, [_iteration_row(one) for one in scored.iterations], full=full)
    if scored.sessions:
        members = {one.score.iteration: one.score for one in scored.iterations}
        yield Line()
        yield Table(_SESSIONS, [_session_row(session, members, intervals) for session in scored.sessions], full=full)
    yield Line()
    yield from _presence(scored.presence())
    if written is None:
        yield Line("Wrote nothing (--no-write)")
    else:
        count, sessions = written
        yield Line(f"Wrote {count} iter sidecars + {sessions} session sidecars to {source}", only="pipe")
        yield Line(f"Wrote {count} iteration and {sessions} session sidecars to {source}", only="terminal")


def _iteration_row(one: "ScoredIteration") -> tuple[AnyCell, ...]:
    score, record = one.score, one.record
    value, bounds = score_cell(score.value, score.scored), bounds_text(score.bounds, score.scored)
    return score.iteration, record.task_id, value, bounds, band_cell(score.band), str(score.coverage), record.date


def _session_row(session: "SessionScore", members: "Mapping[int, Breakdown]", intervals: bool) -> tuple[AnyCell, ...]:
    value, bounds = score_cell(session.value, session.scored), bounds_text(session_bounds(session, members))
    sure = interval_text(session) if intervals else ""
    coverage = session_coverage_text(session, members, brief=True)
    return session.session_id, value, bounds, sure, len(session.iterations), band_cell(session.band), coverage


def _presence(shares: Mapping[str, float]) -> Iterator[Block]:
    rows = []
    for signal, share in shares.items():
        filled = round(share * _BAR)
        colour = "green" if share >= 0.5 else "yellow" if share else "red"
        bar = Cell(share, "█" * filled + "·" * (_BAR - filled), colour)
        rows.append((signal, f"{share * 100:.0f} %", bar))
    yield Table((Column("SIGNAL"), Column("PRESENT IN", right=True), Column("")), rows, only="terminal")
    yield Line(only="terminal")


def iteration_page(
    score: "PersistedScore",
    hooks: "Sequence[HookOutcome]",
    source: Path,
    deliberation: "Deliberation | None" = None,
    objectives: "IterationObjectives | None" = None,
    full: bool = False,
) -> Iterator[Block]:
    """Yield how a score came about, with the hook records behind it and what the meter says of a DR transcript.

    ``source`` is the sidecar. A terminal shows the ``objectives`` too, where they were checked now. ``full`` is whether
    a pipe shows the coverage too, and names and details whole.
    """
    name, band = f"Iteration {score.iteration}   rubric {score.rubric_version}", band_text(score.band)
    yield Line(f"{name}   score {number(score.value, score.scored)}   band {band}", only="pipe")
    sure = value_text(score.value, score.scored, score.bounds)
    yield Line(f"{name}   score {sure}   band {band}", "bold", only="terminal")
    if score.linked_traces_to_outcomes:
        yield Line("linked_traces_to_outcomes: yes (derived)", "bold")
    yield Line(str(score.coverage), "dim", only=None if full else "terminal")
    yield Line()
    yield Table(_BREAKDOWN, list(map(_breakdown_row, score.breakdown)), full=full)
    if hooks:
        records = [(h.rule_id, h.sentinel_id, h.lifecycle_point, h.result, h.intervention_class) for h in hooks]
        yield from _section("Hook outcome sources", Table(_HOOKS, records, full=full))
    if deliberation is not None:
        votes = any(row.signal == "diminishing_returns" for row in score.breakdown)
        part = "votes" if votes else "observed, does not vote"
        title = f"Diminishing returns ({part} under rubric {score.rubric_version})"
        yield from _section(title, pairs(_deliberation_rows(deliberation), 9))
    if objectives is not None:
        yield Line(only="terminal")
        yield Line("Observed, not scored", "bold", only="terminal")
        rows = [
            (name, "-" if not value["present"] else "yes" if value["sub_score"] else "no", str(value["detail"]))
            for name, value in objectives.as_dict().items()
        ]
        yield Table((Column("CHECK"), Column("SEEN"), Column("DETAIL")), rows, only="terminal")
    yield from (Line(), Line(f"Source: {source}", "dim"))


def _breakdown_row(row: "SignalContribution") -> TableRow:
    there, weight = row.present, row.effective_weight if row.present else row.nominal_weight
    numbers = number(row.sub_score, there), number(weight), number(row.contribution, there)
    return TableRow((row.signal, "yes" if there else "no", *numbers, row.detail), style="" if there else "dim")


def _section(title: str, table: Table) -> Iterator[Block]:
    yield Line()
    yield Line(f"{title}:", only="pipe")
    yield Line(title, "bold", only="terminal")
    yield table._replace(indent=2, only="pipe")
    yield table._replace(only="terminal")


def _deliberation_rows(deliberation: "Deliberation") -> list[tuple[str, str]]:
    meter, rows = deliberation.meter, [("ABSENT", deliberation.value.detail)]
    if meter is not None and deliberation.value.present:
        stop, parts = meter["stop_recommendation"], meter["components"]
        low, rounds = stop["k_consecutive_low_novelty"], len(meter["novelty_by_round"])
        novelty, readiness = stop["novelty_classification"], stop["readiness_classification"]
        rows = [
            ("SIGNAL", stop["signal"]),
            ("SCORE", number(deliberation.value.sub_score)),
            ("NOVELTY", f"{parts['novelty_rate']:.3f} {novelty}, low in the last {low} of {rounds} rounds"),
            ("READINESS", f"{parts['action_readiness']:.2f} {readiness}"),
            ("RATIONALE", stop["rationale"]),
            ("NEXT", meter["hint"]),
        ]
        if meter["flags"]:
            flags = (f["flag"] + ("" if f["round"] is None else f" (round {f['round']})") for f in meter["flags"])
            rows.append(("FLAGS", ", ".join(flags)))
    return [*rows, ("SOURCE", str(deliberation.source))]


def session_page(
    session: "SessionScore",
    members: "Mapping[int, Breakdown]",
    source: Path,
    intervals: bool = False,
    full: bool = False,
) -> Iterator[Block]:
    """Yield a session and its iterations.

    A terminal shows how sure the scores are, as far as ``members`` has those of its iterations, and with ``intervals``
    also that of the mean. ``full`` is whether a pipe shows the coverage too.
    """
    name = f"Session {session.session_id}   rubric {session.rubric_version}   "
    value = number(session.value, session.scored)
    yield Line(f"{name}score {value}   band {band_text(session.band)}", only="pipe")
    yield Line(f"Iterations: {len(session.iterations)}", only="pipe")
    sure = value_text(session.value, session.scored, session_bounds(session, members))
    yield Line([Cell(name, style="bold"), f" score {sure}   ", band_cell(session.band)], only="terminal")
    yield Line(session_coverage_text(session, members), "dim", only=None if full else "terminal")
    if intervals and (interval := interval_text(session)):
        yield Line(f"mean {interval}, with 95 % confidence", "dim", only="terminal")
    yield Line()
    yield Table(_MEMBERS, [_member_row(ref, members.get(ref.iteration)) for ref in session.per_iteration], full=full)
    yield from (Line(), Line(f"Source: {source}", "dim"))


def _member_row(ref: "SessionIterRef", member: "Breakdown | None") -> tuple[AnyCell, ...]:
    bounds, coverage = (bounds_text(member.bounds, ref.scored), str(member.coverage)) if member else ("", "-")
    return ref.iteration, score_cell(ref.value, ref.scored), bounds, band_cell(ref.band), coverage


def session_interval(session: "SessionScore") -> Interval | None:
    """Return the bootstrap interval of a session's mean; None where fewer than two iterations are in it."""
    return bootstrap_interval([ref.value for ref in session.per_iteration if ref.suffices])


def interval_text(session: "SessionScore") -> str:
    """Return that interval as a terminal shows it; nothing where there is none."""
    interval = session_interval(session)
    return "" if interval is None else str(interval)


def session_bounds(session: "SessionScore", members: "Mapping[int, Breakdown]") -> Bounds | None:
    """Return the means of the bounds of the iterations in a session's mean; None when not all of them are known."""
    counting = [ref.iteration for ref in session.per_iteration if ref.suffices]
    if not counting or not all(n in members for n in counting):
        return None
    known = [members[n].bounds for n in counting]
    return Bounds(sum(bounds.low for bounds in known) / len(known), sum(bounds.high for bounds in known) / len(known))


def session_coverage_text(session: "SessionScore", members: "Mapping[int, Breakdown]", brief: bool = False) -> str:
    """Say how many iterations are scored, on how much of the weight on average, and how many not on enough."""
    coverage = _session_coverage(session, members)
    what, average = ("", "") if brief else (" iterations", " on average")
    weight = "" if coverage["weight"] is None else f", {coverage['weight'] * 100:.1f} % of the weight{average}"
    too_few = f", {session.insufficient} without enough evidence" if session.insufficient else ""
    return f"{coverage['scored']} of {coverage['total']}{what}{weight}{too_few}"


def _session_coverage(session: "SessionScore", members: "Mapping[int, Breakdown]") -> dict[str, Any]:
    known = [members[n].coverage.weight for n in session.iterations if n in members]
    return {
        "scored": sum(ref.scored for ref in session.per_iteration),
        "total": len(session.iterations),
        "weight": sum(known) / len(known) if known else None,
        "insufficient": session.insufficient,
    }


def score_payload(score: "PersistedScore", deliberation: "Deliberation | None" = None) -> dict[str, Any]:
    """Return one iteration with its bounds and coverage, and the meter where there is a DR transcript."""
    return {**score.payload(), **deliberation_dict(deliberation)}


def scored_now_payload(one: "ScoredIteration") -> dict[str, Any]:
    """Return one iteration that was scored now, with the objective checks and integrity."""
    return {
        **score_payload(one.persisted, one.signals.deliberation),
        "objective": one.signals.objective.as_dict(),
        "integrity": [observation.as_dict() for observation in one.signals.integrity],
    }


def session_payload(session: "SessionScore", members: "Mapping[int, Breakdown]") -> dict[str, Any]:
    """Return one session as its sidecar holds it, with its bounds, and what it rests on.

    ``members`` are the scores of its iterations, as far as they are there. The bounds are the means of those of the
    members that are in its mean; null when not all of them are there. The interval is that of its mean, ``[low, high]``
    with 95 % confidence; null when fewer than two members are in it. The coverage says how many members are scored,
    how many of these on too little evidence, and on how much of the weight they rest.
    """
    from scoring.sidecars.scores import session_as_dict

    bounds, interval = session_bounds(session, members), session_interval(session)
    return {
        **session_as_dict(session),
        "bounds": {"low": bounds and bounds.low, "high": bounds and bounds.high},
        "interval": interval and list(interval),
        "coverage": _session_coverage(session, members),
    }


def run_payload(scored: "ScoredLog") -> dict[str, Any]:
    """Return a whole scored log, with the share of iterations in which each signal is present."""
    members = {one.score.iteration: one.score for one in scored.iterations}
    return {
        "rubric_version": scored.rubric.version,
        "iterations": [score_payload(one.persisted, one.signals.deliberation) for one in scored.iterations],
        "sessions": [session_payload(session, members) for session in scored.sessions],
        "presence": scored.presence(),
    }


def signals_payload(one: "ScoredIteration") -> dict[str, Any]:
    """Return the signals of one iteration, with the bounds and the coverage they give its score."""
    return {**one.signals.as_dict(), "bounds": asdict(one.score.bounds), "coverage": asdict(one.score.coverage)}
