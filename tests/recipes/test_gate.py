"""The recipe "a gate": a function in one file and one line in the table, and all show it."""

import importlib
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest
from helpers.commands import DaScore

from scoring.cli import check
from scoring.examine import ExaminedIteration
from scoring.views.gates import GATES
from scoring.views.gates.gate import Gate, GateOption


def _few_signals(least: float, one: ExaminedIteration) -> Iterator[str]:
    """The file: so many signals are present."""
    coverage = one.score.coverage
    if coverage.present < least * coverage.total:
        yield f"only {coverage.present} of {coverage.total} signals are present"


MIN_SIGNALS = Gate(
    (GateOption("min-signals", "So many of the signals are present.", "X", "share"),),
    _few_signals,
)


@pytest.fixture(autouse=True)
def _with_a_gate() -> Iterator[None]:
    """The line, and the command as a new process would load it."""
    GATES.append(MIN_SIGNALS)
    importlib.reload(check)
    yield
    GATES.remove(MIN_SIGNALS)
    importlib.reload(check)


@pytest.mark.usefixtures("here")
def test_is_in_the_help_and_holds(da_score: DaScore) -> None:
    lines = da_score("check", "--help").out.splitlines()
    assert any(line.split()[:2] == ["--min-signals", "X"] for line in lines)
    assert (
        da_score("check", "--min-signals", "0.1", "--json").json["gates"]["min_signals"]
        == 0.1
    )
    assert (
        da_score("check", "--min-score", "0", "--json").json["gates"]["min_signals"]
        is None
    )


@pytest.mark.usefixtures("here")
def test_fails_everywhere(
    da_score: DaScore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary"))
    outputs = ("--junit", tmp_path / "j.xml", "--github-summary")
    found = da_score("check", "--min-signals", "0.6", *outputs)
    assert found.status == 3
    assert (
        "FAIL  iteration 2: min-signals: only 2 of 7 signals are present\n" in found.out
    )
    failures = ElementTree.parse(tmp_path / "j.xml").findall(".//failure")
    assert {failure.get("type") for failure in failures} == {"min-signals"}
    assert (
        "| 2 | min-signals | only 2 of 7 signals are present |"
        in (tmp_path / "summary").read_text()
    )
