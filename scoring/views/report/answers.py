"""What a report answers: where the agent is weak, what to do next, who does better, and what the tokens bought."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from scoring.signals.table import signal_of
from scoring.statistics import Interval, bootstrap_interval
from scoring.text import counted, spans
from scoring.views.report.digest import Digest
from scoring.views.report.reported import ReportedIteration
from scoring.views.spending import Spending, purchase

_WORST = 5
_MOST_STEPS = 6
_MOST_GROUPS = 15
_WORTH_SAYING = 0.01
"""What a step must be able to add to the mean to be said."""
_SELDOM = 0.5
"""The share of iterations below which it is said how a signal could be present."""


class SignalLoss(NamedTuple):
    """What one signal costs the scores: on average over those that count, where it is zero, and where it costs most.

    ``mean`` are points of the mean score, 0 to 1; ``share`` the share of all that is lost, 0 to 1; ``zeros`` the
    iterations in which its vote is 0.
    """

    label: str
    signal: str
    mean: float
    share: float
    zeros: list[int]
    worst: list[ReportedIteration]


def losses(digest: Digest) -> list[SignalLoss]:
    """Return what each signal costs, the dearest first; one that costs nothing is left out."""
    lines = [line for line in digest.lines if line.counted]
    found: dict[str, list[tuple[float, ReportedIteration]]] = {}
    zeros: dict[str, list[int]] = {}
    for line in lines:
        for row in line.rows:
            if row.present and (lost := row.weight - row.contribution) > 0:
                found.setdefault(row.signal, []).append((lost, line))
                if row.sub_score == 0:
                    zeros.setdefault(row.signal, []).append(line.iteration)
    everything = sum(lost for cases in found.values() for lost, _ in cases)
    made = []
    for signal, cases in found.items():
        whole = sum(lost for lost, _ in cases)
        worst = [line for _, line in sorted(cases, key=lambda case: (-case[0], -case[1].iteration))[:_WORST]]
        mean, share = whole / len(lines), whole / everything
        made.append(SignalLoss(digest.signals[signal], signal, mean, share, zeros.get(signal, []), worst))
    return sorted(made, key=lambda loss: (-loss.mean, loss.signal))


class Step(NamedTuple):
    """Something to do next: what, why, and the iterations that it is about."""

    what: str
    why: str
    about: list[int]


def steps(digest: Digest) -> list[Step]:
    """Return what to do next, what promises most first."""
    found = [_of_states(digest)] if digest.states else []
    votes: dict[tuple[str, bool], list[tuple[float, ReportedIteration, str]]] = {}
    for line in digest.lines:
        for row, advice in zip(line.rows, line.advice, strict=False):
            if advice:
                lost = row.weight - row.contribution if row.present else row.weight
                votes.setdefault((row.signal, row.present), []).append((lost, line, advice))
    count = sum(line.counted for line in digest.lines) or 1
    ranked: list[tuple[float, Step]] = []
    for (signal, present), cases in votes.items():
        label = digest.signals[signal]
        costly = [case for case in cases if case[0] > 0 and (case[1].counted or not present)]
        if not costly:
            continue
        advice = Counter(text for _, _, text in costly).most_common(1)[0][0]
        about = [line.iteration for _, line, _ in costly]
        if present:
            gain = sum(lost for lost, _, _ in costly) / count
            if gain >= _WORTH_SAYING:
                why = f"costs {gain:.3f} of the mean, in {counted(len(about), 'iteration')}"
                ranked.append((gain, Step(f"{label}: {advice}", why, about)))
        elif not _by_choice(signal) and (share := len(about) / len(digest.lines)) >= _SELDOM:
            weight = sum(lost for lost, _, _ in costly) / len(digest.lines)
            why = f"not known in {share * 100:.0f} % of iterations; {weight * 100:.0f} % more of the weight would vote"
            ranked.append(
                (weight / 2, Step(f"{label}: {advice}", why, []))
            )  # evidence is worth less than a better vote
    found += [step for _, step in sorted(ranked, key=lambda pair: -pair[0])]
    if over := {line.iteration for line, _ in digest.over_claims}:
        why = f"{counted(len(over), 'iteration')} claimed more than was seen"
        found.insert(min(1, len(found)), Step("Ask for evidence where a claim is not borne out", why, sorted(over)))
    return found[:_MOST_STEPS]


def _by_choice(signal: str) -> bool:
    known = signal_of(signal)
    return known is not None and (known.by_choice or known.optional)


def _of_states(digest: Digest) -> Step:
    about = sorted(n for iterations in digest.states.values() for n in iterations)
    why = "; ".join(f"{len(found)} {state}" for state, found in digest.states.items())
    return Step("Score the log again with 'da-score run': some scores are not what the evidence gives", why, about)


class Group(NamedTuple):
    """The iterations of one model, harness or task, compared; numbers are None where nothing is known.

    ``landed`` of ``landing_known`` landed and stayed; ``unsound`` of ``fate_known`` needed a fix or were reverted;
    ``cost`` and ``per_landed`` are US dollars.
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
    spending: Spending | None
    per_landed: float | None


class Comparison(NamedTuple):
    """Groups of one kind, those with the most iterations first; ``more`` are not listed."""

    kind: str
    groups: list[Group]
    more: int


def comparisons(digest: Digest) -> list[Comparison]:
    """Return models, harnesses and tasks compared; a kind of which there is only one is left out."""
    kinds: dict[str, Callable[[ReportedIteration], str]] = {
        "Model": lambda line: line.model,
        "Harness": lambda line: line.harness,
        "Task": lambda line: line.task_id,
    }
    made = []
    for kind, name_of in kinds.items():
        members: dict[str, list[ReportedIteration]] = {}
        for line in digest.lines:
            members.setdefault(name_of(line), []).append(line)
        if len(members) < 2:
            continue
        ranked = sorted(members.items(), key=lambda one: (not one[0], -len(one[1]), one[0]))
        if kind == "Task":  # a log may have as many as iterations: those that cost most say most
            ranked.sort(key=lambda one: -sum(line.cost or 0 for line in one[1]))
        groups = [_group(name or "not named", lines) for name, lines in ranked[:_MOST_GROUPS]]
        made.append(Comparison(kind, groups, len(ranked) - len(groups)))
    return made


def _group(name: str, lines: Sequence[ReportedIteration]) -> Group:
    values = [line.value for line in lines if line.counted and line.value is not None]
    landing, fates = [line.landed for line in lines], [line.sound for line in lines]
    bought = purchase(line.used for line in lines)
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
        bought.spending,
        bought.per_landed,
    )


def nothing_known(digest: Digest) -> list[str]:
    """Return what this log has nothing of, as parts of one sentence."""
    never = [label for name, label in digest.signals.items() if not digest.presence(name)]
    found = [f"{'signals' if len(never) > 1 else 'the signal'} {', '.join(never)}"] if never else []
    found += [] if digest.hooks else ["hook outcomes"]
    found += [] if digest.sessions else ["sessions"]
    found += [] if digest.integrity else ["claims"]
    found += [] if digest.deliberated else ["deliberations"]
    return found


def about(numbers: Sequence[int], most: int = 12) -> str:
    """Return iterations in words, cut behind some."""
    return spans(numbers) if len(numbers) <= most else f"{spans(numbers[:most])} and {len(numbers) - most} more"
