"""One transcript has one answer: what ``dr`` says is what ``iteration`` says under rubric 3.1.0."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rubric import released_rubric
from scoring.evidence.beside import deliberation_facts
from scoring.meters.dr import read_transcript, score_transcript
from scoring.signals.diminishing_returns import DIMINISHING_RETURNS, deliberation_value

WORDS = st.sampled_from(
    ["run", "the", "load", "test", "missing", "blocked", "Nadia", "will", "Next:", "maybe", "pytest", "a.py", "owner:"]
)
TEXTS = st.lists(st.lists(WORDS, min_size=1, max_size=5).map(" ".join), max_size=3)
OUTPUTS = st.fixed_dictionaries({"claims": TEXTS, "open_questions": TEXTS, "next_actions": TEXTS})
BLOCKERS = ("missing", "blocked")
PROFILE = next(s.profile for s in released_rubric("3.1.0").signals if s.id == DIMINISHING_RETURNS)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("log")


@given(rounds=st.lists(OUTPUTS, min_size=1, max_size=5))
def test_dr_and_iteration_never_disagree(folder: Path, rounds: list[dict[str, Any]]) -> None:
    path = folder / "iter-1.dr.json"
    path.write_text(json.dumps({"rounds": [{"round": n, "outputs": o} for n, o in enumerate(rounds, 1)]}))
    said = score_transcript(read_transcript(path, texts=True))
    found = deliberation_facts(folder, 1, PROFILE)
    assert found is not None
    assert found.result is not None
    assert (found.result.payload(), found.profile) == (said.payload(), "dr-2")
    value = deliberation_value(found, 1)
    assert not value.present or value.detail.startswith(f"{said.signal}: ")
    last = " ".join(rounds[-1]["open_questions"] + rounds[-1]["next_actions"])
    if any(word in last for word in BLOCKERS):
        assert (said.readiness[-1].blockers.score, said.signal == "SHIP") == (0, False)
    if rounds[-1]["open_questions"]:
        assert said.signal != "SHIP"
