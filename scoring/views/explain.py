"""Why an iteration scored what it did, what would have raised it, and who did the work; long, as its words are here."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rubric import BAND_INSUFFICIENT, SignalContribution, Source
from scoring.evidence.facts import IterationFacts
from scoring.evidence.transcripts.facts import NS, ClaimResult, Method
from scoring.examine import ExaminedIteration
from scoring.log.load import EntryPlaces
from scoring.sidecars.fingerprint import Meaning
from scoring.sidecars.provenance import OwnLines
from scoring.signals.signal import window_text
from scoring.signals.table import fact_of, signal_of
from scoring.signals.values import IntegrityObservation
from scoring.text import counted, cut, printable, short, some_of
from scoring.views.landing_text import landing_text, named_commit
from scoring.views.outcome_pages import outcome_text
from scoring.views.score_pages import chain_payload, claims_payload, kept_payload
from scoring.views.session_pages import score_text
from scoring.views.table import band_text

_WORTH_SAYING = 0.0005
_LONGEST_NAME = 200


@dataclass(frozen=True, slots=True)
class ExplainedSignal:
    """One signal: its row of the breakdown, its ``cost`` (None without a vote) or ``could_add``, and sources."""

    signal: str
    label: str
    present: bool
    sub_score: float | None
    effective_weight: float
    contribution: float
    cost: float | None
    could_add: float
    detail: str
    sources: tuple[str, ...]
    advice: str
    source: Source | None
    applicable: bool
    fact: str | None


@dataclass(frozen=True, slots=True)
class Explanation:
    """An iteration's score, signal by signal; ``kept`` is what its evidence file says of its lines."""

    one: ExaminedIteration
    signals: tuple[ExplainedSignal, ...]
    entry: str | None
    kept: OwnLines | None = None
    horizon_days: float = 0
    subject: str = ""

    @property
    def raises(self) -> list[ExplainedSignal]:
        """What would have raised the score, most first."""
        return sorted(
            (s for s in self.signals if s.could_add >= _WORTH_SAYING), key=lambda s: -s.could_add
        )

    def as_dict(self) -> dict[str, Any]:
        """Return plain data."""
        one = self.one
        return {
            "iteration": one.record.iteration,
            "task_id": one.record.task_id,
            **one.score.summary(),
            "origin": one.origin,
            "state": one.state.name,
            "state_reason": one.state.reason or None,
            "differs_from_evidence_now": one.differs,
            "entry": self.entry,
            "commit": one.facts.landing.sha,
            "subject": self.subject or None,
            "window": window_text(one.facts.window) if one.facts.window else None,
            "attribution": chain_payload(one.facts) or kept_payload(self.kept),
            "signals": [asdict(signal) for signal in self.signals],
            "would_have_raised": [
                {"signal": s.signal, "by": s.could_add, "advice": s.advice} for s in self.raises
            ],
            "integrity": [observation.as_dict() for observation in one.signals.integrity],
            **claims_payload(one.facts),
            "outcome": one.outcome and {"horizon_days": self.horizon_days, **one.outcome.as_dict()},
        }


def explain(
    one: ExaminedIteration,
    entry: EntryPlaces | None,
    kept: OwnLines | None = None,
    days: float = 0,
    subject: str = "",
) -> Explanation:
    """Explain a score; ``entry`` is where the fields are, ``days`` how long the work was watched."""
    votes = sum(row.nominal_weight for row in one.score.breakdown if row.present)
    signals = tuple(_explained(row, votes, one, entry) for row in one.score.breakdown)
    return Explanation(one, signals, str(entry.path) if entry else None, kept, days, subject)


def _explained(
    row: SignalContribution, votes: float, one: ExaminedIteration, entry: EntryPlaces | None
) -> ExplainedSignal:
    cost = could_add = row.effective_weight - row.contribution
    if not row.applicable:
        could_add = 0.0
    elif not row.present:
        whole = one.score.value * votes + row.nominal_weight
        could_add = whole / (votes + row.nominal_weight) - one.score.value
    signal = signal_of(row.signal)
    return ExplainedSignal(
        signal=row.signal,
        label=signal.named(row.label, one.facts) if signal else row.label,
        present=row.present,
        sub_score=row.sub_score if row.present else None,
        effective_weight=row.effective_weight,
        contribution=row.contribution,
        cost=cost if row.present else None,
        could_add=could_add,
        detail=row.detail,
        sources=tuple(signal.sources(one.facts, entry)) if signal else (),
        advice=signal.advice(row.present, one.facts) if signal else "",
        source=row.source,
        applicable=row.applicable,
        fact=fact_of(row, one.signals) or None,
    )


def explanation_text(
    explanation: Explanation, terminal: bool = False, meaning: Meaning | None = None
) -> str:
    """Return what became of it and why it scored so; without a ``meaning`` of scores the text of old rubrics."""
    return "".join(printable(line) + "\n" for line in _lines(explanation, terminal, meaning))


def _lines(explanation: Explanation, bounds: bool, meaning: Meaning | None) -> Iterator[str]:
    one, score = explanation.one, explanation.one.score
    task = f" ({cut(one.record.task_id, _LONGEST_NAME)})" if one.record.task_id else ""
    became = outcome_text(one.outcome, explanation.horizon_days) if one.outcome else ""
    if meaning:
        yield f"Iteration {score.iteration}{task}"
    elif score.scored:
        means = "which is" if score.band != BAND_INSUFFICIENT else "but there is"
        yield f"Iteration {score.iteration}{task} scored {score.value:.3f}, {means} {band_text(score.band)}."
    else:
        yield f"Iteration {score.iteration}{task} has no score: no signal is present."
    if named := named_commit(one.facts.landing.sha, explanation.subject):
        yield named
    provenance = (
        "the score of its sidecar" if one.origin == "sidecar" else "scored now, nothing written"
    )
    if meaning:
        yield from filter(None, (landing_text(one.facts.landing), became))
        yield f"{score_text(meaning, score, score.bounds)}."
        yield f"It is {provenance}, and rests on {score.coverage}."
    else:
        yield f"Rubric {score.rubric_version}, {provenance}; it rests on {score.coverage}."
    if one.state.name != "current":
        yield f"This score is {one.state}."
    if one.differs:
        now = f"{one.computed.value:.3f}" if one.computed.scored else "no score"
        would = (
            f"With evidence lost it would be {now}"
            if one.state.lost
            else f"The evidence gives {now} today"
        )
        yield f"{would}; 'da-score iteration {score.iteration} --recompute' takes that over."
    if explanation.entry:
        yield f"Entry: {explanation.entry}"
    if one.facts.window and one.facts.observed is None:
        yield f"Time: {window_text(one.facts.window)}"
    if chain := list(chain_lines(one.facts, explanation.kept)):
        yield from ("", "Whose work it is")
        yield from (f"  {line}" for line in chain)
    if voted := [s for s in explanation.signals if s.present]:
        yield from ("", "What voted")
        for signal in sorted(voted, key=lambda s: -s.effective_weight):
            share, cost = f"{signal.effective_weight * 100:.1f} %", ""
            if signal.cost and signal.cost >= _WORTH_SAYING:
                cost = f", which cost {signal.cost:.3f}"
            vote = f"{signal.label}: {signal.sub_score:.3f} of 1, with {share} of the vote"
            yield f"  {vote}, gave {signal.contribution:.3f}{cost}"
            fact = f"{signal.fact} · " if signal.fact and bounds else ""
            yield f"    {fact}{signal.detail}{', as claimed' if signal.source == 'claimed' else ''}"
            yield from (f"    from {source}" for source in signal.sources)
    if silent := [s for s in explanation.signals if not s.present]:
        yield from ("", "What did not vote")
        for signal in silent:
            without = "" if signal.applicable else "; it has no part in this iteration"
            yield f"  {signal.label}: {signal.detail}{without}"
            if signal.advice and signal.applicable:
                yield f"    to let it vote: {signal.advice}"
    yield from ("", "What would have raised the score")
    for signal in explanation.raises:
        missing = "" if signal.present else ", if it voted in full"
        advice = f": {signal.advice}" if signal.advice and signal.present else ""
        yield f"  +{signal.could_add:.3f}  {signal.label}{missing}{advice}"
    if not explanation.raises:
        could_vote = any(s.applicable for s in silent)
        others = (
            "the signals that did not vote could only lower it"
            if could_vote
            else "every signal voted"
        )
        yield f"  nothing: every vote is full and {others}"
    words = list(claim_lines(one.facts))
    if one.signals.integrity or words:
        word = "observed" if meaning else "seen"
        yield from ("", f"What was claimed, and what was {word}")
        yield from (
            f"  {line}"
            for line in (*(_claim(claim, word) for claim in one.signals.integrity), *words)
        )
    if became and not meaning:
        yield from ("", "What became of it, which has no part in the score", f"  {became}")


def _claim(observation: IntegrityObservation, word: str) -> str:
    claimed, seen = observation.claimed, observation.observed
    head = f"{observation.role}, {observation.signal}:"
    saw = f"{word} {seen.sub_score:.2f} ({seen.detail})"
    if not claimed.present:
        return f"{head} nothing claimed ({claimed.detail}); {saw}"
    claim = f"{head} claimed {claimed.sub_score:.2f} ({claimed.detail})"
    if not seen.present:
        return f"{claim}; nothing to compare it with ({seen.detail})"
    return f"{claim}, {saw}: {'over-claimed' if observation.delta < 0 else f'claimed no more than was {word}'}"


_RESULTS: dict[ClaimResult | None, str] = {
    "confirmed": "the last run before it passed",
    "no run": "no run was observed before it",
    "last run failed": "the last run before it failed",
    None: "there is no verdict to compare it with",
}


def claim_lines(facts: IterationFacts) -> Iterator[str]:
    """Yield what the agent said of its tests; nothing where no line of its own is found."""
    observed = facts.observed
    if observed and observed.method and not observed.checkpoint_tokens:
        for claim in observed.claims:
            yield f"in words, that tests pass, at {claim.where}: {_RESULTS[claim.result]}"
        if not observed.claims:
            yield "in words: no claims found in the last message before the commit, nor in the one that reports it"


_METHODS: dict[Method, str] = {
    "checkpoint": "by checkpoint: its commit names a checkpoint that lists its session",
    "shared": "with an earlier iteration: no edit is in the lines between the two commits",
    "commit": "by commit: a session made the commit",
    "session": "by session: the entry names it",
    "time": "by time: one session alone has lines that are left in the window",
}
_MOST_LISTED = 5


def chain_lines(facts: IterationFacts, kept: OwnLines | None) -> Iterator[str]:
    """Yield the chain in words, of lines now or as ``kept`` when the sidecar was written; nothing without either."""
    observed, landing, was = facts.observed, facts.landing, list[str]()
    if kept and kept.method:
        was = [
            f"when the sidecar was written, {_named('session', kept.sessions)}, found by {kept.method}"
        ]
    if observed is None:
        yield from was
        return
    if landing.sha:
        fate = ""
        if landing.reverted_by:
            fate = f", taken back by {short(landing.reverted_by)}"
        elif landing.landed and landing.commit and landing.commit != landing.sha:
            fate = f", on the trunk as {short(landing.commit)}"
        names = (
            f", names {_named('checkpoint', observed.checkpoints)}" if observed.checkpoints else ""
        )
        yield f"commit {short(landing.sha)}{fate}{names}"
    elif landing.field:
        yield f"commit {cut(landing.field, _LONGEST_NAME)}, which is not here"
    if facts.counted_for is not None:
        yield f"the commit counts for iteration {facts.counted_for}, which names it too"
    if observed.method is None:
        yield f"no line of a transcript: {observed.problem or 'no session found for this iteration'}"
        yield from was
        return
    if observed.checkpoint_tokens:
        yield f"{observed.problem or 'no transcript is here'}; the tokens are totals that its checkpoint states"
    else:
        yield f"lines found {_METHODS[observed.method]}"
    if observed.problem and not observed.checkpoint_tokens:
        yield f"but: {observed.problem}"
    if observed.shared_with is not None:
        yield f"shared with iteration {observed.shared_with}, for which the tokens of that part count"
    yield _named("session", observed.sessions)
    if observed.also_active:
        yield f"also active, and not counted here: {_named('session', observed.also_active)}"
    for found in observed.lines[:_MOST_LISTED]:
        last = f" to {found.last}" if found.total > 1 else ""
        yield f"{counted(found.total, 'line')}, {found.path}:{found.first}{last}"
    if more := observed.lines[_MOST_LISTED:]:
        yield f"and {sum(found.total for found in more)} lines in {counted(len(more), 'more transcript')}"
    if observed.elsewhere and observed.shared_with is None:
        yield f"the tokens and turns of {observed.elsewhere} of these lines count for another unit of work"
    yield from (f"{what} at {path}:{line}" for what, path, line, _ in observed.seen)
    work, parts = observed.work, []
    if work.edits:
        most = f", {work.most} of one" if work.files > 1 and work.most > 1 else ""
        parts.append(f"{counted(work.edits, 'edit')} of {counted(work.files, 'file')}{most}")
    if work.agents:
        missing = f", what {work.missing} of these did is not counted here" if work.missing else ""
        parts.append(f"{counted(work.agents, 'sub-agent')} started{missing}")
    if reviews := observed.tests.reviewing:
        parts.append(
            f"{counted(reviews, 'test run')} of sub-agents that edited no code, without a vote"
        )
    if work.compactions:
        parts.append(f"context compacted {counted(work.compactions, 'time')}")
    if parts:
        yield "; ".join(parts)
    ended = facts.transcripts.ended if facts.transcripts else None
    made = (
        work.edits
        or work.agents
        or observed.by_agents
        or any(seen.kind == "commit" for seen in observed.seen)
    )
    if (
        facts.window
        and ended
        and not made
        and (minutes := (facts.window.end - ended) // (60 * NS)) > 0
    ):
        yield f"no edit tool was used in these lines, which end {counted(minutes, 'minute')} before the commit"
    if observed.by_agents is not None:
        yield f"agents wrote at least {int(observed.by_agents * 100)} % of the lines that its commit adds"


def _named(what: str, names: Sequence[str]) -> str:
    listed = some_of([cut(name, _LONGEST_NAME) for name in names], _MOST_LISTED)
    return f"{what}{'' if len(names) == 1 else 's'} {listed or 'unknown'}"
