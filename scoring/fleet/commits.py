"""What a commit of a data set says: which repositories it brings, in which files, and which failed."""

import json
from dataclasses import asdict, dataclass, field
from typing import Any
from urllib.parse import quote

from scoring.errors import FleetError, InputError

FORMAT = 1
"""Goes up when commits are written otherwise; a data set with newer ones is refused."""


@dataclass(frozen=True, slots=True)
class Done:
    """What a commit says of one repository whose rows it brings.

    ``watched`` are files that its log names, whose state is part of the ``fingerprint``; ``broken`` is how many entries
    could not be read and are left out.
    """

    repository: str
    fingerprint: str
    iterations: int
    broken: int = 0
    watched: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Failed:
    """A repository that was given up: why, and after how many attempts."""

    repository: str
    reason: str
    attempts: int


@dataclass(frozen=True, slots=True)
class PartFile:
    """One Parquet file: its name in the store, its table and month, and its number of rows."""

    name: str
    table: str
    month: str
    rows: int


@dataclass(frozen=True, slots=True)
class Commit:
    """What was added together. ``replaces`` are the ids of commits that no longer count because this one has it all.

    ``rubric`` is the version, ``digest`` stands for its content, ``evidence`` for how its evidence was read.
    """

    id: str
    rubric: str
    digest: str
    evidence: dict[str, Any]
    done: tuple[Done, ...]
    failed: tuple[Failed, ...] = ()
    parts: tuple[PartFile, ...] = ()
    replaces: tuple[str, ...] = ()

    @property
    def iterations(self) -> int:
        """How many rows it has of iterations."""
        return sum(part.rows for part in self.parts if part.table == "iterations")


@dataclass(slots=True)
class Standings:
    """What the commits say together, for one rubric: by repository what stands, and where; and what failed last."""

    standing: dict[str, tuple[str, Done]] = field(default_factory=dict)
    failed: dict[str, Failed] = field(default_factory=dict)

    def take(self, commit: Commit) -> None:
        """Take a commit that is later than those before."""
        for done in commit.done:
            self.standing[done.repository] = commit.id, done
            self.failed.pop(done.repository, None)
        for failed in commit.failed:
            self.failed[failed.repository] = failed


def parsed(where: str, data: bytes) -> Commit:
    """Read a commit.

    Raises:
        InputError: it is none.
        FleetError: it is of a newer format.
    """
    try:
        given = json.loads(data)
        if given["format"] > FORMAT:
            raise FleetError(f"{where}: of a newer da-score; update this one")
        failed = tuple(Failed(**one) for one in given["failed"])
        parts = tuple(PartFile(**one) for one in given["parts"])
        done = tuple(Done(**d | {"watched": tuple(d["watched"])}) for d in given["done"])
        head: dict[str, Any] = {key: given[key] for key in ("id", "rubric", "digest", "evidence")}
        return Commit(**head, done=done, failed=failed, parts=parts, replaces=tuple(given["replaces"]))
    except (ValueError, TypeError, KeyError, RecursionError) as e:
        raise InputError(f"{where}: no commit of a fleet: {type(e).__name__}") from e


def written(commit: Commit) -> bytes:
    """Return a commit as bytes, which :func:`parsed` reads: ASCII, which holds names of files that are no UTF-8 too."""
    return json.dumps({"format": FORMAT, **asdict(commit)}).encode()


def part_name(table: str, rubric: str, month: str, commit: str) -> str:
    """Return the name of a Parquet file."""
    return f"{table}/rubric={quote(rubric, safe='')}/month={quote(month, safe='')}/{commit}.parquet"
