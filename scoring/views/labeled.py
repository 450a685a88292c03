"""The labels of a log as a list, and which iteration to label next (docs/LOG.md, "Labels")."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from rubric import coverage_of
from scoring.errors import Warn
from scoring.evidence.labels import LabelRecord, label_facts
from scoring.frozen import PlainData
from scoring.sidecars.scores import PersistedScore
from scoring.signals.human_label import HUMAN_LABEL, counting_labels
from scoring.statistics import mean_or_none
from scoring.text import counted, cut, printable

from .table import Line, Page, Table, number

NO_LABELS = "No labels; 'da-score label next' says where to begin."

_NOTE_WIDTH = 40
_TASK_WIDTH = 80
_DISTANCE_DIGITS = 1  # of a distance that decide the order
_COLUMNS = (
    "ITER",
    "ACTOR",
    "ROLE",
    "CORRECT",
    "SCOPE",
    "HALLUCINATION",
    "EDITS",
    "UPDATED",
    "NOTE",
)


def labels_of(
    log_dir: Path,
    iterations: Iterable[int],
    warn: Warn,
) -> dict[int, tuple[LabelRecord, ...]]:
    """Return the labels by iteration. An iteration without labels is not a key.

    Args:
        log_dir: the log.
        iterations: the numbers of the iterations.
        warn: takes a message about a file of labels that is broken, which has none then.
    """
    labels = {}
    for iteration in iterations:
        facts = label_facts(log_dir, iteration)
        if facts.problem:
            warn(f"iteration {iteration}: {facts.problem}")
        if facts.labels:
            labels[iteration] = facts.labels
    return labels


def label_rows(iteration: int, labels: Sequence[LabelRecord]) -> Iterator[PlainData]:
    """Yield the labels of an iteration as data. ``counts`` says whether human_label counts one."""
    counting = counting_labels(labels)
    for label in labels:
        edit = label.latest
        yield {
            "iteration": iteration,
            "id": label.id,
            "actor": label.actor,
            "role": label.role,
            "admin_override": label.overrides,
            "correctness": edit.judgment.correctness,
            "scope_judgement": edit.judgment.scope,
            "hallucination": edit.judgment.hallucination,
            "note": edit.note,
            "edits": len(label.history),
            "updated_at": label.updated_at,
            "counts": label in counting,
        }


def list_page(rows: Sequence[PlainData]) -> Page:
    """Yield the labels of a log, from :func:`label_rows`, as a table."""
    if not rows:
        yield NO_LABELS
        return

    cells = []
    for row in rows:
        role = row["role"]
        if row["admin_override"]:
            role = f"{role}, overrides"
        person = (row["iteration"], row["actor"], role)
        judgments = (row["correctness"], row["scope_judgement"], row["hallucination"])
        updated = row["updated_at"][:16].replace("T", " ")
        note = cut(" ".join(row["note"].split()), _NOTE_WIDTH)
        cells.append((*person, *judgments, row["edits"], updated, note))
    yield Table(_COLUMNS, cells)


def candidates(
    scores: Sequence[tuple[PersistedScore, str]],
    labels: Mapping[int, Sequence[LabelRecord]],
    actor: str | None,
) -> list[PlainData]:
    """Return the iterations to label, as data, sorted by how much can be learned from a label.

    First come the scores that are furthest from the mean of the scores before and after them, to
    one decimal; of equal ones those on the least evidence.

    Args:
        scores: the score and the task of each iteration, in order.
        labels: the labels by iteration.
        actor: the person that is to label, so that iterations with a label of this person are left
            out; None leaves out every iteration with a label.
    """
    values = [score.without(HUMAN_LABEL) for score, _ in scores]
    after = list(_values_before(values[::-1]))[::-1]
    pairs = zip(_values_before(values), after, strict=True)
    waiting = []
    for (score, task_id), value, nearest in zip(scores, values, pairs, strict=True):
        people = {label.actor for label in labels.get(score.iteration, ())}
        if people and actor in (None, *people):
            continue

        neighbors = mean_or_none([each for each in nearest if each is not None])
        distance = 0.0
        if value is not None and neighbors is not None:
            distance = abs(value - neighbors)

        rows = [row for row in score.breakdown if row.signal != HUMAN_LABEL]
        candidate = {
            "iteration": score.iteration,
            "task_id": task_id,
            "value": value,
            "neighbours": neighbors,
            "coverage": coverage_of(rows).weight,
            "distance": distance,
        }
        waiting.append(candidate)

    def order(candidate: PlainData) -> tuple[float, float, int]:
        distance = round(candidate["distance"], _DISTANCE_DIGITS)
        return -distance, candidate["coverage"], candidate["iteration"]

    return sorted(waiting, key=order)


def _values_before(values: Iterable[float | None]) -> Iterator[float | None]:
    """Yield for each value the last one before it that is known, or None without one."""
    last: float | None = None
    for value in values:
        yield last
        if value is not None:
            last = value


def next_page(waiting: Sequence[PlainData], total: int) -> Page:
    """Yield which iteration to label next, and why.

    Args:
        waiting: the iterations from :func:`candidates`.
        total: how many iterations there are.
    """
    if not waiting:
        yield "Nothing is left to label."
        return

    first = waiting[0]
    name = f"Iteration {first['iteration']}"
    if first["task_id"]:
        name += f" ({cut(printable(first['task_id']), _TASK_WIDTH)})"
    yield Line(f"{name}: most can be learned from its label.", "bold")

    score = f"Score {number(first['value'])} without labels"
    neighbors = f"its neighbors {number(first['neighbours'])}"
    coverage = f"evidence for {first['coverage'] * 100:.1f} % of the weight"
    yield f"{score}, {neighbors}; {coverage}."

    verb = "waits" if len(waiting) == 1 else "wait"
    waits = f"{len(waiting)} of {counted(total, 'iteration')} {verb}"
    yield f"{waits}. Label it with: da-score label {first['iteration']}"
