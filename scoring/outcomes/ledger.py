"""All work as units, each line in one, and their fate: ``docs/VALIDITY.md``, "All of the work"."""

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

from scoring.evidence.facts import Evidence
from scoring.evidence.git.agents import Identity
from scoring.evidence.git.authorship import AttributedHistory
from scoring.evidence.git.checkpoint_files import name_of_branch
from scoring.evidence.git.checkpoints import Checkpoint
from scoring.evidence.git.facts import Landing, Trunk
from scoring.evidence.git.repository import GitRepository
from scoring.evidence.git.walk import Commit
from scoring.evidence.harnesses.not_read import NotRead
from scoring.evidence.kept_answers import SURVEY, AnswerStore
from scoring.evidence.rules import Sources
from scoring.evidence.transcripts.streams import SessionKey
from scoring.log.model import IterationRecord
from scoring.store import digest_of_all

from .everything import UsedBySession, used_in_gone_folders
from .log_units import units_of_log
from .measuring import find_lost
from .outcome import DAY, Outcome, Outcomes, outcomes_in
from .outcome_rules import OutcomeRules
from .unit import OpenUnit, Unit
from .unit_states import (
    decide_states,
    describe,
    follow_lines,
    name_commits_of_rests,
)

_MOST_OF_A_BRANCH = 20
"""A merge that brought more commits may be of a branch on which work had landed before."""

_A_REBASE = 60
"""Seconds in which a rebase commits two commits again."""

_LONGEST_BRANCH = 7 * DAY
"""Work that was committed longer before the merge may have landed on the branch before it."""


class Ledger(NamedTuple):
    """All work of a repository.

    Attributes:
        units: the units, first those without a known end, then the one that ended first, and so on.
        caller: the name and the address of the caller in git.
        trunk: where the work was to land.
        tip_time: when the newest commit of the trunk was made, in seconds since 1970; None
            without one.
        left_out: how many transcripts are not of this repository; 0 where any unit has lines.
        outcomes: what became of the work of each iteration.
        is_complete: whether git could answer all that it was asked.
        of_gone_folders: what sessions used for folders that are gone and may be the repository's.
        not_read: transcripts that are not read, or not all of them, of any repository.
    """

    units: list[Unit]
    caller: Identity
    trunk: Trunk
    tip_time: int | None
    left_out: int
    outcomes: Collection[Outcome]
    is_complete: bool
    of_gone_folders: Sequence[UsedBySession] = ()
    not_read: Sequence[NotRead] = ()

    @property
    def by_iteration(self) -> dict[int, Unit]:
        """The unit of each iteration, by its number."""
        by_iteration = {}
        for unit in self.units:
            for entry in unit.entries:
                by_iteration[entry.iteration] = unit
        return by_iteration


def ledger(
    records: Sequence[IterationRecord],
    log_dir: Path,
    sources: Sources,
    rules: OutcomeRules,
) -> Ledger:
    """Return all of the work of a repository, by attributed evidence.

    Where nothing has changed since it was kept, it comes from the store.

    Args:
        records: all entries of the log, sorted.
        log_dir: the folder of the entries.
        sources: where evidence comes from, under the rules that observe.
        rules: how outcomes are measured.

    Raises:
        NotARepositoryError: the sources' folder is not in a work tree.
        GitError: the trunk that the sources name is not there.
    """
    repository = GitRepository(sources.repo_dir)
    with AnswerStore(sources, log_dir) as store:
        present = _files_in_index(repository)
        name = _name_of_ledger(records, rules, repository.callers_names, present)
        kept = store.get_all([name], Ledger)
        if kept:
            return kept[0]

        with store.sources.transcripts().start() as scan:
            evidence = Evidence(
                records, log_dir, store.sources, scan, profile=None, store=store
            )
            return ledger_of_log(evidence, None, rules)


def ledger_of_log(
    evidence: Evidence, outcomes: Collection[Outcome] | None, rules: OutcomeRules
) -> Ledger:
    """Return all of the work of a repository, from evidence of its whole log, and keep it.

    The evidence cannot be used again. The work is kept if the evidence has a store, and git
    could answer all that it was asked. So is what the reading of transcripts met with.

    Args:
        evidence: the evidence of all iterations, with an open scan that attributes lines.
        outcomes: the outcomes of all iterations; None to find them here.
        rules: how outcomes are measured.

    Raises:
        NotARepositoryError: the sources' folder is not in a work tree.
        GitError: the trunk that the sources name is not there.
    """
    work = evidence.all_work
    assert evidence.scan
    survey = evidence.scan.survey()  # while the evidence is whole
    book = ledger_of(evidence, outcomes, rules)
    present = _files_in_index(evidence.git.repository)
    paths = list(map(os.fsdecode, present.split(b"\0")))
    gone = used_in_gone_folders(work.files, paths, work.work_trees.is_gone)
    book = book._replace(of_gone_folders=gone)

    if evidence.store and book.is_complete:
        with evidence.store as store:
            writer = store.watch(evidence.watched())
            for record in evidence.records if writer.may_keep else ():
                evidence.keep(record, evidence.answers(record), writer)
            name = _name_of_ledger(evidence.records, rules, book.caller, present)
            writer.put(name, book)
            writer.put(SURVEY, survey)
    return book


def _name_of_ledger(
    records: Sequence[IterationRecord],
    rules: OutcomeRules,
    caller: Identity,
    present: bytes,
) -> str:
    """Return the name of a ledger in the store, with a digest of what the store does not watch.

    Args:
        records: the entries of the log.
        rules: how outcomes are measured.
        caller: the name and the address of the caller in git.
        present: the paths of the files in the index, as :func:`_files_in_index` returns them.
    """
    return (
        f"ledger {digest_of_all((rules, caller, *records, blake2b(present).digest()))}"
    )


def _files_in_index(repository: GitRepository) -> bytes:
    """Return the paths of the files in the index, each with a NUL at its end."""
    return repository.ask("ls-files", "-z").stdout


def ledger_of(
    evidence: Evidence, outcomes: Collection[Outcome] | None, rules: OutcomeRules
) -> Ledger:
    """Return all of the work of a repository, from evidence that may be of some iterations only.

    The evidence cannot be used again, and nothing is kept.

    The parameters and errors are those of :func:`ledger_of_log`.
    """
    read = evidence.all_work
    scan = evidence.scan
    git = evidence.git
    assert scan
    assert isinstance(git, AttributedHistory)

    recorded = {tree.root for tree in read.trees if tree.checkpoints}
    horizon = rules.horizon_days * DAY
    units = units_of_log(evidence, git, horizon)

    caller = git.repository.callers_names
    describe(units, git, caller, recorded)
    follow_lines(units, git, horizon)
    name_commits_of_rests(units, git, horizon)
    decide_states(units, git, horizon)
    _note_sessions_of_landed(units, read.checkpoints)
    find_lost(units, read.files)
    if outcomes is None:
        outcomes = outcomes_in(git, evidence.records, rules)
    _judge(units, outcomes, git, rules)

    branch = name_of_branch(git.repository)
    work = [unit for unit in units if unit.lines or unit.kind == "commit"]
    work.sort(key=lambda unit: (unit.ended or 0, unit.unit))
    unread = 0
    if not any(unit.lines for unit in work):
        unread = sum(bool(file.left_out) for file in scan.survey().files)
    return Ledger(
        units=[unit.closed(branch) for unit in work],
        caller=caller,
        trunk=git.trunk,
        tip_time=git.tip_time,
        left_out=unread,
        outcomes=list(outcomes),
        is_complete=not git.repository.time.has_failed,
        not_read=scan.not_read,
    )


def unit_named(text: str, sha: str | None, work: Ledger) -> Unit | None:
    """Return the unit that a user means, or None where none fits or the text is empty.

    Where several units fit, it is the last one. Talk is meant only where no other unit fits, and
    never by ``last``. A commit that a session made and that has another SHA since means its unit
    where nothing else fits.

    Args:
        text: ``last``, the name of a unit, the beginning of the id of a session, or the SHA of a
            commit that git no longer has.
        sha: the SHA of the commit that git knows by ``text``; None without one. With a SHA
            ``text`` is not read as the id of a session.
        work: all work.
    """
    if not text:  # every id begins with an empty text
        return None

    talk = None
    for unit in reversed(work.units):
        commits = {unit.commit, unit.first_sha, *unit.brought_in}
        is_meant = text == unit.unit or (sha and sha in commits)
        if not sha and any(session.startswith(text) for _, session in unit.sessions):
            is_meant = True
        if unit.kind == "talk":
            if is_meant:
                talk = talk or unit
        elif is_meant or text == "last":
            return unit
    if talk:
        return talk
    shown = (unit for unit in reversed(work.units) if unit.was_shown_as(sha or text))
    return next(shown, None)


def _note_sessions_of_landed(
    units: Iterable[OpenUnit], checkpoints: Mapping[str, Checkpoint]
) -> None:
    """Set ``of_landed`` of each talk.

    It is set where checkpoints of landed work list all sessions of the talk, and none of these
    sessions has a line in the unit of a commit.
    """
    listed: set[str] = set()
    with_commits: set[SessionKey] = set()
    for unit in units:
        if unit.kind == "commit":
            with_commits.update(unit.lines)
        if unit.state == "landed":
            for name in unit.checkpoints:
                listed.update(
                    session.session_id for session in checkpoints[name].sessions
                )

    for unit in units:
        if unit.kind == "talk":
            names = {session_id for _, session_id in unit.lines}
            unit.of_landed = names <= listed and with_commits.isdisjoint(unit.lines)


def _judge(
    units: Sequence[OpenUnit],
    outcomes: Iterable[Outcome],
    git: AttributedHistory,
    rules: OutcomeRules,
) -> None:
    """Fill in the outcomes of units, and whether they are defective and were or may be undone.

    The outcome of a unit is the worst one that is known of its iterations. Landed work without an
    entry is judged by itself.
    """
    judged = {
        outcome.iteration: outcome for outcome in outcomes if outcome.status == "known"
    }
    without_entries: dict[int, Landing] = {}
    for index, unit in enumerate(units):
        of_unit = [
            judged[entry.iteration]
            for entry in unit.entries
            if entry.iteration in judged
        ]
        unit.outcome = max(of_unit, key=_badness, default=None)
        if unit.landing and unit.landing.landed and not unit.entries:
            without_entries[index] = unit.landing

    if without_entries:
        for outcome in Outcomes(git, rules).of(without_entries):
            units[outcome.iteration].outcome = outcome
    for unit in units:
        if unit.landing and unit.state == "landed":
            unit.may_be_undone = unit.landing.may_be_undone
        if unit.outcome:
            unit.defective = unit.outcome.defective
        unit.undone_in_branch = _undone_in_branch(unit, git)


def _undone_in_branch(unit: Unit, git: AttributedHistory) -> bool:
    """Return whether the commit that undid work came to the trunk with it; False without one.

    One rebase brought both, or the merge that first brought the work to another line. A merge does
    not count where it came more than a week after the work was committed, or brought more than 20
    commits, unless those from the work up to what undid it are of one author and were made within a
    day.
    """
    landing = unit.landing
    undone_by = landing.undone_by if landing else None
    if not landing or not landing.commit or undone_by not in git.walk:
        return False
    work = git.walk[landing.commit]
    if _are_of_one_rebase(work, git.walk[undone_by]):
        return True

    graph = git.graph
    merges = graph.brought_by(landing.commit)
    if not merges:
        return False
    merge = merges[-1]
    if merge not in graph.brought_by(undone_by):
        return False

    seconds = (git.walk[merge].time or 0) - (work.time or 0)
    brought = graph.between(merge, graph.parents[merge][:1])
    commits = {sha for sha in brought if not graph.is_merge(sha)}
    if len(commits) > _MOST_OF_A_BRANCH:
        since_work = graph.between(undone_by, [landing.commit])
        authors = {git.walk[sha].author for sha in since_work if sha in commits}
        undone_after = (git.walk[undone_by].time or 0) - (work.time or 0)
        if authors != {work.author} or undone_after >= DAY:
            return False
    return seconds <= _LONGEST_BRANCH


def _are_of_one_rebase(commit: Commit, later: Commit) -> bool:
    """Return whether two commits were committed within a minute, and written longer apart."""
    committed = abs((later.time or 0) - (commit.time or 0))
    written = abs((later.authored or 0) - (commit.authored or 0))
    return committed < _A_REBASE <= written


def _badness(outcome: Outcome) -> tuple[bool, int, bool]:
    """Return a key that sorts outcomes from the best to the worst. Unread ones are the best."""
    return (
        outcome.defective or False,
        outcome.lines_fixed or 0,
        not outcome.is_unread,
    )
