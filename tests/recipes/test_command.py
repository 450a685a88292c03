"""The recipe "a command": one file, and one line in the table of commands."""

import re
import sys
from pathlib import Path

import pytest
from helpers.commands import DaScore, Outcome, one_line

import scoring.cli
from scoring.cli.group import SECTIONS
from scoring.demo import Demo

TOY = '''"""``da-score toy``: how many iterations a log has."""

import click

from scoring.cli.options import LOG_OPTIONS, settings_options
from scoring.cli.output import reply
from scoring.log.load import load_iteration_log
from scoring.log.settings import Settings
from scoring.views.table import Column, Table


@click.command
@settings_options(*LOG_OPTIONS)
def command(settings: Settings) -> None:
    """Count the iterations of a log.

    Example:  da-score toy --json
    """
    count = len(load_iteration_log(settings.iter_log_dir))
    table = Table((Column("ITERATIONS"),), [(count,)])
    reply(settings, {"iterations": count}, [table])
'''


@pytest.fixture(autouse=True)
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file and the line."""
    (tmp_path / "toy.py").write_text(TOY)
    monkeypatch.setattr(scoring.cli, "__path__", [*scoring.cli.__path__, str(tmp_path)])
    monkeypatch.setitem(SECTIONS["Look"], "toy", "Count the iterations of a log.")
    monkeypatch.delitem(sys.modules, "scoring.cli.toy", raising=False)


@pytest.mark.usefixtures("here")
def test_a_command_runs(da_score: DaScore, demo: Demo, tmp_path: Path) -> None:
    assert da_score("toy") == Outcome(0, "ITERATIONS\n9\n", "")
    where = ("--iter-log-dir", demo.iter_log_dir)
    assert (
        da_score("toy", "--json", *where).json
        == da_score("--json", "toy", *where).json
        == {"iterations": 9}
    )
    assert str(tmp_path / "nope") in one_line(
        da_score("toy", "--iter-log-dir", tmp_path / "nope")
    )


def test_it_is_in_the_help(da_score: DaScore, monkeypatch: pytest.MonkeyPatch) -> None:
    assert re.search(
        r"^  toy +Count the iterations of a log\.$",
        da_score("--help").out,
        re.MULTILINE,
    )
    assert "\n  Example:  da-score toy --json\n" in da_score("toy", "--help").out
    assert "Did you mean 'toy'?" in da_score("toi").err
    monkeypatch.delitem(SECTIONS["Look"], "toy")
    assert "No such command 'toy'" in da_score("toy").err


def test_it_is_completed(da_score: DaScore, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "_DA_SCORE_COMPLETE": "bash_complete",
        "COMP_WORDS": "da-score t",
        "COMP_CWORD": "1",
    }.items():
        monkeypatch.setenv(name, value)
    assert da_score().out == "plain,toy\n"
    monkeypatch.setenv("COMP_WORDS", "da-score toy --j")
    monkeypatch.setenv("COMP_CWORD", "2")
    assert da_score().out == "plain,--json\n"
