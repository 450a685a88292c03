"""The labels of a log: a list, which iteration to label next, and how far they agree (docs/LOG.md, "Labels")."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from rubric import coverage_of
from scoring.errors import Warn
from scoring.evidence import labels as label_words
from scoring.evidence.labels import READONLY, Judgement, LabelFacts, LabelRecord, label_facts
from scoring.sidecars.scores import PersistedScore
from scoring.signals.human_label import HUMAN_LABEL, counting_labels, label_value, latest_labels
from scoring.statistics import DRAWS, Interval, resampled, spearman
from scoring.text import counted, cut, printable
from scoring.views.table import Block, Column, Line, Table, number

_NOTE_WIDTH = 40
_NEAR = 1  # decimals of a distance that count
T = TypeVar("T")


def labels_of(
    log_dir: Path, iterations: Iterable[int], warn: Warn
) -> dict[int, tuple[LabelRecord, ...]]:
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
    heads = (
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
    cells = []
    for row in rows:
        given = (
            "-" if row[k] is None else str(row[k])
            for k in ("correctness", "scope_judgement", "hallucination")
        )
        role = f"{row['role']}, overrides" if row["admin_override"] else row["role"]
        note = cut(" ".join(row["note"].split()), _NOTE_WIDTH)
        updated = row["updated_at"][:16].replace("T", " ")
        cells.append((row["iteration"], row["actor"], role, *given, row["edits"], updated, note))
    yield Table(tuple(map(Column, heads)), cells)


def candidates(
    scores: Sequence[tuple[PersistedScore, str]],
    labels: Mapping[int, Sequence[LabelRecord]],
    actor: str | None,
) -> list[dict[str, Any]]:
    """Return what to label (by ``actor``) as plain data: first scores far from the mean of their neighbours."""
    values = [score.without(HUMAN_LABEL) for score, _ in scores]
    found = []
    for place, ((score, task_id), value) in enumerate(zip(scores, values, strict=True)):
        given = (one for one in labels.get(score.iteration, ()) if one.role != READONLY)
        if any(actor is None or one.actor == actor for one in given):
            continue
        sides = values[:place][::-1], values[place + 1 :]
        near = [known[0] for side in sides if (known := [v for v in side if v is not None])]
        mean = sum(near) / len(near) if near else None
        weight = coverage_of([row for row in score.breakdown if row.signal != HUMAN_LABEL]).weight
        one = {
            "iteration": score.iteration,
            "task_id": task_id,
            "value": value,
            "neighbours": mean,
            "coverage": weight,
        }
        found.append(
            one | {"distance": 0.0 if value is None or mean is None else abs(value - mean)}
        )
    return sorted(
        found, key=lambda one: (-round(one["distance"], _NEAR), one["coverage"], one["iteration"])
    )


def next_page(waiting: Sequence[dict[str, Any]], total: int) -> Iterator[Block]:
    """Yield which iteration to label next, and why."""
    if not waiting:
        yield Line("Nothing is left to label.")
        return
    first = waiting[0]
    task = f" ({cut(printable(first['task_id']), 80)})" if first["task_id"] else ""
    yield Line(f"Iteration {first['iteration']}{task}: most can be learned from its label.", "bold")
    value, near = (
        number(first[key] or 0, first[key] is not None) for key in ("value", "neighbours")
    )
    weight = f"{first['coverage'] * 100:.1f} % of the weight"
    yield Line(f"Score {value} without labels, neighbours {near}; rests on {weight}.")
    wait = f"{counted(total, 'iteration')} {'waits' if len(waiting) == 1 else 'wait'}"
    yield Line(f"{len(waiting)} of {wait}. Label it with: da-score label {first['iteration']}")


# Agreement: Krippendorff's alpha takes any number of people and labels that are missing; Cohen's kappa, weighted by the
# square of the distance, takes two people on what both labelled. Both are 1 for full agreement and 0 for chance.

SCALES: dict[str, Sequence[Any]] = {
    "correctness": label_words.CORRECTNESS,
    "scope": label_words.SCOPES,
}
SCALES |= {"hallucination": label_words.HALLUCINATIONS}
"""The judgements, with their values from the worst to the best."""


def krippendorff_alpha(units: Iterable[Sequence[float]]) -> float | None:
    """Return Krippendorff's ordinal alpha, at most 1, of units with two values or more; None where all are equal."""
    counts = Counter(tuple(sorted(unit)) for unit in units if len(unit) > 1)
    values = sorted({value for unit in counts for value in unit})
    if len(values) < 2:
        return None
    together: dict[tuple[float, float], float] = {}  # the coincidences of two values
    total: Counter[float] = Counter()
    for unit, times in counts.items():
        of = Counter(unit)
        for a, n in of.items():
            total[a] += times * n
            for b, m in of.items():
                together[a, b] = together.get((a, b), 0) + times * n * (m - (a == b)) / (
                    len(unit) - 1
                )

    @cache
    def distance(a: float, b: float) -> float:
        between = sum(total[value] for value in values if min(a, b) <= value <= max(a, b))
        return (between - (total[a] + total[b]) / 2) ** 2 if a != b else 0.0

    observed = sum(n * distance(*pair) for pair, n in together.items())
    expected = sum(total[a] * total[b] * distance(a, b) for a in values for b in values)
    return 1 - (sum(total.values()) - 1) * observed / expected if expected else None


def weighted_kappa(pairs: Sequence[Sequence[float]]) -> float | None:
    """Return Cohen's kappa of pairs of ratings, weighted by squared distance; None without a pair or a difference."""
    firsts, seconds = Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    observed = sum((a - b) ** 2 for a, b in pairs)
    expected = sum(n * m * (a - b) ** 2 for a, n in firsts.items() for b, m in seconds.items())
    return 1 - len(pairs) * observed / expected if expected else None


class Measured(NamedTuple):
    """A measure of agreement: over how many iterations, its value, and its interval; None where it is not defined."""

    n: int
    value: float | None
    interval: Interval | None


@dataclass(frozen=True, slots=True)
class LabelAgreement:
    """How far labels agree: ``alpha`` of all, ``kappa`` of every two people, and with the ``score`` by rank."""

    iterations: int
    actors: tuple[str, ...]
    alpha: Mapping[str, Measured]
    kappa: Mapping[tuple[str, str], Mapping[str, Measured]]
    score: Measured

    def as_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "iterations": self.iterations,
            "actors": list(self.actors),
            "draws": DRAWS,
            "alpha": {
                name: {"level": "ordinal", **found._asdict()} for name, found in self.alpha.items()
            },
            "kappa": [
                {
                    "actors": list(pair),
                    "weights": "quadratic",
                    **{name: m._asdict() for name, m in found.items()},
                }
                for pair, found in self.kappa.items()
            ],
            "score": {"measure": "spearman", **self.score._asdict()},
        }


def agreement(
    given: Mapping[int, Mapping[str, Judgement]], scores: Sequence[tuple[float, float]]
) -> LabelAgreement:
    """Measure agreement in what each person said last of each iteration; ``scores`` are pairs with labels' values."""
    actors = sorted({actor for said in given.values() for actor in said})
    pairs = [
        pair
        for pair in combinations(actors, 2)
        if any(said.keys() >= {*pair} for said in given.values())
    ]

    def ranks(name: str, people: Sequence[str]) -> list[list[float]]:
        judged = (
            [getattr(said[one], name) for one in people if one in said] for said in given.values()
        )
        units = (
            [float(SCALES[name].index(value)) for value in unit if value is not None]
            for unit in judged
        )
        return [unit for unit in units if len(unit) > 1]

    return LabelAgreement(
        len(given),
        tuple(actors),
        {name: _measured(ranks(name, actors), krippendorff_alpha) for name in SCALES},
        {
            pair: {name: _measured(ranks(name, pair), weighted_kappa) for name in SCALES}
            for pair in pairs
        },
        _measured(scores, lambda both: spearman([a for a, _ in both], [b for _, b in both])),
    )


def _measured(values: Sequence[T], statistic: Callable[[Sequence[T]], float | None]) -> Measured:
    return Measured(len(values), statistic(values), resampled(values, statistic))


def agreement_of(
    labels: dict[int, tuple[LabelRecord, ...]], scores: Sequence[PersistedScore]
) -> LabelAgreement:
    """Measure how far the people of a log agree, and the score with them. Readonly labels do not count."""
    latest = {n: latest_labels(found) for n, found in labels.items()}
    given = {
        n: {one.actor: one.latest.judgement for one in found if one.latest}
        for n, found in latest.items()
    }
    given = {
        n: said
        for n, said in given.items()
        if any(not judgement.is_empty for judgement in said.values())
    }
    pairs = []
    for score in scores:
        value = score.without(HUMAN_LABEL)
        label = label_value(LabelFacts(Path(), labels.get(score.iteration, ())), score.iteration)
        if value is not None and label.present:
            pairs.append((value, label.sub_score))
    return agreement(given, pairs)


def agreement_page(found: LabelAgreement) -> Iterator[Block]:
    """Yield a measured agreement as tables."""
    if not found.iterations:
        yield Line("No labels; 'da-score label next' says where to begin.")
        return
    yield Line(
        f"{counted(found.iterations, 'labelled iteration')}, {counted(len(found.actors), 'person', 'people')}."
    )
    kappa = {
        f"{a} and {b}: {name}": m for (a, b), by in found.kappa.items() for name, m in by.items()
    }
    score = {"Spearman's rank correlation": found.score}
    for title, head, rows in (
        (
            "Krippendorff's alpha, ordinal, over iterations that two or more people labelled",
            "JUDGEMENT",
            found.alpha,
        ),
        ("Cohen's kappa, weighted by the square, per two people", "PEOPLE", kappa),
        ("The score, without what labels add to it, against the labels", "MEASURE", score),
    ):
        cells = []
        for name, (n, value, interval) in rows.items():
            between = "{:.3f} to {:.3f}".format(*interval) if interval else "-"
            cells.append((name, n, number(value or 0, value is not None), between))
        columns = (
            Column(head),
            Column("N", right=True),
            Column("VALUE", right=True),
            Column("95 % INTERVAL"),
        )
        yield from (Line(), Line(title, "bold"), Table(columns, cells, indent=2)) if rows else ()
