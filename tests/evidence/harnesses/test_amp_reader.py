"""Amp: what a thread says, and when what it does not state happened."""

from pathlib import Path
from typing import Any

import pytest
from helpers.harness_lines import NS, START, Line, stamp
from helpers.sessions import CORRECTION, events_of, put, seen, tokens_of
from helpers.story import FOLDER, FOUND, IN_PARTS, STORY, Step, damaged, read_anyhow

from scoring.evidence.transcripts.events import Response
from scoring.evidence.transcripts.transcript_events import TranscriptEvents

TREE = {"uri": f"file://{FOLDER}", "repository": {"url": "git@host:a/b.git"}}
TOOLS = {
    "read": "Read",
    "edit": "edit_file",
    "write": "create_file",
    "run": "Bash",
    "refused": "Bash",
}


def typed(second: float, said: str) -> Line:
    sent = {"sentAt": int((START + second) * 1000)}
    return {"role": "user", "content": [{"type": "text", "text": said}], "meta": sent}


def response(
    second: float | None,
    *content: Any,
    tokens: tuple[int, ...] = (7, 5, 3, 2),
    **keys: Any,
) -> Line:
    names = (
        "outputTokens",
        "inputTokens",
        "cacheReadInputTokens",
        "cacheCreationInputTokens",
    )
    usage = dict(zip(names, tokens, strict=True)) | {
        "model": keys.pop("model", "claude-m")
    }
    usage |= {} if second is None else {"timestamp": stamp(second)}
    return {
        "role": "assistant",
        "content": list(content),
        "state": {"type": "complete"},
        "usage": usage,
    } | keys


def use(name: str, call: str = "c1", **given: Any) -> Line:
    return {
        "type": "tool_use",
        "complete": True,
        "id": call,
        "name": name,
        "input": given,
    }


def ended(status: str = "done", call: str = "c1", **run: Any) -> Line:
    result = {"type": "tool_result", "toolUseID": call, "run": {"status": status} | run}
    return {"role": "user", "content": [result]}


def written(step: Step) -> list[Line]:
    if step.what == "prompt":
        return [typed(step.second, step.text)]
    if step.what == "stop":
        return [
            {
                "role": "assistant",
                "content": [{"type": "text", "text": ""}],
                "state": {"type": "cancelled"},
            }
        ]
    if step.what == "say":
        return [
            response(
                step.second, {"type": "text", "text": step.text}, tokens=step.tokens
            )
        ]
    shell = step.what in ("run", "refused")
    given = (
        {"cmd": step.text}
        if shell
        else {"path": step.text, "old_str": "a", "new_str": "b"}
    )
    asked = use(
        TOOLS[step.what],
        step.call,
        **given | ({"content": "x"} if step.what == "write" else {}),
    )
    if step.what == "refused":
        answer = ended("rejected-by-user", step.call, reason="User declined permission")
    elif shell:
        answer = ended(
            "done", step.call, result={"output": step.said, "exitCode": step.code}
        )
    elif step.code:
        answer = ended("error", step.call, error={"message": step.said})
    else:
        answer = ended("done", step.call, result=step.said)
    return [response(step.second, asked, tokens=step.tokens), answer]


def thread(*messages: Any, **keys: Any) -> Line:
    numbered = [
        one | {"messageId": n} if isinstance(one, dict) else one
        for n, one in enumerate(messages)
    ]
    env = {"initial": {"trees": [TREE]}}
    return {
        "v": 22,
        "id": "T-1",
        "created": START * 1000,
        "messages": numbered,
        "env": env,
    } | keys


def read(tmp_path: Path, *messages: Any, **keys: Any) -> TranscriptEvents:
    return events_of(
        put(tmp_path / "T-1.json", thread(*messages, **keys), document=True), "amp"
    )


def test_a_thread_says_what_happened(tmp_path: Path) -> None:
    events = read(tmp_path, *(message for step in STORY for message in written(step)))
    assert seen(events) == FOUND
    assert {
        (span.cwd, span.session, span.agent, span.remote) for span in events.spans
    } == {(FOLDER, "T-1", False, "git@host:a/b.git")}
    assert events.messages == [line.number for line in events.lines]


def test_what_states_no_time_has_that_of_its_trace_or_of_what_is_before(
    tmp_path: Path,
) -> None:
    trace = {"name": "tools", "context": {"messageId": 2}, "endTime": stamp(9)}
    messages = [
        typed(1, "Go"),
        response(5, use("Read")),
        ended(),
        response(None),
        ended(),
    ]
    events = read(
        tmp_path,
        *messages,
        meta={"traces": [trace, 5, {"name": "agent", "endTime": stamp(99)}]},
    )
    assert [line.time // NS - START for line in events.lines] == [1, 5, 9, 9, 9]


def test_a_thread_without_any_time_has_no_lines(tmp_path: Path) -> None:
    assert read(tmp_path, response(None), created=None).skipped == {"no time stamp": 1}


@pytest.mark.parametrize(
    ("model", "tokens"),
    [("claude-m", (7, 5, 3, 2)), ("gpt-5", (7, 7, 3, 0))],
    ids=["states-writes", "states-none"],
)
def test_input_that_a_model_calls_written_was_only_not_read(
    tmp_path: Path, model: str, tokens: tuple[int, ...]
) -> None:
    (found,) = read(tmp_path, response(5, model=model)).of(Response)
    assert tokens_of(found) == tokens


@pytest.mark.parametrize(
    "usage", [None, 5, {}, {"inputTokens": "x", "outputTokens": 7}], ids=str
)
def test_without_usable_usage_tokens_are_unknown(tmp_path: Path, usage: Any) -> None:
    assert (
        seen(read(tmp_path, response(None, use("Read"), usage=usage)))["unknown"] == 1
    )


@pytest.mark.parametrize(
    ("run", "failed"),
    [
        ({"result": {"output": "", "exitCode": 2}}, [1]),
        ({"result": {"output": "", "exitCode": 0}}, [0]),
        ({"result": "[Process exited with code 2]"}, [0]),
        ({"status": "cancelled"}, []),
        ({"status": "in-progress"}, []),
        ({"status": "error"}, [1]),
    ],
)
def test_a_call_has_a_verdict_where_it_ended(
    tmp_path: Path, run: Line, failed: list[int]
) -> None:
    events = read(tmp_path, response(1, use("Bash", cmd="ls")), ended(**run))
    assert seen(events).get("failed", []) == failed


def test_a_thread_that_another_one_started_is_a_subagent(tmp_path: Path) -> None:
    events = read(
        tmp_path, response(1, use("Read")), typed(2, CORRECTION), mainThreadID="T-0"
    )
    assert {(span.parent, span.agent) for span in events.spans} == {("T-0", True)}
    assert "corrections" not in seen(events)


@pytest.mark.parametrize("uri", ["", "https://host/work/app", "file://[", 5])
def test_a_thread_without_a_folder_names_none(tmp_path: Path, uri: Any) -> None:
    events = read(tmp_path, typed(1, "Go"), env={"initial": {"trees": [{"uri": uri}]}})
    assert [span.cwd for span in events.spans] == [""]


def test_messages_of_other_kinds_are_named(tmp_path: Path) -> None:
    events = read(
        tmp_path, 5, {"role": "dream"}, {"role": "user", "content": 7}, typed(3, "Go")
    )
    assert events.skipped == {
        "a field of another type": 1,
        "of a kind that is not known: dream, version 22": 1,
    }


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b'{"v": 22, "id"', "not JSON"),
        (b'{"v": 22, "messages": []}', "of a kind that is not known: document"),
    ],
    ids=["cut-short", "no-thread"],
)
def test_another_document_is_named(tmp_path: Path, text: bytes, why: str) -> None:
    events = events_of(put(tmp_path / "T-1.json", text, document=True), "amp")
    assert (events.skipped, events.lines) == ({why: 1}, [])


@pytest.mark.sampled(2)
@IN_PARTS
def test_no_value_of_another_type_stops_the_reader(part: int) -> None:
    for lines in damaged(
        [thread(*(one for step in STORY for one in written(step)))], part
    ):
        read_anyhow("amp", lines)
