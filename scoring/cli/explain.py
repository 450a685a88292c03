"""``da-score explain N``: one score in plain words."""

import click

from scoring.cli.app import OUTCOME_OPTIONS, SCORING_OPTIONS, settings_options
from scoring.cli.completion import complete_iterations
from scoring.cli.output import on_terminal, reply
from scoring.cli.reading import log_view, stop_if_left_out
from scoring.log.find import Selection
from scoring.log.load import entry_places, no_such_entry
from scoring.log.settings import Settings
from scoring.sidecars.provenance import read_provenance
from scoring.views.explain import explain, explanation_text


@click.command(epilog="Example:  da-score explain 3")
@click.argument("iteration", type=int, shell_complete=complete_iterations)
@settings_options(*SCORING_OPTIONS, *OUTCOME_OPTIONS)
@click.option("--recompute", is_flag=True, help="Explain the score that the evidence gives now, not the sidecar's.")
def command(iteration: int, settings: Settings, recompute: bool) -> None:
    """Say in plain words why an iteration scored what it did.

    Which signals voted and where each was read from, what would have raised the score, and what was claimed against
    what was observed. Explains the sidecar's score where there is one. Writes nothing.
    """
    view = log_view(settings, recompute, Selection(only=(iteration,)), outcomes=True)
    log_dir = view.iter_log_dir
    for one in view.examine():
        kept = read_provenance(log_dir, iteration)
        horizon = view.outcomes.horizon_days if view.outcomes else 0
        explanation = explain(one, entry_places(log_dir, iteration), kept.own if kept else None, horizon)
        reply(settings.json, explanation.as_dict(), explanation_text(explanation, bounds=on_terminal()))
        return
    stop_if_left_out(log_dir, iteration)
    raise no_such_entry(log_dir, iteration)
