"""Answers that are kept: given again while nothing has changed, and never after anything has."""

import ast
import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from helpers.commands import DaScore, OnTerminal, Outcome
from helpers.repos import Repo

import rubric
import scoring.log.load
from scoring.demo import Demo
from scoring.evidence import state
from scoring.evidence.transcripts import readers
from scoring.files import read_file
from scoring.jobs import unchanged
from scoring.log.load import load_iteration_log

RUBRICS = ("2.1.0", "2.3.0", "3.1.0")


@dataclass
class Watched:
    """A log that is asked about again and again, and whether the last answer was one that was kept."""

    demo: Demo
    da_score: DaScore
    cache: Path
    went_through: list[str]

    def places(self, *more: str | Path) -> list[str | Path]:
        log: list[str | Path] = [] if "backfill" in more else ["--iter-log-dir", self.demo.iter_log_dir]
        return [*log, "--repo-dir", self.demo.repo_dir, "--cache-dir", self.cache]

    def ask(self, *arguments: str | Path) -> Outcome:
        self.went_through.clear()
        return self.da_score(*arguments, *self.places(*arguments))

    @property
    def kept(self) -> bool:
        return not self.went_through

    def look(self, rubric: str = "3.1.0") -> Outcome:
        """Go through the log as most tests do; what a run says without a cache is the same."""
        found = self.ask("run", "--json", "--no-write", "--rubric", rubric)
        kept = self.kept
        fresh = self.ask("run", "--json", "--no-write", "--rubric", rubric, "--no-cache")
        assert (found.status, found.out) == (fresh.status, fresh.out)
        self.went_through[:] = [] if kept else ["the log"]
        return found


@pytest.fixture
def watched(demo: Demo, da_score: DaScore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Watched]:
    """The demo, with sessions of its own in the default place, of which nothing was changed just now."""
    monkeypatch.setattr(state, "SETTLED", 0)
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    (demo.repo_dir / ".agents" / "da-score.toml").unlink()  # it names the transcripts of the demo
    sessions = tmp_path / "claude" / "projects" / "here"
    sessions.mkdir(parents=True)
    for path in sorted((demo.root / "transcripts" / "claude").iterdir()):
        text = path.read_text().replace("/home/ada/shortlink", str(demo.repo_dir))
        (sessions / path.name).write_text(text.replace(str(demo.repo_dir), str(tmp_path / "gone"), 3))
    went_through: list[str] = []
    before = scoring.log.load.load_log_for

    def load(*arguments: Any, **options: Any) -> object:
        went_through.append("the log")
        return before(*arguments, **options)

    monkeypatch.setattr(scoring.log.load, "load_log_for", load)
    yield Watched(demo, da_score, tmp_path / "cache", went_through)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("form", [["--json"], []])
@pytest.mark.parametrize("rubric", RUBRICS)
def test_an_answer_is_given_again(watched: Watched, rubric: str, form: list[str]) -> None:
    answers = [(watched.ask("run", "--no-write", "--rubric", rubric, *form), watched.kept) for _ in range(2)]
    (first, first_kept), (again, again_kept) = answers
    assert (first_kept, again_kept) == (False, True)
    assert (again, again.status) == (first, 0)


@pytest.mark.slow
def test_a_terminal_of_another_width_is_another_question(watched: Watched, on_a_terminal: OnTerminal) -> None:
    pages = []
    for columns in (100, 100, 60, 100):
        watched.went_through.clear()
        status, shown = on_a_terminal("run", "--no-write", *watched.places(), columns=columns)
        pages.append((status, b"".join(shown), watched.kept))
    (first, again, narrow, last) = pages
    assert [kept for *_, kept in pages] == [False, True, False, False]
    assert first[:2] == again[:2] == last[:2] != narrow[:2]
    assert first[0] == 0


@pytest.mark.slow
def test_the_answer_to_one_question_is_none_to_another(watched: Watched) -> None:
    questions = [
        [],
        ["--last", "2"],
        ["--rubric", "2.3.0"],
        ["--trunk", "HEAD"],
        ["--transcripts", "none"],
    ]
    for question in questions * 2:
        found = watched.ask("run", "--json", "--no-write", *question)
        assert not watched.kept
        assert found.out == watched.ask("run", "--json", "--no-write", *question, "--no-cache").out
        assert found.out == watched.ask("run", "--json", "--no-write", *question).out
        assert watched.kept


def artifact(demo: Demo) -> Path:
    """Return an artifact that an entry names."""
    named = (
        demo.repo_dir / name for record in load_iteration_log(demo.iter_log_dir) for name in record.artifacts if name
    )
    return next(path for path in named if path.is_file())


def links(watched: Watched) -> None:
    """Put a link to another file in the place of an artifact."""
    place = artifact(watched.demo)
    place.rename(watched.demo.repo_dir / "moved.yaml")
    place.symlink_to(watched.demo.repo_dir / "moved.yaml")


def moves_the_folder(watched: Watched) -> None:
    """Move the folder that a link to artifacts leads to out of the repository, and the link with it."""
    link = artifact(watched.demo).parent
    away = watched.demo.root / "away"
    link.rename(away)
    link.symlink_to(away)


def touch_a_pack(watched: Watched) -> None:
    (pack,) = (watched.demo.repo_dir / ".git" / "objects" / "pack").glob("*.idx")
    pack.chmod(0o600)


def append(path: Path) -> None:
    with open(path, "a") as f:
        f.write("{}\n")


def edit(path: Path, old: str = "\n", new: str = "\n\n") -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def entry(demo: Demo, number: int = 2) -> Path:
    return demo.iter_log_dir / f"iter-{number}.yaml"


def session(watched: Watched) -> Path:
    return next((watched.cache.parent / "claude" / "projects" / "here").iterdir())


def in_place(watched: Watched) -> None:
    """Change a byte of an entry, and nothing else that a listing shows but the time of the change."""
    path = entry(watched.demo)
    before = path.stat()
    with open(path, "r+b") as f:
        data = f.read()
        f.seek(data.index(b"wave") if b"wave" in data else 0)
        f.write(b"Wave"[:4] if b"wave" in data else data[:1])
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def other_git(watched: Watched) -> None:
    folder = watched.cache.parent / "bin"
    folder.mkdir()
    real = shutil.which("git")
    (folder / "git").write_text(f'#!/bin/sh\nexec {real} "$@"\n')
    (folder / "git").chmod(0o755)
    os.environ["PATH"] = f"{folder}:{os.environ['PATH']}"


CHANGES: dict[str, Callable[[Watched], object]] = {
    "an entry is edited": lambda w: edit(entry(w.demo)),
    "a byte of an entry": in_place,
    "an entry is new": lambda w: shutil.copy(entry(w.demo), entry(w.demo, 900)),
    "an entry is gone": lambda w: entry(w.demo).unlink(),
    "an entry has another name": lambda w: entry(w.demo).rename(entry(w.demo, 901)),
    "a hook outcome": lambda w: (w.demo.iter_log_dir / "iter-2.hook-outcomes.yaml").write_text(
        "records:\n  - sentinel_id: a\n    intervention_class: prevent_before_action\n    result: fail\n"
    ),
    "a label": lambda w: (w.demo.iter_log_dir / "iter-2.labels.yaml").write_text("labels: []\n"),
    "a DR transcript": lambda w: (w.demo.iter_log_dir / "iter-2.dr.json").write_text("{}"),
    "a sidecar": lambda w: (w.demo.iter_log_dir / "session-x.score.yaml").write_text(""),
    "an artifact is edited": lambda w: edit(artifact(w.demo)),
    "an artifact is gone": lambda w: artifact(w.demo).unlink(),
    "an artifact is a link now": links,
    "a plan": lambda w: edit(next((w.demo.repo_dir / ".agents" / "workflow" / "plans").glob("*/TASKS.yaml"))),
    "a session goes on": lambda w: append(session(w)),
    "a session is gone": lambda w: session(w).unlink(),
    "a session is new": lambda w: shutil.copy(session(w), session(w).with_name("other.jsonl")),
    "a folder of sessions is new": lambda w: shutil.copytree(session(w).parent, session(w).parents[1] / "b"),
    "a folder that a session names": lambda w: (w.cache.parent / "gone").mkdir(),
    "a commit": lambda w: Repo.at(w.demo.repo_dir).git("commit", "--allow-empty", "-q", "-m", "more"),
    "a branch": lambda w: Repo.at(w.demo.repo_dir).git("branch", "other"),
    "a branch is gone": lambda w: Repo.at(w.demo.repo_dir).git("update-ref", "-d", "refs/heads/master"),
    "packed branches": lambda w: Repo.at(w.demo.repo_dir).git("pack-refs", "--all"),
    "a remote": lambda w: Repo.at(w.demo.repo_dir).git("remote", "add", "origin", "https://example.org/x.git"),
    "an object": lambda w: Repo.at(w.demo.repo_dir).git("hash-object", "-w", "--stdin", given=b"new"),
    "another branch is out": lambda w: Repo.at(w.demo.repo_dir).git("checkout", "-q", "--detach"),
    "a work tree": lambda w: Repo.at(w.demo.repo_dir).git("worktree", "add", "-q", str(w.cache.parent / "w")),
    "another git": other_git,
    "the folder of an artifact is elsewhere": moves_the_folder,
    "a pack": touch_a_pack,
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.sampled(9)
def test_a_change_is_seen(watched: Watched, monkeypatch: pytest.MonkeyPatch, change: str) -> None:
    monkeypatch.setenv("PATH", os.environ["PATH"])  # so that a change of it is taken back
    watched.look()
    watched.look()
    assert watched.kept
    CHANGES[change](watched)
    was_kept = []
    for _ in range(2):
        watched.look()
        was_kept.append(watched.kept)
    assert was_kept == [False, True]


def naming(demo: Demo) -> int:
    """Return the iteration whose entry names the artifact that is changed."""
    name = str(artifact(demo).relative_to(demo.repo_dir))
    return next(record.iteration for record in load_iteration_log(demo.iter_log_dir) if name in record.artifacts)


@pytest.fixture
def one(watched: Watched) -> Watched:
    """The same log with sidecars under rubric 3.1.0, of which one is looked at."""
    assert watched.ask("run", "--rubric", "3.1.0").status == 0
    return watched


def anew(watched: Watched, *question: str) -> Outcome:
    """Ask without the answers that are kept, and leave them as they are."""
    answers = watched.cache / f"answers-of-iterations-{unchanged.FORMAT}"
    aside = answers.rename(watched.cache / "aside")
    try:
        return watched.ask(*question)
    finally:
        shutil.rmtree(answers, ignore_errors=True)
        aside.rename(answers)


def shown(watched: Watched, *more: str) -> Outcome:
    """Look at the sidecar of iteration 2; what is shown anew is the same."""
    found = watched.ask("iteration", "2", *more)
    kept = watched.kept
    assert found == anew(watched, "iteration", "2", *more)
    watched.went_through[:] = [] if kept else ["the log"]
    return found


@pytest.mark.sampled(2)
@pytest.mark.parametrize("form", [["--json"], []])
@pytest.mark.parametrize("rubric", RUBRICS)
def test_a_sidecar_is_looked_at_once(watched: Watched, rubric: str, form: list[str]) -> None:
    assert watched.ask("run", "--rubric", rubric).status == 0
    answers = [(shown(watched, *form), watched.kept) for _ in range(2)]
    assert answers[0][0] == answers[1][0]
    assert [kept for _, kept in answers] == [False, True]


MORE_CHANGES: dict[str, Callable[[Watched], object]] = {
    "its sidecar": lambda w: edit(w.demo.iter_log_dir / "iter-2.score.yaml", "  detail: ", "  detail:  "),
    "its evidence": lambda w: append(w.demo.iter_log_dir / "iter-2.evidence.yaml"),
    "another entry": lambda w: edit(entry(w.demo, 7)),
    "its fingerprint": lambda w: append(next((w.cache / "backfill-4").glob("*.json"))),
}
OF_NO_CONCERN = {"a sidecar"}
"""The sidecar of a session: nothing that is said of an iteration rests on it."""


@pytest.mark.parametrize("change", [*CHANGES, *MORE_CHANGES])
@pytest.mark.sampled(9)
def test_a_change_is_seen_by_a_look_at_one(one: Watched, monkeypatch: pytest.MonkeyPatch, change: str) -> None:
    monkeypatch.setenv("PATH", os.environ["PATH"])
    ask = ("iteration", str(naming(one.demo) if "artifact" in change else 2), "--json")
    one.ask(*ask)
    one.ask(*ask)
    assert one.kept
    (CHANGES | MORE_CHANGES)[change](one)
    found = one.ask(*ask)
    assert one.kept == (change in OF_NO_CONCERN)
    assert found == anew(one, *ask)


def test_what_is_beside_other_entries_is_of_no_concern(one: Watched) -> None:
    for _ in range(2):
        one.ask("iteration", "2")
    for name in ("iter-3.score.yaml", "iter-21.score.yaml", "iter-3.hook-outcomes.yaml", "session-x.score.yaml"):
        (one.demo.iter_log_dir / name).write_text("records: []\n")
        one.ask("iteration", "2")
        assert one.kept


@pytest.mark.slow
def test_questions_about_one_are_told_apart(one: Watched, tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(Path(rubric.registry.VERSIONS_DIR / "3.1.0.yaml").read_text())
    questions: list[list[str]] = [
        ["iteration", "2"],
        ["iteration", "2", "--json"],
        ["iteration", "3"],
        ["iteration", "2", "--rubric", "2.1.0"],
        ["iteration", "2", "--rubric", str(tmp_path / "mine.yaml")],
        ["iteration", "2", "--transcripts", "none"],
    ]
    for question in questions:
        found = one.ask(*question)
        assert not one.kept
        assert (one.ask(*question), one.kept) == (found, not found.err)
    text = (tmp_path / "mine.yaml").read_text().replace('version: "3.1.0"', 'version: "9.1.0"')
    (tmp_path / "mine.yaml").write_text(text)
    one.ask(*questions[4])
    assert not one.kept


@pytest.mark.slow
def test_a_sidecar_on_a_terminal_of_another_width_is_another_question(one: Watched, on_a_terminal: OnTerminal) -> None:
    was_kept = []
    for columns in (100, 100, 60):
        one.went_through.clear()
        on_a_terminal("iteration", "2", *one.places(), columns=columns)
        was_kept.append(one.kept)
    assert was_kept == [False, True, False]


def test_so_many_answers_about_iterations_are_kept(one: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unchanged, "_PAGES", 2)
    for n in ("2", "3", "4"):
        one.ask("iteration", n)
    was_kept = []
    for n in ("4", "3", "2"):
        one.ask("iteration", n)
        was_kept.append(one.kept)
    assert was_kept == [True, True, False]
    assert len(list((one.cache / f"answers-of-iterations-{unchanged.FORMAT}").iterdir())) == 2


def test_a_score_that_is_made_is_no_answer_that_is_kept(one: Watched) -> None:
    for _ in range(2):
        one.ask("iteration", "2", "--recompute")
    sidecar = one.demo.iter_log_dir / "iter-2.score.yaml"
    sidecar.unlink()
    assert one.ask("iteration", "2").status == 0
    assert sidecar.exists()
    assert not (one.cache / f"answers-of-iterations-{unchanged.FORMAT}").exists()


@pytest.mark.parametrize("file", ["a broken entry", "the session"])
def test_what_is_warned_of_is_looked_at_again(one: Watched, file: str) -> None:
    if file == "the session":
        session(one).write_text('{"a":"' + "x" * (17 << 20) + '"}\n')
    else:
        entry(one.demo).write_text("{")
    for _ in range(2):
        one.ask("iteration", "2", "--json")
        assert not one.kept


def test_the_variables_are_known_by_which_transcripts_are_found() -> None:
    class Environment(dict[str, str]):
        def get(self, name: str, default: object = None) -> object:  # type: ignore[override]
            asked.add(name)
            return default

    asked: set[str] = set()
    for harness in readers.ATTRIBUTED_HARNESSES:
        harness.homes(Environment())
    assert asked
    assert asked | {"HOME"} == set(state.ENVIRONMENT)


@pytest.mark.slow
def test_git_passes_over_what_is_no_repository(watched: Watched) -> None:
    (watched.demo.repo_dir / "sub" / ".git").mkdir(parents=True)
    repo = Repo.at(watched.demo.repo_dir)
    below = replace(watched, demo=replace(watched.demo, repo_dir=watched.demo.repo_dir / "sub"))
    repo.git("checkout", "-q", "--detach")
    repo.git("branch", "-f", "master", "HEAD~3")
    for change in ((), ("branch", "-f", "master", "HEAD")):
        if change:
            repo.git(*change)
        was_kept = []
        for _ in range(2):
            below.look("2.1.0")
            was_kept.append(below.kept)
        assert was_kept == [False, True]


def includes(watched: Watched) -> None:
    Repo.at(watched.demo.repo_dir).git("config", "include.path", str(watched.demo.root / "more"))


def borrows(watched: Watched) -> None:
    (watched.demo.repo_dir / ".git" / "objects" / "info").mkdir(exist_ok=True)
    (watched.demo.repo_dir / ".git" / "objects" / "info" / "alternates").write_text("")


def is_linked(watched: Watched) -> None:
    git = watched.demo.repo_dir / ".git"
    (git / "refs").rename(watched.demo.root / "refs")
    (git / "refs").symlink_to(watched.demo.root / "refs")


def is_somebody_elses(watched: Watched) -> None:
    if os.geteuid():
        pytest.skip("needs root")
    os.chown(watched.demo.repo_dir, 1234, -1)
    (Path(os.environ["HOME"]) / ".gitconfig").write_text("[safe]\n\tdirectory = *\n")


@pytest.mark.slow
@pytest.mark.parametrize("how", [includes, borrows, is_linked, is_somebody_elses])
def test_a_repository_that_rests_on_more_is_gone_through(
    watched: Watched, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, how: Callable[[Watched], None]
) -> None:
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    how(watched)
    for _ in range(2):
        assert watched.look().status == 0
        assert not watched.kept


def test_what_has_just_changed_is_not_trusted(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "SETTLED", 3_600_000_000_000)
    for _ in range(2):
        watched.look()
        assert not watched.kept


@pytest.mark.parametrize("file", ["iter-2.yaml", "the session"])
def test_what_was_warned_of_is_read_again(watched: Watched, file: str) -> None:
    if file == "the session":
        session(watched).write_text('{"a":"' + "x" * (17 << 20) + '"}\n')
    else:
        entry(watched.demo).write_text("{")
    for _ in range(2):
        found = watched.ask("run", "--json", "--no-write", "--rubric", "3.1.0")
        assert found.err
        assert not watched.kept


def run(watched: Watched) -> bool:
    """Run with sidecars, and return whether the answer was one that was kept."""
    assert watched.ask("run", "--json", "--rubric", "3.1.0").status == 0
    return watched.kept


def sidecar(watched: Watched, number: int = 2) -> Path:
    return watched.demo.iter_log_dir / f"iter-{number}.score.yaml"


@pytest.mark.parametrize("form", [["--json"], []])
def test_what_a_run_wrote_itself_is_no_change(watched: Watched, form: list[str]) -> None:
    question = ["run", "--rubric", "3.1.0", *form]
    answers = [(watched.ask(*question), watched.kept) for _ in range(3)]
    assert [kept for _, kept in answers] == [False, True, True]
    assert {outcome.out for outcome, _ in answers} == {watched.ask(*question, "--no-cache").out}


def test_a_sidecar_that_is_changed_after_a_run_is_written_again(watched: Watched) -> None:
    run(watched)
    data = sidecar(watched).read_bytes()
    for change in (data.replace(b"value", b"worth", 1), None):
        assert run(watched)
        if change is None:
            sidecar(watched).unlink()
        else:
            sidecar(watched).write_bytes(change)
        assert not run(watched)
        assert sidecar(watched).read_bytes() == data


@pytest.fixture
def only_contents(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    """All files of the log have just been changed, and their times say nothing."""
    assert watched.demo.iter_log_dir.is_dir()
    before = state.log_state

    def look(log_dir: Path, iteration: int | None = None) -> state.LogState:
        own = "" if iteration is None else f"iter-{iteration}."
        recent = sorted(name for name in os.listdir(log_dir) if name.startswith(own))
        return before(log_dir, iteration)._replace(digest=b"as ever", recent=recent)

    monkeypatch.setattr(unchanged, "log_state", look)


@pytest.mark.usefixtures("only_contents")
def test_where_times_do_not_say_enough_contents_do(watched: Watched) -> None:
    assert [run(watched) for _ in range(2)] == [False, True]
    edit(entry(watched.demo))
    assert [run(watched) for _ in range(2)] == [False, True]
    data = sidecar(watched).read_bytes()
    sidecar(watched).write_bytes(data.replace(b"value", b"worth", 1))
    assert [run(watched) for _ in range(2)] == [False, True]
    assert sidecar(watched).read_bytes() == data


@pytest.mark.usefixtures("only_contents")
def test_what_cannot_be_compared_is_not_trusted(watched: Watched) -> None:
    (watched.demo.iter_log_dir / "iter-2.d").mkdir()
    assert [run(watched) for _ in range(2)] == [False, False]


def test_contents_are_compared_until_times_say_enough(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    run(watched)
    before, look, read = read_file, state.log_state, list[str]()

    def reads(path: Path, *limit: int) -> bytes:
        read.append(path.name)
        return before(path, *limit)

    def still_recent(log_dir: Path, iteration: int | None = None) -> state.LogState:
        return look(log_dir, iteration)._replace(recent=[sidecar(watched, 3).name, "iter-7.yaml"])

    monkeypatch.setattr(unchanged, "read_file", reads)
    compared = []
    for looks in (still_recent, look, look):
        monkeypatch.setattr(unchanged, "log_state", looks)
        read.clear()
        assert run(watched)
        compared.append({name for name in read if name.endswith(".yaml")})
    assert compared[0] > {sidecar(watched, n).name for n in (2, 3)}
    assert compared[1:] == [{sidecar(watched, 3).name}, set()]


MEANWHILE: dict[str, Callable[[Watched], object]] = {
    "an entry is edited": lambda w: edit(entry(w.demo)),
    "an entry is new": lambda w: shutil.copy(entry(w.demo), entry(w.demo, 900)),
    "a sidecar is edited": lambda w: edit(sidecar(w), "value", "worth"),
    "a sidecar is gone": lambda w: sidecar(w).unlink(),
    "a hook outcome": lambda w: (w.demo.iter_log_dir / "iter-2.hook-outcomes.yaml").write_text("records: []\n"),
    "a link to nothing": lambda w: (w.demo.iter_log_dir / "iter-900.yaml").symlink_to("nothing"),
}


def ask_while(change: str, watched: Watched, monkeypatch: pytest.MonkeyPatch, *question: str | Path) -> None:
    """Ask what has no answer yet, and change the log before the one that is made is kept."""
    keep = unchanged.Unchanged.keep

    def and_then(asked: unchanged.Unchanged, folders: dict[str, tuple[bool, bool]]) -> None:
        MEANWHILE[change](watched)
        keep(asked, folders)

    with monkeypatch.context() as patched:
        patched.setattr(unchanged.Unchanged, "keep", and_then)
        assert watched.ask(*question).status == 0
        assert not watched.kept


@pytest.mark.parametrize("written", ["all", "few"])
@pytest.mark.parametrize("change", MEANWHILE)
@pytest.mark.parametrize("command", ["run", "backfill"])
@pytest.mark.sampled(6)
def test_what_somebody_else_changed_meanwhile_is_seen(
    watched: Watched, monkeypatch: pytest.MonkeyPatch, command: str, change: str, written: str
) -> None:
    question: list[str | Path] = [command, "--json", "--rubric", "3.1.0"]
    if command == "backfill":
        question.append(watched.demo.iter_log_dir)
    if written == "few":
        watched.ask(*question)
        edit(entry(watched.demo, 7))
    ask_while(change, watched, monkeypatch, *question)
    watched.ask(*question)
    assert not watched.kept


def test_a_link_to_nothing_that_came_meanwhile_is_no_answer(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is the same where nothing was written, and a strict rubric refuses the log from then on."""
    question = ["run", "--json", "--no-write", "--rubric", "2.1.0"]
    ask_while("a link to nothing", watched, monkeypatch, *question)
    assert watched.ask(*question) == watched.ask(*question, "--no-cache")


@pytest.mark.parametrize("by", ["a link", "a relative path"])
def test_a_log_by_another_path_is_answered_too(
    watched: Watched, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, by: str
) -> None:
    place = watched.demo.iter_log_dir
    if by == "a link":
        (tmp_path / "log").symlink_to(place)
        place = tmp_path / "log"
    else:
        monkeypatch.chdir(place.parent)
        place = Path(place.name)
    question = ["run", "--json", "--iter-log-dir", place, "--repo-dir", watched.demo.repo_dir]
    was_kept = []
    for _ in range(2):
        watched.went_through.clear()
        assert watched.da_score(*question, "--cache-dir", watched.cache).status == 0
        was_kept.append(watched.kept)
    assert was_kept == [False, True]


def test_two_logs_of_one_backfill_are_kept_apart(watched: Watched) -> None:
    other = watched.demo.iter_log_dir.with_name("other")
    shutil.copytree(watched.demo.iter_log_dir, other)
    question: list[str | Path] = ["backfill", "--json", "--rubric", "3.1.0", watched.demo.iter_log_dir, other]
    watched.ask(*question)
    watched.ask(*question)
    assert watched.kept
    (other / "iter-2.score.yaml").unlink()
    found = json.loads(watched.ask(*question).out)
    assert [len(log["scored"]) for log in found["logs"]] == [0, 1]
    watched.ask(*question)
    assert watched.kept


@pytest.mark.usefixtures("only_contents")
def test_one_iteration_too_is_compared_by_contents(one: Watched) -> None:
    edit(sidecar(one), "  detail: ", "  detail:  ")
    answers = [(one.ask("iteration", "2"), one.kept) for _ in range(2)]
    assert [kept for _, kept in answers] == [False, True]
    edit(sidecar(one), "  detail:  ", "  detail: ")
    assert answers[0][0] == answers[1][0]
    one.ask("iteration", "2")
    assert not one.kept


def test_where_other_entries_have_just_been_changed_an_answer_about_one_is_not_kept(
    one: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    def look(log_dir: Path, iteration: int | None = None) -> state.LogState:
        return before(log_dir, iteration)._replace(recent=["iter-3.yaml"])

    before = state.log_state
    monkeypatch.setattr(unchanged, "log_state", look)
    for _ in range(2):
        assert one.ask("iteration", "2").status == 0
        assert not one.kept


def backfilled(watched: Watched, *more: str) -> list[dict[str, Any]]:
    """Return what a backfill says, but for how long it took."""
    found = json.loads(watched.ask("backfill", watched.demo.iter_log_dir, "--json", "--rubric", "3.1.0", *more).out)
    return [{**part, "seconds": 0} for part in (found["totals"], *found["logs"])]


def test_backfill_says_again_that_there_is_nothing_to_do(watched: Watched) -> None:
    (first, first_kept), (found, found_kept) = [(backfilled(watched), watched.kept) for _ in range(2)]
    assert (first_kept, found_kept) == (False, True)
    assert (found[0]["scored"], found[0]["up_to_date"]) == (0, first[0]["scored"])
    assert found == backfilled(watched, "--no-cache") == backfilled(watched)
    sidecar(watched).unlink()
    assert backfilled(watched)[0]["scored"] == 1
    assert sidecar(watched).exists()
    assert (backfilled(watched), watched.kept) == (found, True)


@pytest.mark.parametrize("more", [["--force"], ["--only", "verifier"], ["--dry-run"]])
@pytest.mark.slow
def test_a_backfill_that_would_do_it_again_is_gone_through(watched: Watched, more: list[str]) -> None:
    for _ in range(2):
        assert backfilled(watched, *more)[0]["logs"] == 1
        assert not watched.kept


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.sampled(6)
def test_wrong_bytes_change_nothing(watched: Watched, seed: int) -> None:
    chance = random.Random(seed)
    watched.look()
    (path,) = (watched.cache / f"answers-of-logs-{unchanged.FORMAT}").iterdir()
    data = bytearray(path.read_bytes())
    at = chance.randrange(len(data))
    data[at] ^= 1 << chance.randrange(8)
    path.write_bytes(data[: chance.choice([at, len(data)])] if seed % 3 == 0 else data)
    assert json.loads(watched.look().out)["iterations"]
    assert not watched.kept or path.read_bytes() == bytes(data)


@pytest.mark.slow
def test_a_cache_that_cannot_be_written_is_no_error(watched: Watched) -> None:
    watched.cache.write_text("no folder")
    for _ in range(2):
        assert watched.look().status == 0
        assert not watched.kept


@pytest.mark.slow
def test_an_answer_that_is_too_large_is_not_kept(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unchanged, "_SIZE_LIMIT", 1000)
    for _ in range(2):
        watched.look()
        assert not watched.kept


WATCHER = """
import json, os, sys
seen = set()
def hook(event, arguments):
    if event in ("open", "os.listdir", "os.scandir") and isinstance(arguments[0], (str, bytes, os.PathLike)):
        seen.add(os.path.abspath(os.fsdecode(arguments[0])))
from scoring.cli import main
main(["run", "--help"])
sys.addaudithook(hook)
status = main(sys.argv[1:])
sys.stderr.write(json.dumps(sorted(seen)))
sys.exit(status)
"""


@pytest.mark.sampled(3)
@pytest.mark.parametrize("question", [["run", "--no-write"], ["iteration", "2"]], ids=["run", "iteration"])
@pytest.mark.parametrize("rubric", ["3.1.0", "2.3.0", "2.1.0"])
def test_all_that_is_opened_is_looked_at(
    watched: Watched, monkeypatch: pytest.MonkeyPatch, rubric: str, question: list[str]
) -> None:
    watched.ask("run", "--rubric", rubric, "--no-cache")
    question = [*question, "--json", "--rubric", rubric]
    arguments = [*question, "--no-cache", *watched.places()]
    opened = subprocess.run(
        [sys.executable, "-c", WATCHER, *map(str, arguments)], capture_output=True, text=True, check=True
    )
    seen: set[str] = set()
    before, folder = state._stat, state._Look.folder

    def stat(path: str | Path, place: int | None = None) -> os.stat_result | None:
        seen.add(os.path.abspath(path) if place is None else os.path.join(os.readlink(f"/proc/self/fd/{place}"), path))
        return before(path, place)

    def listed(look: state._Look, path: str | Path) -> "list[os.DirEntry[str]]":
        seen.add(os.path.abspath(path))
        return folder(look, path)

    monkeypatch.setattr(state, "_stat", stat)
    monkeypatch.setattr(state._Look, "folder", listed)
    watched.ask(*question)
    seen |= {str(root) for root in Path(watched.cache.parent / "claude").rglob("*") if root.is_dir()}  # walked
    places = tuple(map(str, (watched.demo.root, watched.cache.parent / "claude")))
    read = {path for path in json.loads(opened.stderr) if path.startswith(places)}
    assert len(read) > len(list(watched.demo.iter_log_dir.glob("iter-?.yaml")))
    settings = {str(watched.demo.repo_dir / "pyproject.toml")}  # what is set is part of the question
    assert read - seen <= settings


@pytest.mark.slow
@pytest.mark.parametrize("form", [["--json"], []])
def test_an_answer_about_one_that_is_kept_loads_nothing_that_reads(one: Watched, form: list[str]) -> None:
    question = [str(part) for part in ("iteration", "2", *form, *one.places())]
    code = f"""
import sys
sys.path[:0] = {sys.path!r}
from scoring.cli import main
from scoring.evidence import state
state.SETTLED = 0
status = main({question!r})
print(status, sorted(name for name in sys.modules if name.partition(".")[0] in {{"scoring", "rubric", "yaml", "json"}}))
"""
    for _ in range(2):
        found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    status, _, loaded = found.stdout.splitlines()[-1].partition(" ")
    assert status == "0"
    assert set(ast.literal_eval(loaded)) == LOADED


LOADED = {
    "rubric",
    "rubric.datafiles",
    "rubric.names",
    "scoring",
    "scoring.cli",
    "scoring.cli.app",
    "scoring.cli.completion",
    "scoring.cli.helptext",
    "scoring.cli.iteration",
    "scoring.cli.output",
    "scoring.errors",
    "scoring.evidence",
    "scoring.evidence.git",
    "scoring.evidence.git.pointers",
    "scoring.evidence.state",
    "scoring.files",
    "scoring.frozen",
    "scoring.jobs",
    "scoring.jobs.unchanged",
    "scoring.log",
    "scoring.log.missing",
    "scoring.log.settings",
    "scoring.settings_table",
    "scoring.text",
}
"""What is loaded to give an answer about one iteration again."""
