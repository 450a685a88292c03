"""The benchmark's backlog has evidence for everything, and its table reaches the page.

Nothing here looks at how long anything takes.
"""

import hashlib
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.repos import Repo

from benchmarks.corpus import Corpus, Size, make_corpus, open_corpus
from benchmarks.floor import read_transcripts, read_trunk
from benchmarks.landings import NEVER, asked_of
from benchmarks.measure import Case, Spread, Times, environment, take_times, timed
from benchmarks.parts import long_log
from benchmarks.plots import draw
from benchmarks.run import PARTS, main
from benchmarks.setting import Setting
from benchmarks.tables import DOCUMENT, put
from rubric import default_rubric
from scoring import ScoredLog, score_log

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / DOCUMENT

TINY = Size(iterations=36, commits=2, transcript_mb=0.6, extra_commits=4, seed=3)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return make_corpus(tmp_path_factory.mktemp("corpus") / "made", TINY)


@pytest.fixture(scope="module")
def scored(corpus: Corpus) -> ScoredLog:
    return score_log(corpus.log, corpus.repo, *corpus.transcripts)


def digest(directory: Path) -> str:
    """Return a digest of all files below a directory, with git's commits for git's own files."""
    found = hashlib.sha256()
    for path in sorted(directory.rglob("*")):
        name = path.relative_to(directory)
        if path.is_file() and ".git" not in name.parts:
            found.update(
                f"{name}\0{hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode()
            )
    refs = ["git", "-C", str(directory / "repo"), "for-each-ref"]
    found.update(subprocess.run(refs, check=True, capture_output=True).stdout)
    return found.hexdigest()


def test_landings_are_measured_on_histories_of_which_it_is_known_what_landed(
    tmp_path: Path,
) -> None:
    repo = Repo(tmp_path / "old", branch="main")
    repo.commit({"a": "a\n"}, "base")
    for one in range(12):
        repo.branch(f"side-{one}")
        for part in "xy":
            words = "".join(f"line {n} of {part} in {one}\n" for n in range(6))
            repo.commit({f"{one}/{part}": words}, f"write {part} in {one}")
        repo.checkout("main")
        repo.git(
            "merge",
            "-q",
            "--no-ff",
            "-m",
            f"Merge pull request #{one} from me/side",
            f"side-{one}",
        )
    new = tmp_path / "new"
    subprocess.run(["git", "clone", "-q", "--no-checkout", repo.path, new], check=True)
    for asked in asked_of(new, 1).values():
        assert len(asked) == 22  # one side begins while other work waits for its squash
        assert {each.said for each in asked if each.way == NEVER} == {False}
        assert {each.said for each in asked if each.way != NEVER} == {True}


class TestBacklog:
    def test_has_everything_that_can_be_scored(self, scored: ScoredLog) -> None:
        assert len(scored.iterations) == TINY.iterations
        present: set[str] = set()
        for iteration in scored.iterations:
            present.update(
                row.signal for row in iteration.score.breakdown if row.present
            )
        assert present == {spec.id for spec in default_rubric().signals}
        checks = [
            iteration.signals.objective.as_dict() for iteration in scored.iterations
        ]
        assert {
            name
            for check in checks
            for name, value in check.items()
            if value["present"]
        } == set(checks[0])
        assert {iteration.record.schema_version for iteration in scored.iterations} == {
            1,
            2,
        }
        assert len(scored.sessions) > 1
        assert (
            len(
                {
                    iteration.signals.value("hook_outcomes").sub_score
                    for iteration in scored.iterations
                }
            )
            > 1
        )
        assert len({iteration.score.band for iteration in scored.iterations}) > 1

    def test_can_be_opened_again_once_it_is_made_to_its_end(
        self, corpus: Corpus, tmp_path: Path
    ) -> None:
        assert open_corpus(corpus.repo.parent) == corpus
        (tmp_path / "repo").mkdir()
        with pytest.raises(OSError, match=r"corpus\.json"):
            open_corpus(tmp_path)

    def test_is_the_same_from_the_same_seed_and_another_from_another(
        self, tmp_path: Path
    ) -> None:
        digests = []
        for n, seed in enumerate((1, 1, 2)):
            make_corpus(
                tmp_path / str(n),
                Size(iterations=6, commits=1, transcript_mb=0.05, seed=seed),
            )
            (tmp_path / str(n) / "corpus.json").unlink()  # it names the seed
            digests.append(digest(tmp_path / str(n)))
        assert digests[0] == digests[1] != digests[2]


def test_the_floor_decodes_every_line_and_reads_the_trunk(corpus: Corpus) -> None:
    pytest.importorskip("orjson")
    lines = sum(path.read_bytes().count(b"\n") for path in corpus.files)
    assert read_transcripts(*corpus.transcripts) == lines > 0
    assert read_trunk(corpus.repo) > 40 * TINY.iterations


class TestMeasuring:
    def test_says_why_a_command_failed_and_leaves_settings_of_the_caller_out(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with pytest.raises(RuntimeError, match="exit 3: no such"):
            timed(Case("", ("sh", "-c", "echo no such >&2; exit 3")))
        for name in ("DA_SCORE_NO_CACHE", "GIT_DIR"):
            monkeypatch.setenv(name, "1")
        found = environment(Case("", (), variables={"CLAUDE_CONFIG_DIR": "/x"}))
        assert not {"DA_SCORE_NO_CACHE", "GIT_DIR"} & found.keys()
        assert found["CLAUDE_CONFIG_DIR"] == "/x"

    def test_runs_every_case_in_turns_and_one_round_more_than_counts(
        self, tmp_path: Path
    ) -> None:
        order = tmp_path / "order"

        def noting(name: str) -> Case:
            def note() -> None:
                with open(order, "a", encoding="ascii") as f:
                    f.write(name)

            return Case(name, ("true",), note)

        taken = take_times([noting("a"), noting("b")], 2)
        assert order.read_text("ascii") == "baabba"
        assert {name: len(rounds) for name, rounds in taken.seconds.items()} == {
            "a": 2,
            "b": 2,
        }

    def test_takes_ratios_within_a_round(self) -> None:
        taken = Times(
            {
                "base": [1.0, 10.0, 2.0],
                "case": [3.0, 40.0, 4.0],
                "start": [1.0, 10.0, 1.0],
            }
        )
        assert taken.ratio("case", "base") == Spread(3.0, 2.0, 4.0)
        assert taken.ratio("case", "base", less="start") == Spread(2.0, 1.5, 3.0)


class TestTables:
    def test_replace_what_stood_between_their_marks_and_nothing_else(
        self, tmp_path: Path
    ) -> None:
        page, end = tmp_path / DOCUMENT, "<!-- /measured -->"
        page.write_text(
            f"a\n<!-- measured: one -->\nold\n{end}\nb\n<!-- measured: two -->\n{end}\n",
            "utf-8",
        )
        put(tmp_path, "one", r"new \1")
        put(tmp_path, "two", "also")
        assert page.read_text("utf-8") == (
            f"a\n<!-- measured: one -->\nnew \\1\n{end}\nb\n<!-- measured: two -->\nalso\n{end}\n"
        )
        with pytest.raises(LookupError, match="three"):
            put(tmp_path, "three", "")


def test_plots_are_left_alone_without_matplotlib(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    draw(tmp_path / "a.svg", "size", "time", [1, 2], {"one": [1, 2]})
    assert not list(tmp_path.iterdir())
    assert "matplotlib is not installed" in capsys.readouterr().out


class TestParts:
    @pytest.fixture(autouse=True)
    def _no_processes(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def pretend(case: Case) -> str:
            command = list(case.command)
            if "--cache-dir" in command:
                Path(command[command.index("--cache-dir") + 1]).mkdir(exist_ok=True)
            return '{"totals": {"totalTokens": 1}}'

        for module in ("measure", "commands"):
            monkeypatch.setattr(f"benchmarks.{module}.run", pretend)

    @pytest.mark.sampled(1)
    @pytest.mark.parametrize("name", ["compare", "growth", "trunk"])
    def test_give_a_table(self, name: str, corpus: Corpus, tmp_path: Path) -> None:
        setting = Setting(
            corpus, tmp_path, repeat=2, out=tmp_path, plots=False, trunk=20
        )
        assert len(PARTS[name](setting).splitlines()) > 5


@pytest.mark.slow
def test_commands_of_a_long_log_run(
    corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(long_log, "_TIMES_AS_MANY", (1, 2))
    setting = Setting(corpus, tmp_path, repeat=1, out=tmp_path, plots=False, trunk=0)
    assert len(long_log.measure(setting).splitlines()) == 2 + 2


@pytest.mark.slow
class TestCommand:
    def test_measures_and_writes_its_tables(
        self, tmp_path: Path, corpus: Corpus, capsys: pytest.CaptureFixture[str]
    ) -> None:
        pytest.importorskip("orjson")
        shutil.copy(PAGE, tmp_path)
        before = digest(corpus.repo.parent)
        arguments = [
            "--corpus",
            str(corpus.repo.parent),
            "--out",
            str(tmp_path),
            "--repeat",
            "1",
        ]
        assert main([*arguments, "--only", "profile", "--only", "compare"]) == 0
        text = (tmp_path / DOCUMENT).read_text("utf-8")
        assert f"{TINY.iterations} iterations, " in text
        for name in ("profile", "compare"):
            rows = table(text, name)
            assert len(rows) > 4
            assert all(len(row) == len(rows[0]) for row in rows)
        assert table(text, "compare")[2][:2] == ["the floor", "1.00"]
        assert "load average" in capsys.readouterr().out
        assert digest(corpus.repo.parent) == before, (
            "a backlog that was taken must stay as it was"
        )


class TestPage:
    def test_has_a_place_for_every_part(self) -> None:
        marks = re.findall(r"<!-- measured: (\w+) -->", PAGE.read_text("utf-8"))
        assert sorted(marks) == sorted(["facts", *PARTS])

    def test_shows_plots_that_are_there(self) -> None:
        plots = re.findall(r"\]\((performance/[^)]+\.svg)\)", PAGE.read_text("utf-8"))
        assert plots
        for plot in plots:
            assert (PAGE.parent / plot).read_text("utf-8").rstrip().endswith("</svg>")


def table(text: str, name: str) -> list[list[str]]:
    """Return the cells between the marks of a part."""
    found = re.search(
        rf"<!-- measured: {name} -->\n(.*?)<!-- /measured -->", text, re.S
    )
    assert found, name
    return [
        [cell.strip() for cell in line.split("|")[1:-1]]
        for line in found[1].splitlines()
        if line
    ]
