"""Evidence that a new score would lose: what counts as a loss, and what does not."""

from dataclasses import replace
from pathlib import Path

import pytest

from rubric import SignalContribution
from scoring.jobs.loss import loss_on_disk, loss_warning, lost_signals
from scoring.sidecars.scores import PersistedScore, iteration_score_path, write_persisted_score

TOKENS, CORRECTION = "token_efficiency", "correction_pressure"
BACKFILLED = "backfilled from 7 transcript turn(s): cache_hit_rate 0.804"
NATIVE = "native session_tokens: cache_hit_rate 0.926"
UNCOVERED = "no transcript covers the iteration window"
NO_WINDOW = "commit time unresolvable; cannot window the transcript"
WITH_ERRORS = "3 retries, 2 user corrections, 40% tool-error rate"
WITHOUT_ERRORS = "3 retries, 2 user corrections"


def row(signal: str, detail: str, present: bool = True) -> SignalContribution:
    return SignalContribution(signal, signal.title(), present, 0.5 if present else 0.0, detail, 0.1, 0.1, 0.05)


def score(*rows: SignalContribution, iteration: int = 3) -> PersistedScore:
    return PersistedScore(iteration, "2.1.0", True, 0.5, "fair", rows)


class TestLostSignals:
    @pytest.mark.parametrize(
        ("old", "new"),
        [
            pytest.param(row(TOKENS, BACKFILLED), row(TOKENS, UNCOVERED, False), id="the transcript is gone"),
            pytest.param(row(TOKENS, BACKFILLED), row(TOKENS, NO_WINDOW, False), id="the commit is gone"),
            pytest.param(row(CORRECTION, WITH_ERRORS), row(CORRECTION, WITHOUT_ERRORS), id="the error rate is gone"),
            pytest.param(row(CORRECTION, WITH_ERRORS), row(CORRECTION, "", False), id="correction pressure is absent"),
        ],
    )
    def test_rested_on_a_transcript_and_do_not_any_more(self, old: SignalContribution, new: SignalContribution) -> None:
        assert lost_signals(score(old), score(new)) == [old.signal]

    @pytest.mark.parametrize(
        ("old", "new"),
        [
            pytest.param(row(TOKENS, BACKFILLED), row(TOKENS, BACKFILLED), id="it is all there"),
            pytest.param(
                row(TOKENS, BACKFILLED),
                row(TOKENS, "backfilled from 1 transcript turn(s): cache_hit_rate 0.000"),
                id="other turns are there",
            ),
            pytest.param(row(TOKENS, BACKFILLED), row(TOKENS, NATIVE), id="tokens were captured natively since"),
            pytest.param(row(TOKENS, NATIVE), row(TOKENS, UNCOVERED, False), id="native tokens were no transcript's"),
            pytest.param(row(TOKENS, UNCOVERED, False), row(TOKENS, UNCOVERED, False), id="there never was any"),
            pytest.param(row(TOKENS, BACKFILLED, False), row(TOKENS, UNCOVERED, False), id="the old signal is absent"),
            pytest.param(row(TOKENS, UNCOVERED, False), row(TOKENS, BACKFILLED), id="a transcript was found"),
            pytest.param(row(CORRECTION, WITH_ERRORS), row(CORRECTION, WITH_ERRORS), id="the error rate is there"),
            pytest.param(
                row(CORRECTION, WITH_ERRORS),
                row(CORRECTION, "0 retries, 0 user corrections, 0% tool-error rate"),
                id="the error rate is another",
            ),
            pytest.param(row(CORRECTION, WITHOUT_ERRORS), row(CORRECTION, "9 retries, 0 user corrections"), id="none"),
            pytest.param(
                row("landed", BACKFILLED), row("landed", "commit 1 not reachable", False), id="another signal"
            ),
        ],
    )
    def test_are_none_when(self, old: SignalContribution, new: SignalContribution) -> None:
        assert lost_signals(score(old), score(new)) == []

    def test_come_in_the_order_of_the_rubric(self) -> None:
        old = score(row(TOKENS, BACKFILLED), row(CORRECTION, WITH_ERRORS))
        new = score(row(TOKENS, UNCOVERED, False), row(CORRECTION, WITHOUT_ERRORS))
        assert lost_signals(old, new) == ["correction_pressure", "token_efficiency"]

    def test_of_a_rubric_without_the_signal_are_none(self) -> None:
        assert lost_signals(score(row(TOKENS, BACKFILLED)), score(row("landed", ""))) == []

    def test_of_an_empty_breakdown_are_none(self) -> None:
        assert lost_signals(score(), score(row(TOKENS, UNCOVERED, False))) == []


class TestLossOnDisk:
    OLD = score(row(CORRECTION, WITHOUT_ERRORS), row(TOKENS, BACKFILLED))
    NEW = score(row(CORRECTION, WITHOUT_ERRORS), row(TOKENS, UNCOVERED, False))

    def test_is_what_the_sidecar_has_and_the_new_score_has_not(self, tmp_path: Path) -> None:
        write_persisted_score(tmp_path, self.OLD)
        assert loss_on_disk(tmp_path, self.NEW) == ["token_efficiency"]

    def test_is_nothing_when_the_new_score_has_it_too(self, tmp_path: Path) -> None:
        write_persisted_score(tmp_path, self.OLD)
        assert loss_on_disk(tmp_path, self.OLD) == []

    def test_is_that_of_the_same_iteration(self, tmp_path: Path) -> None:
        write_persisted_score(tmp_path, replace(self.OLD, iteration=4))
        assert loss_on_disk(tmp_path, self.NEW) == []

    def test_is_found_whatever_rubric_the_sidecar_is_of(self, tmp_path: Path) -> None:
        write_persisted_score(tmp_path, replace(self.OLD, rubric_version="2.0.2"))
        assert loss_on_disk(tmp_path, self.NEW) == ["token_efficiency"]

    def test_is_nothing_without_a_sidecar(self, tmp_path: Path) -> None:
        assert loss_on_disk(tmp_path, self.NEW) == []
        assert loss_on_disk(tmp_path / "no such log", self.NEW) == []

    @pytest.mark.parametrize(
        "content",
        [
            b"",
            b"detail: backfilled from 7 transcript turns: [",
            b"- backfilled from 7 transcript turn(s)\n",
            b"breakdown: backfilled from 7 transcript turn(s)\n",
            b"\xff\xfe backfilled from ",
            b"value: much  # backfilled from \n",
        ],
        ids=ascii,
    )
    def test_is_nothing_when_the_sidecar_cannot_be_read(self, tmp_path: Path, content: bytes) -> None:
        iteration_score_path(tmp_path, 3).write_bytes(content)
        assert loss_on_disk(tmp_path, self.NEW) == []

    def test_is_nothing_when_a_directory_stands_in_its_place(self, tmp_path: Path) -> None:
        iteration_score_path(tmp_path, 3).mkdir()
        assert loss_on_disk(tmp_path, self.NEW) == []

    def test_writes_nothing(self, tmp_path: Path) -> None:
        path = write_persisted_score(tmp_path, self.OLD)
        before = path.stat()
        loss_on_disk(tmp_path, self.NEW)
        after = path.stat()
        assert list(tmp_path.iterdir()) == [path]
        assert (after.st_ino, after.st_mtime_ns, after.st_ctime_ns) == (
            before.st_ino,
            before.st_mtime_ns,
            before.st_ctime_ns,
        )


@pytest.mark.parametrize(
    ("lost", "text"),
    [
        (
            ["token_efficiency"],
            "iteration 3: the transcripts no longer cover its window; "
            "token_efficiency lost evidence that the old sidecar had",
        ),
        (
            ["correction_pressure", "token_efficiency"],
            "iteration 3: the transcripts no longer cover its window; "
            "correction_pressure and token_efficiency lost evidence that the old sidecar had",
        ),
    ],
)
def test_the_warning_names_iteration_and_signals(lost: list[str], text: str) -> None:
    assert loss_warning(3, lost) == text
