"""The data set: whatever ends in the middle, a row is there once or not at all."""

import html
import json
import os
import shutil
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from helpers import tables
from helpers.commands import DaScore
from helpers.fleets import FLEET, failed, make_fleet, opened, rows_of, score_here
from helpers.repos import Repo

from scoring.errors import FleetError, InputError, WriteError
from scoring.fleet.dataset import DataSet, RepositoryState, where_of
from scoring.fleet.fleet_toml import read_fleet
from scoring.fleet.storage import one_line, results_at
from scoring.fleet.tables import FLEET_TABLES, partitioned_schema
from scoring.log.settings import DEFAULT_LOG_DIR

pa = pytest.importorskip("pyarrow", reason="the extra 'fleet' is not installed")
pytest.importorskip("deltalake", reason="the extra 'fleet' is not installed")


LOG = f"repo/{DEFAULT_LOG_DIR}"


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    return make_fleet(tmp_path, 2)


def each_once(fleet: Path, rows: int) -> None:
    for table in ("iterations", "kept"):
        found = Counter(
            (row["repository"], row["iteration"]) for row in rows_of(fleet, table)
        )
        assert set(found.values()) == {1}
        assert len(found) == rows


CHANGES = {
    "an entry": f"{LOG}/iter-3.yaml",
    "a new transcript": "transcripts/claude/new.jsonl",
    "an artifact": "repo/.agents/active/verification/redirect/unit.result.yaml",
    "a sidecar, which counts where the evidence is gone": f"{LOG}/iter-3.score.yaml",
    "its provenance": f"{LOG}/iter-3.evidence.yaml",
    "a ref": "repo/.git/refs/heads/another",
    "a ref that is kept in a table": "repo/.git/reftable/tables.list",
    "the settings": "repo/.agents/da-score.toml",
}
UNCHANGED = {
    "the sidecar of a session": f"{LOG}/session-1.score.yaml",
    "a temporary file": f"{LOG}/.da-score-1-00.tmp",
    "a file that no entry names": "repo/notes.txt",
}


def edit(root: Path, place: str) -> None:
    """Append a comment to a file, or make it; a ref becomes one."""
    if "/refs/" in place:
        Repo.at(root / "repo").git("branch", Path(place).name)
        return
    (root / place).parent.mkdir(parents=True, exist_ok=True)
    with open(root / place, "a") as f:
        f.write("\n# edited\n")


@pytest.mark.parametrize("what", [*CHANGES, *UNCHANGED])
@pytest.mark.slow
def test_what_a_score_rests_on_is_scored_anew_when_it_changed_and_its_old_rows_go(
    fleet: Path, what: str
) -> None:
    score_here(fleet)
    edit(fleet.parent / "repos/r1", (CHANGES | UNCHANGED)[what])
    results = score_here(fleet)
    assert [Path(one.state.repository).parent.name for one in results] == (
        ["r1"] if what in CHANGES else []
    )
    each_once(fleet, 18)


@pytest.mark.parametrize(
    "place",
    ["repo/.git/refs/heads/another", "repo/.git/worktrees/repo/reftable/tables.list"],
)
def test_a_ref_that_moves_is_seen_from_a_linked_work_tree(
    tmp_path: Path, place: str
) -> None:
    fleet = make_fleet(tmp_path, 1, FLEET.replace("repos/*/repo", "linked/repo"))
    Repo.at(tmp_path / "repos/r0/repo").git(
        "worktree", "add", "-q", "--detach", str(tmp_path / "linked/repo")
    )
    shutil.copytree(
        tmp_path / "repos/r0" / LOG, tmp_path / "linked" / LOG, dirs_exist_ok=True
    )
    assert [len(score_here(fleet)) for _ in range(2)] == [1, 0]
    edit(tmp_path / "repos/r0", place)
    assert len(score_here(fleet)) == 1


def test_rows_without_what_is_known_of_their_repository_do_not_count_and_are_undone(
    fleet: Path, monkeypatch: pytest.MonkeyPatch, da_score: DaScore
) -> None:
    """As after a fleet that was killed between two commits, or for which the disk was full."""
    score_here(fleet)
    before = {table: rows_of(fleet, table) for table in FLEET_TABLES}
    edit(fleet.parent / "repos/r1", CHANGES["an entry"])

    def full(*_: object) -> None:
        raise WriteError("no space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(DataSet, "note", full)
        with pytest.raises(WriteError):
            score_here(fleet)
    after: Any = opened(fleet)
    assert after._tables["kept"].version() > after._counting_versions["kept"]
    assert {table: rows_of(fleet, table) for table in FLEET_TABLES} == before
    count = da_score(
        "query", "--fleet", str(fleet), "select count(*) n from iterations", "--json"
    )
    assert count.json == [{"n": 18}]
    with DataSet.for_writing(str(fleet.parent / "results")) as dataset:
        assert {table: rows_of(fleet, table) for table in FLEET_TABLES} == before
        writes: Any = dataset
        assert {
            n: t.version() for n, t in writes._tables.items() if n in FLEET_TABLES
        } == writes._counting_versions
    (result,) = score_here(fleet)
    assert result.state.repository.endswith("r1/repo")
    each_once(fleet, 18)


def rows(names: list[str], iterations: int = 2) -> Any:
    made = [
        {"repository": name, "iteration": n, "rubric": "3.1.0", "month": "2026-01"}
        for name in names
        for n in range(iterations)
    ]
    return pa.Table.from_pylist(made, schema=partitioned_schema("iterations"))


def add(dataset: DataSet, *names: str) -> None:
    states = [RepositoryState("3.1.0", name, True, iterations=2) for name in names]
    dataset.put({"iterations": rows(list(names))}, where_of("3.1.0", list(names)))
    dataset.note(states)


def count(folder: Path) -> Counter[str]:
    found = DataSet(str(folder)).rows("iterations").to_table(["repository"])
    return Counter(found.column("repository").to_pylist())


def test_of_two_that_write_the_first_goes_on_and_no_row_is_there_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where there is no lock, as in an object store, the second finds the commits of the first."""
    monkeypatch.setattr("fcntl.flock", lambda *_: None)
    with (
        DataSet.for_writing(str(tmp_path)) as first,
        DataSet.for_writing(str(tmp_path)) as second,
    ):
        add(first, "a", "b")
        with pytest.raises(
            FleetError, match="another fleet has written here meanwhile"
        ) as e:
            add(second, "b", "c")
        assert "\n" not in str(e.value)
        with pytest.raises(FleetError):
            second.tidy()
        add(first, "b", "d")
        first.tidy()
    assert count(tmp_path) == {"a": 2, "b": 2, "d": 2}


def test_one_that_starts_while_another_is_between_two_commits_ends_that_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fcntl.flock", lambda *_: None)
    with DataSet.for_writing(str(tmp_path)) as first:
        first.put({"iterations": rows(["a"])})
        with DataSet.for_writing(str(tmp_path)) as second:
            with pytest.raises(FleetError):
                first.note([RepositoryState("3.1.0", "a", True, iterations=2)])
            add(second, "a")
    assert count(tmp_path) == {"a": 2}


def test_a_second_one_on_this_machine_is_refused_until_the_first_has_ended(
    tmp_path: Path,
) -> None:
    first, second, third = (DataSet.for_writing(str(tmp_path)) for _ in range(3))
    with (
        first,
        pytest.raises(FleetError, match="another fleet writes here") as e,
        second,
    ):
        pass
    assert "\n" not in str(e.value)
    with third:
        pass


def test_names_are_no_sql(tmp_path: Path) -> None:
    names = [
        "it's",
        "x') OR (1=1",
        "back\\slash",
        "two\nlines",
        "--",
        "ü\u2028",
        "a%'_",
    ]
    with DataSet.for_writing(str(tmp_path)) as dataset:
        add(dataset, "other", *names)
        for name in names:
            add(dataset, name)
    assert count(tmp_path) == dict.fromkeys([*names, "other"], 2)
    assert set(DataSet(str(tmp_path)).of("3.1.0")) == {*names, "other"}


def test_small_files_are_joined_and_old_ones_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scoring.fleet.dataset._FILES_TOGETHER", 3)
    with DataSet.for_writing(str(tmp_path)) as dataset:
        for number in range(6):
            add(dataset, f"r{number}")
        there = set((tmp_path / "iterations").rglob("*.parquet"))
        dataset.tidy()
        joined = set((tmp_path / "iterations").rglob("part-*.parquet")) - there
        assert len(joined) == 1
        assert there < set((tmp_path / "iterations").rglob("*.parquet")), (
            "readers that began before may need them"
        )
        monkeypatch.setattr("scoring.fleet.dataset._KEPT_HOURS", 0)
        time.sleep(0.01)
        dataset.tidy()
        assert set((tmp_path / "iterations/rubric=3.1.0").rglob("*.parquet")) == joined
    assert count(tmp_path) == {f"r{number}": 2 for number in range(6)}


def test_a_table_without_columns_of_today_has_them_as_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    schema = partitioned_schema("iterations")
    old = pa.schema([field for field in schema if field.name != "band"])
    schemas = {"iterations": old}
    with monkeypatch.context() as patched:
        patched.setattr(
            "scoring.fleet.dataset.partitioned_schema",
            lambda name: schemas.get(name, schema),
        )
        with DataSet.for_writing(str(tmp_path)) as dataset:
            dataset.put({"iterations": rows(["a"]).drop_columns(["band"])})
            dataset.note([RepositoryState("3.1.0", "a", True)])
    with DataSet.for_writing(str(tmp_path)) as dataset:
        assert dataset.rows("iterations").schema.names == schema.names
        dataset.put({"iterations": rows(["b"])})
        dataset.note([RepositoryState("3.1.0", "b", True)])
    assert DataSet(str(tmp_path)).rows("iterations").to_table(["band"]).num_rows == 4


def test_rows_are_added_to_a_table_whose_columns_were_described_otherwise(
    tmp_path: Path,
) -> None:
    described = pa.schema(
        [
            field.with_metadata({"meaning": f"an older text about {field.name}"})
            for field in partitioned_schema("iterations")
        ]
    )
    with DataSet.for_writing(str(tmp_path)) as dataset:
        dataset.put({"iterations": rows(["a"]).cast(described)})
        dataset.note([RepositoryState("3.1.0", "a", True)])
        add(dataset, "b")
    assert count(tmp_path) == {"a": 2, "b": 2}


def test_what_is_no_delta_table_is_one_line(fleet: Path, da_score: DaScore) -> None:
    score_here(fleet)
    for path in (fleet.parent / "results/repositories/_delta_log").iterdir():
        path.write_text("{")
    found = da_score("fleet", "status", str(fleet))
    assert (found.status, len(found.err.splitlines())) == (1, 1)


def test_a_disk_that_is_full_is_one_error(
    fleet: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    score_here(fleet)
    edit(fleet.parent / "repos/r1", CHANGES["an entry"])

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("deltalake.write_deltalake", full)
        with pytest.raises(WriteError, match="No space left"):
            score_here(fleet)
    each_once(fleet, 18)


@pytest.mark.parametrize(
    ("url", "options", "uri", "expected"), tables.cases("dataset", "options")
)
def test_options_of_sources_are_those_of_results(
    url: str, options: dict[str, Any], uri: str, expected: dict[str, str]
) -> None:
    assert results_at(url, {url.partition(":")[0]: options})[:2] == (uri, expected)


@pytest.mark.parametrize("url", ["sftp://host/x", "memory://x", "/srv/100%25"])
def test_results_that_cannot_be_there_are_refused(url: str) -> None:
    with pytest.raises(InputError, match="results"):
        DataSet(url)


def test_a_repository_that_fails_keeps_its_rows_and_is_tried_again(fleet: Path) -> None:
    score_here(fleet)
    name = str(fleet.parent / "repos/r0/repo")
    failed(fleet, name)
    each_once(fleet, 18)
    assert opened(fleet).of("3.1.0")[name].reason == "it fails"
    assert len(score_here(fleet)) == 1
    each_once(fleet, 18)
    assert {state.reason for state in opened(fleet).of("3.1.0").values()} == {""}


class TestCommands:
    def test_query_asks_the_rows(self, fleet: Path, da_score: DaScore) -> None:
        score_here(fleet)
        where = str(fleet.parent / "results")
        sql = (
            "select count(*) n, count(distinct repository) r, min(rubric) v, min(month) m"
            " from iterations"
        )
        found = da_score("query", "--fleet", where, sql, "--json")
        assert found.json == [{"n": 18, "r": 2, "v": "3.1.0", "m": "2026-03"}]
        for table in ("signals", "integrity", "outcomes", "provenance"):
            assert da_score(
                "query",
                "--fleet",
                str(fleet),
                f"select count(*) n from {table}",
                "--json",
            ).json[0]["n"]

    @pytest.mark.sampled(2)
    @pytest.mark.parametrize(
        "sql",
        [
            "select * from read_csv('/etc/passwd')",
            "select * from repositories",
            "select",
        ],
    )
    def test_query_reads_nothing_else(
        self, fleet: Path, da_score: DaScore, sql: str
    ) -> None:
        score_here(fleet)
        found = da_score("query", "--fleet", str(fleet), sql)
        assert found.status == 1
        assert "Traceback" not in found.err

    def test_status_counts_and_lists(self, fleet: Path, da_score: DaScore) -> None:
        score_here(fleet)
        failed(fleet, "/gone")
        found = da_score("fleet", "status", str(fleet), "--json").json["rubrics"]
        gone = [{"repository": "/gone", "attempts": 3, "reason": "it fails"}]
        assert found == [
            {
                "rubric": "3.1.0",
                "repositories": 2,
                "iterations": 18,
                "broken_entries": 0,
                "failed": gone,
            }
        ]
        assert "it fails" in da_score("fleet", "status", str(fleet)).out

    def test_init_writes_one_that_can_be_read(
        self, tmp_path: Path, da_score: DaScore
    ) -> None:
        path = tmp_path / "FLEET.toml"
        assert da_score("fleet", "init", str(path)).status == 0
        assert read_fleet(path).sources[0].paths == (str(tmp_path / "repositories/*"),)
        again = da_score("fleet", "init", str(path))
        assert again.status == 1
        assert "already" in again.err

    def test_a_second_start_does_nothing(self, fleet: Path, da_score: DaScore) -> None:
        score_here(fleet)
        begun, ended = map(
            json.loads, da_score("fleet", str(fleet), "--json").out.splitlines()
        )
        assert (begun["event"], begun["to_score"]) == ("begun", 0)
        assert (ended["event"], ended["skipped"], ended["scored"]) == ("ended", 2, 0)

    @pytest.mark.parametrize("source", ["repos/*/repo", "repos/r0/repo"])
    def test_repositories_that_no_source_names_any_more_are_counted(
        self, fleet: Path, da_score: DaScore, source: str
    ) -> None:
        score_here(fleet)
        fleet.write_text(fleet.read_text().replace("repos/*/repo", source))
        gone = 1 if "r0" in source else 0
        assert ("in no source  1, whose rows" in da_score("fleet", fleet).out) == gone
        *_, ended = map(json.loads, da_score("fleet", fleet, "--json").out.splitlines())
        assert ended["in_no_source"] == gone


def test_a_report_shows_the_work_of_all_repositories(
    fleet: Path, da_score: DaScore
) -> None:
    score_here(fleet)
    out = fleet.parent / "fleet.html"
    found = da_score("report", "--fleet", fleet, "--out", out, "--json").json
    rows = rows_of(fleet, "work")
    landed = sum(row["state"] == "landed" for row in rows)
    assert found["work"]["landed"] == landed > 0
    page = out.read_text()
    assert f"<b>{landed}</b> of {found['work']['units']} units of work landed" in page
    assert "<h3>By repository</h3>" in page
    assert 'id="month-2026-03"' in page
    assert "mean anything" not in page
    shown = da_score("report", "--fleet", fleet, "--terminal").out
    assert "Evidence score" not in shown
    assert str(found["work"]["units"]) in shown
    assert "0 days" not in shown
    for text in (shown, page):
        assert (
            "'da-score work' in each repository says what to look at"
            in html.unescape(text)
        )
    refused = da_score("report", "--fleet", fleet, "--last", "2", "--out", out)
    assert (refused.status, "not of a fleet" in refused.err) == (2, True)


@pytest.mark.parametrize("is_answered", [True, False])
def test_a_report_says_of_how_much_work_git_could_not_tell_whether_it_stayed(
    fleet: Path,
    da_score: DaScore,
    monkeypatch: pytest.MonkeyPatch,
    is_answered: bool,
) -> None:
    if not is_answered:
        monkeypatch.setattr("scoring.evidence.git.limits.SECONDS_TO_LOSE", -1)
    score_here(fleet)
    shown = da_score("report", "--fleet", fleet, "--terminal").out
    page = da_score("report", "--fleet", fleet, "--out", "-").out
    for text in (shown, page):
        assert ("git could not tell whether" in text) is not is_answered


def test_a_process_that_read_a_data_set_ends_in_peace(fleet: Path) -> None:
    """Arrow's threads aborted three of four such processes after their last line."""
    score_here(fleet)
    program = (
        "import sys; from scoring.fleet.dataset import DataSet; DataSet(sys.argv[1])"
    )
    for _ in range(4):
        done = subprocess.run([sys.executable, "-c", program, opened(fleet).url])
        assert done.returncode == 0


@pytest.mark.parametrize(
    ("asked", "url", "expected"),
    [
        pytest.param("", "s3://bucket/scores", "off", id="quiet in a store"),
        pytest.param("debug", "s3://bucket/scores", "debug", id="as a user asks"),
        pytest.param("", "/scores", None, id="a folder"),
    ],
)
def test_delta_rs_logs_only_where_a_user_asks(
    monkeypatch: pytest.MonkeyPatch, asked: str, url: str, expected: str | None
) -> None:
    monkeypatch.setenv("RUST_LOG", asked)
    if not asked:
        monkeypatch.delenv("RUST_LOG")
    results_at(url, {})
    assert os.environ.get("RUST_LOG") == expected


@pytest.mark.parametrize(
    ("text", "line"),
    [
        pytest.param("no \x1b[31m↳\x1b[0m key", "no ↳ key", id="colors"),
        pytest.param("a\n [31m b", "a [31m b", id="no colors"),
        pytest.param("", "OSError", id="no text"),
    ],
)
def test_an_error_of_another_library_is_one_line_without_colors(
    text: str, line: str
) -> None:
    assert one_line(OSError(text)) == line
