"""Everything that evidence says of the iterations of one log, as facts; signals judge them."""

from collections.abc import Collection, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from scoring.evidence import beside
from scoring.evidence.git.facts import Changed, GitFacts, Landing, Trunk
from scoring.evidence.rules import Sources
from scoring.evidence.scopes import DeclaredScope, declared_scopes
from scoring.evidence.transcripts.facts import (
    NS,
    IterationWindow,
    Observed,
    TranscriptFacts,
    clamp_ns,
)
from scoring.frozen import Frozen
from scoring.log.model import IterationRecord, Records
from scoring.text import trim

if TYPE_CHECKING:
    from scoring.evidence.attribution.attributed import AttributedFacts
    from scoring.evidence.labels import LabelFacts  # most rubrics read no labels
    from scoring.evidence.transcripts.scan import Scan


class IterationFacts(Frozen, frozen=True):
    """What evidence says of one iteration; what was not asked for, or is not there, is None.

    ``changed`` has files only where the task declares a ``scope``. ``window`` is None when the commit does not
    resolve as written. ``statuses`` are those of verifiers' result artifacts, in order, "" where there is none,
    ``artifacts`` their paths in the repository. ``counted_for`` is the lower iteration that names the same commit;
    with ``all_flags`` every test flag of the entry is a claim.
    """

    record: IterationRecord
    trunk: Trunk
    landing: Landing
    scope: DeclaredScope | None
    changed: Changed
    window: IterationWindow | None
    transcripts: TranscriptFacts | None
    statuses: tuple[str, ...]
    corrections: beside.Corrections
    hooks: beside.HookFacts
    deliberation: beside.DeliberationFacts | None = None
    observed: Observed | None = None
    counted_for: int | None = None
    artifacts: tuple[str, ...] = ()
    labels: "LabelFacts | None" = None
    all_flags: bool = False


_BEFORE = (
    16  # how many entries before one are looked at first for the commit at which its window begins
)


class Evidence:
    """What the outside says about the iterations of one log. Sources are asked when first needed, and once."""

    def __init__(
        self,
        records: Sequence[IterationRecord],
        log_dir: Path | str,
        sources: Sources,
        scan: "Scan | None",
        only: Collection[int] | None = None,
        profile: str | None = beside.PROFILE,
        labels: bool = False,
    ) -> None:
        """Open the repository; NotARepositoryError, or GitError where the sources' trunk is not there.

        ``records`` are all of the log, sorted; ``only`` are the iterations that will be asked about, None for
        all. DR transcripts are measured under a released ``profile``, None reads none.
        """
        self.sources, self.warn = sources, sources.warn
        self._log_dir, self.scan = log_dir, scan
        self._only, self._profile, self._labels = only, profile, labels
        self.git, self.records = self._opened(Records.of(records))

    def _opened(self, records: Records) -> tuple[GitFacts, Records]:
        """Open git, and return it with the records that the facts asked for depend on: the others are not looked at."""
        sources, before = self.sources, _BEFORE
        while True:
            near = records
            if self._only is not None and not sources.rules.as_observed:
                near = records.with_predecessors(self._only, before)
            opened = (self.scan and self.scan.repository) or sources.repo_dir
            git = sources.rules.git(opened, near, sources.trunk)
            if len(near) == len(records) or records.have_commit_before(
                self._only or (), before, git.committed
            ):
                return git, near
            before *= _BEFORE

    def of(self, record: IterationRecord) -> IterationFacts:
        """Return what evidence says of one iteration."""
        n, rules, trusted = record.iteration, self.sources.rules, self.sources.trusted
        repo_dir = "" if trusted else self.sources.repo_dir  # without a folder no artifact is there
        scope = self.scopes.get(record.task_id)
        return IterationFacts(
            record,
            self.git.trunk,
            self.git.landing(record),
            scope,
            self.git.changed(record, files=scope is not None or rules.as_observed),
            self._windows.get(n),
            self.transcripts(n),
            tuple(
                beside.artifact_status(repo_dir, verifier.result_artifact)
                for verifier in record.verifiers
            ),
            rules.corrections(record, repo_dir, self.warn),
            beside.HookFacts(Path(self._log_dir), None)
            if trusted
            else beside.hook_facts(self._log_dir, n),
            beside.deliberation_facts(self._log_dir, n, self._profile)
            if self._profile and not trusted
            else None,
            self.observed(n),
            counted_for=self._counted_for(record) if rules.as_observed else None,
            artifacts=tuple(
                beside.artifact_place(repo_dir, v.result_artifact)
                for v in record.verifiers
                if rules.as_observed
            ),
            labels=self._said(n) if self._labels and not trusted else None,
        )

    def _counted_for(self, record: IterationRecord) -> int | None:
        commit = self._named_commit(record)
        first = self._first_to_name.get(commit, record.iteration) if commit else record.iteration
        return first if first < record.iteration else None

    def _named_commit(self, record: IterationRecord) -> str | None:
        """Return the commit that an entry names, or, where that is gone, the one that has its subject."""
        return self.git.resolve(trim(record.commit)) or self.git.landing(record).commit

    @cached_property
    def _first_to_name(self) -> dict[str, int]:
        named = (
            (self._named_commit(record), record.iteration) for record in reversed(self.records)
        )
        return {commit: iteration for commit, iteration in named if commit}

    def _said(self, iteration: int) -> "LabelFacts":
        from scoring.evidence.labels import label_facts

        return label_facts(self._log_dir, iteration)

    def transcripts(self, iteration: int) -> TranscriptFacts | None:
        """Return what the transcripts show in an iteration's window, or its own lines; None when it has no window."""
        if self.sources.rules.as_observed:
            answer = self._answers.get(iteration)
            return answer.transcripts if answer else None
        return self._transcripts.get(iteration)

    def observed(self, iteration: int) -> Observed | None:
        """Return what was observed in an iteration's own lines; None under rules that give it none."""
        answer = self._answers.get(iteration)
        return answer.observed if answer else None

    @cached_property
    def scopes(self) -> dict[str, DeclaredScope]:
        """The declared write scope of each task."""
        return {} if self.sources.trusted else declared_scopes(self.sources.repo_dir)

    @cached_property
    def _windows(self) -> dict[int, IterationWindow]:
        windows: dict[int, IterationWindow] = {}
        start: int | None = None
        for number, commit in zip(self.records.numbers, self.records.commits, strict=True):
            time = self.git.committed(commit)
            if time is not None:
                end = clamp_ns(time * NS)
                windows[number] = IterationWindow(number, start, end)
                start = end
        return windows

    @cached_property
    def _answers(self) -> "dict[int, AttributedFacts]":
        """What transcripts show in the lines of each iteration; nothing under rules that do not attribute."""
        if not self.sources.rules.as_observed:
            return {}
        from scoring.evidence.questions import (
            ask_transcripts,
        )  # heavy; only rules that attribute need it

        return ask_transcripts(
            self.scan, self.git, self.records, self._windows, self.sources, self._only or ()
        )

    @cached_property
    def _transcripts(self) -> dict[int, TranscriptFacts]:
        wanted = [
            w for w in self._windows.values() if self._only is None or w.iteration in self._only
        ]
        found = (
            self.scan.facts(wanted, self._only is None)
            if self.scan
            else [TranscriptFacts() for _ in wanted]
        )
        return {window.iteration: facts for window, facts in zip(wanted, found, strict=True)}
