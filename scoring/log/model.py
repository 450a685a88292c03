"""One iteration as the agent reported it: ``docs/LOG.md``, "One record for both schemas"."""

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable
from functools import cached_property
from typing import Annotated, Any

from msgspec import Struct
from msgspec.structs import replace

from scoring.frozen import Frozen, PartlyCompared

SCHEMA_FLAT, SCHEMA_NESTED = 1, 2  # the schemas of an entry


class AgentInfo(Frozen, frozen=True, omit_defaults=True):
    """Who did the iteration. Schema 2 only; empty strings when not given."""

    session_id: Annotated[
        str, "The id of the session, as the harness has it; by it transcripts are found."
    ] = ""
    harness: Annotated[str, "The harness: `claude-code`, `codex`, `gemini-cli`."] = ""
    model: Annotated[str, "The model."] = ""


class TokenUsage(Frozen, frozen=True, omit_defaults=True):
    """Token counts that the log itself captured. ``cache_hit_rate`` is as written, not checked."""

    input_tokens: Annotated[
        int, "Tokens of input that were neither read from the cache nor written to it."
    ] = 0
    output_tokens: Annotated[int, "Tokens of output."] = 0
    cache_read_tokens: Annotated[int, "Tokens of input that came from the cache."] = 0
    cache_creation_tokens: Annotated[int, "Tokens of input that were written to the cache."] = 0
    cache_hit_rate: Annotated[float, "The share of the input that came from the cache, 0 to 1."] = (
        0.0
    )


class SelfAssessment(Frozen, frozen=True, omit_defaults=True):
    """What an agent said of its own discipline. None means not reported."""

    read_loop_state: Annotated[bool, "The state of the loop was read before the work began."] = (
        False
    )
    one_item_only: Annotated[bool | None, "The iteration did one item and no more."] = None
    committed_after_tests: Annotated[bool, "The commit came after the tests had run."] = False
    aligned_with_canonical_tasks: Annotated[
        bool | None, "The work is one of the tasks that the plan lists."
    ] = None
    persisted_via_workflow_commands: Annotated[str, "How the state was kept, in words."] = ""
    ran_cli_command: Annotated[bool, "A command was run to see the change work."] = False
    exercised_new_scenario: Annotated[
        bool, "Something was tried that had not been tried before."
    ] = False
    tests_positive_and_negative: Annotated[
        bool, "Tests say both what works and what is refused."
    ] = False
    tests_used_sandbox: Annotated[bool, "Tests ran in a sandbox."] = False
    cli_produced_actionable_feedback: Annotated[
        str, "What the command that was run said, in words."
    ] = ""
    linked_traces_to_outcomes: Annotated[bool, "Traces are linked to the outcomes they led to."] = (
        False
    )
    stayed_under_10_files: Annotated[bool, "Fewer than 10 files changed."] = False
    no_destructive_commands: Annotated[bool | None, "No command destroyed anything."] = None
    scoped_tests_to_write_scope: Annotated[
        bool | None, "The tests are of the files that the task may change."
    ] = None
    tdd_refresh_performed: Annotated[
        bool, "The tests were gone over before the code was written."
    ] = False


class ImplBlock(PartlyCompared, frozen=True, omit_defaults=True):
    """What the implementing agent reported; ``tests_total_claim`` is ``tests_total_pass`` of schema 2."""

    summary: Annotated[str, "One line on what was done: the subject of the commit."] = ""
    scope_note: Annotated[str, "`on-target`, or in words what went beyond the task."] = ""
    retries: Annotated[
        int, "How often the work was begun anew; leave it out rather than guess."
    ] = 0
    focused_tests_added: Annotated[int, "How many tests were added for this change."] = 0
    focused_tests_pass: Annotated[bool | None, "Whether these pass."] = None
    tests_total_pass: Annotated[bool | None, "Whether all tests pass."] = None
    self_assessment: Annotated[SelfAssessment, "What the agent says of its own discipline."] = (
        SelfAssessment()
    )
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

    name: Annotated[str, "Its name."] = ""
    kind: Annotated[str, "`positive`, `negative`, `edge` or `regression`."] = ""


class LinkedTrace(Frozen, frozen=True, omit_defaults=True):
    """One pair of a trace and the outcome it led to."""

    trace_ref: Annotated[str, "Where the trace is."] = ""
    outcome_ref: Annotated[str, "Where the outcome is."] = ""


class VerifierRecord(PartlyCompared, frozen=True, omit_defaults=True):
    """What one verifier reported. Schema 2 only. ``retries_reported`` as in :class:`ImplBlock`."""

    type: Annotated[str, "What it is: `unit`, `lint`, `e2e`, a name."] = ""
    status: Annotated[str, "How it ended: `pass`, `fail`, `partial`, `unknown`."] = ""
    gate_passed: Annotated[bool, "Whether the gate that it guards was open."] = False
    tests_added: Annotated[int, "How many tests it added."] = 0
    tests_added_by_kind: Annotated[tuple[TestAdded, ...], "These tests."] = ()
    linked_traces: Annotated[tuple[LinkedTrace, ...], "Traces and the outcomes they led to."] = ()
    tests_total_pass: Annotated[bool | None, "Whether all tests pass."] = None
    retries: Annotated[int, "How often it had to run again."] = 0
    result_artifact: Annotated[
        str, "The file, relative to the repository, that holds its result."
    ] = ""
    self_assessment: Annotated[SelfAssessment, "What it says of its own discipline."] = (
        SelfAssessment()
    )
    retries_reported: bool = True

    _aside = frozenset({"retries_reported"})


class ReviewBlock(Frozen, frozen=True, omit_defaults=True):
    """What the reviewer decided. Schema 2 only."""

    phase_1_decision: Annotated[str, "What the first phase decided."] = ""
    phase_2_decision: Annotated[str, "What the second phase decided."] = ""
    overall_decision: Annotated[str, "What was decided in the end."] = ""
    failed_gates: Annotated[tuple[str, ...], "The gates that were not passed."] = ()
    decision_artifact: Annotated[
        str, "The file, relative to the repository, that holds the decision."
    ] = ""


class IterationRecord(Frozen, frozen=True, omit_defaults=True):
    """One iteration, normalised from either schema. What a schema does not carry has its empty value."""

    schema_version: int = 0
    iteration: Annotated[int, "The number of the iteration; the file is `iter-N.yaml`."] = 0
    date: Annotated[str, "The day of the work, as `2026-06-03`."] = ""
    wave: Annotated[str, "The group of tasks that the work is part of, where there are such."] = ""
    task_id: Annotated[str, "The task: its id in the plan, or the issue."] = ""
    commit: Annotated[str, "The SHA of the commit that holds the work, in full."] = ""
    files_changed: Annotated[int, "How many files the commit changed."] = 0
    lines_added: Annotated[int, "How many lines it added."] = 0
    lines_removed: Annotated[int, "How many lines it removed."] = 0
    first_commit: Annotated[bool, "Whether it is the first commit of the repository."] = False
    checkpoint_at: Annotated[str, "When the state was last kept, as a time."] = ""
    agent: Annotated[AgentInfo, "Who did the work."] = AgentInfo()
    session_tokens: Annotated[
        TokenUsage | None, "The tokens that it took, where the harness says so."
    ] = None
    impl: Annotated[ImplBlock, "What the agent that did the work reports."] = ImplBlock()
    verifiers: Annotated[tuple[VerifierRecord, ...], "What each verifier reports."] = ()
    review: Annotated[ReviewBlock, "What the review decided."] = ReviewBlock()
    branch: Annotated[str, "The branch on which the work was done."] = ""
    known_from: Annotated[
        str,
        "What alone shows the commit, which git does not have: `transcript`, or `checkpoint ID`.",
    ] = ""

    @property
    def checkpoint(self) -> str:
        """The id of the checkpoint that alone shows the commit; "" without one."""
        return (
            self.known_from.removeprefix("checkpoint ")
            if self.known_from.startswith("checkpoint ")
            else ""
        )

    @property
    def artifacts(self) -> list[str]:
        """The paths, as written, of every artifact that the entry names; "" where it names none."""
        return [
            *(verifier.result_artifact for verifier in self.verifiers),
            self.review.decision_artifact,
        ]

    @property
    def retries_reported(self) -> bool:
        """Whether anybody reported a number of retries, 0 included."""
        return self.impl.retries_reported or any(
            verifier.retries_reported for verifier in self.verifiers
        )

    def as_dict(self) -> dict[str, Any]:
        """Return plain data, as ``da-score records`` prints it."""
        data: dict[str, Any] = _plain(self)
        later = {
            name for name in ("branch", "known_from") if not data[name]
        }  # the reference does not print them
        return {name: value for name, value in data.items() if name not in later}


def _plain(value: Any) -> Any:
    if isinstance(value, Struct):
        names = (
            name
            for name in value.__struct_fields__
            if name not in ("retries_reported", "tests_total_claim")
        )
        return {name: _plain(getattr(value, name)) for name in names}
    return tuple(map(_plain, value)) if isinstance(value, tuple) else value


class Records(tuple[IterationRecord, ...]):
    """The records of a log, sorted by iteration."""

    @classmethod
    def of(cls, records: Iterable[IterationRecord]) -> "Records":
        """Take records, sorted by iteration."""
        return records if isinstance(records, Records) else cls(records)

    @cached_property
    def numbers(self) -> list[int]:
        """The iteration of each."""
        return [record.iteration for record in self]

    @cached_property
    def commits(self) -> list[str]:
        """The commit field of each."""
        return [record.commit for record in self]

    def by_commit_alone(self) -> "Records":
        """Return them without the other words that lead to a commit or a session, which an author writes too."""
        return Records(
            replace(
                one,
                known_from="",
                agent=replace(one.agent, session_id=""),
                impl=replace(one.impl, summary=""),
            )
            for one in self
        )

    def near(self, iterations: Collection[int], before: int) -> "Records":
        """Return the records of some iterations, and up to so many before each of them."""
        wanted: set[int] = set()
        for at in self._places(iterations):
            wanted.update(range(max(at - before, 0), at + 1))
        return Records(self[at] for at in sorted(wanted))

    def bounded(
        self, iterations: Collection[int], before: int, committed: Callable[[str], int | None]
    ) -> bool:
        """Return whether one of so many records before each iteration has a commit, or there are no more before it.

        ``committed`` returns the time of the commit that a commit field names; None where there is none.
        """
        return all(
            at <= before
            or any(
                committed(commit) is not None for commit in reversed(self.commits[at - before : at])
            )
            for at in self._places(iterations)
        )

    def place(self, iteration: int) -> int | None:
        """Return the place of an iteration; None when there is none."""
        at = bisect_left(self.numbers, iteration)
        return at if at < len(self) and self.numbers[at] == iteration else None

    def _places(self, iterations: Collection[int]) -> list[int]:
        return [place for place in map(self.place, iterations) if place is not None]
