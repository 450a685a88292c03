"""``da-score export``: tidy tables of a log, for other tools."""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from scoring.errors import OptionError
from scoring.log.settings import Settings
from scoring.views.columns import TABLES, DataRow, NamedRow
from scoring.views.formats import (
    FORMATS,
    require,
    write_directory,
    write_files,
    write_streams,
)
from scoring.views.table import Table

from .options import (
    OUTCOME_OPTIONS,
    ROOTS,
    SCORING_OPTIONS,
    choice,
    flag,
    out_option,
    selection_options,
    shared_options,
    valued,
)
from .output import on_terminal, reply, show, write_json
from .reading import rows_of_logs

_STANDARD_OUTPUT = Path("-")


@click.command
@ROOTS
@shared_options(*SCORING_OPTIONS, *OUTCOME_OPTIONS)
@choice("--format", [*FORMATS], "The format.", key="form", default="csv")
@valued(
    "--tables",
    "NAMES",
    f"Names of tables, separated by commas.  [default: all: {', '.join(TABLES)}]",
)
@out_option(
    "DIR|FILE",
    "A directory for several tables, a file for one.  [default: -, which is standard output, for "
    "one table]",
)
@selection_options
@flag("--recompute", "Take no score from a sidecar.")
@flag("--describe", "Say what the columns mean, and export nothing.")
def command(
    form: str,
    tables: str | None,
    out: Path | None,
    describe: bool,
    options: dict[str, Any],
    **which: Any,
) -> None:
    """Write tables of one log or many, in a choice of formats.

    Without ROOT it exports the log of this repository. There is a row for each iteration, signal,
    claim, session, task and unit of work. Scores are those of the sidecars; an iteration without
    one is scored in memory. --json prints all tables as one JSON object, unless --out is given.

    Example:  da-score export --format parquet --out tables
    """
    names = _table_names(tables)
    as_json = bool(options["json"])
    if describe:
        _describe(names, as_json)
        return

    if needs := FORMATS[form].needs:
        require(*needs)
    rows = rows_of_logs(options=options, tables=names, **which)

    if out is None or out == _STANDARD_OUTPUT:
        if as_json:
            by_table: dict[str, list[DataRow]] = {name: [] for name in names}
            for name, row in rows:
                if name in by_table:
                    by_table[name].append(row)
            write_json(by_table)
        else:
            _write_to_standard_output(rows, form, names)
        return

    if len(names) == 1 and not out.is_dir():
        write_files(rows, form, {names[0]: out})
        written = [out]
    else:
        written = write_directory(rows, names, form, out)
    text = "".join(f"Wrote {path}\n" for path in written)
    reply(Settings(json=as_json), {"written": written}, text)


def _table_names(text: str | None) -> list[str]:
    """Return the tables that ``--tables`` names, each once, or all tables without it.

    Raises:
        OptionError: a name is not that of a table.
    """
    if text is None:
        return list(TABLES)

    names = list(dict.fromkeys(name.strip() for name in text.split(",")))
    for name in names:
        if name not in TABLES:
            raise OptionError(
                f"--tables: {name!r} is not a table; known: {', '.join(TABLES)}"
            )
    return names


def _write_to_standard_output(
    rows: Iterable[NamedRow], form: str, names: list[str]
) -> None:
    """Write one table to standard output.

    Raises:
        OptionError: several tables are asked for, or a terminal would get a binary format.
    """
    if len(names) > 1:
        raise OptionError(
            "several tables need a directory: give --out DIR, or one table with --tables, or --json"
        )
    binary = FORMATS[form].binary
    if binary and on_terminal():
        raise OptionError(f"{binary} is not for a terminal: give --out FILE")

    if sys.stdout is not None:
        sys.stdout.flush()
        write_streams(rows, form, {names[0]: sys.stdout.buffer})
        sys.stdout.buffer.flush()


def _describe(names: list[str], as_json: bool) -> None:
    """Print the columns of some tables, with kind, meaning and unit."""
    if as_json:
        write_json(
            {name: [column.as_dict() for column in TABLES[name]] for name in names}
        )
        return

    for name in names:
        rows = []
        for column in TABLES[name]:
            unit = f" ({column.unit})" if column.unit else ""
            may_miss = ", may be missing" if column.may_miss else ""
            rows.append((column.name, column.kind, f"{column.meaning}{unit}{may_miss}"))
        show([name, Table(("", "", ""), rows, heads=False, indent=2), ""])
