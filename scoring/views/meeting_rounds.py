"""What ``da-score meeting`` prints: the rounds of a meeting, and when each config would end a made one."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from scoring.meters import PLACES, rounded
from scoring.meters.meeting.config import MeetingConfig
from scoring.meters.meeting.made_meetings import Ending, MeetingKnobs
from scoring.meters.meeting.obstacles import words
from scoring.meters.meeting.verdicts import MeetingVerdict
from scoring.text import printable
from scoring.views.table import AnyCell, Block, Cell, Column, Line, Table, pairs

_SCORES = {"E": "exploration", "C": "convergence", "F": "focus", "N": "novelty"}
_SCORES |= {"RECENT": "novelty_recent", "M": "completeness", "SPREAD": "disagreement"}
_ENDING_SCORES = ("E", "C", "F", "RECENT", "M")
_LEGEND = (
    "E exploration, C convergence, F focus, N novelty, RECENT novelty with the round before, M completeness,",
    "SPREAD disagreement; each from 0 to 1. A status says nothing about whether what was agreed is right.",
)
_STATUS_STYLES = {"must_continue": "red", "continue_targeted": "yellow"}
_STATUS_STYLES |= {"ready_to_decide": "bold green", "park_or_abort": "magenta"}


def _scores(verdict: MeetingVerdict, heads: Iterable[str]) -> list[str]:
    return [f"{rounded(getattr(verdict.scores, _SCORES[head])):.{PLACES}f}" for head in heads]


def _status(verdict: MeetingVerdict) -> Cell:
    return Cell(verdict.status, style=_STATUS_STYLES[verdict.status])


def meeting_view(verdicts: Sequence[MeetingVerdict], config: MeetingConfig, name: str, config_name: str) -> list[Block]:
    """Return the rounds of a meeting as a table, and the reasons of each in words."""
    limits = f"{config.round_limits.min_rounds} to {config.round_limits.max_rounds} rounds"
    columns = [Column("ROUND", width=5, right=True), Column("STATUS", width=17), Column("STRENGTH", width=8)]
    columns += [Column("MAY END", width=7), *(Column(head, width=6, right=True) for head in _SCORES)]
    rows = [
        (v.round_index, _status(v), v.strength or "-", "yes" if v.ending_allowed else "no", *_scores(v, _SCORES))
        for v in verdicts
    ]
    blocks: list[Block] = [
        Line(f"Deliberation — {name} · config {config_name}, {limits}", "bold"),
        Line(),
        Table(columns, rows),
        Line(),
        *(Line(line, only="pipe") for line in _LEGEND),
        Line(" ".join(_LEGEND), "dim", only="terminal"),
    ]
    for v in verdicts:
        parts = list(_round_lines(v))
        cells = [(Cell(label, style="dim"), text) for label, text in parts]
        blocks += [
            Line(),
            Line((Cell(f"Round {v.round_index}: ", style="bold"), _status(v))),
            *(Line(f"  {label:<11}{text}", only="pipe") for label, text in parts),
            Table((Column(""), Column("")), cells, heads=False, indent=2, only="terminal"),
        ]
    return blocks


def _round_lines(verdict: MeetingVerdict) -> Iterator[tuple[str, str]]:
    """Yield what there is to say of a round, with a label on the first line of each kind."""

    def said(value: float | str | None) -> str:
        return "nothing" if value is None else value if isinstance(value, str) else words(value)

    used = verdict.pressure
    parts = [f"{used.rounds_used * 100:.0f} % of the rounds"]
    if used.time_used is not None:
        parts.append(f"{used.time_used * 100:.0f} % of the time")
    if used.cost_total is not None:
        parts.append(f"cost {words(used.cost_total)}")
    differences = [f"{d.field} {said(d.stated)}, computed {said(d.computed)}" for d in verdict.stated_differences]
    messages = []
    if new := verdict.from_messages:
        judge = "not counted by the judge"
        if new.judge_share is not None:
            judge = f"the judge: {new.judge_novel} new, {new.judge_repeated} repeated ({words(new.judge_share)})"
        messages.append(f"{new.novel} new, {new.repeated} repeated by {new.matched_by} ({words(new.share)}); {judge}")
    for label, lines in (
        ("why", [*verdict.reasons, f"(rule {verdict.rule})"]),
        ("to say", [verdict.facilitator_prompt]),
        ("next focus", verdict.next_round_focus_prompts),
        ("used", [", ".join(parts)]),
        ("stated", differences),
        ("messages", messages),
    ):
        yield from zip((label, *[""] * len(lines)), lines, strict=False)


def simulation_view(knobs: MeetingKnobs, found: Sequence[Ending], out: Path | None) -> list[Block]:
    """Return when each config would end a made meeting, by which rule and why."""
    said = ", ".join(f"{name.replace('_', ' ')} {value:g}" for name, value in asdict(knobs).items())
    width = max(9, *(len(printable(ending.config)) for ending in found))
    columns = [Column("CONFIG", width=width), Column("ENDS IN", width=8), Column("STATUS", width=17)]
    columns += [Column("STRENGTH", width=8), Column("RULE", width=15)]
    columns += [Column(head, width=6, right=True) for head in _ENDING_SCORES]
    rows: list[Sequence[AnyCell]] = []
    for ending in found:
        v, ends = ending.verdicts[-1], f"round {ending.last.round_index}" if ending.last else "no round"
        rows.append((ending.config, ends, _status(v), v.strength or "-", v.rule, *_scores(v, _ENDING_SCORES)))
    reasons = [(ending.config, "; ".join(ending.verdicts[-1].reasons)) for ending in found]
    blocks: list[Block] = [Line(f"Made deliberation — {said}", "bold"), Line(), Table(columns, rows), Line()]
    blocks.append(pairs(reasons, width))
    return [*blocks, Line(), Line(f"Wrote the records to {out}", "dim")] if out is not None else blocks
