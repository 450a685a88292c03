"""The library: what ``import scoring`` offers, and what it costs."""

import ast
import importlib
import subprocess
import sys
import types
import typing
from pathlib import Path

import pytest

import rubric
import scoring
import scoring.errors
from scoring import DaScoreError

STUB = ast.parse(Path(scoring.__file__).with_name("api.py").read_text("utf-8"))
PUBLIC = {
    alias.asname or alias.name: node.module or ""
    for node in STUB.body
    if isinstance(node, ast.ImportFrom)
    for alias in node.names
}

HEAVY = ("msgspec", "yaml", "rich", "click", "pydantic", "matplotlib")


def python(code: str) -> str:
    """Run code in a new Python and return what it prints."""
    command = [sys.executable, "-W", "error", "-c", code]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


class TestNames:
    @pytest.mark.parametrize(("name", "home"), PUBLIC.items())
    def test_can_be_imported_and_are_those_of_their_module(self, name: str, home: str) -> None:
        found = getattr(importlib.import_module(home), name, None) or importlib.import_module(f"{home}.{name}")
        assert getattr(scoring, name) is found

    def test_are_listed_in_all_and_dir(self) -> None:
        assert importlib.import_module("scoring").__all__ == sorted(PUBLIC)
        assert set(PUBLIC) <= set(dir(scoring))

    def test_hold_what_the_contract_names(self) -> None:
        wanted = """
            BAND_UNSCORED RUBRIC_VERSION default_rubric load_iteration_log parse_iteration_record build_signal_sets
            assemble_signal_set aggregate_sessions build_persisted_score derive_linked_traces_to_outcomes
            iteration_score_path session_score_path read_iteration_score read_session_score write_iteration_score
            write_iteration_score_with_record write_iteration_scores write_session_score write_session_scores
            score_log score_iteration examine_iteration write_scored_log summarize_integrity DaScoreError
        """.split()  # noqa: SIM905 - a list of names reads better without quotes
        assert set(wanted) <= set(PUBLIC)

    def test_are_re_exported_under_their_own_names(self) -> None:
        for node in STUB.body:
            if isinstance(node, ast.ImportFrom):
                assert all(alias.asname == alias.name for alias in node.names), "a type checker sees only 'x as x'"

    @pytest.mark.slow
    def test_all_can_be_imported_at_once(self) -> None:
        assert python("from scoring import *; print(score_log.__module__, len(RUBRIC_VERSION))") == "scoring.score 5\n"

    @pytest.mark.parametrize("name", ["score_logs", "_homes_", "__wrapped__", "Path_", ""])
    def test_that_are_unknown_are_an_attribute_error(self, name: str) -> None:
        with pytest.raises(AttributeError, match=f"^module 'scoring' has no attribute '{name}'$"):
            getattr(scoring, name)
        assert not hasattr(scoring, name)

    def test_that_are_unknown_cannot_be_imported(self) -> None:
        with pytest.raises(ImportError, match="cannot import name 'score_logs' from 'scoring'"):
            exec("from scoring import score_logs")

    @pytest.mark.parametrize("name", sorted(PUBLIC))
    def test_are_documented_and_typed(self, name: str) -> None:
        value = getattr(scoring, name)
        if isinstance(value, type | types.FunctionType):
            assert value.__doc__
            assert isinstance(value, type) or "return" in typing.get_type_hints(value)

    def test_of_errors_have_one_root(self) -> None:
        errors = [value for name in PUBLIC if name.endswith("Error") and (value := getattr(scoring, name))]
        raised = [
            name for name, kind in vars(scoring.errors).items() if isinstance(kind, type) and name[-5:] == "Error"
        ]
        assert sorted(error.__name__ for error in errors) == sorted(raised)
        assert all(issubclass(error, DaScoreError) for error in errors)

    def test_of_rubric_are_the_same_there(self) -> None:
        assert scoring.Score is rubric.Score
        assert scoring.default_rubric() is rubric.default_rubric()


class TestCost:
    def test_of_the_import_alone_is_nothing_heavy(self) -> None:
        code = f"import sys; import scoring; print([name for name in {HEAVY!r} if name in sys.modules])"
        assert python(code) == "[]\n"

    @pytest.mark.slow
    def test_of_a_name_is_the_library_without_the_command_line(self) -> None:
        code = """
import sys, scoring
scoring.score_log
print([name for name in ("rich", "click", "scoring.cli", "scoring.api") if name in sys.modules])
"""
        assert python(code) == "['scoring.api']\n"

    @pytest.mark.slow
    def test_is_not_paid_by_a_command(self) -> None:
        code = """
import sys
from scoring.cli import main
main(["--version"])
print("scoring.api" in sys.modules)
"""
        assert python(code).endswith("False\n")

    def test_is_paid_once(self) -> None:
        scoring.score_log  # noqa: B018 - the first use loads it
        assert "score_log" in vars(scoring)


@pytest.mark.slow
def test_the_quick_example_works(tmp_path: Path) -> None:
    code = f"""
from pathlib import Path
from scoring import build_demo, read_iteration_score, score_log, write_scored_log

demo = build_demo(Path({str(tmp_path / "demo")!r}))
log = score_log(demo.iter_log_dir, demo.repo_dir, *demo.transcript_dirs)
for item in log.iterations[:3]:
    print(f"{{item.score.iteration}}  {{item.score.value:.3f}}  {{item.score.band:<9}}  {{item.score.coverage}}")
lowest = min(log.iterations, key=lambda item: item.score.value)
print({{row.signal: round(row.contribution, 3) for row in lowest.score.breakdown if row.present}})
iterations, sessions = write_scored_log(demo.iter_log_dir, log)
print(len(iterations), len(sessions), read_iteration_score(demo.iter_log_dir, 3) == log.iterations[2].persisted)
"""
    assert python(code) == (
        "1  1.000  excellent  5 of 7 signals, 81.0 % of the weight\n"
        "2  0.500  fair       2 of 7 signals, 26.0 % of the weight\n"
        "3  0.933  excellent  7 of 7 signals, 100.0 % of the weight\n"
        "{'landed': 0.0, 'verifier': 0.045, 'tests': 0.085, 'correction_pressure': 0.019, 'scope': 0.065, "
        "'hook_outcomes': 0.0, 'token_efficiency': 0.074}\n"
        "9 2 True\n"
    )


def test_the_example_of_the_module_is_that_of_the_library() -> None:
    names = {line.split("import ")[1] for line in (scoring.__doc__ or "").splitlines() if "import " in line}
    assert names == {"score_log"}


def test_rubric_imports_nothing_of_scoring() -> None:
    code = "import sys, rubric; print([name for name in sys.modules if name.partition('.')[0] == 'scoring'])"
    assert python(code) == "[]\n"
    source = Path(rubric.__file__).parent
    imports = [
        node.module or ""
        for path in source.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.ImportFrom)
    ]
    assert not [module for module in imports if module.partition(".")[0] == "scoring"]
