"""``da-score cost``: what work cost, when, and what became of it."""

from datetime import datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import click

from scoring.errors import OptionError
from scoring.evidence.git.agents import is_by, people_named
from scoring.log.selection import parse_period, period_between
from scoring.log.settings import Settings
from scoring.outcomes.everything import used_by_sessions
from scoring.outcomes.prices import stored_prices
from scoring.views.chosen_work import none_chosen
from scoring.views.cost import (
    GROUPINGS,
    Costs,
    cost_sum,
    cost_sums,
    dearest,
    expenses,
)
from scoring.views.cost_days import CostDays
from scoring.views.cost_pages import cost_page, machine_cost_page
from scoring.views.gone_folders import left_out_notes, left_out_sessions
from scoring.views.machine_cost import UseSum, machine_cost
from scoring.views.work_rows import day_of, without_cost, work_rows

from .options import (
    EVIDENCE_OPTIONS,
    FROM_DAYS,
    OUTCOME_OPTIONS,
    author_options,
    choice,
    flag,
    settings_command,
    valued,
)
from .output import progress, reply
from .reading import observing_sources
from .work_reading import notes_on_sources, read_ledger


@settings_command(*EVIDENCE_OPTIONS, *OUTCOME_OPTIONS)
@click.argument("days", nargs=-1, metavar="[DAYS]")
@valued("--since", "DAYS", f"Only {FROM_DAYS}")
@valued("--until", "DAYS", "Only up to the last of these days.")
@choice("--by", tuple(GROUPINGS), "What has a row of its own.", default="day")
@author_options
@flag("--everything", "All sessions of this machine, by repository, harness and model.")
@valued("--timezone", "ZONE", "Whose days count, such as Europe/Paris.")
def command(
    settings: Settings,
    days: tuple[str, ...],
    since: str | None,
    until: str | None,
    by: str,
    mine: bool,
    authors: tuple[str, ...],
    everything: bool,
    timezone: str | None,
) -> None:
    """Say what work cost, what became of what was paid for, and which work was dearest.

    DAYS are a day (2026-06-03), a month (2026-06), the newest days (30d), today, yesterday, or
    this or last week or month; all days by default. Costs are those of da-score work. Writes
    nothing.

    Example:  da-score cost last week --by model
    """
    zone = _zone(timezone)
    today = datetime.now(zone).date()
    named_days = " ".join(days)
    if named_days and (since, until) != (None, None):
        raise OptionError("give DAYS, or --since and --until")
    period = period_between(since, until, today)
    if named_days:
        period = parse_period(named_days, today)

    wanted = CostDays(period, zone)
    if everything:
        if mine or authors:
            raise OptionError(
                "--everything sums sessions, which have no author: leave out --mine and --author"
            )
        with progress("Reading transcripts and git"):
            used = used_by_sessions(observing_sources(settings))
        with stored_prices(settings.store_dir):
            of_machine = machine_cost(used, wanted)
        sums = {
            kind: list(map(UseSum._asdict, uses)) for kind, uses in of_machine.items()
        }
        value = wanted.as_dict() | {"everything": sums}
        reply(settings, value, machine_cost_page(of_machine, wanted))
        return

    book = read_ledger(settings)
    people = people_named(authors, book.caller if mine else None)
    units = [unit for unit in book.units if is_by(people, unit.author)]
    rows = work_rows(units, settings.store_dir)
    with stored_prices(settings.store_dir):
        paid = expenses(rows, wanted)
        left_out = left_out_sessions(book.of_gone_folders, wanted)
    in_period = rows
    if period:
        in_period = [row for row in rows if day_of(row.unit.ended, zone) in period]
    notes = left_out_notes(left_out)
    notes += notes_on_sources(settings, book)
    groups = cost_sums(paid, by)
    if not groups and not in_period:
        why = none_chosen(book.units, people)
        if why:
            notes.append(f"{why[0].upper()}{why[1:]}.")

    costs = Costs(
        days=wanted,
        grouping=by,
        total=cost_sum("all", paid),
        groups=groups,
        dearest=dearest(paid),
        without_cost=without_cost(in_period),
        left_out=left_out,
        notes=notes,
    )
    reply(settings, costs.as_dict(), cost_page(costs))


def _zone(name: str | None) -> ZoneInfo | None:
    """Return the time zone with a name. For None it is None, which means the local one.

    Raises:
        OptionError: the name is not that of a time zone.
    """
    if name is None:
        return None
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise OptionError(
            f"--timezone {name!r} is not a time zone; write it as Europe/Paris or UTC"
        ) from None
