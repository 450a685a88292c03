"""Collects what was seen in the lines of each part: ``docs/EVIDENCE.md``, "Observations"."""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from typing import NamedTuple

from msgspec.structs import replace

from scoring.evidence.attribution.iteration_shares import Share
from scoring.evidence.attribution.sightings import Sighting, Sightings
from scoring.evidence.transcripts.events import (
    AgentStarted,
    Call,
    CommitMade,
    Compaction,
    Edit,
    Event,
    ProgramRun,
    Prompt,
    TestRun,
    UserBreak,
    WorkReset,
)
from scoring.evidence.transcripts.observed_facts import LinesFound, SeenAt
from scoring.evidence.transcripts.streams import File, SessionCommit, SessionKey

SAID_WRONG = "words of the user that read as a correction"
"""How it is described that the user said that something is wrong."""

_CORRECTED = {
    "interruption": "interrupted by the user",
    "refusal": "tool use refused by the user",
    "wrong": SAID_WRONG,
}


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
        count: how many parts there are.
        iteration_of: the index of the iteration of each part that is its own.

    Attributes:
        sightings: what was seen in each part.
    """

    def __init__(self, count: int, iteration_of: Mapping[int, int]) -> None:
        self._iteration_of = iteration_of
        self._edited: dict[SessionKey, dict[str, int]] = {}
        self._open_runs: dict[tuple[SessionKey, int], _Run] = {}
        self._results: list[_Run] = []
        self.sightings = [Sightings(edited=self._edited) for _ in range(count)]

    def add(self, file: File) -> None:
        """Add what was seen in a file."""
        texts = file.events.texts
        self._add_runs(file)
        self._add_edits(file)
        self._add_breaks(file)
        for reset in file.events.of(WorkReset):
            self._add(file, reset, "" if reset.path is None else texts[reset.path])
        for kind in (Prompt, AgentStarted, Compaction, Call):
            for event in file.events.of(kind):
                self._add(file, event)
        for program in file.events.of(ProgramRun):
            part = file.part(program.line)
            if part >= 0:
                self.sightings[part].programs.add(program.program)

    def finish(self) -> list[Sightings]:
        """Match runs with results in other files, and return what was seen in each part.

        A run counts in the part in which it began. One without a result counts without a verdict,
        unless a copy of its call has a result, because a transcript may end early.
        """
        for part, result in self._results:
            begun = self._open_runs.pop((result.session, result.event.call), None)
            if begun is None:
                continue
            run = begun.sighting
            if self._iteration_of.get(part) == self._iteration_of.get(begun.part):
                run = result._replace(text=run.text, began=run.began)
            self.sightings[begun.part].seen.append(run)

        with_result: set[tuple[str, int, str]] = set()
        for sightings in self.sightings:
            with_result.update(map(_call_of, sightings.of(TestRun)))
        for part, call in self._open_runs.values():
            if _call_of(call) not in with_result:
                self.sightings[part].seen.append(call)

        for sightings in self.sightings:
            sightings.seen.sort(key=attrgetter("time"))
        return self.sightings

    def _add(self, file: File, event: Event, text: str = "") -> None:
        """Add a sighting to the part of its line, where the line counts for one."""
        part = file.part(event.line)
        if part >= 0:
            time = file.times[file.at(event.line)]
            sighting = Sighting(time, file.key, file, event, file.agent(event.span), text)
            self.sightings[part].seen.append(sighting)

    def _add_edits(self, file: File) -> None:
        """Add edits, and note when the session first edited each file in the repository."""
        first = self._edited.setdefault(file.key, {})
        for edit in file.events.of(Edit):
            path = file.events.texts[edit.path]
            self._add(file, edit, path)
            index = file.at(edit.line)
            if index >= 0 and file.here[index]:
                time = file.times[index]
                first[path] = min(time, first.get(path, time))

    def _add_runs(self, file: File) -> None:
        """Add the runs of tests: to the part in which they began."""
        for run in file.events.of(TestRun):
            index = file.at(run.line)
            if index < 0 or not file.fresh[index]:
                continue
            began = index if run.called_at is None else file.at(run.called_at, index)
            if run.follows_commit:
                began = _first_after_commit(file, index, began)
            if began < 0 or file.parts[began] < 0:
                continue

            part = file.parts[began]
            ended = max(began, index)
            event = run
            iteration_at_end = self._iteration_of.get(file.parts[ended])
            if iteration_at_end != self._iteration_of.get(part):  # only its call counts here
                event = _without_result(run)
                ended = began
            sighting = Sighting(
                time=file.times[ended],
                session=file.key,
                file=file,
                event=event,
                agent=file.agent(run.span),
                text="" if run.command is None else file.events.texts[run.command],
                began=file.times[began],
            )

            if not run.ended and run.call:
                self._open_runs[file.key, run.call] = _Run(part, sighting)
            elif run.ended and run.called_at is None:
                self._results.append(_Run(part, sighting))
            else:
                self.sightings[part].seen.append(sighting)

    def _add_breaks(self, file: File) -> None:
        """Add interruptions and refusals.

        An interruption may stop a command that made the commit before. No result says so: then
        it counts only where the command is in the same part.
        """
        unanswered = set()
        for commit in file.events.of(CommitMade):
            if not commit.sha and commit.line == commit.called_at:
                unanswered.add(commit.line)
        calls = sorted(call.line for call in file.events.of(Call)) if unanswered else []

        for stop in file.events.of(UserBreak):
            last_call = bisect_left(calls, stop.line) - 1
            if stop.kind == "interruption" and last_call >= 0 and calls[last_call] in unanswered:
                index = file.at(calls[last_call])
                if index >= 0 and file.parts[index] != file.part(stop.line):
                    continue
            self._add(file, stop)


def _call_of(run: Sighting) -> tuple[str, int, str]:
    """Return the harness, the call and the command of a run, which its copies share."""
    return run.session[0], run.event.call, run.text


def _first_after_commit(file: File, ended: int, called: int) -> int:
    """Return the index of the line at which a run begins that follows a commit in its line.

    Where the commit ends a part, the run belongs to what follows; -1 where nothing does.

    Args:
        file: the transcript.
        ended: the index of the line with the result.
        called: the index of the line with the call.
    """
    for following in range(ended + 1, len(file.ids)):
        if file.times[following] > file.times[ended]:
            is_cut = file.parts[following] != file.parts[ended]
            return following if is_cut else called
    return -1


def _without_result(run: TestRun) -> TestRun:
    """Return a run as its call shows it, which is in another iteration than its result."""
    return replace(
        run,
        line=-1 if run.called_at is None else run.called_at,
        passed=None,
        passed_tests=None,
        failed_tests=None,
    )


def sightings_of(
    files: Iterable[File], count: int, iteration_of: Mapping[int, int]
) -> list[Sightings]:
    """Return what was seen in each part.

    Args:
        files: the transcripts.
        count: how many parts there are.
        iteration_of: the index of the iteration of each part that is its own.
    """
    collector = _Collector(count, iteration_of)
    for file in files:
        if file.events.lists:
            collector.add(file)
    return collector.finish()


def lines_that_made(files: Iterable[File], shares: Iterable[Share]) -> dict[int, SeenAt]:
    """Return where the lines are that show the commits of iterations, by their numbers."""
    wanted = {share.made.line for share in shares if share.made}
    places: dict[int, SeenAt] = {}
    for file in files:
        if wanted.isdisjoint(file.ids):
            continue
        for number, line in zip(file.numbers, file.ids, strict=True):
            if line in wanted:
                places.setdefault(line, SeenAt("commit", file.transcript.path, number + 1))
    return places


def places_seen(
    made: SessionCommit | None,
    lines: Mapping[int, SeenAt],
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
        places.append(lines[made.line]._replace(what=f"commit {made.sha}"))
    if run:
        verdict = "passed" if run.event.passed else "failed"
        what = f"last test run, {verdict}: {run.text}"
        places.append(SeenAt(what, run.file.transcript.path, run.event.line + 1, "tests"))
    for sighting in corrections:
        what = _CORRECTED.get(sighting.event.kind, "own work taken back")
        path = sighting.file.transcript.path
        places.append(SeenAt(what, path, sighting.event.line + 1, "correction"))
    return tuple(places)


def lines_found(files: Iterable[File], count: int) -> list[tuple[LinesFound, ...]]:
    """Return where the lines of each part are.

    Args:
        files: the transcripts.
        count: how many parts there are.
    """
    lines: list[list[LinesFound]] = [[] for _ in range(count)]
    for file in files:
        numbers_of: dict[int, list[int]] = {}
        for number, part, fresh in zip(file.numbers, file.parts, file.fresh, strict=True):
            if fresh and part >= 0:
                numbers_of.setdefault(part, []).append(number + 1)
        for part, numbers in numbers_of.items():
            path = file.transcript.path
            lines[part].append(LinesFound(path, numbers[0], numbers[-1], len(numbers)))
    return [tuple(lines_of_part) for lines_of_part in lines]


def missing_sub_agents(files: Iterable[File], groups: Iterable[Iterable[int]]) -> list[int]:
    """Return for each group of parts how many sub-agents started in it that have no line there.

    Args:
        files: the files.
        groups: the parts of each group.
    """
    started: Counter[int] = Counter()
    names_in: defaultdict[int, set[str]] = defaultdict(set)
    for file in files:
        spans = list(zip(file.events.spans, file.events.covers, strict=True))
        only_agents = all(span.agent for span, numbers in spans if numbers)
        for index, (span, numbers) in enumerate(spans):
            if not span.agent:
                continue
            # Older versions write sub-agents into the session's own file without their names.
            name = file.agent(index) if only_agents or span.agent_id else ""
            for number in numbers:
                names_in[file.part(number)].add(name)
        for event in file.events.of(AgentStarted):
            started[file.part(event.line)] += 1

    missing = []
    for group in groups:
        group_parts = list(group)
        names: set[str] = set().union(*(names_in.get(part, ()) for part in group_parts))
        if "" in names:  # they cannot be distinguished
            missing.append(0)
        else:
            count = sum(started[part] for part in group_parts)
            missing.append(max(count - len(names), 0))
    return missing
