"""Completion in each shell."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from helpers.commands import DaScore, one_line
from helpers.projects import CLAUDE_SESSION, CODEX_SESSION

from scoring.cli import main
from scoring.cli.group import COMMANDS

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
    def test_has_a_script_for_each_shell(
        self, da_score: DaScore, shell: str, has: str
    ) -> None:
        found = da_score("completion", shell)
        assert (found.status, found.err) == (0, "")
        assert has in found.out
        assert f"_DA_SCORE_COMPLETE={shell}_complete" in found.out

    @pytest.mark.parametrize(
        ("shell", "start"), [("bash", ".bashrc"), ("zsh", ".zshrc")]
    )
    def test_installs_a_script_that_the_shell_reads_when_it_starts(
        self,
        da_score: DaScore,
        monkeypatch: pytest.MonkeyPatch,
        tmp_path: Path,
        shell: str,
        start: str,
    ) -> None:
        for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "ZDOTDIR"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("HOME", str(tmp_path))
        monkeypatch.setenv("SHELL", f"/usr/bin/{shell}")
        kept = tmp_path / "dotfiles"
        kept.write_text("alias a=b")
        kept.chmod(0o600)
        (tmp_path / start).symlink_to(kept)
        script = tmp_path / ".local/share/da-score" / f"completion.{shell}"
        said = da_score("completion", "--install").out
        assert said.splitlines() == [
            f"wrote {script}",
            f"added a line to {tmp_path / start} that reads it",
            f"Completion begins in the next {shell} that you start; "
            "to undo it, remove the file and the line.",
        ]
        assert da_score("completion", shell).out in script.read_text()
        line = f"[ ! -r {script} ] || . {script}"
        assert kept.read_text().splitlines() == ["alias a=b", line]
        assert kept.stat().st_mode & 0o777 == 0o600
        assert (tmp_path / start).is_symlink()
        assert "reads it already" in da_score("completion", "--install").out
        assert kept.read_text().count(line) == 1

    def test_installs_the_script_of_fish_where_fish_looks(
        self, da_score: DaScore, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.setenv("HOME", str(tmp_path))
        monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
        assert da_score("completion", "fish", "--install").out.endswith(
            "; to undo it, remove the file.\n"
        )
        script = tmp_path / ".config/fish/completions/da-score.fish"
        assert script.read_text() == da_score("completion", "fish").out
        assert [path.name for path in tmp_path.iterdir()] == [".config"]

    def test_names_the_shells_that_it_knows(
        self, da_score: DaScore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("SHELL", "/bin/tcsh")
        found = da_score("completion")
        assert (found.status, one_line(found)) == (
            2,
            "no completion for the shell tcsh; name one of bash, zsh, fish",
        )

    @pytest.fixture
    def complete(
        self,
        monkeypatch: pytest.MonkeyPatch,
        capsysbinary: pytest.CaptureFixture[bytes],
    ) -> Complete:
        """Ask for what may stand at the end of a line, the way bash does."""

        def complete(words: str) -> set[str]:
            monkeypatch.setenv("_DA_SCORE_COMPLETE", "bash_complete")
            monkeypatch.setenv("COMP_WORDS", words)
            monkeypatch.setenv("COMP_CWORD", str(len(words.split(" ")) - 1))
            capsysbinary.readouterr()
            # a completion ends its process, and may close what it printed to
            kept = os.dup(1)
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
            (
                "da-score iteration --recompute ",
                {"1", "2", "3", "4", "5", "6", "7", "8", "9"},
            ),
            ("da-score iteration --iter-log-dir missing ", set()),
            ("da-score session ", {CODEX_SESSION, CLAUDE_SESSION}),
            ("da-score session 5", {CLAUDE_SESSION}),
            ("da-score ses", {"session"}),
            (
                "da-score log ",
                {"lint", "records", "entry", "schema", "integrity", "signals"},
            ),
            ("da-score log s", {"schema", "signals"}),
            ("da-score log entry ", {"new", "set"}),
            ("da-score log lint --js", {"--json"}),
            ("da-score log lint --js", {"--json"}),
            ("da-score log entry set ", {"1", "2", "3", "4", "5", "6", "7", "8", "9"}),
            ("da-score rubric ", {"list", "show", "validate", "diff"}),
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
        self,
        monkeypatch: pytest.MonkeyPatch,
        complete: Complete,
        project: Path,
        tmp_path: Path,
    ) -> None:
        (tmp_path / "log").mkdir()
        for name in (
            "iter-12.yaml",
            "iter-3.score.yaml",
            "session-a b.score.yaml",
            "iter-x.yaml",
            "xiter-7.yaml",
        ):
            (tmp_path / "log" / name).write_bytes(b"")
        line = f"da-score iteration --iter-log-dir {tmp_path / 'log'} "
        assert complete(line) == {"12"}
        monkeypatch.setenv("DA_SCORE_ITER_LOG_DIR", str(tmp_path / "log"))
        assert complete("da-score iteration ") == {"12"}
        assert complete("da-score session ") == {"a b"}
        monkeypatch.delenv("DA_SCORE_ITER_LOG_DIR")
        (project / ".agents" / "da-score.toml").write_text("broken")
        assert complete("da-score iteration ") == set()
