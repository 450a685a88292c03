"""Signals where claims have no vote.

What was seen in an iteration's own lines, and what an entry says in vain.
"""

from pathlib import Path
from typing import Any

import pytest
from helpers.facts import TRUNK, facts_of
from msgspec.structs import replace

from rubric import BAND_INSUFFICIENT, Score, released_rubric
from scoring.evidence.artifacts import Corrections
from scoring.evidence.commands.objective_flags import CallFlag
from scoring.evidence.facts import IterationFacts
from scoring.evidence.git.facts import ANCESTOR, Changed, Landing, Unknown
from scoring.evidence.scopes import DeclaredScope
from scoring.evidence.transcripts.facts import HarnessFacts, TranscriptFacts
from scoring.evidence.transcripts.observed_facts import (
    CorrectionsSeen,
    Observed,
    TestsSeen,
)
from scoring.log.model import (
    ImplBlock,
    IterationRecord,
    LinkedTrace,
    ReviewBlock,
    SelfAssessment,
    TokenUsage,
    VerifierRecord,
)
from scoring.signals.objectives import objective_checks
from scoring.signals.table import signal_set
from scoring.signals.tests import TESTS
from scoring.signals.values import IntegrityObservation, SignalValue

RUBRIC = released_rubric("3.1.0")
SHA = "a" * 40
ARTIFACT = "verification/unit.yaml"

PASSED = TestsSeen(
    runs=2, failed=1, last_passed=True, command="pytest -q", passed_tests=12
)
FAILED = TestsSeen(
    runs=1,
    failed=1,
    last_passed=False,
    command="go test ./...",
    failed_tests=3,
    passed_tests=10,
)
SEEN = Observed(
    "commit", ("s1",), tool_calls=20, tests=PASSED, ran=(True,), failed_calls=2
)
NOTHING = Observed(problem="3 sessions overlap")

LANDED = Landing("attributed", TRUNK, SHA, SHA, ANCESTOR, SHA)
CHANGED = Changed("attributed", SHA, SHA, ("src/a.py", "README.md"))
SCOPE = DeclaredScope(("src/", "README.md"), Path("plan/TASKS.yaml"))
WORK = TranscriptFacts(
    turns=9, cache_reads=90, cache_creations=10, tool_calls=20, tool_errors=2,
    covered=True, shows=CallFlag.SHELL,
    harnesses=(
        HarnessFacts(
            "Claude Code", turns=9, tool_calls=20, tool_errors=2, files=1, shows=CallFlag.SHELL
        ),
    ),
)  # fmt: skip

CLAIMS = IterationRecord(
    2,
    7,
    commit=SHA,
    task_id="t",
    session_tokens=TokenUsage(cache_hit_rate=0.99),
    impl=ImplBlock(
        scope_note="on-target",
        focused_tests_pass=True,
        tests_total_pass=True,
        self_assessment=SelfAssessment(
            persisted_via_workflow_commands="yes", linked_traces_to_outcomes=True
        ),
    ),
    verifiers=(
        VerifierRecord(status="pass", tests_total_pass=True, result_artifact=ARTIFACT),
    ),
    review=ReviewBlock(overall_decision="accept"),
)
"""An entry that claims everything there is to claim."""


def judged(
    record: IterationRecord = CLAIMS, observed: Observed = SEEN, **known: Any
) -> dict[str, SignalValue]:
    found = signal_set(facts(record, observed, **known), claims_vote=False)
    return {str(name): value for name, value in found.signals.items()}


def facts(
    record: IterationRecord = CLAIMS, observed: Observed = SEEN, **known: Any
) -> IterationFacts:
    return facts_of(
        record,
        **{"observed": observed, "transcripts": WORK, "changed": CHANGED} | known,
    )


def scored(
    record: IterationRecord = CLAIMS, observed: Observed = SEEN, **known: Any
) -> Score:
    return RUBRIC.score(signal_set(facts(record, observed, **known), claims_vote=False))


def details(score: Score) -> dict[str, str]:
    return {row.signal: row.detail for row in score.breakdown}


PASSED_ONCE = "2 test runs, 1 failed; last passed: pytest -q (12 passed)"
FAILED_ONCE = "1 test run, 1 failed; last failed: go test ./..."


class TestTests:
    @pytest.mark.parametrize(
        ("tests", "sub_score", "detail"),
        [
            (PASSED, 1, PASSED_ONCE),
            (
                replace(PASSED, edited_after=True),
                0.5,
                f"{PASSED_ONCE}, code edited after it",
            ),
            (FAILED, 0, f"{FAILED_ONCE} (3 failed, 10 passed); caps the band at fair"),
            pytest.param(
                replace(
                    FAILED, edited_after=True, failed_tests=None, passed_tests=None
                ),
                0,
                f"{FAILED_ONCE}, code edited after it; caps the band at fair",
                id="failed, whatever was edited after it",
            ),
        ],
    )
    def test_take_the_last_run(
        self, tests: TestsSeen, sub_score: float, detail: str
    ) -> None:
        value = judged(observed=replace(SEEN, tests=tests))["tests"]
        assert (value.present, value.sub_score, value.source) == (
            True,
            sub_score,
            "observed",
        )
        assert value.detail == f"{detail}; evidence by commit"

    @pytest.mark.parametrize(
        ("observed", "detail"),
        [
            (
                replace(SEEN, tests=TestsSeen()),
                "no test run in 20 tool calls; evidence by commit",
            ),
            (
                replace(SEEN, tests=TestsSeen(reviewing=2)),
                "no test run in 20 tool calls but 2 of sub-agents that edited no code; evidence "
                "by commit",
            ),
            (
                replace(SEEN, tests=TestsSeen(runs=3, failed=1, no_verdict=2)),
                "last run has no verdict (3 test runs, 1 failed, 2 without a verdict); evidence "
                "by commit",
            ),
            (NOTHING, "3 sessions overlap"),
            (Observed(), "no session found for this iteration"),
            (
                Observed("session", ("s",), "session found, no turns in its part"),
                "session found, no turns in its part",
            ),
        ],
    )
    def test_are_absent_with_the_reason_whatever_the_entry_says(
        self, observed: Observed, detail: str
    ) -> None:
        value = judged(observed=observed)["tests"]
        assert (value.present, value.applicable, value.detail) == (False, True, detail)

    def test_say_nothing_of_documents(self) -> None:
        seen = facts(observed=replace(SEEN, documents=True))
        found = signal_set(seen, claims_vote=False)
        value = found.signals[TESTS]
        assert (value.present, value.applicable) == (False, False)
        assert (
            value.detail == "not applicable: the commit changed nothing but documents"
        )
        assert {one.observed for one in found.integrity if one.signal == TESTS} == {
            value
        }

    def test_say_something_of_all_else(self) -> None:
        assert judged(changed=replace(CHANGED, files=("README.md",)))["tests"].present

    def test_that_failed_cap_the_band(self) -> None:
        many: dict[str, Any] = {
            "landing": LANDED,
            "scope": SCOPE,
            "statuses": ("pass",),
        }
        failed = scored(
            observed=replace(SEEN, tests=FAILED),
            transcripts=replace(WORK, tool_errors=0),
            **many,
        )
        assert RUBRIC.band(failed.value) == "good"
        assert failed.band == "fair"
        assert "caps the band at fair" in details(failed)["tests"]
        passed = scored(transcripts=replace(WORK, tool_errors=0), **many)
        assert passed.band == "excellent"
        assert {row.cap for row in passed.breakdown} == {""}


class TestVerifier:
    def test_is_observed_when_a_command_ran_for_its_artifact(self) -> None:
        value = judged(statuses=("partial",))["verifier"]
        assert (value.present, value.sub_score, value.source) == (True, 0.5, "observed")
        assert value.detail == "1/1 verifiers observed, mean status; evidence by commit"

    @pytest.mark.parametrize(
        ("known", "why"),
        [
            ({"statuses": ("",)}, "its artifact gives no status"),
            ({"statuses": ("maybe",)}, "its artifact gives no status"),
            *(
                (
                    {"statuses": ("pass",), "observed": replace(SEEN, ran=ran)},
                    "no command is seen that ran for it",
                )
                for ran in ((False,), ())
            ),
            *(
                pytest.param(
                    {
                        "statuses": ("pass",),
                        "artifacts": ("real/unit.yaml",),
                        "observed": replace(SEEN, written=frozenset({path})),
                    },
                    "the agent wrote its artifact itself",
                    id=f"written as {path}",
                )
                for path in (
                    ARTIFACT,
                    f"./{ARTIFACT}",
                    f"/gone/worktree/{ARTIFACT}",
                    "real/unit.yaml",
                )
            ),
        ],
    )
    def test_is_else_a_claim(self, known: dict[str, Any], why: str) -> None:
        value = judged(**known)["verifier"]
        assert not value.present
        assert (
            value.detail == f"none of 1 verifiers observed: {why}; evidence by commit"
        )

    @pytest.mark.parametrize(
        "path",
        [
            pytest.param("other/unit.yaml", id="another file"),
            pytest.param(
                f"elsewhere/{ARTIFACT}",
                id="a file of the same end, known to be elsewhere",
            ),
            pytest.param(f"/gone/my{ARTIFACT}", id="a name that only ends alike"),
        ],
    )
    def test_stays_observed_when_something_else_was_written(self, path: str) -> None:
        assert judged(
            statuses=("pass",), observed=replace(SEEN, written=frozenset({path}))
        )["verifier"].present

    def test_that_is_observed_counts_without_those_that_are_not(self) -> None:
        bare = VerifierRecord(status="pass")
        record = replace(CLAIMS, verifiers=(bare, *CLAIMS.verifiers))
        value = judged(record, replace(SEEN, ran=(False, True)), statuses=("", "fail"))[
            "verifier"
        ]
        assert (value.present, value.sub_score) == (True, 0)
        assert (
            "1/2 verifiers observed, mean status; not counted: a status without"
            in value.detail
        )


class TestTokenEfficiency:
    def test_of_a_checkpoint_says_so(self) -> None:
        totals = TranscriptFacts(cache_reads=3, cache_creations=1)
        value = judged(
            observed=Observed("checkpoint", ("s",), checkpoint_tokens=True),
            transcripts=totals,
        )
        said = "from checkpoint totals: cache_hit_rate 0.750; evidence by checkpoint"
        assert value["token_efficiency"].detail == said

    def test_is_a_claim_where_claims_vote(self) -> None:
        assert (
            signal_set(facts(), claims_vote=True).value("token_efficiency").source
            == "claimed"
        )


NONE_FOUND = "no user correction found"


class TestCorrectionPressure:
    @pytest.mark.parametrize(
        ("reported", "seen", "divisor", "detail"),
        [
            (
                Corrections(0, 0, False),
                CorrectionsSeen(),
                1.2,
                f"0 retries, {NONE_FOUND}, 10% tool-error rate",
            ),
            (
                Corrections(2, 1, True),
                CorrectionsSeen(),
                4.2,
                "2 retries, 1 user correction, 10% tool-error rate",
            ),
            pytest.param(
                Corrections(0, 0, True),
                CorrectionsSeen(interrupts=2, rejections=1, corrections=2, resets=1),
                4.2,
                "1 retry, 2 user corrections, 10% tool-error rate; observed: 2 interruptions, 1 "
                "rejection, 1 reset (what comes together counts once)",
                id="more seen than admitted",
            ),
            pytest.param(
                Corrections(0, 0, True),
                CorrectionsSeen(corrections=2, words=2),
                3.2,
                "0 retries, up to 2 user corrections found, 10% tool-error rate"
                "; observed: 2 prompts that read as corrections",
                id="seen in words",
            ),
            pytest.param(
                Corrections(0, 0, True),
                CorrectionsSeen(words=None, reports=3),
                1.2,
                f"0 retries, {NONE_FOUND}, 10% tool-error rate; observed: prompts in another "
                f"language, not judged",
                id="words that are not judged",
            ),
        ],
    )
    def test_takes_the_larger_of_each(
        self, reported: Corrections, seen: CorrectionsSeen, divisor: float, detail: str
    ) -> None:
        value = judged(observed=replace(SEEN, corrections=seen), corrections=reported)[
            "correction_pressure"
        ]
        assert value.sub_score == pytest.approx(1 / divisor)
        assert (value.source, value.detail) == (
            "observed",
            f"{detail}; evidence by commit",
        )

    @pytest.mark.parametrize(
        ("observed", "detail"),
        [
            (NOTHING, "3 sessions overlap"),
            (replace(SEEN, tool_calls=0), "no tool calls seen; evidence by commit"),
        ],
    )
    def test_is_absent_where_no_tool_call_was_seen(
        self, observed: Observed, detail: str
    ) -> None:
        value = judged(observed=observed, transcripts=TranscriptFacts())[
            "correction_pressure"
        ]
        assert (value.present, value.detail) == (False, detail)

    @pytest.mark.parametrize(
        ("transcripts", "source"), [(None, "claimed"), (WORK, "observed")]
    )
    def test_says_where_claims_vote_what_it_is(
        self, transcripts: TranscriptFacts | None, source: str
    ) -> None:
        value = signal_set(facts_of(CLAIMS, transcripts=transcripts)).value(
            "correction_pressure"
        )
        assert (value.present, value.source) == (True, source)


class TestOneCommitOneIteration:
    def test_of_an_earlier_iteration_has_no_vote_here(self) -> None:
        found = judged(counted_for=3, landing=LANDED, scope=SCOPE)
        said = "commit already counted for iteration 3"
        assert [
            (found[name].present, found[name].detail) for name in ("landed", "scope")
        ] == [(False, said)] * 2

    def test_of_this_iteration_has_one(self) -> None:
        found = judged(landing=LANDED, scope=SCOPE)
        assert [found[name].present for name in ("landed", "scope")] == [True, True]


def test_evidence_that_is_shared_says_with_whom() -> None:
    shared = replace(SEEN, method="shared", shared_with=4)
    for name in ("tests", "correction_pressure"):
        assert judged(observed=shared)[name].detail.endswith(
            "; evidence shared with iteration 4"
        )
    assert (
        "shared" not in judged(observed=shared)["token_efficiency"].detail
    )  # the tokens are those of its own lines
    none = replace(WORK, turns=0)
    absent = judged(observed=shared, transcripts=none)["token_efficiency"]
    words = "the tokens of its lines count for iteration {}, which has them too"
    assert absent.detail == words.format(4)
    assert absent.reason == words.format("N")  # one reason of all such iterations
    assert judged(transcripts=none)["token_efficiency"].detail == "no turns in its part"


class TestScores:
    """Entries that make things up, and one that does not."""

    def test_of_enough_weight_without_one_tool_call_are_insufficient(self) -> None:
        none = replace(SEEN, tool_calls=0)
        assert (
            scored(observed=none, landing=LANDED, scope=SCOPE).band == BAND_INSUFFICIENT
        )
        assert scored(landing=LANDED, scope=SCOPE).band == "excellent"

    def test_of_one_known_boolean_are_not_scored(self) -> None:
        record = IterationRecord(2, 1, impl=ImplBlock(focused_tests_pass=True))
        score = scored(
            record,
            Observed(),
            transcripts=None,
            changed=Changed("attributed", "", unknown=Unknown.NO_COMMIT),
        )
        assert (score.scored, score.band) == (False, BAND_INSUFFICIENT)
        assert (score.bounds.low, score.bounds.high) == (0, 1)


class TestObjectives:
    NEW = (
        "ran_tests",
        "tests_passed_last",
        "edited_after_tests",
        "user_interrupted",
        "reverted_own_work",
    )

    def checks(self, observed: Observed) -> dict[str, float | None]:
        found = objective_checks(WORK, observed).as_dict()
        return {
            name: float(found[name]["sub_score"]) if found[name]["present"] else None
            for name in self.NEW
        }

    def test_without_a_verdict_do_not_say_how_tests_ended(self) -> None:
        assert list(self.checks(replace(SEEN, tests=TestsSeen(runs=1))).values()) == [
            1,
            None,
            None,
            0,
            0,
        ]
        assert list(self.checks(replace(SEEN, tests=TestsSeen())).values()) == [
            0,
            None,
            None,
            0,
            0,
        ]

    def test_are_the_old_three_where_iterations_have_no_lines_of_their_own(
        self,
    ) -> None:
        assert list(objective_checks(WORK).as_dict()) == [
            "ran_cli_command",
            "committed_after_tests",
            "read_loop_state",
        ]


class TestIntegrity:
    def pairs(
        self, record: IterationRecord = CLAIMS, **known: Any
    ) -> dict[tuple[str, str], IntegrityObservation]:
        found = signal_set(facts(record, **known), claims_vote=False).integrity
        return {(str(pair.signal), str(pair.role)): pair for pair in found}

    def test_compares_each_role_with_what_was_seen(self) -> None:
        found = self.pairs(
            observed=replace(SEEN, tests=FAILED),
            statuses=("fail",),
            scope=SCOPE,
            landing=LANDED,
        )
        deltas = {key: pair.delta for key, pair in found.items()}
        assert deltas == {
            ("landed", "impl"): 0,
            ("verifier", "impl"): -1,
            ("verifier", "verifier"): -1,
            ("tests", "impl"): -1,
            ("tests", "verifier"): -1,
            ("scope", "impl"): 0,
        }

    def test_takes_no_claim_of_another_role(self) -> None:
        verifier = VerifierRecord(
            status="pass",
            tests_total_pass=False,
            linked_traces=(LinkedTrace("a", "b"),),
        )
        record = IterationRecord(
            2, 1, impl=ImplBlock(focused_tests_pass=True), verifiers=(verifier,)
        )
        found = self.pairs(record, observed=replace(SEEN, tests=FAILED))
        assert found["tests", "impl"].claimed.sub_score == 1
        assert found["tests", "verifier"].claimed.sub_score == 0
        assert ("verifier", "impl") not in found

    def test_keeps_a_claim_that_nothing_was_seen_of(self) -> None:
        found = self.pairs(observed=NOTHING)
        assert found["tests", "impl"].claimed.present
        assert not found["tests", "impl"].comparable
