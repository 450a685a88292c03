"""What was seen in the lines of an iteration: ``docs/EVIDENCE.md``, "Observations"."""

import posixpath
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Literal, NamedTuple, TypeAlias, TypeVar

from msgspec.structs import replace

from scoring.evidence.attribution.attribution import Share
from scoring.evidence.commands.verifier_programs import TOOLS_BY_VERIFIER_TYPE
from scoring.evidence.scopes import is_code
from scoring.evidence.transcripts.events import (
    AgentStarted,
    BreakKind,
    Call,
    CommitMade,
    Compaction,
    Edit,
    Event,
    ProgramRun,
    Prompt,
    PromptKind,
    ResetKind,
    TestRun,
    UserBreak,
    WorkReset,
    key_of,
)
from scoring.evidence.transcripts.facts import (
    CorrectionsSeen,
    LinesFound,
    SeenAt,
    TestsSeen,
    WorkSeen,
)
from scoring.evidence.transcripts.streams import File, SessionCommit, SessionKey

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
_SAID: dict[PromptKind, Kind] = {
    PromptKind.SAYS_WRONG: "words",
    PromptKind.REPORT: "report",
    PromptKind.FOREIGN: "foreign",
}
EventKind = TypeVar("EventKind", bound=Event)
_TEST_VERIFIERS = frozenset(
    ("unit", "test", "tests", "integration", "e2e", "regression", "acceptance")
)


class Sighting(NamedTuple):
    """One thing that was seen: when, in which session, file and line (from 0), and what."""

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
    by_tool: bool = False  # of an edit, whether a tool made it
    reset: ResetKind | None = None  # of a reset, how
    idle: bool = False  # of an interruption, whether the agent had done nothing
    agent: str = ""  # the id or the transcript of a sub-agent
    began: int = 0  # when a run did; its time is that of its end, if known

    @property
    def by(self) -> tuple[SessionKey, str]:
        """The session, and its sub-agent."""
        return self.session, self.agent


@dataclass
class Sightings:
    """What was seen in an iteration's lines, its programs, and what its sessions edited."""

    found: list[Sighting] = field(default_factory=list)
    edited: Mapping[SessionKey, Mapping[str, int]] = field(default_factory=dict)
    words: set[int] = field(default_factory=set)

    def tests(self, end: int | None) -> tuple[TestsSeen, Sighting | None]:
        """Return the test runs and the last verdict, without sub-agents that edited no code."""
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
        """Return the corrections: where the user interrupted, refused, or said that it is wrong."""
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
                one.kind == "interrupt" and one.idle and not own
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
        """Return how much was edited, and with what help, ``missing`` sub-agents included."""
        edits = Counter(edit.text for edit in self._of("edit") if edit.by_tool)
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
        found: dict[tuple[int, int, ResetKind | None], Sighting] = {}
        verdicts = [run for run in self._of("run") if run.passed is not None]
        for reset in self._of("reset"):
            if reset.reset in (ResetKind.HARD, ResetKind.PATHS) and not self._was_edited(reset):
                continue
            if reset.reset == ResetKind.AMEND:
                before = bisect_right(verdicts, reset.time, key=attrgetter("time"))
                if not before or verdicts[before - 1].passed:
                    continue
            found.setdefault((id(reset.file), reset.number, reset.reset), reset)
        return list(found.values())

    def _was_edited(self, reset: Sighting) -> bool:
        """Whether the session edited before what is reset: a file, a file in a folder, or any."""
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
        """Whether a command ran for a verifier's type.

        That is a test run, a tool of the type, or the verifier's own program.
        """
        kind = kind.strip().lower()
        if kind in _TEST_VERIFIERS:
            return any(run.kind == "run" for run in self.found)
        return any(
            key_of(name) in self.words for name in TOOLS_BY_VERIFIER_TYPE.get(kind, (kind,)) if name
        )


def together(parts: Sequence[Sightings]) -> Sightings:
    """Join what was seen in several parts of one reading, which share the mapping ``edited``."""
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
        if file.events.lists:
            _look(file, owners, found, open_runs, ended, places)
            first = edited.setdefault((file.harness.name, file.owner), {})
            for edit in file.events.of(Edit):
                n = file.at(edit.line)
                if n >= 0 and file.here[n]:
                    text, time = file.events.texts[edit.path], file.times[n]
                    first[text] = min(time, first.get(text, time))
    # A run with its call in one file of a session and its result in the next one.
    for owner, result in ended:
        if begun := open_runs.pop((result.session, result.key), None):
            same = places.get(owner) == places.get(begun[0])
            found[begun[0]].found.append(
                result._replace(text=begun[1].text, began=begun[1].began) if same else begun[1]
            )
    # A run without a result, unless a copy of its call has one: a transcript may end early.
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
    texts, session = file.events.texts, (file.harness.name, file.owner)

    def owned(kind: type[EventKind]) -> Iterable[tuple[int, Sighting, EventKind]]:
        """Yield the iteration, the sighting, and the event, in lines that count for one."""
        for event in file.events.of(kind):
            n = file.at(event.line)
            if n >= 0 and file.fresh[n] and (owner := owners[file.ids[n]]) >= 0:
                agent = file.agent(event.span)
                one = Sighting(file.times[n], session, file, event.line, "call", agent=agent)
                yield owner, one, event

    for run in file.events.of(TestRun):
        n, number = file.at(run.line), run.line
        first = n if run.called_at is None else file.at(run.called_at, n)
        if n < 0 or not file.fresh[n] or (owner := owners[file.ids[first]]) < 0:
            continue
        verdict = run.passed, run.passed_tests, run.failed_tests
        if places.get(owner) != places.get(owners[file.ids[n]]):
            n, number = first, -1 if run.called_at is None else run.called_at
            verdict = None, None, None
        sighting = Sighting(
            file.times[n],
            session,
            file,
            number,
            "run",
            run.call,
            "" if run.command is None else texts[run.command],
            *verdict,
            agent=file.agent(run.span),
            began=file.times[first],
        )
        if not run.ended and run.call:
            open_runs[session, run.call] = owner, sighting
        elif run.ended and run.called_at is None:
            ended.append((owner, sighting))
        else:
            found[owner].found.append(sighting)
    for owner, one, edit in owned(Edit):
        found[owner].found.append(
            one._replace(kind="edit", text=texts[edit.path], by_tool=edit.by_tool)
        )
    unanswered = {made.line for made in file.events.of(CommitMade) if not made.sha}
    calls = sorted(call.line for call in file.events.of(Call)) if unanswered else []
    for owner, one, stop in owned(UserBreak):
        # An interruption may stop a command that made the commit before. No result says so.
        called = bisect_left(calls, one.number) - 1
        at = file.at(calls[called]) if called >= 0 and calls[called] in unanswered else -1
        if stop.kind == BreakKind.REFUSAL:
            found[owner].found.append(one._replace(kind="rejection", key=stop.response))
        elif at < 0 or owners[file.ids[at]] == owner:
            found[owner].found.append(one._replace(kind="interrupt", idle=stop.idle))
    for owner, one, reset in owned(WorkReset):
        text = "" if reset.path is None else texts[reset.path]
        found[owner].found.append(one._replace(kind="reset", text=text, reset=reset.kind))
    for owner, one, prompt in owned(Prompt):
        found[owner].found.append(one._replace(kind=_SAID[prompt.kind]))
    for owner, one, _ in owned(AgentStarted):
        found[owner].found.append(one._replace(kind="agent"))
    for owner, one, _ in owned(Compaction):
        found[owner].found.append(one._replace(kind="compaction"))
    for owner, _, program in owned(ProgramRun):
        found[owner].words.add(program.program)
    for owner, one, call in owned(Call):
        found[owner].found.append(one._replace(key=call.id))


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
    made: SessionCommit | None,
    lines: Mapping[int, tuple[File, int]],
    run: Sighting | None,
    others: Sequence[Sighting],
) -> tuple[SeenAt, ...]:
    """Return where the commit, the last test run and the corrections were seen.

    ``lines`` are those that made a commit.
    """
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
    """Return where the lines of some iterations are. ``owners`` is as for :func:`sightings_of`."""
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
