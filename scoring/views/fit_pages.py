"""Fitted weights of a rubric, for people."""

import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from rubric import Rubric
from scoring.outcomes.fitting import Fit
from scoring.text import counted, printable


def fit_lines(fit: Fit, rubric: Rubric, out: Path | None) -> Iterator[str]:
    """Yield what fitted weights are, and what they are worth, line by line."""
    old = {str(spec.id): spec.weight for spec in rubric.signals}
    yield f"Weights for {fit.outcome}, from {counted(fit.learnt, 'iteration')}:"
    for name, weight in old.items():
        new = (fit.weights or {}).get(name, 0.0)
        yield f"  {name:<22}{weight:.4f} -> {new:.4f}"
    if fit.before is None or fit.after is None or fit.interval is None:
        yield f"There is too little to measure them on: {counted(fit.n, 'iteration')} of newer sessions."
    else:
        low, high = fit.interval
        yield f"On {counted(fit.n, 'iteration')} of sessions that are newer than what each fit saw:"
        yield f"  AUC of the old weights {fit.before:.3f}, of fitted ones {fit.after:.3f}"
        yield f"  gain {fit.gain:+.3f}, 95 % interval {low:+.3f} to {high:+.3f}"
    if not fit.holds:
        yield "The gain may be chance: these weights promise nothing."
    yield f"Wrote {out}" if out else "Wrote nothing."


def rubric_text(fitted: Rubric, base: Rubric, fit: Fit, horizon_days: float) -> str:
    """Return a fitted rubric as a file, which begins with where its weights come from."""
    gain = (
        "{:+.4f} ({:+.4f} to {:+.4f})".format(fit.gain, *fit.interval)
        if fit.interval
        else "unknown"
    )
    old, new = ("unknown" if value is None else f"{value:.4f}" for value in (fit.before, fit.after))
    head = [
        f"Weights fitted by da-score rubric fit to the outcome {fit.outcome!r} at {horizon_days:g} days.",
        f"Base: rubric {base.version}. Learnt from {counted(fit.learnt, 'iteration')}; C = {fit.penalty:g}.",
        f"Out of sample, {counted(fit.n, 'iteration')} of newer sessions: AUC {old} before, {new} after.",
        f"Gain {gain}, 95 % interval by session; {'above chance' if fit.holds else 'it may be chance'}.",
    ]
    data = {
        name: value for name, value in asdict(fitted).items() if name not in ("signals", "bands")
    }
    lines = [f"# {printable(line)}" for line in head]
    lines += [f"{name}: {json.dumps(value)}" for name, value in data.items()]
    for name, items in (("signals", fitted.signals), ("bands", fitted.bands)):
        lines.append(f"{name}:")
        for item in items:
            fields = {key: value for key, value in asdict(item).items() if value != ""}
            lines.append(f"  - {json.dumps(fields)}")
    return "\n".join(lines) + "\n"
