"""The processor time that work takes, and whether it grows linearly with the work."""

import math
import resource
import time
from collections.abc import Callable


def seconds_of(work: Callable[[], object]) -> float:
    """Return the processor time of work, in seconds, with that of child processes that ended."""
    before = _processor_time()
    work()
    return _processor_time() - before


def _processor_time() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def too_slow(
    work: Callable[[], float],
    than: Callable[[], float],
    times: float = 1.0,
    spare: float = 0.0,
    rounds: int = 3,
) -> str:
    """Say what work takes where that is more than some times what other work takes, or return "".

    Others may get in the way of both, so they are measured in turn, and the least of each counts.
    As long as that is too slow, both are measured again.

    Args:
        work: does the work, and returns the seconds that it took.
        than: does other work, and returns the seconds that it took.
        times: how many times as long the work may take.
        spare: how many seconds more are forgiven.
        rounds: how often both are measured at least; five times as often at most.
    """
    least = least_of_other = math.inf
    for number in range(5 * rounds):
        least_of_other = min(least_of_other, than())
        least = min(least, work())
        if number + 1 >= rounds and least < times * least_of_other + spare:
            return ""
    return f"{least:.3f} s, more than {times} times {least_of_other:.3f} s"


def is_linear(
    read: Callable[[str], object], piece: str, length: int, spare: float = 0.02
) -> bool:
    """Say whether twice the length takes about twice the time.

    ``spare`` seconds are forgiven, for texts that are read in no time.
    """

    def took(characters: int) -> float:
        text = (piece * (characters // len(piece) + 1))[:characters]
        return seconds_of(lambda: read(text))

    return not too_slow(
        lambda: took(2 * length), lambda: took(length), 3.2, spare, rounds=1
    )
