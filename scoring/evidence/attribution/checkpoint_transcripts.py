"""The transcripts that checkpoints hold, which are objects in git, and those on disk with them."""

import os
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from scoring.evidence.git.checkpoint_files import BRANCH
from scoring.evidence.git.checkpoints import Checkpoint, CheckpointSession
from scoring.evidence.git.repository import GitRepository
from scoring.evidence.transcripts.counter import CountedHarness
from scoring.evidence.transcripts.facts import FileFound, RootFound, timestamp_ns
from scoring.evidence.transcripts.streams import File
from scoring.evidence.transcripts.transcript_events import TranscriptEvents
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


class ReadTranscript(NamedTuple):
    """What one harness wrote of a transcript."""

    transcript: TranscriptFile
    harness: CountedHarness
    events: TranscriptEvents


def files_of(read: Sequence[ReadTranscript], checkpoints: Collection[Checkpoint]) -> list[File]:
    """Return transcripts as files: those of checkpoints first, once for each checkpoint."""
    holders: dict[tuple[str, ...], list[tuple[str, CheckpointSession]]] = {}
    for checkpoint in checkpoints:
        for session in checkpoint.sessions:
            holders.setdefault(session.blobs, []).append((checkpoint.id, session))

    by_harness: dict[str, defaultdict[str, list[TranscriptEvents]]] = {}
    for _, harness, events in read:
        by_session = by_harness.setdefault(harness.name, defaultdict(list))
        for name in events.sessions():
            by_session[name].append(events)

    files: list[File] = []
    for transcript, harness, as_read in read:
        events = harness.original(as_read, by_harness[harness.name].__getitem__)
        if transcript.blobs:
            for checkpoint_id, stated in holders[transcript.blobs]:
                file = File(transcript, harness, events, checkpoint_id, stated.session_id)
                file.start = events.line_of_message(stated.start)
                file.stored = timestamp_ns(stated.created_at)
                files.append(file)
        elif transcript.store and len(events.sessions()) > 1:
            for part in events.by_session():
                files.append(File(transcript, harness, part, session=part.sessions()[0]))
        else:
            files.append(File(transcript, harness, events))

    for file in files:
        file.events.lines = []  # what is known of them is in the files
    files.sort(
        key=lambda file: (not file.checkpoint, file.order, os.fsencode(file.transcript.name))
    )
    return files
