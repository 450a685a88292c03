"""The formats in which tables are written, row by row; a new one is a :class:`Writer` and a line in :data:`FORMATS`."""

import contextlib
import csv
import importlib.util
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from scoring.errors import InputError, installing
from scoring.files import atomic_stream, make_folder
from scoring.text import as_utf8, csv_field, json_escaped
from scoring.views.columns import TABLES, DataColumn, DataRow

_ROW_GROUP = 8192


class Writer:
    """Writes the rows of a table to a stream; ``needs`` is (extra, module), ``binary`` its name where no text."""

    needs: tuple[str, str] | None = None
    binary = ""

    def __init__(self, columns: Sequence[DataColumn[Any]], out: BinaryIO) -> None:
        self._columns, self._out = columns, out

    def add(self, row: DataRow) -> None:
        """Write a row, now or later."""

    def close(self) -> None:
        """Write what is left; the stream stays open."""


class CsvWriter(Writer):
    """Writes comma-separated values (RFC 4180, lines end in LF); a value that is missing is an empty field."""

    delimiter = ","

    def __init__(self, columns: Sequence[DataColumn[Any]], out: BinaryIO) -> None:
        self._text = io.TextIOWrapper(out, "utf-8", newline="", write_through=True)
        self._csv = csv.writer(self._text, delimiter=self.delimiter, lineterminator="\n")
        self._csv.writerow(column.name for column in columns)

    def add(self, row: DataRow) -> None:
        """Write a row."""
        values = clean(row).values()
        self._csv.writerow(
            ""
            if v is None
            else str(v).lower()
            if isinstance(v, bool)
            else csv_field(v)
            if isinstance(v, str)
            else v
            for v in values
        )

    def close(self) -> None:
        """Write what is left."""
        self._text.detach()


class JsonlWriter(Writer):
    """Writes one JSON object a line."""

    def add(self, row: DataRow) -> None:
        """Write a row."""
        text = json.dumps(clean(row), ensure_ascii=False, allow_nan=False)
        self._out.write(json_escaped(text).encode() + b"\n")


class ParquetWriter(Writer):
    """Writes Parquet in groups of rows; the meaning and the unit of a column are in its metadata."""

    needs = ("frames", "pyarrow")
    binary = "Parquet"

    def __init__(self, columns: Sequence[DataColumn[Any]], out: BinaryIO) -> None:
        from pyarrow import parquet

        self._writer = parquet.ParquetWriter(out, arrow_schema(columns), compression="zstd")
        self._rows: list[DataRow] = []

    def add(self, row: DataRow) -> None:
        """Write a row."""
        self._rows.append(clean(row))
        if len(self._rows) >= _ROW_GROUP:
            self._write_group()

    def _write_group(self) -> None:
        import pyarrow as pa

        if self._rows:
            self._writer.write_table(pa.Table.from_pylist(self._rows, schema=self._writer.schema))
            self._rows = []

    def close(self) -> None:
        """Write what is left."""
        self._write_group()
        self._writer.close()


FORMATS: dict[str, type[Writer]] = {
    "csv": CsvWriter,
    "jsonl": JsonlWriter,
    "parquet": ParquetWriter,
}
"""Every format, by the ending of its files."""


def clean(row: DataRow) -> DataRow:
    """Return a row with texts in UTF-8: other bytes become replacement characters."""
    return {name: as_utf8(v) if isinstance(v, str) else v for name, v in row.items()}


def arrow_schema(columns: Sequence[DataColumn[Any]]) -> Any:
    """Return the schema of a table as one of Arrow."""
    import pyarrow as pa

    types = {
        "text": pa.string(),
        "integer": pa.int64(),
        "number": pa.float64(),
        "yes/no": pa.bool_(),
    }
    about = [{"meaning": c.meaning, "unit": c.unit} for c in columns]
    return pa.schema(
        [
            pa.field(c.name, types[c.kind], c.may_miss, m)
            for c, m in zip(columns, about, strict=True)
        ]
    )


def require(extra: str, *modules: str) -> None:
    """Make sure that optional packages are there; InputError says how to install one that is not."""
    missing = [name for name in modules if importlib.util.find_spec(name) is None]
    if missing:
        how = (
            f", of the extra {extra!r}: {installing(extra)}"
            if extra
            else f": pip install {' '.join(missing)}"
        )
        raise InputError(f"this needs {' and '.join(missing)}{how}")


def write_streams(
    rows: Iterable[tuple[str, DataRow]], form: str, streams: Mapping[str, BinaryIO]
) -> None:
    """Write tables to streams that are open already, by the names of the tables; rows of other tables are left out."""
    writers = {table: FORMATS[form](TABLES[table], out) for table, out in streams.items()}
    for name, row in rows:
        if writer := writers.get(name):
            writer.add(row)
    for writer in writers.values():
        writer.close()


def write_files(rows: Iterable[tuple[str, DataRow]], form: str, paths: Mapping[str, Path]) -> None:
    """Write tables to files by name; they appear together at the end, or after a WriteError up to the failed one."""
    with contextlib.ExitStack() as files:
        streams = {
            table: files.enter_context(atomic_stream(path, 0o644)) for table, path in paths.items()
        }
        write_streams(rows, form, streams)


def write_directory(
    rows: Iterable[tuple[str, DataRow]], tables: Sequence[str], form: str, directory: Path
) -> list[Path]:
    """Write tables to a directory, which is made, a file each, and return their paths; see :func:`write_files`."""
    make_folder(directory)
    paths = {table: directory / f"{table}.{form}" for table in tables}
    write_files(rows, form, paths)
    return list(paths.values())
