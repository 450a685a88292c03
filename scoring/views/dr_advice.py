"""What ``da-score dr stop`` prints: the signal, its reasons, and what to do next."""

from typing import Any

from scoring.text import cut, quote
from scoring.views.table import Block, Cell, Column, Line, Table, TableRow

_STYLES = {"SHIP": "bold green", "ESCALATE": "bold red", "CONTINUE": "bold yellow"}
_QUOTED = 200


def advice_view(advice: dict[str, Any]) -> list[Block]:
    """Return an advice as a line for the signal and one for each part."""
    following = advice["next_action"]
    if advice["first_next_action"]:
        following += f" First: {quote(cut(advice['first_next_action'], _QUOTED))}"
    rows = [(str(i), reason) for i, reason in enumerate(advice["reasons"], 1)] + [("Next", following)]
    if advice["flags"]:
        rows.append(("Flags", "; ".join(f"{f['flag']} in {_rounds(f['rounds'])}" for f in advice["flags"])))
    if observations := advice.get("observations"):
        rows.append(("Sure", _sure(observations["confidence"])))
        rows.append(("Seen", _seen(observations["structural_agreement_by_round"])))
    lines = [TableRow((Cell(label, style="bold"), text)) for label, text in rows]
    lines.append(TableRow((Cell("Note", style="bold"), advice["does_not_claim"]), style="dim"))
    return [
        Line((Cell(advice["signal"], style=_STYLES[advice["signal"]]), f"  as of round {advice['round']}")),
        Line(only="terminal"),
        Table((Column("", width=5), Column("")), lines, heads=False),
    ]


def _sure(confidence: dict[str, Any]) -> str:
    others = ", ".join(f"{count} say {signal}" for signal, count in sorted(confidence["others"].items()))
    agreed = confidence["settings"] - sum(confidence["others"].values())
    said = f"{agreed} of {confidence['settings']} neighbouring settings give the same signal"
    return f"{said}; {others}" if others else said


def _seen(agreement: list[dict[str, Any]]) -> str:
    by_class: dict[str, list[int]] = {}
    for row in agreement:
        by_class.setdefault(row["agreement"], []).append(row["round"])
    return "; ".join(f"{name} in {_rounds(rounds)}" for name, rounds in by_class.items()) or "one round only"


def _rounds(numbers: list[int]) -> str:
    shown = ", ".join(map(str, numbers[:5])) + (f" and {len(numbers) - 5} more" if len(numbers) > 5 else "")
    return f"round {shown}" if len(numbers) == 1 else f"rounds {shown}"
