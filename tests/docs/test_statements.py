"""The page of statements: every place on it exists, and every command prints what it says."""

import importlib
import io
import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from helpers.commands import DaScore
from helpers.pages import anchors

from scoring.demo import Demo

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "STATEMENTS.md").read_text("utf-8")
FILES = ROOT / "testdata" / "statements"
"""The files that the commands of the page name."""


class Statement(NamedTuple):
    """A statement of the page; ``where`` names its places, and those of the others in its row."""

    id: str
    text: str
    where: str
    command: str
    prints: str


def statements() -> Iterator[Statement]:
    for block in re.findall(
        r"<!-- statements -->\n(.*?)<!-- /statements -->", PAGE, re.S
    ):
        for line in block.splitlines()[2:]:
            ids, texts, where, command, prints = (
                c.strip() for c in line.strip().strip("|").split(" | ", 4)
            )
            first, *last = re.findall(r"\d+", ids)
            numbers = range(int(first), int(*last or [first]) + 1)
            shown = prints.split(" · ") if prints else [""] * len(numbers)
            for number, text, piece in zip(
                numbers, texts.split(" · "), shown, strict=True
            ):
                yield Statement(f"{ids[0]}{number}", text, where, command, piece)


ROWS = [row._replace(prints=row.prints.strip("` ")) for row in statements()]
COMMANDS = [row for row in ROWS if row.command]


def test_the_four_documents_are_there_with_every_statement_once() -> None:
    assert {row.id[0] for row in ROWS} == set("ABCDE")
    assert len(ROWS) >= 365
    assert len({row.id for row in ROWS}) == len(ROWS)
    assert len({(row.id[0], row.text) for row in ROWS}) == len(ROWS)
    assert len(COMMANDS) >= 100
    assert all(
        row.text and row.where and bool(row.command) == bool(row.prints) for row in ROWS
    )


def is_there(where: str) -> bool:
    if link := re.fullmatch(r"\[\S+\]\((\w+\.md)#([\w-]+)\)", where):
        return link[2] in anchors((ROOT / "docs" / link[1]).read_text("utf-8"))
    place = where.strip("`")
    if place.startswith("tests/"):
        path, _, name = place.partition("::")
        return (ROOT / path).is_file() and (
            not name
            or re.search(rf"(class|def) {name}\b", (ROOT / path).read_text("utf-8"))
            is not None
        )
    module, _, path = place.partition(":")
    found: Any = importlib.import_module(module)
    for name in filter(None, path.split(".")):
        if name in getattr(found, "model_fields", {}) or name in getattr(
            found, "__dataclass_fields__", {}
        ):
            return True
        if not hasattr(found, name):
            return False
        found = getattr(found, name)
    return True


@pytest.mark.parametrize(
    ("where", "found"),
    [
        ("`scoring.meters:NOVELTY_LOW`", True),
        ("`scoring.meters:NOVELTY_LOWER`", False),
        ("[PARITY.md](PARITY.md#names)", True),
        ("[PARITY.md](PARITY.md#namen)", False),
        ("`tests/docs/test_statements.py`", True),
        ("`tests/docs/test_statement.py`", False),
    ],
)
def test_a_place_that_is_not_there_is_noticed(where: str, found: bool) -> None:
    assert is_there(where) is found


def test_every_place_is_there() -> None:
    assert [
        (row.id, place)
        for row in ROWS
        for place in row.where.split(" · ")
        if not is_there(place)
    ] == []


def test_every_command_prints_what_the_page_says(
    here: Demo, da_score: DaScore, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(FILES, here.repo_dir, dirs_exist_ok=True)
    monkeypatch.setenv(
        "DA_SCORE_TRANSCRIPT_DIR", "../transcripts/claude:../transcripts/codex"
    )
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
    faults = []
    for row in COMMANDS:
        arguments = shlex.split(row.command.strip("`"))[1:]
        found = da_score(*arguments)
        printed = " ".join((found.out + found.err).split())
        if " ".join(row.prints.split()) not in printed:
            faults.append(
                f"{row.id} {row.command}: {row.prints!r} is not in {printed[:3000]!r}"
            )
    assert not faults, "\n".join(["", *faults])
