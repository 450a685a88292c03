"""The commits of checkpoints that no message names: docs/EVIDENCE.md, "Checkpoints in git"."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from scoring.evidence.attribution.written import (
    LEAST_LINES,
    SAME_PATCH,
    WrittenFile,
    WrittenLines,
    least_share,
    lines_left_by_file,
)
from scoring.evidence.git.authorship import AttributedHistory
from scoring.evidence.git.checkpoints import Checkpoint, checkpoint_ids
from scoring.evidence.git.patches import FileLine
from scoring.evidence.transcripts.events import LinesWritten
from scoring.evidence.transcripts.facts import NS, timestamp_ns
from scoring.evidence.transcripts.streams import File, Session

_NEAR_SECONDS = 5
"""How far the author time of a commit may be from when its checkpoint was stored."""

_HORIZON = 14 * 86_400
"""How many seconds later a commit may be made that has the lines of a checkpoint."""


def commits_of_unnamed(
    checkpoints: Iterable[Checkpoint], sessions: Iterable[Session], git: AttributedHistory
) -> dict[str, str]:
    """Return the SHAs of the commits of checkpoints that no message names, by their ids.

    That is the one commit that names none, was made within five seconds and changed one of the
    files; or else the first that adds nine tenths of the lines of the checkpoint, as an amendment,
    a squash or a commit after a soft reset; or of several that only add such lines, as after a
    split, the one with most of them.

    Args:
        checkpoints: all checkpoints.
        sessions: all sessions.
        git: the history of the repository.
    """
    by_id = {checkpoint.id: checkpoint for checkpoint in checkpoints}
    names = sorted(git.checkpoints_without_commit(by_id))
    unnamed = [by_id[name] for name in names if _times_stored(by_id[name])]
    if not unnamed:
        return {}

    found = _by_time(unnamed, git)
    left = [checkpoint for checkpoint in unnamed if checkpoint.id not in found]
    return found | _by_lines(left, sessions, git) if left else found


def _times_stored(checkpoint: Checkpoint) -> list[float]:
    """Return when the sessions of a checkpoint stored it, in seconds since 1970."""
    times = [timestamp_ns(session.created_at) for session in checkpoint.sessions]
    return [time / NS for time in times if time]


def _by_time(unnamed: Iterable[Checkpoint], git: AttributedHistory) -> dict[str, str]:
    """Return the commits by their author times and files, where one alone fits."""
    near: dict[str, set[str]] = {}
    for checkpoint in unnamed:
        near[checkpoint.id] = set()
        for time in _times_stored(checkpoint):
            authored = git.authored_between(time - _NEAR_SECONDS, time + _NEAR_SECONDS)
            near[checkpoint.id].update(authored)
    files = git.files(git.written({sha for shas in near.values() for sha in shas}).values())

    found = {}
    for checkpoint in unnamed:
        fitting = []
        for sha in near[checkpoint.id]:
            names_none = not checkpoint_ids(git.commits[sha].message)
            changed = files.get(sha, frozenset())
            if names_none and not changed.isdisjoint(checkpoint.files_touched):
                fitting.append(sha)
        if len(fitting) == 1:
            found[checkpoint.id] = fitting[0]
    return found


def _by_lines(
    unnamed: Sequence[Checkpoint], sessions: Iterable[Session], git: AttributedHistory
) -> dict[str, str]:
    """Return the commits that add the lines of checkpoints."""
    files_of: dict[str, list[File]] = {}
    for session in sessions:
        for file in session.files:
            if file.checkpoint:
                files_of.setdefault(file.checkpoint, []).append(file)

    candidates: list[_Candidates] = []
    for checkpoint in unnamed:
        changes = _changes_for(files_of.get(checkpoint.id, ()), checkpoint.files_touched)
        written = lines_left_by_file(changes)
        if sum(map(len, written.values())) >= LEAST_LINES:
            made_after = _made_after(min(_times_stored(checkpoint)), git)
            candidates.append(_Candidates(checkpoint, written, made_after))

    all_shas = dict.fromkeys(sha for each in candidates for sha in each.shas)
    files = git.files(git.written(all_shas).values())
    found = {}
    for checkpoint, written, shas in candidates:
        touching = []
        for sha in shas:
            if not files.get(sha, frozenset()).isdisjoint(checkpoint.files_touched):
                touching.append(sha)
        sha = _commit_with(written, git.lines_added(touching))
        if sha:
            found[checkpoint.id] = sha
    return found


class _Candidates(NamedTuple):
    """A checkpoint, the lines that were written for it, and the commits that may have them."""

    checkpoint: Checkpoint
    written: WrittenLines
    shas: Sequence[str]


def _made_after(stored: float, git: AttributedHistory) -> list[str]:
    """Return the commits made from when a checkpoint was stored to the horizon, in order."""
    shas = []
    for sha in git.authored_between(stored - 86_400, stored + _HORIZON):
        if (git.commits[sha].time or 0) >= stored - _NEAR_SECONDS:
            shas.append(sha)
    return sorted(shas, key=lambda sha: (git.commits[sha].time or 0, sha))


def _changes_for(
    files: Iterable[File], touched: Collection[str]
) -> Iterator[tuple[WrittenFile, Sequence[int]]]:
    """Yield what some files of a checkpoint wrote for it into the files it touched."""
    tails = tuple(f"/{name}" for name in touched)
    for file in files:
        for event in file.events.of(LinesWritten):
            path = file.events.texts[event.path]
            if event.line >= (file.start or 0) and f"/{path}".endswith(tails):
                yield (file.events.spans[event.span].cwd, path), event.hashes


def _commit_with(written: WrittenLines, added: Mapping[str, Mapping[FileLine, int]]) -> str:
    """Return the commit that has some lines, or most of them after a split, or "" without one."""
    total = sum(map(len, written.values()))
    parts: dict[str, float] = {}
    for sha, lines in added.items():
        share = least_share(lines, [written]) or 0.0
        count = share * sum(lines.values())
        if count >= SAME_PATCH * total:
            return sha
        if share >= SAME_PATCH:
            parts[sha] = count

    if sum(parts.values()) < SAME_PATCH * total:
        return ""
    return max(parts, key=lambda sha: parts[sha])
