"""What work cost, by day, week, month, model, author, task and others, and the dearest units.

The figures rest on the units of ``work``: ``docs/TABLES.md``, "Tokens and cost".
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from enum import Enum
from typing import NamedTuple

from scoring.frozen import PlainData, fields_of
from scoring.grouping import lists_by_key
from scoring.outcomes.spending import Charge, Spending, sum_of_known
from scoring.outcomes.unit import State, Unit

from .amounts import percent
from .cost_days import CostDays
from .gone_folders import LeftOutSession
from .look_at import place_of
from .work_rows import WorkRow, WorkRows

HEADINGS = ("Landed", "Fixed", "Undone", "Lost", "Open", "Unclear", "Talk")
"""The headings of :attr:`CostSum.shares`. Open and unclear work have one each."""

_MOST_DEAREST = 10


class CostFate(Enum):
    """What became of what was paid for. The value is the name in JSON.

    Attributes:
        LANDED: landed work that was not fixed later.
        FIXED: landed work that was fixed later.
        UNDONE: work that was reverted or taken back.
        LOST: work that was lost.
        OPEN: work that is open or unclear.
        TALK: talk that is not part of landed work.
    """

    LANDED = "landed"
    FIXED = "fixed"
    UNDONE = "taken_back"
    LOST = "nothing"
    OPEN = "open"
    TALK = "talk"


_FATE_OF_STATE: dict[State, CostFate] = {
    "reverted": CostFate.UNDONE,
    "taken_back": CostFate.UNDONE,
    "lost": CostFate.LOST,
    "talk": CostFate.TALK,
}


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
    """Return the expenses of units on some days, in order of the rows."""
    wanted = []
    for row in rows:
        for (harness, session), spent in row.unit.spent.items():
            spending = Spending("transcripts", spent, ended=row.unit.ended)
            for charge, day in days.charges(spending):
                wanted.append(Expense(row, harness, session, charge, day))
    return wanted


NameOf = Callable[[Expense], str]


def _dated(form: str) -> NameOf:
    return lambda expense: f"{expense.day:{form}}" if expense.day else ""


def _task_of(unit: Unit) -> str:
    """Return the task of a unit's first entry, or "" without one."""
    return unit.first_entry.task if unit.first_entry else ""


GROUPINGS: dict[str, NameOf] = {
    "day": _dated("%Y-%m-%d"),
    "week": _dated("%G-W%V"),
    "month": _dated("%Y-%m"),
    "session": lambda expense: expense.session,
    "model": lambda expense: expense.charge.model,
    "harness": lambda expense: expense.harness,
    "author": lambda expense: expense.row.values["author"] or "",
    "task": lambda expense: _task_of(expense.row.unit),
}
"""By grouping, what returns the name of the group of an expense, or "" where it is not known."""


def fate_of(unit: Unit) -> CostFate:
    """Return what became of a unit. Talk that is part of landed work counts as landed."""
    if unit.state == "landed" or unit.of_landed:
        return CostFate.FIXED if unit.defective else CostFate.LANDED
    return _FATE_OF_STATE.get(unit.state, CostFate.OPEN)


class CostSum(NamedTuple):
    """What some expenses cost, in all and by what became of the work.

    Attributes:
        name: the name of the group, such as a day; ``unknown`` where that is not known.
        cost: the sum of the known costs; None where none is known.
        units: how many units of work these are. Talk is not one.
        by_fate: the sum of the known costs by what became of the work, for each fate.
        unclear: the part of ``CostFate.OPEN`` that is of unclear work.
        unpriced: how many responses have no known price, by model.
    """

    name: str
    cost: float | None
    units: int
    by_fate: Mapping[CostFate, float]
    unclear: float
    unpriced: Mapping[str, int]

    @property
    def shares(self) -> list[str]:
        """How many percent of the cost went where, for the columns of :data:`HEADINGS`.

        Each is ``-`` where the cost is 0 or not known.
        """
        if not self.cost:
            return ["-"] * len(HEADINGS)

        parts = (
            self.by_fate[CostFate.LANDED],
            self.by_fate[CostFate.FIXED],
            self.by_fate[CostFate.UNDONE],
            self.by_fate[CostFate.LOST],
            self.by_fate[CostFate.OPEN] - self.unclear,
            self.unclear,
            self.by_fate[CostFate.TALK],
        )
        return [f"{percent(max(part, 0.0) / self.cost)} %" for part in parts]

    def as_dict(self) -> PlainData:
        """Return the sum for JSON, with a key for each fate."""
        return {
            **fields_of(self, "name", "cost", "units"),
            **{fate.value: cost for fate, cost in self.by_fate.items()},
            **fields_of(self, "unclear", "unpriced"),
        }


def cost_sum(name: str, paid: Sequence[Expense]) -> CostSum:
    """Return what some expenses cost together. ``name`` is that of their group; "" is "unknown".

    Responses without a price are in ``unpriced``, and add nothing to the cost.
    """
    by_fate = dict.fromkeys(CostFate, 0.0)
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
    return CostSum(
        name=name or "unknown",
        cost=sum_of_known(expense.charge.cost for expense in paid),
        units=len(work),
        by_fate=by_fate,
        unclear=unclear,
        unpriced=dict(sorted(unpriced.items())),
    )


def cost_sums(paid: Iterable[Expense], grouping: str) -> list[CostSum]:
    """Return the sums of expenses by one of :data:`GROUPINGS`.

    Days, weeks and months come in order of time, an unknown one first. Other groups come by cost,
    the dearest first.
    """
    name_of = GROUPINGS[grouping]
    groups = lists_by_key((name_of(expense), expense) for expense in paid)
    sums = [cost_sum(name, groups[name]) for name in sorted(groups)]
    if grouping not in ("day", "week", "month"):
        sums.sort(key=lambda group: -(group.cost or 0.0))
    return sums


class PaidUnit(NamedTuple):
    """What a unit cost, and where to look at it.

    Attributes:
        unit: the unit.
        ended: when it ended, as its row has it; None where that is not known.
        cost: the sum of its known costs.
        where: the SHA of its commit, or else its first line, as ``openable`` names it, or else
            ``session`` and the id of one of its sessions.
    """

    unit: Unit
    ended: str | None
    cost: float
    where: str

    def as_dict(self) -> PlainData:
        """Return what the unit is and cost, for JSON."""
        return {
            **fields_of(self.unit, "unit", "iteration"),
            "ended": self.ended,
            "state": self.unit.state,
            "fate": fate_of(self.unit).value,
            "cost": self.cost,
            "subject": self.unit.subject,
            "where": self.where,
        }


def dearest(paid: Iterable[Expense]) -> list[PaidUnit]:
    """Return the ten units that cost most, the dearest first.

    Units that cost nothing, or of which no cost is known, are left out.
    """
    units = []
    by_unit = lists_by_key((expense.row.unit.unit, expense) for expense in paid)
    for group in by_unit.values():
        cost = sum_of_known(expense.charge.cost for expense in group)
        if cost:
            row = group[0].row
            unit = row.unit
            line = place_of(unit.lost_at, row)
            where = unit.commit or line or f"session {group[0].session}"
            units.append(PaidUnit(unit, row.values["ended"], cost, where))

    units.sort(key=lambda paid_unit: (-paid_unit.cost, paid_unit.unit.unit))
    return units[:_MOST_DEAREST]


class Costs(NamedTuple):
    """What work cost on some days.

    Attributes:
        days: the days.
        grouping: what the groups are: one of :data:`GROUPINGS`.
        total: the sum of all expenses.
        groups: their sums by ``grouping``.
        dearest: the units that cost most.
        without_cost: how many units that ended on these days have no known cost.
        left_out: sessions that are in no sum.
        notes: what a reader of the figures should know, one sentence each.
    """

    days: CostDays
    grouping: str
    total: CostSum
    groups: Sequence[CostSum]
    dearest: Sequence[PaidUnit]
    without_cost: int
    left_out: Sequence[LeftOutSession]
    notes: Sequence[str]

    def as_dict(self) -> PlainData:
        """Return the costs for JSON."""
        return {
            **self.days.as_dict(),
            "by": self.grouping,
            "total": self.total.as_dict(),
            "groups": [group.as_dict() for group in self.groups],
            "dearest": [paid_unit.as_dict() for paid_unit in self.dearest],
            "without_cost": self.without_cost,
            "left_out": [session._asdict() for session in self.left_out],
            "notes": self.notes,
        }
