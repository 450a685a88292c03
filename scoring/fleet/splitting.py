"""Reads the transcripts of a large repository in parts, each on another worker, and puts the parts together.

A part is some of the files, by a checksum of their names. What is read of a file are rows of numbers; whose work they
are, and which lines are copies of others, is decided where all parts meet, by the same sums as always. There a file
that lies in an archive is stood in for by an empty one of its size: its rows are known, so it is not opened again.
"""

import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from zlib import crc32

from rubric import Rubric
from scoring.errors import InputError
from scoring.evidence.rules import Options, Sources, rules_of
from scoring.evidence.transcripts.scan import ReadElsewhere, Scan
from scoring.fleet.archives import TRANSCRIPTS, fetch, is_transcript, scratch_folder
from scoring.fleet.fleet_toml import FleetConfig
from scoring.fleet.sources import Repository, transcript_folders
from scoring.log.settings import resolve_settings
from scoring.store import SETTLED

MOST_PARTS = 256


@dataclass(slots=True)
class PartRead:
    """What one part has of one file: its name from the transcripts' folder, or its path."""

    name: str
    read: ReadElsewhere


def parts_of(one: Repository, config: FleetConfig) -> int:
    """Return in how many parts the transcripts of a repository are read; 1 for most."""
    size = one.size
    if not one.url:
        size = sum(map(_size, one.options()["transcript-dir"])) if one.source.transcripts else 0
        if size > config.split:  # what its own settings say can only take folders away
            size = sum(map(_size, transcript_folders(one)))
    return min(max(-(-size // config.split), 1), MOST_PARTS)


def _size(folder: Path) -> int:
    total = 0
    for here, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.stat(os.path.join(here, name)).st_size
            except OSError:
                continue
    return total


def is_of_part(name: str, part: int, parts: int) -> bool:
    """Return whether a file is one of a part."""
    return crc32(os.fsencode(name)) % parts == part


def read_part(one: Repository, config: FleetConfig, rubric: Rubric, part: int, parts: int) -> list[PartRead]:
    """Read one part of the transcripts of a repository.

    Raises:
        DaScoreError: it cannot be fetched or read.
    """
    if not one.url:
        return [PartRead(str(read.path), read) for read in _read(one, config, rubric, part, parts)]
    with scratch_folder(config) as scratch:
        here = scratch / "unpacked"
        here.mkdir()
        fetch(one, config, here, lambda name: is_transcript(name) and is_of_part(name, part, parts))
        folders = tuple(str(place) for place in (here / TRANSCRIPTS, *here.glob(f"*/{TRANSCRIPTS}")) if place.is_dir())
        place = replace(one, url="", source=replace(one.source, transcripts=folders, way=None), repo_dir=here)
        if not folders:
            return []
        found = _read(place, replace(config, cache=""), rubric, 0, 1)
        return [PartRead(str(read.path.relative_to(here)), read) for read in found]


def _scan(one: Repository, config: FleetConfig, rubric: Rubric) -> Scan:
    rules, settings = rules_of(rubric), resolve_settings(one.options(), environment={})
    options: Options = {"cache_dir": config.cache_folder, "processes": 1}
    if rules.attributes:
        options["test_commands"] = settings.test_commands
    assert one.repo_dir is not None
    return Sources.under(rules, one.repo_dir, settings.transcript_dirs, options).transcripts()


def _read(one: Repository, config: FleetConfig, rubric: Rubric, part: int, parts: int) -> Iterator[ReadElsewhere]:
    with _scan(one, config, rubric) as scan:
        yield from scan.read_for_another(lambda path: is_of_part(str(path), part, parts))


def put_together(read: Sequence[PartRead], here: Path, one: Repository, config: FleetConfig, rubric: Rubric) -> bool:
    """Let the index know what was read elsewhere, and return whether all of that can be used.

    It cannot where a repository that was unpacked names test commands of its own: nobody knew them who read the parts.
    A file that changed since is left out; it is read again.
    """
    if one.url and resolve_settings(one.options(), environment={}).test_commands != one.source.test_commands:
        return False
    known: list[tuple[Path, bytes]] = []
    for found in read:
        place = here / found.name
        if found.read.rows is None and one.url:
            raise InputError(f"{one.url}: {found.name} cannot be read")
        if found.read.rows is not None and place.stat().st_size == found.read.size:
            known.append((place, found.read.rows))
    if one.url and known:
        time.sleep(SETTLED / 1e9)  # a file that was made just now is not known by its stamp yet
    with _scan(one, config, rubric) as scan:
        scan.know(known)
    return True


def stand_ins(read: Sequence[PartRead], here: Path) -> None:
    """Make an empty file of the same size for every transcript that was read elsewhere."""
    for one in read:
        place = here / one.name
        place.parent.mkdir(parents=True, exist_ok=True)
        with open(place, "xb") as f:
            f.truncate(one.read.size)
