"""What counts in a rollout of Codex: totals that run on from line to line, and what a forked session repeats.

:mod:`~scoring.evidence.transcripts.codex` reads the lines. ``docs/EVIDENCE.md``, "Transcripts", says what counts once.
"""

from array import array
from collections.abc import Callable, Sequence
from dataclasses import replace
from operator import lt
from typing import NamedTuple, TypeAlias

from scoring.evidence.transcripts.facts import NS
from scoring.evidence.transcripts.harness import (
    ELSEWHERE,
    NO_FOLDER,
    Harness,
    InRepository,
    ReadAgain,
    TranscriptCounter,
)
from scoring.evidence.transcripts.rows import CALL, VERDICT, Columns, LineSpan, Rows, columns_of, key_of
from scoring.evidence.transcripts.tally import Tally, chosen

META, CONTEXT = 1, 2
"""What opens a span: a ``session_meta``, a ``turn_context``."""

COUNT, TURN, REPEAT = 0, 3, 4
"""Tables beside those of calls and verdicts. Behind span and line each row has how many counts are before it, and then:

- count, as it is written: what it counts (:data:`TOTALS`, or :data:`LAST` where an event has no totals), and the
  totals (:data:`TOTALS_STATED`), -1 for those left out;
- turn, worked out of the counts: output, input, cache reads, cache creations;
- repeat, worked out of the counts too: nothing more.
"""

TOTALS, LAST = range(2)

TOTALS_STATED = 6
"""How many totals a count has: input, cached input, input written to the cache, output, reasoning output, all."""

_Counts: TypeAlias = tuple[int, ...]


def settled(rows: Rows) -> Rows:
    """Work the turns out of the counts of a whole transcript, or of a part of which they are done again later.

    A field that an event leaves out has not changed; an event that only changes other counts is no turn.
    """
    worked_out: dict[int, list[tuple[int, ...]]] = {TURN: [], REPEAT: []}
    running = _FROM_ZERO
    for span, time, before, kind, *counts in zip(*rows.table(COUNT, 4 + TOTALS_STATED), strict=True):
        start = running
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
            rows.tables[table] = columns_of(found)
    return rows


_FROM_ZERO: _Counts = (0, 0, -1, 0, -1, -1)
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


def _boundary(rows: Rows, again: ReadAgain) -> _Boundary:
    """Find out where the replay at the beginning of a forked session ends."""
    spans, own = rows.spans, own_meta(rows.spans)
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
    late = (n for n, at in enumerate(rows.table(COUNT, 2)[1]) if clock(at) - own.time >= NS)
    return _Boundary(counts=next(late, len(mine)))


def _token_counts(rows: Rows) -> list[tuple[int, ...]]:
    return list(zip(*rows.table(COUNT, 4 + TOTALS_STATED)[3:], strict=True))


def _common(mine: Sequence[tuple[int, ...]], others: Sequence[tuple[int, ...]]) -> int:
    pairs = zip(mine, others, strict=False)
    return next((n for n, (one, other) in enumerate(pairs) if one != other), min(len(mine), len(others)))


def _clock(rows: Rows) -> Callable[[int], int]:
    """Return what gives the time of a row in nanoseconds: the row has it, or the number of the line that does."""
    return dict(zip(*rows.lines[:2], strict=True)).__getitem__ if rows.lines else int


def _live_rows(columns: Columns, boundary: _Boundary) -> list[bool]:
    """Say of each row of a table whether it is behind a boundary."""
    pairs = zip(columns[0], columns[2], strict=True)
    return [span >= boundary.span and before >= boundary.counts for span, before in pairs]


def _live_times(rows: Rows, boundary: _Boundary) -> list[list[int]]:
    """Return, for each span, the times of its lines behind a boundary, ascending; or their numbers."""
    first, after = boundary.span, None
    if boundary.counts:
        spans, times, *_ = rows.tables[COUNT]
        first, after = spans[boundary.counts - 1], times[boundary.counts - 1]
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
    numbers = {number for found in live for number in found}
    tables: dict[int, Columns] = {}
    for kind in (TURN, CALL, VERDICT):
        if kind in rows.tables:
            tables[kind] = chosen(rows.tables[kind], _live_rows(rows.tables[kind], boundary))
    numbers.update(tables[TURN][1] if TURN in tables else ())
    for kind in rows.tables.keys() - {COUNT, TURN, REPEAT, CALL, VERDICT}:
        tables[kind] = chosen(rows.tables[kind], [number in numbers for number in rows.tables[kind][1]])
    tables = {kind: columns for kind, columns in tables.items() if columns[0]}
    lines = chosen(rows.lines, [number in numbers for number in rows.lines[0]]) if rows.lines else []
    return replace(rows, covers=[array("q", found) for found in live], tables=tables, lines=lines)


def joined(parts: Sequence[Rows]) -> Rows:
    """Put the parts of one transcript together: totals run from one into the next."""
    whole = Rows()
    for part in parts:
        counts = len(whole.table(COUNT, 1)[0])
        tables = {
            kind: [spans, times, array("q", [n + counts for n in before]), *columns]
            for kind, (spans, times, before, *columns) in part.tables.items()
        }
        whole.extend(Rows(part.spans, part.covers, tables, part.skipped))
    return settled(whole)


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
        family, everything = self._family(session), all(here) and boundary == _Boundary()
        models: list[str] = []
        for span in rows.spans:
            models.append(span.model or (models[-1] if models else ""))
        for kind, columns in rows.tables.items():
            if kind not in (TURN, REPEAT, CALL, VERDICT):
                continue
            spans, table = columns[0], [columns[1], *columns[3:]]
            if kind == TURN:
                table += [array("q", bytes(8 * len(spans))), self._models(models, spans)]
            if not everything:
                live = _live_rows(columns, boundary)
                if kind in (TURN, REPEAT):  # a replay repeats what the parent has counted
                    replayed = [here[n] and not counts for n, counts in zip(spans, live, strict=True)]
                    tally.dropped(chosen(table[:1], replayed)[0])
                table = chosen(table, [here[n] and counts for n, counts in zip(spans, live, strict=True)])
            if kind == TURN:
                tally.turns(*table)
            elif kind == REPEAT:
                tally.dropped(table[0])
            else:
                table[1] = array("q", [key and (hash((family, key)) or 1) for key in table[1]])
                (tally.calls if kind == CALL else tally.verdicts)(table)
