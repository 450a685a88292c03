"""``da-score work``: what became of all of the work, and what it cost."""

from datetime import timedelta
from fnmatch import fnmatchcase

import click

from scoring.cli.app import EVIDENCE_OPTIONS, settings_options
from scoring.cli.output import reply
from scoring.cli.reading import broken_entries, outcome_rules, sources
from scoring.evidence.rules import ATTRIBUTED
from scoring.log.load import load_iteration_log
from scoring.log.selection import parse_day
from scoring.log.settings import Settings, cache_dir_of
from scoring.outcomes.ledger import Unit, ledger
from scoring.views.look_at import look_at
from scoring.views.work_pages import work_page
from scoring.views.work_rows import is_since, work_by, work_rows, work_summary


@click.command(epilog="Example:  da-score work --since 2026-05-01 --until 2026-05-31")
@settings_options(*EVIDENCE_OPTIONS, "code-globs", "fix-words", "horizon")
@click.option(
    "--since", metavar="DATE", help="Only work that ended on this day (YYYY-MM-DD) or later."
)
@click.option("--until", metavar="DATE", help="Only work that ended on this day or earlier.")
@click.option(
    "--task", metavar="ID", help="Only work on this task; * and ? stand for any characters."
)
@click.option(
    "--mine", is_flag=True, help="Only your own work, by the name and address that git has of you."
)
@click.option(
    "--author", "authors", multiple=True, metavar="NAME|EMAIL", help="Only the work of an author."
)
def command(
    settings: Settings,
    since: str | None,
    until: str | None,
    task: str | None,
    mine: bool,
    authors: tuple[str, ...],
) -> None:
    """Say what became of all of the work, what it cost, and what to look at.

    Every line of every session, and so every response that was billed, belongs to one unit: a commit, the rest of a
    session behind its last commit, or talk. Writes nothing.
    """
    first, last = (None if text is None else parse_day(text) for text in (since, until))
    rules = outcome_rules(settings)
    records = load_iteration_log(settings.iter_log_dir, broken=broken_entries)
    found = ledger(records, settings.iter_log_dir, sources(settings, ATTRIBUTED), rules)
    names = {name.casefold() for name in (*authors, *(found.own if mine else ())) if name}

    def is_wanted(unit: Unit) -> bool:
        tasks = {one.task for one in unit.entries}
        return (
            (first is None or is_since(unit, first))
            and (last is None or not is_since(unit, last + timedelta(days=1)))
            and (task is None or any(fnmatchcase(name, task) for name in tasks))
            and (
                not (mine or authors)
                or any(name.casefold() in names for name in unit.author if name)
            )
        )

    rows = work_rows(filter(is_wanted, found.units), cache_dir_of(settings))
    units = [row.values for row in rows]
    payload = {
        "units": units,
        "summary": work_summary(rows),
        "by": work_by(rows),
        "look_at": look_at(rows),
    }
    reply(settings.json, payload, work_page(rows, rules.horizon_days))
