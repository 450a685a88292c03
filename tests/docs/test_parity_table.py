"""The parity page names everything that the reference exports, and what it names exists."""

import ast
import functools
import json
import math
import re
from pathlib import Path

import pytest
from helpers.commands import DaScore
from helpers.names import look_up
from helpers.pages import block, quoted, table
from helpers.repos import Repo

from scoring import (
    TOKEN_EFFICIENCY,
    ScoredLog,
    SignalValue,
    absent_signal,
    present_signal,
    score_log,
    write_scored_log,
)

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "PARITY.md").read_text("utf-8")

NAMES = json.loads((ROOT / "testdata" / "reference_names.json").read_text("utf-8"))
"""What the reference exports: names by kind, and structs with their exported fields."""

CONSTANTS, FUNCTIONS, METHODS, TEXT_TYPES, STRUCTS = NAMES.values()
FIELDS = [f"{struct}.{field}" for struct, fields in STRUCTS.items() for field in fields]


def counterparts(kind: str) -> list[tuple[str, str]]:
    """Return the reference's names and ours of every row of a block."""
    rows = table(block(PAGE, kind))
    return [
        (name.strip("`"), ours.strip("`"))
        for theirs, ours, _ in rows
        for name in theirs.split(", ")
    ]


SAME = re.findall(
    r"`([\w.]+)`", PAGE.partition("<!-- same -->")[2].partition("<!-- /same -->")[0]
)
OUR_FIELDS = dict(counterparts("fields"))


def snake(name: str) -> str:
    """Spell a Go name as Python does: words, initials (``ID``) and digits stand alone."""
    return "_".join(re.findall(r"[A-Z]+(?![a-z])|[A-Z][a-z]*|[0-9]+", name)).lower()


def by_the_rule(name: str) -> str:
    """Return what a name of the reference is called here. Types keep their names."""
    if name in CONSTANTS:
        return snake(name.removeprefix("Signal")).upper()
    return (
        name
        if name in {*STRUCTS, *TEXT_TYPES}
        else re.sub(r"\w+$", lambda m: snake(m[0]), name)
    )


OURS = {name: f"scoring.{by_the_rule(name)}" for name in SAME} | dict(
    counterparts("names")
)


def test_every_exported_name_of_the_reference_is_listed_once_and_ours_exists() -> None:
    listed = [*SAME, *(theirs for theirs, _ in counterparts("names"))]
    assert sorted(listed) == sorted(
        [*CONSTANTS, *FUNCTIONS, *METHODS, *TEXT_TYPES, *STRUCTS]
    )
    assert [
        ours for ours in (*OURS.values(), *OUR_FIELDS.values()) if look_up(ours) is None
    ] == []
    assert {callable(look_up(OURS[name])) for name in CONSTANTS} == {False}
    assert {callable(look_up(OURS[name])) for name in FUNCTIONS} == {True}


def test_names_follow_the_rule_except_for_the_one_type_that_python_has_itself() -> None:
    types = {*STRUCTS, *TEXT_TYPES}
    named = [
        name
        for name in (*FUNCTIONS, *METHODS, *types)
        if not name.startswith("OptionalBool")
    ]
    assert {name: OURS[name] for name in named} == {
        name: f"scoring.{by_the_rule(name)}" for name in named
    }


def test_every_field_of_the_reference_is_a_field_of_ours_or_has_its_row() -> None:
    pairs = [(name, *name.split(".")) for name in FIELDS if name not in OUR_FIELDS]
    assert [
        name
        for name, struct, field in pairs
        if not hasattr(look_up(OURS[struct]), snake(field))
    ] == []
    assert set(OUR_FIELDS) <= set(FIELDS)


@pytest.mark.parametrize(
    ("ours", "same_options", "differences"),
    [row[1:] for row in table(block(PAGE, "commands"))],
)
def test_a_command_that_stands_for_one_of_the_reference_exists_and_so_do_its_options(
    ours: str, same_options: str, differences: str, da_score: DaScore
) -> None:
    """``da-score log entry new N``: words name the command, and capitals stand for values."""
    words = re.findall(r"[a-z-]+", ours.strip("`").removeprefix("da-score "))
    shown = da_score(*words, "--help")
    assert shown.status == 0
    assert f"Usage: da-score {' '.join(words)} " in shown.out

    renamed = re.findall(r"`--[a-z-]+` is (`--[a-z-]+`)", differences)
    options = [*quoted(same_options), *(option.strip("`") for option in renamed)]
    known = set(re.findall(r"--[a-z-]+", shown.out))
    assert [option for option in options if option not in known] == []


@functools.cache
def named_in(file: Path) -> set[str]:
    """Return the names of the functions in a file of tests, those in classes as ``Class::name``."""
    found = set()
    for node in ast.parse(file.read_text("utf-8")).body:
        if isinstance(node, ast.FunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.ClassDef):
            found |= {
                f"{node.name}::{inner.name}"
                for inner in node.body
                if isinstance(inner, ast.FunctionDef)
            }
    return found


def test_every_difference_is_held_by_tests_that_exist() -> None:
    faults = []
    rows = table(block(PAGE, "differences"))
    assert len(rows) >= 12
    for difference, _, held_by in rows:
        named: list[tuple[str, str]] = re.findall(
            r"`(tests/[\w/]+\.py)::([\w:]*test_\w+)`", held_by
        )
        faults += [difference] * (not named)
        faults += [
            f"{file}::{test}"
            for file, test in named
            if test not in named_in(ROOT / file)
        ]
    assert faults == []


# Two differences, from a log on disk to what is written


@pytest.fixture
def log_dir(repo: Repo) -> Path:
    """The directory of a log without entries, in a repository with one commit."""
    directory = repo.path / ".agents" / "active" / "iteration-log"
    directory.mkdir(parents=True)
    repo.commit({"file": "text"})
    return directory


def written(
    log_dir: Path, repo: Repo, entry: str
) -> tuple[list[str], list[str], ScoredLog]:
    """Score a log of one entry, and return the session sidecars' names, warnings and scores."""
    (log_dir / "iter-1.yaml").write_text(
        f"schema_version: 2\niteration: 1\ncommit: {repo.head()}\n{entry}", "utf-8"
    )
    warnings: list[str] = []
    log = score_log(log_dir, repo.path)
    iterations, sessions = write_scored_log(log_dir, log, warnings.append)
    assert [path.name for path in iterations] == ["iter-1.score.yaml"]
    assert {path.name for path in log_dir.iterdir()} == {
        "iter-1.yaml",
        *(p.name for p in (*iterations, *sessions)),
    }
    return [path.name for path in sessions], warnings, log


NOT_A_NUMBER = absent_signal("native session_tokens: cache_hit_rate is not a number")


@pytest.mark.parametrize(
    ("rate", "expected"),
    [
        (".nan", NOT_A_NUMBER),
        (".inf", NOT_A_NUMBER),
        ("-.inf", NOT_A_NUMBER),
        ("-0.0", present_signal(0, "native session_tokens: cache_hit_rate -0.000")),
        ("0.5", present_signal(0.5, "native session_tokens: cache_hit_rate 0.500")),
        ("-3", present_signal(0, "native session_tokens: cache_hit_rate -3.000")),
        ("3", present_signal(1, "native session_tokens: cache_hit_rate 3.000")),
    ],
)
def test_a_cache_hit_rate_that_is_no_finite_number_is_absent(
    log_dir: Path, repo: Repo, rate: str, expected: SignalValue
) -> None:
    _, _, log = written(log_dir, repo, f"session_tokens: {{cache_hit_rate: {rate}}}\n")
    (iteration,) = log.iterations
    assert iteration.signals.value(TOKEN_EFFICIENCY) == expected
    assert math.isfinite(iteration.score.value)
    rows = iteration.score.breakdown
    assert not [
        n
        for row in rows
        for n in (row.sub_score, row.contribution)
        if math.copysign(1, n) < 0
    ]
