"""The text and JSON of two rubrics side by side, and of a log under both."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rubric import Rubric, SignalContribution
from scoring.cli.tables import TASK_WIDTH, number
from scoring.text import cell, printable
from scoring.views.compare import IterationDiff, LogDiff, RubricDiff, SignalMove, SpecChange, Totals

NOT_IN = "not in this rubric"


def names(diff: RubricDiff) -> tuple[str, str]:
    """Return what the two rubrics are called: by their versions, told apart when those are equal."""
    before, after = printable(diff.before.version), printable(diff.after.version)
    return (before, after) if before != after else (f"{before} (A)", f"{after} (B)")


def comparison_text(diff: RubricDiff, log: LogDiff | None, source: Path | None, tasks: Mapping[int, str]) -> str:
    """Return two rubrics side by side and, where there is a log, its iterations under both."""
    before, after = names(diff)
    widths = [max(9, len(name) + 2) for name in (before, after)]
    lines = [f"Rubric {before} → {after}\n\n", _weight_row(("SIGNAL", before, after, "CHANGE"), widths)]
    for spec in diff.signals:
        lines.append(_weight_row((printable(spec.signal), *weight_cells(spec)), widths))
        lines += [f"    {line}\n" for line in word_changes(spec)]
    lines += ["\n", *(f"{line}\n" for line in summary(diff))]
    if log is None or source is None:
        return "".join([*lines, *([f"\n{no_log(source)}\n"] if source else [])])
    lines.append(f"\nIterations of {printable(str(source))}\n\n")
    columns = [8, TASK_WIDTH + 2, *widths, 9]
    lines.append(_padded(("ITER", "TASK", before, after, "CHANGE", "BAND"), columns))
    for item in log.iterations:
        task = cell(tasks.get(item.iteration, ""), TASK_WIDTH)
        lines.append(_padded((str(item.iteration), task, *value_cells(item), bands(item)), columns))
        for move in shown_moves(item):
            lines.append(f"{'':<8}{printable(move.signal)}  {effect(item, move)}{why(move)}\n")
            lines += [f"{'':<10}{name}: {text}\n" for name, text in details(diff, move)]
        lines += [f"{'':<8}{line}\n" for line in weight_moves(item)]
    lines += ["\n", *(f"{name:<14}{text}\n" for name, text in total_rows(log.totals()))]
    return "".join(lines)


def _padded(cells: tuple[str, ...], widths: list[int]) -> str:
    return "".join([*(f"{text:<{width}}" for text, width in zip(cells, widths, strict=False)), cells[-1]]) + "\n"


def _weight_row(cells: tuple[str, ...], widths: list[int]) -> str:
    return _padded(cells, [22, *widths])


def weight_cells(spec: SpecChange) -> tuple[str, str, str]:
    """Return the weights of a signal in both rubrics, and what became of it."""
    weights = [f"{side.weight:.6g}" if side else "-" for side in (spec.before, spec.after)]
    change: str = spec.change
    if spec.before and spec.after:
        moved = spec.after.weight - spec.before.weight
        change = f"{moved:+.6g}" if "weight" in spec.fields else "-" if change == "same" else "words"
    return weights[0], weights[1], change


def word_changes(spec: SpecChange) -> list[str]:
    """Return the changes of a signal that are not its weight, a line each."""
    fields = [field for field in spec.fields if field != "weight"]
    return [
        f"{field.replace('_', '-')}: {_word(getattr(spec.before, field))} → {_word(getattr(spec.after, field))}"
        for field in fields
    ]


def _word(value: object) -> str:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else printable(str(value))


def summary(diff: RubricDiff) -> list[str]:
    """Say what the two rubrics have in common beside their weights, or how they differ."""
    before, after = names(diff)
    lines = []
    if diff.same_proportions and any(spec.change in ("added", "removed") for spec in diff.signals):
        lines.append("The signals that both have keep their proportions to each other.")
    if diff.same_combination:
        lines.append(f"Combination: {printable(diff.before.combination)} in both.")
    else:
        lines.append(f"Combination: {printable(diff.before.combination)} → {printable(diff.after.combination)}")
    if diff.before.evidence == diff.after.evidence:
        lines.append(f"Evidence: {diff.before.evidence} in both.")
    else:
        lines.append(f"Evidence: {diff.before.evidence} → {diff.after.evidence}; each side is read by its own rules.")
    if diff.same_bands:
        lines.append(f"Bands: {_bands(diff.before)} in both.")
    else:
        lines += [f"Bands of {before}: {_bands(diff.before)}", f"Bands of {after}: {_bands(diff.after)}"]
    return lines


def _bands(rubric: Rubric) -> str:
    return ", ".join(f"{printable(band.name)} from {band.min:g}" for band in rubric.bands)


def no_log(source: Path) -> str:
    """Say that only the rubrics were compared, and how to compare scores."""
    return f"There is no iteration log at {printable(str(source))}; --iter-log-dir compares the scores of one."


def value_cells(item: IterationDiff) -> tuple[str, str, str]:
    """Return both values of an iteration and the change, ``-`` where nothing changed."""
    moved = "-" if item.change is None or not item.moved else f"{item.change:+.3f}"
    return number(item.before.value, item.before.scored), number(item.after.value, item.after.scored), moved


def bands(item: IterationDiff) -> str:
    """Return the bands of an iteration: one when both are the same."""
    before, after = printable(item.before.band), printable(item.after.band)
    return f"{before} → {after}" if item.band_changed else before


def shown_moves(item: IterationDiff) -> list[SignalMove]:
    """Return the signals whose evidence says something else, or counts on one side only, the largest effect first."""
    changed = [move for move in item.signals if set(move.causes) - {"weight"}]
    return sorted(changed, key=lambda move: -abs(move.effect))


def weight_moves(item: IterationDiff) -> list[str]:
    """Return the signals that moved a score by their weight alone, in one line; none where there are none."""
    moved = sorted((m for m in item.signals if m.moved and m.causes == ("weight",)), key=lambda m: -abs(m.effect))
    if not moved or item.change is None:
        return []
    total = sum(move.effect for move in moved)
    return [f"by weight alone  {total:+.3f}  " + ", ".join(f"{printable(m.signal)} {m.effect:+.3f}" for m in moved)]


def effect(item: IterationDiff, move: SignalMove) -> str:
    """Return what a signal adds to the change, where there is one to add to."""
    return "" if item.change is None else f"{move.effect:+.3f}  "


def why(move: SignalMove) -> str:
    """Say why a signal moved a score: presence, sub-score, weight."""
    parts = []
    for cause in move.causes:
        if cause == "weight" and move.before and move.after:
            before, after = move.before.nominal_weight, move.after.nominal_weight
            parts.append(
                f"weight: {before:.6g} → {after:.6g}" if before != after else "weight: in proportion to others"
            )
        else:
            parts.append(f"{cause}: {_sub_score(move.before)} → {_sub_score(move.after)}")
    return ", ".join(parts)


def _sub_score(row: SignalContribution | None) -> str:
    return number(row.sub_score) if row and row.present else "absent"


def details(diff: RubricDiff, move: SignalMove) -> Iterator[tuple[str, str]]:
    """Yield what each side says of a signal, by the names of the rubrics, where they differ."""
    if not move.same_detail:
        for name, row in zip(names(diff), (move.before, move.after), strict=True):
            yield name, NOT_IN if row is None else printable(row.detail)


def total_rows(totals: Totals) -> list[tuple[str, str]]:
    """Return the totals, a name and a text per line."""
    rows = [("MOVED", f"{totals.moved} of {totals.iterations} iterations")]
    if totals.mean_change is not None:
        over = "" if totals.mean_move is None else f", {totals.mean_move:+.4f} over those that moved"
        rows.append(("MEAN CHANGE", f"{totals.mean_change:+.4f}{over}"))
    changed = ", ".join(f"{printable(a)} → {printable(b)} {n}" for (a, b), n in sorted(totals.band_changes.items()))
    rows.append(("BANDS", f"{sum(totals.band_changes.values())} changed{': ' if changed else ''}{changed}"))
    for signal, (count, mean) in totals.signals.items():
        rows.append(("SIGNAL", f"{printable(signal)} moved {count}, by {mean:+.4f} on average"))
    return rows


def comparison_payload(
    diff: RubricDiff, log: LogDiff | None, source: Path | None, tasks: Mapping[int, str]
) -> dict[str, Any]:
    """Return the whole comparison as JSON; ``a`` is the first rubric and ``b`` the second."""
    return {
        "a": _rubric(diff.before),
        "b": _rubric(diff.after),
        "same_combination": diff.same_combination,
        "same_evidence": diff.before.evidence == diff.after.evidence,
        "same_bands": diff.same_bands,
        "same_proportions": diff.same_proportions,
        "signals": [_spec(spec) for spec in diff.signals],
        "iter_log_dir": None if log is None else str(source),
        "iterations": None if log is None else [_iteration(item, tasks) for item in log.iterations],
        "totals": None if log is None else _totals(log.totals()),
    }


def _rubric(rubric: Rubric) -> dict[str, Any]:
    bands = [{"name": band.name, "min": band.min} for band in rubric.bands]
    rules = {"combination": rubric.combination, "evidence": rubric.evidence}
    return {"version": rubric.version, **rules, "bands": bands}


def _spec(spec: SpecChange) -> dict[str, Any]:
    def sides(field: str) -> dict[str, Any]:
        return {side: getattr(found, field, None) for side, found in (("a", spec.before), ("b", spec.after))}

    weights = sides("weight")
    both = None not in weights.values()
    return {
        "signal": spec.signal,
        "change": spec.change,
        "weight": weights | {"change": weights["b"] - weights["a"] if both else None},
        "changed_words": {field: sides(field) for field in spec.fields if field != "weight"},
    }


def _iteration(item: IterationDiff, tasks: Mapping[int, str]) -> dict[str, Any]:
    return {
        "iteration": item.iteration,
        "task_id": tasks.get(item.iteration, ""),
        "a": {"scored": item.before.scored, "value": item.before.value, "band": item.before.band},
        "b": {"scored": item.after.scored, "value": item.after.value, "band": item.after.band},
        "change": item.change,
        "moved": item.moved,
        "band_changed": item.band_changed,
        "signals": [
            {
                "signal": move.signal,
                "effect": None if item.change is None else move.effect,
                "moved": move.moved,
                "causes": list(move.causes),
                "a": _row(move.before),
                "b": _row(move.after),
            }
            for move in item.signals
        ],
    }


def _row(row: SignalContribution | None) -> dict[str, Any] | None:
    if row is None:
        return None
    keys = ("present", "sub_score", "detail", "nominal_weight", "effective_weight", "contribution")
    return {key: getattr(row, key) for key in keys}


def _totals(totals: Totals) -> dict[str, Any]:
    return {
        "iterations": totals.iterations,
        "moved": totals.moved,
        "mean_change": totals.mean_change,
        "mean_move": totals.mean_move,
        "band_changes": [{"a": a, "b": b, "iterations": n} for (a, b), n in sorted(totals.band_changes.items())],
        "signals": [{"signal": s, "moved": count, "mean_effect": mean} for s, (count, mean) in totals.signals.items()],
    }
