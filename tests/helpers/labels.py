"""Files of labels for tests, written by hand and not by what is tested."""

from pathlib import Path
from typing import Any

import yaml

NOON = "2026-03-01T12:00:00Z"

SOUND = ("--correctness", "3", "--scope", "on-target", "--hallucination", "none")
"""Options of ``da-score label`` for a first label."""


SCOPES = ("breach", "partial", "partial", "on-target")
HALLUCINATIONS = ("major", "minor", "minor", "none")
"""What goes with a correctness from 0 to 3 where a test does not say."""


def edit(
    correctness: int,
    scope: str | None = None,
    hallucination: str | None = None,
    **more: Any,
) -> dict[str, Any]:
    """Return one edit of a label: 3 is worth 1, and 0 is worth 0."""
    structured = {
        "correctness": correctness,
        "scope_judgement": scope or SCOPES[correctness],
        "hallucination": hallucination or HALLUCINATIONS[correctness],
    }
    return {
        "actor": "x",
        "role": "reviewer",
        "timestamp": NOON,
        "structured": structured,
    } | more


def label(actor: str, *history: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return a label of somebody."""
    return {
        "id": f"label-{actor}",
        "iteration": 5,
        "actor": actor,
        "role": "reviewer",
        "schema_version": "1.0.0",
        "created_at": NOON,
        "updated_at": NOON,
        "history": list(history),
    } | more


def content(*labels: Any, **more: Any) -> bytes:
    """Return a file of labels."""
    return yaml.safe_dump(
        {"iteration": 5, "schema_version": "1.0.0", "labels": list(labels)} | more,
        sort_keys=False,
    ).encode()


def write(folder: Path, *labels: Any, **more: Any) -> Path:
    """Write the labels of iteration 5 into a folder, and return where."""
    path = folder / "iter-5.labels.yaml"
    path.write_bytes(content(*labels, **more))
    return path
