"""The tables of a fleet: counts, scores, ids and times of each iteration, and no text (``docs/FLEET.md``, "Tables")."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from rubric import Score, SignalID
from scoring.examine import ExaminedIteration
from scoring.jobs.backfill import IterationResult
from scoring.log.model import IterationRecord
from scoring.outcomes.outcome import Outcome
from scoring.settings_table import read_toml
from scoring.sidecars.provenance import provenance_as_dict, provenance_of, time_stamp
from scoring.sidecars.scores import PersistedScore
from scoring.signals.table import SIGNALS, signal_set
from scoring.signals.values import SignalSet, SignalValue
from scoring.views.columns import TABLES, DataColumn, DataRow, Kind, Of, Voted
from scoring.views.formats import arrow_schema, clean
from scoring.views.work_rows import WorkRow

REPOSITORY, ITERATION, RUBRIC, MONTH = "repository", "iteration", "rubric", "month"
WORK = "work"  # the one table that no rubric has a part in: a unit has one row in it

_NOT_KEPT = {
    "log",
    "origin",
    "state",
    "state_reason",
    "computed",
    "label",
    "detail",
    "claimed_detail",
}
_NOT_KEPT |= {"observed_detail", "rubric_version", "subject"}
_NOT_KEPT_OF_WORK = {"log", "subject", "author"}

_PLACE = "the repository: the place or the URL of its source"
REPOSITORY_COLUMN: DataColumn[Any] = DataColumn(REPOSITORY, "text", "", _PLACE, lambda of: of.log)


def _column(
    name: str, kind: Kind, meaning: str, missing: bool = True, unit: str = ""
) -> DataColumn[Any]:
    return DataColumn(name, kind, unit, meaning, lambda of: of.it.get(name), missing)


def _of_log(table: str) -> tuple[DataColumn[Any], ...]:
    left_out = _NOT_KEPT_OF_WORK if table == WORK else _NOT_KEPT
    return (REPOSITORY_COLUMN, *(column for column in TABLES[table] if column.name not in left_out))


_KEY = (REPOSITORY_COLUMN, TABLES["iterations"][1])
_SIGNAL_COLUMNS: tuple[DataColumn[Any], ...] = (
    *_of_log("signals"),
    _column(
        "observed",
        "number",
        "the vote of what was observed alone, whether it counts or not",
        unit="0 to 1",
    ),
    _column(
        "claimed",
        "number",
        "the vote that rests on what was claimed, whether it counts",
        unit="0 to 1",
    ),
)
_DATA = read_toml((Path(__file__).parent / "provenance.toml").read_text("utf-8"))
_PROVENANCE: list[tuple[str, Kind, str, str]] = _DATA["provenance"]

CLAIMS, SEEN = (
    "claims",
    "seen",
)  # what an agent says of its own work can vote, or only what was observed does


def kept_column(signal: str, way: str) -> str:
    """Return the column of ``kept`` that has a signal's sub-score in one of the two ways, missing where absent."""
    return f"{signal}_{way}"


def how_column(signal: str, way: str) -> str:
    """Return the column that says how it came about; see :func:`how`."""
    return f"{signal}_{way}_how"


def how(value: SignalValue) -> str:
    """Return ``observed``, ``claimed``, ``inapplicable`` or nothing, and the best band allowed behind a colon."""
    word = (value.source or "") if value.present else ("" if value.applicable else "inapplicable")
    return f"{word}:{value.cap}" if value.cap else word


def value_kept(row: DataRow, signal: str, way: str) -> SignalValue:
    """Return the value of a signal that a row of ``kept`` has."""
    sub_score, (source, _, cap) = (
        row[kept_column(signal, way)],
        row[how_column(signal, way)].partition(":"),
    )
    if sub_score is None:
        return SignalValue(False, applicable=source != "inapplicable")
    return SignalValue(True, sub_score, source=source or None, cap=cap)


_KEPT_COLUMNS: tuple[DataColumn[Any], ...] = (
    *_KEY,
    _column(
        "tool_calls_seen",
        "integer",
        "calls of tools in its own lines; missing where it has none of its own",
    ),
    *(
        column
        for signal in SIGNALS
        for way in (CLAIMS, SEEN)
        for column in (
            _column(
                kept_column(signal.id, way), "number", f"the vote of {signal.id}", unit="0 to 1"
            ),
            _column(how_column(signal.id, way), "text", "how it came about", False),
        )
    ),
)

FLEET_TABLES: dict[str, tuple[DataColumn[Any], ...]] = {  # in order; the partitions follow
    "iterations": _of_log("iterations"),
    "signals": _SIGNAL_COLUMNS,
    "integrity": _of_log("integrity"),
    "outcomes": (*_KEY, *(_column(*given) for given in _DATA["outcomes"])),
    "provenance": (
        *_KEY,
        *(_column(name, kind, meaning) for name, kind, meaning, _ in _PROVENANCE),
    ),
    WORK: _of_log(WORK),
    "kept": _KEPT_COLUMNS,
}
ALIASES = (
    "repository AS log",
    "rubric AS rubric_version",
)  # the names that the tables of a log have
ASKED = tuple(FLEET_TABLES)[:-1]  # the tables that people ask; ``kept`` is for ``rescore``
_DATE = re.compile(r"\d{4}-(?:0[1-9]|1[0-2])", re.ASCII)
_ALL_OPTIONAL = frozenset(signal.id for signal in SIGNALS if signal.optional)


def _month_of(record: IterationRecord, end: int | None) -> str:
    if _DATE.fullmatch(record.date[:7]):
        return record.date[:7]
    return time_stamp(end)[:7] or "unknown"


def rows_of_iteration(
    repository: str, found: IterationResult, outcome: Outcome | None, horizon_days: float
) -> Iterator[tuple[str, DataRow]]:
    """Yield the rows of one iteration, each with the name of its table and, as ``month``, that of its partition."""
    facts, score = found.facts, found.score
    number = facts.record.iteration
    ways = {
        CLAIMS: signal_set(facts, _ALL_OPTIONAL, True),
        SEEN: signal_set(facts, _ALL_OPTIONAL, False),
    }
    month = _month_of(facts.record, facts.window.end if facts.window else None)

    def row(
        table: str, it: object, columns: Sequence[DataColumn[Any]] | None = None
    ) -> tuple[str, DataRow]:
        of = Of(repository, number, it)
        return table, {c.name: c.take(of) for c in columns or FLEET_TABLES[table]} | {MONTH: month}

    yield row(
        "iterations",
        ExaminedIteration(facts, ways[CLAIMS], found.computed, score, "computed", outcome),
    )
    seen, said = (
        {SignalID(c.signal): ways[way].value(c.signal) for c in score.breakdown}
        for way in (SEEN, CLAIMS)
    )
    yield from (
        ("signals", one | {MONTH: month}) for one in rows_of_signals(repository, score, seen, said)
    )
    for pair in ways[CLAIMS].integrity:
        yield row("integrity", pair)
    if outcome is not None:
        yield row("outcomes", {**outcome.as_dict(), "horizon_days": float(horizon_days)})
    yield row("provenance", _provenance(found))
    yield row("kept", _kept(found, ways))


def rows_of_work(repository: str, work: Iterable[WorkRow]) -> Iterator[tuple[str, DataRow]]:
    """Yield the rows of the units of a repository, likewise."""
    for unit in work:
        of, ended = Of(repository, 0, unit), unit.values["ended"]
        row = {column.name: column.take(of) for column in FLEET_TABLES[WORK]}
        yield WORK, row | {MONTH: ended[: len("2026-01")] if ended else "unknown"}


def rows_of_signals(
    repository: str,
    score: Score | PersistedScore,
    seen: Mapping[SignalID, SignalValue],
    said: Mapping[SignalID, SignalValue],
) -> Iterator[DataRow]:
    """Yield the rows of ``signals`` of one score, with what was ``seen`` of each signal, and what is ``said`` of it."""
    for contribution in score.breakdown:
        of = Of(repository, score.iteration, Voted(score.rubric_version, contribution))
        signal = SignalID(contribution.signal)
        observed, claimed = seen[signal], said[signal]
        yield {c.name: c.take(of) for c in _SIGNAL_COLUMNS[:-2]} | {
            "observed": observed.sub_score if observed.present else None,
            "claimed": claimed.sub_score
            if claimed.present and claimed.source == "claimed"
            else None,
        }


_OF_SCORE = {
    "scored",
    "score",
    "score_raw",
    "band",
    "signals_present",
    "signals_total",
    "weight_present",
}
_OF_SCORE |= {"bounds_low", "bounds_high"}


def score_columns(score: Score) -> DataRow:
    """Return the columns of ``iterations`` that a rubric decides."""
    of = Of("", score.iteration, SimpleNamespace(score=score))
    return {
        column.name: column.take(of) for column in TABLES["iterations"] if column.name in _OF_SCORE
    }


def _provenance(found: IterationResult) -> DataRow:
    given: dict[str, Any] = provenance_as_dict(
        provenance_of(found.facts), found.score.rubric_version
    )
    if harnesses := given["harnesses"]:
        counts = ("sessions", "files", "duplicates_dropped")
        given["read"] = {name: sum(one[name] for one in harnesses) for name in counts}
        given["read"]["names"] = " ".join(one["name"] for one in harnesses)
    if "attribution" in given:
        given["attribution"]["ids"] = " ".join(given["attribution"]["sessions"]) or None
    row: DataRow = {}
    for name, _, _, place in _PROVENANCE:
        part, _, key = place.partition(".")
        value = (
            getattr(found.facts.transcripts, key, None)
            if part == "spent"
            else given.get(part, {}).get(key)
        )
        row[name] = value if value != "" or part in ("attribution", "tests") else None
    return row


def _kept(found: IterationResult, ways: dict[str, SignalSet]) -> DataRow:
    row: DataRow = {"tool_calls_seen": ways[CLAIMS].tool_calls}
    stays = {} if found.score is found.computed else {r.signal: r for r in found.score.breakdown}
    for signal in SIGNALS:
        for way, judged in ways.items():
            value = judged.value(signal.id)
            if old := stays.get(signal.id):  # the evidence is gone, and the old score counts
                value = SignalValue(
                    old.present, old.sub_score, source=old.source, applicable=old.applicable
                )
            row[kept_column(signal.id, way)] = float(value.sub_score) if value.present else None
            row[how_column(signal.id, way)] = how(value)
    return row


def arrow_tables(rows: Iterable[tuple[str, DataRow]], rubric: str) -> dict[str, Any]:
    """Return rows as a ``pyarrow.Table`` for each table, also where it has none, with the partitions as columns."""
    import pyarrow as pa

    of_table: dict[str, list[DataRow]] = {name: [] for name in FLEET_TABLES}
    for table, row in rows:
        of_table[table].append(clean(row) | {RUBRIC: rubric})
    return {
        name: pa.Table.from_pylist(of_table[name], schema=partitioned_schema(name))
        for name in FLEET_TABLES
    }


def partitioned_schema(table: str) -> Any:
    """Return the schema of a table, its partitions at the end; any column may be missing, because it may be new."""
    import pyarrow as pa

    added = (pa.field(name, pa.string()) for name in partitions_of(table))
    return pa.schema(
        [field.with_nullable(True) for field in (*arrow_schema(FLEET_TABLES[table]), *added)]
    )


def partitions_of(table: str) -> list[str]:
    """Return the columns by which a table is parted."""
    return [MONTH] if table == WORK else [RUBRIC, MONTH]
