"""What became of the work, for people: ``run``, ``work`` and ``report`` begin with it, and end with what to look at."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from scoring.statistics import wilson
from scoring.text import counted, printable, short, shortened
from scoring.views.spending_text import cost_text, duration_text, tokens_text
from scoring.views.table import SHA, SUBJECT, Block, Cell, Column, Line, Table, subject_cell
from scoring.views.work_pages import JUDGED, STATES, WorkRow, grouped, look_at, work_summary

_MOST_GROUPS = 15
NO_DIFFERENCE = "no difference can be told"


class CountedShare(NamedTuple):
    """A share of a whole, with its Wilson interval."""

    part: int
    whole: int

    @property
    def range(self) -> str:
        """The share and its interval; "" of nothing."""
        low, high = wilson(*self)
        return (
            f"{_percent(self.part / self.whole)} %, {_percent(low)}\u2013{_percent(high)} %"
            if self.whole
            else ""
        )

    def __str__(self) -> str:
        return f"{self.part} of {self.whole} ({self.range})" if self.whole else "-"


def _percent(share: float) -> str:
    """Return a share in percent; one that is nearly all or nearly nothing is neither."""
    percent = round(share * 100, 6)
    if percent in (0, 100) or 0.5 <= percent < 99.5:
        return f"{percent:.0f}"
    return f"{min(max(percent, 0.1), 99.9):.1f}"


class Group(NamedTuple):
    """The work of one month, harness, model or repository; ``priced`` pieces have a cost, talk too."""

    name: str
    summary: Mapping[str, Any]
    priced: int
    landed_priced: int

    @classmethod
    def of(cls, name: str, rows: Sequence[WorkRow]) -> "Group":
        """Return some work together."""
        priced = [row for row in rows if row.cost is not None]
        return cls(
            name, work_summary(rows), len(priced), sum(row.unit.state == "landed" for row in priced)
        )

    @property
    def landed(self) -> CountedShare:
        """How much landed, of what is decided."""
        return CountedShare(self.summary["landed"], sum(self.summary[state] for state in JUDGED))

    @property
    def fixed(self) -> CountedShare:
        """How much was reverted or fixed later, of what is old enough to judge."""
        return CountedShare(self.summary["defective"], self.summary["judged"])

    @property
    def per_landed(self) -> float | None:
        """What all of it cost for each unit that landed and has a cost, in US dollars."""
        cost = self.summary["cost"]
        return None if cost is None or not self.landed_priced else cost / self.landed_priced


class Comparison(NamedTuple):
    """Groups of one kind; ``more`` are not listed, and ``verdicts`` say what their intervals allow to say."""

    kind: str
    groups: list[Group]
    more: int
    verdicts: list[str]


_KINDS: dict[str, Callable[[WorkRow], str]] = {
    "Repository": lambda row: shortened(row.values.get("repository")),
    "Harness": lambda row: shortened(row.values["harness"]),
    "Model": lambda row: shortened(row.values["model"]),
}


_SHARES: dict[
    str, tuple[Callable[[WorkRow], bool], Callable[[Group], CountedShare], Callable[[Group], int]]
] = {
    "Landed": (
        lambda row: row.unit.state in JUDGED,
        lambda one: one.landed,
        lambda one: one.summary["unclear"],
    ),
    "Reverted or fixed later": (
        lambda row: row.unit.defective is not None,
        lambda one: one.fixed,
        lambda _: 0,
    ),
}
"""What is compared: of which work, its share, and how many more of the work may belong to that share."""


def comparisons(work: Sequence[WorkRow], least: int = 2) -> list[Comparison]:
    """Return repositories, harnesses and models compared; a kind with fewer than ``least`` of them is left out."""
    made = []
    for kind, of in _KINDS.items():
        groups = sorted(
            _grouped(work, of), key=lambda one: (not one.name, -one.summary["units"], one.name)
        )
        groups = [one for one in groups if one.summary["units"] or one.summary["cost"]]
        named = [one for one in groups if one.name]
        verdicts = [
            f"{what}: {_verdict(what, {one.name: one for one in named})}" for what in _SHARES
        ]
        if named and len(groups) >= least:
            verdicts = verdicts if len(named) > 1 else []
            made.append(
                Comparison(kind, groups[:_MOST_GROUPS], len(groups[_MOST_GROUPS:]), verdicts)
            )
    return made


def months(work: Sequence[WorkRow]) -> list[Group]:
    """Return the work by month in UTC, the oldest first and at the end what has no time; none where nothing has one."""
    groups = _grouped(work, lambda row: (row.values["ended"] or "")[:7])
    return (
        sorted(groups, key=lambda one: (not one.name, one.name))
        if any(one.name for one in groups)
        else []
    )


def trend(work: Sequence[WorkRow]) -> list[str]:
    """Return whether more of the work lands than before, and less of it is fixed; none of fewer than two units."""
    texts = []
    for what, (decided, share, _) in _SHARES.items():
        rows = [row for row in work if row.values["ended"] and decided(row)]
        if half := len(rows) // 2:
            halves = {
                "the older half": Group.of("", rows[:half]),
                "the newer half": Group.of("", rows[half:]),
            }
            older, newer = map(share, halves.values())
            texts.append(
                f"{what}: {older} of the older half, {newer} of the newer half: {_verdict(what, halves)}"
            )
    return texts


def _grouped(work: Sequence[WorkRow], of: Callable[[WorkRow], str]) -> list[Group]:
    return [Group.of(name, rows) for name, rows in grouped(work, of).items()]


def _verdict(what: str, groups: Mapping[str, Group]) -> str:
    """Return in which group a share is larger, as far as intervals lie apart whatever became of the unknown."""
    _, share_of, unknown_of = _SHARES[what]
    bounds = []
    for name, group in groups.items():
        part, whole = share_of(group)
        if whole:
            bounds.append(
                (wilson(part, whole)[0], wilson(part + unknown_of(group), whole)[1], name)
            )
    if len(bounds) < 2:
        return "too little is known to compare."
    (low, _, most), (_, high, least) = max(bounds), min(bounds, key=lambda one: one[1])
    return f"{most} more often than {least}." if low > high else f"{NO_DIFFERENCE}."


def became_page(rows: Sequence[WorkRow], horizon_days: float) -> Iterator[Block]:
    """Yield what became of the work and what it cost, then the same by harness, model and month."""
    every = Group.of("", rows)
    of = every.summary
    if not rows:
        yield Line(
            "No work is here: no entry and no session of this repository, or none that the options choose."
        )
        return
    states = [f"{of['landed']} landed", counted(of["reverted"], "was reverted", "were reverted")]
    states += [counted(of["open"], "is open", "are open"), f"{of['lost']} came to nothing"]
    states.append(counted(of["unclear"], "is unclear", "are unclear"))
    yield Line(f"Of {counted(of['units'], 'unit')} of work {', '.join(states)}.", "bold")
    days = f"{horizon_days:g} {'day' if horizon_days == 1 else 'days'}"
    were = "was" if every.fixed.part == 1 else "were"
    fixed = f"Of those on the trunk for {days} {every.fixed} {were} reverted or fixed later."
    yield Line(
        fixed if every.fixed.whole else f"None of their commits has been on the trunk for {days}."
    )
    yield from map(Line, _cost_lines(every, rows))
    if missing := of["missing_subagents"]:
        yield Line(
            f"No figure includes the {counted(missing, 'sub-agent')} that left no transcript here.",
            "dim",
        )
    yield Line()
    compared = comparisons(rows, least=1)
    kinds = [(one.kind, one.groups) for one in compared] + [("Month", months(rows))]
    yield Table(_BY, [_by_row(kind, group) for kind, groups in kinds for group in groups])
    said = [
        text.replace(":", f", by {one.kind.lower()}:", 1)
        for one in compared
        for text in one.verdicts
    ]
    said += [f"and {one.more} more of {one.kind.lower()}" for one in compared if one.more]
    if texts := [*said, *trend(rows)]:
        yield Line()
        yield from map(Line, texts)


def _cost_lines(every: Group, rows: Sequence[WorkRow]) -> Iterator[str]:
    cost, nothing = every.summary["cost"], every.summary["came_to_nothing"]
    if cost is None:
        yield "What the work cost is not known: no transcript with a known model is here."
        return
    text = f"It cost {cost_text(cost)}"
    if every.per_landed is not None:
        each = (
            "the landed unit"
            if every.landed_priced == 1
            else f"each of {every.landed_priced} landed units"
        )
        text += f", {cost_text(every.per_landed)} for {each} with a known cost"
    unknown = len(rows) - every.priced
    yield text + (f"; the cost of {counted(unknown, 'other')} is not known." if unknown else ".")
    parts = []
    if nothing["units"]:
        ends = ["came to nothing"] if nothing["lost"] else []
        if nothing["reverted"]:
            ends.append("was reverted" if nothing["units"] == 1 else "were reverted")
        without = nothing["without_cost"] if nothing["cost"] is not None else 0
        text = f" (the cost of {without} of them is not known)" if without else ""
        parts.append(
            f"{counted(nothing['units'], 'unit')} {' or '.join(ends)}: {_known(nothing['cost'])}{text}"
        )
    for state in ("open", "unclear", "talk"):
        if some := [row for row in rows if row.unit.state == state]:
            what = counted(len(some), f"unit is {state}", f"units are {state}")
            what = "talk that led to no work" if state == "talk" else what
            parts.append(f"{what}: {_known(Group.of(state, some).summary['cost'])}")
    if text := "; ".join(parts):
        yield f"{text[0].upper()}{text[1:]}."


def _known(cost: float | None) -> str:
    return "cost not known" if cost is None else cost_text(cost)


_BY = (
    *(Column("BY"), Column("UNITS", right=True)),
    *(Column("LANDED", right=True), Column("FIXED LATER", right=True)),
    *(Column("COST", right=True), Column("PER LANDED UNIT", right=True)),
)


def _by_row(kind: str, group: Group) -> Sequence[Cell | str | int]:
    shares = [
        Cell(None, str(one), brief=f"{one.part}/{one.whole}" if one.whole else "-")
        for one in (group.landed, group.fixed)
    ]
    costs = cost_text(group.summary["cost"]), cost_text(group.per_landed)
    return f"{kind.lower()} {group.name or 'unknown'}", group.summary["units"], *shares, *costs


_LOOK_AT = (
    Column("ITER", right=True),
    Column("DATE"),
    SUBJECT,
    SHA,
    Column("WHY", prose=True),
    Column("WHERE"),
)


def look_at_page(rows: Sequence[WorkRow]) -> Iterator[Block]:
    """Yield the units of work that most deserve a look, each with the one reason and where it is seen."""
    worst = look_at(rows)
    if not worst:
        yield Line("Nothing needs a look.")
        return
    yield Line("Look at", "bold")
    shown = []
    for one in worst:
        number, date, sha = (
            one["iteration"] or "-",
            (one["ended"] or "-")[:10],
            short(one["commit"] or "-"),
        )
        subject = subject_cell(one["subject"] or ("" if one["commit"] else "work without a commit"))
        where = one["where"] or "-"
        where = (
            short(where) if where.isalnum() else printable(where)
        )  # a commit, or a line of a transcript
        shown.append((number, date, subject, sha, one["text"], where))
    yield Table(_LOOK_AT, shown)


STATE_WORDS = {state: state for state in STATES} | {"lost": "came to nothing"}
"""What people read for the states of units, in the order in which they are shown."""
_STATES = (
    *(Column(head, right=head != "STATE") for head in ("STATE", "UNITS", "COST", "TIME", "OUTPUT")),
)


def by_state(rows: Sequence[WorkRow]) -> Iterator[tuple[str, int, str, str, str]]:
    """Yield each state and talk, with how many units have it, what they cost, how long they took, what they wrote."""
    for state in (*STATES, "talk"):
        some = [row for row in rows if row.unit.state == state]
        output = sum(row.values["tokens"]["output"] or 0 for row in some)
        minutes = sum(row.unit.minutes or 0 for row in some)
        cost = cost_text(Group.of(state, some).summary["cost"] if some else None)
        yield (
            STATE_WORDS.get(state, state),
            len(some),
            cost,
            duration_text(minutes * 60),
            tokens_text(output),
        )


def work_page(rows: Sequence[WorkRow], horizon_days: float) -> Iterator[Block]:
    """Yield what became of the work, what each state of it cost and took, and what to look at."""
    yield from became_page(rows, horizon_days)
    if not rows:
        return
    yield from (Line(), Table(_STATES, list(by_state(rows))), Line())
    yield from look_at_page(rows)
