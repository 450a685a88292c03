"""Adding a column is one line in its table; ``export``, ``query`` and the frames then have it."""

import csv
import io

import pytest
from helpers.commands import DaScore

from scoring import frames
from scoring.demo import Demo
from scoring.views.columns import TABLES, DataColumn

COLUMN: DataColumn = DataColumn(
    "verifiers",
    "integer",
    "verifiers",
    "how many verifiers looked at it",
    lambda source: len(source.content.record.verifiers),
)


@pytest.fixture(autouse=True)
def _with_a_column(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TABLES, "iterations", (*TABLES["iterations"], COLUMN))


@pytest.mark.usefixtures("here")
def test_is_described(da_score: DaScore) -> None:
    assert (
        "how many verifiers looked at it (verifiers)\n"
        in da_score("export", "--describe").out
    )


@pytest.mark.usefixtures("here")
def test_is_exported_and_asked(da_score: DaScore) -> None:
    rows = list(
        csv.DictReader(io.StringIO(da_score("export", "--tables", "iterations").out))
    )
    exported = [int(row["verifiers"]) for row in rows]
    assert sum(exported) > 0
    asked = da_score(
        "query", "select verifiers from iterations order by iteration", "--json"
    ).json
    assert [row["verifiers"] for row in asked] == exported


def test_is_in_the_frames(demo: Demo) -> None:
    table = frames.arrow("iterations", demo.iter_log_dir, demo.repo_dir)
    assert (
        table.schema.field("verifiers").metadata[b"meaning"]
        == b"how many verifiers looked at it"
    )
    assert (
        frames.pandas("iterations", demo.iter_log_dir, demo.repo_dir)["verifiers"].dtype
        == "Int64"
    )
