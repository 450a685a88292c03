"""``da-score outcomes``: what became of the work of each iteration."""

from scoring.evidence.rewards import rewards
from scoring.evidence.subjects import subjects_by_iteration
from scoring.frozen import PlainData
from scoring.log.settings import Settings
from scoring.outcomes.outcome_rules import outcome_rules
from scoring.views.outcome_pages import BecameRow, outcomes_page

from .options import (
    OUTCOME_OPTIONS,
    SCORING_OPTIONS,
    settings_command,
)
from .output import reply
from .work_reading import entries_of, read_ledger


@settings_command(*SCORING_OPTIONS, *OUTCOME_OPTIONS)
def command(settings: Settings) -> None:
    """Say what became of the work of each iteration within the horizon.

    Says how many lines of code it added, how many of these later commits of the trunk changed or
    removed, how many of them in a fix, and whether the work was undone. --json also says how many
    of the lines that the agent wrote landed. Outcomes never vote, and are the same under every
    rubric. Writes nothing.

    Example:  da-score outcomes --horizon 4w
    """
    rules = outcome_rules(settings)
    records = entries_of(settings)
    book = read_ledger(settings, records)

    units = book.by_iteration
    outcomes = {outcome.iteration: outcome for outcome in book.outcomes}
    works = [
        (record, outcomes[record.iteration].commit or record.commit)
        for record in records
    ]
    subjects = subjects_by_iteration(settings.repo_dir, works)

    rows = []
    for record in records:
        number = record.iteration
        rows.append(
            BecameRow(record, units[number], outcomes[number], subjects[number])
        )

    value: PlainData = {"horizon_days": rules.horizon_days}
    if settings.json:
        reward_by_iteration = rewards(records, settings.iter_log_dir, settings.repo_dir)
        value["outcomes"] = []
        for row in rows:
            of_unit = {
                "lines_written": row.unit.lines_written,
                "lines_landed": row.unit.lines_landed,
                "yield": row.unit.landed_share,
                "reward": reward_by_iteration.get(row.record.iteration),
                "subject": row.subject or None,
                "state": row.unit.state,
            }
            value["outcomes"].append(row.outcome.as_dict() | of_unit)
    reply(settings, value, outcomes_page(rows, rules.horizon_days))
