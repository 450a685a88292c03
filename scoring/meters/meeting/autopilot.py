"""Runs a meeting between commands: experts and a judge are asked round after round, and each answer is kept at once."""

import json
import os
import re
import shlex
import signal
import subprocess
import tempfile
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

from scoring.errors import InputError, MeetingError
from scoring.files import reason
from scoring.meters.meeting import driver
from scoring.meters.meeting.round_scores import CHECKLIST

Ask: TypeAlias = Callable[[str], str | bytes]  # from a prompt to an answer
ANSWER_LIMIT = 16 << 20  # bytes; a longer answer is none

EXAMPLE_TOPIC = "whether to put a cache or a queue before the database"
EXPERTS = ("expert_1", "expert_2", "expert_3")
EXAMPLE = (  # of each round: how many aspects are deep, what each expert prefers and how surely, points that are new
    (1, (("cache", 0.6), ("queue", 0.5), ("cache", 0.6)), 9),
    (2, (("cache", 0.8), ("cache", 0.7), ("cache", 0.8)), 6),  # an early consensus
    (6, (("cache", 0.8), ("queue", 0.6), ("cache", 0.7)), 4),
    (8, (("cache", 0.8), ("cache", 0.7), ("cache", 0.8)), 1),
)


def command_asked(label: str, command: str, seconds: float = 600.0) -> Ask:
    """Return how a command is asked: prompt in, answer out; InputError where it cannot start, fails, or is too slow."""

    def ask(prompt: str) -> bytes:
        with tempfile.TemporaryFile() as given:
            given.write(prompt.encode())
            given.seek(0)
            try:
                if not (arguments := shlex.split(command)):
                    raise ValueError("is empty; name a command")
                process = subprocess.Popen(
                    arguments, stdin=given, stdout=subprocess.PIPE, start_new_session=True
                )
            except (OSError, ValueError) as e:
                raise InputError(f"{label} {command}: {reason(e)}") from e
        is_late = threading.Event()

        def stop() -> None:
            is_late.set()
            _end(process)

        timer = threading.Timer(seconds, stop)
        timer.daemon = True  # an interruption does not wait for it
        with process:
            try:
                timer.start()
                assert process.stdout is not None  # it is a pipe
                answer = process.stdout.read(ANSWER_LIMIT + 1)
                if len(answer) <= ANSWER_LIMIT:
                    process.wait()
            finally:
                timer.cancel()
                if process.returncode is None:
                    _end(process)
        said = ""
        if is_late.is_set():
            said = f"no answer within {seconds:g} s"
        elif len(answer) > ANSWER_LIMIT:
            said = f"an answer of more than {ANSWER_LIMIT >> 20} MiB"
        elif process.returncode:
            said = f"ended with status {process.returncode}"
        if said:
            raise InputError(f"{label} {command}: {said}; nothing was taken from it")
        return answer

    return ask


def _end(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def hold(
    path: Path,
    state: driver.MeetingState,
    experts: Mapping[str, Ask],
    judge: Ask | None,
    rounds: int | None = None,
) -> driver.MeetingState:
    """Ask experts and judge until a question is open, or the meeting or ``rounds`` over; InputError, MeetingError."""
    held, names = 0, list(dict.fromkeys((*state.experts, *experts)))
    state = state.model_copy(update={"experts": names})
    while state.phase == "needs_record" and held != rounds:
        spoken = {said["speaker_id"] for said in state.messages}
        for name, ask in experts.items():
            if name not in spoken:
                answer = ask(driver.expert_prompt(state, name))
                text = answer if isinstance(answer, str) else answer.decode("utf-8", "replace")
                state = driver.save_state(path, driver.take_message(state, name, text))
        if judge is None:
            return state
        try:
            following = driver.take_record(state, judge(json.dumps(driver.judge_question(state))))
        except MeetingError as e:
            following = driver.take_record(
                state, judge(json.dumps(driver.judge_question(state, e.faults)))
            )
        state, held = driver.save_state(path, following), held + 1
    return state


def example() -> tuple[dict[str, Ask], Ask]:
    """Return scripted experts and a judge, for an example that needs no model: four rounds, and a decision is ready."""

    def row(number: int) -> tuple[int, tuple[tuple[str, float], ...], int]:
        return EXAMPLE[min(number, len(EXAMPLE)) - 1]

    def expert(index: int) -> Ask:
        def ask(prompt: str) -> str:
            (this_round,) = re.findall(r"(?m)^This is round (\d+) of", prompt)
            option, confidence = row(int(this_round))[1][index]
            return f"I prefer a {option} now.\nOption: {option}\nConfidence: {confidence:g}"

        return ask

    def judge(question: str) -> str:
        number: int = json.loads(question)["next_round"]
        deep, votes, new = row(number)
        aspects = [
            {
                "name": name,
                "coverage_level": "deep" if n < deep else "shallow" if n < deep + 3 else "none",
            }
            for n, name in enumerate(CHECKLIST)
        ]
        positions = [
            {"expert_id": name, "preferred_option": option, "confidence": confidence}
            for name, (option, confidence) in zip(EXPERTS, votes, strict=True)
        ]
        record = {
            "round_index": number,
            "exploration": {"aspects": aspects},
            "convergence": {"expert_positions": positions},
            "focus": {"core_count": 3, "context_count": 0, "off_topic_count": 0},
            "novelty": {"novel_points_count": new, "repeated_points_count": 10 - new},
        }
        return json.dumps(record)

    return {name: expert(index) for index, name in enumerate(EXPERTS)}, judge
