"""What a score was computed from, in a few bytes, so that a later run can tell whether it is still right.

Beside it what ``validate`` last found of the scores of a log, and which these were.

In the store, per iteration: ``inputs`` (the entry and its files), ``facts`` (transcripts in its window) and ``git``,
which ages no score by itself. Losing them costs a comparison of bytes.
"""

import contextlib
import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Literal, NamedTuple

from msgspec.structs import replace

from rubric import Rubric, Score
from scoring.errors import InputError
from scoring.evidence.beside import artifact_path
from scoring.evidence.facts import Evidence, IterationFacts
from scoring.files import read_file
from scoring.frozen import Frozen
from scoring.log.model import IterationRecord
from scoring.sidecars.scores import PersistedScore
from scoring.signals.table import files_beside
from scoring.store import Store


class Fingerprint(Frozen, frozen=True):
    """What one score was computed from; ``sidecar`` is of the bytes that were written."""

    inputs: str
    window: str
    facts: str
    git: str
    sidecar: str

    def same_inputs(self, other: "Fingerprint") -> bool:
        """Tell whether the bytes are the same. Facts of another window compare with git's answers, not here."""
        return self.inputs == other.inputs and (
            self.window != other.window or self.facts == other.facts
        )

    def same(self, part: Literal["facts", "git"], other: "Fingerprint") -> bool:
        """Tell whether what transcripts show, or git answers, is the same in the same window."""
        return getattr(self, part) == getattr(other, part) and self.window == other.window


def inputs_of(
    record: IterationRecord, evidence: Evidence, log_dir: Path, wanted: Collection[str]
) -> str:
    """Return the ``inputs`` of one iteration; take it before the files are read, so that later changes show."""
    beside = [(name, _bytes_of(log_dir / name)) for name in files_beside(record.iteration, wanted)]
    named = [artifact_path(evidence.sources.repo_dir, artifact) for artifact in record.artifacts]
    artifacts = [path and _bytes_of(path) for path in named]
    scope = evidence.scopes.get(record.task_id)
    declared = scope and (
        scope.entries,
        scope.plan.parent.name,
    )  # whatever way leads to the repository
    return _digest(record, beside, artifacts, declared)


def fingerprint(inputs: str, facts: IterationFacts, sidecar: bytes) -> Fingerprint:
    """Take the fingerprint of one iteration; its ``inputs`` were taken before."""
    landing = replace(
        facts.landing, trunk=replace(facts.trunk, commit=None)
    )  # that the trunk moves on is no answer
    return Fingerprint(
        inputs=inputs,
        window=_digest(facts.window),
        facts=_digest(facts.transcripts, *([facts.observed] if facts.observed else [])),
        git=_digest(
            landing, facts.changed, *([facts.counted_for] if facts.counted_for is not None else [])
        ),
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
    except InputError:
        return None


class Fingerprints:
    """The fingerprints of one log under one rubric, in the store; see :func:`fingerprints`."""

    def __init__(self, store: Store, log_dir: Path, rubric: Rubric) -> None:
        self._store, self._about = (
            store,
            f"{os.path.realpath(log_dir)}\0{digest_of(repr(rubric).encode())}\0",
        )

    def get(self, iteration: int) -> Fingerprint | None:
        """Return what the score of an iteration was computed from, when that is known."""
        found = self._store.get("fingerprint", f"{self._about}{iteration}", _NO_STAMP)
        parts = (found or b"").decode("ascii", "replace").split(" ")
        return Fingerprint(*parts) if len(parts) == 5 else None

    def put(self, iteration: int, found: Fingerprint) -> None:
        """Keep what the score of an iteration was computed from."""
        if self.get(iteration) != found:
            row = " ".join(getattr(found, name) for name in found.__struct_fields__)
            self._store.put("fingerprint", f"{self._about}{iteration}", _NO_STAMP, row.encode())

    def is_edited(self, iteration: int, inputs: str, sidecar: bytes) -> bool:
        """Return whether the ``inputs`` of an iteration are known to be others than those that its sidecar is of."""
        then = self.get(iteration)
        return then is not None and then.sidecar == digest_of(sidecar) and then.inputs != inputs


_NO_STAMP = b""  # A fingerprint holds what it was computed from, so it needs no stamp


@contextlib.contextmanager
def fingerprints(
    cache_dir: Path | None, log_dir: Path, rubric: Rubric, keeps: bool = True
) -> Iterator[Fingerprints]:
    """Give the fingerprints of a log under a rubric, kept in ``cache_dir``; without ``keeps`` they are only read."""
    with Store(cache_dir, keeps) as store:
        yield Fingerprints(store, log_dir, rubric)


TOO_FEW, WEAK, USEFUL = "too few", "weak", "useful"


class Meaning(NamedTuple):
    """What is known of whether scores foretell what becomes of the work: a verdict, None where none was found yet."""

    verdict: str | None = None

    @property
    def means_something(self) -> bool:
        """Whether they do so better than a coin."""
        return (self.verdict or "").startswith((USEFUL, WEAK))

    @property
    def name(self) -> str:
        """What a score is called: not simply a score where it is not known to foretell what becomes of the work."""
        return "Score" if self.means_something else "Evidence score"

    def __str__(self) -> str:
        unknown = {
            None: "not measured: da-score validate",
            TOO_FEW: "not known yet: too few outcomes",
        }
        return unknown.get(self.verdict) or str(self.verdict)


NOT_MEASURED = Meaning()
_MARK = 8  # bytes that stand for one score


def score_mark(score: Score | PersistedScore, facts: IterationFacts) -> bytes:
    """Return what stands for a score, of this work and with this trunk."""
    known = (
        score.iteration,
        score.rubric_version,
        score.scored,
        score.value,
        score.band,
        facts.landing.sha,
    )
    about = repr((*known, facts.record.agent.session_id, facts.trunk.commit))
    return blake2b(about.encode("utf-8", "backslashreplace"), digest_size=_MARK).digest()


def keep_meaning(
    cache_dir: Path | None, about: Sequence[object], marks: Iterable[bytes], verdict: str
) -> None:
    """Keep what was found ``about`` the scores with these marks: of a log, under a rubric, by rules of outcomes."""
    with Store(cache_dir) as store:
        store.put(
            "fingerprint",
            f"validity\0{about!r}",
            _NO_STAMP,
            verdict.encode() + b"\n" + b"".join(marks),
        )


def kept_meaning(
    cache_dir: Path | None, about: Sequence[object], marks: Collection[bytes]
) -> Meaning:
    """Return what was last found of scores; nothing where one of them was not among those measured."""
    with Store(cache_dir, keeps=False) as store:
        found = store.get("fingerprint", f"validity\0{about!r}", _NO_STAMP) or b""
    verdict, _, measured = found.partition(b"\n")
    known = {measured[at : at + _MARK] for at in range(0, len(measured), _MARK)}
    return Meaning(
        verdict.decode("utf-8", "replace") if marks and known.issuperset(marks) else None
    )
