"""What of the transcripts is not read, since a bound was reached or a file cannot be read."""

import os
import re
from bisect import bisect_left
from collections.abc import Collection, Iterator
from contextlib import suppress
from typing import NamedTuple

from scoring.errors import silent
from scoring.evidence.commands.git_commands import COMMIT_MADE, LONGEST_BRANCH
from scoring.evidence.transcripts.opening import opened_transcript
from scoring.evidence.transcripts.transcript_events import TranscriptEvents
from scoring.evidence.transcripts.transcript_files import TranscriptFile

from .fields import MANY_VALUES
from .json_reader import TOO_DEEP, TOO_LONG

_BOUNDS = {TOO_LONG, MANY_VALUES, TOO_DEEP}
"""Why a line is skipped that a harness may well have written."""

_MOST_SEARCHED = 256 << 20
_BLOCK = 1 << 20
_LONGEST_SHOWN = LONGEST_BRANCH + 50
_SHOWN = re.compile(
    rf"{COMMIT_MADE}|\.\.([0-9a-f]{{7,40}})\b|\b([0-9a-f]{{40}})\b".encode()
)
"""Matches commits as git prints them: where it made one, in a push, and in full."""


class NotRead(NamedTuple):
    """A transcript that is not read, or not all of it, or a folder that is not looked through.

    Attributes:
        why: why, in words that name it.
        transcript: the transcript; None for a folder.
        sessions: the ids of its sessions, as far as they were read.
        is_partly: whether the rest of it was read.
    """

    why: str
    transcript: TranscriptFile | None = None
    sessions: tuple[str, ...] = ()
    is_partly: bool = False


def lines_not_read(
    transcript: TranscriptFile, events: TranscriptEvents
) -> Iterator[NotRead]:
    """Yield that lines of a transcript are not read, for each bound that some of them reached."""
    for bound in sorted(_BOUNDS.intersection(events.skipped)):
        why = f"transcript {transcript.path}: lines are skipped ({bound})"
        yield NotRead(why, transcript, tuple(events.sessions()), is_partly=True)


def shows_one_of(transcript: TranscriptFile, shas: Collection[str]) -> bool | None:
    """Return whether the text of a transcript shows one of some commits as git prints it.

    None where it is not a file of plain text, cannot be read, or is too large to search.
    """
    if transcript.compressed or transcript.kind == "store" or transcript.blobs:
        return None

    in_order = sorted(shas)
    with suppress(OSError), opened_transcript(transcript.path, silent) as fd:
        if fd is None or os.fstat(fd).st_size > _MOST_SEARCHED:
            return None

        rest = b""
        while block := os.read(fd, _BLOCK):
            text = rest + block
            for match in _SHOWN.finditer(text):
                digits = match[match.lastindex or 0].decode()
                index = bisect_left(in_order, digits)
                if index < len(in_order) and in_order[index].startswith(digits):
                    return True
            rest = text[-_LONGEST_SHOWN:]
        return False
    return None
