"""What ``run`` and ``iteration`` show: scores as lines and tables (docs/COMMANDS.md, "Tables on a pipe"), and JSON."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import structs

from rubric import SignalContribution
from scoring.evidence.beside import HookOutcome
from scoring.evidence.facts import IterationFacts
from scoring.outcomes.spending import Spending, spending_of
from scoring.score import ScoredIteration
from scoring.sidecars.fingerprint import NOT_MEASURED, Meaning
from scoring.sidecars.provenance import OwnLines
from scoring.sidecars.scores import PersistedScore
from scoring.sidecars.states import State
from scoring.signals.values import Deliberation, IterationObjectives, deliberation_dict
from scoring.views.session_pages import score_text, spending_section
from scoring.views.table import (
    Block,
    Column,
    Line,
    Place,
    Table,
    TableRow,
    band_text,
    number,
    pairs,
)

_BREAKDOWN = [Column("SIGNAL", width=22), Column("PRESENT", width=7)]
_BREAKDOWN += [Column(head, width=8, right=True) for head in ("SUBSCORE", "WEIGHT", "CONTRIB")]
_BREAKDOWN += [
    Column("DETAIL", width=60, cut=True, only="pipe"),
    Column("DETAIL", only="terminal", prose=True),
]
_HOOK_WIDTHS = {"RULE_ID": 40, "SENTINEL_ID": 32, "LIFECYCLE": 22, "RESULT": 10}
_HOOKS = [
    *(Column(head, width=n, cut=True) for head, n in _HOOK_WIDTHS.items()),
    Column("INTERVENTION", width=0),
]


def iteration_page(
    score: PersistedScore,
    hooks: Sequence[HookOutcome],
    source: Path,
    deliberation: Deliberation | None = None,
    objectives: IterationObjectives | None = None,
    full: bool = False,
    state: State | None = None,
    spending: Spending | None = None,
    about: Sequence[str] = (),
    meaning: Meaning = NOT_MEASURED,
) -> Iterator[Block]:
    """Yield what is known ``about`` the work, and how its score came about; with ``full`` a pipe shows both too."""
    name = f"Iteration {score.iteration}"
    only: Place | None = None if full else "terminal"
    if not full:
        value = f"score {number(score.value, score.scored)}   band {band_text(score.band)}"
        yield Line(f"{name}   rubric {score.rubric_version}   {value}", only="pipe")
    said = Line(name, "bold"), *map(Line, about), Line(score_text(meaning, score, score.bounds))
    yield from (line._replace(only=only) for line in said)
    if score.linked_traces_to_outcomes:
        yield Line("linked_traces_to_outcomes: yes (derived)", "bold")
    yield Line(str(score.coverage), "dim", only=only)
    if state is not None:
        yield Line(
            f"This score is {state}", "dim" if state.name == "current" else "bold yellow", only=only
        )
    yield Line()
    yield Table(_BREAKDOWN, list(map(_breakdown_row, score.breakdown)), full=full)
    if hooks:
        records = [
            (h.rule_id, h.sentinel_id, h.lifecycle_point, h.result, h.intervention_class)
            for h in hooks
        ]
        yield from _section("Hook outcome sources", Table(_HOOKS, records, full=full))
    if deliberation is not None:
        votes = any(row.signal == "diminishing_returns" for row in score.breakdown)
        part = "votes" if votes else "observed, does not vote"
        title = f"Diminishing returns ({part} under rubric {score.rubric_version})"
        yield from _section(title, pairs(_deliberation_rows(deliberation), 9))
    if objectives is not None:
        yield from (Line(only="terminal"), Line("Observed, not scored", "bold", only="terminal"))
        rows = [
            (
                name,
                "-" if not value["present"] else "yes" if value["sub_score"] else "no",
                str(value["detail"]),
            )
            for name, value in objectives.as_dict().items()
        ]
        yield Table(
            (Column("CHECK"), Column("SEEN"), Column("DETAIL", prose=True)), rows, only="terminal"
        )
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
            (
                "NOVELTY",
                f"{parts['novelty_rate']:.3f} {novelty}, low in the last {low} of {rounds} rounds",
            ),
            ("READINESS", f"{parts['action_readiness']:.2f} {readiness}"),
            ("RATIONALE", stop["rationale"]),
            ("NEXT", meter["hint"]),
        ]
        if meter["flags"]:
            flags = (
                f["flag"] + ("" if f["round"] is None else f" (round {f['round']})")
                for f in meter["flags"]
            )
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
    worth = {
        "state": state.name if state else "current",
        "state_reason": state.reason or None if state else None,
    }
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
    return {
        "claims": [
            {"kind": of.kind, "result": of.result, "where": of.where}
            for of in facts.observed.claims
        ]
    }


def kept_payload(kept: OwnLines | None) -> dict[str, Any] | None:
    """Return what a sidecar's evidence file says of the chain; None where it says nothing."""
    return {"method": kept.method, "sessions": list(kept.sessions)} if kept else None
