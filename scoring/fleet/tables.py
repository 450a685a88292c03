"""The tables of a fleet: counts, scores, ids and times, without texts.

``docs/FLEET.md``, "Tables".
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

from rubric import Score, SignalID
from scoring.examine import ExaminedIteration
from scoring.jobs.backfill import IterationResult
from scoring.outcomes.outcome import Outcome
from scoring.settings_table import read_toml
from scoring.sidecars.provenance import provenance_as_dict, provenance_of, time_stamp
from scoring.sidecars.scores import PersistedScore
from scoring.signals.table import SIGNALS, signal_set
from scoring.signals.values import SignalSet, SignalValue
from scoring.views.columns import TABLES, DataColumn, DataRow, Kind, RowSource, ScoreRow
from scoring.views.formats import arrow_schema, clean
from scoring.views.work_rows import WorkRow

REPOSITORY = "repository"
ITERATION = "iteration"
RUBRIC = "rubric"
MONTH = "month"

WORK = "work"
"""The one table that does not depend on a rubric: a unit has one row in it."""

KEPT = "kept"
"""The table that only ``rescore`` reads: what it needs to score under another rubric."""

CLAIMS = "claims"
"""How a signal reads where what an agent says of its own work can vote."""

SEEN = "seen"
"""How a signal reads where only what was observed votes."""

_COLUMNS_NOT_KEPT = {
    "log",
    "origin",
    "state",
    "state_reason",
    "computed",
    "label",
    "detail",
    "claimed_detail",
    "observed_detail",
    "rubric_version",
    "subject",
}
_COLUMNS_OF_WORK_NOT_KEPT = {"log", "subject", "author"}

_COLUMNS_OF_SCORE = {
    "scored",
    "score",
    "score_raw",
    "band",
    "signals_present",
    "signals_total",
    "weight_present",
    "bounds_low",
    "bounds_high",
}
"""The columns of ``iterations`` that a rubric decides."""

_UNKNOWN_MONTH = "unknown"
_MONTH = re.compile(r"\d{4}-(?:0[1-9]|1[0-2])", re.ASCII)
_OPTIONAL_SIGNALS = frozenset(signal.id for signal in SIGNALS if signal.optional)


class FleetRow(NamedTuple):
    """A row of the data set.

    Attributes:
        table: the name of its table.
        values: its values by column, and as ``month`` the month that its partition is of.
    """

    table: str
    values: DataRow


class _ProvenanceColumn(NamedTuple):
    """A column of ``provenance``.

    Attributes:
        name: its name.
        kind: its kind.
        meaning: what it means.
        path: where its value is in the provenance of a score, as ``window.start``.
    """

    name: str
    kind: Kind
    meaning: str
    path: str


# Columns


def _columns_of_log(table: str) -> tuple[DataColumn[Any], ...]:
    """Return the columns that a table has for a log, without texts and states of sidecars."""
    left_out = _COLUMNS_OF_WORK_NOT_KEPT if table == WORK else _COLUMNS_NOT_KEPT
    columns = [column for column in TABLES[table] if column.name not in left_out]
    return (REPOSITORY_COLUMN, *columns)


def _column(
    name: str,
    kind: Kind,
    meaning: str,
    missing: bool = True,
    unit: str = "",
) -> DataColumn[Any]:
    """Return a column with a value of its name in a mapping."""
    return DataColumn(name, kind, unit, meaning, lambda source: source.content.get(name), missing)


def kept_column(signal: str, way: str) -> str:
    """Return the column of ``kept`` with the sub-score of a signal, empty where it is absent.

    Args:
        signal: the id of the signal.
        way: :data:`CLAIMS` or :data:`SEEN`.
    """
    return f"{signal}_{way}"


def how_column(signal: str, way: str) -> str:
    """Return the column of ``kept`` that says how a signal came about, as :func:`how` has it."""
    return f"{signal}_{way}_how"


def _kept_columns() -> Iterator[DataColumn[Any]]:
    meaning = "calls of tools in its own lines; missing where it has none of its own"
    yield _column("tool_calls_seen", "integer", meaning)

    for signal in SIGNALS:
        for way in (CLAIMS, SEEN):
            vote = f"the vote of {signal.id}"
            yield _column(kept_column(signal.id, way), "number", vote, unit="0 to 1")
            yield _column(how_column(signal.id, way), "text", "how it came about", missing=False)


_COLUMNS_AS_DATA = read_toml((Path(__file__).parent / "provenance.toml").read_text("utf-8"))
_PROVENANCE_COLUMNS = [_ProvenanceColumn(*row) for row in _COLUMNS_AS_DATA["provenance"]]

REPOSITORY_COLUMN: DataColumn[Any] = DataColumn(
    name=REPOSITORY,
    kind="text",
    unit="",
    meaning="the repository: the place or the URL of its source",
    take=lambda of: of.log,
)
_KEY = (REPOSITORY_COLUMN, TABLES["iterations"][1])

_SIGNAL_COLUMNS_OF_LOG = _columns_of_log("signals")
_VOTE_COLUMNS = (
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

_UNDONE = ("taken_back_by", "taken_back_lines", "taken_back_of", "came_back_in")
_UNDONE_COLUMNS = [column for column in TABLES["iterations"] if column.name in _UNDONE]

FLEET_TABLES: dict[str, tuple[DataColumn[Any], ...]] = {
    "iterations": _columns_of_log("iterations"),
    "signals": (*_SIGNAL_COLUMNS_OF_LOG, *_VOTE_COLUMNS),
    "integrity": _columns_of_log("integrity"),
    "outcomes": (
        *_KEY,
        *(_column(*row) for row in _COLUMNS_AS_DATA["outcomes"]),
        *_UNDONE_COLUMNS,
    ),
    "provenance": (
        *_KEY,
        *(_column(column.name, column.kind, column.meaning) for column in _PROVENANCE_COLUMNS),
    ),
    WORK: _columns_of_log(WORK),
    KEPT: (*_KEY, *_kept_columns()),
}
"""The columns of each table in order, without the partitions, which follow them."""

ASKED = tuple(name for name in FLEET_TABLES if name != KEPT)
"""The tables that people query."""

ALIASES = ("repository AS log", "rubric AS rubric_version")
"""The names that the same columns have in the tables of a log."""


# Rows


def rows_of_iteration(
    repository: str,
    result: IterationResult,
    outcome: Outcome | None,
    horizon_days: float,
) -> Iterator[FleetRow]:
    """Yield the rows of one iteration.

    Args:
        repository: the name of the repository.
        result: the iteration.
        outcome: what became of the work; None where git does not answer.
        horizon_days: how long work is watched after it landed.
    """
    facts = result.facts
    score = result.score
    month = _month_of(result)
    readings = {
        CLAIMS: signal_set(facts, _OPTIONAL_SIGNALS, True),
        SEEN: signal_set(facts, _OPTIONAL_SIGNALS, False),
    }

    def row(table: str, content: object) -> FleetRow:
        of = RowSource(repository, facts.record.iteration, content)
        values = {column.name: column.take(of) for column in FLEET_TABLES[table]}
        return FleetRow(table, values | {MONTH: month})

    examined = ExaminedIteration(
        facts, readings[CLAIMS], result.computed, score, "computed", outcome
    )
    yield row("iterations", examined)

    observed = _values_in(readings[SEEN], score)
    claimed = _values_in(readings[CLAIMS], score)
    for signal_row in rows_of_signals(repository, score, observed, claimed):
        yield FleetRow("signals", signal_row | {MONTH: month})

    for pair in readings[CLAIMS].integrity:
        yield row("integrity", pair)
    if outcome is not None:
        values = outcome.as_dict() | {"outcome": outcome, "horizon_days": float(horizon_days)}
        yield row("outcomes", values)
    yield row("provenance", _provenance_values(result))
    yield row(KEPT, _kept_values(result, readings))


def _values_in(reading: SignalSet, score: PersistedScore) -> dict[SignalID, SignalValue]:
    """Return the signals of a score as they are in one of its two readings."""
    values: dict[SignalID, SignalValue] = {}
    for contribution in score.breakdown:
        signal = SignalID(contribution.signal)
        values[signal] = reading.value(signal)
    return values


def _month_of(result: IterationResult) -> str:
    """Return the month of an iteration: that of its date, or else of the end of its time."""
    month = result.facts.record.date[:7]
    if _MONTH.fullmatch(month):
        return month

    window = result.facts.window
    return time_stamp(window.end if window else None)[:7] or _UNKNOWN_MONTH


def rows_of_work(repository: str, work: Iterable[WorkRow]) -> Iterator[FleetRow]:
    """Yield the row of each unit of work of a repository."""
    for unit in work:
        of = RowSource(repository, 0, unit)
        values = {column.name: column.take(of) for column in FLEET_TABLES[WORK]}

        ended = unit.values["ended"]
        month = ended[: len("2026-01")] if ended else _UNKNOWN_MONTH
        yield FleetRow(WORK, values | {MONTH: month})


def rows_of_signals(
    repository: str,
    score: Score | PersistedScore,
    observed_values: Mapping[SignalID, SignalValue],
    claimed_values: Mapping[SignalID, SignalValue],
) -> Iterator[DataRow]:
    """Yield a row of ``signals`` for each signal of a score.

    Args:
        repository: the name of the repository.
        score: the score.
        observed_values: the signals where only what was observed votes.
        claimed_values: the signals where claims vote.
    """
    for contribution in score.breakdown:
        of = RowSource(repository, score.iteration, ScoreRow(score.rubric_version, contribution))
        values = {column.name: column.take(of) for column in _SIGNAL_COLUMNS_OF_LOG}

        signal = SignalID(contribution.signal)
        observed = observed_values[signal]
        claimed = claimed_values[signal]
        rests_on_claim = claimed.present and claimed.source == "claimed"
        values["observed"] = observed.sub_score if observed.present else None
        values["claimed"] = claimed.sub_score if rests_on_claim else None
        yield values


def score_columns(score: Score) -> DataRow:
    """Return the columns of ``iterations`` that a rubric decides."""
    of = RowSource("", score.iteration, SimpleNamespace(score=score))

    values: DataRow = {}
    for column in TABLES["iterations"]:
        if column.name in _COLUMNS_OF_SCORE:
            values[column.name] = column.take(of)
    return values


def _provenance_values(result: IterationResult) -> DataRow:
    provenance: dict[str, Any] = provenance_as_dict(
        provenance_of(result.facts), result.score.rubric_version
    )

    harnesses = provenance["harnesses"]
    if harnesses:
        totals: dict[str, Any] = {}
        for name in ("sessions", "files", "duplicates_dropped"):
            totals[name] = sum(harness[name] for harness in harnesses)
        totals["names"] = " ".join(harness["name"] for harness in harnesses)
        provenance["read"] = totals

    if "attribution" in provenance:
        sessions = provenance["attribution"]["sessions"]
        provenance["attribution"]["ids"] = " ".join(sessions) or None

    values: DataRow = {}
    for column in _PROVENANCE_COLUMNS:
        part, _, key = column.path.partition(".")
        if part == "spent":
            value = getattr(result.facts.transcripts, key, None)
        else:
            value = provenance.get(part, {}).get(key)

        is_unknown = value == "" and part not in ("attribution", "tests")
        values[column.name] = None if is_unknown else value
    return values


def how(value: SignalValue) -> str:
    """Return how a signal came about, in a word.

    Returns:
        ``observed``, ``claimed``, ``inapplicable`` or ""; after a colon the best band that it
        allows, if it limits that.
    """
    word: str = ""
    if value.present:
        word = value.source or ""
    elif not value.applicable:
        word = "inapplicable"

    if value.cap:
        return f"{word}:{value.cap}"
    return word


def value_kept(row: DataRow, signal: str, way: str) -> SignalValue:
    """Return the value of a signal from a row of ``kept``."""
    sub_score = row[kept_column(signal, way)]
    source, _, cap = row[how_column(signal, way)].partition(":")
    if sub_score is None:
        return SignalValue(False, applicable=source != "inapplicable")
    return SignalValue(True, sub_score, source=source or None, cap=cap)


def _kept_values(result: IterationResult, readings: Mapping[str, SignalSet]) -> DataRow:
    values: DataRow = {"tool_calls_seen": readings[CLAIMS].tool_calls}

    # Where evidence is gone, the old score counts, and its rows with it.
    old_rows = {}
    if result.score is not result.computed:
        old_rows = {row.signal: row for row in result.score.breakdown}

    for signal in SIGNALS:
        for way, reading in readings.items():
            value = reading.value(signal.id)
            old_row = old_rows.get(signal.id)
            if old_row is not None:
                value = SignalValue(
                    old_row.present,
                    old_row.sub_score,
                    source=old_row.source,
                    applicable=old_row.applicable,
                )

            sub_score = float(value.sub_score) if value.present else None
            values[kept_column(signal.id, way)] = sub_score
            values[how_column(signal.id, way)] = how(value)
    return values


# Arrow


def arrow_tables(rows: Iterable[FleetRow], rubric: str) -> dict[str, Any]:
    """Return rows as a ``pyarrow.Table`` for each table of the data set, empty ones included.

    Args:
        rows: the rows.
        rubric: the version of the rubric that they were scored under.
    """
    import pyarrow as pa

    rows_of_table: dict[str, list[DataRow]] = {name: [] for name in FLEET_TABLES}
    for table, values in rows:
        rows_of_table[table].append(clean(values) | {RUBRIC: rubric})

    tables: dict[str, Any] = {}
    for name, table_rows in rows_of_table.items():
        tables[name] = pa.Table.from_pylist(table_rows, schema=partitioned_schema(name))
    return tables


def partitioned_schema(table: str) -> Any:
    """Return the Arrow schema of a table, with its partitions as the last columns.

    Any column may be empty, because it may be newer than the rows.
    """
    import pyarrow as pa

    partitions = [pa.field(name, pa.string()) for name in partitions_of(table)]
    columns = [*arrow_schema(FLEET_TABLES[table]), *partitions]
    return pa.schema([column.with_nullable(True) for column in columns])


def partitions_of(table: str) -> list[str]:
    """Return the columns that a table is partitioned by."""
    return [MONTH] if table == WORK else [RUBRIC, MONTH]
