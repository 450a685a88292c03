"""``da-score validate``: whether the scores mean anything here."""

import click
from msgspec.structs import replace

from rubric import find_rubric
from scoring.frozen import PlainData, Texts
from scoring.log.settings import Settings
from scoring.outcomes.cases import OUTCOMES, OutcomeName, log_cases
from scoring.outcomes.outcome_rules import outcome_rules
from scoring.outcomes.validity import gain_over, validity
from scoring.sidecars.meaning import keep_meaning
from scoring.views.validity_pages import gain_lines, validity_page

from .options import (
    OUTCOME_OPTIONS,
    SCORING_OPTIONS,
    settings_command,
    valued,
)
from .output import progress, reply
from .reading import report_broken_entries, sources_by_rules
from .work_reading import meaning_key

_ALL_BUT_RUBRIC = [name for name in SCORING_OPTIONS if name != "rubric"]


@settings_command(*_ALL_BUT_RUBRIC, *OUTCOME_OPTIONS)
@valued(
    "--rubric",
    "VERSION|FILE",
    "A rubric to measure; give it again to compare several.  [default: the one that scores]",
    key="rubrics",
    multiple=True,
)
@valued(
    "--outcome",
    "OUTCOME",
    f"What the score should predict: {', '.join(OUTCOMES)}.",
    type=click.Choice(OUTCOMES),
    default="defective",
)
def command(settings: Settings, rubrics: Texts, outcome: OutcomeName) -> None:
    """Measure whether the scores predict what becomes of the work.

    Says, in numbers and in words, how likely it is that sound work scores higher than defective
    work, with a 95 % interval by session. Says the same of each signal, of everything else that
    was observed, and of counting lines. Computes the scores from the evidence, whatever sidecars
    hold; run and explain show the latest result. Writes nothing to the log.

    Example:  da-score validate --rubric 2.2.0 --rubric 3.1.0
    """
    measured_rubrics = [find_rubric(name) for name in rubrics or (settings.rubric,)]
    settings = replace(settings, rubric=measured_rubrics[0].version)
    rules = outcome_rules(settings)

    values: list[PlainData] = []
    page = []

    with progress("Scoring the log, and looking at what became of the work"):
        measured = log_cases(
            measured_rubrics,
            settings.iter_log_dir,
            sources_by_rules(measured_rubrics, settings),
            rules,
            outcome,
            report_broken_entries,
        )

        for log in measured:
            version = log.rubric.version
            result = validity(log.cases, outcome, version, rules.horizon_days)
            value = result.as_dict()
            gain: PlainData = {}
            if values:
                gain = gain_over(measured[0].cases, log.cases, outcome)
                value["against"] = {"rubric": settings.rubric, **gain}
            if outcome == "defective":
                about = meaning_key(settings, version)
                keep_meaning(settings.store_dir, about, log.marks, result.verdict)

            values.append(value)
            page += [*validity_page(result), *gain_lines(settings.rubric, gain)]

    reply(settings, values[0] if len(values) == 1 else values, page)
