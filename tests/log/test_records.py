"""The iteration log: which files are entries, which one wins, and what stops the load."""

import os
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from helpers import tables
from helpers.doors import ends, make_fifo, watched_doors

from scoring.errors import LogError, YamlError
from scoring.log.load import entry_sizes, load_iteration_log
from scoring.log.model import (
    IterationRecord,
)
from scoring.log.parse import parse_iteration_record
from scoring.log.settings import DEFAULT_LOG_DIR, SETTINGS_FILE

MIB = 1 << 20
NAME_THE_LOG = "name the iteration log with --iter-log-dir, or make one with"


def write(directory: Path, name: str, text: str | bytes) -> Path:
    path = directory / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def entry(iteration: int, wave: str = "") -> str:
    return f"schema_version: 1\niteration: {iteration}\nwave: '{wave}'\n"


def loaded(directory: Path) -> dict[int, str]:
    """Return the waves of a log's records by iteration; a wave says which file a record is from."""
    return {record.iteration: record.wave for record in load_iteration_log(directory)}


def refusal(directory: Path) -> str:
    with pytest.raises(LogError) as caught:
        ends(lambda: load_iteration_log(directory))
    assert "\n" not in str(caught.value)
    return str(caught.value)


class TestNormalForm:
    @pytest.mark.parametrize(
        ("version", "line"),
        tables.cases("records", "of one schema has no fields of the other"),
    )
    def test_of_one_schema_has_no_fields_of_the_other(
        self, version: int, line: str
    ) -> None:
        text = f"schema_version: {version}\n{line}\n"
        assert parse_iteration_record(text) == IterationRecord(schema_version=version)

    def test_is_plain_data_in_the_order_of_the_contract(self) -> None:
        traces = "verifiers: [{linked_traces: [{trace_ref: a, outcome_ref: b}]}]"
        text = f"schema_version: 2\nagent: {{session_id: s, harness: h, model: m}}\n{traces}\n"
        data = parse_iteration_record(text).as_dict()
        names = (
            "schema_version iteration date wave task_id commit"
            " files_changed lines_added lines_removed first_commit"
        )
        assert list(data)[:10] == names.split()
        assert list(data)[10:] == [
            "checkpoint_at",
            "agent",
            "session_tokens",
            "impl",
            "verifiers",
            "review",
        ]
        assert data["agent"] == {"session_id": "s", "harness": "h", "model": "m"}
        assert data["verifiers"][0]["linked_traces"] == (
            {"trace_ref": "a", "outcome_ref": "b"},
        )
        assert data["impl"]["tests_total_pass"] is None


class TestSchemaVersion:
    @pytest.mark.parametrize(
        ("text", "reason"),
        [
            ("", "is missing"),
            ("iteration: 1\n", "is missing"),
            ("null\n", "is missing"),
            *((f"schema_version: {n}\n", f"{n} is not supported") for n in (0, 3, -1)),
            ("schema_version: null\n", "0 is not supported"),
        ],
    )
    def test_other_than_1_and_2_is_refused(self, text: str, reason: str) -> None:
        with pytest.raises(YamlError) as caught:
            parse_iteration_record(text)
        assert (
            str(caught.value)
            == f"schema_version {reason}; write 1 (flat) or 2 (nested)"
        )

    @pytest.mark.parametrize(
        ("text", "reason"),
        tables.cases("records", "with fields that do not fit is refused"),
    )
    def test_with_fields_that_do_not_fit_is_refused(
        self, text: str, reason: str
    ) -> None:
        with pytest.raises(YamlError) as caught:
            parse_iteration_record(text)
        assert str(caught.value).startswith(reason)


OTHERS = """
    iter-1.yml iter-1.YAML iter-1.yaml.bak iter-1.score.yaml iter-1.hook-outcomes.yaml
    iter-1.dr.json iter-.yaml iter--1.yaml iter-+1.yaml iter-1a.yaml iter-\u0661.yaml
    iter-\uff11.yaml iter-\u00b2.yaml x-iter-1.yaml Iter-1.yaml iter_1.yaml
    session-iter-1.score.yaml notes.yaml Historical.yaml historical.yml historical.yaml.bak
"""
"""Files of a log that are neither an entry nor the archive."""


class TestNames:
    @pytest.mark.parametrize(
        "name",
        ["iter-1.yaml", "iter-0.yaml", "iter-0001.yaml", f"iter-{'9' * 100}.yaml"],
    )
    def test_of_entries(self, tmp_path: Path, name: str) -> None:
        write(tmp_path, name, entry(5))
        assert loaded(tmp_path) == {5: ""}

    def test_of_other_files_which_are_not_read(self, tmp_path: Path) -> None:
        for name in (*OTHERS.split(), "iter-1 .yaml", "iter-1.yaml\n", " iter-1.yaml"):
            write(tmp_path, name, "not: [yaml")
        with watched_doors() as doors:
            assert load_iteration_log(tmp_path) == []
        assert not [path for path in doors.opened if Path(path).parent == tmp_path]

    def test_of_other_files_may_be_bytes_that_are_no_text(self, tmp_path: Path) -> None:
        write(tmp_path, "iter-1.yaml", entry(1))
        write(tmp_path, os.fsdecode(b"iter-\xff.yaml"), "not: [yaml")
        assert loaded(tmp_path) == {1: ""}

    def test_are_taken_in_byte_order_and_the_later_file_wins(
        self, tmp_path: Path
    ) -> None:
        for name in ("iter-2.yaml", "iter-10.yaml", "iter-1.yaml", "iter-02.yaml"):
            write(tmp_path, name, entry(5, name))
        assert loaded(tmp_path) == {5: "iter-2.yaml"}


class TestDirectory:
    @pytest.mark.parametrize(
        ("name", "why"),
        [("log", "no such file or directory"), ("file", "not a directory")],
    )
    def test_that_is_none_is_an_error(
        self, tmp_path: Path, name: str, why: str
    ) -> None:
        write(tmp_path, "file", "")
        assert (
            refusal(tmp_path / name)
            == f"{tmp_path / name}: {why}; {NAME_THE_LOG} 'da-score init'"
        )

    def test_in_no_work_tree_says_that_first(self, tmp_path: Path) -> None:
        missing = tmp_path / DEFAULT_LOG_DIR
        said = (
            f"{tmp_path}: not a git work tree; run da-score in a repository,"
            " or name it with --repo-dir; "
        )
        assert refusal(missing) == f"{said}{missing}: no such file or directory"
        (tmp_path / ".git").mkdir()
        assert (
            refusal(missing)
            == f"{missing}: no such file or directory; {NAME_THE_LOG} 'da-score init'"
        )

    def test_beside_settings_names_what_comes_after_init(self, tmp_path: Path) -> None:
        (tmp_path / ".agents").mkdir()
        (tmp_path / SETTINGS_FILE).write_text("")
        assert refusal(tmp_path / "log").endswith(
            "'da-score derive' (from git) or 'da-score log entry new' (by hand)"
        )


class TestEntriesThatCannotBeRead:
    @pytest.mark.parametrize(
        ("text", "reason"),
        [
            ("schema_version: 1\niteration: [\n", "line 3: "),
            (
                "schema_version: 1\nretries: lots\n",
                "line 2: retries: 'lots' where a whole",
            ),
            (
                "iteration: 2\n",
                "schema_version is missing; write 1 (flat) or 2 (nested)",
            ),
        ],
    )
    def test_name_file_line_and_field(
        self, tmp_path: Path, text: str, reason: str
    ) -> None:
        write(tmp_path, "iter-1.yaml", entry(1))
        path = write(tmp_path, "iter-2.yaml", text)
        assert refusal(tmp_path).startswith(f"{path}: {reason}")

    @pytest.mark.parametrize(
        ("make", "why"),
        [
            (Path.mkdir, "is a directory"),
            (make_fifo, "is not a plain file"),
            (
                lambda path: os.truncate(
                    write(path.parent, path.name, entry(2)), 16 * MIB + 1
                ),
                "larger than 16 MiB",
            ),
        ],
    )
    def test_is_no_plain_file_of_a_sane_size(
        self, tmp_path: Path, make: Callable[[Path], Any], why: str
    ) -> None:
        make(tmp_path / "iter-2.yaml")
        assert (
            refusal(tmp_path)
            == f"{tmp_path / 'iter-2.yaml'}: {why}; an entry must be a readable file of YAML"
        )

    @pytest.mark.parametrize(
        "target", ["missing", "iter-2.yaml"], ids=["nowhere", "itself"]
    )
    def test_link_that_leads_to(self, tmp_path: Path, target: str) -> None:
        (tmp_path / "iter-2.yaml").symlink_to(target)
        assert refusal(tmp_path).startswith(f"{tmp_path / 'iter-2.yaml'}: ")


class TestArchive:
    def test_fills_in_what_no_file_gives(self, tmp_path: Path) -> None:
        write(tmp_path, "iter-2.yaml", entry(2, "file"))
        write(
            tmp_path,
            "historical.yaml",
            "iterations:"
            " [{iteration: 3, wave: old}, {iteration: 2, wave: old}, {iteration: 1, wave: old}]",
        )
        assert loaded(tmp_path) == {1: "old", 2: "file", 3: "old"}

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "{}",
            "null",
            "iterations:",
            "iterations: [null, ~]",
            "other: [{iteration: 1}]",
        ],
    )
    def test_may_hold_nothing(self, tmp_path: Path, text: str) -> None:
        write(tmp_path, "historical.yaml", text)
        assert load_iteration_log(tmp_path) == []

    @pytest.mark.parametrize(
        ("text", "reason"),
        [
            ("iterations:\n  - a: 1\nb: 2\n    c: 3\n", "line 4: "),
            ("iterations: {a: 1}\n", "line 1: iterations: a mapping where a list"),
            ("iterations: [5]\n", "line 1: iterations: '5' where a mapping"),
            ("iterations:\n- retries: x\n", "line 2: iterations.retries: 'x' where"),
            ("- iteration: 1\n", "line 1: a list where a mapping belongs"),
        ],
    )
    def test_that_cannot_be_parsed_stops_the_load(
        self, tmp_path: Path, text: str, reason: str
    ) -> None:
        write(tmp_path, "iter-1.yaml", entry(1))
        path = write(tmp_path, "historical.yaml", text)
        assert refusal(tmp_path).startswith(f"{path}: {reason}")

    def test_that_is_a_link_to_nowhere_is_missing(self, tmp_path: Path) -> None:
        write(tmp_path, "iter-1.yaml", entry(1))
        (tmp_path / "historical.yaml").symlink_to("missing")
        assert loaded(tmp_path) == {1: ""}


def test_a_file_that_goes_while_the_entries_are_measured_has_no_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("iter-1.yaml", "iter-2.yaml", "notes.md"):
        (tmp_path / name).write_text("iteration: 1\n")
    files = list(os.scandir(tmp_path))
    monkeypatch.setattr(os, "scandir", lambda _: nullcontext(files))
    (tmp_path / "iter-1.yaml").unlink()
    assert entry_sizes(tmp_path) == {"iter-2.yaml": 13}
