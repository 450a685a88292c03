"""The table of the harnesses that are read.

See docs/ARCHITECTURE.md, "A harness", for how to add one.
"""

from scoring.evidence.harnesses.amp import Amp
from scoring.evidence.harnesses.antigravity import Antigravity
from scoring.evidence.harnesses.atif import Atif
from scoring.evidence.harnesses.claude import ClaudeCode, Cowork
from scoring.evidence.harnesses.cline import Cline
from scoring.evidence.harnesses.codex import Codex
from scoring.evidence.harnesses.copilot import CopilotCli
from scoring.evidence.harnesses.cursor import Cursor
from scoring.evidence.harnesses.droid import Droid
from scoring.evidence.harnesses.gemini import GeminiCli
from scoring.evidence.harnesses.goose import Goose
from scoring.evidence.harnesses.harness import Harness
from scoring.evidence.harnesses.kimi import KimiCode
from scoring.evidence.harnesses.opencode import Kilo, OpenCode
from scoring.evidence.harnesses.pi import Pi
from scoring.evidence.harnesses.qwen import QwenCode

HARNESSES: tuple[Harness, ...] = (
    ClaudeCode(),
    Codex(),
    GeminiCli(),
    QwenCode(),
    Droid(),
    Cursor(),
    Amp(),
    Pi(),
    CopilotCli(),
    Atif(),
    Cowork(),
    Antigravity(),
    Cline(),
    Goose(),
    KimiCode(),
    Kilo(),
    OpenCode(),
)
