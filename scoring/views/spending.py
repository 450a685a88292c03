"""What iterations used and what it cost (``docs/TABLES.md``, "Tokens and cost"); long, as prices are kept here too."""

import contextlib
import datetime
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from decimal import Decimal
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from time import time_ns
from typing import Any, Literal, NamedTuple, TypeAlias

import msgspec
from msgspec.structs import replace

from scoring.evidence.facts import IterationFacts
from scoring.evidence.transcripts.facts import NS, PROMPT_STEPS, Spent
from scoring.frozen import Frozen
from scoring.store import Store, stamp_of

_OUTPUT = 1000

Rates: TypeAlias = tuple[
    Decimal, Decimal, Decimal, Decimal, Decimal
]  # of a token, in the order of `price`
_rates: dict[
    tuple[str, int, int], Rates | None
] = {}  # by model, step and day since 1970, as far as they were asked
_kept = msgspec.msgpack.Decoder(dict[tuple[str, int, int], Rates | None])


def price(spent: Spent, time: int | None = None) -> float | None:
    """Return what tokens cost in US dollars, at a time (ns since 1970) or now; None where the model is not known."""
    if not spent.model:
        return None
    day, behind = (
        (time_ns() if time is None else time) // NS // 86_400,
        spent.model.rpartition("/")[2],
    )
    # Without the provider in front, or the cloud, where the price lists do not have these.
    names = dict.fromkeys((spent.model, behind, behind.rpartition("anthropic.")[2]))
    rates = next(filter(None, (_rates_of(name, spent.step, day) for name in names)), None)
    if rates is None:
        return None
    for_minutes = spent.cache_write_tokens - spent.cache_write_1h_tokens
    counts = (
        spent.input_tokens,
        spent.output_tokens,
        spent.cache_read_tokens,
        for_minutes,
        spent.cache_write_1h_tokens,
    )
    return float(sum((rate * count for rate, count in zip(rates, counts, strict=True)), Decimal(0)))


@contextlib.contextmanager
def kept_prices(cache_dir: Path | None) -> Iterator[None]:
    """Take the rates that are kept of the installed price lists, and keep those that are asked for inside as well."""
    lists = find_spec("genai_prices")  # which does not load it: that takes as long as a small log
    stamp = stamp_of(os.stat(lists.origin)) if lists and lists.origin else None
    with Store(cache_dir) as store:
        if not _rates and (kept := store.get("price", "rates", stamp)):
            with contextlib.suppress(msgspec.MsgspecError):  # as if nothing were kept
                _rates.update(_kept.decode(kept))
        before = len(_rates)
        yield
        if len(_rates) > before:
            store.put("price", "rates", stamp, msgspec.msgpack.encode(_rates))


def _rates_of(model: str, step: int, day: int) -> Rates | None:
    if (key := (model, step, day)) not in _rates:
        _rates[key] = _asked(*key)
    return _rates[key]


def _asked(model: str, step: int, day: int) -> Rates | None:
    from genai_prices import Usage, calc_price

    size = PROMPT_STEPS[step] if step < len(PROMPT_STEPS) else 2 * PROMPT_STEPS[-1]
    noon = datetime.datetime(1970, 1, 1, 12, tzinfo=datetime.UTC) + datetime.timedelta(days=day)

    def cost(**tokens: int) -> Decimal:
        usage = Usage(input_tokens=size, **tokens)
        return calc_price(usage, model_ref=model, genai_request_timestamp=noon).total_price

    try:
        fresh = cost()
        cached = cost(cache_read_tokens=size), cost(cache_write_tokens=size)
        for_an_hour = cost(cache_write_tokens=size, cache_write_1h_tokens=size)
        output = (cost(output_tokens=_OUTPUT) - fresh) / _OUTPUT
    except (LookupError, ValueError):
        return None
    return fresh / size, output, cached[0] / size, cached[1] / size, for_an_hour / size


KINDS = (
    "input",
    "output",
    "cache_read",
    "cache_write",
)  # the kinds of tokens that have prices of their own

TokensFrom: TypeAlias = Literal["transcripts", "lines", "checkpoint", "entry"]
"""Where the tokens come from: responses in transcripts, each once; lines, where one response may be in several (the
reference's rules); the totals that a checkpoint states; the entry, which is a claim."""


class Spending(Frozen, frozen=True, dict=True):
    """What one iteration used, or several together; what is not known is None. Costs are in US dollars."""

    source: TokensFrom | None = None
    spent: tuple[Spent, ...] = ()
    seconds: float | None = None
    ended: int | None = None
    shared_with: int | None = None
    parts: "tuple[Spending, ...]" = ()
    has_price: bool = True

    @cached_property
    def tokens(self) -> dict[str, int]:
        """The tokens by kind: input that was neither read from the cache nor written to it, output, and the cache."""
        return {kind: sum(getattr(one, f"{kind}_tokens") for one in self.spent) for kind in KINDS}

    @property
    def total_tokens(self) -> int:
        """All tokens."""
        return sum(self.tokens.values())

    @property
    def models(self) -> list[str]:
        """The models that are named, those with the most tokens first."""
        counts: Counter[str] = Counter()
        for one in self.spent:
            if one.model:
                counts[one.model] += sum(one[3:7])
        return sorted(counts, key=lambda name: (-counts[name], name))

    @property
    def cost(self) -> float | None:
        """What the tokens cost in US dollars, as far as prices are known; None where none is."""
        return self._priced[0]

    @property
    def unpriced(self) -> list[str]:
        """The models without a known price, sorted; "" is for tokens of an unnamed model."""
        return self._priced[1]

    @cached_property
    def _priced(self) -> tuple[float | None, list[str]]:
        if self.parts:
            parts = [part.cost for part in self.parts if part.cost is not None]
            return sum(parts) if parts else None, sorted(
                {name for part in self.parts for name in part.unpriced}
            )
        if not self.has_price:
            return None, []
        if self.source == "lines":  # lines have a response several times, and its tokens as often
            return None, [""]
        costs = [(one.model, price(one, self.ended)) for one in self.spent]
        known = [cost for _, cost in costs if cost is not None]
        return sum(known) if known else None, sorted(
            {model for model, cost in costs if cost is None}
        )

    def as_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "source": self.source,
            "models": self.models,
            "tokens": self.tokens | {"total": self.total_tokens},
            "cost_usd": self.cost,
            "unpriced_models": [name or "unknown" for name in self.unpriced],
            "duration_seconds": self.seconds,
            "shared_with": self.shared_with,
        }


def spending_of(facts: IterationFacts) -> Spending | None:
    """Return what one iteration used; None where that is not known."""
    record, seen, observed = facts.record, facts.transcripts, facts.observed
    model = record.agent.model
    shared = observed.shared_with if observed else None
    times: tuple[float | None, int | None] = None, None
    if seen and seen.began is not None and seen.ended is not None:
        times = (seen.ended - seen.began) / NS, seen.ended
    if seen and observed and observed.checkpoint_tokens:
        given, reads, written = seen.input_tokens, seen.cache_reads, seen.cache_creations
        if 0 < reads <= given and written == given - reads:  # Codex has all of it in its input
            given, written = written, 0
        stated = Spent(model, 0, seen.turns, given, seen.output_tokens, reads, written)
        return Spending("checkpoint", (stated,), *times, shared)
    if seen and seen.stated:
        return Spending("transcripts" if seen.harnesses else "lines", seen.stated, *times, shared)
    if record.session_tokens is not None:
        said = record.session_tokens
        claimed = (
            said.input_tokens,
            said.output_tokens,
            said.cache_read_tokens,
            said.cache_creation_tokens,
        )
        if any(counts := [max(count, 0) for count in claimed]):
            return Spending("entry", (Spent(model, 0, 0, *counts),), *times, shared)
    return Spending(None, (), *times, shared) if times[0] is not None else None


def billed(found: Spending | None) -> Spending | None:
    """Return the same with a cost only where transcripts show the tokens, as in the ledger; a claim has none."""
    return (
        replace(found, has_price=False)
        if found and found.source in ("checkpoint", "entry")
        else found
    )


def together(found: Iterable[Spending | None]) -> Spending | None:
    """Return what several iterations used; None where nothing is known."""
    parts = tuple(one for one in found if one is not None)
    if not parts:
        return None
    sources = {part.source for part in parts}
    seconds = [part.seconds for part in parts if part.seconds is not None]
    spent = tuple(one for part in parts for one in part.spent)
    source = sources.pop() if len(sources) == 1 else None
    return Spending(source, spent, sum(seconds) if seconds else None, parts=parts)


class Used(NamedTuple):
    """What an iteration used, whether it landed and stayed, and was sound (no fix, no revert); None: not known."""

    spending: Spending | None
    landed: bool | None
    sound: bool | None

    @property
    def cost(self) -> float | None:
        """What it cost in US dollars; None where that is not known."""
        return self.spending.cost if self.spending else None


class Purchase(NamedTuple):
    """What the tokens of some iterations bought; costs are US dollars, None where none is known.

    ``landed`` of the ``priced`` landed and stayed; ``per_landed`` is all that was spent by those that did.
    """

    spending: Spending | None
    iterations: int
    priced: int
    landed: int
    per_landed: float | None
    unsound: float | None
    not_landed: float | None

    @property
    def cost(self) -> float | None:
        """What all of it cost."""
        return self.spending.cost if self.spending else None


def purchase(members: Iterable[Used]) -> Purchase:
    """Return what the tokens of some iterations bought."""
    every = list(members)
    priced = [(one, cost) for one in every if (cost := one.cost) is not None]
    landed = sum(one.landed is True for one, _ in priced)
    unsound = [cost for one, cost in priced if one.sound is False]
    lost = [cost for one, cost in priced if one.landed is False and one.sound is not False]
    known = any(one.sound is not None for one, _ in priced)
    landing_known = any(one.landed is not None for one, _ in priced)
    return Purchase(
        together(one.spending for one in every),
        len(every),
        len(priced),
        landed,
        sum(cost for _, cost in priced) / landed if landed else None,
        sum(unsound, 0.0) if known else None,
        sum(lost, 0.0) if landing_known else None,
    )


def tokens_text(count: int) -> str:
    """Return a number of tokens as people read it: ``940``, ``12.3 k``, ``4.1 M``."""
    for size, unit in ((1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k")):
        if count >= size - size // 20_000:  # 999,950 and more are a million to one digit
            return f"{count / size:.1f} {unit}"
    return str(count)


def cost_text(cost: float | None) -> str:
    """Return a cost as people read it: ``$1,234.50``, ``<$0.01``."""
    return "-" if cost is None else "<$0.01" if 0 < cost < 0.005 else f"${cost:,.2f}"


def duration_text(seconds: float | None) -> str:
    """Return a duration as people read it: ``40 s``, ``12 min``, ``3 h 20 min``, ``52 h``."""
    if seconds is None:
        return "-"
    if seconds < 90:
        return f"{seconds:.0f} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    if hours >= 48:
        return f"{hours + (minutes >= 30):,} h"
    return (
        f"{minutes} min" if not hours else f"{hours} h {minutes} min" if minutes else f"{hours} h"
    )


def price_note(found: Spending) -> str:
    """Say why a cost is missing, or what is not in it; "" where it is whole."""
    if found.source == "lines":
        return "no cost: under the reference's rules a response that is written twice counts twice"
    if not found.unpriced:
        return ""
    named = sorted(found.unpriced, key=lambda name: (not name, name))
    names = ", ".join(name or "an unnamed model" for name in named)
    return f"{'no price is known for' if found.cost is None else 'without'} {names}"


def spending_lines(found: Spending | None) -> list[str]:
    """Return what an iteration or a session used in at most three lines; none where nothing is known."""
    if found is None:
        return []
    counts = ", ".join(
        f"{kind.replace('_', ' ')} {tokens_text(count)}" for kind, count in found.tokens.items()
    )
    facts = [
        "" if found.cost is None else f"cost {cost_text(found.cost)}",
        "" if found.seconds is None else f"{duration_text(found.seconds)} from first to last line",
        ", ".join(found.models[:3]),
        "" if found.shared_with is None else f"shared with iteration {found.shared_with}",
        "as the entry says" if found.source == "entry" else "",
    ]
    used, note = (
        (f"tokens {tokens_text(found.total_tokens)}: {counts}", price_note(found))
        if found.spent
        else ("", "")
    )
    return list(filter(None, (used, " · ".join(filter(None, facts)), note)))
