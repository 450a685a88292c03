"""Drives a meeting round by round, with its state in one file: docs/DELIBERATION.md, "Running a meeting"."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, PrivateAttr

from scoring.errors import InputError, MeetingError
from scoring.files import read_file, write_atomically
from scoring.meters import rounded
from scoring.meters.meeting.config import MeetingConfig, meeting_config
from scoring.meters.meeting.obstacles import words
from scoring.meters.meeting.records import ExpertPosition, JudgeRecord, check_records, parse_meeting_records
from scoring.meters.meeting.round_scores import leading
from scoring.meters.meeting.verdicts import MeetingVerdict, score_meeting
from scoring.meters.plaindata import checked, decode, read_json
from scoring.text import json_escaped, printable, shown

Phase: TypeAlias = Literal["needs_record", "needs_answer", "decided", "no_decision"]

VERSION: Literal[1] = 1
_WHERE = "a state of da-score meeting run"


class MeetingState(BaseModel):
    """What is known of a meeting so far. ``decision`` is the option that was decided on, None until there is one."""

    model_config = ConfigDict(frozen=True)

    config: dict[str, Any]
    records: list[dict[str, Any]]
    phase: Phase
    decision: str | None = None
    version: Literal[1] = VERSION
    _read: bytes | None = PrivateAttr(None)  # the file as it was read; None when there was none

    @property
    def ended(self) -> bool:
        """Whether the meeting is over."""
        return self.phase in ("decided", "no_decision")

    @property
    def next_round(self) -> int:
        """The number of the round that is to come."""
        return 1 + max((record["round_index"] for record in self.records), default=0)

    @property
    def verdicts(self) -> list[MeetingVerdict]:
        """The verdicts of all rounds so far."""
        return score_meeting(self.records, meeting_config(self.config)) if self.records else []


def open_state(path: Path, config: MeetingConfig | None = None) -> MeetingState:
    """Read a state, or begin one under ``config`` (by default the preset ``default``); InputError, MeetingError."""
    given = None if config is None else config.model_dump(mode="json")
    try:
        data = read_file(path)
    except FileNotFoundError:
        return MeetingState(
            config=given or meeting_config({}).model_dump(mode="json"), records=[], phase="needs_record"
        )
    value = read_json(decode(data, str(path)), str(path))
    version = value.get("version") if isinstance(value, dict) else value
    if version != VERSION:
        raise InputError(f"{path}: not {_WHERE} of version {VERSION}: {shown(version)}; name another file")
    state, faults = checked(MeetingState, value, f"not {_WHERE}")
    if state is None:
        raise InputError(f"{path}: {faults[0]}")
    try:
        verdicts = state.verdicts
    except MeetingError as e:
        raise MeetingError(*(f"{path}: {fault}" for fault in e.faults)) from e
    if state.phase != "needs_record" and not verdicts:
        raise InputError(f"{path}: not {_WHERE}: it is {state.phase} and has no record")
    if given is not None and given != state.config:
        raise InputError(
            f"{path}: the meeting was begun under another config; leave --config out, or begin a new state"
        )
    state._read = data
    return state


def save_state(path: Path, state: MeetingState) -> MeetingState:
    """Write a state whole, and return it; InputError where the file was changed since it was read; WriteError."""
    try:
        now: bytes | None = read_file(path)
    except FileNotFoundError:
        now = None
    if now != state._read:
        raise InputError(f"{path}: was changed by another command meanwhile; run this one again")
    data = (json_escaped(json.dumps(state.model_dump(), ensure_ascii=False, indent=1)) + "\n").encode()
    write_atomically(path, data)
    written = state.model_copy()
    written._read = data
    return written


def take_record(state: MeetingState, text: str | bytes, source: str = "judge") -> MeetingState:
    """Add a judge's record of the next round; MeetingError if it is none, a question is open, or the meeting over."""
    if state.ended:
        raise MeetingError(f"the meeting is over ({state.phase.replace('_', ' ')}); begin another state")
    if state.phase == "needs_answer":
        raise MeetingError("a question is open; answer it with --answer yes or --answer no")
    found = parse_meeting_records(text, source)
    if len(found) != 1:
        raise MeetingError(f"{source}: {len(found)} records where one belongs: that of round {state.next_round}")
    number = found[0].round_index
    if state.records and number != state.next_round:
        raise MeetingError(f"{source}: round {number} where round {state.next_round} belongs")
    record = found[0].model_dump(mode="json", exclude_unset=True)
    record.pop("user_confirmed", None)  # only people answer, with take_answer
    following = state.model_copy(update={"records": [*state.records, record]})
    return following.model_copy(update={"phase": "needs_answer" if following.verdicts[-1].ends else "needs_record"})


def take_answer(state: MeetingState, yes: bool, option: str | None = None) -> MeetingState:
    """Take what people say to the open question; MeetingError without one, or where it is not known on what to decide.

    Yes decides, on ``option`` or else on the leading one. No after a proposal to decide goes on with a question for
    doubts; no in the last round, or to a meeting that is to be parked, ends it without a decision.
    """
    if state.phase != "needs_answer":
        raise MeetingError("no question is open")
    verdict, last = state.verdicts[-1], dict(state.records[-1])
    last["user_confirmed"] = yes
    answered = state.model_copy(update={"records": [*state.records[:-1], last]})
    if yes:
        lead = leading(check_records([last])[0].convergence.expert_positions)
        chosen = option or (lead.option if lead else None)
        if chosen is None:
            raise MeetingError("no expert prefers an option; name the one to decide on with --option")
        return answered.model_copy(update={"phase": "decided", "decision": chosen})
    is_over = verdict.status == "park_or_abort" or verdict.rule == "round_limit"
    return answered.model_copy(update={"phase": "no_decision" if is_over else "needs_record"})


def what_next(state: MeetingState) -> dict[str, Any]:
    """Return the phase of a meeting and what to do next, as plain values; a judge's command gets them as JSON."""
    verdicts = state.verdicts
    last = verdicts[-1] if verdicts else None
    found: dict[str, Any] = {
        "phase": state.phase,
        "next_round": None if state.ended else state.next_round,
        "question": last.facilitator_prompt if last and state.phase == "needs_answer" else None,
        "prompts": list(last.next_round_focus_prompts) if last and not state.ended else [],
        "decision": state.decision,
        "verdict": last.as_dict() if last else None,
    }
    if state.phase == "no_decision":
        found["no_decision"] = no_decision(state.records, verdicts)
    return found


def in_words(found: Mapping[str, Any]) -> list[str]:
    """Return what is next as lines of text, control characters escaped."""
    lines = []
    if verdict := found["verdict"]:
        lines += [f"round {verdict['round_index']}: {verdict['status']}", *(f"  {r}" for r in verdict["reasons"])]
    match found["phase"]:
        case "needs_answer":
            lines += [f"question: {found['question']}", "answer with --answer yes or --answer no"]
        case "decided":
            lines.append(f"decided: {found['decision']}")
        case "no_decision":
            lines.append("no decision")
        case _:
            lines.append(f"next: the record of round {found['next_round']}")
            lines += [f"  focus: {prompt}" for prompt in found["prompts"]]
    return list(map(printable, lines))


def no_decision(
    records: Iterable[JudgeRecord | Mapping[str, Any]], verdicts: Sequence[MeetingVerdict]
) -> dict[str, Any]:
    """Return what a meeting with these verdicts leaves when it ends undecided; MeetingError for invalid records."""
    last, verdict = check_records(records)[-1], verdicts[-1]
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
            {name: getattr(p, name) for name in ExpertPosition.model_fields} | {"confidence": rounded(p.confidence)}
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
    ended = f"Ended after round {found['round_index']}, by the rule `{found['rule']}`."
    lines = [f"# No decision{title}", "", ended, ""]
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
