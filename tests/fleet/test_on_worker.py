"""What one repository becomes: the same scores as backfill gives, as facts and not as text."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from helpers.fleets import (
    FLEET,
    archive_of,
    make_fleet,
    ordered,
    rows_of,
    score_here,
    tar_of,
    write_fleet,
)
from helpers.repos import Repo

from rubric import find_rubric
from scoring.demo import build_demo
from scoring.examine import LogView
from scoring.fleet.fleet_toml import read_fleet
from scoring.fleet.on_worker import score_repository
from scoring.fleet.sources import repositories
from scoring.fleet.tables import FLEET_TABLES
from scoring.log.settings import DEFAULT_LOG_DIR
from scoring.outcomes.outcome_rules import OutcomeRules
from scoring.views.columns import TABLES, table_rows

pytest.importorskip("fsspec", reason="the extra 'fleet' is not installed")


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    return make_fleet(tmp_path, 1)


def tables_of_log(root: Path, rubric: str) -> dict[str, list[dict[str, Any]]]:
    """Return the tables of one log, as export has them."""
    log = root / "repo" / DEFAULT_LOG_DIR
    view = LogView(
        log,
        root / "repo",
        (root / "transcripts",),
        find_rubric(rubric),
        outcomes=OutcomeRules(),
    )
    found: dict[str, list[dict[str, Any]]] = {}
    for table, row in table_rows(log, view.rubric, view.examine()):
        found.setdefault(table, []).append(row)
    return found


@pytest.mark.sampled(3)
@pytest.mark.parametrize("rubric", ["2.0.2", "3.0.0", "3.1.0"])
def test_the_rows_are_those_of_export(fleet: Path, rubric: str) -> None:
    score_here(fleet, rubric)
    expected = tables_of_log(fleet.parent / "repos/r0", rubric)
    for table in ("iterations", "signals", "integrity"):
        got = rows_of(fleet, table)
        assert len(got) == len(expected[table]) > 0
        shared = {c.name for c in TABLES[table]} & {c.name for c in FLEET_TABLES[table]}
        for mine, theirs in zip(got, ordered(expected[table]), strict=True):
            assert {name: mine[name] for name in shared} == {
                name: theirs[name] for name in shared
            }


@pytest.mark.parametrize("source", ["repos/*/repo", "repos", "repos/r0/repo"])
def test_of_a_clone_without_a_log_the_work_counts(tmp_path: Path, source: str) -> None:
    fleet = make_fleet(tmp_path, 1, FLEET.replace("repos/*/repo", source))
    score_here(fleet)
    with_log = rows_of(fleet, "work")
    shutil.rmtree(tmp_path / "repos/r0/repo" / DEFAULT_LOG_DIR)
    shutil.rmtree(tmp_path / "results")

    (result,) = score_here(fleet)
    assert not result.error
    assert (result.state.scored, result.state.iterations) == (True, 0)
    work = rows_of(fleet, "work")
    assert {row["iteration"] for row in work} == {None}
    assert 0 < len(work) <= len(with_log)
    assert rows_of(fleet, "iterations") == []
    assert score_here(fleet) == [], "nothing changed"


def test_of_a_clone_the_log_that_its_settings_name_counts(tmp_path: Path) -> None:
    fleet = make_fleet(tmp_path, 1)
    repository = tmp_path / "repos/r0/repo"
    (repository / DEFAULT_LOG_DIR).rename(repository / "log")
    settings = repository / ".agents/da-score.toml"
    settings.write_text(f'iter-log-dir = "log"\n{settings.read_text()}')
    (result,) = score_here(fleet)
    assert (result.error, result.state.iterations) == ("", 9)


def test_of_an_archive_without_a_log_the_work_counts(tmp_path: Path) -> None:
    archive_of(Path(make_fleet(tmp_path, 1).parent, "repos/r0"), tmp_path / "in/one")
    shutil.rmtree(tmp_path / "in/one/log")
    repository = tmp_path / "in/one"
    fleet = write_fleet(
        tmp_path, f'results = "results"\n[[source]]\nurl = "file://{repository}"\n'
    )
    (result,) = score_here(fleet)
    assert not result.error
    assert rows_of(fleet, "work")


def test_writes_nothing_into_a_source(fleet: Path) -> None:
    root = fleet.parent / "repos"
    before = {p: p.stat().st_mtime_ns for p in root.rglob("*")}
    score_here(fleet)
    assert {p: p.stat().st_mtime_ns for p in root.rglob("*")} == before


WORD = re.compile(r"[A-Za-z]{4,}")


def test_no_word_of_a_transcript_is_in_the_data_set(fleet: Path) -> None:
    """Words that da-score writes itself (names of columns, bands, harnesses) may be in both."""
    root = fleet.parent / "repos/r0"
    # each text gets words of its own
    for path in (root / "transcripts").rglob("*.jsonl"):
        text = path.read_text()
        path.write_text(
            re.sub(r'"(text|content|thinking)":\s*"', r"\g<0>Zanzibar quokka ", text)
        )
    score_here(fleet)
    said = {
        w.lower()
        for p in (root / "transcripts").rglob("*.jsonl")
        for w in WORD.findall(p.read_text())
    }
    assert {"zanzibar", "quokka"} <= said
    known = {c.name for columns in FLEET_TABLES.values() for c in columns}
    entries = " ".join(
        p.read_text() for p in (root / "repo" / DEFAULT_LOG_DIR).glob("*.yaml")
    )
    own = (
        "observed claimed passed failed codex claude master main time commit subject true false"
        " window head message"
    )
    ours = {
        w.lower()
        for w in WORD.findall(" ".join([entries, *known, str(fleet), "sandbox", own]))
    }
    kept = " ".join(
        str(value)
        for table in FLEET_TABLES
        for row in rows_of(fleet, table)
        for value in row.values()
    )
    written = {word.lower() for word in WORD.findall(kept)}
    assert (written & said) - ours == set()
    files = b"".join(
        p.read_bytes()
        for p in Path(read_fleet(fleet).results).rglob("*")
        if p.is_file()
    )
    assert b"anzibar" not in files
    assert b"quokka" not in files


@pytest.mark.sampled(2)
@pytest.mark.parametrize("bare", [False, True], ids=["bundle", "bare repository"])
@pytest.mark.parametrize("packed", [False, True], ids=["folder", "archive"])
def test_an_archive_gives_the_rows_of_its_directory(
    tmp_path: Path, bare: bool, packed: bool
) -> None:
    """An archive does not have what is only in a work tree and not committed, such as artifacts."""
    seed = build_demo(tmp_path / "seed")
    folder = archive_of(seed.root, tmp_path / "archives/demo", bare)
    if packed:
        tar_of(folder, tmp_path / "archives/demo.tar.gz")
    url = f"file://{tmp_path}/archives/demo{'.tar.gz' if packed else ''}"
    path = write_fleet(
        tmp_path, f'results = "results"\nrubric = "3.1.0"\n[[source]]\nurl = "{url}"\n'
    )
    (result,) = score_here(path)
    assert not result.error
    rows = rows_of(path, "iterations")
    subprocess.run(
        ["git", "clone", "-q", str(seed.repo_dir), str(tmp_path / "clone/repo")],
        check=True,
    )
    (tmp_path / "clone/transcripts").symlink_to(folder / "transcripts")
    (tmp_path / "clone/repo" / DEFAULT_LOG_DIR).parent.mkdir(
        parents=True, exist_ok=True
    )
    (tmp_path / "clone/repo" / DEFAULT_LOG_DIR).symlink_to(folder / "log")
    expected = tables_of_log(tmp_path / "clone", "3.1.0")["iterations"]
    names = (
        "iteration",
        "score",
        "band",
        "weight_present",
        "input_tokens",
        "ran_tests",
    )
    assert [[row[n] for n in names] for row in rows] == [
        [row[n] for n in names] for row in expected
    ]
    assert {row["repository"] for row in rows} == {url}


def test_a_broken_log_is_a_reason_and_no_crash(fleet: Path) -> None:
    log = fleet.parent / "repos/r0/repo" / DEFAULT_LOG_DIR
    (log / "iter-3.yaml").write_text("iteration: [1\n")
    (result,) = score_here(fleet, "2.2.0")
    assert "iter-3.yaml" in result.error
    (result,) = score_here(fleet, "3.0.0")
    assert (result.error, result.state.iterations, result.state.broken) == ("", 8, 1)


@pytest.mark.parametrize(
    ("lost", "reason"),
    [
        (".", "No such file or directory"),
        (".git", "not a git work tree"),
        (str(DEFAULT_LOG_DIR), ""),
    ],
    ids=["all of it", "its history", "only its log"],
)
def test_what_is_lost_before_its_turn_has_no_rows(
    fleet: Path, lost: str, reason: str
) -> None:
    config = read_fleet(fleet)
    (repository,) = repositories(config)
    shutil.rmtree(Path(repository.name, lost))
    result = score_repository(repository, config, find_rubric(config.rubric))
    assert reason in result.error
    assert bool(result.tables) is not bool(reason)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (PermissionError(13, "Permission denied", "/a"), "/a: permission denied"),
        (ValueError("b"), "internal error, please report it: ValueError: b"),
    ],
    ids=["the system", "a bug"],
)
def test_what_the_system_refuses_is_not_called_a_bug(
    fleet: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, said: str
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr("scoring.fleet.on_worker.backfill_log", fail)
    (result,) = score_here(fleet)
    assert result.error == said


def test_a_shallow_clone_is_said_to_be_cut(fleet: Path) -> None:
    (result,) = score_here(fleet)
    assert "shallow" not in result.state.warnings
    repo = fleet.parent / "repos/r0/repo"
    tip = subprocess.run(
        ["git", "rev-parse", "HEAD"],
        cwd=repo,
        check=True,
        capture_output=True,
        text=True,
    )
    (repo / ".git/shallow").write_text(tip.stdout)
    (result,) = score_here(fleet)
    assert "this is a shallow clone, and history is cut" in result.state.warnings


def test_a_missing_blob_is_said_and_the_rest_is_scored(fleet: Path) -> None:
    """As in a partial clone without its remote."""
    repo = Repo.at(fleet.parent / "repos/r0/repo")
    (pack,) = (repo.path / ".git/objects/pack").glob("*.pack")
    packed = pack.rename(fleet.parent / "all.pack").read_bytes()
    for rest in pack.parent.iterdir():
        rest.unlink()
    subprocess.run(
        ["git", "unpack-objects", "-q"], cwd=repo.path, input=packed, check=True
    )

    repo.lose("HEAD:shortlink/stats.py")
    (result,) = score_here(fleet)
    assert (result.error, result.state.iterations) == ("", 9)
    (warning,) = result.state.warnings.split("\n")
    assert re.match(
        "lines of [0-9a-f]{12} cannot be read, so they are not known: ", warning
    )
