"""What ``da-score meeting`` prints on a pipe, and the cells and lines that the terminal shows as well."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from scoring.cli.tables import _row
from scoring.meters.dr.thresholds import PLACES, rounded
from scoring.meters.meeting.config import MeetingConfig
from scoring.meters.meeting.records import JudgeRecord
from scoring.meters.meeting.rules import words
from scoring.meters.meeting.simulate import Ending, MeetingKnobs
from scoring.meters.meeting.verdict import MeetingVerdict
from scoring.text import printable

SCORE_HEAD = ("ROUND", "STATUS", "STRENGTH", "MAY END", "E", "C", "F", "N", "RECENT", "M", "SPREAD")
_SCORE_WIDTHS = (5, 17, 8, 7, *[6] * 6)
LEGEND = (
    "E exploration, C convergence, F focus, N novelty, RECENT novelty with the round before, M completeness,\n"
    "SPREAD disagreement; each from 0 to 1. A status says nothing about whether what was agreed is right.\n"
)
ENDING_HEAD = ("CONFIG", "ENDS IN", "STATUS", "STRENGTH", "RULE", "E", "C", "F", "RECENT", "M")
_LABEL = 11


def number(value: float) -> str:
    """Return a score as tables show it, with 4 places."""
    return f"{rounded(value):.{PLACES}f}"


def title(name: str, config_name: str, config: MeetingConfig) -> str:
    """Return the first line: the meeting, the config, and its limits."""
    limits = config.round_limits
    return (
        f"Deliberation — {printable(name)} · config {printable(config_name)}, "
        f"{limits.min_rounds} to {limits.max_rounds} rounds"
    )


def score_cells(verdict: MeetingVerdict) -> tuple[str, ...]:
    """Return the cells of one round."""
    s = verdict.scores
    shown = (s.exploration, s.convergence, s.focus, s.novelty, s.novelty_recent, s.completeness, s.disagreement)
    may_end = "yes" if verdict.ending_allowed else "no"
    return (str(verdict.round_index), verdict.status, verdict.strength or "-", may_end, *map(number, shown))


def round_lines(verdict: MeetingVerdict) -> Iterator[tuple[str, str]]:
    """Yield what there is to say of a round, with a label on the first line of each kind."""
    yield from _labelled("why", [*verdict.reasons, f"(rule {verdict.rule})"])
    yield from _labelled("to say", [verdict.facilitator_prompt])
    yield from _labelled("next focus", verdict.next_round_focus_prompts)
    yield from _labelled("used", [_pressure(verdict)])
    differences = [
        f"{d.field} {'nothing' if d.stated is None else _value(d.stated)}, computed {_value(d.computed)}"
        for d in verdict.stated_differences
    ]
    yield from _labelled("stated", differences)


def _labelled(label: str, lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    for n, line in enumerate(lines):
        yield ("" if n else label), printable(line)


def _value(value: float | str) -> str:
    return value if isinstance(value, str) else words(value)


def _pressure(verdict: MeetingVerdict) -> str:
    used = verdict.pressure
    parts = [f"{used.rounds_used * 100:.0f} % of the rounds"]
    if used.time_used is not None:
        parts.append(f"{used.time_used * 100:.0f} % of the time")
    if used.cost_total is not None:
        parts.append(f"cost {words(used.cost_total)}")
    return ", ".join(parts)


def meeting_text(verdicts: Sequence[MeetingVerdict], config: MeetingConfig, name: str, config_name: str) -> str:
    """Return the rounds of a meeting as a table, and the reasons of each in words."""
    lines = [title(name, config_name, config) + "\n\n", _row(_SCORE_WIDTHS, SCORE_HEAD)]
    lines += [_row(_SCORE_WIDTHS, score_cells(verdict)) for verdict in verdicts]
    lines.append(f"\n{LEGEND}")
    for verdict in verdicts:
        lines.append(f"\nRound {verdict.round_index}: {verdict.status}\n")
        lines += [f"  {label:<{_LABEL}}{text}\n" for label, text in round_lines(verdict)]
    return "".join(lines)


def knobs_line(knobs: MeetingKnobs) -> str:
    """Return the knobs of a made meeting in one line."""
    return "Made deliberation — " + ", ".join(
        f"{name.replace('_', ' ')} {value:g}" for name, value in asdict(knobs).items()
    )


def ending_cells(ending: Ending) -> tuple[str, ...]:
    """Return the cells of one config: the round that ends the meeting, or its last one."""
    verdict = ending.verdicts[-1]
    s = verdict.scores
    shown = map(number, (s.exploration, s.convergence, s.focus, s.novelty_recent, s.completeness))
    ends = f"round {verdict.round_index}" if ending.last else "no round"
    return (printable(ending.config), ends, verdict.status, verdict.strength or "-", verdict.rule, *shown)


def reason_lines(found: Sequence[Ending]) -> Iterator[tuple[str, str]]:
    """Yield each config with the reasons of its last verdict."""
    for ending in found:
        yield printable(ending.config), printable("; ".join(ending.verdicts[-1].reasons))


def simulation_text(knobs: MeetingKnobs, found: Sequence[Ending], out: Path | None) -> str:
    """Return when each config would end a made meeting, by which rule and why."""
    width = max(9, *(len(printable(ending.config)) for ending in found))
    widths = (width, 8, 17, 8, 15, 6, 6, 6, 6)
    lines = [knobs_line(knobs) + "\n\n", _row(widths, ENDING_HEAD)]
    lines += [_row(widths, ending_cells(ending)) for ending in found]
    lines.append("\n")
    lines += [f"{name:<{width}}  {why}\n" for name, why in reason_lines(found)]
    if out is not None:
        lines.append(f"\nWrote the records to {printable(str(out))}\n")
    return "".join(lines)


def simulation_payload(knobs: MeetingKnobs, records: Sequence[JudgeRecord], found: Sequence[Ending]) -> dict[str, Any]:
    """Return a made meeting as data: its knobs, when each config ends it, and its records."""
    return {
        "knobs": asdict(knobs),
        "endings": [
            {
                "config": ending.config,
                "ends_in_round": ending.last.round_index if ending.last else None,
                "status": ending.verdicts[-1].status,
                "strength": ending.verdicts[-1].strength,
                "rule": ending.verdicts[-1].rule,
                "reasons": list(ending.verdicts[-1].reasons),
                "statuses": [verdict.status for verdict in ending.verdicts],
            }
            for ending in found
        ],
        "records": [record.model_dump(exclude_unset=True) for record in records],
    }
