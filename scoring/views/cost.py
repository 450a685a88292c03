"""What work cost, by day, week, month, session, model, harness or author, and the dearest units.

The figures rest on the units of ``work``: ``docs/TABLES.md``, "Tokens and cost".
"""

import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date, tzinfo
from typing import NamedTuple, TypeAlias

from scoring.evidence.openable import openable
from scoring.evidence.transcripts.facts import QUARTER
from scoring.evidence.transcripts.streams import SessionKey
from scoring.frozen import PlainData
from scoring.grouping import lists_by_key
from scoring.log.selection import Period
from scoring.outcomes.everything import UsedBySession
from scoring.outcomes.spending import Charge, Spending, sum_of_known
from scoring.outcomes.unit import Unit
from scoring.text import counted, short, shortened

from .amounts import cost_text, percent, unpriced_lines
from .landing_text import STATE_WORDS
from .table import Line, Page, Table, numeric
from .work_rows import WorkRow, WorkRows, day_of

FATES = ("landed", "fixed", "taken_back", "nothing", "open", "talk")
"""What became of what was paid for.

``fixed`` landed and was fixed later, ``taken_back`` was reverted or taken back, ``nothing`` is work
that was lost, and ``open`` is open or unclear.
"""

HEADINGS = ("Landed", "Fixed", "Undone", "Lost", "Open", "Unclear", "Talk")
"""The headings of what :func:`shares_of` returns. Open and unclear work have one each."""

_FATE_OF_STATE = {
    "reverted": "taken_back",
    "taken_back": "taken_back",
    "lost": "nothing",
    "talk": "talk",
}
ALL_DAYS = "all days"
_MOST_DEAREST = 10
_MOST_GROUPS = 60


class CostDays(NamedTuple):
    """The days of which costs are wanted.

    Attributes:
        period: the days, in ``zone``; None for all.
        zone: the time zone of days; None for the local one.
    """

    period: Period | None = None
    zone: tzinfo | None = None

    def charges(self, spending: Spending) -> Iterator[tuple[Charge, date | None]]:
        """Yield the charges of these days, each with its day.

        Responses without a time are of the day on which the work ended. Where that is not known
        either, the day is None, and a period leaves the charge out.
        """
        for charge in spending.charges:
            moment = spending.ended
            if charge.spent.quarter >= 0:
                moment = charge.spent.quarter * QUARTER
            day = day_of(moment, self.zone)
            if self.period is None or day in self.period:
                yield charge, day


class Expense(NamedTuple):
    """What a unit paid for some responses at one price.

    Attributes:
        row: the unit.
        harness: the harness that asked.
        session: the id of the session that asked.
        charge: what the responses used and cost.
        day: the day in the time zone that was asked for; None where it is not known.
    """

    row: WorkRow
    harness: str
    session: str
    charge: Charge
    day: date | None


def expenses(rows: WorkRows, days: CostDays) -> list[Expense]:
    """Return what units paid for on some days."""
    wanted = []
    for row in rows:
        for (harness, session), spent in row.unit.spent.items():
            spending = Spending("transcripts", spent, ended=row.unit.ended)
            for charge, day in days.charges(spending):
                wanted.append(Expense(row, harness, session, charge, day))
    return wanted


NameOf: TypeAlias = Callable[[Expense], str]


def _dated(form: str) -> NameOf:
    return lambda expense: f"{expense.day:{form}}" if expense.day else ""


GROUPINGS: dict[str, NameOf] = {
    "day": _dated("%Y-%m-%d"),
    "week": _dated("%G-W%V"),
    "month": _dated("%Y-%m"),
    "session": lambda expense: expense.session,
    "model": lambda expense: expense.charge.model,
    "harness": lambda expense: expense.harness,
    "author": lambda expense: expense.row.values["author"] or "",
}
"""By grouping, what returns the name of the group of an expense, or "" where it is not known."""


def fate_of(unit: Unit) -> str:
    """Return which of :data:`FATES` a unit had. Talk that is part of landed work had its fate."""
    if unit.state == "landed" or unit.of_landed:
        return "fixed" if unit.defective else "landed"
    return _FATE_OF_STATE.get(unit.state, "open")


def cost_sum(name: str, paid: Sequence[Expense]) -> PlainData:
    """Return for JSON what some expenses cost, in all and by what became of the work.

    ``units`` leaves talk out. ``unpriced`` has responses without a known price, by model.
    """
    by_fate = dict.fromkeys(FATES, 0.0)
    unclear = 0.0
    unpriced: Counter[str] = Counter()
    for expense in paid:
        unit = expense.row.unit
        by_fate[fate_of(unit)] += expense.charge.cost or 0.0
        if unit.state == "unclear" and not unit.of_landed:
            unclear += expense.charge.cost or 0.0
        if expense.charge.cost is None:
            unpriced[expense.charge.unpriced] += expense.charge.spent.responses

    work = {
        expense.row.unit.unit for expense in paid if expense.row.unit.kind != "talk"
    }
    return {
        "name": name or "unknown",
        "cost": sum_of_known(expense.charge.cost for expense in paid),
        "units": len(work),
        **by_fate,
        "unclear": unclear,
        "unpriced": dict(sorted(unpriced.items())),
    }


def cost_sums(paid: Iterable[Expense], grouping: str) -> list[PlainData]:
    """Return the sums of expenses by one of :data:`GROUPINGS`.

    Days, weeks and months come in order of time, an unknown one first. Other groups come by cost,
    the dearest first.
    """
    name_of = GROUPINGS[grouping]
    groups = lists_by_key((name_of(expense), expense) for expense in paid)
    sums = [cost_sum(name, groups[name]) for name in sorted(groups)]
    if grouping not in ("day", "week", "month"):
        sums.sort(key=lambda group: -(group["cost"] or 0.0))
    return sums


def dearest(paid: Iterable[Expense]) -> list[PlainData]:
    """Return the ten units that cost most, for JSON: what they are, and where to look.

    The dearest comes first. Units that cost nothing, or of which no cost is known, are left out.
    """
    units = []
    by_unit = lists_by_key((expense.row.unit.unit, expense) for expense in paid)
    for group in by_unit.values():
        cost = sum_of_known(expense.charge.cost for expense in group)
        if cost:
            row = group[0].row
            unit = row.unit
            line = openable(unit.first_line, unit.checkpoint_branch)
            where = unit.commit or line or f"session {group[0].session}"
            value = {
                key: row.values[key] for key in ("unit", "iteration", "ended", "state")
            }
            value |= {
                "fate": fate_of(unit),
                "cost": cost,
                "subject": unit.subject,
                "where": where,
            }
            units.append(value)

    units.sort(key=lambda unit: (-unit["cost"], unit["unit"]))
    return units[:_MOST_DEAREST]


def cost_page(value: PlainData, days: str, zone: tzinfo | None) -> Page:
    """Yield costs as people read them: the sum, the sums by ``by``, and the dearest units.

    Args:
        value: the costs, as in JSON.
        days: which days these are, in words.
        zone: the time zone of days; None for the local one.
    """
    total = value["total"]
    groups = value["groups"]
    if not groups:
        yield _nothing_known(days)
        yield from value["notes"]
        return

    units = counted(total["units"], "unit of work", "units of work")
    yield Line(
        f"{cost_text(total['cost'])} for {units}, with the talk around them, {days}",
        "bold",
    )
    yield Line(f"Days are those of {value['timezone']}.", "dim")
    yield from unpriced_lines(total["unpriced"])
    if value["without_cost"]:
        yield f"The cost of {counted(value['without_cost'], 'other unit')} is not known."

    yield from value["notes"]

    yield ""
    headings = [heading.upper() for heading in ("Cost", *HEADINGS)]
    shown = groups[:_MOST_GROUPS]
    if value["by"] in ("day", "week"):
        shown = groups[-_MOST_GROUPS:]
    rows = []
    for group in (*shown, total):
        rows.append(
            (shortened(group["name"]), cost_text(group["cost"]), *shares_of(group))
        )
    yield Table((value["by"].upper(), *map(numeric, headings)), rows)
    if len(shown) < len(groups):
        yield Line(f"and {len(groups) - len(shown)} more: --json has all", "dim")

    yield ""
    yield Line("The dearest", "bold")
    rows = []
    for unit in value["dearest"]:
        state = STATE_WORDS.get(unit["state"], unit["state"])
        if unit["fate"] == "fixed":
            state = "landed, fixed later"
        where = unit["where"]
        if not where.startswith("session ") and ":" not in where:
            where = short(where)
        ended = str(day_of(unit["ended"], zone) or "-")
        subject = shortened(unit["subject"]) or "-"
        rows.append((cost_text(unit["cost"]), ended, state, subject, where))
    yield Table((numeric("COST"), "ENDED", "STATE", "SUBJECT", "WHERE"), rows)


def everything(
    used: Iterable[UsedBySession], days: CostDays
) -> dict[str, list[PlainData]]:
    """Return for JSON what sessions cost, by ``repository``, ``harness``, ``model``, and ``all``.

    The dearest of each comes first. Without a charge on these days, the result is empty.

    Args:
        used: what each session of the machine used in each repository.
        days: the days of which costs are wanted.
    """
    groups: dict[str, dict[str, list[tuple[SessionKey, Charge]]]] = {}
    for use in used:
        harness, _ = use.session
        for charge, _ in days.charges(use.spending):
            names = {
                "repository": use.repository,
                "harness": harness,
                "model": charge.model,
                "all": "all",
            }
            for kind, name in names.items():
                by_name = groups.setdefault(kind, {})
                by_name.setdefault(name, []).append((use.session, charge))

    sums_by_kind = {}
    for kind, by_name in groups.items():
        sums = []
        for name, paid in by_name.items():
            value: PlainData = {
                "name": name or "unknown",
                "cost": sum_of_known(charge.cost for _, charge in paid),
                "sessions": len({session for session, _ in paid}),
                "responses": sum(charge.spent.responses for _, charge in paid),
                "unpriced_responses": sum(
                    charge.spent.responses for _, charge in paid if charge.cost is None
                ),
            }
            sums.append(value)
        sums_by_kind[kind] = sorted(
            sums, key=lambda each: (-(each["cost"] or 0.0), each["name"])
        )
    return sums_by_kind


def everything_page(value: PlainData, days: str) -> Page:
    """Yield what all sessions of the machine cost.

    Args:
        value: data for JSON in which ``everything`` has the costs, from :func:`everything`.
        days: which days these are, in words.
    """
    if not value["everything"]:
        yield _nothing_known(days)
        return

    (total,) = value["everything"]["all"]
    sessions = counted(total["sessions"], "session")
    yield Line(
        f"{cost_text(total['cost'])} for {sessions} on this machine, {days}", "bold"
    )
    yield Line(f"Days are those of {value['timezone']}.", "dim")
    heads = [
        numeric(head) for head in ("COST", "SESSIONS", "RESPONSES", "WITHOUT A PRICE")
    ]
    for kind in ("repository", "harness", "model"):
        yield ""
        groups = value["everything"][kind]
        rows = []
        for group in groups:
            counts = [
                group[key] for key in ("sessions", "responses", "unpriced_responses")
            ]
            rows.append((shortened(group["name"]), cost_text(group["cost"]), *counts))
        yield Table((kind.upper(), *heads), rows)
        if sum(group["sessions"] for group in groups) > total["sessions"]:
            yield Line(
                f"A session of more than one {kind} counts in the row of each.", "dim"
            )


def left_out_sessions(used: Iterable[UsedBySession], days: CostDays) -> list[PlainData]:
    """Return the sessions that are in no sum of ``work``, for JSON.

    Args:
        used: what these sessions used, each with the folder that is gone as its ``repository``.
        days: the days of which costs are wanted. A session without a charge on a day of a period
            is left out.
    """
    sessions = []
    for use in used:
        charges = [charge for charge, _ in days.charges(use.spending)]
        if charges or days.period is None:
            harness, session = use.session
            value = {"session": session, "harness": harness, "folder": use.repository}
            sessions.append(
                value | {"cost": sum_of_known(charge.cost for charge in charges)}
            )
    return sessions


def left_out_notes(sessions: Sequence[PlainData]) -> list[str]:
    """Return one sentence about sessions of :func:`left_out_sessions`, or [] without any."""
    if not sessions:
        return []

    cost = cost_text(sum_of_known(session["cost"] for session in sessions))
    folders = sorted({session["folder"] for session in sessions})
    options = " ".join(f"--worktrees {shlex.quote(folder)}" for folder in folders)
    gone = "a folder that is gone" if len(folders) == 1 else "folders that are gone"
    edit = "edits" if len(sessions) == 1 else "edit"
    count = counted(len(sessions), "session")
    return [f"{count} ({cost}) of {gone} {edit} files of this repository: {options}"]


def _nothing_known(days: str) -> str:
    if days == ALL_DAYS:
        return "No cost is known."
    return f"No cost is known, {days}."


def shares_of(group: PlainData) -> list[str]:
    """Return how many percent of a :func:`cost_sum` went where, for the columns of `HEADINGS`.

    Each is ``-`` where the cost is 0 or not known.
    """
    cost = group["cost"]
    if not cost:
        return ["-"] * len(HEADINGS)

    paid = {fate: group[fate] for fate in FATES}
    paid["open"] -= group["unclear"]
    *others, talk = paid.values()
    return [
        f"{percent(max(part, 0.0) / cost)} %"
        for part in (*others, group["unclear"], talk)
    ]
