"""How far the aliases of a document may multiply the work of reading it, as in yaml.v3."""

_FREE_ALIASES = 100
_FREE_STEPS = 1000
_SMALL_DOCUMENT = 400_000
_LARGE_DOCUMENT = 4_000_000
_RATIO_OF_SMALL = 0.99
_RATIO_OF_LARGE = 0.10


def multiply_too_far(in_aliases: int, steps: int) -> bool:
    """Return whether aliases cause too large a share of the work. A little is never too much.

    Args:
        in_aliases: how many steps of reading were made in what aliases stand for.
        steps: how many steps of reading were made in all.
    """
    if in_aliases <= _FREE_ALIASES or steps <= _FREE_STEPS:
        return False
    return in_aliases / steps > _allowed_ratio(steps)


def _allowed_ratio(steps: int) -> float:
    """Return which share of the steps, 0 to 1, aliases may cause: the more steps, the smaller."""
    if steps <= _SMALL_DOCUMENT:
        return _RATIO_OF_SMALL
    if steps >= _LARGE_DOCUMENT:
        return _RATIO_OF_LARGE
    loss = _RATIO_OF_SMALL - _RATIO_OF_LARGE
    return _RATIO_OF_SMALL - loss * (steps - _SMALL_DOCUMENT) / (
        _LARGE_DOCUMENT - _SMALL_DOCUMENT
    )
