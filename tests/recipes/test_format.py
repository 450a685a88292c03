"""Adding a format is a class in one file and one line in the table; ``export`` then writes it."""

import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.commands import DaScore

from scoring.cli import export
from scoring.errors import installing
from scoring.views.columns import TABLES
from scoring.views.formats import FORMATS, CsvWriter


class TsvWriter(CsvWriter):
    """The file: values with tabs between."""

    delimiter = "\t"


@pytest.fixture(autouse=True)
def _with_a_format() -> Iterator[None]:
    """The line, and the command as a new process would load it."""
    FORMATS["tsv"] = TsvWriter
    importlib.reload(export)
    yield
    del FORMATS["tsv"]
    importlib.reload(export)


@pytest.mark.usefixtures("here")
def test_is_written(da_score: DaScore, tmp_path: Path) -> None:
    assert "|tsv]" in da_score("export", "--help").out
    found = da_score("export", "--tables", "sessions", "--format", "tsv")
    assert (found.status, found.err) == (0, "")
    assert found.out.startswith("log\tsession_id\trubric_version\t")
    assert da_score("export", "--format", "tsv", "--out", tmp_path / "t").status == 0
    assert {path.name for path in (tmp_path / "t").iterdir()} == {
        f"{table}.tsv" for table in TABLES
    }


@pytest.mark.usefixtures("here")
def test_says_what_it_needs(da_score: DaScore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TsvWriter, "needs", ("tabs", "no_such_module"))
    found = da_score("export", "--tables", "sessions", "--format", "tsv")
    assert found.err == (
        f"da-score: error: this needs no_such_module, of the extra 'tabs': {installing('tabs')}\n"
    )


@pytest.mark.usefixtures("here")
def test_is_kept_from_a_terminal_that_cannot_show_it(
    da_score: DaScore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TsvWriter, "binary", "A picture of tabs")
    monkeypatch.setattr(export, "on_terminal", lambda: True)
    found = da_score("export", "--tables", "sessions", "--format", "tsv")
    assert (
        found.err
        == "da-score: error: A picture of tabs is not for a terminal: give --out FILE\n"
    )
