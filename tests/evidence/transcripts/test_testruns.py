"""Test runs: which commands are some, and how they ended, by what the tools themselves print."""

import re
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from helpers import tables
from helpers.timing import is_linear

from scoring.evidence.transcripts import testruns
from scoring.evidence.transcripts.commandlines import is_elsewhere
from scoring.evidence.transcripts.shell import commands_of
from scoring.evidence.transcripts.testruns import DATA, LABEL_LIMIT
from scoring.evidence.transcripts.testruns import TestVerdict as Verdict

ROOT = Path(__file__).parents[3]
PRINTED = ROOT / "testdata" / "test_tools"
PAGE = (ROOT / "docs" / "TEST_TOOLS.md").read_text("utf-8")
TABLE = tomllib.loads(DATA.read_text("utf-8"))
TOOLS = testruns.TestTools()
MANIFEST: list[dict[str, Any]] = tomllib.loads((PRINTED / "outputs.toml").read_text("utf-8"))["output"]


def run_of(text: str, tools: testruns.TestTools = TOOLS) -> testruns.TestCommand | None:
    return tools.run_of(commands_of(text), text)


def verdict(text: str, output: str, failed: bool | None = None, tools: testruns.TestTools = TOOLS) -> Verdict:
    run = run_of(text, tools)
    assert run is not None
    found = tools.verdict(run, output, failed)
    assert found is not None
    return found


class Printed(NamedTuple):
    """An output, and what is to be read in it."""

    folder: str
    case: str
    tool: str
    command: str
    exit: int
    read: Verdict

    @property
    def text(self) -> str:
        return (PRINTED / self.folder / f"{self.case}.txt").read_text("utf-8")

    def __str__(self) -> str:
        return f"{self.folder}-{self.case}"


def outputs() -> list[Printed]:
    found: list[Printed] = []
    for output in MANIFEST:
        cases = {name: value for name, value in output.items() if isinstance(value, dict)}
        for case, said in cases.items():
            read: list[Any] = [None if value == "none" else value for value in said["read"]]
            found.append(
                Printed(output["folder"], case, output["tool"], output["command"], said["exit"], Verdict(*read))
            )
    return found


OUTPUTS = outputs()


@pytest.mark.parametrize("printed", OUTPUTS, ids=str)
class TestWhatToolsPrint:
    def test_is_read(self, printed: Printed) -> None:
        run = run_of(printed.command)
        assert run is not None
        assert run.tool == printed.tool
        assert (run.passes, run.fails) == (True, True)
        assert TOOLS.verdict(run, printed.text, None) == printed.read

    @pytest.mark.sampled(6)
    def test_decides_against_the_exit_status(self, printed: Printed) -> None:
        if printed.read.passed is not None:
            found = verdict(printed.command, printed.text, printed.read.passed)
            # A summary of a part of what another tool runs is not the word of that tool.
            assert found == printed.read or (found == Verdict() and printed.tool in ("npm", "rake", "make"))

    @pytest.mark.sampled(6)
    def test_is_read_with_other_line_ends_and_colours_and_behind_a_pipe(self, printed: Printed) -> None:
        coloured = re.sub(r"(\d+) (failed|passed)", "\x1b[1;31m\\1 \\2\x1b[0m", printed.text)
        assert verdict(printed.command, coloured.replace("\n", "\r\n")) == printed.read
        assert verdict(f"{printed.command} 2>&1 | cat", printed.text, False) == printed.read

    @pytest.mark.sampled(6)
    def test_decides_for_a_command_that_runs_an_unknown_tool(self, printed: Printed) -> None:
        assert verdict("make test", printed.text).passed is printed.read.passed


def test_every_file_is_listed() -> None:
    files = {path.relative_to(PRINTED).as_posix() for path in PRINTED.rglob("*.txt")}
    assert files == {f"{printed.folder}/{printed.case}.txt" for printed in OUTPUTS}


WRAPPED = "rtk; rtk test; rtk proxy; env -u A B=1; xvfb-run -a; dotenv -e .env --; dotenv run --; direnv exec .; "
WRAPPED += (
    "nix develop -c; nix develop .#ci --command; docker compose exec -T app; docker compose -f a.yml run --rm app; "
)
WRAPPED += "docker-compose exec -e A=1 app; devbox run --; flox activate --; mise exec --; uv run; poetry run; npx; "
WRAPPED += "arch -arm64; flock -w 9 lock; cross-env A=1; aws-vault exec p --; nix-shell --run"


@pytest.mark.parametrize("wrapper", WRAPPED.split("; "))
def test_a_wrapper_passes_a_command_on(wrapper: str) -> None:
    quote = "'" if wrapper == "nix-shell --run" else ""
    run = run_of(f"{wrapper} {quote}go test ./...{quote}")
    assert run is not None
    assert (run.tool, run.label) == ("go", "go test ./...")
    assert run_of(f"{wrapper} {quote}go vet ./...{quote}") is None
    assert run_of(wrapper.removesuffix(" test")) is None


@pytest.mark.parametrize(("tool", "text"), tables.cases("testruns", "runs"))
def test_a_test_run(tool: str, text: str) -> None:
    run = run_of(text)
    assert run is not None
    assert run.tool == tool
    assert TOOLS.may_run(text)


def test_every_start_in_the_data_is_a_run() -> None:
    for tool in TABLE["tool"]:
        for start in tool["starts"]:
            text = start.replace("...", "other").replace("*", "x")
            run = run_of(text)
            assert run is not None, start
            assert TOOLS.may_run(text), start


@pytest.mark.parametrize("text", tables.cases("testruns", "no runs"))
def test_no_test_run(text: str) -> None:
    assert run_of(text) is None


@pytest.mark.parametrize(("text", "passes", "fails"), tables.cases("testruns", "exit statuses"))
def test_what_the_exit_status_says(text: str, passes: bool, fails: bool) -> None:
    assert verdict(text, "", False) == Verdict(True if passes else None)
    assert verdict(text, "", True) == Verdict(False if fails else None)
    assert verdict(text, "", None) == Verdict()


BROKEN = "error: could not compile `a`"
GO = "go test ./..."
PARTS = "ok  \ta\t0.1s\nok  \tb\t0.1s\n"
PASSED, FAILED, NOTHING = Verdict(True), Verdict(False), Verdict()


@pytest.mark.parametrize(
    ("text", "output", "failed", "found"),
    [
        pytest.param("cargo test", BROKEN, True, FAILED, id="its own compiler"),
        pytest.param("cargo clippy && cargo test", BROKEN + " (lib test)", True, NOTHING, id="another's compiler"),
        pytest.param("mise run test | tail", "[test] ERROR task failed", False, FAILED, id="its own task"),
        pytest.param("mise run lint && mise run test", "[lint] ERROR task failed", True, NOTHING, id="the task before"),
        pytest.param("mise run test && mise run lint", PARTS + "[lint] ERROR task failed", True, PASSED, id="behind"),
        pytest.param("mise run lint && mise run test", "[test] ERROR task failed", True, FAILED, id="a named one"),
        pytest.param("pnpm test | tail", "\u2009ELIFECYCLE\u2009 Test failed.", False, FAILED, id="pnpm's blanks"),
        pytest.param("pnpm test | tail", "the word ELIFECYCLE", False, NOTHING, id="a word of pnpm"),
        pytest.param("pnpm test", "sh: 1: vitest: not found\n ELIFECYCLE  Test failed.", True, NOTHING, id="no tool"),
        pytest.param("npm test", "2 passed in 0.1s", True, NOTHING, id="a part that passed"),
        pytest.param("./scripts/test.sh", "1 failed in 0.1s", False, NOTHING, id="a part that failed, as it should"),
        pytest.param("npx jest | tail", "  \u25cf cart \u203a adds", False, FAILED, id="jest's bullet"),
        pytest.param("npx jest | tail", "  \u25cf Test suite failed to run", False, FAILED, id="jest's suite"),
        pytest.param("npx jest | tail", "  \u25cf Validation Warning:", False, NOTHING, id="another bullet"),
        pytest.param(
            f"{GO} -v | grep -E '^(---|FAIL)'", "--- PASS: TestA (0.1s)", False, Verdict(True), id="PASS, not counted"
        ),
        pytest.param(f"{GO} -v | grep PASS", "--- PASS: TestA (0.1s)", False, NOTHING, id="PASS, failures left out"),
        pytest.param(f"{GO} -v | head -1", "--- PASS: TestA (0.1s)", False, NOTHING, id="PASS, cut"),
        pytest.param(f"{GO} -v | cat", "--- PASS: TestA (0.1s)", False, NOTHING, id="PASS, no end"),
        pytest.param(
            f"{GO} -v | tail", "--- PASS: TestA (0.1s)\nPASS", False, Verdict(True), id="PASS at the end, not counted"
        ),
        pytest.param(f"{GO} | head -9", PARTS, False, PASSED, id="head, all of it"),
        pytest.param(f"{GO} | head -n 2", PARTS, False, NOTHING, id="head, cut"),
        pytest.param(f"{GO} | head -n 2", "ok  \ta\t0.1s\nFAIL\tb\t0.1s", False, FAILED, id="head, a failure"),
        pytest.param(f"{GO} && b | head -n 2", PARTS, False, PASSED, id="head of something else"),
        pytest.param(f"{GO} | grep ok", PARTS, False, NOTHING, id="grep without failures"),
        pytest.param(f"{GO} | grep -E 'ok|FAIL'", PARTS, False, PASSED, id="grep with failures"),
        pytest.param(f"{GO} | grep -v FAIL", PARTS, False, NOTHING, id="grep -v of failures"),
        pytest.param(f"{GO} | grep -v 'no test'", PARTS, False, PASSED, id="grep -v of others"),
        pytest.param(f"{GO} | grep -v 'F.*L'", PARTS, False, NOTHING, id="grep -v of a pattern"),
        pytest.param(f"{GO} | grep -i '^fail\\|ok'", PARTS, False, PASSED, id="grep in any case"),
        pytest.param(f"{GO} | tee log | tail -3", PARTS, False, PASSED, id="tee and tail"),
        pytest.param(f"{GO} | > out", PARTS, False, PASSED, id="read by no command"),
        pytest.param(f"{GO} | grep -c FAIL", "0", False, NOTHING, id="a number"),
        pytest.param(f"{GO} > out; cat out", PARTS, False, PASSED, id="written and shown"),
        pytest.param("go vet; go test", "go: go.mod file not found", True, NOTHING, id="no module"),
        pytest.param("python -m pytest", "python: No module named pytest", True, NOTHING, id="no pytest"),
        pytest.param("make test", "make: *** No rule to make target 'test'.  Stop.", True, NOTHING, id="no target"),
        pytest.param(
            "./scripts/test.sh", "bash: ./scripts/test.sh: No such file or directory", True, NOTHING, id="no file"
        ),
        pytest.param("./scripts/test.sh", "cat: x: No such file or directory", True, FAILED, id="a file of the script"),
        pytest.param(GO, "Exit code 143\nCommand timed out after 2m\n" + PARTS, True, NOTHING, id="out of time"),
        pytest.param(GO, "Exit code 137\n[Request interrupted by user for tool use]", True, NOTHING, id="stopped"),
        pytest.param(GO, "Exit code 1\nboom", True, FAILED, id="an exit code of its own"),
        pytest.param(GO, "Command timed out after 2m\n" + PARTS, False, PASSED, id="a time that a test prints"),
        pytest.param("git commit -m x && " + GO, "FAIL\ta\t0.1s", True, NOTHING, id="a hook before"),
        pytest.param(GO + " && git push", PARTS + "FAIL\ta\t0.1s", True, NOTHING, id="a hook behind, or the run"),
        pytest.param(GO + " && git push", PARTS, False, PASSED, id="a hook behind that says nothing"),
        pytest.param(GO + " && git stash push", PARTS + "FAIL\ta\t0.1s", True, FAILED, id="no hook"),
        pytest.param("pytest -x || pytest -x", "1 failed in 0.1s\n2 passed in 0.1s", False, NOTHING, id="again"),
        pytest.param(
            "pytest -x || pytest -x", "1 failed in 0.1s\n1 failed in 0.1s", True, Verdict(False, None, 1), id="twice"
        ),
        pytest.param("rtk " + GO, "Go test: 4 passed, 1 failed in 2 packages", True, FAILED, id="rtk go"),
        pytest.param("rtk " + GO, "Go test: 4 passed in 2 packages", False, PASSED, id="rtk go, passed"),
        pytest.param(
            "rtk pytest | cat", "Pytest: 4 passed, 0 failed, 1 skipped", False, Verdict(True, 4, 0), id="rtk pytest"
        ),
        pytest.param("rtk vitest run | cat", "PASS (4) FAIL (1)", False, FAILED, id="rtk vitest"),
        pytest.param(
            "rtk cargo test | cat", "cargo test: 4 passed (1 suite, 0.1s)", False, Verdict(True, 4, 0), id="rtk cargo"
        ),
        pytest.param("rtk pytest | cat", "we ran Pytest: 4 passed", False, NOTHING, id="a sentence about rtk's"),
        pytest.param("dart test | cat", "00:03 +0 ~2: All tests skipped.", False, NOTHING, id="dart, skipped"),
        pytest.param("dart test", "No tests ran.", False, NOTHING, id="dart, none"),
        pytest.param("dart test | cat", "he said: All tests passed!", False, NOTHING, id="a sentence about dart's"),
        pytest.param("pytest; echo 2 passed in 1s", "2 passed in 1s\n" * 2, False, NOTHING, id="echo prints it"),
        pytest.param("pytest; echo 12 passed in 1s", "2 passed in 1s", False, Verdict(True, 2, 0), id="another"),
        pytest.param(
            "pytest | cat; echo 1 failed in 1s", "1 failed in 1s", False, Verdict(False, None, 1), id="a failure"
        ),
    ],
)
def test_only_what_is_certain_is_a_verdict(text: str, output: str, failed: bool, found: Verdict) -> None:
    assert verdict(text, output, failed) == found


OWN = {
    "sed": ["sed 's/\\x1b\\[[0-9;]*m//g' | tail", "sed 's/^/  /'", "sed -n '1,40p'"],
    "bytes": ["tail -n 3", "tail -3"],
    "a part of a line": ["grep -A 2 -e passed -e failed", "sort | uniq"],
    "another file": ["cat", "tee log | tail -3; grep passed log", "tail; cat src/a.py", "cat; sed -i s/a/b/ c.txt"],
    "an unknown program": ["xcpretty", "tail; ./show.sh", "tail; git log -1 | cat"],
    "echo": ['cat; echo "exit: ${PIPESTATUS[0]}"', "tail; echo 'all passed'", "cat; echo -e '\\033[1mEnd\\033[0m'"],
}
FOREIGN = {
    "sed": ["sed s/failed/passed/", "sed 's/1 failed, //'", "sed -e 1p -e s/a/b/", "sed 's/\\x1b\\[31m1 failed, //'"],
    "bytes": ["tail -c 19", "tail -19c", "cut -d, -f2", "tr a b"],
    "a part of a line": ["grep -o '2 passed.*'", "rg -r x y", "awk /ok/", "perl -pe s/a/b/", "xargs -I{} cat good"],
    "another file": ["cat good", "tail -3 < good", "grep -e12 good", "cat; tail -1 good", "cat; cat good | tail"],
    "an unknown program": ["./rewrite.py", "python -c 'print(2)'", "while read l; do echo $l; done"],
    "echo": ["cat; printf '2 %s in 0.1s' passed", "cat; printf '%s passed in %ss' 2", "cat; echo 2 'passed in' 0.1s",
             "cat; A='2 passed'; B='in 0.1s'; echo \"$A $B\"", "cat; echo -e '2 \\x70assed in 0.1s'"],
}  # fmt: skip


@pytest.mark.parametrize("what", OWN)
def test_a_passing_summary_is_of_the_run_alone(what: str) -> None:
    text = "2 passed in 0.1s"
    assert {behind: verdict(f"pytest | {behind}", text).passed for behind in OWN[what]} == dict.fromkeys(
        OWN[what], True
    )
    assert {behind: verdict(f"pytest | {behind}", text).passed for behind in FOREIGN[what]} == dict.fromkeys(
        FOREIGN[what]
    )
    assert verdict(f"pytest | {FOREIGN[what][0]}", "1 failed in 0.1s").passed is False


@pytest.mark.parametrize(("own", "foreign"), tables.cases("testruns", "files"))
@pytest.mark.parametrize(("text", "passed"), [("2 passed in 0.1s", True), ("1 failed in 0.1s", False)])
def test_what_a_run_writes_into_a_file_is_known_by_that_file_alone(
    own: str, foreign: str, text: str, passed: bool
) -> None:
    assert (verdict(own, text).passed, verdict(foreign, text).passed) == (passed, None)


@pytest.mark.parametrize(("text", "output", "began"), tables.cases("testruns", "never began"))
def test_a_run_that_never_began_is_none(text: str, output: str, began: bool) -> None:
    run = run_of(text)
    assert (TOOLS.verdict(run, output, True) == Verdict(False, None, 1)) is began
    assert (TOOLS.verdict(run, output, True) is not None) is began


@pytest.mark.parametrize(("text", "elsewhere"), tables.cases("testruns", "places"))
def test_where_a_run_is(text: str, elsewhere: bool | None) -> None:
    run = run_of(text)
    assert run is not None
    homes = ["/Users/a/app/pkg", "/Users/a/app"]
    found = None if run.folder is None else is_elsewhere("/Users/a/app/pkg", run.folder, homes)
    assert found is elsewhere


@pytest.mark.parametrize(
    ("folder", "homes", "elsewhere"),
    [
        pytest.param("cmd", (), False, id="no folder is known"),
        pytest.param("../x", (), True, id="outside of one that is not known"),
        pytest.param("/w/x", (), False, id="any, where none is known"),
        pytest.param("/tmp/x", (), True, id="a temporary one"),
        pytest.param("/tmp/x/cmd", ("/tmp/x",), False, id="a session in a temporary one"),
        pytest.param("/w/appendix", ("/w/app",), True, id="a name that goes on"),
    ],
)
def test_what_is_elsewhere(folder: str, homes: tuple[str, ...], elsewhere: bool) -> None:
    assert is_elsewhere("", folder, homes) is elsewhere


@pytest.mark.parametrize(("text", "output", "found"), tables.cases("testruns", "summaries"))
def test_a_failing_summary_decides_else_a_passing_one(text: str, output: str, found: list[Any]) -> None:
    assert verdict(text, output) == Verdict(*found)


@pytest.mark.parametrize(("text", "output"), tables.cases("testruns", "no summary"))
def test_what_is_no_summary_says_nothing(text: str, output: str) -> None:
    assert verdict(text, output) == Verdict()


@pytest.mark.parametrize(("text", "output"), tables.cases("testruns", "no tests"))
def test_a_run_of_no_tests_passes_nothing(text: str, output: str) -> None:
    assert verdict(text, output, False) == Verdict()
    assert verdict(text, output, True) == Verdict(False)


class TestOwnCommands:
    OWN = testruns.TestTools(["./check", "scripts/verify --all", " "])

    @pytest.mark.parametrize(
        "text",
        ["./check", "check", "cd x && ./check -q", "/work/x/check", "scripts/verify --all a", "timeout 5 ./check"],
    )
    def test_are_test_runs(self, text: str) -> None:
        run = run_of(text, self.OWN)
        assert run is not None
        assert run.tool == "test-commands"
        assert self.OWN.may_run(text)
        assert run_of(text) is None

    def test_may_print_the_summary_of_any_tool(self) -> None:
        assert verdict("./check", "2 passed in 0.1s", tools=self.OWN) == Verdict(True, 2, 0)
        assert verdict("./check", "all good", False, tools=self.OWN) == Verdict(True)


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("pytest -q tests", "pytest -q tests"),
        ("A=secret uv run pytest -k 'a b'", "pytest -k a b"),
        ("pytest " + "tests/some_long_name.py " * 5, "pytest tests/some_long_name.py tests/some_long_name.py …"),
        ("pytest 'a\x1b[31m\nb\u202e'", "pytest a [31m b"),
        ("pytest && echo secret", "pytest"),
    ],
)
def test_the_label_is_the_first_words(text: str, label: str) -> None:
    run = run_of(text)
    assert run is not None
    assert run.label == label
    assert len(run.label) <= LABEL_LIMIT


@pytest.mark.parametrize(
    "piece", ["aTest", "tests/", "(cd x && ", "f() { ", "cd x; ", "if a; then ", "| head -9"], ids=repr
)
def test_the_time_of_a_command_line_is_linear(piece: str) -> None:
    assert is_linear(lambda text: [run_of(f"bash {text}/ ; pytest"), run_of(f"pytest {text}")], piece, 40_000)


# The page


def shown(tool: dict[str, Any]) -> str:
    """Return the row of a tool as the page has it."""
    starts = ", ".join(f"`{start}`" for start in tool["starts"])
    forms = [f"{kind} {len(tool[kind])}" for kind in ("failing", "passing", "empty") if kind in tool]
    forms += ["those of every tool"] if tool.get("runs_any") else []
    sources = {output.get("source", "printed") for output in MANIFEST if output["tool"] == tool["name"]}
    return f"| {tool['name']} | {starts} | {', '.join(forms)} | {', '.join(sorted(sources, reverse=True)) or '-'} |"


def test_the_page_has_the_table() -> None:
    found = re.search(r"<!-- tools -->\n(.*?)<!-- /tools -->", PAGE, re.S)
    assert found
    assert found[1].strip().splitlines()[2:] == [shown(tool) for tool in TABLE["tool"]]
