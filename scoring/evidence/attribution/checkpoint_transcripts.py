"""The transcripts that checkpoints hold, which are objects in git."""

from collections.abc import Iterable
from pathlib import Path

from scoring.evidence.git.checkpoint_files import BRANCH
from scoring.evidence.git.checkpoints import Checkpoint
from scoring.evidence.git.repository import GitRepository
from scoring.evidence.transcripts.facts import FileFound, RootFound
from scoring.evidence.transcripts.transcript_files import Discovery, TranscriptFile

NOT_HERE = "its object is not in this clone"


def checkpoint_transcripts(
    checkpoints: Iterable[Checkpoint], repository: GitRepository
) -> Discovery:
    """Return the transcripts of checkpoints, each once.

    A transcript is left out when one of its objects is not in this clone.
    """
    transcripts: dict[tuple[str, ...], TranscriptFile] = {}
    left_out: list[FileFound] = []
    count = 0
    for checkpoint in checkpoints:
        for session in checkpoint.sessions:
            if session.blobs:
                count += 1
            if session.missing:
                names = (session.session_id,) if session.session_id else ()
                left_out.append(FileFound(Path(session.path), sessions=names, left_out=NOT_HERE))
            elif session.blobs:
                transcript = TranscriptFile(
                    str(Path(session.path)),
                    whole=True,
                    blobs=session.blobs,
                    repository=repository,
                    size=session.size,
                    session=session.session_id,
                )
                transcripts.setdefault(session.blobs, transcript)

    roots = [RootFound(Path(BRANCH), "checkpoints", files=count)] if count else []
    return Discovery(tuple(transcripts.values()), tuple(left_out), tuple(roots))
