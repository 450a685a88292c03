"""Drives a meeting, with its state in one file: docs/DELIBERATION.md, "Running a meeting"; long, for all of that."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, PrivateAttr

from scoring.errors import InputError, MeetingError
from scoring.files import alone_in, read_file, write_atomically
from scoring.meters import rounded
from scoring.meters.meeting import records as meeting_records
from scoring.meters.meeting.config import MeetingConfig, meeting_config
from scoring.meters.meeting.decision_rules import DOUBTS, DOUBTS_ASKED, words
from scoring.meters.meeting.records import ExpertPosition, JudgeRecord
from scoring.meters.meeting.round_scores import leading
from scoring.meters.meeting.verdicts import MeetingVerdict, score_meeting
from scoring.meters.plaindata import checked, decode, read_json
from scoring.text import json_escaped, printable, quote, shown

Phase: TypeAlias = Literal["needs_record", "needs_answer", "decided", "no_decision"]

VERSION: Literal[1] = 1
PARKED = "end without a decision"
_WHERE = "a state of da-score meeting run"


class MeetingState(BaseModel):
    """What is known of a meeting so far."""

    model_config = ConfigDict(frozen=True)

    config: dict[str, Any]
    records: list[dict[str, Any]]
    phase: Phase
    decision: str | None = None  # the option that was decided on
    topic: str | None = None
    experts: list[str] = []  # who has spoken, by name, where experts are commands
    messages: list[dict[str, Any]] = []  # of experts, in the round that goes on
    doubts: bool = (
        False  # whether the end was refused, and the question for doubts has no answer yet
    )
    wished: bool = False  # whether the question is open because people wished to end
    parked: bool = False  # whether people parked it
    version: Literal[1] = VERSION
    _read: bytes | None = PrivateAttr(None)  # the file as it was read; None when there was none

    @property
    def ended(self) -> bool:
        """Whether the meeting is over."""
        return self.phase in ("decided", "no_decision")

    @property
    def next_round(self) -> int:
        """The number of the round that is to come, or that goes on while doubts are asked for."""
        last = max((record["round_index"] for record in self.records), default=0)
        return last if self.doubts else last + 1

    @property
    def verdicts(self) -> list[MeetingVerdict]:
        """The verdicts of all rounds so far."""
        return score_meeting(self.records, meeting_config(self.config)) if self.records else []


def open_state(path: Path, config: MeetingConfig | None = None) -> MeetingState:
    """Read a state, or begin one under ``config`` (by default the preset ``default``); InputError, MeetingError."""
    given = None if config is None else config.model_dump(mode="json")
    if (data := _read(path)) is None:
        own = given or meeting_config({}).model_dump(mode="json")
        return MeetingState(config=own, records=[], phase="needs_record")
    value = read_json(decode(data, str(path)), str(path))
    version = value.get("version") if isinstance(value, dict) else value
    if version != VERSION:
        raise InputError(
            f"{path}: not {_WHERE} of version {VERSION}: {shown(version)}; name another file"
        )
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
        what = "the meeting was begun under another config"
        raise InputError(f"{path}: {what}; leave --config out, or begin a new state")
    state._read = data
    return state


def _read(path: Path) -> bytes | None:
    try:
        return read_file(path)
    except FileNotFoundError:
        return None


def save_state(path: Path, state: MeetingState) -> MeetingState:
    """Write a state whole, and return it; InputError where the file was changed since it was read; WriteError."""
    data = (
        json_escaped(json.dumps(state.model_dump(), ensure_ascii=False, indent=1)) + "\n"
    ).encode()
    with alone_in(path.parent):
        if _read(path) != state._read:
            raise InputError(
                f"{path}: was changed by another command meanwhile; run this one again"
            )
        write_atomically(path, data)
    written = state.model_copy()
    written._read = data
    return written


def take_message(state: MeetingState, expert: str, text: str) -> MeetingState:
    """Add what an expert says in the round that goes on; MeetingError where no record is wanted, or nothing is said."""
    _require_open(state)
    if not text.strip():
        raise MeetingError(f"{expert}: said nothing; ask again")
    said = {
        "message_id": f"r{state.next_round}-{len(state.messages) + 1}",
        "speaker_id": expert,
        "text": text.strip(),
    }
    return state.model_copy(update={"messages": [*state.messages, said]})


def _require_open(state: MeetingState) -> None:
    if state.ended:
        raise MeetingError(
            f"the meeting is over ({state.phase.replace('_', ' ')}); begin another state"
        )
    if state.phase == "needs_answer":
        raise MeetingError("a question is open; answer it with --answer yes, no or park")


def take_record(state: MeetingState, text: str | bytes, source: str = "judge") -> MeetingState:
    """Add a judge's record of the next round, or one in place of the last while doubts are asked for; MeetingError."""
    _require_open(state)
    found = meeting_records.parse_meeting_records(text, source)
    if len(found) != 1:
        raise MeetingError(
            f"{source}: {len(found)} records where one belongs: that of round {state.next_round}"
        )
    number, before, kept = found[0].round_index, state.records, list[dict[str, Any]]()
    is_again = state.doubts and number == before[-1]["round_index"]
    if before and not is_again and number != before[-1]["round_index"] + 1:
        raise MeetingError(f"{source}: round {number} where round {state.next_round} belongs")
    record = found[0].model_dump(mode="json", exclude_unset=True)
    record.pop("user_confirmed", None)  # only people answer, with take_answer
    if is_again:
        kept, before = before[-1].get("messages") or [], before[:-1]
        record[DOUBTS_ASKED] = True
    if messages := [*kept, *state.messages]:
        record["messages"] = messages
    following = state.model_copy(
        update={"records": [*before, record], "messages": [], "doubts": False}
    )
    return following.model_copy(
        update={"phase": "needs_answer" if following.verdicts[-1].ends else "needs_record"}
    )


def take_answer(state: MeetingState, yes: bool, option: str | None = None) -> MeetingState:
    """Take what people say to the open question; MeetingError without one, or without an option to decide on.

    Yes decides, on ``option`` or else the leading one. No asks for doubts, once in a round; in the last round, or to a
    meeting that is to be parked, it ends it without a decision.
    """
    if state.phase != "needs_answer":
        raise MeetingError("no question is open; leave --answer out to go on")
    verdict, last = state.verdicts[-1], dict(state.records[-1])
    last["user_confirmed"] = yes
    answered = state.model_copy(update={"records": [*state.records[:-1], last], "wished": False})
    if yes:
        lead = leading(meeting_records.check_records([last])[0].convergence.expert_positions)
        chosen = option or (lead.option if lead else None)
        if chosen is None:
            raise MeetingError(
                "no expert prefers an option; name the one to decide on with --option"
            )
        return answered.model_copy(update={"phase": "decided", "decision": chosen})
    if _no_ends(verdict):
        return answered.model_copy(update={"phase": "no_decision"})
    is_first = not (last.get(DOUBTS_ASKED) or state.wished)
    return answered.model_copy(update={"phase": "needs_record", "doubts": is_first})


def _no_ends(verdict: MeetingVerdict) -> bool:
    return verdict.status == "park_or_abort" or verdict.rule == "round_limit"


def park(state: MeetingState) -> MeetingState:
    """End a meeting without a decision because people park it; MeetingError before a record, or after the end."""
    if state.ended or not state.records:
        raise MeetingError(
            "the meeting is over"
            if state.ended
            else "no round has been held; there is nothing to park"
        )
    return state.model_copy(
        update={"phase": "no_decision", "parked": True, "messages": [], "doubts": False}
    )


def missing_for_end(state: MeetingState) -> list[str]:
    """Return in words all that keeps a meeting from ending now; MeetingError where a question is open."""
    _require_open(state)
    verdict, config = state.verdicts[-1] if state.records else None, meeting_config(state.config)
    if verdict and verdict.ending_allowed:
        return []
    rounds = f"round 0 of at least {config.round_limits.min_rounds}"
    aspects = (
        verdict.missing_aspects
        if verdict
        else config.rules.require_exploration_coverage.required_aspects_deep
    )
    return [
        *(verdict.obstacles if verdict else (rounds,)),
        *(f"not yet covered: {name}" for name in aspects),
    ]


def wish_to_end(state: MeetingState) -> MeetingState:
    """Open the question whether to decide because people wish to end, where nothing is missing for that."""
    return (
        state
        if missing_for_end(state)
        else state.model_copy(update={"phase": "needs_answer", "wished": True})
    )


def what_next(state: MeetingState) -> dict[str, Any]:
    """Return the phase of a meeting and what to do next, as plain values."""
    verdicts = state.verdicts
    last = verdicts[-1] if verdicts else None
    question = last.facilitator_prompt if last and state.phase == "needs_answer" else None
    if last and question and state.wished:
        lead = leading(
            meeting_records.check_records([state.records[-1]])[0].convergence.expert_positions
        )
        question = (
            f"Ending is allowed: shall we decide{f' on {quote(lead.option)}' if lead else ''}?"
        )
    no = "record no decision" if last and _no_ends(last) else "ask for doubts, and go on"
    answers = {
        "yes": "decide, on the option that --option names or else the leading one",
        "no": no,
        "park": PARKED,
    }
    found: dict[str, Any] = {
        "phase": state.phase,
        "next_round": None if state.ended else state.next_round,
        "question": question,
        "answers": answers if question else {},
        "prompts": list(last.next_round_focus_prompts) if last and not state.ended else [],
        "decision": state.decision,
        "verdict": last.as_dict() if last else None,
    }
    if state.phase == "no_decision":
        found["no_decision"] = {
            **no_decision(state.records, verdicts, may_go_on=False),
            "parked": state.parked,
        }
    return found


def _in_short(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the summary of a round; what its experts prefer, where the judge gave none."""
    votes = record["convergence"]["expert_positions"]
    preferred = "; ".join(
        f"{v['expert_id']} prefers {v['preferred_option']} ({v['confidence']:g})" for v in votes
    )
    return {
        "round_index": record["round_index"],
        **(record.get("summary") or {"round_brief": preferred}),
    }


def judge_question(state: MeetingState, faults: Sequence[str] = ()) -> dict[str, Any]:
    """Return what a judge's command gets; ``faults`` is what was wrong with an answer that it gave before."""
    again = state.records[-1].get("messages") or [] if state.doubts else []
    return {
        **what_next(state),
        "topic": state.topic,
        "messages": [*again, *state.messages],
        "history": [
            _in_short(record)
            for record in state.records
            if record["round_index"] != state.next_round
        ],
        "metrics": [verdict.as_dict() for verdict in state.verdicts],
        "faults": list(faults),
        "instructions": f"Judge round {state.next_round}. Write one JSON record by the schema, with a summary, alone.",
        "schema": meeting_records.record_schema(),
    }


def expert_prompt(state: MeetingState, name: str) -> str:
    """Return what an expert's command gets: the decision, what was said, what to speak about, and how to answer."""
    most = meeting_config(state.config).round_limits.max_rounds
    lines = [
        f"You are {name}, an expert in a meeting that is to decide: {state.topic or 'see what was said'}"
    ]
    lines += [f"This is round {state.next_round} of at most {most}.", ""]
    for record in state.records:
        lines.append(f"Round {record['round_index']}: {_in_short(record).get('round_brief')}")
    last = [*(state.records[-1].get("messages") or [] if state.records else []), *state.messages]
    lines += [f"{said.get('speaker_id') or 'an expert'}: {said['text']}" for said in last]
    if state.doubts:
        lines += [
            "",
            f"The end was refused. Do you have {DOUBTS} Say them, or say that you have none.",
        ]
    elif state.records:
        verdict = state.verdicts[-1]
        lines += [
            "",
            verdict.facilitator_prompt,
            *(f"- {prompt}" for prompt in verdict.next_round_focus_prompts),
        ]
    lines += [
        "",
        "Answer in a few sentences. End with the option that you prefer now and how sure you are:",
    ]
    return "\n".join([*lines, "Option: its name, or defer", "Confidence: a number from 0 to 1", ""])


def lines_of_question(found: Mapping[str, Any]) -> list[str]:
    """Return what is next as lines of text, control characters escaped."""
    lines = [f"too early to end: {reason}" for reason in found.get("missing", ())]
    if verdict := found["verdict"]:
        lines += [
            f"round {verdict['round_index']}: {verdict['status']}",
            *(f"  {r}" for r in verdict["reasons"]),
        ]
    match found["phase"]:
        case "needs_answer":
            lines.append(f"question: {found['question']}")
            lines += [f"  --answer {name}: {does}" for name, does in found["answers"].items()]
        case "decided":
            lines.append(f"decided: {found['decision']}")
        case "no_decision":
            lines.append("no decision, parked" if found["no_decision"]["parked"] else "no decision")
        case _:
            again = verdict and verdict["round_index"] == found["next_round"]
            lines.append(
                f"next: the record of round {found['next_round']}{', judged again' if again else ''}"
            )
            lines += [f"  focus: {prompt}" for prompt in found["prompts"]]
    return list(map(printable, lines))


def no_decision(
    records: Iterable[JudgeRecord | Mapping[str, Any]],
    verdicts: Sequence[MeetingVerdict],
    may_go_on: bool | None = None,
) -> dict[str, Any]:
    """Return what a meeting leaves when it ends undecided; ``may_go_on`` None asks the last verdict; MeetingError."""
    given, verdict = meeting_records.check_records(records), verdicts[-1]
    last = given[-1]
    points = dict.fromkeys(
        point for record in given if record.summary for point in record.summary.key_new_points
    )
    positions = last.convergence.expert_positions
    named = dict.fromkeys(
        (*(last.convergence.options_considered or ()), *(p.preferred_option for p in positions))
    )
    lead = leading(positions)
    return {
        "outcome": "no_decision",
        "meeting_id": last.meeting_id,
        "round_index": last.round_index,
        "rule": verdict.rule,
        "may_go_on": not verdict.ends if may_go_on is None else may_go_on,
        "round_brief": last.summary.round_brief if last.summary else None,
        "key_points": list(points),
        "leading_option": lead.option if lead else None,
        "options": [_option(name, positions) for name in named],
        "positions": [
            {name: getattr(p, name) for name in ExpertPosition.model_fields}
            | {"confidence": rounded(p.confidence)}
            for p in positions
        ],
        "blockers": list(verdict.obstacles or verdict.reasons),
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
    if found["may_go_on"]:
        ended = f"The meeting may go on: after round {found['round_index']}, the rule is `{found['rule']}`."
    lines = [f"# No decision{title}", "", ended, ""]
    lines += [said(found["round_brief"]), ""] if found["round_brief"] else []
    if found["key_points"]:
        lines += ["## Key points", "", *(f"- {said(point)}" for point in found["key_points"]), ""]
    lines += ["## Options", "", "| option | experts | mean confidence |", "|---|---|---|"]
    for row in found["options"]:
        mean = "-" if row["mean_confidence"] is None else words(row["mean_confidence"])
        lines.append(f"| {said(row['option'])} | {row['experts']} | {mean} |")
    lines += ["", "## Positions", ""]
    for row in found["positions"]:
        notes = f": {said(row['notes'])}" if row["notes"] else ""
        confidence = words(row["confidence"])
        lines.append(
            f"- {said(row['expert_id'])} prefers {said(row['preferred_option'])} ({confidence}){notes}"
        )
    lines += ["", "## Blockers", "", *(f"- {said(reason)}" for reason in found["blockers"])]
    lines += [f"- not yet covered: {said(name)}" for name in found["missing_aspects"]]
    if found["disagreement"]:
        lines += ["", f"Disagreement: {said(found['disagreement'])}"]
    return "\n".join(lines) + "\n"
