"""What tokens cost, by the price lists of genai-prices; no price is written down here, and nothing is fetched.

A price list knows steps: above some size of the prompt a token has another price. So tokens are counted by the size of
their prompt (:data:`~scoring.evidence.transcripts.facts.PROMPT_STEPS`), and the price of a token is asked for at it.
"""

import datetime
import importlib.util
from decimal import Decimal
from functools import cache, lru_cache

from scoring.errors import installing
from scoring.evidence.transcripts.facts import NS, PROMPT_STEPS, Spent

HOW_TO_GET = f"what tokens cost needs the extra 'cost': {installing('cost')}"
_OUTPUT = 1000


@cache
def can_price() -> bool:
    """Return whether the price lists are installed."""
    return importlib.util.find_spec("genai_prices") is not None


def price(spent: Spent, time: int | None = None) -> float | None:
    """Return what tokens cost, in US dollars.

    Args:
        spent: the tokens; none of them costs anything when there are none.
        time: when they were used, in nanoseconds since 1970; None takes the prices of now.

    Returns:
        None where the model is not known, or the price lists are not installed.
    """
    if not can_price() or not spent.model:
        return None
    rates = _rates(spent.model, spent.step, None if time is None else time // NS // 86_400)
    if rates is None:
        return None
    for_minutes = spent.cache_write_tokens - spent.cache_write_1h_tokens
    counts = spent.input_tokens, spent.output_tokens, spent.cache_read_tokens, for_minutes, spent.cache_write_1h_tokens
    return float(sum((rate * count for rate, count in zip(rates, counts, strict=True)), Decimal(0)))


@lru_cache(maxsize=4096)
def _rates(model: str, step: int, day: int | None) -> tuple[Decimal, ...] | None:
    """Return what a token costs in US dollars: input, output, read from the cache, written to it, and for an hour.

    They are those of a day, counted from 1970, for prompts of one size; None for an unknown model.
    """
    from genai_prices import Usage, calc_price  # its price lists take half a second to load

    size = PROMPT_STEPS[step] if step < len(PROMPT_STEPS) else 2 * PROMPT_STEPS[-1]
    noon = datetime.datetime(1970, 1, 1, 12, tzinfo=datetime.UTC)
    when = None if day is None else noon + datetime.timedelta(days=day)

    def cost(**tokens: int) -> Decimal:
        usage = Usage(input_tokens=size, **tokens)
        return calc_price(usage, model_ref=model, genai_request_timestamp=when).total_price

    try:
        fresh = cost()
        cached = cost(cache_read_tokens=size), cost(cache_write_tokens=size)
        for_an_hour = cost(cache_write_tokens=size, cache_write_1h_tokens=size)
        output = (cost(output_tokens=_OUTPUT) - fresh) / _OUTPUT
    except (LookupError, ValueError):
        return None
    return fresh / size, output, *(part / size for part in (*cached, for_an_hour))
