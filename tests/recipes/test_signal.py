"""The recipe "a signal": its file, its line in the table and its weight make everything show it."""

import contextlib
import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from helpers.commands import DaScore

from rubric import SignalID, released_rubric
from scoring.demo import Demo
from scoring.evidence.facts import IterationFacts
from scoring.log.places import EntryPlaces
from scoring.signals import table
from scoring.signals.signal import Pair, Signal
from scoring.signals.values import ROLE_IMPL, SignalValue, absent_signal, present_signal
from scoring.store import NAME


class Brevity(Signal):
    """A toy: how few files the entry says it changed."""

    id = SignalID("brevity")
    better = "the iteration changes fewer files"
    supply = "write files_changed into the entry"

    def value(self, facts: IterationFacts) -> SignalValue:
        files = facts.record.files_changed
        if not files:
            return absent_signal(
                f"iter-{facts.record.iteration} counts no files",
                "iter-N counts no files",
            )
        return present_signal(1 / files, f"{files} files")

    def pairs(self, facts: IterationFacts) -> Iterator[Pair]:
        yield Pair(ROLE_IMPL, present_signal(1, "always brief"), self.value(facts))

    def sources(
        self,
        facts: IterationFacts,
        entry: EntryPlaces,  # noqa: ARG002
    ) -> Iterator[str]:
        yield f"a toy of iteration {facts.record.iteration}"

    def files(self, iteration: int) -> Iterator[str]:
        yield f"iter-{iteration}.brevity"


@pytest.fixture
def rubric(here: Demo, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """A rubric with the toy, under whose name the signal is in the table."""
    monkeypatch.setattr(table, "SIGNALS", (*table.SIGNALS, Brevity()))
    monkeypatch.setenv(
        "DA_SCORE_TRANSCRIPT_DIR", ":".join(map(str, here.transcript_dirs))
    )
    kept = released_rubric("2.1.0")
    signals = [
        {
            "id": str(s.id),
            "label": s.label,
            "weight": s.weight / 2,
            "description": s.description,
            "two_way": s.two_way,
        }
        for s in kept.signals
    ]
    signals.append(
        {
            "id": "brevity",
            "label": "Brevity",
            "weight": 0.5,
            "description": "A toy.",
            "two_way": True,
        }
    )
    bands = [{"name": band.name, "min": band.min} for band in kept.bands]
    path = tmp_path / "toy.yaml"
    content = {
        "version": "toy",
        "combination": str(kept.combination),
        "signals": signals,
        "bands": bands,
    }
    path.write_text(yaml.safe_dump(content))
    for iteration, count in ((5, 4), (6, 0)):
        entry = here.iter_log_dir / f"iter-{iteration}.yaml"
        entry.write_text(
            yaml.safe_dump(yaml.safe_load(entry.read_text()) | {"files_changed": count})
        )
    return str(path)


def test_votes_in_a_run_and_is_among_the_signals(
    da_score: DaScore, rubric: str
) -> None:
    rows = {
        one["iteration"]: one["breakdown"][-1]
        for one in da_score("run", "--json", "--rubric", rubric).json["iterations"]
    }
    assert (rows[5]["signal"], rows[5]["sub_score"], rows[5]["detail"]) == (
        "brevity",
        0.25,
        "4 files",
    )
    assert (rows[6]["present"], rows[6]["detail"]) == (False, "iter-6 counts no files")
    found = {
        one["iteration"]: one for one in da_score("signals", "--rubric", rubric).json
    }
    assert found[5]["signals"]["brevity"]["sub_score"] == 0.25
    assert found[5]["integrity"][-1]["signal"] == "brevity"
    assert (
        "brevity" in da_score("iteration", "5", "--recompute", "--rubric", rubric).out
    )


def test_is_explained(da_score: DaScore, rubric: str) -> None:
    shown = da_score("explain", "5", "--rubric", rubric).out
    assert "a toy of iteration 5" in shown
    assert "the iteration changes fewer files" in shown
    assert (
        "write files_changed into the entry"
        in da_score("explain", "6", "--rubric", rubric).out
    )


def test_is_in_what_the_doctor_finds(da_score: DaScore, rubric: str) -> None:
    found = da_score("doctor", "--json", "--rubric", rubric)
    (seen,) = (
        signal
        for signal in json.loads(found.out)["signals"]
        if signal["signal"] == "brevity"
    )
    assert seen["present"] < seen["iterations"]
    assert "iter-N counts no files" in found.out
    assert "write files_changed into the entry" in found.out


def test_is_in_the_report_the_check_and_the_tables(
    da_score: DaScore, rubric: str, tmp_path: Path
) -> None:
    page = tmp_path / "report.html"
    assert da_score("report", "--out", page, "--rubric", rubric).status == 0
    assert "Brevity" in page.read_text()
    checked = da_score(
        "check", "--min-score", "0.99", "--no-over-claims", "--rubric", rubric
    )
    assert checked.status == 3
    assert "over-claimed brevity" in checked.out + checked.err
    exported = da_score(
        "export", "--format", "jsonl", "--tables", "signals", "--rubric", rubric
    ).out
    rows = [json.loads(line) for line in exported.splitlines()]
    assert {
        row["iteration"]
        for row in rows
        if row["signal"] == "brevity" and row["present"]
    } >= {5}
    pairs = da_score(
        "export", "--format", "jsonl", "--tables", "integrity", "--rubric", rubric
    ).out
    assert "always brief" in pairs


def test_a_change_of_its_file_is_seen_by_the_batch_job(
    da_score: DaScore, rubric: str, here: Demo, tmp_path: Path
) -> None:
    arguments = (
        "backfill",
        ".",
        "--rubric",
        rubric,
        "--cache-dir",
        tmp_path / "cache",
        "--dry-run",
        "--json",
    )
    da_score(*(a for a in arguments if a != "--dry-run"))
    assert da_score(*arguments).json["logs"][0]["scored"] == []
    before = kept(tmp_path / "cache")
    (here.iter_log_dir / "iter-5.brevity").write_text("x")
    da_score(*(a for a in arguments if a != "--dry-run"))
    assert kept(tmp_path / "cache") != before


def kept(cache_dir: Path) -> list[object]:
    """Return the stamps that the store has."""
    with contextlib.closing(sqlite3.connect(cache_dir / NAME)) as connection:
        return connection.execute(
            "SELECT key, value FROM kept WHERE kind = 'stamp' ORDER BY key"
        ).fetchall()
