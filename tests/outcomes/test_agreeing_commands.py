"""Every command gives one answer about a unit: its landing, its session and its state."""

import json
import os
import re
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from helpers.commands import DaScore
from helpers.histories import DAY, TEXT, History, writes

REAL = Path(
    os.environ.get(
        "DA_SCORE_SHARED_REAL", Path(__file__).parents[3] / "shared" / "real"
    )
)

EVERY = 1 if os.environ.get("DA_SCORE_SLOW_TESTS") == "1" else 20
"""Of how many landed units of a real repository one is explained."""

COMPARED = (
    "unit",
    "kind",
    "state",
    "iteration",
    "commit",
    "subject",
    "session_id",
    "harness",
    "author",
    "cost",
    "defective",
)

WORDS = {
    "taken_back": "Taken back",
    "talk": "It (led to no work|belongs to landed work)",
}
"""What people read for a state that has another name in data."""

STATES = ("landed", "reverted", "taken_back", "open", "lost", "unclear", "talk")

RUBRIC = ("--rubric", "3.1.0")


def contradictions(
    da_score: DaScore, log: Path, places: Sequence[str], every: int
) -> list[str]:
    """Return where commands differ about units.

    Args:
        da_score: runs a command line.
        log: the log.
        places: the options that name the log and the repository.
        every: of how many landed units one is explained. All other units are explained.
    """
    work = _data(da_score, "work", "--json", *places)
    units = sorted(work["units"], key=lambda unit: str(unit["unit"]))
    run = _data(da_score, "run", "--json", *RUBRIC, *places)

    differing = [
        *_differing_tables(da_score, units, places),
        *_differing_summaries(da_score, work, run, log, places),
        *_differing_outcomes(da_score, units, places),
        *_differing_sessions(da_score, units, log, places),
    ]
    landed = [unit for unit in units if unit["state"] == "landed"]
    for unit in [*landed[::every], *(unit for unit in units if unit not in landed)]:
        if unit["iterations"]:
            differing += _explained_otherwise(da_score, unit, places)
        else:
            differing += _shown_otherwise(da_score, unit, places)
    return differing


def _differing_tables(
    da_score: DaScore, units: Sequence[Any], places: Sequence[str]
) -> Iterator[str]:
    """Yield where SQL and exports differ from ``work``."""
    rows = _data(da_score, "query", "from work order by unit", "--json", *places)
    tables = _data(da_score, "export", "--json", *RUBRIC, *places)
    exported = sorted(tables["work"], key=lambda row: str(row["unit"]))
    for unit, row, other in zip(units, rows, exported, strict=True):
        for key in COMPARED:
            if not unit[key] == row[key] == other[key]:
                said = f"{unit[key]} in work, {row[key]} in SQL, {other[key]} exported"
                yield f"{unit['unit']}: {key} is {said}"

    unit_of = _by_iteration(units)
    for row in tables["iterations"]:
        unit = unit_of[row["iteration"]]
        about = f"iteration {row['iteration']}"
        of_first = row["iteration"] == unit["iteration"]
        if of_first and row["session_id"] != unit["session_id"]:
            yield f"{about}: {row['session_id']} in its entry, {unit['session_id']} in work"
        if of_first and row["subject"] != unit["subject"]:
            yield f"{about}: {row['subject']!r} exported, {unit['subject']!r} in work"
        if row["landed_commit"] not in (None, unit["commit"]):
            yield f"{about}: {row['landed_commit']} exported, {unit['commit']} in work"
        if row["landed_commit"] and unit["state"] in ("open", "lost", "unclear"):
            yield f"{about}: landed in the export, {unit['state']} in work"
        if row["reverted"] and unit["state"] != "reverted":
            yield f"{about}: reverted in the export, {unit['state']} in work"
        if row["taken_back_by"] and unit["state"] not in ("reverted", "taken_back"):
            yield f"{about}: undone in the export, {unit['state']} in work"


def _differing_summaries(
    da_score: DaScore, work: Any, run: Any, log: Path, places: Sequence[str]
) -> Iterator[str]:
    """Yield where the sums of ``run`` and the report differ from ``work``."""
    page = log.parent / "report.html"
    report = _data(da_score, "report", "--json", "--out", page, *RUBRIC, *places)
    if run["work"]["by"] != work["by"]:
        yield "run and work differ in their groups"
    if not run["work"]["summary"] == report["work"] == work["summary"]:
        yield "run, report and work differ in their sums"
    for state in STATES:
        listed = _data(da_score, "work", "--list", state, "--json", *places)
        if len(listed["units"]) != work["summary"][state]:
            yield f"the list of {state} units differs from their number"
    if not run["look_at"] == report["look_at"] == work["look_at"]:
        yield "run, report and work differ in what to look at"

    html = page.read_text()
    rows = re.findall(r'<tr id="u\d+">.*?<span class="state (\w+)">', html)
    if rows != [unit["state"] for unit in work["units"]]:
        yield "the report and work differ in states"


def _differing_outcomes(
    da_score: DaScore, units: Sequence[Any], places: Sequence[str]
) -> Iterator[str]:
    """Yield where ``outcomes`` differs from ``work``."""
    became = _data(da_score, "outcomes", "--json", *places)["outcomes"]
    page = da_score("outcomes", *places).out
    unit_of = _by_iteration(units)
    for row in became:
        number = row["iteration"]
        state = unit_of[number]["state"]
        if row["state"] != state:
            yield f"{number}: {row['state']} in outcomes, {state} in work"
        word = WORDS.get(state, state).lower()
        if not re.search(rf"(?m)^{number} .* {word} ", page):
            yield f"{number}: {word} in work, and not on the page of outcomes"


def _differing_sessions(
    da_score: DaScore, units: Sequence[Any], log: Path, places: Sequence[str]
) -> Iterator[str]:
    """Yield where sidecars of sessions and ``session`` differ from ``work``."""
    unit_of = _by_iteration(units)
    for path in sorted(log.glob("session-*.score.yaml")):
        sidecar = yaml.safe_load(path.read_text())
        session = sidecar["session_id"]
        numbers = sidecar["iterations"]
        for number in numbers:
            if number == unit_of[number]["iteration"]:
                in_work = unit_of[number]["session_id"]
                if in_work != session:
                    yield f"{number}: in the sidecar of {session}, in work {in_work}"

        states = Counter(unit_of[number]["state"] for number in numbers)
        said = da_score("session", session, *RUBRIC, *places).out.splitlines()[1]
        counts = [int(count) for count in re.findall(r"\d+", said)]
        expected = [len(numbers), states["landed"], states["reverted"]]
        if states["taken_back"]:
            expected.append(states["taken_back"])
        expected += [states[state] for state in ("open", "lost", "unclear")]
        if counts != expected:
            yield f"{session}: {said!r}, and {dict(states)} in work"


def _explained_otherwise(
    da_score: DaScore, unit: Mapping[str, Any], places: Sequence[str]
) -> Iterator[str]:
    """Yield where ``explain`` and ``iteration`` differ from ``work`` about iterations of a unit."""
    word = WORDS.get(unit["state"], unit["state"].capitalize())
    for number in map(str, unit["iterations"]):
        for command in ("explain", "iteration"):
            page = da_score(command, number, *RUBRIC, *places).out
            if not re.search(rf"(?m)^{word}(:|$)", page):
                yield f"{number}: {unit['state']} in work, and not in {command}:\n{page[:400]}"

        explained = _data(da_score, "explain", number, "--json", *RUBRIC, *places)
        found = explained["attribution"]
        landed_as = found["landed_as"]
        if landed_as not in (None, unit["commit"]):
            yield f"{number}: landed as {landed_as} in explain, {unit['commit']} in work"
        if found["sessions"] and unit["session_id"] not in found["sessions"]:
            yield f"{number}: {found['sessions']} in explain, {unit['session_id']} in work"


def _shown_otherwise(
    da_score: DaScore, unit: Mapping[str, Any], places: Sequence[str]
) -> Iterator[str]:
    """Yield where ``explain`` differs from ``work`` about a unit that no entry names."""
    name = unit["unit"]
    explained = _data(da_score, "explain", name, "--json", *places)
    for key in COMPARED:
        if explained[key] != unit[key]:
            yield f"{name}: {key} is {explained[key]} in explain, {unit[key]} in work"

    word = WORDS.get(unit["state"], unit["state"].capitalize())
    page = da_score("explain", name, *places).out
    if not re.search(rf"(?m)^{word}", page):
        yield f"{name}: {unit['state']} in work, and not in explain:\n{page[:400]}"


def _data(da_score: DaScore, *arguments: str | Path) -> Any:
    """Return what a command prints as JSON. It may warn that a busy machine takes long."""
    ran = da_score(*arguments)
    assert ran.status == 0, ran
    return json.loads(ran.out)


def _by_iteration(units: Sequence[Any]) -> dict[int, Any]:
    return {number: unit for unit in units for number in unit["iterations"]}


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

    _commit_one_part_twice(made)
    _commit_without_entry(made)
    _take_back_in_silence(made)
    mark = made.commit(9000, "Add told", files={"src/told.py": TEXT})
    made.entry(mark, "Add told", "gone")
    made.session("asks").turn(9500, 95)
    mark = made.commit(29 * DAY, "Add young", branch="young", files={"new.py": TEXT})
    made.entry(mark, "Add young", "gone")

    made.commit(2 * DAY, 'Revert "Add reverted"', files={"src/reverted.py": ""})
    writes(made.session("rest"), 5 * DAY, 100, "src/never.py")
    made.commit(30 * DAY, "Later")
    made.write()
    return made


def _commit_one_part_twice(made: History) -> None:
    """A session writes two files, and then commits each."""
    session = made.session("twice")
    for number, name in enumerate(("one", "two")):
        writes(session, 6000 + number, 60 + number, f"src/{name}.py")
    for number, name in enumerate(("one", "two")):
        second = 6100 + 100 * number
        mark = made.commit(second, f"Add {name}", files={f"src/{name}.py": TEXT})
        session.commits(second, 65 + number, mark, f"Add {name}")
        made.entry(mark, f"Add {name}", "twice")


def _commit_without_entry(made: History) -> None:
    session = made.session("quiet")
    writes(session, 7000, 70, "src/quiet.py")
    mark = made.commit(7100, "Add quiet", files={"src/quiet.py": TEXT})
    session.commits(7100, 71, mark, "Add quiet")


def _take_back_in_silence(made: History) -> None:
    """A session's file goes in a commit that removes another one too, and says nothing of it."""
    text = TEXT + TEXT.replace("made", "again")
    made.commit(7900, "Begin old", files={"src/old.py": text})
    session = made.session("undone")
    writes(session, 8000, 80, "src/undone.py", text)
    mark = made.commit(8100, "Add undone", files={"src/undone.py": text})
    session.commits(8100, 81, mark, "Add undone")
    made.entry(mark, "Add undone", "undone")
    made.commit(3 * DAY, "Tidy", files={"src/undone.py": "", "src/old.py": ""})


def test_commands_agree_about_every_unit(history: History, da_score: DaScore) -> None:
    places = (
        "--iter-log-dir",
        str(history.log),
        "--repo-dir",
        str(history.repo),
        "--cache-dir",
        str(history.root / "cache"),
    )
    assert contradictions(da_score, history.log, places, every=1) == []

    units = _data(da_score, "work", "--json", *places)["units"]
    assert {unit["state"] for unit in units} == {
        "landed",
        "reverted",
        "taken_back",
        "open",
        "lost",
        "talk",
    }
    assert {unit["kind"] for unit in units} == {"commit", "rest", "talk"}


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
    log = tmp_path / "log"
    places = (
        "--iter-log-dir",
        str(log),
        "--repo-dir",
        str(clone),
        "--cache-dir",
        str(tmp_path / "c"),
    )
    da_score("derive", *places)
    assert contradictions(da_score, log, places, every=EVERY) == []
