"""Going through a log takes little more memory than its entries, by ratios and not by sizes."""

import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from rubric import default_rubric
from scoring.demo import Demo
from scoring.examine import ExaminedIteration, LogView
from scoring.log.load import load_iteration_log
from scoring.views.columns import TABLES, table_rows
from scoring.views.formats import write_directory

FEW, MANY = 40, 240


def peak(action: Callable[[], object]) -> int:
    """The most memory, in bytes, that something takes beyond what was there before.

    The least of two times counts: now and then Python makes its table of interned texts larger.
    """
    action()  # what is loaded and cached once does not count
    return min(_traced(action), _traced(action))


def _traced(action: Callable[[], object]) -> int:
    tracemalloc.start()
    try:
        action()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.fixture
def logs(demo: Demo, tmp_path: Path) -> dict[int, Path]:
    """Logs of few and of many iterations, all alike."""
    text = (demo.iter_log_dir / "iter-5.yaml").read_text()
    found = {}
    for count in (FEW, MANY):
        found[count] = tmp_path / f"log-{count}"
        found[count].mkdir()
        for n in range(count):
            entry = text.replace("iteration: 5", f"iteration: {n}")
            (found[count] / f"iter-{n}.yaml").write_text(entry)
    return found


def growth(logs: dict[int, Path], action: Callable[[Path], object]) -> float:
    """Return how much faster the memory of an action grows than that of reading the entries."""

    def slope(action: Callable[[Path], object]) -> int:
        return peak(lambda: action(logs[MANY])) - peak(lambda: action(logs[FEW]))

    return slope(action) / slope(load_iteration_log)


def everything(log: Path, demo: Demo) -> list[ExaminedIteration]:
    return list(LogView(log, demo.repo_dir).examine())


@pytest.mark.slow
def test_export_holds_no_rows(
    logs: dict[int, Path], demo: Demo, tmp_path: Path
) -> None:
    def export(log: Path) -> None:
        rows = table_rows(log, default_rubric(), LogView(log, demo.repo_dir).examine())
        write_directory(
            rows,
            tuple(name for name in TABLES if name != "work"),
            "csv",
            tmp_path / "out",
        )

    what_is_held_shows = growth(logs, lambda log: everything(log, demo))
    assert growth(logs, export) < 3 < what_is_held_shows
