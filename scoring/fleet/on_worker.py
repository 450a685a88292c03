"""Scores one repository on a worker, and returns rows instead of writing sidecars; archives are unpacked first."""

import contextlib
import functools
import json
import os
import posixpath
import tarfile
import tempfile
import time
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any

from rubric import Rubric
from scoring.errors import DaScoreError, GitError, InputError
from scoring.evidence.git.checkout import check_out
from scoring.evidence.rules import Options, options_of
from scoring.examine import LogView
from scoring.fleet.fleet_toml import FleetConfig, file_system, one_line
from scoring.fleet.sources import Repository, fingerprint_of, folder_state
from scoring.fleet.tables import arrow_tables, rows_of_iteration, rows_of_work
from scoring.jobs.backfill import BackfillPlan, IterationResult, LogJob, backfill_log
from scoring.log.settings import DEFAULT_LOG_DIR, Settings, cache_dir_of, days_of, resolve_settings
from scoring.outcomes.outcome import FIX_WORDS, Outcome, OutcomeRules, log_outcomes
from scoring.temporary import temporary_directory
from scoring.text import printable
from scoring.views.columns import DataRow
from scoring.views.work_rows import work_of

MOST_WARNINGS = 20
_REASON_LENGTH = 400

BEGUN = "da-score-fleet-begun"  # the topic on which workers say which task they begin with


@dataclass(slots=True)
class Result:
    """What a worker returns of one repository: the rows of each table of Arrow, or why there are none."""

    repository: str
    fingerprint: str = ""
    tables: dict[str, Any] = field(default_factory=dict)
    iterations: int = 0
    broken: int = 0
    watched: str = "[]"  # files that its entries name, as a JSON list
    warnings: tuple[str, ...] = ()
    error: str = ""
    seconds: float = 0.0


def begin_and_score(one: Repository, config: FleetConfig, rubric: Rubric, key: str) -> Result:
    """Tell the coordinator that a task begins, and score its repository."""
    from distributed import get_worker

    with contextlib.suppress(Exception):  # only the count of attempts depends on it
        get_worker().log_event(BEGUN, key)
    return score_repository(one, config, rubric)


def score_repository(one: Repository, config: FleetConfig, rubric: Rubric) -> Result:
    """Score one repository. Never raises: why it cannot be scored is in the result, a bug too."""
    began = time.monotonic()
    result = Result(one.name)
    try:
        if not one.url:
            _score(one, config, rubric, result)
        else:
            with scratch_folder(config) as scratch:
                here = replace(config, cache=str(scratch / "cache"))
                _score(unpacked(one, config, scratch / "unpacked"), here, rubric, result)
            result.fingerprint, result.watched = fingerprint_of(one, config, rubric), "[]"
    except DaScoreError as e:
        result.error = str(e)
    except Exception as e:
        result.error = f"internal error, please report it: {type(e).__name__}: {e}"
    result.error = " ".join(printable(result.error).split())[:_REASON_LENGTH]
    result.seconds = time.monotonic() - began
    return result


def _score(one: Repository, config: FleetConfig, rubric: Rubric, result: Result) -> None:
    assert one.repo_dir is not None
    assert one.log is not None
    settings = resolve_settings(one.options(), environment={})
    named = Path(config.cache) if config.cache else None
    cache = cache_dir_of(Settings(cache_dir=named, no_cache=config.cache == ""))
    horizon = days_of(config.horizon)
    before = fingerprint_of(one, config, rubric)
    plan = BackfillPlan(
        rubric, dry_run=True, cache_dir=cache, processes=1, keeps_cache=True, observe=True
    )
    found: list[IterationResult] = []
    report = backfill_log(LogJob(one.log, settings, rubric), plan, found.append)
    if report.error:
        raise DaScoreError(report.error)
    records, outcomes = [standing.facts.record for standing in found], dict[int, Outcome]()
    options: Options = {
        **options_of(settings),
        "cache_dir": cache,
        "processes": 1,
        "warn": report.warnings.append,
    }
    rules = OutcomeRules(horizon, settings.code_globs, settings.fix_words or FIX_WORDS)
    view = LogView(
        one.log, one.repo_dir, settings.transcript_dirs, rubric, options=options, outcomes=rules
    )
    rows: list[tuple[str, DataRow]] = []
    try:
        outcomes = {
            o.iteration: o
            for o in log_outcomes(records, one.repo_dir, rules, cache, settings.trunk)
        }
        rows += rows_of_work(result.repository, work_of(view))
    except GitError as e:
        report.warnings.append(f"outcomes are not known: {e}")
    rows += (
        row
        for standing in found
        for row in rows_of_iteration(
            result.repository, standing, outcomes.get(standing.score.iteration), horizon
        )
    )
    result.tables = arrow_tables(rows, rubric.version)
    result.iterations, result.broken = len(found), len(report.broken)
    result.warnings = tuple(map(printable, [*dict.fromkeys(report.warnings)][:MOST_WARNINGS]))
    names = {
        os.path.normpath(name)
        for record in records
        for name in record.artifacts
        if name and "\0" not in name
    }
    result.watched = json.dumps(sorted(names))
    look = functools.cache(folder_state)
    if before == fingerprint_of(
        one, config, rubric, (), look
    ):  # what changed meanwhile must show the next time
        result.fingerprint = fingerprint_of(one, config, rubric, sorted(names), look)


MOST_FILES = 2_000_000  # of one archive
_PIECE = 1 << 20
LOG_FOLDERS = ("log", "iteration-log")
TRANSCRIPTS = "transcripts"
_CHECKED_OUT = ".da-score-work-tree"  # of objects and refs only: a configuration could run programs


@contextlib.contextmanager
def scratch_folder(config: FleetConfig) -> Iterator[Path]:
    """Give a new folder, which is taken away; so is what a worker that was killed has left."""
    base = Path(config.scratch or tempfile.gettempdir())
    with contextlib.ExitStack() as stack:
        try:
            base.mkdir(parents=True, exist_ok=True)
            folder = stack.enter_context(temporary_directory("fleet", base))
        except OSError as e:
            raise InputError(f"{base}: no room to unpack: {(e.strerror or str(e)).lower()}") from e
        yield folder


def unpacked(one: Repository, config: FleetConfig, here: Path) -> Repository:
    """Return a repository at a URL as a directory below a new folder; InputError or GitError where it is none."""
    here.mkdir()
    _fetch(one, config, here)
    repository = _repository_in(here, one.url)
    repo, top = here / _CHECKED_OUT / one.short, repository.parent
    check_out(repository, repo)
    log = next(
        (top / name for name in LOG_FOLDERS if (top / name).is_dir()), repo / DEFAULT_LOG_DIR
    )
    if not log.is_dir():
        raise InputError(
            f"{one.url}: holds no iteration log, neither as log/ nor in the repository"
        )
    folders = (str(top / TRANSCRIPTS),) if (top / TRANSCRIPTS).is_dir() else ()
    way = None if folders else "none"
    return replace(
        one, source=replace(one.source, transcripts=folders, way=way), repo_dir=repo, log=log
    )


def _fetch(one: Repository, config: FleetConfig, here: Path) -> None:
    fs, path = file_system(one.url, config.storage)
    room = _Room(here, config.expanded, one.url)
    try:
        if fs.isdir(path):
            base = path.rstrip("/") + "/"
            for name in sorted(fs.find(path)):
                with fs.open(name, "rb", block_size=_PIECE) as source:
                    room.put(name.removeprefix(base), source)
        elif path.endswith(".zip"):
            with fs.open(path, "rb") as raw, zipfile.ZipFile(raw) as archive:
                for info in archive.infolist():
                    if not info.is_dir() and (info.external_attr >> 28) in (0, 8):
                        with archive.open(info) as source:
                            room.put(info.filename, source)
        else:
            with fs.open(path, "rb", block_size=8 * _PIECE) as raw:
                _untar(raw, path, room)
    except DaScoreError:
        raise
    except FileNotFoundError as e:
        raise InputError(f"{one.url}: is gone") from e
    except (
        tarfile.TarError,
        zipfile.BadZipFile,
        EOFError,
        ValueError,
        RuntimeError,
        NotImplementedError,
    ) as e:
        raise InputError(f"{one.url}: no archive that can be read: {one_line(e, 200)}") from e
    except Exception as e:
        raise InputError(f"{one.url}: cannot be read: {one_line(e, 200)}") from e


def _untar(raw: IO[bytes], path: str, room: "_Room") -> None:
    with contextlib.ExitStack() as stack:
        if path.endswith(".zst"):
            try:
                from compression import zstd  # type: ignore[import-not-found, unused-ignore]
            except ImportError:
                from backports import zstd
            raw = stack.enter_context(zstd.ZstdFile(raw))
        archive = stack.enter_context(tarfile.open(fileobj=raw, mode="r|*"))
        for member in archive:
            if member.isreg() and (source := archive.extractfile(member)):
                room.put(member.name, source)


class _Room:
    """A folder into which files are put, and no more bytes than there may be."""

    def __init__(self, folder: Path, limit: int, url: str) -> None:
        self._folder, self._limit, self._url = folder, limit, url
        self._left, self._files = limit, MOST_FILES

    def put(self, name: str, source: Any) -> None:
        cleaned = posixpath.normpath(name)
        if name.startswith("/") or "\\" in name or "\0" in name or cleaned.split("/")[0] == "..":
            raise InputError(
                f"{self._url}: has a file named {name[:200]!r}, which leads outside; nothing is read"
            )
        place = self._folder / cleaned
        place.parent.mkdir(parents=True, exist_ok=True)
        self._files -= 1
        with open(place, "xb") as out:
            while piece := source.read(_PIECE):
                self._left -= len(piece)
                if self._left < 0 or self._files < 0:
                    what = f"{self._limit:,} bytes" if self._files >= 0 else f"{MOST_FILES:,} files"
                    raise InputError(
                        f"{self._url}: is more than {what} when unpacked; limits.expanded allows that"
                    )
                out.write(piece)


def _repository_in(here: Path, url: str) -> Path:
    top = here
    for _ in range(3):
        names = sorted(place.name for place in top.iterdir()) if top.is_dir() else []
        if (
            len(names) == 1
            and (top / names[0]).is_dir()
            and not (top / names[0] / "HEAD").is_file()
        ):
            top = top / names[0]
    there = list(top.iterdir())
    places = [p for p in there if p.suffix == ".bundle" and p.is_file()]
    places += [p for p in there if (p / "HEAD").is_file() and (p / "objects").is_dir()]
    if len(places) != 1:
        found = (
            "no git bundle and no bare repository" if not places else f"{len(places)} repositories"
        )
        raise InputError(f"{url}: holds {found}; one NAME.bundle or NAME.git/ belongs in it")
    return places[0]
