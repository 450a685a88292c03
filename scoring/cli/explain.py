"""``da-score explain N``: one score in plain words."""

import click

from scoring.cli.app import OUTCOME_OPTIONS, SCORING_OPTIONS, settings_options
from scoring.cli.completion import complete_iterations
from scoring.cli.output import full_text, on_terminal, reply
from scoring.cli.reading import iteration_named, log_view, meaning_of, stop_if_left_out
from scoring.examine import subject_of
from scoring.log.load import entry_places, no_such_entry
from scoring.log.selection import Selection
from scoring.log.settings import Settings
from scoring.sidecars.provenance import read_provenance
from scoring.views.explain import explain
from scoring.views.explain_text import explanation_text


@click.command(epilog="Example:  da-score explain 3")
@click.argument("iteration", metavar="ITERATION", shell_complete=complete_iterations)
@settings_options(*SCORING_OPTIONS, *OUTCOME_OPTIONS)
@click.option(
    "--recompute",
    is_flag=True,
    help="Explain the score that the evidence gives now, not the sidecar's.",
)
def command(iteration: str, settings: Settings, recompute: bool) -> None:
    """Say in plain words why an iteration scored what it did.

    ITERATION is a number, last, a SHA of at least 7 digits, HEAD~2, a branch, or a session (its last one).
    Says which signals voted and where each was read, what would have raised the score, and what was claimed against
    what was observed. Explains the sidecar's score where there is one. Writes nothing.
    """
    number = iteration_named(iteration, settings)
    view = log_view(settings, recompute, Selection(only=(number,)), outcomes=True)
    log_dir = view.iter_log_dir
    for one in view.examine():
        kept = read_provenance(log_dir, number)
        horizon = view.outcomes.horizon_days if view.outcomes else 0
        subject = subject_of(view.repo_dir, one.facts)
        explanation = explain(
            one, entry_places(log_dir, number), kept.own if kept else None, horizon, subject
        )
        drawn = on_terminal()
        version = one.score.rubric_version
        full = drawn or full_text(version, settings.rubric)
        meaning = meaning_of(settings, version, [(one.score, one.facts)]) if full else None
        reply(settings.json, explanation.as_dict(), explanation_text(explanation, drawn, meaning))
        return
    stop_if_left_out(log_dir, number)
    raise no_such_entry(log_dir, number)
