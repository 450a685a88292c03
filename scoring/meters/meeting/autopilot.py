"""Runs a meeting between commands: experts and a judge are asked round after round, and each answer is kept at once."""

import json
import os
import re
import shlex
import signal
import subprocess
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

from scoring.errors import InputError, MeetingError
from scoring.files import reason
from scoring.meters.meeting.driver import (
    MeetingState,
    expert_prompt,
    judge_question,
    save_state,
    take_message,
    take_record,
)
from scoring.meters.meeting.made_meetings import MeetingKnobs, simulate_meeting

Ask: TypeAlias = Callable[[str], str | bytes]  # from a prompt to an answer
EXAMPLE = MeetingKnobs(seed=3, rounds=10, experts=3, agreement=0.5, exploration=0.6)
EXAMPLE_TOPIC = "which of three made options to take"


def command_asked(label: str, command: str, seconds: float = 600.0) -> Ask:
    """Return how a command is asked: the prompt on its standard input, the answer from its standard output.

    Asking raises InputError, named by ``label``, where it cannot be started, fails, or takes longer than ``seconds``.
    """

    def ask(prompt: str) -> bytes:
        try:
            if not (arguments := shlex.split(command)):
                raise ValueError("is empty; name a command")
            process = subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
        except (OSError, ValueError) as e:
            raise InputError(f"{label} {command}: {reason(e)}") from e
        with process:
            try:
                answer, _ = process.communicate(prompt.encode(), seconds)
            except BaseException as e:
                with suppress(ProcessLookupError):  # what it started must not outlive it
                    os.killpg(process.pid, signal.SIGKILL)
                if isinstance(e, subprocess.TimeoutExpired):
                    said = f"no answer within {seconds:g} s; nothing was taken from it, run this again"
                    raise InputError(f"{label} {command}: {said}") from e
                raise
        if process.returncode:
            raise InputError(f"{label} {command}: ended with status {process.returncode}; nothing was taken from it")
        return answer

    return ask


def hold(
    path: Path, state: MeetingState, experts: Mapping[str, Ask], judge: Ask | None, rounds: int | None = None
) -> MeetingState:
    """Ask experts and judge until a question is open, the meeting is over or ``rounds`` are held; keep every answer.

    A judge's answer that is no record is asked for once more, with what is wrong. InputError, MeetingError from any.
    """
    held, names = 0, list(dict.fromkeys((*state.experts, *experts)))
    state = state.model_copy(update={"experts": names})
    while state.phase == "needs_record" and held != rounds:
        spoken = {said["speaker_id"] for said in state.messages}
        for name, ask in experts.items():
            if name not in spoken:
                answer = ask(expert_prompt(state, name))
                text = answer if isinstance(answer, str) else answer.decode("utf-8", "replace")
                state = save_state(path, take_message(state, name, text))
        if judge is None:
            return state
        try:
            following = take_record(state, judge(json.dumps(judge_question(state))))
        except MeetingError as e:
            following = take_record(state, judge(json.dumps(judge_question(state, e.faults))))
        state, held = save_state(path, following), held + 1
    return state


def example() -> tuple[dict[str, Ask], Ask]:
    """Return scripted experts and a judge, for an example that needs no model."""
    records = [record.model_dump(mode="json", exclude_unset=True) for record in simulate_meeting(EXAMPLE)]

    def expert(number: int) -> Ask:
        def ask(prompt: str) -> str:
            (this_round,) = re.findall(r"(?m)^This is round (\d+) of", prompt)
            position = records[int(this_round) - 1]["convergence"]["expert_positions"][number]
            option, confidence = position["preferred_option"], position["confidence"]
            return f"I prefer {option} now.\nOption: {option}\nConfidence: {confidence:g}"

        return ask

    def judge(question: str) -> str:
        return json.dumps(records[json.loads(question)["next_round"] - 1])

    names = [position["expert_id"] for position in records[0]["convergence"]["expert_positions"]]
    return {name: expert(number) for number, name in enumerate(names)}, judge
