"""Codex: where its rollouts are, and how what forked sessions repeat is counted once.

``docs/EVIDENCE.md``, "Transcripts", says what counts once; :mod:`~scoring.evidence.transcripts.codex_lines` reads the
lines.
"""

from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from scoring.evidence.transcripts.codex_lines import (
    CALL,
    CONTEXT,
    COUNT,
    FIELDS,
    REPEAT,
    TURN,
    VERDICT,
    CodexReader,
    own_meta,
    settled,
)
from scoring.evidence.transcripts.facts import NS
from scoring.evidence.transcripts.harness import (
    ELSEWHERE,
    NO_FOLDER,
    Copy,
    Harness,
    Home,
    InRepository,
    JsonReader,
    ReadAgain,
    TranscriptCounter,
    keys_of,
)
from scoring.evidence.transcripts.rows import Columns, LineSpan, Rows, key_of
from scoring.evidence.transcripts.tally import Tally, chosen

if TYPE_CHECKING:  # reading that observes nothing needs no test tools
    from scoring.evidence.transcripts.testruns import TestTools

ARCHIVE = "archived_sessions"
"""The name of the folder for sessions that were put away."""

PREFIX = "rollout-"
"""How the names of rollouts begin."""


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


class CodexCounter(TranscriptCounter):
    """Counts rollouts, those of forked sessions when their parents are known."""

    input_holds_cached = True

    def __init__(self, tally: Tally, in_repository: InRepository, again: ReadAgain) -> None:
        super().__init__(tally, in_repository, again)
        self._parents: dict[str, str] = {}
        self._forks: list[tuple[int, Rows, list[bool]]] = []

    def add(self, file: int, rows: Rows, whole: bool) -> str:
        """See :class:`~scoring.evidence.transcripts.harness.TranscriptCounter`; a forked session has to wait."""
        own = own_meta(rows.spans)
        forked = bool(own.parent) and own.parent != own.session
        if forked:
            self._parents[own.session] = own.parent
        here = [whole or (bool(cwd) and self._in_repository(cwd)) for cwd in _folders(rows.spans)]
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


def _folders(spans: Sequence[LineSpan]) -> list[str]:
    """Return, for each span, the folder it was done in; "" is not said."""
    found: list[str] = []
    cwd, own = "", own_meta(spans)
    for span in spans:
        if span.cwd and (span.opens == CONTEXT or span is own):
            cwd = span.cwd
        found.append(cwd)
    return found


def _token_counts(rows: Rows) -> list[tuple[int, ...]]:
    return list(zip(*rows.table(COUNT, 4 + len(FIELDS))[3:], strict=True))


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


class Codex(Harness):
    """See :class:`~scoring.evidence.transcripts.harness.Harness`."""

    name = "codex"
    runs_on = True
    reader, counter = CodexReader, CodexCounter

    def homes(self, environment: Mapping[str, str]) -> list[Home]:
        """Return the folders of sessions and of archived ones."""
        named = environment.get("CODEX_HOME", "").strip()
        home, origin = Path(named or "~/.codex").expanduser(), "CODEX_HOME" if named else "~/.codex"
        return [Home(home / folder, origin, PREFIX) for folder in ("sessions", ARCHIVE)]

    def copy(self, path: Path) -> Copy | None:
        """Know a rollout by its name: it may be archived, compressed, or copied to a folder that is read too."""
        name = path.name.removesuffix(".zst").removesuffix(".jsonl")
        left_out = "an archived or second copy of a rollout that is read"
        return Copy(name, ARCHIVE in path.parts, left_out) if name.startswith(PREFIX) else None

    def claims(self, line: bytes) -> bool:
        """Know a line by its payload."""
        keys = keys_of(line)
        return "payload" in keys and "message" not in keys

    def observer(self, tools: "TestTools") -> JsonReader:
        """Return a reader that observes."""
        from scoring.evidence.transcripts.codex_observing import CodexObserver  # only what observes pays for it

        return CodexObserver(tools)

    def folders(self, spans: Sequence[LineSpan]) -> list[str]:
        """Return the folder of each span, which may be named by an earlier one."""
        return _folders(spans)

    def original(self, rows: Rows, again: ReadAgain) -> Rows:
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

    def joined(self, parts: Sequence[Rows]) -> Rows:
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
