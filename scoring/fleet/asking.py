"""SQL over a fleet's data set, by DuckDB, which reads the rows that count and nothing else."""

import contextlib
from collections.abc import Iterator

from scoring.fleet.dataset import DataSet
from scoring.fleet.tables import ASKED
from scoring.views.formats import require
from scoring.views.sql import Answer, answered, database


@contextlib.contextmanager
def ask_fleet(dataset: DataSet, sql: str) -> Iterator[Answer]:
    """Run one SQL statement in DuckDB's dialect over the tables of a data set, with ``rubric`` and ``month`` in each.

    Files are read as they are needed, the columns and months that the statement asks for.

    Raises:
        InputError: DuckDB is not installed, the statement cannot be run, or the data set cannot be read.
    """
    require("fleet", "duckdb", "pyarrow")
    with database() as db:
        for table in ASKED:
            db.register(table, dataset.rows(table))
        with answered(db, sql, ASKED) as answer:
            yield answer
