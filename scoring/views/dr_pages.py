"""What ``da-score dr stop`` and ``dr calibrate`` print: an advice, and how often the meter agrees with labels."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat
from pathlib import Path
from typing import Any

from scoring.meters.dr.calibrate import Agreement, Calibration, Collection
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


_WIDTHS = (17, 9, 8, 18, 10, 0)


def calibration_lines(
    directory: Path, collection: Collection, found: Iterable[Calibration], left_out: str = ""
) -> Iterator[str]:
    """Yield a calibration as lines: agreement per setting, then a confusion table and the files that disagree."""
    yield f"Calibration — {directory}"
    counts = f"{len(collection.labelled)} labelled, {len(collection.unlabelled)} without a label"
    yield from (f"{counts}, {len(collection.broken)} broken", "")
    heads = ("SETTING", "AGREE", "SHARE", "95 % INTERVAL", "NOVELTY", "READINESS")
    yield _padded(heads, _WIDTHS)
    for c in found:
        a = c.agreement
        low, high = a.interval
        share = "-" if a.share is None else f"{a.share:.3f}"
        classes = (_count(c.agreement_on("novelty")), _count(c.agreement_on("readiness")))
        cells = (str(c.setting), _count(a), share, f"{low:.3f} to {high:.3f}", *classes)
        yield _padded(cells, _WIDTHS)
    if left_out:
        yield f"L2 not measured: {left_out}"
    for c in found:
        yield from ("", *_details(c))
    rows = [(file, "no label") for file in collection.unlabelled]
    rows += [(file, f"broken: {why}") for file, why in collection.broken]
    rows += [(file, "not named as a transcript is (.json, .jsonl, .ndjson)") for file in collection.others]
    yield from ("", "Not counted") if rows else ()
    yield from (f"  {file}: {why}" for file, why in rows)


def _padded(cells: Sequence[str], widths: Iterable[int]) -> str:
    return "".join(f"{text:<{width}}" for text, width in zip(cells, widths, strict=False)).rstrip()


def _count(a: Agreement) -> str:
    return f"{a.agreed} of {a.total}" if a.total else "-"


def _details(c: Calibration) -> Iterator[str]:
    confusion = c.confusion()
    yield str(c.setting)
    for cells in (("EXPECTED", *confusion), *((wanted, *map(str, by.values())) for wanted, by in confusion.items())):
        yield "  " + _padded(cells, repeat(12))
    for o in c.outcomes:
        if not o.agrees:
            yield f"  {o.file}: expected {o.expected.signal}, found {o.found.signal} by the rule {o.rule}"
            yield f"    {o.why}"
        if o.other_classes:
            lead = "    the label wants" if not o.agrees else f"  {o.file}: the same signal, but the label wants"
            yield f"{lead} {'; '.join(o.other_classes)}"
