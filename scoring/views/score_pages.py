"""What ``run`` and ``iteration`` show: scores as lines and tables (docs/COMMANDS.md, "Tables on a pipe"), and as JSON.

The JSON has the keys of the sidecars, and what a sidecar does not hold beside them.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from msgspec import structs

from rubric import SignalContribution, newest_version
from rubric.model import EVIDENCE_ATTRIBUTED, EVIDENCE_REFERENCE, FULL_TEXT
from scoring.evidence.beside import HookOutcome
from scoring.evidence.facts import IterationFacts
from scoring.score import LogSummary, ScoredIteration, ScoredLine
from scoring.sidecars.provenance import Loss, OwnLines
from scoring.sidecars.scores import PersistedScore
from scoring.sidecars.states import State, in_words
from scoring.signals.values import Deliberation, IterationObjectives, deliberation_dict
from scoring.text import counted
from scoring.views.session_pages import SESSIONS, session_payload, session_rows, spending_section
from scoring.views.spending import Spending, spending_of
from scoring.views.table import (
    BAND,
    BOUNDS,
    COVERAGE,
    ITER,
    SCORE,
    TASK,
    AnyCell,
    Block,
    Cell,
    Column,
    Line,
    Place,
    Table,
    TableRow,
    band_cell,
    band_text,
    bounds_text,
    coverage_cell,
    number,
    pairs,
    value_text,
)

_BAR = 20

LOST = Column("", only="full", prose=True)
_RUN = [ITER, TASK, SCORE, BOUNDS, BAND._replace(width=26), COVERAGE]
_RUN += [Column("DATE", width=0), LOST]
"""The columns of ``run``; the last is there when a score lost evidence that its sidecar had."""
_BREAKDOWN = [Column("SIGNAL", width=22), Column("PRESENT", width=7)]
_BREAKDOWN += [Column(head, width=8, right=True) for head in ("SUBSCORE", "WEIGHT", "CONTRIB")]
_BREAKDOWN += [Column("DETAIL", width=60, cut=True, only="pipe"), Column("DETAIL", only="terminal", prose=True)]
_HOOK_WIDTHS = {"RULE_ID": 40, "SENTINEL_ID": 32, "LIFECYCLE": 22, "RESULT": 10}
_HOOKS = [*(Column(head, width=n, cut=True) for head, n in _HOOK_WIDTHS.items()), Column("INTERVENTION", width=0)]


def run_page(
    scored: LogSummary, source: Path, written: tuple[int, int] | None, intervals: bool = False
) -> Iterator[Block]:
    """Yield the summary of a scored log; a terminal sees too how sure the scores are, and where the log is blind.

    ``written`` counts the iteration and session sidecars that were written; None when none were meant to be.
    """
    title, lines = f"Outcome scoring — rubric {scored.rubric.version}", scored.lines
    full = scored.rubric.text == FULL_TEXT
    yield Line([Cell(title, style="bold"), f" · {source}"], only="terminal")
    yield Line(title, only="pipe")
    yield Line(f"Iterations: {len(lines)}   Sessions: {len(scored.sessions)}   Source: {source}", only="pipe")
    yield Line()
    rows = [_iteration_row(line) for line in lines]
    yield Table(_RUN if any(line.lost for line in lines) else _RUN[:-1], rows, full=full)
    if scored.sessions:
        members = {line.iteration: line for line in lines}
        yield from (Line(), Table(SESSIONS, session_rows(scored.sessions, members, intervals), full=full))
    yield Line()
    yield from _presence(scored.shares)
    if written is None:
        yield Line("Wrote nothing (--no-write)")
        return
    count, sessions = written
    yield Line(f"Wrote {count} iter sidecars + {sessions} session sidecars to {source}", only="pipe")
    yield Line(f"Wrote {count} iteration and {counted(sessions, 'session sidecar')} to {source}", only="terminal")


def pointer(scored: LogSummary, named: bool) -> Iterator[Block]:
    """Yield what a rubric of the reference cannot see here; ``named`` is whether transcript folders were named."""
    if scored.rubric.evidence != EVIDENCE_REFERENCE or scored.trunk is None:
        return
    missing = [] if scored.trunk.commit else ["there is no branch master, so nothing counts as landed"]
    if not named:
        missing.append("no transcript folder is named, so token use and failed calls are not known")
    if missing:
        newest = newest_version(EVIDENCE_ATTRIBUTED)
        advice = f"'da-score run --rubric {newest}' finds the trunk and the transcripts that are here"
        yield Line(f"Under rubric {scored.rubric.version} {', and '.join(missing)}: {advice}", "dim", only="terminal")


def next_steps(scored: LogSummary) -> Iterator[Block]:
    """Yield the line that points on after the first score of a log; only on a terminal."""
    text = "Next: 'da-score doctor' says what there is to score from, and what is missing"
    if with_value := [line for line in scored.lines if line.scored]:
        lowest = min(with_value, key=lambda line: line.value).iteration
        text = f"Next: 'da-score explain {lowest}' says why that one scored lowest, 'da-score report' draws the log"
    yield Line(text, "dim", only="terminal")


def _iteration_row(line: ScoredLine) -> tuple[AnyCell, ...]:
    value, bounds = number(line.value, line.scored), bounds_text(line.bounds, line.scored)
    lost = f"lost: {', '.join(in_words(line.lost))}" if line.lost else ""
    sure = coverage_cell(line.coverage)
    return line.iteration, line.task_id, value, bounds, band_cell(line.band), sure, line.date, lost


def _presence(shares: Mapping[str, float]) -> Iterator[Block]:
    rows = []
    for signal, share in shares.items():
        filled = round(share * _BAR)
        colour = "green" if share >= 0.5 else "yellow" if share else "red"
        rows.append((signal, f"{share * 100:.0f} %", Cell(share, "█" * filled + "·" * (_BAR - filled), colour)))
    yield Table((Column("SIGNAL"), Column("PRESENT IN", right=True), Column("")), rows, only="terminal")
    yield Line(only="terminal")


def iteration_page(
    score: PersistedScore,
    hooks: Sequence[HookOutcome],
    source: Path,
    deliberation: Deliberation | None = None,
    objectives: IterationObjectives | None = None,
    full: bool = False,
    state: State | None = None,
    spending: Spending | None = None,
) -> Iterator[Block]:
    """Yield how a score came about, with the hook records behind it and what the meter says of a DR transcript.

    ``source`` is the sidecar. With ``full`` a pipe shows all that a terminal does but ``objectives``, and cuts nothing.
    """
    name, band = f"Iteration {score.iteration}   rubric {score.rubric_version}", band_text(score.band)
    yield Line(f"{name}   score {number(score.value, score.scored)}   band {band}", only="pipe")
    sure = value_text(score.value, score.scored, score.bounds)
    yield Line(f"{name}   score {sure}   band {band}", "bold", only="terminal")
    if score.linked_traces_to_outcomes:
        yield Line("linked_traces_to_outcomes: yes (derived)", "bold")
    only: Place | None = None if full else "terminal"
    yield Line(str(score.coverage), "dim", only=only)
    if state is not None:
        yield Line(f"This score is {state}", "dim" if state.name == "current" else "bold yellow", only=only)
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
        yield from (Line(only="terminal"), Line("Observed, not scored", "bold", only="terminal"))
        rows = [
            (name, "-" if not value["present"] else "yes" if value["sub_score"] else "no", str(value["detail"]))
            for name, value in objectives.as_dict().items()
        ]
        yield Table((Column("CHECK"), Column("SEEN"), Column("DETAIL", prose=True)), rows, only="terminal")
    yield from spending_section(spending, full)
    yield from (Line(), Line(f"Source: {source}", "dim"))


def _breakdown_row(row: SignalContribution) -> TableRow:
    there, weight = row.present, row.effective_weight if row.present else row.nominal_weight
    numbers = number(row.sub_score, there), number(weight), number(row.contribution, there)
    detail = f"{row.fact} · {row.detail}" if row.fact and row.detail else row.fact or row.detail
    cells = row.signal, "yes" if there else "no", *numbers, row.detail, detail
    return TableRow(cells, style="" if there else "dim")


def _section(title: str, table: Table) -> Iterator[Block]:
    yield from (Line(), Line(f"{title}:", only="pipe"), Line(title, "bold", only="terminal"))
    yield from (table._replace(indent=2, only="pipe"), table._replace(only="terminal"))


def _deliberation_rows(deliberation: Deliberation) -> list[tuple[str, str]]:
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
    return [*rows, ("PROFILE", deliberation.profile), ("SOURCE", str(deliberation.source))]


def score_payload(
    score: PersistedScore,
    deliberation: Deliberation | None = None,
    attribution: Mapping[str, Any] | None = None,
    state: State | None = None,
    spending: Spending | None = None,
) -> dict[str, Any]:
    """Return one iteration as data, with what is known beside its score; what is scored now is current."""
    attributed = {"attribution": attribution} if attribution else {}
    worth = {"state": state.name if state else "current", "state_reason": state.reason or None if state else None}
    used = {"spending": spending.as_dict()} if spending else {}
    return {**score.payload(), **worth, **deliberation_dict(deliberation), **attributed, **used}


def scored_now_payload(one: ScoredIteration) -> dict[str, Any]:
    """Return one iteration that was scored now, with the objective checks and integrity."""
    attribution, spending = chain_payload(one.facts), spending_of(one.facts)
    return {
        **score_payload(one.persisted, one.signals.deliberation, attribution, spending=spending),
        "objective": one.signals.objective.as_dict(),
        "integrity": [observation.as_dict() for observation in one.signals.integrity],
        **claims_payload(one.facts),
    }


def run_payload(scored: LogSummary, items: Iterable[object] = ()) -> dict[str, Any]:
    """Return a whole scored log; ``items`` are what :func:`run_item` returns of each iteration."""
    members = {line.iteration: line for line in scored.lines}
    return {
        "rubric_version": scored.rubric.version,
        "iterations": list(items),
        "sessions": [session_payload(session, members) for session in scored.sessions],
        "presence": scored.shares,
    }


def run_item(one: ScoredIteration, lost: Sequence[Loss] = ()) -> dict[str, Any]:
    """Return one iteration of a scored log, with what its score ``lost`` of the evidence that its sidecar had."""
    gone = {"lost": in_words(lost)} if lost else {}
    return {**score_payload(one.persisted, one.signals.deliberation), **gone}


def signals_payload(one: ScoredIteration) -> dict[str, Any]:
    """Return the signals of one iteration, with the bounds and the coverage they give its score."""
    return {**one.signals.as_dict(), "bounds": asdict(one.score.bounds), "coverage": asdict(one.score.coverage)}


def chain_payload(facts: IterationFacts) -> dict[str, Any] | None:
    """Return the chain as data; None where lines are not attributed."""
    observed = facts.observed
    if observed is None:
        return None
    return {
        "method": observed.method,
        "sessions": list(observed.sessions),
        "also_active": list(observed.also_active),
        "problem": observed.problem or None,
        "commit": facts.landing.sha,
        "landed_as": facts.landing.commit,
        "counted_for": facts.counted_for,
        "shared_with": observed.shared_with,
        "checkpoints": list(observed.checkpoints),
        "checkpoint_tokens": observed.checkpoint_tokens,
        "calls": observed.tool_calls,
        "errors": observed.failed_calls,
        "lines": [found._asdict() | {"path": str(found.path)} for found in observed.lines],
        "seen": [seen._asdict() | {"path": str(seen.path)} for seen in observed.seen],
        "work": structs.asdict(observed.work),
        "by_people": None,
        "by_agents": observed.by_agents,
    }


def claims_payload(facts: IterationFacts) -> dict[str, Any]:
    """Return the claims in words as data; nothing where lines are not attributed."""
    if facts.observed is None:
        return {}
    found = facts.observed.claims
    return {"claims": [{"kind": claim.kind, "result": claim.result, "where": claim.where} for claim in found]}


def kept_payload(kept: OwnLines | None) -> dict[str, Any] | None:
    """Return what a sidecar's evidence file says of the chain; None where it says nothing."""
    return {"method": kept.method, "sessions": list(kept.sessions)} if kept else None
