"""Work by repository, harness, model and month, with what became of each group."""

import json
from typing import NamedTuple

from scoring.frozen import PlainData

from .amounts import DECIDED, CountedShare
from .work_rows import STATES, WorkRow, WorkRows, month_of, work_summary

FIXED_LATER = "fixed, reverted or taken back later"
"""What people read for units that count in :attr:`WorkGroup.fixed`."""

FIXED_IN_TIME = FIXED_LATER.replace("later", "in that time")
""":data:`FIXED_LATER` after the time for which work is watched: what happens later does not count.
"""


class WorkGroup(NamedTuple):
    """Some work, such as that of one harness, model, month or repository.

    Attributes:
        name: its name; "" where that is not known.
        rows: its units.
        summary: their counts and costs, from :func:`work_summary`. The cost of a model is what
            its own responses cost, in all units: a unit counts for the model with most output.
    """

    name: str
    rows: WorkRows
    summary: PlainData

    @property
    def landed(self) -> CountedShare:
        """How many units landed and stayed, of those in a state of :data:`DECIDED`."""
        return CountedShare(
            self.summary["landed"], sum(self.summary[state] for state in DECIDED)
        )

    @property
    def fixed(self) -> CountedShare:
        """How many units are :data:`FIXED_LATER`, of those that are old enough to judge."""
        return CountedShare(self.summary["defective"], self.summary["judged"])


def grouped(rows: WorkRows, grouping: str) -> list[WorkGroup]:
    """Return some work by ``repository``, ``harness``, ``model`` or ``month``, sorted by name.

    Work without a name is the group "", which is sorted as ``unknown``. A model without a unit of
    its own has a group without rows, for its cost.
    """
    groups: dict[str, list[WorkRow]] = {}
    costs: dict[str, float] = {}
    for row in rows:
        name = month_of(row) if grouping == "month" else row.values.get(grouping) or ""
        groups.setdefault(name, []).append(row)
        if grouping == "model":
            # as JSON in the table of a fleet
            kept = row.values.get("cost_by_model") or {}
            by_model = json.loads(kept) if isinstance(kept, str) else kept
            # a fleet may only know the main model
            if not by_model and row.cost is not None:
                by_model = {row.values.get("model") or "": row.cost}
            for model, cost in by_model.items():
                if model or cost:
                    groups.setdefault(model, [])
                    costs[model] = costs.get(model, 0.0) + cost

    work = []
    for name, group in sorted(groups.items(), key=lambda item: item[0] or "unknown"):
        summary = work_summary(group)
        if grouping == "model":
            summary["cost"] = costs.get(name)
        work.append(WorkGroup(name, group, summary))
    return work


_KEYS_OF_GROUPS = (
    "name",
    "units",
    *STATES,
    "may_be_undone",
    "judged",
    "defective",
    "decided",
    "landed_share",
    "defective_share",
    "cost",
    "landed_priced",
    "cost_per_landed",
)
"""What JSON has of a group, in order."""


def work_by(rows: WorkRows) -> dict[str, list[PlainData]]:
    """Return the groups of work for JSON: a list by ``harness``, by ``model`` and by ``month``."""
    by = {}
    for grouping in ("harness", "model", "month"):
        values = []
        for group in grouped(rows, grouping):
            value = group.summary | {
                "name": group.name or "unknown",
                "decided": group.landed.whole,
                "landed_share": group.landed.as_dict(),
                "defective_share": group.fixed.as_dict(),
            }
            values.append({key: value[key] for key in _KEYS_OF_GROUPS})
        by[grouping] = values
    return by
