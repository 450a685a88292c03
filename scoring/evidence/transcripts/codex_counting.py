"""What counts in a rollout of Codex: totals that run on from line to line, and what a forked session repeats.

:mod:`~scoring.evidence.transcripts.codex` reads the lines. ``docs/EVIDENCE.md``, "Transcripts", says what counts once.
"""

from collections.abc import Callable, Sequence
from itertools import takewhile
from operator import lt
from typing import NamedTuple

from msgspec.structs import replace

from scoring.evidence.transcripts.facts import NS
from scoring.evidence.transcripts.harness import (
    ELSEWHERE,
    NO_FOLDER,
    Harness,
    InRepository,
    ReadAgain,
    TranscriptCounter,
)
from scoring.evidence.transcripts.rows import CALL, VERDICT, LineSpan, Rows, key_of
from scoring.evidence.transcripts.tally import Tally

META, CONTEXT, OWN = 1, 2, 3
"""What opens a span: a ``session_meta``, a ``turn_context``, the first line that is said to be the session's own."""

COUNT, TURN, REPEAT = 0, 3, 4
"""Tables beside those of calls and verdicts. Behind span and line each row has how many counts are before it, and then:

- count, as it is written: what it counts (:data:`TOTALS`, or :data:`LAST` where an event has no totals; :data:`BASE`,
  what the file that this one goes on from has counted), and the totals (input, cached input, input written to the
  cache, output, reasoning output, all), -1 for those left out;
- turn, worked out of the counts: output, input, cache reads, cache creations;
- repeat, worked out of the counts too: nothing more.
"""

TOTALS, LAST, BASE = range(3)


def settled(rows: Rows) -> Rows:
    """Work the turns out of the counts of a transcript; a field that an event leaves out has not changed."""
    worked_out: dict[int, list[tuple[int, ...]]] = {TURN: [], REPEAT: []}
    running = _FROM_ZERO
    for span, time, before, kind, *counts in rows.tables.get(COUNT, ()):
        start = running
        if kind == BASE:
            running = tuple(counts)
            continue
        if kind == LAST:
            running = tuple(max(old, 0) + new if new >= 0 else old for new, old in zip(counts, start, strict=True))
        else:
            running = tuple(counts)
            if any(map(lt, running, start)):
                running = tuple(old if new < 0 else new for new, old in zip(counts, start, strict=True))
                if any(map(lt, running, start)):
                    start = _FROM_ZERO
        given, cached, output = running[0] - start[0], running[1] - start[1], running[3] - start[3]
        written = running[2] - max(start[2], 0) if counts[2] >= 0 else max(given - cached, 0)
        if given or cached or output or written:
            worked_out[TURN].append((span, time, before, output, given, cached, written))
        else:
            worked_out[REPEAT].append((span, time, before))
    for table, found in worked_out.items():
        rows.tables.pop(table, None)
        if found:
            rows.tables[table] = found
    return rows


_FROM_ZERO: tuple[int, ...] = (0, 0, -1, 0, -1, -1)
"""The totals before the first event: those that not every version states are left out."""


def own_meta(spans: Sequence[LineSpan]) -> LineSpan:
    """Return how a session introduces itself: only the first time, since later ones are replayed."""
    return next((span for span in spans if span.opens == META), LineSpan())


def folders(spans: Sequence[LineSpan]) -> list[str]:
    """Return, for each span, the folder it was done in; "" is not said."""
    found: list[str] = []
    cwd, own = "", own_meta(spans)
    for span in spans:
        if span.cwd and (span.opens == CONTEXT or span is own):
            cwd = span.cwd
        found.append(cwd)
    return found


class _Boundary(NamedTuple):
    """Where a replay ends: before the span of a number, and behind so many token counts."""

    span: int = 0
    counts: int = 0

    def is_before(self, row: Sequence[int]) -> bool:
        return row[0] >= self.span and row[2] >= self.counts


def _boundary(rows: Rows, again: ReadAgain) -> _Boundary:
    """Find out where the replay at the beginning of a forked session ends."""
    spans, own = rows.spans, own_meta(rows.spans)
    if (first := next((n for n, span in enumerate(spans) if span.opens == OWN), None)) is not None:
        return _Boundary(span=first)
    turns = [(n, span.born) for n, span in enumerate(spans) if span.opens == CONTEXT]
    if own.born >= 0:
        for n, born in turns:
            if born >= own.born:
                return _Boundary(span=n)
        if turns and all(born >= 0 for _, born in turns):
            return _Boundary(span=len(spans))
    mine = _token_counts(rows)
    if parents := again(own.parent):
        return _Boundary(counts=max(_common(mine, _token_counts(parent)) for parent in parents))
    clock = _clock(rows)
    late = (n for n, row in enumerate(rows.tables.get(COUNT, ())) if clock(row[1]) - own.time >= NS)
    return _Boundary(counts=next(late, len(mine)))


def _token_counts(rows: Rows) -> list[tuple[int, ...]]:
    return [row[3:] for row in rows.tables.get(COUNT, ())]


def _common(mine: Sequence[tuple[int, ...]], others: Sequence[tuple[int, ...]]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(mine, others, strict=False)))


def _clock(rows: Rows) -> Callable[[int], int]:
    """Return what gives the time of a row in nanoseconds: the row has it, or the number of the line that does."""
    return {number: time for number, time, _ in rows.lines}.__getitem__ if rows.lines else int


def _live_times(rows: Rows, boundary: _Boundary) -> list[list[int]]:
    """Return, for each span, the times of its lines behind a boundary, ascending; or their numbers."""
    first, after = boundary.span, None
    if boundary.counts:
        first, after, *_ = rows.tables[COUNT][boundary.counts - 1]
    live = [sorted(times) if n >= first else [] for n, times in enumerate(rows.covers)]
    if after is not None:
        clock = _clock(rows)
        behind = clock(after)
        live[first] = [at for at in live[first] if clock(at) > behind]
    return live


def without_replay(rows: Rows, again: ReadAgain) -> Rows:
    """Return what was observed without the replay of a forked session; it counts like one that was not forked."""
    own = own_meta(rows.spans)
    if not own.parent or own.parent == own.session:
        return rows
    boundary = _boundary(rows, again)
    live = _live_times(rows, boundary)
    tables = {kind: list(filter(boundary.is_before, rows.tables.get(kind, ()))) for kind in (TURN, CALL, VERDICT)}
    numbers = {number for found in live for number in found} | {row[1] for row in tables[TURN]}
    for kind in rows.tables.keys() - {COUNT, REPEAT, *tables}:
        tables[kind] = [row for row in rows.tables[kind] if row[1] in numbers]
    tables = {kind: found for kind, found in tables.items() if found}
    return replace(rows, covers=live, tables=tables, lines=[line for line in rows.lines if line[0] in numbers])


def joined(first: Rows, second: Rows) -> Rows:
    """Return two parts of a transcript as one: totals run from the first into the second."""
    spans, counts = len(first.spans), len(first.tables.get(COUNT, ()))
    tables = {kind: list(found) for kind, found in first.tables.items()}
    for kind, rows in second.tables.items():
        behind = ((span + spans, time, before + counts, *rest) for span, time, before, *rest in rows)
        tables.setdefault(kind, []).extend(behind)
    return settled(Rows([*first.spans, *second.spans], [*first.covers, *second.covers], tables))


class CodexCounter(TranscriptCounter):
    """Counts rollouts, those of forked sessions when their parents are known."""

    def __init__(self, harness: Harness, tally: Tally, in_repository: InRepository, again: ReadAgain) -> None:
        super().__init__(harness, tally, in_repository, again)
        self._parents: dict[str, str] = {}
        self._forks: list[tuple[int, Rows, list[bool]]] = []

    def add(self, file: int, rows: Rows, whole: bool) -> str:
        """See :class:`~scoring.evidence.transcripts.harness.TranscriptCounter`; a forked session has to wait."""
        own = own_meta(rows.spans)
        forked = bool(own.parent) and own.parent != own.session
        if forked:
            self._parents[own.session] = own.parent
        here = [whole or (bool(cwd) and self._in_repository(cwd)) for cwd in folders(rows.spans)]
        if not any(here):
            return ELSEWHERE if any(span.cwd for span in rows.spans) else NO_FOLDER
        if forked:
            self._forks.append((file, rows, here))
        else:
            self._count(file, rows, here, _Boundary())
        return ""

    def finish(self) -> None:
        """Count the forked sessions, now that their parents are known."""
        for file, rows, here in self._forks:
            self._count(file, rows, here, _boundary(rows, self._again))
        self._forks = []
        super().finish()

    def _family(self, session: str) -> int:
        """Return the key of the session from which this one descends, as far as it is known."""
        seen = {session}
        while (parent := self._parents.get(session)) and parent not in seen:
            session = parent
            seen.add(session)
        return key_of(session)

    def _count(self, file: int, rows: Rows, here: list[bool], boundary: _Boundary) -> None:
        """Count what is behind a boundary; what is before it only sets the totals."""
        tally, session = self._tally, own_meta(rows.spans).session
        for counts, times in zip(here, _live_times(rows, boundary), strict=True):
            if counts and times:
                tally.cover(file, session, times)
        family, models = self._family(session), list[int]()
        for span in rows.spans:
            models.append(tally.model(span.model) if span.model or not models else models[-1])
        for kind in (TURN, REPEAT, CALL, VERDICT):
            for row in rows.tables.get(kind, ()):
                n, time, _, *rest = row
                live = boundary.is_before(row)
                if not here[n]:
                    continue
                if kind == REPEAT or (kind == TURN and not live):  # a replay repeats what the parent has counted
                    tally.drop(time)
                elif kind == TURN:
                    tally.turn(time, *[*rest, 0, models[n]])
                elif live:
                    key, value = rest
                    found = tally.calls if kind == CALL else tally.verdicts
                    found.append((time, key and (hash((family, key)) or 1), value))
