"""ATIF: what the steps of a trajectory say, and of one that goes on from another."""

from pathlib import Path
from typing import Any

import pytest
from helpers.harness_lines import Line, stamp
from helpers.sessions import CORRECTION, events_of, put, read_under, seen
from helpers.story import FOUND, IN_PARTS, STORY, Step, damaged, read_anyhow

from scoring.evidence.transcripts.events import Compaction
from scoring.evidence.transcripts.transcript_events import TranscriptEvents

TOOLS = {"read": "Read", "edit": "Edit", "write": "Write", "run": "Bash"}
NOT_WRITTEN = {"refused", "stop"}


def step(
    number: int,
    source: str,
    message: str = "so",
    second: float | None = None,
    **keys: Any,
) -> Line:
    time = {"timestamp": stamp(number if second is None else second)}
    return {"step_id": number, "source": source, "message": message} | time | keys


def metrics(output: int, given: int, reads: int, writes: int) -> Line:
    of = {
        "prompt_tokens": given + reads + writes,
        "cached_tokens": reads,
        "completion_tokens": output,
    }
    return {"metrics": of | {"extra": {"cache_creation_input_tokens": writes}}}


def called(name: str, said: str, call: str = "c1", **given: Any) -> Line:
    asked = {"tool_call_id": call, "function_name": name, "arguments": given}
    return {
        "tool_calls": [asked],
        "observation": {"results": [{"source_call_id": call, "content": said}]},
    }


def written(of: Step) -> Line:
    if of.what == "prompt":
        return step(of.second, "user", of.text)
    if of.what == "say":
        return step(of.second, "agent", of.text, **metrics(*of.tokens))
    given = (
        {"command": of.text}
        if of.what == "run"
        else {"file_path": of.text, "old_string": "a", "new_string": "b"}
    )
    given |= {"content": "x"} if of.what == "write" else {}
    return step(
        of.second,
        "agent",
        **metrics(*of.tokens),
        **called(TOOLS[of.what], of.said, of.call, **given),
    )


WHOLE = [written(of) for of in STORY if of.what not in NOT_WRITTEN]


def document(*steps: Any, **keys: Any) -> Line:
    about = {
        "schema_version": "ATIF-v1.7",
        "session_id": "t1",
        "agent": {"name": "x", "model_name": "m"},
    }
    return about | {"steps": list(steps)} | keys


def trajectory(tmp_path: Path, *steps: Any, **keys: Any) -> TranscriptEvents:
    return events_of(
        put(
            tmp_path / "agent" / "trajectory.json",
            document(*steps, **keys),
            document=True,
        ),
        "atif",
    )


def test_a_trajectory_says_what_happened_and_of_no_call_how_it_ended(
    tmp_path: Path,
) -> None:
    events = trajectory(tmp_path, *WHOLE)
    expected = {
        name: found for name, found in FOUND.items() if name not in ("breaks", "failed")
    }
    assert seen(events) == expected | {
        "responses": 8,
        "tokens": (438, 2438, 24380, 198),
    }
    assert {(span.cwd, span.session, span.model) for span in events.spans} == {
        ("", "t1", "m")
    }


def test_one_that_goes_on_repeats_nothing(tmp_path: Path) -> None:
    copied = [one | {"is_copied_context": True} for one in WHOLE[:6]]
    put(tmp_path / "trajectory.json", document(*WHOLE[:6]), document=True)
    put(
        tmp_path / "trajectory.cont-1.json",
        document(*copied, *WHOLE[6:]),
        document=True,
    )
    first, second = (
        read_under(tmp_path)[tmp_path / f"trajectory.{name}"]["atif"]
        for name in ("json", "cont-1.json")
    )
    assert (
        seen(first)["responses"] + seen(second)["responses"],
        first.begins_session,
        second.begins_session,
    ) == (
        8,
        True,
        False,
    )
    assert not {line.key for line in first.lines} & {line.key for line in second.lines}


@pytest.mark.parametrize(
    ("keys", "found"),
    [
        ({}, {"responses": 1, "tokens": (7, 5, 3, 2)}),
        ({"metrics": None}, {"responses": 1, "unknown": 1, "stated": [(9, 4, 2, 0)]}),
        ({"metrics": None, "llm_call_count": 0}, {"stated": [(9, 4, 2, 0)]}),
    ],
    ids=["of-the-step", "of-the-whole", "no-model-was-asked"],
)
def test_tokens_are_those_of_the_steps_or_else_of_the_whole(
    tmp_path: Path, keys: Line, found: Line
) -> None:
    totals = {
        "total_completion_tokens": 9,
        "total_prompt_tokens": 6,
        "total_cached_tokens": 2,
    }
    assert (
        seen(
            trajectory(
                tmp_path,
                step(1, "agent", **metrics(7, 5, 3, 2) | keys),
                final_metrics=totals,
            )
        )
        == found
    )


def test_a_step_without_a_time_has_that_of_the_one_before(tmp_path: Path) -> None:
    timeless = step(2, "agent") | {"timestamp": None}
    assert (
        len(
            {
                line.time
                for line in trajectory(tmp_path, step(1, "user"), timeless).lines
            }
        )
        == 1
    )
    assert trajectory(tmp_path, timeless, timeless).skipped == {"no time stamp": 2}


def test_a_result_without_a_call_is_that_of_the_call_in_its_place(
    tmp_path: Path,
) -> None:
    run = called("Bash", "1 failed in 1s", command="pytest")
    run["observation"]["results"][0].pop("source_call_id")
    assert seen(trajectory(tmp_path, step(1, "agent", **run)))["runs"] == [0]


def test_a_subagent_is_no_person_and_a_compaction_is_noted(tmp_path: Path) -> None:
    inside = document(step(2, "user", CORRECTION), session_id="s2")
    extra: Line = {"extra": {"context_management": {"type": "compaction"}}}
    events = trajectory(
        tmp_path,
        step(1, "agent", **called("Bash", "x")),
        subagent_trajectories=[inside],
    )
    assert (
        sorted(span.agent for span in events.spans),
        "corrections" in seen(events),
    ) == (
        [False, True],
        False,
    )
    assert len(trajectory(tmp_path, step(1, "system", **extra)).of(Compaction)) == 1


def test_sources_that_are_not_known_are_named_and_another_form_too(
    tmp_path: Path,
) -> None:
    events = trajectory(tmp_path, step(1, "ghost"), 5)
    kinds = {
        "of a kind that is not known: ghost, version ATIF-v1.7": 1,
        "a field of another type": 1,
    }
    assert events.skipped == kinds
    other = put(
        tmp_path / "trajectory.json",
        {"schema_version": "2", "steps": []},
        document=True,
    )
    assert events_of(other, "atif").skipped == {
        "of a kind that is not known: document": 1
    }


@IN_PARTS
def test_no_value_of_another_type_stops_the_reader(part: int) -> None:
    for lines in damaged([document(*WHOLE)], part):
        read_anyhow("atif", lines)
