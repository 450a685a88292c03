"""Amounts as people read them: shares of work, tokens, costs and durations."""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from scoring.frozen import PlainData
from scoring.outcomes.spending import Spending
from scoring.outcomes.unit import State
from scoring.statistics import wilson
from scoring.text import counted

DECIDED: tuple[State, ...] = ("landed", "reverted", "taken_back", "lost")
"""The states in which it is certain whether the work landed and stayed."""


class CountedShare(NamedTuple):
    """A share of a whole, in numbers of units."""

    part: int
    whole: int

    @property
    def value(self) -> float | None:
        """The share, 0 to 1, or None where the whole is 0."""
        if not self.whole:
            return None
        return self.part / self.whole

    @property
    def range(self) -> str:
        """The share and its Wilson interval, as ``50 %, 9–91 %``, or "" where the whole is 0."""
        if self.value is None:
            return ""
        low, high = wilson(self.part, self.whole)
        return f"{percent(self.value)} %, {percent(low)}\u2013{percent(high)} %"

    def as_dict(self) -> dict[str, float | None]:
        """Return the share and its Wilson interval for JSON. All are None where the whole is 0."""
        low, high = wilson(self.part, self.whole) if self.whole else (None, None)
        return {"value": self.value, "low": low, "high": high}

    def __str__(self) -> str:
        if not self.whole:
            return "-"
        return f"{self.part} of {self.whole} ({self.range})"


def percent(share: float) -> str:
    """Return a share, 0 to 1, in percent without the sign: ``54``, near the ends ``0.3``, ``99.8``.

    Only 0 and 1 themselves are ``0`` and ``100``.
    """
    value = round(share * 100, 6)
    if value in (0, 100) or 0.5 <= value < 99.5:
        return f"{value:.0f}"
    return f"{min(max(value, 0.1), 99.9):.1f}"


def written_text(share: float) -> str:
    """Return how much of its commit is known to be written by agents, as ``at least 54 %``.

    Args:
        share: the share of the lines that the commit adds.

    Returns:
        ``all`` for 1, and "" below 1 %, which says nothing.
    """
    if share == 1:
        return "all"
    percents = int(share * 100)
    return f"at least {percents} %" if percents else ""


_UNITS = ((1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k"))


def tokens_text(count: int) -> str:
    """Return a number of tokens: ``940``, ``12.3 k``, ``4.1 M``."""
    for size, unit in _UNITS:
        rounds_up_at = size - size // 20_000  # 999,950 is 1.0 M, not 1000.0 k
        if count >= rounds_up_at:
            return f"{count / size:.1f} {unit}"
    return str(count)


def cost_text(cost: float | None, *, is_partial: bool = False) -> str:
    """Return a cost in US dollars: ``$1,234.50``, ``<$0.01``, or ``-`` for None.

    A cost that leaves some responses out is ``at least $1,234.50``.
    """
    if cost is None:
        return "-"
    if is_partial:
        return f"at least ${cost:,.2f}"
    if 0 < cost < 0.005:
        return "<$0.01"
    return f"${cost:,.2f}"


def per_landed_text(summary: PlainData) -> str:
    """Return the mean cost of landed units, and how many have a known cost where not all have.

    ``summary`` is that of ``work_summary``.
    """
    text = cost_text(summary["cost_per_landed"])
    if 0 < summary["landed_priced"] < summary["landed"]:
        return f"{text} of {summary['landed_priced']}"
    return text


def horizon_text(days: float) -> str:
    """Return how long work is watched after it landed: ``14 days``, ``1 day``, ``36 hours``."""
    number = days
    unit = "day"
    if days != int(days):
        number = round(days * 24, 3)
        unit = "hour"
    return f"{number:g} {unit}{'' if number == 1 else 's'}"


def duration_text(seconds: float | None) -> str:
    """Return a duration: ``40 s``, ``12 min``, ``3 h 20 min``, ``52 h``, or ``-`` for None."""
    if seconds is None:
        return "-"
    if seconds < 90:
        return f"{seconds:.0f} s"

    hours, minutes = divmod(round(seconds / 60), 60)
    if hours >= 48:
        rounded_hours = hours + (minutes >= 30)
        return f"{rounded_hours:,} h"
    if not hours:
        return f"{minutes} min"
    if not minutes:
        return f"{hours} h"
    return f"{hours} h {minutes} min"


def price_note(spending: Spending) -> str:
    """Return why a cost is missing, or which models it leaves out, or "" where it is complete."""
    if spending.source == "lines":
        return "no cost: under the reference's rules a response that is written twice counts twice"
    if not spending.unpriced:
        return ""

    models = models_text(spending.unpriced)
    if spending.cost is None:
        return f"no price is known for {models}"
    return f"without {models}"


def models_text(unpriced: Iterable[str]) -> str:
    """Return models as people read them, an unnamed one ("") last."""
    named_first = sorted(unpriced, key=lambda model: (not model, model))
    return ", ".join(model or "an unnamed model" for model in named_first)


def unpriced_lines(unpriced: Mapping[str, int]) -> Iterator[str]:
    """Yield a sentence that names the models without a known price, or nothing without any.

    Args:
        unpriced: how many responses have no known price, by model.
    """
    if unpriced:
        responses = counted(sum(unpriced.values()), "response has", "responses have")
        yield f"{responses} no known price: {models_text(unpriced)}."


def spending_lines(spending: Spending | None) -> list[str]:
    """Return the lines that say what an iteration or a session used.

    In order, without the lines that would be empty: the tokens; cost, time and models; why the cost
    is not complete; why ``work`` counts more. Empty for None.
    """
    if spending is None:
        return []

    facts = []
    if spending.cost is not None:
        facts.append(f"cost {cost_text(spending.cost)}")
    if spending.seconds is not None:
        facts.append(
            f"{duration_text(spending.seconds)} from first to last line, pauses included"
        )
    if spending.models:
        facts.append(", ".join(spending.models[:3]))
    if spending.shared_with is not None:
        facts.append(f"shared with iteration {spending.shared_with}")
    if spending.source == "entry":
        facts.append("as the entry says")

    lines = [" · ".join(facts)]
    if spending.spent:
        by_kind = [
            f"{kind.replace('_', ' ')} {tokens_text(count)}"
            for kind, count in spending.tokens.items()
        ]
        lines.insert(
            0, f"tokens {tokens_text(spending.total_tokens)}: {', '.join(by_kind)}"
        )
        lines.append(price_note(spending))
    if spending.source == "transcripts":
        lines.append(
            "counted up to the end of the work; da-score work also counts "
            "what the agent wrote to report it, where that led to no other commit"
        )
    return list(filter(None, lines))
