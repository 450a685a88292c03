"""Finds the transcripts of harnesses on disk, each once.

See docs/EVIDENCE.md, "Transcripts".
"""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from scoring.errors import Warn
from scoring.evidence.transcripts.facts import FileFound, RootFound, TranscriptPlaces
from scoring.evidence.transcripts.transcript_files import (
    Discovery,
    FileKind,
    TranscriptFile,
)
from scoring.files import identity_of, reason
from scoring.paths import in_checkout, is_inside, is_of_the_system

from .harness import Harness, Home

MOST_FILES = 300_000
"""How many files and folders may be in all folders of transcripts and below them, together."""

SAME_FILE = "another name of a file that is read"
SECOND_COPY = "an archived or second copy of a rollout that is read"


class _LookedAt(Struct):
    """What was looked at in all folders of transcripts so far.

    Attributes:
        count: how many files and folders.
    """

    count: int = 0

    @property
    def is_too_much(self) -> bool:
        """Whether that is more than :data:`MOST_FILES`."""
        return self.count > MOST_FILES


def discover(
    places: TranscriptPlaces, harnesses: Sequence[Harness], warn: Warn
) -> Discovery:
    """Look for the transcripts of harnesses in some places and below them.

    Each transcript is returned once. Those in folders that were named by hand come first, then
    those where a hook wrote, then those in the usual folders; and in one folder they come by path.
    Once there are more than :data:`MOST_FILES` files, no further place is looked in.

    Args:
        places: where to look.
        harnesses: the harnesses.
        warn: takes a message for each folder that cannot be read, for each folder that was named
            by hand and has no transcript, and for the folder in which there are too many files.
    """
    transcripts = []
    roots = []
    looked_at = _LookedAt()
    for place in _places(places, harnesses):
        if looked_at.is_too_much:
            problem = "not looked in, since there are too many files in those before it"
            roots.append(
                RootFound(place.path, place.origin, place.harness, problem=problem)
            )
            continue
        in_place, root = _look_in(place, looked_at, warn)
        transcripts += in_place
        roots.append(root)

    left_out: list[FileFound] = []
    transcripts = _single_files(transcripts, left_out)
    transcripts = _single_copies(transcripts, harnesses, left_out)
    return Discovery(tuple(transcripts), tuple(left_out), tuple(roots))


def writers(
    harnesses: Sequence[Harness], transcript: TranscriptFile
) -> Sequence[Harness]:
    """Return the harnesses that may have written a transcript.

    Documents and stores are known by their names; any harness may have written lines.
    """
    kind = transcript.kind
    if kind == "lines":
        return harnesses

    writers = []
    for harness in harnesses:
        if any(
            names.kind == kind and names.fit(transcript.name) for names in harness.files
        ):
            writers.append(harness)
    return writers


def _places(places: TranscriptPlaces, harnesses: Sequence[Harness]) -> Iterator[Home]:
    """Yield the folders to look in: those named by hand, those a hook names, then the usual ones.

    The usual ones only with ``places.auto``, and with ``places.trusted`` none in the repository.
    """
    of_any = tuple(
        dict.fromkeys(names for harness in harnesses for names in harness.files)
    )
    for directory in places.directories:
        yield Home(directory, "--transcript-dir", names=of_any, whole=True)
    for directory in places.hinted:
        yield Home(directory, "hook", names=of_any)
    if not places.auto:
        return

    for harness in harnesses:
        for home in harness.homes(os.environ):
            if not (places.trusted and in_checkout(home.path, places.repo_dir)):
                yield home._replace(names=harness.files, harness=harness.name)


def _look_in(
    home: Home, looked_at: _LookedAt, warn: Warn
) -> tuple[list[TranscriptFile], RootFound]:
    """Return the transcripts in a folder, and what the survey says of the folder.

    Warns of a folder that cannot be looked through or is one of the system, and of a folder named
    by hand that is missing or has no transcript.
    """
    wanted = [names for names in home.names if names.kind != "other"]
    anywhere = [names.pattern for names in wanted if not names.folder]
    patterns = anywhere or [names.pattern for names in wanted]
    transcripts = []
    problem = ""
    try:
        os.scandir(home.path).close()
        if is_of_the_system(home.path):
            raise ValueError("is a system folder")
        transcripts = _walk(home, looked_at, warn)
        if not transcripts:
            problem = f"no {' or '.join(patterns)} file in it or below"
            if home.whole:
                warn(f"transcript directory {home.path}: {problem}")
    except FileNotFoundError:
        problem = "no such directory"
        if home.whole:
            warn(f"transcript directory {home.path}: {problem}; skipped")
    except (OSError, ValueError) as e:
        problem = reason(e)
        warn(f"transcript directory {home.path}: {problem}; skipped")

    root = RootFound(home.path, home.origin, home.harness, len(transcripts), problem)
    return transcripts, root


def _transcript_at(path: str, home: Home) -> TranscriptFile | None:
    """Return a file as a transcript, or None where its name is not that of a transcript.

    A file that can be of several kinds is a store, or else a document.
    """
    kinds = {names.kind for names in home.names if names.fit(path)}
    if not kinds or "other" in kinds:
        return None
    if not os.path.basename(path).startswith(home.prefix):
        return None

    kind: FileKind = "lines"
    if "store" in kinds:
        kind = "store"
    elif "document" in kinds:
        kind = "document"
    return TranscriptFile(str(Path(path)), home.whole, kind)


def _walk(home: Home, looked_at: _LookedAt, warn: Warn) -> list[TranscriptFile]:
    """Return the transcripts in a folder, and below it if ``home`` says so, in byte order of paths.

    Links that lead out of the folder are not followed, and each folder is looked in once. One that
    cannot be read is warned of and skipped.

    Raises:
        ValueError: with those in the places before, there are more than :data:`MOST_FILES` files
            and folders.
    """
    files = []
    visited: set[tuple[int, int]] = set()
    waiting = [os.fspath(home.path)]
    while waiting:
        folder = waiting.pop()
        try:
            status = os.stat(folder)
            if (status.st_dev, status.st_ino) in visited:
                continue
            visited.add((status.st_dev, status.st_ino))
            with os.scandir(folder) as entries:
                for entry in entries:
                    looked_at.count += 1
                    if looked_at.is_too_much:
                        raise ValueError(
                            f"more than {MOST_FILES:,} files in it and below, with the folders "
                            "before it, so that those after it are left out; name narrower ones"
                        )
                    if entry.is_symlink() and not is_inside(entry.path, home.path):
                        continue
                    if _is_folder(entry):
                        if home.below:
                            waiting.append(entry.path)
                        continue
                    transcript = _transcript_at(entry.path, home)
                    if transcript:
                        files.append(transcript)
        except OSError as e:
            warn(f"transcript directory {folder}: {reason(e)}; skipped")
    return sorted(files, key=lambda transcript: os.fsencode(transcript.name))


def _is_folder(entry: "os.DirEntry[str]") -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link that leads to itself; opening it gives the reason
        return False


def _single_files(
    transcripts: Sequence[TranscriptFile], left_out: list[FileFound]
) -> list[TranscriptFile]:
    """Return each file once, under the first of its names.

    A file counts whole if it does under any of its names.

    Args:
        transcripts: the files, some under several names.
        left_out: takes the other names of files.
    """
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


def _single_copies(
    transcripts: Sequence[TranscriptFile],
    harnesses: Sequence[Harness],
    left_out: list[FileFound],
) -> list[TranscriptFile]:
    """Return one file of each transcript: it may be there compressed too, or copied by a harness.

    An active copy wins over an archived one, then a plain copy over a compressed one, then the
    first path. The copy that wins counts whole if any of them does.

    Args:
        transcripts: the transcripts, with copies.
        harnesses: the harnesses, which know what is a copy.
        left_out: takes the other copies.
    """
    all_copies: dict[str, list[TranscriptFile]] = {}
    archived = set()
    for transcript in transcripts:
        stated = (harness.copy(transcript.path) for harness in harnesses)
        copy = next(filter(None, stated), None)
        name = copy.transcript if copy else transcript.name.removesuffix(".zst")
        all_copies.setdefault(name, []).append(transcript)
        if copy and copy.archived:
            archived.add(transcript)

    def rank(transcript: TranscriptFile) -> tuple[bool, bool, bytes]:
        is_archived = transcript in archived
        return is_archived, transcript.compressed, os.fsencode(transcript.path)

    kept = []
    for copies in all_copies.values():
        best, *others = sorted(copies, key=rank)
        kept.append(best._replace(whole=any(copy.whole for copy in copies)))
        left_out += [FileFound(copy.path, left_out=SECOND_COPY) for copy in others]
    return kept
