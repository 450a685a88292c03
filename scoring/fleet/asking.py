"""SQL over a fleet's data set, by DuckDB, which reads the rows that count and nothing else."""

import contextlib
from collections.abc import Iterator
from typing import Any

from scoring.fleet.dataset import DataSet
from scoring.fleet.tables import ASKED, FLEET_TABLES, REPOSITORY
from scoring.views.formats import arrow_schema, require
from scoring.views.sql import Answer, answered, database

PARTITIONS = "rubric", "month"


@contextlib.contextmanager
def ask_fleet(dataset: DataSet, sql: str) -> Iterator[Answer]:
    """Run one SQL statement in DuckDB's dialect over the tables of a data set, with ``rubric`` and ``month`` in each.

    Files are read as they are needed, the columns and months that the statement asks for.

    Raises:
        InputError: DuckDB is not installed, or the statement cannot be run; the text says why.
    """
    require("fleet", "duckdb", "pyarrow")
    gone = dataset.superseded()
    with database() as db:
        for table in ASKED:
            views = [
                f"SELECT * FROM {_registered(db, dataset, table, number, commits)}{_but(commits, gone)}"  # noqa: S608 - ours
                for number, commits in enumerate(_alike(dataset, gone))
            ]
            db.execute(f"CREATE VIEW {table} AS {' UNION ALL '.join(views)}")
        with answered(db, sql, ASKED) as answer:
            yield answer


def _alike(dataset: DataSet, gone: dict[str, set[str]]) -> list[set[str]]:
    """Return the ids of commits: all of whose rows count together, and each of the others by itself."""
    whole = {commit.id for commit in dataset.commits if commit.id not in gone}
    return [whole, *({one} for one in sorted(gone))]


def _but(commits: set[str], gone: dict[str, set[str]]) -> str:
    names = sorted({name for commit in commits for name in gone.get(commit, ())})
    quoted = ", ".join("'" + name.replace("'", "''") + "'" for name in names)
    return f" WHERE {REPOSITORY} NOT IN ({quoted})" if names else ""


def _registered(db: Any, dataset: DataSet, table: str, number: int, commits: set[str]) -> str:
    """Let DuckDB know the files of some commits as one table, and return its name."""
    import pyarrow as pa
    from pyarrow import dataset as arrow
    from pyarrow import fs as arrow_fs

    schema = arrow_schema(FLEET_TABLES[table])
    for name in PARTITIONS:
        schema = schema.append(pa.field(name, pa.string()))
    schema = pa.schema([field.with_nullable(True) for field in schema])
    store = dataset.store
    parts = [part for c in dataset.commits if c.id in commits for part in c.parts if part.table == table]
    name = f"fleet_{table}_{number}"
    if not parts:
        db.register(name, schema.empty_table())
        return name
    system = arrow_fs.LocalFileSystem() if store.local else arrow_fs.PyFileSystem(arrow_fs.FSSpecHandler(store.fs))
    by_folder = arrow.partitioning(pa.schema([schema.field(one) for one in PARTITIONS]), flavor="hive")
    files = [store.path(part.name) for part in parts]
    base = store.path(table)
    found = arrow.dataset(
        files, schema=schema, format="parquet", filesystem=system, partitioning=by_folder, partition_base_dir=base
    )
    db.register(name, found)
    return name
