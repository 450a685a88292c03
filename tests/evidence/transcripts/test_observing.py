"""Each kind of event that readers note, and what looks like it and is none."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from helpers.harness_lines import (
    Line,
    as_bytes,
    cases,
    claude,
    codex,
    item,
    meta,
    output,
    response,
    result,
    turn,
    use,
)
from helpers.sessions import keys_of_lines, without_span
from helpers.timing import is_linear

from scoring.evidence.commands.objective_flags import CallFlag
from scoring.evidence.commands.testruns import TestTools as Tools
from scoring.evidence.harnesses.codex_counts import CountedTurn
from scoring.evidence.harnesses.lines import Lines
from scoring.evidence.harnesses.readers import HARNESSES
from scoring.evidence.transcripts.events import (
    Call,
    CallResult,
    CommitMade,
    Edit,
    ProgramRun,
    Prompt,
    Response,
    TestRun,
    UserBreak,
    WorkReset,
    key_of,
)
from scoring.evidence.transcripts.transcript_events import (
    TranscriptEvents,
    decode_events,
    encode_events,
)

PASSED = "============ 10 passed in 0.12s ============"
FAILED = "======= 3 failed, 10 passed in 0.12s ======="
MADE_ONE = "[main 1a2b3c4d5e6f7a8b] Say hello\n 1 file changed"
REFUSAL = "The user doesn't want to proceed with this tool use."
BY_RULE = "Permission to use Bash has been denied."
OF_A_SUB_AGENT = "Permission for this tool use was denied. The tool use was rejected."
STOPPED = "[Request interrupted by user]"


def seen(
    *lines: Line | bytes, harness: str = "claude", blocks: int = 1
) -> TranscriptEvents:
    """Read lines with readers that observe, in one or more blocks."""
    reader = Lines(HARNESSES, Tools())
    for first in range(0, len(lines), -(-len(lines) // blocks)):
        of_block = lines[first : first + -(-len(lines) // blocks)]
        reader.block(as_bytes(of_block).splitlines())
    return reader.events()[harness]


def paths(events: TranscriptEvents) -> list[tuple[int, str, bool]]:
    """The line, the path and whether a tool wrote it, of each edit."""
    return [
        (edit.line, events.texts[edit.path], edit.by_tool) for edit in events.of(Edit)
    ]


def agent(*content: Line, name: str = "msg_1", **keys: Any) -> Line:
    return claude(1, *content, message={"id": name}, **keys)


def user(*content: Line, **keys: Any) -> Line:
    return claude(2, *content, kind="user", **keys)


def text(words: str) -> Line:
    return {"type": "text", "text": words}


def bash(
    command: str, printed: Any = "", name: str = "toolu_1", **ended: Any
) -> list[Line]:
    """A command and its result."""
    return [
        agent(use("Bash", name, command=command)),
        user(result(name, content=printed, **ended)),
    ]


def refused(
    tool: str, name: str = "toolu_1", response_id: str = "msg_1", **given: Any
) -> list[Line]:
    called = agent(use(tool, name, **given), name=response_id)
    return [called, user(result(name, content=REFUSAL, is_error=True))]


class TestLines:
    def test_are_known_by_their_number_time_and_id(self) -> None:
        events = seen(agent(uuid="a"), agent(uuid="b"))
        assert [line.number for line in events.lines] == events.covers[0] == [0, 1]
        assert len(set(keys_of_lines(events))) == 2
        assert (
            seen(agent(uuid="a", cwd="/elsewhere")).lines[0].key == events.lines[0].key
        )

    @pytest.mark.parametrize(
        "uuid", [None, "", 5, {}], ids=["none", "empty", "a-number", "an-object"]
    )
    def test_without_an_id_are_known_by_their_bytes(self, uuid: Any) -> None:
        one, other = agent(uuid=uuid), agent(uuid=uuid, cwd="/elsewhere")
        assert keys_of_lines(seen(one)) == keys_of_lines(seen(one))
        assert keys_of_lines(seen(one)) != keys_of_lines(seen(other))

    @pytest.mark.parametrize(
        "odd",
        [
            b"",
            b"   ",
            b"{half",
            b'{"message": 5}',
            b'{"type": "summary"}',
            b'{"type": "summary"}{"type": "summary"}',
        ],
    )
    def test_have_the_number_they_have_in_the_file(self, odd: bytes) -> None:
        assert [
            line.number for line in seen(agent(uuid="a"), odd, agent(uuid="b")).lines
        ] == [0, 2]

    def test_of_several_blocks_go_on_counting(self) -> None:
        lines = [agent(uuid=str(n)) for n in range(9)]
        assert seen(*lines, blocks=4).lines == seen(*lines).lines

    @pytest.mark.parametrize(
        ("first", "second", "opens"),
        [
            ({}, {}, False),
            ({}, {"parentUuid": None}, True),
            ({"parentUuid": "x"}, {"parentUuid": None}, False),
        ],
    )
    def test_say_whether_the_session_begins_here(
        self, first: Line, second: Line, opens: bool
    ) -> None:
        assert (
            seen({"type": "summary"}, agent() | first, agent() | second).begins_session
            is opens
        )

    def test_count_as_much_as_where_nothing_is_observed(self) -> None:
        lines = [response(n, f"msg_{n % 3}", output=n) for n in range(9)]
        plain = Lines(HARNESSES)
        plain.block(as_bytes(lines).splitlines())
        mine = without_span(seen(*lines), Response)
        other = without_span(plain.events()["claude"], Response)
        # Where lines are observed, a response is in its last line.
        assert [values[1:] for values in mine[2:]] == [
            values[1:] for values in other[2:]
        ]

    def test_are_kept_by_the_index_as_they_are(self) -> None:
        events = seen(*bash("pytest -q > out.txt", PASSED), user(text(STOPPED)))
        kept = decode_events(encode_events({"claude": events}))["claude"]
        assert kept.kinds() == events.kinds()
        assert [kept.of(kind) for kind in kept.kinds()] == [
            events.of(kind) for kind in events.kinds()
        ]
        assert (kept.spans, kept.covers, kept.lines) == (
            events.spans,
            events.covers,
            events.lines,
        )
        assert (kept.texts, kept.skipped) == (events.texts, events.skipped)


class TestRuns:
    @cases(
        "printed, ended, expected",
        {
            "passed": (PASSED, {}, (True, 10, 0)),
            "failed": (FAILED, {"is_error": True}, (False, 10, 3)),
            "text in a list": ([text(FAILED)], {}, (False, 10, 3)),
            "by its status": ("Killed", {"is_error": True}, (False, None, None)),
            "not ended yet": (
                "Command running in background with ID: b1",
                {},
                (None, None, None),
            ),
            "not ended in time": (
                "Command did not complete within its 120s timeout and was moved to the "
                "background (ID: b1). Output is being written to: /tmp/b1.output",
                {},
                (None, None, None),
            ),
            "not ended, with output": (
                f"{'.' * 2_000}\nCommand was manually backgrounded by user with ID: b1",
                {},
                (None, None, None),
            ),
            "ended, of a background": (
                "Command ID: in the background",
                {},
                (True, None, None),
            ),
        },
    )
    def test_has_the_verdict_of_its_result(
        self, printed: Any, ended: Line, expected: tuple[Any, ...]
    ) -> None:
        events = seen(*bash("cd app && pytest -q", printed, **ended))
        (run,) = events.of(TestRun)
        assert (run.called_at, run.line, run.call, run.ended) == (
            0,
            1,
            key_of("toolu_1"),
            True,
        )
        assert run.command is not None
        assert events.texts[run.command] == "pytest -q"
        assert (run.passed, run.passed_tests, run.failed_tests) == expected

    @cases(
        "tool, named, shown, expected",
        {
            "failed": (
                "BashOutput",
                {"bash_id": "b1"},
                [
                    f"<status>failed</status>\n<exit_code>1</exit_code>\n<stdout>\n{FAILED}"
                ],
                False,
            ),
            "passed, of a task": (
                "TaskOutput",
                {"task_id": "b1"},
                [
                    f"<status>completed</status>\n<exit_code>0</exit_code>\n<output>\n{PASSED}"
                ],
                True,
            ),
            "failed, and ended well": (
                "BashOutput",
                {"bash_id": "b1"},
                [
                    f"<status>running</status>\n<stdout>\n{FAILED}",
                    "<status>completed</status>\n<exit_code>0</exit_code>",
                ],
                False,
            ),
            "not ended": (
                "BashOutput",
                {"bash_id": "b1"},
                ["<status>running</status>\n<stdout>\n<exit_code>0</exit_code>"],
                None,
            ),
            "passed, and more may follow": (
                "BashOutput",
                {"bash_id": "b1"},
                [
                    f"<status>running</status>\n<stdout>\n{PASSED}",
                    f"<status>killed</status>\n<stdout>\n{PASSED}",
                ],
                None,
            ),
            "only some of its lines": (
                "BashOutput",
                {"bash_id": "b1", "filter": "passed"},
                [
                    f"<status>failed</status>\n<exit_code>1</exit_code>\n<stdout>\n{PASSED}"
                ],
                False,
            ),
            "all of its lines": (
                "BashOutput",
                {"bash_id": "b1", "filter": ""},
                [
                    f"<status>failed</status>\n<exit_code>1</exit_code>\n<stdout>\n{PASSED}"
                ],
                True,
            ),
            "another shell": (
                "BashOutput",
                {"bash_id": "b2"},
                [
                    f"<status>failed</status>\n<exit_code>1</exit_code>\n<stdout>\n{FAILED}"
                ],
                None,
            ),
        },
    )
    def test_in_the_background_has_the_verdict_that_is_shown_later(
        self, tool: str, named: Line, shown: list[str], expected: bool | None
    ) -> None:
        lines = bash("pytest -q", "Command running in background with ID: b1")
        for number, text_shown in enumerate(shown):
            call = f"shows{number}"
            lines.append(agent(use(tool, call, **named)))
            lines.append(user(result(call, content=text_shown)))
        (run,) = seen(*lines).of(TestRun)
        assert run.passed is expected
        assert run.called_at == 0

    @cases(
        "status, summary, expected",
        {
            "passed": ("completed", "completed (exit code 0)", True),
            "failed": ("failed", "failed with exit code 1", False),
            "was stopped": ("killed", "was stopped", None),
            "named by the agent": (
                "failed",
                "<status>completed</status> (exit code 0)</summary>",
                False,
            ),
        },
    )
    @pytest.mark.parametrize("shell, known", [("b1", True), ("b2", False)])
    @pytest.mark.parametrize("is_queued", [False, True])
    def test_in_the_background_has_the_verdict_that_the_harness_says(
        self,
        status: str,
        summary: str,
        expected: bool | None,
        shell: str,
        known: bool,
        is_queued: bool,
    ) -> None:
        said = self.notification(shell, status, summary)
        attachment = {
            "type": "queued_command",
            "prompt": said,
            "commandMode": "task-notification",
        }
        line = (
            claude(2, kind="attachment", attachment=attachment)
            if is_queued
            else user(text(said))
        )
        lines = bash("pytest -q", "Command running in background with ID: b1")
        (run,) = seen(*lines, line).of(TestRun)
        assert run.passed is (expected if known else None)

    @pytest.mark.parametrize("before", ["", "As I said: "])
    def test_in_the_background_has_a_verdict_only_of_a_notification(
        self, before: str
    ) -> None:
        said = self.notification("b2", "completed", "")
        said += self.notification("b1", "failed", "")
        lines = bash("pytest -q", "Command running in background with ID: b1")
        (run,) = seen(*lines, user(text(before + said))).of(TestRun)
        assert run.passed is (None if before else False)

    def test_in_the_background_keeps_the_number_of_tests_that_was_shown(self) -> None:
        shown = f"<exit_code>0</exit_code>\n<output>\n{PASSED}"
        lines = bash("pytest -q", "Command running in background with ID: b1")
        lines.append(agent(use("TaskOutput", "shows", task_id="b1")))
        lines.append(user(result("shows", content=shown)))
        (before,) = seen(*lines).of(TestRun)
        said = self.notification("b1", "completed", "")
        (run,) = seen(*lines, user(text(said))).of(TestRun)
        assert run == before
        assert run.passed_tests

    def notification(self, shell: str, status: str, summary: str) -> str:
        """What Claude Code says of a command in the background that has ended."""
        return (
            f"<task-notification>\n<task-id>{shell}</task-id>\n"
            "<tool-use-id>toolu_1</tool-use-id>\n<output-file>/tmp/x</output-file>\n"
            f"<status>{status}</status>\n<summary>Background command {summary}</summary>\n"
            "</task-notification>\n"
        )

    @cases(
        "lines",
        {
            "in a message": bash("git commit -m 'run pytest'", FAILED),
            "in a search": bash("grep -rn pytest .", FAILED),
            "an install": bash("pip install pytest", FAILED),
            "text that another tool shows": [
                agent(use("Read", file_path="/a")),
                user(result(content=FAILED)),
            ],
            "a result alone that says nothing": [
                user(result(content="3 files changed"))
            ],
            "refused": refused("Bash", command="pytest"),
            "denied": bash(
                "pytest", "Permission to use Bash has been denied.", is_error=True
            ),
            "of a folder that is not there": bash(
                "cd x && pytest", "bash: cd: x: No such file", is_error=True
            ),
            "of other code": bash("cd /tmp/clone && pytest", FAILED),
            "of other code, and it never ended": bash(
                "cd /work/other && pytest", FAILED
            )[:1],
        },
    )
    def test_is_none_where_no_tests_ran(self, lines: Sequence[Line]) -> None:
        assert seen(*lines).of(TestRun) == []

    def test_whose_result_is_in_another_file_is_joined_by_its_key(self) -> None:
        call, ended = bash("pytest", FAILED, is_error=True)
        (begun,) = seen(call).of(TestRun)
        assert (begun.line, begun.call, begun.ended) == (0, key_of("toolu_1"), False)
        assert (begun.passed, begun.called_at) == (None, 0)
        (run,) = seen(ended).of(TestRun)
        assert (run.line, run.call, run.ended) == (0, begun.call, True)
        assert (run.command, run.passed, run.called_at) == (None, False, None)

    def test_in_a_work_tree_that_the_session_adds_is_one(self) -> None:
        added = bash("git worktree add -b x ../wt main", name="toolu_0")
        assert len(seen(*added, *bash("cd ../wt && pytest", PASSED)).of(TestRun)) == 1
        assert seen(*bash("cd ../wt && pytest", PASSED)).of(TestRun) == []

    def test_in_powershell_is_one(self) -> None:
        use = {"type": "tool_use", "id": "p", "name": "PowerShell"}
        given = {"command": "cd C:\\work\\app; pytest -q 2>&1"}
        events = seen(
            agent(use | {"input": given}),
            user(
                {"type": "tool_result", "tool_use_id": "p", "content": "1 passed in 1s"}
            ),
        )
        assert [run.passed for run in events.of(TestRun)] == [True]

    def test_in_a_folder_that_no_word_names_has_no_verdict(self) -> None:
        (run,) = seen(*bash('cd "$DIR" && pytest', FAILED)).of(TestRun)
        assert (run.passed, run.passed_tests, run.failed_tests) == (None, None, None)

    def test_that_is_written_again_counts_once(self) -> None:
        assert (
            len(seen(*bash("pytest", PASSED), *bash("pytest", PASSED)).of(TestRun)) == 1
        )


class TestMade:
    @pytest.mark.parametrize(
        "command",
        [
            "git commit -m x",
            "git -C src cherry-pick abc",
            "cd a && git commit --no-edit",
            "git revert --no-edit x",
        ],
    )
    @pytest.mark.parametrize(
        "elsewhere", ["", "cd /tmp/scratch && ", "cd ../other && "]
    )
    def test_is_a_line_that_git_printed(self, command: str, elsewhere: str) -> None:
        events = seen(*bash(elsewhere + command, MADE_ONE))
        (made,) = events.of(CommitMade)
        assert (made.line, made.call, made.called_at) == (1, key_of("toolu_1"), 0)
        assert (made.sha, made.subject) == ("1a2b3c4d5e6f7a8", key_of("Say hello"))
        assert (made.amends, made.other_repository) == (False, bool(elsewhere))

    @cases(
        "command, amend",
        {
            "one": ("git commit --amend -m x", [1]),
            "the second of two": ("git commit -m x; git commit --amend -m y", [0, 1]),
            "which of three is not known": (
                "git commit -m x; git commit --amend -m y; git commit -m z",
                [0, 0],
            ),
            "none": ("git commit -m --amended", [0]),
        },
    )
    def test_amends_where_the_command_of_its_line_does(
        self, command: str, amend: list[int]
    ) -> None:
        commits = seen(*bash(command, f"{MADE_ONE}\n{MADE_ONE}")).of(CommitMade)
        assert [made.amends for made in commits] == amend

    @cases(
        "lines, amends",
        {
            "after a soft reset": (bash("git reset --soft HEAD~1"), True),
            "after one that keeps the files": (bash("git reset HEAD^"), True),
            "in the same line": (bash("git reset --soft HEAD~1 && ls"), True),
            "after a hard reset": (bash("git reset --hard HEAD~1"), False),
            "of the index": (bash("git reset HEAD a.py"), False),
            "of more than one": (bash("git reset --soft HEAD~2"), False),
            "that failed": (
                bash("git reset --soft HEAD~1", "fatal", is_error=True),
                False,
            ),
            "with a commit since": (
                [
                    *bash("git reset --soft HEAD~1"),
                    *bash("git commit -m w", name="toolu_0"),
                ],
                False,
            ),
        },
    )
    def test_amends_the_one_that_was_taken_back(
        self, lines: list[Line], amends: bool
    ) -> None:
        events = seen(*lines, *bash("git commit -m x", MADE_ONE, name="toolu_2"))
        assert events.of(CommitMade)[-1].amends is amends

    LOG = "1a2b3c4 Say hello\n5a6b7c8 Before"
    PUSHED = "To github.com:a/b\n   5a6b7c8..1a2b3c4  dev -> dev\n"
    FORCED = " + 5a6b7c8...1a2b3c4 dev -> dev (forced update)"

    @cases(
        "lines, shown",
        {
            "in the same line": (
                bash("git commit -qm x; git log --oneline -2", LOG),
                ("1a2b3c4", "5a6b7c8"),
            ),
            "after a hook": (
                bash("git commit -qm x; git rev-parse HEAD", "ok\n1a2b3c4"),
                ("1a2b3c4",),
            ),
            "with a colon": (
                bash("git commit -qm x; ./check", "1a2b3c4: ok"),
                ("1a2b3c4",),
            ),
            "in the next": (
                [*bash("git commit -qm x"), *bash("git log -2", LOG, name="toolu_2")],
                ("1a2b3c4", "5a6b7c8"),
            ),
            "of a merge": (
                bash("git merge -q main; git log --oneline -2", LOG),
                ("1a2b3c4", "5a6b7c8"),
            ),
            "by a push": (
                bash("git commit -qm x; git push", PUSHED),
                ("1a2b3c4",),
            ),
            "by a push with force, in the next": (
                [*bash("git commit -qm x"), *bash("git push -f", FORCED, name="t2")],
                ("1a2b3c4",),
            ),
            "later": (
                [
                    *bash("git commit -qm x"),
                    *bash("ls", name="toolu_2"),
                    *bash("git log -2", LOG, name="toolu_3"),
                ],
                (),
            ),
            "by another program": (
                [*bash("git commit -qm x"), *bash("cat log", LOG, name="t2")],
                (),
            ),
            "in a text": (
                bash("git commit -qm x; git log -1", "see 1a2b3c4 for it"),
                (),
            ),
        },
    )
    def test_without_a_sha_has_those_that_are_shown(
        self, lines: list[Line], shown: tuple[str, ...]
    ) -> None:
        (made,) = seen(*lines).of(CommitMade)
        assert (made.sha, made.shown) == ("", shown)

    @pytest.mark.parametrize(
        ("folder", "expected"),
        [
            ("~/app", "/home/me/app"),
            ("~you/app", "/home/me/work/~you/app"),
            ("../app", "/home/me/app"),
            ("/srv/app", "/srv/app"),
        ],
    )
    def test_has_the_folder_in_which_git_ran(self, folder: str, expected: str) -> None:
        lines = bash(f"cd {folder} && git commit -m x", MADE_ONE)
        events = seen(*[line | {"cwd": "/home/me/work"} for line in lines])
        (made,) = events.of(CommitMade)
        assert made.folder is not None
        assert events.texts[made.folder] == expected

    @pytest.mark.parametrize(
        "tool", ["mcp__git__git_commit", "mcp__gitCommit", "git_commit"]
    )
    def test_by_a_tool_has_what_it_shows(self, tool: str) -> None:
        call = agent(use(tool, repo_path="/work/app", message="x"))
        ended = user(
            result(content="Changes committed successfully with hash 1a2b3c4d5e")
        )
        (made,) = seen(call, ended).of(CommitMade)
        assert (made.sha, made.shown, made.other_repository) == (
            "",
            ("1a2b3c4d5e",),
            False,
        )

    @pytest.mark.parametrize(
        "tool", ["mcp__git__git_log", "mcp__git__git_commit_message", "Read"]
    )
    def test_is_none_of_another_tool(self, tool: str) -> None:
        call = agent(use(tool, repo_path="/work/app"))
        assert seen(call, user(result(content="1a2b3c4d5e"))).of(CommitMade) == []

    def test_of_a_folder_that_no_word_names_is_elsewhere_where_it_is_the_first_of_a_repository(
        self,
    ) -> None:
        printed = f"{MADE_ONE}\n{MADE_ONE.replace('main', 'main (root-commit)')}"
        events = seen(
            *bash(
                "cd $(mktemp -d) && git init && git commit -m x && git commit -m x",
                printed,
            )
        )
        assert [made.other_repository for made in events.of(CommitMade)] == [0, 1]

    @pytest.mark.parametrize("command", ["cat notes.md", "git log -1", "echo commit"])
    def test_is_no_such_line_in_another_output(self, command: str) -> None:
        assert seen(*bash(command, MADE_ONE)).of(CommitMade) == []
        assert (
            seen(*bash("git commit -F m.txt", "nothing", is_error=True)).of(CommitMade)
            == []
        )

    @cases(
        "command, elsewhere",
        {
            "a clone for a trial": ("cd /tmp/trial && git init && git commit -m x", 1),
            "another repository": ("git -C ../other commit -m x", 1),
            "a folder of the session": ("cd app && git commit -m x", 0),
            "no word names the folder": ('cd "$DIR" && git commit -m x', 0),
            "one here, one there": (
                "git commit -m x && cd /tmp/trial && git commit -m y",
                0,
            ),
            "a work tree that the line adds": (
                "git worktree add ../wt && cd ../wt && git commit -m x",
                0,
            ),
        },
    )
    def test_is_elsewhere_in_no_folder_of_the_session(
        self, command: str, elsewhere: int
    ) -> None:
        (made,) = seen(*bash(command, MADE_ONE)).of(CommitMade)
        assert made.other_repository == elsewhere

    def test_whose_result_is_in_another_file_is_joined_by_its_key(self) -> None:
        call, ended = bash("git commit -m x", MADE_ONE)
        (begun,) = seen(call).of(CommitMade)
        assert (begun.line, begun.call, begun.called_at) == (0, key_of("toolu_1"), 0)
        assert (begun.sha, begun.amends, begun.other_repository) == ("", 0, 0)
        (made,) = seen(ended).of(CommitMade)
        assert (made.line, made.call, made.called_at) == (0, begun.call, None)
        assert made.sha

    @cases(
        "command, folder, elsewhere",
        {
            "another repository": ("git -C ../other commit -m x", "/work/other", 1),
            "a folder of the session": (
                "cd sub && git commit -m x",
                "/work/app/sub",
                0,
            ),
            "no word names the folder": ('cd "$DIR" && git commit -m x', None, 0),
        },
    )
    def test_without_a_result_says_where(
        self, command: str, folder: str | None, elsewhere: int
    ) -> None:
        events = seen(bash(command, MADE_ONE)[0])
        (begun,) = events.of(CommitMade)
        assert begun.other_repository == elsewhere
        named = None if begun.folder is None else events.texts[begun.folder]
        assert named == folder


class TestEdit:
    @pytest.mark.parametrize(
        ("tool", "given"),
        [
            ("Edit", {"file_path": "/work/app/a.py", "old_string": "x"}),
            ("Write", {"file_path": "/work/app/a.py"}),
            ("MultiEdit", {"file_path": "a.py"}),
            ("NotebookEdit", {"notebook_path": "/work/app/b/../a.py"}),
        ],
    )
    def test_is_a_file_that_an_edit_tool_writes(self, tool: str, given: Line) -> None:
        events = seen(agent(use(tool, **given)), user(result()))
        assert paths(events) == [(1, "/work/app/a.py", True)]

    @pytest.mark.parametrize(
        "lines",
        [
            pytest.param(
                [agent(use("Read", file_path="/a")), user(result())], id="read"
            ),
            pytest.param(
                [agent(use("Edit", file_path="/a")), user(result(is_error=True))],
                id="failed",
            ),
            pytest.param(refused("Edit", file_path="/a"), id="refused"),
            pytest.param(
                refused("Edit", file_path="/a")[::-1], id="refused-in-a-line-before-it"
            ),
            pytest.param(
                [user(result(is_error=True)), agent(use("Edit", file_path="/a"))],
                id="failed-in-a-line-before",
            ),
            pytest.param([agent(use("Edit", file_path=5))], id="no-path"),
            pytest.param(
                [agent(use("Edit", file_path="/" + "a" * 5000))],
                id="a-path-without-end",
            ),
            pytest.param(bash("cat a.py"), id="shown"),
            pytest.param(bash("echo 'a > b'"), id="quoted"),
            pytest.param(
                bash("echo > a.py", is_error=True), id="a-redirection-that-failed"
            ),
        ],
    )
    def test_is_none_where_nothing_is_written(self, lines: Sequence[Line]) -> None:
        assert paths(seen(*lines)) == []

    @pytest.mark.parametrize(
        ("command", "path"),
        [
            ("echo x > a.py", "/work/app/a.py"),
            ("cd src && echo x >> ../a.py", "/work/app/a.py"),
            ("echo x | tee /a.py", "/a.py"),
            ("cd $HERE && echo x > a.py", "/work/app/a.py"),
        ],
    )
    def test_is_a_file_that_a_redirection_writes(self, command: str, path: str) -> None:
        assert paths(seen(*bash(command))) == [(1, path, False)]

    def test_whose_result_is_in_another_file_is_where_it_was_called(self) -> None:
        called = agent(use("Edit", file_path="/a"))
        assert paths(seen(called)) == [(0, "/a", True)]
        assert paths(
            seen(user(result()), user(result("toolu_2", is_error=True)), called)
        ) == [(2, "/a", True)]


class TestBreak:
    @pytest.mark.parametrize(
        "words", [STOPPED, "[Request interrupted by user for tool use]"]
    )
    def test_is_an_interruption(self, words: str) -> None:
        for line in (user(text(words)), user(message={"content": words})):
            assert without_span(seen(line), UserBreak) == [
                (0, "interruption", 0, False)
            ]

    @cases(
        "line",
        {
            "mentioned": user(text(f"Why do you write {STOPPED}?")),
            "said by the agent": agent(text(STOPPED)),
            "an output": user(result(content=STOPPED, is_error=True)),
            "another field": user(text("[Request"), message={"summary": STOPPED}),
            "not at the beginning": user(message={"content": f" {STOPPED}"}),
        },
    )
    def test_is_none_where_it_is_only_said(self, line: Line) -> None:
        assert seen(line).of(UserBreak) == []

    def test_is_a_refusal_with_the_response_that_was_refused(self) -> None:
        events = seen(
            *refused("Bash", command="ls"),
            *refused("Edit", "toolu_2", "msg_2", file_path="/a"),
        )
        assert without_span(events, UserBreak) == [
            (1, "refusal", key_of("msg_1"), False),
            (3, "refusal", key_of("msg_2"), False),
        ]

    def test_leaves_no_call_and_no_verdict_of_what_was_refused(self) -> None:
        events = seen(
            *refused("Bash", command="mypy > a"), *bash("mypy", name="toolu_2")
        )
        (call,) = events.of(Call)
        (ended,) = events.of(CallResult)
        assert (call.id, ended.id, call.shows) == (
            key_of("toolu_2"),
            key_of("toolu_2"),
            CallFlag.SHELL,
        )
        assert {program.line for program in events.of(ProgramRun)} == {2}

    @pytest.mark.parametrize("tool", ["ExitPlanMode", "AskUserQuestion"])
    def test_is_no_question_that_was_declined_nor_the_interruption_with_it(
        self, tool: str
    ) -> None:
        events = seen(*refused(tool), user(text(STOPPED)))
        assert events.of(UserBreak) == []
        assert not events.of(Call)
        later = seen(*refused(tool), agent(text("Well.")), user(text(STOPPED)))
        assert without_span(later, UserBreak) == [(3, "interruption", 0, False)]

    @pytest.mark.parametrize(
        ("content", "failed"),
        [
            (REFUSAL, False),
            (f"It says: {REFUSAL}", True),
            ("", True),
            ([{"type": "image"}], True),
            (BY_RULE, True),
        ],
    )
    def test_is_no_other_error(self, content: Any, failed: bool) -> None:
        events = seen(*bash("ls", content, is_error=failed))
        assert events.of(UserBreak) == []
        assert [ended.failed for ended in events.of(CallResult)] == [failed]

    def test_of_a_call_in_another_file_names_no_response(self) -> None:
        assert without_span(seen(refused("Bash")[1]), UserBreak) == [
            (0, "refusal", 0, False)
        ]

    @pytest.mark.parametrize(
        ("reason", "breaks"),
        [
            ("what does lint say now?", 0),
            ("no, that is wrong", 1),
            ("use the other file", 1),
        ],
        ids=["a-question", "a-no", "an-instruction"],
    )
    def test_is_a_refusal_that_says_no(self, reason: str, breaks: int) -> None:
        to_it = (
            f"{REFUSAL} The tool use was rejected. "
            f"To tell you how to proceed, the user said:\n{reason}"
        )
        for said, count in (
            (to_it, breaks),
            (f"{OF_A_SUB_AGENT} The user said:\n{reason}", breaks),
            (f"{OF_A_SUB_AGENT} Try a different approach.", 0),
        ):
            events = seen(
                agent(use("Bash", command="pytest")),
                user(result(content=said, is_error=True)),
            )
            assert len(events.of(UserBreak)) == count
            assert not {Call, TestRun} & set(events.kinds())


class TestPrompt:
    WRONG = "No, that is wrong"

    @cases(
        "words, what",
        {
            "a correction": (WRONG, ["wrong"]),
            "a report": ("error: the mast is gone", ["report"]),
            "another language": ("Das ist nicht richtig", ["foreign"]),
            "any other": ("Go on", []),
        },
    )
    def test_is_noted_where_it_says_something(
        self, words: str, what: list[int]
    ) -> None:
        for line in (user(text(words)), user(message={"content": words})):
            events = seen(*bash("ls"), line)
            assert [row[:2] for row in without_span(events, Prompt)] == [
                (2, kind) for kind in what
            ]
            assert words.encode() not in encode_events({"claude": events})

    def test_says_nothing_of_work_where_there_was_none(self) -> None:
        assert seen(user(text(self.WRONG)), *bash("ls")).of(Prompt) == []
        compacted, wrong = (
            claude(1, kind="system", subtype="compact_boundary"),
            user(text(self.WRONG)),
        )
        assert seen(compacted, user(text(self.WRONG), parentUuid="x")).of(Prompt) == []
        assert [
            (p.line, p.kind) for p in seen(*bash("ls"), wrong, wrong).of(Prompt)
        ] == [
            (2, "wrong"),
            (3, "wrong"),
        ]

    @pytest.mark.parametrize(
        ("prompts", "noted"), [(3, [4]), (4, [])], ids=["up to three", "more"]
    )
    def test_is_about_an_idea_where_nothing_was_done_for_some_prompts(
        self, prompts: int, noted: list[int]
    ) -> None:
        said = [user(text(f"And what of boat {n}?")) for n in range(prompts - 1)]
        events = seen(*bash("ls"), *said, user(text(self.WRONG)))
        assert [prompt.line for prompt in events.of(Prompt)] == noted

    @cases(
        "line, noted",
        {
            "by the user": (
                user(text(WRONG), isMeta=False, isCompactSummary=False),
                True,
            ),
            "beside a result": (user(result("toolu_2"), text(WRONG)), True),
            "while the agent works": (
                {
                    "type": "queued_command",
                    "prompt": [text(WRONG)],
                    "commandMode": "prompt",
                },
                True,
            ),
            "of another kind": (
                {
                    "type": "queued_command",
                    "prompt": WRONG,
                    "commandMode": "task-notification",
                },
                False,
            ),
            "another attachment": (
                {"type": "todo", "prompt": WRONG, "commandMode": "prompt"},
                False,
            ),
            "by the harness": (user(text(WRONG), isMeta=True), False),
            "a summary": (user(text(WRONG), isCompactSummary=True), False),
            "to a sub-agent": (user(text(WRONG), isSidechain=True), False),
            "a result": (user(result("toolu_2", content=WRONG)), False),
            "by the agent": (agent(text(WRONG)), False),
        },
    )
    def test_is_one_of_a_person(self, line: Line, noted: bool) -> None:
        if "timestamp" not in line:
            line = claude(2, kind="attachment", attachment=line)
        assert [prompt.line for prompt in seen(*bash("ls"), line).of(Prompt)] == [
            2
        ] * noted

    @pytest.mark.parametrize("odd", [5, None, "true", {}], ids=str)
    def test_of_an_odd_line_is_read_like_any_other(self, odd: Any) -> None:
        events = seen(*bash("ls"), user(text(self.WRONG), isMeta=odd))
        assert [row[:2] for row in without_span(events, Prompt)] == [(2, "wrong")]
        assert events.skipped == {}


class TestReset:
    @pytest.mark.parametrize(
        ("command", "how", "path"),
        [
            ("git reset --hard HEAD~1", "hard", None),
            ("cd src && git restore a.py", "paths", "/work/app/src/a.py"),
            ("git revert --no-edit HEAD", "revert", None),
            ("git commit --amend --no-edit", "amend", None),
        ],
    )
    def test_is_work_taken_back(self, command: str, how: str, path: str | None) -> None:
        events = seen(*bash(command))
        (reset,) = events.of(WorkReset)
        named = None if reset.path is None else events.texts[reset.path]
        assert (reset.line, reset.kind, named) == (0, how, path)

    @cases(
        "lines",
        {
            "of the index": bash("git reset HEAD a.py"),
            "failed": bash("git reset --hard nowhere", "fatal", is_error=True),
            "refused": refused("Bash", command="git reset --hard"),
        },
    )
    def test_is_none_where_nothing_is_taken_back(self, lines: Sequence[Line]) -> None:
        assert seen(*lines).of(WorkReset) == []


class TestWindows:
    @pytest.mark.parametrize(
        ("cwd", "path", "written"),
        [
            ("/work/app", "src\\app.py", "/work/app/src/app.py"),
            ("C:\\work\\app", "src\\app.py", "C:/work/app/src/app.py"),
            ("C:\\work\\app", "C:\\work\\app\\a.py", "C:/work/app/a.py"),
            ("/work/app", "d:/other/a.py", "d:/other/a.py"),
            ("/work/app", "odd/na\\me.py", "/work/app/odd/na\\me.py"),
        ],
    )
    def test_paths_have_slashes(self, cwd: str, path: str, written: str) -> None:
        call = agent(use("Write", file_path=path, content="x"), cwd=cwd)
        assert paths(seen(call)) == [(0, written, True)]


class TestWord:
    @pytest.mark.parametrize(
        ("command", "names"),
        [
            ("scripts/check.sh --fast out/", ["check.sh", "check", "check out/"]),
            ("uv run python3.12 -m mypy src", ["mypy", "mypy src"]),
            ("bash -e tools/smoke.sh", ["smoke.sh", "smoke"]),
            ("npm run lint", ["npm", "npm run", "lint"]),
            ("cargo clippy --all", ["cargo", "cargo clippy"]),
            ("git commit -qm lint", []),
            ("echo lint; cat mypy", []),
            ("X=1 make -C sub lint", ["make", "make sub", "sub", "lint"]),
        ],
    )
    def test_is_a_program_that_ran_and_no_other_word(
        self, command: str, names: list[str]
    ) -> None:
        assert without_span(seen(*bash(command)), ProgramRun) == [
            (0, key_of(name)) for name in names
        ]

    def test_is_one_of_a_bounded_number(self) -> None:
        assert (
            len(seen(*bash("".join(f"x{n}; " for n in range(1000)))).of(ProgramRun))
            == 240
        )


class TestCodex:
    def codex(self, *lines: Line | bytes) -> TranscriptEvents:
        return seen(*lines, harness="codex")

    def shell(
        self, script: str, printed: str = "", name: str = "call_1", **given: Any
    ) -> list[Line]:
        arguments = json.dumps({"command": ["bash", "-lc", script], **given})
        return [
            item(1, "function_call", name, name="shell", arguments=arguments),
            output(2, printed, name),
        ]

    def test_lines_are_known_by_their_bytes_and_open_where_the_first_introduces_the_session(
        self,
    ) -> None:
        events = self.codex(meta(0, "s"), turn(1), turn(1), turn(2))
        assert [line.number for line in events.lines] == [0, 1, 2, 3]
        keys = keys_of_lines(events)
        assert keys[1] == keys[2] != keys[3]
        assert events.begins_session
        assert not self.codex(turn(1), meta(2, "s")).begins_session

    def test_name_the_repository(self) -> None:
        url = "git@example.org:me/app.git"
        assert (
            self.codex(meta(0, "s", git={"repository_url": url})).spans[1].remote == url
        )
        assert self.codex(meta(0, "s", git={"repository_url": 5})).spans[1].remote == ""

    @pytest.mark.parametrize(
        ("printed", "passed"),
        [
            (f"Exit code: 1\nWall time: 1\nOutput:\n{FAILED}", False),
            (f"Exit code: 0\nWall time: 1\nOutput:\n{PASSED}", True),
            (json.dumps({"output": FAILED, "metadata": {"exit_code": 1}}), False),
            ("Exit code: 0\nOutput:\n", True),
            ("Exit code: 7\nOutput:\n", False),
            ("", None),
        ],
    )
    def test_run_has_the_verdict_behind_the_header(
        self, printed: str, passed: bool | None
    ) -> None:
        (run,) = self.codex(*self.shell("pytest", printed)).of(TestRun)
        assert (run.line, run.ended, run.passed) == (1, True, passed)

    @pytest.mark.parametrize(
        ("kind", "given"),
        [
            (
                "function_call",
                {"name": "shell_command", "arguments": '{"command": "pytest"}'},
            ),
            (
                "function_call",
                {"name": "exec_command", "arguments": '{"cmd": "pytest"}'},
            ),
            (
                "function_call",
                {"name": "container.exec", "arguments": '{"command": ["pytest"]}'},
            ),
            ("local_shell_call", {"action": {"command": ["bash", "-lc", "pytest"]}}),
            (
                "custom_tool_call",
                {"name": "exec", "input": 'await tools.exec_command({cmd: "pytest"})'},
            ),
        ],
    )
    def test_run_is_one_of_any_tool(self, kind: str, given: Line) -> None:
        assert (
            len(self.codex(item(1, kind, **given), output(2, PASSED)).of(TestRun)) == 1
        )

    def test_program_completes_whatever_the_tests_in_it_did(self) -> None:
        call = item(
            1, "custom_tool_call", name="exec", input='exec_command({cmd: "pytest"})'
        )
        ended = output(
            2, "Script completed\nOutput:\nKilled", kind="custom_tool_call_output"
        )
        (run,) = self.codex(call, ended).of(TestRun)
        assert run.passed is None

    def test_run_ends_where_its_process_does(self) -> None:
        call = item(
            1, "function_call", name="exec_command", arguments='{"cmd": "pytest"}'
        )
        more = item(
            3,
            "function_call",
            "call_2",
            name="write_stdin",
            arguments='{"session_id": 7}',
        )
        running = output(2, "Process running with session ID 7\nOutput:\ncollecting")
        ended = output(4, f"Process exited with code 1\nOutput:\n{FAILED}", "call_2")
        (run,) = self.codex(call, running, more, ended).of(TestRun)
        assert (run.line, run.call, run.ended) == (3, key_of("call_1"), True)
        assert run.passed is False
        assert not self.codex(call, running).of(TestRun)[0].ended

    @cases(
        "printed, passed",
        {
            "a summary of failed tests": (FAILED, False),
            "of some that passed": (PASSED, None),
            "none": ("collecting", None),
        },
    )
    def test_run_that_never_ended_failed_where_its_output_says_so(
        self, printed: str, passed: bool | None
    ) -> None:
        call = item(
            1, "function_call", name="exec_command", arguments='{"cmd": "pytest"}'
        )
        running = output(2, f"Process running with session ID 7\nOutput:\n{printed}")
        (run,) = self.codex(call, running).of(TestRun)
        assert run.passed is passed

    def test_made_is_a_line_that_git_printed(self) -> None:
        events = self.codex(
            *self.shell("git commit -m x", f"Exit code: 0\nOutput:\n{MADE_ONE}")
        )
        (made,) = events.of(CommitMade)
        assert (made.sha, made.subject) == ("1a2b3c4d5e6f7a8", key_of("Say hello"))
        assert (made.called_at, made.amends, made.other_repository) == (0, False, False)

    def test_edit_is_a_file_of_a_patch(self) -> None:
        patch = (
            "*** Begin Patch\n*** Update File: src/a.py\n@@\n+*** Add File: c\n"
            "*** Add File: b.py\n*** End Patch"
        )
        expected = ["/work/app/src/a.py", "/work/app/b.py"]
        call = item(1, "custom_tool_call", name="apply_patch", input=patch)
        ended = output(2, "Success", kind="custom_tool_call_output")
        assert [
            path for _, path, _ in paths(self.codex(meta(0, "s"), call, ended))
        ] == expected
        script = self.shell(f"apply_patch <<'EOF'\n{patch}\nEOF", workdir="/work/app")
        assert paths(self.codex(*script)) == [(1, path, True) for path in expected]

    def test_edit_is_none_of_a_patch_that_failed(self) -> None:
        call = item(
            1, "custom_tool_call", name="apply_patch", input="*** Update File: a.py"
        )
        failed = codex(
            2, "event_msg", type="patch_apply_end", call_id="call_1", success=False
        )
        assert (
            paths(
                self.codex(
                    call, failed, output(3, "no", kind="custom_tool_call_output")
                )
            )
            == []
        )

    def test_path_is_taken_from_the_folder_of_the_turn(self) -> None:
        events = self.codex(
            meta(0, "s", "/a"), turn(1, cwd="/b"), *self.shell("echo > x")
        )
        assert paths(events)[0][1] == "/b/x"

    @pytest.mark.parametrize(
        ("payload", "breaks"),
        [
            ({"type": "turn_aborted", "reason": "interrupted"}, 1),
            ({"type": "turn_aborted", "reason": ["interrupted"]}, 0),
            ({"type": "turn_aborted"}, 0),
            (
                {
                    "type": "agent_message",
                    "reason": "interrupted",
                    "message": "turn_aborted",
                },
                0,
            ),
        ],
    )
    def test_break_is_an_aborted_turn(self, payload: Line, breaks: int) -> None:
        assert len(self.codex(codex(1, "event_msg", **payload)).of(UserBreak)) == breaks

    @pytest.mark.parametrize(
        "answer", ["exec command rejected by user", "patch rejected by user"]
    )
    def test_break_is_a_refusal(self, answer: str) -> None:
        events = self.codex(*self.shell("ls > a"), *[output(2, answer, "call_2")])
        assert without_span(events, UserBreak) == [(2, "refusal", 0, False)]
        call = item(
            1,
            "custom_tool_call",
            "c",
            name="apply_patch",
            input="*** Update File: a.py",
        )
        ended = codex(
            2, "event_msg", type="patch_apply_end", call_id="c", success=False
        )
        events = self.codex(
            call, ended, output(3, answer, "c", "custom_tool_call_output")
        )
        assert without_span(events, UserBreak) == [(2, "refusal", 0, False)]
        assert events.kinds() == [UserBreak]
        assert not self.codex(*self.shell("ls"), output(2, f"{answer}.", "call_2")).of(
            UserBreak
        )

    @cases(
        "source, kind, noted",
        {
            "of a person": ("cli", "event_msg", True),
            "to a sub-agent": (
                {"subagent": {"thread_spawn": {"parent_thread_id": "p"}}},
                "event_msg",
                False,
            ),
            "to a reviewer": ({"subagent": "review"}, "event_msg", False),
            "as the model gets it": ("cli", "response_item", False),
        },
    )
    def test_prompt(self, source: Any, kind: str, noted: bool) -> None:
        words = "No, that is wrong"
        said: Line = {"type": "user_message", "message": words}
        if kind == "response_item":
            said = {
                "type": "message",
                "role": "user",
                "content": [{"type": "input_text", "text": words}],
            }
        events = self.codex(
            meta(0, "s", source=source), *self.shell("ls"), codex(4, kind, **said)
        )
        assert [row[:2] for row in without_span(events, Prompt)] == [
            (3, "wrong")
        ] * noted

    @pytest.mark.parametrize(
        "arguments", ["{}", "{", "[]", '{"command": 5}', 7, None], ids=str
    )
    def test_odd_call_is_still_a_call(self, arguments: Any) -> None:
        events = self.codex(item(1, "function_call", name="shell", arguments=arguments))
        assert [call.id for call in events.of(Call)] == [key_of("call_1")]
        assert not events.of(TestRun)


class TestFork:
    """A replay is stamped anew: its lines are no copies by their bytes."""

    def original(
        self, events: TranscriptEvents, *parents: TranscriptEvents
    ) -> TranscriptEvents:
        (harness,) = [harness for harness in HARNESSES if harness.name == "codex"]
        return harness.original(events, lambda _: list(parents))

    def work(self, second: float, given: int, name: str) -> list[Line]:
        arguments = json.dumps({"command": "pytest"})
        total = {
            "input_tokens": given,
            "output_tokens": given,
            "total_tokens": 2 * given,
        }
        return [
            item(
                second, "function_call", name, name="shell_command", arguments=arguments
            ),
            output(second, f"Exit code: 1\nOutput:\n{FAILED}", name),
            codex(
                second,
                "event_msg",
                type="token_count",
                info={"total_token_usage": total},
            ),
            codex(second, "event_msg", type="turn_aborted", reason="interrupted"),
        ]

    @pytest.mark.parametrize(
        "known", [True, False], ids=["parent-is-there", "parent-is-gone"]
    )
    def test_does_not_repeat_what_was_seen(self, known: bool) -> None:
        parent = seen(meta(0, "p"), *self.work(5, 10, "call_1"), harness="codex")
        replayed = [
            meta(100, "c", forked_from_id="p"),
            meta(100, "p"),
            *self.work(100, 10, "call_1"),
        ]
        fork = seen(*replayed, *self.work(200, 30, "call_2"), harness="codex")
        events = self.original(fork, *([parent] if known else []))
        assert [run.call for run in events.of(TestRun)] == [key_of("call_2")]
        assert [stop.line for stop in events.of(UserBreak)] == [9]
        assert [
            turn.response.tokens.output_tokens for turn in events.of(CountedTurn)
        ] == [20]
        assert {line.number for line in events.lines} == {6, 7, 8, 9}

    def test_is_all_of_a_session_that_is_none(self) -> None:
        events = seen(meta(0, "p"), *self.work(5, 10, "call_1"), harness="codex")
        assert self.original(events) is events


class TestHostileOutput:
    """Much of what the searches begin with takes no longer than as much of anything else."""

    @pytest.mark.sampled(3)
    @pytest.mark.parametrize(
        "piece",
        [
            "[main ",
            "[main 1a2b3c4] x\n",
            "FAIL\t",
            "1 failed, ",
            "\n[",
            "test result: ",
            "*** Add File: ",
            "(" * 50,
        ],
    )
    def test_is_read_in_linear_time(self, piece: str) -> None:
        def read(hostile: str) -> TranscriptEvents:
            seen(*bash(hostile))
            call = item(
                1, "custom_tool_call", name="exec", input=f"exec_command {hostile}"
            )
            seen(call, output(2, f"Exit code: 1\n{hostile}"), harness="codex")
            return seen(
                *bash("git commit -m x && pytest", hostile),
                user(result("toolu_9", content=hostile)),
            )

        assert is_linear(read, piece, 60_000)
        events = read(piece * (250_000 // len(piece)))
        assert sum(len(events.of(kind)) for kind in events.kinds()) < 5000
        assert sum(map(len, events.texts)) < 50_000
