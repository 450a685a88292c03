"""The harnesses that are read, in one table; a further one is a file after :class:`Harness`, and a line here."""

from functools import partial

from scoring.evidence.transcripts.amp import Amp
from scoring.evidence.transcripts.atif import Atif
from scoring.evidence.transcripts.claude import ClaudeCode
from scoring.evidence.transcripts.codex import Codex
from scoring.evidence.transcripts.copilot import CopilotCli
from scoring.evidence.transcripts.cursor import Cursor
from scoring.evidence.transcripts.discovery import discover
from scoring.evidence.transcripts.droid import Droid
from scoring.evidence.transcripts.gemini import GeminiCli
from scoring.evidence.transcripts.harness import Harness
from scoring.evidence.transcripts.opencode import Kilo, OpenCode
from scoring.evidence.transcripts.pi import Pi
from scoring.evidence.transcripts.qwen import QwenCode
from scoring.evidence.transcripts.scan import Scan, TranscriptRules

HARNESSES: tuple[Harness, ...] = (ClaudeCode(), Codex())  # those that are read under corrected evidence

# Those that are read under attributed evidence: a further one goes here, so that no earlier score moves.
_FURTHER = (GeminiCli, QwenCode, Droid, Cursor, Amp, Pi, CopilotCli, Atif, Kilo, OpenCode)
ATTRIBUTED_HARNESSES: tuple[Harness, ...] = (*HARNESSES, *(harness() for harness in _FURTHER))

# Transcripts as found on disk: every response counts once, and only work done in the repository.
HARNESS_TRANSCRIPTS = TranscriptRules(discover, lambda: HARNESSES, "harness-transcripts")
harness_scan = partial(Scan, HARNESS_TRANSCRIPTS)
