"""Labels from a table: CSV with a line of names, or JSONL with an object per line (``docs/LOG.md``, "Labels")."""

import csv
import io
import json
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from scoring.errors import InputError
from scoring.evidence.labels import CORRECTNESS, HALLUCINATIONS, ROLES, SCOPES, Judgement
from scoring.files import read_file
from scoring.jobs.label_file import NewLabel
from scoring.text import shown

COLUMNS = ("iteration", "actor", "correctness", "scope", "hallucination", "note", "override", "role")
"""What a row may say; only the iteration is needed."""

_OTHER_NAMES = {"scope_judgement": "scope", "free_text": "note", "admin_override": "override"}
"""The names that the file of labels has for some of them."""

_YES, _NO = ("true", "yes", "1"), ("false", "no", "0")

Row = Mapping[str, Any]


def read_rows(path: Path, iterations: Collection[int], actor: str | None) -> tuple[list[NewLabel], list[str]]:
    """Read the labels of a file, and what is wrong with it: one line of text per fault, with the line in the file.

    Args:
        path: the file; ``.csv`` or, with any other name, JSONL when it begins with ``{``.
        iterations: those that the log has.
        actor: who gave the labels of rows that name no actor; None where each must name one.

    Raises:
        InputError: it cannot be read at all.
    """
    try:
        text = read_file(path).decode("utf-8-sig")
    except FileNotFoundError as e:
        raise InputError(f"{path}: no such file") from e
    except UnicodeDecodeError as e:
        raise InputError(f"{path}: is not UTF-8") from e
    is_table = path.suffix.lower() == ".csv" or not text.lstrip().startswith("{")
    labels: list[NewLabel] = []
    faults: list[str] = []
    try:
        for line, row in _table(text) if is_table else _objects(text):
            try:
                labels.append(_label(row if isinstance(row, Mapping) else _refused(row), iterations, actor))
            except ValueError as e:
                faults.append(f"{path}: line {line}: {e}")
    except csv.Error as e:
        faults.append(f"{path}: is no CSV: {e}")
    if not labels and not faults:
        faults.append(f"{path}: holds no label")
    return labels, faults


def _refused(row: Any) -> Row:
    raise ValueError(row if isinstance(row, str) else f"{shown(row)} where an object belongs")


def _table(text: str) -> Iterator[tuple[int, Any]]:
    """Yield each row with its line; a text in place of a row says what is wrong with it."""
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
            yield line, {name: cell for name, cell in zip(names, cells, strict=False) if cell.strip()}


def _objects(text: str) -> Iterator[tuple[int, Any]]:
    for line, content in enumerate(text.split("\n"), 1):
        if content.strip():
            try:
                row = json.loads(content)
            except (ValueError, RecursionError):
                row = "is no JSON"
            yield line, {k: v for k, v in row.items() if v is not None} if isinstance(row, dict) else row


def _label(row: Row, iterations: Collection[int], actor: str | None) -> NewLabel:
    given: dict[str, Any] = {}
    for name, value in row.items():
        column = _OTHER_NAMES.get(name, name)
        if column not in COLUMNS:
            raise ValueError(f"{shown(name)} is no column; known: {', '.join(COLUMNS)}")
        if column in given:
            raise ValueError(f"{column} is given twice")
        given[column] = value
    if "iteration" not in given:
        raise ValueError("no iteration")
    number = _number(given["iteration"], "iteration")
    if number not in iterations:
        raise ValueError(f"iteration {number} is not in the log")
    label = NewLabel(
        number,
        (_given(given, "actor", _plain) or actor or "").strip(),
        Judgement(
            _given(given, "correctness", _correctness),
            _given(given, "scope", _one_of(SCOPES)),
            _given(given, "hallucination", _one_of(HALLUCINATIONS)),
        ),
        _given(given, "note", _plain),
        _given(given, "override", _flag) or False,
        _given(given, "role", _one_of(ROLES)),
    )
    if problem := label.problem():
        raise ValueError(problem)
    return label


def _given(row: Row, name: str, take: Callable[[Any, str], Any]) -> Any:
    return take(row[name], name) if name in row else None


def _number(value: Any, name: str) -> int:
    if isinstance(value, str) and value.strip().isdecimal() and len(value) <= 19:
        return int(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise ValueError(f"{name} {shown(value)} is no whole number")


def _correctness(value: Any, name: str) -> int:
    number = _number(value, name)
    if number not in CORRECTNESS:
        raise ValueError(f"{name} {shown(value)} is not from 0 to 3")
    return number


def _plain(value: Any, name: str) -> str:
    if isinstance(value, str):
        return value
    raise ValueError(f"{name} {shown(value)} is no text")


def _one_of(words: tuple[str, ...]) -> Callable[[Any, str], str]:
    def take(value: Any, name: str) -> str:
        word = value.strip().replace("_", "-") if isinstance(value, str) else value
        if word not in words:
            raise ValueError(f"{name} {shown(value)} is none of {', '.join(words)}")
        return str(word)

    return take


def _flag(value: Any, name: str) -> bool:
    word = str(value).strip().lower()
    if word in _YES or word in _NO:
        return word in _YES
    raise ValueError(f"{name} {shown(value)} is neither true nor false")
