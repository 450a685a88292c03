"""What somebody may set of the diminishing-returns meter: k, the thresholds, and words that add to the lists.

The same table stands in the settings (``[dr]`` in ``.agents/da-score.toml``, ``[tool.da-score.dr]`` in
``pyproject.toml``) and in a file of its own::

    k = 3
    thresholds = { paraphrase = 0.7, novelty-low = 0.2 }
    words = { verbs = ["roll back"], blockers = ["needs sign-off"] }
"""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from math import isfinite
from typing import Any

from scoring.errors import SettingsError
from scoring.meters.dr.thresholds import DEFAULT, Thresholds
from scoring.meters.dr.words import BUILT_IN, Words
from scoring.meters.faults import shown

DEFAULT_K = 2
"""How many rounds in a row must be low in novelty before that counts."""

LARGEST_K = 1_000_000

_ABOVE_ZERO = {"paraphrase", "semantic"}
"""Thresholds at 0 would make every claim a repetition."""


@dataclass(frozen=True, slots=True)
class Tuning:
    """How the meter is set."""

    k: int = DEFAULT_K
    thresholds: Thresholds = DEFAULT
    words: Words = BUILT_IN


_THRESHOLDS = {field.name.replace("_", "-"): field.name for field in fields(Thresholds)}
_WORDS = {field.name.replace("_", "-"): field.name for field in fields(Words)}


def tuning_from(tables: Iterable[tuple[str, Any]]) -> Tuning:
    """Return what some tables set, the weakest first: a key of a later one replaces that of an earlier one.

    Args:
        tables: where each table stands, which errors name, and the table.

    Raises:
        SettingsError: a key is unknown, or a value does not fit it.
    """
    k = DEFAULT_K
    thresholds: dict[str, float] = {}
    words: dict[str, tuple[str, ...]] = {}
    for where, table in tables:
        checked = _table(table, where, "", ("k", "thresholds", "words"))
        if "k" in checked:
            k = _k(checked["k"], where)
        limits = _table(checked.get("thresholds", {}), where, "thresholds", _THRESHOLDS)
        thresholds |= {_THRESHOLDS[key]: _limit(value, key, where) for key, value in limits.items()}
        lists = _table(checked.get("words", {}), where, "words", _WORDS)
        words |= {_WORDS[key]: _list(value, key, where) for key, value in lists.items()}
        _check_order(Thresholds(**thresholds), where)
    return Tuning(k, Thresholds(**thresholds), Words(**words))


def _table(value: Any, where: str, name: str, known: Iterable[str]) -> dict[str, Any]:
    at = f"{where}: {name}" if name else where
    if not isinstance(value, dict):
        raise SettingsError(f"{at}: {shown(value)} where a table belongs")
    for key in value:
        if key not in known:
            raise SettingsError(f"{at}: unknown setting {key!r}; known: {', '.join(known)}")
    return value


def _k(value: Any, where: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= LARGEST_K:
        raise SettingsError(f"{where}: k is {shown(value)}, not a number of rounds from 1")
    return value


def _limit(value: Any, key: str, where: str) -> float:
    known = isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value) and 0 <= value <= 1
    if not known or (value == 0 and key in _ABOVE_ZERO):
        span = "above 0, up to 1" if key in _ABOVE_ZERO else "from 0 to 1"
        raise SettingsError(f"{where}: thresholds.{key} is {shown(value)}, not a number {span}")
    return float(value)


def _list(value: Any, key: str, where: str) -> tuple[str, ...]:
    words = [value] if isinstance(value, str) else value
    if not isinstance(words, list):
        raise SettingsError(f"{where}: words.{key} is {shown(value)}, not a list of words")
    for word in words:
        if not isinstance(word, str) or not word.strip():
            raise SettingsError(f"{where}: words.{key}: {shown(word)} is no word or phrase")
    return tuple(words)


def _check_order(thresholds: Thresholds, where: str) -> None:
    for low, high in (("novelty_low", "novelty_high"), ("readiness_medium", "readiness_high")):
        if getattr(thresholds, low) > getattr(thresholds, high):
            names = [name.replace("_", "-") for name in (low, high)]
            raise SettingsError(f"{where}: thresholds.{names[0]} is above thresholds.{names[1]}; swap them")
