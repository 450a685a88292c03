"""All of the work as units: made histories in real git, of which it is known what became of each line."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from helpers.harness_lines import cases
from helpers.histories import History, Session, output_of
from helpers.repos import START, Repo

DAY = 86_400
TEXT = "".join(f"def made_{n}(): return {n}\n" for n in range(8))
Work = Callable[..., dict[str, Any]]


@pytest.fixture
def history(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> History:
    made = History(tmp_path)
    monkeypatch.setenv("HOME", str(made.home))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(made.home / ".claude"))
    monkeypatch.setenv("CODEX_HOME", str(made.home / ".codex"))
    return made


@pytest.fixture
def work(history: History, da_score: Any) -> Work:
    def asked(*options: str) -> dict[str, Any]:
        if not history.shas:
            history.write()
        places = "--iter-log-dir", str(history.log), "--repo-dir", str(history.repo)
        found: dict[str, Any] = json.loads(da_score("work", *places, "--no-cache", "--json", *options).out)
        return found

    return asked


def writes(session: Session, second: float, output: int, path: str, text: str = TEXT) -> None:
    """The agent writes a file that was not there."""
    call = session._call()
    given = {"file_path": f"{session.cwd}/{path}", "content": text}
    session.turn(second, output, {"type": "tool_use", "id": call, "name": "Write", "input": given})
    session.result(second + 0.1, call, "File created successfully.")


def state_of(found: dict[str, Any], kind: str) -> str:
    return next(str(unit["state"]) for unit in found["units"] if unit["kind"] == kind)


def committed(history: History) -> None:
    session = history.session("s1")
    writes(session, 100, 1, "src/a.py")
    mark = history.commit(200, "Add it", files={"src/a.py": TEXT})
    session.commits(200, 2, mark, "Add it")
    history.entry(mark, "Add it", "s1")


def test_what_a_session_did_for_a_commit_is_that_commits_and_what_was_said_after_it_is_talk(
    history: History, work: Work
) -> None:
    committed(history)
    history.sessions[0].turn(300, 4)
    history.commit(30 * DAY, "Much later")
    unit, talk = work()["units"]
    assert (unit["kind"], unit["state"], unit["iteration"], unit["subject"]) == ("commit", "landed", 1, "Add it")
    assert unit["tokens"] == {"input": 2, "output": 3, "cache_read": 14, "cache_creation": 6}
    assert (unit["lines_written"], unit["lines_landed"], unit["yield"], unit["author"]) == (8, 8, 1.0, "A")
    assert (talk["kind"], talk["state"], talk["tokens"]["output"], talk["author"]) == ("talk", "talk", 4, "A")
    assert (unit["session_id"], unit["harness"], unit["model"]) == ("s1", "claude", "claude-opus-4-1")


@cases(
    "ends, by_hand, state",
    {
        "never committed": (30, None, "lost"),
        "not yet": (3, None, "open"),
        "a person committed it": (30, TEXT, "landed"),
        "a person committed a little of it": (30, TEXT[:60], "unclear"),
    },
)
def test_a_rest_is_what_became_of_its_lines(
    history: History, work: Work, ends: int, by_hand: str | None, state: str
) -> None:
    writes(history.session("s1"), 100, 1, "src/a.py")
    if by_hand:
        history.commit(2 * DAY, "By hand", files={"src/a.py": by_hand})
    history.commit(ends * DAY, "Later")
    found = work()
    assert [unit["kind"] for unit in found["units"]] == ["rest"]
    assert state_of(found, "rest") == state
    assert found["summary"][state] == found["summary"]["units"] == 1


HALF = "".join(TEXT.splitlines(True)[:4])


@cases(
    "changes, landed",
    {
        "they stay": ([], 8),
        "the file is moved": ([(3, {"src/a.py": None, "lib/a.py": TEXT})], 8),
        "half are gone before the horizon": ([(3, {"src/a.py": HALF})], 4),
        "half are gone behind it": ([(20, {"src/a.py": HALF})], 8),
        "they came behind it": ([(1, {"src/a.py": ""}), (20, {"src/a.py": TEXT})], 0),
    },
)
def test_what_counts_is_what_the_trunk_has_a_horizon_later(
    history: History, work: Work, changes: list[tuple[int, dict[str, str | None]]], landed: int
) -> None:
    committed(history)
    history.write()
    repo = Repo.at(history.repo)
    repo.git("reset", "-q", "--hard", "main")
    for day, files in changes:
        repo.commit(files, time=START + day * DAY)
    repo.commit(message="Later", time=START + 30 * DAY)
    (unit,) = work()["units"]
    assert (unit["lines_written"], unit["lines_landed"], unit["yield"]) == (8, landed, landed / 8)


@cases(
    "path, lines",
    {"few lines": ("src/a.py", 4), "a file elsewhere": ("../notes/a.py", 8), "none": ("", 0)},
)
def test_a_session_that_wrote_little_here_is_talk(history: History, work: Work, path: str, lines: int) -> None:
    session = history.session("s1")
    if path:
        writes(session, 100, 1, path, "".join(TEXT.splitlines(True)[:lines]))
    session.turn(110, 2)
    history.commit(30 * DAY, "Later")
    (unit,) = work()["units"]
    assert (unit["kind"], unit["tokens"]["output"], unit["author"]) == ("talk", 3 if path else 2, None)


@cases(
    "command, written, yielded",
    {
        "a command that wrote a file": ("date > src/b.py", None, None),
        "one that wrote elsewhere": ("date > /tmp/b", 8, 1.0),
    },
)
def test_lines_are_not_known_where_some_are_not_here(
    history: History, work: Work, command: str, written: int | None, yielded: float | None
) -> None:
    committed(history)
    second = history.session("s2")
    second.run(300, 4, command, "")
    writes(second, 310, 8, "src/c.py")
    mark = history.commit(400, "Add more", files={"src/c.py": TEXT})
    second.commits(400, 16, mark, "Add more")
    history.commit(30 * DAY, "Later")
    unit = work()["units"][1]
    assert (unit["lines_written"], unit["yield"]) == (written, yielded)


@pytest.mark.parametrize("is_here", [True, False])
def test_sub_agents_that_are_not_here_are_counted(history: History, work: Work, is_here: bool) -> None:
    committed(history)
    second = history.session("s2")
    given = {"description": "look", "prompt": "look", "subagent_type": "general-purpose"}
    second.turn(300, 4, {"type": "tool_use", "id": "t1", "name": "Task", "input": given})
    if is_here:
        second.turn(305, 32, side=True)
    writes(second, 310, 8, "src/c.py")
    mark = history.commit(400, "Add more", files={"src/c.py": TEXT})
    second.commits(400, 16, mark, "Add more")
    history.commit(30 * DAY, "Later")
    found = work()
    assert found["summary"]["missing_subagents"] == (0 if is_here else 1)
    assert found["units"][1]["yield"] == (1.0 if is_here else None)
    assert found["units"][1]["tokens"]["output"] == (60 if is_here else 28)


def test_your_own_work_is_what_git_calls_yours(history: History, work: Work) -> None:
    committed(history)
    writes(history.session("s2"), 5000, 4, "src/b.py")
    history.home.mkdir(exist_ok=True)
    (history.home / ".gitconfig").write_text("[user]\n\tname = B\n\temail = b@example.org\n")
    assert [unit["session_id"] for unit in work("--mine")["units"]] == ["s2"]
    assert [unit["session_id"] for unit in work("--author", "A@EXAMPLE.ORG")["units"]] == ["s1"]


@cases("days, state", {"long ago": (30, "lost"), "a day ago": (1.5, "open")})
def test_a_commit_of_a_branch_that_was_deleted(history: History, work: Work, days: float, state: str) -> None:
    session = history.session("s1")
    writes(session, 100, 1, "src/a.py")
    mark = history.commit(200, "Try it", branch="try", files={"src/a.py": TEXT})
    session.commits(200, 2, mark, "Try it")
    del history.git.branches["try"]
    history.commit(days * DAY, "Later")
    (unit,) = (found := work())["units"]
    assert (unit["kind"], unit["state"], unit["commit"]) == ("commit", state, history.shas[mark])
    assert [one["reason"] for one in found["look_at"]] == (["lost"] if state == "lost" else [])


@cases("tip, state", {"a branch that goes on": (29, "open"), "a branch that was left": (2, "lost")})
def test_a_branch_with_a_new_commit_is_open(history: History, work: Work, tip: int, state: str) -> None:
    session = history.session("s1")
    writes(session, 100, 1, "src/a.py")
    mark = history.commit(200, "Try it", branch="try", files={"src/a.py": TEXT})
    session.commits(200, 2, mark, "Try it")
    history.commit(tip * DAY, "More", branch="try")
    history.commit(30 * DAY, "Later")
    assert state_of(work(), "commit") == state


@cases("subject, state", {"a revert": ('Revert "Add it"', "reverted"), "another revert": ('Revert "Add"', "landed")})
def test_what_was_reverted_comes_first(history: History, work: Work, subject: str, state: str) -> None:
    committed(history)
    history.commit(DAY, subject, files={"src/a.py": ""})
    found = work()
    assert state_of(found, "commit") == state
    assert [one["reason"] for one in found["look_at"]] == (["reverted"] if state == "reverted" else [])


def test_a_response_that_goes_on_behind_a_commit_is_in_one_unit(history: History, work: Work) -> None:
    session = history.session("s1")
    writes(session, 100, 1, "src/a.py")
    session.turn(150, 8)
    mark = history.commit(200, "Add it", files={"src/a.py": TEXT})
    session.commits(200, 2, mark, "Add it")
    session.turn(300, 8)
    history.entry(mark, "Add it", "s1")
    assert sum(unit["tokens"]["output"] or 0 for unit in work()["units"]) == 11


def test_entries_that_landed_as_one_commit_are_one_unit(history: History, work: Work) -> None:
    parts = ["".join(TEXT.splitlines(True)[:5]), TEXT]
    for n, text in enumerate(parts):
        session = history.session(f"s{n}")
        writes(session, 100 + 1000 * n, 1 + n, "src/a.py", text)
        mark = history.commit(200 + 1000 * n, f"Step {n}", branch="try", files={"src/a.py": text})
        session.commits(200 + 1000 * n, 4 << n, mark, f"Step {n}")
        history.entry(mark, f"Step {n}", f"s{n}")
    whole = history.commit(5000, "Try it (#1)", files={"src/a.py": TEXT})
    history.commit(30 * DAY, "Later")
    (unit,) = work()["units"]
    assert (unit["commit"], unit["iteration"], unit["iterations"]) == (history.shas[whole], 1, [1, 2])
    assert (unit["state"], unit["tokens"]["output"]) == ("landed", 15)


def test_each_response_is_in_one_unit_and_doing_it_again_changes_nothing(history: History, work: Work) -> None:
    committed(history)
    for n in range(3):
        session = history.session(f"other{n}")
        writes(session, 1000 + n, 8 << n, f"src/other{n}.py", TEXT)
        session.turn(4000 + n, 64 << n)
    history.commit(30 * DAY, "Later")
    first = work()
    sums = {output for session in history.sessions for line in session.lines if (output := output_of(line))}
    assert sum(unit["tokens"]["output"] for unit in first["units"]) == sum(sums)
    assert work() == first
    assert len({unit["unit"] for unit in first["units"]}) == len(first["units"]) == 4
    assert first["units"][1]["minutes"] == pytest.approx(0.1 / 60)  # the pause of fifty minutes is none of them


def test_a_commit_of_which_little_is_left_in_a_squash_is_one_unit_with_it(history: History, work: Work) -> None:
    mark = history.commit(200, "Step", branch="try", files={"src/a.py": TEXT})
    history.entry(mark, "Step")
    whole = history.commit(5000, "Try it (#1)", files={"src/a.py": TEXT[:60], "src/b.py": HALF.upper()})
    history.commit(30 * DAY, "Later")
    history.write()
    Repo.at(history.repo).git("update-ref", "refs/pull/1/head", history.shas[mark])
    (unit,) = work()["units"]
    assert (unit["commit"], unit["iteration"], unit["state"]) == (history.shas[whole], 1, "landed")


@pytest.mark.parametrize("how", ["amended", "rebased"])
def test_a_commit_that_was_made_anew_is_one_unit(history: History, work: Work, how: str) -> None:
    session, begun = history.session("s1"), history.main
    writes(session, 100, 1, "src/a.py")
    first = history.git.commit((begun,), "Add it\n", START + 200, {"src/a.py": TEXT})
    session.commits(200, 2, first, "Add it")
    session.turn(250, 4)
    if how == "rebased":
        last = history.git.again(first, history.commit(220, "Other"), START + 300)
        history.git.branches["main"] = last
    else:
        last = history.commit(300, "Add it", files={"src/a.py": TEXT + "more = True\n"})
        session.commits(300, 8, last, "Add it", "git commit --amend")
    history.entry(last, "Add it", "s1")
    units = work()["units"]
    commit = next(unit for unit in units if unit["kind"] == "commit")
    assert [unit["kind"] for unit in units if unit["kind"] != "talk"] == ["commit"]
    assert (commit["commit"], commit["iteration"], commit["state"]) == (history.shas[last], 1, "landed")
    assert sum(unit["tokens"]["output"] for unit in units) == (7 if how == "rebased" else 15)


def test_what_was_reverted_and_landed_again_landed(history: History, work: Work) -> None:
    committed(history)
    history.commit(DAY, 'Revert "Add it"', files={"src/a.py": ""})
    history.commit(2 * DAY, 'Revert "Revert "Add it""', files={"src/a.py": TEXT})
    assert state_of(work(), "commit") == "landed"


def test_a_session_in_another_work_tree_is_work_here(history: History, work: Work) -> None:
    place = str(history.root / "linked")
    history.commit(50, "Begin", branch="try")
    history.worktrees[place] = "try"
    writes(history.session("s1", place), 100, 1, "src/a.py")
    writes(history.session("s2", str(history.other)), 100, 2, "src/a.py")
    history.commit(2 * DAY, "By hand", files={"src/a.py": TEXT})
    history.commit(30 * DAY, "Later")
    (unit,) = work()["units"]
    assert (unit["kind"], unit["state"], unit["session_id"]) == ("rest", "landed", "s1")


def test_an_entry_without_a_transcript_is_a_unit(history: History, work: Work) -> None:
    mark = history.commit(200, "Add it", files={"src/a.py": TEXT})
    history.entry(mark, "Add it")
    found = work()
    (unit,) = found["units"]
    assert (unit["state"], unit["tokens"]["output"], unit["lines_written"], unit["calls"]) == (
        "landed",
        None,
        None,
        None,
    )
    (group,) = found["by"]["harness"]
    assert (group["name"], group["landed"], group["landed_share"]["value"]) == ("unknown", 1, 1.0)
    assert (group["cost"], found["summary"]["cost"], found["summary"]["cost_lost"]) == (None, None, 0)


@cases(
    "options, count",
    {
        "all": ((), 2),
        "by name": (("--author", "a"), 1),
        "by address": (("--author", "nobody", "--author", "a@example.org"), 1),
        "of another": (("--author", "B"), 0),
        "of a task": (("--task", "t*"), 1),
        "since": (("--since", "2100-01-01"), 0),
    },
)
def test_options_choose(history: History, work: Work, options: tuple[str, ...], count: int) -> None:
    committed(history)
    writes(history.session("s2"), 5000, 4, "src/b.py")
    assert len(work(*options)["units"]) == count


def test_the_page_says_first_what_landed_and_what_it_cost(history: History, work: Work, da_score: Any) -> None:
    committed(history)
    writes(history.session("s2"), 5000, 4, "src/b.py")
    history.commit(30 * DAY, "Later")
    cost = work()["summary"]["cost_lost"]
    page = da_score("work", "--iter-log-dir", str(history.log), "--repo-dir", str(history.repo), "--no-cache").out
    lines = page.splitlines()
    assert [line.split()[:2] for line in lines[1:7]] == [
        *(["landed", "1"], ["reverted", "0"], ["open", "0"], ["lost", "1"], ["unclear", "0"], ["talk", "0"]),
    ]
    assert "2 units of work: 1 of 2 landed, 0 open, 1 lost after 14 days" in page
    assert cost is None or "<$0.01 for what is lost" in page
    assert [line.split()[:2] for line in lines if "came to nothing" in line] == [["-", "lost"]]
