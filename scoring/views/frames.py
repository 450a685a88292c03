"""The tables of a log as data frames, for notebooks: what ``da-score export`` writes, without a file in between.

>>> from scoring import frames                                      # doctest: +SKIP
>>> frames.pandas("signals", ".agents/active/iteration-log", ".")   # doctest: +SKIP

Arrow needs pyarrow (extra ``frames``), pandas needs nothing beside itself; InputError says so where one is missing.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Unpack

from rubric import Rubric, default_rubric
from scoring.errors import InputError
from scoring.evidence.rules import Options
from scoring.examine import LogView
from scoring.outcomes.outcome import OutcomeRules
from scoring.views.columns import TABLES, DataRow, rows_of_view
from scoring.views.formats import arrow_schema, clean, require

_PANDAS = {"text": "string", "integer": "Int64", "number": "Float64", "yes/no": "boolean"}


def rows(
    table: str,
    iter_log_dir: Path | str,
    repo_dir: Path | str,
    *transcript_dirs: Path | str,
    rubric: Rubric | None = None,
    recompute: bool = False,
    **options: Unpack[Options],
) -> Iterator[DataRow]:
    """Yield the rows of one table of one log, as plain dictionaries (docs/TABLES.md); InputError, LogError.

    ``rubric`` scores what has no sidecar, and with ``recompute`` everything. NotARepositoryError.
    """
    if table not in TABLES:
        raise InputError(f"table {table!r} is unknown; known: {', '.join(TABLES)}")
    log, rubric = Path(iter_log_dir), rubric or default_rubric()
    places = log, Path(repo_dir), tuple(map(Path, transcript_dirs))
    view = LogView(*places, rubric, recompute, options=options, outcomes=OutcomeRules())
    for name, row in rows_of_view(view, [table]):
        if name == table:
            yield clean(row)


def arrow(table: str, *log: Path | str, **how: Any) -> Any:
    """Return one table as a ``pyarrow.Table``; arguments and errors as for :func:`rows`."""
    require("frames", "pyarrow")
    import pyarrow as pa

    return pa.Table.from_pylist(list(rows(table, *log, **how)), schema=arrow_schema(TABLES[table]))


def pandas(table: str, *log: Path | str, **how: Any) -> Any:
    """Return one table as a ``pandas.DataFrame`` of nullable types; arguments and errors as for :func:`rows`."""
    require("", "pandas")
    import pandas as pd

    found = list(rows(table, *log, **how))
    return pd.DataFrame(
        {
            c.name: pd.array([row[c.name] for row in found], dtype=_PANDAS[c.kind])
            for c in TABLES[table]
        }
    )
