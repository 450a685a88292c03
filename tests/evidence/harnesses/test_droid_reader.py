"""Factory Droid: what a session says, and the settings beside it."""

from pathlib import Path
from typing import Any

import pytest
from helpers.harness_lines import Line, stamp
from helpers.sessions import events_of, put, seen
from helpers.story import FOLDER, FOUND, IN_PARTS, STORY, Step, damaged, read_anyhow

from scoring.evidence.transcripts.events import Compaction
from scoring.evidence.transcripts.transcript_events import TranscriptEvents

HEAD = {"type": "session_start", "id": "d1", "cwd": FOLDER, "version": 2}
TOOLS = {"read": "Read", "edit": "Edit", "write": "Create", "run": "Execute"}
BEGINS_AS_FAILED = "Error: Command failed (exit code: 7)\n"
ENDS_AS_PASSED = "[Process exited with code 0]"
NO_STOPS = {"refused", "stop"}  # how these are written is not known
SETTINGS = {
    "model": "m",
    "tokenUsage": {"inputTokens": 5, "outputTokens": 7, "thinkingTokens": 3},
}


def message(second: float, role: str, *content: Any, **keys: Any) -> Line:
    name = f"{role}{second}"
    body = {"role": role, "content": list(content)}
    return {
        "type": "message",
        "id": name,
        "timestamp": stamp(second),
        "message": body,
    } | keys


def text(said: str) -> Line:
    return {"type": "text", "text": said}


def use(name: str, call: str = "c1", **given: Any) -> Line:
    return {"type": "tool_use", "id": call, "name": name, "input": given}


def result(said: Any, call: str = "c1", **keys: Any) -> Line:
    return {"type": "tool_result", "tool_use_id": call, "content": said} | keys


def written(step: Step) -> list[Line]:
    if step.what == "prompt":
        return [
            message(
                step.second,
                "user",
                text("<system-reminder>Wrong!</system-reminder>"),
                text(step.text),
            )
        ]
    if step.what == "say":
        return [message(step.second, "assistant", text(step.text))]
    given = (
        {"command": step.text}
        if step.what == "run"
        else {"file_path": step.text, "old_str": "a", "new_str": "b"}
    )
    given |= {"content": "x"} if step.what == "write" else {}
    failed = {"is_error": True} if step.code else {}
    return [
        message(step.second, "assistant", use(TOOLS[step.what], step.call, **given)),
        message(step.second + 2, "user", result(step.said, step.call, **failed)),
    ]


def session(
    tmp_path: Path, *lines: Any, settings: Any = None, head: Line = HEAD
) -> TranscriptEvents:
    path = tmp_path / ".factory/sessions/-work-app/d1.jsonl"
    if settings is not None:
        put(path.with_suffix(".settings.json"), settings, document=True)
    return events_of(put(path, head, *lines), "droid")


def test_a_session_says_what_happened_and_its_tokens_in_all(tmp_path: Path) -> None:
    lines = [
        line for step in STORY if step.what not in NO_STOPS for line in written(step)
    ]
    events = session(tmp_path, *lines, settings=SETTINGS)
    expected = {
        name: found for name, found in FOUND.items() if name not in ("breaks", "tokens")
    }
    assert seen(events) == expected | {
        "responses": 8,
        "unknown": 8,
        "stated": [(7, 5, 0, 0)],
    }
    (span,) = events.spans
    assert (span.cwd, span.session, span.model, span.agent) == (
        FOLDER,
        "d1",
        "m",
        False,
    )
    assert events.lines[0].number == 1  # as it is numbered in the file


@pytest.mark.parametrize(
    "settings",
    [
        None,
        {},
        [],
        b"{",
        {"tokenUsage": 5},
        {"tokenUsage": {"inputTokens": -1, "outputTokens": "x"}},
    ],
    ids=["none", "empty", "a-list", "cut-short", "of-another-type", "no-counts"],
)
def test_without_usable_settings_tokens_are_unknown(
    tmp_path: Path, settings: Any
) -> None:
    found = seen(
        session(tmp_path, message(1, "assistant", text("so")), settings=settings)
    )
    assert found == {"responses": 1, "unknown": 1}


@pytest.mark.parametrize(
    ("said", "keys", "failed"),
    [
        ("1\n\n[Process exited with code 2]", {}, 1),
        ("1\n\n[Process exited with code 0]", {}, 0),
        ("Error: Command failed (exit code: 7)\n1", {}, 1),
        ("[Process exited with code 2] is what it printed", {}, 0),
        (f"{BEGINS_AS_FAILED}x\n{ENDS_AS_PASSED}", {"is_error": True}, 1),
        (f"{BEGINS_AS_FAILED}x\n{ENDS_AS_PASSED}", {}, 0),
        ([{"type": "text", "text": "[Process exited with code 2]"}], {}, 1),
        ("", {"is_error": True}, 1),
    ],
)
def test_a_shell_fails_by_its_words_or_by_an_error(
    tmp_path: Path, said: Any, keys: Line, failed: int
) -> None:
    lines = [
        message(1, "assistant", use("Execute", command="ls")),
        message(2, "user", result(said, **keys)),
    ]
    assert seen(session(tmp_path, *lines))["failed"] == [failed]


@pytest.mark.parametrize(
    ("given", "passed"), [({"fireAndForget": True}, None), ({"timeout": 60}, True)]
)
def test_the_start_of_tests_in_the_background_is_no_pass(
    tmp_path: Path, given: Line, passed: bool | None
) -> None:
    lines = [
        message(1, "assistant", use("Execute", command="pytest", **given)),
        message(2, "user", result(f"Started\n{ENDS_AS_PASSED}")),
    ]
    assert seen(session(tmp_path, *lines))["runs"] == [passed]


@pytest.mark.parametrize(
    ("said", "failed"), [("[Process exited with code 2]", 0), ('{"success": false}', 1)]
)
def test_another_tool_fails_by_its_answer(
    tmp_path: Path, said: str, failed: int
) -> None:
    patch = "*** Begin Patch\n*** Update File: a.py\n@@\n-x\n+y\n*** End Patch"
    lines = [
        message(1, "assistant", use("ApplyPatch", input=patch)),
        message(2, "user", result(said)),
    ]
    found = seen(session(tmp_path, *lines))
    assert (found["failed"], found.get("edits", [])) == (
        [failed],
        [] if failed else [f"{FOLDER}/a.py"],
    )


@pytest.mark.parametrize(
    ("line", "corrections"),
    [
        (message(9, "user", text("No, that is wrong")), 1),
        (message(9, "user", text("No, that is wrong"), visibility="user_only"), 0),
        (message(9, "user", text("Contents of /a:\nNo, that is wrong")), 0),
    ],
    ids=["typed", "for-the-user-alone", "a-file"],
)
def test_a_prompt_is_what_a_person_typed(
    tmp_path: Path, line: Line, corrections: int
) -> None:
    found = seen(session(tmp_path, message(1, "assistant", use("Read")), line))
    assert found.get("corrections", 0) == corrections


def test_a_session_that_another_one_called_is_a_subagent(tmp_path: Path) -> None:
    lines = [
        message(1, "assistant", use("Read")),
        message(2, "user", text("No, that is wrong")),
    ]
    events = session(tmp_path, *lines, head=HEAD | {"callingSessionId": "d0"})
    assert [(span.parent, span.agent) for span in events.spans] == [("d0", True)]
    assert "corrections" not in seen(events)


def test_lines_of_other_kinds_are_named_and_a_compaction_is_noted(
    tmp_path: Path,
) -> None:
    state = {"type": "compaction_state", "id": "s", "timestamp": stamp(3)}
    events = session(
        tmp_path,
        {"type": "todo_state"},
        {"type": "dream"},
        state,
        b'{"type": "mess',
        message(4, "user", 5),
    )
    assert events.skipped == {
        "of a kind that is not known: dream, version 2": 1,
        "not JSON": 1,
    }
    assert len(events.of(Compaction)) == 1


def test_a_copy_elsewhere_is_known_by_its_first_line(tmp_path: Path) -> None:
    lines = [line for step in STORY[:4] for line in written(step)]
    assert seen(events_of(put(tmp_path / "full.jsonl", HEAD, *lines), "droid"))[
        "runs"
    ] == [0]


def test_a_broken_line_does_not_give_others_to_another_harness(tmp_path: Path) -> None:
    lines = [line for step in STORY[:4] for line in written(step)]
    path = put(tmp_path / "full.jsonl", HEAD, b"{", *lines)
    assert seen(events_of(path, "droid"))["runs"] == [0]


@pytest.mark.sampled(2)
@IN_PARTS
def test_no_value_of_another_type_stops_the_reader(part: int) -> None:
    for lines in damaged(
        [
            HEAD,
            *(
                line
                for step in STORY
                if step.what not in NO_STOPS
                for line in written(step)
            ),
        ],
        part,
    ):
        read_anyhow("droid", lines)
