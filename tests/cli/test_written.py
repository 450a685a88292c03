"""What commands write, and what they leave alone."""

import os
from pathlib import Path

import pytest
from helpers.commands import DaScore, OnTerminal, process
from helpers.projects import CLAUDE_SESSION, CODEX_SESSION, LOG, READING, changed, tree


class TestWritten:
    @pytest.fixture
    def home(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        home = tmp_path / "home"
        home.mkdir()
        monkeypatch.setenv("HOME", str(home))
        return home

    SIDECARS = {
        f"demo/repo/{LOG}/{name}.score.yaml"
        for name in (
            *(f"iter-{n}" for n in range(1, 10)),
            f"session-{CODEX_SESSION}",
            f"session-{CLAUDE_SESSION}",
        )
    } | {f"demo/repo/{LOG}"}

    @pytest.mark.usefixtures("project", "home")
    def test_by_a_run_are_sidecars_in_the_log_and_the_cache(
        self, da_score: DaScore, tmp_path: Path
    ) -> None:
        before = tree(tmp_path)
        assert da_score("run").status == 0
        touched = changed(before, tree(tmp_path))
        cached = {name for name in touched if name.startswith("home/.cache")}
        assert touched - cached - {"home"} == self.SIDECARS
        assert all(
            name == "home/.cache" or name.startswith("home/.cache/da-score")
            for name in cached
        )

    @pytest.mark.usefixtures("project", "home")
    def test_without_cache_and_sidecars_is_nothing(
        self, da_score: DaScore, tmp_path: Path
    ) -> None:
        before = tree(tmp_path)
        assert da_score("run", "--no-write", "--no-cache").out.endswith(
            "\nWrote nothing (--no-write)\n"
        )
        assert tree(tmp_path) == before
        assert (
            da_score("run", "--no-write", "--cache-dir", tmp_path / "cache").status == 0
        )
        after = tree(tmp_path)
        assert {name.split("/")[0] for name in changed(before, after)} == {"cache"}
        assert da_score("run", "--no-cache").status == 0
        assert changed(after, tree(tmp_path)) == self.SIDECARS

    @pytest.mark.usefixtures("home")
    @pytest.mark.parametrize("arguments", READING.values(), ids=READING)
    def test_by_commands_that_read_is_nothing(
        self,
        da_score: DaScore,
        scored: Path,
        home: Path,
        arguments: list[str],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setenv("DA_SCORE_NO_CACHE", "1")
        before = tree(scored.parent)
        assert da_score(*arguments).status == 0
        assert (tree(scored.parent), os.listdir(home)) == (before, [])

    @pytest.mark.usefixtures("home")
    def test_by_an_iteration_is_its_sidecar(
        self, da_score: DaScore, tmp_path: Path, project: Path
    ) -> None:
        before = tree(tmp_path)
        assert da_score("iteration", "3", "--no-cache").status == 0
        after = tree(tmp_path)
        sidecar = f"demo/repo/{LOG}/iter-3.score.yaml"
        assert changed(before, after) == {sidecar, f"demo/repo/{LOG}"}
        assert da_score("iteration", "3", "--recompute", "--no-cache").status == 0
        assert tree(tmp_path) == after
        (project / sidecar.removeprefix("demo/repo/")).write_text("iteration: 3\n")
        assert da_score("iteration", "3", "--recompute", "--no-cache").status == 0
        assert {name: rest[::2] for name, rest in tree(tmp_path).items()} == {
            name: rest[::2] for name, rest in after.items()
        }

    def test_is_the_same_again_by_a_process_and_by_a_terminal(
        self, da_score: DaScore, project: Path, on_a_terminal: OnTerminal
    ) -> None:
        first = da_score("run")
        before = tree(project)
        assert (da_score("run"), tree(project)) == (first, before)
        expected = {name: rest[2] for name, rest in tree(project / LOG).items()}
        for again in (process, on_a_terminal):
            for path in (project / LOG).glob("*.score.yaml"):
                path.unlink()
            again("run")
            assert {
                name: rest[2] for name, rest in tree(project / LOG).items()
            } == expected
