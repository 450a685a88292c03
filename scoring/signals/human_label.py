"""human_label: how people judged the iteration, under a rubric that has it (``docs/LOG.md``, "Labels")."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from rubric import SignalID
from scoring.evidence.beside import label_file_name
from scoring.evidence.facts import IterationFacts
from scoring.log.load import EntryPlaces
from scoring.signals.signal import Signal
from scoring.signals.values import SignalValue, absent_signal, present_signal
from scoring.text import cut, printable

if TYPE_CHECKING:
    from scoring.evidence.labels import LabelFacts, LabelRecord

HUMAN_LABEL = SignalID("human_label")

HALF = 0.5
_SCOPE: dict[str | None, float] = {"on-target": 1.0, "partial": HALF, "breach": 0.0}
_HALLUCINATION: dict[str | None, float] = {"none": 1.0, "minor": HALF, "major": 0.0}
_BEST = 3
_NEVER = -(2**63)
_REASON_WIDTH = 200
_NAME_WIDTH = 80


class HumanLabel(Signal):
    """What people said of the iteration, each in their latest label."""

    id = HUMAN_LABEL
    better = "people judge the work correct, on target and free of hallucinations"
    supply = "label it with da-score label N"
    optional = True

    def value(self, facts: IterationFacts) -> SignalValue:
        """Return the mean over people of what their latest labels say."""
        return label_value(facts.labels, facts.record.iteration)

    def sources(self, facts: IterationFacts, entry: EntryPlaces | None) -> Iterator[str]:  # noqa: ARG002
        """Yield the file of labels, where there is one."""
        if facts.labels and (facts.labels.labels is not None or facts.labels.problem):
            yield str(facts.labels.path)

    def files(self, iteration: int) -> Iterator[str]:
        """Yield the file."""
        yield label_file_name(iteration)


def label_value(found: "LabelFacts | None", iteration: int) -> SignalValue:
    """Judge the labels of an iteration; None where they were not asked for."""
    if found is None or (found.labels is None and not found.problem):
        return absent_signal(f"no labels for iter-{iteration}", "no labels for iter-N")
    if found.labels is None:
        problem = cut(printable(" ".join(found.problem.split())), _REASON_WIDTH)
        return absent_signal(
            f"cannot read labels for iter-{iteration}: {problem}",
            "cannot read labels for iter-N: …",
        )
    counting = counting_labels(found.labels)
    if not counting:
        why = general = "all of them are readonly" if found.labels else "there is none"
        if found.notes and not found.labels:
            why, general = cut(printable(found.notes[0]), _REASON_WIDTH), "…"
        return absent_signal(
            f"no label for iter-{iteration} counts: {why}", f"no label for iter-N counts: {general}"
        )
    overriding = any(label.overrides and value_of(label) is not None for label in counting)
    values = {label.actor: value for label in counting if (value := value_of(label)) is not None}
    if not values:
        return absent_signal(
            f"the labels for iter-{iteration} give no value", "the labels for iter-N give no value"
        )
    names = ", ".join(cut(printable(actor), _NAME_WIDTH) for actor in values)
    said = (
        f"admin override by {names}"
        if overriding
        else f"mean of {len(values)} latest label(s) by {names}"
    )
    return present_signal(sum(values.values()) / len(values), said)


def counting_labels(labels: "Sequence[LabelRecord]") -> "list[LabelRecord]":
    """Return the latest label of each person; where some override the others and give a value, only those."""
    overriding = [label for label in labels if label.overrides and value_of(label) is not None]
    return latest_labels(overriding) or latest_labels(labels)


def latest_labels(labels: "Iterable[LabelRecord]") -> "list[LabelRecord]":
    """Return the label of each person that was updated last, or is last in the file; without the role readonly."""
    counting = [label for label in labels if label.role != "readonly"]
    by_time = sorted(counting, key=lambda label: _NEVER if label.updated is None else label.updated)
    latest = {label.actor: label for label in by_time}
    return [
        latest[actor]
        for actor in sorted(latest, key=lambda a: a.encode("utf-8", "surrogateescape"))
    ]


def value_of(label: "LabelRecord") -> float | None:
    """Return the mean of the values that the latest edit of a label gives, from 0 to 1; None when it gives none."""
    if label.latest is None:
        return None
    judgement = label.latest.judgement
    correct = None if judgement.correctness is None else judgement.correctness / _BEST
    votes = correct, _SCOPE.get(judgement.scope), _HALLUCINATION.get(judgement.hallucination)
    given = [vote for vote in votes if vote is not None]
    return sum(given) / len(given) if given else None
