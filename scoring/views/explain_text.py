"""An explained score in words."""

from collections.abc import Iterable, Iterator, Mapping

from scoring.sidecars.meaning import Meaning
from scoring.signals.signal import window_text
from scoring.signals.values import IntegrityObservation
from scoring.text import cut
from scoring.views.chain_text import LONGEST_NAME, chain_lines, claim_lines
from scoring.views.explain import WORTH_SAYING, ExplainedSignal, Explanation
from scoring.views.landing_text import named_commit
from scoring.views.outcome_pages import outcome_text
from scoring.views.session_pages import score_text
from scoring.views.spending_text import spending_lines
from scoring.views.table import Page

_ROLES: Mapping[str, str] = {
    "impl": "the agent that did the work",
    "verifier": "the verifier",
    "review": "the reviewer",
}
"""What people read for the roles of an entry."""


def explanation_page(explanation: Explanation, landing: str, meaning: Meaning) -> Page:
    """Yield what became of an iteration's work, and why it has its score.

    Args:
        explanation: the explained score.
        landing: a line that says whether the work landed.
        meaning: what scores are worth here.
    """
    examined = explanation.examined
    yield from _head(explanation, landing, meaning)
    yield from _about_evidence(explanation)

    yield from _listed("What it took", spending_lines(examined.spending))
    yield from _listed("Whose work it is", chain_lines(examined.facts, explanation.kept))
    yield from _votes(explanation)
    yield from _silent_signals(explanation)
    yield from _what_would_have_raised(explanation)
    yield from _claims(explanation)


def _listed(title: str, texts: Iterable[str]) -> Iterator[str]:
    """Yield texts under a title, with an empty line before it, or nothing without texts."""
    lines = [f"  {text}" for text in texts]
    if lines:
        yield from ("", title, *lines)


def _head(explanation: Explanation, landing: str, meaning: Meaning) -> Iterator[str]:
    """Yield what became of the work, and then the score with what it is worth."""
    examined = explanation.examined
    score = examined.score

    record = examined.record
    task = f" ({cut(record.task_id, LONGEST_NAME)})" if record.task_id else ""
    yield f"Iteration {record.iteration}{task}"
    commit = named_commit(examined.facts.landing.sha, explanation.subject)
    if commit:
        yield commit
    yield landing
    became = outcome_text(examined.outcome, examined.facts.landing, explanation.horizon_days)
    if became:
        yield became
    yield f"{score_text(meaning, score, score.bounds)}."
    origin = "was computed now, and nothing was written"
    if examined.origin == "sidecar":
        origin = "comes from the sidecar"
    signals = f"{score.coverage.present} of {score.coverage.total} signals have evidence"
    weight = f"{score.coverage.weight * 100:.1f} % of the rubric's weight"
    yield f"The score {origin}. {signals}, with {weight}."


def _about_evidence(explanation: Explanation) -> Iterator[str]:
    """Yield how far the score can be trusted today, and where its evidence is."""
    examined = explanation.examined
    if examined.state.name != "current":
        yield f"This score is {examined.state}."

    if examined.differs:
        computed = examined.computed
        value = f"{computed.value:.3f}" if computed.scored else "no score"
        now = f"The evidence gives {value} today"
        if examined.state.lost:
            now = f"Without the lost evidence it would be {value}"
        command = f"da-score iteration {examined.record.iteration} --recompute"
        yield f"{now}; '{command}' writes that score."

    if explanation.entry:
        yield f"Entry: {explanation.entry}"
    if examined.facts.window and examined.facts.observed is None:
        yield f"Time: {window_text(examined.facts.window)}"


def _votes(explanation: Explanation) -> Iterator[str]:
    lines: list[str] = []
    for signal in explanation.voted:
        lines.append(_part_of_score(signal))
        fact = f"{signal.fact} · " if signal.fact else ""
        claimed = ", as claimed" if signal.source == "claimed" else ""
        lines.append(f"  {fact}{signal.detail}{claimed}")
        lines += [f"  from {source}" for source in signal.sources]
    return _listed("What the score is made of", lines)


def _part_of_score(signal: ExplainedSignal) -> str:
    share = f"{signal.effective_weight * 100:.1f} % of the score"
    adds = f"it adds {signal.contribution:.3f}"
    if signal.cost and signal.cost >= WORTH_SAYING:
        adds += f" and could have added {signal.effective_weight:.3f}"
    return f"{signal.label}: {signal.sub_score:.3f} of 1, times {share}: {adds}"


def _silent_signals(explanation: Explanation) -> Iterator[str]:
    lines = []
    for signal in explanation.silent:
        line = f"{signal.label}: {signal.detail}"
        if not signal.applicable:
            line += "; it does not apply to this iteration"
        lines.append(line)
        if signal.advice and signal.applicable:
            lines.append(f"  to change that: {signal.advice}")
    return _listed("What has no evidence, and is left out of the score", lines)


def _what_would_have_raised(explanation: Explanation) -> Iterator[str]:
    lines = []
    for signal in explanation.raises:
        how = signal.advice if signal.present else "at most, if there were evidence"
        if how:
            how = f": {how}"
        lines.append(f"+{signal.could_add:.3f}  {signal.label}{how}")

    if not lines:
        others = "none is without evidence"
        if any(signal.applicable for signal in explanation.silent):
            others = "the others could only lower the score"
        lines = [f"nothing: every signal with evidence is at 1, and {others}"]
    return _listed("What would have raised the score", lines)


def _claims(explanation: Explanation) -> Iterator[str]:
    integrity = explanation.examined.signals.integrity
    lines = [_compared_claim(pair) for pair in integrity]
    lines += claim_lines(explanation.examined.facts)
    return _listed("What was claimed, and what was observed", lines)


def _compared_claim(pair: IntegrityObservation) -> str:
    claimed = pair.claimed
    observed = pair.observed
    head = f"{pair.signal}: {_ROLES.get(pair.role, pair.role)}"
    observation = f"observed {observed.sub_score:.2f} ({observed.detail})"
    if not claimed.present:
        return f"{head} claimed nothing; {observation}"

    claim = f"{head} claimed {claimed.sub_score:.2f} ({claimed.detail})"
    if not observed.present:
        return f"{claim}; nothing to compare it with ({observed.detail})"
    if pair.delta < 0:
        return f"{claim}, {observation}: over-claimed"
    return f"{claim}, {observation}: claimed no more than was observed"
