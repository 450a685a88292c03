"""The signals and what stands beside them: each mapping, row by row."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from helpers.repos import START, Repo
from msgspec.structs import replace

from rubric import SignalID
from scoring.errors import LogError, NotARepositoryError, silent
from scoring.evidence.beside import Corrections, HookFacts, reference_corrections
from scoring.evidence.git.facts import Changed, Unknown
from scoring.evidence.git.reference import ReferenceHistory
from scoring.evidence.transcripts.facts import BASH, COVERED, LOOP_STATE, TESTS, IterationWindow, TranscriptFacts
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
from scoring.numbers import wrap64
from scoring.parity import (
    BackfillSignals,
    GitSignals,
    IterlogSignals,
    assemble_signal_set,
    backfill_iterations,
    build_signal_sets,
    extract_git_signals,
    extract_hook_outcomes_signal,
    extract_iteration_objectives,
    extract_iterlog_signals,
)
from scoring.signals import landed, scope
from scoring.signals.correction_pressure import pressure_value
from scoring.signals.diminishing_returns import deliberation_value
from scoring.signals.hook_outcomes import hook_value
from scoring.signals.landed import landed_claim
from scoring.signals.objectives import objective_checks
from scoring.signals.scope import scope_claim, scope_value
from scoring.signals.table import SIGNALS
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

HOUR = 3_600
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
        ("given", "expected"),
        [
            pytest.param(0.5, 0.5, id="inside"),
            pytest.param(1, 1.0, id="one"),
            pytest.param(0, 0.0, id="zero"),
            pytest.param(1.5, 1.0, id="above"),
            pytest.param(-0.5, 0.0, id="below"),
            pytest.param(math.inf, 1.0, id="infinite"),
            pytest.param(-math.inf, 0.0, id="minus-infinite"),
        ],
    )
    def test_present_is_clamped(self, given: float, expected: float) -> None:
        assert present_signal(given, "why") == present(expected, "why")

    def test_present_is_never_minus_zero(self) -> None:
        assert math.copysign(1, present_signal(-0.0, "").sub_score) == 1

    def test_what_is_not_a_number_is_absent(self) -> None:
        assert present_signal(math.nan, "why") == absent("why")

    def test_absent_has_no_score(self) -> None:
        assert absent_signal("why") == absent("why")
        assert absent("why").as_dict() == {"present": False, "sub_score": 0.0, "detail": "why"}

    @pytest.mark.parametrize(
        ("number", "expected"),
        [
            pytest.param(LARGEST, LARGEST, id="largest"),
            pytest.param(-LARGEST - 1, -LARGEST - 1, id="smallest"),
            pytest.param(LARGEST + 1, -LARGEST - 1, id="one-beyond"),
            pytest.param(-LARGEST - 2, LARGEST, id="one-below"),
            pytest.param(2**64 + 5, 5, id="once-around"),
            pytest.param(-(2**65) - 5, -5, id="twice-around-backwards"),
        ],
    )
    def test_counts_wrap_like_signed_integers(self, number: int, expected: int) -> None:
        assert wrap64(number) == expected


def entry(commit: str = "", summary: str = "", task: str = "", note: str = "") -> IterationRecord:
    return IterationRecord(2, 1, task_id=task, commit=commit, impl=ImplBlock(summary=summary, scope_note=note))


class TestLanded:
    @pytest.mark.sampled(100)
    @pytest.mark.parametrize("commit", ["", "  ", "\t\n", "\u3000"])
    def test_without_a_commit_is_absent(self, past: Past, commit: str) -> None:
        expected = absent("no commit SHA on iteration entry")
        assert landed.landed_value(past.history.landing(entry(commit, "feat: landed"))) == expected

    @pytest.mark.parametrize("spelling", ["{sha}", " {sha}\n", "\u00a0{sha}"])
    def test_on_the_trunk_is_one(self, past: Past, spelling: str) -> None:
        sha = past["landed"]
        expected = present(1, f"commit {sha[:12]} reachable from master, not reverted")
        assert landed.landed_value(past.history.landing(entry(spelling.format(sha=sha)))) == expected

    @pytest.mark.parametrize(("name", "sha"), [("master", "merged"), ("HEAD~1", "empty")])
    def test_by_another_name_shows_the_sha(self, past: Past, name: str, sha: str) -> None:
        expected = present(1, f"commit {past[sha][:12]} reachable from master, not reverted")
        assert landed.landed_value(past.history.landing(entry(name))) == expected

    def test_off_the_trunk_is_zero(self, past: Past) -> None:
        expected = present(0, f"commit {past['side'][:12]} not reachable from master")
        assert landed.landed_value(past.history.landing(entry(past["side"], "feat: landed"))) == expected

    def test_reverted_is_zero(self, past: Past) -> None:
        expected = present(0, f"commit {past['undone'][:12]} reachable but reverted by {past['undoing'][:12]}")
        assert landed.landed_value(past.history.landing(entry(past["undone"]))) == expected

    @pytest.mark.parametrize("summary", ["feat: landed", " FEAT: LANDED\n"])
    def test_unresolved_but_with_the_subject_of_a_trunk_commit_is_one(self, past: Past, summary: str) -> None:
        detail = f"unresolved SHA deadbeefdead; message-matched {past['landed'][:12]} reachable from master"
        assert landed.landed_value(past.history.landing(entry("deadbeefdeadbeef", summary))) == present(1, detail)

    def test_unresolved_with_the_subject_of_a_reverted_commit_is_zero(self, past: Past) -> None:
        matched, who = past["undone"][:12], past["undoing"][:12]
        detail = f"unresolved SHA deadbeef; message-matched {matched}, later reverted by {who}"
        assert landed.landed_value(past.history.landing(entry("deadbeef", "feat: undone"))) == present(0, detail)

    @pytest.mark.parametrize("summary", ["", "  ", "feat: lande", "on the side", "body"])
    def test_unresolved_without_a_match_is_absent(self, past: Past, summary: str) -> None:
        expected = absent("commit SHA deadbeef does not resolve and no message match")
        assert landed.landed_value(past.history.landing(entry(" deadbeef ", summary))) == expected

    def test_commit_that_looks_like_an_option_is_data(self, past: Past) -> None:
        expected = absent("commit SHA --output=x does not resolve and no message match")
        assert landed.landed_value(past.history.landing(entry("--output=x"))) == expected

    def test_without_a_trunk_nothing_has_landed(self, past: Past) -> None:
        sha = past["landed"]
        elsewhere = ReferenceHistory(past.repo.path, [entry(sha), entry("deadbeef")], trunk="missing")
        assert landed.landed_value(elsewhere.landing(entry(sha))) == present(
            0, f"commit {sha[:12]} not reachable from missing"
        )
        expected = absent("commit SHA deadbeef does not resolve and no message match")
        assert landed.landed_value(elsewhere.landing(entry("deadbeef", "feat: landed"))) == expected


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

    @pytest.mark.parametrize("review", [ReviewBlock(phase_1_decision="accept"), ReviewBlock(phase_2_decision="accept")])
    def test_does_not_come_from_a_phase(self, review: ReviewBlock) -> None:
        assert landed_claim(IterationRecord(review=review)) == NO_CLAIM


def within(past: Past, name: str, *entries: str, task: str = "t") -> SignalValue:
    return scope.scope_value(past.history.changed(entry(past[name])), entries, task)


class TestScope:
    @pytest.mark.parametrize("commit", ["", " \n"])
    def test_without_a_commit_is_absent(self, past: Past, commit: str) -> None:
        expected = absent("no commit SHA on iteration entry")
        assert scope.scope_value(past.history.changed(entry(commit)), ("src/",), "t") == expected

    def test_of_an_unresolved_commit_is_absent(self, past: Past) -> None:
        expected = absent("commit SHA deadbeefdead does not resolve")
        assert scope.scope_value(past.history.changed(entry("deadbeefdeadbeef")), ("src/",), "t") == expected

    @pytest.mark.parametrize(
        ("task", "shown"),
        [
            pytest.param("other", '"other"', id="other"),
            pytest.param("", '""', id="none"),
            pytest.param(" t", '" t"', id="untrimmed"),
            pytest.param("T", '"T"', id="case"),
            pytest.param('a"\n\u00ad', r'"a\"\n\u00ad"', id="quoted"),
        ],
    )
    def test_without_a_declared_scope_is_absent(self, past: Past, task: str, shown: str) -> None:
        expected = absent(f"no write_scope declared for task {shown}")
        assert scope.scope_value(past.history.changed(entry(past["wide"])), (), task) == expected

    def test_of_a_task_without_an_id_may_be_declared(self, past: Past) -> None:
        expected = present(1, '1/1 changed files within declared write_scope of task ""')
        assert within(past, "landed", "src/", task="") == expected

    @pytest.mark.parametrize(
        ("entries", "inside"),
        [
            pytest.param(("src/",), 2, id="folder"),
            pytest.param(("src",), 0, id="folder-without-a-slash-is-a-file"),
            pytest.param(("README",), 1, id="file"),
            pytest.param(("README/",), 0, id="file-with-a-slash-is-a-folder"),
            pytest.param(("READ",), 0, id="beginning-of-a-name"),
            pytest.param(("src/a.py", "docs/x.md"), 2, id="two-files"),
            pytest.param(("src/", "docs/", "README"), 4, id="everything"),
            pytest.param(("src/", "src/s/", "src/a.py"), 2, id="counted-once"),
            pytest.param(("src/s/",), 1, id="folder-in-a-folder"),
            pytest.param(("sr/",), 0, id="beginning-of-a-folder"),
            pytest.param(("./src//s/../",), 2, id="cleaned-folder"),
            pytest.param(("./docs//../README",), 1, id="cleaned-file"),
            pytest.param((" src/ ",), 2, id="white-space-around"),
            pytest.param(("", "  ", "README"), 1, id="blanks-are-skipped"),
            pytest.param(("",), 0, id="nothing-but-a-blank"),
            pytest.param(("*", "**", "src/*", "src/*.py"), 0, id="no-globs"),
            pytest.param(("./",), 0, id="this-folder-matches-nothing"),
            pytest.param((".",), 0, id="dot-matches-nothing"),
            pytest.param(("/",), 0, id="root-matches-nothing"),
            pytest.param(("/src/",), 0, id="absolute-folder"),
            pytest.param(("//src/",), 0, id="two-slashes"),
            pytest.param(("../",), 0, id="parent"),
            pytest.param(("../repo/src/",), 0, id="out-and-in-again"),
            pytest.param(("SRC/",), 0, id="other-case"),
        ],
    )
    def test_is_the_share_of_files_inside(self, past: Past, entries: tuple[str, ...], inside: int) -> None:
        detail = f'{inside}/4 changed files within declared write_scope of task "t"'
        assert within(past, "wide", *entries) == present(inside / 4, detail)

    def test_compares_names_as_git_quotes_them(self, past: Past) -> None:
        half = present(0.5, '1/2 changed files within declared write_scope of task "t"')
        assert within(past, "odd", "src/") == half
        assert within(past, "odd", '"src/caf\\303\\251.py"') == half
        assert within(past, "odd", "src/caf\u00e9.py").sub_score == 0

    def test_of_a_rename_counts_the_new_name(self, past: Past) -> None:
        assert within(past, "moved", "docs/").sub_score == 1
        assert within(past, "moved", "README").sub_score == 0

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

    def test_does_not_mind_where_the_commit_is(self, past: Past) -> None:
        assert within(past, "side", "side.txt").sub_score == 1


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
            pytest.param(("pass",), 1, "1/1", id="pass"),
            pytest.param(("partial",), 0.5, "1/1", id="partial"),
            pytest.param(("fail",), 0, "1/1", id="fail"),
            pytest.param(("pass", "fail"), 0.5, "2/2", id="mean"),
            pytest.param(("pass", "pass", "partial"), 2.5 / 3, "3/3", id="mean-of-three"),
            pytest.param(("pass", "skipped", "", "passed"), 1, "1/4", id="others-left-out"),
            pytest.param((" PASS ", "\tFail\n"), 0.5, "2/2", id="trimmed-any-case"),
        ],
    )
    def test_is_the_mean_status(self, statuses: tuple[str, ...], sub_score: float, scored: str) -> None:
        expected = present(sub_score, f"{scored} verifiers scored, mean status")
        assert extract_iterlog_signals(verified(*statuses, proxy=False), "").verifier == expected

    def test_is_absent_where_no_status_counts(self) -> None:
        expected = absent("verifier records carry no pass/fail/partial status")
        assert extract_iterlog_signals(verified("skipped", "", proxy=False), "").verifier == expected

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
        ],
    )
    def test_takes_the_status_of_an_artifact(self, tmp_path: Path, artifact: str | None, expected: float) -> None:
        if artifact is not None:
            (tmp_path / "a.yaml").write_text(artifact)
        record = IterationRecord(verifiers=(VerifierRecord(status="pass", result_artifact="a.yaml"),))
        assert extract_iterlog_signals(record, tmp_path).verifier == present(
            expected, "1/1 verifiers scored, mean status"
        )
        assert extract_iterlog_signals(record, "").verifier == present(1, "1/1 verifiers scored, mean status")

    def test_takes_an_unknown_status_of_an_artifact_for_what_it_is(self, tmp_path: Path) -> None:
        (tmp_path / "a.yaml").write_text("status: skipped")
        record = IterationRecord(verifiers=(VerifierRecord(status="pass", result_artifact="a.yaml"),))
        expected = absent("verifier records carry no pass/fail/partial status")
        assert extract_iterlog_signals(record, tmp_path).verifier == expected

    @pytest.mark.parametrize("path", ["../a.yaml", "/etc/passwd", "\0", "x" * 5_000, "\ud800", "a/" * 3_000])
    def test_raises_for_no_path(self, tmp_path: Path, path: str) -> None:
        record = IterationRecord(
            verifiers=(VerifierRecord(status="fail", result_artifact=path),), review=ReviewBlock(decision_artifact=path)
        )
        found = extract_iterlog_signals(record, tmp_path)
        assert found.verifier == present(0, "1/1 verifiers scored, mean status")
        assert found.user_corrections == 0


class TestVerifierClaim:
    def claim(self, impl: SelfAssessment, *verifiers: VerifierRecord) -> SignalValue:
        return verifier_claim(IterationRecord(impl=ImplBlock(self_assessment=impl), verifiers=verifiers))

    @pytest.mark.parametrize(
        ("impl", "verifiers"),
        [
            pytest.param(SelfAssessment(linked_traces_to_outcomes=True), (), id="of-the-implementation"),
            pytest.param(
                SelfAssessment(),
                (VerifierRecord(), VerifierRecord(self_assessment=SelfAssessment(linked_traces_to_outcomes=True))),
                id="of-any-verifier",
            ),
            pytest.param(SelfAssessment(), (VerifierRecord(linked_traces=(LinkedTrace(),)),), id="recorded-traces"),
        ],
    )
    def test_of_linked_traces_is_one(self, impl: SelfAssessment, verifiers: tuple[VerifierRecord, ...]) -> None:
        assert self.claim(impl, *verifiers) == present(1, "linked traces recorded")

    @pytest.mark.parametrize(
        ("impl", "verifiers"),
        [
            pytest.param(SelfAssessment(ran_cli_command=True), (), id="something-said"),
            pytest.param(SelfAssessment(one_item_only=False), (), id="a-reported-no-is-something"),
            pytest.param(SelfAssessment(persisted_via_workflow_commands="no"), (), id="a-word-is-something"),
            pytest.param(SelfAssessment(), (VerifierRecord(tests_added_by_kind=(TestAdded(),)),), id="tests-by-kind"),
        ],
    )
    def test_of_no_traces_is_zero(self, impl: SelfAssessment, verifiers: tuple[VerifierRecord, ...]) -> None:
        assert self.claim(impl, *verifiers) == present(0, "no linked traces recorded")

    @pytest.mark.parametrize(
        "verifiers",
        [
            pytest.param((), id="no-verifiers"),
            pytest.param((VerifierRecord(status="pass", tests_added=5),), id="verifier-without-a-report"),
            pytest.param(
                (VerifierRecord(self_assessment=SelfAssessment(ran_cli_command=True)),),
                id="what-a-verifier-says-of-itself",
            ),
        ],
    )
    def test_of_nothing_is_absent(self, verifiers: tuple[VerifierRecord, ...]) -> None:
        assert self.claim(SelfAssessment(), *verifiers) == absent("no verification self-report")


class TestTests:
    @pytest.mark.parametrize(
        ("focused", "total", "verifiers", "expected"),
        [
            pytest.param(None, None, (), absent("no test-pass flags set in iteration log"), id="none"),
            pytest.param(None, None, (None,), absent("no test-pass flags set in iteration log"), id="none-reported"),
            pytest.param(True, None, (), present(1, "1/1 test-pass flags true"), id="focused"),
            pytest.param(None, False, (), present(0, "0/1 test-pass flags true"), id="total"),
            pytest.param(None, None, (True,), present(1, "1/1 test-pass flags true"), id="verifier"),
            pytest.param(True, False, (), present(0.5, "1/2 test-pass flags true"), id="half"),
            pytest.param(
                False, None, (True, None, False), present(1 / 3, "1/3 test-pass flags true"), id="unreported-left-out"
            ),
            pytest.param(True, True, (True, True), present(1, "4/4 test-pass flags true"), id="all"),
        ],
    )
    def test_is_the_share_of_reported_flags(
        self, focused: bool | None, total: bool | None, verifiers: tuple[bool | None, ...], expected: SignalValue
    ) -> None:
        record = IterationRecord(
            impl=ImplBlock(focused_tests_pass=focused, tests_total_pass=total),
            verifiers=tuple(VerifierRecord(tests_total_pass=flag) for flag in verifiers),
        )
        assert flags_claim(record) == expected


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

    @pytest.mark.parametrize(
        ("own", "verifiers", "total"),
        [
            pytest.param(2, (), 2, id="own"),
            pytest.param(1, (2, 3), 6, id="and-every-verifiers"),
            pytest.param(-1, (1,), 0, id="negative"),
            pytest.param(LARGEST, (1,), -LARGEST - 1, id="wraps"),
        ],
    )
    def test_counts_retries(self, own: int, verifiers: tuple[int, ...], total: int) -> None:
        record = IterationRecord(
            impl=ImplBlock(retries=own), verifiers=tuple(VerifierRecord(retries=n) for n in verifiers)
        )
        assert reference_corrections(record, "", silent).retries == total

    def test_reads_corrections_off_the_review_artifact(self, tmp_path: Path) -> None:
        (tmp_path / "d.yaml").write_text("post_invocation: {user_corrections: [a, b], retries_in_loop: 1}")
        record = IterationRecord(impl=ImplBlock(retries=1), review=ReviewBlock(decision_artifact="d.yaml"))
        found = extract_iterlog_signals(record, tmp_path)
        assert (found.retries, found.user_corrections) == (1, 3)
        assert extract_iterlog_signals(record, "").user_corrections == 0


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

    @pytest.mark.parametrize(
        "records", [[], [gate("allow", kind="continuity_advice")], [gate("allow", kind="")], [None]]
    )
    def test_without_a_kept_record_are_absent(self, tmp_path: Path, records: list[Any]) -> None:
        detail = "no scored hook-outcome records for iter-4 (continuity_advice/observe_tool_result are deferred)"
        assert self.outcome(tmp_path, *records) == absent(detail)

    def test_without_a_file_are_absent(self, tmp_path: Path) -> None:
        assert extract_hook_outcomes_signal(tmp_path, 7) == absent("no hook-outcomes sidecar for iter-7")

    def test_that_cannot_be_parsed_are_absent(self, tmp_path: Path) -> None:
        (tmp_path / "iter-4.hook-outcomes.yaml").write_text("records: nope")
        detail = "cannot parse hook-outcomes sidecar for iter-4: line 1: records: 'nope' where a list belongs"
        assert extract_hook_outcomes_signal(tmp_path, 4) == absent(detail)

    def test_that_cannot_be_read_are_absent(self, tmp_path: Path) -> None:
        (tmp_path / "iter-4.hook-outcomes.yaml").mkdir()
        found = extract_hook_outcomes_signal(tmp_path, 4)
        assert not found.present
        assert found.detail.startswith("cannot read hook-outcomes sidecar for iter-4: ")


class TestTokenEfficiency:
    @pytest.mark.parametrize(
        ("facts", "detail"),
        [
            pytest.param(None, "commit time unresolvable; cannot window the transcript", id="no-window"),
            pytest.param(TranscriptFacts(), "no transcript covers the iteration window", id="no-turns"),
            pytest.param(TranscriptFacts(tool_calls=5), "no transcript covers the iteration window", id="calls-alone"),
        ],
    )
    def test_without_turns_is_absent(self, facts: TranscriptFacts | None, detail: str) -> None:
        assert efficiency_value(None, facts) == absent(detail)

    @pytest.mark.parametrize(
        ("rate", "sub_score", "shown"),
        [
            pytest.param(0.9, 0.9, "0.900", id="over-transcripts"),
            pytest.param(0, 0, "0.000", id="zero"),
            pytest.param(10, 1, "10.000", id="above-one-is-clamped"),
            pytest.param(-0.5, 0, "-0.500", id="below-zero-is-clamped"),
        ],
    )
    def test_of_the_entry_counts_where_there_is_a_window(self, rate: float, sub_score: float, shown: str) -> None:
        tokens, said = TokenUsage(cache_hit_rate=rate), f"native session_tokens: cache_hit_rate {shown}"
        for facts in (TranscriptFacts(), TranscriptFacts(turns=2, cache_reads=1)):
            assert efficiency_value(tokens, facts) == present(sub_score, said)
        assert efficiency_value(tokens, None) == absent("commit time unresolvable; cannot window the transcript")

    @pytest.mark.parametrize("rate", [math.nan, math.inf, -math.inf])
    def test_of_the_entry_that_is_no_number_is_absent(self, rate: float) -> None:
        found = efficiency_value(TokenUsage(cache_hit_rate=rate), TranscriptFacts(turns=2, cache_reads=1))
        assert found == absent("native session_tokens: cache_hit_rate is not a number")

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

    @pytest.mark.parametrize(
        ("facts", "rate"),
        [
            pytest.param(None, None, id="no-window"),
            pytest.param(TranscriptFacts(turns=5), None, id="no-calls"),
            pytest.param(TranscriptFacts(tool_calls=4), 0.0, id="no-errors"),
            pytest.param(TranscriptFacts(tool_calls=4, tool_errors=1), 0.25, id="some"),
        ],
    )
    def test_is_beside_the_tool_error_rate(self, facts: TranscriptFacts | None, rate: float | None) -> None:
        assert (facts and facts.tool_error_rate) == rate


class TestObjectives:
    @pytest.mark.parametrize("facts", [None, TranscriptFacts(), TranscriptFacts(turns=3, tool_calls=2)])
    def test_without_coverage_are_absent(self, facts: TranscriptFacts | None) -> None:
        unseen = absent("no transcript coverage in window")
        assert objective_checks(facts) == IterationObjectives(unseen, unseen, unseen)

    def test_with_coverage_and_no_match_are_zero(self) -> None:
        assert objective_checks(TranscriptFacts(flags=COVERED)) == IterationObjectives(
            ran_cli_command=present(0, "no Bash tool invocation in window"),
            committed_after_tests=present(0, "no test command in window"),
            read_loop_state=present(0, "loop-state.md not read in window"),
        )

    def test_with_a_match_are_one(self) -> None:
        assert objective_checks(TranscriptFacts(flags=COVERED | BASH | TESTS | LOOP_STATE)) == IterationObjectives(
            ran_cli_command=present(1, "Bash tool invoked"),
            committed_after_tests=present(1, "test command invoked before commit"),
            read_loop_state=present(1, "loop-state.md was read"),
        )

    @pytest.mark.parametrize(
        ("flag", "name"),
        [(BASH, "ran_cli_command"), (TESTS, "committed_after_tests"), (LOOP_STATE, "read_loop_state")],
    )
    def test_are_told_apart(self, flag: int, name: str) -> None:
        found = objective_checks(TranscriptFacts(flags=COVERED | flag)).as_dict()
        assert {check for check, value in found.items() if value["sub_score"] == 1} == {name}


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

    def test_of_a_flat_entry_is_all_the_implementers(self) -> None:
        flat = assembled(record=IterationRecord(1, 1), verifier_claimed=SAID, landed_claimed=SAID)
        assert [(pair.signal, pair.role) for pair in flat.integrity] == [("landed", "impl"), ("verifier", "impl")]

    def test_drops_pairs_with_neither_side(self) -> None:
        assert assembled().integrity == ()
        assert [pair.signal for pair in assembled(scope_observed=SEEN).integrity] == ["scope"]
        assert [pair.signal for pair in assembled(tests_claimed=SAID).integrity] == ["tests"]
        assert [pair.signal for pair in assembled(verifier=SEEN).integrity] == ["verifier", "tests"]

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

    def test_are_the_details_where_there_are_no_particulars(self) -> None:
        assert absent("x") == absent_signal("x")
        assert absent_signal("x").reason == "x"
        assert present_signal(1, "x").reason == ""


class TestSignalTable:
    def test_is_in_the_order_of_the_rubric(self) -> None:
        assert [signal.id for signal in SIGNALS] == [
            "landed",
            "verifier",
            "tests",
            "correction_pressure",
            "scope",
            "hook_outcomes",
            "token_efficiency",
            "diminishing_returns",
            "human_label",
        ]

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

    @pytest.mark.parametrize(
        ("observed", "claimed", "expected"),
        [
            pytest.param(SEEN, SAID, SEEN, id="observed-first"),
            pytest.param(present(0, "seen"), SAID, present(0, "seen"), id="an-observed-zero-counts"),
            pytest.param(NOTHING, SAID, SAID, id="else-claimed"),
            pytest.param(absent("no scope"), absent("no note"), absent("no note"), id="else-why-nothing-was-claimed"),
        ],
    )
    def test_takes_scope_from_git_or_else_from_the_agent(
        self, observed: SignalValue, claimed: SignalValue, expected: SignalValue
    ) -> None:
        assert assembled(scope_observed=observed, scope_claimed=claimed).value("scope") == expected

    def test_of_an_unknown_id_is_absent(self) -> None:
        found = SignalSet(1, {SignalID("landed"): SAID}, UNSEEN)
        assert found.value("landed") == SAID
        assert not found.value("nonsense").present

    def test_is_plain_data(self) -> None:
        pair = assembled(landed_claimed=SAID).integrity[0]
        found = SignalSet(1, {SignalID("landed"): SAID}, UNSEEN, (pair,))
        nothing = {"present": False, "sub_score": 0.0, "detail": "nothing"}
        assert found.as_dict() == {
            "iteration": 1,
            "signals": {
                "landed": {
                    "present": True,
                    "sub_score": 1,
                    "detail": "said",
                    "source": None,
                    "applicable": True,
                    "fact": None,
                }
            },
            "integrity": [pair.as_dict()],
            "objective": {"ran_cli_command": nothing, "committed_after_tests": nothing, "read_loop_state": nothing},
        }


def turn(time: int, reads: int = 1) -> str:
    """Return a transcript line: one turn some seconds after the builder's first commit."""
    minutes, seconds = divmod(20 * 60 + time, 60)
    stamp = f"2026-04-12T{13 + minutes // 60:02d}:{minutes % 60:02d}:{seconds:02d}Z"
    usage = {"cache_read_input_tokens": reads, "cache_creation_input_tokens": 1}
    return json.dumps({"type": "assistant", "timestamp": stamp, "message": {"usage": usage}})


class TestWindowsOfALog:
    """Commits are an hour apart, the first one at 13:20 UTC."""

    def turns(self, repo: Repo, commits: list[str], *times: int) -> list[str]:
        """Return the details of token_efficiency, without the rate, of records with these commits."""
        directory = repo.path.parent / "transcripts"
        directory.mkdir()
        (directory / "t.jsonl").write_text("\n".join(map(turn, times)))
        records = [IterationRecord(2, n, commit=commit) for n, commit in enumerate(commits)]
        found = backfill_iterations(records, repo.path, directory)
        assert [signals.iteration for signals in found] == list(range(len(commits)))
        return [signals.token_efficiency.detail.partition(" transcript turn(s)")[0] for signals in found]

    def test_follow_each_other(self, repo: Repo) -> None:
        commits = [repo.commit({"a": str(n)}) for n in range(3)]
        times = [-600, 0, 1, HOUR, HOUR + 1, HOUR + 2, HOUR + 3, 2 * HOUR, 2 * HOUR + 1]
        assert self.turns(repo, commits, *times) == ["backfilled from 2", "backfilled from 2", "backfilled from 4"]

    def test_pass_over_a_commit_that_does_not_resolve(self, repo: Repo) -> None:
        one, two = repo.commit({"a": "1"}), repo.commit({"a": "2"})
        unresolved = "commit time unresolvable; cannot window the transcript"
        assert self.turns(repo, [one, "deadbeef", "", two], 0, 1, HOUR) == [
            "backfilled from 1",
            unresolved,
            unresolved,
            "backfilled from 2",
        ]

    def test_take_a_commit_as_written(self, repo: Repo) -> None:
        one, two = repo.commit({"a": "1"}), repo.commit({"a": "2"})
        unresolved = "commit time unresolvable; cannot window the transcript"
        assert self.turns(repo, [f" {one}", two[:8]], -5, HOUR) == [unresolved, "backfilled from 2"]

    def test_of_a_commit_before_the_one_before_hold_nothing(self, repo: Repo) -> None:
        one, two, three = [repo.commit({"a": str(n)}) for n in range(3)]
        nothing = "no transcript covers the iteration window"
        assert self.turns(repo, [two, one, three], 0, 1, HOUR, HOUR + 1) == [
            "backfilled from 3",
            nothing,
            "backfilled from 3",
        ]

    def test_of_one_commit_twice_hold_nothing_the_second_time(self, repo: Repo) -> None:
        one = repo.commit({"a": "1"})
        nothing = "no transcript covers the iteration window"
        assert self.turns(repo, [one, one], 0) == ["backfilled from 1", nothing]

    def test_do_not_need_the_trunk(self, repo: Repo) -> None:
        repo.commit({"a": "1"})
        repo.branch("side")
        side = repo.commit({"s": "1"})
        assert self.turns(repo, [side], HOUR) == ["backfilled from 1"]

    def test_of_a_commit_whose_files_are_lost_are_there(self, repo: Repo) -> None:
        repo.commit({"a": "1"})
        sha = repo.commit({"a": "2"})
        repo.lose("HEAD^{tree}")
        assert self.turns(repo, [sha], HOUR) == ["backfilled from 1"]


class TestWholeLog:
    def write(self, directory: Path, iteration: int, text: str) -> None:
        directory.mkdir(exist_ok=True)
        (directory / f"iter-{iteration}.yaml").write_text(f"schema_version: 1\niteration: {iteration}\n{text}")

    def test_is_read_into_signal_sets(self, repo: Repo, tmp_path: Path) -> None:
        sha = repo.commit(
            {"src/a": "1", ".agents/workflow/plans/p/TASKS.yaml": "tasks: [{id: t, write_scope: [src/]}]"}
        )
        log, transcripts = tmp_path / "log", tmp_path / "transcripts"
        self.write(log, 2, f"commit: {sha}\ntask_id: t\ntests_total_pass: false\nretries: 1\n")
        self.write(log, 1, "")
        transcripts.mkdir()
        (transcripts / "t.jsonl").write_text(turn(0, 3))
        first, second = build_signal_sets(log, repo.path, transcripts)
        assert (first.iteration, second.iteration) == (1, 2)
        assert {name for name, value in first.signals.items() if value.present} == {"correction_pressure"}
        assert second.signals == {
            "landed": present(1, f"commit {sha[:12]} reachable from master, not reverted"),
            "verifier": present(0, "no verifiers; tests_total_pass proxy: fail"),
            "tests": present(0, "0/1 test-pass flags true"),
            "correction_pressure": present(0.5, "1 retries, 0 user corrections"),
            "scope": present(0.5, '1/2 changed files within declared write_scope of task "t"'),
            "hook_outcomes": absent("no hook-outcomes sidecar for iter-2"),
            "token_efficiency": present(0.75, "backfilled from 1 transcript turn(s): cache_hit_rate 0.750"),
            "diminishing_returns": absent("no DR transcript for iter-2"),
        }

    @pytest.mark.sampled(100)
    @pytest.mark.parametrize(
        "commit",
        [
            pytest.param("HEAD@{99}", id="further-back-than-the-reflog"),
            pytest.param("'@{upstream}'", id="no-upstream"),
            pytest.param("--output=x", id="option"),
            pytest.param("'HEAD\n\n  HEAD'", id="line-end"),
            pytest.param('"HEAD\\0"', id="nul"),
            pytest.param("!!binary /w==", id="byte-that-is-no-text"),
        ],
    )
    def test_with_an_odd_commit_is_scored_all_the_same(self, repo: Repo, tmp_path: Path, commit: str) -> None:
        sha = repo.commit({"a": "1"})
        self.write(tmp_path / "log", 1, f"commit: {commit}\n")
        self.write(tmp_path / "log", 2, f"commit: {sha}\n")
        first, second = build_signal_sets(tmp_path / "log", repo.path)
        assert first.value("landed").detail.endswith("does not resolve and no message match")
        assert second.value("landed").sub_score == 1

    def test_with_a_commit_without_a_time_is_scored_all_the_same(self, repo: Repo, tmp_path: Path) -> None:
        repo.commit({"a": "1"})
        odd = repo.raw_commit(f"author A <a@x> {START} +0000\ncommitter C <c@x> never +0000")
        sha = repo.commit({"a": "2"})
        self.write(tmp_path / "log", 1, f"commit: {odd}\n")
        self.write(tmp_path / "log", 2, f"commit: {sha}\n")
        first, second = build_signal_sets(tmp_path / "log", repo.path)
        assert (first.value("landed").sub_score, second.value("landed").sub_score) == (1, 1)
        unresolved = absent("commit time unresolvable; cannot window the transcript")
        assert first.value("token_efficiency") == unresolved
        assert second.value("token_efficiency") == absent("no transcript covers the iteration window")

    def test_that_is_empty_needs_no_repository(self, tmp_path: Path) -> None:
        (tmp_path / "log").mkdir()
        assert build_signal_sets(tmp_path / "log", tmp_path) == []

    def test_in_no_repository_is_an_error(self, tmp_path: Path) -> None:
        self.write(tmp_path / "log", 1, "")
        with pytest.raises(NotARepositoryError):
            build_signal_sets(tmp_path / "log", tmp_path)

    def test_that_is_missing_is_an_error(self, repo: Repo, tmp_path: Path) -> None:
        with pytest.raises(LogError):
            build_signal_sets(tmp_path / "missing", repo.path)

    def test_may_be_asked_about_one_entry(self, repo: Repo) -> None:
        sha = repo.commit({"a": "1"})
        found = extract_git_signals(entry(sha, task="t"), repo.path)
        assert found.landed_observed.sub_score == 1
        assert found.scope_observed == absent('no write_scope declared for task "t"')

    def test_may_be_asked_about_one_window(self, tmp_path: Path) -> None:
        (tmp_path / "t.jsonl").write_text(turn(0))
        window = IterationWindow(1, None, START * 1_000_000_000)
        record = IterationRecord(2, 1)
        seen = extract_iteration_objectives(record, window, tmp_path)
        assert seen.ran_cli_command == present(0, "no Bash tool invocation in window")
        before = extract_iteration_objectives(record, replace(window, end=window.end - 1), tmp_path)
        assert before.ran_cli_command == absent("no transcript coverage in window")
        assert extract_iteration_objectives(record, None, tmp_path) == before
