"""The harnesses that are read, in one table; a further one is a file after :class:`Harness`, and a line here."""

from functools import partial

from scoring.evidence.harnesses.amp import Amp
from scoring.evidence.harnesses.atif import Atif
from scoring.evidence.harnesses.claude import ClaudeCode
from scoring.evidence.harnesses.codex import Codex
from scoring.evidence.harnesses.copilot import CopilotCli
from scoring.evidence.harnesses.cursor import Cursor
from scoring.evidence.harnesses.droid import Droid
from scoring.evidence.harnesses.gemini import GeminiCli
from scoring.evidence.harnesses.harness import Harness
from scoring.evidence.harnesses.opencode import Kilo, OpenCode
from scoring.evidence.harnesses.pi import Pi
from scoring.evidence.harnesses.qwen import QwenCode
from scoring.evidence.transcripts.discovery import discover
from scoring.evidence.transcripts.scan import Scan, TranscriptRules

HARNESSES: tuple[Harness, ...] = (
    ClaudeCode(),
    Codex(),
)  # those that are read under corrected evidence

# Those that are read under attributed evidence: a further one goes here, so that no earlier score moves.
_FURTHER = (GeminiCli, QwenCode, Droid, Cursor, Amp, Pi, CopilotCli, Atif, Kilo, OpenCode)
ATTRIBUTED_HARNESSES: tuple[Harness, ...] = (*HARNESSES, *(harness() for harness in _FURTHER))

# Transcripts as found on disk: every response counts once, and only work done in the repository.
HARNESS_TRANSCRIPTS = TranscriptRules(discover, lambda: HARNESSES, "harness-transcripts")
harness_scan = partial(Scan, HARNESS_TRANSCRIPTS)
