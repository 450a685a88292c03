"""One piece of work is one unit: quiet commits, checkpoints that lost their commit, no entries."""

from typing import Any

import pytest
from helpers.commands import DaScore
from helpers.harness_lines import START, cases, stamp
from helpers.histories import DAY, TEXT, History, Session, writes

from scoring.evidence.commands import run_folders
from scoring.evidence.git.agents import shown_or_stated, stated_as, without_mark
from scoring.evidence.transcripts.edits import PathTexts, lines_added

OTHER_TEXT = "".join(f"def other_{number}(): return {number}\n" for number in range(8))


@pytest.fixture
def history(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> History:
    made = History(tmp_path)
    monkeypatch.setenv("HOME", str(made.home))
    return made


def places(history: History) -> tuple[str, ...]:
    if not history.shas:
        history.write()
    return (
        "--iter-log-dir",
        str(history.log),
        "--repo-dir",
        str(history.repo),
        "--no-cache",
    )


def units(history: History, da_score: DaScore) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = da_score("work", "--json", *places(history)).json[
        "units"
    ]
    return found


@pytest.mark.parametrize("path", ["web/b.py", "src/b.py"])
def test_a_folder_of_containers_may_have_been_that_of_several_repositories(
    history: History, da_score: DaScore, path: str
) -> None:
    """A session there that made another commit counts where it edits a file of the repository."""
    first, second, third = (
        history.session(name, "/app") for name in ("s1", "s2", "s3")
    )
    writes(first, 100, 1, "src/a.py")
    files = {"src/a.py": TEXT, "src/b.py": "b = 1\n"}
    first.commits(200.2, 2, history.commit(200, "Add it", files=files), "Add it")
    writes(second, 300, 4, path, OTHER_TEXT)
    second.run(400, 8, "git commit -m x", "[main 0123456789ab] x\n 1 file changed")
    writes(third, 500, 16, path, OTHER_TEXT)
    history.commit(30 * DAY, "Later")

    sessions = {unit["session_id"] for unit in units(history, da_score)}
    assert sessions == ({"s1", "s2", "s3"} if path == "src/b.py" else {"s1"})


class TestQuietCommits:
    @pytest.mark.parametrize(
        "command",
        [
            "git commit -qm x",
            "jj commit -m x",
            "gt create -m x",
            "sl commit -m x",
            "but commit -m x",
        ],
    )
    def test_a_commit_of_that_time_with_the_lines_of_the_session_is_that_of_the_call(
        self, history: History, da_score: DaScore, command: str
    ) -> None:
        session = history.session("s1")
        writes(session, 100, 1, "src/a.py")
        history.commit(200, "Add it", files={"src/a.py": TEXT})
        session.run(200, 2, command, "")
        history.commit(30 * DAY, "Later")
        (unit,) = units(history, da_score)
        assert (unit["kind"], unit["state"], unit["subject"]) == (
            "commit",
            "landed",
            "Add it",
        )
        assert unit["tokens"]["output"] == 1 + 2

    @cases(
        "edited, kinds",
        {
            "in this repository": ("app/src/a.py", ["commit"]),
            "in another one": ("other/src/a.py", []),
        },
    )
    def test_of_a_session_above_the_repository_are_those_of_its_call(
        self, history: History, da_score: DaScore, edited: str, kinds: list[str]
    ) -> None:
        assert (history.repo.name, history.other.name) == ("app", "other")
        session = history.session("s1", history.root)
        writes(session, 100, 1, edited)
        history.commit(200, "Add it", files={"src/a.py": TEXT})
        session.run(200, 2, f"cd {edited[: -len('/src/a.py')]} && git commit -qm x", "")
        history.commit(30 * DAY, "Later")
        assert [unit["kind"] for unit in units(history, da_score)] == kinds

    @cases(
        "second, text, command, failed",
        {
            "it was made before the call": (198, TEXT, "git commit -qm x", False),
            "it was made after the result": (202, TEXT, "git commit -qm x", False),
            "its lines are not the session's": (
                200,
                OTHER_TEXT,
                "git commit -qm x",
                False,
            ),
            "it has two lines": (
                200,
                "def made_0(): return 0\n",
                "git commit -qm x",
                False,
            ),
            "the command failed": (200, TEXT, "git commit -qm x", True),
        },
    )
    def test_any_other_commit_is_not(
        self,
        history: History,
        da_score: DaScore,
        second: int,
        text: str,
        command: str,
        failed: bool,
    ) -> None:
        session = history.session("s1")
        writes(session, 100, 1, "src/a.py")
        history.commit(second, "Add it", files={"src/a.py": text})
        session.run(200, 2, command, "", failed=failed)
        history.commit(30 * DAY, "Later")
        assert [unit["kind"] for unit in units(history, da_score)] == ["rest"]

    @pytest.mark.parametrize(
        "added, kind",
        [
            pytest.param(TEXT, "commit", id="what it adds was written"),
            pytest.param(TEXT.upper(), "rest", id="what it adds was not"),
        ],
    )
    def test_lines_that_move_in_a_file_need_not_be_written(
        self, history: History, da_score: DaScore, added: str, kind: str
    ) -> None:
        """An edit that moves lines and adds some has written what it added."""
        stays = "".join(f"def stays_{number}(): return 0\n" for number in range(12))
        before = OTHER_TEXT + stays
        history.commit(50, "Begin", files={"src/a.py": before})
        session = history.session("s1")
        given = {
            "file_path": f"{session.cwd}/src/a.py",
            "old_string": before,
            "new_string": stays + OTHER_TEXT + TEXT,
        }
        session.turn(
            100, 1, {"type": "tool_use", "id": "c1", "name": "Edit", "input": given}
        )
        session.result(100.5, "c1", "done")
        after = stays + OTHER_TEXT + added
        history.commit(200, "Move them", files={"src/a.py": after})
        session.run(200, 2, "git commit -qm x", "")
        history.commit(30 * DAY, "Later")
        assert [unit["kind"] for unit in units(history, da_score)] == [kind]

    @cases(
        "tool, second, text, outputs",
        {
            "an edit, after which a hook commits": ("Edit", 200, TEXT, [1 + 2, 4]),
            "a command that makes none": ("Bash", 200, TEXT, [1 + 2, 4]),
            "it was made before the edit": ("Edit", 198, TEXT, [1 + 2 + 4]),
            "it was made after the edit": ("Edit", 212, TEXT, [1 + 2 + 4]),
            "its lines are not the session's": ("Edit", 200, OTHER_TEXT, [1 + 2 + 4]),
            "the tool only reads": ("Read", 200, TEXT, [1 + 2 + 4]),
        },
    )
    def test_a_commit_of_the_time_of_a_call_with_the_lines_of_the_session_is_that_of_the_call(
        self,
        history: History,
        da_score: DaScore,
        tool: str,
        second: int,
        text: str,
        outputs: list[int],
    ) -> None:
        session = history.session("s1")
        writes(session, 100, 1, "src/a.py")
        later = START + second + 3600
        history.commit(second, "Add it", files={"src/a.py": text}, committed=later)
        given = {
            "command": "git status",
            "file_path": f"{session.cwd}/src/a.py",
            "old_string": "def made_0(): return 0",
            "new_string": "def made_0(): return 0",
        }
        session.turn(
            199.5, 2, {"type": "tool_use", "id": "c1", "name": tool, "input": given}
        )
        session.result(210.5, "c1", "done")
        session.prompt(290, "and another one")
        writes(session, 300, 4, "src/b.py", OTHER_TEXT)
        history.commit(30 * DAY, "Later")
        found = units(history, da_score)
        assert [unit["tokens"]["output"] for unit in found] == outputs
        kinds = ["commit", "rest"] if len(outputs) > 1 else ["rest"]
        assert [unit["kind"] for unit in found] == kinds

    @pytest.mark.parametrize("is_another", [True, False])
    def test_a_call_makes_no_commit_of_lines_that_it_wrote_in_another_repository(
        self, history: History, da_score: DaScore, is_another: bool
    ) -> None:
        """A folder that is gone, as in a container, may have been one of this repository."""
        place = history.other if is_another else "/work/gone"
        session = history.session("s1", place)
        writes(session, 200, 1, "src/a.py")
        history.commit(200, "By hand", files={"src/a.py": TEXT})
        history.commit(30 * DAY, "Later")
        assert len(units(history, da_score)) == (0 if is_another else 1)
        said = da_score("derive", "--dry-run", *places(history)).out
        assert ("By hand" in said) is not is_another

    @cases(
        "second, ends",
        {
            "it begins later": (199.6, True),
            "it begins before": (199.4, True),
            "it has no result": (199.6, False),
        },
    )
    def test_at_the_time_of_a_command_that_commits_no_other_call_does(
        self, history: History, da_score: DaScore, second: float, ends: bool
    ) -> None:
        session = history.session("s1")
        writes(session, 100, 1, "src/a.py")
        checkpoint = recorded(history, 1, 250, session, "src/a.py")
        history.commit(200, "Amended", checkpoint, files={"src/a.py": TEXT})

        calls = [(199.5, 2, "c1", "git status"), (second, 4, "c2", "git commit -m x")]
        for begun, output, name, command in sorted(calls):
            given = {"command": command}
            use = {"type": "tool_use", "id": name, "name": "Bash", "input": given}
            session.turn(begun, output, use)
        if ends:
            session.result(200.4, "c2", "[main 0123456789ab] x\n 1 file changed")
        session.prompt(200.8, "and what now?")
        session.turn(202, 8)
        session.result(210.5, "c1", "clean")
        history.commit(30 * DAY, "Later")

        first = units(history, da_score)[0]
        assert (first["subject"], first["tokens"]["output"]) == ("Amended", 1 + 2 + 4)

    @cases(
        "lines, kind",
        {
            "it is shown in the same line": (
                [("git commit -qm x; git log --oneline -2", "@")],
                "commit",
            ),
            "it is shown next": (
                [("git commit -qm x", ""), ("git log -1", "commit @")],
                "commit",
            ),
            "jj states it": (
                [("jj commit -m x", "Parent commit (@-)      : qpvu @ Add it")],
                "commit",
            ),
            "GitButler states it": (
                [("but commit -m x", "Created commit @ on branch a")],
                "commit",
            ),
            "a tool names it": ([("mcp__git__git_commit", "done, hash @")], "commit"),
            "it is shown without a commit": (
                [("git log --oneline -2", "@ Add it")],
                "rest",
            ),
        },
    )
    def test_one_that_is_shown_is_that_of_the_call_also_without_lines(
        self,
        history: History,
        da_score: DaScore,
        lines: list[tuple[str, str]],
        kind: str,
    ) -> None:
        session = history.session("s1")
        writes(session, 100, 1, "src/a.py")
        mark = history.commit(200, "Add it", files={"src/b.py": "one = 1\n"})
        for number, (command, printed) in enumerate(lines):
            shown = printed.replace("@", f"@sha:{mark}@")
            if command.startswith("mcp"):
                use = {
                    "type": "tool_use",
                    "id": "c1",
                    "name": command,
                    "input": {"message": "x"},
                }
                session.turn(200, 2, use)
                session.result(200.5, "c1", shown)
            else:
                session.run(200 + number, 2 << number, command, shown)
        history.commit(30 * DAY, "Later")
        first = units(history, da_score)[0]
        assert first["kind"] == kind

    def test_a_commit_that_is_shown_and_was_made_before_is_not_that_of_the_call(
        self, history: History, da_score: DaScore
    ) -> None:
        session = history.session("s1")
        writes(session, 100, 1, "src/a.py")
        mark = history.commit(150, "Before", files={"src/b.py": "one = 1\n"})
        session.run(
            200, 2, "git commit -qm x; git log --oneline -2", f"@sha:{mark}@ Before"
        )
        history.commit(30 * DAY, "Later")
        assert [unit["kind"] for unit in units(history, da_score)] == ["rest"]


@pytest.mark.parametrize(
    "other", [False, True], ids=["", "another commit is in between"]
)
@pytest.mark.parametrize("first", ["a", "b"])
def test_lines_before_a_call_that_makes_two_commits_are_of_the_one_with_their_edits(
    history: History, da_score: DaScore, first: str, other: bool
) -> None:
    session = history.session("s1")
    writes(session, 100, 1, "src/b.py")
    if other:
        mark = history.commit(150, "Add c", files={"src/c.py": TEXT})
        session.commits(150.2, 4, mark, "Add c")
    paths = ["src/a.py", "src/b.py"] if first == "a" else ["src/b.py", "src/a.py"]
    marks = [
        history.commit(
            200 + second, f"Add {path}", files={path: f"{path} = 1\n" + TEXT}
        )
        for second, path in enumerate(paths)
    ]
    printed = [
        f"[main @sha:{mark}@] Add {path}\n 1 file changed"
        for mark, path in zip(marks, paths, strict=True)
    ]
    command = "; ".join(f"git commit {path} -m 'Add {path}'" for path in paths)
    session.run(200, 2, command, "\n".join(printed))
    history.commit(30 * DAY, "Later")
    tokens = {
        unit["subject"]: unit["tokens"] and unit["tokens"]["output"]
        for unit in units(history, da_score)
    }
    of_both = {"Add c": 1 + 4, "Add src/b.py": 2} if other else {"Add src/b.py": 1 + 2}
    assert tokens == {"Add src/a.py": None, **of_both}


def recorded(
    history: History, number: int, second: int, session: Session, *paths: str
) -> str:
    """Record a checkpoint of a session's lines so far, which touched some files."""
    about = {
        "session": session.id,
        "created_at": stamp(second),
        "files_touched": list(paths),
    }
    return history.checkpoint(number, (about, session.lines))


class TestCheckpointsThatNoCommitNames:
    @cases(
        "files, subjects",
        {
            "a commit after a soft reset": ([{"src/a.py": TEXT}], ["Again"]),
            "a squash": ([{"src/a.py": TEXT, "src/b.py": OTHER_TEXT}], ["Again"]),
        },
    )
    def test_the_commit_that_has_its_lines_is_one_unit_with_it(
        self, history: History, da_score: DaScore, files: Any, subjects: list[str]
    ) -> None:
        session = history.session("s1", stored=False)
        writes(session, 100, 1, "src/a.py")
        checkpoint = recorded(history, 1, 150, session, "src/a.py")
        for number, changed in enumerate(files):
            history.commit(3600 + number, subjects[number], files=changed)
        history.commit(30 * DAY, "Later")
        (unit,) = units(history, da_score)
        assert (unit["subject"], unit["state"]) == ("Again", "landed")
        assert (unit["checkpoints"], unit["tokens"]["output"]) == ([checkpoint], 1)

    @cases(
        "text, is_its",
        {"the same lines": (TEXT, True), "other lines": (OTHER_TEXT, False)},
    )
    def test_lines_count_once_where_several_sessions_are_in_a_transcript(
        self, history: History, da_score: DaScore, text: str, is_its: bool
    ) -> None:
        """The checkpoint does not state which of them is its session."""
        resumed = history.session("s0", stored=False)
        resumed.turn(40, 1)
        session = history.session("s1", stored=False)
        writes(session, 100, 2, "src/a.py")
        about = {
            "session_id": None,
            "created_at": stamp(150),
            "files_touched": ["src/a.py"],
        }
        checkpoint = history.checkpoint(1, (about, [*resumed.lines, *session.lines]))
        history.commit(3600, "Again", files={"src/a.py": text})
        history.commit(30 * DAY, "Later")
        _, unit = units(history, da_score)
        assert unit["checkpoints"] == [checkpoint]
        assert (unit["commit"] is not None) is is_its

    def test_a_split_is_one_unit_with_the_commit_that_has_most(
        self, history: History, da_score: DaScore
    ) -> None:
        lines = TEXT.splitlines(keepends=True)
        session = history.session("s1", stored=False)
        writes(session, 100, 1, "src/a.py")
        checkpoint = recorded(history, 1, 150, session, "src/a.py")
        history.commit(3600, "First part", files={"src/a.py": "".join(lines[:3])})
        history.commit(3700, "Second part", files={"src/a.py": TEXT})
        history.commit(30 * DAY, "Later")
        (unit,) = units(history, da_score)
        assert (unit["subject"], unit["checkpoints"]) == ("Second part", [checkpoint])

    def test_a_commit_with_other_lines_is_not_its_commit(
        self, history: History, da_score: DaScore
    ) -> None:
        session = history.session("s1", stored=False)
        writes(session, 100, 1, "src/a.py")
        recorded(history, 1, 150, session, "src/a.py")
        history.commit(3600, "Something else", files={"src/a.py": OTHER_TEXT})
        history.commit(30 * DAY, "Later")
        (unit,) = units(history, da_score)
        assert (unit["commit"], unit["state"]) == (None, "lost")

    def test_what_a_commit_brought_in_part_is_not_lost_when_it_goes_again(
        self, history: History, da_score: DaScore
    ) -> None:
        session = history.session("s1", stored=False)
        writes(session, 100, 1, "src/a.py", TEXT + OTHER_TEXT)
        recorded(history, 1, 150, session, "src/a.py")
        part = TEXT + OTHER_TEXT[:60]
        history.commit(
            3600, "By hand", files={"src/a.py": part, "src/b.py": OTHER_TEXT}
        )
        files = {"src/a.py": "", "src/b.py": "x = 1\n"}
        history.commit(2 * DAY, "Rework", files=files)
        history.commit(60 * DAY, "Later")
        (unit,) = units(history, da_score)
        assert (unit["subject"], unit["state"]) == ("By hand", "reverted")

    def test_for_a_question_is_no_work_though_its_transcript_holds_later_edits(
        self, history: History, da_score: DaScore
    ) -> None:
        session = history.session("s1", stored=False)
        session.turn(40, 1)
        writes(session, 100, 2, "src/a.py")
        checkpoint = recorded(history, 1, 50, session)
        history.commit(30 * DAY, "Later")
        (unit,) = units(history, da_score)
        assert (unit["kind"], unit["checkpoints"]) == ("rest", [checkpoint])

    @cases(
        "path, listed, second, subject",
        {
            "one that a checkpoint of the commit lists": (
                "src/b.py",
                True,
                150,
                "Add it",
            ),
            "one that it does not list": ("src/b.py", False, 150, "helper"),
            "a file that the commit does not change": ("src/c.py", True, 150, "helper"),
            "it edited after the commit": ("src/b.py", True, 50, "helper"),
        },
    )
    def test_a_session_that_edited_only_files_of_a_commit_that_lists_it_is_of_that_unit(
        self,
        history: History,
        da_score: DaScore,
        path: str,
        listed: bool,
        second: int,
        subject: str,
    ) -> None:
        maker = history.session("maker", stored=False)
        helper = history.session("helper", stored=False)
        writes(maker, 40, 1, "src/a.py")
        writes(maker, 41, 2, "src/b.py")
        writes(helper, 60, 4, path, OTHER_TEXT)
        abouts = [({"session": "maker", "created_at": stamp(second)}, maker.lines)]
        if listed:
            about = {"session": "helper", "created_at": stamp(second)}
            abouts.append((about, helper.lines))
        checkpoint = history.checkpoint(1, *abouts)
        recorded(history, 2, 80, helper, path)
        changed = {"src/a.py": TEXT, "src/b.py": TEXT}
        history.commit(second, "Add it", checkpoint, files=changed)
        history.commit(30 * DAY, "Later")
        found = units(history, da_score)
        if subject == "Add it":
            (unit,) = found
            assert (unit["subject"], unit["tokens"]["output"]) == (subject, 1 + 2 + 4)
            assert len(unit["checkpoints"]) == 2
        else:
            assert len(found) == 2
            assert [unit["tokens"]["output"] for unit in found] == [1 + 2, 4]

    def test_so_is_one_in_a_repository_in_a_temporary_folder(
        self, history: History, da_score: DaScore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(run_folders, "TEMPORARY_FOLDERS", (f"{history.root}/",))
        self.test_a_session_that_edited_only_files_of_a_commit_that_lists_it_is_of_that_unit(
            history, da_score, "src/b.py", True, 150, "Add it"
        )

    def test_what_a_session_edited_after_it_was_stored_is_not_asked_of_the_commit(
        self, history: History, da_score: DaScore
    ) -> None:
        maker = history.session("maker", stored=False)
        helper = history.session("helper", stored=False)
        writes(maker, 40, 1, "src/a.py")
        writes(helper, 60, 4, "src/b.py", OTHER_TEXT)
        made_at = {"created_at": stamp(150)}
        checkpoint = history.checkpoint(
            1,
            ({"session": "maker", **made_at}, maker.lines),
            ({"session": "helper", **made_at}, list(helper.lines)),
        )
        writes(helper, 160, 8, "src/c.py")
        recorded(history, 2, 80, helper, "src/b.py")
        changed = {"src/a.py": TEXT, "src/b.py": TEXT}
        history.commit(150, "Add it", checkpoint, files=changed)
        history.commit(30 * DAY, "Later")
        found = {unit["kind"]: unit["checkpoints"] for unit in units(history, da_score)}
        assert [len(found["commit"]), found["rest"]] == [2, []]

    @cases(
        "is_here, count",
        {
            "its transcript is here": (True, 1),
            "it is missing, beside an earlier one that is here": (False, 2),
        },
    )
    def test_it_is_not_where_a_sub_agent_that_started_since_may_have_edited(
        self, history: History, da_score: DaScore, is_here: bool, count: int
    ) -> None:
        maker = history.session("maker", stored=False)
        helper = history.session("helper", stored=False)
        writes(maker, 40, 1, "src/a.py")
        starts_agent(helper, 42, "early", is_here=True)
        start = len(helper.lines)
        helper.prompt(50, "and now the other one")
        starts_agent(helper, 52, "late", is_here=is_here)
        writes(helper, 60, 4, "src/b.py", OTHER_TEXT)

        made_at = {"created_at": stamp(150)}
        checkpoint = history.checkpoint(
            1,
            ({"session": "maker", **made_at}, maker.lines),
            ({"session": "helper", **made_at}, helper.lines),
        )
        about = {
            "session": "helper",
            "created_at": stamp(80),
            "files_touched": ["src/b.py"],
            "checkpoint_transcript_start": start,
        }
        history.checkpoint(2, (about, helper.lines))
        changed = {"src/a.py": TEXT, "src/b.py": TEXT}
        history.commit(150, "Add it", checkpoint, files=changed)
        history.commit(30 * DAY, "Later")
        assert len(units(history, da_score)) == count


def starts_agent(session: Session, second: float, name: str, *, is_here: bool) -> None:
    """The session starts a sub-agent, whose lines are in the session's transcript or missing."""
    use = {"type": "tool_use", "id": name, "name": "Task", "input": {}}
    session.turn(second, 8, use)
    if is_here:
        agent = Session(name, session.cwd)
        agent.run(second + 1, 16, "ls", "a.py")
        session.repeats(second + 1, agent)
    session.result(second + 3, name, "Done.")


def test_one_named_by_two_commits_belongs_to_the_first_for_which_its_session_edited(
    history: History, da_score: DaScore
) -> None:
    session = history.session("s1", stored=False)
    session.turn(50, 1)
    writes(session, 100, 2, "src/b.py")
    checkpoint = recorded(history, 1, 150, session, "src/b.py")
    history.commit(60, "By hand", checkpoint, files={"src/a.py": OTHER_TEXT})
    history.commit(200, "By the agent", checkpoint, files={"src/b.py": TEXT})
    history.commit(30 * DAY, "Later")
    with_checkpoint = [unit for unit in units(history, da_score) if unit["checkpoints"]]
    assert [unit["subject"] for unit in with_checkpoint] == ["By the agent"]


def test_without_entries_work_says_what_it_says_with_those_that_derive_writes(
    history: History, da_score: DaScore
) -> None:
    shown = history.session("shown")
    writes(shown, 100, 1, "src/shown.py")
    mark = history.commit(200, "Add shown", files={"src/shown.py": TEXT})
    shown.commits(200, 2, mark, "Add shown")

    listed = history.session("listed", stored=False)
    writes(listed, 1000, 4, "src/listed.py", OTHER_TEXT)
    checkpoint = recorded(history, 1, 1100, listed, "src/listed.py")
    history.commit(1100, "Add listed", checkpoint, files={"src/listed.py": OTHER_TEXT})
    history.commit(
        1200, "Help\n\nCo-Authored-By: Claude Opus 4.5 <noreply@anthropic.com>"
    )
    history.commit(30 * DAY, "Later")

    without = units(history, da_score)
    written = da_score("derive", "--json", *places(history)).json["written"]
    assert len(written) == 3
    of_entries = ("iteration", "iterations")
    for unit, same in zip(without, units(history, da_score), strict=True):
        assert unit | {name: same[name] for name in of_entries} == same
        assert unit["iteration"] is None


class TestStated:
    def test_what_a_commit_states_fills_what_no_transcript_shows_and_is_marked(
        self, history: History, da_score: DaScore
    ) -> None:
        history.commit(
            100, "Help\n\nCo-Authored-By: Claude Opus 4.5 <noreply@anthropic.com>"
        )
        history.commit(30 * DAY, "Later")
        (unit,) = units(history, da_score)
        stated = ("claude (stated)", "claude-opus-4-5 (stated)")
        assert (unit["harness"], unit["model"]) == stated
        assert (
            "\n(stated): the commit or its checkpoint names it, and no transcript"
            in (da_score("work", *places(history)).out)
        )

        da_score("derive", *places(history))
        (row,) = da_score(
            "query", "from iterations", "--json", "--rubric", "3.1.0", *places(history)
        ).json
        assert (row["harness"], row["model"]) == stated

    def test_what_a_transcript_shows_counts_first(
        self, history: History, da_score: DaScore
    ) -> None:
        session = history.session("s1")
        writes(session, 100, 1, "src/a.py")
        subject = "Add it\n\nCo-Authored-By: Claude Sonnet 4.5 <noreply@anthropic.com>"
        mark = history.commit(200, subject, files={"src/a.py": TEXT})
        session.commits(200, 2, mark, "Add it")
        history.commit(30 * DAY, "Later")
        assert "(stated)" not in da_score("work", *places(history)).out
        (unit,) = units(history, da_score)
        assert (unit["harness"], unit["model"]) == ("claude", "claude-opus-4-1")

    def test_the_metadata_of_a_checkpoint_states_both(self) -> None:
        assert stated_as("Codex", "gpt-5.4") == ("codex", "gpt-5.4")
        assert stated_as("Something new", "a model") == ("", "")
        assert shown_or_stated("", "codex") == "codex (stated)"
        assert without_mark("codex (stated)") == without_mark("codex") == "codex"
        assert shown_or_stated("claude", "codex") == "claude"
        assert shown_or_stated(None, "") is None


@cases(
    "commits_too, subject",
    {
        "no line of it is in a commit": (
            False,
            "belongs to landed work, split not known",
        ),
        "it made a commit itself": (True, None),
    },
)
def test_a_session_that_landed_work_lists_is_not_talk(
    history: History, da_score: DaScore, commits_too: bool, subject: str | None
) -> None:
    maker = history.session("maker", stored=False)
    helper = history.session("helper", stored=False)
    helper.turn(50, 8)
    writes(maker, 100, 1, "src/a.py")
    if commits_too:
        writes(helper, 60, 16, "src/b.py", OTHER_TEXT)
        mark = history.commit(70, "Add b", files={"src/b.py": OTHER_TEXT})
        helper.commits(70, 32, mark, "Add b")
        helper.prompt(80, "what is next?")
        helper.turn(90, 64)
    abouts = []
    for session in (maker, helper):
        about = {
            "session": session.id,
            "created_at": stamp(150),
            "files_touched": ["src/a.py"],
        }
        abouts.append((about, session.lines))
    checkpoint = history.checkpoint(1, *abouts)
    history.commit(150, "Add it", checkpoint, files={"src/a.py": TEXT})
    history.commit(30 * DAY, "Later")

    work = da_score("work", "--json", *places(history)).json
    assert [unit["subject"] for unit in work["units"] if unit["kind"] == "talk"] == [
        subject
    ]
    known = work["summary"]["cost_split_not_known"] or 0
    assert (known > 0) is not commits_too
    assert work["summary"]["split_not_known"] == int(not commits_too)
    assert work["summary"]["talk"] == int(commits_too)
    page = da_score("work", *places(history)).out
    text = "1 session belongs to landed work, but to which unit is not known: "
    assert (text in page) is not commits_too
    talk = next(unit for unit in work["units"] if unit["kind"] == "talk")
    page = da_score("explain", talk["unit"], *places(history)).out
    assert ("It belongs to landed work, but to which unit " in page) is not commits_too


@pytest.mark.parametrize("is_here", [True, False])
def test_where_the_transcript_of_one_session_is_missing_the_cost_is_at_least_that_of_the_others(
    history: History, da_score: DaScore, is_here: bool
) -> None:
    maker = history.session("maker", stored=False)
    helper = history.session("helper", stored=False)
    for session, path, output in ((maker, "src/a.py", 1), (helper, "src/b.py", 2)):
        writes(session, 100, output, path)
    abouts: list[Any] = []
    for session in (maker, helper):
        about = {"session": session.id, "created_at": stamp(150)}
        lines = session.lines if is_here or session is maker else None
        abouts.append((about, lines))
    checkpoint = history.checkpoint(1, *abouts)
    history.commit(
        150, "Add it", checkpoint, files={"src/a.py": TEXT, "src/b.py": TEXT}
    )
    history.commit(30 * DAY, "Later")

    (unit,) = units(history, da_score)
    assert unit["tokens"]["output"] == (1 + 2 if is_here else 1)
    page = da_score("work", *places(history)).out
    least = "Costs are at least these: 1 session of the work left no transcript here (da-score "
    assert (f"{least}doctor says what can be fetched).\n" in page) is not is_here
    (sha,) = {unit["commit"]}
    assert (
        "It took at least" in da_score("explain", sha, *places(history)).out
    ) is not is_here


@pytest.mark.parametrize("is_in_another", [True, False])
def test_a_session_without_a_transcript_counts_once_however_many_units_miss_it(
    history: History, da_score: DaScore, is_in_another: bool
) -> None:
    maker = history.session("maker", stored=False)
    helper = history.session("helper", stored=False)
    for number, second in enumerate((100, 200), 1):
        path = f"src/{number}.py"
        writes(maker, second, number, path)
        abouts: list[Any] = [
            ({"session": name, "created_at": stamp(second + 50)}, lines)
            for name, lines in (("maker", list(maker.lines)), ("helper", None))
        ]
        if is_in_another and number == 1:
            writes(helper, second + 10, 4, path, OTHER_TEXT)
            abouts[1] = (abouts[1][0], list(helper.lines))
        checkpoint = history.checkpoint(number, *abouts)
        history.commit(second + 50, f"Add {path}", checkpoint, files={path: TEXT})
    history.commit(30 * DAY, "Later")

    assert len(units(history, da_score)) == 2
    page = da_score("work", *places(history)).out
    is_said = "1 session of the work left no transcript here" in page
    assert is_said is not is_in_another


class TestPathTexts:
    def test_what_was_refused_is_written_when_it_is_written_again(self) -> None:
        files = PathTexts()
        lines = lines_added(TEXT)
        for _ in range(2):
            changes = files.changes({"/a.py": lines}, "", whole=True)
            assert [change.hashes for change in changes] == [lines]
            files.take_back(changes)

    @pytest.mark.parametrize("is_stated", [False, True])
    def test_a_part_of_a_line_that_is_taken_back_is_no_line(
        self, is_stated: bool
    ) -> None:
        files = PathTexts()
        line, part, new = "total = price * count", "price * count", "sum(prices)"
        files.changes({"/a.py": lines_added(line)}, "", whole=True)
        (change,) = files.changes({"/a.py": lines_added(new, part)}, "", whole=False)
        if is_stated:  # as the diff of the result has it
            diff = [f"-{line}", f"+total = {new}"]
            change = files.with_whole_lines(change, diff)
        files.take_back([change])

        (change,) = files.changes({"/a.py": lines_added(part)}, "", whole=True)
        written = lines_added(part)[0]
        assert written in change.hashes

    @pytest.mark.parametrize(
        "printed",
        [
            "No space left on device",
            "The user doesn't want to proceed with this tool use.",
        ],
    )
    def test_a_call_that_failed_or_was_refused_wrote_nothing(
        self, history: History, da_score: DaScore, printed: str
    ) -> None:
        session = history.session("s1")
        writes(session, 90, 1, "src/a.py")
        (result,) = session.lines[-1]["message"]["content"]
        result |= {"content": printed, "is_error": True}
        writes(session, 100, 2, "src/a.py")
        mark = history.commit(200, "Add it", files={"src/a.py": TEXT})
        session.commits(200, 4, mark, "Add it")
        history.commit(30 * DAY, "Later")
        (unit,) = units(history, da_score)
        assert unit["lines_written"] == 8

    def test_what_was_written_is_known(self) -> None:
        files = PathTexts()
        lines = lines_added(TEXT)
        for hashes in (lines, ()):
            changes = files.changes({"/a.py": lines}, "", whole=True)
            assert [change.hashes for change in changes] == [hashes]


@cases(
    "between, runs",
    {
        "the next call": ("", None),
        "after an edit, which goes on with other work": ("edit", True),
        "after it came back": ("git stash pop", True),
        "after a look at the list": ("git stash list", None),
    },
)
def test_a_run_in_a_stash_of_an_earlier_call_is_no_verdict(
    history: History, da_score: DaScore, between: str, runs: bool | None
) -> None:
    session = history.session("s1")
    writes(session, 100, 1, "src/a.py")
    session.run(
        110, 2, "git stash", "Saved working directory and index state WIP on main"
    )
    if between == "edit":
        session.edit(120, 4, "src/a.py")
    elif between:
        session.run(120, 4, between, "")
    session.run(130, 8, "pytest -q", "3 passed in 0.1s")
    mark = history.commit(200, "Add it", files={"src/a.py": TEXT})
    session.commits(200, 16, mark, "Add it")
    history.entry(mark, "Add it", "s1")
    (row,) = da_score(
        "query", "from iterations", "--json", "--rubric", "3.1.0", *places(history)
    ).json
    assert row["tests_passed_last"] is runs or row["tests_passed_last"] == runs


@pytest.mark.parametrize("is_shown", [True, False])
def test_a_commit_of_a_folder_that_is_gone_is_none_here_that_another_session_shows(
    history: History, da_score: DaScore, is_shown: bool
) -> None:
    """Sessions that work side by side in two repositories may give two commits one subject."""
    session = history.session("s1")
    writes(session, 100, 1, "src/a.py")
    mark = history.commit(200, "Add it", files={"src/a.py": TEXT})
    if is_shown:
        session.commits(200, 2, mark, "Add it")
    other = history.session("s2", "/work/gone")
    other.edit(150, 4, "b.py")
    other.run(200, 8, "git commit -am 'Add it'", "[main aaaaaaa] Add it\n 1 file")
    history.commit(30 * DAY, "Later")
    outputs = [unit["tokens"]["output"] for unit in units(history, da_score)]
    assert any(output >= 4 + 8 for output in outputs) is not is_shown
