"""The labels of a log: a list of them, which iteration to label next, and how far they agree."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rubric import coverage_of
from scoring.errors import Warn
from scoring.evidence.labels import READONLY, Judgement, LabelFacts, LabelRecord, label_facts
from scoring.sidecars.scores import PersistedScore
from scoring.signals.human_label import HUMAN_LABEL, counting_labels, label_value, latest_labels
from scoring.text import counted, cut, printable
from scoring.views.agreement import LabelAgreement, Measured, agreement
from scoring.views.table import Block, Cell, Column, Line, Table, number

_NOTE_WIDTH = 40
_NEAR = 1  # decimals of a distance that count


def labels_of(log_dir: Path, iterations: Iterable[int], warn: Warn) -> dict[int, tuple[LabelRecord, ...]]:
    """Return the labels of those iterations that have any; ``warn`` hears what of the files was passed over."""
    found = {}
    for n in iterations:
        facts = label_facts(log_dir, n)
        if facts.problem:
            warn(f"iteration {n}: {facts.problem}")
        for note in facts.notes:
            warn(f"{facts.path.name}: {note}")
        if facts.labels:
            found[n] = facts.labels
    return found


def label_rows(iteration: int, labels: Sequence[LabelRecord]) -> Iterator[dict[str, Any]]:
    """Yield the labels of an iteration as plain data, with whether each counts towards human_label."""
    counting = counting_labels(labels)
    for label in labels:
        edit = label.latest or next(reversed(label.history), None)
        judgement = edit.judgement if edit else Judgement()
        yield {
            "iteration": iteration,
            "id": label.id,
            "actor": label.actor,
            "role": label.role,
            "admin_override": label.overrides,
            "correctness": judgement.correctness,
            "scope_judgement": judgement.scope,
            "hallucination": judgement.hallucination,
            "note": edit.note if edit else "",
            "edits": len(label.history),
            "updated_at": label.updated_at,
            "counts": label in counting,
        }


def list_page(rows: Sequence[dict[str, Any]]) -> Iterator[Block]:
    """Yield the labels of a log as a table."""
    if not rows:
        yield Line("No labels; 'da-score label next' says where to begin.")
        return
    heads = ("ITER", "ACTOR", "ROLE", "CORRECT", "SCOPE", "HALLUCINATION", "EDITS", "UPDATED", "NOTE")
    cells = []
    for row in rows:
        given = ("-" if row[k] is None else str(row[k]) for k in ("correctness", "scope_judgement", "hallucination"))
        role = f"{row['role']}, overrides" if row["admin_override"] else row["role"]
        note = Cell(row["note"], cut(" ".join(row["note"].split()), _NOTE_WIDTH))
        updated = row["updated_at"][:16].replace("T", " ")
        cells.append((row["iteration"], row["actor"], role, *given, row["edits"], updated, note))
    yield Table(tuple(map(Column, heads)), cells)


# Which to label next


@dataclass(frozen=True, slots=True)
class Candidate:
    """An iteration that could be labelled: its score without labels, and the share of the weight that it rests on.

    ``neighbours`` is the mean of the nearest scores before and after; None where there is none.
    """

    iteration: int
    task_id: str
    value: float | None
    neighbours: float | None
    coverage: float

    @property
    def distance(self) -> float:
        """How far its score is from that of its neighbours, from 0 to 1."""
        return 0.0 if self.value is None or self.neighbours is None else abs(self.value - self.neighbours)

    def as_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return asdict(self) | {"distance": self.distance}


def unlabelled_value(score: PersistedScore) -> float | None:
    """Return the score without what labels add to it, so that it can be compared with them; None without a score."""
    rows = [row for row in score.breakdown if row.present and row.signal != HUMAN_LABEL]
    weight = sum(row.nominal_weight for row in rows)
    return sum(row.nominal_weight * row.sub_score for row in rows) / weight if weight else None


def candidates(scores: Sequence[tuple[PersistedScore, str]], done: Collection[int]) -> list[Candidate]:
    """Return the iterations that are not ``done``, that with the most telling label first.

    That is one with a score far from those of its neighbours (to a tenth), then one that rests on little, then an
    old one. ``scores`` are those of a log in order, each with its task.
    """
    values = [unlabelled_value(score) for score, _ in scores]
    found = []
    for place, (score, task_id) in enumerate(scores):
        if score.iteration not in done:
            sides = values[:place][::-1], values[place + 1 :]
            near = [known[0] for side in sides if (known := [v for v in side if v is not None])]
            mean = sum(near) / len(near) if near else None
            weight = coverage_of([row for row in score.breakdown if row.signal != HUMAN_LABEL]).weight
            found.append(Candidate(score.iteration, task_id, values[place], mean, weight))
    return sorted(found, key=lambda c: (-round(c.distance, _NEAR), c.coverage, c.iteration))


def next_page(waiting: Sequence[Candidate], total: int) -> Iterator[Block]:
    """Yield which iteration to label next, and why."""
    if not waiting:
        yield Line("Nothing is left to label.")
        return
    first = waiting[0]
    task = f" ({cut(printable(first.task_id), 80)})" if first.task_id else ""
    yield Line(f"Iteration {first.iteration}{task}: its label would tell most.", "bold")
    value, near = (number(v or 0, v is not None) for v in (first.value, first.neighbours))
    yield Line(f"Score {value} without labels, neighbours {near}; rests on {first.coverage * 100:.1f} % of the weight.")
    wait = f"{counted(total, 'iteration')} {'waits' if len(waiting) == 1 else 'wait'}"
    yield Line(f"{len(waiting)} of {wait}. Label it with: da-score label {first.iteration}")


# Agreement


def agreement_of(labels: dict[int, tuple[LabelRecord, ...]], scores: Sequence[PersistedScore]) -> LabelAgreement:
    """Measure how far the people of a log agree, and the score with them. Readonly labels do not count."""
    latest = {n: latest_labels(found) for n, found in labels.items()}
    given = {n: {one.actor: one.latest.judgement for one in found if one.latest} for n, found in latest.items()}
    given = {n: said for n, said in given.items() if any(not judgement.is_empty for judgement in said.values())}
    pairs = []
    for score in scores:
        value = unlabelled_value(score)
        label = label_value(LabelFacts(Path(), labels.get(score.iteration, ())), score.iteration)
        if value is not None and label.present:
            pairs.append((value, label.sub_score))
    return agreement(given, pairs)


def agreement_page(found: LabelAgreement) -> Iterator[Block]:
    """Yield a measured agreement as tables."""
    if not found.iterations:
        yield Line("No labels; 'da-score label next' says where to begin.")
        return
    yield Line(f"{counted(found.iterations, 'labelled iteration')}, {counted(len(found.actors), 'person', 'people')}.")
    yield Line()
    yield Line("Krippendorff's alpha, ordinal, over iterations that two or more people labelled", "bold")
    yield _table(found.alpha.items(), "JUDGEMENT")
    if found.kappa:
        yield Line()
        yield Line("Cohen's kappa, weighted by the square, per two people", "bold")
        rows = [(f"{a} and {b}: {name}", m) for (a, b), by in found.kappa.items() for name, m in by.items()]
        yield _table(rows, "PEOPLE")
    yield Line()
    yield Line("The score, without what labels add to it, against the labels", "bold")
    yield _table([("Spearman's rank correlation", found.score)], "MEASURE")


def _table(rows: Iterable[tuple[str, Measured]], head: str) -> Table:
    columns = (Column(head), Column("N", right=True), Column("VALUE", right=True), Column("95 % INTERVAL"))
    cells = []
    for name, measured in rows:
        interval = "-" if measured.interval is None else "{:.3f} to {:.3f}".format(*measured.interval)
        cells.append((name, measured.n, number(measured.value or 0, measured.value is not None), interval))
    return Table(columns, cells, indent=2)


def labelled_iterations(labels: dict[int, tuple[LabelRecord, ...]], actor: str | None = None) -> set[int]:
    """Return the iterations that have a label that counts, or, with ``actor``, one of that person."""
    return {
        n
        for n, found in labels.items()
        if any(label.role != READONLY and (actor is None or label.actor == actor) for label in found)
    }
