"""Every command gives one answer about a unit: its landing, its session and its state."""

import os
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from helpers.commands import DaScore
from helpers.histories import DAY, TEXT, History, writes

REAL = Path(
    os.environ.get(
        "DA_SCORE_SHARED_REAL", Path(__file__).parents[3] / "shared" / "real"
    )
)

COMPARED = (
    "unit",
    "kind",
    "state",
    "iteration",
    "commit",
    "subject",
    "session_id",
    "harness",
)

WORDS = {"taken_back": "taken back"}
"""What people read for a state that has another name in data."""


def contradictions(
    da_score: DaScore, places: Sequence[str], every: int
) -> Iterator[str]:
    """Yield where commands differ about units.

    Args:
        da_score: runs a command line.
        places: the options that name the log and the repository.
        every: how many iterations apart those are that are explained one by one.
    """
    work = da_score("work", "--json", *places).json
    units = sorted(work["units"], key=lambda unit: str(unit["unit"]))

    rows = da_score("query", "from work order by unit", "--json", *places).json
    for unit, row in zip(units, rows, strict=True):
        for key in COMPARED:
            if unit[key] != row[key]:
                yield f"{unit['unit']}: {key} is {unit[key]} in work and {row[key]} in SQL"

    run = da_score("run", "--json", "--rubric", "3.1.0", *places).json
    for key in ("summary", "by"):
        if run["work"][key] != work[key]:
            yield f"run and work differ in {key}"
    if run["look_at"] != work["look_at"]:
        yield "run and work differ in what to look at"

    entries = da_score(
        "query", "from iterations", "--json", "--rubric", "3.1.0", *places
    ).json
    sessions = {row["iteration"]: row["session_id"] for row in entries}
    for unit in units:
        session = sessions.get(unit["iteration"])
        if session and unit["session_id"] not in (None, session):
            yield f"{unit['unit']}: {unit['session_id']} in work, {session} in its entry"

    became = da_score("outcomes", "--json", *places).json["outcomes"]
    state_of = {row["iteration"]: row["state"] for row in became}
    page = da_score("outcomes", *places).out

    with_entries = [unit for unit in units if unit["iteration"] is not None]
    for unit in with_entries:
        for iteration in unit["iterations"]:
            if state_of[iteration] != unit["state"]:
                yield f"{iteration}: {state_of[iteration]} in outcomes, {unit['state']} in work"
            word = WORDS.get(unit["state"], unit["state"])
            if not re.search(rf"(?m)^{iteration} .* {word} ", page):
                yield f"{iteration}: {word} in work, and not on the page of outcomes"

    for unit in with_entries[::every]:
        yield from _explained_otherwise(da_score, places, unit)


def _explained_otherwise(
    da_score: DaScore, places: Sequence[str], unit: Mapping[str, Any]
) -> Iterator[str]:
    state = unit["state"]
    word = WORDS.get(state, state).capitalize()
    number = str(unit["iteration"])
    for command in ("explain", "iteration"):
        page = da_score(command, number, "--rubric", "3.1.0", *places).out
        if f"\n{word}: " not in page and f"\n{word}\n" not in page:
            yield f"{unit['unit']}: {state} in work, and not in {command}:\n{page[:400]}"


@pytest.fixture
def history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> History:
    """Work in every state, with and without commits that git has."""
    made = History(tmp_path)
    monkeypatch.setenv("HOME", str(made.home))

    for number, name in enumerate(("stays", "reverted", "branch", "rebased", "open")):
        second = 1000 * number + 100
        if name == "open":
            second = 29 * DAY
        session = made.session(f"s{number}")
        path = f"src/{name}.py"
        text = TEXT.replace("made", name)
        writes(session, second, 10 * number + 1, path, text)
        if name == "rebased":
            first = made.git.commit(
                (made.main,), f"Add {name}\n", 1_776_000_000, {path: text}
            )
            session.commits(second + 50, 10 * number + 2, first, f"Add {name}")
            made.entry(first, f"Add {name}", f"s{number}")
            continue
        branch = "try" if name == "branch" else "main"
        mark = made.commit(
            second + 50, f"Add {name}", branch=branch, files={path: text}
        )
        session.commits(second + 50, 10 * number + 2, mark, f"Add {name}")
        made.entry(mark, f"Add {name}", f"s{number}")

    made.commit(2 * DAY, 'Revert "Add reverted"', files={"src/reverted.py": ""})
    writes(made.session("rest"), 5 * DAY, 100, "src/never.py")
    made.commit(30 * DAY, "Later")
    made.write()
    return made


def test_commands_agree_about_every_unit(history: History, da_score: DaScore) -> None:
    places = (
        "--iter-log-dir",
        str(history.log),
        "--repo-dir",
        str(history.repo),
        "--no-cache",
    )
    assert list(contradictions(da_score, places, every=1)) == []


def test_a_session_says_what_became_of_its_iterations_in_the_words_of_work(
    history: History, da_score: DaScore
) -> None:
    places = (
        "--iter-log-dir",
        str(history.log),
        "--repo-dir",
        str(history.repo),
        "--no-cache",
    )
    da_score("run", "--rubric", "3.1.0", *places)
    said = {}
    for session in ("s0", "s1", "s2", "s4"):
        page = da_score("session", session, "--rubric", "3.1.0", *places).out
        said[session] = page.splitlines()[1]
    rest = "0 were reverted, 0 are open, 0 were lost, 0 are unclear."
    assert said == {
        "s0": f"Of 1 iteration 1 landed, {rest}",
        "s1": "Of 1 iteration 0 landed, 1 was reverted, 0 are open, 0 were lost, 0 are unclear.",
        "s2": "Of 1 iteration 0 landed, 0 were reverted, 0 are open, 1 was lost, 0 are unclear.",
        "s4": "Of 1 iteration 1 landed, 0 were reverted, 0 are open, 0 were lost, 0 are unclear.",
    }


@pytest.mark.slow
@pytest.mark.skipif(
    not REAL.exists(), reason=f"the real repositories are not at {REAL}"
)
@pytest.mark.parametrize("name", ["entire-cli", "git-sync"])
def test_commands_agree_about_every_unit_of_real_repositories(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, da_score: DaScore
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", REAL / f"{name}.bundle", clone], check=True)
    log = str(tmp_path / "log")
    places = (
        "--iter-log-dir",
        log,
        "--repo-dir",
        str(clone),
        "--cache-dir",
        str(tmp_path / "c"),
    )
    da_score("derive", *places)
    assert list(contradictions(da_score, places, every=40)) == []
