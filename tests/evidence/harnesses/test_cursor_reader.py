"""Cursor: what a transcript says, and what it leaves unknown."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from helpers.commands import DaScore
from helpers.harness_lines import NS, START, Line
from helpers.places import Place
from helpers.repos import START as COMMITTED
from helpers.repos import STEP
from helpers.sessions import CORRECTION, events_of, put, seen
from helpers.story import FOUND, IN_PARTS, STORY, TYPED, Step, damaged, read_anyhow

from scoring.evidence.harnesses.json_reader import NO_TIME
from scoring.evidence.transcripts.transcript_events import TranscriptEvents
from scoring.evidence.transcripts.work_trees import SPELLED_FOLDER, WorkTrees

PROJECT = ".cursor/projects/work-app/agent-transcripts"
TOOLS = {
    "read": "Read",
    "edit": "StrReplace",
    "write": "Write",
    "run": "Shell",
    "refused": "Shell",
}
STAMP = "Sunday, Apr 12, 2026, 1:20 PM (UTC)"  # START
STOPPED = {
    "type": "turn_ended",
    "status": "aborted",
    "error": "User aborted/interrupted manually.",
}


def user(said: str, stamp: str = "") -> Line:
    text = f"<timestamp>{stamp}</timestamp>" if stamp else ""
    text += f"<user_query>\n{said}\n</user_query>"
    return {"role": "user", "message": {"content": [{"type": "text", "text": text}]}}


def agent(tool: str = "Read", **given: Any) -> Line:
    parts = [
        {"type": "text", "text": "[REDACTED]"},
        {"type": "tool_use", "name": tool, "input": given},
    ]
    return {"role": "assistant", "message": {"content": parts}}


def written(step: Step) -> Line:
    if step.what == "prompt":
        return user(step.text, STAMP)
    if step.what in ("say", "stop"):
        return (
            STOPPED
            if step.what == "stop"
            else {"role": "assistant", "message": {"content": step.text}}
        )
    shell = step.what in ("run", "refused")
    given = (
        {"command": step.text}
        if shell
        else {"path": step.text, "old_string": "a", "new_string": "b"}
    )
    return agent(
        TOOLS[step.what], **given | ({"contents": "x"} if step.what == "write" else {})
    )


def transcript(
    tmp_path: Path, *lines: Any, name: str = "k1/k1.jsonl"
) -> TranscriptEvents:
    return events_of(put(tmp_path / PROJECT / name, *lines), "cursor")


@pytest.mark.parametrize("key", ["target_notebook", "path"])
def test_a_notebook_is_edited(tmp_path: Path, key: str) -> None:
    given = {key: "/work/app/n.ipynb", "old_string": "a", "new_string": "b"}
    events = transcript(tmp_path, user("Plot", STAMP), agent("EditNotebook", **given))
    assert seen(events)["edits"] == ["/work/app/n.ipynb"]


def test_a_transcript_says_what_was_done_and_not_how_it_ended(tmp_path: Path) -> None:
    events = transcript(tmp_path, *map(written, STORY))
    expected = {name: FOUND[name] for name in ("responses", "edits", "corrections")}
    unknown = {
        "unknown": 9,
        "calls": 8,
        "breaks": ["interruption"],
        "runs": [None, None],
        "commits": [""],
    }
    assert seen(events) == expected | unknown
    (span,) = events.spans
    assert (span.cwd, span.session, span.agent) == (
        f"{SPELLED_FOLDER}work-app",
        "k1",
        False,
    )
    assert {line.time for line in events.lines} == {START * NS}


@pytest.mark.parametrize(
    ("stamp", "second"),
    [
        ("Sunday, Apr 12, 2026, 1:20 PM (UTC)", 0),
        ("Sunday, Apr 12, 2026, 6:20 AM (UTC-7)", 0),
        ("Sunday, Apr 12, 2026, 6:50 PM (UTC+5:30)", 0),
        ("Monday, Apr 13, 2026, 12:00 AM (UTC)", 38400),
        ("Sunday, Apr 12, 2026, 12:20 PM (UTC)", -3600),
    ],
)
def test_a_prompt_states_the_time_up_to_the_next(
    tmp_path: Path, stamp: str, second: int
) -> None:
    events = transcript(tmp_path, user("Go", stamp), agent())
    assert [line.time for line in events.lines] == [(START + second) * NS] * 2


@pytest.mark.parametrize(
    "stamp",
    [
        "",
        "Sunday, Apr 12, 2026, 1:20 PM",
        "Sunday, Xyz 12, 2026, 1:20 PM (UTC)",
        "Sunday, Apr 32, 2026, 1:20 PM (UTC)",
    ],
)
def test_without_a_time_no_line_has_one(tmp_path: Path, stamp: str) -> None:
    events = transcript(tmp_path, user("Go", stamp), agent())
    assert (events.lines, events.skipped) == ([], {NO_TIME: 2})


def test_lines_before_the_first_time_have_that_and_none_goes_back(
    tmp_path: Path,
) -> None:
    lines = [
        user("Go"),
        agent(),
        user("On", STAMP),
        user("Before", "Sunday, Apr 12, 2026, 1:00 PM (UTC)"),
    ]
    assert [line.time for line in transcript(tmp_path, *lines).lines] == [
        START * NS
    ] * 4


def test_a_copy_elsewhere_has_the_same_keys_and_another_session_has_others(
    tmp_path: Path,
) -> None:
    story = list(map(written, STORY))
    keys = [line.key for line in transcript(tmp_path, *story).lines]
    copied = events_of(put(tmp_path / "copy" / "full.jsonl", *story), "cursor")
    assert [line.key for line in copied.lines] == keys
    other = events_of(
        put(tmp_path / "other" / "full.jsonl", user("Go", STAMP), *story[1:]), "cursor"
    )
    assert not {line.key for line in other.lines} & set(keys)


@pytest.mark.parametrize(
    ("line", "corrections"),
    [(user(CORRECTION), 1), ({"role": "user", "message": {"content": CORRECTION}}, 0)],
    ids=["typed", "context"],
)
def test_a_prompt_is_what_a_person_typed(
    tmp_path: Path, line: Line, corrections: int
) -> None:
    assert (
        seen(transcript(tmp_path, user("Go", STAMP), agent(), line)).get(
            "corrections", 0
        )
        == corrections
    )


def test_a_subagent_has_no_prompts_of_a_person(tmp_path: Path) -> None:
    events = transcript(
        tmp_path,
        user(TYPED[0], STAMP),
        agent(),
        user(CORRECTION),
        name="k1/subagents/k2.jsonl",
    )
    assert [(span.session, span.parent, span.agent) for span in events.spans] == [
        ("k2", "k1", True)
    ]
    assert "corrections" not in seen(events)


def test_lines_of_other_kinds_are_named(tmp_path: Path) -> None:
    events = transcript(
        tmp_path,
        user("Go", STAMP),
        {"type": "dream"},
        {"role": "user", "message": 5},
        b"{",
        [1],
    )
    assert events.skipped == {
        "of a kind that is not known: dream": 1,
        "not JSON": 1,
        "a field of another type": 1,
    }


@pytest.mark.parametrize("stamp", [STAMP, ""], ids=["with a time", "without any"])
def test_a_line_that_is_nested_deep_does_not_end_the_reading(
    tmp_path: Path, stamp: str
) -> None:
    first = user("Go", stamp)
    for depth in range(900, 1000):
        nested = b"[" * depth + b"]" * depth
        line = json.dumps(first)[:-1].encode() + b', "x": ' + nested + b"}"
        events = transcript(tmp_path, line, agent(), line)
        assert events.skipped or events.lines


@pytest.mark.parametrize(
    ("name", "here"),
    [("", True), ("-web", False)],
    ids=["of-the-repository", "of-another"],
)
def test_the_name_of_a_folder_is_compared_with_known_paths(
    tmp_path: Path, name: str, here: bool
) -> None:
    place = Place(tmp_path)
    place.iteration(1)
    spelled = str(place.path).lstrip("/").replace("/", "-").replace(".", "-")
    assert WorkTrees(place.path)(f"{SPELLED_FOLDER}{spelled}{name}") is here


@IN_PARTS
def test_no_value_of_another_type_stops_the_reader(part: int) -> None:
    for lines in damaged(list(map(written, STORY)), part):
        read_anyhow("cursor", lines)


def test_what_it_does_not_write_is_unknown_everywhere(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, da_score: DaScore
) -> None:
    place.iteration(1)
    monkeypatch.setenv("CURSOR_CONFIG_DIR", str(tmp_path / "config"))
    spelled = str(place.path).lstrip("/").replace("/", "-").replace(".", "-")
    typed = datetime.fromtimestamp(COMMITTED - STEP // 2, UTC).strftime(
        "%A, %b %d, %Y, %I:%M %p (UTC)"
    )
    lines = [
        user("Go", typed),
        *(written(step) for step in STORY if step.what == "run"),
        STOPPED,
    ]
    put(tmp_path / "config/projects" / spelled / "agent-transcripts/k1.jsonl", *lines)
    (unit,) = [
        one
        for one in da_score("work", "--json").json["units"]
        if one["harness"] == "cursor"
    ]
    assert (unit["calls"], unit["cost"], set(unit["tokens"].values())) == (
        3,
        None,
        {None},
    )
    (found,) = da_score("signals", "--rubric", "3.1.0").json
    details = {name: signal["detail"] for name, signal in found["signals"].items()}
    assert details["tests"].startswith(
        "last run has no verdict (2 test runs, 2 without a verdict)"
    )
    assert details["correction_pressure"].startswith(
        "0 retries, 1 user correction; observed: 1 interruption"
    )
    assert details["token_efficiency"].startswith(
        "tokens unknown: 3 turns that do not state them"
    )
