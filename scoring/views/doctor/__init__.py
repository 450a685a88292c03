"""What there is to score from, and how much each signal gets of it; nothing is written, and nothing is cached."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import get_args

import msgspec

from rubric import Rubric
from scoring.errors import DaScoreError, GitError, LogError, NotARepositoryError
from scoring.evidence.attribution.work_trees import same_remote
from scoring.evidence.facts import Evidence, IterationFacts
from scoring.evidence.git.facts import Trunk
from scoring.evidence.git.isolated import git_version
from scoring.evidence.git.repository import GitRepository
from scoring.evidence.rules import Sources
from scoring.evidence.transcripts.facts import Method, TranscriptSurvey
from scoring.evidence.transcripts.scan import Scan
from scoring.log.load import load_iteration_log
from scoring.log.model import IterationRecord
from scoring.signals.table import (
    as_read,
    labels_vote,
    meter_profile,
    optional_signals,
    signal_of,
    signal_set,
)
from scoring.text import trim


@dataclass(frozen=True, slots=True)
class LogFound:
    """The iteration log: how many entries of which schema, and what is wrong with it or with some of them."""

    path: Path
    iterations: tuple[int, ...] = ()
    schema_versions: dict[int, int] = field(default_factory=dict)
    broken: tuple[str, ...] = ()
    problem: str = ""


@dataclass(frozen=True, slots=True)
class RepositoryFound:
    """The repository, its trunk, the problem with either, and commits of the log it does not know.

    ``branch`` is checked out ("": none), of so many local ``branches``; ``remotes`` have names and addresses, without
    scheme, user and password.
    """

    path: Path
    top_level: Path | None = None
    git_version: tuple[int, ...] = ()
    trunk: Trunk | None = None
    trunk_problem: str = ""
    unresolved: dict[int, str] = field(default_factory=dict)
    without_commit: tuple[int, ...] = ()
    problem: str = ""
    branch: str = ""
    branches: int = 0
    remotes: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class SignalFound:
    """In how many iterations a signal is present, why absent in others, most frequent first, and advice."""

    signal: str
    present: int
    total: int
    absent: dict[str, int] = field(default_factory=dict)
    advice: str = ""

    @property
    def share(self) -> float:
        """The share of iterations in which it is present, 0 to 1."""
        return self.present / self.total if self.total else 0.0


@dataclass(frozen=True, slots=True)
class AttributionFound:
    """How lines of iterations were found, by method, and why the ones ``without`` have none."""

    methods: dict[str, tuple[int, int]]
    without: dict[str, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Examination:
    """Everything that was looked at, under one rubric; ``attribution`` is None where its rules do not attribute."""

    rubric: Rubric
    sources: Sources
    log: LogFound
    repository: RepositoryFound
    transcripts: TranscriptSurvey
    signals: tuple[SignalFound, ...]
    uncovered: tuple[int, ...]
    warnings: tuple[str, ...]
    attribution: AttributionFound | None = None


def examine(iter_log_dir: Path, sources: Sources, rubric: Rubric) -> Examination:
    """Look at all that a score would be computed from; what a user can act on comes back, with every warning."""
    warnings: list[str] = []
    noted = msgspec.structs.replace(
        sources, reading={**sources.reading, "warn": warnings.append, "keep": False}
    )
    broken: list[LogError] = []
    records: list[IterationRecord] = []
    problem = ""
    try:
        records = load_iteration_log(iter_log_dir, sources.rules.true_flags, broken.append)
    except LogError as e:
        problem = str(e)
    schemas = dict(sorted(Counter(record.schema_version for record in records).items()))
    numbers = tuple(record.iteration for record in records)
    log = LogFound(iter_log_dir, numbers, schemas, tuple(map(str, broken)), problem)
    found: list[IterationFacts] = []
    with noted.transcripts().start() as scan:
        repository, evidence = _repository(records, iter_log_dir, noted, scan, rubric)
        try:
            if evidence is not None and records:
                found = [evidence.of(record) for record in records]
            else:
                scan.facts([])  # transcripts are surveyed without windows too
        except DaScoreError as e:
            repository = replace(repository, problem=repository.problem or str(e))
        survey = scan.survey()
    signals = tuple(_signals(rubric, found)) if found else ()
    windows = (
        one for one in found if one.transcripts is not None and one.record.session_tokens is None
    )
    uncovered = tuple(
        one.record.iteration for one in windows if one.transcripts and not one.transcripts.flags
    )
    attribution = attribution_found(found) if sources.rules.as_observed else None
    once = tuple(dict.fromkeys(warnings))
    return Examination(
        rubric, sources, log, repository, survey, signals, uncovered, once, attribution
    )


def _repository(
    records: Sequence[IterationRecord], log_dir: Path, sources: Sources, scan: Scan, rubric: Rubric
) -> tuple[RepositoryFound, Evidence | None]:
    """Look at the repository; a trunk that is not there is noted, and the one that would be found is taken."""
    path, trunk_problem = Path(sources.repo_dir), ""
    votes = meter_profile(rubric), labels_vote(rubric)
    try:
        try:
            evidence = Evidence(records, log_dir, sources, scan, None, *votes)
        except GitError as e:
            if sources.trunk is None or isinstance(e, NotARepositoryError):
                raise
            trunk_problem = str(e)
            evidence = Evidence(
                records, log_dir, msgspec.structs.replace(sources, trunk=None), scan, None, *votes
            )
        opened = GitRepository(path)
        named = [record for record in records if not record.known_from]
        return RepositoryFound(
            path,
            opened.top_level,
            git_version(opened),
            evidence.git.trunk,
            trunk_problem,
            {
                r.iteration: r.commit
                for r in named
                if trim(r.commit) and evidence.git.resolve(trim(r.commit)) is None
            },
            tuple(r.iteration for r in named if not trim(r.commit)),
            branch=opened.branch,
            branches=sum(ref.startswith("refs/heads/") for _, ref, _ in opened.branches),
            remotes=tuple(
                sorted((name, same_remote(url)) for name, url in opened.remote_urls.items())
            ),
        ), evidence
    except GitError as e:
        return RepositoryFound(path, problem=str(e), trunk_problem=trunk_problem), None


def _signals(rubric: Rubric, found: Sequence[IterationFacts]) -> Iterator[SignalFound]:
    wanted = optional_signals(rubric)
    found = [as_read(facts, rubric) for facts in found]
    sets = [signal_set(facts, wanted, rubric.claims_vote) for facts in found]
    for spec in rubric.signals:
        values = [signals.value(spec.id) for signals in sets]
        reasons = dict(Counter(value.reason for value in values if not value.present).most_common())
        usual, pairs = next(iter(reasons), ""), zip(found, values, strict=True)
        lacking = next(
            (facts for facts, value in pairs if not value.present and value.reason == usual), None
        )
        signal = signal_of(spec.id)
        advice = signal.advice(False, lacking) if signal and lacking else ""
        yield SignalFound(
            spec.id, sum(value.present for value in values), len(values), reasons, advice
        )


def attribution_found(found: Sequence[IterationFacts]) -> AttributionFound:
    """Count how the lines of some iterations were found."""
    counts = dict.fromkeys(get_args(Method), 0)
    sessions: dict[Method, set[str]] = {method: set() for method in counts}
    without: dict[str, list[int]] = {}
    for facts in found:
        observed = facts.observed
        if observed is None or observed.method is None:
            reason = observed.problem if observed else ""
            without.setdefault(reason or "no session found for this iteration", []).append(
                facts.record.iteration
            )
        else:
            counts[observed.method] += 1
            sessions[observed.method].update(observed.sessions)
    methods = {method: (count, len(sessions[method])) for method, count in counts.items()}
    reasons = sorted(without, key=lambda why: -len(without[why]))
    none = sum(map(len, without.values())), 0
    return AttributionFound(methods | {"none": none}, {why: tuple(without[why]) for why in reasons})
