"""Collects what was seen in the lines of each part: ``docs/EVIDENCE.md``, "Observations"."""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

from scoring.evidence.attribution.iteration_shares import Share
from scoring.evidence.attribution.sightings import Kind, Sighting, Sightings
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
    TestRun,
    UserBreak,
    WorkReset,
)
from scoring.evidence.transcripts.facts import LinesFound, SeenAt
from scoring.evidence.transcripts.streams import File, SessionCommit, SessionKey, part_of

_PROMPT_KINDS: dict[PromptKind, Kind] = {
    PromptKind.SAYS_WRONG: "words",
    PromptKind.REPORT: "report",
    PromptKind.FOREIGN: "foreign",
    PromptKind.GOES_ON: "goes_on",
}

_CORRECTED: dict[Kind, str] = {
    "interrupt": "interrupted by the user",
    "rejection": "tool use refused by the user",
    "words": "words of the user that read as a correction",
    "reset": "own work taken back",
}
SAID_WRONG = _CORRECTED["words"]
"""How it is described that the user said that something is wrong."""


class _Run(NamedTuple):
    """A run of tests of which the call or the result is in another file.

    Attributes:
        part: the part of the line that is here.
        sighting: the run, as this line shows it.
    """

    part: int
    sighting: Sighting


class _Collector:
    """Collects the sightings of each part, file by file.

    Args:
        parts: the part of each line; -1: none.
        count: how many parts there are.
        iteration_of: the index of the iteration of each part that is its own.

    Attributes:
        sightings: what was seen in each part.
    """

    def __init__(self, parts: Sequence[int], count: int, iteration_of: Mapping[int, int]) -> None:
        self._parts = parts
        self._iteration_of = iteration_of
        self._edited: dict[SessionKey, dict[str, int]] = {}
        self._open_runs: dict[tuple[SessionKey, int], _Run] = {}
        self._results: list[_Run] = []
        self.sightings = [Sightings(edited=self._edited) for _ in range(count)]

    def add(self, file: File) -> None:
        """Add what was seen in a file."""
        texts = file.events.texts
        self._note_first_edits(file)
        self._add_runs(file)
        for edit in file.events.of(Edit):
            self._add(file, edit, "edit", text=texts[edit.path], by_tool=edit.by_tool)
        self._add_breaks(file)
        for reset in file.events.of(WorkReset):
            path = "" if reset.path is None else texts[reset.path]
            self._add(file, reset, "reset", text=path, reset=reset.kind)
        for prompt in file.events.of(Prompt):
            self._add(file, prompt, _PROMPT_KINDS[prompt.kind])
        for started in file.events.of(AgentStarted):
            self._add(file, started, "agent")
        for compaction in file.events.of(Compaction):
            self._add(file, compaction, "compaction")
        for call in file.events.of(Call):
            self._add(file, call, "call", key=call.id)
        for program in file.events.of(ProgramRun):
            part = part_of(file, self._parts, program.line)
            if part >= 0:
                self.sightings[part].programs.add(program.program)

    def finish(self) -> list[Sightings]:
        """Match runs with results in other files, and return what was seen in each part.

        A run counts in the part in which it began. One without a result counts without a verdict,
        unless a copy of its call has a result, because a transcript may end early.
        """
        for part, result in self._results:
            begun = self._open_runs.pop((result.session, result.key), None)
            if begun is None:
                continue
            run = begun.sighting
            if self._iteration_of.get(part) == self._iteration_of.get(begun.part):
                run = result._replace(text=run.text, began=run.began)
            self.sightings[begun.part].seen.append(run)

        with_result = set()
        for sightings in self.sightings:
            for seen in sightings.seen:
                if seen.kind == "run":
                    with_result.add((seen.session[0], seen.key, seen.text))
        for part, call in self._open_runs.values():
            if (call.session[0], call.key, call.text) not in with_result:
                self.sightings[part].seen.append(call)

        for sightings in self.sightings:
            sightings.seen.sort(key=attrgetter("time"))
        return self.sightings

    def _note_first_edits(self, file: File) -> None:
        """Note when a session first edited each file, in all of its lines in the repository."""
        first = self._edited.setdefault((file.harness.name, file.owner), {})
        for edit in file.events.of(Edit):
            index = file.at(edit.line)
            if index >= 0 and file.here[index]:
                path = file.events.texts[edit.path]
                time = file.times[index]
                first[path] = min(time, first.get(path, time))

    def _add(self, file: File, event: Event, kind: Kind, **about: Any) -> None:
        """Add a sighting to the part of its line, where the line counts for one."""
        part = part_of(file, self._parts, event.line)
        if part < 0:
            return
        sighting = Sighting(
            time=file.times[file.at(event.line)],
            session=(file.harness.name, file.owner),
            file=file,
            number=event.line,
            kind=kind,
            agent=file.agent(event.span),
        )
        self.sightings[part].seen.append(sighting._replace(**about))

    def _add_runs(self, file: File) -> None:
        """Add the runs of tests: to the part in which they began."""
        session = (file.harness.name, file.owner)
        for run in file.events.of(TestRun):
            index = file.at(run.line)
            if index < 0 or not file.fresh[index]:
                continue
            began = index if run.called_at is None else file.at(run.called_at, index)
            if run.follows_commit:
                began = _first_after_commit(file, index, began, self._parts)
            if began < 0:
                continue
            part = self._parts[file.ids[began]]
            if part < 0:
                continue

            sighting = Sighting(
                time=file.times[max(began, index)],
                session=session,
                file=file,
                number=run.line,
                kind="run",
                key=run.call,
                text="" if run.command is None else file.events.texts[run.command],
                passed=run.passed,
                passed_tests=run.passed_tests,
                failed_tests=run.failed_tests,
                agent=file.agent(run.span),
                began=file.times[began],
            )
            end_part = self._parts[file.ids[max(began, index)]]
            if self._iteration_of.get(part) != self._iteration_of.get(end_part):
                sighting = _without_result(sighting, run.called_at)

            if not run.ended and run.call:
                self._open_runs[session, run.call] = _Run(part, sighting)
            elif run.ended and run.called_at is None:
                self._results.append(_Run(part, sighting))
            else:
                self.sightings[part].seen.append(sighting)

    def _add_breaks(self, file: File) -> None:
        """Add interruptions and rejections.

        An interruption may stop a command that made the commit before. No result says so: then
        it counts only where the command is in the same part.
        """
        unanswered = set()
        for commit in file.events.of(CommitMade):
            if not commit.sha and commit.line == commit.called_at:
                unanswered.add(commit.line)
        calls = sorted(call.line for call in file.events.of(Call)) if unanswered else []

        for stop in file.events.of(UserBreak):
            if stop.kind == BreakKind.REFUSAL:
                self._add(file, stop, "rejection", key=stop.response)
                continue

            last_call = bisect_left(calls, stop.line) - 1
            if last_call >= 0 and calls[last_call] in unanswered:
                index = file.at(calls[last_call])
                part = part_of(file, self._parts, stop.line)
                if index >= 0 and self._parts[file.ids[index]] != part:
                    continue
            self._add(file, stop, "interrupt", idle=stop.idle)


def _first_after_commit(file: File, ended: int, called: int, parts: Sequence[int]) -> int:
    """Return the index of the line at which a run begins that follows a commit in its line.

    Where the commit ends a part, the run belongs to what follows; -1 where nothing does.

    Args:
        file: the transcript.
        ended: the index of the line with the result.
        called: the index of the line with the call.
        parts: the part of each line; -1: none.
    """
    for following in range(ended + 1, len(file.ids)):
        if file.times[following] > file.times[ended]:
            is_cut = parts[file.ids[following]] != parts[file.ids[ended]]
            return following if is_cut else called
    return -1


def _without_result(run: Sighting, called_at: int | None) -> Sighting:
    """Return a run as its call shows it, which is in another iteration than its result."""
    return run._replace(
        time=run.began,
        number=-1 if called_at is None else called_at,
        passed=None,
        passed_tests=None,
        failed_tests=None,
    )


def sightings_of(
    files: Iterable[File], parts: Sequence[int], count: int, iteration_of: Mapping[int, int]
) -> list[Sightings]:
    """Return what was seen in each part.

    Args:
        files: the transcripts.
        parts: the part of each line; -1: none.
        count: how many parts there are.
        iteration_of: the index of the iteration of each part that is its own.
    """
    collector = _Collector(parts, count, iteration_of)
    for file in files:
        if file.events.lists:
            collector.add(file)
    return collector.finish()


class LinePlace(NamedTuple):
    """Where a line is: the transcript, and its number there, from 0."""

    file: File
    number: int


def lines_that_made(files: Iterable[File], shares: Iterable[Share]) -> dict[int, LinePlace]:
    """Return where the lines are that show the commits of iterations, by their numbers."""
    wanted = {share.made.line for share in shares if share.made}
    places: dict[int, LinePlace] = {}
    for file in files:
        if wanted.isdisjoint(file.ids):
            continue
        for number, line in zip(file.numbers, file.ids, strict=True):
            if line in wanted:
                places.setdefault(line, LinePlace(file, number))
    return places


def places_seen(
    made: SessionCommit | None,
    lines: Mapping[int, LinePlace],
    run: Sighting | None,
    corrections: Sequence[Sighting],
) -> tuple[SeenAt, ...]:
    """Return where the commit, the last run of tests and the corrections were seen.

    Args:
        made: the commit.
        lines: where the lines are that show commits.
        run: the last run of tests with a verdict.
        corrections: the corrections.
    """
    places: list[SeenAt] = []
    if made and made.line in lines:
        file, number = lines[made.line]
        places.append(SeenAt(f"commit {made.sha}", file.transcript.path, number + 1, "commit"))
    if run:
        verdict = "passed" if run.passed else "failed"
        what = f"last test run, {verdict}: {run.text}"
        places.append(SeenAt(what, run.file.transcript.path, run.number + 1, "tests"))
    for sighting in corrections:
        what = _CORRECTED[sighting.kind]
        path = sighting.file.transcript.path
        places.append(SeenAt(what, path, sighting.number + 1, "correction"))
    return tuple(places)


def lines_found(
    files: Iterable[File], parts: Sequence[int], count: int
) -> list[tuple[LinesFound, ...]]:
    """Return where the lines of each part are.

    Args:
        files: the transcripts.
        parts: the part of each line; -1: none.
        count: how many parts there are.
    """
    lines: list[list[LinesFound]] = [[] for _ in range(count)]
    for file in files:
        numbers_of: dict[int, list[int]] = {}
        for number, line, fresh in zip(file.numbers, file.ids, file.fresh, strict=True):
            if fresh and parts[line] >= 0:
                numbers_of.setdefault(parts[line], []).append(number + 1)
        for part, numbers in numbers_of.items():
            path = file.transcript.path
            lines[part].append(LinesFound(path, numbers[0], numbers[-1], len(numbers)))
    return [tuple(lines_of_part) for lines_of_part in lines]
