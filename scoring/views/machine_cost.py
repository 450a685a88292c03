"""What all sessions of this machine cost, by repository, harness and model."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from scoring.grouping import lists_by_key
from scoring.outcomes.everything import UsedBySession
from scoring.outcomes.spending import Charge, sum_of_known

from .cost_days import CostDays


class _Use(NamedTuple):
    """What a session used in a repository for some responses at one price."""

    by_session: UsedBySession
    charge: Charge


class UseSum(NamedTuple):
    """What some sessions used and cost together.

    Attributes:
        name: the repository, harness or model; ``unknown`` where it is not known.
        cost: the sum of the known costs; None where none is known.
        sessions: how many sessions these are.
        responses: how many responses they got.
        unpriced_responses: how many of these have no known price.
    """

    name: str
    cost: float | None
    sessions: int
    responses: int
    unpriced_responses: int


def machine_cost(
    used: Iterable[UsedBySession], days: CostDays
) -> dict[str, list[UseSum]]:
    """Return what sessions cost on some days, or {} without a charge on them.

    The lists of sums are under what they are by: ``repository``, ``harness`` and ``model``, the
    dearest first. The list ``all`` has one sum, of all.

    Args:
        used: what each session of the machine used in each repository.
        days: the days of which costs are wanted.
    """
    uses = []
    for use in used:
        for charge, _ in days.charges(use.spending):
            uses.append(_Use(use, charge))
    if not uses:
        return {}

    return {
        "repository": _sums(uses, lambda use: use.by_session.repository),
        "harness": _sums(uses, lambda use: use.by_session.session[0]),
        "model": _sums(uses, lambda use: use.charge.model),
        "all": [_sum_of("all", uses)],
    }


def _sums(uses: Sequence[_Use], name_of: Callable[[_Use], str]) -> list[UseSum]:
    """Return the sums of uses by a name of each, the dearest first, then in order of names."""
    groups = lists_by_key((name_of(use), use) for use in uses)
    sums = [_sum_of(name, group) for name, group in groups.items()]
    return sorted(sums, key=lambda group: (-(group.cost or 0.0), group.name))


def _sum_of(name: str, uses: Sequence[_Use]) -> UseSum:
    unpriced = [use.charge for use in uses if use.charge.cost is None]
    return UseSum(
        name=name or "unknown",
        cost=sum_of_known(use.charge.cost for use in uses),
        sessions=len({use.by_session.session for use in uses}),
        responses=sum(use.charge.spent.responses for use in uses),
        unpriced_responses=sum(charge.spent.responses for charge in unpriced),
    )
