"""The signals and what stands beside them: each mapping, row by row."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from helpers.repos import Repo

from rubric import SignalID
from scoring.evidence.beside import Corrections, HookFacts
from scoring.evidence.git.facts import Changed, Unknown
from scoring.evidence.git.reference import ReferenceHistory
from scoring.evidence.transcripts.facts import BASH, COVERED, LOOP_STATE, TESTS, TranscriptFacts
from scoring.log.model import (
    ImplBlock,
    IterationRecord,
    LinkedTrace,
    ReviewBlock,
    SelfAssessment,
    TestAdded,
    TokenUsage,
    VerifierRecord,
)
from scoring.parity import (
    BackfillSignals,
    GitSignals,
    IterlogSignals,
    assemble_signal_set,
    extract_hook_outcomes_signal,
    extract_iterlog_signals,
)
from scoring.signals import landed, scope
from scoring.signals.correction_pressure import pressure_value
from scoring.signals.diminishing_returns import deliberation_value
from scoring.signals.hook_outcomes import hook_value
from scoring.signals.landed import landed_claim
from scoring.signals.scope import scope_claim, scope_value
from scoring.signals.table import objective_checks
from scoring.signals.tests import flags_claim
from scoring.signals.token_efficiency import efficiency_value
from scoring.signals.values import (
    IterationObjectives,
    SignalSet,
    SignalValue,
    absent_signal,
    present_signal,
)
from scoring.signals.verifier import verifier_claim
from scoring.text import wrap64

LARGEST = 2**63 - 1


def present(sub_score: float, detail: str) -> SignalValue:
    return SignalValue(True, sub_score, detail)


def absent(detail: str) -> SignalValue:
    return SignalValue(False, 0.0, detail)


@dataclass(frozen=True)
class Past:
    """A repository with one commit of every kind that a signal tells apart, and what was asked about it at once."""

    repo: Repo
    shas: Mapping[str, str]
    history: ReferenceHistory

    def __getitem__(self, name: str) -> str:
        return self.shas[name]


@pytest.fixture(scope="session")
def past(tmp_path_factory: pytest.TempPathFactory) -> Past:
    repo = Repo(tmp_path_factory.mktemp("past") / "repo")
    shas = {"start": repo.commit({"src/a.py": "line\n" * 20, "docs/x.md": "x"}, "start")}
    repo.branch("side")
    shas["side"] = repo.commit({"side.txt": "1"}, "on the side")
    repo.checkout("master")
    shas["landed"] = repo.commit({"src/a.py": "line\n" * 21}, "feat: landed\n\nbody\n")
    shas["undone"] = repo.commit({"src/u.py": "1"}, "feat: undone")
    shas["undoing"] = repo.revert(shas["undone"])
    shas["wide"] = repo.commit({"src/a.py": "1", "src/s/b.py": "1", "docs/x.md": "2", "README": "1"}, "feat: wide")
    shas["odd"] = repo.commit({"src/caf\u00e9.py": "1", "src/plain.py": "1"}, "feat: odd names")
    shas["moved"] = repo.commit({"README": None, "docs/README": "1"}, "feat: moved")
    shas["empty"] = repo.commit({}, "feat: empty")
    repo.branch("topic")
    repo.commit({"topic.txt": "1"}, "feat: topic")
    repo.checkout("master")
    shas["merged"] = repo.merge("topic", "merge topic")
    names = [*shas.values(), "master", "HEAD~1", "--output=x", "deadbeefdeadbeef", "deadbeef"]
    return Past(repo, shas, ReferenceHistory(repo.path, [entry(name) for name in names]))


class TestValues:
    @pytest.mark.parametrize(
        ("given", "expected"), [(0.5, 0.5), (1, 1.0), (0, 0.0), (1.5, 1.0), (-0.5, 0.0), (math.inf, 1), (-math.inf, 0)]
    )
    def test_present_is_clamped(self, given: float, expected: float) -> None:
        assert present_signal(given, "why") == present(expected, "why")

    def test_present_is_never_minus_zero(self) -> None:
        assert math.copysign(1, present_signal(-0.0, "").sub_score) == 1

    def test_what_is_absent_or_not_a_number_has_no_score(self) -> None:
        assert absent_signal("why") == present_signal(math.nan, "why") == absent("why")
        assert absent("why").as_dict() == {"present": False, "sub_score": 0.0, "detail": "why"}

    @pytest.mark.parametrize(
        ("number", "expected"),
        [
            *((n, n) for n in (LARGEST, -LARGEST - 1)),
            (LARGEST + 1, -LARGEST - 1),
            (-LARGEST - 2, LARGEST),
            (2**64 + 5, 5),
            (-(2**65) - 5, -5),
        ],
    )
    def test_counts_wrap_like_signed_integers(self, number: int, expected: int) -> None:
        assert wrap64(number) == expected


def entry(commit: str = "", summary: str = "", task: str = "", note: str = "") -> IterationRecord:
    return IterationRecord(2, 1, task_id=task, commit=commit, impl=ImplBlock(summary=summary, scope_note=note))


NO_COMMIT, NO_MATCH = "no commit SHA on iteration entry", "does not resolve and no message match"
ON_TRUNK, MATCHED = "commit {landed:.12} reachable from master, not reverted", "message-matched {landed:.12} reachable"
UNDONE = "commit {undone:.12} reachable but reverted by {undoing:.12}"


class TestLanded:
    @pytest.mark.parametrize(
        ("commit", "summary", "sub_score", "detail"),
        [
            *(pytest.param(blank, "feat: landed", None, NO_COMMIT) for blank in ("", "  ", "\t\n", "\u3000")),
            *(pytest.param(sha, "", 1, ON_TRUNK) for sha in ("{landed}", " {landed}\n", "\u00a0{landed}")),
            ("master", "", 1, ON_TRUNK.replace("landed", "merged")),
            ("HEAD~1", "", 1, ON_TRUNK.replace("landed", "empty")),
            ("{side}", "feat: landed", 0, "commit {side:.12} not reachable from master"),
            ("{undone}", "", 0, UNDONE),
            ("deadbeefdeadbeef", "feat: landed", 1, f"unresolved SHA deadbeefdead; {MATCHED} from master"),
            ("deadbeefdeadbeef", " FEAT: LANDED\n", 1, f"unresolved SHA deadbeefdead; {MATCHED} from master"),
            (
                "deadbeef",
                "feat: undone",
                0,
                "unresolved SHA deadbeef; message-matched {undone:.12}, later reverted by {undoing:.12}",
            ),
            *(
                (" deadbeef ", other, None, f"commit SHA deadbeef {NO_MATCH}")
                for other in ("", "  ", "feat: lande", "on the side", "body")
            ),
            ("--output=x", "", None, f"commit SHA --output=x {NO_MATCH}"),
        ],
    )
    def test_is_what_git_says_of_the_commit(
        self, past: Past, commit: str, summary: str, sub_score: float | None, detail: str
    ) -> None:
        found = landed.landed_value(past.history.landing(entry(commit.format_map(past.shas), summary)))
        assert found == SignalValue(sub_score is not None, sub_score or 0.0, detail.format_map(past.shas))

    def test_without_a_trunk_nothing_has_landed(self, past: Past) -> None:
        sha = past["landed"]
        elsewhere = ReferenceHistory(past.repo.path, [entry(sha), entry("deadbeef")], trunk="missing")
        assert landed.landed_value(elsewhere.landing(entry(sha))) == present(
            0, f"commit {sha[:12]} not reachable from missing"
        )
        unresolved = elsewhere.landing(entry("deadbeef", "feat: landed"))
        assert landed.landed_value(unresolved) == absent(f"commit SHA deadbeef {NO_MATCH}")


NOTE, NO_CLAIM = "persisted_via_workflow_commands", absent("no persisted-via-workflow note and no review decision")


class TestLandedClaim:
    @pytest.mark.parametrize(
        ("persisted", "decision", "expected"),
        [
            pytest.param("", "", NO_CLAIM, id="nothing"),
            pytest.param(" \t", " ", NO_CLAIM, id="blank"),
            pytest.param("yes", "", present(1, f"{NOTE}: yes"), id="yes"),
            pytest.param(" YES, all of it", "", present(1, f"{NOTE}: yes"), id="contains-yes"),
            pytest.param("yesterday", "", present(1, f"{NOTE}: yes"), id="yes-inside-a-word"),
            pytest.param("no", "", present(0, f"{NOTE}: no"), id="no"),
            pytest.param("y", "", present(0, f"{NOTE}: no"), id="anything-else-is-no"),
            pytest.param("", "accept", present(1, "review: accept"), id="accept"),
            pytest.param("", " Reject ", present(0, "review: reject"), id="reject-in-any-case"),
            pytest.param("", "escalate", present(0.5, "review: escalate"), id="escalate"),
            pytest.param("", "accepted", NO_CLAIM, id="unknown"),
            pytest.param("yes", "reject", present(0.5, f"{NOTE}: yes; review: reject"), id="mean-of-both"),
            pytest.param("no", "escalate", present(0.25, f"{NOTE}: no; review: escalate"), id="quarter"),
            pytest.param("yes", "unknown", present(1, f"{NOTE}: yes"), id="unknown-decision"),
        ],
    )
    def test_is_what_agent_and_reviewer_said(self, persisted: str, decision: str, expected: SignalValue) -> None:
        assessment = SelfAssessment(persisted_via_workflow_commands=persisted)
        record = IterationRecord(
            impl=ImplBlock(self_assessment=assessment), review=ReviewBlock(overall_decision=decision)
        )
        assert landed_claim(record) == expected


def within(past: Past, name: str, *entries: str, task: str = "t") -> SignalValue:
    return scope.scope_value(past.history.changed(entry(past[name])), entries, task)


OUTSIDE = "src README/ READ sr/ * ** src/* src/*.py ./ . / /src/ //src/ ../ ../repo/src/ SRC/"
"""Entries of a scope with no file in them: a folder ends in a slash, a file does not, and there are no globs."""


class TestScope:
    @pytest.mark.parametrize(
        ("commit", "why"),
        [("", NO_COMMIT), (" \n", NO_COMMIT), ("deadbeefdeadbeef", "commit SHA deadbeefdead does not resolve")],
    )
    def test_of_no_commit_is_absent(self, past: Past, commit: str, why: str) -> None:
        assert scope.scope_value(past.history.changed(entry(commit)), ("src/",), "t") == absent(why)

    @pytest.mark.parametrize(
        ("task", "shown"),
        [("other", '"other"'), ("", '""'), (" t", '" t"'), ("T", '"T"'), ('a"\n\u00ad', r'"a\"\n\u00ad"')],
    )
    def test_without_a_declared_scope_is_absent(self, past: Past, task: str, shown: str) -> None:
        expected = absent(f"no write_scope declared for task {shown}")
        assert scope.scope_value(past.history.changed(entry(past["wide"])), (), task) == expected

    @pytest.mark.parametrize(
        ("entries", "inside"),
        [
            *(((one,), 0) for one in ("", *OUTSIDE.split())),
            (("src/",), 2),
            (("README",), 1),
            (("src/a.py", "docs/x.md"), 2),
            (("src/", "docs/", "README"), 4),
            pytest.param(("src/", "src/s/", "src/a.py"), 2, id="counted-once"),
            (("src/s/",), 1),
            pytest.param(("./src//s/../",), 2, id="cleaned-folder"),
            pytest.param(("./docs//../README",), 1, id="cleaned-file"),
            pytest.param((" src/ ",), 2, id="white-space-around"),
            pytest.param(("", "  ", "README"), 1, id="blanks-are-skipped"),
        ],
    )
    def test_is_the_share_of_files_inside(self, past: Past, entries: tuple[str, ...], inside: int) -> None:
        detail = f'{inside}/4 changed files within declared write_scope of task "t"'
        assert within(past, "wide", *entries) == present(inside / 4, detail)

    @pytest.mark.parametrize("name", ["empty", "merged"])
    def test_of_a_commit_without_files_is_one(self, past: Past, name: str) -> None:
        assert within(past, name, "nowhere/") == present(1, f"commit {past[name][:12]} changed no files")

    def test_of_a_commit_that_git_cannot_list_is_absent(self, tmp_path: Path) -> None:
        repo = Repo(tmp_path / "repo")
        repo.commit({"a": "1"})
        sha = repo.commit({"a": "2"})
        repo.lose("HEAD^{tree}")
        history = ReferenceHistory(repo.path, [entry(sha)])
        expected = absent(f"cannot read changed files for {sha[:12]}")
        assert scope.scope_value(history.changed(entry(sha)), ("a",), "t") == expected


class TestScopeClaim:
    @pytest.mark.parametrize(
        ("note", "expected"),
        [
            pytest.param("on-target", present(1, "scope_note: on-target"), id="on-target"),
            pytest.param("partial", present(0.5, "scope_note: partial"), id="partial"),
            pytest.param("scope-breach", present(0, "scope_note: scope-breach"), id="breach"),
            pytest.param(" PARTIAL\n", present(0.5, "scope_note: partial"), id="trimmed-and-in-any-case"),
            pytest.param(
                "On-target, mostly",
                present(1, "scope_note: free-text with on-target prefix"),
                id="text-after-on-target",
            ),
            pytest.param("on-targets", present(1, "scope_note: free-text with on-target prefix"), id="longer-word"),
            pytest.param("partially", absent("unrecognized free-text scope_note"), id="text-after-partial"),
            pytest.param("not on-target", absent("unrecognized free-text scope_note"), id="text-before-on-target"),
            pytest.param("on target", absent("unrecognized free-text scope_note"), id="no-dash"),
            pytest.param("", absent("no scope_note in iteration log"), id="empty"),
            pytest.param(" \u3000", absent("no scope_note in iteration log"), id="blank"),
        ],
    )
    def test_is_the_scope_note(self, note: str, expected: SignalValue) -> None:
        assert scope_claim(entry(note=note)) == expected


def verified(*statuses: str, proxy: bool | None = None) -> IterationRecord:
    verifiers = tuple(VerifierRecord(status=status) for status in statuses)
    return IterationRecord(2, 1, impl=ImplBlock(tests_total_pass=proxy), verifiers=verifiers)


class TestVerifier:
    @pytest.mark.parametrize(
        ("proxy", "expected"),
        [
            (True, present(1, "no verifiers; tests_total_pass proxy: pass")),
            (False, present(0, "no verifiers; tests_total_pass proxy: fail")),
            (None, absent("no verifier records and no tests_total_pass proxy")),
        ],
    )
    def test_without_verifiers_is_the_proxy(self, proxy: bool | None, expected: SignalValue) -> None:
        assert extract_iterlog_signals(verified(proxy=proxy), "").verifier == expected

    @pytest.mark.parametrize(
        ("statuses", "sub_score", "scored"),
        [
            *((("pass",), 1, "1/1"), (("partial",), 0.5, "1/1"), (("fail",), 0, "1/1")),
            *((("pass", "fail"), 0.5, "2/2"), (("pass", "pass", "partial"), 2.5 / 3, "3/3")),
            pytest.param(("pass", "skipped", "", "passed"), 1, "1/4", id="others-left-out"),
            pytest.param((" PASS ", "\tFail\n"), 0.5, "2/2", id="trimmed-any-case"),
        ],
    )
    def test_is_the_mean_status(self, statuses: tuple[str, ...], sub_score: float, scored: str) -> None:
        expected = present(sub_score, f"{scored} verifiers scored, mean status")
        assert extract_iterlog_signals(verified(*statuses, proxy=False), "").verifier == expected

    @pytest.mark.parametrize(
        ("artifact", "expected"),
        [
            pytest.param("status: fail", 0.0, id="overrides"),
            pytest.param("status: ' PARTIAL '", 0.5, id="trimmed-any-case"),
            pytest.param("status: '  '", 1.0, id="blank-leaves-the-inline-status"),
            pytest.param("other: fail", 1.0, id="no-status-leaves-it"),
            pytest.param("status: [fail]", 1.0, id="malformed-leaves-it"),
            pytest.param("status: [fail", 1.0, id="broken-leaves-it"),
            pytest.param(None, 1.0, id="missing-leaves-it"),
            pytest.param("status: skipped", None, id="unknown-is-none"),
        ],
    )
    def test_takes_the_status_of_an_artifact(
        self, tmp_path: Path, artifact: str | None, expected: float | None
    ) -> None:
        if artifact is not None:
            (tmp_path / "a.yaml").write_text(artifact)
        record = IterationRecord(verifiers=(VerifierRecord(status="pass", result_artifact="a.yaml"),))
        found, bare = (extract_iterlog_signals(record, folder).verifier for folder in (tmp_path, ""))
        assert (found.present, found.sub_score) == (expected is not None, expected or 0)
        assert bare == present(1, "1/1 verifiers scored, mean status")


class TestVerifierClaim:
    LINKED, NOT_LINKED = present(1, "linked traces recorded"), present(0, "no linked traces recorded")
    UNSAID = absent("no verification self-report")
    SELF = SelfAssessment(linked_traces_to_outcomes=True)
    RAN = SelfAssessment(ran_cli_command=True)

    @pytest.mark.parametrize(
        ("impl", "verifiers", "expected"),
        [
            pytest.param(SELF, (), LINKED, id="traces-of-the-implementation"),
            pytest.param(None, (VerifierRecord(), VerifierRecord(self_assessment=SELF)), LINKED, id="of-any-verifier"),
            pytest.param(None, (VerifierRecord(linked_traces=(LinkedTrace(),)),), LINKED, id="recorded-traces"),
            pytest.param(RAN, (), NOT_LINKED, id="something-said"),
            pytest.param(SelfAssessment(one_item_only=False), (), NOT_LINKED, id="a-reported-no-is-something"),
            pytest.param(SelfAssessment(persisted_via_workflow_commands="no"), (), NOT_LINKED, id="a-word-is-too"),
            pytest.param(None, (VerifierRecord(tests_added_by_kind=(TestAdded(),)),), NOT_LINKED, id="tests-by-kind"),
            pytest.param(None, (), UNSAID, id="no-verifiers"),
            pytest.param(None, (VerifierRecord(status="pass", tests_added=5),), UNSAID, id="no-report"),
            pytest.param(None, (VerifierRecord(self_assessment=RAN),), UNSAID, id="what-a-verifier-says-of-itself"),
        ],
    )
    def test_is_whether_traces_are_linked(
        self, impl: SelfAssessment | None, verifiers: tuple[VerifierRecord, ...], expected: SignalValue
    ) -> None:
        record = IterationRecord(impl=ImplBlock(self_assessment=impl or SelfAssessment()), verifiers=verifiers)
        assert verifier_claim(record) == expected


class TestTests:
    @pytest.mark.parametrize(
        ("focused", "total", "verifiers", "true", "reported"),
        [
            (None, None, (), 0, 0),
            (None, None, (None,), 0, 0),
            (True, None, (), 1, 1),
            (None, False, (), 0, 1),
            (None, None, (True,), 1, 1),
            (True, False, (), 1, 2),
            (False, None, (True, None, False), 1, 3),
            (True, True, (True, True), 4, 4),
        ],
    )
    def test_is_the_share_of_reported_flags(
        self, focused: bool | None, total: bool | None, verifiers: tuple[bool | None, ...], true: int, reported: int
    ) -> None:
        record = IterationRecord(
            impl=ImplBlock(focused_tests_pass=focused, tests_total_pass=total),
            verifiers=tuple(VerifierRecord(tests_total_pass=flag) for flag in verifiers),
        )
        none = absent("no test-pass flags set in iteration log")
        share = none if not reported else present(true / reported, f"{true}/{reported} test-pass flags true")
        assert flags_claim(record) == share


NOTHING = absent("nothing")
UNSEEN = IterationObjectives(NOTHING, NOTHING, NOTHING)


def assembled(record: IterationRecord | None = None, **sides: SignalValue) -> SignalSet:
    """Return a signal set with nothing in it but what is given."""
    git = GitSignals(sides.pop("landed_observed", NOTHING), sides.pop("scope_observed", NOTHING))
    names = ("scope_claimed", "tests_claimed", "verifier", "verifier_claimed", "landed_claimed")
    scope, tests, verifier, traces, landed = (sides.get(name, NOTHING) for name in names)
    bundle = IterlogSignals(scope, tests, verifier, traces, landed, retries=0, user_corrections=0)
    backfill = BackfillSignals(1, NOTHING, None)
    return assemble_signal_set(record or IterationRecord(2, 1), bundle, git, backfill, UNSEEN, NOTHING)


class TestCorrectionPressure:
    @pytest.mark.parametrize(
        ("retries", "corrections", "rate", "percent", "sub_score"),
        [
            pytest.param(0, 0, None, None, 1.0, id="nothing"),
            pytest.param(1, 0, None, None, 0.5, id="retry"),
            pytest.param(0, 3, None, None, 0.25, id="corrections"),
            pytest.param(1, 3, None, None, 0.2, id="both"),
            pytest.param(0, 0, 0.0, 0, 1.0, id="no-errors"),
            pytest.param(0, 0, 1.0, 100, 1 / 3, id="all-errors"),
            pytest.param(0, 0, 0.5, 50, 0.5, id="half-errors"),
            pytest.param(2, 1, 0.25, 25, 1 / 4.5, id="everything"),
            pytest.param(3, 0, 1 / 3, 33, 0.2142857142857143, id="order-of-sums"),
            pytest.param(0, 0, 0.005, 0, 1 / 1.01, id="half-down-to-even"),
            pytest.param(0, 0, 0.015, 2, 1 / 1.03, id="half-up-to-even"),
            pytest.param(0, 0, 0.125, 12, 0.8, id="eighth"),
            pytest.param(0, 0, 0.375, 38, 1 / 1.75, id="three-eighths"),
            pytest.param(-1, 0, None, None, 1.0, id="zero-divisor"),
            pytest.param(0, -1, None, None, 1.0, id="zero-divisor-of-corrections"),
            pytest.param(-2, 0, 0.5, 50, 1.0, id="zero-divisor-of-all"),
            pytest.param(-2, 0, None, None, 0.0, id="negative-divisor"),
            pytest.param(-1, 0, 0.25, 25, 1.0, id="divisor-below-one"),
            pytest.param(5, -5, None, None, 1.0, id="sum-of-nothing"),
            pytest.param(LARGEST, 1, None, None, 0.0, id="sum-that-wraps"),
            pytest.param(LARGEST, 0, None, None, 1.0842021724855044e-19, id="largest"),
        ],
    )
    def test_falls_with_every_correction(
        self, retries: int, corrections: int, rate: float | None, percent: int | None, sub_score: float
    ) -> None:
        errors = "" if percent is None else f", {percent}% tool-error rate"
        detail = f"{retries} retries, {corrections} user corrections{errors}"
        assert pressure_value(Corrections(retries, corrections, True), rate) == present(sub_score, detail)


def gate(result: str, rule: str = "r", correlation: str = "", kind: str = "prevent_before_action") -> dict[str, str]:
    return {"intervention_class": kind, "result": result, "rule_id": rule, "correlation_id": correlation}


class TestHookOutcomes:
    def outcome(self, directory: Path, *records: Any) -> SignalValue:
        (directory / "iter-4.hook-outcomes.yaml").write_text(
            json.dumps({"records": records}, ensure_ascii=False), "utf-8"
        )
        return extract_hook_outcomes_signal(directory, 4)

    ALLOWED, UNKNOWN = present(1, "allow: r (1 records)"), absent("hook-outcome records had no recognised result value")

    @pytest.mark.parametrize(
        ("records", "expected"),
        [
            pytest.param([gate("allow")], ALLOWED, id="allow"),
            pytest.param([gate("advise")], present(0.6, "advise: r"), id="advise"),
            pytest.param([gate("remediate")], present(0, "remediate: r"), id="remediate"),
            pytest.param([gate("allow"), gate("advise", "s")], present(0.6, "advise: s"), id="advise-over-allow"),
            pytest.param([gate("advise"), gate("remediate", "s")], present(0, "remediate: s"), id="remediate-over-all"),
            pytest.param([gate("allow"), gate("odd", "s")], ALLOWED, id="unknown-is-left-out"),
            pytest.param([gate("allow"), gate("allow")], present(1, "allow: r (2 records)"), id="records-are-counted"),
            pytest.param(
                [gate("allow", "b"), gate("allow", "a"), gate("allow", "b")],
                present(1, "allow: a, b (3 records)"),
                id="rules-are-sorted-and-named-once",
            ),
            pytest.param(
                [gate("advise", rule) for rule in ("z", "\u00e9", "Z", "\U0001f389", "\uffee")],
                present(0.6, "advise: Z, z, \u00e9, \uffee, \U0001f389"),
                id="rules-are-sorted-by-bytes",
            ),
            pytest.param([gate("allow", "")], present(1, "allow:  (1 records)"), id="rule-without-a-name"),
            pytest.param([gate("allow", kind="remediate_at_stop")], ALLOWED, id="the-other-kept-class"),
            pytest.param([gate("Allow")], UNKNOWN, id="case"),
            pytest.param([gate(" allow")], UNKNOWN, id="white-space"),
            pytest.param([gate("")], UNKNOWN, id="no-result"),
        ],
    )
    def test_are_decided_by_the_most_severe(self, tmp_path: Path, records: list[Any], expected: SignalValue) -> None:
        assert self.outcome(tmp_path, *records) == expected

    @pytest.mark.parametrize(
        ("first", "second", "expected"),
        [
            pytest.param("allow c", "allow c", ALLOWED, id="one-correlation-and-rule-is-one"),
            pytest.param("allow c", "remediate c", present(0, "remediate: r"), id="takes-the-more-severe-later"),
            pytest.param("remediate c", "allow c", present(0, "remediate: r"), id="keeps-the-more-severe-earlier"),
            pytest.param("odd c", "allow c", ALLOWED, id="anything-known-is-more-severe-than-unknown"),
            pytest.param("allow c", "allow c s", present(1, "allow: r, s (2 records)"), id="another-rule-is-another"),
            pytest.param("allow c", "allow d", present(1, "allow: r (2 records)"), id="another-correlation-is-another"),
            pytest.param("allow", "allow", present(1, "allow: r (2 records)"), id="none-is-each-for-itself"),
            pytest.param("allow c", "allow c r remediate_at_stop", ALLOWED, id="across-the-kept-classes"),
            pytest.param("allow c", "remediate c r continuity_advice", ALLOWED, id="not-with-a-class-that-is-not-kept"),
        ],
    )
    def test_of_one_gate_collapse(self, tmp_path: Path, first: str, second: str, expected: SignalValue) -> None:
        def given(result: str, correlation: str = "", rule: str = "r", *kind: str) -> dict[str, str]:
            return gate(result, rule, correlation, *kind)

        assert self.outcome(tmp_path, given(*first.split()), given(*second.split())) == expected

    def test_that_cannot_be_read_are_absent(self, tmp_path: Path) -> None:
        (tmp_path / "iter-4.hook-outcomes.yaml").mkdir()
        found = extract_hook_outcomes_signal(tmp_path, 4)
        assert not found.present
        assert found.detail.startswith("cannot read hook-outcomes sidecar for iter-4: ")


class TestTokenEfficiency:
    @pytest.mark.parametrize(
        ("facts", "detail"),
        [
            (None, "commit time unresolvable; cannot window the transcript"),
            (TranscriptFacts(), "no transcript covers the iteration window"),
            (TranscriptFacts(tool_calls=5), "no transcript covers the iteration window"),
        ],
    )
    def test_without_turns_is_absent(self, facts: TranscriptFacts | None, detail: str) -> None:
        assert efficiency_value(None, facts) == absent(detail)

    @pytest.mark.parametrize(
        ("rate", "sub_score", "shown"), [(0.9, 0.9, "0.900"), (0, 0, "0.000"), (10, 1, "10.000"), (-0.5, 0, "-0.500")]
    )
    def test_of_the_entry_counts_where_there_is_a_window(self, rate: float, sub_score: float, shown: str) -> None:
        tokens, said = TokenUsage(cache_hit_rate=rate), f"native session_tokens: cache_hit_rate {shown}"
        for facts in (TranscriptFacts(), TranscriptFacts(turns=2, cache_reads=1)):
            assert efficiency_value(tokens, facts) == present(sub_score, said)
        assert efficiency_value(tokens, None) == absent("commit time unresolvable; cannot window the transcript")

    @pytest.mark.parametrize(
        ("turns", "reads", "creations", "sub_score", "shown"),
        [
            pytest.param(1, 3, 1, 0.75, "0.750", id="reads-of-all"),
            pytest.param(12, 2, 1, 2 / 3, "0.667", id="rounded-in-words-only"),
            pytest.param(3, 0, 0, 0, "0.000", id="turns-without-a-cache"),
            pytest.param(1, -4, 1, 1, "1.333", id="above-one-is-clamped"),
        ],
    )
    def test_is_the_cache_hit_rate(self, turns: int, reads: int, creations: int, sub_score: float, shown: str) -> None:
        facts = TranscriptFacts(turns=turns, cache_reads=reads, cache_creations=creations)
        detail = f"backfilled from {turns} transcript turn(s): cache_hit_rate {shown}"
        assert efficiency_value(None, facts) == present(sub_score, detail)


class TestObjectives:
    @pytest.mark.parametrize("facts", [None, TranscriptFacts(), TranscriptFacts(turns=3, tool_calls=2)])
    def test_without_coverage_are_absent(self, facts: TranscriptFacts | None) -> None:
        unseen = absent("no transcript coverage in window")
        assert objective_checks(facts) == IterationObjectives(unseen, unseen, unseen)

    @pytest.mark.parametrize(
        ("flag", "name", "no", "yes"),
        [
            (BASH, "ran_cli_command", "no Bash tool invocation in window", "Bash tool invoked"),
            (TESTS, "committed_after_tests", "no test command in window", "test command invoked before commit"),
            (LOOP_STATE, "read_loop_state", "loop-state.md not read in window", "loop-state.md was read"),
        ],
    )
    def test_with_coverage_are_what_was_seen(self, flag: int, name: str, no: str, yes: str) -> None:
        unseen, seen = (objective_checks(TranscriptFacts(flags=COVERED | one)).as_dict() for one in (0, flag))
        assert (unseen[name], seen[name]) == (present(0, no).as_dict(), present(1, yes).as_dict())
        assert {check for check, value in seen.items() if value["sub_score"] == 1} == {name}


SAID, SEEN = present(1, "said"), present(0.25, "seen")


class TestIntegrity:
    def test_pairs_claims_with_observations_in_order(self) -> None:
        sides: dict[str, Any] = {
            "landed_claimed": present(1, "a"),
            "landed_observed": present(0, "b"),
            "verifier_claimed": present(0, "c"),
            "verifier": present(1, "d"),
            "tests_claimed": present(0.5, "e"),
            "scope_claimed": present(0.75, "f"),
            "scope_observed": present(0.25, "g"),
        }
        found = assembled(**sides).integrity
        assert [(pair.signal, pair.role, pair.claimed.detail, pair.observed.detail, pair.delta) for pair in found] == [
            ("landed", "impl", "a", "b", -1.0),
            ("verifier", "verifier", "c", "d", 1.0),
            ("tests", "impl", "e", "d", 0.5),
            ("scope", "impl", "f", "g", -0.5),
        ]

    @pytest.mark.parametrize(
        ("claimed", "observed", "comparable", "delta"),
        [
            pytest.param(SAID, SEEN, True, -0.75, id="over-claim"),
            pytest.param(SEEN, SAID, True, 0.75, id="under-claim"),
            pytest.param(SAID, SAID, True, 0.0, id="agreement"),
            pytest.param(SAID, NOTHING, False, 0.0, id="claim-alone"),
            pytest.param(NOTHING, SEEN, False, 0.0, id="observation-alone"),
        ],
    )
    def test_compares_only_what_is_there(
        self, claimed: SignalValue, observed: SignalValue, comparable: bool, delta: float
    ) -> None:
        pair = assembled(landed_claimed=claimed, landed_observed=observed).integrity[0]
        assert (pair.comparable, pair.delta) == (comparable, delta)
        assert pair.as_dict() == {
            "signal": "landed",
            "role": "impl",
            "claimed": claimed.as_dict(),
            "observed": observed.as_dict(),
            "comparable": comparable,
            "delta": delta,
        }


class TestReasons:
    """Why a signal is absent, without what is particular to one iteration: reasons are counted over a log."""

    @pytest.mark.parametrize(
        ("values", "reason"),
        [
            pytest.param(
                [hook_value(HookFacts(Path("x"), None), n) for n in (1, 22)],
                "no hook-outcomes sidecar for iter-N",
                id="the iteration",
            ),
            pytest.param(
                [hook_value(HookFacts(Path("x"), None, "parse", why), 1) for why in ("a\nb", "c")],
                "cannot parse hook-outcomes sidecar for iter-N: …",
                id="what is wrong with a file",
            ),
            pytest.param(
                [scope_value(Changed("reference", "a", "a"), (), task) for task in ("a", 'b " c')],
                'no write_scope declared for task "…"',
                id="the task",
            ),
            pytest.param(
                [scope_value(Changed("reference", f, unknown=Unknown.UNRESOLVED), (), "t") for f in ("0123", "HEAD~1")],
                "commit SHA … does not resolve",
                id="the commit field",
            ),
            pytest.param(
                [scope_value(Changed("corrected", s, s, unknown=Unknown.FILES), ("a",), "t") for s in ("01", "ba")],
                "cannot read changed files for …",
                id="the commit",
            ),
            pytest.param(
                [deliberation_value(None, n) for n in (1, 2)], "no DR transcript for iter-N", id="the deliberation"
            ),
        ],
    )
    def test_leave_out_the_particulars(self, values: list[SignalValue], reason: str) -> None:
        assert len({value.detail for value in values}) == len(values)
        assert {(value.present, value.reason) for value in values} == {(False, reason)}


class TestSignalTable:
    def test_gives_each_signal_what_was_found_for_it(self) -> None:
        log = IterlogSignals(present(0.1, "s"), present(0.2, "t"), present(0.3, "v"), NOTHING, NOTHING, 1, 0)
        git = GitSignals(present(0.4, "l"), NOTHING)
        backfill = BackfillSignals(5, present(0.5, "e"), 0.5)
        found = assemble_signal_set(IterationRecord(2, 5), log, git, backfill, UNSEEN, present(0.6, "h"))
        assert found.iteration == 5
        assert {name: value.detail for name, value in found.signals.items()} == {
            "landed": "l",
            "verifier": "v",
            "tests": "t",
            "correction_pressure": "1 retries, 0 user corrections, 50% tool-error rate",
            "scope": "s",
            "hook_outcomes": "h",
            "token_efficiency": "e",
        }
        assert [pair.signal for pair in found.integrity] == ["landed", "verifier", "tests", "scope"]

    def test_is_plain_data(self) -> None:
        pair = assembled(landed_claimed=SAID).integrity[0]
        found = SignalSet(1, {SignalID("landed"): SAID}, UNSEEN, (pair,))
        nothing = {"present": False, "sub_score": 0.0, "detail": "nothing"}
        said = {"present": True, "sub_score": 1, "detail": "said", "source": None, "applicable": True, "fact": None}
        assert found.as_dict() == {
            "iteration": 1,
            "signals": {"landed": said},
            "integrity": [pair.as_dict()],
            "objective": {"ran_cli_command": nothing, "committed_after_tests": nothing, "read_loop_state": nothing},
        }
