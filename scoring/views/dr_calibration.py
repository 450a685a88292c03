"""What ``da-score dr calibrate`` prints: how often the meter agrees with labels, and where it does not."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat
from pathlib import Path

from scoring.meters.dr.calibrate import Agreement, Calibration, Collection

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
