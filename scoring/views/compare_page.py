"""What ``rubric diff`` shows: two rubrics side by side, and a log under both, as lines, tables and JSON."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rubric.model import FULL_TEXT
from scoring.text import counted
from scoring.views import table
from scoring.views.compare import (
    DATA,
    IterationDiff,
    LogDiff,
    RubricDiff,
    SignalMove,
    SpecChange,
    Totals,
)


def comparison_page(
    diff: RubricDiff, log: LogDiff | None, source: Path | None, tasks: Mapping[int, str]
) -> Iterator[table.Block]:
    """Yield two rubrics side by side, and the iterations of the log at ``source``, if asked for, under both."""
    sides = [table.Column(name, width=max(7, len(name)), right=True) for name in diff.names]
    columns = (
        table.Column("SIGNAL", width=20),
        *sides,
        table.Column("CHANGE", width=0, right=True),
    )
    signals = table.Table(columns, list(map(_spec_row, diff.signals)))
    yield from (
        table.Line(f"Rubric {' → '.join(diff.names)}", "bold"),
        table.Line(),
        signals,
        table.Line(),
    )
    yield from map(table.Line, _summary(diff))
    if source is None:
        return
    yield table.Line()
    if log is None:
        yield table.Line(
            f"There is no iteration log at {source}; --iter-log-dir compares the scores of one.",
            "dim",
        )
        return
    columns = (
        table.ITER,
        table.TASK,
        *sides,
        table.Column("CHANGE", width=7, right=True),
        table.BAND,
    )
    rows = [
        table.TableRow(_iteration_cells(item, tasks), list(_moves(diff, item)))
        for item in log.iterations
    ]
    full = FULL_TEXT in (diff.before.text, diff.after.text)
    moved = table.Table(columns, rows, notes="MOVED BY", notes_indent=8, full=full)
    yield from (table.Line(f"Iterations of {source}", "bold"), table.Line(), moved, table.Line())
    yield table.pairs(_total_rows(log.totals()), 12)


def _spec_row(spec: SpecChange) -> table.TableRow:
    before, after = (f"{side.weight:.6g}" if side else "-" for side in (spec.before, spec.after))
    change: str = spec.change
    if spec.before and spec.after:
        moved = f"{spec.after.weight - spec.before.weight:+.6g}"
        change = moved if "weight" in spec.fields else "-" if change == "same" else "words"
    notes = [
        f"{field.replace('_', '-')}: {_word(getattr(spec.before, field))} → {_word(getattr(spec.after, field))}"
        for field in spec.fields
        if field != "weight"
    ]
    return table.TableRow((spec.signal, before, after, change), notes)


def _word(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value * 100:.1f} %" if isinstance(value, float) else str(value) or "none"


def _summary(diff: RubricDiff) -> Iterator[str]:
    if diff.same_proportions and any(spec.change in ("added", "removed") for spec in diff.signals):
        yield "The signals that both have keep their proportions to each other."
    for name, more in (
        ("combination", ""),
        ("evidence", "; each side is read under its own rules."),
    ):
        a, b = (getattr(side, name) for side in (diff.before, diff.after))
        yield (
            f"{name.capitalize()}: {a} in both."
            if a == b
            else f"{name.capitalize()}: {a} → {b}{more}"
        )
    for name, (a, b) in diff.changed_data.items():
        if name != "evidence":
            yield f"{name.replace('_', ' ').capitalize()}: {_word(a)} → {_word(b)}"
    before, after = (
        ", ".join(f"{b.name} from {b.min:g}" for b in side.bands)
        for side in (diff.before, diff.after)
    )
    if diff.before.bands == diff.after.bands:
        yield f"Bands: {before} in both."
    else:
        yield from (
            f"Bands of {name}: {bands}"
            for name, bands in zip(diff.names, (before, after), strict=True)
        )


def _iteration_cells(item: IterationDiff, tasks: Mapping[int, str]) -> tuple[table.AnyCell, ...]:
    before, after = (table.number(side.value, side.scored) for side in (item.before, item.after))
    change = "-" if item.change is None or not item.moved else f"{item.change:+.3f}"
    band = table.band_cell(item.after.band)
    if item.band_changed:
        band = table.Cell(
            band.value, f"{table.band_text(item.before.band)} → {band.text}", band.style
        )
    return item.iteration, tasks.get(item.iteration, ""), before, after, change, band


def _moves(diff: RubricDiff, item: IterationDiff) -> Iterator[str]:
    moves = sorted(item.signals, key=lambda move: -abs(move.effect))
    for move in (move for move in moves if set(move.causes) - {"weight"}):
        effect = "" if item.change is None else f"{move.effect:+.3f}  "
        yield f"{move.signal}  {effect}{_why(move)}"
        details = [
            "not in this rubric" if row is None else row.detail for row in (move.before, move.after)
        ]
        if move.before is None or move.after is None or details[0] != details[1]:
            yield from (f"  {name}: {text}" for name, text in zip(diff.names, details, strict=True))
    by_weight = [move for move in moves if move.moved and move.causes == ("weight",)]
    if item.change is not None and by_weight:
        total = sum(move.effect for move in by_weight)
        yield f"by weight alone  {total:+.3f}  " + ", ".join(
            f"{m.signal} {m.effect:+.3f}" for m in by_weight
        )


def _why(move: SignalMove) -> str:
    before, after = (
        table.number(row.sub_score) if row and row.present else "absent"
        for row in (move.before, move.after)
    )
    parts = dict.fromkeys(move.causes, f"{before} → {after}")
    if "weight" in parts and move.before and move.after:
        was, now = move.before.nominal_weight, move.after.nominal_weight
        parts["weight"] = f"{was:.6g} → {now:.6g}" if was != now else "in proportion to others"
    return ", ".join(f"{cause}: {words}" for cause, words in parts.items())


def _total_rows(totals: Totals) -> list[tuple[str, str]]:
    rows = [("MOVED", f"{totals.moved} of {counted(totals.iterations, 'iteration')}")]
    if totals.mean_change is not None:
        over = (
            "" if totals.mean_move is None else f", {totals.mean_move:+.4f} over those that moved"
        )
        sure = (
            ""
            if totals.interval is None
            else f" (95 %: {totals.interval.low:+.4f} to {totals.interval.high:+.4f})"
        )
        rows.append(("MEAN CHANGE", f"{totals.mean_change:+.4f}{sure}{over}"))
    if totals.insufficient:
        rows.append(
            (
                "LEFT OUT",
                f"{counted(totals.insufficient, 'iteration')} without enough evidence, in no mean",
            )
        )
    changed = ", ".join(f"{a} → {b} {n}" for (a, b), n in sorted(totals.band_changes.items()))
    rows.append(
        ("BANDS", f"{sum(totals.band_changes.values())} changed{': ' if changed else ''}{changed}")
    )
    moved = totals.signals.items()
    return rows + [
        ("SIGNAL", f"{name} moved {n}, by {mean:+.4f} on average") for name, (n, mean) in moved
    ]


_ROW = (
    "present",
    "source",
    "applicable",
    "sub_score",
    "detail",
    "nominal_weight",
    "effective_weight",
    "contribution",
)
_RUBRIC = ("version", "combination", *DATA)


def comparison_payload(
    diff: RubricDiff, log: LogDiff | None, source: Path | None, tasks: Mapping[int, str]
) -> dict[str, Any]:
    """Return the whole comparison as JSON; ``a`` is the first rubric and ``b`` the second."""
    one, other = diff.before, diff.after
    bands = (
        {"bands": [_picked(band, "name", "min") for band in rubric.bands]}
        for rubric in (one, other)
    )
    return {
        "a": _picked(one, *_RUBRIC) | next(bands),
        "b": _picked(other, *_RUBRIC) | next(bands),
        "same_combination": one.combination == other.combination,
        "same_evidence": one.evidence == other.evidence,
        "same_bands": one.bands == other.bands,
        "changed_data": {name: {"a": a, "b": b} for name, (a, b) in diff.changed_data.items()},
        "same_proportions": diff.same_proportions,
        "signals": [_spec(spec) for spec in diff.signals],
        "iter_log_dir": None if log is None else str(source),
        "iterations": log and [_iteration(item, tasks) for item in log.iterations],
        "totals": log and _totals(log.totals()),
    }


def _picked(found: object, *keys: str) -> dict[str, Any]:
    return {key: getattr(found, key) for key in keys}


def _spec(spec: SpecChange) -> dict[str, Any]:
    def sides(field: str) -> dict[str, Any]:
        return {"a": getattr(spec.before, field, None), "b": getattr(spec.after, field, None)}

    change = spec.after.weight - spec.before.weight if spec.before and spec.after else None
    return {
        "signal": spec.signal,
        "change": spec.change,
        "weight": {**sides("weight"), "change": change},
        "changed_words": {field: sides(field) for field in spec.fields if field != "weight"},
    }


def _iteration(item: IterationDiff, tasks: Mapping[int, str]) -> dict[str, Any]:
    return {
        "iteration": item.iteration,
        "task_id": tasks.get(item.iteration, ""),
        "a": _picked(item.before, "scored", "value", "band"),
        "b": _picked(item.after, "scored", "value", "band"),
        **_picked(item, "change", "moved", "band_changed"),
        "signals": [
            {
                "signal": move.signal,
                "effect": None if item.change is None else move.effect,
                "moved": move.moved,
                "causes": list(move.causes),
                "a": move.before and _picked(move.before, *_ROW),
                "b": move.after and _picked(move.after, *_ROW),
            }
            for move in item.signals
        ],
    }


def _totals(totals: Totals) -> dict[str, Any]:
    bands = [{"a": a, "b": b, "iterations": n} for (a, b), n in sorted(totals.band_changes.items())]
    moved = [
        {"signal": s, "moved": count, "mean_effect": mean}
        for s, (count, mean) in totals.signals.items()
    ]
    return totals._asdict() | {"band_changes": bands, "signals": moved}
