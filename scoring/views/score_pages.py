"""What ``run`` and ``iteration`` show of a score (docs/COMMANDS.md, "Tables on a pipe")."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import structs

from scoring.evidence.entry_files import HookOutcome
from scoring.evidence.facts import IterationFacts
from scoring.frozen import PlainData, fields_of
from scoring.outcomes.spending import Spending
from scoring.sidecars.meaning import NOT_MEASURED, Meaning
from scoring.sidecars.provenance import OwnLines
from scoring.sidecars.scores import PersistedScore
from scoring.sidecars.states import CURRENT, State
from scoring.signals.values import Deliberation, IterationObjectives, deliberation_dict

from .session_pages import reference_head, score_text, spending_section
from .table import (
    Column,
    Line,
    Page,
    Place,
    Table,
    TableRow,
    columns_of,
    number,
    numeric,
    pairs,
)

_BREAKDOWN = [
    Column("SIGNAL", 22),
    Column("PRESENT", 7),
    numeric("SUBSCORE", 8),
    numeric("WEIGHT", 8),
    numeric("CONTRIB", 8),
    Column("DETAIL", 60, cut=True, only="pipe"),
    Column("DETAIL", only="terminal", prose=True),
]
_HOOKS = [
    Column("RULE_ID", 40, cut=True),
    Column("SENTINEL_ID", 32, cut=True),
    Column("LIFECYCLE", 22, cut=True),
    Column("RESULT", 10, cut=True),
    Column("INTERVENTION", 0),
]
_CHECKS = columns_of("CHECK", "SEEN", Column("DETAIL", prose=True))


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
) -> Page:
    """Yield the score of one iteration, and how it came about.

    Args:
        score: the score.
        hooks: the hook outcomes that it counts.
        source: the file or log that the score comes from.
        deliberation: what the diminishing-returns meter says; None without a transcript for it.
        objectives: what transcripts show without a vote; None to leave that out.
        full: whether a pipe shows as much as a terminal.
        state: how far the sidecar can be trusted; None for a score that is computed now.
        spending: what the iteration used; None where that is not known.
        about: lines about the work: its commit, and what became of it.
        meaning: what scores are worth here.
    """
    name = f"Iteration {score.iteration}"
    if not full:
        yield reference_head(name, score)

    only: Place | None = None if full else "terminal"
    yield Line(name, "bold", only=only)
    for text in about:
        yield Line(text, only=only)
    yield Line(score_text(meaning, score, score.bounds), only=only)
    if score.linked_traces_to_outcomes:
        yield Line("linked_traces_to_outcomes: yes (derived)", "bold")
    yield Line(str(score.coverage), "dim", only=only)
    if state is not None:
        style = "dim" if state.name == "current" else "bold yellow"
        yield Line(f"This score is {state}", style, only=only)

    yield ""
    rows = []
    for row in score.breakdown:
        cells = (
            row.signal,
            "yes" if row.present else "no",
            number(row.sub_score, row.present),
            number(row.effective_weight if row.present else row.nominal_weight),
            number(row.contribution, row.present),
            row.detail,
            " · ".join(text for text in (row.fact, row.detail) if text),
        )
        rows.append(TableRow(cells, style="" if row.present else "dim"))
    yield Table(_BREAKDOWN, rows, full=full)
    if hooks:
        gates = []
        for hook in hooks:
            names = (hook.rule_id, hook.sentinel_id, hook.lifecycle_point)
            gates.append((*names, hook.result, hook.intervention_class))
        yield from _section("Hook outcome sources", Table(_HOOKS, gates, full=full))
    if deliberation is not None:
        yield from _deliberation_section(deliberation, score)
    if objectives is not None:
        yield from _objectives_section(objectives)
    yield from spending_section(spending, full)
    yield ""
    yield Line(f"Source: {source}", "dim")


def _section(title: str, table: Table) -> Page:
    """Yield a table under a title. A pipe has a colon after the title and indents the table."""
    yield ""
    yield Line(f"{title}:", only="pipe")
    yield Line(title, "bold", only="terminal")
    yield table._replace(indent=2, only="pipe")
    yield table._replace(only="terminal")


def _deliberation_section(deliberation: Deliberation, score: PersistedScore) -> Page:
    """Yield what the diminishing-returns meter says, or why it says nothing."""
    votes = any(row.signal == "diminishing_returns" for row in score.breakdown)
    role = "votes" if votes else "observed, does not vote"
    title = f"Diminishing returns ({role} under rubric {score.rubric_version})"

    meter = deliberation.meter
    rows = [("ABSENT", deliberation.value.detail)]
    if meter is not None and deliberation.value.present:
        stop = meter["stop_recommendation"]
        parts = meter["components"]
        novelty = f"{parts['novelty_rate']:.3f} {stop['novelty_classification']}"
        low_rounds = stop["k_consecutive_low_novelty"]
        rounds = len(meter["novelty_by_round"])
        rows = [
            ("SIGNAL", stop["signal"]),
            ("SCORE", number(deliberation.value.sub_score)),
            ("NOVELTY", f"{novelty}, low in the last {low_rounds} of {rounds} rounds"),
            (
                "READINESS",
                f"{parts['action_readiness']:.2f} {stop['readiness_classification']}",
            ),
            ("RATIONALE", stop["rationale"]),
            ("NEXT", meter["hint"]),
        ]

        flags = []
        for flag in meter["flags"]:
            where = "" if flag["round"] is None else f" (round {flag['round']})"
            flags.append(f"{flag['flag']}{where}")
        if flags:
            rows.append(("FLAGS", ", ".join(flags)))

    rows += [("PROFILE", deliberation.profile), ("SOURCE", str(deliberation.source))]
    yield from _section(title, pairs(rows, width=9))


def _objectives_section(objectives: IterationObjectives) -> Page:
    """Yield, on a terminal alone, what transcripts show without a vote."""
    yield Line(only="terminal")
    yield Line("Observed, not scored", "bold", only="terminal")

    rows = []
    for name, value in objectives.as_dict().items():
        seen = "-"
        if value["present"]:
            seen = "yes" if value["sub_score"] else "no"
        rows.append((name, seen, str(value["detail"])))
    yield Table(_CHECKS, rows, only="terminal")


def score_payload(
    score: PersistedScore,
    deliberation: Deliberation | None = None,
    attribution: Mapping[str, Any] | None = None,
    state: State | None = None,
    spending: Spending | None = None,
) -> PlainData:
    """Return one iteration as data for JSON.

    Args:
        score: the score.
        deliberation: what the diminishing-returns meter says; None without a transcript for it.
        attribution: the sessions that did the work, from :func:`chain_payload` or
            :func:`kept_payload`; None to leave that out.
        state: how far the sidecar can be trusted; None for a score that is computed now.
        spending: what the iteration used; None to leave that out.
    """
    of_state = (state or CURRENT).as_dict()
    payload = {**score.payload(), **of_state, **deliberation_dict(deliberation)}
    if attribution:
        payload["attribution"] = attribution
    if spending:
        payload["spending"] = spending.as_dict()
    return payload


def chain_payload(facts: IterationFacts) -> PlainData | None:
    """Return the sessions and commits of an iteration, or None if lines are not attributed."""
    observed = facts.observed
    if observed is None:
        return None

    return {
        **fields_of(observed, "method", "sessions", "also_active"),
        "problem": observed.problem or None,
        "commit": facts.landing.sha,
        "landed_as": facts.landing.commit,
        "counted_for": facts.counted_for,
        **fields_of(observed, "shared_with", "checkpoints", "checkpoint_tokens"),
        "calls": observed.tool_calls,
        "errors": observed.failed_calls,
        "lines": [lines._asdict() for lines in observed.lines],
        "seen": [
            fields_of(sighting, "what", "path", "line", "kind")
            for sighting in observed.seen
        ],
        "work": structs.asdict(observed.work),
        "by_people": None,
        "by_agents": observed.by_agents,
    }


def claims_payload(facts: IterationFacts) -> PlainData:
    """Return the agent's claims in words as data, or {} where lines are not attributed."""
    if facts.observed is None:
        return {}

    claims = facts.observed.claims
    return {"claims": [fields_of(claim, "kind", "result", "where") for claim in claims]}


def kept_payload(kept: OwnLines | None) -> PlainData | None:
    """Return the sessions of an iteration as its evidence file says, or None for None."""
    if kept is None:
        return None
    return {"method": kept.method, "sessions": kept.sessions}
