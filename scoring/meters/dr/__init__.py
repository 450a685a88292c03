"""The meters of convergence: whether a deliberation still says something new, and whether it is ready to act.

A package of its own: transcript in, result out. It knows nothing of iteration logs. The names below are loaded when
they are first used, because a model of the input takes long to import.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scoring.meters.dr.meter import DRResult as DRResult
    from scoring.meters.dr.meter import Embed as Embed
    from scoring.meters.dr.meter import Signal as Signal
    from scoring.meters.dr.meter import score_transcript as score_transcript
    from scoring.meters.dr.semantic import open_embedder as open_embedder
    from scoring.meters.dr.thresholds import Thresholds as Thresholds
    from scoring.meters.dr.transcript import Outputs as Outputs
    from scoring.meters.dr.transcript import Round as Round
    from scoring.meters.dr.transcript import Transcript as Transcript
    from scoring.meters.dr.transcript import parse_transcript as parse_transcript
    from scoring.meters.dr.transcript import read_transcript as read_transcript
    from scoring.meters.dr.words import BUILT_IN as BUILT_IN
    from scoring.meters.dr.words import Words as Words

_HOMES = {
    "BUILT_IN": "words",
    "DRResult": "meter",
    "Embed": "meter",
    "Outputs": "transcript",
    "Round": "transcript",
    "Signal": "meter",
    "Thresholds": "thresholds",
    "Transcript": "transcript",
    "Words": "words",
    "open_embedder": "semantic",
    "parse_transcript": "transcript",
    "read_transcript": "transcript",
    "score_transcript": "meter",
}
"""The module of each public name."""

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
