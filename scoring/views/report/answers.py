"""What a report answers: what changed, what is weak, what to do next, who does better, and what the tokens bought."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from scoring.signals.table import is_chosen
from scoring.statistics import Interval, bootstrap_interval
from scoring.text import counted, spans
from scoring.views.report.digest import Digest
from scoring.views.report.reported import ReportedIteration
from scoring.views.spending import Purchase, purchase

_WORST = 5
_MOST_STEPS = 6
_MOST_GROUPS = 15
_WORTH_SAYING = 0.01  # what a step must be able to add to the mean to be said
_SELDOM = 0.5  # the share of iterations below which it is said how a signal could be present


class SignalLoss(NamedTuple):
    """What one signal costs of the mean, its share of all that is lost, where its vote is 0, where it costs most."""

    label: str
    signal: str
    mean: float
    share: float
    zeros: list[int]
    worst: list[ReportedIteration]


def losses(digest: Digest) -> list[SignalLoss]:
    """Return what each signal costs, the dearest first; one that costs nothing is left out."""
    lines = [line for line in digest.lines if line.counted]
    found: dict[str, list[tuple[float, ReportedIteration, bool]]] = {}
    for line in lines:
        for row in line.rows:
            if row.present and row.lost > 0:
                found.setdefault(row.signal, []).append((row.lost, line, row.sub_score == 0))
    everything = sum(lost for cases in found.values() for lost, _, _ in cases)
    made = []
    for signal, cases in found.items():
        whole = sum(lost for lost, _, _ in cases)
        worst = [line for _, line, _ in sorted(cases, key=lambda case: (-case[0], -case[1].iteration))[:_WORST]]
        zeros = [line.iteration for _, line, is_zero in cases if is_zero]
        label = digest.signals[signal]
        made.append(SignalLoss(label, signal, whole / len(lines), whole / everything, zeros, worst))
    return sorted(made, key=lambda loss: (-loss.mean, loss.signal))


class Step(NamedTuple):
    """Something to do next: what, why, and the iterations that it is about."""

    what: str
    why: str
    about: list[int]


def steps(digest: Digest) -> list[Step]:
    """Return what to do next, what promises most first."""
    votes: dict[tuple[str, bool], list[tuple[float, int, str]]] = {}
    for line in digest.lines:
        for row, advice in zip(line.rows, line.advice, strict=False):
            if advice and row.lost > 0 and (line.counted or not row.present):
                votes.setdefault((row.signal, row.present), []).append((row.lost, line.iteration, advice))
    ranked: list[tuple[float, Step]] = []
    for (signal, present), cases in votes.items():
        lost, about = sum(lost for lost, _, _ in cases), [number for _, number, _ in cases]
        what = f"{digest.signals[signal]}: {Counter(advice for *_, advice in cases).most_common(1)[0][0]}"
        if present:
            gain = lost / (sum(line.counted for line in digest.lines) or 1)
            if gain >= _WORTH_SAYING:
                why = f"costs {gain:.3f} of the mean, in {counted(len(about), 'iteration')}"
                ranked.append((gain, Step(what, why, about)))
        elif not is_chosen(signal) and (share := len(about) / len(digest.lines)) >= _SELDOM:
            weight = lost / len(digest.lines)
            why = f"not known in {share * 100:.0f} % of iterations; {weight * 100:.0f} % more of the weight would vote"
            ranked.append((weight / 2, Step(what, why, [])))  # evidence is worth less than a better vote
    found = []
    if digest.states:
        what = "Score the log again with 'da-score run': some scores are not what the evidence gives"
        why = "; ".join(f"{len(numbers)} {state}" for state, numbers in digest.states.items())
        found.append(Step(what, why, sorted(n for numbers in digest.states.values() for n in numbers)))
    found += [step for _, step in sorted(ranked, key=lambda pair: -pair[0])]
    if over := {line.iteration for line, _ in digest.over_claims}:
        why = f"{counted(len(over), 'iteration')} claimed more than was seen"
        found.insert(1, Step("Ask for evidence where a claim is not borne out", why, sorted(over)))
    return found[:_MOST_STEPS]


class Group(NamedTuple):
    """The iterations of one model, harness or task, or all of them; ``mean`` is None where no score counts.

    ``landed`` of ``landing_known`` landed and stayed; ``unsound`` of ``fate_known`` needed a fix or were reverted.
    """

    name: str
    iterations: int
    mean: float | None
    interval: Interval | None
    landed: int
    landing_known: int
    unsound: int
    fate_known: int
    over_claims: int
    bought: Purchase


class Comparison(NamedTuple):
    """Groups of one kind, those with the most iterations first; ``more`` are not listed."""

    kind: str
    groups: list[Group]
    more: int


def comparisons(digest: Digest) -> list[Comparison]:
    """Return models, harnesses and tasks compared; a kind of which there is only one is left out."""
    made = []
    for kind, attribute in (("Model", "model"), ("Harness", "harness"), ("Task", "task_id")):
        members: dict[str, list[ReportedIteration]] = {}
        for line in digest.lines:
            members.setdefault(getattr(line, attribute), []).append(line)
        if len(members) < 2:
            continue
        ranked = sorted(members.items(), key=lambda one: (not one[0], -len(one[1]), one[0]))
        if kind == "Task":  # a log may have as many as iterations: those that cost most say most
            ranked.sort(key=lambda one: -sum(line.cost or 0 for line in one[1]))
        groups = [group(name or "not named", lines) for name, lines in ranked[:_MOST_GROUPS]]
        made.append(Comparison(kind, groups, len(ranked) - len(groups)))
    return made


def group(name: str, lines: Sequence[ReportedIteration]) -> Group:
    """Return what is known of some iterations together."""
    values = [line.value for line in lines if line.counted and line.value is not None]
    landing, fates = [line.landed for line in lines], [line.sound for line in lines]
    return Group(
        name,
        len(lines),
        sum(values) / len(values) if values else None,
        bootstrap_interval(values),
        landing.count(True),
        len(lines) - landing.count(None),
        fates.count(False),
        len(lines) - fates.count(None),
        sum(claim.delta < 0 for line in lines for claim in line.claims),
        purchase(line.used for line in lines),
    )


def nothing_known(digest: Digest) -> list[str]:
    """Return what this log has nothing of, as parts of one sentence."""
    never = [label for name, label in digest.signals.items() if not digest.presence(name)]
    found = [f"{'signals' if len(never) > 1 else 'the signal'} {', '.join(never)}"] if never else []
    parts = {
        "hook outcomes": digest.hooks,
        "sessions": digest.sessions,
        "claims": digest.integrity or digest.words,
        "deliberations": digest.deliberated,
    }
    return found + [name for name, part in parts.items() if not part]


def about(numbers: Sequence[int], most: int = 12) -> str:
    """Return iterations in words, cut behind some."""
    return spans(numbers) if len(numbers) <= most else f"{spans(numbers[:most])} and {len(numbers) - most} more"


Change: TypeAlias = tuple[ReportedIteration, float | None]
"""An iteration, and its score before; None where it had none."""


@dataclass(frozen=True, slots=True)
class ReportChanges:
    """What is different since the last report; ``rescored`` moved under another rubric, and do not compare."""

    new: list[ReportedIteration]
    moved: list[Change]
    gone: list[int]
    rescored: frozenset[int] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.new or self.moved or self.gone)

    def _rise(self, change: Change) -> float | None:
        """Return how far a score rose; None where it does not compare with the one before."""
        line, before = change
        return None if before is None or line.value is None or line.iteration in self.rescored else line.value - before

    @property
    def groups(self) -> list[tuple[str, list[Change]]]:
        """What changed, by what it is; those that moved most come first."""
        other = "Scored otherwise than before"
        found: dict[str, list[Change]] = {"New": [(line, None) for line in reversed(self.new)]}
        found |= {"Better": [], "Worse": [], other: []}
        for change in sorted(self.moved, key=lambda change: -abs(self._rise(change) or 0)):
            rise = self._rise(change)
            found[other if rise is None else "Better" if rise > 0 else "Worse"].append(change)
        return list(found.items())

    @property
    def summary(self) -> str:
        """How many changed, and in which way."""
        found = [f"{len(lines)} {title[0].lower()}{title[1:]}" for title, lines in self.groups if lines]
        values = [line.value for line in self.new if line.counted and line.value is not None]
        if values:
            found[0] += f" with a mean of {sum(values) / len(values):.3f}"
        return ", ".join([*found, f"{len(self.gone)} gone"] if self.gone else found)


def changes(now: Sequence[ReportedIteration], before: dict[str, list[Any]]) -> ReportChanges:
    """Compare a report's iterations with the snapshot of an earlier one."""
    known = [(line, before[str(line.iteration)]) for line in now if str(line.iteration) in before]
    moved = [(line, was) for line, was in known if was[:2] != [line.rubric_version, line.value]]
    return ReportChanges(
        [line for line in now if str(line.iteration) not in before],
        [(line, was[1]) for line, was in moved],
        sorted({int(n) for n in before} - {line.iteration for line in now}),
        frozenset(line.iteration for line, was in moved if was[0] != line.rubric_version),
    )
