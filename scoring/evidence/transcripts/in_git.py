"""Transcripts that are no files but objects in git: those of checkpoints (``docs/EVIDENCE.md``, "Checkpoints in git").

A scan takes them beside what it finds on disk. They are this repository's own, so all of each counts, whatever folder
its lines name.
"""

from collections.abc import Iterable
from pathlib import Path

from scoring.evidence.git.checkpoints import BRANCH, Checkpoint
from scoring.evidence.git.repository import GitRepository
from scoring.evidence.transcripts.discovery import Discovery, TranscriptFile
from scoring.evidence.transcripts.facts import FileFound, RootFound

NOT_HERE = "its object is not in this clone"


def checkpoint_transcripts(checkpoints: Iterable[Checkpoint], repository: GitRepository) -> Discovery:
    """Return the transcripts of checkpoints, each once however many checkpoints hold it.

    One of which an object is not in this clone is left out; nothing is fetched.
    """
    found: dict[tuple[str, ...], TranscriptFile] = {}
    left_out: list[FileFound] = []
    count = 0
    for checkpoint in checkpoints:
        for session in checkpoint.sessions:
            path = Path(f"{BRANCH}:{session.path}")
            count += bool(session.blobs)
            if session.missing:
                left_out.append(FileFound(path, sessions=tuple(filter(None, (session.session_id,))), left_out=NOT_HERE))
            elif session.blobs:
                transcript = TranscriptFile(path, True, False, session.blobs, repository, session.size)
                found.setdefault(session.blobs, transcript)
    roots = (RootFound(Path(BRANCH), "checkpoints", files=count),) if count else ()
    return Discovery(tuple(found.values()), tuple(left_out), roots)
