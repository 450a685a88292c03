"""Reads labels from a table: CSV with a line of names, or JSONL with an object on each line.

``docs/LOG.md``, "Labels".
"""

import csv
import io
import json
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import (
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
)

from scoring.errors import InputError
from scoring.evidence.labels import Judgment
from scoring.files import read_file
from scoring.frozen import PlainData
from scoring.text import shown

from .label_file import NewLabel

FILE_LIMIT = 4 << 20
"""The largest file of labels, in bytes, that is imported: half a million rows."""


def _as_word(value: Any) -> Any:
    """Return a text without spaces around it and with "-" for "_"; any other value as it is."""
    if not isinstance(value, str):
        return value
    return value.strip().replace("_", "-")


def _not_a_flag(value: Any) -> Any:
    """Return a text for true and false, which pydantic would take for 1 and 0, else the value."""
    return str(value) if isinstance(value, bool) else value


_Number = Annotated[int, BeforeValidator(_not_a_flag)]
_Scope = Annotated[
    Literal["breach", "partial", "on-target"] | None, BeforeValidator(_as_word)
]
_Hallucination = Annotated[
    Literal["major", "minor", "none"] | None, BeforeValidator(_as_word)
]


class _LabelRow(BaseModel):
    """What a row may say. The second name of a field is the one in files of labels."""

    model_config = ConfigDict(extra="forbid")

    iteration: _Number
    actor: str = ""
    correctness: Annotated[_Number, Field(ge=0, le=3)] | None = None
    scope: _Scope = Field(
        None, validation_alias=AliasChoices("scope", "scope_judgement")
    )
    hallucination: _Hallucination = None
    note: str | None = Field(None, validation_alias=AliasChoices("note", "free_text"))


class _Row(NamedTuple):
    """A row of a table.

    Attributes:
        line: the first line of the row in the file, from 1.
        values: its values by the names of the columns; empty where the row cannot be read.
        problem: why the row cannot be read; "" where it can.
    """

    line: int
    values: PlainData
    problem: str = ""


class ImportedLabels(NamedTuple):
    """What a file of labels holds.

    Attributes:
        labels: the labels without a fault, in the order of the file.
        faults: a sentence for each row with a fault, with the path and the line. If there are any,
            nothing may be imported.
    """

    labels: list[NewLabel]
    faults: list[str]


def read_rows(path: Path, iterations: Collection[int], actor: str) -> ImportedLabels:
    """Read labels from a file of CSV or JSONL. A file without labels is a fault.

    Args:
        path: the file. It is CSV if its name ends so, or if its text does not begin with a brace.
        iterations: the iterations of the log; any other in a row is a fault.
        actor: the person who gave the label in a row without an actor.

    Raises:
        InputError: the file cannot be read.
    """
    try:
        text = read_file(path, FILE_LIMIT).decode("utf-8-sig")
    except UnicodeDecodeError as e:
        raise InputError(f"{path}: is not UTF-8") from e

    is_csv = path.suffix.lower() == ".csv" or not text.lstrip().startswith("{")
    rows = _rows_of_csv(text) if is_csv else _rows_of_jsonl(text)
    labels = []
    faults = []
    try:
        for row in rows:
            label = _label_of(row, iterations, actor)
            if isinstance(label, NewLabel):
                labels.append(label)
            else:
                faults.append(f"{path}: line {row.line}: {label}")
    except csv.Error as e:
        faults.append(f"{path}: is not CSV: {e}")

    if not labels and not faults:
        faults.append(f"{path}: holds no label")
    return ImportedLabels(labels, faults)


def _rows_of_csv(text: str) -> Iterator[_Row]:
    """Yield the rows under the line of names, without empty lines and empty cells.

    A row with more cells than names has a problem.

    Raises:
        csv.Error: the text is not CSV.
    """
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    names: list[str] = []
    lines_read = 0

    for cells in reader:
        # A row may have several lines.
        line = lines_read + 1
        lines_read = reader.line_num

        if not any(cell.strip() for cell in cells):
            continue
        if not names:
            names = [cell.strip() for cell in cells]
            continue

        if len(cells) > len(names):
            yield _Row(line, {}, f"{len(cells)} cells under {len(names)} names")
        else:
            pairs = zip(names, cells, strict=False)
            yield _Row(line, {name: cell for name, cell in pairs if cell.strip()})


def _rows_of_jsonl(text: str) -> Iterator[_Row]:
    """Yield a row for each line that is not empty, without the keys that have null.

    A line that is not a JSON object is a row with a problem.
    """
    for line, content in enumerate(text.split("\n"), 1):
        if not content.strip():
            continue

        try:
            data = json.loads(content)
        except (ValueError, RecursionError):
            yield _Row(line, {}, "is not JSON")
            continue

        if isinstance(data, dict):
            yield _Row(
                line, {name: value for name, value in data.items() if value is not None}
            )
        else:
            yield _Row(line, {}, f"{shown(data)} is not an object")


def _label_of(row: _Row, iterations: Collection[int], actor: str) -> NewLabel | str:
    """Return the label in a row, or what is wrong with it."""
    if row.problem:
        return row.problem

    try:
        values = _LabelRow.model_validate(row.values)
    except ValidationError as e:
        fault = e.errors()[0]
        field = ".".join(map(str, fault["loc"]))
        message = fault["msg"][:1].lower() + fault["msg"][1:]
        if fault["type"] == "missing":
            return f"{field}: {message}"
        return f"{field} {shown(fault['input'])}: {message}"

    if values.iteration not in iterations:
        return f"iteration {values.iteration} is not in the log"

    label = NewLabel(
        iteration=values.iteration,
        actor=(values.actor or actor).strip(),
        judgment=Judgment(values.correctness, values.scope, values.hallucination),
        note=values.note,
    )
    return label.problem() or label
