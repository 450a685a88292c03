"""One iteration as the agent reported it, whichever schema the log used.

See ``docs/LOG.md``, "One record for both schemas".
"""

from dataclasses import asdict
from typing import Any

from msgspec import field

from scoring.frozen import Frozen, PartlyCompared

SCHEMA_FLAT, SCHEMA_NESTED = 1, 2
"""The schemas of an entry."""


class AgentInfo(Frozen, frozen=True, omit_defaults=True):
    """Who did the iteration. Schema 2 only; empty strings when not given."""

    session_id: str = ""
    harness: str = ""
    model: str = ""


class TokenUsage(Frozen, frozen=True, omit_defaults=True):
    """Token counts that the log itself captured. ``cache_hit_rate`` is as written, not checked."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_creation_tokens: int = 0
    cache_hit_rate: float = 0.0


class SelfAssessment(Frozen, frozen=True, omit_defaults=True):
    """What an agent said of its own discipline. None means not reported."""

    read_loop_state: bool = False
    one_item_only: bool | None = None
    committed_after_tests: bool = False
    aligned_with_canonical_tasks: bool | None = None
    persisted_via_workflow_commands: str = ""
    ran_cli_command: bool = False
    exercised_new_scenario: bool = False
    tests_positive_and_negative: bool = False
    tests_used_sandbox: bool = False
    cli_produced_actionable_feedback: str = ""
    linked_traces_to_outcomes: bool = False
    stayed_under_10_files: bool = False
    no_destructive_commands: bool | None = None
    scoped_tests_to_write_scope: bool | None = None
    tdd_refresh_performed: bool = False


class ImplBlock(PartlyCompared, frozen=True, omit_defaults=True):
    """What the implementing agent reported. ``retries_reported``: the entry has that field, and it is not null.

    ``tests_total_claim`` is the ``impl.tests_total_pass`` of schema 2, which is no field of the reference: a claim
    under rubrics that read all test flags.
    """

    summary: str = ""
    scope_note: str = ""
    retries: int = 0
    focused_tests_added: int = 0
    focused_tests_pass: bool | None = None
    tests_total_pass: bool | None = None
    self_assessment: SelfAssessment = field(default_factory=SelfAssessment)
    retries_reported: bool = True
    tests_total_claim: bool | None = None

    _aside = frozenset({"retries_reported", "tests_total_claim"})

    @property
    def total_flag(self) -> bool | None:
        """What it says of all tests, in either schema."""
        return self.tests_total_pass if self.tests_total_claim is None else self.tests_total_claim


class TestAdded(Frozen, frozen=True, omit_defaults=True):
    """One test that a verifier names, with its kind (positive, negative, edge, regression)."""

    __test__ = False  # not a test class, whatever a test runner thinks of its name

    name: str = ""
    kind: str = ""


class LinkedTrace(Frozen, frozen=True, omit_defaults=True):
    """One pair of a trace and the outcome it led to."""

    trace_ref: str = ""
    outcome_ref: str = ""


class VerifierRecord(PartlyCompared, frozen=True, omit_defaults=True):
    """What one verifier reported. Schema 2 only. ``retries_reported`` as in :class:`ImplBlock`."""

    type: str = ""
    status: str = ""
    gate_passed: bool = False
    tests_added: int = 0
    tests_added_by_kind: tuple[TestAdded, ...] = ()
    linked_traces: tuple[LinkedTrace, ...] = ()
    tests_total_pass: bool | None = None
    retries: int = 0
    result_artifact: str = ""
    self_assessment: SelfAssessment = field(default_factory=SelfAssessment)
    retries_reported: bool = True

    _aside = frozenset({"retries_reported"})


class ReviewBlock(Frozen, frozen=True, omit_defaults=True):
    """What the reviewer decided. Schema 2 only."""

    phase_1_decision: str = ""
    phase_2_decision: str = ""
    overall_decision: str = ""
    failed_gates: tuple[str, ...] = ()
    decision_artifact: str = ""


class IterationRecord(Frozen, frozen=True, omit_defaults=True):
    """One iteration, normalised from either schema. What a schema does not carry has its empty value."""

    schema_version: int = 0
    iteration: int = 0
    date: str = ""
    wave: str = ""
    task_id: str = ""
    commit: str = ""
    files_changed: int = 0
    lines_added: int = 0
    lines_removed: int = 0
    first_commit: bool = False
    checkpoint_at: str = ""
    agent: AgentInfo = field(default_factory=AgentInfo)
    session_tokens: TokenUsage | None = None
    impl: ImplBlock = field(default_factory=ImplBlock)
    verifiers: tuple[VerifierRecord, ...] = ()
    review: ReviewBlock = field(default_factory=ReviewBlock)
    branch: str = ""

    @property
    def artifacts(self) -> list[str]:
        """The paths, as written, of every artifact that the entry names; "" where it names none."""
        return [*(verifier.result_artifact for verifier in self.verifiers), self.review.decision_artifact]

    @property
    def retries_reported(self) -> bool:
        """Whether anybody reported a number of retries, 0 included."""
        return self.impl.retries_reported or any(verifier.retries_reported for verifier in self.verifiers)

    def as_dict(self) -> dict[str, Any]:
        """Return plain data, as ``da-score records`` prints it."""
        return asdict(self, dict_factory=_shown)


def _shown(items: list[tuple[str, Any]]) -> dict[str, Any]:
    return {name: value for name, value in items if name not in _NOT_SHOWN and (name, value) != ("branch", "")}


_NOT_SHOWN = ("retries_reported", "tests_total_claim")
