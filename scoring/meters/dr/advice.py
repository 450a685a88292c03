"""A result for people: the signal, three reasons, what to do next, and what is not claimed."""

from typing import TYPE_CHECKING, Any

from scoring.meters.dr.recommendation import NOT_CLAIMED
from scoring.meters.dr.thresholds import rounded
from scoring.text import cut, printable, quote

if TYPE_CHECKING:
    from scoring.meters.dr.meter import DRResult
    from scoring.meters.dr.transcript import Transcript
    from scoring.meters.dr.watch import RoundScore

_QUOTED = 200


def advise(transcript: "Transcript", result: "DRResult") -> dict[str, Any]:
    """Return what to do, and why, as plain values."""
    last = result.recommendations[-1]
    flags: dict[str, list[int]] = {}
    for flag in result.flags:
        flags.setdefault(flag.flag, []).append(flag.round)
    actions = transcript.rounds[-1].outputs.next_actions
    return {
        "signal": last.signal,
        "round": result.novelty[-1].round,
        "reasons": list(last.reasons),
        "next_action": last.hint,
        "first_next_action": actions[0] if actions and last.signal == "SHIP" else None,
        "flags": [{"flag": name, "rounds": rounds} for name, rounds in flags.items()],
        "does_not_claim": NOT_CLAIMED,
    }


def advice_rows(advice: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the lines of an advice below its signal: a label and a text each."""
    following = advice["next_action"]
    if advice["first_next_action"]:
        following += f" First: {quote(cut(advice['first_next_action'], _QUOTED))}"
    rows = [(str(i), reason) for i, reason in enumerate(advice["reasons"], 1)]
    rows.append(("Next", following))
    if advice["flags"]:
        rows.append(("Flags", "; ".join(f"{f['flag']} in {_rounds(f['rounds'])}" for f in advice["flags"])))
    return [*rows, ("Note", advice["does_not_claim"])]


def _rounds(numbers: list[int]) -> str:
    shown = ", ".join(map(str, numbers[:5])) + (f" and {len(numbers) - 5} more" if len(numbers) > 5 else "")
    return f"round {shown}" if len(numbers) == 1 else f"rounds {shown}"


def advice_text(advice: dict[str, Any]) -> str:
    """Return an advice as text, a line for the signal and one for each part."""
    lines = [f"{advice['signal']}  as of round {advice['round']}\n"]
    lines += [f"{label:<7}{printable(text)}\n" for label, text in advice_rows(advice)]
    return "".join(lines)


def round_payload(found: "RoundScore") -> dict[str, Any]:
    """Return what the meter says as of one round, as plain values."""
    return {
        "round": found.novelty.round,
        "claims": found.novelty.claims,
        "new_claims": found.novelty.new_claims,
        "novelty_rate": rounded(found.novelty.rate),
        "novelty_classification": found.novelty.level,
        "action_readiness": rounded(found.readiness.value),
        "readiness_classification": found.readiness.level,
        "signal": found.recommendation.signal,
        "rationale": found.recommendation.rationale,
    }


def round_text(found: "RoundScore") -> str:
    """Return what the meter says as of one round, as a line."""
    new, ready = found.novelty, found.readiness
    return (
        f"round {new.round:<4} {new.new_claims:>4} of {new.claims:<4} new  novelty {new.rate:.3f} {new.level:<6}  "
        f"readiness {ready.value:.2f} {ready.level:<6}  {found.recommendation.signal}\n"
    )
