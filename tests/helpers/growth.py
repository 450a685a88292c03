"""Whether the time of work on a text grows linearly with the text, without a limit in seconds."""

import gc
import os
import time
from collections.abc import Callable

SMALL = 1 << 13
"""From which size, in characters, text is measured."""

LARGE = 1 << (20 if os.environ.get("DA_SCORE_SLOW_TESTS") == "1" else 17)
"""How much longer the text gets: 16 times the text takes quadratic work 256 times as long."""

FACTOR = 2.5
"""How much faster than the text the time may grow; quadratic work takes 4 times the growth."""

_STEP = 4
_NOISE = 0.01
"""Seconds of CPU below which a measurement says nothing."""


def over_linear(
    work: Callable[[str], object], shape: Callable[[int], str], most: int = LARGE
) -> str:
    """Return how the time grew where it grew by more than the text; "" where it did not.

    The text gets longer step by step. One step that is too slow may be a limit that was reached, or
    somebody else's work; two in a row, or the last one when it is measured again, are not, and what
    follows is not waited for.
    """
    size, before, slow = SMALL, max(_seconds(work, shape(SMALL)), _NOISE), ""
    while (size := size * _STEP) <= most:
        text, limit = shape(size), before * _STEP * FACTOR
        took = _seconds(work, text)
        if took <= limit or (took := min(_seconds(work, text) for _ in range(3))) <= limit:
            slow = ""
        elif slow or size * _STEP > most:
            return f"{took:.2f} s for {size} characters, {before:.3f} s for {size // _STEP}"
        else:
            slow = "once"
        before = max(took, _NOISE)
    return ""


def _seconds(work: Callable[[str], object], text: str) -> float:
    gc.disable()  # it goes through all that other tests have left
    try:
        start = time.process_time()
        work(text)
        return time.process_time() - start
    finally:
        gc.enable()
