"""``da-score log signals``: the signals of every iteration, as JSON."""

from dataclasses import asdict

from scoring.frozen import PlainData
from scoring.log.selection import Selection
from scoring.log.settings import Settings
from scoring.score import score_log_under

from .options import SCORING_OPTIONS, selection_options, settings_command
from .output import progress, write_json
from .reading import report_broken_entries, rubric_of, sources_by_rules


@settings_command(*SCORING_OPTIONS)
@selection_options
def command(settings: Settings, selection: Selection) -> None:
    """Print the signals of every iteration as JSON.

    With them come integrity, the objective checks, and the deliberation, where there is one.

    Example:  da-score log signals --last 1
    """
    rubrics = [rubric_of(settings)]
    evidence = sources_by_rules(rubrics, settings)
    with progress("Scoring the log"):
        (log,) = score_log_under(rubrics, settings.iter_log_dir, evidence, observe=True)
    report_broken_entries(*log.broken)

    chosen = selection.numbers([iteration.record for iteration in log.iterations])
    rows = []
    for iteration in log.iterations:
        if iteration.record.iteration in chosen:
            row: PlainData = iteration.signals.as_dict()
            row["bounds"] = asdict(iteration.score.bounds)
            row["coverage"] = asdict(iteration.score.coverage)
            rows.append(row)
    write_json(rows)
