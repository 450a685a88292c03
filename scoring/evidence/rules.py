"""Evidence rules: how evidence is found and read, a value for each set of rules, and where that of one log comes from.

To add rules, add a value and its line in :data:`RULES`; the functions that it names are loaded when called.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from msgspec import field

from scoring.errors import Warn, silent
from scoring.evidence.transcripts.facts import ReadingOptions, TranscriptPlaces
from scoring.frozen import Frozen
from scoring.log.settings import Settings, cache_dir_of

if TYPE_CHECKING:
    from rubric import Rubric
    from scoring.evidence.beside import Corrections
    from scoring.evidence.git.facts import GitFacts
    from scoring.evidence.transcripts.scan import Scan
    from scoring.log.load import Broken
    from scoring.log.model import IterationRecord, Records

Way = Literal["auto", "none"]  # instead of folders of transcripts: the default ones, or none at all


def _when_called(module: str, name: str) -> Callable[..., Any]:

    def call(*arguments: Any, **options: Any) -> Any:
        return getattr(import_module(f"scoring.evidence.{module}"), name)(*arguments, **options)

    return call


class EvidenceRules(Frozen, frozen=True):
    """One set of rules.

    Attributes:
        name: the word in a rubric's data.
        true_flags: the spellings of a plain YAML boolean that a tri-state flag of an entry takes for true.
        as_observed: whether evidence is read as it is found on disk and in git. Then transcripts are
            looked for in the harnesses' own folders too, a trunk may be named, each iteration has
            lines of transcripts of its own, a commit counts for one iteration only, facts depend on
            all entries, and ``iter-N.evidence.yaml`` keeps what a score was computed from.
        transcripts: prepares to read the transcripts in some places, opening nothing yet.
        git: opens a repository and resolves the commit fields of a log.
        corrections: reads what an entry and its review artifact report, and never raises.
    """

    name: str
    true_flags: frozenset[str]
    as_observed: bool
    transcripts: "Callable[..., Scan]"
    git: "Callable[..., GitFacts]"
    corrections: "Callable[[IterationRecord, Path | str, Warn], Corrections]"


REFERENCE = EvidenceRules(
    "reference",
    true_flags=frozenset({"true"}),
    as_observed=False,
    transcripts=_when_called("reference.transcripts", "reference_scan"),
    git=_when_called("reference.git", "ReferenceHistory"),
    corrections=_when_called("beside", "reference_corrections"),
)
"""Evidence as the reference reads it. Its scores stay comparable with the reference's, so nothing here may change."""

ATTRIBUTED = EvidenceRules(
    "attributed",
    true_flags=frozenset({"true", "True", "TRUE"}),
    as_observed=True,
    transcripts=_when_called("attribution.attributed", "attributed_scan"),
    git=_when_called("git.authorship", "AttributedHistory"),
    corrections=_when_called("beside", "reported_corrections"),
)
"""Evidence of each iteration's own work, as observed; see ``docs/EVIDENCE.md``."""

RULES: Mapping[str, EvidenceRules] = {rules.name: rules for rules in (REFERENCE, ATTRIBUTED)}


def rules_of(rubric: "Rubric") -> EvidenceRules:
    """Return the rules under which a rubric's evidence is read; the rubric is valid."""
    return RULES[rubric.evidence]


class Options(ReadingOptions, total=False):
    """How evidence is found and read: ``transcripts`` is for when no folder is named; the rubric's rules may decide.

    ``worktrees`` are globs of folders where work trees of the repository may have been. With ``trusted`` no file of the
    checkout but the entries has a say, and of its git no checkpoint unless ``checkpoints``.
    """

    transcripts: Way | None
    trunk: str | None
    worktrees: Sequence[str]
    trusted: bool
    checkpoints: bool


def options_of(settings: Settings) -> Options:
    """Return how some settings have evidence found and read."""
    return {
        "cache_dir": cache_dir_of(settings),
        "processes": settings.processes,
        "transcripts": "none" if settings.transcripts == "none" else "auto",
        "trunk": settings.trunk,
        "worktrees": settings.worktrees,
        "test_commands": settings.test_commands,
    }


class Sources(Frozen, frozen=True):
    """Where the evidence of one log comes from, under one set of rules."""

    rules: EvidenceRules
    repo_dir: Path | str
    places: TranscriptPlaces
    trunk: str | None = None
    worktrees: Sequence[str] = ()
    trusted: bool = False
    reading: ReadingOptions = field(default_factory=ReadingOptions)

    @classmethod
    def under(
        cls,
        rules: EvidenceRules,
        repo_dir: Path | str,
        directories: Sequence[Path | str] = (),
        options: Options | None = None,
        hinted: Sequence[Path] = (),
    ) -> "Sources":
        """Decide where transcripts are looked for; ``directories`` are named by hand, ``hinted`` by a harness."""
        reading: dict[str, Any] = dict(options or {})
        way, trunk = reading.pop("transcripts", None), reading.pop("trunk", None)
        worktrees = tuple(reading.pop("worktrees", ()))
        trusted = reading.pop("trusted", False)
        believed = trusted, reading.pop("checkpoints", not trusted)
        if way == "none":
            directories = hinted = ()
        auto = rules.as_observed and not directories and way != "none"
        trunk = trunk if rules.as_observed else None
        named = tuple(map(Path, directories)), auto, tuple(hinted)
        places = TranscriptPlaces(Path(repo_dir), *named, checkpoints=believed[1], trusted=trusted)
        return cls(rules, repo_dir, places, trunk, worktrees, trusted, ReadingOptions(**reading))  # type: ignore[typeddict-item]

    @property
    def warn(self) -> Warn:
        """Takes a line of text about what is skipped."""
        return self.reading.get("warn", silent)

    @property
    def cache_dir(self) -> Path | None:
        """Where what was read is kept; None keeps nothing."""
        return self.reading.get("cache_dir")

    def entries(
        self, rubrics: "Iterable[Rubric]", iter_log_dir: Path | str, broken: "Broken"
    ) -> "Records":
        """Return the entries of a log as these rules load them; LogError, or ``broken`` takes what cannot be read."""
        from scoring.log.load import (
            load_log_for,
        )  # transcripts begin to be read before it is loaded

        keeps = self.reading.get("keep", True)
        found = load_log_for(
            rubrics, iter_log_dir, self.rules.true_flags, broken, self.cache_dir, keeps
        )
        return found.without_other_names() if self.trusted else found

    def transcripts(self) -> "Scan":
        """Prepare to read the transcripts."""
        return self.rules.transcripts(self.places, **self.reading)

    def reading_begun(self) -> "AbstractContextManager[Scan | None]":
        """Begin to read the transcripts; no reader is loaded, and None returned, where rules look only where named."""
        named = self.rules.as_observed or self.places.directories or self.places.hinted
        return self.transcripts().start() if named else nullcontext()
