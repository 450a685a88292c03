"""Whether the time of work on a text grows linearly with the text, without a limit in seconds."""

import gc
import os
import time
from collections.abc import Callable

SMALL = 1 << 13
"""The size of the first text, in characters."""

LARGE = 1 << (20 if os.environ.get("DA_SCORE_SLOW_TESTS") == "1" else 17)
"""The size of the last text.

Quadratic work takes 256 times as long for 16 times the text, which no noise hides.
"""

FACTOR = 2.5
"""How much faster than the text the time may grow.

When a text is 4 times as long, quadratic work takes 16 times as long.
"""

_STEP = 4
_NOISE = 0.01
"""Seconds of CPU below which a measurement says nothing."""


def over_linear(
    work: Callable[[str], object], shape: Callable[[int], str], most: int = LARGE
) -> str:
    """Return how the time grew where it grew by more than the text, or "".

    The text gets longer step by step. One step that is too slow may come from a limit or from other
    work on the machine. Two in a row, or the last one when it is measured again, do not, and the
    steps after them are not measured.

    Args:
        work: takes a text.
        shape: makes a text of a size.
        most: the size of the last text.
    """
    size = SMALL
    seconds_before = max(_seconds(work, shape(SMALL)), _NOISE)
    was_slow = False
    while size * _STEP <= most:
        size *= _STEP
        text = shape(size)
        limit = seconds_before * _STEP * FACTOR

        seconds = _seconds(work, text)
        if seconds > limit:
            seconds = min(_seconds(work, text) for _ in range(3))

        is_slow = seconds > limit
        is_last = size * _STEP > most
        if is_slow and (was_slow or is_last):
            before = f"{seconds_before:.3f} s for {size // _STEP}"
            return f"{seconds:.2f} s for {size} characters, {before}"
        was_slow = is_slow
        seconds_before = max(seconds, _NOISE)
    return ""


def _seconds(work: Callable[[str], object], text: str) -> float:
    gc.disable()  # it goes through all that other tests have left
    try:
        start = time.process_time()
        work(text)
        return time.process_time() - start
    finally:
        gc.enable()
