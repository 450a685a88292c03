"""One transcript has one answer: what ``dr`` says is what ``iteration`` says under rubric 3.1.0."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rubric import released_rubric
from scoring.evidence.entry_files import deliberation_facts
from scoring.meters.dr import read_transcript, score_transcript
from scoring.signals.diminishing_returns import DIMINISHING_RETURNS, deliberation_value

BLOCKERS = (
    "missing",
    "blocked",
    "blocker",
    "waiting on",
    "depends on",
    "need access",
    "can't proceed",
    "prerequisite",
)
OTHERS = (
    "run the load test",
    "Nadia will",
    "Next:",
    "maybe",
    "pytest",
    "a.py",
    "owner:",
    "**Omar**:",
    "the QA team:",
)
WORDS = st.sampled_from(
    [
        *BLOCKERS,
        *OTHERS,
        "a",
        "security review",
        "to legal",
        "Report the",
        "handle",
        "values",
        "_",
    ]
)
SENTENCES = st.lists(WORDS, min_size=1, max_size=5).map(" ".join)
TEXTS = st.lists(SENTENCES, max_size=3)
AGENTS = st.sampled_from(["ann", "bob", "cy"])
OUTPUTS = st.fixed_dictionaries(
    {"open_questions": TEXTS | st.none(), "next_actions": TEXTS},
    optional={
        "claims": TEXTS,
        "text": st.lists(
            SENTENCES | SENTENCES.map("{}?".format), min_size=1, max_size=4
        ).map(". ".join),
        "summary": SENTENCES,
        "responses": st.dictionaries(AGENTS, SENTENCES, max_size=3),
    },
).filter(lambda found: "claims" in found or "text" in found)
ROUNDS = st.lists(OUTPUTS, min_size=1, max_size=7) | st.builds(
    lambda first, last, count: [first, *[last] * count],
    OUTPUTS,
    OUTPUTS,
    st.integers(2, 6),
)
PROFILE = next(
    s.profile for s in released_rubric("3.1.0").signals if s.id == DIMINISHING_RETURNS
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("log")


@given(
    rounds=ROUNDS,
    agents=st.lists(AGENTS, max_size=7),
    as_lines=st.booleans(),
    first=st.integers(-3, 9),
)
def test_dr_and_iteration_never_disagree(
    folder: Path,
    rounds: list[dict[str, Any]],
    agents: list[str],
    as_lines: bool,
    first: int,
) -> None:
    given_rounds = [{"round": n, "outputs": o} for n, o in enumerate(rounds, first)]
    for agent, one in zip(agents, given_rounds, strict=False):
        one["agent"] = agent
    for old in folder.iterdir():
        old.unlink()
    path = folder / ("iter-1.dr.jsonl" if as_lines else "iter-1.dr.json")
    lines = "".join(
        json.dumps({"type": "round", **one}) + "\n" for one in reversed(given_rounds)
    )
    path.write_text(lines if as_lines else json.dumps({"rounds": given_rounds}))
    said = score_transcript(read_transcript(path, texts=True))
    found = deliberation_facts(folder, 1, PROFILE)
    assert found is not None
    assert found.result is not None
    assert (found.result.payload(), found.profile) == (said.payload(), "dr-2")
    value = deliberation_value(found, 1)
    assert not value.present or value.detail.startswith(f"{said.signal}: ")
    last = [*(rounds[-1]["open_questions"] or ()), *rounds[-1]["next_actions"]]
    if any(word in text for word in BLOCKERS for text in last):
        assert (said.readiness[-1].blockers.score, said.signal in ("SHIP", "ASK")) == (
            0,
            False,
        )
        assert not value.present or value.sub_score == 0
    if rounds[-1]["open_questions"]:
        assert said.signal != "SHIP"


def claims_and(actions: list[str]) -> dict[str, Any]:
    return {
        "claims": ["The export takes four hours.", "It waits for the tape."],
        "next_actions": actions,
    }


@pytest.mark.parametrize(
    ("last", "profile", "votes"),
    [
        pytest.param(
            ["Report the missing security review to legal"],
            PROFILE,
            0.0,
            id="blocked in a first low round",
        ),
        pytest.param(
            ["Omar: report the security review to legal"],
            PROFILE,
            1.0,
            id="not blocked",
        ),
        pytest.param(
            ["Report the missing security review to legal"],
            "dr-1",
            1.0,
            id="blocked, under the first profile",
        ),
    ],
)
def test_a_blocked_round_votes_nothing(
    folder: Path, last: list[str], profile: str, votes: float
) -> None:
    rounds = [claims_and([]), claims_and(last)]
    path = folder / "iter-2.dr.json"
    path.write_text(
        json.dumps(
            {"rounds": [{"round": n, "outputs": o} for n, o in enumerate(rounds, 1)]}
        )
    )
    assert (
        deliberation_value(deliberation_facts(folder, 2, profile), 2).sub_score == votes
    )
