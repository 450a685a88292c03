"""The formats in which tables are written, row by row.

A new format is a :class:`Writer`, and a line in :data:`FORMATS`.
"""

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

from .columns import TABLES, DataColumn, DataRow, NamedRow

_ROWS_OF_A_GROUP = 8192  # of a Parquet file


class Writer:
    """Writes the rows of a table to a stream.

    Attributes:
        needs: the extra of da-score and the module that the writer needs; None for none.
        binary: the name of the format where it is not text; "" where it is.
    """

    needs: tuple[str, str] | None = None
    binary = ""

    def __init__(self, columns: Sequence[DataColumn], out: BinaryIO) -> None:
        self._columns = columns
        self._out = out

    def add(self, row: DataRow) -> None:
        """Write a row, now or later."""

    def close(self) -> None:
        """Write the rows that are not written yet. The stream stays open."""


class CsvWriter(Writer):
    """Writes comma-separated values (RFC 4180) with lines that end in LF.

    A value that is missing is an empty field.
    """

    delimiter = ","

    def __init__(self, columns: Sequence[DataColumn], out: BinaryIO) -> None:
        super().__init__(columns, out)
        self._add_fields(column.name for column in columns)

    def add(self, row: DataRow) -> None:
        """Write a row."""
        self._add_fields(_csv_value(value) for value in clean(row).values())

    def _add_fields(self, fields: Iterable[Any]) -> None:
        self._out.write(csv_line(fields, self.delimiter).encode())


def csv_line(fields: Iterable[Any], delimiter: str = ",") -> str:
    """Return a line of CSV with its LF. A field that contains CR or LF is quoted."""
    line = io.StringIO(newline="")
    # The module csv quotes only the characters that end its own lines.
    csv.writer(line, delimiter=delimiter, lineterminator="\r\n").writerow(fields)
    return line.getvalue().removesuffix("\r\n") + "\n"


def _csv_value(value: Any) -> Any:
    """Return a value as CSV has it: ``true`` and ``false``, and no text that a spreadsheet runs."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return csv_field(value)
    return value


class JsonlWriter(Writer):
    """Writes one JSON object a line."""

    def add(self, row: DataRow) -> None:
        """Write a row."""
        text = json.dumps(clean(row), ensure_ascii=False, allow_nan=False)
        self._out.write(json_escaped(text).encode() + b"\n")


class ParquetWriter(Writer):
    """Writes Parquet in groups of rows, with the meaning and the unit of columns as metadata."""

    needs = ("frames", "pyarrow")
    binary = "Parquet"

    def __init__(self, columns: Sequence[DataColumn], out: BinaryIO) -> None:
        from pyarrow import parquet

        self._writer = parquet.ParquetWriter(
            out, arrow_schema(columns), compression="zstd"
        )
        self._rows: list[DataRow] = []

    def add(self, row: DataRow) -> None:
        """Write a row."""
        self._rows.append(clean(row))
        if len(self._rows) >= _ROWS_OF_A_GROUP:
            self._write_group()

    def _write_group(self) -> None:
        """Write the rows that were added since the last group, if there are any."""
        import pyarrow as pa

        if self._rows:
            self._writer.write_table(
                pa.Table.from_pylist(self._rows, schema=self._writer.schema)
            )
            self._rows = []

    def close(self) -> None:
        """Write the rows that are not written yet."""
        self._write_group()
        self._writer.close()


FORMATS: dict[str, type[Writer]] = {
    "csv": CsvWriter,
    "jsonl": JsonlWriter,
    "parquet": ParquetWriter,
}
"""Every format, by the ending of its files."""


def clean(row: DataRow) -> DataRow:
    """Return a row in which bytes of texts that are not UTF-8 became replacement characters."""
    texts = {}
    for name, value in row.items():
        if isinstance(value, str):
            texts[name] = as_utf8(value)
    return row | texts


def arrow_schema(columns: Sequence[DataColumn]) -> Any:
    """Return the schema of a table as a ``pyarrow.Schema``."""
    import pyarrow as pa

    types = {
        "text": pa.string(),
        "integer": pa.int64(),
        "number": pa.float64(),
        "yes/no": pa.bool_(),
    }
    fields = []
    for column in columns:
        metadata = {"meaning": column.meaning, "unit": column.unit}
        fields.append(
            pa.field(column.name, types[column.kind], column.may_miss, metadata)
        )
    return pa.schema(fields)


def require(extra: str, *modules: str) -> None:
    """Make sure that optional packages are installed.

    Args:
        extra: the extra of da-score that has them; "" for none.
        modules: the modules that are needed.

    Raises:
        InputError: one is missing; the message says how to install it.
    """
    missing = [module for module in modules if importlib.util.find_spec(module) is None]
    if not missing:
        return

    needed = f"this needs {' and '.join(missing)}"
    if extra:
        raise InputError(f"{needed}, of the extra {extra!r}: {installing(extra)}")
    raise InputError(f"{needed}: pip install {' '.join(missing)}")


def write_streams(
    rows: Iterable[NamedRow],
    form: str,
    streams: Mapping[str, BinaryIO],
) -> None:
    """Write tables to open streams, and leave them open.

    Args:
        rows: rows with the names of their tables.
        form: a key of :data:`FORMATS`. What it ``needs`` must be installed, see :func:`require`.
        streams: the streams by table; rows of other tables are left out.
    """
    writers = {
        table: FORMATS[form](TABLES[table], out) for table, out in streams.items()
    }
    for table, row in rows:
        if table in writers:
            writers[table].add(row)
    for writer in writers.values():
        writer.close()


def write_files(
    rows: Iterable[NamedRow],
    form: str,
    paths: Mapping[str, Path],
) -> None:
    """Write tables to files, which appear together when all rows are written.

    Args:
        rows: rows with the names of their tables.
        form: a key of :data:`FORMATS`.
        paths: the files by table.

    Raises:
        WriteError: a file cannot be written. Files before it may be there already.
    """
    with contextlib.ExitStack() as files:
        streams = {
            table: files.enter_context(atomic_stream(path))
            for table, path in paths.items()
        }
        write_streams(rows, form, streams)


def write_directory(
    rows: Iterable[NamedRow],
    tables: Sequence[str],
    form: str,
    directory: Path,
) -> list[Path]:
    """Write tables to a directory, a file each, and return their paths.

    The files appear together when all rows are written. The directory is made if it does not exist.

    Raises:
        WriteError: the directory cannot be made, or a file cannot be written. Files before that one
            may be there already.
    """
    make_folder(directory)
    paths = {table: directory / f"{table}.{form}" for table in tables}
    write_files(rows, form, paths)
    return list(paths.values())
