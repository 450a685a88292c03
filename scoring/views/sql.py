"""SQL over the tables of logs, by DuckDB, which may read these tables and nothing else."""

import contextlib
import re
import signal
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from string import Template
from typing import Any

from scoring.errors import InputError
from scoring.temporary import temporary_directory
from scoring.views.columns import TABLES, DataRow
from scoring.views.formats import require, write_directory

_TYPES = {"text": "VARCHAR", "integer": "BIGINT", "number": "DOUBLE", "yes/no": "BOOLEAN"}
_AT_ONCE = 1024

VIEWS = {
    "by_month": ("month", "substr(ended, 1, 7)"),
    "by_model": ("model",) * 2,
    "by_harness": ("harness",) * 2,
}
"""The views that sum up ``work``, each by one column, with what is in that (docs/TABLES.md, "Ready to plot")."""

_Z = 1.959963984540054  # of the normal distribution, for intervals of 95 %: those of :func:`scoring.statistics.wilson`
_WILSON = """CREATE MACRO wilson(k, n, side) AS CASE WHEN n > 0 THEN greatest(0.0, least(1.0,
(k / n + $z * $z / 2 / n + side * $z * sqrt(k / n * (1 - k / n) / n + $z * $z / 4 / n / n)) / (1 + $z * $z / n))) END"""
_VIEW = """CREATE VIEW $view AS WITH sums AS (
SELECT coalesce($of, 'unknown') AS $name, count(*) FILTER (state <> 'talk') AS units,
count(*) FILTER (state = 'landed') AS landed, count(*) FILTER (state = 'reverted') AS reverted,
count(*) FILTER (state = 'open') AS open, count(*) FILTER (state = 'lost') AS lost,
count(*) FILTER (state = 'unclear') AS unclear, landed + reverted + lost + unclear AS decided,
count(defective) AS judged, count(*) FILTER (defective) AS defective, sum(cost) AS cost,
sum(cost) FILTER (state = 'lost') AS cost_lost, sum(output_tokens)::BIGINT AS output_tokens, sum(minutes) AS minutes
FROM work GROUP BY 1)
SELECT *, landed / nullif(decided, 0) AS landed_share, wilson(landed, decided, -1) AS landed_low,
wilson(landed, decided, 1) AS landed_high, defective / nullif(judged, 0) AS defective_share,
wilson(defective, judged, -1) AS defective_low, wilson(defective, judged, 1) AS defective_high FROM sums ORDER BY 1"""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a query returned: the names of the columns, and the rows, which come as they are needed."""

    columns: tuple[str, ...]
    rows: Iterator[tuple[Any, ...]]


@contextlib.contextmanager
def ask(sql: str, rows: Iterable[tuple[str, DataRow]]) -> Iterator[Answer]:
    """Run one SQL statement in DuckDB's dialect over the rows of tables; errors as for :func:`answered`."""
    require("query", "duckdb")
    with database() as db:
        with temporary_directory("query") as directory:
            for path in write_directory(rows, tuple(TABLES), "jsonl", directory):
                columns = ", ".join(f"'{c.name}': '{_TYPES[c.kind]}'" for c in TABLES[path.stem])
                db.execute(
                    f"CREATE TABLE {path.stem} AS SELECT * FROM "  # noqa: S608 - the names are those of TABLES
                    f"read_json(?, format='newline_delimited', columns={{{columns}}}, maximum_object_size=33554432)",
                    [str(path)],
                )
        with answered(db, sql, tuple(TABLES)) as answer:
            yield answer


def named_in(sql: str) -> list[str]:
    """Return the tables that a statement may need, by their names in it; a view needs ``work``."""
    words = set(re.findall(r"\w+", sql.lower()))
    return [
        table for table in TABLES if table in words or (table == "work" and words & VIEWS.keys())
    ]


@contextlib.contextmanager
def database() -> Iterator[Any]:
    """Return a database in memory for a while, in which Ctrl-C is Ctrl-C and no error of DuckDB's."""
    with _ends_when_interrupted():
        import duckdb  # which aborts where it is interrupted here

    try:
        with contextlib.closing(duckdb.connect()) as db:
            yield db
    except RuntimeError as e:
        if "interrupted" in str(e).lower():
            raise KeyboardInterrupt from e
        raise


@contextlib.contextmanager
def answered(db: Any, sql: str, tables: Iterable[str]) -> Iterator[Answer]:
    """Run one SQL statement on tables and views, without files or network; InputError says why it cannot be run."""
    import duckdb

    db.execute(_WILSON.replace("$z", str(_Z)))
    for view, (name, of) in VIEWS.items():
        db.execute(Template(_VIEW).substitute(view=view, name=name, of=of))
    db.execute("SET enable_external_access = false; SET python_enable_replacements = false")
    db.execute("SET lock_configuration = true")
    try:
        with _ends_when_interrupted():
            if not db.extract_statements(sql):
                raise InputError(
                    "query: there is no statement in it; ask for something, as in 'from iterations'"
                )
            found = db.execute(sql)
            names = tuple(column[0] for column in found.description or ())
            yield Answer(names, chain.from_iterable(iter(lambda: found.fetchmany(_AT_ONCE), [])))
    except duckdb.Error as e:
        lines = filter(
            None, map(str.strip, str(e).splitlines())
        )  # without the picture of where, which needs lines
        wrong = " ".join(line for line in lines if not line.startswith(("LINE ", "^"))) or "failed"
        raise InputError(f"query: {wrong}; the tables are {', '.join((*tables, *VIEWS))}") from e


@contextlib.contextmanager
def _ends_when_interrupted() -> Iterator[None]:
    """Let Ctrl-C end the process at once: there is nothing to tidy up, and DuckDB may not come back to be asked."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    previous = signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)
