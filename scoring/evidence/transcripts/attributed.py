"""The transcripts of a repository with each line given to one iteration, and what is seen and counted in the lines.

Reading is that of all transcripts (:mod:`scoring.evidence.transcripts.scan`); to the files on disk come those of the
checkpoints in git. When everything is read, lines get their sessions, sessions their place in the repository, and
lines their iterations; then responses and calls are counted by iteration as they else are by window of time.
"""

import os
from array import array
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import compress
from pathlib import Path
from typing import NamedTuple, Unpack

from scoring.errors import DaScoreError
from scoring.evidence.git.cache import GitCache
from scoring.evidence.git.checkpoints import Checkpoint, CheckpointSession, read_checkpoints
from scoring.evidence.git.repository import GitRepository
from scoring.evidence.transcripts.attribution import EMPTY, NOBODY, Asked, Attribution, LandedAs, Share
from scoring.evidence.transcripts.discovery import WorkTrees, discover
from scoring.evidence.transcripts.facts import (
    IterationWindow,
    Observed,
    ReadingOptions,
    TranscriptFacts,
    TranscriptPlaces,
)
from scoring.evidence.transcripts.harness import ELSEWHERE, NO_FOLDER
from scoring.evidence.transcripts.readers import HARNESSES
from scoring.evidence.transcripts.rows import Rows
from scoring.evidence.transcripts.scan import Scan, TranscriptRules
from scoring.evidence.transcripts.sightings import Sightings, places_seen, sightings_of, was_written, written_paths
from scoring.evidence.transcripts.streams import (
    File,
    Neighbourhood,
    Session,
    SessionKey,
    number_lines,
    order_lines,
    same_remote,
    sessions_of,
)
from scoring.evidence.transcripts.tally import Tallies, chosen
from scoring.evidence.transcripts.testruns import TestTools

ATTRIBUTED_TRANSCRIPTS = TranscriptRules(discover, lambda: HARNESSES, "attributed-transcripts", TestTools)
"""Transcripts as found on disk and in checkpoints, with what is seen in each line."""


class Verification(NamedTuple):
    """What a verifier of an entry is called, and the path of its result artifact."""

    kind: str
    artifact: str


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked about one iteration: whose lines they are, and which verifiers its entry lists."""

    asked: Asked
    verifiers: tuple[Verification, ...] = ()


class Answer(NamedTuple):
    """What transcripts say of one iteration."""

    transcripts: TranscriptFacts
    observed: Observed


def attributed_scan(places: TranscriptPlaces, **reading: Unpack[ReadingOptions]) -> "AttributedScan":
    """Prepare to read the transcripts of all harnesses and of the checkpoints; ``reading`` says how."""
    return AttributedScan(ATTRIBUTED_TRANSCRIPTS, places, **reading)
