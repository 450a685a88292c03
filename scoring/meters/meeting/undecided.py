"""What a meeting leaves that ends without a decision, as plain values and as Markdown."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from scoring.frozen import PlainData, fields_of
from scoring.meters import rounded
from scoring.meters.meeting.obstacles import words
from scoring.meters.meeting.record_reading import check_records
from scoring.meters.meeting.records import ExpertPosition, JudgeRecord
from scoring.meters.meeting.round_scores import leading, supporters_by_option
from scoring.meters.meeting.verdicts import MeetingVerdict
from scoring.meters.meeting.votes import UNDECIDED, name_of_option
from scoring.text import printable


def no_decision(
    records: Iterable[JudgeRecord | Mapping[str, Any]],
    verdicts: Sequence[MeetingVerdict],
    may_go_on: bool | None = None,
) -> PlainData:
    """Return what a meeting leaves when it ends undecided.

    Args:
        records: the records of all rounds.
        verdicts: the verdicts on them.
        may_go_on: whether the meeting may still go on; None asks the last verdict.

    Raises:
        MeetingError: a record is wrong.
    """
    checked_records = check_records(records)
    last = checked_records[-1]
    verdict = verdicts[-1]
    positions = last.convergence.expert_positions
    lead = leading(positions)
    considered = last.convergence.options_considered or []
    preferred = supporters_by_option(positions)
    key_points: dict[str, None] = {}
    for record in checked_records:
        if record.summary:
            key_points |= dict.fromkeys(record.summary.key_new_points)
    return {
        "outcome": "no_decision",
        "meeting_id": last.meeting_id,
        "round_index": last.round_index,
        "rule": verdict.rule,
        "may_go_on": not verdict.ends if may_go_on is None else may_go_on,
        "round_brief": last.summary.round_brief if last.summary else None,
        "key_points": list(key_points),
        "leading_option": lead.option if lead else None,
        "options": [_option(name, positions) for name in dict.fromkeys([*considered, *preferred])],
        "positions": [_position(position) for position in positions],
        "blockers": list(verdict.obstacles or verdict.reasons),
        "missing_aspects": list(verdict.missing_aspects),
        "disagreement": last.convergence.disagreement_notes,
    }


def _option(name: str, positions: Sequence[ExpertPosition]) -> PlainData:
    confidences = [
        position.confidence for position in positions if position.preferred_option == name
    ]
    mean = sum(confidences) / len(confidences) if confidences else None
    return {
        "option": name,
        "experts": len(confidences),
        "mean_confidence": None if mean is None else rounded(mean),
    }


def _position(position: ExpertPosition) -> PlainData:
    fields = fields_of(position, *ExpertPosition.model_fields)
    return {**fields, "confidence": rounded(position.confidence)}


def as_markdown(outcome: PlainData) -> str:
    """Return what :func:`no_decision` returns as Markdown, control characters escaped."""
    lines = _head_lines(outcome)
    if outcome["key_points"]:
        lines += ["## Key points", ""]
        lines += [f"- {_escaped(point)}" for point in outcome["key_points"]]
        lines.append("")
    lines += ["## Options", "", "| option | experts | mean confidence |", "|---|---|---|"]
    for row in outcome["options"]:
        mean = "-" if row["mean_confidence"] is None else words(row["mean_confidence"])
        lines.append(f"| {_escaped(row['option'])} | {row['experts']} | {mean} |")
    lines += _position_lines(outcome["positions"])
    lines += ["", "## Blockers", ""]
    lines += [f"- {_escaped(reason)}" for reason in outcome["blockers"]]
    lines += [f"- not yet covered: {_escaped(name)}" for name in outcome["missing_aspects"]]
    if outcome["disagreement"]:
        lines += ["", f"Disagreement: {_escaped(outcome['disagreement'])}"]
    return "\n".join(lines) + "\n"


def _escaped(text: Any) -> str:
    """Return text for Markdown and for cells of its tables."""
    return printable(str(text)).replace("|", "\\|")


def _head_lines(outcome: PlainData) -> list[str]:
    meeting = f" of {_escaped(outcome['meeting_id'])}" if outcome["meeting_id"] else ""
    number = outcome["round_index"]
    rule = outcome["rule"]
    if outcome["may_go_on"]:
        end = f"The meeting may go on: after round {number}, the rule is `{rule}`."
    else:
        end = f"Ended after round {number}, by the rule `{rule}`."

    lines = [f"# No decision{meeting}", "", end, ""]
    if outcome["round_brief"]:
        lines += [_escaped(outcome["round_brief"]), ""]
    return lines


def _position_lines(positions: Iterable[PlainData]) -> list[str]:
    lines = ["", "## Positions", ""]
    for row in positions:
        expert = _escaped(row["expert_id"])
        if name_of_option(row["preferred_option"]) == UNDECIDED:
            lines.append(f"- {expert} is undecided")
            continue

        option = _escaped(row["preferred_option"])
        notes = f": {_escaped(row['notes'])}" if row["notes"] else ""
        lines.append(f"- {expert} prefers {option} ({words(row['confidence'])}){notes}")
    return lines
