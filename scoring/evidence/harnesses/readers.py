"""The table of the harnesses that are read.

See docs/ARCHITECTURE.md, "A harness", for how to add one.
"""

from .amp import Amp
from .antigravity import Antigravity
from .atif import Atif
from .claude import ClaudeCode
from .cline import Cline
from .codex import Codex
from .copilot import CopilotCli
from .cowork import Cowork
from .cursor import Cursor
from .droid import Droid
from .gemini import GeminiCli
from .goose import Goose
from .harness import Harness
from .kimi import KimiCode
from .opencode import Kilo, OpenCode
from .pi import Pi
from .qwen import QwenCode

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

OF_DOCUMENTS = frozenset(
    harness.name
    for harness in HARNESSES
    if getattr(harness.reader, "in_documents", False)
)
"""The harnesses of which events are counted, since a line may hold several."""
