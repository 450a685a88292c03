"""A log checked: what each entry holds, and what they say together (``docs/LOG.md``, "Keeping a log")."""

import contextlib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Literal, NamedTuple

from scoring.errors import GitError, InputError, YamlError
from scoring.evidence.beside import deliberation_facts, hook_facts
from scoring.evidence.git.repository import GitRepository
from scoring.evidence.labels import label_facts
from scoring.files import read_file
from scoring.jobs.entries import SAME_COMMIT, number_of
from scoring.log.find import ARCHIVE_NAME, is_entry_name, names_in_log
from scoring.log.load import field_lines
from scoring.log.parse import parse_archive, parse_iteration_record
from scoring.log.schema import faults_of
from scoring.text import shown, trim
from scoring.yamlnodes import MappingNode, Node, Sequence
from scoring.yamlread import Reader, parse

Level = Literal["error", "warning"]
_LINE = re.compile(r"line ([0-9]{1,9}):? ?")


class LintFinding(NamedTuple):
    """One thing that is wrong with a log: an ``error`` cannot stand, a ``warning`` may be meant."""

    level: Level
    path: Path
    line: int | None  # from 1, None where it is of the whole file
    iteration: int | None
    field: str
    text: str


class _Entry(NamedTuple):
    path: Path
    iteration: int
    commit: str
    session: str
    lines: Mapping[str, int]


def lint_log(
    log_dir: Path, repo_dir: Path, sessions: Collection[str] | None = None
) -> tuple[int, list[LintFinding]]:
    """Return how many entries a log has, and what is wrong, line by line, also with ``sessions``; LogError."""
    names = names_in_log(log_dir)
    found: list[LintFinding] = []
    entries: list[_Entry] = []
    for name in filter(is_entry_name, names):
        entries += _linted(log_dir / name, found)
        n = number_of(name)
        for beside in (
            label_facts(log_dir, n),
            hook_facts(log_dir, n),
            deliberation_facts(log_dir, n),
        ):
            if beside is not None and beside.problem:
                _unreadable(found, beside.path, n, InputError(beside.problem))
    archived = list(_linted_archive(log_dir / ARCHIVE_NAME, found)) if ARCHIVE_NAME in names else []
    found += _twice(entries)
    found += _same_commit([*entries, *archived], repo_dir)
    if sessions is not None:
        found += _unknown_sessions(entries, sessions)
    order = {log_dir / name: n for n, name in enumerate(names)}
    found.sort(key=lambda one: (order[one.path], one.line or 0, one.level, one.text))
    return max(len(entries), sum(map(is_entry_name, names))) + len(archived), found


def _linted(path: Path, found: list[LintFinding]) -> Iterator[_Entry]:
    number = number_of(path.name)
    try:
        data = read_file(path, within=path.parent)
        document = parse(data)
    except InputError as e:
        _unreadable(found, path, number, e)
        return
    found += _faults(path, document, number)
    try:
        record = parse_iteration_record(data)
    except YamlError as e:
        _unreadable(found, path, number, e)
        return
    lines = dict(field_lines(document))
    if record.iteration != number:
        text = f"the file holds iteration {record.iteration}; {path.name} is read as that one"
        found.append(
            LintFinding(
                "warning", path, lines.get("iteration"), record.iteration, "iteration", text
            )
        )
    yield _Entry(path, record.iteration, trim(record.commit), record.agent.session_id, lines)


def _linted_archive(path: Path, found: list[LintFinding]) -> Iterator[_Entry]:
    try:
        data = read_file(path, within=path.parent)
        document = parse(data)
        items = (
            Reader().struct(document, {"iterations": lambda _, node: node}).get("iterations")
            if document
            else None
        )
    except InputError as e:
        _unreadable(found, path, None, e)
        return
    for item in items.items if isinstance(items, Sequence) else ():
        if isinstance(item, MappingNode):
            found += _faults(path, item, None)
            with contextlib.suppress(YamlError):
                given = Reader().struct(
                    item, {"iteration": Reader.integer, "commit": Reader.string}
                )
                iteration, commit = given.get("iteration", 0), trim(given.get("commit", ""))
                yield _Entry(path, iteration, commit, "", dict(field_lines(item)))
    try:
        parse_archive(data)
    except YamlError as e:
        _unreadable(found, path, None, e)


def _faults(path: Path, document: Node | None, number: int | None) -> Iterator[LintFinding]:
    for fault in faults_of(document, archived=number is None):
        level: Level = "error" if fault.is_error else "warning"
        yield LintFinding(level, path, fault.line, number, fault.path, fault.text)


def _unreadable(found: list[LintFinding], path: Path, number: int | None, error: Exception) -> None:
    if any(one.path == path and one.level == "error" for one in found):
        return
    text = str(error).removeprefix(f"{path}: ").removeprefix(f"{path.name}: ")
    m = _LINE.match(text)
    found.append(
        LintFinding(
            "error", path, int(m[1]) if m else None, number, "", text[m.end() :] if m else text
        )
    )


def _twice(entries: Iterable[_Entry]) -> Iterator[LintFinding]:
    first: dict[int, _Entry] = {}
    for entry in entries:
        if (other := first.setdefault(entry.iteration, entry)) is not entry:
            text = f"iteration {entry.iteration} is in {other.path.name} as well; the file that is read last counts"
            yield LintFinding(
                "error",
                entry.path,
                entry.lines.get("iteration"),
                entry.iteration,
                "iteration",
                text,
            )


def _same_commit(entries: Iterable[_Entry], repo_dir: Path) -> Iterator[LintFinding]:
    entries = [entry for entry in entries if entry.commit]
    try:
        resolved = GitRepository(repo_dir).resolve(entry.commit for entry in entries)
    except GitError:
        resolved = {}
    first: dict[str, _Entry] = {}
    for entry in entries:
        sha, name = resolved.get(entry.commit), entry.commit.lower()
        other = first.setdefault(sha or name[:SAME_COMMIT], entry)
        alike = sha or name.startswith(other.commit.lower()[: len(name)])
        if other is not entry and other.iteration != entry.iteration and alike:
            text = f"commit {entry.commit[:12]} is named by iteration {other.iteration} as well ({other.path.name})"
            yield LintFinding(
                "error", entry.path, entry.lines.get("commit"), entry.iteration, "commit", text
            )


def _unknown_sessions(entries: Iterable[_Entry], known: Collection[str]) -> Iterator[LintFinding]:
    for entry in entries:
        if entry.session and entry.session not in known:
            text = f"no transcript has the session {shown(entry.session)}; it may be gone, or the id is another one"
            line = entry.lines.get("agent.session_id", entry.lines.get("agent"))
            yield LintFinding(
                "warning", entry.path, line, entry.iteration, "agent.session_id", text
            )
