"""``da-score work``: what became of all the work, and what it cost."""

from collections.abc import Callable, Collection
from datetime import date, timedelta
from fnmatch import fnmatchcase

import click

from scoring.cli.options import EVIDENCE_OPTIONS, OUTCOME_OPTIONS, settings_options
from scoring.cli.output import reply
from scoring.cli.reading import outcome_rules, sources, warn_of_broken_entry
from scoring.evidence.rules import ATTRIBUTED
from scoring.log.load import load_iteration_log
from scoring.log.selection import parse_day
from scoring.log.settings import Settings, cache_dir_of
from scoring.outcomes.ledger import ledger
from scoring.outcomes.unit import Unit
from scoring.views.look_at import look_at
from scoring.views.work_pages import work_page
from scoring.views.work_rows import is_since, work_by, work_rows, work_summary


@click.command(epilog="Example:  da-score work --since 2026-05-01 --until 2026-05-31")
@settings_options(*EVIDENCE_OPTIONS, *OUTCOME_OPTIONS)
@click.option(
    "--since", metavar="DATE", help="Only work that ended on this day (YYYY-MM-DD) or later."
)
@click.option("--until", metavar="DATE", help="Only work that ended on this day or earlier.")
@click.option("--task", metavar="ID", help="Only work on this task; * and ? match any characters.")
@click.option("--mine", is_flag=True, help="Only your work, by your name and address in git.")
@click.option(
    "--author",
    "authors",
    multiple=True,
    metavar="NAME|EMAIL",
    help="Only the work of this author.",
)
def command(
    settings: Settings,
    since: str | None,
    until: str | None,
    task: str | None,
    mine: bool,
    authors: tuple[str, ...],
) -> None:
    """Say what became of all the work, what it cost, and what to look at.

    Every line of every session, and so every response that was billed, belongs to one unit of
    work: a commit, the rest of a session after its last commit, or talk. Writes nothing.
    """
    first_day = parse_day(since) if since is not None else None
    last_day = parse_day(until) if until is not None else None

    rules = outcome_rules(settings)
    records = load_iteration_log(settings.iter_log_dir, broken=warn_of_broken_entry)
    book = ledger(records, settings.iter_log_dir, sources(settings, ATTRIBUTED), rules)

    names = None
    if mine or authors:
        names = {name.casefold() for name in authors if name}
    if names is not None and mine:
        names |= {name.casefold() for name in book.caller if name}

    is_wanted = _unit_filter(first_day, last_day, task, names)
    rows = work_rows(filter(is_wanted, book.units), cache_dir_of(settings))

    value = {
        "units": [row.values for row in rows],
        "summary": work_summary(rows),
        "by": work_by(rows),
        "look_at": look_at(rows),
    }
    reply(settings.json, value, work_page(rows, rules.horizon_days))


def _unit_filter(
    first_day: date | None,
    last_day: date | None,
    task: str | None,
    names: Collection[str] | None,
) -> Callable[[Unit], bool]:
    """Return what tells whether a unit is wanted.

    Args:
        first_day: the first day on which the work may have ended.
        last_day: the last such day.
        task: a pattern for the ids of tasks.
        names: case-folded names and addresses of authors.

    None means that any will do.
    """

    def is_wanted(unit: Unit) -> bool:
        if first_day is not None and not is_since(unit, first_day):
            return False
        if last_day is not None and is_since(unit, last_day + timedelta(days=1)):
            return False
        if task is not None and not any(fnmatchcase(entry.task, task) for entry in unit.entries):
            return False
        if names is not None:
            return any(name.casefold() in names for name in unit.author if name)
        return True

    return is_wanted
