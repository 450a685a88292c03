"""Commits that no output and no message names, mostly found by the lines that they add.

docs/EVIDENCE.md, "Attribution" and "Checkpoints in git", has the rules.
"""

import posixpath
from array import array
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from scoring.evidence.git.authorship import AttributedHistory
from scoring.evidence.git.checkpoints import Checkpoint, checkpoint_ids
from scoring.evidence.git.patches import FileLine
from scoring.evidence.transcripts.edits import (
    WrittenFile,
    apply_change,
    is_word,
)
from scoring.evidence.transcripts.events import LinesWritten
from scoring.evidence.transcripts.facts import NS, timestamp_ns
from scoring.evidence.transcripts.streams import (
    File,
    Session,
    SessionCommit,
    commits_shown,
)
from scoring.evidence.transcripts.work_trees import WorkTrees
from scoring.evidence.transcripts.working_calls import calls_that_work
from scoring.grouping import lists_by_key
from scoring.text import composed

from .commits_by_listing import commits_by_listing, files_by_checkpoint
from .written import (
    LEAST_LINES,
    SAME_PATCH,
    WrittenLines,
    changes_by_name,
    changes_of,
    least_share,
    lines_left_by_file,
    possible_names,
)

_NEAR_SECONDS = 5
"""How many seconds the author time of a commit may be from when its checkpoint was stored."""

_HORIZON = 14 * 86_400
"""How many seconds after a checkpoint was stored a commit with its lines may be authored."""


def commits_of_unnamed(
    checkpoints: Mapping[str, Checkpoint],
    sessions: Collection[Session],
    git: AttributedHistory,
) -> dict[str, str]:
    """Return the SHAs of the commits of checkpoints that no message names, by checkpoint id.

    A checkpoint without a commit is left out. The commit is the first of these that exists:

    - the one commit that names no checkpoint, was authored within five seconds of when the
      checkpoint was stored, and changed one of its files;
    - the first commit that adds nine tenths of the lines of the checkpoint, as an amendment, a
      squash or a commit after a soft reset;
    - of the commits of which nine tenths are lines of the checkpoint, as after a split, the one
      with most of them, if together they have nine tenths of the checkpoint's lines;
    - the first commit after the last edit for the checkpoint that changed one of the edited files,
      if it changed all of them and its own checkpoints list all sessions.

    Args:
        checkpoints: all checkpoints, by their ids.
        sessions: all sessions.
        git: the history of the repository.
    """
    names = sorted(git.checkpoints_without_commit(checkpoints))
    unnamed = [checkpoints[name] for name in names if _times_stored(checkpoints[name])]
    if not unnamed:
        return {}

    sha_of = _by_time(unnamed, git)
    left = [checkpoint for checkpoint in unnamed if checkpoint.id not in sha_of]
    if left:
        sha_of |= _by_lines(left, sessions, git)
        left = [checkpoint for checkpoint in left if checkpoint.id not in sha_of]
    if left:
        sha_of |= commits_by_listing(left, checkpoints, sessions, git)
    return sha_of


def _times_stored(checkpoint: Checkpoint) -> list[float]:
    """Return when each session of a checkpoint stored it, in seconds since 1970.

    A session that does not state the time is left out.
    """
    times = [timestamp_ns(session.created_at) for session in checkpoint.sessions]
    return [time / NS for time in times if time]


class _Candidates(NamedTuple):
    """A checkpoint, and the commits that may be its own.

    Attributes:
        checkpoint: the checkpoint.
        shas: the SHAs of these commits.
        written: the lines that were written for the checkpoint; empty where no lines are compared.
    """

    checkpoint: Checkpoint
    shas: Collection[str]
    written: WrittenLines


def _touching(
    all_candidates: Sequence[_Candidates], git: AttributedHistory
) -> Iterator[_Candidates]:
    """Yield candidates again, each with only the commits that changed a file of its checkpoint."""
    shas = {sha for candidates in all_candidates for sha in candidates.shas}
    files = git.files(shas)
    for candidates in all_candidates:
        touched = candidates.checkpoint.files_touched
        touching = [
            sha
            for sha in candidates.shas
            if not files.get(sha, frozenset()).isdisjoint(touched)
        ]
        yield candidates._replace(shas=touching)


def _by_time(unnamed: Iterable[Checkpoint], git: AttributedHistory) -> dict[str, str]:
    """Return the commits by checkpoint id, where one alone fits by author time and files."""
    all_candidates = []
    for checkpoint in unnamed:
        near: set[str] = set()
        for time in _times_stored(checkpoint):
            near.update(
                git.authored_between(time - _NEAR_SECONDS, time + _NEAR_SECONDS)
            )
        all_candidates.append(_Candidates(checkpoint, near, {}))

    sha_of = {}
    for checkpoint, shas, _ in _touching(all_candidates, git):
        fitting = [sha for sha in shas if not checkpoint_ids(git.commits[sha].message)]
        if len(fitting) == 1:
            sha_of[checkpoint.id] = fitting[0]
    return sha_of


def _by_lines(
    unnamed: Iterable[Checkpoint], sessions: Iterable[Session], git: AttributedHistory
) -> dict[str, str]:
    """Return the SHAs of the commits that add the lines of checkpoints, by checkpoint id."""
    files_of = files_by_checkpoint(sessions)
    all_candidates = []
    for checkpoint in unnamed:
        changes = _changes_for(
            files_of.get(checkpoint.id, ()), checkpoint.files_touched
        )
        written = lines_left_by_file(changes)
        if sum(map(len, written.values())) >= LEAST_LINES:
            made_after = _made_after(min(_times_stored(checkpoint)), git)
            all_candidates.append(_Candidates(checkpoint, made_after, written))

    sha_of = {}
    for checkpoint, shas, written in _touching(all_candidates, git):
        sha = _commit_with(written, git.lines_added(shas))
        if sha:
            sha_of[checkpoint.id] = sha
    return sha_of


def _made_after(stored: float, git: AttributedHistory) -> list[str]:
    """Return the commits that may have a checkpoint's lines, by committer time.

    They were committed at most five seconds before the checkpoint was stored, and authored from a
    day before that to :data:`_HORIZON` after that; both ends count.
    """
    in_time = []
    for sha in git.authored_between(stored - 86_400, stored + _HORIZON):
        committed = git.commits[sha].time or 0
        if committed >= stored - _NEAR_SECONDS:
            in_time.append((committed, sha))
    return [sha for _, sha in sorted(in_time)]


def _changes_for(
    files: Iterable[File], touched: Collection[str]
) -> Iterable[tuple[WrittenFile, Sequence[int]]]:
    """Yield what the transcripts of a checkpoint wrote for it into the files that it touched.

    What is before the start of the checkpoint's work in a transcript is left out.
    """
    tails = tuple(f"/{name}" for name in touched)
    for file in files:
        for event in file.events.of(LinesWritten):
            written_file = file.written_file(event)
            if event.line >= (file.start or 0) and f"/{written_file.path}".endswith(
                tails
            ):
                yield written_file, event.hashes


def _commit_with(
    written: WrittenLines, added: Mapping[str, Mapping[FileLine, int]]
) -> str:
    """Return the first commit with nine tenths of some lines, or else one of a split, or "".

    A split is several commits that together have nine tenths of the lines and add few others. The
    one with most lines is returned.

    Args:
        written: the lines, at least one.
        added: how often each commit adds each significant line, by SHA.
    """
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
    return max(parts, key=parts.__getitem__)


def add_quiet_commits(
    sessions: Collection[Session], git: AttributedHistory, trees: WorkTrees
) -> None:
    """Add to sessions the commits that their calls made and did not print.

    A commit counts as made by a call in either case:

    - no session shows it, its author time is between the call and its result (in whole seconds), it
      adds at least three significant lines, and the session wrote at least 0.9 of these up to the
      result. Any call that edits or runs something may have made such a commit, as by a hook, but
      what it wrote in another repository does not count then;
    - the call makes commits, the call or the next command shows its SHA, and its committer time is
      between the call and its result.

    Args:
        sessions: all sessions. Their ``made`` stays sorted by time.
        git: the history of the repository.
        trees: the work trees of the repository.
    """
    quiet: list[tuple[Session, SessionCommit]] = []
    for session in sessions:
        quiet += [(session, call) for call in session.quiet]
    if quiet:
        _add_shown(quiet, git)
        for session in sessions:
            session.made.sort()

    shown = {digits[:7] for digits in commits_shown(sessions)}
    unshown: dict[Session, dict[str, list[SessionCommit]]] = {}
    for session in sessions:
        calls_of = {
            sha: calls
            for sha, calls in _authored_in_calls(session, git).items()
            if sha[:7] not in shown
        }
        if calls_of:
            unshown[session] = calls_of

    if not unshown:
        return

    shas = set(chain.from_iterable(unshown.values()))
    added = git.lines_added(shas, is_net=True)  # an edit leaves out what moves too
    for session, calls_of in unshown.items():
        candidates = [
            _QuietCommit(sha, calls, added[sha])
            for sha, calls in calls_of.items()
            if sum(added.get(sha, {}).values()) >= LEAST_LINES
        ]
        for sha, call in _calls_that_made(session, candidates, trees).items():
            session.made.append(call.printing(sha, git.commits[sha].subject))

    for session in unshown:
        session.made.sort()


def _authored_in_calls(
    session: Session, git: AttributedHistory
) -> dict[str, list[SessionCommit]]:
    """Return the calls of a session by the SHA of each commit with an author time in them.

    The calls of a commit are in order of when they ended. Where some of them make commits and
    printed none, only these count; where others printed a commit, none does, since that commit may
    be amended later.
    """
    printed = _calls_by_commit(session.made, git)
    calls_of = {
        sha: calls
        for sha, calls in _calls_by_commit(calls_that_work(session), git).items()
        if sha not in printed
    }
    return calls_of | _calls_by_commit(session.quiet, git)


def _calls_by_commit(
    calls: Iterable[SessionCommit], git: AttributedHistory
) -> dict[str, list[SessionCommit]]:
    """Return, by the SHA of a commit, the calls that it was authored in, by when they ended.

    The seconds in which a call began and ended count.
    """
    calls_of: dict[str, list[SessionCommit]] = {}
    for call in sorted(calls):
        for sha in git.authored_between(call.begun // NS, call.time // NS):
            calls_of.setdefault(sha, []).append(call)
    return calls_of


class _QuietCommit(NamedTuple):
    """A commit that no session shows, and that a session may have made.

    Attributes:
        sha: its SHA.
        calls: the session's calls in which it was authored, by when they ended.
        added: how often it adds each significant line.
    """

    sha: str
    calls: Sequence[SessionCommit]
    added: Mapping[FileLine, int]


def _calls_that_made(
    session: Session, candidates: Collection[_QuietCommit], trees: WorkTrees
) -> dict[str, SessionCommit]:
    """Return the calls of a session that made commits, by the SHA of the commit.

    That is the first of a commit's calls by the end of which the session had written at least 0.9
    of the lines that the commit adds. A commit without such a call is left out.

    All edits are gone through once, together with the calls by when they ended, because a hook may
    commit after each edit.
    """
    ends = [(call, commit) for commit in candidates for call in commit.calls]
    ends.sort(key=lambda end: end[0].time)
    names = {name for commit in candidates for name, _ in commit.added}
    changes = changes_of(changes_by_name([session]), names)
    files_of = _files_by_name((change.file for change in changes), names)
    # a checkpoint's session may have worked in another clone
    is_recorded = any(file.checkpoint for file in session.files)

    call_of: dict[str, SessionCommit] = {}
    left: dict[WrittenFile, Counter[int]] = {}
    change_count = 0
    for call, commit in ends:
        while change_count < len(changes) and changes[change_count].time <= call.time:
            change = changes[change_count]
            lines = [line for line in change.hashes if not is_word(line)]
            apply_change(left.setdefault(change.file, Counter()), lines)
            change_count += 1

        if commit.sha not in call_of:
            written = _lines_of_commit_in(left, commit.added, files_of)
            if not call.folder and not is_recorded:  # no command that makes commits
                written = {
                    file: hashes
                    for file, hashes in written.items()
                    if not trees.is_in_another(posixpath.dirname(file.whole_path))
                }
            if (least_share(commit.added, [written]) or 0) >= SAME_PATCH:
                call_of[commit.sha] = call
    return call_of


def _files_by_name(
    files: Iterable[WrittenFile], names: Iterable[str]
) -> dict[str, list[WrittenFile]]:
    """Return by each of some names in the repository the written files that may have it."""
    names_of = lists_by_key((composed(name), name) for name in names)

    files_of: dict[str, list[WrittenFile]] = {}
    for file in dict.fromkeys(files):
        for possible in possible_names(file, names_of):
            for name in names_of[possible]:
                files_of.setdefault(name, []).append(file)
    return files_of


def _lines_of_commit_in(
    left: Mapping[WrittenFile, Counter[int]],
    added: Mapping[FileLine, int],
    files_of: Mapping[str, Iterable[WrittenFile]],
) -> WrittenLines:
    """Return those lines in written files that a commit adds to the same file.

    Args:
        left: how often each line is in each file.
        added: how often the commit adds each significant line.
        files_of: the files by their names in the repository, as of :func:`_files_by_name`.
    """
    counts_of: dict[WrittenFile, Counter[int]] = {}
    for (name, line), count in added.items():
        for file in files_of.get(name, ()):
            if file in left and left[file][line]:
                counts = counts_of.setdefault(file, Counter())
                # no more than the commit adds, so that repeats cost nothing
                counts[line] = max(counts[line], min(count, left[file][line]))
    return {file: array("q", counts.elements()) for file, counts in counts_of.items()}


def _add_shown(
    quiet: Iterable[tuple[Session, SessionCommit]], git: AttributedHistory
) -> None:
    """Add to sessions the commits that calls or the commands after show and that calls committed.

    Args:
        quiet: calls that make commits and printed none, each with its session.
        git: the history of the repository.
    """
    shas = git.repository.resolve_digits(
        {digits for _, call in quiet for digits in call.shown}
    )
    commits = git.written(shas.values())
    for session, call in quiet:
        for sha in dict.fromkeys(
            shas[digits] for digits in call.shown if digits in shas
        ):
            committed = commits[sha].committed if sha in commits else None
            if (
                committed is not None
                and call.begun // NS <= committed <= call.time // NS
            ):
                session.made.append(call.printing(sha, commits[sha].subject))
