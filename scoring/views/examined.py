"""One pass over a log: every iteration with its entry, its signals and the score that counts for it.

That is the sidecar's, with what it is worth; without one, or when asked to, it is scored in memory.
"""

import contextlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from msgspec import field
from msgspec.structs import replace

from rubric import Rubric, default_rubric
from scoring.errors import GitError, InputError, NotARepositoryError, NotFoundError, Warn, silent
from scoring.evidence.facts import Evidence, IterationFacts
from scoring.evidence.git.facts import Landing
from scoring.evidence.git.walk import subjects_of
from scoring.evidence.rules import Options, Sources, rules_of
from scoring.frozen import Frozen
from scoring.log.find import Selection
from scoring.log.load import Broken
from scoring.log.model import IterationRecord
from scoring.score import score_iterations
from scoring.sidecars.emitter import emit
from scoring.sidecars.fingerprint import fingerprints
from scoring.sidecars.provenance import read_provenance
from scoring.sidecars.scores import PersistedScore, read_score
from scoring.sidecars.states import CURRENT, State, state_of
from scoring.signals.landed import landed_value
from scoring.signals.values import SignalSet
from scoring.text import as_utf8, counted, cut, short
from scoring.views.spending import Spending, Used, kept_prices, spending_of

if TYPE_CHECKING:
    from scoring.outcomes.outcome import (
        Outcome,
        OutcomeRules,
    )  # loaded where outcomes are asked for

_SUBJECT = 200  # characters of the subject of a commit

ScoreOrigin: TypeAlias = Literal[
    "sidecar", "computed"
]  # where a score comes from: the file on disk, or this very pass


class Examined(Frozen, frozen=True):
    """An iteration: the ``score`` that counts, its ``origin``, and ``computed``, what the evidence gives now."""

    facts: IterationFacts
    signals: SignalSet
    computed: PersistedScore
    score: PersistedScore
    origin: ScoreOrigin
    outcome: "Outcome | None" = None
    state: State = CURRENT
    subject: str = ""

    @property
    def record(self) -> IterationRecord:
        """The entry."""
        return self.facts.record

    @property
    def harness(self) -> str | None:
        """What ran the agent, as the entry says, else the harness with the most output tokens in its lines."""
        return (
            self.record.agent.harness
            or (self.facts.transcripts and self.facts.transcripts.harness)
            or None
        )

    @property
    def model(self) -> str | None:
        """The model that it ran, likewise."""
        return (
            self.record.agent.model
            or (self.facts.transcripts and self.facts.transcripts.model)
            or None
        )

    @property
    def spending(self) -> Spending | None:
        """What the iteration used; None where that is not known."""
        return spending_of(self.facts)

    @property
    def used(self) -> Used:
        """The same, with what became of the work."""
        landing, outcome = self.facts.landing, self.outcome
        stayed = (
            None if landing.unknown is not None else landing.landed and landing.reverted_by is None
        )
        defective = True if landing.reverted_by is not None else outcome and outcome.defective
        return Used(self.spending, stayed, None if defective is None else not defective)

    @property
    def differs(self) -> bool:
        """Whether the evidence would give another value today than the sidecar of the same rubric holds."""
        old, new = self.score, self.computed
        return old.rubric_version == new.rubric_version and (old.scored, old.value) != (
            new.scored,
            new.value,
        )

    @property
    def by_evidence(self) -> "Examined":
        """The same with the score that the evidence gives, unless the sidecar rests on evidence that is gone."""
        return (
            replace(self, score=self.computed, origin="computed")
            if self.state.name == "stale"
            else self
        )


def subject_of(repo_dir: Path, facts: IterationFacts) -> str:
    """Return the subject of an iteration's commit, else what its entry says of the work; "" where neither is known."""
    return subjects_by_iteration(repo_dir, [(facts.record, facts.landing.sha)])[
        facts.record.iteration
    ]


def subjects_by_iteration(
    repo_dir: Path, works: Iterable[tuple[IterationRecord, str | None]]
) -> dict[int, str]:
    """Return the same of entries, each with its commit."""
    every, subjects = list(works), dict[str, str]()
    with contextlib.suppress(GitError):
        subjects = subjects_of(repo_dir, [sha for _, sha in every if sha])
    return {
        record.iteration: subjects.get(sha or "") or record.impl.summary for record, sha in every
    }


def named_commit(sha: str | None, subject: str) -> str:
    """Return a commit by its short SHA and subject, as a line; "" where neither is known."""
    text = cut(as_utf8(subject), _SUBJECT)
    return (
        f"Commit {short(sha)}{f': {text}' if text else ''}"
        if sha
        else f"Work: {text}"
        if text
        else ""
    )


def landing_text(landing: Landing) -> str:
    """Return whether the work of an iteration landed, and how that is known, as a line."""
    return f"{_fate(landing)}: {landed_value(landing).detail}"


def landings_text(landings: Sequence[Landing]) -> str:
    """Return how many of some iterations landed, as a line."""
    count = Counter(map(_fate, landings))
    fates = [f"{count[_LANDED]} landed", counted(count[_REVERTED], "was reverted", "were reverted")]
    fates += [
        f"{count[_MISSING]} did not land",
        counted(count[_UNKNOWN], "is unclear", "are unclear"),
    ]
    return f"Of {counted(len(landings), 'iteration')} {', '.join(fates)}."


_LANDED, _REVERTED, _MISSING, _UNKNOWN = (
    "Landed",
    "Reverted",
    "Did not land",
    "Not known whether it landed",
)


def _fate(landing: Landing) -> str:
    if landing.unknown:
        return _UNKNOWN
    return _REVERTED if landing.reverted_by else _LANDED if landing.landed else _MISSING


class Known(NamedTuple):
    """Attributed evidence of a whole log that was read already, and what became of it, where that was asked."""

    evidence: Evidence
    outcomes: "Collection[Outcome]" = ()


class LogView(Frozen, frozen=True):
    """A log that can be gone through, under a rubric; ``recompute`` takes no sidecar, ``broken`` what is left out."""

    iter_log_dir: Path
    repo_dir: Path
    transcript_dirs: tuple[Path, ...] = ()
    rubric: Rubric = field(default_factory=default_rubric)
    recompute: bool = False
    selection: Selection = field(default_factory=Selection)
    observe: bool = False
    options: Options = field(default_factory=Options)
    broken: Broken = silent
    outcomes: "OutcomeRules | None" = None
    subjects: bool = False  # whether each iteration comes with the subject of its commit

    def examine(
        self, read: Callable[[Known], object] = silent, score: PersistedScore | None = None
    ) -> Iterator[Examined]:
        """Yield the iterations in order; LogError, NotARepositoryError, GitError without the named trunk.

        ``read`` takes what is known of a whole log at the end, where its rules attribute; ``score`` is that of the one
        sidecar, where the caller has read it.
        """
        rubric, log = self.rubric, self.iter_log_dir
        sources = Sources.under(rules_of(rubric), self.repo_dir, self.transcript_dirs, self.options)
        records = sources.entries([rubric], log, self.broken)
        chosen = self.selection.chosen(records)
        if not chosen:
            return
        whole = sources.rules.attributes and self.selection == Selection()
        only = None if whole else {record.iteration for record in chosen}
        opened: list[Evidence] = []
        became: dict[int, Outcome] | None = None
        subjects: dict[int, str] = {}
        how = partial(score_iterations, only=only, observe=self.observe, opened=opened.append)
        marks = fingerprints(
            None if self.recompute else sources.cache_dir, log, rubric, keeps=False
        )
        with marks as known, kept_prices(sources.cache_dir):
            for (one,) in how(records, log, sources, rubric):
                if became is None:
                    became = self._outcomes(records, chosen, opened[0])
                    works = [(record, record.commit) for record in chosen] if self.subjects else ()
                    subjects = subjects_by_iteration(self.repo_dir, works)
                n, state = one.record.iteration, CURRENT
                kept = None if self.recompute else score or self._sidecar(n, sources.warn)
                if kept is not None:
                    was = read_provenance(log, n) if one.provenance else None
                    edited = known.is_edited(n, one.inputs, emit(kept.as_dict()))
                    state = state_of(
                        kept, rubric, one.facts, one.signals, was, one.provenance, edited
                    )
                origin: ScoreOrigin = "sidecar" if kept else "computed"
                scores, subject = (one.persisted, kept or one.persisted), subjects.get(n, "")
                yield Examined(
                    one.facts, one.signals, *scores, origin, became.get(n), state, subject
                )
        if became is not None and whole:
            read(Known(opened[0], became.values()))

    def _outcomes(
        self,
        records: Sequence[IterationRecord],
        chosen: Sequence[IterationRecord],
        evidence: Evidence,
    ) -> "dict[int, Outcome]":
        if self.outcomes is None:
            return {}
        from scoring.evidence.git.authorship import AttributedHistory
        from scoring.outcomes.outcome import outcomes_in

        sources, git = evidence.sources, evidence.git
        try:
            if not isinstance(git, AttributedHistory):
                git = AttributedHistory(sources.repo_dir, records, sources.trunk)
            found = outcomes_in(git, chosen, self.outcomes, sources.cache_dir)
        except NotARepositoryError:
            raise
        except GitError as e:
            sources.warn(f"outcomes are not known: {e}")
            return {}
        return {outcome.iteration: outcome for outcome in found}

    def _sidecar(self, iteration: int, warn: Warn) -> PersistedScore | None:
        try:
            return read_score(self.iter_log_dir, iteration)
        except NotFoundError:
            return None
        except InputError as e:
            warn(f"{e}; this iteration is scored anew instead")
            return None
