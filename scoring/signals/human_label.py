"""How people judged the iteration, under a rubric that has this signal.

Rules: ``docs/OUTCOME_SCORING_RUBRIC.md``, "human_label", and ``docs/LOG.md``, "Labels".
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from rubric import SignalID
from scoring.evidence.entry_files import label_file_name
from scoring.evidence.facts import IterationFacts
from scoring.log.places import EntryPlaces
from scoring.text import cut, in_byte_order, printable

from .signal import Signal
from .values import SignalValue, absent_for, present_signal

if TYPE_CHECKING:
    from scoring.evidence.labels import LabelFacts, LabelRecord

HUMAN_LABEL = SignalID("human_label")

HALF = 0.5
_SCOPE = {"on-target": 1.0, "partial": HALF, "breach": 0.0}
_HALLUCINATION = {"none": 1.0, "minor": HALF, "major": 0.0}
_BEST_CORRECTNESS = 3
_DIMENSIONS = 3

_REASON_WIDTH = 200
_NAME_WIDTH = 80


class HumanLabel(Signal):
    """What people said of the iteration, each in their latest label."""

    id = HUMAN_LABEL
    better = "people judge the work correct, on target and free of hallucinations"
    supply = "label it with da-score label"
    optional = True

    def value(self, facts: IterationFacts) -> SignalValue:
        """Return the mean over people of what their latest labels say."""
        return label_value(facts.labels, facts.record.iteration)

    def advice(self, present: bool, facts: IterationFacts) -> str:
        """Return what would raise the score: better judgments, or the command that takes one."""
        if present:
            return self.better
        return f"{self.supply} {facts.record.iteration}"

    def sources(
        self,
        facts: IterationFacts,
        entry: EntryPlaces,  # noqa: ARG002 - it is read from no field of the entry
    ) -> Iterator[str]:
        """Yield the path of the file of labels, where there is one."""
        if facts.labels and (facts.labels.labels is not None or facts.labels.problem):
            yield str(facts.labels.path)

    def files(self, iteration: int) -> Iterator[str]:
        """Yield the name of the file of labels."""
        yield label_file_name(iteration)


def label_value(facts: "LabelFacts | None", iteration: int) -> SignalValue:
    """Return the mean of what the labels of an iteration say.

    Only those of :func:`counting_labels` count. Absent without any, and where they cannot be read.

    Args:
        facts: its labels; None where they were not asked for.
        iteration: the number of the entry.
    """
    if facts is None or (facts.labels is None and not facts.problem):
        return absent_for("no labels for iter-{n}", n=iteration)
    if facts.labels is None:
        problem = cut(printable(" ".join(facts.problem.split())), _REASON_WIDTH)
        return absent_for(
            "cannot read labels for iter-{n}: {problem}", n=iteration, problem=problem
        )

    counting = counting_labels(facts.labels)
    if not counting:
        return absent_for("no label for iter-{n} counts: there is none", n=iteration)

    names = ", ".join(cut(printable(label.actor), _NAME_WIDTH) for label in counting)
    detail = f"mean of {len(counting)} latest label(s) by {names}"
    if counting[0].overrides:
        detail = f"admin override by {names}"
    mean = sum(map(value_of, counting)) / len(counting)
    return present_signal(mean, detail)


def counting_labels(labels: "Sequence[LabelRecord]") -> "list[LabelRecord]":
    """Return the latest label of each person, sorted by name.

    Where any label overrides the others, only labels that do so count.
    """
    overriding = [label for label in labels if label.overrides]
    return latest_labels(overriding or labels)


def latest_labels(labels: "Iterable[LabelRecord]") -> "list[LabelRecord]":
    """Return the label of each person that was updated last, sorted by name.

    A label without a time is older than any other. Of labels updated at one time the last in
    ``labels`` counts.
    """
    by_time = sorted(
        labels, key=lambda label: (label.updated is not None, label.updated or 0)
    )
    latest = {label.actor: label for label in by_time}
    return [latest[actor] for actor in in_byte_order(latest)]


def value_of(label: "LabelRecord") -> float:
    """Return the mean of what the latest edit of a label says, from 0 to 1."""
    judgment = label.latest.judgment
    correctness = (judgment.correctness or 0) / _BEST_CORRECTNESS
    scope = _SCOPE[judgment.scope or ""]
    hallucination = _HALLUCINATION[judgment.hallucination or ""]
    return (correctness + scope + hallucination) / _DIMENSIONS
