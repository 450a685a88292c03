"""Writes rows as they come: as CSV, as JSON lines, as Parquet."""

import contextlib
import csv
import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from scoring.errors import InputError, WriteError
from scoring.files import atomic_stream
from scoring.text import as_utf8
from scoring.views.columns import TABLES, Column, Row

_ROW_GROUP = 8192
_READABLE = 0o644


class RowWriter(Protocol):
    """Takes the rows of one table."""

    def add(self, row: Row) -> None:
        """Write a row, now or later."""

    def close(self) -> None:
        """Write what is left."""


class CsvWriter:
    """Writes comma-separated values (RFC 4180, lines end in LF); nothing at all stands for a value that is missing."""

    def __init__(self, columns: Sequence[Column], out: BinaryIO) -> None:
        self._text = io.TextIOWrapper(out, "utf-8", newline="", write_through=True)
        self._csv = csv.writer(self._text, lineterminator="\n")
        self._csv.writerow(column.name for column in columns)

    def add(self, row: Row) -> None:
        """Write a row."""
        values = clean(row).values()
        self._csv.writerow("" if v is None else str(v).lower() if isinstance(v, bool) else v for v in values)

    def close(self) -> None:
        """Let go of the file without closing it."""
        self._text.detach()


class JsonlWriter:
    """Writes one JSON object a line."""

    def __init__(self, columns: Sequence[Column], out: BinaryIO) -> None:  # noqa: ARG002 - the shape of all writers
        self._out = out

    def add(self, row: Row) -> None:
        """Write a row."""
        self._out.write(json.dumps(clean(row), ensure_ascii=False, allow_nan=False).encode() + b"\n")

    def close(self) -> None:
        """Nothing is left."""


class ParquetWriter:
    """Writes Parquet in groups of rows; the meaning and the unit of a column stand in its metadata."""

    def __init__(self, columns: Sequence[Column], out: BinaryIO) -> None:
        from pyarrow import parquet

        self._schema = arrow_schema(columns)
        self._writer = parquet.ParquetWriter(out, self._schema, compression="zstd")
        self._rows: list[Row] = []

    def add(self, row: Row) -> None:
        """Hold a row until a group is full."""
        self._rows.append(clean(row))
        if len(self._rows) >= _ROW_GROUP:
            self._flush()

    def _flush(self) -> None:
        import pyarrow as pa

        self._writer.write_table(pa.Table.from_pylist(self._rows, schema=self._schema))
        self._rows = []

    def close(self) -> None:
        """Write the last group."""
        if self._rows:
            self._flush()
        self._writer.close()


FORMATS: Mapping[str, Callable[[Sequence[Column], BinaryIO], RowWriter]] = {
    "csv": CsvWriter,
    "jsonl": JsonlWriter,
    "parquet": ParquetWriter,
}
"""Every format, by the ending of its files."""


def clean(row: Row) -> Row:
    """Return a row whose texts are UTF-8: a byte that is not becomes a replacement character."""
    return {name: as_utf8(v) if isinstance(v, str) else v for name, v in row.items()}


def arrow_schema(columns: Sequence[Column]) -> Any:
    """Return a table's schema as Arrow knows it."""
    import pyarrow as pa

    types = {"text": pa.string(), "integer": pa.int64(), "number": pa.float64(), "yes/no": pa.bool_()}
    return pa.schema(
        [
            pa.field(c.name, types[c.kind], nullable=c.may_miss, metadata={"meaning": c.meaning, "unit": c.unit})
            for c in columns
        ]
    )


def require(extra: str, *modules: str) -> None:
    """Make sure that an optional package is there.

    Raises:
        InputError: it is not; the text says how to install it.
    """
    import importlib.util

    missing = [name for name in modules if importlib.util.find_spec(name) is None]
    if missing:
        raise InputError(f"this needs {' and '.join(missing)}; install it with: pip install 'da-score[{extra}]'")


def write_stream(rows: Iterable[tuple[str, Row]], table: str, form: str, out: BinaryIO) -> None:
    """Write one table to a stream that is open already."""
    writer = FORMATS[form](TABLES[table], out)
    for name, row in rows:
        if name == table:
            writer.add(row)
    writer.close()


def write_file(rows: Iterable[tuple[str, Row]], table: str, form: str, path: Path) -> None:
    """Write one table to a file, which is there when all of it is.

    Raises:
        WriteError: it could not be written; the old file is untouched.
    """
    with atomic_stream(path, _READABLE) as out:
        write_stream(rows, table, form, out)


def write_directory(rows: Iterable[tuple[str, Row]], tables: Sequence[str], form: str, directory: Path) -> list[Path]:
    """Write tables to a directory, a file each, and return their paths. They appear together, at the end.

    Raises:
        WriteError: one could not be written; the old files are untouched, or all new ones up to it are in place.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as e:
        raise WriteError(f"{directory}: cannot make this directory: {(e.strerror or str(e)).lower()}") from e
    paths = [directory / f"{table}.{form}" for table in tables]
    with contextlib.ExitStack() as files:
        writers = {
            table: FORMATS[form](TABLES[table], files.enter_context(atomic_stream(path, _READABLE)))
            for table, path in zip(tables, paths, strict=True)
        }
        for name, row in rows:
            if writer := writers.get(name):
                writer.add(row)
        for writer in writers.values():
            writer.close()
    return paths
