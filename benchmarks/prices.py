"""``python -m benchmarks prices`` makes the price lists that come with da-score, from those of genai-prices."""

import datetime
import json
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from importlib.metadata import version
from itertools import groupby
from typing import Any

from genai_prices import Usage
from genai_prices.data_snapshot import get_snapshot
from genai_prices.types import (
    ClauseAnd,
    ClauseOr,
    MatchLogic,
    ModelInfo,
    ModelPrice,
    Provider,
    StartDateConstraint,
)

from scoring.evidence.transcripts.facts import PROMPT_STEPS
from scoring.views.spending import PRICES

_BEFORE = datetime.date(1970, 1, 1)
_OUTPUT = 1000
_SIZES = (*PROMPT_STEPS, 2 * PROMPT_STEPS[-1])


def main(_: Sequence[str]) -> int:
    """Write the price lists, and say of what they are."""
    found = price_lists()
    lists = ",\n".join(json.dumps(one, separators=(",", ":"), ensure_ascii=True) for one in found["lists"])
    PRICES.write_text(f'{{"source": {json.dumps(found["source"])}, "lists": [\n{lists}\n]}}\n', encoding="utf-8")
    print(f"{found['source']}: {sum(len(models) for _, models in found['lists'])} models")
    return 0


def price_lists() -> dict[str, Any]:
    """Return each list as how it is known for which names of models it is, and its models, the first one counts.

    Of a model there is how its name is known, and its prices by the first day on which they hold, since 1970: for each
    size of prompts from which on they differ, what a token costs: input, output, read from the cache, written to it,
    for an hour.
    """
    providers = get_snapshot().providers
    lists = [
        [_clause(one.model_match), [[_clause(model.match), _periods(model)] for model in _models(one, providers)]]
        for one in providers
        if one.model_match
    ]
    return {"source": f"genai-prices {version('genai-prices')}", "lists": lists}


def _models(provider: Provider, providers: Iterable[Provider]) -> Iterator[ModelInfo]:
    yield from provider.models
    others = {one.id: one for one in reversed(list(providers))}
    for name in provider.fallback_model_providers or ():
        if name in others:
            yield from others[name].models


def _clause(clause: MatchLogic) -> dict[str, Any]:
    if isinstance(clause, ClauseOr):
        return {"or": list(map(_clause, clause.or_))}
    if isinstance(clause, ClauseAnd):
        return {"and": list(map(_clause, clause.and_))}
    ((how, what),) = vars(clause).items()
    return {how: what if how == "regex" else what.lower()}


def _periods(model: ModelInfo) -> list[list[Any]]:
    days = {_BEFORE}
    for one in () if isinstance(model.prices, ModelPrice) else model.prices:
        if isinstance(one.constraint, StartDateConstraint):
            days.add(max(one.constraint.start_date, _BEFORE))
    found = [((day - _BEFORE).days, _rates(model.get_prices(_noon(day)))) for day in sorted(days)]
    return [[next(same)[0], rates] for rates, same in groupby(found, lambda one: one[1])]


def _noon(day: datetime.date) -> datetime.datetime:
    return datetime.datetime.combine(day, datetime.time(12), datetime.UTC)


def _rates(prices: ModelPrice) -> list[list[Any]] | None:
    try:
        found = [(step, _at(prices, size)) for step, size in enumerate(_SIZES)]
    except ValueError:
        return None
    return [[next(same)[0], *map(str, rates)] for rates, same in groupby(found, lambda one: one[1])]


def _at(prices: ModelPrice, size: int) -> tuple[Decimal, ...]:
    def cost(**tokens: int) -> Decimal:
        return prices.calc_price(Usage(input_tokens=size, **tokens))["total_price"]

    fresh = cost()
    cached = cost(cache_read_tokens=size), cost(cache_write_tokens=size)
    for_an_hour = cost(cache_write_tokens=size, cache_write_1h_tokens=size)
    output = (cost(output_tokens=_OUTPUT) - fresh) / _OUTPUT
    return fresh / size, output, *(part / size for part in (*cached, for_an_hour))
