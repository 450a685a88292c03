"""The processor time that work takes, and whether it grows linearly with the work."""

import resource
import time
from collections.abc import Callable


def fastest(work: Callable[[], object], rounds: int = 5) -> float:
    """Return the least processor time of some rounds, in seconds, with ended child processes."""

    def measure() -> float:
        before = _processor_time()
        work()
        return _processor_time() - before

    return min(measure() for _ in range(rounds))


def _processor_time() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def is_linear(
    read: Callable[[str], object], piece: str, length: int, spare: float = 0.02
) -> bool:
    """Say whether twice the length takes about twice the time.

    The processor's time is what counts. Others may get in the way, so it is tried again before the
    answer is no; ``spare`` seconds are forgiven, for texts that are read in no time.
    """

    def took(characters: int) -> float:
        text = (piece * (characters // len(piece) + 1))[:characters]
        return fastest(lambda: read(text), rounds=1)

    return any(took(2 * length) < 3.2 * took(length) + spare for _ in range(5))
