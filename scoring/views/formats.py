"""The formats in which tables are written, row by row: CSV, JSON lines, Parquet.

A new format is a class that is a :class:`RowWriter`, and its line in :data:`FORMATS`.
"""

import contextlib
import csv
import importlib.util
import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from scoring.errors import InputError, WriteError, installing
from scoring.files import atomic_stream
from scoring.text import as_utf8, json_escaped
from scoring.views.columns import TABLES, DataColumn, DataRow

_ROW_GROUP = 8192
_READABLE = 0o644


class RowWriter(Protocol):
    """Takes the rows of one table."""

    def add(self, row: DataRow) -> None:
        """Write a row, now or later."""

    def close(self) -> None:
        """Write what is left; the stream stays open."""


@dataclass(frozen=True, slots=True)
class Format:
    """How tables are written.

    Attributes:
        writer: begins a table of some columns on a stream.
        needs: the optional extra of da-score and the module of it that the format needs; None when it needs nothing.
        binary: its name in the message that a terminal cannot show it; empty when it is text.
    """

    writer: Callable[[Sequence[DataColumn[Any]], BinaryIO], RowWriter]
    needs: tuple[str, str] | None = None
    binary: str = ""


class CsvWriter:
    """Writes comma-separated values (RFC 4180, lines end in LF); a value that is missing is an empty field."""

    delimiter = ","

    def __init__(self, columns: Sequence[DataColumn[Any]], out: BinaryIO) -> None:
        self._text = io.TextIOWrapper(out, "utf-8", newline="", write_through=True)
        self._csv = csv.writer(self._text, delimiter=self.delimiter, lineterminator="\n")
        self._csv.writerow(column.name for column in columns)

    def add(self, row: DataRow) -> None:
        """Write a row."""
        values = clean(row).values()
        self._csv.writerow("" if v is None else str(v).lower() if isinstance(v, bool) else v for v in values)

    def close(self) -> None:
        """Let go of the stream without closing it."""
        self._text.detach()


class JsonlWriter:
    """Writes one JSON object a line."""

    def __init__(self, _: Sequence[DataColumn[Any]], out: BinaryIO) -> None:
        self._out = out

    def add(self, row: DataRow) -> None:
        """Write a row."""
        text = json.dumps(clean(row), ensure_ascii=False, allow_nan=False)
        self._out.write(json_escaped(text).encode() + b"\n")

    def close(self) -> None:
        """Nothing is left."""


class ParquetWriter:
    """Writes Parquet in groups of rows; the meaning and the unit of a column are in its metadata."""

    def __init__(self, columns: Sequence[DataColumn[Any]], out: BinaryIO) -> None:
        from pyarrow import parquet

        self._schema = arrow_schema(columns)
        self._writer = parquet.ParquetWriter(out, self._schema, compression="zstd")
        self._rows: list[DataRow] = []

    def add(self, row: DataRow) -> None:
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


FORMATS: dict[str, Format] = {
    "csv": Format(CsvWriter),
    "jsonl": Format(JsonlWriter),
    "parquet": Format(ParquetWriter, needs=("frames", "pyarrow"), binary="Parquet"),
}
"""Every format, by the ending of its files."""


def clean(row: DataRow) -> DataRow:
    """Return a row with texts in UTF-8: other bytes become replacement characters."""
    return {name: as_utf8(v) if isinstance(v, str) else v for name, v in row.items()}


def arrow_schema(columns: Sequence[DataColumn[Any]]) -> Any:
    """Return the schema of a table as one of Arrow."""
    import pyarrow as pa

    types = {"text": pa.string(), "integer": pa.int64(), "number": pa.float64(), "yes/no": pa.bool_()}
    return pa.schema(
        [
            pa.field(c.name, types[c.kind], nullable=c.may_miss, metadata={"meaning": c.meaning, "unit": c.unit})
            for c in columns
        ]
    )


def require(extra: str, *modules: str) -> None:
    """Make sure that optional packages are there; without an extra they are others' to install.

    Raises:
        InputError: one is not; the text says how to install it.
    """
    missing = [name for name in modules if importlib.util.find_spec(name) is None]
    if missing:
        what = " and ".join(missing)
        if not extra:
            raise InputError(f"this needs {what}: pip install {' '.join(missing)}")
        raise InputError(f"this needs {what}, of the extra {extra!r}: {installing(extra)}")


def write_streams(rows: Iterable[tuple[str, DataRow]], form: str, streams: Mapping[str, BinaryIO]) -> None:
    """Write tables to streams that are open already, by the names of the tables; rows of other tables are left out."""
    writers = {table: FORMATS[form].writer(TABLES[table], out) for table, out in streams.items()}
    for name, row in rows:
        if writer := writers.get(name):
            writer.add(row)
    for writer in writers.values():
        writer.close()


def write_file(rows: Iterable[tuple[str, DataRow]], table: str, form: str, path: Path) -> None:
    """Write one table to a file, which appears when it is whole.

    Raises:
        WriteError: it could not be written; the old file is untouched.
    """
    with atomic_stream(path, _READABLE) as out:
        write_streams(rows, form, {table: out})


def write_directory(
    rows: Iterable[tuple[str, DataRow]], tables: Sequence[str], form: str, directory: Path
) -> list[Path]:
    """Write tables to a directory, a file each, and return their paths. They appear together, at the end.

    Raises:
        WriteError: one could not be written; the old files are untouched, or all new ones up to it are in place.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as e:
        raise WriteError(f"{directory}: cannot make this directory: {(e.strerror or str(e)).lower()}") from e
    paths = {table: directory / f"{table}.{form}" for table in tables}
    with contextlib.ExitStack() as files:
        streams = {table: files.enter_context(atomic_stream(path, _READABLE)) for table, path in paths.items()}
        write_streams(rows, form, streams)
    return list(paths.values())
