"""The text of the tables on a pipe: the reference's, byte for byte (contract section 5).

Control characters are shown escaped; widths and cuts are in characters.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scoring.text import cell, printable, spans

if TYPE_CHECKING:  # a table is drawn of what somebody else has loaded
    from rubric import SignalContribution
    from scoring.evidence.hooks import HookOutcome
    from scoring.score import ScoredLog
    from scoring.sessions import SessionScore
    from scoring.sidecars.scores import PersistedScore
    from scoring.signals.values import Deliberation
    from scoring.views.integrity import IntegritySummary

TASK_WIDTH, SESSION_WIDTH, DETAIL_WIDTH = 12, 40, 60
HOOK_WIDTHS = (40, 32, 22, 10)


def number(value: float, present: bool = True) -> str:
    """Return a score as tables show it: three decimals, ``-`` when there is none."""
    return f"{value:.3f}" if present else "-"


def _row(widths: Sequence[int], cells: Sequence[str]) -> str:
    """Join cells, all but the last padded, two spaces between."""
    padded = [f"{text:<{width}}" for text, width in zip(cells, widths, strict=False)]
    return "  ".join([*padded, cells[-1]]) + "\n"


def run_text(scored: "ScoredLog", source: Path, written: tuple[int, int] | None) -> str:
    """Return the summary of a run; ``written`` counts iteration and session sidecars, None when none were meant to."""
    counts = f"Iterations: {len(scored.iterations)}   Sessions: {len(scored.sessions)}"
    log = printable(str(source))
    lines = [f"Outcome scoring — rubric {printable(scored.rubric.version)}\n{counts}   Source: {log}\n\n"]
    widths = (6, TASK_WIDTH, 9, 26)
    lines.append(_row(widths, ("ITER", "TASK", "SCORE", "BAND", "DATE")))
    for i in scored.iterations:
        task, date = cell(i.record.task_id, TASK_WIDTH), printable(i.record.date)
        lines.append(
            _row(widths, (str(i.score.iteration), task, number(i.score.value, i.score.scored), i.score.band, date))
        )
    if scored.sessions:
        columns = (SESSION_WIDTH, 9, 11)
        lines.append("\n" + _row(columns, ("SESSION", "SCORE", "ITERS", "BAND")))
        for s in scored.sessions:
            name = cell(s.session_id, SESSION_WIDTH)
            lines.append(_row(columns, (name, number(s.value, s.scored), str(len(s.iterations)), s.band)))
    if written is None:
        lines.append("\nWrote nothing (--no-write)\n")
    else:
        lines.append(f"\nWrote {written[0]} iter sidecars + {written[1]} session sidecars to {log}\n")
    return "".join(lines)


def iteration_head(score: "PersistedScore") -> str:
    """Return the first lines of an iteration: its number, rubric, score and band, and the derived marker."""
    head = (
        f"Iteration {score.iteration}   rubric {printable(score.rubric_version)}   "
        f"score {number(score.value, score.scored)}   band {printable(score.band)}\n"
    )
    return head + ("linked_traces_to_outcomes: yes (derived)\n" if score.linked_traces_to_outcomes else "")


def iteration_text(
    score: "PersistedScore",
    hooks: "Sequence[HookOutcome]",
    source: Path,
    deliberation: "Deliberation | None" = None,
) -> str:
    """Return an iteration's breakdown, the hook records behind it, and the meter where there is a DR transcript."""
    widths = (22, 7, 8, 8, 8)
    lines = [iteration_head(score), "\n"]
    lines.append(_row(widths, ("SIGNAL", "PRESENT", "SUBSCORE", "WEIGHT", "CONTRIB", "DETAIL")))
    lines.extend(_row(widths, breakdown_cells(row)) for row in score.breakdown)
    if hooks:
        lines.append("\nHook outcome sources:\n  ")
        lines.append(_row(HOOK_WIDTHS, ("RULE_ID", "SENTINEL_ID", "LIFECYCLE", "RESULT", "INTERVENTION")))
        lines.extend("  " + _row(HOOK_WIDTHS, hook_cells(hook)) for hook in hooks)
    if deliberation is not None:
        lines.append(f"\n{deliberation_head(score)}:\n")
        lines.extend(f"  {name:<11}{text}\n" for name, text in deliberation_rows(deliberation))
    lines.append(f"\nSource: {printable(str(source))}\n")
    return "".join(lines)


def breakdown_cells(row: "SignalContribution") -> tuple[str, ...]:
    """Return the cells of one signal: the weight is the effective one where it votes, else the nominal one."""
    return (
        printable(row.signal),
        "yes" if row.present else "no",
        number(row.sub_score, row.present),
        number(row.effective_weight if row.present else row.nominal_weight),
        number(row.contribution, row.present),
        cell(row.detail, DETAIL_WIDTH),
    )


def deliberation_head(score: "PersistedScore") -> str:
    """Return the title of the meter's block, which says whether it votes."""
    votes = any(row.signal == "diminishing_returns" for row in score.breakdown)
    part = "votes" if votes else "observed, does not vote"
    return f"Diminishing returns ({part} under rubric {printable(score.rubric_version)})"


def deliberation_rows(deliberation: "Deliberation") -> list[tuple[str, str]]:
    """Return what the meter says, a name and a text per line."""
    meter, rows = deliberation.meter, [("ABSENT", printable(deliberation.value.detail))]
    if meter is not None and deliberation.value.present:
        stop, parts = meter["stop_recommendation"], meter["components"]
        run = stop["k_consecutive_low_novelty"]
        novelty, readiness = stop["novelty_classification"], stop["readiness_classification"]
        rows = [
            ("SIGNAL", stop["signal"]),
            ("SCORE", number(deliberation.value.sub_score)),
            ("NOVELTY", f"{parts['novelty_rate']:.3f} {novelty}, low in the last {run} of {_rounds(meter)}"),
            ("READINESS", f"{parts['action_readiness']:.2f} {readiness}"),
            ("RATIONALE", printable(stop["rationale"])),
            ("NEXT", printable(meter["hint"])),
        ]
        if meter["flags"]:
            rows.append(("FLAGS", ", ".join(_flag(flag) for flag in meter["flags"])))
    return [*rows, ("SOURCE", printable(str(deliberation.source)))]


def _rounds(meter: "Mapping[str, Any]") -> str:
    return f"{len(meter['novelty_by_round'])} rounds"


def _flag(flag: "Mapping[str, Any]") -> str:
    return printable(str(flag["flag"])) + ("" if flag["round"] is None else f" (round {flag['round']})")


def hook_cells(hook: "HookOutcome") -> tuple[str, ...]:
    """Return the cells of one hook record."""
    cells = (hook.rule_id, hook.sentinel_id, hook.lifecycle_point, hook.result)
    return (*(cell(c, w) for c, w in zip(cells, HOOK_WIDTHS, strict=True)), printable(hook.intervention_class))


def sorted_hooks(hooks: "Iterable[HookOutcome]") -> "list[HookOutcome]":
    """Return hook records by rule and sentinel, by bytes, otherwise in file order."""
    return sorted(hooks, key=lambda h: tuple(t.encode("utf-8", "surrogateescape") for t in (h.rule_id, h.sentinel_id)))


def session_text(session: "SessionScore", source: Path) -> str:
    """Return a session and its members."""
    widths = (6, 9)
    lines = [
        f"Session {printable(session.session_id)}   rubric {printable(session.rubric_version)}   "
        f"score {number(session.value, session.scored)}   band {printable(session.band)}\n",
        f"Iterations: {len(session.iterations)}\n\n",
        _row(widths, ("ITER", "SCORE", "BAND")),
    ]
    lines += [
        _row(widths, (str(ref.iteration), number(ref.value, ref.scored), printable(ref.band)))
        for ref in session.per_iteration
    ]
    return "".join(lines) + f"\nSource: {printable(str(source))}\n"


INTEGRITY_HEAD = ("ROLE", "SIGNAL", "PAIRS", "OVER", "MEAN", "WORST", "OVER-CLAIMED IN")


def integrity_text(rows: "Sequence[IntegritySummary]", source: Path) -> str:
    """Return claimed against observed, a line per role and signal."""
    widths = (10, 22, 6, 6, 8, 8)
    lines = [f"Claimed against observed — {printable(str(source))}\n\n", _row(widths, INTEGRITY_HEAD)]
    lines.extend(_row(widths, integrity_cells(row)) for row in rows)
    lines.append("\nDeltas are observed minus claimed: below 0 the agent claimed more than was seen.\n")
    return "".join(lines)


def integrity_cells(row: "IntegritySummary") -> tuple[str, ...]:
    """Return the cells of one role and signal."""
    return (
        row.role,
        row.signal,
        str(row.comparable),
        str(row.over_claims),
        "-" if row.mean_delta is None else f"{row.mean_delta:+.3f}",
        "-" if row.worst_delta is None else f"{row.worst_delta:+.3f}",
        spans(row.over_claimed) or "-",
    )
