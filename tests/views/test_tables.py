"""The tables of a log: what a pass finds, and what export, query and the frames make of it."""

import contextlib
import csv
import io
import itertools
import json
import math
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from helpers.commands import DaScore, one_line
from helpers.projects import tree
from pyarrow import parquet

from rubric import released_rubric
from scoring import frames
from scoring.demo import Demo
from scoring.errors import InputError, installing
from scoring.examine import LogView
from scoring.log.selection import Selection
from scoring.score import score_log
from scoring.sidecars.scores import iteration_score_path
from scoring.views.columns import TABLES, rows_of_view
from scoring.views.formats import CsvWriter, JsonlWriter
from scoring.views.sql import database

COUNTS = {"iterations": 9, "signals": 63, "sessions": 2}


def view(demo: Demo, **how: Any) -> LogView:
    return LogView(demo.iter_log_dir, demo.repo_dir, demo.transcript_dirs, **how)


def rows_of(demo: Demo, **how: Any) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in TABLES}
    for name, row in rows_of_view(view(demo, **how)):
        found[name].append(row)
    return found


class TestExamined:
    def test_scores_in_memory_what_has_no_sidecar(self, demo: Demo) -> None:
        scored = score_log(
            demo.iter_log_dir, demo.repo_dir, *demo.transcript_dirs
        ).iterations
        found = list(view(demo).examine())
        assert [(one.origin, one.score, one.signals) for one in found] == [
            ("computed", one.persisted, one.signals) for one in scored
        ]
        assert not list(demo.iter_log_dir.glob("*.score.yaml"))

    @pytest.mark.usefixtures("here")
    def test_takes_the_sidecar_where_there_is_one(
        self, demo: Demo, da_score: DaScore
    ) -> None:
        da_score("run", "--rubric", "2.0.2")
        path = iteration_score_path(demo.iter_log_dir, 3)
        path.write_text(path.read_text().replace("value: ", "value: 0.25 #", 1))
        three = next(iter(view(demo, selection=Selection(only=(3,))).examine()))
        assert (three.origin, three.score.value, three.differs) == (
            "sidecar",
            0.25,
            False,
        )  # two rubrics
        assert (three.score.rubric_version, three.computed.rubric_version) == (
            "2.0.2",
            "2.1.0",
        )
        assert next(
            iter(
                view(
                    demo,
                    rubric=released_rubric("2.0.2"),
                    selection=Selection(only=(3,)),
                ).examine()
            )
        ).differs
        recomputed = next(
            iter(view(demo, recompute=True, selection=Selection(only=(3,))).examine())
        )
        assert (recomputed.origin, recomputed.score) == (
            "computed",
            recomputed.computed,
        )
        rows = [row for row in rows_of(demo)["signals"] if row["iteration"] == 5]
        assert [row["signal"] for row in rows] == [
            spec.id for spec in released_rubric("2.0.2").signals
        ]
        assert {row["rubric_version"] for row in rows} == {"2.0.2"}


class TestTables:
    def test_have_the_columns_that_are_documented(self, demo: Demo) -> None:
        kinds = {"text": str, "integer": int, "number": float, "yes/no": bool}
        for table, rows in rows_of(demo).items():
            assert rows
            for row in rows:
                assert list(row) == [column.name for column in TABLES[table]]
                for column in TABLES[table]:
                    value = row[column.name]
                    missing = column.may_miss and value is None
                    assert missing or type(value) is kinds[column.kind], (
                        f"{table}.{column.name} is {value!r}"
                    )

    def test_hold_what_the_scores_are(self, demo: Demo) -> None:
        rows = rows_of(demo)
        assert {name: len(rows[name]) for name in COUNTS} == COUNTS
        scored = score_log(demo.iter_log_dir, demo.repo_dir, *demo.transcript_dirs)
        assert [row["score"] for row in rows["iterations"]] == [
            i.score.value for i in scored.iterations
        ]
        for row in rows["iterations"]:
            mine = [s for s in rows["signals"] if s["iteration"] == row["iteration"]]
            assert math.isclose(sum(s["contribution"] for s in mine), row["score"])
            assert sum(s["present"] for s in mine) == row["signals_present"]
        sessions = [(s.session_id, s.value) for s in scored.sessions]
        assert [(s["session_id"], s["score"]) for s in rows["sessions"]] == sessions
        assert [row["task_id"] for row in rows["tasks"]] == sorted(
            {row["task_id"] for row in rows["iterations"]}
        )
        for task in rows["tasks"]:
            mine = [
                row for row in rows["iterations"] if row["task_id"] == task["task_id"]
            ]
            assert task["iterations"] == len(mine)
            assert task["score"] == pytest.approx(
                sum(row["score"] for row in mine) / len(mine)
            )
            assert task["sessions"] == len({row["session_id"] for row in mine} - {None})

    def test_say_who_claimed_too_much(self, demo: Demo) -> None:
        over = [r for r in rows_of(demo)["integrity"] if r["over_claim"]]
        names = ("iteration", "signal", "role", "claimed", "observed", "delta")
        assert (5, "landed", "impl", 1.0, 0.0, -1.0) in [
            tuple(row[name] for name in names) for row in over
        ]
        assert all(r["delta"] < 0 for r in over)

    def test_give_a_session_two_rows_when_it_was_scored_under_two_rubrics(
        self, here: Demo, da_score: DaScore
    ) -> None:
        da_score("iteration", "3", "--recompute", "--rubric", "2.0.2")
        sessions = rows_of(here)["sessions"]
        assert [s["rubric_version"] for s in sessions].count("2.0.2") == 1
        assert sum(s["iterations"] for s in sessions) == 7


class TestWriters:
    def test_csv_has_an_empty_field_for_an_empty_text_and_for_nothing(self) -> None:
        out = io.BytesIO()
        writer = CsvWriter(TABLES["signals"][:5], out)
        writer.add(
            {
                "log": 'a,"b"\n',
                "iteration": 1,
                "rubric_version": "",
                "signal": None,
                "label": True,
            }
        )
        writer.add(
            {
                "log": "=1+1",
                "iteration": -1,
                "rubric_version": "1+1",
                "signal": "\t=1",
                "label": False,
            }
        )
        writer.add({"log": "a\rb\x00\x1bc", "signal": "x"})
        writer.close()
        _, row, formulas, controls = csv.reader(
            io.StringIO(out.getvalue().decode(), newline=""), strict=True
        )
        assert row == ['a,"b"\n', "1", "", "", "true"]
        # none for a spreadsheet
        assert formulas == ["'=1+1", "-1", "1+1", "'\t=1", "false"]
        assert controls[0] == "a\rbc"
        assert b'"a\rbc"' in out.getvalue()

    @pytest.mark.parametrize("kind", [CsvWriter, JsonlWriter])
    def test_bytes_that_are_no_text_become_a_replacement(
        self, kind: type[CsvWriter | JsonlWriter]
    ) -> None:
        out = io.BytesIO()
        writer = kind(TABLES["sessions"][:2], out)
        writer.add({"log": "a\udc80b", "session_id": "ä"})
        writer.close()
        assert "a\ufffdb" in out.getvalue().decode("utf-8")


@pytest.mark.usefixtures("here")
class TestExport:
    def test_to_a_directory_writes_nothing_into_the_log(
        self, demo: Demo, da_score: DaScore, tmp_path: Path
    ) -> None:
        before = tree(demo.iter_log_dir)
        found = da_score(
            "export", "--format", "jsonl", "--out", tmp_path / "out" / "deep"
        )
        assert (found.status, found.err) == (0, "")
        for table in TABLES:
            lines = (
                (tmp_path / "out" / "deep" / f"{table}.jsonl").read_text().splitlines()
            )
            assert all(
                list(json.loads(line)) == [c.name for c in TABLES[table]]
                for line in lines
            )
            assert len(lines) == COUNTS.get(table, len(lines)) > 0
        assert tree(demo.iter_log_dir) == before

    def test_parquet_has_types_and_meanings(
        self, demo: Demo, da_score: DaScore, tmp_path: Path
    ) -> None:
        da_score("export", "--format", "parquet", "--out", tmp_path)
        table = parquet.read_table(tmp_path / "iterations.parquet")
        assert table.schema.field("score").type == pa.float64()
        assert table.schema.field("scored").type == pa.bool_()
        assert table.schema.field("score").metadata[b"unit"] == b"0 to 1"
        assert table.column("iteration").to_pylist() == list(range(1, 10))
        assert table == frames.arrow(
            "iterations", ".agents/active/iteration-log", ".", *demo.transcript_dirs
        )

    def test_one_table_to_standard_output(self, da_score: DaScore) -> None:
        found = da_score("export", "--tables", "sessions")
        assert (found.status, found.err) == (0, "")
        rows = list(csv.DictReader(io.StringIO(found.out)))
        assert [row["iterations"] for row in rows] == ["3", "4"]

    def test_as_json_is_one_object_with_every_table(self, da_score: DaScore) -> None:
        found = da_score("export", "--json")
        tables = found.json
        assert (found.status, found.err, list(tables)) == (0, "", list(TABLES))
        for table, rows in tables.items():
            assert len(rows) == COUNTS.get(table, len(rows)) > 0
            assert all(
                list(row) == [column.name for column in TABLES[table]] for row in rows
            )

    @pytest.mark.parametrize("option", ["-o", "--out"])
    def test_as_json_into_files_says_which(
        self, da_score: DaScore, tmp_path: Path, option: str
    ) -> None:
        path = tmp_path / "sessions.csv"
        found = da_score("export", "--json", "--tables", "sessions", option, path)
        assert found.json == {"written": [str(path)]}
        assert path.read_text().startswith("log,")

    def test_of_several_logs(self, demo: Demo, da_score: DaScore) -> None:
        found = da_score(
            "export", "--tables", "iterations", "--format", "jsonl", demo.root
        )
        assert {json.loads(line)["log"] for line in found.out.splitlines()} == {
            str(demo.iter_log_dir)
        }

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (["--out", "report.txt/x"], "cannot make the folder"),
            (["/nowhere"], "/nowhere: no such directory"),
        ],
    )
    def test_mistakes_are_said_in_a_line(
        self, da_score: DaScore, arguments: list[str], said: str
    ) -> None:
        Path("report.txt").write_text("")
        found = da_score("export", *arguments)
        assert (found.status, said in one_line(found)) == (1, True)

    def test_a_failure_leaves_the_old_files(
        self, demo: Demo, da_score: DaScore, tmp_path: Path
    ) -> None:
        da_score("export", "--out", tmp_path / "out")
        before = tree(tmp_path / "out")
        (demo.iter_log_dir / "iter-9.yaml").write_text("a: [")
        assert da_score("export", "--out", tmp_path / "out").status == 1
        assert tree(tmp_path / "out") == before

    def test_describes_every_column(self, da_score: DaScore) -> None:
        found = da_score("export", "--describe").out
        for column in itertools.chain.from_iterable(TABLES.values()):
            assert (column.name in found, column.meaning in found) == (True, True)
        described = da_score("export", "--describe", "--json").json
        assert list(described) == list(TABLES)
        first = {"name": "log", "kind": "text", "unit": "", "may_miss": False}
        assert described["iterations"][0] == first | {
            "meaning": "the log directory, as it was named"
        }


@pytest.mark.usefixtures("here")
class TestQuery:
    def test_asks_all_tables(self, da_score: DaScore) -> None:
        select = (
            "select i.band, count(*) n, max(s.sub_score) best "
            "from iterations i join signals s using (iteration) "
        )
        where = "where s.signal = 'landed' group by band order by n desc, band limit 2"
        assert da_score("query", select + where, "--json").json == [
            {"band": "excellent", "n": 4, "best": 1.0},
            {"band": "fair", "n": 2, "best": 1.0},
        ]

    def test_as_csv_as_text_and_as_json_that_loses_no_column(
        self, da_score: DaScore, tmp_path: Path
    ) -> None:
        odd = "select 1 n, 2 n, 3 n_1, [1, 2] l, {'a': 1.5::decimal(3,1)} s, 'nan'::double x"
        row = {"n": 1, "n_1": 2, "n_1_1": 3, "l": [1, 2], "s": {"a": 1.5}, "x": None}
        assert da_score("query", odd, "--json").json == [row]
        (tmp_path / "q.sql").write_text(
            "select iteration, score, session_id from iterations where iteration < 3"
        )
        assert (
            da_score("query", "select '@a' as a, -1 as b, '1-1' as c", "--csv").out
            == "a,b,c\n'@a,-1,1-1\n"
        )
        assert (
            da_score("query", f"@{tmp_path}/q.sql", "--csv").out
            == "iteration,score,session_id\n1,1.0,\n2,0.5,\n"
        )
        table = (
            "iteration  score  session_id\n1          1      -\n2          0.5    -\n"
        )
        assert da_score("query", f"@{tmp_path}/q.sql").out == table

    @pytest.mark.parametrize(
        ("sql", "said"),
        [
            ("selct 1", "syntax error"),
            ("select * from nope", "nope does not exist!; the tables are iterations, "),
            ("select * from read_csv('/etc/hostname')", "disabled"),
            ("copy iterations to '/tmp/x.csv'", "disabled"),
            ("set enable_external_access = true", "lock"),
            ("@missing.sql", "missing.sql: no such file"),
        ],
    )
    def test_mistakes_are_said_in_a_line(
        self, da_score: DaScore, sql: str, said: str
    ) -> None:
        found = da_score("query", sql)
        assert (found.status, found.err.count("\n"), said in found.err) == (1, 1, True)

    def test_ends_when_it_is_interrupted(self) -> None:
        endless = (
            "select count(*) from range(100000000000) a, range(1000) b "
            "where hash(a.range * b.range) % 7 = 3"
        )
        command = [sys.executable, "-m", "scoring", "query", endless]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as process:
            try:
                # the first may come before there is anything to interrupt
                for seconds in (1, *[20] * 15):
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        process.wait(seconds)
                        break
                    process.send_signal(signal.SIGINT)
                out, err = process.communicate(timeout=60)
            finally:
                process.kill()
        assert (process.returncode in (130, -signal.SIGINT), out) == (True, b"")
        assert b"internal error" not in err

    def test_an_interruption_while_the_tables_are_made_is_one(self) -> None:
        with pytest.raises(KeyboardInterrupt), database():
            raise RuntimeError("Query interrupted")
        with pytest.raises(RuntimeError, match="something else"), database():
            raise RuntimeError("something else")

    def test_without_duckdb_says_what_to_install(
        self, da_score: DaScore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
        found = da_score("query", "select 1")
        assert (
            found.err
            == f"da-score: error: this needs duckdb, of the extra 'query': {installing('query')}\n"
        )


def test_the_document_lists_every_column() -> None:
    """Columns that mean the same share a row; one of several tables is in the first of them."""
    page = (Path(__file__).parents[2] / "docs" / "TABLES.md").read_text("utf-8")
    text = page.partition("<!-- columns -->")[2].partition("<!-- /columns -->")[0]
    cells = [
        [cell.strip() for cell in row.split("|")[1:-1]]
        for row in text.splitlines()
        if row.startswith("| `")
    ]
    listed = [
        (name, *rest)
        for names, *rest in cells
        for name in re.findall(r"`(\w+)`", names)
    ]
    rows: dict[tuple[str, ...], None] = {}
    for table in TABLES.values():
        meaning = ""
        for c in table:
            meaning = meaning if c.meaning == "likewise" else c.meaning
            rows[
                c.name, c.kind, c.unit or "-", "yes" if c.may_miss else "no", meaning
            ] = None
    assert listed == list(rows)
    sections = dict(re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", text, re.M | re.S))
    assert list(sections) == list(TABLES)
    sections["tasks"] += sections["sessions"]
    assert [
        c.name
        for name, table in TABLES.items()
        for c in table
        if f"`{c.name}`" not in sections[name]
    ] == []


class TestFrames:
    def test_pandas_and_arrow_hold_the_same(self, demo: Demo) -> None:
        log = (demo.iter_log_dir, demo.repo_dir, *demo.transcript_dirs)
        for table in TABLES:
            rows = list(frames.rows(table, *log))
            assert frames.arrow(table, *log).to_pylist() == rows
            frame = frames.pandas(table, *log)
            assert list(frame.columns) == [c.name for c in TABLES[table]]
            assert (
                frame.astype(object).where(frame.notna(), None).to_dict("records")
                == rows
            )

    def test_of_an_empty_log_and_of_an_unknown_table(
        self, demo: Demo, tmp_path: Path
    ) -> None:
        (tmp_path / "log").mkdir()
        assert frames.arrow("iterations", tmp_path / "log", demo.repo_dir).num_rows == 0
        assert len(frames.pandas("signals", tmp_path / "log", demo.repo_dir)) == 0
        with pytest.raises(
            InputError, match="table 'nope' is unknown; known: iterations, signals"
        ):
            list(frames.rows("nope", tmp_path / "log", demo.repo_dir))
