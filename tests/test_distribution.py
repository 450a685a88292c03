"""How signals are distributed: a log of commits that name checkpoints, and a table of numbers."""

import json
from pathlib import Path

import pytest
from helpers.histories import History

from benchmarks.distribution import (
    Distribution,
    main,
    make_log,
    table,
    write_transcripts,
)


@pytest.fixture
def made(tmp_path: Path) -> History:
    """Two commits. The second names a checkpoint of a session whose last test run failed."""
    history = History(tmp_path)
    history.commit(100, "by hand")
    kept = history.session("kept", stored=False)
    kept.edit(300, 4, "src/b.py")
    kept.run(310, 5, "pytest -q", "1 failed, 2 passed in 0.1s", failed=True)
    held = history.checkpoint(1, ({"session": "kept"}, kept.lines))
    history.commit(400, 'by "its" checkpoint', held)
    return history.write()


class TestLog:
    def test_has_an_entry_for_each_commit_that_names_a_checkpoint(
        self, made: History, tmp_path: Path
    ) -> None:
        assert make_log(made.repo, tmp_path / "made") == 1
        (path,) = (tmp_path / "made").iterdir()
        entry = json.loads(path.read_text())
        assert (path.name, entry["commit"], entry["impl"]) == (
            "iter-1.yaml",
            made.shas[made.main],
            {"summary": 'by "its" checkpoint'},
        )

    def test_that_is_there_is_taken_as_it_is(
        self, made: History, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (tmp_path / "mine").mkdir()
        assert main([str(made.repo), str(tmp_path / "mine"), "--rubric", "3.1.0"]) == 0
        assert capsys.readouterr().out.splitlines()[-1] == "| bands |  |"
        assert not list((tmp_path / "mine").iterdir())


class TestTable:
    def test_has_a_row_a_signal_and_a_column_a_rubric(
        self, made: History, tmp_path: Path
    ) -> None:
        make_log(made.repo, tmp_path / "made")
        lines = list(table(made.repo, tmp_path / "made", ["2.2.0", "2.2.0+", "3.1.0"]))
        assert lines[0] == "| signal | 2.2.0 | 2.2.0, transcripts named | 3.1.0 |"
        rows = {
            cells[1]: cells[2:5] for line in lines[2:] for cells in [cells_of(line)]
        }
        zero = "1/1: 0.00 (0.00 0.00 0.00), 100 % at 0, 0 % at 1"
        assert rows["tests"] == ["0/1", "0/1", zero]
        assert rows["token_efficiency"][0] == "0/1"
        assert (
            rows["token_efficiency"][1:]
            == ["1/1: 0.70 (0.70 0.70 0.70), 0 % at 0, 0 % at 1"] * 2
        )
        assert sorted(path.name for path in (tmp_path / "made").iterdir()) == [
            "iter-1.yaml"
        ]

    def test_names_what_checkpoints_hold(self, made: History, tmp_path: Path) -> None:
        write_transcripts(made.repo, tmp_path)
        (name,) = made.checkpoints
        lines = (tmp_path / f"{name}-0.jsonl").read_text().splitlines()
        assert [json.loads(line)["sessionId"] for line in lines] == ["kept"] * 4


def cells_of(line: str) -> list[str]:
    return [cell.strip() for cell in line.split("|")]


@pytest.mark.parametrize(
    ("values", "text"),
    [
        pytest.param([], "0/9", id="present nowhere"),
        pytest.param(
            [0.5], "1/9: 0.50 (0.50 0.50 0.50), 0 % at 0, 0 % at 1", id="present once"
        ),
        pytest.param(
            [0, 0, 1, 1, 1],
            "5/9: 0.60 (0.00 1.00 1.00), 40 % at 0, 60 % at 1",
            id="at the ends",
        ),
    ],
)
def test_a_distribution_is_counts_and_quartiles(values: list[float], text: str) -> None:
    assert str(Distribution(9, values)) == text
