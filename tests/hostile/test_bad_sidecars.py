"""Numbers in a sidecar that no score can have: commands name the file and print valid JSON."""

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
from helpers.commands import DaScore, one_line

from rubric import rubric_versions
from scoring.sidecars.read_scores import parse_iteration_score, read_session

LOG = Path(".agents/active/iteration-log")
BAD = LOG / "iter-3.score.yaml"


def _all(old: str, new: str) -> Callable[[str], str]:
    def changed(text: str) -> str:
        lines = [
            f"{line.partition(': ')[0]}: {new}" if f"{old}: " in line else line
            for line in text.splitlines()
        ]
        assert any(line.endswith(f": {new}") for line in lines)
        return "\n".join(lines) + "\n"

    return changed


BREAKS: dict[str, Callable[[str], str]] = {
    "weights whose sum overflows": _all("nominal_weight", "1.7e308"),
    "weights that are no numbers": _all("nominal_weight", ".nan"),
    "infinite sub-scores": _all("sub_score", ".inf"),
    "contributions below nothing": _all("contribution", "-.inf"),
    "a value that is no number": _all("value", ".nan"),
    "a value beyond every score": _all("value", "1e300"),
    "no breakdown": lambda text: text.partition("breakdown:")[0] + "breakdown: []\n",
    "another shape": lambda _: "[1, 2]\n",
    "nothing": lambda _: "",
    "another iteration": _all("iteration", "4"),
}


COMMANDS = (
    "explain 3",
    "export --format jsonl --tables iterations",
    "check --min-score 0 --json",
    "report --out report.html",
    "export --format csv --tables signals",
    "query 'select * from iterations'",
)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("how", BREAKS)
@pytest.mark.usefixtures("project")
def test_every_command_names_it_and_goes_on(da_score: DaScore, how: str) -> None:
    assert da_score("run", "--no-cache").status == 0
    BAD.write_text(BREAKS[how](BAD.read_text()))
    for command in COMMANDS:
        found = da_score(*shlex.split(command), "--no-cache")
        assert found.status == 0, (command, found)
        assert "iter-3.score.yaml: " in found.err, (command, found.err)
        assert not {"NaN", "Infinity"} & set(re.split(r"\W", found.out))
    found = da_score("iteration", "3", "--json", "--no-cache")
    assert (found.status, "iter-3.score.yaml: " in one_line(found)) == (1, True)


@pytest.mark.parametrize("how", BREAKS)
@pytest.mark.usefixtures("project")
def test_its_session_leaves_it_out_by_name(da_score: DaScore, how: str) -> None:
    assert da_score("run", "--no-cache").status == 0
    session = (
        min(LOG.glob("session-*.score.yaml"))
        .name.removeprefix("session-")
        .removesuffix(".score.yaml")
    )
    members = da_score("session", session, "--json").json
    iteration = members["iterations"][0]
    path = LOG / f"iter-{iteration}.score.yaml"
    path.write_text(
        BREAKS[how](path.read_text()).replace("iteration: 4", "iteration: 9")
    )
    found = da_score("session", session, "--json")
    assert found.status == 0
    assert f"iter-{iteration}.score.yaml: " in found.err
    json.loads(found.out, parse_constant=pytest.fail)


@pytest.mark.usefixtures("project")
def test_a_session_that_cannot_be_one_is_an_error_in_one_line(
    da_score: DaScore,
) -> None:
    assert da_score("run", "--no-cache").status == 0
    path = next(LOG.glob("session-*.score.yaml"))
    path.write_text(_all("value", ".inf")(path.read_text()))
    assert one_line(
        da_score(
            "session",
            path.name.removeprefix("session-").removesuffix(".score.yaml"),
            "--json",
        )
    )


@pytest.mark.parametrize("version", rubric_versions())
@pytest.mark.usefixtures("project")
def test_what_is_written_under_a_released_rubric_is_taken(
    da_score: DaScore, version: str
) -> None:
    assert da_score("run", "--no-cache", "--rubric", version).status == 0
    found = list(LOG.glob("iter-*.score.yaml"))
    assert len(found) == 9
    for path in found:
        parse_iteration_score(path.read_bytes(), str(path))
    for path in LOG.glob("session-*.score.yaml"):
        read_session(
            LOG, path.name.removeprefix("session-").removesuffix(".score.yaml")
        )
