"""What a score was computed from, in a few bytes, so that a later run can tell whether it still stands.

Kept beside the cache and never in a sidecar, whose bytes are the reference's. Three fingerprints per iteration:

- ``inputs``: the entry, its artifacts, its task's declared scope, and the files beside it that the signals depend on
  (hook outcomes, and the DR transcript under a rubric in which that votes);
- ``facts``: what the transcripts show in its window, with the window itself;
- ``git``: what git says of its commit. Git's answers change with every push and age no score by themselves.

Losing this store costs a comparison of bytes, and nothing else.
"""

import contextlib
import json
import os
from collections.abc import Callable, Collection, Iterator, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from rubric import Rubric
from scoring.errors import InputError, WriteError
from scoring.evidence.artifacts import artifact_path
from scoring.evidence.facts import Evidence, IterationFacts
from scoring.evidence.scopes import DeclaredScope
from scoring.files import kept_as, read_file, remove_stale, write_atomically
from scoring.frozen import Frozen
from scoring.locks import held_alone
from scoring.log.model import IterationRecord
from scoring.signals.table import files_beside, optional_signals

FORMAT = 4

IN_A_FILE = 256
"""The fingerprints of how many iterations are in one file: a command about one reads and writes no others."""


class Fingerprint(Frozen, frozen=True):
    """What one score was computed from; ``sidecar`` is of the bytes that were written."""

    inputs: str
    window: str
    facts: str
    git: str
    sidecar: str

    def same_inputs(self, other: "Fingerprint") -> bool:
        """Tell whether the bytes are the same. Facts of another window compare with git's answers, not here."""
        return self.inputs == other.inputs and (self.window != other.window or self.facts == other.facts)

    def same_facts(self, other: "Fingerprint") -> bool:
        """Tell whether the transcripts show the same, in the same window."""
        return self.facts == other.facts and self.window == other.window

    def same_git(self, other: "Fingerprint") -> bool:
        """Tell whether git answers the same."""
        return self.git == other.git and self.window == other.window


def inputs_of(record: IterationRecord, evidence: Evidence, log_dir: Path, wanted: Collection[str]) -> str:
    """Return the ``inputs`` of one iteration before its evidence is gathered; see :func:`inputs_beside`."""
    places = evidence.sources.repo_dir, log_dir
    return inputs_beside(record, evidence.scopes.get(record.task_id), *places, wanted, evidence.is_there)


def inputs_beside(
    record: IterationRecord,
    scope: DeclaredScope | None,
    repo_dir: Path | str,
    log_dir: Path,
    wanted: Collection[str],
    is_there: Callable[[str], bool] | None = None,
) -> str:
    """Return the ``inputs`` of one iteration, with the files of all signals and of the ``wanted`` optional ones.

    Taken before the files are read for the score: one that changes in between then shows as changed the next time,
    and not as what the score was computed from. ``is_there`` says which files beside the entry there are, where that is
    known.
    """
    beside = [
        (name, _bytes_of(log_dir / name) if is_there is None or is_there(name) else None)
        for name in files_beside(record.iteration, wanted)
    ]
    named = [artifact_path(repo_dir, artifact) for artifact in record.artifacts]
    artifacts = [path and _bytes_of(path) for path in named]
    declared = scope and (scope.entries, scope.plan.parent.name)  # whatever way leads to the repository
    return _digest(record, beside, artifacts, declared)


def fingerprint(inputs: str, facts: IterationFacts, sidecar: bytes) -> Fingerprint:
    """Take the fingerprint of one iteration whose ``inputs`` were taken before."""
    landing = replace(facts.landing, trunk=replace(facts.trunk, commit=None))  # that the trunk moves on is no answer
    return Fingerprint(
        inputs=inputs,
        window=_digest(facts.window),
        facts=_digest(facts.transcripts, *([facts.observed] if facts.observed else [])),
        git=_digest(landing, facts.changed, *([facts.counted_for] if facts.counted_for is not None else [])),
        sidecar=digest_of(sidecar),
    )


def _digest(*parts: object) -> str:
    return digest_of(repr(parts).encode("utf-8", "backslashreplace"))


def digest_of(data: bytes) -> str:
    """Return a short digest of some bytes."""
    return blake2b(data, digest_size=12).hexdigest()


def _bytes_of(path: Path) -> bytes | None:
    try:
        return read_file(path)
    except (InputError, FileNotFoundError):
        return None


def store_of(cache_dir: Path | None, log_dir: Path, rubric: Rubric) -> "FingerprintStore":
    """Return the fingerprints of one log under a rubric, not loaded yet; ``cache_dir`` None keeps nothing."""
    return FingerprintStore(cache_dir, log_dir, digest_of(repr(rubric).encode()))


class FingerprintStore:
    """The fingerprints of one log under one rubric."""

    def __init__(self, cache_dir: Path | None, log_dir: Path, rubric: str) -> None:
        """Prepare to read what is kept for one rubric; ``cache_dir`` None keeps nothing."""
        self._log, self._rubric = os.path.realpath(log_dir), rubric
        self._place = None if cache_dir is None else cache_dir / f"backfill-{FORMAT}" / kept_as(self._log)
        self._kept: dict[int, dict[str, Any]] = {}
        self._changed: set[int] = set()

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Hold the store for one process at a time. The system lets go of it when the process ends, however it ends."""
        if self._place is None:
            yield
            return
        try:
            self._place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            fd = os.open(
                self._place.with_name(f"{self._place.name}.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600
            )
        except OSError:  # a cache that cannot be written is no error
            self._place = None
            yield
            return
        with held_alone(fd):
            self.load()
            yield

    def load(self) -> None:
        """Forget what was read or noted: what is kept is read anew when it is asked for."""
        self._kept, self._changed = {}, set()

    def _near(self, iteration: int) -> dict[str, Any]:
        """Return what is kept of an iteration and of those in the same file, by their numbers."""
        number = iteration // IN_A_FILE
        if number not in self._kept:
            self._kept[number] = self._read(number)
        return self._kept[number]

    def _read(self, number: int) -> dict[str, Any]:
        if self._place is None:
            return {}
        try:
            data = json.loads(read_file(self._file(self._place, number)))
            same = data["format"] == FORMAT and data["log"] == self._log and data["rubric"] == self._rubric
            return dict(data["iterations"]) if same else {}
        except (OSError, InputError, ValueError, TypeError, KeyError, RecursionError):
            return {}

    @staticmethod
    def _file(place: Path, number: int) -> Path:
        return place.with_name(f"{place.name}-{number}.json")

    def get(self, iteration: int) -> Fingerprint | None:
        """Return what the score of an iteration was computed from, when that is known."""
        try:
            return Fingerprint(*self._near(iteration)[str(iteration)].split(" "))
        except (KeyError, TypeError, AttributeError):
            return None

    def is_edited(self, facts: IterationFacts, sidecar: bytes, places: tuple[Path | str, Path], rubric: Rubric) -> bool:
        """Return whether an entry, or a file that belongs to it, is known to be another one than its sidecar is of.

        Args:
            facts: what the evidence says now.
            sidecar: the bytes of the sidecar.
            places: the repository and the log.
            rubric: the rubric that the store is of.
        """
        then = self.get(facts.record.iteration)
        if then is None or then.sidecar != digest_of(sidecar):
            return False
        return then.inputs != inputs_beside(facts.record, facts.scope, *places, optional_signals(rubric))

    def put(self, iteration: int, found: Fingerprint) -> None:
        """Note what the score of an iteration was computed from."""
        given = " ".join((found.inputs, found.window, found.facts, found.git, found.sidecar))
        near = self._near(iteration)
        if near.get(str(iteration)) != given:
            near[str(iteration)] = given
            self._changed.add(iteration // IN_A_FILE)

    def keep(self, known: Mapping[int, Fingerprint]) -> None:
        """Hold the store, note what the scores of some iterations were computed from, and write that."""
        with self.held():
            for iteration, found in known.items():
                self.put(iteration, found)
            self.save()

    def save(self) -> None:
        """Write what is noted and differs. A cache that cannot be written is no error."""
        if self._place is None or not self._changed:
            return
        remove_stale(self._place.parent)
        about = {"format": FORMAT, "log": self._log, "rubric": self._rubric}
        with contextlib.suppress(OSError, WriteError):
            for number in sorted(self._changed):
                content = json.dumps(about | {"iterations": self._kept[number]}).encode()
                write_atomically(self._file(self._place, number), content, durable=False)
            self._changed = set()
