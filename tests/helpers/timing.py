"""Whether the time to read hostile text grows with its length, not with the square of it."""

import time
from collections.abc import Callable


def is_linear(
    read: Callable[[str], object], piece: str, length: int, spare: float = 0.02
) -> bool:
    """Say whether twice the length takes about twice the time.

    The processor's time is what counts. Others may get in the way, so it is tried again before the
    answer is no; ``spare`` seconds are forgiven, for texts that are read in no time.
    """

    def took(characters: int) -> float:
        text = (piece * (characters // len(piece) + 1))[:characters]
        started = time.process_time()
        read(text)
        return time.process_time() - started

    return any(took(2 * length) < 3.2 * took(length) + spare for _ in range(5))
