"""The tables of a log as data frames, for notebooks: what ``da-score export`` writes.

>>> from scoring import frames                                      # doctest: +SKIP
>>> frames.pandas("signals", ".agents/active/iteration-log", ".")   # doctest: +SKIP

Arrow needs pyarrow (the extra ``frames``), and pandas needs only itself. Where one is missing,
InputError says how to install it.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Unpack

from rubric import Rubric, default_rubric
from scoring.errors import InputError
from scoring.evidence.rules import Options
from scoring.examine import LogView
from scoring.outcomes.outcome_rules import OutcomeRules

from .columns import TABLES, DataRow, rows_of_view
from .formats import arrow_schema, clean, require

_PANDAS_TYPES = {
    "text": "string",
    "integer": "Int64",
    "number": "Float64",
    "yes/no": "boolean",
}


def rows(
    table: str,
    iter_log_dir: Path | str,
    repo_dir: Path | str,
    *transcript_dirs: Path | str,
    rubric: Rubric | None = None,
    recompute: bool = False,
    **options: Unpack[Options],
) -> Iterator[DataRow]:
    """Yield the rows of one table of one log as plain dictionaries (docs/TABLES.md).

    Args:
        table: the name of the table.
        iter_log_dir: the log.
        repo_dir: the repository.
        transcript_dirs: folders and files with transcripts.
        rubric: scores what has no sidecar; None for the default rubric.
        recompute: whether the rubric scores everything, and no sidecar counts.
        options: how evidence is read.

    Raises:
        InputError: no table has that name.
        LogError: the log cannot be read.
        NotARepositoryError: ``repo_dir`` is not in a work tree.
        GitError: git fails. ``work`` alone raises nothing: it has no rows then, and a warning
            says why.
    """
    if table not in TABLES:
        raise InputError(f"table {table!r} is unknown; known: {', '.join(TABLES)}")

    view = LogView(
        iter_log_dir=Path(iter_log_dir),
        repo_dir=Path(repo_dir),
        transcript_dirs=tuple(map(Path, transcript_dirs)),
        rubric=rubric or default_rubric(),
        recompute=recompute,
        options=options,
        outcomes=OutcomeRules(),
    )
    for name, row in rows_of_view(view, [table]):
        if name == table:
            yield clean(row)


def arrow(table: str, *log: Path | str, **how: Any) -> Any:
    """Return one table as a ``pyarrow.Table``.

    Arguments and errors are those of :func:`rows`. InputError also says that pyarrow is missing.
    """
    require("frames", "pyarrow")
    import pyarrow as pa

    table_rows = list(rows(table, *log, **how))
    return pa.Table.from_pylist(table_rows, schema=arrow_schema(TABLES[table]))


def pandas(table: str, *log: Path | str, **how: Any) -> Any:
    """Return one table as a ``pandas.DataFrame`` with nullable types.

    Arguments and errors are those of :func:`rows`. InputError also says that pandas is missing.
    """
    require("", "pandas")
    import pandas as pd

    table_rows = list(rows(table, *log, **how))
    data = {}
    for column in TABLES[table]:
        values = [row[column.name] for row in table_rows]
        data[column.name] = pd.array(values, dtype=_PANDAS_TYPES[column.kind])
    return pd.DataFrame(data)
