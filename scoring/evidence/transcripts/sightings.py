"""What was seen in the lines of an iteration: test runs, edits, corrections by the user, and work taken back.

The readers note it line by line; here it is put together over the files of a session and the lines of an iteration.
``docs/EVIDENCE.md``, "Observations", says what each is. The module is long because one walk over the rows finds all of
them.
"""

import os
import posixpath
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from scoring.evidence.scopes import is_code
from scoring.evidence.transcripts.attribution import Share
from scoring.evidence.transcripts.facts import CorrectionsSeen, LinesFound, SeenAt, TestsSeen, WorkSeen
from scoring.evidence.transcripts.rows import (
    AGENT,
    AMEND,
    BREAK,
    BY_TOOL,
    CALL_ONLY,
    EDIT,
    INTERRUPT,
    NOTE,
    PATHS,
    RESET,
    RESULT_ONLY,
    RUN,
    WORD,
    Columns,
    key_of,
)
from scoring.evidence.transcripts.streams import File, Made, SessionKey

Kind: TypeAlias = Literal["run", "edit", "interrupt", "rejection", "reset", "call", "agent", "compaction"]


class Sighting(NamedTuple):
    """One thing that was seen: when, in which session, file and line (from 0), and what.

    ``key`` is that of the call, or of the response with a refused one; ``text`` a path or the first words of a
    command; ``passed``, ``good`` and ``bad`` are of a test run: its verdict and the numbers of tests; ``how`` is how
    work was taken back, or a file written.
    """

    time: int
    session: SessionKey
    file: File
    number: int
    kind: Kind
    key: int = 0
    text: str = ""
    passed: bool | None = None
    good: int | None = None
    bad: int | None = None
    how: int = 0

    @property
    def path(self) -> Path:
        """The transcript in which it was seen."""
        return self.file.transcript.path


@dataclass
class Sightings:
    """What was seen in the lines of one iteration. ``words`` are the keys of the words of its shell commands.

    ``edited`` has the paths that each session edited, in whichever lines, with the first time.
    """

    found: list[Sighting] = field(default_factory=list)
    edited: Mapping[SessionKey, Mapping[str, int]] = field(default_factory=dict)
    words: set[int] = field(default_factory=set)
    calls: set[tuple[SessionKey, int]] = field(default_factory=set)
    calls_without_key: int = 0

    @property
    def tool_calls(self) -> int:
        """How many calls of tools there are."""
        return len(self.calls) + self.calls_without_key

    def tests(self, end: int | None) -> tuple[TestsSeen, Sighting | None]:
        """Return the test runs, and the last one with a verdict before an end."""
        runs = self._of("run")
        failed = sum(run.passed is False for run in runs)
        decided = [run for run in runs if run.passed is not None and _before(run, end)]
        if not decided:
            return TestsSeen(len(runs), failed), None
        last = decided[-1]
        later = (edit for edit in self._of("edit") if edit.time > last.time and _before(edit, end))
        edited = any(is_code(edit.text) for edit in later)
        return TestsSeen(len(runs), failed, last.passed, edited, last.text, last.good, last.bad), last

    def corrections(self) -> tuple[CorrectionsSeen, list[Sighting]]:
        """Return the corrections, and where the user interrupted or refused."""
        breaks: list[Sighting] = []
        counted = 0
        refused: dict[SessionKey, int] = {}  # when a tool use was refused since which nothing was called
        responses: set[int] = set()
        for one in self._of("interrupt", "rejection", "call"):
            since = refused.get(one.session)
            if one.kind == "call":
                if since is not None and one.time > since:
                    del refused[one.session]
                continue
            breaks.append(one)
            if one.kind == "rejection":
                counted += one.key not in responses
                responses |= {one.key} - {0}
                refused[one.session] = one.time
            else:
                counted += since is None
                refused.pop(one.session, None)
        resets = self._resets()
        rejections = sum(one.kind == "rejection" for one in breaks)
        seen = CorrectionsSeen(len(breaks) - rejections, rejections, counted, len(resets))
        return seen, [*breaks, *resets]

    def work(self) -> WorkSeen:
        """Return how much was edited, and what the agent had help from."""
        edits = Counter(edit.text for edit in self._of("edit") if edit.how == BY_TOOL)
        most = max(edits.values(), default=0)
        return WorkSeen(edits.total(), len(edits), most, len(self._of("agent")), len(self._of("compaction")))

    def _resets(self) -> list[Sighting]:
        """Return the times when the agent took its own work back, one of each command."""
        found: dict[tuple[int, int, int], Sighting] = {}
        verdicts = [run for run in self._of("run") if run.passed is not None]
        for reset in self._of("reset"):
            if reset.how == PATHS and not self._was_edited(reset):
                continue
            if reset.how == AMEND:
                before = bisect_right(verdicts, reset.time, key=attrgetter("time"))
                if not before or verdicts[before - 1].passed:
                    continue
            found.setdefault((id(reset.file), reset.number, reset.how), reset)
        return list(found.values())

    def _was_edited(self, reset: Sighting) -> bool:
        """Whether the session edited the file before that is reset; all files, and a folder, by what is in it."""
        name = posixpath.normpath(reset.text) if reset.text else "."
        edited = self.edited.get(reset.session, {}).items()
        return any(
            time <= reset.time and (name == "." or f"/{path}".endswith(f"/{name}") or f"/{name}/" in f"/{path}")
            for path, time in edited
        )

    def _of(self, *kinds: Kind) -> list[Sighting]:
        return [one for one in self.found if one.kind in kinds]

    def ran_for(self, kind: str, artifact: str) -> bool:
        """Whether a command is seen that ran for a verifier: it names the artifact or the verifier, or runs tests."""
        name = posixpath.basename(artifact)
        names = (artifact, posixpath.normpath(artifact), name, kind, kind.lower())
        if any(key_of(word) in self.words for word in names if word):
            return True
        return kind.lower() in _TEST_VERIFIERS and any(run.kind == "run" for run in self.found)


_TEST_VERIFIERS = frozenset(("unit", "test", "tests", "integration", "e2e", "regression", "acceptance"))
"""The types of verifiers for which a test run is the command."""


def _before(one: Sighting, end: int | None) -> bool:
    return end is None or one.time <= end


def sightings_of(files: Iterable[File], owners: Sequence[int], count: int) -> list[Sightings]:
    """Put together what was seen in the lines of each of some iterations.

    ``owners`` has, for each line, the place of its iteration, or a number below 0.
    """
    edited: dict[SessionKey, dict[str, int]] = {}
    found = [Sightings(edited=edited) for _ in range(count)]
    open_runs: dict[tuple[SessionKey, int], tuple[int, Sighting]] = {}
    ended: list[tuple[int, Sighting]] = []
    for file in files:
        for session, table in ((file.sessions[0][0], file.rows.tables),) if file.rows.tables else ():
            key = file.harness.name, session
            _look(file, key, table, owners, found, open_runs, ended)
            _note_edits(file, edited.setdefault(key, {}))
    # A run with its call in one file of a session and its result in the next one.
    for owner, result in ended:
        if begun := open_runs.pop((result.session, result.key), None):
            found[owner].found.append(result._replace(text=begun[1].text))
    # A run without a result, unless a copy of its call has one: the end of a transcript may be missing.
    whole = {(run.session[0], run.key, run.text) for one in found for run in one.found if run.kind == "run"}
    for owner, call in open_runs.values():
        if (call.session[0], call.key, call.text) not in whole:
            found[owner].found.append(call)
    for sightings in found:
        sightings.found.sort(key=attrgetter("time"))
    return found


def _look(
    file: File,
    session: SessionKey,
    tables: "dict[int, Columns]",
    owners: Sequence[int],
    found: list[Sightings],
    open_runs: dict[tuple[SessionKey, int], tuple[int, Sighting]],
    ended: list[tuple[int, Sighting]],
) -> None:
    """Look at one file."""
    texts, times, ids, fresh, place = file.rows.texts, file.times, file.ids, file.fresh, file.place

    def owned(numbers: Iterable[int]) -> Iterable[tuple[int, int, int]]:
        """Yield, of the rows in lines that count for an iteration, the place of the row, the iteration and the time."""
        for row, number in enumerate(numbers):
            n = place.get(number, -1)
            if n >= 0 and fresh[n] and (owner := owners[ids[n]]) >= 0:
                yield row, owner, times[n]

    if RUN in tables:
        _, numbers, keys, states, labels, verdicts, good, bad = tables[RUN]
        for row, owner, time in owned(numbers):
            run = Sighting(
                time,
                session,
                file,
                numbers[row],
                "run",
                keys[row],
                texts[labels[row]] if labels[row] >= 0 else "",
                None if verdicts[row] < 0 else bool(verdicts[row]),
                None if good[row] < 0 else good[row],
                None if bad[row] < 0 else bad[row],
            )
            if states[row] == RESULT_ONLY:
                ended.append((owner, run))
                continue
            if states[row] == CALL_ONLY:
                open_runs[session, keys[row]] = owner, run
            else:
                found[owner].found.append(run)
    if EDIT in tables:
        _, numbers, paths, hows = tables[EDIT]
        for row, owner, time in owned(numbers):
            edit = Sighting(time, session, file, numbers[row], "edit", text=texts[paths[row]], how=hows[row])
            found[owner].found.append(edit)
    if BREAK in tables:
        _, numbers, kinds, keys = tables[BREAK]
        for row, owner, time in owned(numbers):
            kind: Kind = "interrupt" if kinds[row] == INTERRUPT else "rejection"
            found[owner].found.append(Sighting(time, session, file, numbers[row], kind, keys[row]))
    if RESET in tables:
        _, numbers, hows, paths = tables[RESET]
        for row, owner, time in owned(numbers):
            text = texts[paths[row]] if paths[row] >= 0 else ""
            found[owner].found.append(Sighting(time, session, file, numbers[row], "reset", text=text, how=hows[row]))
    if NOTE in tables:
        _, numbers, notes = tables[NOTE]
        for row, owner, time in owned(numbers):
            note: Kind = "agent" if notes[row] == AGENT else "compaction"
            found[owner].found.append(Sighting(time, session, file, numbers[row], note))
    if WORD in tables:
        _, numbers, keys, names = tables[WORD]
        for row, owner, _ in owned(numbers):
            found[owner].words |= {keys[row], names[row]}
    if calls := tables.get(file.harness.call_table):
        numbers, keys = calls[1], calls[-2]
        for row, owner, time in owned(numbers):
            if keys[row]:
                found[owner].calls.add((session, keys[row]))
            else:
                found[owner].calls_without_key += 1
            found[owner].found.append(Sighting(time, session, file, numbers[row], "call", keys[row]))


def _note_edits(file: File, edited: dict[str, int]) -> None:
    """Note which paths a session edited in one file, and when first, whether the lines are an iteration's or not."""
    if EDIT in file.rows.tables:
        _, numbers, paths, _ = file.rows.tables[EDIT]
        for number, path in zip(numbers, paths, strict=True):
            n = file.place.get(number, -1)
            if n >= 0 and file.here[n]:
                text, time = file.rows.texts[path], file.times[n]
                edited[text] = min(time, edited.get(text, time))


def written_paths(files: Iterable[File]) -> dict[str, set[str]]:
    """Return the paths that an edit tool or a redirection of any session wrote, by their last part."""
    found: dict[str, set[str]] = {}
    for file in files:
        if EDIT in file.rows.tables:
            for text in {file.rows.texts[n] for n in set(file.rows.tables[EDIT][2])}:
                path = posixpath.normpath(text)
                found.setdefault(posixpath.basename(path), set()).add(path)
    return found


def was_written(path: str, written: Mapping[str, Collection[str]]) -> bool:
    """Whether a path of the repository is one of those that were written; these may be absolute, anywhere."""
    name = posixpath.normpath(path)
    return any(f"/{other}".endswith(f"/{name}") for other in written.get(posixpath.basename(name), ()))


def written_through_links(root: Path, places: Iterable[str], written: Mapping[str, Collection[str]]) -> set[str]:
    """Return those of some places in a repository that were written by another name: through a link.

    Args:
        root: the directory that relative paths start at.
        places: paths of the repository without links.
        written: what :func:`written_paths` returns.
    """
    wanted = {identity: place for place in places if place and (identity := _identity(root / place))}
    paths = (path for alike in written.values() for path in alike) if wanted else ()
    return {wanted[found] for path in paths if (found := _identity(root / path)) in wanted}


def _identity(path: Path) -> tuple[int, int] | None:
    """Return by what the system knows a file, whatever name leads to it; None where there is none."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return found.st_dev, found.st_ino


def lines_that_made(files: Iterable[File], shares: Iterable[Share]) -> dict[int, tuple[File, int]]:
    """Return where the lines are that made commits: the file and the number in it."""
    wanted = {share.made.line for share in shares if share.made}
    found: dict[int, tuple[File, int]] = {}
    for file in files:
        if wanted and not wanted.isdisjoint(file.ids):
            for number, line in zip(file.numbers, file.ids, strict=True):
                if line in wanted:
                    found.setdefault(line, (file, number))
    return found


def places_seen(
    made: Made | None, where: tuple[File, int] | None, run: Sighting | None, others: Sequence[Sighting]
) -> tuple[SeenAt, ...]:
    """Say where the commit, the last test run and the corrections of an iteration were seen."""
    found: list[SeenAt] = []
    if made and where:
        file, number = where
        found.append(SeenAt(f"commit {made.sha}", file.transcript.path, number + 1, "commit"))
    if run:
        verdict = "passed" if run.passed else "failed"
        found.append(SeenAt(f"last test run, {verdict}: {run.text}", run.path, run.number + 1, "tests"))
    words = {"interrupt": "interrupted by the user", "rejection": "tool use refused by the user"}
    found += [
        SeenAt(words.get(one.kind, "own work taken back"), one.path, one.number + 1, "correction") for one in others
    ]
    return tuple(found)


def lines_found(files: Iterable[File], owners: Sequence[int], count: int) -> list[tuple[LinesFound, ...]]:
    """Say where the lines of each of some iterations are; ``owners`` as for :func:`sightings_of`."""
    found: list[list[LinesFound]] = [[] for _ in range(count)]
    for file in files:
        of_line = [owners[line] if fresh else -1 for line, fresh in zip(file.ids, file.fresh, strict=True)]
        places = range(len(of_line))
        first, last = (
            dict(zip(reversed(of_line), reversed(places), strict=True)),
            dict(zip(of_line, places, strict=True)),
        )
        for owner, number in Counter(of_line).items():
            if owner >= 0:
                ends = file.numbers[first[owner]] + 1, file.numbers[last[owner]] + 1
                found[owner].append(LinesFound(file.transcript.path, *ends, number))
    return [tuple(found_of_one) for found_of_one in found]
