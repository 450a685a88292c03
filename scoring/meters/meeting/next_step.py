"""What a meeting needs next, and what its experts and its judge are asked."""

from scoring.frozen import PlainData, Texts
from scoring.text import printable, quote

from .config import meeting_config
from .decision_rules import DOUBTS
from .driver import ends_without_decision_on_no
from .record_reading import check_records
from .records import in_words, record_schema
from .state_file import MeetingState
from .undecided import no_decision

PARKED = "end without a decision"


def what_next(state: MeetingState) -> PlainData:
    """Return the phase of a meeting, what to do next, and the last verdict, as plain values.

    ``question`` is None where no question is open; ``next_round`` is None where the meeting is
    over; ``no_decision`` is a key only where it ended without a decision.
    """
    verdicts = state.verdicts
    last = verdicts[-1] if verdicts else None

    question = None
    answers: dict[str, str] = {}
    if last and state.phase == "needs_answer":
        question = last.facilitator_prompt
        if state.wished:
            option = f" on {quote(last.lead.option)}" if last.lead else ""
            question = f"Ending is allowed: shall we decide{option}?"

        effect_of_no = "ask for doubts, and go on"
        if ends_without_decision_on_no(last):
            effect_of_no = "record no decision"
        elif last.status == "park_or_abort":
            effect_of_no = "go on with another round"
        answers = {
            "yes": "decide, on the option that --option names or else the leading one",
            "no": effect_of_no,
            "park": PARKED,
        }

    prompts = []
    if last and not state.ended:
        prompts = list(last.next_round_focus_prompts)

    step: PlainData = {
        "phase": state.phase,
        "next_round": None if state.ended else state.next_round,
        "question": question,
        "answers": answers,
        "prompts": prompts,
        "decision": state.decision,
        "verdict": last.as_dict() if last else None,
    }
    if state.phase == "no_decision":
        outcome = no_decision(state.records, verdicts, may_go_on=False)
        step["no_decision"] = {**outcome, "parked": state.parked}
    return step


def lines_of_question(step: PlainData) -> list[str]:
    """Return what is next as lines of text, control characters escaped.

    Args:
        step: what :func:`what_next` returns. It may also have ``missing``: in words, what is
            missing for an end that people wish for.
    """
    lines = [f"too early to end: {reason}" for reason in step.get("missing", ())]

    verdict = step["verdict"]
    if verdict:
        lines.append(f"round {verdict['round_index']}: {verdict['status']}")
        lines += [f"  {reason}" for reason in verdict["reasons"]]

    match step["phase"]:
        case "needs_answer":
            lines.append(f"question: {step['question']}")
            lines += [
                f"  --answer {name}: {effect}"
                for name, effect in step["answers"].items()
            ]
        case "decided":
            lines.append(f"decided: {step['decision']}")
        case "no_decision":
            parked = step["no_decision"]["parked"]
            lines.append("no decision, parked" if parked else "no decision")
        case _:
            is_again = verdict and verdict["round_index"] == step["next_round"]
            again = ", judged again" if is_again else ""
            lines.append(f"next: the record of round {step['next_round']}{again}")
            lines.append("  --judge COMMAND writes it, or give it on standard input")
            lines += [f"  focus: {prompt}" for prompt in step["prompts"]]
    return [printable(line) for line in lines]


def judge_question(state: MeetingState, faults: Texts = ()) -> PlainData:
    """Return what a judge's command gets, as plain values.

    That is what comes next, the topic, the messages of the round, summaries of earlier rounds,
    verdicts, the faults, instructions and the schema of the answer.

    Args:
        state: the state.
        faults: what was wrong with the judge's last answer; empty the first time.
    """
    history = [
        _brief(record)
        for record in state.records
        if record["round_index"] != state.next_round
    ]
    return {
        **what_next(state),
        "topic": state.topic,
        "messages": state.messages_of_round,
        "history": history,
        "metrics": [verdict.as_dict() for verdict in state.verdicts],
        "faults": list(faults),
        "instructions": (
            f"Judge round {state.next_round}. Write one JSON record by the schema, with a "
            "summary, alone. Name no position that an expert does not state: only what experts "
            "state themselves counts."
        ),
        "schema": record_schema(),
    }


def _brief(record: PlainData) -> PlainData:
    """Return a round's number and its summary, or without one what its experts prefer."""
    summary = record.get("summary")
    if not summary:
        positions = check_records([record])[0].convergence.expert_positions
        summary = {"round_brief": in_words(positions)}
    return {"round_index": record["round_index"], **summary}


def expert_prompt(state: MeetingState, name: str) -> str:
    """Return the prompt for an expert: topic, what was said, what to speak about, how to answer."""
    max_rounds = meeting_config(state.config).round_limits.max_rounds
    topic = state.topic or "see what was said"
    lines = [
        f"You are {name}, an expert in a meeting that is to decide: {topic}",
        f"This is round {state.next_round} of at most {max_rounds}.",
        "",
    ]
    for record in state.records:
        lines.append(
            f"Round {record['round_index']}: {_brief(record).get('round_brief')}"
        )
    for message in [*state.last_messages, *state.messages]:
        lines.append(f"{message.get('speaker_id') or 'an expert'}: {message['text']}")

    if state.doubts:
        lines.append("")
        lines.append(
            f"The end was refused. Do you have {DOUBTS} Say them, or say that you have none."
        )
    elif state.records:
        verdict = state.verdicts[-1]
        lines += ["", verdict.facilitator_prompt]
        lines += [f"- {prompt}" for prompt in verdict.next_round_focus_prompts]

    lines += [
        "",
        "Answer in a few sentences. End with the option that you prefer now and how sure you are:",
        *_LINES_OF_A_VOTE,
        "",
    ]
    return "\n".join(lines)


_LINES_OF_A_VOTE = ("Option: its name, or defer", "Confidence: a number from 0 to 1")


def vote_prompt(state: MeetingState, name: str) -> str:
    """Return the prompt for an expert that spoke but did not say which option it prefers."""
    texts = [
        message["text"] for message in state.messages if message["speaker_id"] == name
    ]
    lines = [
        f"You are {name}, an expert in a meeting that is to decide: {state.topic or 'see below'}",
        f"This is round {state.next_round} of the meeting. You said:",
        *texts,
        "",
        "You did not say which option you prefer. Answer with these two lines alone:",
        *_LINES_OF_A_VOTE,
        "",
    ]
    return "\n".join(lines)
