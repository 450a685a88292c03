"""An entry for every commit that an agent made; it claims nothing (``docs/LOG.md``, "A log where there is none")."""

import contextlib
import datetime
import json
import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from scoring.errors import InputError, LogError, WriteError
from scoring.evidence.attribution.attributed import AttributedScan
from scoring.evidence.git.authorship import AttributedHistory, ChangeSize, WrittenCommit
from scoring.evidence.git.repository import GitRepository
from scoring.evidence.rewards import GradedRun, graded_runs, reward_file_name, source_of_reward
from scoring.evidence.rules import ATTRIBUTED, Sources
from scoring.files import alone_in, list_names, make_folder, read_file, write_together
from scoring.jobs.commit_makers import AgentCommits, FoundBy, agent_commits, authors_of
from scoring.log.find import ARCHIVE_NAME, is_entry_name
from scoring.log.load import load_archive, load_entry
from scoring.log.model import IterationRecord
from scoring.text import trim

_ISSUE = re.compile(
    r"(?<![\w#/&])(?:#|GH-)([0-9]{1,9})\b|(?<![\w-])([A-Z][A-Z0-9]{1,9}-[0-9]{1,9})(?![\w-]|\.[0-9])"
)
_BRANCH_NUMBER = re.compile(
    r"(?:^|[/_-])(?:issues?|gh|bug|ticket)[/_-]?#?([0-9]{1,9})(?![0-9])|(?:^|/)([0-9]{1,9})[-_]",
    re.I,
)
_BRANCH_KEY = re.compile(r"(?:^|[/_-])([A-Za-z][A-Za-z0-9]{1,9}-[0-9]{1,9})(?![0-9A-Za-z])")
_NO_ISSUES = (
    "UTF",
    "SHA",
    "ISO",
    "RFC",
    "HTTP",
    "CVE",
    "GPT",
    "MD",
    "AES",
    "PEP",
    "UTC",
    "TLS",
    "ES",
    "V",
    "X",
    "H",
)
_NO_KEYS = ("ISSUE", "ISSUES", "GH", "BUG", "TICKET", "FIX", "FEATURE", "PR", "RELEASE", "PHASE")
"""What looks like the key of an issue and is none, and what else a branch begins with that is none."""

_NO_TEXT = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_SURROGATE = re.compile("[\ud800-\udfff]")


def git_fields(commit: WrittenCommit, branch: str, size: ChangeSize) -> dict[str, str]:
    """Return what git knows of a commit, as YAML by field of an entry."""
    text = {
        "date": commit.date,
        "task_id": task_of(branch, commit.subject),
        "commit": commit.sha,
        "branch": branch,
    }
    counts = {"files_changed": size.files, "lines_added": size.added, "lines_removed": size.removed}
    return {name: quoted(value) for name, value in text.items()} | {
        name: str(n) for name, n in counts.items()
    }


def quoted(text: str) -> str:
    """Return text as a YAML scalar that every reader takes for text."""
    plain = _SURROGATE.sub("\ufffd", text)
    return _NO_TEXT.sub(lambda m: f"\\u{ord(m[0]):04x}", json.dumps(plain, ensure_ascii=False))


def task_of(branch: str, subject: str) -> str:
    """Return the issue that a branch or a subject refers to (``ABC-12``, ``#12``), else the branch."""
    if m := _BRANCH_KEY.search(branch):
        key, number = m[1].upper().split("-")
        if key not in (*_NO_ISSUES, *_NO_KEYS):
            return f"{key}-{number}"
    if m := _BRANCH_NUMBER.search(branch):
        return f"#{m[1] or m[2]}"
    for m in _ISSUE.finditer(subject):
        if m[1]:
            return f"#{m[1]}"
        if m[2].partition("-")[0] not in _NO_ISSUES:
            return m[2]
    return branch


MODE = 0o644

_NUMBERED = re.compile(r"iter-([0-9]{1,9})\.")
_COMMIT_FIELD = re.compile(rb"^[ \t\r\f\v]*commit:\s*[\"']?([0-9a-fA-F]{7,64})\b", re.MULTILINE)


class DerivedEntry(NamedTuple):
    """An entry that was, or would be, written; the first of ``session_ids`` is the one that it names."""

    iteration: int
    commit: WrittenCommit
    session_ids: tuple[str, ...]
    found_by: FoundBy
    branch: str = ""
    size: ChangeSize = ChangeSize()
    known_from: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Return plain data: which entry, of which kind of work, for which commit, and who made that."""
        made_by = {"session_ids": list(self.session_ids), "found_by": self.found_by}
        which = {"iteration": self.iteration, "kind": "commit", "commit": self.commit.sha or None}
        return which | made_by | ({"known_from": self.known_from} if self.known_from else {})


class Skipped(NamedTuple):
    """A commit of an agent that gets no entry, and why."""

    commit: str
    reason: str


@dataclass(frozen=True, slots=True)
class Derivation:
    """What deriving a log did; ``broken`` has a line for each entry that cannot be read."""

    written: tuple[DerivedEntry, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    broken: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return plain data, as ``derive --json`` prints it."""
        skipped = [one._asdict() for one in self.skipped]
        return {"written": [one.as_dict() for one in self.written], "skipped": skipped}


def derive(
    log_dir: Path,
    sources: Sources,
    *,
    since: datetime.date | None = None,
    dry_run: bool = False,
    session: str | None = None,
    landed_only: bool = False,
    authors: Collection[str] = (),
    mine: bool = False,
) -> Derivation:
    """Write an entry for every commit that an agent made and no entry names, making ``log_dir`` where needed.

    ``since`` leaves out earlier commits, ``session`` those of others, ``landed_only`` what is not on the trunk,
    ``authors`` and ``mine`` other people's. LogError, GitError, NotARepositoryError, WriteError.
    """
    assert sources.rules is ATTRIBUTED
    with sources.transcripts().start() as scan:
        assert isinstance(scan, AttributedScan)
        with alone_in(GitRepository(sources.repo_dir).common_dir, seconds=600):
            log = _read_log(log_dir)
            history = AttributedHistory(sources.repo_dir, log.records, sources.trunk)
            if history.tips() and not history.on_trunk():
                sources.warn(
                    f"there is no trunk, so only the tips of branches are looked at: {history.trunk.how}"
                )
            entries = {
                record: history.resolve(trim(record.commit))
                for record in log.records
                if trim(record.commit)
            }
            agents = agent_commits(
                scan, history, sources, list(filter(None, entries.values())), landed_only
            )
            commits, makers = agents.commits, agents.makers
            wanted = [
                name
                for name, made in reversed(
                    makers.items()
                )  # the newest commits of the trunk come first, and tips last
                if (since is None or commits[name].date >= since.isoformat())
                and session in (None, *made.session_ids)
            ]
            names = {
                name.casefold()
                for name in (*authors, *(history.own_names() if mine else ()))
                if name
            }
            if authors or mine:
                known = authors_of(agents, history)
                wanted = [name for name in wanted if not names.isdisjoint(known.get(name, ()))]
            wanted.sort(key=lambda name: commits[name].time or 0)
            named = _named(log, history, agents, entries)
            skipped = [
                Skipped(commits[name].sha or name, named[name]) for name in wanted if name in named
            ]
            missing = [name for name in wanted if name not in named]
            written = tuple(_numbered(missing, agents, history, log.highest))
            if written and not dry_run:
                _write(log_dir, written)
    return Derivation(written, tuple(skipped), tuple(log.broken))


@dataclass(slots=True)
class _Log:
    """A log as it is: its entries, what is broken, the commits that broken entries name, and the highest number."""

    records: list[IterationRecord] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    unread: dict[str, str] = field(default_factory=dict)
    highest: int = 0


def _read_log(log_dir: Path) -> _Log:
    log = _Log()
    try:
        names = list_names(log_dir) if log_dir.exists() else []
    except InputError as e:
        raise LogError(str(e)) from e
    for name in filter(is_entry_name, names):
        try:
            log.records.append(load_entry(log_dir / name))
        except LogError as e:
            log.broken.append(str(e))
            with contextlib.suppress(InputError):
                commits = _COMMIT_FIELD.findall(read_file(log_dir / name))
                log.unread |= {sha.decode().lower(): name for sha in commits}
    if ARCHIVE_NAME in names:
        try:
            log.records += load_archive(
                log_dir / ARCHIVE_NAME, broken=lambda e: log.broken.append(str(e))
            )
        except LogError as e:
            log.broken.append(str(e))
    log.records.sort(key=lambda record: record.iteration)
    # What is beside an entry that is gone (labels, scores) must not become another one's.
    numbers = [int(m[1]) for name in names if (m := _NUMBERED.match(name))]
    log.highest = max(
        [*numbers, *(r.iteration for r in log.records if r.iteration < 10**9)], default=0
    )
    return log


def _named(
    log: _Log,
    history: AttributedHistory,
    agents: AgentCommits,
    entries: Mapping[IterationRecord, str | None],
) -> dict[str, str]:
    found: dict[str, str] = {}
    for record in log.records:
        field, by = trim(record.commit), f"iteration {record.iteration} names"
        sha = entries.get(record)
        unseen = (name for name in agents.known_from if field and name.startswith(field.lower()))
        own = sha or next(unseen, field.lower())
        lost = (one for made, one in agents.same.items() if not sha and own.startswith(made))
        became = agents.same.get(own) or next(lost, own)
        if record.checkpoint:
            name = agents.same.get(record.checkpoint, record.checkpoint)
            found.setdefault(name, f"{by} its checkpoint")
            for other, known in agents.known_from.items():
                if known == record.known_from:
                    found.setdefault(other, f"{by} its checkpoint")
        if own in agents.commits:
            found.setdefault(own, f"{by} it")
        elif became in agents.commits:
            found.setdefault(became, f"{by} {own[:12]}, which landed as it")
        elif field and (landed := history.landing(record).commit):
            found.setdefault(landed, f"{by} {(sha or field)[:12]}, which landed as it")
    for name, sha in history.resolved(log.unread).items():
        found.setdefault(sha, f"{log.unread[name]}, which cannot be read, names it")
    return found


def _numbered(
    missing: Sequence[str], agents: AgentCommits, history: AttributedHistory, highest: int
) -> Iterator[DerivedEntry]:
    sizes = history.sizes(name for name in missing if name not in agents.known_from)
    landed = set(history.on_trunk())
    for iteration, name in enumerate(missing, highest + 1):
        known = agents.known_from.get(name, "")
        branch = history.branch_behind(name) if name in landed else agents.branches.get(name, "")
        found_by, sessions = agents.makers[name]
        size = sizes.get(name, ChangeSize())
        yield DerivedEntry(iteration, agents.commits[name], sessions, found_by, branch, size, known)


def _entry(n: int, fields: Mapping[str, str], agent: Mapping[str, str], summary: str) -> bytes:
    """Return an entry; what is empty is left out. ``fields`` are YAML, all else is text."""
    fields = {"schema_version": "2", "iteration": str(n), **fields}
    lines = [f"{name}: {yaml}" for name, yaml in fields.items() if yaml != '""']
    known = [f"  {name}: {quoted(text)}" for name, text in agent.items() if text]
    lines += ["agent:", *known] if known else []
    lines += ["impl:", f"  summary: {quoted(summary)}"] if summary else []
    return "\n".join([*lines, ""]).encode()


def _write(log_dir: Path, written: Sequence[DerivedEntry]) -> None:
    files = []
    for n, commit, sessions, _, branch, size, known_from in written:
        fields = {} if known_from else git_fields(commit, branch, size)
        if known_from:
            time = datetime.datetime.fromtimestamp(commit.time or 0, datetime.UTC).strftime(
                "%Y-%m-%dT%H:%M:%SZ"
            )
            fields = {"date": quoted(commit.date), "commit": quoted(commit.sha)}
            fields |= {"checkpoint_at": quoted(time), "known_from": quoted(known_from)}
        summary = "" if known_from else trim(commit.subject)
        text = _entry(n, fields, {"session_id": sessions[0]} if sessions else {}, summary)
        files.append((log_dir / f"iter-{n}.yaml", text))
    make_folder(log_dir)
    for path, _ in files:
        if os.path.lexists(path):
            raise WriteError(f"{path}: another process has just written it; run again")
    write_together(files, MODE)


def derive_runs(
    log_dir: Path, repo_dir: Path | str, folder: Path, dry_run: bool = False
) -> list[tuple[int, GradedRun]]:
    """Write an entry, and its reward, for every run below a folder that has none; InputError, and as derive."""
    if not folder.is_dir():
        raise InputError(f"{folder}: no such directory")
    with alone_in(GitRepository(repo_dir).common_dir, seconds=600):
        log = _read_log(log_dir)
        known = {source_of_reward(log_dir, record.iteration) for record in log.records}
        missing = [run for run in graded_runs(folder) if run.source not in known]
        written = list(enumerate(missing, log.highest + 1))
        files = []
        for n, run in written:
            fields = {"date": quoted(run.date), "task_id": quoted(run.task)}
            agent = {"session_id": run.session, "harness": run.harness, "model": run.model}
            text = _entry(n, fields, agent, run.source)
            graded = f"source: {quoted(run.source)}\n" + (
                "" if run.reward is None else f"reward: {run.reward!r}\n"
            )
            files += [
                (log_dir / f"iter-{n}.yaml", text),
                (log_dir / reward_file_name(n), graded.encode()),
            ]
        if files and not dry_run:
            make_folder(log_dir)
            write_together(files, MODE)
    return written
