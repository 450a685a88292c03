"""Labels from a table: CSV with a line of names, or JSONL with an object per line (``docs/LOG.md``, "Labels")."""

import csv
import io
import json
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from scoring.errors import InputError
from scoring.evidence.labels import Judgement
from scoring.files import read_file
from scoring.jobs.label_file import NewLabel
from scoring.text import shown


def _word(value: Any) -> Any:
    return value.strip().replace("_", "-") if isinstance(value, str) else value


def _number(value: Any) -> Any:
    return str(value) if isinstance(value, bool) else value  # pydantic takes true for 1


_Number = Annotated[int, BeforeValidator(_number)]


class _Row(BaseModel):
    """What a row may say; some have a second name, the one in files of labels. Only the iteration is needed."""

    model_config = ConfigDict(extra="forbid")

    iteration: _Number
    actor: str = ""
    correctness: Annotated[_Number, Field(ge=0, le=3)] | None = None
    scope: Annotated[Literal["breach", "partial", "on-target"] | None, BeforeValidator(_word)] = (
        Field(None, validation_alias=AliasChoices("scope", "scope_judgement"))
    )
    hallucination: Annotated[Literal["major", "minor", "none"] | None, BeforeValidator(_word)] = (
        None
    )
    note: str | None = Field(None, validation_alias=AliasChoices("note", "free_text"))


def read_rows(
    path: Path, iterations: Collection[int], actor: str
) -> tuple[list[NewLabel], list[str]]:
    """Read the labels of a file, CSV or JSONL, for these ``iterations``, and a line for each fault; InputError."""
    try:
        text = read_file(path).decode("utf-8-sig")
    except UnicodeDecodeError as e:
        raise InputError(f"{path}: is not UTF-8") from e
    is_table = path.suffix.lower() == ".csv" or not text.lstrip().startswith("{")
    labels: list[NewLabel] = []
    faults: list[str] = []
    try:
        for line, row in _table(text) if is_table else _objects(text):
            made = _label(row, iterations, actor) if isinstance(row, Mapping) else row
            if isinstance(made, NewLabel) and not (problem := made.problem()):
                labels.append(made)
            else:
                faults.append(
                    f"{path}: line {line}: {problem if isinstance(made, NewLabel) else made}"
                )
    except csv.Error as e:
        faults.append(f"{path}: is no CSV: {e}")
    if not labels and not faults:
        faults.append(f"{path}: holds no label")
    return labels, faults


def _table(text: str) -> Iterator[tuple[int, Any]]:
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    names: list[str] = []
    before = 0
    for cells in reader:
        line, before = before + 1, reader.line_num
        if not any(cell.strip() for cell in cells):
            continue
        if not names:
            names = [cell.strip() for cell in cells]
        elif len(cells) > len(names):
            yield line, f"{len(cells)} cells under {len(names)} names"
        else:
            yield (
                line,
                {name: cell for name, cell in zip(names, cells, strict=False) if cell.strip()},
            )


def _objects(text: str) -> Iterator[tuple[int, Any]]:
    for line, content in enumerate(text.split("\n"), 1):
        if content.strip():
            try:
                row = json.loads(content)
            except (ValueError, RecursionError):
                yield line, "is no JSON"
            else:
                is_row = isinstance(row, dict)
                yield (
                    line,
                    {k: v for k, v in row.items() if v is not None}
                    if is_row
                    else f"{shown(row)} is no object",
                )


def _label(given: Mapping[str, Any], iterations: Collection[int], actor: str) -> NewLabel | str:
    try:
        row = _Row.model_validate(given)
    except ValidationError as e:
        fault = e.errors()[0]
        value = "" if fault["type"] == "missing" else f" {shown(fault['input'])}"
        return f"{'.'.join(map(str, fault['loc']))}{value}: {fault['msg'][:1].lower()}{fault['msg'][1:]}"
    if row.iteration not in iterations:
        return f"iteration {row.iteration} is not in the log"
    judgement = Judgement(row.correctness, row.scope, row.hallucination)
    return NewLabel(row.iteration, (row.actor or actor).strip(), judgement, row.note)
