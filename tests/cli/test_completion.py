"""Completion in each shell."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from helpers.commands import DaScore
from helpers.projects import CLAUDE_SESSION, CODEX_SESSION

from scoring.cli import main
from scoring.cli.helptext import COMMANDS

Complete = Callable[[str], set[str]]


class TestCompletion:
    @pytest.mark.parametrize(
        ("shell", "has"),
        [
            ("bash", "complete -o nosort -F _da_score_completion da-score"),
            ("zsh", "#compdef da-score"),
            ("fish", "complete --no-files --command da-score"),
        ],
    )
    def test_has_a_script_for_each_shell(self, da_score: DaScore, shell: str, has: str) -> None:
        found = da_score("completion", shell)
        assert (found.status, found.err) == (0, "")
        assert has in found.out
        assert f"_DA_SCORE_COMPLETE={shell}_complete" in found.out

    @pytest.fixture
    def complete(self, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]) -> Complete:
        """Ask for what may stand at the end of a line, the way bash does."""

        def complete(words: str) -> set[str]:
            monkeypatch.setenv("_DA_SCORE_COMPLETE", "bash_complete")
            monkeypatch.setenv("COMP_WORDS", words)
            monkeypatch.setenv("COMP_CWORD", str(len(words.split(" ")) - 1))
            capsysbinary.readouterr()
            kept = os.dup(1)  # a completion ends its process, and may close what it printed to
            try:
                status: object = main([])
            except SystemExit as e:
                status = e.code
            finally:
                os.dup2(kept, 1)
                os.close(kept)
            out, err = capsysbinary.readouterr()
            assert (status, err) == (0, b"")
            return {line.split(",", 1)[1] for line in out.decode().splitlines() if line}

        return complete

    @pytest.mark.usefixtures("scored")
    @pytest.mark.parametrize(
        ("words", "offered"),
        [
            ("da-score iteration ", {"1", "2", "3", "4", "5", "6", "7", "8", "9"}),
            ("da-score iteration 4", {"4"}),
            ("da-score iteration x", set()),
            ("da-score iteration --recompute ", {"1", "2", "3", "4", "5", "6", "7", "8", "9"}),
            ("da-score iteration --iter-log-dir missing ", set()),
            ("da-score session ", {CODEX_SESSION, CLAUDE_SESSION}),
            ("da-score session 5", {CLAUDE_SESSION}),
            ("da-score ses", {"session"}),
            ("da-score rubric ", {"list", "show", "validate", "diff", "fit"}),
            ("da-score completion ", {"bash", "zsh", "fish"}),
            ("da-score run --no-w", {"--no-write"}),
        ],
    )
    def test_offers(self, complete: Complete, words: str, offered: set[str]) -> None:
        assert complete(words) == offered

    @pytest.mark.usefixtures("scored")
    def test_offers_every_command(self, complete: Complete) -> None:
        assert complete("da-score ") == set(COMMANDS)

    def test_looks_where_the_line_says(
        self, monkeypatch: pytest.MonkeyPatch, complete: Complete, project: Path, tmp_path: Path
    ) -> None:
        (tmp_path / "log").mkdir()
        for name in ("iter-12.yaml", "iter-3.score.yaml", "session-a b.score.yaml", "iter-x.yaml", "xiter-7.yaml"):
            (tmp_path / "log" / name).write_bytes(b"")
        line = f"da-score iteration --iter-log-dir {tmp_path / 'log'} "
        assert complete(line) == {"12"}
        monkeypatch.setenv("DA_SCORE_ITER_LOG_DIR", str(tmp_path / "log"))
        assert complete("da-score iteration ") == {"12"}
        assert complete("da-score session ") == {"a b"}
        monkeypatch.delenv("DA_SCORE_ITER_LOG_DIR")
        (project / ".agents" / "da-score.toml").write_text("broken")
        assert complete("da-score iteration ") == set()
