"""What the meters print: an advice, how often it agrees with labels, the rounds of a meeting."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat
from pathlib import Path
from typing import Any

from scoring.meters import PLACES, rounded
from scoring.meters.dr.calibrate import Calibration, Collection
from scoring.meters.meeting.config import MeetingConfig
from scoring.meters.meeting.decision_rules import words
from scoring.meters.meeting.verdicts import MeetingVerdict
from scoring.text import cut, quote, some_of
from scoring.views.table import Block, Cell, Column, Line, Table, TableRow

_STYLES = {
    "SHIP": "bold green",
    "ASK": "bold cyan",
    "ESCALATE": "bold red",
    "CONTINUE": "bold yellow",
}
_QUOTED = 200


def advice_view(advice: dict[str, Any]) -> list[Block]:
    """Return an advice as a line for the signal and one for each part."""
    following = advice["next_action"]
    if advice["first_next_action"]:
        following += f" First: {quote(cut(advice['first_next_action'], _QUOTED))}"
    rows = [(str(i), reason) for i, reason in enumerate(advice["reasons"], 1)] + [
        ("Next", following)
    ]
    if advice["flags"]:
        rows.append(
            ("Flags", "; ".join(f"{f['flag']} in {_rounds(f['rounds'])}" for f in advice["flags"]))
        )
    if observations := advice.get("observations"):
        rows.append(("Sure", _sure(observations["confidence"])))
        rows.append(("Seen", _seen(observations["structural_agreement_by_round"])))
    lines = [TableRow((Cell(label, style="bold"), text)) for label, text in rows]
    lines.append(TableRow((Cell("Note", style="bold"), advice["does_not_claim"]), style="dim"))
    return [
        Line(
            (
                Cell(advice["signal"], style=_STYLES[advice["signal"]]),
                f"  as of round {advice['round']}",
            )
        ),
        Line(only="terminal"),
        Table((Column("", width=5), Column("")), lines, heads=False),
    ]


def _sure(confidence: dict[str, Any]) -> str:
    others = ", ".join(
        f"{count} say {signal}" for signal, count in sorted(confidence["others"].items())
    )
    agreed = confidence["settings"] - sum(confidence["others"].values())
    said = f"{agreed} of {confidence['settings']} neighbouring settings give the same signal"
    return f"{said}; {others}" if others else said


def _seen(agreement: list[dict[str, Any]]) -> str:
    by_class: dict[str, list[int]] = {}
    for row in agreement:
        by_class.setdefault(f"{row['agreement']} by {row['agent']}", []).append(row["round"])
    return (
        "; ".join(f"{name} in {_rounds(rounds)}" for name, rounds in by_class.items())
        or "no two agents are named"
    )


def _rounds(numbers: list[int]) -> str:
    return f"round{'' if len(numbers) == 1 else 's'} {some_of(numbers, 5)}"


_WIDTHS = (17, 9, 8, 18, 10, 0)


def calibration_lines(
    directory: Path, collection: Collection, found: Iterable[Calibration], left_out: str = ""
) -> Iterator[str]:
    """Yield a calibration as lines: agreement per setting, then a confusion table and the files that disagree."""
    yield f"Calibration — {directory}"
    counts = f"{len(collection.labelled)} labelled, {len(collection.unlabelled)} without a label"
    yield from (f"{counts}, {len(collection.broken)} broken", "")
    yield _padded(("SETTING", "AGREE", "SHARE", "95 % INTERVAL", "NOVELTY", "READINESS"), _WIDTHS)
    for c in found:
        low, high = c.agreement.interval
        share = "-" if c.agreement.share is None else f"{c.agreement.share:.3f}"
        of_classes = (c.agreement_on("novelty"), c.agreement_on("readiness"))
        agreed, *classes = (
            f"{a.agreed} of {a.total}" if a.total else "-" for a in (c.agreement, *of_classes)
        )
        yield _padded(
            (str(c.setting), agreed, share, f"{low:.3f} to {high:.3f}", *classes), _WIDTHS
        )
    if left_out:
        yield f"L2 not measured: {left_out}"
    for c in found:
        yield from ("", *_details(c))
    rows = [(file, "no label") for file in collection.unlabelled]
    rows += [(file, f"broken: {why}") for file, why in collection.broken]
    rows += [
        (file, "not named as a transcript is (.json, .jsonl, .ndjson)")
        for file in collection.others
    ]
    yield from ("", "Not counted") if rows else ()
    yield from (f"  {file}: {why}" for file, why in rows)


def _padded(cells: Iterable[str], widths: Iterable[int]) -> str:
    return "".join(f"{text:<{width}}" for text, width in zip(cells, widths, strict=False)).rstrip()


def _details(c: Calibration) -> Iterator[str]:
    confusion = c.confusion()
    yield str(c.setting)
    for cells in (
        ("EXPECTED", *confusion),
        *((wanted, *map(str, by.values())) for wanted, by in confusion.items()),
    ):
        yield "  " + _padded(cells, repeat(12))
    for o in c.outcomes:
        if not o.agrees:
            yield f"  {o.file}: expected {o.expected.signal}, found {o.found.signal} by the rule {o.rule}"
            yield f"    {o.why}"
        if o.other_classes:
            lead = (
                "    the label wants"
                if not o.agrees
                else f"  {o.file}: the same signal, but the label wants"
            )
            yield f"{lead} {'; '.join(o.other_classes)}"


_SCORES = {"E": "exploration", "C": "convergence", "F": "focus", "N": "novelty"}
_SCORES |= {"RECENT": "novelty_recent", "M": "completeness", "SPREAD": "disagreement"}
_LEGEND = (
    "E exploration, C convergence, F focus, N novelty, RECENT novelty with the round before, M completeness,",
    "SPREAD disagreement; each from 0 to 1. A status says nothing about whether what was agreed is right.",
)
_STATUS_STYLES = {"must_continue": "red", "continue_targeted": "yellow"}
_STATUS_STYLES |= {"ready_to_decide": "bold green", "park_or_abort": "magenta"}


def _status(verdict: MeetingVerdict) -> Cell:
    return Cell(verdict.status, style=_STATUS_STYLES[verdict.status])


def meeting_view(
    verdicts: Sequence[MeetingVerdict], config: MeetingConfig, name: str, config_name: str
) -> list[Block]:
    """Return the rounds of a meeting as a table, and the reasons of each in words."""
    limits = f"{config.round_limits.min_rounds} to {config.round_limits.max_rounds} rounds"
    columns = [
        Column("ROUND", width=5, right=True),
        Column("STATUS", width=17),
        Column("STRENGTH", width=8),
    ]
    columns += [
        Column("MAY END", width=7),
        *(Column(head, width=6, right=True) for head in _SCORES),
    ]
    rows = []
    for v in verdicts:
        scores = (f"{rounded(getattr(v.scores, name)):.{PLACES}f}" for name in _SCORES.values())
        rows.append(
            (
                v.round_index,
                _status(v),
                v.strength or "-",
                "yes" if v.ending_allowed else "no",
                *scores,
            )
        )
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
    def said(value: float | str | None) -> str:
        return "nothing" if value is None else value if isinstance(value, str) else words(value)

    used = verdict.pressure
    parts = [f"{used.rounds_used * 100:.0f} % of the rounds"]
    if used.time_used is not None:
        parts.append(f"{used.time_used * 100:.0f} % of the time")
    if used.cost_total is not None:
        parts.append(f"cost {words(used.cost_total)}")
    differences = [
        f"{d.field} {said(d.stated)}, computed {said(d.computed)}"
        for d in verdict.stated_differences
    ]
    messages = []
    if new := verdict.from_messages:
        judge = "not counted by the judge"
        if new.judge_share is not None:
            judge = f"the judge: {new.judge_novel} new, {new.judge_repeated} repeated ({words(new.judge_share)})"
        messages.append(
            f"{new.novel} new, {new.repeated} repeated by {new.matched_by} ({words(new.share)}); {judge}"
        )
    for label, lines in (
        ("why", [*verdict.reasons, f"(rule {verdict.rule})"]),
        ("to say", [verdict.facilitator_prompt]),
        ("next focus", verdict.next_round_focus_prompts),
        ("used", [", ".join(parts)]),
        ("stated", differences),
        ("messages", messages),
    ):
        yield from zip((label, *[""] * len(lines)), lines, strict=False)
