"""What the objective checks look for in a shell command (contract sections 2.8 and 10).

Patterns are compiled when the first command needs them: few do.
"""

import re

from scoring.evidence.transcripts.checks import is_test_command
from scoring.evidence.transcripts.events import BASH, LOOP_STATE, TESTS

_READ = r"(?<![\w./-])(?:[\w./-]*/)?(?:cat|sed|head|tail)\s[^|;&>\n]*loop-state\.md(?![\w.-])"
_IN_PLACE = r"(?<![\w./-])(?:[\w./-]*/)?sed\s[^|;&>\n]*(?<=\s)(?:-[a-zA-Z]*i|--in-place)[^|;&>\n]*loop-state\.md"


def command_flags(command: str) -> int:
    """Return what a shell command shows, as bits: it ran, it ran a test tool, it read the loop state."""
    flags = BASH | TESTS if is_test_command(command) else BASH
    if "loop-state.md" in command and re.search(_READ, command) and not re.search(_IN_PLACE, command):
        flags |= LOOP_STATE
    return flags
