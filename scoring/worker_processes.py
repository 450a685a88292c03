"""What worker processes have in common."""

import os
import signal

_CHECK_SECONDS = 1


def end_with_parent(parent: int) -> None:
    """Have this worker process end when the process that started it is gone.

    The pipes alone do not end it: the other workers hold their ends too.

    Args:
        parent: the id of the process that started it.
    """

    def look_for_parent(*_: object) -> None:
        if os.getppid() != parent:
            os._exit(1)

    signal.signal(signal.SIGALRM, look_for_parent)
    signal.setitimer(signal.ITIMER_REAL, _CHECK_SECONDS, _CHECK_SECONDS)
