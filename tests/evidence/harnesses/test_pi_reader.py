"""Pi: what a session says, in any version of its format, and in forks."""

from pathlib import Path
from typing import Any

import pytest
from helpers.harness_lines import START, Line, stamp
from helpers.sessions import CORRECTION, events_of, put, read_under, seen
from helpers.story import FOLDER, FOUND, IN_PARTS, STORY, Step, damaged, read_anyhow

from scoring.evidence.harnesses.pi import Pi
from scoring.evidence.transcripts.edits import lines_added
from scoring.evidence.transcripts.events import Compaction, LinesWritten
from scoring.evidence.transcripts.transcript_events import TranscriptEvents

HEAD = {
    "type": "session",
    "version": 3,
    "id": "p1",
    "timestamp": stamp(0),
    "cwd": FOLDER,
}
TOOLS = {"read": "read", "edit": "edit", "write": "write", "run": "bash"}


def message(second: float, role: str, *content: Any, **keys: Any) -> Line:
    body = {
        "role": role,
        "content": list(content),
        "timestamp": int((START + second) * 1000),
    } | keys
    name = f"{role[0]}{second}"
    return {
        "type": "message",
        "id": name,
        "parentId": None,
        "timestamp": stamp(second),
        "message": body,
    }


def text(said: str) -> Line:
    return {"type": "text", "text": said}


def use(name: str, call: str = "c1", **given: Any) -> Line:
    return {"type": "toolCall", "id": call, "name": name, "arguments": given}


def result(second: float, said: str, failed: bool = False, call: str = "c1") -> Line:
    return message(second, "toolResult", text(said), toolCallId=call, isError=failed)


def usage(output: int, given: int, reads: int = 0, writes: int = 0) -> Line:
    return {
        "usage": {
            "input": given,
            "output": output,
            "cacheRead": reads,
            "cacheWrite": writes,
            "reasoning": 1,
        }
    }


def written(step: Step) -> list[Line]:
    if step.what == "prompt":
        return [message(step.second, "user", text(step.text))]
    if step.what == "stop":
        return [
            message(
                step.second, "assistant", model="m", stopReason="aborted", **usage(0, 0)
            )
        ]
    keys = {"model": "m", "stopReason": "toolUse"} | usage(*step.tokens)
    if step.what == "say":
        return [message(step.second, "assistant", text(step.text), **keys)]
    given: dict[str, Any] = (
        {"command": step.text} if step.what == "run" else {"path": step.text}
    )
    given |= (
        {"edits": [{"oldText": "a", "newText": "b"}]} if step.what == "edit" else {}
    )
    given |= {"content": "x"} if step.what == "write" else {}
    said = (
        f"{step.said}\n\nCommand exited with code {step.code}"
        if step.code and step.what == "run"
        else step.said
    )
    return [
        message(
            step.second, "assistant", use(TOOLS[step.what], step.call, **given), **keys
        ),
        result(step.second + 2, said, step.code != 0, step.call),
    ]


WHOLE = [line for step in STORY if step.what != "refused" for line in written(step)]


def session(
    tmp_path: Path, *lines: Any, head: Line = HEAD, name: str = "t_p1.jsonl"
) -> TranscriptEvents:
    return events_of(
        put(tmp_path / "sessions" / "--work-app--" / name, head, *lines), "pi"
    )


def test_a_session_says_what_happened(tmp_path: Path) -> None:
    events = session(tmp_path, *WHOLE)
    assert seen(events) == FOUND | {
        "responses": 8,
        "breaks": ["interruption"],
        "tokens": (438, 2438, 24380, 198),
    }
    assert {(span.cwd, span.session, span.agent) for span in events.spans} == {
        (FOLDER, "p1", False)
    }
    assert "m" in {span.model for span in events.spans}


def test_an_edit_of_a_part_of_a_line_changes_the_whole_line(tmp_path: Path) -> None:
    edits = [{"oldText": "one", "newText": "two"}]
    done = result(2, "edited")
    done["message"]["details"] = {"patch": "@@ -1 +1 @@\n-x = one()\n+x = two()\n"}
    events = session(
        tmp_path,
        message(1, "assistant", use("edit", path="a.py", edits=edits)),
        done,
    )
    (written,) = events.of(LinesWritten)
    assert written.hashes == lines_added("x = two()", "x = one()")


def test_a_session_of_version_1_has_no_ids(tmp_path: Path) -> None:
    lines = [
        {key: value for key, value in line.items() if key not in ("id", "parentId")}
        for line in WHOLE
    ]
    assert seen(session(tmp_path, *lines, head=HEAD | {"version": None})) == seen(
        session(tmp_path, *WHOLE)
    )


def test_a_fork_repeats_the_lines_of_its_parent_with_their_keys(tmp_path: Path) -> None:
    first = session(tmp_path, *WHOLE)
    head = HEAD | {"id": "p2", "parentSession": "/s/--work-app--/t_p1.jsonl"}
    second = session(
        tmp_path,
        *WHOLE[:4],
        message(500, "user", text("On")),
        head=head,
        name="t_p2.jsonl",
    )
    assert [line.key for line in second.lines[:4]] == [
        line.key for line in first.lines[:4]
    ]
    assert {(span.session, span.parent, span.agent) for span in second.spans} == {
        ("p2", "p1", False)
    }


@pytest.mark.parametrize(
    ("first", "agent"), [("Task: look", True), ("Tasks are open", False)]
)
def test_a_session_of_an_agent_begins_with_its_task(
    tmp_path: Path, first: str, agent: bool
) -> None:
    head = HEAD | {"parentSession": "t_p0.jsonl"}
    events = session(
        tmp_path,
        message(1, "user", text(first)),
        *written(STORY[1]),
        message(9, "user", text(CORRECTION)),
    )
    # without a parent it is a person's
    assert not any(span.agent for span in events.spans)
    events = session(
        tmp_path,
        message(1, "user", text(first)),
        *written(STORY[1]),
        message(9, "user", text(CORRECTION)),
        head=head,
    )
    assert [span.agent for span in events.spans][:1] == [agent]
    assert ("corrections" in seen(events)) is not agent


@pytest.mark.parametrize(
    ("line", "found"),
    [
        (message(9, "user", text(CORRECTION)), 1),
        (message(9, "custom", text(CORRECTION)), 0),
        (message(9, "hookMessage", text(CORRECTION)), 0),
        (
            message(
                9, "bashExecution", command="pytest", output=CORRECTION, exitCode=1
            ),
            0,
        ),
        (
            {
                "type": "custom_message",
                "id": "x",
                "timestamp": stamp(9),
                "content": CORRECTION,
            },
            0,
        ),
    ],
    ids=[
        "typed",
        "of-an-extension",
        "of-a-hook",
        "what-the-person-ran",
        "an-entry-of-an-extension",
    ],
)
def test_a_prompt_is_what_a_person_typed(
    tmp_path: Path, line: Line, found: int
) -> None:
    events = seen(session(tmp_path, *written(STORY[1]), line))
    assert (events.get("corrections", 0), events["calls"], events.get("runs")) == (
        found,
        1,
        None,
    )


def test_what_a_summary_cost_counts_and_a_response_stopped_before_it_began_does_not(
    tmp_path: Path,
) -> None:
    summary = {"type": "compaction", "id": "k", "timestamp": stamp(5)} | usage(
        7, 8, 9, 10
    )
    branch = {"type": "branch_summary", "id": "b", "timestamp": stamp(6)}
    stopped = message(7, "assistant", stopReason="aborted", **usage(0, 0))
    begun = message(
        8, "assistant", text("I"), stopReason="aborted", **usage(1, 1, 1, 1)
    )
    events = session(tmp_path, summary, branch, stopped, begun)
    assert seen(events) == {
        "responses": 2,
        "tokens": (8, 9, 10, 11),
        "breaks": ["interruption", "interruption"],
    }
    assert len(events.of(Compaction)) == 1


def test_lines_of_other_kinds_are_named(tmp_path: Path) -> None:
    lines = {"type": "dream"}, {"type": "label"}, message(1, "ghost"), b'{"type": "mess'
    kinds = {
        f"of a kind that is not known: {kind}, version 3": 1
        for kind in ("dream", "ghost")
    }
    assert session(tmp_path, *lines).skipped == kinds | {"not JSON": 1}


@pytest.mark.sampled(2)
@IN_PARTS
def test_no_value_of_another_type_stops_the_reader(part: int) -> None:
    for lines in damaged([HEAD, *WHOLE], part):
        read_anyhow("pi", lines)


def test_a_copy_elsewhere_is_known_by_its_lines(tmp_path: Path) -> None:
    assert seen(events_of(put(tmp_path / "full.jsonl", *WHOLE), "pi"))["runs"] == [0, 1]
    other = {
        "type": "message",
        "id": "a",
        "parentId": None,
        "timestamp": stamp(1),
        "message": {"role": "user"},
    }
    assert (
        "pi"
        not in read_under(put(tmp_path / "other" / "full.jsonl", other).parent)[
            tmp_path / "other/full.jsonl"
        ]
    )


@pytest.mark.parametrize(
    ("settings", "environment", "place", "origin"),
    [
        (None, {}, ".pi/agent/sessions", "~/.pi/agent/sessions"),
        (b'{"sessionDir": "kept"}', {}, ".pi/agent/kept", "settings.json"),
        (b"{", {}, ".pi/agent/sessions", "~/.pi/agent/sessions"),
        (None, {"PI_CODING_AGENT_DIR": "HOME/a"}, "a/sessions", "PI_CODING_AGENT_DIR"),
        (
            None,
            {"PI_CODING_AGENT_SESSION_DIR": "HOME/s"},
            "s",
            "PI_CODING_AGENT_SESSION_DIR",
        ),
    ],
    ids=["usual", "its-settings", "broken-settings", "another-home", "another-folder"],
)
def test_where_sessions_are(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    settings: bytes | None,
    environment: dict[str, str],
    place: str,
    origin: str,
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    if settings is not None:
        put(tmp_path / ".pi/agent/settings.json", settings)
    named = {
        name: value.replace("HOME", str(tmp_path))
        for name, value in environment.items()
    }
    (home,) = Pi().homes(named)
    assert (home.path, home.origin.endswith(origin)) == (tmp_path / place, True)
