"""The signals: what no golden case says of them.

Which say what each mapping gives (``tests/whole/test_golden.py``).
"""

import math
from pathlib import Path

import pytest
from helpers.repos import Repo

from scoring.evidence.artifacts import Corrections
from scoring.evidence.entry_files import HookFacts
from scoring.evidence.git.facts import Changed, Unknown
from scoring.evidence.reference.git import ReferenceHistory
from scoring.log.model import IterationRecord
from scoring.parity import (
    BackfillSignals,
    GitSignals,
    IterlogSignals,
    assemble_signal_set,
    extract_hook_outcomes_signal,
)
from scoring.signals.correction_pressure import pressure_value
from scoring.signals.diminishing_returns import deliberation_value
from scoring.signals.hook_outcomes import hook_value
from scoring.signals.landed import LANDED
from scoring.signals.scope import scope_value
from scoring.signals.values import (
    ROLE_IMPL,
    IntegrityObservation,
    IterationObjectives,
    SignalSet,
    SignalValue,
    absent_signal,
    present_signal,
)
from scoring.text import wrap64

LARGEST = 2**63 - 1


def present(sub_score: float, detail: str) -> SignalValue:
    return SignalValue(True, sub_score, detail)


def absent(detail: str) -> SignalValue:
    return SignalValue(False, 0.0, detail)


class TestValues:
    @pytest.mark.parametrize(
        ("given", "expected"),
        [
            (0.5, 0.5),
            (1, 1.0),
            (0, 0.0),
            (1.5, 1.0),
            (-0.5, 0.0),
            (math.inf, 1),
            (-math.inf, 0),
        ],
    )
    def test_present_is_clamped(self, given: float, expected: float) -> None:
        assert present_signal(given, "why") == present(expected, "why")

    def test_present_is_never_minus_zero(self) -> None:
        assert math.copysign(1, present_signal(-0.0, "").sub_score) == 1

    def test_what_is_absent_or_not_a_number_has_no_score(self) -> None:
        assert absent_signal("why") == present_signal(math.nan, "why") == absent("why")
        assert absent("why").as_dict() == {
            "present": False,
            "sub_score": 0.0,
            "detail": "why",
        }

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


class TestScope:
    def test_of_a_commit_that_git_cannot_list_is_absent(self, tmp_path: Path) -> None:
        repo = Repo(tmp_path / "repo")
        repo.commit({"a": "1"})
        sha = repo.commit({"a": "2"})
        repo.lose("HEAD^{tree}")
        record = IterationRecord(2, 1, commit=sha)
        changed = ReferenceHistory(repo.path, [record]).changed(record)
        assert scope_value(changed, ("a",), "t") == absent(
            f"cannot read changed files for {sha[:12]}"
        )


NOTHING = absent("nothing")
UNSEEN = IterationObjectives(NOTHING, NOTHING, NOTHING)


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
        self,
        retries: int,
        corrections: int,
        rate: float | None,
        percent: int | None,
        sub_score: float,
    ) -> None:
        errors = "" if percent is None else f", {percent}% tool-error rate"
        detail = f"{retries} retries, {corrections} user corrections{errors}"
        assert pressure_value(Corrections(retries, corrections, True), rate) == present(
            sub_score, detail
        )


class TestHookOutcomes:
    def test_that_cannot_be_read_are_absent(self, tmp_path: Path) -> None:
        (tmp_path / "iter-4.hook-outcomes.yaml").mkdir()
        found = extract_hook_outcomes_signal(tmp_path, 4)
        assert not found.present
        assert found.detail.startswith("cannot read hook-outcomes sidecar for iter-4: ")


class TestReasons:
    """Why a signal is absent, without what is particular to one iteration.

    Reasons are counted over a log.
    """

    @pytest.mark.parametrize(
        ("values", "reason"),
        [
            pytest.param(
                [hook_value(HookFacts(Path("x"), None), n) for n in (1, 22)],
                "no hook-outcomes sidecar for iter-N",
                id="the iteration",
            ),
            pytest.param(
                [
                    hook_value(HookFacts(Path("x"), None, "parse", why), 1)
                    for why in ("a\nb", "c")
                ],
                "cannot parse hook-outcomes sidecar for iter-N: …",
                id="what is wrong with a file",
            ),
            pytest.param(
                [
                    scope_value(Changed("reference", "a", "a"), (), task)
                    for task in ("a", 'b " c')
                ],
                'no write_scope declared for task "…"',
                id="the task",
            ),
            pytest.param(
                [
                    scope_value(
                        Changed("reference", f, unknown=Unknown.UNRESOLVED), (), "t"
                    )
                    for f in ("0123", "HEAD~1")
                ],
                "commit SHA … does not resolve",
                id="the commit field",
            ),
            pytest.param(
                [
                    scope_value(
                        Changed("attributed", s, s, unknown=Unknown.FILES), ("a",), "t"
                    )
                    for s in ("01", "ba")
                ],
                "cannot read changed files for …",
                id="the commit",
            ),
            pytest.param(
                [deliberation_value(None, n) for n in (1, 2)],
                "no DR transcript for iter-N",
                id="the deliberation",
            ),
        ],
    )
    def test_leave_out_the_particulars(
        self, values: list[SignalValue], reason: str
    ) -> None:
        assert len({value.detail for value in values}) == len(values)
        assert {(value.present, value.reason) for value in values} == {(False, reason)}


class TestSignalTable:
    def test_gives_each_signal_what_was_found_for_it(self) -> None:
        log = IterlogSignals(
            present(0.1, "s"),
            present(0.2, "t"),
            present(0.3, "v"),
            NOTHING,
            NOTHING,
            1,
            0,
        )
        git = GitSignals(present(0.4, "l"), NOTHING)
        backfill = BackfillSignals(5, present(0.5, "e"), 0.5)
        found = assemble_signal_set(
            IterationRecord(2, 5), log, git, backfill, UNSEEN, present(0.6, "h")
        )
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
        assert [pair.signal for pair in found.integrity] == [
            "landed",
            "verifier",
            "tests",
            "scope",
        ]

    def test_is_plain_data(self) -> None:
        said = present(1, "said")
        pair = IntegrityObservation(LANDED, ROLE_IMPL, said, NOTHING)
        nothing = {"present": False, "sub_score": 0.0, "detail": "nothing"}
        whole = {
            "present": True,
            "sub_score": 1,
            "detail": "said",
            "source": None,
            "applicable": True,
            "fact": None,
        }
        assert SignalSet(1, {LANDED: said}, UNSEEN, (pair,)).as_dict() == {
            "iteration": 1,
            "signals": {"landed": whole},
            "integrity": [pair.as_dict()],
            "objective": {
                "ran_cli_command": nothing,
                "committed_after_tests": nothing,
                "read_loop_state": nothing,
            },
        }
