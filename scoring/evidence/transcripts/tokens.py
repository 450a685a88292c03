"""How the two harnesses name and count tokens (contract section 2.7)."""

from scoring.evidence.transcripts.events import Turn
from scoring.numbers import wrap64

CLAUDE_COUNTS = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
"""The counts of a Claude turn, in the order of :data:`~scoring.evidence.transcripts.events.Turn`."""

CODEX_COUNTS = ("input_tokens", "cached_input_tokens", "output_tokens")
"""The counts of a Codex turn, in the order of :func:`codex_turn`."""


def codex_turn(given: int, cached: int, output: int) -> Turn:
    """Return the tokens of one Codex turn: cached input was read, what is left of the input was created."""
    return given, output, cached, max(wrap64(given - cached), 0)
