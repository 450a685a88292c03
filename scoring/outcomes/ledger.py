"""All work as units, each line in one, and their fate: ``docs/VALIDITY.md``, "All of the work"."""

import os
import re
from array import array
from collections.abc import Collection, Iterable, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple, TypeAlias

from scoring.evidence.attribution.attributed import AllWork, AttributedScan
from scoring.evidence.attribution.session_trees import OTHER_COMMIT, SessionPart
from scoring.evidence.facts import Evidence
from scoring.evidence.git.agents import Identity
from scoring.evidence.git.authorship import AttributedHistory
from scoring.evidence.git.checkpoint_files import name_of_branch
from scoring.evidence.git.checkpoints import Checkpoint
from scoring.evidence.git.facts import Landing, Trunk
from scoring.evidence.git.repository import GitRepository
from scoring.evidence.kept_answers import AnswerStore
from scoring.evidence.rules import Sources
from scoring.evidence.transcripts.facts import NS_MAX
from scoring.evidence.transcripts.observed_facts import Observed
from scoring.evidence.transcripts.streams import SessionKey, user_times
from scoring.evidence.unlogged import Unlogged
from scoring.log.model import IterationRecord
from scoring.outcomes.everything import UsedBySession, left_out
from scoring.outcomes.measuring import first_lines, measure, small_rests
from scoring.outcomes.outcome import Outcome, outcomes_in, outcomes_of
from scoring.outcomes.outcome_rules import OutcomeRules
from scoring.outcomes.unit import Entry, Kind, OpenUnit, Unit
from scoring.outcomes.unit_states import (
    decide_states,
    describe,
    follow_lines,
    name_commits_of_rests,
)
from scoring.text import trim

_SHA = re.compile("[0-9a-f]{7,64}")

Units: TypeAlias = dict[str, OpenUnit]
"""Units by the name of their commit, or by their own where they have none."""


class Ledger(NamedTuple):
    """All work of a repository.

    Attributes:
        units: the units, by when they ended.
        caller: the name and the address of the caller in git.
        trunk: where the work was to land.
        tip_time: when its newest commit was made, in seconds since 1970; None without one.
        left_out: transcripts that are not of this repository, where none of it was found.
        outcomes: what became of the work of each iteration.
        is_complete: whether git could answer all that it was asked.
        of_gone_folders: what sessions used that may be the repository's, from :func:`left_out`.
    """

    units: list[Unit]
    caller: Identity
    trunk: Trunk
    tip_time: int | None
    left_out: int = 0
    outcomes: Collection[Outcome] = ()
    is_complete: bool = True
    of_gone_folders: Sequence[UsedBySession] = ()

    @property
    def by_iteration(self) -> dict[int, Unit]:
        """The unit of each iteration, by its number."""
        by_iteration = {}
        for unit in self.units:
            for entry in unit.entries:
                by_iteration[entry.iteration] = unit
        return by_iteration


class _Commits(NamedTuple):
    """The commits that the work is about.

    Attributes:
        entry_names: the commit that each entry names, in the order of the entries, and then of
            each commit without one.
        landings: whether these landed, in the same order.
        session_commits: the SHAs of commits that sessions made and no entry names, by the digits
            shown. A commit that was rewritten counts as what it became.
        session_landings: whether these landed, by their SHAs.
    """

    entry_names: list[str]
    landings: list[Landing]
    session_commits: dict[str, str]
    session_landings: Mapping[str, Landing]


def ledger(
    records: Sequence[IterationRecord], log_dir: Path, sources: Sources, rules: OutcomeRules
) -> Ledger:
    """Return all of the work of a repository, by attributed evidence.

    Where nothing has changed since the last time, it is taken from the store.

    Raises:
        NotARepositoryError: the sources' folder is not in a work tree.
        GitError: the repository has no trunk.
    """
    repository = GitRepository(sources.repo_dir)
    with AnswerStore(sources, log_dir) as store:
        present = _files_in_index(repository)
        name = _name_of_ledger(records, rules, repository.callers_names, present)
        kept = store.get(name, Ledger)
        if kept is not None:
            return kept

        with store.sources.transcripts().start() as scan:
            evidence = Evidence(records, log_dir, store.sources, scan, profile=None, store=store)
            return ledger_of_log(evidence, None, rules)


def ledger_of_log(
    evidence: Evidence, outcomes: Collection[Outcome] | None, rules: OutcomeRules
) -> Ledger:
    """Return the same from evidence of a whole log, which it uses up, and keep it in the store.

    Args:
        evidence: the evidence of all iterations.
        outcomes: those of all iterations; None where they are not known yet.
        rules: those of outcomes.

    Raises:
        NotARepositoryError, GitError: as for :func:`ledger`.
    """
    book = ledger_of(evidence, outcomes, rules)
    scan = evidence.scan
    assert isinstance(scan, AttributedScan)
    if scan.work is None or scan.repository is None:
        return book

    present = _files_in_index(scan.repository)
    book = book._replace(of_gone_folders=left_out(scan.work.files, present, evidence.is_gone))

    if evidence.store and book.is_complete:
        with evidence.store as store:
            store.watch(evidence.watched())
            name = _name_of_ledger(evidence.records, rules, book.caller, present)
            store.put(name, book)
    return book


def _name_of_ledger(
    records: Sequence[IterationRecord],
    rules: OutcomeRules,
    caller: Identity,
    present: Sequence[str],
) -> str:
    """Return the name of a ledger in the store: all that it depends on and that is not watched."""
    digest = blake2b(digest_size=16)
    for part in (rules, caller, *records, *present):
        digest.update(f"{part!r}\0".encode("utf-8", "backslashreplace"))
    return f"ledger {digest.hexdigest()}"


def _files_in_index(repository: GitRepository) -> list[str]:
    listing = repository.ask("ls-files", "-z").stdout
    return [os.fsdecode(path) for path in listing.split(b"\0")]


def ledger_of(
    evidence: Evidence, outcomes: Collection[Outcome] | None, rules: OutcomeRules
) -> Ledger:
    """Return the work by evidence that may be of some iterations only, and keep nothing.

    The parameters and errors are those of :func:`ledger_of_log`.
    """
    unlogged = evidence.unlogged()  # reads the transcripts, also for a log without entries
    scan = evidence.scan
    git = evidence.git
    assert isinstance(scan, AttributedScan)
    assert isinstance(git, AttributedHistory)

    commits = _commits_of_the_work(evidence.records, unlogged, scan.work, git)
    units = _units_of_commits(evidence, unlogged, commits, scan.checkpoints)
    recorded = _recorded_sessions(scan.work)
    if scan.work:
        _add_transcripts(units, scan, scan.work, commits)
    _follow_parts(units.values(), git)

    caller = git.repository.callers_names
    describe(units.values(), git, caller, recorded)
    if scan.repository:
        follow_lines(units.values(), git, scan.repository, rules)
    name_commits_of_rests(units.values(), git, rules)
    decide_states(units.values(), git, rules)
    _note_sessions_of_landed(units.values(), scan.checkpoints)
    if scan.work:
        first_lines(units.values(), scan.work.files)
    if scan.repository:
        branch = name_of_branch(scan.repository)
        for unit in units.values():
            unit.checkpoint_branch = branch

    if outcomes is None:
        outcomes = outcomes_in(git, evidence.records, rules)
    _add_outcomes(units.values(), outcomes)
    _judge_without_entries(units.values(), git, rules)

    work = [unit for unit in units.values() if unit.lines or unit.kind == "commit"]
    work.sort(key=lambda unit: (unit.ended or 0, unit.unit))
    unread = 0
    if not any(unit.lines for unit in work):
        unread = sum(bool(file.left_out) for file in scan.survey().files)
    closed = [unit.closed() for unit in work]
    is_complete = not git.repository.time.has_failed
    return Ledger(closed, caller, git.trunk, git.tip_time, unread, list(outcomes), is_complete)


# Commits


def _commits_of_the_work(
    records: Sequence[IterationRecord],
    unlogged: Sequence[Unlogged],
    work: AllWork | None,
    git: AttributedHistory,
) -> _Commits:
    sha_by_digits = git.resolved(_digits_of_other_commits(work))
    landings = [git.landing(record) for record in records]
    landings += [item.landing for item in unlogged]
    all_records = [*records, *(item.record for item in unlogged)]

    in_question = set(sha_by_digits.values())
    in_question.update(landing.sha for landing in landings if landing.sha)
    rewritten = git.rewritten(in_question)

    by_successor = git.landings(rewritten.values())
    for index, landing in enumerate(landings):
        successor = rewritten.get(landing.sha or "", "")
        landings[index] = by_successor.get(successor, landing)

    session_commits = {digits: rewritten.get(sha, sha) for digits, sha in sha_by_digits.items()}
    return _Commits(
        entry_names=list(map(_name_of, all_records, landings)),
        landings=landings,
        session_commits=session_commits,
        session_landings=git.landings(session_commits.values()),
    )


def _digits_of_other_commits(work: AllWork | None) -> set[str]:
    """Return the digits of the commits that sessions made and no entry names."""
    if work is None:
        return set()

    digits = set()
    for tree in work.trees:
        for cut in tree.cuts:
            if cut.place == OTHER_COMMIT and cut.made:
                digits.add(cut.made.sha)
    return digits


def _name_of(record: IterationRecord, landing: Landing) -> str:
    """Return what names the commit of an entry. It has a colon where no commit is known."""
    commit = _commit_of(landing)
    if commit:
        return commit

    field = trim(record.commit).lower()
    if _SHA.fullmatch(field):
        return field
    if record.checkpoint:
        return f"checkpoint:{record.checkpoint}"
    return f"iteration:{record.iteration}"


def _commit_of(landing: Landing) -> str | None:
    return landing.commit or landing.part_of or landing.sha


def _follow_parts(units: Iterable[OpenUnit], git: AttributedHistory) -> None:
    """Let work that is only part of a commit of the trunk be what became of that commit."""
    parts = []
    for unit in units:
        if unit.landing and unit.landing.part_of and not unit.landing.landed:
            parts.append(unit)

    landings = git.landings(unit.commit for unit in parts if unit.commit)
    for unit in parts:
        unit.landing = landings.get(unit.commit or "", unit.landing)


def unit_named(text: str, sha: str | None, work: Ledger) -> Unit | None:
    """Return the unit that a user means, or None without one.

    Args:
        text: ``last``, the name of a unit, or the beginning of the id of a session, which means
            its last unit.
        sha: the commit that git knows by that name, if there is one.
        work: all work.
    """
    for unit in reversed(work.units):
        if unit.kind == "talk":
            continue
        commits = {unit.commit, unit.landing.sha if unit.landing else None, *unit.brought_in}
        if text in ("last", unit.unit) or (sha and sha in commits):
            return unit
        if not sha and any(session.startswith(text) for _, session in unit.sessions):
            return unit
    return None


# Units


def _units_of_commits(
    evidence: Evidence,
    unlogged: Sequence[Unlogged],
    commits: _Commits,
    checkpoints: Collection[str],
) -> Units:
    """Return the units of all entries, and of commits without one."""
    units: Units = {}
    owners = _owners_of_checkpoints(evidence, unlogged)

    def add(index: int, record: IterationRecord, observed: Observed | None) -> OpenUnit:
        unit = _unit_of(units, commits.entry_names[index], commits.landings[index])
        unit.maker = unit.maker or record.agent.session_id
        if observed is not None:
            unit.observed.append(observed)
            for checkpoint in observed.checkpoints:
                if checkpoint in checkpoints and owners[checkpoint] == record.iteration:
                    unit.checkpoints.append(checkpoint)
        return unit

    for index, record in enumerate(evidence.records):
        unit = add(index, record, evidence.observed(record.iteration))
        unit.entries.append(Entry(record.iteration, record.task_id, record.impl.summary))
    for index, item in enumerate(unlogged, start=len(evidence.records)):
        add(index, item.record, item.observed)
    return units


def _owners_of_checkpoints(evidence: Evidence, unlogged: Iterable[Unlogged]) -> dict[str, int]:
    """Return of each checkpoint the first iteration that names it and edited something for it.

    Where none edited anything, it is the first that names it.
    """
    all_observed: list[tuple[int, Observed | None]] = [
        (each.iteration, evidence.observed(each.iteration)) for each in evidence.records
    ]
    all_observed += [(item.record.iteration, item.observed) for item in unlogged]

    first: dict[str, int] = {}
    first_to_edit: dict[str, int] = {}
    for iteration, observed in all_observed:
        for checkpoint in observed.checkpoints if observed else ():
            first.setdefault(checkpoint, iteration)
            if observed and observed.work.edits and observed.method != "shared":
                first_to_edit.setdefault(checkpoint, iteration)
    return first | first_to_edit


def _unit_of(units: Units, name: str, landing: Landing | None) -> OpenUnit:
    """Return the unit of a commit, which is a new one where none has that name."""
    if name not in units:
        if ":" in name:
            units[name] = OpenUnit(name, "commit", landing=landing)
        else:
            units[name] = OpenUnit(f"commit:{name}", "commit", commit=name, landing=landing)
    return units[name]


def _recorded_sessions(work: AllWork | None) -> set[SessionKey]:
    """Return the root sessions of the trees of which checkpoints hold some lines."""
    if work is None:
        return set()
    return {tree.sessions[0] for tree in work.trees if tree.checkpoints}


def _add_transcripts(units: Units, scan: AttributedScan, work: AllWork, commits: _Commits) -> None:
    """Give each line of transcripts and each checkpoint to one unit, and measure the units."""
    times = _give_lines(units, work, commits)
    work = work._replace(trees=())  # all that follows asks for lines
    scan.work = work

    _give_checkpoints(units, scan, work)
    for rest in small_rests(units.values(), work):
        _turn_into_talk(units, rest)
    measure(units.values(), work, times)
    for unit in units.values():
        unit.missing_sessions = _missing_sessions(unit, scan.checkpoints)


def _missing_sessions(unit: OpenUnit, checkpoints: Mapping[str, Checkpoint]) -> int:
    """Return how many sessions of a unit with lines have no transcript in its checkpoints."""
    here = {session_id for _, session_id in unit.lines}
    missing = set()
    for name in unit.checkpoints if here else ():
        for session in checkpoints[name].sessions:
            if session.session_id and (session.missing or not session.blobs):
                missing.add(session.session_id)
    return len(missing - here)


def _give_lines(units: Units, work: AllWork, commits: _Commits) -> "array[int]":
    """Give each line of transcripts to its unit.

    What reports a commit, and leads to no other one, belongs to the unit of that commit.

    Returns:
        When each line was written, in nanoseconds since 1970, by its number.
    """
    times = array("q", bytes(8 * len(work.owners)))
    for tree in work.trees:
        prompts = user_times(tree.files)
        reported: OpenUnit | None = None
        for part in tree.parts():
            if part.start == part.end and part.place != OTHER_COMMIT:
                continue

            own_unit = _unit_without_entry(part, units, commits)
            until = part.reports_until(prompts)
            for line, time in zip(part.lines, part.times, strict=True):
                times[line] = time
                owner = work.owners[line]
                unit = own_unit
                if owner >= 0:
                    unit = units[commits.entry_names[owner]]
                elif reported and own_unit.kind != "commit" and time < until:
                    unit = reported
                unit.lines.setdefault(tree.sessions[0], array("i")).append(line)

            reported = None
            if part.made:
                in_log = part.place >= 0
                reported = units[commits.entry_names[part.place]] if in_log else own_unit
    return times


def _unit_without_entry(part: SessionPart, units: Units, commits: _Commits) -> OpenUnit:
    """Return the unit of the lines of a part that belong to no iteration."""
    if part.made and part.place == OTHER_COMMIT:
        digits = part.made.sha
        sha = commits.session_commits.get(digits, digits)
        landing = commits.session_landings.get(sha)
        if landing:
            sha = _commit_of(landing) or sha
        return _unit_of(units, sha, landing)

    harness, session = part.tree.sessions[0]
    kind: Kind = "talk" if part.cut else "rest"
    name = f"{kind}:{harness}:{session}"
    return units.setdefault(name, OpenUnit(name, kind))


def _turn_into_talk(units: Units, rest: OpenUnit) -> None:
    """Add the lines of a rest to the talk of its session."""
    del units[rest.unit]
    name = f"talk{rest.unit.removeprefix('rest')}"
    talk = units.setdefault(name, OpenUnit(name, "talk"))
    for session, lines in rest.lines.items():
        talk.lines.setdefault(session, array("i")).extend(lines)


def _give_checkpoints(units: Units, scan: AttributedScan, work: AllWork) -> None:
    """Give each checkpoint that no entry names to the unit that has its last line.

    One without any line that belongs to a unit is a unit of its own.
    """
    free = set(scan.checkpoints)
    for unit in units.values():
        free.difference_update(unit.checkpoints)
    if not free:
        return

    owners: dict[int, OpenUnit] = {}
    for unit in units.values():
        owners.update(dict.fromkeys(unit.all_lines, unit))

    last: dict[str, tuple[int, int]] = {}
    for file in work.files:
        if file.checkpoint not in free:
            continue
        for time, line in zip(file.times, file.ids, strict=True):
            if line in owners:
                earlier = last.get(file.checkpoint, (-NS_MAX, -1))
                last[file.checkpoint] = max(earlier, (time, line))

    for checkpoint in scan.checkpoints:
        if checkpoint not in free:
            continue
        if checkpoint in last:
            unit = owners[last[checkpoint][1]]
        else:
            unit = _unit_of(units, f"checkpoint:{checkpoint}", None)
        unit.checkpoints.append(checkpoint)


def _note_sessions_of_landed(
    units: Iterable[OpenUnit], checkpoints: Mapping[str, Checkpoint]
) -> None:
    """Note which talk is of a session that the checkpoints of landed work list.

    It is not known for what of that where no line of the session is in the unit of a commit.
    """
    listed: set[str] = set()
    with_commits: set[SessionKey] = set()
    for unit in units:
        if unit.kind == "commit":
            with_commits.update(unit.lines)
        if unit.state == "landed":
            for name in unit.checkpoints:
                listed.update(session.session_id for session in checkpoints[name].sessions)

    for unit in units:
        if unit.kind == "talk":
            names = {session_id for _, session_id in unit.lines}
            unit.of_landed = names <= listed and with_commits.isdisjoint(unit.lines)


# Outcomes


def _add_outcomes(units: Iterable[OpenUnit], outcomes: Iterable[Outcome]) -> None:
    """Give each unit the worst outcome of its iterations."""
    judged = {outcome.iteration: outcome for outcome in outcomes if outcome.defective is not None}
    for unit in units:
        of_unit = []
        for entry in unit.entries:
            if entry.iteration in judged:
                of_unit.append(judged[entry.iteration])
        if of_unit:
            unit.outcome = max(of_unit, key=_badness)
            unit.defective = unit.outcome.defective


def _judge_without_entries(
    units: Iterable[OpenUnit], git: AttributedHistory, rules: OutcomeRules
) -> None:
    """Judge the landed work of units that no entry names."""
    landings: dict[int, Landing] = {}
    judged: dict[int, OpenUnit] = {}
    for number, unit in enumerate(units):
        if unit.landing and unit.landing.landed and not unit.entries:
            landings[number] = unit.landing
            judged[number] = unit

    for outcome in outcomes_of(git, landings, rules) if landings else ():
        unit = judged[outcome.iteration]
        unit.outcome = outcome
        unit.defective = outcome.defective


def _badness(outcome: Outcome) -> tuple[bool, bool, int]:
    return outcome.defective or False, outcome.main_fix is not None, outcome.lines_fixed or 0
