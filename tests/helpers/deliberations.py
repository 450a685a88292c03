"""Transcripts of deliberations for tests."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from scoring.meters.dr import Transcript

BLOCKED = "Blocked until the keys are there"
OWNED = ["Anna: run the migration on staging", "We will deploy the fix by Friday"]
"""Next actions that are specific, and somebody does them."""


def outputs(
    claims: Sequence[str] = (),
    actions: Sequence[str] = (),
    questions: Sequence[str] = (),
    summary: str | None = None,
) -> dict[str, Any]:
    """What a round puts out."""
    found: dict[str, Any] = {
        "claims": list(claims),
        "next_actions": list(actions),
        "open_questions": list(questions),
    }
    return found if summary is None else {**found, "summary": summary}


def document(*rounds: dict[str, Any]) -> dict[str, Any]:
    """A transcript as JSON has it, its rounds numbered from 1."""
    return {
        "rounds": [{"round": i, "outputs": given} for i, given in enumerate(rounds, 1)]
    }


def transcript(*rounds: dict[str, Any]) -> Transcript:
    """A transcript of rounds, numbered from 1."""
    return Transcript.model_validate(document(*rounds))


def round_line(number: int, *claims: str, **more: Any) -> str:
    """A line of JSONL with its line feed."""
    return (
        json.dumps(
            {"type": "round", "round": number, "outputs": outputs(claims, **more)}
        )
        + "\n"
    )


def write_json(path: Path, value: Any) -> Path:
    """Write a value as JSON."""
    path.write_text(json.dumps(value), "utf-8")
    return path


def new_claims(*counts: int) -> list[list[str]]:
    """Return claims for rounds that add so many new ones and repeat some of the round before.

    New claims share no word with another one.
    """
    number = 0
    rounds: list[list[str]] = []
    for count in counts:
        added = [f"alpha{i} beta{i} gamma{i}" for i in range(number, number + count)]
        number += count
        rounds.append([*added, *(rounds[0][:1] if rounds else [])])
    return rounds


MEETING = transcript(
    *(
        outputs(claims, actions)
        for claims, actions in zip(
            new_claims(4, 1, 1, 1, 0, 0),
            [
                [],
                [],
                [],
                ["Convert this into a 1-page facilitation checklist."],
                ["End."],
                ["End."],
            ],
            strict=True,
        )
    )
)
"""A meeting of six rounds: 4, 1, 1, 1, 0 and 0 new claims."""
