"""A session that only planned counts in the unit of the commit that its plan led to."""

from pathlib import Path
from typing import Any

import pytest
from helpers.harness_lines import stamp, write
from helpers.histories import DAY, TEXT, History, Session, writes
from helpers.sessions import events_of

from scoring.evidence.transcripts.events import PlanTaken
from scoring.evidence.transcripts.prompts import planned_in

PLAN = "Implement the following plan:\n\n# Fix it\n\nDo this, then that.\n\n"
NAMED = (
    "If you need specific details from before exiting plan mode, "
    "read the full transcript at: {path}"
)


def plan_of(path: str) -> str:
    return PLAN + NAMED.format(path=path)


@pytest.mark.parametrize(
    ("prompt", "session"),
    [
        pytest.param(plan_of("/home/a b/.claude/-app/1f-2.jsonl"), "1f-2", id="a path"),
        pytest.param(plan_of("C:\\Users\\a\\1f-2.jsonl\n"), "1f-2", id="of Windows"),
        pytest.param(PLAN, "", id="no transcript"),
        pytest.param(plan_of("/home/a/notes.md"), "", id="another file"),
        pytest.param("Read this: " + plan_of("/1f-2.jsonl"), "", id="quoted"),
        pytest.param(NAMED.format(path="/1f-2.jsonl"), "", id="no plan"),
    ],
)
def test_reads_which_session_made_a_plan(prompt: str, session: str) -> None:
    assert planned_in(prompt) == session


def test_a_name_that_is_too_long_for_a_session_names_none(tmp_path: Path) -> None:
    session = Session("s1", "/work/app")
    session.prompt(10, plan_of(f"/home/{'a' * 1500}.jsonl"))
    session.turn(20, 1)
    path = write(tmp_path / "s1.jsonl", *session.lines)
    assert events_of(path, "claude").of(PlanTaken) == []


def history_of(root: Path) -> History:
    """A session that plans, until second 1,000."""
    made = History(root)
    session = made.session("plans")
    session.prompt(900, "How would you do it?")
    session.turn(910, 7)
    session.turn(1000, 9)
    return made


def does(made: History, name: str, second: int, *, commits: bool = True) -> None:
    """A session carries the plan out."""
    session = made.session(name)
    session.prompt(second, plan_of("/home/.claude/projects/-app/plans.jsonl"))
    writes(session, second + 10, second, f"src/{name}.py")
    if commits:
        files = {f"src/{name}.py": TEXT}
        mark = made.commit(second + 20, f"Add {name}", files=files)
        session.commits(second + 20, second + 1, mark, f"Add {name}")


def units_of(made: History, da_score: Any) -> dict[str, Any]:
    made.commit(30 * DAY, "Later")
    made.write()
    places = "--repo-dir", str(made.repo), "--transcript-dir", str(made.home)
    units = da_score("work", "--json", "--no-cache", *places).json["units"]
    return {unit["subject"] or unit["unit"]: unit for unit in units}


def test_counts_in_the_unit_of_the_commit(tmp_path: Path, da_score: Any) -> None:
    made = history_of(tmp_path)
    does(made, "does", 1001)
    units = units_of(made, da_score)
    assert set(units) == {"Add does"}
    unit = units["Add does"]
    assert unit["session_id"] == "does"
    assert unit["tokens"]["output"] == 7 + 9 + 1001 + 1002


def went_on(made: History) -> None:
    does(made, "does", 1001)
    made.sessions[0].turn(1001 + 90, 11)


def led_to_two_commits(made: History) -> None:
    does(made, "does", 1001)
    does(made, "again", 1200)


def led_to_no_commit(made: History) -> None:
    does(made, "does", 1001, commits=False)


def another_planned(made: History) -> None:
    does(made, "does", 1001)
    made.sessions[0].id = "thinks"
    for line in made.sessions[0].lines:
        line["sessionId"] = "thinks"


@pytest.mark.parametrize(
    "what", [went_on, led_to_two_commits, led_to_no_commit, another_planned]
)
def test_is_talk_where_its_unit_is_not_certain(
    tmp_path: Path, da_score: Any, what: Any
) -> None:
    made = history_of(tmp_path)
    what(made)
    units = units_of(made, da_score)
    (talk,) = (unit for unit in units.values() if unit["kind"] == "talk")
    assert talk["session_id"] in ("plans", "thinks")
    assert talk["tokens"]["output"] >= 7 + 9


def test_talk_keeps_its_checkpoint(tmp_path: Path, da_score: Any) -> None:
    made = history_of(tmp_path)
    about = {"session": "plans", "created_at": stamp(1100)}
    checkpoint = made.checkpoint(1, (about, made.sessions[0].lines))
    (talk,) = units_of(made, da_score).values()
    assert (talk["kind"], talk["checkpoints"]) == ("talk", [checkpoint])


def test_the_checkpoint_of_a_plan_is_in_the_unit_of_the_commit(
    tmp_path: Path, da_score: Any
) -> None:
    made = history_of(tmp_path)
    about = {"session": "plans", "created_at": stamp(1000)}
    checkpoint = made.checkpoint(1, (about, made.sessions[0].lines))
    does(made, "does", 1001)
    units = units_of(made, da_score)
    assert units["Add does"]["checkpoints"] == [checkpoint]
