"""The library: what ``import scoring`` offers, and what it costs."""

import ast
import importlib
import re
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
    alias.asname or alias.name: f"scoring.{node.module}"
    if node.level
    else f"{node.module}"
    for node in STUB.body
    if isinstance(node, ast.ImportFrom)
    for alias in node.names
}

HEAVY = (
    "click",
    "matplotlib",
    "msgspec",
    "pydantic",
    "rich",
    "scoring.api",
    "scoring.cli",
    "yaml",
)


def python(code: str) -> str:
    """Run code in a new Python and return what it prints."""
    command = [sys.executable, "-W", "error", "-c", code]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


class TestNames:
    @pytest.mark.parametrize(("name", "home"), PUBLIC.items())
    def test_are_those_of_their_module_documented_and_typed(
        self, name: str, home: str
    ) -> None:
        value = getattr(
            importlib.import_module(home), name, None
        ) or importlib.import_module(f"{home}.{name}")
        assert getattr(scoring, name) is value
        if isinstance(value, type | types.FunctionType):
            assert value.__doc__
            assert isinstance(value, type) or "return" in typing.get_type_hints(value)

    def test_are_listed_in_all_and_dir(self) -> None:
        assert importlib.import_module("scoring").__all__ == sorted(PUBLIC)
        assert sorted(importlib.import_module("scoring.api").__all__) == sorted(PUBLIC)
        assert set(PUBLIC) <= set(dir(scoring))

    def test_hold_what_the_contract_names(self) -> None:
        wanted = """
            BAND_UNSCORED RUBRIC_VERSION default_rubric load_iteration_log parse_iteration_record
            build_signal_sets assemble_signal_set aggregate_sessions build_persisted_score
            derive_linked_traces_to_outcomes iteration_score_path session_score_path
            read_iteration_score read_session_score write_iteration_score
            write_iteration_score_with_record write_iteration_scores write_session_score
            write_session_scores score_log score_iteration examine_iteration write_scored_log
            summarize_integrity DaScoreError
        """.split()
        assert set(wanted) <= set(PUBLIC)

    def test_all_can_be_imported_at_once(self) -> None:
        assert (
            python(
                "from scoring import *; print(score_log.__module__, len(RUBRIC_VERSION))"
            )
            == "scoring.score 5\n"
        )

    @pytest.mark.parametrize(
        "name", ["score_logs", "_homes_", "__wrapped__", "Path_", ""]
    )
    def test_that_are_unknown_are_an_attribute_error(self, name: str) -> None:
        with pytest.raises(
            AttributeError, match=f"^module 'scoring' has no attribute '{name}'$"
        ):
            getattr(scoring, name)
        assert not hasattr(scoring, name)

    def test_of_errors_have_one_root(self) -> None:
        errors = [
            value
            for name in PUBLIC
            if name.endswith("Error") and (value := getattr(scoring, name))
        ]
        raised = [
            name
            for name, kind in vars(scoring.errors).items()
            if isinstance(kind, type) and name[-5:] == "Error"
        ]
        assert sorted(error.__name__ for error in errors) == sorted(raised)
        assert all(issubclass(error, DaScoreError) for error in errors)


@pytest.mark.parametrize(
    ("code", "allowed"),
    [
        pytest.param("import scoring", [], id="the import alone"),
        pytest.param(
            "import scoring; scoring.score_log",
            ["msgspec", "pydantic", "yaml", "scoring.api"],
            id="a name",
        ),
        pytest.param(
            "from scoring.cli import main; main(['--version'])",
            ["click", "msgspec", "scoring.cli"],
            id="a command",
        ),
    ],
)
def test_what_is_heavy_is_loaded_where_it_is_used(
    code: str, allowed: list[str]
) -> None:
    said = python(
        f"import sys; {code}; print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    assert set(ast.literal_eval(said.splitlines()[-1])) <= set(allowed)


def test_the_example_of_the_module_is_that_of_the_library() -> None:
    names = {
        line.split("import ")[1]
        for line in (scoring.__doc__ or "").splitlines()
        if "import " in line
    }
    assert names == {"score_log"}


def test_rubric_imports_nothing_of_scoring() -> None:
    code = (
        "import sys, rubric; "
        "print([name for name in sys.modules if name.partition('.')[0] == 'scoring'])"
    )
    assert python(code) == "[]\n"
    texts = [
        path.read_text("utf-8") for path in Path(rubric.__file__).parent.rglob("*.py")
    ]
    assert not [
        text for text in texts if re.search(r"^\s*(from|import) scoring\b", text, re.M)
    ]
