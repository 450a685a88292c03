"""Deliberations of sub-agents in sessions become DR transcripts, and vote."""

import json
from pathlib import Path
from typing import Any

import pytest
from helpers import checkpoints
from helpers.commands import DaScore, one_line
from helpers.repos import Repo

from scoring.errors import silent
from scoring.evidence.deliberations import (
    deliberations_in,
    session_transcript,
    transcript_from,
)
from scoring.evidence.transcripts.facts import TranscriptPlaces

PROMPT = (
    "Review the last commit for errors that would lose data, "
    "and say what must change before it is merged."
)
OTHER = "Write the resize job."
FIRST = (
    "- The lock is never freed.\n- A failed write is ignored.\n\nIs the queue bounded?"
)
SECOND = "- The lock is never freed.\n- The index is built twice."


def line(kind: str, *blocks: dict[str, Any]) -> str:
    return (
        json.dumps(
            {
                "type": kind,
                "sessionId": "s1",
                "message": {"role": kind, "content": list(blocks)},
            }
        )
        + "\n"
    )


def asks(number: int, prompt: str, **more: Any) -> dict[str, Any]:
    given = {"prompt": prompt, "subagent_type": "reviewer", **more}
    return {"type": "tool_use", "id": f"t{number}", "name": "Task", "input": given}


def answers(number: int, text: str, **more: Any) -> str:
    content = [
        {"type": "text", "text": text},
        {"type": "text", "text": "agentId: a1 (for resuming)"},
    ]
    return line(
        "user",
        {
            "type": "tool_result",
            "tool_use_id": f"t{number}",
            "content": content,
            **more,
        },
    )


REVIEW = (
    line("assistant", asks(1, PROMPT), asks(2, PROMPT + " Look at speed."))
    + answers(2, FIRST)
    + answers(1, SECOND)
)


def test_answers_to_one_prompt_are_rounds_in_the_order_in_which_they_came() -> None:
    (found,) = deliberations_in(REVIEW.encode())
    rounds = transcript_from(found, "s1")["rounds"]
    assert [(r["round"], r["agent"], r["outputs"]["claims"]) for r in rounds] == [
        (1, "reviewer 1", ["The lock is never freed.", "A failed write is ignored."]),
        (2, "reviewer 2", ["The lock is never freed.", "The index is built twice."]),
    ]
    assert rounds[0]["outputs"]["open_questions"] == ["Is the queue bounded?"]
    assert {r["outputs"]["claims_from"] for r in rounds} == {"text"}


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="nothing"),
        pytest.param(
            line("assistant", asks(1, PROMPT)) + answers(1, FIRST), id="one answer"
        ),
        pytest.param(
            line("assistant", asks(1, PROMPT), asks(2, PROMPT)) + answers(1, FIRST),
            id="one is not answered",
        ),
        pytest.param(
            line("assistant", asks(1, PROMPT), asks(2, OTHER))
            + answers(1, FIRST)
            + answers(2, SECOND),
            id="two prompts",
        ),
        pytest.param(
            line("assistant", asks(1, PROMPT), asks(2, PROMPT))
            + answers(1, FIRST)
            + answers(2, "no", is_error=True),
            id="one failed",
        ),
        pytest.param(
            line("assistant", asks(1, PROMPT), asks(2, PROMPT, run_in_background=True))
            + answers(1, FIRST)
            + answers(2, "Started."),
            id="one only started",
        ),
        pytest.param(
            '{"message": {"content": "tool_use"}}\n["tool_use"]\n"tool_result\n',
            id="other lines",
        ),
    ],
)
def test_anything_else_is_no_deliberation(text: str) -> None:
    assert deliberations_in(text.encode()) == []


def test_a_copy_of_an_answer_counts_once() -> None:
    (found,) = deliberations_in((REVIEW + answers(1, SECOND)).encode())
    assert len(found) == 2


def test_a_session_is_found_by_its_id_in_transcript_directories(tmp_path: Path) -> None:
    (tmp_path / "s1.jsonl").write_text(REVIEW, "utf-8")
    (tmp_path / "s1-b.jsonl").write_text(REVIEW, "utf-8")
    (tmp_path / "s1-c.jsonl").write_text(REVIEW, "utf-8")
    places = TranscriptPlaces(tmp_path, (tmp_path,))
    for name, found in (("s1", "s1"), ("s1-b", "s1-b")):
        assert session_transcript(name, places, silent) == (found, REVIEW.encode())
    for name, said in (
        ("s2", "no transcript of such a session"),
        (
            "s" * 300,
            "no transcript of such a session",
        ),  # longer than the name of a file
        ("s1-", "2 sessions begin so; write more of the id"),
    ):
        with pytest.raises(ValueError, match=f"{name}: {said}"):
            session_transcript(name, places, silent)


@pytest.mark.parametrize("has_transcript", [True, False])
def test_a_session_of_a_checkpoint_is_found_by_its_transcript(
    repo: Repo, has_transcript: bool
) -> None:
    files: dict[str, bytes | dict[str, Any]] = {
        "0/metadata.json": checkpoints.about("s1")
    }
    if has_transcript:
        files["0/full.jsonl"] = REVIEW.encode()
    checkpoints.record(repo, {checkpoints.name(1): files})

    places = TranscriptPlaces(repo.path)
    if has_transcript:
        assert session_transcript("s1", places, silent) == ("s1", REVIEW.encode())
    else:
        with pytest.raises(ValueError, match="s1: no transcript of such a session"):
            session_transcript("s1", places, silent)


def test_a_deliberation_from_a_session_is_an_observation_of_an_iteration(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, da_score: DaScore
) -> None:
    monkeypatch.chdir(repo.path)
    log = repo.path / ".agents/active/iteration-log"
    log.mkdir(parents=True)
    sha = repo.commit({"a.py": "x"}, "work")
    (log / "iter-1.yaml").write_text(
        f"schema_version: 2\niteration: 1\ncommit: {sha}\nimpl: {{retries: 1}}\n"
    )
    (tmp_path / "s1.jsonl").write_text(REVIEW, "utf-8")
    saved = da_score(
        "dr", "from-session", str(tmp_path / "s1.jsonl"), "--iteration", "1"
    )
    assert (saved.status, (log / "iter-1.dr.json").exists()) == (0, True)
    assert "rough rules" in saved.err
    for _ in range(2):  # scored, and from its sidecar
        found = da_score("iteration", "1", "--rubric", "3.1.0", "--json").json[
            "diminishing_returns"
        ]
        assert (found["present"], found["profile"]) == (True, "dr-2")
        assert found["detail"].endswith("2 rounds, claims cut out of text")
    assert "PROFILE    dr-2" in da_score("iteration", "1", "--rubric", "3.1.0").out
    judged = da_score(
        "dr",
        "judge",
        str(log / "iter-1.dr.json"),
        "--verdict",
        "CONTINUE",
        "--notes",
        "half is new",
    ).json
    assert judged["_expected"] == {
        "stop_recommendation": "CONTINUE",
        "notes": "half is new",
    }
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "one.json").write_text(json.dumps(judged))
    calibrated = da_score(
        "dr", "calibrate", str(tmp_path / "set"), "--no-semantic", "--k", "2", "--json"
    ).json
    assert calibrated["settings"][0]["agreement"]["agreed"] == 1


def test_what_is_wrong_is_one_line(tmp_path: Path, da_score: DaScore) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text(answers(1, FIRST), "utf-8")
    assert "no two sub-agents answered one prompt" in one_line(
        da_score("dr", "from-session", str(path))
    )
