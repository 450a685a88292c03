"""The record of a meeting that ends without a decision: the options, who is for which, and what is missing."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from scoring.errors import MeetingError
from scoring.meters import rounded
from scoring.meters.meeting.obstacles import words
from scoring.meters.meeting.records import ExpertPosition, JudgeRecord, check_records
from scoring.meters.meeting.round_scores import leading
from scoring.meters.meeting.verdicts import MeetingVerdict
from scoring.text import printable


def no_decision(
    records: Iterable[JudgeRecord | Mapping[str, Any]], verdicts: Sequence[MeetingVerdict]
) -> dict[str, Any]:
    """Return what a meeting leaves when it ends undecided, as plain values: options, positions and blockers.

    Raises:
        MeetingError: the records are not valid, or there is no verdict for the last one.
    """
    last = check_records(records)[-1]
    verdict = next((v for v in verdicts if v.round_index == last.round_index), None)
    if verdict is None:
        raise MeetingError(f"round {last.round_index}: has no verdict")
    positions = last.convergence.expert_positions
    named = dict.fromkeys((*(last.convergence.options_considered or ()), *(p.preferred_option for p in positions)))
    lead = leading(positions)
    return {
        "outcome": "no_decision",
        "meeting_id": last.meeting_id,
        "round_index": last.round_index,
        "rule": verdict.rule,
        "leading_option": lead.option if lead else None,
        "options": [_option(name, positions) for name in named],
        "positions": [
            {
                "expert_id": p.expert_id,
                "preferred_option": p.preferred_option,
                "confidence": rounded(p.confidence),
                "notes": p.notes,
            }
            for p in positions
        ],
        "blockers": list(verdict.reasons),
        "missing_aspects": list(verdict.missing_aspects),
        "disagreement": last.convergence.disagreement_notes,
    }


def _option(name: str, positions: Sequence[ExpertPosition]) -> dict[str, Any]:
    behind = [p.confidence for p in positions if p.preferred_option == name]
    mean = rounded(sum(behind) / len(behind)) if behind else None
    return {"option": name, "experts": len(behind), "mean_confidence": mean}


def as_markdown(found: Mapping[str, Any]) -> str:
    """Return the record of a meeting without a decision as Markdown, control characters escaped."""

    def said(text: Any) -> str:
        return printable(str(text)).replace("|", "\\|")

    title = f" of {said(found['meeting_id'])}" if found["meeting_id"] else ""
    lines = [
        f"# No decision{title}",
        "",
        f"Ended after round {found['round_index']}, by the rule `{found['rule']}`.",
        "",
    ]
    lines += ["## Options", "", "| option | experts | mean confidence |", "|---|---|---|"]
    for row in found["options"]:
        mean = "-" if row["mean_confidence"] is None else words(row["mean_confidence"])
        lines.append(f"| {said(row['option'])} | {row['experts']} | {mean} |")
    lines += ["", "## Positions", ""]
    for row in found["positions"]:
        notes = f": {said(row['notes'])}" if row["notes"] else ""
        confidence = words(row["confidence"])
        lines.append(f"- {said(row['expert_id'])} prefers {said(row['preferred_option'])} ({confidence}){notes}")
    lines += ["", "## Blockers", "", *(f"- {said(reason)}" for reason in found["blockers"])]
    lines += [f"- not yet covered: {said(name)}" for name in found["missing_aspects"]]
    if found["disagreement"]:
        lines += ["", f"Disagreement: {said(found['disagreement'])}"]
    return "\n".join(lines) + "\n"
