"""Transcripts as the harnesses really write them (contract section 10), read down to the few numbers scoring needs.

``discovery`` finds the files, ``scan`` reads them in several processes, ``lines`` cuts them into lines, and each
harness's own module (``claude``, ``codex``) knows its records and how to count each deed once. ``rows`` is what is kept
of a file, ``ours`` tells which work counts, ``tally`` sums up. For a reader of another harness, write its file after
:class:`~scoring.evidence.harnesses.door.Harness` and add its line.
"""

from scoring.evidence.harnesses.claude import ClaudeCode
from scoring.evidence.harnesses.codex import Codex
from scoring.evidence.harnesses.door import Harness

HARNESSES: tuple[Harness, ...] = (
    ClaudeCode(),
    Codex(),
)
