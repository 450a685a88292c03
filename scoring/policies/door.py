"""The door behind which the evidence policies stand: what scoring asks, whichever policy answers."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Unpack

if TYPE_CHECKING:  # a command starts to read transcripts before it has loaded the rest
    from scoring.evidence.git.facts import Landing, Trunk
    from scoring.evidence.transcripts.facts import (
        IterationWindow,
        Reading,
        TranscriptFacts,
        TranscriptPlaces,
        TranscriptSurvey,
        Warn,
    )
    from scoring.log.model import IterationRecord
    from scoring.signals.values import SignalValue


class Transcripts(Protocol):
    """One reading of transcripts. Used as a context manager, which closes it."""

    @property
    def cache_dir(self) -> Path | None:
        """Where what was read is kept; None keeps nothing."""

    def __enter__(self) -> "Transcripts": ...

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...

    def start(self) -> "Transcripts":
        """Find out what must be read, and begin to read it in worker processes where that pays. Never raises."""

    def facts(self, windows: "Sequence[IterationWindow]") -> "Sequence[TranscriptFacts]":
        """Return what lies in each window, when everything has been read; may be called once."""

    def survey(self) -> "TranscriptSurvey":
        """Return what the reading met with; after :meth:`facts`."""

    def close(self) -> None:
        """Stop worker processes that still run, and let go of everything."""


class GitEvidence(Protocol):
    """What git says about the commits of one log. Asked in batches, whatever the length of the log."""

    @property
    def trunk(self) -> "Trunk":
        """Where work lands, and how that was found out."""

    def resolve(self, name: str) -> str | None:
        """Return the SHA of the commit that a commit field, exactly as written or trimmed, stands for, or None."""

    def committed(self, name: str) -> int | None:
        """Return the committer time, in seconds since 1970, of the commit that a field stands for, or None."""

    def landing(self, record: "IterationRecord") -> "Landing":
        """Tell whether an iteration's work has landed (contract sections 2.1 and 10)."""

    def scope(self, record: "IterationRecord", scopes: "Mapping[str, tuple[str, ...]]") -> "SignalValue":
        """Measure how much of an iteration's change lies in its task's declared scope (sections 2.2 and 10)."""

    def keep(self) -> None:
        """Keep what was learnt and will never change for the next run."""


class Pressure(Protocol):
    """What an entry and its review artifact say of corrections (contract sections 2.5 and 10)."""

    @property
    def retries(self) -> int:
        """Retries of the implementation and of every verifier."""

    @property
    def corrections(self) -> int:
        """Corrections by the user and retries in the loop, as the review artifact counts them."""

    @property
    def reported(self) -> bool:
        """Whether anybody spoke of them at all; when nobody did and no tool was called, the signal is absent."""


class EvidencePolicy(Protocol):
    """One set of rules for finding and reading evidence. Holds no state: what is read stands in what it returns."""

    @property
    def name(self) -> str:
        """The word in a rubric's data."""

    @property
    def true_flags(self) -> frozenset[str]:
        """The spellings of a plain YAML boolean that a tri-state flag of an entry takes for true (section 1.2)."""

    @property
    def keeps_provenance(self) -> bool:
        """Whether what a score was computed from is written beside it, as ``iter-N.evidence.yaml``."""

    @property
    def looks_around(self) -> bool:
        """Whether the harnesses' own places are read when nobody names a folder, and a trunk may be named."""

    def transcripts(self, places: "TranscriptPlaces", **reading: "Unpack[Reading]") -> Transcripts:
        """Prepare to read the transcripts in some places; ``reading`` says how. Opens nothing yet."""

    def git(
        self,
        repo_dir: Path | str,
        records: "Sequence[IterationRecord]",
        cache_dir: Path | None = None,
        trunk: str | None = None,
    ) -> GitEvidence:
        """Open a repository and resolve the commit fields of a log.

        Args:
            repo_dir: a directory in a git work tree.
            records: all records of the log, sorted by iteration.
            cache_dir: where answers that never change are kept; None keeps none.
            trunk: the branch on which work lands; None finds it out.

        Raises:
            NotARepositoryError: ``repo_dir`` lies in no git work tree.
            GitError: there is no branch ``trunk``, or git is missing or failed.
        """

    def pressure(self, record: "IterationRecord", repo_root: Path | str, warn: "Warn") -> Pressure:
        """Read what an entry and its review artifact say of corrections. Never raises."""
