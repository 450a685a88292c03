"""Evidence that a new score would lose: what counts as a loss, and what does not."""

from pathlib import Path

import pytest
from helpers.commands import DaScore
from helpers.facts import facts_of

from rubric import Score, SignalContribution
from scoring.evidence.transcripts.facts import TranscriptFacts
from scoring.log.model import IterationRecord
from scoring.scored import ScoredIteration
from scoring.sidecars.lost_evidence import in_words, lost_signals
from scoring.sidecars.provenance import Loss
from scoring.sidecars.scores import (
    PersistedScore,
    iteration_score_path,
    write_persisted_score,
)
from scoring.sidecars.writing import compare_with_sidecar, loss_warning
from scoring.signals.table import signal_set

TOKENS, CORRECTION = "token_efficiency", "correction_pressure"
UNCOVERED = facts_of(IterationRecord(2, 3))
"""Facts without a transcript."""
COVERED = facts_of(
    IterationRecord(2, 3), transcripts=TranscriptFacts(turns=1, tool_calls=2)
)


def row(signal: str, vote: float | None = 0.5, detail: str = "") -> SignalContribution:
    present = vote is not None
    return SignalContribution(
        signal,
        signal.title(),
        present,
        vote or 0.0,
        detail,
        0.1,
        0.1 if present else 0.0,
        0.05,
    )


def score(*rows: SignalContribution, iteration: int = 3) -> PersistedScore:
    return PersistedScore(iteration, "2.1.0", True, 0.5, "fair", rows)


def lost_on_disk(log: Path, new: PersistedScore) -> list[str]:
    score_now = Score(
        3, new.rubric_version, new.value, new.scored, new.band, new.breakdown
    )
    scored = ScoredIteration(
        UNCOVERED.record, UNCOVERED, signal_set(UNCOVERED), score_now
    )
    return in_words(compare_with_sidecar(log, scored).lost)


class TestLostSignals:
    @pytest.mark.parametrize(
        ("old", "new"),
        [
            pytest.param(
                row(TOKENS), row(TOKENS, None), id="tokens are not known any more"
            ),
            pytest.param(
                row(CORRECTION, 1 / 6.8),
                row(CORRECTION, 1 / 6),
                id="40 % of errors are not seen any more",
            ),
            pytest.param(
                row(CORRECTION, 1 / 3), row(CORRECTION, 1.0), id="nor are 100 %"
            ),
            pytest.param(
                row(CORRECTION, 0.9),
                row(CORRECTION, None),
                id="correction pressure is absent",
            ),
        ],
    )
    def test_rested_on_a_transcript_and_do_not_any_more(
        self, old: SignalContribution, new: SignalContribution
    ) -> None:
        tokens = [] if old.signal == TOKENS else [row(TOKENS)]
        assert lost_signals(score(old, *tokens), score(new, *tokens), UNCOVERED) == [
            old.signal
        ]

    @pytest.mark.parametrize(
        "detail",
        ["", "no transcript here", "99% tool-error rate", "native session_tokens"],
    )
    def test_are_known_by_numbers_whatever_the_details_say(self, detail: str) -> None:
        old = score(row(CORRECTION, 0.5, detail), row(TOKENS, 0.5, detail))
        assert lost_signals(
            old, score(row(CORRECTION, 1.0), row(TOKENS, None)), UNCOVERED
        ) == [
            CORRECTION,
            TOKENS,
        ]
        assert lost_signals(old, old, UNCOVERED) == []

    @pytest.mark.parametrize(
        ("old", "new"),
        [
            pytest.param(row(TOKENS), row(TOKENS, 0.0), id="other turns are there"),
            pytest.param(
                row(TOKENS, None), row(TOKENS, None), id="there never was any"
            ),
            pytest.param(row(TOKENS, None), row(TOKENS), id="a transcript was found"),
            pytest.param(
                row(CORRECTION),
                row(CORRECTION),
                id="the error rate is there, or never was",
            ),
            pytest.param(
                row(CORRECTION, 0.5),
                row(CORRECTION, 0.1),
                id="there are more corrections now",
            ),
            pytest.param(
                row(CORRECTION, 0.1),
                row(CORRECTION, 1.0),
                id="more were taken back than errors can cost",
            ),
            pytest.param(
                row(CORRECTION, 1.0), row(CORRECTION, None), id="nothing had lowered it"
            ),
            pytest.param(
                row(CORRECTION, None), row(CORRECTION, 1.0), id="it was absent"
            ),
            pytest.param(row("landed"), row("landed", None), id="another signal"),
            pytest.param(
                row(TOKENS), row("landed"), id="the rubric does not have it any more"
            ),
            pytest.param(
                row(CORRECTION, 1 / 3),
                row(CORRECTION, 1.0),
                id="no turn was known either",
            ),
        ],
    )
    def test_are_none_when(
        self, old: SignalContribution, new: SignalContribution
    ) -> None:
        assert lost_signals(score(old), score(new), UNCOVERED) == []

    def test_are_none_of_a_vote_that_still_rests_on_tool_calls(self) -> None:
        assert (
            lost_signals(
                score(row(CORRECTION, 0.5)), score(row(CORRECTION, 1.0)), COVERED
            )
            == []
        )


class TestLossOnDisk:
    OLD = score(row(CORRECTION, 1.0), row(TOKENS))
    NEW = score(row(CORRECTION, 1.0), row(TOKENS, None))

    def test_is_what_the_sidecar_has_and_the_new_score_has_not(
        self, tmp_path: Path
    ) -> None:
        assert lost_on_disk(tmp_path, self.NEW) == []
        write_persisted_score(tmp_path, self.OLD)
        assert lost_on_disk(tmp_path, self.NEW) == ["token_efficiency"]
        assert lost_on_disk(tmp_path, self.OLD) == []

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
    def test_is_nothing_when_the_sidecar_cannot_be_read(
        self, tmp_path: Path, content: bytes
    ) -> None:
        iteration_score_path(tmp_path, 3).write_bytes(content)
        assert lost_on_disk(tmp_path, self.NEW) == []


@pytest.mark.parametrize(
    ("lost", "names"),
    [([TOKENS], TOKENS), ([CORRECTION, TOKENS], f"{CORRECTION} and {TOKENS}")],
    ids=["one", "two"],
)
def test_the_warning_names_iteration_and_signals(lost: list[str], names: str) -> None:
    assert loss_warning(3, [Loss(name) for name in lost]) == (
        f"iteration 3: the transcripts no longer cover its window; {names} lost evidence that"
        " the old sidecar had"
    )
    other = loss_warning(3, [Loss(name) for name in lost], "3.1.0")
    assert other == (
        f"iteration 3: rubric 3.1.0 reads other evidence than the one before; {names} lost"
        " evidence that the old sidecar had"
    )


def test_another_rubric_is_named_and_no_transcript(
    tmp_path: Path, da_score: DaScore
) -> None:
    found = da_score("demo", str(tmp_path / "demo"))
    assert (found.status, "go by rubric 2.1.0, that of the reference" in found.out) == (
        0,
        True,
    )
    log = ("--repo-dir", str(tmp_path / "demo/repo"))
    found = da_score("backfill", *log, "--rubric", "3.1.0", "--dry-run", "--no-cache")
    cause = "rubric 3.1.0 reads other evidence than the one before"
    assert (f"Kept, because {cause}:" in found.out, found.status) == (True, 0)
    assert "no longer cover" not in found.out

    found = da_score("run", *log, "--rubric", "3.1.0", "--no-cache")
    assert "rubric 3.1.0 reads other evidence than the one before" in found.err
    assert "no longer cover" not in found.err
