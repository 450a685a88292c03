"""What work is measured by: shares, costs and corrections, with the values of each unit."""

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

from scoring.statistics import Cluster, mean_of
from scoring.views.shares import DECIDED, CountedShare, percent
from scoring.views.spending_text import cost_text
from scoring.views.work_rows import WorkRow

_ON_TRUNK = ("landed", "reverted", "taken_back")


class Measure(NamedTuple):
    """What is compared.

    Attributes:
        key: its name in JSON.
        name: its name for people.
        kind: whether it is a share, an amount of US dollars, or a number.
        of: the value of a unit, 0 or 1 for a share; None where the unit has none.
        more: what people read where the first side has more of it.
        less: what people read where it has less.
        settled: whether only units count that are old enough to judge.
    """

    key: str
    name: str
    kind: Literal["share", "dollars", "number"]
    of: Callable[[WorkRow], float | None]
    more: str = "more often"
    less: str = "less often"
    settled: bool = False

    def text(self, value: float | None) -> str:
        """Return a value for people."""
        if value is None:
            return "-"
        if self.kind == "share":
            return f"{percent(value)} %"
        if self.kind == "dollars":
            return cost_text(value)
        return f"{value:.2f}"

    def change(self, value: float) -> str:
        """Return a difference for people, with its sign."""
        if self.kind == "share":
            return f"{value * 100:+.1f}"
        if self.kind == "dollars":
            return f"{'-' if value < 0 else '+'}{cost_text(abs(value))}"
        return f"{value:+.2f}"

    def size(self, value: float) -> str:
        """Return the size of a difference for people, with its unit."""
        if self.kind == "share":
            return f"{value * 100:.0f} points"
        return self.text(value)


def _landed(row: WorkRow) -> float | None:
    if row.unit.state not in DECIDED:
        return None
    return float(row.unit.state == "landed")


def _undone(row: WorkRow) -> float | None:
    if row.unit.state not in _ON_TRUNK:
        return None
    return float(row.unit.state != "landed")


def _fixed(row: WorkRow) -> float | None:
    if row.unit.defective is None:
        return None
    return float(row.unit.defective)


def _cost_of_landed(row: WorkRow) -> float | None:
    if row.unit.state != "landed":
        return None
    return row.cost


def _corrections(row: WorkRow) -> float | None:
    observations = [seen for seen in row.unit.observed if seen.method is not None]
    if not observations:
        return None
    return float(sum(observed.corrections.corrections for observed in observations))


MEASURES = (
    Measure("landed", "landed", "share", _landed, settled=True),
    Measure("taken_back", "reverted or taken back", "share", _undone, settled=True),
    Measure("fixed", "reverted or fixed later", "share", _fixed),
    Measure("cost_per_landed", "cost per landed unit", "dollars", _cost_of_landed, "more", "less"),
    Measure("corrections", "corrections per unit", "number", _corrections, "more", "fewer"),
)


def counting(measure: Measure, rows: Sequence[WorkRow]) -> Sequence[WorkRow]:
    """Return the work of which two periods are compared: for some measures, the settled work.

    What landed of younger work is known sooner than what came to nothing of it.
    """
    if measure.settled:
        return settled(rows)
    return rows


def settled(rows: Sequence[WorkRow]) -> list[WorkRow]:
    """Return the work that is old enough to judge what became of it."""
    return [row for row in rows if row.unit.is_settled]


class Sample(NamedTuple):
    """The values of one side.

    Attributes:
        clusters: the values by session.
        unclear: how many further units may belong to it, if one knew what became of them.
    """

    clusters: list[Cluster]
    unclear: int = 0

    @property
    def units(self) -> int:
        """How many units have a value."""
        return sum(cluster.units for cluster in self.clusters)

    @property
    def total(self) -> float:
        """The sum of the values."""
        return sum(cluster.total for cluster in self.clusters)

    @property
    def share(self) -> CountedShare:
        """How many of the units have the value 1."""
        return CountedShare(round(self.total), self.units)

    @property
    def value(self) -> float | None:
        """The mean of the values, or None without any."""
        return mean_of(self.clusters)

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {"value": self.value, "total": self.total, "units": self.units}


def sample_of(measure: Measure, rows: Sequence[WorkRow]) -> Sample:
    """Return the values of some work by session, and how many unclear units have none."""
    clusters: dict[object, Cluster] = {}
    for row in rows:
        value = measure.of(row)
        if value is not None:
            session = row.unit.session or row.unit.unit
            total, units = clusters.get(session, (0.0, 0))
            clusters[session] = Cluster(total + value, units + 1)

    unclear = 0
    if measure.key == "landed":
        unclear = sum(row.unit.state == "unclear" for row in rows)
    return Sample(list(clusters.values()), unclear)
