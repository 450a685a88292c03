"""Why nothing of a transcript counts, and what the survey says of a transcript."""

from collections.abc import Collection
from pathlib import Path

from scoring.evidence.transcripts.facts import FileFound
from scoring.evidence.transcripts.transcript_events import TranscriptEvents

UNREADABLE = "cannot be read"
"""Why nothing of a transcript counts that cannot be read."""

ELSEWHERE = "work in another folder"
"""Why nothing of a transcript counts that names other folders."""

NO_FOLDER = "names no folder it worked in"
"""Why nothing of a transcript counts that names no folder."""

NOTHING_USABLE = "no line that could be used"
"""Why nothing of a transcript counts that has no line from which a reader took something."""

NOT_READ = "of a harness that is not read"
"""Why nothing of a transcript counts that no reader understands."""


def file_found(
    path: Path, parts: Collection[tuple[str, TranscriptEvents]], left_out: str
) -> FileFound:
    """Return what the survey says of a transcript.

    Args:
        path: the transcript.
        parts: its events, each after the name of the harness that wrote them. Without any, no
            line could be used, and that is why nothing counts.
        left_out: why nothing of it counts; "" when something does.
    """
    harnesses = "+".join(dict.fromkeys(name for name, _ in parts))
    sessions: dict[str, None] = {}
    folder = ""
    for _, events in parts:
        sessions.update(dict.fromkeys(events.sessions()))
        for span in reversed(events.spans):
            folder = folder or span.cwd
    why = left_out if parts else NOTHING_USABLE
    return FileFound(path, harnesses, tuple(sessions), folder, why)
