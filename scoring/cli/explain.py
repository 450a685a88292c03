"""``da-score explain ITERATION``: one score in plain words."""

import click

from scoring.cli.completion import complete_iterations
from scoring.cli.iteration_names import iteration_named
from scoring.cli.options import OUTCOME_OPTIONS, SCORING_OPTIONS, settings_options
from scoring.cli.output import on_terminal, pipe_shows_everything, reply
from scoring.cli.reading import exit_if_broken, log_view, meaning_of
from scoring.examine import ExaminedIteration, LogView, subject_of
from scoring.log.load import entry_places, no_such_entry
from scoring.log.selection import Selection
from scoring.log.settings import Settings
from scoring.sidecars.provenance import read_provenance
from scoring.views.explain import Explanation, explain
from scoring.views.explain_text import explanation_text


@click.command(epilog="Example:  da-score explain 3")
@click.argument("iteration", metavar="ITERATION", shell_complete=complete_iterations)
@settings_options(*SCORING_OPTIONS, *OUTCOME_OPTIONS)
@click.option(
    "--recompute",
    is_flag=True,
    help="Explain the score that the evidence gives now, not that of the sidecar.",
)
def command(iteration: str, settings: Settings, recompute: bool) -> None:
    """Explain in plain words why an iteration has its score.

    ITERATION is a number, last, a SHA of at least 7 digits, HEAD~2, a branch, or a session (its
    last iteration). Says what the score is made of and where each part was read, what would have
    raised the score, and how claims compare with what was observed. Explains the score of the
    sidecar, if there is one. Writes nothing.
    """
    number = iteration_named(iteration, settings)
    view = log_view(settings, recompute, Selection(only=(number,)), outcomes=True)

    for examined in view.examine():
        _print_explanation(examined, view, settings)
        return

    exit_if_broken(view.iter_log_dir, number)
    raise no_such_entry(view.iter_log_dir, number)


def _print_explanation(examined: ExaminedIteration, view: LogView, settings: Settings) -> None:
    version = examined.score.rubric_version
    draws = on_terminal()

    meaning = None
    if draws or pipe_shows_everything(version, settings.rubric):
        meaning = meaning_of(settings, version, [(examined.score, examined.facts)])

    explanation = _explanation_of(examined, view)
    text = explanation_text(explanation, draws, meaning)
    reply(settings.json, explanation.as_dict(), text)


def _explanation_of(examined: ExaminedIteration, view: LogView) -> Explanation:
    iteration = examined.record.iteration
    provenance = read_provenance(view.iter_log_dir, iteration)
    return explain(
        examined,
        entry_places(view.iter_log_dir, iteration),
        provenance.own if provenance else None,
        view.outcomes.horizon_days if view.outcomes else 0,
        subject_of(view.repo_dir, examined.facts),
    )
