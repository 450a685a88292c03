"""Scores made of what is kept: to the bit those of the scorer, and refused where evidence is read otherwise."""

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from helpers.commands import DaScore
from helpers.fleets import make_fleet, opened, rows_of, score_here

from rubric import Rubric, ScoreBand, find_rubric, rubric_versions
from rubric.scorer import bounds_of, coverage_of
from scoring.errors import FleetError
from scoring.fleet.bulk import score_in_bulk
from scoring.fleet.fleet_toml import read_config
from scoring.fleet.rescore import rescore
from scoring.fleet.tables import CLAIMS, FLEET_TABLES, SEEN, how, how_column, kept_column
from scoring.log.settings import DEFAULT_LOG_DIR
from scoring.signals.table import SIGNALS
from scoring.signals.values import IterationObjectives, SignalSet, SignalValue, absent_signal
from scoring.views.formats import arrow_schema

pa = pytest.importorskip("pyarrow", reason="the extra 'fleet' is not installed")


def some_value(rng: random.Random) -> SignalValue:
    if rng.random() < 0.4:
        return SignalValue(False, applicable=rng.random() < 0.8)
    sub_score = rng.choice([0.0, 1.0, rng.random(), round(rng.random(), 2), 1 / 3])
    source = rng.choice(["observed", "claimed"])
    return SignalValue(True, sub_score, source=source, cap=rng.choice(["", "", "fair", "nonsense"]))  # type: ignore[arg-type]


def some_sets(count: int, way: str) -> tuple[Any, list[SignalSet]]:
    rng = random.Random(7)
    rows, sets = [], []
    nothing = IterationObjectives(*[absent_signal("")] * 3)
    for number in range(count):
        calls = rng.choice([None, 0, 3])
        row: dict[str, Any] = {"repository": "r", "iteration": number, "tool_calls_seen": calls}
        values = {}
        for signal in SIGNALS:
            for one in (CLAIMS, SEEN):
                value = some_value(rng)
                row[kept_column(signal.id, one)] = value.sub_score if value.present else None
                row[how_column(signal.id, one)] = how(value)
                if one == way:
                    values[signal.id] = value
        rows.append(row)
        sets.append(SignalSet(number, values, nothing, tool_calls=calls))
    return pa.Table.from_pylist(rows, schema=arrow_schema(FLEET_TABLES["kept"])), sets


def rubrics() -> list[Rubric]:
    found = [find_rubric(version) for version in rubric_versions()]
    bands = (ScoreBand("high", 0.6), ScoreBand("fair", 0.55), ScoreBand("low", 0))
    return [*found, replace(found[-1], version="odd", bands=bands, minimum_coverage=0.7, claims_vote=True)]


@pytest.mark.parametrize("rubric", rubrics(), ids=lambda rubric: rubric.version)
@pytest.mark.slow
def test_the_bits_are_those_of_the_scorer(rubric: Rubric) -> None:
    kept, sets = some_sets(3000, CLAIMS if rubric.claims_vote else SEEN)
    scores = score_in_bulk(kept, rubric)
    columns = {name: column.to_pylist() for name, column in scores.columns().items()}
    signals = {name: column.to_pylist() for name, column in scores.signal_columns().items()}
    width = len(rubric.signals)
    for n, readings in enumerate(sets):
        expected = rubric.score(readings)
        coverage, bounds = coverage_of(expected.breakdown), bounds_of(expected.breakdown)
        assert columns["scored"][n] == expected.scored
        assert columns["score"][n] == (expected.value if expected.scored else None)
        assert columns["band"][n] == expected.band
        present = coverage.present, coverage.total, coverage.weight
        assert tuple(columns[c][n] for c in ("signals_present", "signals_total", "weight_present")) == present
        assert (columns["bounds_low"][n], columns["bounds_high"][n]) == (bounds.low, bounds.high)
        for at, row in enumerate(expected.breakdown, n * width):
            assert signals["present"][at] == row.present
            assert signals["sub_score"][at] == (row.sub_score if row.present else None)
            assert signals["effective_weight"][at] == row.effective_weight
            assert signals["contribution"][at] == row.contribution
            assert signals["source"][at] == row.source
            assert signals["applicable"][at] == row.applicable


def variant(tmp_path: Path, version: str, **changes: str) -> str:
    text = (Path(__file__).parents[2] / f"rubric/versions/{version}.yaml").read_text()
    for old, new in {f"version: {version}": "version: 9.9.9", **changes}.items():
        assert old in text
        text = text.replace(old, new)
    path = tmp_path / "variant.yaml"
    path.write_text(text)
    return str(path)


@pytest.mark.parametrize(
    ("old", "new", "changes"),
    [
        pytest.param("2.0.2", "2.2.0", None, id="reference to reference, with deliberation"),
        pytest.param("2.2.0", "2.1.0", None, id="and back"),
        pytest.param("3.1.0", None, {"claims_vote: false": "claims_vote: true"}, id="claims that vote"),
        pytest.param("2.3.0", None, {"min: 0.85": "min: 0.95"}, id="other bands"),
        pytest.param(
            "2.3.0", None, {"evidence: corrected": "evidence: corrected\nclaims_vote: false"}, id="claims not"
        ),
    ],
)
@pytest.mark.slow
def test_kept_signals_give_what_scoring_anew_gives(
    tmp_path: Path, old: str, new: str | None, changes: dict[str, str] | None
) -> None:
    fleet = make_fleet(tmp_path, 2)
    new = new or variant(tmp_path, old, **(changes or {}))
    score_here(fleet, old)
    dataset = opened(read_config(fleet))
    done = rescore(dataset, find_rubric(new))
    assert (done.source, done.iterations, done.repositories) == (old, 18, 2)
    version = find_rubric(new).version
    mine = {table: rows_of(dataset, table, version) for table in FLEET_TABLES}
    assert score_here(fleet, new) == []  # it stands as if it had been scored
    other = make_fleet(tmp_path / "other", 2)
    other.write_text(other.read_text().replace('"repos/*/repo"', f'"{tmp_path}/repos/*/repo"'))
    assert len(score_here(other, new)) == 2
    theirs = opened(read_config(other))
    for table in FLEET_TABLES:
        assert mine[table] == rows_of(theirs, table, version), table


@pytest.mark.slow
def test_rescored_twice_the_rows_are_there_once(tmp_path: Path) -> None:
    fleet = make_fleet(tmp_path, 2)
    score_here(fleet, "2.0.2")
    dataset = opened(read_config(fleet))
    for _ in range(2):
        rescore(dataset, find_rubric("2.2.0"))
    assert len(rows_of(opened(read_config(fleet)), "iterations", "2.2.0")) == 18


def test_other_evidence_is_refused_with_what_to_do(tmp_path: Path, da_score: DaScore) -> None:
    fleet = make_fleet(tmp_path, 1)
    score_here(fleet, "2.3.0")
    found = da_score("fleet", "rescore", str(fleet), "--rubric", "3.1.0")
    assert found.status == 1
    assert "evidence corrected there and attributed here" in found.err
    assert "--rubric 3.1.0" in found.err


@pytest.mark.slow
def test_a_log_with_broken_entries_is_left_out_under_a_rubric_that_stops_at_them(tmp_path: Path) -> None:
    fleet = make_fleet(tmp_path, 2)
    (tmp_path / "repos/r0/repo" / DEFAULT_LOG_DIR / "iter-3.yaml").write_text("iteration: [1\n")
    score_here(fleet, "3.0.0")
    strict = variant(tmp_path, "3.0.0", **{"loading: lenient": "loading: strict"})
    done = rescore(opened(read_config(fleet)), find_rubric(strict))
    assert (done.iterations, done.repositories) == (9, 1)
    assert "r0" in done.left_out[0]


def test_nothing_kept_is_said(tmp_path: Path) -> None:
    fleet = make_fleet(tmp_path, 1)
    with pytest.raises(FleetError, match="no rows"):
        rescore(opened(read_config(fleet)), find_rubric("2.3.0"))
