"""What a score was computed from: which change shows in which fingerprint, and what the store survives."""

import errno
import fcntl
import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from helpers.doors import ends, make_fifo, watched_doors
from helpers.repos import Repo

from scoring.evidence.facts import Evidence
from scoring.evidence.rules import REFERENCE, Sources
from scoring.log.load import load_iteration_log
from scoring.sidecars.fingerprint import Fingerprint, FingerprintStore, digest_of, fingerprint, inputs_of

pytestmark = pytest.mark.sampled(3)

ONE = Fingerprint("inputs", "window", "facts", "git", "sidecar")


class TestDigest:
    def test_is_short_and_the_same_everywhere(self) -> None:
        assert digest_of(b"") == "b8e1dda3ac0aa3820ad2990b"
        assert digest_of(b"a") == "1ba3c523e770f3313cc91ab1"


class TestComparison:
    @pytest.mark.parametrize(
        ("other", "inputs", "git"),
        [
            pytest.param(ONE, True, True, id="the same"),
            pytest.param(replace(ONE, inputs="x"), False, True, id="the entry or what it names"),
            pytest.param(replace(ONE, facts="x"), False, True, id="the transcript in the same window"),
            pytest.param(replace(ONE, window="x"), True, False, id="the window, which git decides"),
            pytest.param(replace(ONE, window="x", facts="x"), True, False, id="the facts of another window"),
            pytest.param(replace(ONE, git="x"), True, False, id="git"),
            pytest.param(replace(ONE, inputs="x", git="x", facts="x"), False, False, id="everything"),
            pytest.param(replace(ONE, sidecar="x"), True, True, id="the sidecar is no input"),
        ],
    )
    def test_tells_inputs_from_answers_of_git(self, other: Fingerprint, inputs: bool, git: bool) -> None:
        assert (ONE.same_inputs(other), ONE.same_git(other)) == (inputs, git)
        assert (other.same_inputs(ONE), other.same_git(ONE)) == (inputs, git)


ENTRY = """\
schema_version: 2
iteration: 1
date: 2026-04-12
task_id: t1
commit: {sha}
impl: {{summary: first, retries: 0}}
verifiers:
  - {{type: unit, status: pass, result_artifact: unit.yaml}}
review: {{decision_artifact: review.yaml}}
"""
HOOKS = "records:\n  - {intervention_class: remediate_at_stop, result: allow, rule_id: r}\n"
TASKS = "tasks:\n  - {id: t1, write_scope: [src/]}\n  - {id: t2, write_scope: [docs/]}\n"
LINE = '{"type":"assistant","timestamp":"2026-04-12T13:00:00Z","message":{"usage":{"input_tokens":1}}}\n'
"""A turn an hour before the builder's first commit."""


class Project:
    """A log of one entry with everything that an entry can name."""

    def __init__(self, repo: Repo, root: Path) -> None:
        self.repo, self.log, self.transcripts = repo, root / "log", root / "transcripts"
        self.log.mkdir()
        self.transcripts.mkdir()
        self.sha = repo.commit({"src/a.py": "a"}, "first")
        for path, text in {
            self.entry: ENTRY.format(sha=self.sha),
            self.hooks: HOOKS,
            self.tasks: TASKS,
            self.artifact: "status: pass\n",
            self.review: "post_invocation: {retries_in_loop: 0}\n",
            self.transcript: LINE,
        }.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    entry = property(lambda self: self.log / "iter-1.yaml")
    hooks = property(lambda self: self.log / "iter-1.hook-outcomes.yaml")
    tasks = property(lambda self: self.repo.path / ".agents/workflow/plans/p/TASKS.yaml")
    artifact = property(lambda self: self.repo.path / "unit.yaml")
    review = property(lambda self: self.repo.path / "review.yaml")
    transcript = property(lambda self: self.transcripts / "s.jsonl")

    def taken(self) -> Fingerprint:
        records = load_iteration_log(self.log)
        sources = Sources.under(REFERENCE, self.repo.path, [self.transcripts])
        with sources.transcripts() as scan:
            evidence = Evidence(records, self.log, sources, scan)
            inputs = inputs_of(records[0], evidence, self.log, ())
            return fingerprint(inputs, evidence.of(records[0]), b"sidecar")

    def edit(self, path: Path, old: str, new: str) -> None:
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))


@pytest.fixture
def project(repo: Repo, tmp_path: Path) -> Project:
    return Project(repo, tmp_path)


Change = Callable[[Project], object]


def differing(one: Fingerprint, other: Fingerprint) -> set[str]:
    names = ("inputs", "window", "facts", "git", "sidecar")
    return {name for name in names if getattr(one, name) != getattr(other, name)}


class TestFingerprint:
    @pytest.mark.sampled(100)
    @pytest.mark.parametrize(
        ("change", "shows"),
        [
            pytest.param(lambda _: None, set(), id="nothing"),
            pytest.param(lambda p: p.edit(p.entry, "retries: 0", "retries: 1"), {"inputs"}, id="a field of the entry"),
            pytest.param(lambda p: p.edit(p.entry, "task_id", "# said\ntask_id"), set(), id="a comment in the entry"),
            pytest.param(lambda p: p.edit(p.entry, "task_id", "mood: fine\ntask_id"), set(), id="a key nobody reads"),
            pytest.param(lambda p: p.edit(p.hooks, "allow", "advise"), {"inputs"}, id="hook outcomes"),
            pytest.param(lambda p: p.hooks.unlink(), {"inputs"}, id="hook outcomes that are gone"),
            pytest.param(lambda p: p.edit(p.artifact, "pass", "fail"), {"inputs"}, id="a verifier's artifact"),
            pytest.param(lambda p: p.artifact.unlink(), {"inputs"}, id="an artifact that is gone"),
            pytest.param(lambda p: p.edit(p.review, "0", "1"), {"inputs"}, id="a review's artifact"),
            pytest.param(
                lambda p: p.edit(p.tasks, "write_scope: [src/]", "write_scope: [lib/]"),
                {"inputs"},
                id="the declared scope, by which git's answer is judged",
            ),
            pytest.param(lambda p: p.edit(p.tasks, "docs/", "doc/"), set(), id="the scope of another task"),
            pytest.param(lambda p: p.edit(p.tasks, "tasks:", "# here\ntasks:"), set(), id="a comment in the plan"),
            pytest.param(
                lambda p: p.transcript.write_text(LINE + LINE), {"facts"}, id="another line in the window of the entry"
            ),
            pytest.param(
                lambda p: p.transcript.write_text(LINE + LINE.replace("2026", "2027")),
                set(),
                id="another line outside of it",
            ),
            pytest.param(
                lambda p: p.transcript.rename(p.transcripts / "z.jsonl"), set(), id="another name of a transcript"
            ),
            pytest.param(lambda p: p.transcript.unlink(), {"facts"}, id="a transcript that is gone"),
            pytest.param(lambda p: p.repo.revert(p.sha), {"git"}, id="a revert on the trunk"),
            pytest.param(lambda p: p.repo.commit({"src/b.py": "b"}, "other"), set(), id="other work on the trunk"),
        ],
    )
    def test_of_an_iteration_shows(self, project: Project, change: Change, shows: set[str]) -> None:
        before = project.taken()
        change(project)
        assert differing(before, project.taken()) == shows

    def test_of_another_commit_is_another_in_every_way_but_the_facts(self, project: Project) -> None:
        before = project.taken()
        later = project.repo.commit({"docs/b": "b"}, "later")
        project.edit(project.entry, project.sha, later)
        assert differing(before, project.taken()) == {"inputs", "window", "git"}

    def test_does_not_open_what_would_block(self, project: Project) -> None:
        for path in (project.artifact, project.review, project.hooks):
            path.unlink()
            make_fifo(path)
        ends(project.taken)

    @pytest.mark.parametrize("path", ["/etc/hostname", "../outside.yaml"])
    def test_does_not_follow_an_artifact_out_of_the_repository(self, project: Project, path: str) -> None:
        outside = project.repo.path.parent / "outside.yaml"
        outside.write_text("status: pass\n")
        project.edit(project.entry, "result_artifact: unit.yaml", f"result_artifact: {path}")
        before = project.taken()
        outside.write_text("status: fail\n")
        assert project.taken() == before


HOLDER = """
import sys
from pathlib import Path
from scoring.sidecars.fingerprint import FingerprintStore
with FingerprintStore(Path(sys.argv[1]), Path(sys.argv[2]), "2.1.0").held():
    print("held", flush=True)
    sys.stdin.read()
"""


class TestStore:
    @pytest.fixture
    def cache(self, tmp_path: Path) -> Path:
        return tmp_path / "cache"

    @pytest.fixture
    def log(self, tmp_path: Path) -> Path:
        return tmp_path / "log"

    @staticmethod
    def keep(cache: Path | None, log: Path, rubric: str = "2.1.0", **found: Fingerprint) -> None:
        store = FingerprintStore(cache, log, rubric)
        with store.held():
            for name, one in found.items():
                store.put(int(name.removeprefix("n")), one)
            store.save()

    @staticmethod
    def kept(cache: Path | None, log: Path, iteration: int, rubric: str = "2.1.0") -> Fingerprint | None:
        store = FingerprintStore(cache, log, rubric)
        with store.held():
            return store.get(iteration)

    @staticmethod
    def file(cache: Path) -> Path:
        (path,) = cache.glob("backfill-4/*.json")
        return path

    def test_gives_back_what_was_kept(self, cache: Path, log: Path) -> None:
        self.keep(cache, log, n1=ONE, n20=replace(ONE, git="x"))
        assert self.kept(cache, log, 1) == ONE
        assert self.kept(cache, log, 20) == replace(ONE, git="x")
        assert self.kept(cache, log, 2) is None

    def test_keeps_what_a_later_process_does_not_mention(self, cache: Path, log: Path) -> None:
        self.keep(cache, log, n1=ONE)
        self.keep(cache, log, n2=ONE)
        assert (self.kept(cache, log, 1), self.kept(cache, log, 2)) == (ONE, ONE)

    def test_of_one_iteration_reads_and_writes_those_near_it_alone(self, cache: Path, log: Path) -> None:
        self.keep(cache, log, n1=ONE, n5000=ONE, n900=ONE)
        before = {path.name: path.stat().st_ino for path in cache.glob("*/*.json")}
        with watched_doors() as doors:
            assert self.kept(cache, log, 5000) == ONE
        assert len([path for path in doors.opened if path.endswith(".json")]) == 1
        self.keep(cache, log, n5001=ONE)
        after = {path.name: path.stat().st_ino for path in cache.glob("*/*.json")}
        assert [name.rpartition("-")[2] for name in after if after[name] != before.get(name)] == ["19.json"]

    def test_that_says_the_same_is_not_written_again(self, cache: Path, log: Path) -> None:
        self.keep(cache, log, n1=ONE)
        before = self.file(cache).stat().st_ino
        self.keep(cache, log, n1=ONE)
        assert self.file(cache).stat().st_ino == before

    def test_is_of_one_log(self, cache: Path, log: Path, tmp_path: Path) -> None:
        self.keep(cache, log, n1=ONE)
        assert self.kept(cache, tmp_path / "other", 1) is None

    def test_knows_a_log_by_any_name(self, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "log").mkdir()
        (tmp_path / "alias").symlink_to("log")
        monkeypatch.chdir(tmp_path)
        self.keep(cache, Path("log"), n1=ONE)
        assert self.kept(cache, tmp_path / "alias", 1) == ONE

    def test_is_of_one_rubric(self, cache: Path, log: Path) -> None:
        self.keep(cache, log, n1=ONE)
        assert self.kept(cache, log, 1, "2.0.2") is None
        self.keep(cache, log, "2.0.2", n2=ONE)
        assert self.kept(cache, log, 1) is None

    def test_without_a_cache_keeps_nothing(self, log: Path, tmp_path: Path) -> None:
        self.keep(None, log, n1=ONE)
        assert self.kept(None, log, 1) is None
        assert list(tmp_path.iterdir()) == []

    def test_is_for_its_owner_alone(self, cache: Path, log: Path) -> None:
        self.keep(cache, log, n1=ONE)
        assert {path.stat().st_mode & 0o777 for path in (cache / "backfill-4").iterdir()} == {0o600}
        assert (cache / "backfill-4").stat().st_mode & 0o777 == 0o700

    def test_knows_a_log_whose_name_is_no_text(self, cache: Path, tmp_path: Path) -> None:
        log = tmp_path / os.fsdecode(b"log-\xff")
        self.keep(cache, log, n1=ONE)
        assert self.kept(cache, log, 1) == ONE

    @pytest.mark.parametrize(
        "content",
        [
            b"",
            b"\0\0\0",
            b"{",
            b"null",
            b"[]",
            b"7",
            b"{}",
            b"\xff\xfe",
            b"[" * 100_000,
            b'{"format": 4, "log": "LOG", "rubric": "2.1.0", "iterations": {}}',
            b'{"format": 4, "log": "/another", "rubric": "2.1.0", "iterations": {}}',
            b'{"format": 4, "log": "LOG", "rubric": "2.1.0"}',
            b'{"format": 4, "log": "LOG", "rubric": "2.1.0", "iterations": null}',
            b'{"format": 4, "log": "LOG", "rubric": "2.1.0", "iterations": []}',
            b'{"format": 4, "log": "LOG", "rubric": "2.1.0", "iterations": 5}',
            b'{"format": 4, "log": "LOG", "rubric": "2.1.0", "iterations": "1"}',
            b'{"format": 4, "log": "LOG", "rubric": "2.1.0", "iterations": {"1": null}}',
            b'{"format": 4, "log": "LOG", "rubric": "2.1.0", "iterations": {"1": []}}',
            b'{"format": 4, "log": "LOG", "rubric": "2.1.0", "iterations": {"1": "inputs window facts git"}}',
            b'{"format": 4, "log": "LOG", "rubric": "2.1.0", "iterations": {"1": {"inputs": "x"}}}',
            b'{"format": 4, "log": "LOG", "rubric": "2.1.0", "iterations": {"1": {"other": "x"}}}',
        ],
        ids=lambda content: ascii(content[:90]),
    )
    def test_that_is_not_whole_is_as_if_it_were_empty(self, cache: Path, log: Path, content: bytes) -> None:
        self.keep(cache, log, n1=ONE)
        self.file(cache).write_bytes(content.replace(b"LOG", os.fsencode(log.resolve())))
        assert self.kept(cache, log, 1) is None
        self.keep(cache, log, n2=ONE)
        assert self.kept(cache, log, 2) == ONE

    def test_holds_no_word_of_what_it_is_about(self, cache: Path, log: Path) -> None:
        self.keep(cache, log, n1=ONE)
        assert json.loads(self.file(cache).read_bytes()) == {
            "format": 4,
            "log": str(log.resolve()),
            "rubric": "2.1.0",
            "iterations": {"1": "inputs window facts git sidecar"},
        }

    @pytest.mark.parametrize("in_the_way", ["cache", "cache/backfill-4"])
    def test_that_cannot_be_written_is_no_error(self, cache: Path, log: Path, tmp_path: Path, in_the_way: str) -> None:
        place = tmp_path / in_the_way
        place.parent.mkdir(exist_ok=True)
        place.write_text("mine")
        self.keep(cache, log, n1=ONE)
        assert self.kept(cache, log, 1) is None
        assert place.read_text() == "mine"

    def test_that_cannot_be_replaced_is_no_error(self, cache: Path, log: Path) -> None:
        self.keep(cache, log, n1=ONE)
        path = self.file(cache)
        path.unlink()
        path.mkdir()
        (path / "inside").touch()
        self.keep(cache, log, n1=ONE)
        assert [p.name for p in path.parent.iterdir() if p.suffix == ".tmp"] == []

    def test_on_a_file_system_without_locks_is_no_error(
        self, cache: Path, log: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def flock(*_: object) -> None:
            raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

        monkeypatch.setattr(fcntl, "flock", flock)
        self.keep(cache, log, n1=ONE)
        assert self.kept(cache, log, 1) == ONE

    def test_lets_an_error_of_its_user_through(self, cache: Path, log: Path) -> None:
        with pytest.raises(ZeroDivisionError), FingerprintStore(cache, log, "2.1.0").held():
            raise ZeroDivisionError
        assert self.kept(cache, log, 1) is None  # and nobody holds it

    def hold(self, cache: Path, log: Path) -> "subprocess.Popen[bytes]":
        command = [sys.executable, "-c", HOLDER, str(cache), str(log)]
        holder = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        return holder

    @staticmethod
    def is_free(cache: Path) -> bool:
        (path,) = cache.glob("backfill-4/*.lock")
        with path.open("r+") as f:
            try:
                fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
            return True

    @pytest.mark.slow
    def test_is_held_by_one_process_at_a_time(self, cache: Path, log: Path) -> None:
        with self.hold(cache, log) as holder:
            assert not self.is_free(cache)
            assert holder.stdin is not None
            holder.stdin.close()
            assert holder.wait(300) == 0
        assert self.is_free(cache)

    @pytest.mark.slow
    def test_is_not_held_by_one_that_was_killed(self, cache: Path, log: Path) -> None:
        with self.hold(cache, log) as holder:
            holder.send_signal(signal.SIGKILL)
            holder.wait(300)
        assert self.is_free(cache)
        ends(lambda: self.keep(cache, log, n1=ONE))
        assert self.kept(cache, log, 1) == ONE

    @pytest.mark.slow
    def test_of_another_log_is_not_held_with_it(self, cache: Path, log: Path, tmp_path: Path) -> None:
        with self.hold(cache, log) as holder:
            ends(lambda: self.keep(cache, tmp_path / "other", n1=ONE))
            assert holder.stdin is not None
            holder.stdin.close()

    @pytest.mark.slow
    def test_is_waited_for(self, cache: Path, log: Path) -> None:
        with self.hold(cache, log) as holder:
            assert holder.stdin is not None
            second = subprocess.Popen(
                [sys.executable, "-c", HOLDER, str(cache), str(log)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
            with second:
                assert second.stdin is not None
                assert second.stdout is not None
                second.stdin.close()
                assert select.select([second.stdout], [], [], 0.5)[0] == []
                holder.stdin.close()
                assert second.stdout.readline() == b"held\n"
