"""Deliberations: the DR transcript beside an entry, ``iter-N.dr.json``, else ``iter-N.dr.jsonl``, and what it measures.

The meter (:mod:`scoring.meters.dr`) is loaded when there is a DR transcript to read, and not before.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from scoring.errors import TranscriptError

if TYPE_CHECKING:  # a log without a DR transcript does not pay for the meter
    from scoring.meters.dr import DRResult

PROFILE = "dr-1"
"""What the meter goes by unless a rubric names another profile, whatever the settings say: scores must compare."""


@dataclass(frozen=True, slots=True)
class DeliberationFacts:
    """A DR transcript and what the meter measured: ``result`` is None where it cannot be read, ``problem`` why."""

    path: Path
    result: "DRResult | None"
    problem: str = ""


def deliberation_names(iteration: int) -> list[str]:
    """Return what the DR transcript of an iteration may be called, beside its entry, the one that counts first."""
    return [f"iter-{iteration}.dr.json", f"iter-{iteration}.dr.jsonl"]


def deliberation_file(log_dir: Path | str, iteration: int) -> Path | None:
    """Return where the DR transcript of an iteration is; None when there is none."""
    paths = (Path(log_dir) / name for name in deliberation_names(iteration))
    return next((path for path in paths if os.path.exists(path)), None)


def deliberation_facts(log_dir: Path | str, iteration: int, profile: str = PROFILE) -> DeliberationFacts | None:
    """Read and measure an iteration's DR transcript under a released profile; None when there is none. Never raises."""
    path = deliberation_file(log_dir, iteration)
    if path is None:
        return None
    from rubric import released_profile
    from scoring.meters.dr import Profile, read_transcript, score_transcript

    try:
        measured = score_transcript(
            read_transcript(path), profile=Profile.from_data(released_profile(profile), profile)
        )
        return DeliberationFacts(path, measured)
    except TranscriptError as e:
        return DeliberationFacts(path, None, str(e).replace(str(path), path.name))
