"""What was seen in the lines of an iteration: ``docs/EVIDENCE.md``, "Observations"."""

import posixpath
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

from msgspec.structs import replace

from scoring.evidence.commands.verifier_programs import TOOLS_BY_VERIFIER_TYPE
from scoring.evidence.scopes import is_code
from scoring.evidence.transcripts.events import (
    AgentStarted,
    Call,
    Compaction,
    Edit,
    Event,
    Prompt,
    TestRun,
    UserBreak,
    WorkReset,
    key_of,
)
from scoring.evidence.transcripts.observed_facts import (
    CorrectionsSeen,
    TestsSeen,
    WorkSeen,
)
from scoring.evidence.transcripts.streams import File, SessionKey

_TEST_VERIFIERS = frozenset(
    ("unit", "test", "tests", "integration", "e2e", "regression", "acceptance")
)


class Sighting(NamedTuple):
    """One event in its place. Times are nanoseconds since 1970.

    Attributes:
        time: when; of a run of tests, when it ended, if that is known.
        file: the transcript.
        event: what was seen, an :class:`~scoring.evidence.transcripts.events.Event`.
        part: the part of its line; of a run, the part in which it began.
        text: the file that was edited or reset, or the command of a run.
        began: of a run, when it began.
    """

    time: int
    file: File
    event: Any
    part: int
    text: str = ""
    began: int = 0

    @property
    def session(self) -> SessionKey:
        """The session."""
        return self.file.key

    @property
    def agent(self) -> str:
        """What names the sub-agent; "" for the session itself."""
        return self.file.agent(self.event.span)

    @property
    def by(self) -> tuple[SessionKey, str]:
        """The session, and its sub-agent."""
        return self.session, self.agent

    @property
    def path(self) -> Path:
        """The path of the transcript."""
        return self.file.transcript.path

    @property
    def line(self) -> int:
        """The number of the line, from 1."""
        return int(self.event.line) + 1


class _Corrections:
    """Counts the corrections of an iteration, while its sightings are gone through by time.

    Attributes:
        sightings: the sightings that are corrections, or may be.
        count: how many corrections these are.
    """

    def __init__(self) -> None:
        self.sightings: list[Sighting] = []
        self.count = 0
        # until the session calls a tool
        self._stopped_by: dict[SessionKey, Sighting] = {}
        self._words: dict[SessionKey, Sighting] = {}  # likewise
        self._responses: set[int] = set()

    def note(self, sighting: Sighting) -> None:
        """Note a call, an interruption, a refusal, or a prompt."""
        session = sighting.session
        stopped_by = self._stopped_by.get(session)
        if isinstance(sighting.event, Call):
            self._words.pop(session, None)
            if stopped_by is not None and sighting.time > stopped_by.time:
                del self._stopped_by[session]
            return

        kind = sighting.event.kind
        if kind == "refusal":
            self._note_refusal(sighting)
        elif kind == "interruption":
            self._note_interruption(sighting, stopped_by)
        elif kind == "wrong":
            self.sightings.append(sighting)
            self.count += stopped_by is None
            self._words[session] = sighting
        elif (
            kind == "goes_on" and stopped_by and stopped_by.event.kind == "interruption"
        ):
            self.sightings.remove(self._stopped_by.pop(session))
            self.count -= 1

    def _note_refusal(self, sighting: Sighting) -> None:
        """Count a refusal. All refusals of one response count once."""
        response = sighting.event.response
        self.sightings.append(sighting)
        self.count += response not in self._responses
        if response:
            self._responses.add(response)
        self._stopped_by[sighting.session] = sighting

    def _note_interruption(
        self, sighting: Sighting, stopped_by: Sighting | None
    ) -> None:
        """Count an interruption.

        Where the agent had not begun, no work was stopped. Words that the person took back by
        stopping the agent at once do not count, because what the person says next does.
        """
        self.sightings.append(sighting)
        words = self._words.pop(sighting.session, None)
        if words is not None:
            self.sightings.remove(words)
            self.count -= stopped_by is None
        elif sighting.event.idle:
            return

        if stopped_by is None or stopped_by.event.kind != "refusal":
            self.count += 1
            self._stopped_by[sighting.session] = sighting


@dataclass
class Sightings:
    """What was seen in the lines of an iteration.

    Attributes:
        seen: the sightings, by time.
        edited: for each session when it first edited each file.
        programs: the keys of the programs that ran.
    """

    seen: list[Sighting] = field(default_factory=list)
    edited: dict[SessionKey, dict[str, int]] = field(default_factory=dict)
    programs: set[int] = field(default_factory=set)

    def of(self, *kinds: type[Event]) -> list[Sighting]:
        """Return the sightings of some kinds of events, by time."""
        return [sighting for sighting in self.seen if isinstance(sighting.event, kinds)]

    def tests(self, end: int | None) -> tuple[TestsSeen, Sighting | None]:
        """Return what was seen of test runs, and the last run with a verdict.

        Runs of sub-agents that edited no code are counted apart.

        Args:
            end: when the iteration ended, in ns since 1970.
        """
        all_runs = self.of(TestRun)
        edits = [edit for edit in self.of(Edit) if is_code(edit.text)]
        editors = {edit.by for edit in edits}

        runs = []
        for run in all_runs:
            if run.agent and run.by not in editors:
                continue
            if run.began <= (end or run.time) < run.time:
                run = run._replace(event=replace(run.event, passed=None))
            runs.append(run)
        runs.sort(key=attrgetter("began"))

        verdicts = Counter(run.event.passed for run in runs)
        tests = TestsSeen(
            runs=len(runs),
            failed=verdicts[False],
            reviewing=len(all_runs) - len(runs),
            no_verdict=verdicts[None],
        )

        runs_before_end = [run for run in runs if end is None or run.began <= end]
        if not runs_before_end or runs_before_end[-1].event.passed is None:
            return tests, None
        last = runs_before_end[-1]
        tests = replace(
            tests,
            last_passed=last.event.passed,
            edited_after=any(
                last.time < edit.time <= (end or edit.time) for edit in edits
            ),
            command=last.text,
            passed_tests=last.event.passed_tests,
            failed_tests=last.event.failed_tests,
            newly_failed=_newly_failed(runs_before_end, edits),
        )
        return tests, last

    def corrections(self) -> tuple[CorrectionsSeen, list[Sighting]]:
        """Return the corrections, and where they were seen.

        They are where the user interrupted, refused, or said that something is wrong, and where
        the agent took its own work back.
        """
        corrections = _Corrections()
        for sighting in self.of(UserBreak, Prompt, Call):
            corrections.note(sighting)

        resets = self._resets()
        kinds = Counter(sighting.event.kind for sighting in self.of(UserBreak, Prompt))
        words: int | None = sum(
            seen.event.kind == "wrong" for seen in corrections.sightings
        )
        if not words and kinds["foreign"]:
            words = None
        counts = CorrectionsSeen(
            interrupts=kinds["interruption"],
            rejections=kinds["refusal"],
            corrections=corrections.count,
            resets=len(resets),
            words=words,
            reports=kinds["report"],
        )
        return counts, [*corrections.sightings, *resets]

    def work(self, missing: int) -> WorkSeen:
        """Return how much was edited, and with what help.

        Args:
            missing: how many sub-agents have no lines.
        """
        edits = Counter(edit.text for edit in self.of(Edit) if edit.event.by_tool)
        return WorkSeen(
            edits=edits.total(),
            files=len(edits),
            most=max(edits.values(), default=0),
            agents=len(self.of(AgentStarted)),
            compactions=len(self.of(Compaction)),
            missing=missing,
        )

    def _resets(self) -> list[Sighting]:
        """Return the resets of the agent's own work, each kind of one command once.

        An amendment takes work back where the last run of tests before it failed.
        """
        verdicts = [run for run in self.of(TestRun) if run.event.passed is not None]
        resets: dict[tuple[int, int, str], Sighting] = {}
        for reset in self.of(WorkReset):
            kind = reset.event.kind
            if kind in ("hard", "paths") and not self._was_edited(reset):
                continue
            if kind == "amend":
                count = bisect_right(verdicts, reset.time, key=attrgetter("time"))
                if not count or verdicts[count - 1].event.passed:
                    continue
            resets.setdefault((id(reset.file), reset.event.line, kind), reset)
        return list(resets.values())

    def _was_edited(self, reset: Sighting) -> bool:
        """Return whether the session edited before what is reset: a file, in a folder, or any."""
        name = posixpath.normpath(reset.text) if reset.text else "."
        for path, time in self.edited.get(reset.session, {}).items():
            if time > reset.time:
                continue
            if (
                name == "."
                or f"/{path}".endswith(f"/{name}")
                or f"/{name}/" in f"/{path}"
            ):
                return True
        return False

    def ran_for(self, verifier_type: str) -> bool:
        """Return whether a command ran for a verifier's type.

        That is a test run, a tool of the type, or the verifier's own program.
        """
        name = verifier_type.strip().lower()
        if name in _TEST_VERIFIERS:
            return bool(self.of(TestRun))
        programs = TOOLS_BY_VERIFIER_TYPE.get(name, (name,))
        return any(key_of(program) in self.programs for program in programs if program)


def _newly_failed(runs: Sequence[Sighting], edits: Sequence[Sighting]) -> bool:
    """Return whether the last of some runs failed by what was edited.

    One of the same command passed before, and none did since code was edited the last time.
    """
    last = runs[-1]
    last_edit = max((edit.time for edit in edits if edit.time < last.began), default=0)
    passes = [run for run in runs if run.event.passed]
    has_passed = any(run.text == last.text and run.began < last_edit for run in passes)
    return last.event.passed is False and has_passed and passes[-1].began < last_edit


def together(parts: Sequence[Sightings]) -> Sightings:
    """Join what was seen in several parts of one reading, which share the mapping ``edited``."""
    joined = Sightings()
    for part in parts:
        joined.edited = part.edited
        joined.seen += part.seen
        joined.programs |= part.programs
    joined.seen.sort(key=attrgetter("time"))
    return joined
