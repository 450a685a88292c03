"""What the readers note of the lines of a transcript: each kind of row, and what looks like it and is none."""

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
from helpers.timing import is_linear

from scoring.evidence.commands.testruns import TestTools as Tools
from scoring.evidence.harnesses.lines import Lines
from scoring.evidence.harnesses.readers import HARNESSES
from scoring.evidence.transcripts.rows import (
    AMEND,
    BREAK,
    BY_REDIRECTION,
    BY_TOOL,
    CALL_ONLY,
    EDIT,
    FOREIGN,
    HARD,
    INTERRUPT,
    MADE,
    PATHS,
    PROMPT,
    REJECTION,
    REPORT,
    RESET,
    RESULT_ONLY,
    REVERT,
    RUN,
    SAID_WRONG,
    WHOLE,
    WORD,
    Rows,
    key_of,
    pack,
    unpack,
)

PASSED = "============ 10 passed in 0.12s ============"
FAILED = "======= 3 failed, 10 passed in 0.12s ======="
MADE_ONE = "[main 1a2b3c4d5e6f7a8b] Say hello\n 1 file changed"
REFUSAL = "The user doesn't want to proceed with this tool use."
BY_RULE = "Permission to use Bash has been denied."
OF_A_SUB_AGENT = "Permission for this tool use was denied. The tool use was rejected."
STOPPED = "[Request interrupted by user]"


def seen(*lines: Line | bytes, harness: str = "claude", blocks: int = 1) -> Rows:
    """Read lines with readers that observe, in one or more blocks."""
    reader = Lines(HARNESSES, Tools())
    for first in range(0, len(lines), -(-len(lines) // blocks)):
        reader.block(as_bytes(lines[first : first + -(-len(lines) // blocks)]))
    return reader.rows()[harness]


def table(rows: Rows, kind: int) -> list[tuple[int, ...]]:
    """The rows of a kind without their span: line, and the columns of the kind."""
    return [row[1:] for row in rows.tables.get(kind, ())]


def line_keys(rows: Rows) -> list[int]:
    return [key for _, _, key in rows.lines]


def paths(rows: Rows) -> list[tuple[int, str, int]]:
    return [(line, rows.texts[path], how) for line, path, how in table(rows, EDIT)]


def agent(*content: Line, name: str = "msg_1", **keys: Any) -> Line:
    return claude(1, *content, message={"id": name}, **keys)


def user(*content: Line, **keys: Any) -> Line:
    return claude(2, *content, kind="user", **keys)


def text(words: str) -> Line:
    return {"type": "text", "text": words}


def bash(command: str, printed: Any = "", name: str = "toolu_1", **ended: Any) -> list[Line]:
    """A command and its result."""
    return [agent(use("Bash", name, command=command)), user(result(name, content=printed, **ended))]


def refused(
    tool: str, name: str = "toolu_1", response_id: str = "msg_1", **given: Any
) -> list[Line]:
    called = agent(use(tool, name, **given), name=response_id)
    return [called, user(result(name, content=REFUSAL, is_error=True))]


class TestLines:
    def test_are_known_by_their_number_time_and_id(self) -> None:
        rows = seen(agent(uuid="a"), agent(uuid="b"))
        assert [number for number, _, _ in rows.lines] == rows.covers[0] == [0, 1]
        assert len(set(line_keys(rows))) == 2
        assert seen(agent(uuid="a", cwd="/elsewhere")).lines[0][2] == rows.lines[0][2]

    @pytest.mark.parametrize(
        "uuid", [None, "", 5, {}], ids=["none", "empty", "a-number", "an-object"]
    )
    def test_without_an_id_are_known_by_their_bytes(self, uuid: Any) -> None:
        one, other = agent(uuid=uuid), agent(uuid=uuid, cwd="/elsewhere")
        assert line_keys(seen(one)) == line_keys(seen(one))
        assert line_keys(seen(one)) != line_keys(seen(other))

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
        assert [line[0] for line in seen(agent(uuid="a"), odd, agent(uuid="b")).lines] == [0, 2]

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
        assert seen({"type": "summary"}, agent() | first, agent() | second).opens is opens

    def test_count_as_much_as_where_nothing_is_observed(self) -> None:
        lines = [response(n, f"msg_{n % 3}", output=n) for n in range(9)]
        plain = Lines(HARNESSES)
        plain.block(as_bytes(lines))
        mine, other = seen(*lines).tables[0], plain.rows()["claude"].tables[0]
        # Where lines are observed, a response is in its last line.
        assert [row[2:] for row in mine[2:]] == [row[2:] for row in other[2:]]

    def test_are_kept_by_the_index_as_they_are(self) -> None:
        rows = seen(*bash("pytest -q > out.txt", PASSED), user(text(STOPPED)))
        assert unpack(pack({"claude": rows})) == {"claude": rows}


class TestRun:
    @cases(
        "printed, ended, expected",
        {
            "passed": (PASSED, {}, (1, 10, 0)),
            "failed": (FAILED, {"is_error": True}, (0, 10, 3)),
            "text in a list": ([text(FAILED)], {}, (0, 10, 3)),
            "by its status": ("Killed", {"is_error": True}, (0, -1, -1)),
            "not ended yet": ("Command running in background with ID: b1", {}, (-1, -1, -1)),
        },
    )
    def test_has_the_verdict_of_its_result(
        self, printed: Any, ended: Line, expected: tuple[int, ...]
    ) -> None:
        rows = seen(*bash("cd app && pytest -q", printed, **ended))
        ((line, key, state, label, passed, *numbers, begun),) = table(rows, RUN)
        assert (begun, line, key, state, rows.texts[label]) == (
            0,
            1,
            key_of("toolu_1"),
            WHOLE,
            "pytest -q",
        )
        assert (passed, *numbers) == expected

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
            "a result alone that says nothing": [user(result(content="3 files changed"))],
            "refused": refused("Bash", command="pytest"),
            "denied": bash("pytest", "Permission to use Bash has been denied.", is_error=True),
            "of a folder that is not there": bash(
                "cd x && pytest", "bash: cd: x: No such file", is_error=True
            ),
            "of other code": bash("cd /tmp/clone && pytest", FAILED),
            "of other code, and it never ended": bash("cd /work/other && pytest", FAILED)[:1],
        },
    )
    def test_is_none_where_no_tests_ran(self, lines: Sequence[Line]) -> None:
        assert table(seen(*lines), RUN) == []

    def test_whose_result_is_in_another_file_is_joined_by_its_key(self) -> None:
        call, ended = bash("pytest", FAILED, is_error=True)
        ((line, key, state, *rest),) = table(seen(call), RUN)
        assert (line, key, state, rest[1:]) == (0, key_of("toolu_1"), CALL_ONLY, [-1, -1, -1, 0])
        ((line, same, state, *rest),) = table(seen(ended), RUN)
        assert (line, same, state, rest[:2]) == (0, key, RESULT_ONLY, [-1, 0])

    def test_in_a_work_tree_that_the_session_adds_is_one(self) -> None:
        added = bash("git worktree add -b x ../wt main", name="toolu_0")
        assert len(table(seen(*added, *bash("cd ../wt && pytest", PASSED)), RUN)) == 1
        assert table(seen(*bash("cd ../wt && pytest", PASSED)), RUN) == []

    def test_in_a_folder_that_no_word_names_has_no_verdict(self) -> None:
        ((*_, passed, good, bad, _),) = table(seen(*bash('cd "$DIR" && pytest', FAILED)), RUN)
        assert (passed, good, bad) == (-1, -1, -1)

    def test_that_is_written_again_counts_once(self) -> None:
        assert len(table(seen(*bash("pytest", PASSED), *bash("pytest", PASSED)), RUN)) == 1


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
    @pytest.mark.parametrize("elsewhere", ["", "cd /tmp/scratch && ", "cd ../other && "])
    def test_is_a_line_that_git_printed(self, command: str, elsewhere: str) -> None:
        rows = seen(*bash(elsewhere + command, MADE_ONE))
        expected = (
            1,
            key_of("toolu_1"),
            WHOLE,
            0x1A2B3C4D5E6F7A8,
            15,
            key_of("Say hello"),
            0,
            0,
            int(bool(elsewhere)),
        )
        assert table(rows, MADE) == [expected]

    @cases(
        "command, amend",
        {
            "one": ("git commit --amend -m x", [1, 1]),
            "the second of two": ("git commit -m x; git commit --amend -m y", [0, 1]),
            "which of three is not known": (
                "git commit -m x; git commit --amend -m y; git commit -m z",
                [0, 0],
            ),
            "none": ("git commit -m --amended", [0, 0]),
        },
    )
    def test_amends_where_the_command_of_its_line_does(
        self, command: str, amend: list[int]
    ) -> None:
        assert [
            row[-2] for row in table(seen(*bash(command, f"{MADE_ONE}\n{MADE_ONE}")), MADE)
        ] == amend

    def test_of_a_folder_that_no_word_names_is_elsewhere_where_it_is_the_first_of_a_repository(
        self,
    ) -> None:
        printed = f"{MADE_ONE}\n{MADE_ONE.replace('main', 'main (root-commit)')}"
        rows = seen(*bash("cd $(mktemp -d) && git init && git commit -m x", printed))
        assert [row[-1] for row in table(rows, MADE)] == [0, 1]

    @pytest.mark.parametrize("command", ["cat notes.md", "git log -1", "echo commit"])
    def test_is_no_such_line_in_another_output(self, command: str) -> None:
        assert table(seen(*bash(command, MADE_ONE)), MADE) == []
        assert table(seen(*bash("git commit -m x", "nothing to commit", is_error=True)), MADE) == []

    @cases(
        "command, elsewhere",
        {
            "a clone for a trial": ("cd /tmp/trial && git init && git commit -m x", 1),
            "another repository": ("git -C ../other commit -m x", 1),
            "a folder of the session": ("cd app && git commit -m x", 0),
            "no word names the folder": ('cd "$DIR" && git commit -m x', 0),
            "one here, one there": ("git commit -m x && cd /tmp/trial && git commit -m y", 0),
            "a work tree that the line adds": (
                "git worktree add ../wt && cd ../wt && git commit -m x",
                0,
            ),
        },
    )
    def test_is_elsewhere_in_no_folder_of_the_session(self, command: str, elsewhere: int) -> None:
        ((*_, found),) = table(seen(*bash(command, MADE_ONE)), MADE)
        assert found == elsewhere

    def test_whose_result_is_in_another_file_is_joined_by_its_key(self) -> None:
        call, ended = bash("git commit -m x", MADE_ONE)
        assert table(seen(call), MADE) == [(0, key_of("toolu_1"), CALL_ONLY, 0, 0, 0, 0, 0, 0)]
        assert table(seen(ended), MADE)[0][:3] == (0, key_of("toolu_1"), RESULT_ONLY)


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
        rows = seen(agent(use(tool, **given)), user(result()))
        assert paths(rows) == [(1, "/work/app/a.py", BY_TOOL)]

    @pytest.mark.parametrize(
        "lines",
        [
            pytest.param([agent(use("Read", file_path="/a")), user(result())], id="read"),
            pytest.param(
                [agent(use("Edit", file_path="/a")), user(result(is_error=True))], id="failed"
            ),
            pytest.param(refused("Edit", file_path="/a"), id="refused"),
            pytest.param(refused("Edit", file_path="/a")[::-1], id="refused-in-a-line-before-it"),
            pytest.param(
                [user(result(is_error=True)), agent(use("Edit", file_path="/a"))],
                id="failed-in-a-line-before",
            ),
            pytest.param([agent(use("Edit", file_path=5))], id="no-path"),
            pytest.param([agent(use("Edit", file_path="/" + "a" * 5000))], id="a-path-without-end"),
            pytest.param(bash("cat a.py"), id="shown"),
            pytest.param(bash("echo 'a > b'"), id="quoted"),
            pytest.param(bash("echo > a.py", is_error=True), id="a-redirection-that-failed"),
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
        assert paths(seen(*bash(command))) == [(1, path, BY_REDIRECTION)]

    def test_whose_result_is_in_another_file_is_where_it_was_called(self) -> None:
        called = agent(use("Edit", file_path="/a"))
        assert paths(seen(called)) == [(0, "/a", BY_TOOL)]
        assert paths(seen(user(result()), user(result("toolu_2", is_error=True)), called)) == [
            (2, "/a", BY_TOOL)
        ]


class TestBreak:
    @pytest.mark.parametrize("words", [STOPPED, "[Request interrupted by user for tool use]"])
    def test_is_an_interruption(self, words: str) -> None:
        for line in (user(text(words)), user(message={"content": words})):
            assert table(seen(line), BREAK) == [(0, INTERRUPT, 0)]

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
        assert table(seen(line), BREAK) == []

    def test_is_a_refusal_with_the_response_that_was_refused(self) -> None:
        rows = seen(
            *refused("Bash", command="ls"), *refused("Edit", "toolu_2", "msg_2", file_path="/a")
        )
        assert table(rows, BREAK) == [
            (1, REJECTION, key_of("msg_1")),
            (3, REJECTION, key_of("msg_2")),
        ]

    def test_leaves_no_call_and_no_verdict_of_what_was_refused(self) -> None:
        rows = seen(*refused("Bash", command="mypy > a"), *bash("mypy", name="toolu_2"))
        assert [row[3] for row in rows.tables[1]] == [2]
        assert (
            [row[2] for row in rows.tables[1]]
            == [row[2] for row in rows.tables[2]]
            == [key_of("toolu_2")]
        )
        assert {line for line, *_ in table(rows, WORD)} == {2}

    @pytest.mark.parametrize("tool", ["ExitPlanMode", "AskUserQuestion"])
    def test_is_no_question_that_was_declined_nor_the_interruption_with_it(self, tool: str) -> None:
        rows = seen(*refused(tool), user(text(STOPPED)))
        assert table(rows, BREAK) == []
        assert 1 not in rows.tables
        assert table(seen(*refused(tool), agent(text("Well.")), user(text(STOPPED))), BREAK) == [
            (3, INTERRUPT, 0)
        ]

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
        rows = seen(*bash("ls", content, is_error=failed))
        assert table(rows, BREAK) == []
        assert [row[3] for row in rows.tables[2]] == [failed]

    def test_of_a_call_in_another_file_names_no_response(self) -> None:
        assert table(seen(refused("Bash")[1]), BREAK) == [(0, REJECTION, 0)]

    @pytest.mark.parametrize(
        ("reason", "breaks"),
        [("what does lint say now?", 0), ("no, that is wrong", 1), ("use the other file", 1)],
        ids=["a-question", "a-no", "an-instruction"],
    )
    def test_is_a_refusal_that_says_no(self, reason: str, breaks: int) -> None:
        to_it = f"{REFUSAL} The tool use was rejected. To tell you how to proceed, the user said:\n{reason}"
        for said, count in (
            (to_it, breaks),
            (f"{OF_A_SUB_AGENT} The user said:\n{reason}", breaks),
            (f"{OF_A_SUB_AGENT} Try a different approach.", 0),
        ):
            rows = seen(
                agent(use("Bash", command="pytest")), user(result(content=said, is_error=True))
            )
            assert len(table(rows, BREAK)) == count
            assert rows.tables.keys().isdisjoint((1, RUN))


class TestPrompt:
    WRONG = "No, that is wrong"

    @cases(
        "words, what",
        {
            "a correction": (WRONG, [SAID_WRONG]),
            "a report": ("error: the mast is gone", [REPORT]),
            "another language": ("Das ist nicht richtig", [FOREIGN]),
            "any other": ("Go on", []),
        },
    )
    def test_is_noted_where_it_says_something(self, words: str, what: list[int]) -> None:
        for line in (user(text(words)), user(message={"content": words})):
            rows = seen(*bash("ls"), line)
            assert table(rows, PROMPT) == [(2, one) for one in what]
            assert words.encode() not in pack({"claude": rows})

    def test_says_nothing_of_work_where_there_was_none(self) -> None:
        assert table(seen(user(text(self.WRONG)), *bash("ls")), PROMPT) == []
        compacted, wrong = (
            claude(1, kind="system", subtype="compact_boundary"),
            user(text(self.WRONG)),
        )
        assert table(seen(compacted, user(text(self.WRONG), parentUuid="x")), PROMPT) == []
        assert table(seen(*bash("ls"), wrong, wrong), PROMPT) == [(2, SAID_WRONG), (3, SAID_WRONG)]

    @cases(
        "line, noted",
        {
            "by the user": (user(text(WRONG), isMeta=False, isCompactSummary=False), True),
            "beside a result": (user(result("toolu_2"), text(WRONG)), True),
            "while the agent works": (
                {"type": "queued_command", "prompt": [text(WRONG)], "commandMode": "prompt"},
                True,
            ),
            "of another kind": (
                {"type": "queued_command", "prompt": WRONG, "commandMode": "task-notification"},
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
        assert [number for number, _ in table(seen(*bash("ls"), line), PROMPT)] == [2] * noted

    @pytest.mark.parametrize("odd", [5, None, "true", {}], ids=str)
    def test_of_an_odd_line_is_read_like_any_other(self, odd: Any) -> None:
        rows = seen(*bash("ls"), user(text(self.WRONG), isMeta=odd))
        assert table(rows, PROMPT) == [(2, SAID_WRONG)]
        assert rows.skipped == {}


class TestReset:
    @pytest.mark.parametrize(
        ("command", "how", "path"),
        [
            ("git reset --hard HEAD~1", HARD, None),
            ("cd src && git restore a.py", PATHS, "/work/app/src/a.py"),
            ("git revert --no-edit HEAD", REVERT, None),
            ("git commit --amend --no-edit", AMEND, None),
        ],
    )
    def test_is_work_taken_back(self, command: str, how: int, path: str | None) -> None:
        rows = seen(*bash(command))
        ((line, found, number),) = table(rows, RESET)
        assert (line, found, None if number < 0 else rows.texts[number]) == (0, how, path)

    @cases(
        "lines",
        {
            "of the index": bash("git reset HEAD a.py"),
            "failed": bash("git reset --hard nowhere", "fatal", is_error=True),
            "refused": refused("Bash", command="git reset --hard"),
        },
    )
    def test_is_none_where_nothing_is_taken_back(self, lines: Sequence[Line]) -> None:
        assert table(seen(*lines), RESET) == []


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
    def test_is_a_program_that_ran_and_no_other_word(self, command: str, names: list[str]) -> None:
        assert table(seen(*bash(command)), WORD) == [(0, key_of(name)) for name in names]

    def test_is_one_of_a_bounded_number(self) -> None:
        assert len(table(seen(*bash("".join(f"x{n}; " for n in range(1000)))), WORD)) == 240


class TestCodex:
    def codex(self, *lines: Line | bytes) -> Rows:
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
        rows = self.codex(meta(0, "s"), turn(1), turn(1), turn(2))
        assert [number for number, _, _ in rows.lines] == [0, 1, 2, 3]
        keys = line_keys(rows)
        assert keys[1] == keys[2] != keys[3]
        assert rows.opens
        assert not self.codex(turn(1), meta(2, "s")).opens

    def test_name_the_repository(self) -> None:
        url = "git@example.org:me/app.git"
        assert self.codex(meta(0, "s", git={"repository_url": url})).spans[1].remote == url
        assert self.codex(meta(0, "s", git={"repository_url": 5})).spans[1].remote == ""

    @pytest.mark.parametrize(
        ("printed", "passed"),
        [
            (f"Exit code: 1\nWall time: 1\nOutput:\n{FAILED}", 0),
            (f"Exit code: 0\nWall time: 1\nOutput:\n{PASSED}", 1),
            (json.dumps({"output": FAILED, "metadata": {"exit_code": 1}}), 0),
            ("Exit code: 0\nOutput:\n", 1),
            ("Exit code: 7\nOutput:\n", 0),
            ("", -1),
        ],
    )
    def test_run_has_the_verdict_behind_the_header(self, printed: str, passed: int) -> None:
        ((line, _, state, _, found, *_),) = table(self.codex(*self.shell("pytest", printed)), RUN)
        assert (line, state, found) == (1, WHOLE, passed)

    @pytest.mark.parametrize(
        ("kind", "given"),
        [
            ("function_call", {"name": "shell_command", "arguments": '{"command": "pytest"}'}),
            ("function_call", {"name": "exec_command", "arguments": '{"cmd": "pytest"}'}),
            ("function_call", {"name": "container.exec", "arguments": '{"command": ["pytest"]}'}),
            ("local_shell_call", {"action": {"command": ["bash", "-lc", "pytest"]}}),
            (
                "custom_tool_call",
                {"name": "exec", "input": 'await tools.exec_command({cmd: "pytest"})'},
            ),
        ],
    )
    def test_run_is_one_of_any_tool(self, kind: str, given: Line) -> None:
        assert len(table(self.codex(item(1, kind, **given), output(2, PASSED)), RUN)) == 1

    def test_program_completes_whatever_the_tests_in_it_did(self) -> None:
        call = item(1, "custom_tool_call", name="exec", input='exec_command({cmd: "pytest"})')
        ended = output(2, "Script completed\nOutput:\nKilled", kind="custom_tool_call_output")
        ((_, _, _, _, passed, *_),) = table(self.codex(call, ended), RUN)
        assert passed == -1

    def test_run_ends_where_its_process_does(self) -> None:
        call = item(1, "function_call", name="exec_command", arguments='{"cmd": "pytest"}')
        more = item(3, "function_call", "call_2", name="write_stdin", arguments='{"session_id": 7}')
        running = output(2, "Process running with session ID 7\nOutput:\ncollecting")
        ended = output(4, f"Process exited with code 1\nOutput:\n{FAILED}", "call_2")
        ((line, key, state, _, passed, *_),) = table(self.codex(call, running, more, ended), RUN)
        assert (line, key, state, passed) == (3, key_of("call_1"), WHOLE, 0)
        assert table(self.codex(call, running), RUN)[0][2] == CALL_ONLY

    @cases(
        "printed, passed",
        {
            "a summary of failed tests": (FAILED, 0),
            "of some that passed": (PASSED, -1),
            "none": ("collecting", -1),
        },
    )
    def test_run_that_never_ended_failed_where_its_output_says_so(
        self, printed: str, passed: int
    ) -> None:
        call = item(1, "function_call", name="exec_command", arguments='{"cmd": "pytest"}')
        running = output(2, f"Process running with session ID 7\nOutput:\n{printed}")
        ((*_, found, _, _, _),) = table(self.codex(call, running), RUN)
        assert found == passed

    def test_made_is_a_line_that_git_printed(self) -> None:
        rows = self.codex(*self.shell("git commit -m x", f"Exit code: 0\nOutput:\n{MADE_ONE}"))
        assert table(rows, MADE)[0][2:] == (
            WHOLE,
            0x1A2B3C4D5E6F7A8,
            15,
            key_of("Say hello"),
            0,
            0,
            0,
        )

    def test_edit_is_a_file_of_a_patch(self) -> None:
        patch = "*** Begin Patch\n*** Update File: src/a.py\n@@\n+*** Add File: c\n*** Add File: b.py\n*** End Patch"
        expected = ["/work/app/src/a.py", "/work/app/b.py"]
        call = item(1, "custom_tool_call", name="apply_patch", input=patch)
        ended = output(2, "Success", kind="custom_tool_call_output")
        assert [path for _, path, _ in paths(self.codex(meta(0, "s"), call, ended))] == expected
        script = self.shell(f"apply_patch <<'EOF'\n{patch}\nEOF", workdir="/work/app")
        assert paths(self.codex(*script)) == [(1, path, BY_TOOL) for path in expected]

    def test_edit_is_none_of_a_patch_that_failed(self) -> None:
        call = item(1, "custom_tool_call", name="apply_patch", input="*** Update File: a.py")
        failed = codex(2, "event_msg", type="patch_apply_end", call_id="call_1", success=False)
        assert (
            paths(self.codex(call, failed, output(3, "no", kind="custom_tool_call_output"))) == []
        )

    def test_path_is_taken_from_the_folder_of_the_turn(self) -> None:
        rows = self.codex(meta(0, "s", "/a"), turn(1, cwd="/b"), *self.shell("echo > x"))
        assert paths(rows)[0][1] == "/b/x"

    @pytest.mark.parametrize(
        ("payload", "breaks"),
        [
            ({"type": "turn_aborted", "reason": "interrupted"}, 1),
            ({"type": "turn_aborted", "reason": ["interrupted"]}, 0),
            ({"type": "turn_aborted"}, 0),
            ({"type": "agent_message", "reason": "interrupted", "message": "turn_aborted"}, 0),
        ],
    )
    def test_break_is_an_aborted_turn(self, payload: Line, breaks: int) -> None:
        assert len(table(self.codex(codex(1, "event_msg", **payload)), BREAK)) == breaks

    @pytest.mark.parametrize("answer", ["exec command rejected by user", "patch rejected by user"])
    def test_break_is_a_refusal(self, answer: str) -> None:
        rows = self.codex(*self.shell("ls > a"), *[output(2, answer, "call_2")])
        assert table(rows, BREAK) == [(2, REJECTION, 0)]
        call = item(1, "custom_tool_call", "c", name="apply_patch", input="*** Update File: a.py")
        ended = codex(2, "event_msg", type="patch_apply_end", call_id="c", success=False)
        rows = self.codex(call, ended, output(3, answer, "c", "custom_tool_call_output"))
        assert table(rows, BREAK) == [(2, REJECTION, 0)]
        assert rows.tables.keys() == {BREAK}
        assert table(self.codex(*self.shell("ls"), output(2, f"{answer}.", "call_2")), BREAK) == []

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
        rows = self.codex(meta(0, "s", source=source), *self.shell("ls"), codex(4, kind, **said))
        assert table(rows, PROMPT) == [(3, SAID_WRONG)] * noted

    @pytest.mark.parametrize("arguments", ["{}", "{", "[]", '{"command": 5}', 7, None], ids=str)
    def test_odd_call_is_still_a_call(self, arguments: Any) -> None:
        rows = self.codex(item(1, "function_call", name="shell", arguments=arguments))
        assert [row[3] for row in rows.tables[1]] == [key_of("call_1")]
        assert RUN not in rows.tables


class TestFork:
    """A replay is stamped anew: its lines are no copies by their bytes."""

    def original(self, rows: Rows, *parents: Rows) -> Rows:
        (harness,) = [harness for harness in HARNESSES if harness.name == "codex"]
        return harness.original(rows, lambda _: list(parents))

    def work(self, second: float, given: int, name: str) -> list[Line]:
        arguments = json.dumps({"command": "pytest"})
        total = {"input_tokens": given, "output_tokens": given, "total_tokens": 2 * given}
        return [
            item(second, "function_call", name, name="shell_command", arguments=arguments),
            output(second, f"Exit code: 1\nOutput:\n{FAILED}", name),
            codex(second, "event_msg", type="token_count", info={"total_token_usage": total}),
            codex(second, "event_msg", type="turn_aborted", reason="interrupted"),
        ]

    @pytest.mark.parametrize("known", [True, False], ids=["parent-is-there", "parent-is-gone"])
    def test_does_not_repeat_what_was_seen(self, known: bool) -> None:
        parent = seen(meta(0, "p"), *self.work(5, 10, "call_1"), harness="codex")
        replayed = [
            meta(100, "c", forked_from_id="p"),
            meta(100, "p"),
            *self.work(100, 10, "call_1"),
        ]
        fork = seen(*replayed, *self.work(200, 30, "call_2"), harness="codex")
        rows = self.original(fork, *([parent] if known else []))
        assert [row[1] for row in table(rows, RUN)] == [key_of("call_2")]
        assert [line for line, *_ in table(rows, BREAK)] == [9]
        assert [row[3] for row in rows.tables[3]] == [20]
        assert {number for number, _, _ in rows.lines} == {6, 7, 8, 9}

    def test_is_all_of_a_session_that_is_none(self) -> None:
        rows = seen(meta(0, "p"), *self.work(5, 10, "call_1"), harness="codex")
        assert self.original(rows) is rows


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
        def read(hostile: str) -> Rows:
            seen(*bash(hostile))
            call = item(1, "custom_tool_call", name="exec", input=f"exec_command {hostile}")
            seen(call, output(2, f"Exit code: 1\n{hostile}"), harness="codex")
            return seen(
                *bash("git commit -m x && pytest", hostile),
                user(result("toolu_9", content=hostile)),
            )

        assert is_linear(read, piece, 60_000)
        rows = read(piece * (250_000 // len(piece)))
        assert sum(len(found) for found in rows.tables.values()) < 5000
        assert sum(map(len, rows.texts)) < 50_000
