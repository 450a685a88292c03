"""What the meters print: an advice, how often it agrees with labels, the rounds of a meeting."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from pathlib import Path
from typing import Any

from scoring.meters import PLACES, rounded
from scoring.meters.dr.calibrate import Agreement, Calibration, Collection, FileOutcome
from scoring.meters.meeting.config import MeetingConfig
from scoring.meters.meeting.obstacles import words
from scoring.meters.meeting.stated_differences import Difference
from scoring.meters.meeting.verdicts import MeetingVerdict
from scoring.text import cut, quote, some_of
from scoring.views.table import (
    Cell,
    Cells,
    Column,
    Line,
    Page,
    Table,
    TableRow,
    columns_of,
    number,
    numeric,
)

_SIGNAL_STYLES = {
    "SHIP": "bold green",
    "ASK": "bold cyan",
    "ESCALATE": "bold red",
    "CONTINUE": "bold yellow",
}
_LONGEST_QUOTE = 200
_MOST_ROUNDS = 5  # that are listed


def advice_view(advice: Mapping[str, Any]) -> Page:
    """Yield an advice of the diminishing-returns meter: its signal, and a line for each part."""
    rows = [TableRow((Cell(label, style="bold"), text)) for label, text in _advice_parts(advice)]
    note = (Cell("Note", style="bold"), advice["does_not_claim"])
    rows.append(TableRow(note, style="dim"))

    signal = Cell(advice["signal"], style=_SIGNAL_STYLES[advice["signal"]])
    yield Line((signal, f"  as of round {advice['round']}"))
    yield Line(only="terminal")
    yield Table(columns_of(Column("", width=5), ""), rows, heads=False)


def _advice_parts(advice: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for position, reason in enumerate(advice["reasons"], 1):
        yield str(position), reason

    next_action = advice["next_action"]
    if advice["first_next_action"]:
        next_action += f" First: {quote(cut(advice['first_next_action'], _LONGEST_QUOTE))}"
    yield "Next", next_action

    if advice["flags"]:
        flags = [f"{flag['flag']} in {_rounds_text(flag['rounds'])}" for flag in advice["flags"]]
        yield "Flags", "; ".join(flags)

    observations = advice.get("observations")
    if observations:
        yield "Sure", _confidence_text(observations["confidence"])
        yield "Seen", _agreement_text(observations["structural_agreement_by_round"])


def _confidence_text(confidence: Mapping[str, Any]) -> str:
    """Return how many of the neighbouring settings give the same signal."""
    settings = confidence["settings"]
    others = sorted(confidence["others"].items())
    agreeing = settings - sum(count for _, count in others)

    text = f"{agreeing} of {settings} neighbouring settings give the same signal"
    if others:
        text += "; " + ", ".join(f"{count} say {signal}" for signal, count in others)
    return text


def _agreement_text(agreement: Iterable[Mapping[str, Any]]) -> str:
    """Return in which rounds which agent agreed."""
    rounds_by_agreement: dict[str, list[int]] = {}
    for row in agreement:
        name = f"{row['agreement']} by {row['agent']}"
        rounds_by_agreement.setdefault(name, []).append(row["round"])

    texts = [f"{name} in {_rounds_text(rounds)}" for name, rounds in rounds_by_agreement.items()]
    return "; ".join(texts) or "no two agents are named"


def _rounds_text(numbers: Sequence[int]) -> str:
    noun = "round" if len(numbers) == 1 else "rounds"
    return f"{noun} {some_of(numbers, _MOST_ROUNDS)}"


_SETTING_WIDTHS = (17, 9, 8, 18, 10, 0)
_CONFUSION_WIDTH = 12


def calibration_lines(
    directory: Path,
    collection: Collection,
    calibrations: Sequence[Calibration],
    left_out: str,
) -> Iterator[str]:
    """Yield how often the meter agrees with labels.

    First comes the agreement under each setting, then for each its confusion table and the files
    that disagree, and last what is not counted.

    Args:
        directory: where the transcripts are.
        collection: the transcripts.
        calibrations: what the meter says of them, by setting.
        left_out: why novelty by embeddings was not measured; "" if it was.
    """
    yield f"Calibration — {directory}"
    labelled = f"{len(collection.labelled)} labelled"
    unlabelled = f"{len(collection.unlabelled)} without a label"
    yield f"{labelled}, {unlabelled}, {len(collection.broken)} broken"
    yield ""

    heads = ("SETTING", "AGREE", "SHARE", "95 % INTERVAL", "NOVELTY", "READINESS")
    yield _padded(heads, _SETTING_WIDTHS)
    for calibration in calibrations:
        yield _padded(_setting_cells(calibration), _SETTING_WIDTHS)
    if left_out:
        yield f"L2 not measured: {left_out}"

    for calibration in calibrations:
        yield ""
        yield from _details(calibration)
    yield from _not_counted(collection)


def _setting_cells(calibration: Calibration) -> Sequence[str]:
    agreement = calibration.agreement
    low, high = agreement.interval
    return (
        str(calibration.setting),
        _agreed_text(agreement),
        number(agreement.share),
        f"{low:.3f} to {high:.3f}",
        _agreed_text(calibration.agreement_on("novelty")),
        _agreed_text(calibration.agreement_on("readiness")),
    )


def _agreed_text(agreement: Agreement) -> str:
    if not agreement.total:
        return "-"
    return f"{agreement.agreed} of {agreement.total}"


def _padded(cells: Iterable[str], widths: Iterable[int]) -> str:
    padded = [f"{cell:<{width}}" for cell, width in zip(cells, widths, strict=False)]
    return "".join(padded).rstrip()


def _details(calibration: Calibration) -> Iterator[str]:
    """Yield the confusion table of one setting, and the files on which it disagrees."""
    yield str(calibration.setting)

    confusion = calibration.confusion()
    widths = repeat(_CONFUSION_WIDTH)
    yield "  " + _padded(("EXPECTED", *confusion), widths)
    for expected, counts in confusion.items():
        cells = (expected, *(str(count) for count in counts.values()))
        yield "  " + _padded(cells, widths)

    for outcome in calibration.outcomes:
        yield from _disagreement(outcome)


def _disagreement(outcome: FileOutcome) -> Iterator[str]:
    beginning = f"{outcome.file}: the same signal, but "
    if not outcome.agrees:
        beginning = "  "
        expected = outcome.expected.signal
        signal = outcome.found.signal
        yield f"  {outcome.file}: expected {expected}, found {signal} by the rule {outcome.rule}"
        yield f"    {outcome.why}"
    if outcome.other_classes:
        yield f"  {beginning}the label wants {'; '.join(outcome.other_classes)}"


def _not_counted(collection: Collection) -> Iterator[str]:
    reasons = [(file, "no label") for file in collection.unlabelled]
    reasons += [(file, f"broken: {why}") for file, why in collection.broken.items()]
    not_a_name = "not named as a transcript is (.json, .jsonl, .ndjson)"
    reasons += [(file, not_a_name) for file in collection.others]
    if not reasons:
        return

    yield ""
    yield "Not counted"
    for file, reason in reasons:
        yield f"  {file}: {reason}"


_SCORES = {
    "E": "exploration",
    "C": "convergence",
    "F": "focus",
    "N": "novelty",
    "RECENT": "novelty_recent",
    "M": "completeness",
    "SPREAD": "disagreement",
}
"""The scores of a round, by the headings of their columns."""

_LEGEND = (
    "E exploration, C convergence, F focus, N novelty, RECENT novelty with the round before, "
    "M completeness,",
    "SPREAD disagreement; each from 0 to 1. "
    "A status says nothing about whether what was agreed is right.",
)
_STATUS_STYLES = {
    "must_continue": "red",
    "continue_targeted": "yellow",
    "ready_to_decide": "bold green",
    "park_or_abort": "magenta",
}
_ROUND_COLUMNS = [
    numeric("ROUND", width=5),
    Column("STATUS", width=17),
    Column("STRENGTH", width=8),
    Column("MAY END", width=7),
    *(numeric(head, width=6) for head in _SCORES),
]


def meeting_view(
    verdicts: Sequence[MeetingVerdict],
    config: MeetingConfig,
    name: str,
    config_name: str,
) -> Page:
    """Yield the rounds of a meeting as a table, and then the reasons of each in words.

    Args:
        verdicts: what the meter says of each round.
        config: its configuration.
        name: what the meeting is called.
        config_name: what the configuration is called.
    """
    limits = config.round_limits
    rounds = f"{limits.min_rounds} to {limits.max_rounds} rounds"
    yield Line(f"Deliberation — {name} · config {config_name}, {rounds}", "bold")
    yield ""
    yield Table(_ROUND_COLUMNS, [_round_row(verdict) for verdict in verdicts])
    yield ""
    yield from (Line(line, only="pipe") for line in _LEGEND)
    yield Line(" ".join(_LEGEND), "dim", only="terminal")
    for verdict in verdicts:
        yield from _round_blocks(verdict)


def _round_row(verdict: MeetingVerdict) -> Cells:
    scores = [rounded(getattr(verdict.scores, name)) for name in _SCORES.values()]
    return (
        verdict.round_index,
        _status_cell(verdict),
        verdict.strength or "-",
        "yes" if verdict.ending_allowed else "no",
        *(f"{score:.{PLACES}f}" for score in scores),
    )


def _status_cell(verdict: MeetingVerdict) -> Cell:
    return Cell(verdict.status, style=_STATUS_STYLES[verdict.status])


def _round_blocks(verdict: MeetingVerdict) -> Page:
    lines = list(_labelled_lines(verdict))
    cells = [(Cell(label, style="dim"), text) for label, text in lines]

    yield ""
    yield Line((Cell(f"Round {verdict.round_index}: ", style="bold"), _status_cell(verdict)))
    for label, text in lines:
        yield Line(f"  {label:<11}{text}", only="pipe")
    yield Table(columns_of("", ""), cells, heads=False, indent=2, only="terminal")


def _labelled_lines(verdict: MeetingVerdict) -> Iterator[tuple[str, str]]:
    """Yield the lines about a round, each with its label, "" for a line that goes on."""
    parts = {
        "why": [*verdict.reasons, f"(rule {verdict.rule})"],
        "to say": [verdict.facilitator_prompt],
        "next focus": list(verdict.next_round_focus_prompts),
        "used": [_used_text(verdict)],
        "stated": [_difference_text(difference) for difference in verdict.stated_differences],
        "messages": list(_message_lines(verdict)),
    }
    for label, lines in parts.items():
        for index, line in enumerate(lines):
            yield "" if index else label, line


def _used_text(verdict: MeetingVerdict) -> str:
    used = verdict.pressure
    parts = [f"{used.rounds_used * 100:.0f} % of the rounds"]
    if used.time_used is not None:
        parts.append(f"{used.time_used * 100:.0f} % of the time")
    if used.cost_total is not None:
        parts.append(f"cost {words(used.cost_total)}")
    return ", ".join(parts)


def _difference_text(difference: Difference) -> str:
    stated = _value_text(difference.stated)
    return f"{difference.field} {stated}, computed {_value_text(difference.computed)}"


def _value_text(value: float | str | None) -> str:
    if value is None:
        return "nothing"
    return value if isinstance(value, str) else words(value)


def _message_lines(verdict: MeetingVerdict) -> Iterator[str]:
    novelty = verdict.from_messages
    if not novelty:
        return

    judge = "not counted by the judge"
    if novelty.judge_share is not None:
        counts = f"{novelty.judge_novel} new, {novelty.judge_repeated} repeated"
        judge = f"the judge: {counts} ({words(novelty.judge_share)})"
    counts = f"{novelty.novel} new, {novelty.repeated} repeated by {novelty.matched_by}"
    yield f"{counts} ({words(novelty.share)}); {judge}"
