"""Long tables of cases, kept as data in testdata/tables: each file has tables of rows, by name."""

import json
from pathlib import Path
from typing import Any

import pytest

TABLES = Path(__file__).parents[2] / "testdata" / "tables"


def cases(file: str, *tables: str) -> list[Any]:
    """Return the rows of some tables of a file, or of all, as parameters with an id each.

    A table is a mapping of rows by their ids, or a list of rows, whose ids are their first values.
    """
    content = json.loads((TABLES / f"{file}.json").read_text("utf-8"))
    found = []
    for table in tables or content:
        rows = content[table]
        named = (
            rows.items()
            if isinstance(rows, dict)
            else ((ascii(row[0])[:40], row) for row in rows)
        )
        found += [pytest.param(*row, id=name) for name, row in named]
    return found
