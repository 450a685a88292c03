"""Claude Code: which lines are one response, which one counts, and what the others say."""

import json
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from helpers.harness_lines import (
    ALWAYS,
    Line,
    cases,
    claude,
    read,
    response,
    result,
    summary,
    use,
    window,
    write,
)
from helpers.sessions import events_of, put
from helpers.sessions import seen as seen_in

from scoring.evidence.commands.objective_flags import CallFlag
from scoring.evidence.transcripts.events import CommitMade


def facts(root: Path, *lines: Line | bytes) -> tuple[int, ...]:
    write(root / "t" / "s.jsonl", *lines)
    return summary(read(root / "t")[0][0])


def outputs(root: Path, *lines: Line | bytes) -> tuple[int, int]:
    """Turns and output tokens."""
    found = facts(root, *lines)
    return found[0], found[2]


def shown_in(root: Path, *lines: Line | bytes) -> CallFlag:
    write(root / "t" / "s.jsonl", *lines)
    (facts,) = read(root / "t")[0]
    assert facts.covered
    return facts.shows


def skipped(root: Path, *lines: Line | bytes) -> dict[str, int]:
    write(root / "t" / "s.jsonl", *lines)
    return read(root / "t")[1].lines_skipped


class TestResponse:
    @cases(
        "lines, expected",
        {
            "once however many blocks it has": (
                [response(n) for n in (1, 2, 3)],
                (1, 10),
            ),
            "another id": ([response(1), response(2, "msg_2", "req_2")], (2, 20)),
            "another request": ([response(1), response(2, "msg_1", "req_2")], (2, 20)),
            "no request: known by its id": (
                [response(n, "msg_1", None) for n in (1, 2)],
                (1, 10),
            ),
            "no request: copy of one that has one": (
                [response(1, "msg_1", None, output=30), response(2)],
                (1, 30),
            ),
            "no id: every time": ([response(n, None, None) for n in (1, 2)], (2, 20)),
            "a request alone: every time": (
                [response(1, None), response(2, None)],
                (2, 20),
            ),
            "the largest": (
                [response(n, output=out) for n, out in ((1, 1), (2, 400), (3, 40))],
                (1, 400),
            ),
            "says it is no error": ([response(1, isApiErrorMessage=False)], (1, 10)),
        },
    )
    def test_counts(
        self, tmp_path: Path, lines: list[Line], expected: tuple[int, int]
    ) -> None:
        assert outputs(tmp_path, *lines) == expected

    def test_counts_once_in_all_files(self, tmp_path: Path) -> None:
        for name, output in (("a", 10), ("b", 12), ("sub/c", 11)):
            write(
                tmp_path / "t" / f"{name}.jsonl",
                response(1, output=output),
                response(2, output=output),
            )
        (found,), survey = read(tmp_path / "t")
        assert (found.turns, found.output_tokens) == (1, 12)
        assert [h.duplicates_dropped for h in survey.harnesses] == [5]

    @cases(
        "line",
        {
            "synthetic": response(1, message={"model": "<synthetic>"}),
            "API error": response(1, isApiErrorMessage=True),
            "without usage": claude(1, message={"usage": None}),
            "of another type": response(1, kind="system"),
            "nested": {
                "type": "progress",
                "timestamp": "2026-04-12T00:00:00Z",
                "data": response(1),
            },
        },
    )
    def test_that_is_none_does_not_count(self, tmp_path: Path, line: Line) -> None:
        assert facts(tmp_path, line) == (0,) * 7


def side(second: float, request: str | None, **keys: Any) -> Line:
    return response(second, "msg_1", request, isSidechain=True, **keys)


class TestSidechain:
    @pytest.mark.parametrize(
        "lines", list(permutations([response(1), side(2, "req_2"), side(3, "req_3")]))
    )
    def test_copy_is_the_response_of_the_main_line_whatever_it_was_asked_by(
        self, tmp_path: Path, lines: tuple[Line, ...]
    ) -> None:
        assert outputs(tmp_path, *lines) == (1, 10)

    def test_copies_alone_are_told_apart_by_their_request(self, tmp_path: Path) -> None:
        assert outputs(
            tmp_path, side(1, "req_2"), side(2, "req_3"), side(3, "req_3")
        ) == (2, 20)

    @pytest.mark.parametrize("turned", [False, True])
    def test_copy_with_the_same_output_gives_way(
        self, tmp_path: Path, turned: bool
    ) -> None:
        lines = response(1, reads=5), side(2, "req_2", reads=9_000)
        assert facts(tmp_path, *lines[:: -1 if turned else 1])[3] == 5

    def test_copy_with_more_output_does_not(self, tmp_path: Path) -> None:
        assert facts(
            tmp_path, response(1, reads=5), side(2, "req_2", reads=9_000, output=11)
        )[2:4] == (11, 9_000)


ODD: Any = ["text", result(), None]


class TestToolCall:
    @cases(
        "lines, expected",
        {
            "by its result": (
                [
                    claude(
                        1,
                        result(is_error=True),
                        result("toolu_2"),
                        result("toolu_3", is_error=None),
                        kind="user",
                    )
                ],
                (3, 1),
            ),
            "without an id every time": (
                [claude(n, result(None, is_error=True), kind="user") for n in (1, 2)],
                (2, 2),
            ),
            "text holds none": (
                [
                    response(
                        1,
                        message={
                            "content": '[{"type": "tool_result", "tool_use_id": "x"}]'
                        },
                    )
                ],
                (0, 0),
            ),
            "text among the content is passed over": (
                [claude(1, *ODD, kind="user")],
                (1, 0),
            ),
        },
    )
    def test_counts(
        self, tmp_path: Path, lines: list[Line], expected: tuple[int, int]
    ) -> None:
        assert facts(tmp_path, *lines)[5:] == expected


HIDDEN = "toolu_[REDACTED]"
REFUSAL = "The user doesn't want to proceed with this tool use."


def seen(root: Path, *lines: Line) -> dict[str, Any]:
    return seen_in(events_of(put(root / "s.jsonl", *lines), "claude"))


def answered(second: float, name: str | None = "toolu_1", **keys: Any) -> Line:
    return claude(second, result(name, **keys), kind="user")


class TestCallWithAHiddenId:
    def test_finds_its_result(self, tmp_path: Path) -> None:
        run = response(1, "msg_1", "req_1", use("Bash", HIDDEN, command="pytest"))
        found = seen(
            tmp_path, run, answered(2, HIDDEN, content="1 failed in 1s", is_error=True)
        )
        assert (found["runs"], found["failed"]) == ([False], [True])

    @pytest.mark.parametrize("failed", [True, False])
    def test_is_an_edit_unless_it_failed(self, tmp_path: Path, failed: bool) -> None:
        given = {"file_path": "a.py", "old_string": "a", "new_string": "b"}
        edit = response(1, "msg_1", "req_1", use("Edit", HIDDEN, **given))
        found = seen(tmp_path, edit, answered(2, HIDDEN, is_error=failed))
        assert found.get("edits", []) == ([] if failed else ["/work/app/a.py"])

    @pytest.mark.parametrize("failed", [True, False])
    def test_is_no_edit_where_a_hook_refused_it(
        self, tmp_path: Path, failed: bool
    ) -> None:
        write = response(
            1, "msg_1", "req_1", use("Write", HIDDEN, file_path="a.py", content="x")
        )
        text = (
            "PreToolUse:Write hook error: [check]: no such file here" if failed else ""
        )
        found = seen(
            tmp_path, write, answered(2, HIDDEN, content=text, is_error=failed)
        )
        assert found.get("edits", []) == ([] if failed else ["/work/app/a.py"])


class TestRefusal:
    def test_leaves_the_result_that_came_before(self, tmp_path: Path) -> None:
        run = response(1, "msg_1", "req_1", use("Bash", command="ls"))
        refused = answered(3, content=REFUSAL, is_error=True)
        found = seen(tmp_path, run, answered(2), refused)
        assert ("calls" in found, found["failed"]) == (False, [False])

    def test_without_an_id_is_of_all_calls_without_one(self, tmp_path: Path) -> None:
        call = {"type": "tool_use", "name": "Grep", "input": {}}
        lines = [response(n, f"msg_{n}", "req_1", call) for n in (1, 2)]
        refused = answered(3, None, content=REFUSAL, is_error=True)
        assert seen(tmp_path, *lines)["calls"] == 2
        assert "calls" not in seen(tmp_path, *lines, refused)


class TestArgument:
    def test_of_a_command_names_no_folder(self, tmp_path: Path) -> None:
        given = {"command": "git commit -m x", "cwd": "/elsewhere"}
        run = response(1, "msg_1", "req_1", use("Bash", **given))
        done = answered(2, content="[main 5f0c2aa] x\n 1 file changed")
        events = events_of(put(tmp_path / "s.jsonl", run, done), "claude")
        (made,) = events.of(CommitMade)
        assert made.folder == events.texts.index("/work/app")

    def test_of_an_edit_is_its_file_under_its_own_name_alone(
        self, tmp_path: Path
    ) -> None:
        edit = response(1, "msg_1", "req_1", use("Write", path="a.py", content="x"))
        assert "edits" not in seen(tmp_path, edit, answered(2))


class TestCheck:
    @pytest.mark.parametrize(
        ("item", "shown"),
        [
            pytest.param(use("Bash", command="ls"), CallFlag.SHELL, id="a command"),
            pytest.param(
                use("Bash", command="cd x && uv run pytest -q"),
                CallFlag.SHELL | CallFlag.TESTS,
                id="tests",
            ),
            pytest.param(
                use("Bash", command="cat .agents/loop-state.md"),
                CallFlag.SHELL | CallFlag.LOOP_STATE,
                id="cat loop state",
            ),
            pytest.param(
                use("Bash", command="echo x > loop-state.md"),
                CallFlag.SHELL,
                id="writes the loop state",
            ),
            pytest.param(use("Bash"), CallFlag.SHELL, id="no command"),
            pytest.param(
                {"type": "tool_use", "id": "a", "name": "Bash"},
                CallFlag.SHELL,
                id="no input",
            ),
            pytest.param(
                use("Bash", command=["pytest"]),
                CallFlag.SHELL | CallFlag.TESTS,
                id="a command in words",
            ),
            pytest.param(
                use("Bash", command=5), CallFlag.SHELL, id="a command of another type"
            ),
            pytest.param(
                use("Read", file_path="/x/loop-state.md"),
                CallFlag.LOOP_STATE,
                id="loop state",
            ),
            pytest.param(
                use("Read", file_path="/x/loop-state.md.bak"),
                CallFlag.NOTHING,
                id="another file",
            ),
            pytest.param(
                use("Grep", command="pytest", file_path="loop-state.md"),
                CallFlag.NOTHING,
                id="another tool",
            ),
            pytest.param(
                {"type": "text", "name": "Bash", "input": {"command": "pytest"}},
                CallFlag.NOTHING,
                id="no tool",
            ),
        ],
    )
    def test_of_an_item(self, tmp_path: Path, item: Line, shown: CallFlag) -> None:
        assert shown_in(tmp_path, response(1, "msg_1", "req_1", item)) == shown

    def test_belongs_to_the_earliest_copy_of_the_call(self, tmp_path: Path) -> None:
        for name, second in (("a", 50), ("b", 1)):
            write(
                tmp_path / "t" / f"{name}.jsonl",
                response(second, "msg_1", "req_1", use("Bash", command="pytest")),
            )
        early, late = read(tmp_path / "t", [window(None, 5), window(5, 60)])[0]
        assert CallFlag.TESTS in early.shows
        assert (late.covered, late.shows) == (True, CallFlag.NOTHING)


class TestLine:
    def test_is_skipped_by_a_reason(self, tmp_path: Path) -> None:
        lines = (
            b"{not json",
            b"[]",
            b"42",
            json.dumps(response(1, output=1.5)).encode(),  # type: ignore[arg-type]
            json.dumps(response(1, output=-1)).encode(),
            json.dumps(response(1, output=1 << 60)).encode(),
            json.dumps(response(1, output=True)).encode(),
            {"type": "summary", "leafUuid": "x"},
            response(1, timestamp="yesterday"),
            response(1, message={"model": "<synthetic>"}),
            b'{"sessionId": "s", "message": ' + b"[" * 5_000 + b"]" * 5_000 + b"}",
            b"",
        )
        assert skipped(tmp_path, *lines, response(2)) == {
            "API error or other words of the harness": 1,
            "a field of another type": 6,
            "nested too deep": 1,
            "no time stamp": 1,  # what Claude Code notes for itself has none
            "not JSON": 1,
        }
        assert read(tmp_path / "t")[0][0].turns == 1

    def test_that_is_half_written_is_told_apart(self, tmp_path: Path) -> None:
        path = write(tmp_path / "t" / "s.jsonl", response(1))
        with path.open("ab") as file:
            file.write(b'{"type": "assis')
        assert read(tmp_path / "t")[1].lines_skipped == {"half-written last line": 1}

    def test_belongs_to_the_session_it_names(self, tmp_path: Path) -> None:
        write(
            tmp_path / "t" / "s.jsonl",
            response(1),
            response(2, "msg_2", agentId="a", isSidechain=True),
        )
        write(tmp_path / "t" / "u.jsonl", response(3, "msg_3", sessionId="s2"))
        (share,) = read(tmp_path / "t", [ALWAYS])[0][0].harnesses
        assert (share.name, share.sessions, share.files) == ("claude", 2, 2)
