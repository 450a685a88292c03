"""What the page on the architecture names exists, and each of its recipes is complete."""

import re
from pathlib import Path

import pytest
from helpers.names import look_up
from helpers.pages import quoted, section

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "ARCHITECTURE.md").read_text("utf-8")

RECIPES = {
    "A signal",
    "A rubric",
    "A harness",
    "A test tool",
    "An agent",
    "An evidence rule",
    "An outcome",
    "A gate",
    "A format",
    "A column",
    "A setting",
    "A command",
}


QUOTED = sorted(set(quoted(PAGE)))
PATHS = [
    text
    for text in QUOTED
    if re.fullmatch(
        r"(scoring|rubric|tests|docs|benchmarks|testdata|scripts)/[\w/.*-]*", text
    )
]
NAMES = [text for text in QUOTED if re.fullmatch(r"(scoring|rubric)(\.\w+)+", text)]
PICTURE = re.findall(r"\b(?:scoring|rubric)/[\w/]+", section(PAGE, "The picture"))


def test_paths_and_names_exist() -> None:
    assert [path for path in [*PATHS, *PICTURE] if not list(ROOT.glob(path))] == []
    assert [name for name in NAMES if look_up(name) is None] == []


@pytest.mark.parametrize("name", ["scoring.nothing", "rubric.registry.nothing"])
def test_a_name_that_does_not_exist_would_be_noticed(name: str) -> None:
    assert look_up(name) is None


def test_a_constant_that_a_recipe_names_is_in_the_file_that_it_names() -> None:
    found = re.findall(r"`([A-Z_]{4,})`(?: in| of) `(\w[\w/.]+\.py)`", PAGE)
    assert found
    assert [
        (name, path)
        for name, path in found
        if not re.search(rf"^{name}\b", (ROOT / path).read_text("utf-8"), re.M)
    ] == []


def test_the_way_from_the_command_to_the_sidecar_opens_at_most_eight_files() -> None:
    steps = re.findall(r"^(\d)\. `([^`]+)`", section(PAGE, "The way of the data"), re.M)
    assert [int(number) for number, _ in steps] == list(range(1, len(steps) + 1))
    assert steps[0][1] == "scoring/cli/run.py"
    assert len(steps) <= 8


def test_every_recipe_is_there() -> None:
    assert set(re.findall(r"^### (.+)$", section(PAGE, "Recipes"), re.M)) == RECIPES


@pytest.mark.parametrize("title", sorted(RECIPES))
def test_a_recipe_says_which_file_which_line_what_shows_up_and_which_test(
    title: str,
) -> None:
    leads = re.findall(r"^- \*\*(.+?):\*\*", section(PAGE, title), re.M)
    assert leads == ["File", "Line", "Shows up in", "Test"]
    assert re.search(
        r"^- \*\*Test:\*\* `tests/[\w/]+\.py`$", section(PAGE, title), re.M
    )
