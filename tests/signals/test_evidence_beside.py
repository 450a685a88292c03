"""Signals of files next to an entry: what names a source, and what text cut by rules changes."""

from pathlib import Path

import pytest
from helpers.deliberations import BLOCKED, outputs, transcript
from helpers.facts import facts_of

from scoring.evidence.entry_files import DeliberationFacts, HookFacts
from scoring.log.model import IterationRecord
from scoring.log.places import EntryPlaces
from scoring.meters.dr import score_transcript
from scoring.signals.diminishing_returns import deliberation_value
from scoring.signals.hook_outcomes import HookOutcomes

HOOK_FILE = Path("iter-1.hook-outcomes.yaml")


class TestHookOutcomes:
    @pytest.mark.parametrize(
        ("hooks", "sources"),
        [
            pytest.param(HookFacts(HOOK_FILE, ()), [str(HOOK_FILE)], id="a file"),
            pytest.param(
                HookFacts(HOOK_FILE, None, "parse", "not YAML"),
                [str(HOOK_FILE)],
                id="a broken one",
            ),
            pytest.param(HookFacts(HOOK_FILE, None), [], id="no file"),
        ],
    )
    def test_name_the_file_where_there_is_one(
        self, hooks: HookFacts, sources: list[str]
    ) -> None:
        facts = facts_of(IterationRecord(iteration=1), hooks=hooks)
        assert list(HookOutcomes().sources(facts, EntryPlaces())) == sources


class TestDeliberation:
    @staticmethod
    def facts(
        profile: str, *, claims_from: str | None = None, action: str = ""
    ) -> DeliberationFacts:
        rounds = [outputs(["alpha beta"], [action] if action else []) for _ in range(2)]
        for round_outputs in rounds:
            round_outputs["claims_from"] = claims_from
        result = score_transcript(transcript(*rounds))
        return DeliberationFacts(Path("iter-1.dr.json"), result, "", profile)

    def test_says_under_dr_2_that_claims_were_cut_out_of_text(self) -> None:
        cut_out = deliberation_value(self.facts("dr-2", claims_from="text"), 1)
        assert cut_out.detail.endswith(", 2 rounds, claims cut out of text")

    @pytest.mark.parametrize(
        ("profile", "claims_from"), [("dr-1", "text"), ("dr-2", None)]
    )
    def test_does_not_say_so_otherwise(
        self, profile: str, claims_from: str | None
    ) -> None:
        value = deliberation_value(self.facts(profile, claims_from=claims_from), 1)
        assert value.detail.endswith(", 2 rounds")

    def test_of_a_blocked_last_round_is_0_under_dr_2_alone(self) -> None:
        assert deliberation_value(self.facts("dr-2", action=BLOCKED), 1).sub_score == 0
        assert deliberation_value(self.facts("dr-1", action=BLOCKED), 1).sub_score == 1
        assert deliberation_value(self.facts("dr-2", action="Run it"), 1).sub_score == 1
