"""``da-score query``: SQL over one log or many."""

import contextlib
import csv
import itertools
import json
import math
import sys
from collections.abc import Iterator
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import click

from scoring.cli import output
from scoring.cli.app import (
    OUTCOME_OPTIONS,
    PATH,
    SCORING_OPTIONS,
    selection_options,
    shared_options,
)
from scoring.cli.fleet import opened
from scoring.cli.output import show, write_json
from scoring.cli.reading import rows_of
from scoring.errors import OptionError
from scoring.files import read_file
from scoring.log.selection import Selection
from scoring.text import csv_field, printable
from scoring.views.formats import require
from scoring.views.sql import Answer, answered, ask, database, named_in
from scoring.views.table import Column, Table

if TYPE_CHECKING:  # --help does without
    from scoring.fleet.dataset import DataSet


@click.command(
    epilog='Example:  da-score query "select band, count(*) from iterations group by band"'
)
@click.argument("sql", metavar="SQL|-|@FILE")
@click.argument("roots", nargs=-1, type=PATH, metavar="[ROOT]...")
@shared_options(*SCORING_OPTIONS, *OUTCOME_OPTIONS)
@selection_options
@click.option("--recompute", is_flag=True, help="Take no score from a sidecar.")
@click.option(
    "--fleet",
    metavar="URL",
    help="Ask a fleet's data set instead, by its folder, URL or FLEET.toml.",
)
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV.")
def command(
    sql: str, options: dict[str, Any], fleet: str | None, as_csv: bool, **which: Any
) -> None:
    """Ask the tables of the log, or of the logs at ROOT, in SQL.

    They are iterations, signals, integrity, sessions, tasks and work, and 'da-score export --describe' lists their
    columns; by_month, by_model and by_harness sum work up, with intervals. The dialect is DuckDB's; it can read these
    tables and no files. Of several statements with ; between, the answer of the last is printed.
    Needs the extra 'query'.
    """
    statement = _statement(sql)
    if fleet is not None:
        if which["roots"]:
            raise click.UsageError("--fleet asks a data set, and ROOT names logs; give one.")
        if which["selection"] != Selection():
            raise click.UsageError(
                "--last, --since and --task choose among the entries of logs, not of a data set."
            )
        asked = _ask_fleet(opened(fleet), statement)
    else:
        asked = ask(statement, rows_of(options=options, tables=named_in(statement), **which))
    with asked as answer:
        if options["json"]:
            names = _distinct(answer.columns)
            write_json([dict(zip(names, map(_plain, row), strict=True)) for row in answer.rows])
        elif as_csv:
            _write_csv(answer)
        else:
            shown = [
                ["-" if v is None else f"{v:.6g}" if isinstance(v, float) else str(v) for v in row]
                for row in answer.rows
            ]
            show([Table([Column(printable(name)) for name in answer.columns], shown, records=True)])


@contextlib.contextmanager
def _ask_fleet(dataset: "DataSet", sql: str) -> Iterator[Answer]:
    from scoring.fleet.tables import ALIASES, ASKED, WORK

    require("fleet", "duckdb", "pyarrow")
    with database() as db:
        for table in ASKED:
            db.register(f"rows_of_{table}", dataset.rows(table))
            names = ", ".join(ALIASES if table != WORK else ALIASES[:1])
            db.execute(f"CREATE VIEW {table} AS SELECT *, {names} FROM rows_of_{table}")  # noqa: S608 - our own names
        with answered(db, sql, ASKED) as answer:
            yield answer


def _statement(given: str) -> str:
    text = given
    if given == "-":
        text = sys.stdin.read() if sys.stdin else ""
    elif given.startswith("@"):
        text = read_file(given[1:]).decode("utf-8", "replace")
    if not text.strip():
        raise OptionError(
            "query: there is no SQL; give it as an argument, as @FILE, or on standard input with -"
        )
    return text


def _distinct(names: tuple[str, ...]) -> list[str]:
    """Return the names of columns, those that are there already with a number behind them: ``n``, ``n_1``."""
    found: list[str] = []
    for name in names:
        numbered = (f"{name}_{n}" for n in itertools.count(1))
        found.append(next(one for one in itertools.chain([name], numbered) if one not in found))
    return found


def _plain(value: Any) -> Any:
    """Return a value as JSON knows it; numbers that JSON does not know are missing."""
    if isinstance(value, Decimal):
        value = float(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, dict):
        return {str(key): _plain(part) for key, part in value.items()}
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)


def _write_csv(answer: Answer) -> None:
    out = csv.writer(output, lineterminator="\n")  # it needs nothing but a ``write``
    out.writerow(answer.columns)
    for row in answer.rows:
        out.writerow(
            ""
            if v is None
            else csv_field(v)
            if isinstance(v, str)
            else json.dumps(v, ensure_ascii=False)
            for v in map(_plain, row)
        )
