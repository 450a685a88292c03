"""The batch job: which logs it finds, what it scores and why, and what it leaves alone."""

import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import msgspec
import pytest
from helpers.commands import COMMAND, DaScore, lines_of, one_line, terminal
from helpers.litter import dead_process, litter
from helpers.privileges import no_privileges
from helpers.projects import CLAUDE_SESSION as CLAUDE
from helpers.projects import CODEX_SESSION as CODEX
from helpers.projects import LOG, Project, edit, tree
from helpers.repos import Repo

import scoring.jobs.backfill
import scoring.jobs.backfill_many
from rubric import default_rubric, released_rubric
from scoring import file_stamps, store
from scoring.errors import InputError
from scoring.evidence.facts import IterationFacts
from scoring.jobs.backfill import BackfillPlan, LogReport, backfill_log
from scoring.log.find import FoundLog, find_logs, roots_from_file
from scoring.log.settings import Settings

ALL = [1, 2, 3, 4, 5, 6, 7, 8, 9]
BACKFILLED = [3, 4, 5, 8, 9]
"""The iterations of the demo whose tokens come out of a transcript."""

NAME_A_LOG = (
    "name a repository with .agents/active/iteration-log, a folder of such repositories, or a "
    "log directory"
)


@pytest.fixture(autouse=True)
def _surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stand in a folder that is no repository, with a cache of one's own."""
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    monkeypatch.setenv("DA_SCORE_CACHE_DIR", str(tmp_path / "cache"))


class TestFindLogs:
    @staticmethod
    def repository(path: Path) -> Path:
        (path / LOG).mkdir(parents=True)
        return path

    def test_in_a_folder_of_repositories_in_the_order_of_their_names(
        self, tmp_path: Path
    ) -> None:
        src = tmp_path / "src"
        for name in ("b", "c/deep/er", "a", ".hidden", "a/vendor/inner"):
            self.repository(src / name)
        (src / "no-repository").mkdir()
        found = [
            str(log.repo_dir.relative_to(src))
            for log in find_logs([src])
            if log.repo_dir
        ]
        assert found == [".hidden", "a", "a/vendor/inner", "b", "c/deep/er"]

    def test_not_where_tools_keep_their_files(self, tmp_path: Path) -> None:
        for name in ("a", ".git/b", "node_modules/b", ".venv/b", "__pycache__/b"):
            self.repository(tmp_path / "src" / name)
        assert [log.repo_dir for log in find_logs([tmp_path / "src"])] == [
            tmp_path / "src/a"
        ]

    def test_in_a_log_directory_at_any_place(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name in ("iter-007.yaml", "historical.yaml"):
            (tmp_path / name).mkdir()
            (tmp_path / name / name).touch()
            assert find_logs([tmp_path / name]) == [FoundLog(tmp_path / name, None)]
        repo = self.repository(tmp_path / "a")
        (repo / LOG / "iter-1.yaml").touch()
        assert find_logs([repo / LOG]) == [FoundLog(repo / LOG, repo)]
        monkeypatch.chdir(repo / LOG)
        assert find_logs([Path()]) == [FoundLog(Path(), repo)]

    def test_once_each_whatever_they_are_called(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        repo = self.repository(tmp_path / "src/a")
        (repo / LOG / "iter-1.yaml").touch()
        (tmp_path / "alias").symlink_to(repo)
        (tmp_path / "src/b").symlink_to(repo)
        (repo / "round").symlink_to(tmp_path / "src")
        monkeypatch.chdir(repo)
        roots = [
            tmp_path / "alias",
            repo,
            Path(),
            tmp_path / "src",
            repo / LOG,
            tmp_path / "src/b",
        ]
        assert find_logs(roots) == [
            FoundLog(tmp_path / "alias" / LOG, tmp_path / "alias")
        ]

    @pytest.mark.parametrize(
        ("name", "reason"),
        [
            ("missing", f"no such directory; {NAME_A_LOG}"),
            ("file", f"not a directory; {NAME_A_LOG}"),
            ("/dev", "is a system folder; da-score does not look for logs there"),
            ("empty", f"no iteration log here; {NAME_A_LOG}"),
        ],
    )
    def test_not_where_there_is_none(
        self, tmp_path: Path, name: str, reason: str
    ) -> None:
        (tmp_path / "file").touch()
        (tmp_path / "empty/iter-x.yaml").mkdir(parents=True)
        with pytest.raises(InputError) as raised:
            find_logs([tmp_path / name])
        assert str(raised.value) == f"{tmp_path / name}: {reason}"

    def test_also_one_that_may_not_be_read(self) -> None:
        with tempfile.TemporaryDirectory(dir="/tmp") as closed:
            os.chmod(closed, 0)
            with no_privileges():
                assert find_logs([Path(closed)]) == [
                    FoundLog(Path(closed) / LOG, Path(closed))
                ]

    def test_below_also_one_in_which_nothing_may_be_looked_at(self) -> None:
        with tempfile.TemporaryDirectory(dir="/tmp") as src:
            os.chmod(src, 0o755)
            closed = Path(src, "a")
            closed.mkdir()
            open_one = self.repository(Path(src, "b"))
            closed.chmod(0o444)  # its names can be listed, and .agents is none of them
            with no_privileges():
                assert [log.repo_dir for log in find_logs([Path(src)])] == [
                    closed,
                    open_one,
                ]

    def test_named_in_a_file(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("HOME", "/home/ada")
        listed = b"# ours\n/src/a\n\n   \r\n  /src/b c\t\r\n#/src/d\n~/src/e\nrelative\n/src/\xff"
        (tmp_path / "list").write_bytes(listed)
        names = (
            "/src/a",
            "/src/b c",
            "/home/ada/src/e",
            "relative",
            os.fsdecode(b"/src/\xff"),
        )
        assert roots_from_file(tmp_path / "list") == list(map(Path, names))
        with pytest.raises(InputError, match=r": is a directory$"):
            roots_from_file(tmp_path)


@pytest.fixture
def expected(_scored_demo: Path) -> dict[str, bytes]:
    """The sidecars of the demo, as a run writes them."""
    return Project(_scored_demo).sidecars()


@pytest.fixture
def project(compact_demo: Path, tmp_path: Path) -> Project:
    """The demo, not scored yet."""
    shutil.copytree(compact_demo, tmp_path / "src/demo", symlinks=True)
    return Project(tmp_path / "src/demo")


@pytest.fixture
def done(project: Project) -> Project:
    """The demo, brought up to date by a backfill."""
    assert backfill(project).scored == dict.fromkeys(ALL, "no sidecar")
    return project


def backfill(project: Project, **how: Any) -> LogReport:
    """Bring the demo up to date by way of the library."""
    transcripts = (project.transcripts / "claude", project.transcripts / "codex")
    settings = Settings(
        project.log,
        project.repo,
        transcript_dirs=transcripts,
        cache_dir=Path(os.environ["DA_SCORE_CACHE_DIR"]),
        no_cache=how.pop("no_cache", False),
    )
    return backfill_log(BackfillPlan(settings, **{"rubric": default_rubric()} | how))


Change = Callable[[Project], object]

TURN = (
    '{"type":"assistant","timestamp":"%s","message":{"role":"assistant",'
    '"usage":{"input_tokens":9,"output_tokens":9,'
    '"cache_read_input_tokens":0,"cache_creation_input_tokens":90000},"content":[]}}\n'
)


def add_turn(project: Project, at: str) -> None:
    with (project.transcripts / "claude" / f"{CLAUDE}.jsonl").open("a") as f:
        f.write(TURN % at)


def reject(project: Project) -> None:
    """Let a verifier's artifact say that it failed."""
    edit(
        project.repo / ".agents/active/verification/redirect/unit.result.yaml",
        "status: pass",
        "status: fail",
    )


REASONS: dict[str, tuple[Change, dict[int, str]]] = {
    "nothing": (lambda _: None, {}),
    "no sidecar": (lambda p: p.sidecar(3).unlink(), {3: "no sidecar"}),
    "a sidecar that is no YAML": (
        lambda p: p.sidecar(3).write_bytes(b"value: ["),
        {3: "unreadable sidecar"},
    ),
    "a sidecar of another rubric": (
        lambda p: edit(p.sidecar(3), "rubric_version: 2.1.0", "rubric_version: 2.0.2"),
        {3: "rubric 2.0.2"},
    ),
    "a sidecar that was edited": (
        lambda p: edit(p.sidecar(3), "band: excellent", "band: good"),
        {3: "result differs, and what it was computed from was not kept"},
    ),
    "an entry that changed": (
        lambda p: edit(p.entry(3), "retries: 0", "retries: 1"),
        {3: "inputs changed"},
    ),
    "an entry with another wave, which is not scored": (
        lambda p: edit(p.entry(3), "wave: links", "wave: x"),
        {},
    ),
    "an artifact that changed": (reject, {3: "inputs changed"}),
    "a turn in the window of an iteration": (
        lambda p: add_turn(p, "2026-03-03T09:20:00Z"),
        {3: "inputs changed"},
    ),
    "a new transcript for an iteration without one": (
        lambda p: (p.transcripts / "claude/a.jsonl").write_text(
            TURN % "2026-03-02T09:00:00Z"
        ),
        {1: "inputs changed"},
    ),
    "two things at once": (
        lambda p: (
            edit(p.entry(4), "retries: 1", "retries: 2"),
            p.sidecar(9).rename(p.root / "away"),
        ),
        {4: "inputs changed", 9: "no sidecar"},
    ),
    "a new entry": (
        lambda p: (p.log / "iter-10.yaml").write_text(
            "schema_version: 1\niteration: 10\n"
        ),
        {10: "no sidecar"},
    ),
}


class TestReasons:
    @pytest.mark.parametrize(("change", "scored"), REASONS.values(), ids=REASONS)
    def test_are(self, done: Project, change: Change, scored: dict[int, str]) -> None:
        change(done)
        count = len(list(done.log.glob("iter-[0-9].yaml"))) + len(
            list(done.log.glob("iter-??.yaml"))
        )
        found = backfill(done)
        assert (found.error, found.scored, found.up_to_date) == (
            None,
            scored,
            count - len(scored),
        )
        assert (found.kept, found.git_changed, found.passed_over) == ({}, [], 0)
        again = backfill(done)
        assert (again.scored, again.up_to_date) == ({}, count)

    def test_to_do_it_all_again_is_force(
        self, done: Project, expected: dict[str, bytes]
    ) -> None:
        before = tree(done.log)
        found = backfill(done, force=True)
        assert (found.scored, found.up_to_date) == (dict.fromkeys(ALL, "forced"), 0)
        assert (done.sidecars(), tree(done.log)) == (
            expected,
            before,
        )  # the same bytes are not written again

    @pytest.mark.parametrize(
        "when", ["scoring.score.signal_set", "scoring.sidecars.writing.stamp_of_score"]
    )
    def test_show_the_next_time_when_an_input_changes_under_the_work(
        self, project: Project, monkeypatch: pytest.MonkeyPatch, when: str
    ) -> None:
        module, _, name = when.rpartition(".")
        work = getattr(sys.modules[module], name)
        left = [reject]

        def and_then(*arguments: Any, **how: Any) -> Any:
            found = work(*arguments, **how)
            if left and any(
                isinstance(one, IterationFacts) and one.record.iteration == 3
                for one in arguments
            ):
                left.pop()(project)
            return found

        with monkeypatch.context() as patched:
            patched.setattr(when, and_then)
            assert backfill(project).scored == dict.fromkeys(ALL, "no sidecar")
        assert backfill(project).scored == {3: "inputs changed"}
        assert b"1/1 verifiers scored, mean status" in project.sidecar(3).read_bytes()
        assert backfill(project).scored == {}


class TestNothingToDo:
    """A log in which nothing was to be done is not scored again until something changes."""

    @pytest.fixture(autouse=True)
    def settled(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Files are known by their stamps at once: no test waits two seconds."""
        monkeypatch.setattr(file_stamps, "SETTLED", 0)

    @pytest.fixture
    def known(self, done: Project) -> Project:
        """The demo after a backfill that had nothing to do."""
        assert backfill(done).up_to_date == 9
        return done

    @staticmethod
    def fail(*_: Any, **__: Any) -> Any:
        pytest.fail("something was scored")

    def test_is_said_at_once(
        self, known: Project, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with monkeypatch.context() as patched:
            patched.setattr(scoring.jobs.backfill, "score_iterations", self.fail)
            at_once = backfill(known)
        anew = backfill(known, since=date(2000, 1, 1))
        for report in (at_once, anew):
            report.seconds = 0
        assert at_once == anew
        assert at_once.absent

    @pytest.mark.parametrize("how", ["force", "no_cache", "refresh_git"])
    def test_holds_for_the_same_plan_alone(
        self, known: Project, monkeypatch: pytest.MonkeyPatch, how: str
    ) -> None:
        scoring_again = Mock(return_value=())
        monkeypatch.setattr(scoring.jobs.backfill, "score_iterations", scoring_again)
        backfill(known, **{how: True})
        assert scoring_again.called

    @pytest.mark.parametrize("has_transcripts", [True, False])
    def test_is_not_known_where_sessions_may_have_written_an_artifact(
        self,
        project: Project,
        monkeypatch: pytest.MonkeyPatch,
        has_transcripts: bool,
    ) -> None:
        """Whether they did depends on links anywhere in the repository."""
        if not has_transcripts:
            for path in project.transcripts.rglob("*.jsonl"):
                path.write_text("")
        rubric = released_rubric("3.1.0")
        for _ in range(2):
            backfill(project, rubric=rubric)

        scoring_again = Mock(return_value=())
        monkeypatch.setattr(scoring.jobs.backfill, "score_iterations", scoring_again)
        backfill(project, rubric=rubric)
        assert scoring_again.called == has_transcripts

    def test_leaves_no_iteration_out_that_is_taken(self, known: Project) -> None:
        settings = Settings(known.log, known.repo)
        taken: list[Any] = []
        backfill_log(BackfillPlan(settings, default_rubric()), taken.append)
        assert len(taken) == 9

    @pytest.mark.parametrize(("change", "scored"), REASONS.values(), ids=REASONS)
    def test_ends_with_a_change(
        self, known: Project, change: Change, scored: dict[int, str]
    ) -> None:
        change(known)
        assert backfill(known).scored == scored

    def test_ends_where_the_folder_of_an_artifact_is_a_link_out_of_the_repository(
        self, known: Project, tmp_path: Path
    ) -> None:
        reject(known)
        for scored in ({3: "inputs changed"}, {}, {}):
            assert backfill(known).scored == scored
        folder = known.repo / ".agents/active/verification/redirect"
        folder.rename(tmp_path / "outside")
        folder.symlink_to(tmp_path / "outside")
        assert backfill(known).scored == {3: "inputs changed"}

    def test_ends_with_a_session_s_sidecar(self, known: Project) -> None:
        sidecar = min(known.log.glob("session-*.score.yaml"))
        before = sidecar.read_bytes()
        sidecar.unlink()
        backfill(known)
        assert sidecar.read_bytes() == before


class TestAnswersOfGit:
    """They change with every push and age no score by themselves."""

    @staticmethod
    def land(project: Project) -> None:
        """Let the commit of iteration 9 be on the trunk."""
        Repo.at(project.repo).git("update-ref", "refs/heads/master", "export-csv")

    def test_that_changed_are_listed_and_scored_when_asked_for(
        self, done: Project
    ) -> None:
        before = tree(done.log)
        Repo.at(done.repo).commit({"more": "x"}, "more")  # which changes no answer
        found = backfill(done, refresh_git=True)
        assert (found.scored, found.git_changed, found.up_to_date) == ({}, [], 9)
        self.land(done)
        for _ in range(2):
            found = backfill(done)
            assert (found.scored, found.git_changed, found.up_to_date) == ({}, [9], 9)
        assert tree(done.log) == before
        assert backfill(done, refresh_git=True).scored == {9: "git answers differently"}
        assert (
            b"commit 89925c84a012 reachable from master, not reverted"
            in done.sidecar(9).read_bytes()
        )
        found = backfill(done)
        assert (found.scored, found.git_changed, found.up_to_date) == ({}, [], 9)


class TestStore:
    """What a score came from is kept beside the cache, and losing it costs time alone."""

    @pytest.mark.usefixtures("done")
    def test_holds_digests_alone(self, tmp_path: Path) -> None:
        with sqlite3.connect(tmp_path / "cache" / store.NAME) as kept:
            rows = [
                row
                for (row,) in kept.execute(
                    "SELECT value FROM kept WHERE kind = 'stamp'"
                )
            ]
        assert len(rows) == 9
        for row in rows:
            digests = msgspec.msgpack.decode(row, type=dict[str, str])
            assert list(digests) == ["inputs", "window", "facts", "sidecar"]
            assert all(
                re.fullmatch("[0-9a-f]{24}", digest) for digest in digests.values()
            )

    def test_is_kept_when_a_log_breaks_on_the_way(self, project: Project) -> None:
        (project.sidecar(5) / "in the way").mkdir(parents=True)
        found = backfill(project)
        assert (
            found.error
            == f"{project.sidecar(5)}: cannot write: is a directory; the old file is untouched"
        )
        assert project.written() == ["iter-1", "iter-2", "iter-3", "iter-4", "iter-5"]
        shutil.rmtree(project.sidecar(5))
        before = tree(project.log)
        assert backfill(project).scored == dict.fromkeys([5, 6, 7, 8, 9], "no sidecar")
        after = tree(project.log)
        assert all(after[name] == before[name] for name in before)


class TestDryRun:
    @pytest.mark.parametrize(
        "options",
        [[], ["--force"], ["--json"], ["--rubric", "2.0.2"], ["--refresh-git"]],
        ids=" ".join,
    )
    def test_writes_nothing_where_there_is_something_either(
        self, done: Project, da_score: DaScore, tmp_path: Path, options: list[str]
    ) -> None:
        done.sidecar(3).unlink()
        add_turn(done, "2026-03-03T09:20:00Z")
        TestAnswersOfGit.land(done)
        (done.session(CLAUDE)).unlink()
        # What a killed command left goes with the next one, whichever it is.
        left = litter(done.log, dead_process())
        da_score("lint", "--iter-log-dir", done.log)
        assert not left.exists()
        before = tree(tmp_path)
        assert da_score("backfill", tmp_path / "src", "--dry-run", *options).status == 0
        assert tree(tmp_path) == before


class TestNamedLog:
    def test_is_the_only_one(self, project: Project, da_score: DaScore) -> None:
        """Elsewhere, beside other logs."""
        asked = ("backfill", "--iter-log-dir", project.log, "--json")
        logs = da_score(*asked, "--repo-dir", project.repo).json["logs"]
        assert [(log["iter_log_dir"], len(log["scored"])) for log in logs] == [
            (str(project.log), len(ALL))
        ]

    @pytest.mark.parametrize("by_file", [False, True])
    def test_is_not_one_of_many(
        self, project: Project, da_score: DaScore, tmp_path: Path, by_file: bool
    ) -> None:
        (tmp_path / "roots").write_text(f"{project.repo}\n")
        others = ("--from-file", tmp_path / "roots") if by_file else (project.repo,)
        found = da_score("backfill", "--iter-log-dir", project.log, *others)
        said = "--iter-log-dir names one log, and ROOT or --from-file name others"
        assert (found.status, said in one_line(found)) == (2, True)
        assert not project.sidecar(3).exists()


class TestChoice:
    @pytest.mark.parametrize(
        ("since", "taken"),
        [
            ("2026-03-02", ALL),
            ("2026-03-03", [3, 4, 5, 6, 7, 8, 9]),
            ("2026-03-05", [7, 8, 9]),
            ("2026-03-06", []),
        ],
    )
    def test_of_a_day_or_later(
        self, project: Project, da_score: DaScore, since: str, taken: list[int]
    ) -> None:
        found = da_score("backfill", project.repo, "--since", since, "--json").json[
            "logs"
        ][0]
        assert [one["iteration"] for one in found["scored"]] == taken
        assert found["passed_over"] == 9 - len(taken)
        assert [n for n in ALL if project.sidecar(n).exists()] == taken

    @pytest.mark.parametrize("date", ["", "soon", "2026-13-40", "3 March 2026"])
    def test_without_a_date_goes_by_the_commit(
        self, project: Project, da_score: DaScore, date: str
    ) -> None:
        for n in ALL:
            text = project.entry(n).read_text()
            project.entry(n).write_text(
                re.sub(r"^date: .*", f'date: "{date}"', text, flags=re.M)
            )
        da_score("backfill", project.repo, "--since", "2026-03-05")
        # 2 has no commit, and the commit of 7 is gone: nothing says how old they are
        assert [n for n in ALL if project.sidecar(n).exists()] == [2, 7, 8, 9]


LOST = {
    3: ["correction_pressure", "token_efficiency"],
    # no call had failed, so its correction pressure loses nothing
    4: ["token_efficiency"],
    5: ["correction_pressure", "token_efficiency"],
    8: ["token_efficiency"],
    9: ["token_efficiency"],
}


class TestEvidenceLoss:
    @pytest.fixture
    def without(self, done: Project) -> Project:
        """The demo after its transcripts were deleted."""
        for path in done.transcripts.rglob("*.jsonl"):
            path.unlink()
        return done

    @pytest.mark.parametrize(
        "how",
        [{}, {"force": True}, {"refresh_git": True}, {"no_cache": True}],
        ids=str,
    )
    def test_is_avoided(
        self, without: Project, how: dict[str, Any], expected: dict[str, bytes]
    ) -> None:
        before = tree(without.log)
        found = backfill(without, **how)
        assert {n: kept.lost for n, kept in found.kept.items()} == LOST
        assert set(found.scored) == ({1, 2, 6, 7} if "force" in how else set())
        assert (tree(without.log), without.sidecars()) == (before, expected)

    def test_is_said_and_allowed_when_asked_for(
        self, without: Project, da_score: DaScore
    ) -> None:
        found = da_score("backfill", without.repo)
        assert (found.status, found.lines) == (
            0,
            [f"{without.log}: 0 scored, 4 up to date, 5 kept (evidence lost)"],
        )
        assert "           kept         5\n" in found.out
        listed = "".join(
            f"  {without.log}: {n}: {' and '.join(lost)}\n" for n, lost in LOST.items()
        )
        assert (
            f"\nKept, because the transcripts no longer cover the window:\n{listed}"
            in found.out
        )
        again = da_score("backfill", without.repo, "--allow-evidence-loss")
        assert again.lines == [f"{without.log}: 5 scored, 4 up to date"]
        assert (
            b"no transcript covers the iteration window"
            in without.sidecar(3).read_bytes()
        )
        assert backfill(without).kept == {}


class TestSessions:
    def test_are_made_of_what_stands(self, done: Project) -> None:
        """A score that is kept because its evidence is gone counts as it is."""
        for path in done.transcripts.rglob("*.jsonl"):
            path.unlink()
        edit(done.entry(7), "retries: 1", "retries: 0")
        assert backfill(done).scored == {7: "inputs changed"}
        assert "      value: 0.8448308540439096\n" in done.session(CODEX).read_text()
        assert (
            "      value: 0.8641975308641974\n" not in done.session(CODEX).read_text()
        )


@pytest.fixture
def three(project: Project, compact_demo: Path, tmp_path: Path) -> list[Project]:
    """Three copies of the demo below one folder, none of them scored."""
    others = [Project(tmp_path / "src" / name) for name in ("a", "z")]
    for other in others:
        shutil.copytree(compact_demo, other.root, symlinks=True)
    return [others[0], project, others[1]]


BROKEN: dict[str, tuple[Change, str]] = {
    "an entry": (lambda p: p.entry(4).write_text("iteration: [\n"), "/iter-4.yaml: "),
    "an archive": (
        lambda p: (p.log / "historical.yaml").write_text("iterations: 7\n"),
        "/historical.yaml: ",
    ),
    "no repository": (
        lambda p: shutil.rmtree(p.repo / ".git"),
        "/src/demo/repo: not a git work tree (",
    ),
    "settings": (
        lambda p: p.settings.write_text("x = ["),
        "/da-score.toml: not TOML: ",
    ),
    "unknown settings": (
        lambda p: p.settings.write_text("x = 1"),
        "/da-score.toml: unknown setting 'x'",
    ),
    "an unknown rubric": (lambda p: p.settings.write_text('rubric = "9.9.9"'), "9.9.9"),
    "a sidecar that cannot be written": (
        lambda p: (p.sidecar(1) / "in the way").mkdir(parents=True),
        "/iter-1.score.yaml: cannot write: is a directory",
    ),
}


class TestSeveralLogs:
    @pytest.mark.parametrize("jobs", ["1", "2"])
    def test_are_all_brought_up_to_date(
        self,
        three: list[Project],
        da_score: DaScore,
        tmp_path: Path,
        jobs: str,
        expected: dict[str, bytes],
    ) -> None:
        found = da_score("backfill", tmp_path / "src", "--jobs", jobs)
        assert (found.status, found.err) == (0, "")
        assert sorted(found.lines) == [
            f"{project.log}: 9 scored, 0 up to date" for project in three
        ]
        assert [project.sidecars() for project in three] == [expected] * 3
        again = da_score("backfill", tmp_path / "src", "--jobs", jobs, "--json").json
        assert [log["iter_log_dir"] for log in again["logs"]] == [
            str(project.log) for project in three
        ]
        assert (again["totals"]["scored"], again["totals"]["up_to_date"]) == (0, 27)

    @pytest.mark.sampled(12)
    @pytest.mark.parametrize(("spoil", "said"), BROKEN.values(), ids=BROKEN)
    @pytest.mark.parametrize("jobs", ["1", "2"])
    def test_of_which_one_is_broken_are_done_but_for_that(
        self,
        three: list[Project],
        da_score: DaScore,
        tmp_path: Path,
        spoil: Change,
        said: str,
        jobs: str,
        expected: dict[str, bytes],
    ) -> None:
        spoil(three[1])
        found = da_score("backfill", tmp_path / "src", "--jobs", jobs)
        assert found.status == 1
        assert (
            found.err
            == "da-score: error: 1 of 3 logs failed; each is named above with its error\n"
        )
        assert [three[0].sidecars(), three[2].sidecars()] == [expected] * 2
        assert (
            len(
                [
                    line
                    for line in found.lines
                    if line.endswith(": 9 scored, 0 up to date")
                ]
            )
            == 2
        )
        (line,) = [
            line for line in found.lines if line.startswith(f"{three[1].log}: failed: ")
        ]
        assert said in line
        assert "\nLOGS failed             1\n" in found.out
        assert (
            f"\nFailed:\n  {three[1].log}: {line.partition(': failed: ')[2]}\n"
            in found.out
        )

    def test_of_which_one_s_process_is_killed_are_listed(
        self,
        three: list[Project],
        da_score: DaScore,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        own = os.getpid()

        def die(*_: object) -> LogReport:
            assert os.getpid() != own
            os.kill(os.getpid(), 9)
            raise AssertionError

        monkeypatch.setattr(scoring.jobs.backfill_many, "backfill_log", die)
        found = da_score("backfill", tmp_path / "src", "--jobs", "2", "--json")
        assert found.status == 1
        assert [log["error"] for log in json.loads(found.out)["logs"]] == [
            "a process was ended from outside before this log was done; start backfill again"
        ] * len(three)

    def test_are_scored_under_the_settings_of_their_repositories(
        self, three: list[Project], da_score: DaScore, tmp_path: Path
    ) -> None:
        three[0].settings.write_text('rubric = "2.0.2"\n')
        three[1].settings.write_text('transcript-dir = "../transcripts/codex"\n')
        found = da_score("backfill", tmp_path / "src")
        assert (found.status, found.err) == (0, "")
        versions = [project.sidecar(3).read_text().splitlines()[1] for project in three]
        assert versions == [
            "rubric_version: 2.0.2",
            "rubric_version: 2.1.0",
            "rubric_version: 2.1.0",
        ]
        backfilled = [
            [n for n in ALL if "backfilled from" in project.sidecar(n).read_text()]
            for project in three
        ]
        assert backfilled == [[], [8, 9], BACKFILLED]
        before = [project.sidecars() for project in three]
        for project in three:
            assert da_score("run", "--repo-dir", project.repo).status == 0
        assert [
            project.sidecars() for project in three
        ] == before  # as a run in the repository scores them

    def test_in_no_repository_are_an_error_unless_one_is_named(
        self,
        project: Project,
        da_score: DaScore,
        tmp_path: Path,
        expected: dict[str, bytes],
    ) -> None:
        log = project.log.rename(tmp_path / "log")
        found = da_score("backfill", log)
        assert (
            found.status,
            found.lines[0].startswith(f"{log}: failed: {log}: not a git work tree ("),
        ) == (1, True)
        assert da_score("backfill", log, "--repo-dir", project.repo).lines == [
            f"{log}: 9 scored, 0 up to date"
        ]
        assert {
            path.name: path.read_bytes() for path in log.glob("*.score.yaml")
        } == expected


class TestText:
    def test_in_json_has_what_was_done_with_each_log(
        self, done: Project, da_score: DaScore
    ) -> None:
        done.sidecar(3).unlink()
        for path in done.transcripts.glob("codex/*.jsonl"):
            path.write_bytes(b"")
        found = da_score("backfill", done.repo, "--json", "--since", "2026-03-03")
        assert (found.status, found.err) == (0, "")
        content = found.json
        (log,) = content["logs"]
        assert content["totals"].pop("seconds") >= 0
        assert log.pop("seconds") >= 0
        assert list(content) == ["rubric_version", "dry_run", "totals", "logs"]
        totals = {
            "logs": 1,
            "scored": 1,
            "up_to_date": 4,
            "kept": 2,
            "git_changed": 0,
            "passed_over": 2,
            "failed": 0,
        }
        assert content["totals"] == totals
        absent = log.pop("absent")
        first = {
            "signal": "hook_outcomes",
            "reason": "no hook-outcomes sidecar for iter-N",
            "iterations": 3,
        }
        assert absent[0] == first
        assert sum(one["iterations"] for one in absent) == 11
        assert log == {
            "iter_log_dir": str(done.log),
            "error": None,
            "scored": [{"iteration": 3, "reason": "no sidecar"}],
            "up_to_date": 4,
            "passed_over": 2,
            "kept": [{"iteration": n, "lost": ["token_efficiency"]} for n in (8, 9)],
            "git_changed": [],
            "warnings": [],
            "broken": [],
            "rubric_version": "2.1.0",
        }

    @pytest.mark.parametrize(
        ("rubric", "title"),
        [("3.1.0", "rubrics 2.1.0, 3.1.0"), ("2.1.0", "rubric 2.1.0")],
    )
    def test_names_the_rubric_of_each_log(
        self, three: list[Project], da_score: DaScore, rubric: str, title: str
    ) -> None:
        three[0].settings.write_text(f'rubric = "{rubric}"\n')
        found = da_score("backfill", *[project.repo for project in three], "--dry-run")
        assert f"\nBackfill — {title} (dry run)\n" in found.out

    def test_is_a_line_for_each_log_and_a_table(
        self, done: Project, da_score: DaScore
    ) -> None:
        done.sidecar(3).unlink()
        found = da_score("backfill", done.repo, "--since", "2026-03-03")
        assert (found.status, found.err) == (0, "")
        shown = re.sub(r"TIME( +)\d+\.\d s", r"TIME\1T s", found.out)
        assert shown.startswith(
            f"{done.log}: 1 scored, 6 up to date, 2 passed over\n"
            "\n"
            "Backfill — rubric 2.1.0\n"
            "\n"
            "LOGS                    1\n"
            "ITERATIONS scored       1\n"
            "           up to date   6\n"
            "           kept         0\n"
            "           passed over  2\n"
            "LOGS failed             0\n"
            "TIME                    T s\n"
            "\n"
            "ABSENT SIGNAL     ITERATIONS  REASON\n"
            "hook_outcomes     3           no hook-outcomes sidecar for iter-N\n"
        )
        assert shown.endswith(
            "verifier          1           no verifier records and no tests_total_pass proxy\n"
        )


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_terminal_shows_a_line_for_each_log_too(
    three: list[Project], tmp_path: Path, jobs: str
) -> None:
    command = [*COMMAND, "backfill", str(tmp_path / "src"), "--jobs", jobs]
    with terminal(100) as (child, shown):
        environment = os.environ | {"TERM": "xterm", "COLUMNS": "100"}
        done = subprocess.run(
            command, stdout=child, stderr=child, env=environment, check=False
        )
    lines = lines_of(shown)
    assert done.returncode == 0
    assert sum(line.endswith("9 scored, 0 up to date") for line in lines) == len(three)
