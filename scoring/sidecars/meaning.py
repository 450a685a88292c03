"""What ``validate`` last found of the scores of a log: whether they foretell anything.

A verdict is kept in the store with a mark for each score that it is about. The verdict holds for
some scores only where it was kept with the mark of every one.
"""

from collections.abc import Collection, Iterable, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

from rubric import Score
from scoring.evidence.facts import IterationFacts
from scoring.store import Store

from .scores import PersistedScore

TOO_FEW = "too few"
WEAK = "weak"
USEFUL = "useful"

_MARK_BYTES = 8
_NO_STAMP = b""


class Meaning(NamedTuple):
    """Whether scores foretell what becomes of the work.

    Attributes:
        verdict: what ``validate`` found, in its words; None where it has not measured them.
    """

    verdict: str | None = None

    @property
    def means_something(self) -> bool:
        """Whether the scores foretell what becomes of the work better than a coin."""
        return self.verdict is not None and self.verdict.startswith((USEFUL, WEAK))

    @property
    def name(self) -> str:
        """What a score is called: an evidence score where it is not known to foretell anything."""
        if self.means_something:
            return "Score"
        return "Evidence score"

    def __str__(self) -> str:
        if self.verdict is None:
            return "not known yet if that foretells anything: run da-score validate"
        if self.verdict == TOO_FEW:
            return "not known yet: too few outcomes"
        return self.verdict


NOT_MEASURED = Meaning()


class _Measured(NamedTuple):
    """What the store keeps.

    Attributes:
        verdict: what ``validate`` found, in its words.
        marks: the marks of the scores that it measured.
    """

    verdict: str
    marks: frozenset[bytes]


def score_mark(score: Score | PersistedScore, facts: IterationFacts) -> bytes:
    """Return a digest of a score, its commit, its session and the tip of the trunk."""
    about = (
        score.iteration,
        score.rubric_version,
        score.scored,
        score.value,
        score.band,
        facts.landing.sha,
        facts.record.agent.session_id,
        facts.trunk.commit,
    )
    text = repr(about).encode("utf-8", "backslashreplace")
    return blake2b(text, digest_size=_MARK_BYTES).digest()


def keep_meaning(
    cache_dir: Path | None,
    about: Sequence[object],
    marks: Iterable[bytes],
    verdict: str,
) -> None:
    """Keep what ``validate`` found of some scores, in place of what was kept before.

    Args:
        cache_dir: the folder of the store; None keeps nothing.
        about: the log, the rubric and the rules of outcomes.
        marks: the marks of the scores that were measured.
        verdict: what was found, in the words of ``validate``.
    """
    with Store(cache_dir) as store:
        store.put_value(
            "stamp", _key(about), _NO_STAMP, _Measured(verdict, frozenset(marks))
        )


def kept_meaning(
    cache_dir: Path | None,
    about: Sequence[object],
    marks: Collection[bytes] | None,
) -> Meaning:
    """Return what ``validate`` last found, if it measured all of some scores.

    :data:`NOT_MEASURED` where nothing is kept, one of the scores was not measured, or ``marks``
    is empty.

    Args:
        cache_dir: the folder of the store; None has nothing.
        about: the log, the rubric and the rules of outcomes.
        marks: the marks of the scores; None for whatever scores were measured.
    """
    with Store(cache_dir, keeps=False) as store:
        measured = store.get_value("stamp", _key(about), _NO_STAMP, _Measured)

    if measured is None:
        return NOT_MEASURED
    if marks is not None and not (marks and measured.marks.issuperset(marks)):
        return NOT_MEASURED
    return Meaning(measured.verdict)


def _key(about: Sequence[object]) -> str:
    return f"validity\0{about!r}"
