"""docs/TRUST.md: the forged and the unverified case say on the page what the commands print."""

import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
from helpers.commands import DaScore

from scoring.log.settings import DEFAULT_LOG_DIR as LOG

PAGE = (Path(__file__).parents[2] / "docs" / "TRUST.md").read_text("utf-8")


def forge() -> None:
    path = LOG / "iter-5.score.yaml"
    text = re.sub("^value: .*", "value: 1", path.read_text(), flags=re.M)
    path.write_text(re.sub("^band: .*", "band: excellent", text, flags=re.M))


def leave_as_it_is() -> None:
    """The options on the page say that no transcripts are read."""


CASES: dict[str, Callable[[], None]] = {
    "A forged sidecar": forge,
    "An unverified sidecar": leave_as_it_is,
}


def screens(title: str) -> list[tuple[list[str], str]]:
    """The commands of a case with what the page shows of them."""
    section = PAGE.partition(f"### {title}\n")[2]
    block = re.search(r"^```console\n(.*?)^```$", section, re.M | re.S)
    assert block, title
    shown = re.findall(r"^\$ da-score (.*)\n((?:(?!\$ ).*\n)*)", block[1], re.M)
    return [(shlex.split(command), text) for command, text in shown]


def as_pattern(shown: str) -> str:
    """What the page shows, ``…`` for anything: alone on a line for any lines."""
    pattern = re.escape(shown).replace("…\\\n", "…\n")
    return (
        re.sub(r"(?m)^…\n", r"(?s:.*)", pattern)
        .replace("…", ".*")
        .replace(".*\n", ".*\n")
    )


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("title", CASES)
def test_the_page_shows_what_is_printed(
    da_score: DaScore, monkeypatch: pytest.MonkeyPatch, title: str
) -> None:
    monkeypatch.setenv("DA_SCORE_RUBRIC", "3.1.0")
    assert da_score("run").status == 0
    CASES[title]()
    for command, shown in screens(title):
        if "--transcripts" in command:
            monkeypatch.delenv("DA_SCORE_TRANSCRIPT_DIR", raising=False)
        found = da_score(*command)
        assert re.fullmatch(as_pattern(shown), found.out + found.err), found


def test_every_case_is_on_the_page() -> None:
    assert set(re.findall(r"^### (.*)$", PAGE, re.M)) == set(CASES)


def test_a_change_through_a_memory_map_is_a_limit_that_the_page_names() -> None:
    assert "changed through a memory map" in " ".join(PAGE.split())
