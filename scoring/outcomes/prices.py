"""What the tokens of a model cost (``docs/TABLES.md``, "Tokens and cost").

The prices are those of genai-prices. Loading that library takes a third of a second, so the rates
that it gave are kept in the store until its price lists change.
"""

import contextlib
import datetime
import os
from collections.abc import Iterator
from decimal import Decimal
from importlib.util import find_spec
from pathlib import Path
from time import time_ns
from typing import NamedTuple

import msgspec

from scoring.evidence.transcripts.facts import NS, PROMPT_STEPS, Spent
from scoring.store import Store, stamp_of

_SECONDS_A_DAY = 86_400
_EPOCH_NOON = datetime.datetime(1970, 1, 1, 12, tzinfo=datetime.UTC)
_OUTPUT_SAMPLE = 1000  # tokens of output that are priced to learn the rate of one


class RateKey(NamedTuple):
    """What the price of a token depends on.

    Attributes:
        model: the name of the model.
        step: the size of the prompt, as the number of :data:`PROMPT_STEPS` that it exceeds.
        day: days since 1970, in UTC.
    """

    model: str
    step: int
    day: int


class Rates(NamedTuple):
    """What one token costs in US dollars, by its kind. ``cache_write_1h`` is kept for an hour."""

    input: Decimal
    output: Decimal
    cache_read: Decimal
    cache_write: Decimal
    cache_write_1h: Decimal


_rates: dict[RateKey, Rates | None] = {}  # every rate that this process has looked up
_stored_rates = msgspec.msgpack.Decoder(dict[RateKey, Rates | None])


def price(spent: Spent, time: int | None = None) -> float | None:
    """Return what tokens cost in US dollars, or None where no price of the model is known.

    Args:
        spent: the tokens of one model, of prompts of one size.
        time: when they were used, in nanoseconds since 1970; without it, today's price.
    """
    if not spent.model:
        return None
    if time is None:
        time = time_ns()

    rates = _rates_of(spent.model, spent.step, day=time // NS // _SECONDS_A_DAY)
    if rates is None:
        return None

    short_cache_write = spent.cache_write_tokens - spent.cache_write_1h_tokens
    cost = rates.input * spent.input_tokens
    cost += rates.output * spent.output_tokens
    cost += rates.cache_read * spent.cache_read_tokens
    cost += rates.cache_write * short_cache_write
    cost += rates.cache_write_1h * spent.cache_write_1h_tokens
    return float(cost)


@contextlib.contextmanager
def stored_prices(cache_dir: Path | None) -> Iterator[None]:
    """Use the rates in the store inside the context, and store those that are looked up there.

    Args:
        cache_dir: where the store is; None to store nothing.
    """
    price_lists = find_spec("genai_prices")  # finds the file without loading the library
    stamp = None
    if price_lists and price_lists.origin:
        stamp = stamp_of(os.stat(price_lists.origin))

    with Store(cache_dir) as store:
        if not _rates:
            _load_rates(store, stamp)
        already_stored = len(_rates)

        yield

        if len(_rates) > already_stored:
            store.put("price", "rates", stamp, msgspec.msgpack.encode(_rates))


def _load_rates(store: Store, stamp: bytes | None) -> None:
    stored = store.get("price", "rates", stamp)
    if not stored:
        return

    with contextlib.suppress(msgspec.MsgspecError):  # damaged: as if nothing were stored
        _rates.update(_stored_rates.decode(stored))


def _rates_of(model: str, step: int, day: int) -> Rates | None:
    """Return the rates of a model under the first of its names that the price lists have."""
    without_provider = model.rpartition("/")[2]
    without_cloud = without_provider.rpartition("anthropic.")[2]

    for name in dict.fromkeys((model, without_provider, without_cloud)):
        key = RateKey(name, step, day)
        if key not in _rates:
            _rates[key] = _look_up(key)
        if _rates[key] is not None:
            return _rates[key]
    return None


def _look_up(key: RateKey) -> Rates | None:
    """Ask the price lists for the rates of a model, or None where they do not have it."""
    from genai_prices import Usage, calc_price

    is_largest = key.step == len(PROMPT_STEPS)
    prompt = 2 * PROMPT_STEPS[-1] if is_largest else PROMPT_STEPS[key.step]
    noon = _EPOCH_NOON + datetime.timedelta(days=key.day)

    def cost(**tokens: int) -> Decimal:
        usage = Usage(input_tokens=prompt, **tokens)
        return calc_price(usage, model_ref=key.model, genai_request_timestamp=noon).total_price

    try:
        uncached = cost()
        cache_read = cost(cache_read_tokens=prompt)
        cache_write = cost(cache_write_tokens=prompt)
        cache_write_1h = cost(cache_write_tokens=prompt, cache_write_1h_tokens=prompt)
        with_output = cost(output_tokens=_OUTPUT_SAMPLE)
    except (LookupError, ValueError):
        return None

    return Rates(
        input=uncached / prompt,
        output=(with_output - uncached) / _OUTPUT_SAMPLE,
        cache_read=cache_read / prompt,
        cache_write=cache_write / prompt,
        cache_write_1h=cache_write_1h / prompt,
    )
