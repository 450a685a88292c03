"""diminishing_returns: had the iteration's deliberation converged, unblocked, when it stopped (contract section 8).

The meter itself is :mod:`scoring.meters.dr`; it is loaded when there is a DR transcript to read, and not before.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from rubric import Rubric, released_profile
from scoring.errors import TranscriptError
from scoring.evidence.deliberations import deliberation_file, read_deliberation
from scoring.signals.findings import Findings
from scoring.signals.values import DIMINISHING_RETURNS, Deliberation, SignalValue, absent_signal, present_signal
from scoring.text import cut, printable

if TYPE_CHECKING:
    from scoring.meters.dr import DRResult

MeterUse: TypeAlias = Literal["votes", "observed", "unread"]
"""What becomes of DR transcripts: they vote; they are only shown, where there are any; they are left alone."""

PROFILE = "dr-1"
"""What the meter goes by unless a rubric names another profile, whatever the settings say: scores must compare."""

LEAST_ROUNDS = 2
REASON_WIDTH = 200


def use_under(*rubrics: Rubric, observe: bool = False) -> MeterUse:
    """Return what rubrics make of DR transcripts: they vote when one of them has the signal."""
    if any(rubric.signal(DIMINISHING_RETURNS) for rubric in rubrics):
        return "votes"
    return "observed" if observe else "unread"


def value(findings: Findings) -> SignalValue | None:
    """Return what the meter says; None when nobody asked."""
    return findings.diminishing_returns


def vote(iteration: int, deliberation: Deliberation | None) -> SignalValue:
    """Return the signal of an iteration, from what :func:`observe` found."""
    return absent_signal(f"no DR transcript for iter-{iteration}") if deliberation is None else deliberation.value


def observe(log_dir: Path | str, iteration: int, profile: str = PROFILE) -> Deliberation | None:
    """Read and measure an iteration's DR transcript under a released profile; None when there is none. Never raises."""
    path = deliberation_file(log_dir, iteration)
    if path is None:
        return None
    try:
        transcript = read_deliberation(path)
    except TranscriptError as e:
        return Deliberation(path, absent_signal(f"cannot read DR transcript for iter-{iteration}: {_reason(path, e)}"))
    from scoring.meters.dr import Profile, score_transcript

    result = score_transcript(transcript, profile=Profile.from_data(released_profile(profile), profile))
    return Deliberation(path, _value(iteration, result), result.payload())


def _value(iteration: int, result: "DRResult") -> SignalValue:
    name = f"DR transcript for iter-{iteration}"
    if result.round_count < LEAST_ROUNDS:
        return absent_signal(f"{name} has {result.round_count} round; at least {LEAST_ROUNDS} needed")
    if not result.has_claims:
        return absent_signal(f"{name} has no claims")
    return present_signal(
        0.0 if result.signal == "ESCALATE" else result.score,
        f"{result.signal}: novelty {result.novelty_rate:.3f} {result.novelty_classification}, "
        f"readiness {result.action_readiness:.2f} {result.readiness_classification}, {result.round_count} rounds",
    )


def _reason(path: Path, error: TranscriptError) -> str:
    """Return why a transcript cannot be read, in one short line that does not depend on where the log lies."""
    text = " ".join(str(error).replace(str(path), path.name).split())
    return cut(printable(text), REASON_WIDTH)
