"""An entry for every commit that an agent made (``docs/LOG.md``, "A log where there is none").

Whose a commit is, its checkpoints say, the transcripts of sessions that made it, or its co-author lines. Filled in is
what git knows and the session; nothing is claimed. An entry that is there is never touched, and a commit that one names
is left alone, so doing it again adds only what is new.

The module is long, because finding a commit, its session and what its entry says is one way, read from top to bottom.
"""

import contextlib
import datetime
import json
import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

from scoring.errors import InputError, LogError, Warn, WriteError, YamlError
from scoring.evidence.git.authorship import AttributedHistory, ChangeSize, WrittenCommit
from scoring.evidence.git.repository import GitRepository
from scoring.evidence.rules import ATTRIBUTED, Sources
from scoring.evidence.transcripts.attributed import AttributedScan
from scoring.evidence.transcripts.facts import NS, timestamp_ns
from scoring.evidence.transcripts.makers import DAY
from scoring.evidence.transcripts.neighbourhood import Neighbourhood, same_remote
from scoring.evidence.transcripts.rows import key_of
from scoring.evidence.transcripts.streams import Made, Session
from scoring.files import list_names, read_file, remove_stale, write_together
from scoring.locks import alone_in
from scoring.log.load import ARCHIVE_NAME, Broken, is_entry_name, load_archive, load_entry
from scoring.log.model import ImplBlock, IterationRecord
from scoring.text import trim
from scoring.yamlnodes import MappingNode, Node, Scalar
from scoring.yamlread import Reader, parse

FoundBy = Literal["checkpoint", "commit", "trailer"]
"""What says that an agent made a commit: its checkpoints, a session that made it, or its co-author lines."""

MODE = 0o644

_ISSUE = re.compile(r"(?<![\w#/&])(?:#|GH-)([0-9]{1,9})\b|(?<![\w-])([A-Z][A-Z0-9]{1,9}-[0-9]{1,9})(?![\w-]|\.[0-9])")
_BRANCH_NUMBER = re.compile(
    r"(?:^|[/_-])(?:issues?|gh|bug|ticket)[/_-]?#?([0-9]{1,9})(?![0-9])|(?:^|/)([0-9]{1,9})[-_]", re.I
)
_BRANCH_KEY = re.compile(r"(?:^|[/_-])([A-Za-z][A-Za-z0-9]{1,9}-[0-9]{1,9})(?![0-9A-Za-z])")
_NO_ISSUES = ("UTF", "SHA", "ISO", "RFC", "HTTP", "CVE", "GPT", "MD", "AES", "PEP", "UTC", "TLS", "ES", "V", "X", "H")
"""What is written like the key of an issue and is none."""

_NUMBERED = re.compile(r"iter-([0-9]{1,9})\.")
_COMMIT_FIELD = re.compile(rb"^[ \t\r\f\v]*commit:\s*[\"']?([0-9a-fA-F]{7,64})\b", re.MULTILINE)
_NO_TEXT = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_SURROGATE = re.compile("[\ud800-\udfff]")


class DerivedEntry(NamedTuple):
    """An entry that was, or would be, written; the first of ``session_ids`` is the one that it names."""

    iteration: int
    commit: WrittenCommit
    session_ids: tuple[str, ...]
    found_by: FoundBy
    branch: str = ""
    size: ChangeSize = ChangeSize()

    @property
    def content(self) -> bytes:
        """The file."""
        return entry_text(self.iteration, self.commit, self.branch, self.size, self.session_ids[:1]).encode()


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
        return {
            "written": [
                {
                    "iteration": one.iteration,
                    "commit": one.commit.sha,
                    "session_ids": list(one.session_ids),
                    "found_by": one.found_by,
                }
                for one in self.written
            ],
            "skipped": [one._asdict() for one in self.skipped],
        }


@dataclass(slots=True)
class _Found:
    """What speaks for an agent having made one commit: sessions by how new what they say is."""

    by_checkpoint: dict[str, int] = field(default_factory=dict)
    by_commit: dict[str, int] = field(default_factory=dict)


def derive(
    log_dir: Path,
    sources: Sources,
    *,
    since: datetime.date | None = None,
    dry_run: bool = False,
    session: str | None = None,
) -> Derivation:
    """Write an entry for every commit that an agent made and no entry names.

    Args:
        log_dir: the log; it is made when there is something to write.
        sources: where the evidence comes from, under the rules :data:`~scoring.evidence.rules.ATTRIBUTED`.
        since: leave out commits of earlier days.
        dry_run: write nothing, and say what would be written.
        session: take only commits of this session; by default those of all.

    Raises:
        NotARepositoryError, GitError: there is no repository, or git cannot read it.
        LogError: the log cannot be listed.
        WriteError: an entry cannot be written; those before it may be there.
    """
    assert sources.rules is ATTRIBUTED
    cache_dir = sources.reading.get("cache_dir")
    with sources.transcripts().start() as scan:
        assert isinstance(scan, AttributedScan)
        with alone_in(GitRepository(sources.repo_dir).common_dir):
            log = _read_log(log_dir)
            history = AttributedHistory(sources.repo_dir, log.records, cache_dir, sources.trunk)
            commits, branches = _looked_at(history, sources.warn)
            found = _found(scan, history, commits, sources)
            history.keep()
            named = _named(log, history, commits)
            chosen, skipped = _chosen(commits, found, named, since, session)
            written = tuple(_numbered(chosen, found, branches, history, log.highest))
            if written and not dry_run:
                _write(log_dir, written)
    return Derivation(written, tuple(skipped), tuple(log.broken))


def entry_text(
    iteration: int, commit: WrittenCommit, branch: str, size: ChangeSize, sessions: Sequence[str] = ()
) -> str:
    """Return an entry of schema 2 that says what git knows of a commit, and the session that made it."""
    lines = [
        "schema_version: 2",
        f"iteration: {iteration}",
        f"date: {quoted(commit.date)}",
        f"task_id: {quoted(task_of(branch, commit.subject))}",
        f"commit: {quoted(commit.sha)}",
        f"branch: {quoted(branch)}",
        f"files_changed: {size.files}",
        f"lines_added: {size.added}",
        f"lines_removed: {size.removed}",
        *(line for session in sessions for line in ("agent:", f"  session_id: {quoted(session)}")),
        "impl:",
        f"  summary: {quoted(trim(commit.subject))}",
    ]
    return "\n".join(lines) + "\n"


def quoted(text: str) -> str:
    """Return text as a YAML scalar that every reader takes for text."""
    plain = _SURROGATE.sub("\ufffd", text)
    return _NO_TEXT.sub(lambda m: f"\\u{ord(m[0]):04x}", json.dumps(plain, ensure_ascii=False))


def task_of(branch: str, subject: str) -> str:
    """Return the issue that a branch or a subject refers to (``ABC-12``, ``#12``), else the branch."""
    if m := _BRANCH_KEY.search(branch):
        key, number = m[1].upper().split("-")
        if key not in (
            *_NO_ISSUES,
            "ISSUE",
            "ISSUES",
            "GH",
            "BUG",
            "TICKET",
            "FIX",
            "FEATURE",
            "PR",
            "RELEASE",
            "PHASE",
        ):
            return f"{key}-{number}"
    if m := _BRANCH_NUMBER.search(branch):
        return f"#{m[1] or m[2]}"
    for m in _ISSUE.finditer(subject):
        if m[1]:
            return f"#{m[1]}"
        if m[2].partition("-")[0] not in _NO_ISSUES:
            return m[2]
    return branch


# The log as it is


@dataclass(slots=True)
class _Log:
    """The entries that are there, what cannot be read, the commits that this names, and the highest number in use."""

    records: list[IterationRecord] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    unread: dict[str, str] = field(default_factory=dict)
    highest: int = 0


def _read_log(log_dir: Path) -> _Log:
    log = _Log()
    if not log_dir.exists():
        return log
    try:
        names = list_names(log_dir)
    except InputError as e:
        raise LogError(str(e)) from e
    for name in filter(is_entry_name, names):
        try:
            log.records.append(_brief(log_dir / name))
        except LogError as e:
            log.broken.append(str(e))
            with contextlib.suppress(InputError, FileNotFoundError):
                commits = _COMMIT_FIELD.findall(read_file(log_dir / name))
                log.unread |= {sha.decode().lower(): name for sha in commits}
    if ARCHIVE_NAME in names:
        left_out: Broken = lambda e: log.broken.append(str(e))  # noqa: E731 - said in one line
        try:
            log.records += load_archive(log_dir / ARCHIVE_NAME, broken=left_out)
        except LogError as e:
            log.broken.append(str(e))
    log.records.sort(key=lambda record: record.iteration)
    # What is beside an entry that is gone (labels, scores) must not become another one's.
    numbers = [int(m[1]) for name in names if (m := _NUMBERED.match(name))]
    log.highest = max([*numbers, *(r.iteration for r in log.records if r.iteration < 10**9)], default=0)
    return log


def _brief(path: Path) -> IterationRecord:
    """Return of an entry what is asked here: reading whole ones is most of the time that a long log takes.

    Raises:
        LogError: it cannot be read.
    """
    try:
        document = parse(read_file(path))
    except (InputError, FileNotFoundError) as e:
        raise LogError(f"{path}: {e}") from e
    given = _plain_keys(document)
    number, commit, inside = given.get("iteration"), given.get("commit"), _plain_keys(given.get("impl"))
    summary = inside.get("summary", given.get("summary"))
    if "<<" in given or not isinstance(number, Scalar) or not (commit is None or isinstance(commit, Scalar)):
        return load_entry(path)
    try:
        reader = Reader()
        impl = ImplBlock(reader.string(summary)) if isinstance(summary, Scalar) else ImplBlock()
        field = reader.string(commit) if commit else ""
        return IterationRecord(iteration=reader.integer(number), commit=field, impl=impl)
    except YamlError as e:
        raise LogError(f"{path}: {e}") from e


def _plain_keys(node: Node | None) -> dict[str, Node]:
    pairs = node.pairs if isinstance(node, MappingNode) else ()
    return {key.value: value for key, value in pairs if isinstance(key, Scalar)}


def _named(log: _Log, history: AttributedHistory, commits: Mapping[str, WrittenCommit]) -> dict[str, str]:
    """Return which commits have an entry, and which one, in words."""
    found: dict[str, str] = {}
    for record in log.records:
        field = trim(record.commit)
        sha = history.resolve(field) if field else None
        if sha and sha in commits:
            found.setdefault(sha, f"iteration {record.iteration} names it")
        elif field and (landed := history.landing(record).commit):
            found.setdefault(landed, f"iteration {record.iteration} names {(sha or field)[:12]}, which landed as it")
    for name, sha in history.resolved(log.unread).items():
        found.setdefault(sha, f"{log.unread[name]}, which cannot be read, names it")
    return found


# The commits, and who made them


def _looked_at(history: AttributedHistory, warn: Warn) -> tuple[dict[str, WrittenCommit], dict[str, str]]:
    """Return the commits of the trunk and the tips of branches that have not landed, and the branch of each tip."""
    trunk = dict.fromkeys(history.on_trunk())
    beside = {sha: branch for sha, branch in history.tips().items() if sha not in trunk}
    if beside and not trunk:
        warn(f"there is no trunk, so only the tips of branches are looked at: {history.trunk.how}")
    landings = history.landings(beside)
    tips = {sha: branch for sha, branch in beside.items() if sha in landings and not landings[sha].landed}
    written = history.written((*trunk, *tips))
    return {sha: commit for sha, commit in written.items() if len(commit.parents) < 2}, tips


def _found(
    scan: AttributedScan, history: AttributedHistory, commits: Mapping[str, WrittenCommit], sources: Sources
) -> dict[str, _Found]:
    """Return what sessions and checkpoints say of commits, by their SHA."""
    remotes = frozenset(map(same_remote, history.remotes()))
    resolved: dict[str, str] = {}

    def neighbourhood(work_trees: Any, made: Collection[str]) -> Neighbourhood:
        resolved.update(history.resolved(made))
        return Neighbourhood(work_trees, sources.worktrees, remotes, resolved.__contains__)

    sessions = scan.sessions(neighbourhood)
    found = {sha: _Found() for sha in commits}
    _by_checkpoint(scan, sessions, commits, found)
    landed = _landed_as({sha for sha in resolved.values() if sha not in commits}, history)
    unknown: list[tuple[Session, Made]] = []
    for session in sessions:
        for made in session.made:
            sha = resolved.get(made.sha)
            if sha is None:
                unknown.append((session, made))
            elif one := found.get(landed.get(sha, sha)):
                _note(one.by_commit, _id_of(session), made.time)
    _by_subject(unknown, commits, found)
    return found


def _landed_as(shas: Collection[str], history: AttributedHistory) -> dict[str, str]:
    return {sha: names[-1] for sha, names in history.landed_as(sorted(shas)).items()}


def _by_checkpoint(
    scan: AttributedScan, sessions: Iterable[Session], commits: Mapping[str, WrittenCommit], found: Mapping[str, _Found]
) -> None:
    """Note the sessions of the checkpoints that commits name: how new one is its last line says, else its metadata."""
    stated: dict[str, dict[str, int]] = {}
    for name, checkpoint in scan.checkpoints.items():
        for one in checkpoint.sessions:
            _note(stated.setdefault(name, {}), one.session_id, timestamp_ns(one.created_at) or 0)
    read: dict[str, dict[str, int]] = {}
    for session in sessions:
        for file in session.files:
            if file.checkpoint:
                _note(read.setdefault(file.checkpoint, {}), _id_of(session), file.order[0])
    for sha, commit in commits.items():
        for name in commit.checkpoints:
            for session_id, time in (stated.get(name, {}) | read.get(name, {})).items():
                _note(found[sha].by_checkpoint, session_id, time)


def _by_subject(
    unknown: Iterable[tuple[Session, Made]], commits: Mapping[str, WrittenCommit], found: Mapping[str, _Found]
) -> None:
    """Note, for commits that no session made by name, the one session here that made one of the same subject.

    Its name is another one now, and the old one is gone: the history was rewritten.
    """
    by_subject: dict[int, list[tuple[str, int]]] = {}
    for session, made in unknown:
        if any(any(file.here) for file in session.files):
            by_subject.setdefault(made.subject, []).append((_id_of(session), made.time))
    for sha, commit in commits.items() if by_subject else ():
        one = found[sha]
        if commit.time is None or one.by_commit:
            continue
        alike = by_subject.get(key_of(trim(commit.subject)), ())
        near = [(name, time) for name, time in alike if abs(time - commit.time * NS) <= DAY]
        if len({name for name, _ in near}) == 1:
            _note(one.by_commit, *max(near, key=lambda pair: pair[1]))


def _note(sessions: dict[str, int], name: str, time: int) -> None:
    sessions[name] = max(sessions.get(name, time), time)


def _id_of(session: Session) -> str:
    """Return the id of a session; "" for one that is only known by its file."""
    name = session.key[1]
    return "" if any(name == os.fspath(file.transcript.path) for file in session.files) else name


# The entries that are missing


def _chosen(
    commits: Mapping[str, WrittenCommit],
    found: Mapping[str, _Found],
    named: Mapping[str, str],
    since: datetime.date | None,
    session: str | None,
) -> tuple[list[WrittenCommit], list[Skipped]]:
    """Return the commits of agents that no entry names, oldest first, and those that one does."""
    chosen, skipped = [], []
    places = {sha: n for n, sha in enumerate(commits)}  # the newest first, and tips last
    for commit in sorted(commits.values(), key=lambda one: (one.time or 0, -places[one.sha])):
        if not _found_by(commit, found[commit.sha]) or (since and commit.date < since.isoformat()):
            continue
        if session is not None and session not in _sessions_of(found[commit.sha]):
            continue
        if reason := named.get(commit.sha):
            skipped.append(Skipped(commit.sha, reason))
        else:
            chosen.append(commit)
    return chosen, skipped


def _found_by(commit: WrittenCommit, found: _Found) -> FoundBy | None:
    if commit.checkpoints:
        return "checkpoint"
    if found.by_commit:
        return "commit"
    return "trailer" if commit.agents else None


def _sessions_of(found: _Found) -> tuple[str, ...]:
    """Return the ids of the sessions of a commit, that of what is newest first."""
    times = {name: time for name, time in (found.by_checkpoint or found.by_commit).items() if name}
    return tuple(sorted(times, key=lambda name: (-times[name], name)))


def _numbered(
    chosen: Sequence[WrittenCommit],
    found: Mapping[str, _Found],
    tips: Mapping[str, str],
    history: AttributedHistory,
    highest: int,
) -> Iterator[DerivedEntry]:
    sizes = history.sizes(commit.sha for commit in chosen)
    for iteration, commit in enumerate(chosen, highest + 1):
        branch = tips.get(commit.sha) or history.merged_from(commit.sha) or history.trunk_branch
        by = _found_by(commit, found[commit.sha])
        assert by is not None
        sessions = _sessions_of(found[commit.sha])
        yield DerivedEntry(iteration, commit, sessions, by, branch, sizes.get(commit.sha, ChangeSize()))


def _write(log_dir: Path, written: Sequence[DerivedEntry]) -> None:
    files = [(log_dir / f"iter-{one.iteration}.yaml", one.content) for one in written]
    try:
        log_dir.mkdir(parents=True, exist_ok=True)
    except OSError as e:
        raise WriteError(f"{log_dir}: cannot make the folder: {(e.strerror or str(e)).lower()}") from e
    remove_stale(log_dir)
    for path, _ in files:
        if os.path.lexists(path):
            raise WriteError(f"{path}: has just been written by somebody else; run again")
    write_together(files, MODE)
