"""``da-score explain N``: one score in plain words."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from scoring.cli.app import SCORING_OPTIONS, settings_options
from scoring.cli.completion import complete_iterations
from scoring.cli.output import write, write_json
from scoring.log.settings import Settings
from scoring.text import cut, printable

if TYPE_CHECKING:  # completion and help explain nothing
    from scoring.signals.values import IntegrityObservation
    from scoring.views.explain import ExplainedSignal, Explanation

_LONGEST_NAME = 200


@click.command(epilog="Example:  da-score explain 42")
@click.argument("iteration", type=int, shell_complete=complete_iterations)
@settings_options(*SCORING_OPTIONS)
@click.option("--recompute", is_flag=True, help="Explain the score that the evidence gives now, not the sidecar's.")
def command(iteration: int, settings: Settings, recompute: bool) -> None:
    """Say in plain words why an iteration scored what it did.

    Which signals voted and where each was read from, what would have raised the score, and what was claimed against
    what was seen. Explains the sidecar's score where there is one. Writes nothing.
    """
    from dataclasses import replace

    from scoring.cli.reading import log_view
    from scoring.log.load import entry_places, no_such_entry
    from scoring.views.explain import explain

    view = replace(log_view(settings, recompute), only=iteration)
    log_dir = view.iter_log_dir
    for one in view.examine():
        explanation = explain(one, entry_places(log_dir, iteration))
        if settings.json:
            write_json(explanation.as_dict())
        else:
            write(_text(explanation))
        return
    raise no_such_entry(log_dir, iteration)


def _text(explanation: "Explanation") -> str:
    """Return why an iteration scored what it did, in paragraphs."""
    return "".join(printable(line) + "\n" for line in _lines(explanation))


def _lines(explanation: "Explanation") -> Iterator[str]:
    from scoring.signals.windows import window_text

    one, score = explanation.one, explanation.one.score
    task = f" ({cut(one.record.task_id, _LONGEST_NAME)})" if one.record.task_id else ""
    if score.scored:
        yield f"Iteration {score.iteration}{task} scored {score.value:.3f}, which is {score.band}."
    else:
        yield f"Iteration {score.iteration}{task} has no score: no signal is present."
    provenance = "the score of its sidecar" if one.origin == "sidecar" else "scored now, nothing written"
    yield f"Rubric {score.rubric_version}, {provenance}; it rests on {score.coverage}."
    if one.differs:
        now = f"{one.computed.value:.3f}" if one.computed.scored else "no score"
        yield f"The evidence gives {now} today; 'da-score iteration {score.iteration} --recompute' takes that over."
    if explanation.entry:
        yield f"Entry: {explanation.entry}"
    if one.facts.window:
        yield f"Time: {window_text(one.facts.window)}"
    voted = [s for s in explanation.signals if s.present]
    if voted:
        yield ""
        yield "What voted"
        for signal in sorted(voted, key=lambda s: -s.effective_weight):
            yield from _voted(signal)
    silent = [s for s in explanation.signals if not s.present]
    if silent:
        yield ""
        yield "What did not vote"
        for signal in silent:
            yield f"  {signal.label}: {signal.detail}"
            if signal.advice:
                yield f"    to let it vote: {signal.advice}"
    yield ""
    yield "What would have raised the score"
    for signal in explanation.raises:
        missing = "" if signal.present else ", if it voted in full"
        advice = f": {signal.advice}" if signal.advice and signal.present else ""
        yield f"  +{signal.could_add:.3f}  {signal.label}{missing}{advice}"
    if not explanation.raises:
        yield "  nothing: every vote is full and every signal voted"
    if one.signals.integrity:
        yield ""
        yield "What was claimed, and what was seen"
        for observation in one.signals.integrity:
            yield f"  {_claim(observation)}"


def _voted(signal: "ExplainedSignal") -> Iterator[str]:
    cost = f", which cost {signal.cost:.3f}" if signal.cost and signal.cost >= 0.0005 else ""
    yield (
        f"  {signal.label}: {signal.sub_score:.3f} of 1, with {signal.effective_weight * 100:.1f} % of the vote, "
        f"gave {signal.contribution:.3f}{cost}"
    )
    yield f"    {signal.detail}"
    for source in signal.sources:
        yield f"    from {source}"


def _claim(observation: "IntegrityObservation") -> str:
    claimed, seen = observation.claimed, observation.observed
    head = f"{observation.role}, {observation.signal}:"
    if not claimed.present:
        return f"{head} nothing claimed ({claimed.detail}); seen {seen.sub_score:.2f} ({seen.detail})"
    if not seen.present:
        return f"{head} claimed {claimed.sub_score:.2f} ({claimed.detail}); nothing to compare it with ({seen.detail})"
    verdict = "over-claimed" if observation.delta < 0 else "claimed no more than was seen"
    return (
        f"{head} claimed {claimed.sub_score:.2f} ({claimed.detail}), seen {seen.sub_score:.2f} ({seen.detail}): "
        f"{verdict}"
    )
