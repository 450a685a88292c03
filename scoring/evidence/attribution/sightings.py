"""What was seen in the lines of an iteration (``docs/EVIDENCE.md``, "Observations"), put together from all files."""

import posixpath
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Literal, NamedTuple, TypeAlias

from msgspec.structs import replace

from scoring.evidence.attribution.attribution import Share
from scoring.evidence.commands.commandlines import TOOLS_OF
from scoring.evidence.scopes import is_code
from scoring.evidence.transcripts import rows
from scoring.evidence.transcripts.facts import (
    CorrectionsSeen,
    LinesFound,
    SeenAt,
    TestsSeen,
    WorkSeen,
)
from scoring.evidence.transcripts.streams import File, Made, SessionKey

Kind: TypeAlias = Literal[
    "run",
    "edit",
    "interrupt",
    "rejection",
    "reset",
    "call",
    "agent",
    "compaction",
    "words",
    "report",
    "foreign",
]
_SAID: dict[int, Kind] = {rows.SAID_WRONG: "words", rows.REPORT: "report", rows.FOREIGN: "foreign"}
_TEST_VERIFIERS = frozenset(
    ("unit", "test", "tests", "integration", "e2e", "regression", "acceptance")
)


class Sighting(NamedTuple):
    """One thing that was seen: when, in which session, file and line (from 0), and what; ``how`` as in the rows."""

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
    agent: str = ""  # the id or the transcript of a sub-agent
    began: int = 0  # when a run did; its time is that of its end, if known

    @property
    def by(self) -> tuple[SessionKey, str]:
        """The session, and its sub-agent."""
        return self.session, self.agent


@dataclass
class Sightings:
    """What was seen in the lines of one iteration, the keys of the programs that ran, and what sessions edited."""

    found: list[Sighting] = field(default_factory=list)
    edited: Mapping[SessionKey, Mapping[str, int]] = field(default_factory=dict)
    words: set[int] = field(default_factory=set)

    def tests(self, end: int | None) -> tuple[TestsSeen, Sighting | None]:
        """Return the test runs but those of sub-agents that edited no code, and the last verdict before an end."""
        edits, every = self._of("edit"), self._of("run")
        editors = {edit.by for edit in edits if is_code(edit.text)}
        own = sorted(
            (run for run in every if not run.agent or run.by in editors), key=attrgetter("began")
        )
        runs = [
            run._replace(passed=None) if run.began <= (end or run.time) < run.time else run
            for run in own
        ]
        kinds = Counter(run.passed for run in runs)
        counts = TestsSeen(
            len(runs), kinds[False], reviewing=len(every) - len(runs), no_verdict=kinds[None]
        )
        last = next((run for run in reversed(runs) if end is None or run.began <= end), None)
        if last is None or last.passed is None:
            return counts, None
        edited = any(
            is_code(edit.text) and last.time < edit.time <= (end or edit.time) for edit in edits
        )
        last_run = {"last_passed": last.passed, "edited_after": edited, "command": last.text}
        return replace(counts, **last_run, passed_tests=last.good, failed_tests=last.bad), last

    def corrections(self) -> tuple[CorrectionsSeen, list[Sighting]]:
        """Return the corrections, and where the user interrupted, refused, or said that the work is wrong."""
        found: list[Sighting] = []
        counted = by_words = 0
        stopped: dict[
            SessionKey, Sighting
        ] = {}  # by what the user stopped the agent, which called nothing since
        said: dict[SessionKey, Sighting] = {}  # the words since which it called nothing
        responses: set[int] = set()
        for one in self._of("interrupt", "rejection", "words", "call"):
            since = stopped.get(one.session)
            own = None if one.kind == "rejection" else said.pop(one.session, None)
            if one.kind == "call":
                if since is not None and one.time > since.time:
                    del stopped[one.session]
                continue
            found.append(one)
            if (
                one.kind == "interrupt" and one.key and not own
            ):  # the agent had not begun: no work is stopped
                continue
            if one.kind == "rejection":
                counted += one.key not in responses
                responses |= {one.key} - {0}
            elif one.kind == "interrupt":
                if own:  # the person took them back: what is said next counts
                    found.remove(own)
                    by_words -= since is None
                counted += since is None or since.kind != "rejection"
            else:
                by_words += since is None
                said[one.session] = one
                continue
            stopped[one.session] = one
        resets = self._resets()
        kinds = Counter(one.kind for one in self.found)
        words = sum(one.kind == "words" for one in found) or (None if kinds["foreign"] else 0)
        breaks = kinds["interrupt"], kinds["rejection"], counted + by_words
        return CorrectionsSeen(*breaks, len(resets), words, kinds["report"], counted), [
            *found,
            *resets,
        ]

    def work(self, missing: int = 0) -> WorkSeen:
        """Return how much was edited, and what the agent had help from, ``missing`` sub-agents too."""
        edits = Counter(edit.text for edit in self._of("edit") if edit.how == rows.BY_TOOL)
        most = max(edits.values(), default=0)
        return WorkSeen(
            edits.total(),
            len(edits),
            most,
            len(self._of("agent")),
            len(self._of("compaction")),
            missing,
        )

    def _resets(self) -> list[Sighting]:
        """Return the times when the agent took its own work back, one of each command."""
        found: dict[tuple[int, int, int], Sighting] = {}
        verdicts = [run for run in self._of("run") if run.passed is not None]
        for reset in self._of("reset"):
            if reset.how in (rows.HARD, rows.PATHS) and not self._was_edited(reset):
                continue
            if reset.how == rows.AMEND:
                before = bisect_right(verdicts, reset.time, key=attrgetter("time"))
                if not before or verdicts[before - 1].passed:
                    continue
            found.setdefault((id(reset.file), reset.number, reset.how), reset)
        return list(found.values())

    def _was_edited(self, reset: Sighting) -> bool:
        """Whether the session edited before what is reset: a file, a folder with one in it, or any."""
        name = posixpath.normpath(reset.text) if reset.text else "."
        edited = self.edited.get(reset.session, {}).items()
        return any(
            time <= reset.time
            and (name == "." or f"/{path}".endswith(f"/{name}") or f"/{name}/" in f"/{path}")
            for path, time in edited
        )

    def _of(self, *kinds: Kind) -> list[Sighting]:
        return [one for one in self.found if one.kind in kinds]

    def ran_for(self, kind: str) -> bool:
        """Whether a command is seen that ran for a verifier of a type: a test run, a tool of it, or its own program."""
        kind = kind.strip().lower()
        if kind in _TEST_VERIFIERS:
            return any(run.kind == "run" for run in self.found)
        return any(rows.key_of(name) in self.words for name in TOOLS_OF.get(kind, (kind,)) if name)


def together(parts: Sequence[Sightings]) -> Sightings:
    """Return what was seen in several parts of one reading as one; they hold the same mapping as ``edited``."""
    found = sorted((one for part in parts for one in part.found), key=attrgetter("time"))
    edited = parts[0].edited if parts else {}
    return Sightings(found, edited, {word for part in parts for word in part.words})


def sightings_of(
    files: Iterable[File], owners: Sequence[int], count: int, places: Mapping[int, int]
) -> list[Sightings]:
    """Put together what was seen in each of some parts; a run is of the part in which it began."""
    edited: dict[SessionKey, dict[str, int]] = {}
    found = [Sightings(edited=edited) for _ in range(count)]
    open_runs: dict[tuple[SessionKey, int], tuple[int, Sighting]] = {}
    ended: list[tuple[int, Sighting]] = []
    for file in files:
        if file.rows.tables:
            _look(file, owners, found, open_runs, ended, places)
            first = edited.setdefault((file.harness.name, file.owner), {})
            for _, number, path, _ in file.rows.tables.get(rows.EDIT, ()):
                n = file.at(number)
                if n >= 0 and file.here[n]:
                    text, time = file.rows.texts[path], file.times[n]
                    first[text] = min(time, first.get(text, time))
    # A run with its call in one file of a session and its result in the next one.
    for owner, result in ended:
        if begun := open_runs.pop((result.session, result.key), None):
            same = places.get(owner) == places.get(begun[0])
            found[begun[0]].found.append(
                result._replace(text=begun[1].text, began=begun[1].began) if same else begun[1]
            )
    # A run without a result, unless a copy of its call has one: the end of a transcript may be missing.
    whole = {
        (run.session[0], run.key, run.text)
        for one in found
        for run in one.found
        if run.kind == "run"
    }
    for owner, call in open_runs.values():
        if (call.session[0], call.key, call.text) not in whole:
            found[owner].found.append(call)
    for sightings in found:
        sightings.found.sort(key=attrgetter("time"))
    return found


def _look(
    file: File,
    owners: Sequence[int],
    found: list[Sightings],
    open_runs: dict[tuple[SessionKey, int], tuple[int, Sighting]],
    ended: list[tuple[int, Sighting]],
    places: Mapping[int, int],
) -> None:
    texts, session = file.rows.texts, (file.harness.name, file.owner)

    def owned(kind: int) -> Iterable[tuple[int, Sighting, list[int]]]:
        """Yield the iteration, what can be said at once, and the rest, of the rows in lines that count for one."""
        for span, number, *row in file.rows.tables.get(kind, ()):
            n = file.at(number)
            if n >= 0 and file.fresh[n] and (owner := owners[file.ids[n]]) >= 0:
                yield (
                    owner,
                    Sighting(file.times[n], session, file, number, "call", agent=file.agent(span)),
                    row,
                )

    for span, number, key, state, label, passed, good, bad, begun in file.rows.tables.get(
        rows.RUN, ()
    ):
        n = file.at(number)
        first = file.at(begun, n)
        if n < 0 or not file.fresh[n] or (owner := owners[file.ids[first]]) < 0:
            continue
        if places.get(owner) != places.get(owners[file.ids[n]]):
            n, number, passed, good, bad = first, begun, -1, -1, -1
        text = texts[label] if label >= 0 else ""
        verdict = (
            None if passed < 0 else bool(passed),
            None if good < 0 else good,
            None if bad < 0 else bad,
        )
        agent, began = file.agent(span), file.times[first]
        run = Sighting(
            file.times[n],
            session,
            file,
            number,
            "run",
            key,
            text,
            *verdict,
            agent=agent,
            began=began,
        )
        if state == rows.RESULT_ONLY:
            ended.append((owner, run))
        elif state == rows.CALL_ONLY and key:
            open_runs[session, key] = owner, run
        else:
            found[owner].found.append(run)
    for owner, one, (path, how) in owned(rows.EDIT):
        found[owner].found.append(one._replace(kind="edit", text=texts[path], how=how))
    unanswered = {
        n for _, n, _, state, *_ in file.rows.tables.get(rows.MADE, ()) if state == rows.CALL_ONLY
    }
    calls = sorted(n for _, n, *_ in file.rows.tables.get(rows.CALL, ())) if unanswered else []
    for owner, one, (what, key) in owned(rows.BREAK):
        # An interruption may stop a command that made the commit before, and has no result that says so.
        called = bisect_left(calls, one.number) - 1
        at = file.at(calls[called]) if called >= 0 and calls[called] in unanswered else -1
        if what == rows.REJECTION or at < 0 or owners[file.ids[at]] == owner:
            kind: Kind = "interrupt" if what == rows.INTERRUPT else "rejection"
            found[owner].found.append(one._replace(kind=kind, key=key))
    for owner, one, (how, path) in owned(rows.RESET):
        found[owner].found.append(
            one._replace(kind="reset", text=texts[path] if path >= 0 else "", how=how)
        )
    for owner, one, (what,) in owned(rows.PROMPT):
        found[owner].found.append(one._replace(kind=_SAID[what]))
    for owner, one, (what,) in owned(rows.NOTE):
        found[owner].found.append(
            one._replace(kind="agent" if what == rows.AGENT else "compaction")
        )
    for owner, _, names in owned(rows.WORD):
        found[owner].words.update(names)
    for owner, one, (*_, key, _) in owned(rows.CALL):
        found[owner].found.append(one._replace(key=key))


def lines_that_made(files: Iterable[File], shares: Iterable[Share]) -> dict[int, tuple[File, int]]:
    """Return where the lines are that made commits: the file and the number in it."""
    wanted = {share.made.line for share in shares if share.made}
    found: dict[int, tuple[File, int]] = {}
    for file in files:
        for number, line in zip(file.numbers, file.ids, strict=True) if wanted else ():
            if line in wanted:
                found.setdefault(line, (file, number))
    return found


def places_seen(
    made: Made | None,
    lines: Mapping[int, tuple[File, int]],
    run: Sighting | None,
    others: Sequence[Sighting],
) -> tuple[SeenAt, ...]:
    """Say where the commit, by the ``lines`` that made one, the last test run and the corrections were seen."""
    found: list[SeenAt] = []
    if made and (where := lines.get(made.line)):
        found.append(SeenAt(f"commit {made.sha}", where[0].transcript.path, where[1] + 1, "commit"))
    if run:
        verdict = "passed" if run.passed else "failed"
        found.append(
            SeenAt(
                f"last test run, {verdict}: {run.text}",
                run.file.transcript.path,
                run.number + 1,
                "tests",
            )
        )
    corrected = (
        SeenAt(_CORRECTED[o.kind], o.file.transcript.path, o.number + 1, "correction")
        for o in others
    )
    return (*found, *corrected)


_CORRECTED: dict[Kind, str] = {
    "interrupt": "interrupted by the user",
    "rejection": "tool use refused by the user",
    "words": "words of the user that read as a correction",
    "reset": "own work taken back",
}
STOPPED = _CORRECTED["interrupt"], _CORRECTED["rejection"]


def lines_found(
    files: Iterable[File], owners: Sequence[int], count: int
) -> list[tuple[LinesFound, ...]]:
    """Say where the lines of each of some iterations are; ``owners`` as for :func:`sightings_of`."""
    found: list[list[LinesFound]] = [[] for _ in range(count)]
    for file in files:
        numbers_of: dict[int, list[int]] = {}
        for number, line, fresh in zip(file.numbers, file.ids, file.fresh, strict=True):
            if fresh and owners[line] >= 0:
                numbers_of.setdefault(owners[line], []).append(number + 1)
        for owner, numbers in numbers_of.items():
            found[owner].append(
                LinesFound(file.transcript.path, numbers[0], numbers[-1], len(numbers))
            )
    return list(map(tuple, found))
