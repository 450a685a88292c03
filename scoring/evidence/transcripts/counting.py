"""Counts responses and calls by iteration, as for windows of time: the place of an iteration is the time of a line."""

from array import array
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from msgspec.structs import replace

from scoring.evidence.git.checkpoints import Checkpoint, TokenTotals
from scoring.evidence.transcripts.facts import HarnessFacts, IterationWindow, TranscriptFacts
from scoring.evidence.transcripts.rows import CALL, RESPONSE, RUN, STATED, VERDICT, Rows
from scoring.evidence.transcripts.streams import File, SessionKey
from scoring.evidence.transcripts.tally import NOT_STATED, OUTPUT_ALONE, READS_IN_INPUT, Tallies

Last: TypeAlias = Mapping[tuple[str, int, int], int]
"""The parts of responses' last lines, by harness and the keys of response and request."""
_NONE: Last = {}


def last_lines(files: Sequence[File], parts: Sequence[int]) -> Last:
    """Return the part that has the last line of each response of which several rows are."""
    count = Counter(row[2] for file in files for row in file.rows.tables.get(RESPONSE, ()))
    found: dict[tuple[str, int, int], tuple[int, int]] = {}
    for file in files:
        for _, number, key, request, *_ in file.rows.tables.get(RESPONSE, ()):
            n = file.at(number) if key and count[key] > 1 else -1
            if n >= 0 and file.fresh[n] and (part := parts[file.ids[n]]) >= 0:
                name = file.harness.name, key, request
                found[name] = max(found.get(name, (0, -1)), (file.times[n], part))
    return {name: part for name, (_, part) in found.items()}


def count_lines(
    files: Sequence[File],
    parts: Sequence[int],
    groups: Sequence[range],
    of: Last = _NONE,
    keep: bool = True,
) -> tuple[list[TranscriptFacts], tuple[HarnessFacts, ...]]:
    """Count the lines of groups of parts; a response counts in its first part, or in the one that ``of`` names.

    Facts have parts in place of times. Also returns what is in all lines, by harness; without ``keep`` rows go.
    """
    windows = [
        IterationWindow(number, group.start, group.stop) for number, group in enumerate(groups)
    ]
    harnesses = {file.harness.name: file.harness for file in files}
    tallies = Tallies(windows, list(harnesses))
    for tally in tallies.of.values():
        tally.counts_open_calls = True
    counters = {
        name: h.counter(h, tallies.of[name], lambda _: True, lambda _: [])
        for name, h in harnesses.items()
    }
    count = max(parts, default=-1) + 1
    alone = _alone(files)
    for number, file in enumerate(sorted(continued(files), key=lambda file: file not in alone)):
        if not any(file.fresh):
            continue
        rows = placed(file.rows, _places(file, parts, count + 1))
        if of and RESPONSE in rows.tables:
            name, responses = file.harness.name, rows.tables[RESPONSE]
            last: Any = (
                (s, of.get((name, row[0], row[1]), at - 1) + 1, *row) for s, at, *row in responses
            )
            rows.tables[RESPONSE] = last
        counters[file.harness.name].add(number, rows, True)
        if file in alone:
            counters[file.harness.name].finish()
        del rows  # those of a long transcript would stay until all is counted
        if not keep:
            del file.rows
    for counter in counters.values():
        counter.finish()
    return tallies.facts(), tallies.everything()


def _alone(files: Sequence[File]) -> set[File]:
    """Return the files that have no response or call in common with another one: what is in them need not wait."""
    first, shared = dict[int, File](), set[File]()
    for file in files:
        for kind, column in ((RESPONSE, 2), (CALL, -2), (VERDICT, -2)):
            for key in (row[column] for row in file.rows.tables.get(kind, ())):
                if key and (other := first.setdefault(key, file)) is not file:
                    shared |= {other, file}
    return set(files) - shared


def _places(file: File, parts: Sequence[int], other: int) -> Sequence[int]:
    """Return the part of each line by its number, from 1, or another place; 0 for a line that does not count."""
    places = array("i", bytes(4 * (max(file.numbers, default=-1) + 1)))
    for number, line, fresh in zip(file.numbers, file.ids, file.fresh, strict=True):
        places[number] = (parts[line] + 1 or other) if fresh else 0
    return places


def with_times(
    counted: Iterable[TranscriptFacts],
    files: Iterable[File],
    parts: Sequence[int],
    groups: Iterable[range],
) -> list[TranscriptFacts]:
    """Return what was counted in groups of parts with the times of the first and the last line of each."""
    found: dict[int, tuple[int, int]] = {}
    for file in files:
        for line, time, fresh in zip(file.ids, file.times, file.fresh, strict=True):
            if fresh and (part := parts[line]) >= 0:
                began, ended = found.get(part, (time, time))
                found[part] = min(began, time), max(ended, time)
    timed = []
    for facts, group in zip(counted, groups, strict=True):
        known = [time for part in group for time in found.get(part, ())]
        timed.append(replace(facts, began=min(known, default=None), ended=max(known, default=None)))
    return timed


def placed(rows: Rows, places: Sequence[int]) -> Rows:
    """Return rows with places of iterations for the numbers of lines that have one; tables can be read once."""
    count = len(places)
    covers = [
        [at for number in numbers if number < count and (at := places[number])]
        for numbers in rows.covers
    ]
    counted = {kind: rows.tables[kind] for kind in rows.tables if kind < RUN}
    if STATED in rows.tables:
        counted[RESPONSE] = _measured(rows, places)
    tables: dict[int, Any] = {
        kind: (
            (span, at, *rest)
            for span, number, *rest in found
            if number < count and (at := places[number])
        )
        for kind, found in counted.items()
    }
    # What repeats another session's lines is left out already: no session counts as a fork of another one.
    return Rows([span._replace(parent="") for span in rows.spans], covers, tables)


def _measured(rows: Rows, places: Sequence[int]) -> list[tuple[int, ...]]:
    """Return the responses of rows with stated totals, which are spread over those of one place, and over no others."""
    responses = list(rows.tables.get(RESPONSE, ()))
    silent = [
        n for n, row in enumerate(responses) if row[6] == NOT_STATED or row[10] == OUTPUT_ALONE
    ]
    place_of = [places[row[1]] if row[1] < len(places) else 0 for row in responses]
    for span, number, since, output, given, reads, writes in rows.tables[STATED]:
        among = [n for n in silent if since <= responses[n][1] <= number]
        if len({place_of[n] for n in among}) != 1:
            continue
        model = rows.spans[span].model
        of_it = [n for n in among if rows.spans[responses[n][0]].model == model] or among
        stated = (output, given, reads, writes) if writes else (output, given + reads, reads, given)
        counts = [
            [total // len(of_it) + (n < total % len(of_it)) for n in range(len(of_it))]
            for total in stated
        ]
        for n, *tokens in zip(of_it, *counts, strict=True):
            responses[n] = (*responses[n][:6], *tokens, 0 if writes else READS_IN_INPUT)
    return responses


def continued(files: Iterable[File]) -> list[File]:
    """Return files to count: one that goes on where another of its session ends is put behind it, as totals run on."""
    counted: list[File] = []
    last: dict[SessionKey, File] = {}
    for file in files:
        key = (file.harness.name, file.owner)
        before = last.get(key)
        goes_on = file.checkpoint and before and not file.rows.opens and all(file.fresh)
        if before and goes_on and (whole := _behind(before, file)):
            file = whole
            counted.remove(before)
        counted.append(file)
        if file.checkpoint:
            last[key] = file
    return counted


def _behind(first: File, second: File) -> File | None:
    """Return two files as one; None where they count the same apart."""
    shift = max(first.numbers, default=-1) + 1
    joined = first.harness.joined(first.rows, second.rows, shift)
    if joined is None:
        return None
    behind = zip(
        (number + shift for number in second.numbers), second.times, second.ids, strict=True
    )
    joined.lines = [*zip(first.numbers, first.times, first.ids, strict=True), *behind]
    joined.opens = first.rows.opens
    whole = File(first.transcript, first.harness, joined, first.checkpoint, first.session)
    whole.fresh, whole.here = first.fresh + second.fresh, first.here + second.here
    return whole


def stated_totals(
    checkpoints: Iterable[Checkpoint], read: Collection[str]
) -> dict[str, dict[str, TokenTotals]]:
    """Return the tokens that checkpoints state, by session, of those from which no transcript was ``read``."""
    unread = (checkpoint for checkpoint in checkpoints if checkpoint.id not in read)
    found = {one.id: {s.session_id: s.tokens for s in one.sessions if s.tokens} for one in unread}
    return {name: tokens for name, tokens in found.items() if tokens}


def as_turn_counts(tokens: TokenTotals) -> TokenTotals:
    """Return totals with what was written to the cache, which Codex does not state: the input not read from it."""
    if tokens.cache_creation or not 0 < tokens.cache_read <= tokens.input:
        return tokens
    return tokens._replace(cache_creation=tokens.input - tokens.cache_read)
