"""What processes that are started have in common."""

import os
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

_CHECK_SECONDS = 1


def end_with_parent(parent: int) -> None:
    """Have this worker process end, at most a second after the process that started it is gone.

    It then exits at once, without cleanup. The pipes alone do not end it: the other workers hold
    their ends too. Call this in the main thread; SIGALRM and its timer are used for it.

    Args:
        parent: the id of the process that started it.
    """

    def look_for_parent(*_: object) -> None:
        if os.getppid() != parent:
            os._exit(1)

    signal.signal(signal.SIGALRM, look_for_parent)
    signal.setitimer(signal.ITIMER_REAL, _CHECK_SECONDS, _CHECK_SECONDS)


@contextmanager
def sigterm_as_interrupt() -> Iterator[None]:
    """Let SIGTERM act like Ctrl-C in the block, so that the processes of this one end with it.

    Use it in the main thread: no other one may set how a signal is handled.
    """
    previous_handler = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous_handler)


@contextmanager
def environment_with(variables: Mapping[str, str | None]) -> Iterator[None]:
    """Change some variables of the environment for the block, and then change them back.

    All threads of the process have the changed variables meanwhile.

    Args:
        variables: the value of each variable, by its name; None removes the variable.
    """
    before = {name: os.environ.get(name) for name in variables}
    _set_variables(variables)
    try:
        yield
    finally:
        _set_variables(before)


def _set_variables(variables: Mapping[str, str | None]) -> None:
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
