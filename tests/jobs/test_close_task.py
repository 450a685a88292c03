"""The hook that a harness runs after a task: what it scores and reads, and how soon it ends."""

import contextlib
import functools
import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from helpers.commands import COMMAND as DA_SCORE
from helpers.commands import Outcome, in_process
from helpers.commands import process as any_process
from helpers.doors import ends
from helpers.projects import CLAUDE_SESSION as CLAUDE
from helpers.projects import CODEX_SESSION as CODEX
from helpers.projects import LOG, Project, edit, tree
from helpers.repos import Repo
from helpers.waiting import all_end, becomes, is_running

import scoring.cli.close_task
from rubric import default_rubric
from scoring.cli.work_reading import meaning_key
from scoring.errors import InputError, SettingsError, Warn, WriteError, silent
from scoring.evidence.rules import REFERENCE, Sources
from scoring.jobs.close_task import ClosedTask, close_task
from scoring.jobs.hook_input import HookInput, parse_hook_input, read_hook_input
from scoring.log.settings import resolve_settings
from scoring.sidecars.meaning import keep_meaning

MEMBERS = {CLAUDE: [3, 4, 5, 6], CODEX: [7, 8, 9]}


@pytest.fixture(autouse=True)
def _surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stand in a folder that is no repository, with a cache of one's own."""
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    monkeypatch.setenv("DA_SCORE_CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture
def project(compact_demo: Path, tmp_path: Path) -> Project:
    """The demo, not scored yet."""
    shutil.copytree(compact_demo, tmp_path / "demo", symlinks=True)
    return Project(tmp_path / "demo")


@pytest.fixture
def scored(_scored_demo: Path, tmp_path: Path) -> Project:
    """The demo with all its sidecars."""
    shutil.copytree(_scored_demo, tmp_path / "scored", symlinks=True)
    return Project(tmp_path / "scored")


@contextlib.contextmanager
def standard_input(data: bytes) -> Iterator[None]:
    """Let the process read some bytes and then the end of a pipe."""
    before = os.dup(0)
    with pipe_with(data, end=True) as (read, _):
        os.dup2(read, 0)
        try:
            yield
        finally:
            os.dup2(before, 0)
            os.close(before)


Hook = Callable[..., Outcome]


@pytest.fixture
def hook(capsysbinary: pytest.CaptureFixture[bytes]) -> Hook:
    """Run ``da-score close-task`` in this process; a mapping is given as JSON on standard input."""

    def run(*arguments: str | Path, given: Any = b"") -> Outcome:
        data = given if isinstance(given, bytes) else json.dumps(given).encode()
        with standard_input(data):
            return in_process(capsysbinary, "close-task", *arguments)

    return run


COMMAND = [*DA_SCORE, "close-task"]
process = functools.partial(any_process, "close-task")
"""Run ``da-score close-task`` in a process of its own."""


def close(
    project: Project, iteration: int | None = None, recompute: str = "current"
) -> ClosedTask:
    """Close a task of the demo with both folders of transcripts."""
    return closed_in(
        project.log,
        project.repo,
        project.claude,
        project.codex,
        iteration=iteration,
        recompute=recompute,
    )


def closed_in(
    log: Path, repo: Path, *transcripts: Path, warn: Warn = silent, **how: Any
) -> ClosedTask:
    sources = Sources.under(REFERENCE, repo, transcripts, {"warn": warn})
    return close_task(log, sources, default_rubric(), **how)


class TestLibrary:
    def test_scores_the_highest_entry_and_its_session(
        self, project: Project, scored: Project
    ) -> None:
        expected = scored.sidecars()
        assert close(project) == ClosedTask(
            9,
            project.sidecar(9),
            True,
            0.7041648571057487,
            "good",
            project.session(CODEX),
            "2.1.0",
            (),
        )
        assert project.written() == ["iter-7", "iter-8", "iter-9", f"session-{CODEX}"]
        for name in project.written():
            assert (project.log / f"{name}.score.yaml").read_bytes() == expected[
                f"{name}.score.yaml"
            ]


class TestRecompute:
    @pytest.mark.parametrize(
        ("iteration", "recompute", "rewritten", "sessions"),
        [
            (9, "current", [9], [CODEX]),
            (1, "current", [1], []),
            (8, "recent-1", [8], [CODEX]),
            (9, "recent-2", [8, 9], [CODEX]),
            (8, "recent-3", [6, 7, 8], [CODEX, CLAUDE]),
            (1, "recent-5", [1], []),
            (9, "recent-999999999", [1, 2, 3, 4, 5, 6, 7, 8, 9], [CODEX, CLAUDE]),
            (2, "all", [1, 2, 3, 4, 5, 6, 7, 8, 9], [CODEX, CLAUDE]),
        ],
    )
    def test_scores_anew_and_rewrites_the_sessions_of_that(
        self,
        scored: Project,
        iteration: int,
        recompute: str,
        rewritten: list[int],
        sessions: list[str],
    ) -> None:
        for number in range(
            1, 10
        ):  # still sidecars of this rubric, and not what a new score would be
            edit(
                scored.sidecar(number),
                "label: Landed on master",
                "label: Landed somewhere",
            )
        for session_id in MEMBERS:
            scored.session(session_id).write_text("old")
        closed = close(scored, iteration, recompute)
        assert [
            n
            for n in range(1, 10)
            if "Landed somewhere" not in scored.sidecar(n).read_text()
        ] == rewritten
        assert [
            s for s in (CODEX, CLAUDE) if scored.session(s).read_text() != "old"
        ] == sessions
        own = next((s for s, members in MEMBERS.items() if iteration in members), None)
        assert closed.session_sidecar_path == (own and scored.session(own))

    @pytest.mark.parametrize(
        "recompute",
        [
            "",
            "ALL",
            "recent",
            "recent-0",
            "recent--1",
            "recent-01",
            "recent-1e3",
            "recent-1234567890",
            "recent-1\n",
        ],
        ids=repr,
    )
    def test_refuses_anything_else(self, project: Project, recompute: str) -> None:
        with pytest.raises(SettingsError) as raised:
            close(project, recompute=recompute)
        assert (
            str(raised.value)
            == f"--score-recompute {recompute!r} must be current, recent-K or all"
        )
        assert project.written() == []


class TestSession:
    @pytest.mark.parametrize(
        "spoil",
        [
            pytest.param(lambda _: None, id="missing"),
            pytest.param(lambda _: b"value: [", id="no YAML"),
            pytest.param(
                lambda data: data.replace(b"2.1.0", b"2.0.2"), id="of another rubric"
            ),
            pytest.param(
                lambda data: data.replace(b"iteration: 8", b"iteration: 7"),
                id="of another iteration",
            ),
            pytest.param(
                lambda data: b"\n".join(data.splitlines()[:4]) + b"\n",
                id="cut off before the band",
            ),
            pytest.param(
                lambda data: b"\n".join(data.splitlines()[:22]) + b"\n",
                id="cut off between two rows",
            ),
            pytest.param(lambda data: data + data, id="twice in one file"),
        ],
    )
    def test_scores_a_member_whose_sidecar_cannot_stand(
        self, scored: Project, spoil: Callable[[bytes], bytes | None]
    ) -> None:
        before = {
            path.name: path.read_bytes() for path in scored.log.glob("*.score.yaml")
        }
        spoilt = spoil(before["iter-8.score.yaml"])
        scored.sidecar(8).unlink()
        if spoilt is not None:
            scored.sidecar(8).write_bytes(spoilt)
        closed = close(scored, 9)
        assert {
            path.name: path.read_bytes() for path in scored.log.glob("*.score.yaml")
        } == before
        assert closed.warnings == ()


def small_log(repo: Repo, session_id: str) -> Path:
    """A log of one entry, in a session."""
    log = repo.path / LOG
    log.mkdir(parents=True)
    sha = repo.commit({"a": "a"})
    agent = json.dumps({"session_id": session_id})
    (log / "iter-1.yaml").write_text(
        f"schema_version: 2\niteration: 1\ncommit: {sha}\nagent: {agent}\n"
    )
    return log


class TestEvidenceLoss:
    LOST = (
        "iteration 3: the transcripts no longer cover its window; "
        "correction_pressure and token_efficiency lost evidence that the old sidecar had"
    )

    def test_is_said_in_one_line_and_the_sidecar_rewritten(
        self, scored: Project, hook: Hook
    ) -> None:
        scored.settings.unlink()
        for session in (CLAUDE, CODEX):
            edit(
                scored.log / f"iter-{MEMBERS[session][0]}.yaml",
                session,
                f"../{session}",
            )
        found = hook("3", "--score-recompute", "recent-1", "--repo-dir", scored.repo)
        assert found == Outcome(
            0,
            f"iteration 3  score 1.000  excellent  → {scored.sidecar(3)}\n",
            f"da-score: warning: {self.LOST}; session id '../{CLAUDE}' cannot be a file name; "
            "this session gets no score file\n",
        )
        assert scored.tokens(3) == "no transcript covers the iteration window"
        # native tokens
        assert closed_in(scored.log, scored.repo, iteration=6).warnings == ()


class TestOutput:
    @pytest.mark.parametrize(
        "arguments", [["close-task", "--json"], ["--json", "close-task"]], ids=" ".join
    )
    def test_is_json_when_asked_for(
        self,
        project: Project,
        capsysbinary: pytest.CaptureFixture[bytes],
        arguments: list[str],
    ) -> None:
        with standard_input(b""):
            found = in_process(capsysbinary, *arguments, "--repo-dir", project.repo)
        assert list(found.json.items()) == [
            ("iteration", 9),
            ("sidecar_path", f"{project.log}/iter-9.score.yaml"),
            ("scored", True),
            ("value", 0.7041648571057487),
            ("band", "good"),
            ("session_sidecar_path", f"{project.log}/session-{CODEX}.score.yaml"),
            ("rubric_version", "2.1.0"),
            ("warnings", []),
        ]


def claude_stop(project: Project, **fields: Any) -> dict[str, Any]:
    """What Claude Code says to a Stop hook."""
    return {
        "session_id": CLAUDE,
        "transcript_path": str(project.claude / f"{CLAUDE}.jsonl"),
        "cwd": str(project.repo),
        "permission_mode": "default",
        "hook_event_name": "Stop",
        "stop_hook_active": False,
        "last_assistant_message": 'Done: {"all"} green.\n}',
        **fields,
    }


def codex_notify(project: Project, **fields: Any) -> dict[str, Any]:
    """What Codex says to a notify program, as its last argument."""
    return {
        "type": "agent-turn-complete",
        "thread-id": CODEX,
        "cwd": str(project.repo),
        "last-assistant-message": "Done.",
        **fields,
    }


class TestHarness:
    @pytest.mark.parametrize(
        ("fields", "there"),
        [
            pytest.param({}, True, id="Claude Stop"),
            pytest.param(
                {"hook_event_name": "SubagentStop", "agent_id": "a1"},
                True,
                id="Claude SubagentStop",
            ),
            pytest.param(
                {"hook_event_name": "SessionEnd", "reason": "other"},
                True,
                id="Claude SessionEnd",
            ),
            pytest.param(
                {"hook_event_name": "TaskCompleted", "task_id": "7"},
                True,
                id="Claude TaskCompleted",
            ),
            pytest.param(
                {"model": "gpt-5.2-codex", "transcript_path": None},
                False,
                id="Codex Stop",
            ),
            pytest.param({"transcript_path": ""}, False, id="an empty path"),
            pytest.param(
                {"transcript_path": "/no/such/folder/x.jsonl"},
                False,
                id="a folder that is not there yet",
            ),
        ],
    )
    def test_names_the_repository_and_a_folder_of_transcripts(
        self, project: Project, hook: Hook, fields: dict[str, Any], there: bool
    ) -> None:
        project.settings.unlink()
        found = hook("3", given=claude_stop(project, **fields))
        seen = "backfilled from 6 transcript turn(s): cache_hit_rate 0.664"
        tokens = seen if there else "no transcript covers the iteration window"
        assert (found.status, found.err, project.tokens(3)) == (0, "", tokens)
        assert found.out.endswith(f"  → {project.sidecar(3)}\n")

    @pytest.mark.parametrize("by", ["a sub-agent", "the settings"])
    def test_adds_its_folder_to_that_of_a_sub_agent_or_the_settings(
        self, project: Project, hook: Hook, by: str
    ) -> None:
        project.settings.write_text(
            'transcript-dir = "../transcripts/codex"\n' if by == "the settings" else ""
        )
        more = (
            {"agent_transcript_path": str(project.codex / "agent-1.jsonl")}
            if by == "a sub-agent"
            else {}
        )
        found = hook("--score-recompute", "all", given=claude_stop(project, **more))
        assert (found.status, found.err) == (0, "")
        turns = [
            project.tokens(n).partition(" transcript turn")[0] for n in (3, 4, 5, 8, 9)
        ]
        assert turns == [f"backfilled from {n}" for n in (6, 4, 6, 7, 3)]

    @pytest.mark.parametrize("number", [(), ("8",)], ids=["the highest", "N"])
    @pytest.mark.parametrize("first", [True, False], ids=["in front", "behind"])
    def test_may_say_it_in_an_argument(
        self, project: Project, hook: Hook, number: tuple[str, ...], first: bool
    ) -> None:
        said = (json.dumps(codex_notify(project)),)
        found = hook(*(said + number if first else number + said))
        wanted = "iteration 8  score 0.845" if number else "iteration 9  score 0.704"
        sidecar = project.sidecar(8 if number else 9)
        assert found == Outcome(0, f"{wanted}  good  → {sidecar}\n", "")

    def test_is_overruled_by_the_command_line(
        self, project: Project, hook: Hook, repo: Repo
    ) -> None:
        small_log(repo, "")
        said = claude_stop(project, cwd=str(repo.path))
        found = hook("--repo-dir", project.repo, given=said)
        assert found.out == f"iteration 9  score 0.704  good  → {project.sidecar(9)}\n"
        other = Path(shutil.copytree(project.log, project.root / "other"))
        found = hook("--repo-dir", project.repo, "--iter-log-dir", other, given=said)
        assert (
            found.out
            == f"iteration 9  score 0.704  good  → {other}/iter-9.score.yaml\n"
        )
        assert not (repo.path / LOG / "iter-1.score.yaml").exists()


class TestStopHookActive:
    @pytest.mark.parametrize(
        "arguments",
        [[], ["--json"], ["--strict"], ["99"], ["--score-recompute", "x"]],
        ids=" ".join,
    )
    def test_does_nothing_at_all(
        self, project: Project, hook: Hook, arguments: list[str]
    ) -> None:
        before = tree(project.root)
        assert hook(
            *arguments, given=claude_stop(project, stop_hook_active=True)
        ) == Outcome(0, "", "")
        assert tree(project.root) == before
        assert hook(
            given={"stop_hook_active": True, "cwd": "/no/such/folder"}
        ) == Outcome(0, "", "")


@contextlib.contextmanager
def pipe_with(data: bytes = b"", end: bool = False) -> Iterator[tuple[int, int]]:
    """A pipe in which some bytes wait; with or without its end."""
    read, write = os.pipe()
    try:
        os.write(write, data)
        if end:
            os.close(write)
        yield read, write
    finally:
        os.close(read)
        if not end:
            os.close(write)


class TestStandardInput:
    """At most 100 ms, and never longer than until a whole object is there."""

    def test_that_says_nothing_is_waited_for_no_longer_than_that(self) -> None:
        took = []
        with pipe_with() as (read, _):
            for _ in range(3):
                began = time.monotonic()
                assert read_hook_input(read) is None
                took.append(time.monotonic() - began)
        assert 0.09 < min(took) < 10

    @pytest.mark.parametrize(
        "data",
        [
            *(
                b'{"cwd": "/a"',
                b"{",
                b"garbage",
                b"[1, 2]",
                b"null",
                b'"text"',
                b'{"cwd": "/a"} {"cwd": "/b"}',
            ),
            *(
                b"{'cwd': '/a'}",
                b'{"cwd": "\xff"}',
                b"\xff\xfe\x00",
                b"\0\0\0\0",
                b'{"a": ' + b"9" * 5000 + b"}",
            ),
        ],
        ids=lambda data: ascii(data[:30]),
    )
    @pytest.mark.parametrize("end", [True, False], ids=["that ends", "that stays open"])
    def test_of_another_kind_is_an_error(self, data: bytes, end: bool) -> None:
        with (
            pipe_with(data, end) as (read, _),
            pytest.raises(InputError, match=r"^the harness's input is not "),
        ):
            read_hook_input(read, 0.02)

    def test_of_other_harnesses_is_spelled_otherwise(self) -> None:
        found = parse_hook_input(
            '{"sessionId": "a", "transcriptPath": "/t/x.jsonl", "workspace_roots": ["/work"]}'
        )
        assert found == HookInput(Path("/work"), (Path("/t"),), False, "a")
        assert parse_hook_input(
            '{"conversation_id": "b", "workspace_roots": 5}'
        ) == HookInput(None, (), False, "b")

    def test_that_has_no_end_is_given_up(self) -> None:
        with open("/dev/zero", "rb") as f:
            began = time.monotonic()
            with pytest.raises(InputError):
                read_hook_input(f.fileno())
            assert time.monotonic() - began < 60

    def test_that_is_blank_or_cannot_be_read_is_as_if_there_were_none(
        self, tmp_path: Path
    ) -> None:
        with pipe_with(b" \t\r\n\n", end=True) as (read, _):
            assert read_hook_input(read) is None
        fd = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            assert read_hook_input(fd) is None
        finally:
            os.close(fd)
        read, write = os.pipe()
        os.close(read)
        try:
            assert read_hook_input(read) is None  # closed
            assert read_hook_input(write) is None  # to write to
        finally:
            os.close(write)

    def test_that_is_a_terminal_is_not_listened_to(self) -> None:
        parent, child = os.openpty()
        try:
            os.write(parent, b'{"cwd": "/a"}\n')
            assert ends(lambda: read_hook_input(child, 600)) is None
        finally:
            os.close(parent)
            os.close(child)


ODD: list[Any] = [
    *(None, True, 0, -1.5, [], {}, ["/a"], "", "\0", "/a\0b/c"),
    *("/" + "x" * 300 + "/x", "/x" * 3000, "~nobody-here/x", "/\ud800/x"),
]


class TestFields:
    """Nothing that a harness says is trusted."""

    @pytest.mark.parametrize("value", ODD, ids=lambda value: ascii(value)[:20])
    @pytest.mark.parametrize("name", ["transcript_path", "agent_transcript_path"])
    def test_of_transcripts_that_are_odd_are_as_if_they_were_not_there(
        self, project: Project, hook: Hook, name: str, value: object
    ) -> None:
        found = hook("1", given=claude_stop(project, **{name: value}))
        assert found == Outcome(
            0, f"iteration 1  score 1.000  excellent  → {project.sidecar(1)}\n", ""
        )

    @pytest.mark.parametrize(
        "value", [None, True, 0, -1.5, [], {}, "", "\0", "/a\0b"], ids=ascii
    )
    def test_of_the_place_that_are_odd_are_as_if_they_were_not_there(
        self,
        project: Project,
        hook: Hook,
        value: object,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.chdir(project.repo)
        found = hook("1", given={"cwd": value})
        assert found == Outcome(
            0, f"iteration 1  score 1.000  excellent  → {LOG}/iter-1.score.yaml\n", ""
        )

    @pytest.mark.parametrize(
        "value",
        [
            "/no/such/place",
            "/" + "x" * 300,
            "/x" * 3000,
            "~nobody-here/x",
            "\ud800",
            "/etc/hostname",
        ],
        ids=lambda v: ascii(v)[:20],
    )
    def test_of_the_place_that_is_not_there_are_said(
        self, hook: Hook, value: str
    ) -> None:
        found = hook("1", given={"cwd": value})
        assert (found.status, found.out) == (0, "")
        assert found.err.startswith("da-score: warning: ")
        assert found.err.endswith(": the harness's cwd is not a directory\n")


Broken = Callable[[Project], list[str]]


def broken(what: Callable[[Project], object], *arguments: str) -> Broken:
    """A project with something wrong, and the command line that meets it."""

    def make(project: Project) -> list[str]:
        what(project)
        return [*arguments, "--repo-dir", str(project.repo)]

    return make


def wrong(*arguments: str) -> Broken:
    """A command line that is wrong by itself."""
    return lambda project: [*arguments, "--repo-dir", str(project.repo)]


def empty(folder: Path) -> None:
    for path in folder.iterdir():
        path.unlink()


FAILURES: dict[str, tuple[Broken, str]] = {
    "an unknown option": (wrong("--bogus"), "No such option '--bogus'"),
    "a time that is not a number": (
        wrong("--timeout", "nan"),
        "'nan' is not a valid number",
    ),
    "an iteration that is no number": (
        wrong("nine"),
        "argument 'nine' is neither an iteration nor",
    ),
    "an iteration that is not there": (
        wrong("99"),
        "iter-99.yaml: no entry for iteration 99 in this log",
    ),
    "an argument that is broken JSON": (
        wrong('{"cwd": '),
        "the harness's input is not JSON: ",
    ),
    "an unknown rubric": (wrong("--rubric", "9.9.9"), "9.9.9"),
    "no log": (
        broken(lambda p: shutil.rmtree(p.log)),
        "iteration-log: no such file or directory; name the",
    ),
    "an empty log": (
        broken(lambda p: empty(p.log)),
        "iteration-log: no iterations found; there is nothing to close",
    ),
    "no repository": (
        broken(lambda p: shutil.rmtree(p.repo / ".git")),
        "not a git work tree",
    ),
    "a broken entry": (
        broken(lambda p: (p.log / "iter-4.yaml").write_text("iteration: [\n")),
        "iter-4.yaml: ",
    ),
    "settings that are not TOML": (
        broken(lambda p: p.settings.write_text("x = [")),
        "da-score.toml: not TOML: ",
    ),
    "a sidecar that cannot be written": (
        broken(lambda p: (p.sidecar(9) / "inside").mkdir(parents=True)),
        "iter-9.score.yaml: cannot write: is a directory; the old file is untouched",
    ),
}


class TestFailure:
    """Whatever happens: status 0, only JSON on standard output, and one line on standard error."""

    @pytest.mark.parametrize(("make", "said"), FAILURES.values(), ids=FAILURES)
    def test_is_a_warning_and_with_strict_an_error(
        self, project: Project, hook: Hook, make: Broken, said: str
    ) -> None:
        arguments = make(project)
        for options, status, kind in (
            ([], 0, "warning"),
            (["--json"], 0, "warning"),
            (["--strict"], 1, "error"),
        ):
            found = hook(*options, *arguments)
            assert (found.status, found.out) == (status, "")
            assert found.err.startswith(f"da-score: {kind}: ")
            assert (found.err.count("\n"), found.err[-1]) == (1, "\n")
            assert any(part in found.err for part in said.split("|"))
        assert list(project.root.rglob(".da-score-*")) == []

    @pytest.mark.parametrize(
        ("error", "said"),
        [
            (
                ZeroDivisionError("a\nb"),
                "internal error, please report it: ZeroDivisionError: a b",
            ),
            (RecursionError(), "internal error, please report it: RecursionError: "),
            (
                UnicodeEncodeError("utf-8", "\ud800", 0, 1, "no"),
                "internal error, please report it: UnicodeEncodeError",
            ),
            (WriteError("no room"), "no room"),
            (KeyboardInterrupt(), "interrupted"),
        ],
        ids=repr,
    )
    def test_of_any_kind_is_a_warning(
        self,
        project: Project,
        hook: Hook,
        monkeypatch: pytest.MonkeyPatch,
        error: BaseException,
        said: str,
    ) -> None:
        def fail(*_: object, **__: object) -> None:
            raise error

        monkeypatch.setattr(scoring.cli.close_task, "close_task", fail)
        found = hook("--json", "--repo-dir", project.repo)
        assert (found.status, found.out, found.err.count("\n")) == (0, "", 1)
        assert found.err.startswith(f"da-score: warning: {said}")
        strict = hook("--strict", "--repo-dir", project.repo)
        assert (strict.status, strict.err.startswith(f"da-score: error: {said}")) == (
            1,
            True,
        )


FAKE_GIT = """\
#!/bin/sh
echo $$ >> "{pids}"
sleep 600 &
echo $! >> "{pids}"
wait
"""


@pytest.fixture
def hanging_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Put a git on the path that never answers, and return the file with its processes."""
    pids, folder = tmp_path / "pids", tmp_path / "bin"
    folder.mkdir()
    (folder / "git").write_text(FAKE_GIT.format(pids=pids))
    (folder / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    yield pids
    for number in map(int, pids.read_text().split() if pids.exists() else ()):
        if is_running(number):
            os.kill(number, signal.SIGKILL)


class TestTimeout:
    GAVE_UP = "da-score: warning: close-task gave up after 0.5 s; allow it more with --timeout\n"

    @pytest.mark.parametrize(
        "options", [(), ("--processes", "2"), ("--no-cache", "--json")], ids=" ".join
    )
    def test_gives_up_and_leaves_nothing_behind(
        self, scored: Project, hook: Hook, hanging_git: Path, options: tuple[str, ...]
    ) -> None:
        before = tree(scored.log)
        began = time.monotonic()
        found = hook(
            "--timeout",
            "0.5",
            "--score-recompute",
            "all",
            "--repo-dir",
            scored.repo,
            *options,
        )
        assert 0.4 < time.monotonic() - began < 300
        assert found == Outcome(0, "", self.GAVE_UP)
        assert tree(scored.log) == before
        assert all_end(hanging_git)

    # What comes in a callback of the interpreter is lost there, and comes again.
    @pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
    @pytest.mark.parametrize("seconds", ["1e-9", "0.0001", "0.003", "0.02", "0.05"])
    def test_may_come_at_any_moment(
        self, project: Project, hook: Hook, seconds: str
    ) -> None:
        found = hook(
            "--timeout", seconds, "--score-recompute", "all", "--repo-dir", project.repo
        )
        assert found.status == 0
        if found.err:
            assert found == Outcome(
                0, "", self.GAVE_UP.replace("0.5", f"{float(seconds):g}")
            )
        assert list(project.log.glob(".da-score-*")) == []


CLOSED = {
    "stdin": "0<&-",
    "stdout": "1>&-",
    "stderr": "2>&-",
    "stdout and stderr": "1>&- 2>&-",
    "all": "0<&- 1>&- 2>&-",
}


class TestProcess:
    """Standard streams as harnesses leave them."""

    LINE = "iteration 9  score 0.704  good  → .agents/active/iteration-log/iter-9.score.yaml\n"

    def test_reads_what_a_harness_writes_and_does_not_close(
        self, project: Project
    ) -> None:
        with subprocess.Popen(
            COMMAND,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as child:
            assert child.stdin
            assert child.stdout
            child.stdin.write(json.dumps(claude_stop(project)).encode())
            child.stdin.flush()
            assert (
                child.stdout.read().decode()
                == f"iteration 9  score 0.704  good  → {project.sidecar(9)}\n"
            )
            assert child.wait(300) == 0

    @pytest.mark.sampled(6)
    @pytest.mark.parametrize(
        ("closed", "failing"),
        [
            pytest.param("stdout and stderr", False),
            *(
                pytest.param(closed, False, marks=pytest.mark.slow)
                for closed in CLOSED
                if " and " not in closed
            ),
            *(pytest.param(closed, True, marks=pytest.mark.slow) for closed in CLOSED),
        ],
    )
    def test_bears_closed_streams(
        self, project: Project, closed: str, failing: bool
    ) -> None:
        command = [
            "sh",
            "-c",
            f'"$@" {CLOSED[closed]}',
            "sh",
            *COMMAND,
            *(["99", "--json"] if failing else []),
        ]
        done = subprocess.run(
            command, capture_output=True, cwd=project.repo, check=False, timeout=300
        )
        out = b"" if failing or "1>&-" in CLOSED[closed] else self.LINE.encode()
        lines = int(failing and "2>&-" not in CLOSED[closed])
        assert (done.returncode, done.stdout, done.stderr.count(b"\n")) == (
            0,
            out,
            lines,
        )
        assert bool(project.written()) == (not failing)

    @pytest.mark.parametrize(
        "number", [signal.SIGINT, signal.SIGTERM], ids=["SIGINT", "SIGTERM"]
    )
    def test_leaves_nothing_half_done_when_it_is_interrupted(
        self, scored: Project, hanging_git: Path, number: signal.Signals
    ) -> None:
        before = tree(scored.log)
        pipes: dict[str, Any] = {
            "stdin": subprocess.DEVNULL,
            "stdout": subprocess.PIPE,
            "stderr": subprocess.PIPE,
        }
        with subprocess.Popen(COMMAND, cwd=scored.repo, **pipes) as child:
            assert becomes(hanging_git.exists)
            child.send_signal(number)
            out, err = child.communicate(timeout=300)
        assert tree(scored.log) == before
        if number == signal.SIGINT:
            assert (child.returncode, out, err) == (
                0,
                b"",
                b"da-score: warning: interrupted\n",
            )
            assert all_end(hanging_git)
        else:
            assert (child.returncode, out, err) == (-signal.SIGTERM, b"", b"")


class TestBand:
    """A band is a grade, so a rubric with the full text waits until scores are measured."""

    def test_is_not_named_where_scores_are_not_measured(
        self, project: Project, hook: Hook
    ) -> None:
        found = hook("5", "--repo-dir", project.repo, "--rubric", "3.1.0")
        assert re.fullmatch(r"iteration 5  evidence score \d\.\d{3}  → .*\n", found.out)

    @pytest.mark.parametrize(
        ("verdict", "shown"),
        [
            ("weak", r"score \d\.\d{3}  \w+"),
            ("no better than a coin", r"evidence score \d\.\d{3}"),
        ],
    )
    def test_is_named_where_scores_foretell_something(
        self, project: Project, hook: Hook, verdict: str, shown: str
    ) -> None:
        settings = resolve_settings({"repo-dir": project.repo, "rubric": "3.1.0"})
        about = meaning_key(settings, "3.1.0")
        keep_meaning(settings.store_dir, about, [b"measured"], verdict)
        found = hook("5", "--repo-dir", project.repo, "--rubric", "3.1.0")
        assert re.fullmatch(rf"iteration 5  {shown}  → .*\n", found.out)
