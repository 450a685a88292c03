"""Finds transcripts, on disk, as the reference does and in checkpoints, one of several copies: docs/EVIDENCE.md."""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from fnmatch import translate
from pathlib import Path
from typing import NamedTuple

from scoring.errors import Warn
from scoring.evidence.git.checkpoint_files import BRANCH
from scoring.evidence.git.checkpoints import Checkpoint
from scoring.evidence.git.repository import GitRepository
from scoring.evidence.harnesses.harness import FileNames, Harness
from scoring.evidence.transcripts.facts import FileFound, RootFound, TranscriptPlaces
from scoring.files import identity_of, in_checkout, is_inside, is_of_the_system, reason

SAME_FILE = "another name of a file that is read"
PLAIN_THERE = "a plain file of the same name is there"
NOT_HERE = "its object is not in this clone"


class TranscriptFile(NamedTuple):
    """A transcript to read, by its path; one that is no file but objects in git has a name that is like one."""

    name: str
    whole: bool  # or only the work done in the repository
    document: bool = False  # one JSON text
    blobs: tuple[str, ...] = ()  # the objects in git, in order
    repository: GitRepository | None = None  # in which these are
    size: int = 0  # bytes of these in all
    store: bool = False  # read by its harness
    session: str = ""  # of which it is a copy, in a checkpoint

    @property
    def path(self) -> Path:
        """Its path, made anew: of many transcripts these take much memory."""
        return Path(self.name)

    @property
    def compressed(self) -> bool:
        """Whether it must be decompressed."""
        return self.name.endswith(".zst")


class Discovery(NamedTuple):
    """What was found: the transcripts to read, the copies that are not, and the folders looked in."""

    transcripts: tuple[TranscriptFile, ...] = ()
    left_out: tuple[FileFound, ...] = ()
    roots: tuple[RootFound, ...] = ()


class _Place(NamedTuple):
    """A folder to look in, for files named like this, of one harness or (``""``) of any."""

    path: Path
    origin: str
    prefix: str
    names: Sequence[FileNames]
    harness: str = ""
    whole: bool = False
    below: bool = True


def discover(places: TranscriptPlaces, harnesses: Sequence[Harness], warn: Warn) -> Discovery:
    """Look for transcripts of some harnesses in some places, and in the sub-folders; unreadable ones are warned of."""
    found: list[TranscriptFile] = []
    roots: list[RootFound] = []
    for place in _places(places, harnesses):
        paths: list[str] = []
        wanted = [names for names in place.names if not names.none]
        patterns = [names.pattern for names in wanted if not names.folder] or [
            names.pattern for names in wanted
        ]
        no_files = f"no {' or '.join(patterns)} file in it or below"
        try:
            os.scandir(place.path).close()
            if is_of_the_system(place.path):
                raise ValueError("is a system folder")
            named = _walk(place.path, _any_of(place.names), warn, place.below)
            paths = [path for path in named if os.path.basename(path).startswith(place.prefix)]
            problem = "" if paths else no_files
        except (OSError, ValueError) as e:
            missing = isinstance(e, FileNotFoundError)
            problem = "no such directory" if missing else reason(e)
            if not place.whole and not missing:
                warn(f"transcript directory {place.path}: {problem}; skipped")
        if place.whole and problem:
            warn(
                f"transcript directory {place.path}: {problem if problem == no_files else f'{problem}; skipped'}"
            )
        is_document = _any_of([names for names in place.names if names.document])
        is_store = _any_of([names for names in place.names if names.store])
        for path in paths:
            store = is_store(path)
            found.append(
                TranscriptFile(path, place.whole, not store and is_document(path), store=store)
            )
        roots.append(RootFound(place.path, place.origin, place.harness, len(paths), problem))
    left_out: list[FileFound] = []
    single = _single_copies(
        _plain_first(_single_files(found, left_out), left_out), harnesses, left_out
    )
    return Discovery(tuple(single), tuple(left_out), tuple(roots))


def list_directly(places: TranscriptPlaces, _: Sequence[Harness], warn: Warn) -> Discovery:
    """List the ``*.jsonl`` files directly inside the named folders, in byte order of names, as the reference does."""
    found: list[TranscriptFile] = []
    roots: list[RootFound] = []
    for directory in (*places.directories, *places.hinted):
        names: list[str] = []
        problem = "" if directory.is_dir() else "no such directory"
        if is_of_the_system(directory):
            warn(f"transcript directory {directory}: is a system folder; skipped")
            continue
        try:
            names = sorted(
                (n for n in os.listdir(directory) if n.endswith(".jsonl")), key=os.fsencode
            )
            if not names:
                problem = "no *.jsonl file directly inside"
                warn(f"transcript directory {directory}: {problem} (sub-folders are not read)")
        except (OSError, ValueError) as e:
            problem = problem or reason(e)
            warn(f"transcript directory {directory}: {reason(e)}; skipped")
        found += [TranscriptFile(str(directory / name), True) for name in names]
        roots.append(RootFound(directory, "--transcript-dir", files=len(names), problem=problem))
    return Discovery(tuple(found), roots=tuple(roots))


def writers(harnesses: Sequence[Harness], transcript: TranscriptFile) -> Sequence[Harness]:
    """Return the harnesses that may have written a transcript: documents and stores are known by their names."""
    kind = transcript.document, transcript.store
    if not any(kind):
        return harnesses
    kinds = [
        (harness, [n for n in harness.files if (n.document, n.store) == kind])
        for harness in harnesses
    ]
    return [harness for harness, names in kinds if _any_of(names)(transcript.name)]


def _places(places: TranscriptPlaces, harnesses: Sequence[Harness]) -> Iterator[_Place]:
    anybody = tuple(dict.fromkeys(names for harness in harnesses for names in harness.files))
    for directory in places.directories:
        yield _Place(directory, "--transcript-dir", "", anybody, whole=True)
    for directory in places.hinted:
        yield _Place(directory, "hook", "", anybody)
    for harness in harnesses if places.auto else ():
        for path, origin, prefix, below in harness.homes(os.environ):
            if not (places.trusted and in_checkout(path, places.repo_dir)):
                yield _Place(path, origin, prefix, harness.files, harness.name, below=below)


def _any_of(names: Sequence[FileNames]) -> Callable[[str], bool]:
    """Return what says whether a file is named like one of some patterns, and is where these are."""
    known = [
        (
            re.compile(translate(one.pattern)).match,
            one.folder and re.compile(translate(f"*/{one.folder}")).match,
        )
        for one in sorted(names, key=lambda one: not one.none)
    ]
    others = sum(one.none for one in names)

    def fits(path: str) -> bool:
        folder, name = os.path.split(path)
        fitting = (
            n
            for n, (match, within) in enumerate(known)
            if match(name) and (not within or within(f"/{folder}"))
        )
        return next(fitting, -1) >= others

    return fits


def _walk(top: Path, wanted: Callable[[str], bool], warn: Warn, below: bool = True) -> list[str]:
    found: list[str] = []
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
                    if entry.is_symlink() and not is_inside(entry.path, top):
                        continue
                    if _is_folder(entry):
                        waiting += [entry.path] if below else []
                    elif wanted(entry.path):
                        found.append(str(Path(entry.path)))
        except OSError as e:
            warn(f"transcript directory {folder}: {reason(e)}; skipped")
    return sorted(found, key=os.fsencode)


def _is_folder(entry: "os.DirEntry[str]") -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link that leads to itself; opening it gives the reason
        return False


def _single_files(
    found: Sequence[TranscriptFile], left_out: list[FileFound]
) -> list[TranscriptFile]:
    """Take each file once, whatever it is called; it counts whole when any name of it does."""
    kept: dict[object, TranscriptFile] = {}
    for transcript in found:
        identity = (
            identity_of(transcript.name) or transcript.name
        )  # opening one that is not there gives the reason
        held = kept.setdefault(identity, transcript)
        if held is not transcript:
            kept[identity] = held._replace(whole=held.whole or transcript.whole)
            if os.path.abspath(held.name) != os.path.abspath(transcript.name):
                left_out.append(FileFound(transcript.path, left_out=SAME_FILE))
    return list(kept.values())


def _plain_first(
    found: Sequence[TranscriptFile], left_out: list[FileFound]
) -> list[TranscriptFile]:
    """Leave compressed files out where the plain file of the same name is beside them."""
    plain = {transcript.name for transcript in found if not transcript.compressed}
    second = dict.fromkeys(
        one for one in found if one.compressed and one.name.removesuffix(".zst") in plain
    )
    left_out += [FileFound(transcript.path, left_out=PLAIN_THERE) for transcript in second]
    return [transcript for transcript in found if transcript not in second]


def _single_copies(
    found: Sequence[TranscriptFile], harnesses: Sequence[Harness], left_out: list[FileFound]
) -> list[TranscriptFile]:
    """Take one copy of what a harness keeps several of: the active rather than an archived, the plain one rather."""
    kept: dict[object, tuple[TranscriptFile, tuple[bool, bool, bytes]]] = {}
    for transcript in found:
        path = transcript.path
        copy = next(filter(None, (harness.copy(path) for harness in harnesses)), None)
        name: object = copy.transcript if copy else transcript
        mine = transcript, (bool(copy and copy.archived), transcript.compressed, os.fsencode(path))
        held = kept.setdefault(name, mine)
        if copy and held is not mine:
            (first, rank), (second, _) = sorted((held, mine), key=lambda one: one[1])
            kept[name] = first._replace(whole=first.whole or second.whole), rank
            left_out.append(FileFound(second.path, left_out=copy.left_out))
    return [transcript for transcript, _ in kept.values()]


def checkpoint_transcripts(
    checkpoints: Iterable[Checkpoint], repository: GitRepository
) -> Discovery:
    """Return the transcripts of checkpoints, each once; one of which an object is not in this clone is left out."""
    found: dict[tuple[str, ...], TranscriptFile] = {}
    left_out: list[FileFound] = []
    count = 0
    for checkpoint in checkpoints:
        for session in checkpoint.sessions:
            path = Path(session.path)
            count += bool(session.blobs)
            if session.missing:
                left_out.append(
                    FileFound(
                        path, sessions=tuple(filter(None, (session.session_id,))), left_out=NOT_HERE
                    )
                )
            elif session.blobs:
                held = str(path), True, False, session.blobs, repository, session.size
                found.setdefault(session.blobs, TranscriptFile(*held, session=session.session_id))
    roots = (RootFound(Path(BRANCH), "checkpoints", files=count),) if count else ()
    return Discovery(tuple(found.values()), tuple(left_out), roots)
