"""``da-score iteration N``: the breakdown of one iteration."""

from pathlib import Path
from typing import Any

import click

from scoring.cli.app import SCORING_OPTIONS, shared_options
from scoring.cli.completion import complete_iterations
from scoring.cli.output import on_terminal, warn, write, write_json
from scoring.errors import NotFoundError
from scoring.evidence.deliberations import deliberation_file
from scoring.evidence.hooks import HookOutcome, hook_facts
from scoring.log.settings import resolve_settings
from scoring.sidecars.scores import PersistedScore, iteration_score_path, read_iteration_score
from scoring.signals.values import Deliberation


@click.command(epilog="Example:  da-score iteration 42 --recompute")
@click.argument("iteration", type=int, shell_complete=complete_iterations)
@shared_options(*SCORING_OPTIONS)
@click.option("--recompute", is_flag=True, help="Score the iteration anew, write its sidecar, and show it.")
def command(iteration: int, options: dict[str, Any], recompute: bool) -> None:
    """Show how the score of one iteration came about.

    Reads the iteration's sidecar. Where there is none, or with --recompute, scores the iteration first.
    """
    settings = resolve_settings(options)
    log_dir = settings.iter_log_dir
    scored_now = None
    if not recompute:
        try:
            score = read_iteration_score(log_dir, iteration)
            if options["rubric"]:
                _warn_of_another_rubric(score, settings.rubric)
        except NotFoundError:
            recompute = True
    if recompute:
        from rubric import find_rubric
        from scoring.cli.reading import options as evidence_options
        from scoring.evidence.rules import rules_of
        from scoring.score import examine_iteration
        from scoring.sidecars.loss import loss_on_disk, loss_warning
        from scoring.sidecars.provenance import write_score

        rubric = find_rubric(settings.rubric)
        how = evidence_options(settings, rules_of(rubric))
        scored_now = examine_iteration(
            log_dir, settings.repo_dir, iteration, *settings.transcript_dirs, rubric=rubric, observe=True, **how
        )
        score = scored_now.persisted
        if lost := loss_on_disk(log_dir, score, scored_now.facts, scored_now.provenance):
            warn(loss_warning(iteration, lost))
        write_score(log_dir, score, scored_now.provenance)
    deliberation = scored_now.signals.deliberation if scored_now else deliberation_of(log_dir, iteration)
    if settings.json:
        from scoring.cli.payloads import score_payload, scored_now_payload

        write_json(scored_now_payload(scored_now) if scored_now else score_payload(score, deliberation))
        return
    hooks, source = hooks_behind(score, log_dir), iteration_score_path(log_dir, iteration)
    if on_terminal():
        from scoring.cli.screen import show_iteration

        show_iteration(score, hooks, source, scored_now.signals.objective if scored_now else None, deliberation)
    else:
        from scoring.cli.tables import iteration_text

        write(iteration_text(score, hooks, source, deliberation))


def hooks_behind(score: PersistedScore, log_dir: Path) -> list[HookOutcome]:
    """Return the hook records behind a score whose hook signal is present."""
    from scoring.cli.tables import sorted_hooks

    if not any(row.signal == "hook_outcomes" and row.present for row in score.breakdown):
        return []
    found = hook_facts(log_dir, score.iteration)
    if found.failed:
        warn(f"the hook outcomes of iteration {score.iteration} cannot be shown: {found.problem}")
    return sorted_hooks(found.records or ())


def deliberation_of(log_dir: Path, iteration: int) -> Deliberation | None:
    """Return what the meter says of an iteration's DR transcript; None when there is none."""
    if deliberation_file(log_dir, iteration) is None:  # most logs have none, and load no signal to show a sidecar
        return None
    from scoring.evidence.deliberations import deliberation_facts
    from scoring.signals.diminishing_returns import deliberation_shown

    return deliberation_shown(deliberation_facts(log_dir, iteration), iteration)


def _warn_of_another_rubric(score: PersistedScore, wanted: str) -> None:
    """Say that a sidecar is not of the rubric that was asked for.

    Raises:
        RubricError: there is no such rubric.
    """
    from rubric import find_rubric

    version = find_rubric(wanted).version
    if version != score.rubric_version:
        warn(f"this sidecar is of rubric {score.rubric_version}; --recompute scores it under {version}")
