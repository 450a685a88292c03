"""Qwen Code: what a chat says, as lines and in the form of older versions."""

from pathlib import Path
from typing import Any

import pytest
from helpers.harness_lines import Line, stamp
from helpers.sessions import CORRECTION, events_of, put, read_under, seen, tokens_of
from helpers.story import (
    FOLDER,
    FOUND,
    IN_PARTS,
    STORY,
    UNCACHED,
    Step,
    damaged,
    read_anyhow,
)

from scoring.evidence.harnesses.fields import TokenFields, Tokens
from scoring.evidence.transcripts.edits import lines_added
from scoring.evidence.transcripts.events import (
    Compaction,
    LinesWritten,
    Response,
    key_of,
)
from scoring.evidence.transcripts.transcript_events import TranscriptEvents
from scoring.evidence.transcripts.work_trees import HASHED_FOLDER

PROJECT = ".qwen/projects/-work-app/chats"
TOOLS = {
    "read": "read_file",
    "edit": "edit",
    "write": "write_file",
    "run": "run_shell_command",
}
TOOLS |= {"refused": "run_shell_command"}
REFUSED = "[Operation Cancelled] Reason: User did not allow tool call"


def line(second: float, kind: str, *parts: Any, **keys: Any) -> Line:
    of = {
        "uuid": f"{kind}{second}",
        "sessionId": "q1",
        "timestamp": stamp(second),
        "type": kind,
        "cwd": FOLDER,
    }
    return (
        of
        | {"parentUuid": None, "message": {"role": kind, "parts": list(parts)}}
        | keys
    )


def usage(
    given: int, reads: int, output: int, thoughts: int = 0, total: int | None = None
) -> Line:
    counts = {
        "promptTokenCount": given,
        "cachedContentTokenCount": reads,
        "candidatesTokenCount": output,
    }
    total = given + output if total is None else total
    return {
        "usageMetadata": counts
        | {"thoughtsTokenCount": thoughts, "totalTokenCount": total}
    }


def use(name: str, call: str = "c1", **args: Any) -> Line:
    return {"functionCall": {"id": call, "name": name, "args": args}}


def answer(
    second: float, tool: str, said: str, status: str = "success", call: str = "c1"
) -> Line:
    response = {"output" if status == "success" else "error": said}
    part = {"functionResponse": {"id": call, "name": tool, "response": response}}
    return line(
        second, "tool_result", part, toolCallResult={"callId": call, "status": status}
    )


def written(step: Step) -> list[Line]:
    if step.what == "prompt":
        return [line(step.second, "user", {"text": step.text}, provenance="real_user")]
    output, given, reads, _ = step.tokens
    counts = usage(given + reads, reads, output) | {"model": "qwen"}
    told = {
        "type": "ui_telemetry",
        "systemPayload": {"uiEvent": {"input_token_count": given}},
    }
    telemetry = line(
        step.second + 0.5,
        "system",
        subtype="ui_telemetry",
        provenance="system",
        **told | {"type": "system"},
    )
    if step.what == "say":
        return [
            line(
                step.second,
                "assistant",
                {"text": "…", "thought": True},
                {"text": step.text},
                **counts,
            ),
            telemetry,
        ]
    shell, tool = step.what in ("run", "refused"), TOOLS[step.what]
    given_to = (
        {"command": step.text}
        if shell
        else {"file_path": step.text, "old_string": "a", "new_string": "b"}
    )
    asked = use(
        tool, step.call, **given_to | ({"content": "x"} if step.what == "write" else {})
    )
    said, status = step.said, "error" if step.code else "success"
    if step.what == "refused":
        said, status = REFUSED, "cancelled"
    elif shell:
        said = (
            f"Command: {step.text}\nOutput: {said}\nError: (none)\n"
            f"Exit Code: {step.code}\nSignal: (none)"
        )
    return [
        line(step.second, "assistant", asked, **counts),
        telemetry,
        answer(step.second + 2, tool, said, status, step.call),
    ]


def chat(tmp_path: Path, *lines: Any, name: str = "q1.jsonl") -> TranscriptEvents:
    return events_of(put(tmp_path / PROJECT / name, *lines), "qwen")


def test_a_chat_says_what_happened(tmp_path: Path) -> None:
    events = chat(
        tmp_path,
        *(one for step in STORY if step.what != "stop" for one in written(step)),
    )
    assert seen(events) == FOUND | {
        "breaks": ["refusal"],
        "tokens": UNCACHED,
    }  # an interruption is not written
    assert {(span.cwd, span.session) for span in events.spans} == {(FOLDER, "q1")}


@pytest.mark.parametrize(
    ("counts", "tokens"),
    [
        (usage(100, 75, 7, 3, 107), (7, 25, 75, 0)),
        (usage(100, 75, 7, 3, 110), (10, 25, 75, 0)),
        (usage(100, 120, 7), (7, 0, 120, 0)),
    ],
    ids=["thoughts-in-the-output", "thoughts-beside-it", "more-read-than-given"],
)
def test_thoughts_are_output_once(
    tmp_path: Path, counts: Line, tokens: tuple[int, ...]
) -> None:
    (found,) = chat(tmp_path, line(1, "assistant", **counts)).of(Response)
    assert tokens_of(found) == tokens


@pytest.mark.parametrize(
    "counts",
    [{}, {"usageMetadata": 5}, {"usageMetadata": {"promptTokenCount": -1}}],
    ids=str,
)
def test_without_usable_counts_tokens_are_unknown(tmp_path: Path, counts: Line) -> None:
    assert seen(chat(tmp_path, line(1, "assistant", {"text": "so"}, **counts))) == {
        "responses": 1,
        "unknown": 1,
    }


WORK = line(1, "assistant", use("read_file"))
WRONG = {"text": CORRECTION}


@pytest.mark.parametrize(
    ("prompt", "corrections"),
    [
        (line(2, "user", WRONG), 1),
        (line(2, "user", WRONG, subtype="mid_turn_user_message"), 1),
        (
            line(
                2, "user", {"text": "/fix"}, systemPayload={"displayText": CORRECTION}
            ),
            1,
        ),
        (line(2, "user", WRONG, subtype="notification"), 0),
        (line(2, "user", WRONG, provenance="system"), 0),
        (line(2, "user", WRONG, isSidechain=True), 0),
    ],
    ids=[
        "typed",
        "while-it-worked",
        "as-displayed",
        "a-notification",
        "of-the-harness",
        "of-a-subagent",
    ],
)
def test_a_prompt_is_what_a_person_typed(
    tmp_path: Path, prompt: Line, corrections: int
) -> None:
    assert seen(chat(tmp_path, WORK, prompt)).get("corrections", 0) == corrections


@pytest.mark.parametrize(
    ("kept", "corrections"), [("assistant1", 0), ("user2", 1), ("unknown", 1)]
)
def test_a_rewind_takes_prompts_back_and_no_work(
    tmp_path: Path, kept: str, corrections: int
) -> None:
    rewind = line(
        3,
        "system",
        subtype="rewind",
        parentUuid=kept,
        systemPayload={"truncatedCount": 1},
    )
    found = seen(chat(tmp_path, WORK, line(2, "user", WRONG), rewind))
    assert (found["calls"], found.get("corrections", 0)) == (1, corrections)


def test_a_fork_has_the_keys_of_what_it_repeats(tmp_path: Path) -> None:
    fork = WORK | {
        "sessionId": "q2",
        "forkedFrom": {"sessionId": "q1", "messageUuid": "assistant1"},
    }
    assert [line.key for line in chat(tmp_path, fork, name="q2.jsonl").lines] == [
        key_of("assistant1")
    ]


def test_an_edit_of_a_part_of_a_line_changes_the_whole_line(tmp_path: Path) -> None:
    texts = {"file_path": "a.py", "old_string": "one", "new_string": "two"}
    done = answer(2, "edit", "edited")
    done["toolCallResult"]["resultDisplay"] = {
        "fileDiff": "--- a.py\n+++ a.py\n@@ -1 +1 @@\n-x = one()\n+x = two()\n"
    }
    events = chat(tmp_path, line(1, "assistant", use("edit", **texts)), done)
    (written,) = events.of(LinesWritten)
    assert written.hashes == lines_added("x = two()", "x = one()")


def test_a_hidden_id_is_no_key(tmp_path: Path) -> None:
    events = chat(
        tmp_path, *(line(n, "user", {"text": "Go"}, uuid="REDACTED") for n in (1, 2))
    )
    assert len({line.key for line in events.lines}) == 2


def test_compactions_are_noted_and_other_kinds_named(tmp_path: Path) -> None:
    compacted = line(2, "system", subtype="chat_compression")
    events = chat(
        tmp_path,
        line(1, "dream"),
        compacted,
        b'{"uuid": "x", "ty',
        line(3, "user", 5, message=7),
    )
    assert events.skipped == {"of a kind that is not known: dream": 1, "not JSON": 1}
    assert len(events.of(Compaction)) == 1


@pytest.mark.parametrize(
    ("name", "read"),
    [("q1.jsonl", True), ("q1.ledger.jsonl", False), ("q1.runtime.json", False)],
)
def test_files_beside_chats_are_none(tmp_path: Path, name: str, read: bool) -> None:
    path = put(tmp_path / PROJECT / name, WORK)
    assert (path in read_under(tmp_path)) is read


def test_an_old_chat_is_one_as_its_model_wrote_them(tmp_path: Path) -> None:
    said = {
        "id": "m1",
        "timestamp": stamp(1),
        "type": "qwen",
        "content": "so",
        "tokens": {"input": 9, "output": 7},
    }
    old = {"sessionId": "q0", "projectHash": "0" * 64, "messages": [said]}
    path = put(tmp_path / ".qwen/tmp/0/chats/session-1.json", old, document=True)
    events = events_of(path, "qwen")
    assert seen(events) == {"responses": 1, "tokens": (7, 9, 0, 0)}
    assert events.spans[0].cwd == HASHED_FOLDER + "0" * 64


@pytest.mark.sampled(2)
@IN_PARTS
def test_no_value_of_another_type_stops_the_reader(part: int) -> None:
    for lines in damaged(
        [one for step in STORY if step.what != "stop" for one in written(step)], part
    ):
        read_anyhow("qwen", lines)


def test_a_number_in_the_place_of_usage_states_no_tokens() -> None:
    assert TokenFields("output", "input", "reads").of(5) == Tokens(None, None, 0, 0)
