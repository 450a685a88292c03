"""What da-score says is compared with labels: each observation, silence, and the figures."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from helpers import tables
from helpers.histories import History
from helpers.repos import Repo

from benchmarks import truth
from benchmarks.measure import HERE
from benchmarks.truth import (
    DOCUMENT,
    Judged,
    Label,
    clone_of,
    finding_table,
    judge,
    main,
    read_labels,
)


def label(
    observation: str, value: Any, commit: str = "c1", harness: str = "claude"
) -> Label:
    return Label("made+one", commit, harness, observation, value)


def judged(
    observation: str, value: Any, said: Any = "nothing", harness: str = "claude"
) -> Judged:
    is_said = said != "nothing"
    return Judged(
        label(observation, value, harness=harness), is_said, said if is_said else None
    )


@pytest.fixture
def made(tmp_path: Path) -> tuple[History, dict[str, str]]:
    """A commit on the trunk that names a checkpoint, and one on a branch that does not."""
    history = History(tmp_path / "made")
    history.commit(100, "by hand")
    kept = history.session("kept", stored=False)
    kept.edit(300, 4, "src/b.py")
    kept.run(310, 5, "pytest -q", "1 failed, 2 passed in 0.1s", failed=True)
    held = history.checkpoint(1, ({"session": "kept"}, kept.lines))
    on, off = (
        history.commit(400, "by its checkpoint", held),
        history.commit(500, "aside", branch="side"),
    )
    history.write()
    return history, {"on": history.shas[on], "off": history.shas[off]}


def written(path: Path, labels: list[Label], **more: Any) -> Path:
    path.write_text("".join(json.dumps(one._asdict() | more) + "\n" for one in labels))
    return path


class TestAgreement:
    @pytest.mark.parametrize(
        ("observation", "value", "said", "agrees", "is_silent"),
        tables.cases("truth", "agreement"),
    )
    def test_is_to_say_what_is_so(
        self, observation: str, value: Any, said: Any, agrees: bool, is_silent: bool
    ) -> None:
        one = judged(observation, value, said)
        assert (one.agrees, one.is_silent) == (agrees, is_silent)

    @pytest.mark.parametrize(
        ("some", "row"),
        [
            pytest.param(
                [
                    judged("sessions", ["a", "b"], ["a"]),
                    judged("sessions", ["c"], ["c", "d"]),
                ],
                ("sessions", "2 of 3", "2 of 3"),
                id="sessions one by one",
            ),
            pytest.param(
                [
                    judged("last", "failed"),
                    judged("last", "passed", "failed"),
                    judged("last", "failed", "failed"),
                ],
                ("the last tests failed", "1 of 2", "1 of 2"),
                id="a false alarm and a missed one",
            ),
            pytest.param(
                [
                    judged("landed", 0.0),
                    judged("landed", 0.0, 0.0),
                    judged("landed", None),
                ],
                ("not landed", "1 of 1", "1 of 2"),
                id="what is not known is not called lost",
            ),
            pytest.param(
                [
                    judged("corrections_in_words", 2, 1),
                    judged("corrections_in_words", 0, 0),
                ],
                ("corrected in words", "1 of 1", "1 of 1"),
                id="iterations, and not words",
            ),
        ],
    )
    def test_of_what_can_be_missed_is_precision_and_recall(
        self, some: list[Judged], row: tuple[str, ...]
    ) -> None:
        cells = finding_table(some).splitlines()[2].strip("| ").split(" | ")
        assert (cells[0], *(cell.partition(",")[0] for cell in cells[2:])) == row
        assert cells[1] == "all"


class TestLabels:
    def test_are_cut_into_halves_by_their_commits(self, tmp_path: Path) -> None:
        some = [
            label(name, 1, f"c{n}") for n in range(40) for name in ("runs", "calls")
        ]
        file = written(tmp_path / "l.jsonl", some)
        first, second = (
            {one.commit for one in read_labels([file], half)} for half in "AB"
        )
        assert len(first | second) == 40
        assert first.isdisjoint(second)
        assert 10 < len(first) < 30


class TestCommand:
    def test_says_what_da_score_finds_on_the_trunk_and_beside_it(
        self, made: tuple[History, dict[str, str]]
    ) -> None:
        history, shas = made
        asked = [
            label(name, None, sha)
            for sha in shas.values()
            for name in truth.OBSERVATIONS
        ]
        said = [one for one in judge(asked, [history.repo]) if one.is_said]
        assert {
            one.label.observation: one.said
            for one in said
            if one.label.commit == shas["on"]
        } == {
            "sessions": ("kept",),
            "runs": 1,
            "failed": 1,
            "last": "failed",
            "interrupts": 0,
            "rejections": 0,
            "corrections_in_words": 0,
            "errors": 1,
            "calls": 2,
            "tokens": 4 + 5 + 2 * 11,
            "landed": 1,
            "reverted": False,
            "files": 1,
        }
        beside = {
            one.label.observation for one in said if one.label.commit == shas["off"]
        }
        assert beside.isdisjoint({"sessions", "runs", "tokens", "calls"})

    def test_reads_a_bundle_and_writes_the_tables_into_the_page(
        self,
        made: tuple[History, dict[str, str]],
        tmp_path: Path,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        history, shas = made
        (tmp_path / "kept").mkdir()
        bundle = [
            "bundle",
            "create",
            "-q",
            str(tmp_path / "kept" / "one.bundle"),
            "--all",
        ]
        subprocess.run(["git", "-C", str(history.repo), *bundle], check=True)
        labels = [label("last", "passed", shas["on"]), label("runs", 1, shas["on"])]
        file = written(
            tmp_path / "l.jsonl",
            [*labels, Label("made+gone", "c9", "codex", "runs", 1)],
        )
        page = tmp_path / DOCUMENT
        page.write_text("a\n<!-- measured: truth -->\n<!-- /measured -->\nb\n")
        where = [
            "--labels",
            str(file),
            "--repositories",
            str(tmp_path / "kept"),
            "--out",
            str(tmp_path),
        ]
        assert main(where) == 0
        said = capsys.readouterr()
        assert (
            f'{shas["on"]}  claude  last: truth "passed", said "failed"'
            in said.out.splitlines()
        )
        assert "1 label of made+gone: no repository here" in said.err
        assert "| the last tests failed | all | 0 of 1, " in page.read_text()
        assert shas["on"] not in page.read_text()


@pytest.mark.slow
@pytest.mark.skipif(
    not truth.REAL.exists(), reason="the real repositories are not here"
)
def test_the_page_has_what_the_command_prints(tmp_path: Path) -> None:
    page = HERE.parent / "docs" / DOCUMENT
    shutil.copy(page, tmp_path)
    assert main(["--out", str(tmp_path)]) == 0
    assert (tmp_path / DOCUMENT).read_text() == page.read_text()


def test_a_partial_clone_is_compared_without_what_it_lacks(tmp_path: Path) -> None:
    source = Repo(tmp_path / "source")
    sha = source.commit({"a": "1\n"}, "one")
    blob = source.git("rev-parse", "HEAD:a")
    (source.path / ".git/objects" / blob[:2] / blob[2:]).unlink()
    source.git("config", "remote.origin.url", str(tmp_path / "gone"))
    source.git("config", "remote.origin.promisor", "true")

    copy = clone_of(source.path, tmp_path / "copy")
    assert copy.resolve([sha]) == {sha: sha}
