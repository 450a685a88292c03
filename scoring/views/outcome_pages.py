"""Outcomes, and whether scores foretell them, for people: tables, and sentences."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rubric import Rubric
from scoring.examine import ExaminedIteration
from scoring.log.model import IterationRecord
from scoring.outcomes.fitting import Fit
from scoring.outcomes.outcome import Outcome
from scoring.outcomes.validity import (
    BEFORE_LANDING,
    LEAST_LINES,
    LEAST_OF_A_KIND,
    Case,
    Foretold,
    Validity,
    case_of,
)
from scoring.sidecars.fingerprint import score_mark
from scoring.text import counted, printable, short
from scoring.views.table import (
    NAMED,
    AnyCell,
    Block,
    Cell,
    Column,
    Line,
    Table,
    band_text,
    named_cells,
)


def _outcome_row(one: Outcome, record: IterationRecord, subject: str) -> Sequence[AnyCell]:
    verdict = "-" if one.defective is None else "yes" if one.defective else "no"
    survival = "-" if one.survival is None else f"{one.survival * 100:.0f} %"
    reverted_by = short(one.reverted_by or "-")
    counts = (one.lines_added, one.lines_changed, one.lines_fixed)
    added, changed, fixed = ("-" if count is None else count for count in counts)
    head = named_cells(one.iteration, record.task_id, subject, one.commit or record.commit)
    became = Cell(verdict, style="red" if one.defective else "")
    return *head, one.status.replace("_", " "), added, changed, survival, fixed, reverted_by, became


def outcomes_page(
    outcomes: Sequence[Outcome],
    records: Iterable[IterationRecord],
    subjects: Mapping[int, str],
    horizon_days: float,
) -> Iterator[Block]:
    """Yield what became of the work of a log, a row for each iteration with its subject, and a line that counts it."""
    if not outcomes:
        yield Line("no iterations")
        return
    columns = [*NAMED, Column("STATUS")]
    columns += [Column(head, right=True) for head in ("ADDED", "CHANGED", "SURVIVED", "FIXED")]
    known_as = {record.iteration: record for record in records}
    rows = [_outcome_row(one, known_as[one.iteration], subjects[one.iteration]) for one in outcomes]
    yield Table([*columns, Column("REVERTED BY"), Column("DEFECTIVE")], rows, full=True)
    yield Line()
    count = Counter(one.status for one in outcomes)
    known = [one for one in outcomes if one.status == "known"]
    defective = sum(bool(one.defective) for one in known)
    reverted = sum(bool(one.reverted) for one in known)
    yield Line(
        f"within {horizon_days:g} days: {len(known)} known, {defective} of them defective, {reverted} reverted; "
        f"{count['too_young']} too young, {count['not_landed']} not landed"
    )


def outcome_text(outcome: Outcome, horizon_days: float) -> str:
    """Return in a sentence what became of the work of an iteration."""
    within = f"within {horizon_days:g} days"
    if outcome.status == "not_landed":
        return (
            "No commit of the trunk brought this work, so nothing can be said of what became of it."
        )
    if outcome.status == "too_young":
        return f"It landed less than {horizon_days:g} days before the newest commit of the trunk: too young to tell."
    parts = [
        f"{within} {outcome.lines_changed} of the {outcome.lines_added} lines of code that it added were changed"
    ]
    if outcome.lines_fixed:
        parts.append(f"{outcome.lines_fixed} of them by what is called a fix")
    if outcome.reverted_by:
        parts.append(f"it was reverted by {short(outcome.reverted_by)}")
    text = (
        ", ".join(parts)
        if outcome.lines_added
        else "; ".join(("it added no line of code", *parts[1:]))
    )
    verdict = "It counts as defective." if outcome.defective else "It does not count as defective."
    return f"{text[0].upper()}{text[1:]}. {verdict}"


def with_cases(
    examined: Iterable[ExaminedIteration], version: str, cases: list[Case], marks: list[bytes]
) -> Iterator[ExaminedIteration]:
    """Yield the iterations of a pass; ``cases`` gets those under one rubric with a known outcome, ``marks`` all."""
    for one in examined:
        marks.append(score_mark(one.score, one.facts))
        case = case_of(one.facts, one.signals, one.score, one.outcome, "defective")
        if case and one.score.rubric_version == version:
            cases.append(case)
        yield one


_FORETOLD = (
    Column("FIGURE"),
    Column("N", right=True),
    Column("AUC", right=True),
    Column("95 % INTERVAL"),
    Column(""),
)
_BY_RANK = (_FORETOLD[0], _FORETOLD[1], Column("SPEARMAN", right=True), *_FORETOLD[3:])
_BANDS = (Column("BAND"), Column("N", right=True), Column("SOUND", right=True))


def validity_page(found: Validity) -> Iterator[Block]:
    """Yield whether a score foretells an outcome: the answer first, then what it rests on."""
    for text in validity_sentences(found):
        yield Line(text, "bold" if text.startswith("Verdict") else "")
    columns = _BY_RANK if found.measure == "spearman" else _FORETOLD
    for title, part in validity_parts(found).items():
        if part:
            rows = [validity_row(found, *row) for row in part.items()]
            yield from (Line(), Line(title, "bold"), Table(columns, rows))
    if found.bands:
        bands = [(band_text(row.band), row.n, f"{row.sound * 100:.0f} %") for row in found.bands]
        yield from (Line(), Line("By band", "bold"), Table(_BANDS, bands))


def gain_lines(rubric: str, gain: dict[str, Any] | None) -> Iterator[Block]:
    """Yield how a score compares with that of another rubric; None where it is the first."""
    if gain and gain["interval"]:
        change = "{:+.2f} ({:+.2f} to {:+.2f})".format(gain["gain"], *gain["interval"])
        yield from (
            Line(),
            Line(f"Against rubric {rubric}, the same {gain['n']} iterations: {change}"),
        )
    yield Line()


def validity_sentences(found: Validity) -> Iterator[str]:
    """Yield the question, the verdict and what it rests on, each in a line."""
    about = {
        "defective": f"was reverted, or fixes changed at least 5 % of its lines within {found.horizon_days:g} days",
        "reverted": f"was reverted within {found.horizon_days:g} days",
        "survival": f"how much of the work is still there after {found.horizon_days:g} days",
        "label": "how people judged the work",
        "landed": "landed",
        "reward": "gets the higher reward, of two runs of one task",
        "yield": f"how many of the lines that were written are on the trunk after {found.horizon_days:g} days",
    }[found.outcome]
    what = "foretell" if found.measure == "spearman" else "foretell which work"
    yield f"Does the score of rubric {found.rubric} {what} {about}?"
    score = found.score
    cases = counted(score.n, "iteration") + (
        "" if found.outcome == "reward" else f" of {LEAST_LINES} lines or more"
    )
    if score.auc is None:
        numbers = f"{cases}, and nothing to compare"
    elif found.measure == "spearman":
        numbers = f"{cases}, Spearman's correlation {_figure(score)}"
    else:
        good, bad, none = ("sound work", "defective work", "not sound")
        if found.outcome == "reward":
            good, bad, none = (
                "a run with a higher reward",
                "another one of its task",
                "below the full reward",
            )
        elif found.outcome == "landed":
            good, bad, none = ("work that landed", "work that came to nothing", "came to nothing")
        chance = f"{good} scores higher than {bad} with a chance of {_figure(score)}"
        numbers = f"{cases}, {found.positives} of them {none}; {chance}"
    yield f"Verdict: {found.verdict}."
    yield f"{numbers}."
    if found.outcome in BEFORE_LANDING:
        yield "The score is without the signal landed: what is known of the work before it lands."
    if found.foretelling:
        clear = counted(len(found.foretelling), "is clear", "are clear")
        yield f"Of {found.tried} single observations {clear} of chance for so many: {', '.join(found.foretelling)}."
    elif found.tried and found.outcome in BEFORE_LANDING:
        yield f"None of {found.tried} single observations foretells it: none is clear of chance for so many."


def validity_parts(found: Validity) -> dict[str, dict[str, Foretold]]:
    """Return the figures by part, under the names that people read."""
    names = {"lines_added": "fewer lines added", "constant": "a constant"}
    baselines = {names.get(name, name): value for name, value in found.baselines.items()}
    enough = (
        {"where there is enough evidence": found.sufficient}
        if found.sufficient.n < found.score.n
        else {}
    )
    observed = {name: value for name, value in found.observed.items() if value.n}
    return {
        "The score and what it must beat": {"score": found.score, **enough, **baselines},
        "Each signal": dict(found.signals),
        "What else was observed (below a half: more of it, worse work)": observed,
    }


def validity_row(found: Validity, name: str, one: Foretold) -> tuple[str, int, str, str, str]:
    """Return a figure as people read it: name, number, figure, interval, and whether the interval is clear."""
    figure = "-" if one.auc is None else f"{one.auc:.2f}"
    interval = f"{one.interval.low:.2f} to {one.interval.high:.2f}" if one.interval else "-"
    zero = 0.0 if found.measure == "spearman" else 0.5
    known = one.interval if one.rarer >= LEAST_OF_A_KIND else None
    clear = known is not None and not known.low <= zero <= known.high
    return (
        name,
        one.n,
        figure,
        interval,
        "" if not clear else "clear" if (one.auc or 0) > zero else "the wrong way",
    )


def _figure(one: Foretold) -> str:
    return f"{one.auc:.2f}" + (" ({:.2f} to {:.2f})".format(*one.interval) if one.interval else "")


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
