"""Transcripts as the harnesses really write them (contract section 10), read down to the few numbers scoring needs.

``discovery`` finds the files, ``scan`` reads them in several processes, ``lines`` cuts them into lines, and each
harness's own module (``claude``, ``codex``) knows its records and how to count each deed once. ``rows`` is what is kept
of a file, ``ours`` tells which work counts, ``tally`` sums up. For a reader of another harness, write its file after
:class:`~scoring.evidence.transcripts.harness.Harness` and add its line.
"""

from scoring.evidence.transcripts.claude import ClaudeCode
from scoring.evidence.transcripts.codex import Codex
from scoring.evidence.transcripts.harness import Harness

HARNESSES: tuple[Harness, ...] = (
    ClaudeCode(),
    Codex(),
)
