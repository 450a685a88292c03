"""``da-score export``: tidy tables of a log, for other tools."""

import sys
from pathlib import Path
from typing import Any

import click

from scoring.cli.app import (
    OUTCOME_OPTIONS,
    PATH,
    SCORING_OPTIONS,
    selection_options,
    shared_options,
)
from scoring.cli.output import on_terminal, say, show, write_json
from scoring.cli.reading import rows_of
from scoring.errors import OptionError
from scoring.views.columns import TABLES
from scoring.views.formats import FORMATS, require, write_directory, write_files, write_streams
from scoring.views.table import Column, Line, Table

_OUT = "A directory for several tables, a file for one.  [default: -, which is standard output, for one table]"


@click.command(epilog="Example:  da-score export --format parquet --out tables")
@click.argument("roots", nargs=-1, type=PATH, metavar="[ROOT]...")
@shared_options(*SCORING_OPTIONS, *OUTCOME_OPTIONS)
@click.option(
    "--format",
    "form",
    type=click.Choice([*FORMATS]),
    default="csv",
    show_default=True,
    help="The format.",
)
@click.option(
    "--tables",
    metavar="NAMES",
    help=f"Tables, with commas between.  [default: all: {', '.join(TABLES)}]",
)
@click.option("--out", type=PATH, metavar="DIR|FILE", help=_OUT)
@selection_options
@click.option("--recompute", is_flag=True, help="Take no score from a sidecar.")
@click.option("--describe", is_flag=True, help="Say what the columns mean, and export nothing.")
def command(
    form: str,
    tables: str | None,
    out: Path | None,
    describe: bool,
    options: dict[str, Any],
    **which: Any,
) -> None:
    """Write tables of the log, or of the logs at ROOT: a row per iteration, signal, claim, session, task and unit.

    Scores are those of the sidecars; an iteration that has none is scored in memory.
    """
    names = _tables(tables)
    if describe:
        _describe(names, options["json"])
        return
    if needs := FORMATS[form].needs:
        require(*needs)
    rows = rows_of(options=options, tables=names, **which)
    if out is None or out == Path("-"):
        if len(names) > 1:
            raise OptionError(
                "several tables need a directory: give --out DIR, or one table with --tables"
            )
        if (binary := FORMATS[form].binary) and on_terminal():
            raise OptionError(f"{binary} is not for a terminal: give --out FILE")
        if sys.stdout is not None:
            sys.stdout.flush()
            write_streams(rows, form, {names[0]: sys.stdout.buffer})
            sys.stdout.buffer.flush()
    elif len(names) == 1 and not out.is_dir():
        write_files(rows, form, {names[0]: out})
        say(f"Wrote {out}\n")
    else:
        for path in write_directory(rows, names, form, out):
            say(f"Wrote {path}\n")


def _tables(text: str | None) -> list[str]:
    names = (
        list(dict.fromkeys(name.strip() for name in text.split(",")))
        if text is not None
        else list(TABLES)
    )
    for name in names:
        if name not in TABLES:
            raise OptionError(f"--tables: {name!r} is no table; known: {', '.join(TABLES)}")
    return names


def _describe(names: list[str], as_json: bool | None) -> None:
    if as_json:
        write_json({name: [column.as_dict() for column in TABLES[name]] for name in names})
        return
    shape = Column("", width=24), Column("", width=7), Column("", width=0)
    for name in names:
        rows = []
        for c in TABLES[name]:
            unit, missing = (
                f" ({c.unit})" if c.unit else "",
                ", may be missing" if c.may_miss else "",
            )
            rows.append((c.name, c.kind, f"{c.meaning}{unit}{missing}"))
        show([Line(name), Table(shape, rows, heads=False, indent=2), Line()])
