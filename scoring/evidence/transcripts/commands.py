"""What the objective checks look for in a shell command (contract sections 2.8 and 10)."""

import re

from scoring.evidence.transcripts.checks import LOOP_STATE_FILE, is_test_command, reads_loop_state
from scoring.evidence.transcripts.events import BASH, LOOP_STATE, TESTS

_READERS = frozenset(("cat", "sed", "head", "tail"))


def command_flags(command: str) -> int:
    """Return what a shell command shows, as bits: it ran, it ran a test tool, it read the loop state."""
    flags = BASH | TESTS if is_test_command(command) else BASH
    if LOOP_STATE_FILE in command and any(map(_reads, re.split(r"[|;&>\n]", command))):
        flags |= LOOP_STATE
    return flags


def _reads(command: str) -> bool:
    """Tell whether a single command shows the loop state; ``sed -i`` writes it."""
    reader = ""
    for word in re.findall(r"[\w./~$*+@%-]+", command):
        name = word.rpartition("/")[2]
        if name in _READERS:
            reader = name
        elif reader == "sed" and re.match(r"-\w*i|--in-place", word):
            reader = ""
        elif reader and reads_loop_state(word):
            return True
    return False
