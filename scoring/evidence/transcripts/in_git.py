"""Transcripts that are no files but objects in git: those of checkpoints (``docs/EVIDENCE.md``, "Checkpoints in git").

They are this repository's own, so all of each counts, whatever folder its lines name.
"""

from collections.abc import Collection, Iterable
from pathlib import Path

from scoring.evidence.git.checkpoints import BRANCH, Checkpoint, TokenTotals
from scoring.evidence.git.repository import GitRepository
from scoring.evidence.transcripts.discovery import Discovery, TranscriptFile
from scoring.evidence.transcripts.facts import FileFound, RootFound

NOT_HERE = "its object is not in this clone"


def checkpoint_transcripts(checkpoints: Iterable[Checkpoint], repository: GitRepository) -> Discovery:
    """Return the transcripts of checkpoints, each once; one of which an object is not in this clone is left out."""
    found: dict[tuple[str, ...], TranscriptFile] = {}
    left_out: list[FileFound] = []
    count = 0
    for checkpoint in checkpoints:
        for session in checkpoint.sessions:
            path = Path(session.path)
            count += bool(session.blobs)
            if session.missing:
                left_out.append(FileFound(path, sessions=tuple(filter(None, (session.session_id,))), left_out=NOT_HERE))
            elif session.blobs:
                transcript = TranscriptFile(path, True, False, session.blobs, repository, session.size)
                found.setdefault(session.blobs, transcript)
    roots = (RootFound(Path(BRANCH), "checkpoints", files=count),) if count else ()
    return Discovery(tuple(found.values()), tuple(left_out), roots)


def stated_totals(checkpoints: Iterable[Checkpoint], read: Collection[str]) -> dict[str, dict[str, TokenTotals]]:
    """Return the tokens that checkpoints state, by session, of those from which no transcript was ``read``.

    They are of the session up to the checkpoint, in newer layouts of its part: their proportions are what counts.
    """
    found = {
        checkpoint.id: {session.session_id: session.tokens for session in checkpoint.sessions if session.tokens}
        for checkpoint in checkpoints
        if checkpoint.id not in read
    }
    return {name: tokens for name, tokens in found.items() if tokens}


def lines_by_people(checkpoints: Iterable[Checkpoint]) -> float | None:
    """Return the share of the committed lines that people wrote or changed; None where no checkpoint says that."""
    lines = [session.lines for checkpoint in checkpoints for session in checkpoint.sessions if session.lines]
    whole = sum(part.total_committed or 0 for part in lines)
    human = sum((part.human_added or 0) + (part.human_modified or 0) for part in lines)
    return min(1.0, human / whole) if whole else None


def as_turn_counts(tokens: TokenTotals) -> TokenTotals:
    """Return totals with what was written to the cache, which Codex does not state: the input not read from it."""
    if tokens.cache_creation or not 0 < tokens.cache_read <= tokens.input:
        return tokens
    return tokens._replace(cache_creation=tokens.input - tokens.cache_read)
