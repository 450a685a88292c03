"""What a meeting leaves that ends without a decision, as plain values and as Markdown."""

from collections.abc import Iterable

from scoring.frozen import PlainData, fields_of
from scoring.meters import rounded
from scoring.text import printable

from .obstacles import words
from .record_reading import check_records
from .records import ExpertPosition, JudgeRecord
from .round_scores import supporters_by_option
from .verdicts import MeetingVerdict
from .votes import UNDECIDED, name_of_option


def no_decision(
    records: Iterable[JudgeRecord | PlainData],
    verdicts: list[MeetingVerdict],
    may_go_on: bool | None = None,
) -> PlainData:
    """Return what a meeting leaves when it ends undecided, for JSON and :func:`as_markdown`.

    That is its options and positions in the last round, the key points of all rounds, and what
    keeps it from a decision.

    Args:
        records: the records of all rounds, in any order.
        verdicts: the verdicts on the records, sorted by round.
        may_go_on: whether the meeting may still go on; None for what the last verdict says.

    Raises:
        MeetingError: ``records`` is empty, or :func:`check_records` finds faults in it.
    """
    checked_records = check_records(records)
    last = checked_records[-1]
    verdict = verdicts[-1]
    positions = last.convergence.expert_positions
    considered = last.convergence.options_considered or []
    preferred = supporters_by_option(positions)
    options = []
    for name in dict.fromkeys([*considered, *preferred]):
        confidences = [
            each.confidence for each in positions if each.preferred_option == name
        ]
        mean = rounded(sum(confidences) / len(confidences)) if confidences else None
        options.append(
            {"option": name, "experts": len(confidences), "mean_confidence": mean}
        )

    rows = []
    for position in positions:
        row = fields_of(position, *ExpertPosition.model_fields)
        rows.append({**row, "confidence": rounded(position.confidence)})

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
        "leading_option": verdict.lead.option if verdict.lead else None,
        "options": options,
        "positions": rows,
        "blockers": list(verdict.obstacles or verdict.reasons),
        "missing_aspects": list(verdict.missing_aspects),
        "disagreement": last.convergence.disagreement_notes,
    }


def as_markdown(outcome: PlainData) -> str:
    """Return what :func:`no_decision` returns as Markdown, control characters escaped."""
    meeting = f" of {outcome['meeting_id']}" if outcome["meeting_id"] else ""
    number = outcome["round_index"]
    rule = outcome["rule"]
    end = f"Ended after round {number}, by the rule `{rule}`."
    if outcome["may_go_on"]:
        end = f"The meeting may go on: after round {number}, the rule is `{rule}`."

    before = [f"# No decision{meeting}", "", end, ""]
    if outcome["round_brief"]:
        before += [outcome["round_brief"], ""]
    if outcome["key_points"]:
        before += ["## Key points", ""]
        before += [f"- {point}" for point in outcome["key_points"]]
        before.append("")
    before += ["## Options", ""]

    table = ["| option | experts | mean confidence |", "|---|---|---|"]
    for row in outcome["options"]:
        mean = "-" if row["mean_confidence"] is None else words(row["mean_confidence"])
        table.append(f"| {_escaped(row['option'])} | {row['experts']} | {mean} |")

    after = ["", "## Positions", ""]
    for row in outcome["positions"]:
        notes = f": {row['notes']}" if row["notes"] else ""
        choice = (
            f"prefers {row['preferred_option']} ({words(row['confidence'])}){notes}"
        )
        if name_of_option(row["preferred_option"]) == UNDECIDED:
            choice = "is undecided"
        after.append(f"- {row['expert_id']} {choice}")

    after += ["", "## Blockers", ""]
    after += [f"- {reason}" for reason in outcome["blockers"]]
    after += [f"- not yet covered: {name}" for name in outcome["missing_aspects"]]
    if outcome["disagreement"]:
        after += ["", f"Disagreement: {outcome['disagreement']}"]
    lines = [*map(_escaped, before), *table, *map(_escaped, after)]
    return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    """Return text for Markdown and for cells of its tables."""
    return printable(text).replace("|", "\\|")
