"""The samples of harnesses next to the project: each holds what its page says."""

from pathlib import Path
from typing import Any

import pytest
from helpers.sessions import read_under, seen
from helpers.story import FOUND, UNCACHED

from scoring.evidence.harnesses.harness import Home
from scoring.evidence.harnesses.readers import HARNESSES

SAMPLES = Path(__file__).parents[4] / "shared/real/harnesses"
FOLDER = "/home/mira/src/cart/src"
WHOLE = {
    name: found for name, found in FOUND.items() if name not in ("corrections", "edits")
}
WITHOUT_TOKENS = {name: found for name, found in WHOLE.items() if name != "tokens"}

DIFFERENT: dict[str, dict[str, Any]] = {
    "gemini": WHOLE | {"tokens": UNCACHED},
    "qwen": WHOLE | {"tokens": UNCACHED, "breaks": ["refusal"]},
    "amp": WHOLE,
    "copilot": WITHOUT_TOKENS | {"unknown": 9, "stated": [(495, 2745, 27450, 225)]},
    "pi": WHOLE
    | {"responses": 8, "breaks": ["interruption"], "tokens": (438, 2438, 24380, 198)},
    "antigravity": WHOLE | {"tokens": UNCACHED, "breaks": ["refusal"]},
    "antigravity-new": WHOLE | {"tokens": UNCACHED, "breaks": ["refusal"]},
    "cline": WHOLE | {"breaks": ["refusal"]},
    "goose": WHOLE | {"breaks": ["refusal"]},
    "kimi-code": WHOLE,
    "cowork": WHOLE,
    "opencode": WHOLE,
    "opencode-export": WHOLE,
    "opencode-files": {
        "responses": 4,
        "calls": 4,
        "failed": [0, 0, 1, 0],
        "runs": [0],
        "tokens": (210, 1210, 12100, 90),
    },
    "kilo": WHOLE,
    "droid": {name: found for name, found in WITHOUT_TOKENS.items() if name != "breaks"}
    | {"responses": 8, "unknown": 8, "stated": [(438, 2438, 24380, 198)]},
    "cursor": {
        "responses": 9,
        "unknown": 9,
        "calls": 8,
        "breaks": ["interruption"],
        "runs": [None, None],
        "commits": [""],
    },
}
"""What is in the session of each harness; where a harness writes less, that is left out."""


@pytest.mark.skipif(not SAMPLES.is_dir(), reason="they are not in the project")
@pytest.mark.parametrize("harness", DIFFERENT)
def test_a_sample_has_what_its_page_says(harness: str) -> None:
    read = [
        events for of in read_under(SAMPLES / harness).values() for events in of.items()
    ]
    sessions = [
        one
        for _, events in read
        for one in (events.by_session() if len(events.sessions()) > 1 else [events])
    ]
    (found,) = [
        events for events in sessions if not any(span.agent for span in events.spans)
    ]
    assert {name for name, _ in read} in ({harness}, {harness.split("-")[0]})
    edits = [f"{FOLDER}/cart.ts", f"{FOLDER}/round.ts"]
    assert seen(found) == DIFFERENT[harness] | {"edits": edits}


@pytest.mark.parametrize(
    ("harness", "variable", "below"),
    [
        ("gemini", "GEMINI_CLI_HOME", [".gemini/tmp"]),
        ("qwen", "QWEN_HOME", ["projects", "tmp"]),
        ("qwen", "QWEN_RUNTIME_DIR", ["projects", "tmp"]),
        ("droid", "FACTORY_HOME_OVERRIDE", [".factory/sessions"]),
        ("cursor", "CURSOR_CONFIG_DIR", ["projects"]),
        ("amp", "XDG_DATA_HOME", ["amp/threads"]),
        ("goose", "XDG_DATA_HOME", ["goose/sessions"]),
        ("goose", "GOOSE_PATH_ROOT", ["data/sessions"]),
        ("cline", "CLINE_DIR", ["data/sessions"]),
        ("cline", "CLINE_DATA_DIR", ["sessions"]),
        ("kimi-code", "KIMI_CODE_HOME", ["sessions"]),
    ],
)
def test_a_variable_names_another_folder(
    tmp_path: Path, harness: str, variable: str, below: list[str]
) -> None:
    (of,) = [one for one in HARNESSES if one.name == harness]
    assert of.homes({variable: str(tmp_path)}) == [
        Home(tmp_path / folder, variable) for folder in below
    ]
    assert [home.origin for home in of.homes({variable: " "})] == [
        home.origin for home in of.homes({})
    ]
    assert all(home.path.is_relative_to(Path.home()) for home in of.homes({}))
