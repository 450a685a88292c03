"""Whether scores foretell what becomes of the work, for people: sentences and tables."""

from collections.abc import Iterable, Iterator
from typing import Any

from scoring.examine import ExaminedIteration
from scoring.outcomes.cases import (
    FORETOLD_BEFORE_LANDING,
    LEAST_LINES,
    Became,
    Case,
    OutcomeName,
    case_of,
)
from scoring.outcomes.validity import LEAST_CASES, Validity
from scoring.prediction import LEAST_OF_A_KIND, Foretold
from scoring.sidecars.meaning import score_mark
from scoring.text import counted

from .amounts import horizon_text
from .table import (
    Cells,
    Line,
    Lines,
    Page,
    Table,
    band_text,
    numeric,
    titled,
)

_BY_CHANCE = ("FIGURE", numeric("N"), numeric("AUC"), "95 % INTERVAL", "")
_BY_RANK = ("FIGURE", numeric("N"), numeric("SPEARMAN"), "95 % INTERVAL", "")
_BANDS = ("BAND", numeric("N"), numeric("SOUND"))


def with_cases(
    examined: Iterable[ExaminedIteration],
    version: str,
    cases: list[Case],
    marks: list[bytes],
) -> Iterator[ExaminedIteration]:
    """Yield the iterations of a pass, and collect what validity is measured on.

    Args:
        examined: the iterations, with their outcomes.
        version: the rubric of the scores that are measured.
        cases: gets the iterations with a score under that rubric and a known outcome.
        marks: gets a mark of every score.
    """
    for iteration in examined:
        score = iteration.score
        marks.append(score_mark(score, iteration.facts))
        became = Became(iteration.outcome)
        case = case_of(iteration.facts, iteration.signals, score, "defective", became)
        if case and score.rubric_version == version:
            cases.append(case)
        yield iteration


def validity_page(validity: Validity) -> Page:
    """Yield whether a score foretells an outcome: first the answer, then its figures.

    Figures of too few iterations for a verdict are left out.
    """
    for text in validity_sentences(validity):
        yield Line(text, "bold" if text.startswith("Verdict") else "")

    if not validity.has_verdict:
        return

    columns = _BY_RANK if validity.measure == "spearman" else _BY_CHANCE
    tables = validity_parts(validity)
    for title, rows in tables.items():
        if rows:
            yield from titled(title, Table(columns, rows))
    yield from clear_notes(tables)

    bands = [
        (band_text(each.band), each.n, f"{each.sound * 100:.0f} %")
        for each in validity.bands
    ]
    if bands:
        yield from titled("By band", Table(_BANDS, bands))


def gain_lines(rubric: str, gain: dict[str, Any] | None) -> Page:
    """Yield how much better a score foretells the outcome than that of another rubric does.

    The line is between two empty ones.

    Args:
        rubric: the version of the other rubric.
        gain: what :func:`.gain_over` returns. For None, for {}, and for a gain without an interval,
            a single empty line is all.
    """
    if gain and gain["interval"]:
        low, high = gain["interval"]
        change = f"{gain['gain']:+.2f} ({low:+.2f} to {high:+.2f})"
        yield ""
        yield f"Against rubric {rubric}, the same {gain['n']} iterations: {change}"
    yield ""


def validity_sentences(validity: Validity) -> Lines:
    """Yield the question, the verdict, and the figure that supports it, each as a line."""
    foretells = "foretell which work"
    if validity.measure == "spearman":
        foretells = "foretell"
    question = _QUESTIONS[validity.outcome].format(
        days=horizon_text(validity.horizon_days)
    )
    yield f"Does the score of rubric {validity.rubric} {foretells} {question}?"

    yield f"Verdict: {validity.verdict}."

    score = validity.score
    cases = counted(score.n, "iteration")
    if validity.outcome != "reward":
        cases += f" of {LEAST_LINES} lines or more"
    good, bad, of_these = _WORDS.get(validity.outcome, _OTHER_WORDS)
    if not validity.has_verdict:
        needed = f"a verdict needs {LEAST_CASES} iterations"
        if validity.positives is not None:
            cases += f", {validity.positives} of them {of_these}"
            needed += f", with {LEAST_OF_A_KIND} of either kind"
        yield f"{cases}; {needed}."
    elif validity.measure == "spearman":
        yield f"{cases}, Spearman's correlation {_figure(score)}."
    else:
        chance = f"{good} scores higher than {bad} with a chance of {_figure(score)}"
        yield f"{cases}, {validity.positives} of them {of_these}; {chance}."

    if validity.outcome in FORETOLD_BEFORE_LANDING:
        yield "The score is without the signal landed: what is known of the work before it lands."

    if validity.foretelling:
        clear = counted(len(validity.foretelling), "is clear", "are clear")
        names = ", ".join(validity.foretelling)
        yield f"Of {validity.tried} single observations {clear} of chance for so many: {names}."
    elif validity.tried and validity.outcome in FORETOLD_BEFORE_LANDING:
        yield (
            f"None of {validity.tried} single observations foretells it: "
            "none is clear of chance for so many."
        )


_QUESTIONS: dict[OutcomeName, str] = {
    "defective": (
        "was reverted or taken back, or fixes changed at least 5 % of its lines, within {days}"
    ),
    "reverted": "was reverted within {days}",
    "survival": "how much of the work is still there after {days}",
    "label": "how people judged the work",
    "landed": "landed",
    "reward": "gets the higher reward, of two runs of one task",
    "yield": "how many of the lines that were written are on the trunk after {days}",
}


_OTHER_WORDS = ("sound work", "defective work", "not sound")
_WORDS = {
    "landed": ("work that landed", "work that came to nothing", "came to nothing"),
    "reward": (
        "a run with a higher reward",
        "another one of its task",
        "below the full reward",
    ),
}
"""By outcome, what good work is called, what bad work is called, and what the bad work did."""


def _figure(foretold: Foretold) -> str:
    """Return an AUC or a correlation as text, with its interval if it has one."""
    text = f"{foretold.auc:.2f}"
    if foretold.interval:
        low, high = foretold.interval
        text += f" ({low:.2f} to {high:.2f})"
    return text


CLEAR_NOTE = (
    "clear, the wrong way: the interval of this figure leaves out chance, here and looked at "
    "alone. Of so many figures some do by chance; none held in two public repositories."
)
"""What the last column of :func:`validity_parts` means."""

_BASELINE_NAMES = {"lines_added": "fewer lines added", "constant": "a constant"}


def clear_notes(parts: dict[str, list[Cells]]) -> Lines:
    """Yield what "clear" and "the wrong way" mean if a row of :func:`validity_parts` says one."""
    if any(row[-1] for rows in parts.values() for row in rows):
        yield CLEAR_NOTE


def validity_parts(validity: Validity) -> dict[str, list[Cells]]:
    """Return the figures by part, as rows of a table.

    A row has the name that people read, the number of iterations, the figure, its interval, and
    "clear" or "the wrong way" where the interval leaves out chance, or else "".
    """
    score = {"score": validity.score}
    if validity.sufficient.n < validity.score.n:
        score["where there is enough evidence"] = validity.sufficient
    for name, figure in validity.baselines.items():
        score[_BASELINE_NAMES.get(name, name)] = figure

    observed = {name: figure for name, figure in validity.observed.items() if figure.n}
    parts = {
        "The score and what it must beat": score,
        "Each signal": validity.signals,
        "What else was observed (below a half: more of it, worse work)": observed,
    }
    chance = 0.0 if validity.measure == "spearman" else 0.5
    rows_of_parts = {}
    for title, part in parts.items():
        rows: list[Cells] = []
        for name, figure in part.items():
            value = "-" if figure.auc is None else f"{figure.auc:.2f}"
            interval = "-"
            clear = ""
            if figure.interval:
                low, high = figure.interval
                interval = f"{low:.2f} to {high:.2f}"
                if figure.rarer >= LEAST_OF_A_KIND and not low <= chance <= high:
                    clear = "clear" if (figure.auc or 0) > chance else "the wrong way"
            rows.append((name, figure.n, value, interval, clear))
        rows_of_parts[title] = rows
    return rows_of_parts
