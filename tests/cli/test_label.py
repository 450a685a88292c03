"""``da-score label``: what is written, what is refused, and what is shown of it."""

import csv
import json
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from helpers.commands import COMMAND, DaScore, Outcome, one_line
from helpers.labels import SOUND, edit, label, write
from helpers.privileges import no_privileges

from scoring.demo import Demo
from scoring.errors import InputError, WriteError
from scoring.evidence.labels import Judgment
from scoring.files import exclusive_lock
from scoring.jobs.label_file import NewLabel, add_labels
from scoring.jobs.yaml_edit import composed

ANN = ("--as", "ann")
SOUND_JUDGMENT = Judgment(3, "on-target", "none")
CONTROL_C = "\x03"


@pytest.fixture
def log(here: Demo) -> Path:
    return here.iter_log_dir


def labels_in(log: Path, iteration: int = 5) -> list[dict[str, Any]]:
    content = yaml.safe_load((log / f"iter-{iteration}.labels.yaml").read_text("utf-8"))
    assert (content["iteration"], content["schema_version"]) == (iteration, "1.0.0")
    return list(content["labels"])


def nothing_written(log: Path) -> bool:
    return not list(log.glob("*.labels.yaml"))


class TestWritten:
    def test_is_the_format(self, da_score: DaScore, log: Path) -> None:
        values = (
            "--correctness",
            2,
            "--scope",
            "partial",
            "--hallucination",
            "none",
            "--note",
            "größer: #1",
        )
        assert da_score("label", 5, *ANN, *map(str, values)).status == 0
        (found,) = labels_in(log)
        stamp = found["created_at"]
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", stamp)
        assert re.fullmatch(r"[0-9a-f-]{36}", found.pop("id"))
        assert found == {
            "iteration": 5,
            "actor": "ann",
            "role": "reviewer",
            "schema_version": "1.0.0",
            "created_at": stamp,
            "updated_at": stamp,
            "history": [
                {
                    "actor": "ann",
                    "role": "reviewer",
                    "timestamp": stamp,
                    "free_text": "größer: #1",
                    "structured": {
                        "correctness": 2,
                        "scope_judgement": "partial",
                        "hallucination": "none",
                    },
                }
            ],
        }
        assert (log / "iter-5.labels.yaml").stat().st_mode & 0o777 == 0o600

    def test_a_second_label_is_an_edit_that_keeps_what_is_not_given(
        self, da_score: DaScore, log: Path
    ) -> None:
        da_score("label", 5, *ANN, *SOUND, "--note", "hm")
        da_score("label", 5, *ANN, "--scope", "breach")
        da_score("label", 5, *ANN, "--correctness", "1", "--note", "")
        (found,) = labels_in(log)
        said = [
            (one.get("free_text"), *one["structured"].values())
            for one in found["history"]
        ]
        assert said == [
            ("hm", 3, "on-target", "none"),
            ("hm", 3, "breach", "none"),
            (None, 1, "breach", "none"),
        ]
        assert (
            found["updated_at"]
            == found["history"][-1]["timestamp"]
            > found["created_at"]
        )

    def test_by_two_people_are_two_labels_with_ids_of_their_own(
        self, da_score: DaScore, log: Path
    ) -> None:
        for name in ("ann", "bob", "Ann"):
            found = da_score("label", "--as", name, *SOUND, "5", "--json").json
            assert (
                found["iteration"],
                found["actor"],
                found["correctness"],
                found["counts"],
            ) == (
                5,
                name,
                3,
                True,
            )
        assert [one["actor"] for one in labels_in(log)] == ["ann", "bob", "Ann"]
        assert len({one["id"] for one in labels_in(log)}) == 3

    def test_a_clock_that_is_behind_does_not_make_an_edit_older(
        self, da_score: DaScore, log: Path
    ) -> None:
        old = label("ann", edit(0), id="old", updated_at="2990-01-01T00:00:00Z")
        write(log, label("ann", edit(0), id="older"), old)
        da_score("label", 5, *ANN, "--correctness", "3")
        assert [
            (one["updated_at"][:4], len(one["history"])) for one in labels_in(log)
        ] == [
            ("2026", 1),
            ("2990", 2),
        ]

    def test_a_note_in_4000_bytes_fits(self, da_score: DaScore, log: Path) -> None:
        note = "ä" * 2000
        assert da_score("label", 5, *ANN, *SOUND, "--note", note).status == 0
        assert labels_in(log)[0]["history"][0]["free_text"] == note

    @pytest.mark.parametrize(
        "name", ["12", "true", "a: b # c", "'q\"", "- x", "Zoë", "null", "2026-01-01"]
    )
    def test_any_name_reads_back_as_it_is(
        self, da_score: DaScore, log: Path, name: str
    ) -> None:
        for more in (SOUND, ("--correctness", "2")):
            assert da_score("label", 5, "--as", name, *more).status == 0
        (found,) = labels_in(log)
        assert (found["actor"], len(found["history"])) == (name, 2)


class TestActor:
    def test_is_the_user_of_git(
        self, da_score: DaScore, log: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("USER", "dan")
        Path(os.environ["HOME"], ".gitconfig").write_text(
            "[user]\n\tname = Greta Git\n"
        )
        try:
            da_score("label", 5, *SOUND)
        finally:
            Path(os.environ["HOME"], ".gitconfig").unlink()
        assert labels_in(log)[0]["actor"] == "Greta Git"

    def test_is_else_that_of_the_system_and_must_be_known(
        self, da_score: DaScore, log: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delenv("USER", raising=False)
        found = da_score("label", 5, *SOUND)
        assert (found.status, "--as NAME" in one_line(found), nothing_written(log)) == (
            2,
            True,
            True,
        )
        monkeypatch.setenv("USER", "dan")
        da_score("label", 5, *SOUND)
        assert labels_in(log)[0]["actor"] == "dan"


class TestRefused:
    @pytest.mark.parametrize(
        ("arguments", "status", "said"),
        [
            pytest.param(
                (5, "--note", "x" * 5000),
                1,
                "5000 bytes of UTF-8; at most 4000",
                id="a note of 5,000 bytes",
            ),
            pytest.param(
                (5, "--note", "ä" * 2001),
                1,
                "4002 bytes",
                id="bytes count and not letters",
            ),
            pytest.param(
                (5, "--note", "a\x1b[31m"),
                1,
                "control character",
                id="a note that writes to a terminal",
            ),
            pytest.param(
                (5, "--as", "a\nb", "--correctness", "1"),
                1,
                "control character",
                id="a name of two lines",
            ),
            pytest.param(
                (5, "--as", " ", "--correctness", "1"),
                1,
                "name",
                id="a name of nothing",
            ),
            pytest.param(
                (5, "--as", "n" * 201, "--correctness", "1"),
                1,
                "200 bytes",
                id="a name without end",
            ),
            pytest.param(
                (99, "--correctness", "1"),
                1,
                "no entry for iteration 99",
                id="an iteration that is not",
            ),
            pytest.param(
                ("lst",), 1, "is called 'lst'", id="a command that is mistyped"
            ),
            pytest.param(
                (5, "--correctness", "3"),
                1,
                "the first label of ann needs scope and hallucination too",
                id="a first label that judges one thing alone",
            ),
            pytest.param(
                (5, "--note", "hm"),
                1,
                "needs correctness and scope and hallucination too",
                id="a first label that is a note alone",
            ),
            pytest.param(
                (5, "--correctness", "4"), 2, "--correctness", id="too correct"
            ),
            pytest.param((5, "--scope", "wide"), 2, "--scope", id="an unknown scope"),
            pytest.param(
                (5, "--hallucination", "lots"),
                2,
                "--hallucination",
                id="an unknown hallucination",
            ),
            pytest.param(
                (5,), 2, "Nothing to say", id="nothing, where there is no terminal"
            ),
            pytest.param(("--correctness", "1"), 2, "N", id="no iteration"),
            pytest.param(
                (5, "--nope"), 2, "'da-score label --help'", id="an unknown option"
            ),
        ],
    )
    def test_with_one_line_and_nothing_written(
        self,
        da_score: DaScore,
        log: Path,
        arguments: tuple[object, ...],
        status: int,
        said: str,
    ) -> None:
        name = () if "--as" in arguments or arguments == ("five",) else ANN
        found = da_score("label", *map(str, arguments), *name)
        assert (found.status, said in one_line(found), nothing_written(log)) == (
            status,
            True,
            True,
        )

    SHARED = b"""\
- {id: e, iteration: 5, actor: eve, role: admin, schema_version: 1.0.0, history: &h [
    {actor: eve, role: admin, structured: &s {correctness: 1, scope_judgement: breach,
    hallucination: none}}]}
- {id: a, iteration: 5, actor: ann, role: admin, schema_version: 1.0.0, history: *h}
"""

    @pytest.mark.parametrize(
        ("more", "end", "said"),
        [
            pytest.param(
                {"schema_version": "2.0.0"},
                b"",
                "schema version 2.0.0",
                id="of another major version",
            ),
            pytest.param(
                {"iteration": 6}, b"", "is of iteration 6", id="of another iteration"
            ),
            pytest.param(
                {}, SHARED, "aliases", id="in which two labels share a history"
            ),
            pytest.param(
                {},
                b"---\nanother: 1\n",
                "nothing is added to it",
                id="of two documents",
            ),
            *(
                pytest.param(
                    {},
                    b"# " + b"x" * size,
                    "larger than 1 MiB",
                    id=name,
                    marks=pytest.mark.slow,
                )
                for name, size in {
                    "that grows too large": (1 << 20) - 500,
                    "that is too large": 1 << 20,
                }.items()
            ),
        ],
    )
    def test_a_file_is_not_written(
        self, da_score: DaScore, log: Path, more: dict[str, Any], end: bytes, said: str
    ) -> None:
        path = write(log, label("bob", edit(1)), **more)
        before = path.read_bytes() + end
        path.write_bytes(before)
        found = da_score("label", 5, *ANN, *SOUND)
        assert (found.status, said in one_line(found), path.read_bytes()) == (
            1,
            True,
            before,
        )

    def test_a_folder_that_takes_no_files(self, demo: Demo) -> None:
        with (
            read_only_copy(demo.iter_log_dir) as folder,
            no_privileges(),
            pytest.raises(WriteError) as caught,
        ):
            add_labels(folder, [NewLabel(5, "ann", SOUND_JUDGMENT)])
        assert (
            str(caught.value)
            == f"{folder}/iter-5.labels.yaml: cannot write: permission denied"
        )


@contextmanager
def read_only_copy(log: Path) -> Iterator[Path]:
    """A copy of a log in which an ordinary user may look, and not write."""
    root = Path(tempfile.mkdtemp(prefix="da-score-test-"))
    try:
        root.chmod(0o755)
        copy = shutil.copytree(log, root / "log")
        copy.chmod(0o555)
        yield copy
    finally:
        (root / "log").chmod(0o755)
        shutil.rmtree(root)


class TestOtherWriters:
    BY_HAND = """\
# Labels of iteration 5.
x-tool: {hex: 0x1F, none: ~, yes: yes, one: 1.10}   # theirs
schema_version: "1.0.0"
iteration: 5
labels:
# Bob's
- id: b-1
  actor: bob          # Bob
  mood: 'fine'
  role: reviewer
  iteration: 5
  schema_version: 1.0.0
  updated_at: 2026-03-01T12:00:00.120Z
  history:
  # his first
  - actor: bob
    role: reviewer
    timestamp: 2026-03-01T12:00:00Z
    structured: {correctness: 2, scope_judgement: partial, hallucination: none, certainty: high}  #1
# the end
"""

    def added_to(self, da_score: DaScore, log: Path, text: str, name: str) -> str:
        path = log / "iter-5.labels.yaml"
        path.write_bytes(text.encode())
        assert (
            da_score("label", 5, "--as", name, *SOUND, "--correctness", "1").status == 0
        )
        return path.read_bytes().decode()

    @pytest.mark.parametrize(
        "end", ["\n", "\r\n"], ids=["lines as on Unix", "lines as on Windows"]
    )
    def test_keep_every_line_when_another_person_labels(
        self, da_score: DaScore, log: Path, end: str
    ) -> None:
        after = self.added_to(
            da_score, log, self.BY_HAND.replace("\n", end), "ann"
        ).split(end)
        assert [line for line in self.BY_HAND.splitlines() if line not in after] == []
        assert not any("\n" in line for line in after)
        assert [one["actor"] for one in labels_in(log)] == ["bob", "ann"]

    def test_keep_their_marks_escapes_and_mode(
        self, da_score: DaScore, log: Path
    ) -> None:
        path = log / "iter-5.labels.yaml"
        text = self.BY_HAND.replace("'fine'", '"f\\u0069ne"   #  so')
        path.write_bytes(b"\xef\xbb\xbf" + text.encode() + b"...\n")
        path.chmod(0o640)

        assert da_score("label", 5, "--as", "ann", *SOUND).status == 0

        after = path.read_bytes()
        assert after.startswith(b"\xef\xbb\xbf# Labels of iteration 5.\n")
        assert after.endswith(b"\n...\n")
        assert [line for line in text.splitlines() if line not in after.decode()] == []
        assert path.stat().st_mode & 0o777 == 0o640

    def test_keep_all_but_the_time_when_they_label_again(
        self, da_score: DaScore, log: Path
    ) -> None:
        after = self.added_to(da_score, log, self.BY_HAND, "bob").splitlines()
        gone = [line for line in self.BY_HAND.splitlines() if line not in after]
        assert gone == ["  updated_at: 2026-03-01T12:00:00.120Z"]
        (found,) = labels_in(log)
        assert [one["structured"]["correctness"] for one in found["history"]] == [2, 1]
        assert (found["mood"], found["history"][0]["structured"]["certainty"]) == (
            "fine",
            "high",
        )

    @pytest.mark.parametrize(
        "labels",
        [
            "labels: []",
            "labels:",
            "labels: ~",
            "",
            f"labels: {json.dumps([label('bob', edit(2))])}",
        ],
        ids=["an empty list", "nothing", "null", "no key", "a flow"],
    )
    def test_may_have_left_an_empty_list_or_a_flow(
        self, da_score: DaScore, log: Path, labels: str
    ) -> None:
        self.added_to(
            da_score, log, f"iteration: 5\nschema_version: 1.0.0\n{labels}\n", "ann"
        )
        content = yaml.safe_load((log / "iter-5.labels.yaml").read_text())
        assert content["labels"][-1]["history"][0]["structured"]["correctness"] == 1

    def test_may_indent_and_begin_as_they_like_and_leave_a_null(
        self, da_score: DaScore, log: Path
    ) -> None:
        text = (
            "---\niteration: 5\nschema_version: 1.0.0\n"
            f"labels:\n    -   ~\n    -   {json.dumps(label('bob', edit(2)))}\n"
        )
        after = self.added_to(da_score, log, text, "bob")
        assert after.startswith("---\niteration: 5\n")
        assert len(yaml.safe_load(after)["labels"][1]["history"]) == 2


class TestAtOnce:
    SCRIPT = """
import sys
from pathlib import Path
from scoring.evidence.labels import Judgment
from scoring.jobs.label_file import NewLabel, add_labels
from scoring.jobs.yaml_edit import composed
sys.stdin.readline()
for n in range(6):
    judgment = Judgment(n % 4, "partial", "none")
    labels = [NewLabel(5, who, judgment) for who in (sys.argv[2], "all")]
    add_labels(Path(sys.argv[1]), labels)
"""

    @pytest.mark.slow
    def test_no_label_is_lost(self, log: Path) -> None:
        names = ["ann", "bob", "cid", "dan"]
        command = [sys.executable, "-c", self.SCRIPT, str(log)]
        started = [
            subprocess.Popen([*command, name], stdin=subprocess.PIPE) for name in names
        ]
        for one in started:
            one.communicate(b"\n", timeout=300)
        assert [one.returncode for one in started] == [0] * 4
        histories = {one["actor"]: len(one["history"]) for one in labels_in(log)}
        assert histories == dict.fromkeys(names, 6) | {"all": 24}

    def test_a_lock_is_not_waited_for_without_end(self, log: Path) -> None:
        with (
            exclusive_lock(log),
            pytest.raises(WriteError, match="another da-score is at work"),
            exclusive_lock(log, seconds=0.05),
        ):
            pass

    def test_a_write_that_fails_in_its_middle_is_undone(
        self, log: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        before = write(log, label("bob", edit(1))).read_bytes()
        (log / "iter-6.labels.yaml").mkdir()
        monkeypatch.setattr("scoring.jobs.label_file.read_or_none", self.nothing_at_6)
        with pytest.raises(WriteError):
            add_labels(log, [NewLabel(n, "ann", SOUND_JUDGMENT) for n in (4, 5, 6)])
        assert not (log / "iter-4.labels.yaml").exists()
        assert (log / "iter-5.labels.yaml").read_bytes() == before

    @staticmethod
    def nothing_at_6(path: Path, *_: object, **__: object) -> bytes | None:
        if path.name.startswith("iter-5"):
            return path.read_bytes()
        return None


class TestImport:
    def csv(self, folder: Path, *rows: tuple[object, ...]) -> Path:
        path = folder / "labels.csv"
        with path.open("w", newline="", encoding="utf-8") as f:
            csv.writer(f).writerows(rows)
        return path

    HEAD = ("iteration", "actor", "correctness", "scope", "hallucination", "note")

    def test_of_a_table(self, da_score: DaScore, log: Path, tmp_path: Path) -> None:
        rows = (
            (4, "ann", 3, "on-target", "none", "two\nlines"),
            (5, "", 1, "partial", "none", ""),
        )
        path = self.csv(
            tmp_path, self.HEAD, *rows, (5, "eve", 0, "breach", "major", "")
        )
        found = da_score("label", "import", path, "--as", "bob")
        assert (found.status, found.out) == (0, "Imported 3 labels into 2 files\n")
        assert labels_in(log, 4)[0]["history"][0]["free_text"] == "two\nlines"
        assert [(one["actor"], one["role"]) for one in labels_in(log)] == [
            ("bob", "reviewer"),
            ("eve", "reviewer"),
        ]

    def test_of_several_labels_by_one_person_makes_edits_of_one_label(
        self, da_score: DaScore, log: Path, tmp_path: Path
    ) -> None:
        write(log, label("bob", edit(0, "breach")), label("eve", edit(1, "partial")))
        rows = (
            (5, "ann", 3, "on-target", "none", "first"),
            (5, "bob", 1),
            (5, "ann", 2),
            (5, "bob", "", "partial", "", "again"),
            (5, "dan", 0, "breach", "major"),
        )
        path = self.csv(tmp_path, self.HEAD, *rows)
        assert da_score("label", "import", path, *ANN).status == 0

        bob, eve, ann, dan = labels_in(log)
        assert eve["updated_at"] < bob["updated_at"] == ann["updated_at"]
        assert [len(one["history"]) for one in (bob, eve, ann, dan)] == [3, 1, 2, 1]
        first, second = ann["history"]
        assert first["structured"]["correctness"] == 3
        assert second["structured"] == {
            "correctness": 2,
            "scope_judgement": "on-target",
            "hallucination": "none",
        }
        assert second["free_text"] == "first"
        _, second, third = bob["history"]
        assert second["structured"]["scope_judgement"] == "breach"
        assert third["structured"]["scope_judgement"] == "partial"
        assert (third["structured"]["correctness"], third["free_text"]) == (1, "again")

    @pytest.mark.parametrize("flow", [False, True])
    def test_parses_a_file_once_for_all_of_its_labels(
        self, log: Path, flow: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        parsed = []

        def parse(text: str) -> Any:
            parsed.append(text)
            return composed(text)

        monkeypatch.setattr("scoring.jobs.yaml_edit.composed", parse)
        path = write(log, label("bob", edit(0, "breach")))
        if flow:
            content = yaml.safe_load(path.read_text("utf-8"))
            path.write_text(yaml.safe_dump(content, default_flow_style=True))
        people = [f"p{index}" for index in range(40)]
        labels = [NewLabel(5, person, SOUND_JUDGMENT) for person in people]
        add_labels(log, labels)
        assert len(parsed) == 1
        assert [one["actor"] for one in labels_in(log)] == ["bob", *people]

    def test_of_more_labels_than_a_file_holds_takes_none_at_once(
        self, log: Path
    ) -> None:
        labels = [NewLabel(5, "ann", SOUND_JUDGMENT)] * 10_000
        with pytest.raises(InputError, match="would be larger than 1 MiB; nothing"):
            add_labels(log, labels)
        assert nothing_written(log)

    def test_of_lines_of_json(
        self, da_score: DaScore, log: Path, tmp_path: Path
    ) -> None:
        rows = [
            {
                "iteration": 5,
                "actor": "ann",
                "correctness": 3,
                "scope_judgement": "on_target",
                "hallucination": "none",
                "note": None,
            },
            {"iteration": 5, "actor": "ann", "free_text": "more"},
        ]
        (tmp_path / "labels.jsonl").write_text(
            "\n".join(map(json.dumps, rows)) + "\n\n"
        )
        found = da_score(
            "label", "import", tmp_path / "labels.jsonl", *ANN, "--json"
        ).json
        assert found["labels"] == 2
        assert labels_in(log)[0]["history"][-1]["structured"] == {
            "correctness": 3,
            "scope_judgement": "on-target",
            "hallucination": "none",
        }

    def test_of_a_first_label_that_is_not_whole_takes_none(
        self, da_score: DaScore, log: Path, tmp_path: Path
    ) -> None:
        rows = (4, "ann", 3, "on-target", "none"), (5, "bob", 1)
        found = da_score("label", "import", self.csv(tmp_path, self.HEAD, *rows), *ANN)
        assert found.status == 1
        assert (
            "iteration 5: the first label of bob needs scope and hallucination too"
            in found.err
        )
        assert nothing_written(log)

    @pytest.mark.parametrize(
        ("row", "said"),
        [
            pytest.param(
                (99, "ann", 3),
                "iteration 99 is not in the log",
                id="an iteration that is not there",
            ),
            pytest.param(
                ("x", "ann", 3),
                'iteration "x": input should be a valid',
                id="an iteration that is none",
            ),
            pytest.param(
                ("", "ann", 3), "iteration: field required", id="no iteration"
            ),
            pytest.param(
                (5, "ann", 4),
                'correctness "4": input should be less than or equal to 3',
                id="too correct",
            ),
            pytest.param(
                (5, "ann", "", "wide"),
                'scope "wide": input should be',
                id="an unknown scope",
            ),
            pytest.param(
                (5, "ann", "", "", "lots"),
                'hallucination "lots": input should be',
                id="an unknown word",
            ),
            pytest.param(
                (5, "ann", 1, "", "", "n" * 5000),
                "5000 bytes of UTF-8",
                id="a note of 5,000 bytes",
            ),
            pytest.param((5, "a\x07", 1), "control character", id="a name that rings"),
            pytest.param((5, "ann"), "it says nothing", id="nothing said"),
            pytest.param(
                (5, "ann", 1, "", "", "", "x"),
                "7 cells under 6 names",
                id="a cell too many",
            ),
        ],
    )
    def test_with_a_bad_row_takes_none_and_names_its_line(
        self,
        da_score: DaScore,
        log: Path,
        tmp_path: Path,
        row: tuple[object, ...],
        said: str,
    ) -> None:
        path = self.csv(
            tmp_path, self.HEAD, (4, "ann", 3, "", "", "two\nlines"), row, (5, "bob", 1)
        )
        found = da_score("label", "import", path, *ANN)
        first, last = found.err.splitlines()
        assert (found.status, found.out) == (1, "")
        assert f"{path}: line 4: " in first
        assert said in first
        assert last.endswith("1 fault, so nothing was imported")
        assert nothing_written(log)

    @pytest.mark.parametrize(
        ("content", "said"),
        [
            pytest.param(b"", "holds no label", id="empty"),
            pytest.param(
                b"iteration,color\n5,red\n",
                'color "red": extra inputs are not',
                id="an unknown column",
            ),
            pytest.param(b"\xff\xfe", "is not UTF-8", id="not UTF-8"),
            pytest.param(
                b'iteration,actor\n5,"ann\n', "is not CSV", id="a quotation without end"
            ),
            pytest.param(None, "no such file", id="no file"),
        ],
    )
    def test_of_what_is_no_table(
        self,
        da_score: DaScore,
        log: Path,
        tmp_path: Path,
        content: bytes | None,
        said: str,
    ) -> None:
        if content is not None:
            (tmp_path / "x.csv").write_bytes(content)
        found = da_score("label", "import", tmp_path / "x.csv", *ANN)
        assert (found.status, said in found.err, nothing_written(log)) == (
            1,
            True,
            True,
        )


class TestLost:
    def test_labels_that_go_away_are_said_to_be_lost(
        self, da_score: DaScore, project: Path
    ) -> None:
        path = project / ".agents/active/iteration-log/iter-5.labels.yaml"
        add_labels(path.parent, [NewLabel(5, "ann", Judgment(0, "breach", "major"))])
        assert da_score("run", "--rubric", "3.0.0").err == ""
        path.unlink()
        said = da_score("run", "--rubric", "3.0.0").err
        assert "iteration 5: " in said
        assert "human_label (the labels that voted are gone) lost evidence" in said


class TestShown:
    def test_a_list(self, da_score: DaScore, log: Path) -> None:
        write(
            log,
            label("ann", edit(3, "partial")),
            label("bob", edit(0, free_text="a\x1bb")),
        )
        found = da_score("label", "list")
        assert (found.status, found.err) == (0, "")
        row = r"^5 +ann +reviewer +3 +partial +none +1 +2026-03-01 12:00"
        assert re.search(row, found.out, re.M)
        assert "\x1b" not in found.out
        assert [row["counts"] for row in da_score("label", "list", "--json").json] == [
            True,
            True,
        ]

    def test_a_list_says_what_an_override_replaces_and_what_cannot_be_read(
        self, da_score: DaScore, log: Path
    ) -> None:
        override = label("eve", edit(0), role="admin", admin_override=True)
        write(log, label("ann", edit(3)), override)
        assert [row["counts"] for row in da_score("label", "list", "--json").json] == [
            False,
            True,
        ]
        write(log, label("ann", edit(3)), label("bob", edit(3), role=""))
        found = da_score("label", "list")
        assert (found.status, "role is missing" in found.err) == (0, True)

    @pytest.mark.usefixtures("project")
    def test_next_is_the_one_that_stands_out(self, da_score: DaScore) -> None:
        found = da_score("label", "next", "--json").json
        assert (found["iteration"], found["waiting"], found["total"]) == (2, 9, 9)
        da_score("label", 2, *ANN, *SOUND)
        assert da_score("label", "next", "--json").json["iteration"] != 2
        assert da_score("label", "next", "--json", "--as", "bob").json["iteration"] == 2
        assert (
            "Iteration 2 (choose-alphabet)"
            in da_score("label", "next", "--as", "bob").out
        )

    def test_agreement(self, da_score: DaScore, project: Path) -> None:
        log = project / ".agents/active/iteration-log"
        both = [
            (n, name, n % 4 if name == "ann" else 3 - n % 4)
            for n in range(1, 10)
            for name in ("ann", "bob")
        ]
        labels = [
            NewLabel(n, name, Judgment(value, "partial", "none"))
            for n, name, value in both
        ]
        add_labels(log, labels)
        found = da_score("label", "agreement", "--json").json
        assert (found["iterations"], found["actors"], found["draws"]) == (
            9,
            ["ann", "bob"],
            2000,
        )
        assert found["alpha"]["correctness"]["value"] < 0
        assert found["alpha"]["scope"] == {
            "level": "ordinal",
            "n": 9,
            "value": None,
            "interval": None,
        }
        assert found["kappa"][0]["actors"] == ["ann", "bob"]
        assert found["kappa"][0]["correctness"]["n"] == 9
        low, high = found["kappa"][0]["correctness"]["interval"]
        assert -1 <= low <= found["kappa"][0]["correctness"]["value"] <= high <= 1
        assert found["score"]["n"] == 9
        text = da_score("label", "agreement").out
        assert "ann and bob: correctness" in text

    @pytest.mark.usefixtures("project")
    def test_agreement_without_labels(self, da_score: DaScore) -> None:
        assert "No labels" in da_score("label", "agreement").out
        assert (
            da_score("label", "agreement", "--json").json["alpha"]["correctness"][
                "value"
            ]
            is None
        )


class TestOnATerminal:
    def talk(
        self, *answers: str, number: str = "5", **variables: str
    ) -> tuple[int, str]:
        """Label an iteration on a terminal, typing each answer when a question has come."""
        parent, child = pty.openpty()
        environment = (
            {k: v for k, v in os.environ.items() if k != "COLUMNS"}
            | {"TERM": "xterm"}
            | variables
        )
        command = [*COMMAND, "label", number, *ANN]
        with subprocess.Popen(
            command, stdin=child, stdout=child, stderr=child, env=environment
        ) as done:
            os.close(child)
            shown, waiting, until = b"", list(answers), time.monotonic() + 300
            while time.monotonic() < until:
                if not select.select([parent], [], [], 5)[0]:
                    if (
                        CONTROL_C in answers and not waiting
                    ):  # readline does not see one between prompt and waiting
                        done.send_signal(signal.SIGINT)
                    continue
                try:
                    data = os.read(parent, 65536)
                except OSError:  # how Linux says that the other end was closed
                    break
                shown += data
                if waiting and shown.endswith(b": "):
                    if (
                        (answer := waiting.pop(0)) == CONTROL_C
                    ):  # the terminal is not that of a shell, which does this
                        done.send_signal(signal.SIGINT)
                    else:
                        os.write(parent, answer.encode() + b"\n")
                    shown += b"\n"
            done.kill() if time.monotonic() >= until else None
            status = done.wait(timeout=60)
        os.close(parent)
        return status, re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.decode())

    def test_shows_the_change_and_the_breakdown_and_asks(self, project: Path) -> None:
        status, shown = self.talk("2", "par", "", "no", "fine so far")
        (found,) = labels_in(project / ".agents/active/iteration-log")
        assert status == 0
        assert list(found["history"][0]["structured"].values()) == [
            2,
            "partial",
            "none",
        ]
        assert "One of none, minor, major" in shown
        assert found["history"][0]["free_text"] == "fine so far"
        assert re.search(r"^diff --git ", shown, re.M)
        assert "correction_pressure" in shown
        assert (
            shown.index("diff --git")
            < shown.index("correction_pressure")
            < shown.index("Correctness, 0 to 3")
        )

    def test_asks_again_when_an_answer_is_none(self, project: Path) -> None:
        status, shown = self.talk("7", "3", "on", "none", "")
        assert (status, "One of 0, 1, 2, 3" in shown) == (0, True)
        (found,) = labels_in(project / ".agents/active/iteration-log")
        assert list(found["history"][0]["structured"].values()) == [
            3,
            "on-target",
            "none",
        ]

    @pytest.mark.parametrize(
        ("answers", "status"), [([""], 0), (["2", CONTROL_C], 130)]
    )
    def test_writes_nothing_when_nothing_is_said_or_it_is_interrupted(
        self, project: Path, answers: list[str], status: int
    ) -> None:
        ended, shown = self.talk(*answers)
        assert (ended, "nothing was written" in shown) == (status, status == 0)
        assert nothing_written(project / ".agents/active/iteration-log")


class TestHelp:
    @pytest.mark.parametrize(
        "arguments",
        [("label", "--help"), ("label", "5", "--help"), ("label", "--as", "x", "-h")],
    )
    def test_is_one_for_the_number_and_the_commands(
        self, da_score: DaScore, arguments: tuple[str, ...]
    ) -> None:
        found = da_score(*arguments)
        assert (found.status, found) == (0, Outcome(0, da_score("label").out, ""))
        assert found.out.startswith(
            "Usage: da-score label N [OPTIONS] | COMMAND [ARGS]...\n"
        )
        assert "--correctness" in found.out
        assert all(
            f"\n  {name} " in found.out
            for name in ("agreement", "import", "list", "next")
        )
