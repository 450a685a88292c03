"""Finds transcripts where they really lie (contract section 10).

A folder is read with its sub-folders; a link to a folder is followed once. Of a transcript that is there several times
(under two names for one file, plain and compressed, active and archived) one copy is read, and the others are noted
with the reason.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from scoring.evidence.transcripts.codex import ARCHIVE
from scoring.evidence.transcripts.facts import FileFound, RootFound, TranscriptPlaces
from scoring.evidence.transcripts.harness import Harness
from scoring.evidence.transcripts.reader import Warn
from scoring.files import reason

PLAIN, COMPRESSED = ".jsonl", ".jsonl.zst"

SAME_FILE = "another name of a file that is read"
PLAIN_THERE = "a plain file of the same name is there"
ARCHIVED = "an archived or second copy of a rollout that is read"
NO_FILES = "no *.jsonl or *.jsonl.zst file in it or below"


@dataclass(frozen=True, slots=True)
class Transcript:
    """A transcript to read. ``whole`` is whether it counts whole, or only the work done in the repository."""

    path: Path
    whole: bool

    @property
    def compressed(self) -> bool:
        """Whether it must be decompressed."""
        return self.path.name.endswith(COMPRESSED)

    @property
    def stem(self) -> str:
        """Its name without what tells the format."""
        return self.path.name.removesuffix(".zst").removesuffix(PLAIN)


@dataclass(frozen=True, slots=True)
class Discovery:
    """What was found: the transcripts to read, the copies that are not, and the folders looked in."""

    transcripts: tuple[Transcript, ...]
    left_out: tuple[FileFound, ...]
    roots: tuple[RootFound, ...]


@dataclass(frozen=True, slots=True)
class _Place:
    path: Path
    origin: str
    harness: str = ""
    prefix: str = ""
    whole: bool = False


def discover(
    places: TranscriptPlaces, harnesses: Sequence[Harness], environment: Mapping[str, str], warn: Warn
) -> Discovery:
    """Look for transcripts in some places.

    Args:
        places: where to look.
        harnesses: whose own places are looked at too, where ``places`` say so.
        environment: the variables that move those places.
        warn: is told of folders that were named by hand and cannot be read, and of unreadable ones below.
    """
    found: list[Transcript] = []
    roots: list[RootFound] = []
    for place in _places(places, harnesses, environment):
        problem, paths = "", []
        try:
            os.scandir(place.path).close()
            paths = [path for path in _walk(place.path, warn) if path.name.startswith(place.prefix)]
            problem = "" if paths else NO_FILES
        except (OSError, ValueError) as e:
            missing = isinstance(e, FileNotFoundError)
            problem = "no such directory" if missing else reason(e)
            if not place.whole and not missing:
                warn(f"transcript directory {place.path}: {problem}; skipped")
        if place.whole and problem:
            said = problem if problem == NO_FILES else f"{problem}; skipped"
            warn(f"transcript directory {place.path}: {said}")
        found += [Transcript(path, place.whole) for path in paths]
        roots.append(RootFound(place.path, place.origin, place.harness, len(paths), problem))
    left_out: list[FileFound] = []
    transcripts = _single_rollouts(_plain_first(_single_files(found, left_out), left_out), left_out)
    return Discovery(tuple(transcripts), tuple(left_out), tuple(roots))


def _places(places: TranscriptPlaces, harnesses: Sequence[Harness], environment: Mapping[str, str]) -> Iterator[_Place]:
    for directory in places.directories:
        yield _Place(Path(directory), "--transcript-dir", whole=True)
    for directory in places.hinted:
        yield _Place(Path(directory), "hook")
    for harness in harnesses if places.auto else ():
        for home in harness.homes(environment):
            yield _Place(home.path, home.origin, harness.name, home.prefix)


def _walk(top: Path, warn: Warn) -> list[Path]:
    """Return the transcripts in a folder and below, in byte order of their paths."""
    found: list[Path] = []
    seen: set[tuple[int, int]] = set()
    waiting = [os.fspath(top)]
    while waiting:
        folder = waiting.pop()
        try:
            status = os.stat(folder)
            if (status.st_dev, status.st_ino) in seen:
                continue
            seen.add((status.st_dev, status.st_ino))
            with os.scandir(folder) as entries:
                for entry in entries:
                    if _is_folder(entry):
                        waiting.append(entry.path)
                    elif entry.name.endswith((PLAIN, COMPRESSED)):
                        found.append(Path(entry.path))
        except OSError as e:
            warn(f"transcript directory {folder}: {reason(e)}; skipped")
    return sorted(found, key=os.fsencode)


def _is_folder(entry: "os.DirEntry[str]") -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link that leads to itself; whoever opens it will say so
        return False


def _single_files(found: Sequence[Transcript], left_out: list[FileFound]) -> list[Transcript]:
    """Take each file once, whatever it is called; it counts whole when any name of it does."""
    kept: dict[object, Transcript] = {}
    for transcript in found:
        try:
            status = os.stat(transcript.path)
            identity: object = (status.st_dev, status.st_ino)
        except OSError:  # whoever opens it will say why
            identity = transcript.path
        held = kept.setdefault(identity, transcript)
        if held is not transcript:
            kept[identity] = Transcript(held.path, held.whole or transcript.whole)
            if os.path.abspath(held.path) != os.path.abspath(transcript.path):
                left_out.append(FileFound(transcript.path, left_out=SAME_FILE))
    return list(kept.values())


def _plain_first(found: Sequence[Transcript], left_out: list[FileFound]) -> list[Transcript]:
    """Leave compressed files out where the plain file of the same name lies beside them."""
    plain = {transcript.path for transcript in found if not transcript.compressed}
    kept: list[Transcript] = []
    for transcript in found:
        if transcript.compressed and transcript.path.with_name(transcript.stem + PLAIN) in plain:
            left_out.append(FileFound(transcript.path, left_out=PLAIN_THERE))
        else:
            kept.append(transcript)
    return kept


def _single_rollouts(found: Sequence[Transcript], left_out: list[FileFound]) -> list[Transcript]:
    """Take each Codex rollout once, by its name: the active one rather than an archived, the plain one rather."""
    kept: dict[object, Transcript] = {}
    for transcript in found:
        name: object = transcript.stem if transcript.stem.startswith("rollout-") else transcript.path
        held = kept.setdefault(name, transcript)
        if held is not transcript:
            first, second = sorted((held, transcript), key=_preference)
            kept[name] = Transcript(first.path, held.whole or transcript.whole)
            left_out.append(FileFound(second.path, left_out=ARCHIVED))
    return list(kept.values())


def _preference(transcript: Transcript) -> tuple[bool, bool, bytes]:
    return ARCHIVE in transcript.path.parts, transcript.compressed, os.fsencode(transcript.path)
