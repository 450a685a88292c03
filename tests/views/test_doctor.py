"""``da-score doctor`` and ``da-score init``: what is found, and that nothing makes them stop."""

import json
import os
import stat
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from helpers.commands import DaScore, Outcome, one_line
from helpers.harness_lines import write
from helpers.histories import History
from helpers.places import Place
from helpers.projects import edit, tree
from helpers.repos import Repo

from rubric import newest_version, released_rubric
from scoring.log.settings import Settings, resolve_settings
from scoring.views.doctor.finding import Finding, most_useful_first

NEWEST = newest_version("attributed")
SETTINGS = Path(".agents/da-score.toml")
AS_OBSERVED = ("--rubric", "3.1.0", "--no-cache")


@pytest.fixture
def whole(place: Place) -> Place:
    """Two iterations, the first with a transcript.

    There is also a session of another folder, a copy, and lines that cannot be read.
    """
    for n in (1, 2):
        place.iteration(n)
    again = place.turn(1, calls=[3]) | {"timestamp": place.turn(1, 2)["timestamp"]}
    session = place.session("mine", place.turn(1), again, place.call(1, 3))
    session.write_text(
        session.read_text()
        + "no json\n"
        + '{"timestamp": 1, "message": {}, "sessionId": "s"}\n'
    )
    elsewhere = place.turn(1, 7, cwd="/another/app") | {"sessionId": "elsewhere"}
    place.session("other", elsewhere, slug="-another-app")
    return place


Told = Callable[..., Any]
Init = Callable[..., Outcome]


@pytest.fixture
def doctor(da_score: DaScore) -> Told:
    """Run doctor, which always ends well, and return what it prints as data."""
    return lambda *options: da_score("doctor", "--json", *options).json


def advice(found: Any, topic: str, level: str = "problem") -> list[str]:
    return [
        f["what"]
        for f in found["findings"]
        if (f["topic"], f["level"]) == (topic, level)
    ]


class TestFacts:
    def test_of_the_log_and_the_repository(self, whole: Place, doctor: Told) -> None:
        found = doctor(*AS_OBSERVED)
        assert (found["rubric_version"], found["evidence"]) == ("3.1.0", "attributed")
        path = str(whole.log.relative_to(whole.path))
        counted = {"iterations": 2, "schema_versions": {"2": 2}}
        assert found["log"] == {"path": path, **counted, "broken": [], "problem": None}
        assert (found["repository"]["top_level"], found["repository"]["shallow"]) == (
            str(whole.path),
            False,
        )
        trunk = found["trunk"]
        assert (trunk["ref"], trunk["commit"]) == ("refs/heads/main", whole.repo.head())
        assert trunk["how"] == "no remote has a trunk, and there is a local branch main"
        assert found["commits"] == {"unresolved": [], "without": []}

    @pytest.mark.usefixtures("whole")
    def test_of_transcripts(self, doctor: Told) -> None:
        found = doctor(*AS_OBSERVED)["transcripts"]
        assert found["auto"] is True
        roots = {
            root["origin"]: (root["files"], root["problem"])
            for root in found["roots"]
            if root["files"]
        }
        assert roots == {"~/.claude": (2, None)}
        files = {Path(file["path"]).name: file for file in found["files"]}
        assert (files["mine.jsonl"]["counts"], files["mine.jsonl"]["left_out"]) == (
            True,
            None,
        )
        assert files["mine.jsonl"]["sessions"] == [
            "5c0e1b7a-93d4-4f0e-8a6b-2d71c94be310"
        ]
        assert (files["other.jsonl"]["counts"], files["other.jsonl"]["cwd"]) == (
            False,
            "/another/app",
        )
        assert files["other.jsonl"]["left_out"] == "work in another folder"
        assert found["lines_skipped"]["not JSON"] == 1
        assert sum(found["lines_skipped"].values()) == 2
        assert found["duplicates_dropped"] == 1
        (claude,) = [harness for harness in found["harnesses"] if harness["turns"]]
        assert (claude["name"], claude["turns"], claude["tool_calls"]) == (
            "claude",
            1,
            1,
        )
        assert found["uncovered_iterations"] == [2]

    @pytest.mark.parametrize(
        ("commit", "counts"),
        [
            pytest.param("@sha:2@] work", True, id="of this repository"),
            pytest.param("0123456789ab] other", False, id="of another one"),
        ],
    )
    def test_of_a_folder_that_is_gone_count_by_their_commits_without_a_log(
        self,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        doctor: Told,
        commit: str,
        counts: bool,
    ) -> None:
        made = History(tmp_path / "made")
        session = made.session("s1", "/workspaces/shop")
        made.commit(20, "work")
        session.run(20.2, 1, "git commit -F m", f"[main {commit}\n 1 file changed")
        made.write()
        monkeypatch.setenv("HOME", str(made.home))
        found = doctor("--repo-dir", str(made.repo), *AS_OBSERVED)["transcripts"]
        assert [file["counts"] for file in found["files"]] == [counts]

    def test_counts_the_bookkeeping_of_claude_as_known(
        self, whole: Place, doctor: Told
    ) -> None:
        skipped = doctor(*AS_OBSERVED)["transcripts"]["lines_skipped"]
        (path,) = whole.path.parent.rglob("mine.jsonl")
        time = whole.turn(1, 2)["timestamp"]
        timeless = (
            "file-history-snapshot summary last-prompt mode tag custom-title pr-link"
        )
        with path.open("a") as file:
            for kind in timeless.split():
                file.write(json.dumps({"type": kind, "sessionId": path.stem}) + "\n")
            for kind in ("queue-operation", "system", "progress"):
                file.write(json.dumps({"type": kind, "timestamp": time}) + "\n")
        assert doctor(*AS_OBSERVED)["transcripts"]["lines_skipped"] == skipped

        with path.open("a") as file:
            file.write(json.dumps({"type": "a-new-one", "sessionId": path.stem}) + "\n")
        found = doctor(*AS_OBSERVED)["transcripts"]["lines_skipped"]
        assert found == skipped | {"no time stamp": 1}

    @pytest.mark.usefixtures("whole")
    def test_of_signals(self, doctor: Told) -> None:
        found = {signal["signal"]: signal for signal in doctor(*AS_OBSERVED)["signals"]}
        assert list(found) == [spec.id for spec in released_rubric("3.1.0").signals]
        assert (found["landed"]["present"], found["landed"]["share"]) == (2, 1.0)
        half = {
            "signal": "token_efficiency",
            "present": 1,
            "iterations": 2,
            "share": 0.5,
        }
        assert found["token_efficiency"] == half | {
            "absent": {"no transcript covers the iteration window": 1}
        }
        assert found["verifier"]["absent"] == {"no verifier records": 2}

    def test_of_a_rubric_of_the_reference(self, whole: Place, doctor: Told) -> None:
        (whole.path / "t").mkdir()
        found = doctor("--no-cache", "--transcript-dir", "t")
        assert found["trunk"]["commit"] is None
        (root,) = found["transcripts"]["roots"]
        assert (root["path"], root["origin"], root["harness"], root["files"]) == (
            "t",
            "--transcript-dir",
            "",
            0,
        )
        assert root["problem"] == "no *.jsonl file directly inside"
        assert "there is no local branch master" in advice(found, "trunk")[0]
        assert (
            "reads evidence as the reference does" in advice(found, "rubric", "note")[0]
        )

    def test_of_such_a_rubric_leave_out_what_it_does_not_look_into(
        self, whole: Place, da_score: DaScore
    ) -> None:
        write(whole.path / "t" / "a.jsonl", whole.turn(1))
        shown = da_score(
            "doctor",
            "--no-cache",
            "--rubric",
            "2.1.0",
            "--transcript-dir",
            "t",
        ).out
        assert "TRANSCRIPTS  1 file counts; 0 are left out\n" in shown

    @pytest.mark.usefixtures("whole")
    def test_are_read_from_what_is_there_and_nothing_is_written(
        self, doctor: Told, tmp_path: Path
    ) -> None:
        before = tree(tmp_path)
        doctor("--rubric", "3.1.0", "--cache-dir", str(tmp_path / "cache"))
        assert tree(tmp_path) == before


class TestAdvice:
    def test_is_given_where_nothing_is_there_at_all(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, doctor: Told
    ) -> None:
        (tmp_path / "nothing").mkdir()
        monkeypatch.setenv("HOME", str(tmp_path / "home"))
        monkeypatch.chdir(tmp_path / "nothing")
        found = doctor(*AS_OBSERVED)
        topics = [f["topic"] for f in found["findings"] if f["level"] == "problem"]
        assert topics == ["repository", "log", "transcripts"]
        assert "no such file or directory" in found["log"]["problem"]
        assert "not a git work tree" in found["repository"]["problem"]
        assert (found["trunk"], found["signals"], found["transcripts"]["files"]) == (
            None,
            [],
            [],
        )
        assert all(f["advice"] for f in found["findings"])

    def test_is_given_for_transcripts_without_a_repository(
        self,
        whole: Place,
        monkeypatch: pytest.MonkeyPatch,
        tmp_path: Path,
        doctor: Told,
    ) -> None:
        monkeypatch.chdir(tmp_path)
        found = doctor(*AS_OBSERVED, "--iter-log-dir", str(whole.log))
        assert found["log"]["iterations"] == 2
        assert found["repository"]["problem"]
        assert [
            root["files"] for root in found["transcripts"]["roots"] if root["files"]
        ] == [2]

    @pytest.mark.usefixtures("whole")
    @pytest.mark.parametrize(
        ("options", "topic", "level", "what"),
        [
            (["--iter-log-dir", "src"], "log", "problem", "src holds no entry"),
            (
                ["--transcript-dir", "nowhere"],
                "transcripts",
                "problem",
                "nowhere: no such directory",
            ),
            (
                ["--transcripts", "none"],
                "transcripts",
                "problem",
                "no transcripts are read",
            ),
            (["--rubric", "9.9.9"], "settings", "problem", "'9.9.9' is not released"),
            (
                ["--rubric", "2.1.0", "--trunk", "main"],
                "settings",
                "note",
                "trunk 'main' has no effect",
            ),
        ],
    )
    def test_is_given_for_an_option(
        self, doctor: Told, options: list[str], topic: str, level: str, what: str
    ) -> None:
        assert what in " ".join(advice(doctor(*AS_OBSERVED, *options), topic, level))

    def test_names_every_broken_entry_and_looks_at_the_others(
        self, whole: Place, doctor: Told
    ) -> None:
        (whole.log / "iter-3.yaml").write_text("schema_version: 7\n")
        (whole.log / "iter-4.yaml").write_text("\t:\n")
        (whole.log / "historical.yaml").write_text("iterations: 3\n")
        found = doctor(*AS_OBSERVED)
        names = [Path(text.partition(":")[0]).name for text in found["log"]["broken"]]
        assert names == ["iter-3.yaml", "iter-4.yaml", "historical.yaml"]
        assert len(advice(found, "log")) == 3
        assert (found["log"]["iterations"], found["signals"][0]["share"]) == (2, 1.0)

    def test_names_entries_whose_commit_is_not_here(
        self, whole: Place, doctor: Told
    ) -> None:
        edit(
            whole.log / "iter-2.yaml",
            f"commit: {whole.repo.head()}",
            "commit: deadbeefdeadbeef",
        )
        whole.iteration(3)
        edit(whole.log / "iter-3.yaml", "commit: ", "commit: '' # ")
        found = doctor(*AS_OBSERVED)
        assert found["commits"] == {
            "unresolved": [{"iteration": 2, "commit": "deadbeefdeadbeef"}],
            "without": [3],
        }
        assert advice(found, "entries") == [
            "1 iteration names a commit that is not here: 2",
            "1 iteration names no commit: 3",
        ]

    @pytest.mark.usefixtures("whole")
    def test_names_a_trunk_that_is_not_there_and_finds_the_one_that_is(
        self, doctor: Told
    ) -> None:
        found = doctor(*AS_OBSERVED, "--trunk", "nowhere")
        assert "no trunk 'nowhere' here" in found["trunk_problem"]
        assert found["trunk"]["name"] == "main"
        assert found["signals"][0]["share"] == 1.0

    def test_names_a_repository_without_a_trunk(
        self, place: Place, doctor: Told
    ) -> None:
        place.iteration(1)
        place.repo.git("branch", "-m", "odd")
        place.repo.git("branch", "even")
        found = doctor(*AS_OBSERVED)
        assert advice(found, "trunk")[0].startswith("no trunk was found: ")

    def test_names_a_shallow_clone(
        self, whole: Place, tmp_path: Path, doctor: Told, monkeypatch: Any
    ) -> None:
        clone = tmp_path / "clone"
        whole.repo.git(
            "clone", "-q", "--depth", "1", f"file://{whole.path}", str(clone)
        )
        monkeypatch.chdir(clone)
        found = doctor(*AS_OBSERVED, "--iter-log-dir", str(whole.log))
        assert found["repository"]["shallow"] is True
        assert [text for text in advice(found, "trunk") if "shallow" in text]
        assert Repo.at(clone).head() == whole.repo.head()

    def test_is_given_when_no_transcript_is_of_this_repository(
        self, place: Place, doctor: Told
    ) -> None:
        place.iteration(1)
        place.session("other", place.turn(1, cwd="/another/app"))
        found = doctor(*AS_OBSERVED)
        assert advice(found, "transcripts") == [
            "no transcript of work in this repository was found"
        ]

    def test_survives_settings_that_cannot_be_used(
        self, whole: Place, doctor: Told
    ) -> None:
        (whole.path / SETTINGS).write_text("trunk = 1\n")
        found = doctor(*AS_OBSERVED)
        assert advice(found, "settings") == [
            ".agents/da-score.toml: trunk is 1, not the name of a branch"
        ]
        assert found["log"]["iterations"] == 2
        (whole.path / SETTINGS).write_text("rubric = \n")
        assert "not TOML" in advice(doctor(*AS_OBSERVED), "settings")[0]


class TestText:
    def test_says_the_same(self, whole: Place, da_score: DaScore) -> None:
        out = da_score("doctor", *AS_OBSERVED, "--all").out
        assert out.startswith("da-score doctor — rubric 3.1.0, attributed evidence\n")
        for line in (
            f"REPOSITORY   {whole.path}",
            "HISTORY      not shallow",
            "COMMITS      every one that the log names is here",
            "TRANSCRIPTS  1 file counts, with 1 session; 1 is left out",
            "1            work in another folder  /another/app",
            "1      not JSON",
            "landed               100 %    2/2",
        ):
            assert f"\n{line}\n" in out, out
        assert "\nWHAT TO DO\n" in out

    def test_causes_come_first_then_what_they_keep_from_voting_then_notes(self) -> None:
        note, effect = (
            Finding("signals", "note", "n", "", gain=9),
            Finding("signals", "problem", "e", "", gain=9),
        )
        found = most_useful_first([note, effect, Finding("trunk", "problem", "c", "")])
        assert [one.what for one in found] == ["c", "e", "n"]


class TestInit:
    @pytest.fixture
    def init(self, da_score: DaScore) -> Init:
        return lambda *options: da_score("init", "--no-cache", *options)

    def settings(self, place: Place) -> Settings:
        return resolve_settings({"repo-dir": place.path}, {})

    def test_writes_settings_under_which_the_log_is_scored(
        self, whole: Place, init: Init, da_score: DaScore
    ) -> None:
        path = whole.path / SETTINGS
        assert init().out == (
            f"Wrote {path}\n"
            "Not tracked by git: .agents/active/iteration-log/iter-2.yaml, .agents/da-score.toml"
            " (commit, or add to .git/info/exclude)\n"
            "What is missing, and what of it can be fetched: da-score doctor\n"
            "Next: da-score work\n"
        )
        assert tomllib.loads(path.read_text()) == {
            "rubric": NEWEST,
            "transcripts": "auto",
        }
        assert stat.S_IMODE(path.stat().st_mode) == 0o644
        assert (self.settings(whole).rubric, self.settings(whole).transcripts) == (
            NEWEST,
            "auto",
        )
        assert (
            da_score("run", "--no-cache").out.count(
                f"Evidence scores under rubric {NEWEST}: not known yet if"
            )
            == 1
        )

    def test_says_in_comments_what_it_found(self, whole: Place, init: Init) -> None:
        init()
        text = (whole.path / SETTINGS).read_text()
        comments = " ".join(line.removeprefix("# ") for line in text.splitlines())
        assert "Found at .agents/active/iteration-log: 2 iterations." in comments
        assert (
            "Found: main, no remote has a trunk, and there is a local branch main."
            in comments
        )
        assert "1 of 2 transcripts found are of work in this repository." in comments
        assert all(len(line) <= 100 for line in text.splitlines())

    def test_every_setting_that_is_commented_out_is_one(
        self, whole: Place, init: Init
    ) -> None:
        init()
        path = whole.path / SETTINGS
        lines = path.read_text().splitlines()
        path.write_text(
            "".join(line.removeprefix("# ") + "\n" for line in lines if "=" in line)
        )
        found = self.settings(whole)
        assert (found.trunk, found.iter_log_dir) == ("main", whole.log)
        assert (found.worktrees, found.test_commands) == (
            (f"{whole.home}/worktrees/*",),
            ("./check --all",),
        )
        assert found.transcript_dirs == (
            whole.home / ".claude/projects/-home-me-src-app",
        )

    def test_takes_what_the_options_name(
        self, whole: Place, tmp_path: Path, init: Init
    ) -> None:
        (whole.path / "t").mkdir()
        options = [
            "--trunk",
            "main",
            "--transcript-dir",
            "t",
            "--transcript-dir",
            str(tmp_path),
        ]
        options += [
            "--worktrees",
            "/trees/*",
            "--worktrees",
            "*/wt-?",
            "--test-commands",
            'make "all"',
        ]
        assert init(*options, "--iter-log-dir", "elsewhere/log").status == 0
        assert tomllib.loads((whole.path / SETTINGS).read_text()) == {
            "rubric": NEWEST,
            "iter-log-dir": "elsewhere/log",
            "trunk": "main",
            "transcript-dir": ["t", str(tmp_path)],
            "worktrees": ["/trees/*", "*/wt-?"],
            "test-commands": ['make "all"'],
        }
        assert self.settings(whole).test_commands == ('make "all"',)
        assert self.settings(whole).transcript_dirs == (whole.path / "t", tmp_path)

    def test_writes_no_transcripts_where_none_are_wanted(
        self, whole: Place, init: Init
    ) -> None:
        assert init("--transcripts", "none").status == 0
        assert self.settings(whole).transcripts == "none"

    def test_never_replaces_a_file_unless_forced(
        self, whole: Place, init: Init
    ) -> None:
        path = whole.path / SETTINGS
        path.write_text("rubric = '2.0.2'\n")
        assert "exists already; --force replaces it" in one_line(init())
        assert path.read_text() == "rubric = '2.0.2'\n"
        assert init("--force").status == 0
        assert (self.settings(whole).rubric, self.settings(whole).derive) == (
            NEWEST,
            False,
        )
        path.write_text("derive = true\n")  # the hook goes on writing entries
        assert init("--force").status == 0
        assert (self.settings(whole).rubric, self.settings(whole).derive) == (
            NEWEST,
            True,
        )
        path.unlink()
        path.symlink_to("missing")
        assert init().status == 1
        assert path.is_symlink()

    def test_prints_the_same_and_writes_nothing(self, whole: Place, init: Init) -> None:
        printed = init("--print").out
        path = whole.path / SETTINGS
        assert not path.exists()
        assert init("--json").json == {
            "path": str(path),
            "rubric": NEWEST,
            "untracked": [
                ".agents/active/iteration-log/iter-2.yaml",
                ".agents/da-score.toml",
            ],
        }
        assert path.read_text() == printed

    def test_writes_to_the_top_of_the_repository(
        self, whole: Place, init: Init, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(whole.path / "src")
        assert init().status == 0
        assert "2 iterations" in (whole.path / SETTINGS).read_text()

    def test_works_where_there_is_no_log_yet(
        self, tmp_path: Path, init: Init, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        repo = Repo(tmp_path / "new", branch="main")
        monkeypatch.chdir(repo.path)
        assert init().status == 0
        text = (repo.path / SETTINGS).read_text()
        assert "There was none at .agents/active/iteration-log when" in text
        assert tomllib.loads(text)["rubric"] == NEWEST

    @pytest.mark.parametrize(
        "options",
        [["--trunk", "nowhere"], ["--repo-dir", "/"], ["--transcripts", "all"]],
        ids=str,
    )
    def test_writes_nothing_that_could_not_be_used(
        self, whole: Place, init: Init, options: list[str]
    ) -> None:
        found = init(*options)
        assert (found.status, bool(one_line(found))) == (
            2 if "all" in options else 1,
            True,
        )
        assert not (whole.path / SETTINGS).exists()

    @pytest.mark.parametrize("name", ['a "quoted" name', "a\\b", "ü\x7f"])
    def test_any_name_of_a_folder_survives(
        self, whole: Place, init: Init, name: str
    ) -> None:
        (whole.path / name).mkdir()
        assert init("--transcript-dir", name).status == 0
        assert self.settings(whole).transcript_dirs == (whole.path / name,)


def test_where_nothing_is_set_up_it_speaks_for_the_rubric_that_init_chooses(
    place: Place, doctor: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in os.environ if name.startswith("DA_SCORE_")]:
        monkeypatch.delenv(name)
    place.log.rmdir()
    found = doctor()
    assert found["rubric_version"] == "3.1.0"
    assert advice(found, "settings", "note") == [
        "nothing is set up here: this is what rubric 3.1.0 finds, which init chooses"
    ]

    assert doctor("--rubric", "2.1.0")["rubric_version"] == "2.1.0"
    (place.path / ".agents/da-score.toml").write_text('trunk = "main"\n')
    assert doctor()["rubric_version"] == "2.1.0"
