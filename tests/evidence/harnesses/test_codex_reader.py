"""Codex: totals that become turns, replays that add nothing, and the verdict on a call."""

import json
from pathlib import Path
from typing import Any

import pytest
from helpers.harness_lines import (
    Line,
    as_bytes,
    cases,
    claude,
    codex,
    counts,
    item,
    meta,
    output,
    read,
    response,
    summary,
    tokens,
    turn,
    write,
)
from helpers.sessions import CORRECTION, events_of, put
from helpers.sessions import seen as seen_in

from scoring.evidence.commands.objective_flags import CallFlag
from scoring.evidence.harnesses.codex import Codex
from scoring.evidence.harnesses.codex_counts import CountedTurn
from scoring.evidence.transcripts.events import Call
from scoring.evidence.transcripts.facts import HarnessFacts


def facts(root: Path, *lines: Line | bytes) -> tuple[int, ...]:
    write(root / "t" / "r.jsonl", *lines)
    return summary(read(root / "t")[0][0])


def spent(root: Path, *lines: Line) -> tuple[int, ...]:
    """Turns, input, output, cache reads and cache creations."""
    return facts(root, *lines)[:5]


def share(root: Path) -> HarnessFacts:
    (found,) = read(root)[1].harnesses
    return found


SUM = {"total_tokens": 272_000}
FULL = counts(0, 0, 0, **SUM)


def writes(n: int) -> Line:
    return counts(n * 100, n * 60, n * 7, cache_write_input_tokens=n * 11)


class TestTotals:
    @cases(
        "totals, expected",
        {
            "do not count by their sum": (
                [(100, 60, 7), counts(100, 60, 7) | SUM],
                (1, 100, 7, 60, 40),
            ),
            "count from zero after the context was filled": (
                [(100, 60, 7), FULL, (50, 20, 5)],
                (2, 150, 12, 80, 70),
            ),
            "may begin to state cache writes": (
                [(100, 60, 7), writes(2)],
                (2, 200, 14, 120, 40 + 22),
            ),
            "may leave out the same": (
                [(100, 60, 7), {"input_tokens": 150}, (150, 60, 9)],
                (3, 150, 9, 60, 90),
            ),
        },
    )
    def test_count_by_what_they_say(
        self, tmp_path: Path, totals: list[Any], expected: tuple[int, ...]
    ) -> None:
        lines = (
            tokens(n, total if isinstance(total, dict) else counts(*total))
            for n, total in enumerate(totals)
        )
        assert spent(tmp_path, *lines) == expected

    @cases(
        "lines, expected",
        {
            "include it when it was stated alone": (
                [
                    tokens(1, counts(100, 60, 7)),
                    tokens(2, None, counts(50, 20, 5)),
                    tokens(3, counts(160, 85, 13)),
                ],
                (3, 160, 13),
            ),
            "differ": (
                [meta(0, "s1"), tokens(1, counts(100, 60, 7), counts(1, 1, 1))],
                (1, 100, 7),
            ),
        },
    )
    def test_count_rather_than_the_last_response(
        self, tmp_path: Path, lines: list[Line], expected: tuple[int, ...]
    ) -> None:
        assert spent(tmp_path, *lines)[:3] == expected

    def test_of_a_part_of_a_session_are_those_since_it_began(
        self, tmp_path: Path
    ) -> None:
        """A checkpoint may hold a session from where the checkpoint before it ends."""
        lines = [
            tokens(1, counts(100, 60, 7), counts(30, 10, 2)),
            tokens(2, counts(150, 80, 12)),
        ]
        assert spent(tmp_path, *lines)[:3] == (2, 30 + 50, 2 + 5)

    def test_that_are_equal_are_duplicates(self, tmp_path: Path) -> None:
        assert (
            spent(tmp_path, *(tokens(n, counts(100, 60, 7)) for n in range(4)))[0] == 1
        )
        assert share(tmp_path / "t").duplicates_dropped == 3

    @cases(
        "then",
        {
            "all": counts(40, 10, 3),
            "cached input alone": counts(240, 10, 30),
            "output alone": counts(240, 100, 3),
            "reasoning alone": counts(240, 100, 30, reasoning_output_tokens=0),
        },
    )
    def test_that_fall_begin_anew(self, tmp_path: Path, then: Line) -> None:
        begin = counts(200, 60, 20, reasoning_output_tokens=5)
        expected = (
            2,
            200 + then["input_tokens"],
            20 + then["output_tokens"],
            60 + then["cached_input_tokens"],
        )
        assert spent(tmp_path, tokens(1, begin), tokens(2, then))[:4] == expected

    @pytest.mark.parametrize("info", [None, {}, {"model_context_window": 1}])
    def test_may_be_missing_altogether(self, tmp_path: Path, info: Any) -> None:
        assert (
            spent(tmp_path, codex(1, "event_msg", type="token_count", info=info))
            == (0,) * 5
        )


HEADER = "Wall time: 0.1 seconds\n"
OLD = "Exit code: 1\nOutput:\n"

VERDICTS: dict[str, tuple[Any, bool | None]] = {
    "line ends of another system": (f"Exit code: 2\r\n{HEADER}Output:\r\n…", True),
    "a list of two": (
        [
            {"type": "input_text", "text": "Exit code: 1\nOutput:\n"},
            {"type": "input_text", "text": "Exit code: 0\n"},
        ],
        True,
    ),
    "a list with an image": (
        [
            {"type": "input_image", "image_url": "data:"},
            {"type": "input_text", "text": "Exit code: 0\nOutput:\n"},
        ],
        False,
    ),
    "no header": ("Exit code", None),
    "no output": (f"Exit code: 1\n{HEADER}", None),
    "what a program printed": (f"log\nExit code: 1\n{HEADER}Output:\n", None),
    "what a program printed behind it": (
        f"{HEADER}Output:\nProcess exited with code 1\nOutput:\n",
        None,
    ),
    "a success whose output looks like a failure": (
        "Exit code: 0\nOutput:\nExit code: 1\nOutput:\n",
        False,
    ),
    "a line that only begins so": ("Exit code: 1 or so\nOutput:\n", None),
    "JSON of a program": (json.dumps({"metadata": {"exit": 1}}), None),
    "JSON, no number": (json.dumps({"metadata": {"exit_code": "1"}}), None),
    "JSON that is cut": ('{"output": "x", "metadata": {"exit_code": 1', None),
    "empty": ("", None),
    "an object": ({"content": "x", "success": False}, None),
}


class TestVerdict:
    @cases("said, failed", VERDICTS)
    @pytest.mark.parametrize(
        "kind", ["function_call_output", "custom_tool_call_output"]
    )
    def test_stands_in_the_header(
        self, tmp_path: Path, kind: str, said: Any, failed: bool | None
    ) -> None:
        expected = (0, 0) if failed is None else (1, int(failed))
        assert facts(tmp_path, output(1, said, kind=kind))[5:] == expected

    @cases(
        "keys, counted",
        {
            "by the client": ({"execution": "client", "status": "completed"}, (1, 0)),
            "that failed": ({"execution": "client", "status": "failed"}, (1, 1)),
            "without a status": ({"execution": "client"}, (0, 0)),
            "by the API": ({"execution": "server", "status": "completed"}, (0, 0)),
        },
    )
    def test_of_a_search_for_tools(
        self, tmp_path: Path, keys: Line, counted: tuple[int, int]
    ) -> None:
        lines = (
            item(1, "tool_search_call", **keys, arguments={"query": "x"}),
            item(2, "tool_search_output", **keys, tools=[]),
        )
        assert facts(tmp_path, *lines)[5:] == counted
        number_of_calls = int(keys["execution"] == "client")
        path = put(tmp_path / "other" / "rollout-1.jsonl", meta(0, "s"), *lines)
        assert len(events_of(path, "codex").of(Call)) == number_of_calls

    def test_is_read_when_the_text_is_written_in_another_way(
        self, tmp_path: Path
    ) -> None:
        said = b'"\\u0045xit code: 1\\nWall time: 1 seconds\\nOutput:\\n"'
        line = as_bytes([output(1, "SAID")]).rstrip().replace(b'"SAID"', said)
        assert facts(tmp_path, line)[5:] == (1, 1)

    @pytest.mark.parametrize(
        ("event", "failed"),
        [
            ({"type": "patch_apply_end", "success": False}, True),
            ({"type": "patch_apply_end"}, None),
            (
                {
                    "type": "mcp_tool_call_end",
                    "result": {"Ok": {"content": [], "isError": True}},
                },
                True,
            ),
            ({"type": "mcp_tool_call_end", "result": {}}, None),
            ({"type": "mcp_tool_call_end", "result": "Err"}, None),
            ({"type": "exec_command_begin", "success": False}, None),
        ],
    )
    def test_stands_in_an_event(
        self, tmp_path: Path, event: Line, failed: bool | None
    ) -> None:
        expected = (0, 0) if failed is None else (1, int(failed))
        assert (
            facts(tmp_path, codex(1, "event_msg", call_id="call_1", **event))[5:]
            == expected
        )

    @pytest.mark.parametrize("turned", [False, True])
    def test_of_failure_decides(self, tmp_path: Path, turned: bool) -> None:
        end = codex(
            1, "event_msg", type="patch_apply_end", call_id="call_1", success=False
        )
        lines = [end, output(2, "Exit code: 0\nOutput:\n")]
        assert facts(tmp_path, *lines[:: -1 if turned else 1])[5:] == (1, 1)

    def test_counts_once_per_call(self, tmp_path: Path) -> None:
        lines = (
            output(n, OLD, name)
            for n, name in enumerate(("call_1", "call_1", "call_2", None, None))
        )
        assert facts(tmp_path, *lines)[5:] == (4, 4)

    def test_of_another_session_is_one_of_another_call(self, tmp_path: Path) -> None:
        for name in ("a", "b"):
            write(tmp_path / "t" / f"{name}.jsonl", meta(1, name), output(2, OLD))
        assert summary(read(tmp_path / "t")[0][0])[5:] == (2, 2)


class TestCheck:
    @pytest.mark.parametrize(
        ("kind", "keys", "shown"),
        [
            (
                "function_call",
                {"name": "exec_command", "arguments": {"command": "npm test"}},
                CallFlag.SHELL,
            ),
            (
                "function_call",
                {"name": "write_stdin", "arguments": {"chars": "pytest"}},
                CallFlag.NOTHING,
            ),
            (
                "function_call",
                {"name": "exec_command", "arguments": "pytest"},
                CallFlag.SHELL,
            ),
            ("function_call", {"name": "shell"}, CallFlag.SHELL),
            (
                "local_shell_call",
                {"action": {"type": "exec", "command": ["pytest"]}},
                CallFlag.SHELL | CallFlag.TESTS,
            ),
            ("local_shell_call", {}, CallFlag.SHELL),
            (
                "custom_tool_call",
                {"name": "exec", "input": "await tools.exec_command({cmd: 'pytest'})"},
                CallFlag.SHELL | CallFlag.TESTS,
            ),
            (
                "message",
                {"role": "user", "content": [{"type": "input_text", "text": "pytest"}]},
                CallFlag.NOTHING,
            ),
        ],
    )
    def test_of_a_tool(
        self, tmp_path: Path, kind: str, keys: Line, shown: CallFlag
    ) -> None:
        if isinstance(keys.get("arguments"), dict):
            keys = keys | {"arguments": json.dumps(keys["arguments"])}
        write(tmp_path / "t" / "r.jsonl", item(1, kind, **keys))
        (facts,) = read(tmp_path / "t")[0]
        assert (facts.covered, facts.shows) == (True, shown)

    @pytest.mark.parametrize(
        ("command", "reads"),
        [
            *(
                (f"{reader} loop-state.md", True)
                for reader in ("cat", "cat <", "sed -n '1,200p'", "cat a.md b.md")
            ),
            ("head -20 x/loop-state.md | grep y", True),
            ("cd x && /usr/bin/tail 'loop-state.md'", True),
            *(
                (f"{other} loop-state.md", False)
                for other in ("ls", "cat x >", "concat", "git log --", "cat a; rm")
            ),
            ("cat <<'EOF' > loop-state.md\ny\nEOF", False),
            ("sed -i 's/a/b/' loop-state.md", False),
            ("sed --in-place=.bak s/a/b/ loop-state.md", False),
            ("cat loop-state.md.bak", False),
        ],
    )
    def test_of_the_loop_state(self, tmp_path: Path, command: str, reads: bool) -> None:
        call = item(
            1,
            "function_call",
            name="shell_command",
            arguments=json.dumps({"command": command}),
        )
        write(tmp_path / "t" / "r.jsonl", call)
        (facts,) = read(tmp_path / "t")[0]
        assert (CallFlag.LOOP_STATE in facts.shows) is reads


class TestLine:
    def test_of_claude_code_in_the_same_file_counts_too(self, tmp_path: Path) -> None:
        codex_lines = meta(1, "x"), tokens(2, counts(100, 60, 7))
        claude_lines = response(3), claude(4)
        for name, lines in (
            ("a", (*codex_lines, *claude_lines)),
            ("b", (*claude_lines, *codex_lines)),
        ):
            write(tmp_path / name / "m.jsonl", *lines)
            (found,), _ = read(tmp_path / name)
            assert [(h.name, h.turns) for h in found.harnesses] == [
                ("claude", 1),
                ("codex", 1),
            ]

    def test_without_the_wanted_types_is_skipped_where_they_matter(
        self, tmp_path: Path
    ) -> None:
        lines = [
            tokens(1, counts(100, 60, 7) | {"input_tokens": "100"}),
            tokens(1, counts(-100, 60, 7)),
            codex(
                2,
                "event_msg",
                type="web_search_end",
                id=7,
                cwd=["x"],
                success="yes",
                source=1,
                output={},
            ),
            {"timestamp": 7, "type": "event_msg", "payload": {"type": "token_count"}},
            {
                "timestamp": "2026-04-12",
                "type": "event_msg",
                "payload": {"type": "token_count"},
            },
        ]
        write(tmp_path / "t" / "r.jsonl", *lines, tokens(3, counts(10, 6, 1)))
        (found,), survey = read(tmp_path / "t")
        assert (found.turns, found.input_tokens) == (1, 10)
        assert survey.lines_skipped == {
            "a field of another type": 3,
            "no time stamp": 1,
        }


class TestTotalsThatFall:
    """A thread that is rolled back goes on from an earlier total."""

    FIRST = counts(1_000, 0, 100)
    THIRD = counts(6_000, 3_000, 300)

    @pytest.mark.parametrize(
        ("totals", "last", "given"),
        [
            pytest.param(
                counts(2_500, 900, 150), counts(1_500, 900, 50), 1_500, id="response"
            ),
            pytest.param(
                counts(9_000, 0, 400),
                counts(8_000, 0, 300),
                8_000,
                id="larger-than-all",
            ),
            pytest.param(FIRST, FIRST, 0, id="that-total-again"),
            pytest.param(FIRST, None, 0, id="that-total-without-last"),
            pytest.param(counts(700, 0, 40), counts(700, 0, 40), 700, id="from-zero"),
            pytest.param(counts(700, 0, 40), None, 700, id="from-zero-without-last"),
            pytest.param(THIRD, counts(3_000, 2_000, 100), 0, id="nothing-new"),
            pytest.param(
                counts(8_000, 3_000, 400), counts(1_000, 0, 50), 2_000, id="one-lost"
            ),
            pytest.param(
                counts(8_000, 3_000, 400), counts(8_000, 3_000, 400), 2_000, id="rise"
            ),
        ],
    )
    def test_count_what_is_new(
        self, tmp_path: Path, totals: Line, last: Line | None, given: int
    ) -> None:
        before = (
            tokens(2, self.FIRST, self.FIRST),
            tokens(3, self.THIRD, counts(5_000, 3_000, 200)),
        )
        path = put(
            tmp_path / "rollout-1.jsonl", meta(1, "x"), *before, tokens(4, totals, last)
        )
        turns = events_of(path, "codex").of(CountedTurn)
        assert [turn.response.tokens.prompt for turn in turns] == [
            1_000,
            5_000,
            given,
        ]


FAILED = {
    "exit_code": 1,
    "output": "1 failed, 2 passed in 1s\n",
    "wall_time_seconds": 1,
}
MADE = {"exit_code": 0, "output": "[main 5f0c2aa] Round\n", "chunk_id": "a"}
PASSED_ALONE = "2 passed in 1s\n"
PASSED = {"exit_code": 0, "output": PASSED_ALONE, "wall_time_seconds": 1}
DONE = {"exit_code": 0, "output": "done\n", "wall_time_seconds": 1}
RUNS = {"session_id": 7, "output": "collected 3 items\n", "wall_time_seconds": 10}


class TestProgram:
    """What programs of ``exec`` print of their commands."""

    def program(
        self, second: int, program: str, printed: Any, head: str = "completed"
    ) -> list[Line]:
        name = f"call_{second}"
        texts = f"Script {head}\nWall time 1.0 seconds\nOutput:\n", printed
        parts = [
            {
                "type": "input_text",
                "text": text if isinstance(text, str) else json.dumps(text),
            }
            for text in texts
        ]
        return [
            item(second, "custom_tool_call", name, name="exec", input=program),
            output(second + 1, parts, name, "custom_tool_call_output"),
        ]

    def run(
        self, second: int, command: str, printed: Any, head: str = "completed"
    ) -> list[Line]:
        asked = f"text(await tools.exec_command({{cmd: {json.dumps(command)}}}))"
        return self.program(second, asked, printed, head)

    def later(self, second: int, name: str, text: str, **asked: Any) -> list[Line]:
        return [
            item(
                second,
                "function_call",
                f"w{second}",
                name=name,
                arguments=json.dumps(asked),
            ),
            output(second + 1, text, f"w{second}"),
        ]

    def seen(self, root: Path, *lines: list[Line]) -> dict[str, Any]:
        flat = [line for part in lines for line in part]
        found = seen_in(
            events_of(put(root / "rollout-1.jsonl", meta(0, "s"), *flat), "codex")
        )
        return {name: found.get(name, []) for name in ("runs", "failed", "commits")}

    @pytest.mark.parametrize(
        "printed",
        [
            pytest.param(FAILED, id="object"),
            pytest.param(json.dumps(FAILED, indent=2), id="indented"),
            pytest.param([FAILED], id="list"),
            pytest.param({"tests": FAILED}, id="named"),
            pytest.param(f"tests: {json.dumps(FAILED)}", id="after-words"),
            pytest.param(
                json.dumps(FAILED).replace("1 failed", "…3 tokens…\n1 failed"), id="cut"
            ),
        ],
    )
    def test_result_as_json_has_the_verdict_and_the_exit_code(
        self, tmp_path: Path, printed: Any
    ) -> None:
        found = self.seen(tmp_path, self.run(1, "pytest", printed))
        assert found == {"runs": [False], "failed": [True], "commits": []}

    def test_result_as_json_has_commits(self, tmp_path: Path) -> None:
        found = self.seen(tmp_path, self.run(1, "git commit -am Round", MADE))
        assert found == {"runs": [], "failed": [False], "commits": ["5f0c2aa"]}

    def test_exit_code_of_one_of_two_commands_is_not_that_of_the_program(
        self, tmp_path: Path
    ) -> None:
        two = self.run(
            1, 'true"}), tools.exec_command({cmd: "git commit -am Round', FAILED
        )
        two[0]["payload"]["input"] = two[0]["payload"]["input"].replace("\\", "")
        assert self.seen(tmp_path, two)["failed"] == [False]

    @pytest.mark.parametrize(
        "end",
        [
            pytest.param(
                ("write_stdin", {"session_id": 7}, "Process exited with code 1"),
                id="stdin",
            ),
            pytest.param(("wait", {"cell_id": "7"}, "Script completed"), id="wait"),
        ],
    )
    def test_that_yields_ends_in_a_later_call(
        self, tmp_path: Path, end: tuple[str, Line, str]
    ) -> None:
        name, asked, head = end
        runs = "running with cell ID 7" if name == "wait" else "completed"
        begun = self.run(1, "pytest", "collected" if name == "wait" else RUNS, runs)
        waits = self.later(
            5, name, f"{head}\nOutput:\n1 failed, 2 passed in 1s", **asked
        )
        other = self.later(
            3, name, "Script running with cell ID 9\nOutput:", cell_id="9"
        )
        assert self.seen(tmp_path, begun, other, waits)["runs"] == [False]

    def test_ends_in_a_program_that_asks_for_more_output(self, tmp_path: Path) -> None:
        more = (
            "text(JSON.stringify(await tools.write_stdin({session_id: 7, chars: ''})))"
        )
        begun = self.run(1, "pytest", RUNS), self.program(3, more, RUNS)
        found = self.seen(tmp_path, *begun, self.program(5, more, FAILED))
        assert (found["runs"], found["failed"]) == ([False], [False, False, True])

    def test_that_never_ends_has_no_verdict(self, tmp_path: Path) -> None:
        assert self.seen(tmp_path, self.run(1, "pytest", RUNS))["runs"] == [None]

    @pytest.mark.parametrize(
        ("shown", "printed", "passed"),
        [
            pytest.param("r.output", PASSED_ALONE, True, id="the output"),
            pytest.param("`tests\\n${r.output}`", PASSED_ALONE, True, id="a heading"),
            pytest.param(
                "r.output.split('\\n').slice(-9).join('\\n')",
                PASSED_ALONE,
                True,
                id="its end",
            ),
            pytest.param(
                r"r.output.replace(/\x1b\[[0-9;]*m/g, '')",
                PASSED_ALONE,
                True,
                id="no colors",
            ),
            pytest.param("r", json.dumps(PASSED), True, id="the result"),
            pytest.param(
                "{exit_code: r.exit_code, output: r.output}",
                json.dumps(PASSED),
                True,
                id="its parts",
            ),
            pytest.param("'2 passed in 1s'", PASSED_ALONE, None, id="a text"),
            pytest.param("'2 pas' + 'sed in 1s'", PASSED_ALONE, None, id="its halves"),
            pytest.param(
                "r.output.replace('1 failed, ', '')", PASSED_ALONE, None, id="a part"
            ),
            pytest.param(
                "r.output.split('fail').join('pass')", PASSED_ALONE, None, id="others"
            ),
            pytest.param(
                "r.output.split('\\n').filter(l => !/failed/.test(l))",
                PASSED_ALONE,
                None,
                id="some lines",
            ),
            pytest.param("r.output.slice(-16)", PASSED_ALONE, None, id="a piece"),
            pytest.param(
                "r.output.trim().substring(10)", PASSED_ALONE, None, id="the rest"
            ),
            pytest.param(
                "r.output.slice(-1000, -984)", PASSED_ALONE, None, id="between"
            ),
            pytest.param("r.output.slice(-4000)", PASSED_ALONE, True, id="much of it"),
            pytest.param("r.output.slice(0, 4000)", PASSED_ALONE, True, id="its start"),
            pytest.param(
                "lines.slice(-9).join('\\n')", PASSED_ALONE, True, id="its lines"
            ),
            pytest.param("r.output.slice(-16)", "1 failed in 1s", False, id="no pass"),
            pytest.param(
                "JSON.stringify(r.output)",
                json.dumps("E x\n1 failed in 1s\n"),
                False,
                id="a failure in a string",
            ),
            pytest.param(
                "{exit: r.exit_code, output: r.output}",
                json.dumps({"exit": 1, "output": "E x\n1 failed in 1s\n"}),
                False,
                id="a failure under another name",
            ),
            pytest.param(
                "{exit: 0, output: '2 passed in 1s'}",
                json.dumps({"exit": 0, "output": "2 passed in 1s"}),
                None,
                id="a text under another name",
            ),
            pytest.param("{...r, exit_code: 0}", json.dumps(DONE), None, id="a code"),
            pytest.param("r.output", json.dumps(DONE), None, id="JSON in the output"),
            pytest.param(
                "r.output.replace('failed', 'failed')",
                "1 failed in 1s",
                False,
                id="a failure",
            ),
        ],
    )
    def test_has_a_passing_verdict_where_it_shows_what_the_tests_printed(
        self, tmp_path: Path, shown: str, printed: str, passed: bool | None
    ) -> None:
        asked = f"const r = await tools.exec_command({{cmd: 'pytest'}}); text({shown})"
        found = self.seen(tmp_path, self.program(1, asked, printed))
        assert found["runs"] == [passed]

    @pytest.mark.parametrize(
        ("folder", "runs"),
        [
            pytest.param("workdir: '/work/app'", [True], id="of the work"),
            pytest.param("workdir: 'tests'", [True], id="in it"),
            pytest.param("workdir: '/work/other'", [], id="elsewhere"),
            pytest.param("workdir: '../other'", [], id="beside it"),
            pytest.param("workdir: folder", [None], id="a variable"),
            pytest.param("workdir: `${top}/app`", [None], id="a template"),
            pytest.param("workdir", [None], id="a variable of that name"),
        ],
    )
    def test_runs_tests_in_the_folder_that_it_names(
        self, tmp_path: Path, folder: str, runs: list[bool | None]
    ) -> None:
        asked = f"text(await tools.exec_command({{cmd: 'pytest', {folder}}}))"
        found = self.seen(tmp_path, self.program(1, asked, PASSED))
        assert found["runs"] == runs

    @pytest.mark.parametrize(
        ("commands", "runs"),
        [
            pytest.param(
                ["cmd: 'pytest'", "cmd: 'ls', workdir: '/work/other'"],
                [None],
                id="another command elsewhere",
            ),
            pytest.param(
                ["cmd: 'pytest'", "cmd: variable, workdir: '/work/other'"],
                [None],
                id="a variable elsewhere",
            ),
            pytest.param(
                ["cmd: 'pytest'", "cmd: 'ls', workdir: '/work/app'"],
                [False],
                id="another command in the folder of the session",
            ),
            pytest.param(
                ["cmd: 'pytest', workdir", "cmd: 'ls', workdir"],
                [],
                id="both in one that is named once",
            ),
            pytest.param(
                ["cmd: 'pytest', workdir", "cmd: 'ls'"], [None], id="one there"
            ),
            pytest.param(
                ["cmd: 'docker run --workdir=/app x; pytest', workdir: '/work/app'"],
                [False],
                id="another folder in the command",
            ),
        ],
    )
    def test_of_several_commands_runs_tests_where_each_folder_is_known(
        self, tmp_path: Path, commands: list[str], runs: list[bool | None]
    ) -> None:
        calls = [f"await tools.exec_command({{{command}}})" for command in commands]
        asked = f"text([{', '.join(calls)}])"
        if "workdir" in asked and "workdir:" not in asked:
            asked = f"const workdir = '/work/other'; {asked}"
        found = self.seen(tmp_path, self.program(1, asked, FAILED))
        assert found["runs"] == runs

    def test_prints_json_of_its_own(self, tmp_path: Path) -> None:
        printed = json.dumps({"output": "1 failed in 1s"}) + "\n2 passed in 1s"
        assert self.seen(tmp_path, self.run(1, "pytest", printed))["failed"] == [False]


class TestLineBreakThatIsMissing:
    @pytest.mark.parametrize(
        "opens", [turn(2, "2"), meta(2, "s2")], ids=["turn", "session"]
    )
    def test_leaves_the_line_to_both_spans(self, tmp_path: Path, opens: Line) -> None:
        two = json.dumps(tokens(1, counts(100, 60, 7))) + json.dumps(opens)
        path = put(tmp_path / "r.jsonl", meta(0, "s1"), two.encode())
        assert events_of(path, "codex").covers == [[], [0, 1], [1]]


class TestCallWithAHiddenId:
    def test_finds_its_result(self, tmp_path: Path) -> None:
        name = "call_[REDACTED]"
        given = json.dumps({"cmd": "pytest"})
        call = item(1, "function_call", name, name="exec_command", arguments=given)
        ended = output(2, "Process exited with code 1\nOutput:\n1 failed in 1s", name)
        found = seen_in(
            events_of(put(tmp_path / "r.jsonl", meta(0, "s1"), call, ended), "codex")
        )
        assert (found["runs"], found["failed"]) == ([False], [True])


def completed(second: int, kind: str, name: str = "call_1", **keys: Any) -> Line:
    return codex(
        second,
        "event_msg",
        type="item_completed",
        item={"type": kind, "id": name, **keys},
    )


def typed(second: int, *texts: str) -> Line:
    return completed(
        second,
        "UserMessage",
        f"u{second}",
        content=[{"type": "text", "text": text} for text in texts],
    )


def ran(
    second: int, command: str = "pytest", printed: str = "1 failed in 1s", code: int = 1
) -> list[Line]:
    given = json.dumps({"cmd": command})
    return [
        item(second, "function_call", name="exec_command", arguments=given),
        output(second + 1, f"Process exited with code {code}\nOutput:\n{printed}"),
    ]


class TestPaginated:
    """Threads whose events are items; the lines of calls and their outputs are as before."""

    def read(
        self, root: Path, *lines: Line, mode: str = "paginated", **keys: Any
    ) -> dict[str, Any]:
        begun = meta(0, "s1", history_mode=mode, **keys)
        numbered = [
            {**line, "ordinal": number}
            for number, line in enumerate([begun, turn(0), *lines])
        ]
        path = put(root / "rollout-2026-07-14T08-15-00-s1_2.jsonl", *numbered)
        rows = Codex().original(events_of(path, "codex"), lambda _: [])
        turns = [
            turn.response.tokens[:4]
            for turn in rows.of(CountedTurn)
            if not turn.repeats
        ]
        return seen_in(rows) | ({"turns": turns} if turns else {})

    @pytest.mark.parametrize(
        ("line", "keys", "corrections"),
        [
            (typed(9, CORRECTION), {}, 1),
            (typed(9, "No, that is", " wrong"), {}, 1),
            (
                completed(
                    9, "HookPrompt", content=[{"type": "text", "text": CORRECTION}]
                ),
                {},
                0,
            ),
            (
                item(
                    9,
                    "message",
                    None,
                    role="user",
                    content=[{"type": "input_text", "text": CORRECTION}],
                ),
                {},
                0,
            ),
            (typed(9, CORRECTION), {"source": {"subagent": "review"}}, 0),
        ],
        ids=["typed", "in-parts", "a-hook", "what-is-sent", "to-a-sub-agent"],
    )
    def test_has_prompts_as_items(
        self, tmp_path: Path, line: Line, keys: Line, corrections: int
    ) -> None:
        assert (
            self.read(tmp_path, *ran(1), line, **keys).get("corrections", 0)
            == corrections
        )

    def test_has_a_prompt_once_where_the_event_is_there_too(
        self, tmp_path: Path
    ) -> None:
        event = codex(9, "event_msg", type="user_message", message=CORRECTION)
        assert (
            self.read(tmp_path, *ran(1), event, typed(9, CORRECTION))["corrections"]
            == 1
        )

    def test_counts_a_call_once(self, tmp_path: Path) -> None:
        ended = completed(
            2,
            "CommandExecution",
            status="failed",
            exit_code=1,
            aggregated_output="1 failed in 1s",
        )
        patch = item(
            3,
            "custom_tool_call",
            "call_2",
            name="apply_patch",
            input="*** Add File: a\n+x\n",
        )
        changed = completed(
            4,
            "FileChange",
            "call_2",
            status="completed",
            changes={"a": {"type": "add"}},
        )
        answered = output(
            5, "Exit code: 0\nOutput:\nok", "call_2", "custom_tool_call_output"
        )
        one, other = ran(1)
        found = self.read(tmp_path, one, ended, other, patch, changed, answered)
        assert (found["calls"], found["runs"], found["edits"]) == (
            2,
            [0],
            ["/work/app/a"],
        )
        assert found["failed"] == [1, 0, 0]  # the second has two, which have one key

    @pytest.mark.parametrize(
        "status", ["failed", "completed", "inProgress", "declined"]
    )
    def test_has_the_verdict_on_a_patch_in_its_item(
        self, tmp_path: Path, status: str
    ) -> None:
        patch = item(
            3,
            "custom_tool_call",
            "call_2",
            name="apply_patch",
            input="*** Add File: a\n+x\n",
        )
        found = self.read(
            tmp_path, patch, completed(4, "FileChange", "call_2", status=status)
        )
        assert found.get("failed") == {"failed": [1], "completed": [0]}.get(status)
        assert ("edits" in found) is (status != "failed")
        # In a program of ``exec`` items have ids of their own, which are no calls.
        assert "failed" not in self.read(
            tmp_path, completed(4, "FileChange", "call_7", status=status)
        )

    @pytest.mark.parametrize("ids", ["call_1", "call_7"])
    def test_has_the_end_of_a_command_that_went_on_in_its_item(
        self, tmp_path: Path, ids: str
    ) -> None:
        given = item(
            1,
            "function_call",
            name="exec_command",
            arguments=json.dumps({"cmd": "pytest"}),
        )
        goes_on = output(2, "Process running with session ID 7\nOutput:\n")
        ended = completed(
            8,
            "CommandExecution",
            ids,
            status="failed",
            exit_code=1,
            aggregated_output="1 failed in 1s",
        )
        found = self.read(tmp_path, given, goes_on, ended)
        assert found.get("failed") == ([1] if ids == "call_1" else None)

    @pytest.mark.parametrize(
        "on", [True, False], ids=["totals-go-on", "totals-begin-anew"]
    )
    def test_that_goes_on_from_another_file_adds_what_is_in_it(
        self, tmp_path: Path, on: bool
    ) -> None:
        base = {"thread_id": "s0", "end_ordinal_exclusive": 40, "end_byte_offset": 9}
        first, second = (
            ((1100, 660, 77), (1200, 720, 84)) if on else ((100, 60, 7), (200, 120, 14))
        )
        spent = [
            tokens(1, counts(*first), counts(100, 60, 7)),
            tokens(2, counts(*second), counts(100, 60, 7)),
        ]
        found = self.read(tmp_path, *spent, history_base=base)
        assert found["turns"] == [(7, 40, 60, 0)] * 2

    @pytest.mark.parametrize(("first", "calls"), [(6, 1), (4, 2), (99, None)])
    def test_of_a_sub_agent_has_its_own_lines_from_where_it_says(
        self, tmp_path: Path, first: int, calls: int | None
    ) -> None:
        source = {"subagent": {"thread_spawn": {"parent_thread_id": "s0"}}}
        before = [*ran(1), tokens(3, counts(100, 60, 7))]
        mine = [
            turn(4, "2"),
            item(
                5,
                "function_call",
                "call_2",
                name="exec_command",
                arguments='{"cmd": "ls"}',
            ),
            tokens(6, counts(150, 90, 9)),
        ]
        one, two, count = before
        lines = [typed(1, CORRECTION), count, one, two, *mine]
        if first == 4:
            lines = [typed(1, CORRECTION), count, one, *mine]
        found = self.read(
            tmp_path, *lines, source=source, subagent_history_start_ordinal=first
        )
        assert found.get("calls") == calls
        assert found.get("turns") == ([(2, 20, 30, 0)] if calls else None)
        assert "corrections" not in found
