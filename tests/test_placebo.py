"""``work --against`` tells no difference between random halves, and the ones that are planted."""

import random

import pytest
from helpers.harness_lines import cases

from benchmarks.placebo import Work, false_alarms, planted
from scoring.outcomes.unit import State, Unit
from scoring.views.comparisons import MEASURES
from scoring.views.work_groups import FIXED_LATER
from scoring.views.work_rows import WorkRow

SPLITS = 200

MEASURE = {measure.key: measure for measure in MEASURES}


@pytest.fixture(scope="module")
def work() -> Work:
    """Five hundred units of sessions of one to five, of which every tenth was fixed or lost."""
    chance = random.Random(5)
    rows: list[WorkRow] = []
    while len(rows) < 500:
        session = ("claude", f"s{len(rows)}")
        is_bad_session = chance.random() < 0.1
        for _ in range(chance.randint(1, 5)):
            state: State = "lost" if chance.random() < 0.05 else "landed"
            unit = Unit(f"u{len(rows)}", "commit", session=session, state=state)
            unit.defective = chance.random() < (0.5 if is_bad_session else 0.05)
            rows.append(WorkRow(unit, None, {"harness": "claude"}))
    return Work(rows, rows)


def share(text: str) -> float:
    return float(text.removesuffix(" %")) / 100


def test_few_of_the_splits_at_random_cry_wolf(work: Work) -> None:
    by_name = {name: row for name, *row in false_alarms(work, SPLITS)}
    for name in ("landed", FIXED_LATER):
        compared, outside, _ = by_name[name]
        assert share(compared) == 1
        assert share(outside) <= 0.1
    assert share(by_name["any of them"][-1]) <= 0.05


@cases(
    "key, points, least",
    {
        "a small effect on what landed": ("landed", 0.1, 0.5),
        "a large one": ("landed", 0.2, 0.95),
        "a small effect on fixes": ("fixed", 0.1, 0.3),
        "a large one on fixes": ("fixed", 0.2, 0.95),
    },
)
def test_planted_effects_are_found_as_the_power_says(
    work: Work, key: str, points: float, least: float
) -> None:
    _, found, power = planted(MEASURE[key], work, points, SPLITS)
    assert share(found) >= least
    assert share(found) >= share(power) - 0.1
