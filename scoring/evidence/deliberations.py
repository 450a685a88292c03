"""The door to deliberations: ``iter-N.dr.json``, else ``iter-N.dr.jsonl``, beside the entries (contract section 8)."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # a log without a DR transcript does not pay for the meter
    from scoring.meters.dr.transcript import Transcript

SUFFIXES = (".dr.json", ".dr.jsonl")


def deliberation_file(log_dir: Path | str, iteration: int) -> Path | None:
    """Return where the DR transcript of an iteration lies; None when there is none."""
    for suffix in SUFFIXES:
        path = Path(log_dir) / f"iter-{iteration}{suffix}"
        if os.path.exists(path):
            return path
    return None


def read_deliberation(path: Path) -> "Transcript":
    """Read a DR transcript.

    Raises:
        TranscriptError: it is not there any more, cannot be read, or is no transcript.
    """
    from scoring.meters.dr.transcript import read_transcript

    return read_transcript(path)
