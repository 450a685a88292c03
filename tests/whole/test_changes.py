"""What is kept between runs changes no answer: after any change, a warm run says what one without a cache says."""

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from helpers.commands import DaScore, Outcome
from helpers.privileges import no_privileges
from helpers.repos import Repo

from scoring import store
from scoring.demo import Demo
from scoring.log.load import load_iteration_log


@dataclass
class Place:
    """The demo, with sessions in the default place of a harness, and a cache."""

    demo: Demo
    da_score: DaScore
    cache: Path

    def ask(self, *arguments: str | Path, fresh: bool = False) -> Outcome:
        kept = ["--no-cache"] if fresh else ["--cache-dir", self.cache]
        where = "--iter-log-dir", self.demo.iter_log_dir, "--repo-dir", self.demo.repo_dir
        return self.da_score(*arguments, *where, *kept)

    def look(self, rubric: str) -> None:
        """Score the log, warm and without a cache; both say the same."""
        ask = "run", "--json", "--no-write", "--rubric", rubric
        assert self.ask(*ask) == self.ask(*ask, fresh=True)

    def artifact(self) -> Path:
        """Return an artifact that an entry names."""
        named = (self.demo.repo_dir / name for r in load_iteration_log(self.demo.iter_log_dir) for name in r.artifacts)
        return next(path for path in named if path.is_file())

    def entry(self, number: int = 2) -> Path:
        return self.demo.iter_log_dir / f"iter-{number}.yaml"

    def session(self) -> Path:
        return next((self.cache.parent / "claude" / "projects" / "here").iterdir())

    def git(self, *arguments: str) -> None:
        Repo.at(self.demo.repo_dir).git(*arguments)


@pytest.fixture
def place(demo: Demo, da_score: DaScore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.setattr(store, "SETTLED", 0)  # what was written just now is kept too
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    (demo.repo_dir / ".agents" / "da-score.toml").unlink()  # it names the transcripts of the demo
    sessions = tmp_path / "claude" / "projects" / "here"
    sessions.mkdir(parents=True)
    for path in sorted((demo.root / "transcripts" / "claude").iterdir()):
        text = path.read_text().replace("/home/ada/shortlink", str(demo.repo_dir))
        (sessions / path.name).write_text(text.replace(str(demo.repo_dir), str(tmp_path / "gone"), 3))
    return Place(demo, da_score, tmp_path / "cache")


def edit(path: Path) -> None:
    path.write_text(path.read_text().replace("\n", "\n\n", 1))


def replace_by_a_link(path: Path, target: Path) -> None:
    path.rename(target)
    path.symlink_to(target)


def other_byte(path: Path) -> None:
    """Change a byte, and nothing else that a listing shows but the time of the change."""
    before, data = path.stat(), bytearray(path.read_bytes())
    at = data.index(b"wave")
    data[at : at + 1] = b"W"
    with open(path, "r+b") as f:
        f.write(data)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


HOOK = "records:\n  - sentinel_id: a\n    intervention_class: prevent_before_action\n    result: fail\n"
CHANGES: dict[str, Callable[[Place], object]] = {
    "an entry is edited": lambda p: edit(p.entry()),
    "a byte of an entry": lambda p: other_byte(p.entry()),
    "an entry is new": lambda p: shutil.copy(p.entry(), p.entry(900)),
    "an entry is gone": lambda p: p.entry().unlink(),
    "an entry has another name": lambda p: p.entry().rename(p.entry(901)),
    "an entry is broken": lambda p: p.entry().write_text("{"),
    "a hook outcome": lambda p: p.entry().with_name("iter-2.hook-outcomes.yaml").write_text(HOOK),
    "a label": lambda p: p.entry().with_name("iter-2.labels.yaml").write_text("labels: []\n"),
    "a DR transcript": lambda p: p.entry().with_name("iter-2.dr.json").write_text("{}"),
    "an artifact is edited": lambda p: edit(p.artifact()),
    "an artifact is gone": lambda p: p.artifact().unlink(),
    "an artifact is a link": lambda p: replace_by_a_link(p.artifact(), p.demo.repo_dir / "moved.yaml"),
    "artifacts are outside": lambda p: replace_by_a_link(p.artifact().parent, p.demo.root / "away"),
    "a plan": lambda p: edit(next((p.demo.repo_dir / ".agents" / "workflow" / "plans").glob("*/TASKS.yaml"))),
    "a session goes on": lambda p: p.session().write_text(p.session().read_text() * 2),
    "a session is gone": lambda p: p.session().unlink(),
    "a session is new": lambda p: shutil.copy(p.session(), p.session().with_name("other.jsonl")),
    "a folder of sessions is new": lambda p: shutil.copytree(p.session().parent, p.session().parents[1] / "b"),
    "a folder that a session names": lambda p: (p.cache.parent / "gone").mkdir(),
    "a commit": lambda p: p.git("commit", "--allow-empty", "-q", "-m", "more"),
    "a branch is gone": lambda p: p.git("update-ref", "-d", "refs/heads/master"),
    "packed branches": lambda p: p.git("pack-refs", "--all"),
    "a remote": lambda p: p.git("remote", "add", "origin", "https://example.org/x.git"),
    "another branch is out": lambda p: p.git("checkout", "-q", "--detach"),
    "a work tree": lambda p: p.git("worktree", "add", "-q", str(p.cache.parent / "w")),
}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("rubric", ["2.1.0", "2.3.0", "3.1.0"])
def test_a_change_is_seen(place: Place, rubric: str, change: str) -> None:
    place.look(rubric)
    CHANGES[change](place)
    place.look(rubric)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_seen_in_one_iteration(place: Place, change: str) -> None:
    name = str(place.artifact().relative_to(place.demo.repo_dir))
    records = load_iteration_log(place.demo.iter_log_dir)
    number = next(r.iteration for r in records if name in r.artifacts) if "artifact" in change else 2
    assert place.ask("run", "--rubric", "3.1.0").status == 0
    CHANGES[change](place)
    ask = "iteration", str(number), "--json"
    found = place.ask(*ask)
    for kept in (place.cache / "store.sqlite", place.cache / "store.sqlite-wal"):
        kept.unlink(missing_ok=True)
    assert found.out == place.ask(*ask).out or "edited since" in found.out


@pytest.mark.parametrize("rubric", ["2.3.0", "3.1.0"])
def test_rights_that_were_lost_are_seen(place: Place, rubric: str) -> None:
    place.look(rubric)
    path = place.artifact()
    path.chmod(0)
    try:
        with no_privileges():
            place.look(rubric)
    finally:
        path.chmod(0o644)


def test_a_sidecar_that_is_changed_after_a_run_is_written_again(place: Place) -> None:
    ask = "run", "--json", "--rubric", "3.1.0"
    assert place.ask(*ask).status == 0
    sidecar = place.entry().with_name("iter-2.score.yaml")
    before = sidecar.read_bytes()
    sidecar.write_bytes(before + b"\n")
    assert place.ask(*ask).status == 0
    assert sidecar.read_bytes() == before
