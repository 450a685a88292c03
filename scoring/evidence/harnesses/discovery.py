"""Finds the transcripts of harnesses on disk, each once.

See docs/EVIDENCE.md, "Transcripts".
"""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from scoring.errors import Warn
from scoring.evidence.harnesses.harness import Copy, FileNames, Harness
from scoring.evidence.transcripts.facts import FileFound, RootFound, TranscriptPlaces
from scoring.evidence.transcripts.transcript_files import Discovery, TranscriptFile
from scoring.files import identity_of, reason
from scoring.paths import in_checkout, is_inside, is_of_the_system

MOST_FILES = 300_000
"""How many files and folders may be in a folder of transcripts and below it."""

SAME_FILE = "another name of a file that is read"
PLAIN_THERE = "a plain file of the same name is there"


class _Place(NamedTuple):
    """A folder to look in.

    Attributes:
        path: the folder.
        origin: how it is known.
        prefix: how the names of transcripts begin.
        names: how the files are named.
        harness: the harness that the files are of; "": of any.
        whole: whether they count whole.
        below: whether sub-folders are looked in too.
    """

    path: Path
    origin: str
    prefix: str
    names: Sequence[FileNames]
    harness: str = ""
    whole: bool = False
    below: bool = True


def discover(places: TranscriptPlaces, harnesses: Sequence[Harness], warn: Warn) -> Discovery:
    """Look for the transcripts of harnesses in some places and below them.

    Args:
        places: where to look.
        harnesses: the harnesses.
        warn: takes a message for each folder that cannot be read.
    """
    transcripts: list[TranscriptFile] = []
    roots: list[RootFound] = []
    for place in _places(places, harnesses):
        in_place, root = _look_in(place, warn)
        transcripts += in_place
        roots.append(root)

    left_out: list[FileFound] = []
    transcripts = _single_files(transcripts, left_out)
    transcripts = _plain_first(transcripts, left_out)
    transcripts = _single_copies(transcripts, harnesses, left_out)
    return Discovery(tuple(transcripts), tuple(left_out), tuple(roots))


def writers(harnesses: Sequence[Harness], transcript: TranscriptFile) -> Sequence[Harness]:
    """Return the harnesses that may have written a transcript.

    Documents and stores are known by their names; any harness may have written lines.
    """
    if not transcript.document and not transcript.store:
        return harnesses

    writers = []
    for harness in harnesses:
        for names in _fitting(harness.files, transcript.name):
            if names.document == transcript.document and names.store == transcript.store:
                writers.append(harness)
                break
    return writers


def _places(places: TranscriptPlaces, harnesses: Sequence[Harness]) -> Iterator[_Place]:
    """Yield the folders to look in: those named by hand, those a hook names, the usual ones."""
    of_any = tuple(dict.fromkeys(names for harness in harnesses for names in harness.files))
    for directory in places.directories:
        yield _Place(directory, "--transcript-dir", "", of_any, whole=True)
    for directory in places.hinted:
        yield _Place(directory, "hook", "", of_any)
    if not places.auto:
        return

    for harness in harnesses:
        for home in harness.homes(os.environ):
            if places.trusted and in_checkout(home.path, places.repo_dir):
                continue
            yield _Place(
                home.path, home.origin, home.prefix, harness.files, harness.name, below=home.below
            )


def _look_in(place: _Place, warn: Warn) -> tuple[list[TranscriptFile], RootFound]:
    """Return the transcripts in a folder, and what is said of the folder."""
    no_files = f"no {' or '.join(_wanted_patterns(place.names))} file in it or below"
    paths: list[str] = []
    problem = ""
    try:
        os.scandir(place.path).close()
        if is_of_the_system(place.path):
            raise ValueError("is a system folder")
        paths = _walk(place, warn)
        if not paths:
            problem = no_files
    except FileNotFoundError:
        problem = "no such directory"
        if place.whole:
            warn(f"transcript directory {place.path}: {problem}; skipped")
    except (OSError, ValueError) as e:
        problem = reason(e)
        warn(f"transcript directory {place.path}: {problem}; skipped")

    if place.whole and problem == no_files:
        warn(f"transcript directory {place.path}: {problem}")

    transcripts = []
    for path in paths:
        fitting = _fitting(place.names, path)
        store = any(names.store for names in fitting)
        document = not store and any(names.document for names in fitting)
        transcripts.append(TranscriptFile(path, place.whole, document, store=store))
    root = RootFound(place.path, place.origin, place.harness, len(paths), problem)
    return transcripts, root


def _wanted_patterns(file_names: Sequence[FileNames]) -> list[str]:
    """Return the patterns that a message names: those for any folder, where there are some."""
    wanted = [names for names in file_names if not names.none]
    anywhere = [names.pattern for names in wanted if not names.folder]
    return anywhere or [names.pattern for names in wanted]


def _fitting(file_names: Sequence[FileNames], path: str) -> list[FileNames]:
    """Return those of some ways to name files in which one is named."""
    return [names for names in file_names if names.fit(path)]


def _is_wanted(entry: "os.DirEntry[str]", place: _Place) -> bool:
    """Return whether a file is named as a transcript, and not in a way that is for other files."""
    if not entry.name.startswith(place.prefix):
        return False
    fitting = _fitting(place.names, entry.path)
    return bool(fitting) and not any(names.none for names in fitting)


def _walk(place: _Place, warn: Warn) -> list[str]:
    """Return the transcripts in a place, in byte order of their paths.

    Links that lead out of the folder are not followed, and each folder is looked in once.

    Raises:
        ValueError: more than :data:`MOST_FILES` files are there.
    """
    files: list[str] = []
    count = 0
    visited: set[tuple[int, int]] = set()
    waiting = [os.fspath(place.path)]
    while waiting:
        folder = waiting.pop()
        try:
            status = os.stat(folder)
            if (status.st_dev, status.st_ino) in visited:
                continue
            visited.add((status.st_dev, status.st_ino))
            with os.scandir(folder) as entries:
                for entry in entries:
                    count += 1
                    if count > MOST_FILES:
                        raise ValueError(
                            f"more than {MOST_FILES:,} files in it and below; name a narrower one"
                        )
                    if entry.is_symlink() and not is_inside(entry.path, place.path):
                        continue
                    if _is_folder(entry):
                        if place.below:
                            waiting.append(entry.path)
                    elif _is_wanted(entry, place):
                        files.append(str(Path(entry.path)))
        except OSError as e:
            warn(f"transcript directory {folder}: {reason(e)}; skipped")
    return sorted(files, key=os.fsencode)


def _is_folder(entry: "os.DirEntry[str]") -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link that leads to itself; opening it gives the reason
        return False


def _single_files(
    transcripts: Sequence[TranscriptFile], left_out: list[FileFound]
) -> list[TranscriptFile]:
    """Keep each file once, whatever it is called. It counts whole when it does by any name."""
    kept: dict[object, TranscriptFile] = {}
    for transcript in transcripts:
        # A file that is not there has no identity; opening it gives the reason.
        identity = identity_of(transcript.name) or transcript.name
        first = kept.setdefault(identity, transcript)
        if first is transcript:
            continue
        kept[identity] = first._replace(whole=first.whole or transcript.whole)
        if os.path.abspath(first.name) != os.path.abspath(transcript.name):
            left_out.append(FileFound(transcript.path, left_out=SAME_FILE))
    return list(kept.values())


def _plain_first(
    transcripts: Sequence[TranscriptFile], left_out: list[FileFound]
) -> list[TranscriptFile]:
    """Leave out compressed files next to a plain file of the same name."""
    plain = {transcript.name for transcript in transcripts if not transcript.compressed}
    kept = []
    for transcript in transcripts:
        if transcript.compressed and transcript.name.removesuffix(".zst") in plain:
            left_out.append(FileFound(transcript.path, left_out=PLAIN_THERE))
        else:
            kept.append(transcript)
    return kept


class _RankedCopy(NamedTuple):
    """A transcript that may have copies, ranked: the lowest is read.

    Attributes:
        rank: whether it is archived, whether it is compressed, and its path.
        transcript: the transcript.
    """

    rank: tuple[bool, bool, bytes]
    transcript: TranscriptFile


def _single_copies(
    transcripts: Sequence[TranscriptFile],
    harnesses: Sequence[Harness],
    left_out: list[FileFound],
) -> list[TranscriptFile]:
    """Keep one copy of what a harness keeps several of.

    An active copy is better than an archived one, and a plain one better than a compressed one.
    """
    kept: dict[object, _RankedCopy] = {}
    for transcript in transcripts:
        path = transcript.path
        copy = _copy_of(path, harnesses)
        archived = copy is not None and copy.archived
        current = _RankedCopy((archived, transcript.compressed, os.fsencode(path)), transcript)
        key: object = transcript if copy is None else copy.transcript
        earlier = kept.setdefault(key, current)
        if copy is None or earlier is current:
            continue

        best, other = sorted((earlier, current), key=lambda ranked: ranked.rank)
        whole = best.transcript.whole or other.transcript.whole
        kept[key] = best._replace(transcript=best.transcript._replace(whole=whole))
        left_out.append(FileFound(other.transcript.path, left_out=copy.left_out))
    return [ranked.transcript for ranked in kept.values()]


def _copy_of(path: Path, harnesses: Sequence[Harness]) -> Copy | None:
    """Return of which transcript a file is a copy, as the first harness that knows it says."""
    for harness in harnesses:
        copy = harness.copy(path)
        if copy is not None:
            return copy
    return None
