"""What transcripts are asked about the iterations of a log: all that may tell their lines apart."""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from scoring.evidence.artifacts import artifact_place
from scoring.evidence.attribution.attributed import AttributedScan
from scoring.evidence.attribution.commits_by_lines import commits_in_git, commits_of_unnamed
from scoring.evidence.attribution.makers import in_order, place_of
from scoring.evidence.attribution.neighbourhood import Neighbourhood
from scoring.evidence.attribution.observing_iterations import (
    AttributedFacts,
    Question,
    Verification,
)
from scoring.evidence.attribution.session_trees import NO_ITERATION, Asked
from scoring.evidence.git.agents import StatedAgent, stated_as
from scoring.evidence.git.authorship import AttributedHistory
from scoring.evidence.git.commit_history import WrittenCommit
from scoring.evidence.git.facts import GitFacts, Landing
from scoring.evidence.rules import Sources
from scoring.evidence.scopes import is_document
from scoring.evidence.transcripts.facts import NS, IterationWindow, clamp_ns, timestamp_ns
from scoring.evidence.transcripts.scan import Scan
from scoring.evidence.transcripts.streams import Session
from scoring.evidence.transcripts.work_trees import WorkTrees
from scoring.evidence.unlogged import Unlogged, unlogged_commits
from scoring.log.model import IterationRecord, Records
from scoring.text import trim

_SHA = re.compile(r"[0-9a-fA-F]{7,64}")


class TranscriptAnswers(NamedTuple):
    """What transcripts show.

    Attributes:
        entries: what they show of each iteration.
        unlogged: the commits of agents that no entry names, the oldest first.
    """

    entries: Mapping[int, AttributedFacts]
    unlogged: Sequence[Unlogged]


def ask_transcripts(
    scan: Scan | None,
    git: GitFacts,
    records: Records,
    windows: Mapping[int, IterationWindow],
    sources: Sources,
    only: Collection[int] | None,
    opened: Callable[[WorkTrees], object],
) -> TranscriptAnswers:
    """Return what transcripts show of every iteration, and of commits that no entry names.

    Args:
        scan: the reading of transcripts that has begun.
        git: the history of the repository.
        records: all entries of the log, because each bounds the lines of others.
        windows: the time of each iteration that has one.
        sources: where evidence comes from.
        only: the iterations that will be asked about, of which the share of lines that agents
            wrote is wanted too; None: all, without that share.
        opened: takes what says which folders of transcripts are in the repository.
    """
    assert isinstance(scan, AttributedScan)
    assert isinstance(git, AttributedHistory)

    landings = {record.iteration: git.landing(record) for record in records}
    commits = _commits_of_log(git, landings, sources.trusted)
    names = []
    for record in records:
        own = _commit_names(record, landings[record.iteration])
        names.append((*own, *commits.names[record.iteration]))
    in_log = in_order(names)
    resolved: dict[str, str] = {}
    unlogged: list[Unlogged] = []

    def neighbourhood(work_trees: WorkTrees, sessions: Collection[Session]) -> Neighbourhood:
        """Tell the repository's folders and commits from those of others."""
        resolved.update(commits_in_git(sessions, git, sources.trusted))
        resolved.update({sha: sha for sha in resolved.values()})
        opened(work_trees)

        def is_its_commit(sha: str) -> bool:
            return sha in resolved or place_of(in_log, sha) != NO_ITERATION

        return Neighbourhood(work_trees, sources.worktrees, git.remotes, is_its_commit)

    def questions_for(
        sessions: Collection[Session],
    ) -> tuple[Sequence[Question], Mapping[str, str]]:
        """Return what is asked about iterations, and about commits that no entry names."""
        unnamed: Mapping[str, str] = {}
        if not sources.trusted:
            unnamed = commits_of_unnamed(scan.checkpoints.values(), sessions, git)
        start = windows[max(windows)].end if windows else None
        of_agents = unlogged_commits(sessions, scan, git, records, resolved, unnamed, start)
        unlogged.extend(of_agents.unlogged)
        became = resolved if sources.trusted else of_agents.became

        of_log = commits.with_checkpoints(unnamed)
        questions = []
        for record in records:
            window = windows.get(record.iteration)
            questions.append(_question(record, of_log, scan, window, sources, only))

        landings_of = {item.record.iteration: item.landing for item in unlogged}
        further = _commits_of_log(git, landings_of, sources.trusted).with_checkpoints(unnamed)
        for item in unlogged:
            questions.append(_question(item.record, further, scan, item.window, sources, only))
        return questions, became

    lines_added = partial(git.lines_added, is_strict=sources.trusted)
    answers = scan.observe(questions_for, neighbourhood, lines_added, entries=len(records))

    entries = dict(zip(records.numbers, answers, strict=False))
    for index, answer in enumerate(answers[len(records) :]):
        unlogged[index] = unlogged[index]._replace(observed=answer.observed)
    return TranscriptAnswers(entries, unlogged)


class _LogCommits(NamedTuple):
    """The commits of a log.

    Attributes:
        landings: whether the work of each iteration landed.
        names: the commit of each iteration and what it became, as SHAs.
        by_sha: what these commits say of who wrote them.
        files: the paths that these commits changed.
    """

    landings: Mapping[int, Landing]
    names: Mapping[int, Sequence[str]]
    by_sha: Mapping[str, WrittenCommit]
    files: Mapping[str, frozenset[str]]

    def of(self, iteration: int) -> list[WrittenCommit]:
        """Return the commits of an iteration that git has."""
        return [self.by_sha[sha] for sha in self.names[iteration] if sha in self.by_sha]

    def with_checkpoints(self, unnamed: Mapping[str, str]) -> "_LogCommits":
        """Return the same with checkpoints that no message names, by their commits."""
        by_sha = dict(self.by_sha)
        for checkpoint, sha in unnamed.items():
            if sha in by_sha:
                commit = by_sha[sha]
                by_sha[sha] = commit._replace(checkpoints=(*commit.checkpoints, checkpoint))
        return self._replace(by_sha=by_sha)


def _commits_of_log(
    git: AttributedHistory,
    landings: Mapping[int, Landing],
    trusted: bool,
) -> _LogCommits:
    rewritten = git.rewritten(landing.sha for landing in landings.values() if landing.sha)

    names: dict[int, list[str]] = {}
    for iteration, landing in landings.items():
        became = (landing.sha, landing.commit, rewritten.get(landing.sha or ""))
        names[iteration] = list(dict.fromkeys(filter(None, became)))
        if trusted:
            # What a commit became is found by what its author may choose: subject and time.
            del names[iteration][1:]

    by_sha = git.written([sha for shas in names.values() for sha in shas])
    return _LogCommits(landings, names, by_sha, git.files(by_sha.values()))


def _question(
    record: IterationRecord,
    commits: _LogCommits,
    scan: AttributedScan,
    window: IterationWindow | None,
    sources: Sources,
    only: Collection[int] | None,
) -> Question:
    """Return what transcripts are asked about one iteration."""
    iteration = record.iteration
    landing = commits.landings[iteration]
    own_commit = landing.sha or landing.commit or ""
    own_files = commits.files.get(own_commit, frozenset())
    asked = _asked(record, commits, scan, window, sources.trusted)

    stated = [commit.agents.stated for commit in commits.of(iteration)]
    for name in asked.checkpoints:
        if name in scan.checkpoints:
            sessions = scan.checkpoints[name].sessions
            stated += [stated_as(session.agent, session.model) for session in sessions]

    verifications = []
    for verifier in record.verifiers:
        path = verifier.result_artifact
        place = artifact_place(sources.repo_dir, path)
        verifications.append(Verification(verifier.type, trim(path), place))

    return Question(
        asked=asked,
        verifiers=tuple(verifications),
        written=own_commit if sources.trusted or (only and iteration in only) else "",
        is_strict=sources.trusted,
        documents=bool(own_files) and all(map(is_document, own_files)),
        stated=StatedAgent.only(stated),
        is_wanted=sources.trusted or only is None or iteration in only,
    )


def _asked(
    record: IterationRecord,
    commits: _LogCommits,
    scan: AttributedScan,
    window: IterationWindow | None,
    trusted: bool,
) -> Asked:
    """Return what is known of an iteration by which its lines may be found."""
    iteration = record.iteration
    names = commits.names[iteration]
    own_commits = commits.of(iteration)

    authored = None
    checkpoints: tuple[str, ...] = ()
    files = frozenset[str]()
    for commit in own_commits:
        if authored is None and commit.time is not None:
            authored = clamp_ns(commit.time * NS)
        checkpoints = checkpoints or commit.checkpoints
        files |= commits.files.get(commit.sha, frozenset())
    if record.known_from and not own_commits:
        # Git does not have the commit, but its checkpoint may be here.
        authored = timestamp_ns(record.checkpoint_at)
        checkpoint = scan.checkpoints.get(record.checkpoint)
        if checkpoint:
            checkpoints = (checkpoint.id,)
            files = frozenset(checkpoint.files_touched)

    return Asked(
        iteration=iteration,
        commits=tuple(names) if trusted else _commit_names(record, commits.landings[iteration]),
        landed=tuple(names),
        authored=authored,
        committed=window.end if window else None,
        files=files,
        session=record.agent.session_id,
        checkpoints=checkpoints,
        window=None if trusted else window,
    )


def _commit_names(record: IterationRecord, landing: Landing) -> tuple[str, ...]:
    """Return the SHA as the entry states it, unless it states a branch, and the whole SHA."""
    stated = trim(record.commit).lower()
    if not _SHA.fullmatch(stated):
        stated = ""
    names = (stated, landing.sha or landing.commit)
    return tuple(dict.fromkeys(filter(None, names)))
