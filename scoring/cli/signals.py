"""``da-score signals``: the signals of every iteration, as JSON."""

from dataclasses import asdict

import click

from rubric import find_rubric
from scoring.cli.app import SCORING_OPTIONS, selection_options, settings_options
from scoring.cli.output import write_json
from scoring.cli.reading import broken_entries, sources_of_each
from scoring.log.selection import Selection
from scoring.log.settings import Settings
from scoring.score import score_log_under


@click.command(epilog="Example:  da-score signals --last 1")
@settings_options(*SCORING_OPTIONS)
@selection_options
def command(settings: Settings, selection: Selection) -> None:
    """Print every iteration's signals as JSON, with integrity, the objective checks and any DR transcript."""
    rubrics = [find_rubric(settings.rubric)]
    (scored,) = score_log_under(
        rubrics, settings.iter_log_dir, sources_of_each(rubrics, settings), observe=True
    )
    broken_entries(*scored.broken)
    wanted = selection.numbers([one.record for one in scored.iterations])
    chosen = [one for one in scored.iterations if one.record.iteration in wanted]
    sure = [
        {"bounds": asdict(one.score.bounds), "coverage": asdict(one.score.coverage)}
        for one in chosen
    ]
    write_json([one.signals.as_dict() | more for one, more in zip(chosen, sure, strict=True)])
