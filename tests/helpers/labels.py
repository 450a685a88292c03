"""Files of labels for tests, written by hand and not by what is tested."""

from pathlib import Path
from typing import Any

import yaml

NOON = "2026-03-01T12:00:00Z"


def edit(
    correctness: Any = None, scope: Any = None, hallucination: Any = None, **more: Any
) -> dict[str, Any]:
    """Return one edit of a label, with the values that are given."""
    values = {"correctness": correctness, "scope_judgement": scope, "hallucination": hallucination}
    structured = {name: value for name, value in values.items() if value is not None}
    return {"actor": "x", "role": "reviewer", "timestamp": NOON, "structured": structured} | more


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
        {"iteration": 5, "schema_version": "1.0.0", "labels": list(labels)} | more, sort_keys=False
    ).encode()


def write(folder: Path, *labels: Any, **more: Any) -> Path:
    """Write the labels of iteration 5 into a folder, and return where."""
    path = folder / "iter-5.labels.yaml"
    path.write_bytes(content(*labels, **more))
    return path
