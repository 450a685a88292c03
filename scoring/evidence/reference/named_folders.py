"""The transcripts that the reference finds: ``*.jsonl`` files directly inside named folders."""

import os
from collections.abc import Sequence
from pathlib import Path

from scoring.errors import Warn
from scoring.evidence.harnesses.harness import Harness
from scoring.evidence.transcripts.facts import RootFound, TranscriptPlaces
from scoring.evidence.transcripts.transcript_files import Discovery, TranscriptFile
from scoring.files import reason
from scoring.paths import is_of_the_system


def list_directly(places: TranscriptPlaces, _: Sequence[Harness], warn: Warn) -> Discovery:
    """List the files directly inside the named folders, in byte order of their names.

    Args:
        places: where to look. Only the named folders count.
        warn: takes a message for each folder without such a file.
    """
    transcripts: list[TranscriptFile] = []
    roots: list[RootFound] = []
    for directory in (*places.directories, *places.hinted):
        if is_of_the_system(directory):
            warn(f"transcript directory {directory}: is a system folder; skipped")
            continue

        names, problem = _names_in(directory, warn)
        transcripts += [TranscriptFile(str(directory / name), whole=True) for name in names]
        root = RootFound(directory, "--transcript-dir", files=len(names), problem=problem)
        roots.append(root)
    return Discovery(tuple(transcripts), roots=tuple(roots))


def _names_in(directory: Path, warn: Warn) -> tuple[list[str], str]:
    """Return the names of the transcripts in a folder, or why it has none."""
    try:
        names = [name for name in os.listdir(directory) if name.endswith(".jsonl")]
    except (OSError, ValueError) as e:
        warn(f"transcript directory {directory}: {reason(e)}; skipped")
        return [], reason(e) if directory.is_dir() else "no such directory"

    if not names:
        problem = "no *.jsonl file directly inside"
        warn(f"transcript directory {directory}: {problem} (sub-folders are not read)")
        return [], problem
    return sorted(names, key=os.fsencode), ""
