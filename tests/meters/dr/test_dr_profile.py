"""Where the meter votes, the rubric's data decides: tuning the meter moves no released score."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from helpers.deliberations import document, outputs, transcript
from helpers.repos import Repo
from msgspec.structs import replace

from rubric import released_profile, released_rubric
from scoring import score_log
from scoring.errors import SettingsError
from scoring.evidence.entry_files import PROFILE
from scoring.meters.dr import DRResult, DRThresholds, Profile, score_transcript
from scoring.meters.dr.profile import CURRENT, DEFAULT

DATA: dict[str, Any] = dict(released_profile("dr-2"))
DR_2 = Profile.from_data(DATA, "dr-2")

FOUR = ["one about ducks", "two concerning geese", "three with swans", "four of herons"]
ACTIONS = ["I will run the whole of it now", "We will look into src/a.py and/or run it"]
GIVEN = {
    "open": (outputs(FOUR), outputs(FOUR), outputs(FOUR, ACTIONS, ["?"])),
    "labelled": (
        outputs(FOUR),
        outputs(FOUR),
        outputs(FOUR, ["Todo: run the whole of it", "Run it all again"]),
    ),
    "a team": (
        outputs(FOUR),
        outputs(FOUR),
        outputs(FOUR, ["The QA team will run it all", "Run it all again"]),
    ),
    "a tool": (
        outputs(FOUR),
        outputs(FOUR),
        outputs(FOUR, ["Rerun pytest over all of it"], ["?", "?"]),
    ),
    "converged": (outputs(FOUR), outputs(FOUR[:1]), outputs(FOUR[1:2], ACTIONS)),
    "one low round": (outputs(FOUR, ACTIONS), outputs(FOUR[:1], ACTIONS)),
    "a quarter is new": (
        outputs(FOUR),
        outputs([*FOUR, "five and no more birds"], ACTIONS),
    ),
    "half is new": (
        outputs(FOUR),
        outputs(["an altogether different matter", "plus yet another thing"], ACTIONS),
    ),
    "said again in other words": (
        outputs(["a b c d e", *FOUR]),
        outputs(["a b c d f"]),
        outputs(["a b c e f"]),
    ),
    "four words and no verb": (
        outputs(FOUR),
        outputs(FOUR),
        outputs(FOUR, ["Read docs/a.md very carefully", "End"]),
    ),
    "two alternatives": (
        outputs(FOUR),
        outputs(FOUR),
        outputs(FOUR, ["Say this and/or that to all of them"], ["?"]),
    ),
    "vague": (
        outputs(FOUR),
        outputs(FOUR),
        outputs(FOUR, ["Possibly ship the whole of it today"], ["?", "?"]),
    ),
    "a vague start": (
        outputs(FOUR),
        outputs(FOUR),
        outputs(FOUR, ["Explore how to ship it all today"], ["?"]),
    ),
    "blocked": (
        outputs(FOUR),
        outputs(FOUR),
        outputs(FOUR, ["Waiting on the keys", *ACTIONS]),
    ),
    "a thing": (
        outputs(FOUR),
        outputs(FOUR),
        outputs(FOUR, ["Look at that branch of ours again"], ["?"]),
    ),
    "stuck": tuple(outputs(FOUR, ["End."]) for _ in range(4)),
}
"""Transcripts such that every default decides about one of them at least."""

CHANGES: Mapping[str, Any] = {
    "k": 1,
    "levels": ("L0",),
    "stuck_after": 9,
    "short_action": 99,
    "artifacts": ("none",),
    "alternatives": ("none",),
    "tools": ("none",),
    "labels": ("none",),
    "teams": ("none",),
    "addressed": ("qa",),
    "sentences": False,
}
LIMITS = {
    "novelty_high": 0.2,
    "novelty_low": 0.3,
    "paraphrase": 0.9,
    "readiness_high": 1.0,
    "readiness_medium": 0.7,
}
LISTS = ("verbs", "vague_starts", "vague", "blockers", "ownership")
TUNED: Mapping[str, Profile] = {
    **{name: replace(DEFAULT, **{name: value}) for name, value in CHANGES.items()},
    **{
        name: replace(DEFAULT, thresholds=replace(DEFAULT.thresholds, **{name: value}))
        for name, value in LIMITS.items()
    },
    **{
        name: replace(DEFAULT, words=replace(DEFAULT.words, **{name: ("none",)}))
        for name in LISTS
    },
}


def results(profile: Profile | None = None) -> list[DRResult]:
    return [
        score_transcript(transcript(*rounds), profile=profile)
        for rounds in GIVEN.values()
    ]


@pytest.fixture
def log(repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A log with each of the transcripts beside an entry."""
    monkeypatch.setenv("DA_SCORE_CACHE_DIR", str(tmp_path / "cache"))
    path = repo.path / ".agents/active/iteration-log"
    path.mkdir(parents=True)
    for n, rounds in enumerate(GIVEN.values(), 1):
        (path / f"iter-{n}.yaml").write_text(
            f"schema_version: 2\niteration: {n}\nimpl: {{retries: 1}}\n"
        )
        (path / f"iter-{n}.dr.json").write_text(json.dumps(document(*rounds)))
    return path


def tune(monkeypatch: pytest.MonkeyPatch, profile: Profile) -> None:
    """Change the defaults of the meter wherever it has them."""
    for name in (".profile", ".readiness", ""):
        monkeypatch.setattr(f"scoring.meters.dr{name}.DEFAULT", profile)


@pytest.mark.parametrize("profile", TUNED.values(), ids=TUNED)
def test_each_default_moves_results_that_no_profile_freezes(
    monkeypatch: pytest.MonkeyPatch, profile: Profile
) -> None:
    before = results()
    tune(monkeypatch, profile)
    assert results() != before
    assert results(DR_2) == before


@pytest.mark.parametrize("version", ["2.2.0"])
def test_no_default_moves_a_released_score(
    log: Path, repo: Repo, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def scores() -> list[Any]:
        return [
            i.score
            for i in score_log(
                log, repo.path, rubric=released_rubric(version)
            ).iterations
        ]

    before = scores()
    assert len({score.value for score in before}) > 3
    assert all(score.breakdown[-1].present for score in before)
    for profile in TUNED.values():
        tune(monkeypatch, profile)
        assert scores() == before
    every = replace(
        DEFAULT,
        k=9,
        levels=("L0",),
        stuck_after=9,
        short_action=99,
        thresholds=DRThresholds(0.2, 0.1, 0.9, 0.1, 0.1, 1.0, 0.9),
        artifacts=("x",),
        alternatives=("y",),
    )
    tune(
        monkeypatch,
        replace(
            every,
            words=replace(
                DEFAULT.words, verbs=("x",), blockers=("run",), ownership=("y",)
            ),
        ),
    )
    assert scores() == before


def test_the_meter_goes_by_the_profile_that_the_latest_rubric_names() -> None:
    spec = released_rubric("3.1.0").signal("diminishing_returns")
    assert spec is not None
    assert (spec.profile, DR_2) == (CURRENT, DEFAULT)
    assert Profile.from_data(released_profile(PROFILE), PROFILE) != DEFAULT


def without(*path: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(json.dumps(DATA))
    table = data
    for key in path[:-1]:
        table = table[key]
    del table[path[-1]]
    return data


@pytest.mark.parametrize(
    "path",
    [(key,) for key in DATA if key != "sentences"]
    + [(table, key) for table in ("thresholds", "words") for key in DATA[table]],
    ids=".".join,
)
def test_a_profile_leaves_nothing_out(path: tuple[str, ...]) -> None:
    where = "".join(f": {name}" for name in path[:-1])
    with pytest.raises(
        SettingsError,
        match=rf"^mine{where}: {path[-1]} missing; nothing may be left out$",
    ):
        Profile.from_data(without(*path), "mine")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"k": 0}, "k is 0, not a number of rounds from 1"),
        ({"stuck-after": True}, "stuck-after is true, not a number of rounds from 1"),
        ({"short-action": "5"}, 'short-action is "5", not a number of words from 1'),
        ({"levels": []}, "levels is empty, not L0, L1 or both"),
        ({"levels": ["L0", "L2"]}, 'levels[1] is "L2", not L0 or L1'),
        ({"artifacts": [1]}, "artifacts[0] is 1, not a word or phrase"),
        (
            {"thresholds": {**DATA["thresholds"], "paraphrase": 0}},
            "thresholds.paraphrase is 0, not a number above 0",
        ),
        (
            {"thresholds": {**DATA["thresholds"], "novelty-low": 0.6}},
            "thresholds.novelty-low is above",
        ),
        ({"words": {**DATA["words"], "nouns": []}}, "words: unknown setting 'nouns'"),
        ({"weights": {}}, "unknown setting 'weights'"),
        ({"sentences": 1}, "sentences is 1, not true or false"),
    ],
)
def test_a_profile_that_makes_no_sense_is_refused(
    change: dict[str, Any], reason: str
) -> None:
    with pytest.raises(SettingsError) as caught:
        Profile.from_data({**DATA, **change}, "mine")
    assert str(caught.value).startswith(f"mine: {reason}")
