"""What the transcript lines of units say: tokens, times, and the lines that were written."""

from array import array
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from msgspec.structs import replace

from scoring.evidence.attribution.attributed import AllWork
from scoring.evidence.attribution.collecting import places_seen, sightings_of
from scoring.evidence.attribution.sightings import together
from scoring.evidence.attribution.written import WrittenLines, is_inside, written_lines
from scoring.evidence.scopes import is_code
from scoring.evidence.transcripts.counting import count_lines, last_lines
from scoring.evidence.transcripts.events import Edit, UnseenEdit
from scoring.evidence.transcripts.facts import NS, Spent
from scoring.evidence.transcripts.observed_facts import Observed
from scoring.evidence.transcripts.streams import File, SessionKey, note_parts
from scoring.evidence.transcripts.sub_agents import missing_sub_agents
from scoring.outcomes.unit import OpenUnit

LEAST_LINES = 5
"""How many lines a rest wrote in the repository at least; with fewer it is talk."""

_NO_PART = -1
_PAUSE = 5 * 60 * NS
"""A longer time between two events is not work."""


@dataclass(frozen=True, slots=True)
class _Parts:
    """The lines of units, cut into parts by session.

    Attributes:
        of_lines: the part of each line; -1 for a line of no unit.
        sessions: the session of each part.
        of_units: the parts of each unit, in the order of the units.
    """

    of_lines: list[int]
    sessions: list[SessionKey]
    of_units: list[range]


def _parts_of(units: Iterable[OpenUnit], lines: int) -> _Parts:
    parts = _Parts([_NO_PART] * lines, [], [])
    for unit in units:
        first = len(parts.sessions)
        for session, numbers in unit.lines.items():
            for line in numbers:
                parts.of_lines[line] = len(parts.sessions)
            parts.sessions.append(session)
        parts.of_units.append(range(first, len(parts.sessions)))
    return parts


def measure(units: Iterable[OpenUnit], work: AllWork, times: Sequence[int]) -> None:
    """Fill in what the lines of units say. The events of the files are used up.

    Args:
        units: the units, of which those without lines are left alone.
        work: what was read.
        times: when each line was written, in nanoseconds since 1970.
    """
    measured = [unit for unit in units if unit.lines]
    parts = _parts_of(measured, len(work.owners))
    files = work.files
    _observe_tests_of_rests(measured, parts, files)

    note_parts(files, parts.of_lines)
    written = written_lines(files, range(len(parts.sessions)))
    words = written_lines(files, _without_commit(measured, parts), words=True)
    missing = missing_sub_agents(files, parts.of_units)
    with_unknown_lines = _parts_with_unknown_lines(work, written)

    of_single_parts = []
    for group in parts.of_units:
        if len(group) > 1:
            of_single_parts += [range(part, part + 1) for part in group]
    counted, _ = count_lines(
        files, [*parts.of_units, *of_single_parts], last_lines(files), keep=False
    )

    outputs: dict[int, int] = {}
    spent: dict[int, tuple[Spent, ...]] = {}
    for group, facts in zip(parts.of_units + of_single_parts, counted, strict=True):
        if len(group) == 1:
            outputs[group.start] = facts.output_tokens
            spent[group.start] = facts.stated

    for index, unit in enumerate(measured):
        group = parts.of_units[index]
        of_maker = [part for part in group if parts.sessions[part][1] == unit.maker]
        main_part = max(
            of_maker or group, key=lambda part: (outputs.get(part, 0), parts.sessions[part])
        )
        unit.session = parts.sessions[main_part]

        unit_times = sorted(times[line] for line in unit.all_lines)
        unit.ended = unit_times[-1]
        unit.minutes = _minutes_of_work(unit_times)
        unit.counted = replace(counted[index], began=unit_times[0], ended=unit.ended)

        for part in group:
            unit.spent[parts.sessions[part]] = spent[part]
            _add_written(unit.written, written.pop(part), work)
            _add_written(unit.words, words.pop(part, {}), work)
        unit.written_here = sum(map(len, unit.written.values()))
        unit.wrote_code = any(is_code(path) for _, path in unit.written)
        unit.missing_subagents = missing[index]
        unit.is_whole = not missing[index] and with_unknown_lines.isdisjoint(group)


def _observe_tests_of_rests(
    units: Sequence[OpenUnit], parts: _Parts, files: Iterable[File]
) -> None:
    """Give rests the test runs that their lines show. What has a commit was observed with it."""
    rests = []
    for unit, group in zip(units, parts.of_units, strict=True):
        if unit.kind == "rest":
            rests.append((unit, group))

    of_rests = {part for _, group in rests for part in group}
    note_parts(files, [part if part in of_rests else _NO_PART for part in parts.of_lines])
    about = [file for file in files if not of_rests.isdisjoint(file.parts)]
    sightings = sightings_of(about, len(parts.sessions), {})

    for unit, group in rests:
        tests, last_run = together([sightings[part] for part in group]).tests(None)
        if tests.runs:
            places = places_seen(None, {}, last_run, ())
            unit.observed.append(Observed(tests=tests, seen=places))


def _without_commit(units: Sequence[OpenUnit], parts: _Parts) -> list[int]:
    """Return the parts of the units of which git has no commit: what they became, lines say."""
    without: list[int] = []
    for unit, group in zip(units, parts.of_units, strict=True):
        if unit.is_known_by_lines:
            without += group
    return without


def _minutes_of_work(times: Sequence[int]) -> float:
    """Return the minutes between events that are not further apart than a pause."""
    gaps = (later - earlier for earlier, later in pairwise(times))
    return sum(gap for gap in gaps if gap <= _PAUSE) / (60 * NS)


def _add_written(whole: WrittenLines, written: WrittenLines, work: AllWork) -> None:
    """Add the lines that a part wrote into files of the repository."""
    for (folder, path), lines in written.items():
        if is_inside(folder, path, work.in_repository):
            whole[folder, path] = whole.get((folder, path), array("q")) + lines


def _parts_with_unknown_lines(work: AllWork, written: Mapping[int, WrittenLines]) -> set[int]:
    """Return the parts in which commands wrote unknown lines into files of the repository."""
    unknown: set[int] = set()
    for file in work.files:
        for edit in _edits_by_commands(file):
            folder = file.events.spans[edit.span].cwd
            path = file.events.texts[edit.path]
            part = file.part(edit.line)

            if isinstance(edit, Edit) and (folder, path) in written.get(part, ()):
                continue
            if path == folder or is_inside(folder, path, work.in_repository):
                unknown.add(part)
    return unknown


def _edits_by_commands(file: File) -> list[Edit | UnseenEdit]:
    edits: list[Edit | UnseenEdit] = [edit for edit in file.events.of(Edit) if not edit.by_tool]
    edits += file.events.of(UnseenEdit)
    return edits


def small_rests(units: Iterable[OpenUnit], work: AllWork) -> list[OpenUnit]:
    """Return the rests that wrote fewer than :data:`LEAST_LINES` lines in the repository."""
    rests = [unit for unit in units if unit.kind == "rest"]
    parts = [_NO_PART] * len(work.owners)
    for number, rest in enumerate(rests):
        for line in rest.all_lines:
            parts[line] = number
    note_parts(work.files, parts)
    written = written_lines(work.files, range(len(rests)))

    small = []
    for number, rest in enumerate(rests):
        inside: WrittenLines = {}
        _add_written(inside, written[number], work)
        if sum(map(len, inside.values())) < LEAST_LINES:
            small.append(rest)
    return small


def first_lines(units: Collection[OpenUnit], files: Iterable[File]) -> None:
    """Fill in where lost work begins."""
    lost: dict[int, OpenUnit] = {}
    for unit in units:
        if unit.state == "lost":
            lost.update(dict.fromkeys(unit.all_lines, unit))
    if not lost:
        return

    earliest: dict[str, tuple[int, str]] = {}
    for file in files:
        for number, time, line, fresh in zip(
            file.numbers, file.times, file.ids, file.fresh, strict=True
        ):
            if fresh and line in lost:
                unit = lost[line]
                position = (time, f"{file.transcript.name}:{number + 1}")
                earliest[unit.unit] = min(earliest.get(unit.unit, position), position)

    for unit in units:
        if unit.unit in earliest:
            unit.first_line = earliest[unit.unit][1]
