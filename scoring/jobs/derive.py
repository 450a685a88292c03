"""Writes an entry for every commit that an agent made, or for every graded run.

The entry of a commit claims nothing. It says what git, transcripts and checkpoints show:
``docs/LOG.md``, "A log where there is none". For runs see ``docs/VALIDITY.md``, "Rewards".
"""

import datetime
import os
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import NamedTuple

from scoring.errors import InputError, TakesLong, WriteError
from scoring.evidence.attribution.attributed import AttributedScan
from scoring.evidence.commit_makers import (
    authors_of,
    commits_of_agents,
    mark_work,
    work_of_agents,
)
from scoring.evidence.git.agents import Identity, people_named
from scoring.evidence.git.authorship import AttributedHistory
from scoring.evidence.git.commit_history import ChangeSize, WrittenCommit
from scoring.evidence.git.repository import GitRepository
from scoring.evidence.kept_answers import AnswerStore
from scoring.evidence.rewards import (
    GradedRun,
    graded_runs,
    reward_file_name,
    source_of_reward,
)
from scoring.evidence.rules import ATTRIBUTED, Sources
from scoring.evidence.session_commits import AgentCommits, FoundBy, WorkOfAgents
from scoring.evidence.transcripts.facts import NS, time_stamp
from scoring.evidence.unlogged import named_by_entries
from scoring.files import (
    exclusive_lock,
    make_folder,
    write_together,
)
from scoring.frozen import PlainData, Texts
from scoring.store import digest_of_all
from scoring.text import trim

from .entries import ENTRY_MODE, entry_text, git_fields, quoted
from .existing_log import read_existing_log

PATIENCE = 600
"""How many seconds to wait while another process writes entries."""


class DerivedEntry(NamedTuple):
    """An entry that was written, or would be.

    Attributes:
        iteration: its number.
        commit: the commit. Its SHA is "" where only a checkpoint shows it.
        session_ids: the sessions that made the commit; the entry names the first. May be empty.
        found_by: what says that an agent made the commit.
        branch: the branch of the work; "" where nothing tells.
        size: how much the commit changed.
        known_from: the only evidence of a commit that git does not have, else "".
    """

    iteration: int
    commit: WrittenCommit
    session_ids: Texts
    found_by: FoundBy
    branch: str
    size: ChangeSize
    known_from: str

    def as_dict(self) -> PlainData:
        """Return plain data: the number of the entry, its commit, and who made the commit."""
        data: PlainData = {
            "iteration": self.iteration,
            "kind": "commit",
            "commit": self.commit.sha or None,
            "session_ids": self.session_ids,
            "found_by": self.found_by,
        }
        if self.known_from:
            data["known_from"] = self.known_from
        return data


class Skipped(NamedTuple):
    """A commit of an agent that gets no entry.

    Attributes:
        commit: its SHA; for a commit without a SHA, its checkpoint.
        reason: why it gets no entry.
    """

    commit: str
    reason: str


class Derivation(NamedTuple):
    """What deriving a log did.

    Attributes:
        written: the new entries, in the order of their numbers.
        skipped: the commits that have an entry already.
        broken: a line for each entry that cannot be read.
        work: what was read to know that; None where nothing had to be read, or not all could be.
    """

    written: list[DerivedEntry]
    skipped: list[Skipped]
    broken: list[str]
    work: WorkOfAgents | None = None

    def as_dict(self) -> PlainData:
        """Return plain data, as ``derive --json`` prints it."""
        return {
            "written": [entry.as_dict() for entry in self.written],
            "skipped": [skipped._asdict() for skipped in self.skipped],
        }


def derive(
    log_dir: Path,
    sources: Sources,
    *,
    since: datetime.date | None = None,
    dry_run: bool = False,
    session: str | None = None,
    landed_only: bool = False,
    assisted: bool = False,
    authors: Collection[str] = (),
    mine: bool = False,
) -> Derivation:
    """Write an entry for every commit that an agent made and no entry names.

    Args:
        log_dir: the log, which is made where it does not exist.
        sources: the evidence, under the rules that observe.
        since: the first day of which commits get an entry; None for all days.
        dry_run: whether nothing is written.
        session: the id of the session of which commits get an entry; None for all sessions.
        landed_only: whether only commits of the trunk and tips of local branches get an entry.
        assisted: whether commits count of which the message only says that an agent assisted.
        authors: names or addresses of authors of whom commits get an entry.
        mine: whether the user of this repository is one of them; without any, all authors count.

    Raises:
        LogError: the log cannot be listed.
        GitError: git failed, or the repository is not a git work tree.
        OptionError: ``mine``, and git knows no user.
        WriteError: an entry cannot be written, or another derive holds the repository for too long.
    """
    assert sources.rules is ATTRIBUTED

    user = None
    if authors or mine:
        user = GitRepository(sources.repo_dir).callers_names
    people = people_named(authors, user if mine else None)
    wanted = _Wanted(since, session, landed_only, assisted, people, user)

    with AnswerStore(sources, log_dir) as store:
        kept = store.get_all([wanted.name], list[Skipped])
        if kept:
            return Derivation([], kept[0], [])
        is_watched = store.get_all([], object) is not None

        derivation, is_certain = _derive(log_dir, store.sources, wanted, dry_run)
        if is_watched and is_certain and not (derivation.written or derivation.broken):
            store.put_other(wanted.name, derivation.skipped)
        if store.has_warned or not is_certain:
            derivation = derivation._replace(work=None)
    return derivation


class _Wanted(NamedTuple):
    """Which commits of agents get an entry.

    Attributes:
        since: the first day, which is included; None for all days.
        session: the id of a session that made the commits; None for all sessions.
        landed_only: whether only commits of the trunk and tips of local branches count.
        assisted: whether commits count of which the message only says that an agent assisted.
        people: case-folded names and addresses of authors; None for all authors.
        user: the caller in git, who wrote the commits of which only a transcript is known; None
            where authors do not matter.
    """

    since: datetime.date | None
    session: str | None
    landed_only: bool
    assisted: bool
    people: set[str] | None
    user: Identity | None

    @property
    def name(self) -> str:
        """The name under which the store keeps that each wanted commit has an entry."""
        parts = self._asdict() | {"people": sorted(self.people or ())}
        return f"derive {digest_of_all([parts])}"


def _derive(
    log_dir: Path, sources: Sources, wanted: _Wanted, dry_run: bool
) -> tuple[Derivation, bool]:
    """Write the entries of the wanted commits, as :func:`derive` does.

    Returns:
        What was done, and whether git could answer all that it was asked.
    """
    with (
        sources.transcripts().start() as scan,
        exclusive_lock(GitRepository(sources.repo_dir).common_dir, seconds=PATIENCE),
    ):
        assert isinstance(scan, AttributedScan)
        log = read_existing_log(
            log_dir,
            sources.rules.true_flags,
            sources.cache_dir,
            sources.reading.get("keep", True),
        )
        unread: list[str] = []
        history = AttributedHistory(
            scan.repository or sources.repo_dir,
            log.records,
            sources.trunk,
            cache_dir=sources.cache_dir,
            warn=unread.append,
        )
        if history.tips() and not history.walk:
            sources.warn(
                "there is no trunk, so only the tips of branches are looked at:"
                f" {history.trunk.how}"
            )

        work = work_of_agents(scan, history, sources)
        mark_work(work, sources)
        agents = commits_of_agents(
            work, trunk_and_tips=wanted.landed_only, assisted=wanted.assisted
        )
        names = list(_chosen_commits(agents, history, wanted))
        names.sort(key=lambda name: agents.commits[name].time or 0)

        reasons = named_by_entries(log.records, history, agents)
        for name, sha in history.resolved(log.named_by_broken).items():
            file = log.named_by_broken[name]
            reasons.setdefault(sha, f"{file}, which cannot be read, names it")

        missing = [name for name in names if name not in reasons]
        skipped = [
            Skipped(agents.commits[name].sha or name, reasons[name])
            for name in names
            if name in reasons
        ]

        written = list(_new_entries(missing, agents, history, log.highest))
        if written and not dry_run:
            _write_entries(log_dir, written)

    is_certain = not history.repository.time.has_failed
    if not all(isinstance(warning, TakesLong) for warning in unread):
        return Derivation(written, skipped, log.broken), is_certain
    return Derivation(written, skipped, log.broken, work), is_certain


def _chosen_commits(
    agents: AgentCommits, history: AttributedHistory, wanted: _Wanted
) -> Iterator[str]:
    """Yield the names of the commits of agents that are wanted, the oldest on the trunk first."""
    since, session, people = wanted.since, wanted.session, wanted.people
    authors_by_commit: dict[str, set[str]] = {}
    if people is not None:
        authors_by_commit = authors_of(agents, history)

    for name, made_by in reversed(agents.makers.items()):
        if session is not None and session not in made_by.session_ids:
            continue
        if since is not None and agents.commits[name].date < since.isoformat():
            continue
        if people is None or not people.isdisjoint(authors_by_commit.get(name, ())):
            yield name


def _new_entries(
    names: list[str],
    agents: AgentCommits,
    history: AttributedHistory,
    highest: int,
) -> Iterator[DerivedEntry]:
    """Yield the entries of commits in the order of ``names``, with numbers from ``highest`` + 1."""
    in_git = [name for name in names if name not in agents.known_from]
    sizes = history.sizes(in_git)

    for iteration, name in enumerate(names, start=highest + 1):
        if name in history.walk:
            branch = history.branch_of(name)
        else:
            branch = agents.branches.get(name, "")

        made_by = agents.makers[name]
        yield DerivedEntry(
            iteration=iteration,
            commit=agents.commits[name],
            session_ids=made_by.session_ids,
            found_by=made_by.found_by,
            branch=branch,
            size=sizes.get(name, ChangeSize()),
            known_from=agents.known_from.get(name, ""),
        )


def _write_entries(log_dir: Path, entries: list[DerivedEntry]) -> None:
    """Write new entries, with one wait for the disk. The folder is made if it does not exist.

    Raises:
        WriteError: a file exists (nothing is written), or cannot be written (others may be).
    """
    make_folder(log_dir)
    files = []
    for entry in entries:
        path = log_dir / f"iter-{entry.iteration}.yaml"
        if os.path.lexists(path):
            raise WriteError(f"{path}: another process has just written it; run again")
        files.append((path, _text_of(entry)))
    write_together(files, ENTRY_MODE)


def _text_of(entry: DerivedEntry) -> bytes:
    """Return a new entry as YAML. If git lacks the commit, only what showed the commit is said."""
    commit = entry.commit
    fields = git_fields(commit, entry.branch, entry.size)
    summary = trim(commit.subject)
    if entry.known_from:
        fields = {
            "date": quoted(commit.date),
            "commit": quoted(commit.sha),
            "checkpoint_at": quoted(time_stamp((commit.time or 0) * NS)),
            "known_from": quoted(entry.known_from),
        }
        summary = ""

    agent = {"session_id": entry.session_ids[0]} if entry.session_ids else {}
    return entry_text(entry.iteration, fields, agent, summary)


def derive_runs(
    log_dir: Path,
    repo_dir: Path | str,
    folder: Path,
    dry_run: bool,
) -> list[tuple[int, GradedRun]]:
    """Write an entry, with a reward file, for every graded run without one, and return these runs.

    Each run comes after the number of its entry. The numbers ascend.

    Args:
        log_dir: the log, which is made where it does not exist.
        repo_dir: the repository of the log.
        folder: the folder of the runs.
        dry_run: whether nothing is written.

    Raises:
        InputError: the folder does not exist.
        LogError: the log cannot be listed.
        GitError: git failed, or the repository is not a git work tree.
        WriteError: an entry cannot be written, or another derive holds the repository for too long.
    """
    if not folder.is_dir():
        raise InputError(f"{folder}: no such directory")

    with exclusive_lock(GitRepository(repo_dir).common_dir, seconds=PATIENCE):
        log = read_existing_log(log_dir)
        sources = {
            source_of_reward(log_dir, record.iteration) for record in log.records
        }
        new_runs = [run for run in graded_runs(folder) if run.source not in sources]
        numbered = list(enumerate(new_runs, start=log.highest + 1))

        files: list[tuple[Path, bytes]] = []
        for iteration, run in numbered:
            fields = {"date": quoted(run.date), "task_id": quoted(run.task)}
            agent = {
                "session_id": run.session,
                "harness": run.harness,
                "model": run.model,
            }
            entry = entry_text(iteration, fields, agent, run.source)
            files.append((log_dir / f"iter-{iteration}.yaml", entry))

            reward = f"source: {quoted(run.source)}\n"
            if run.reward is not None:
                reward += f"reward: {run.reward!r}\n"
            files.append((log_dir / reward_file_name(iteration), reward.encode()))

        if files and not dry_run:
            make_folder(log_dir)
            write_together(files, ENTRY_MODE)

    return numbered
