"""When to look at a log again: as soon as the system announces a change in it, or else every now and then.

Changes are announced by inotify and its likes, through ``watchfiles`` (the extra ``watch``). Not every change is: not
those on another machine of a file system that two share, nor those of a file that a link points to. So a log is looked
at anyway, as often as it was asked for, unless looking takes so long that it would keep the processor busy.
"""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

REST = 200
"""The pause after a look, as a multiple of the time it took: looking then takes half a percent of a processor."""

_TOGETHER, _STEP = 200, 50
"""For how many milliseconds at most changes are collected, and after how many without one they are passed on."""


def times_to_look(
    interval: float, places: Callable[[], Sequence[Path]], restless: Callable[[], bool], matters: Callable[[str], bool]
) -> Iterator[None]:
    """Wait until it is time to look, and yield; without end.

    Args:
        interval: how many seconds there are between two looks where no change is announced.
        places: the folders in which a change is one; none where nothing can be announced now.
        restless: whether something is waited for that a later look will settle.
        matters: whether a change of a file matters, by its path.
    """
    try:
        from watchfiles import watch
    except ImportError:
        while True:
            time.sleep(interval)
            yield

    def wanted(_: object, path: str) -> bool:
        return matters(path)

    tick = max(int(min(interval, 1) * 1000), _STEP)
    while True:
        folders = places()
        known = _identities(folders)
        due = patient = 0.0  # what changed before changes were announced shows in a look right away
        try:
            if not folders or None in known:
                raise FileNotFoundError
            for changed in watch(
                *folders,
                watch_filter=wanted,
                debounce=_TOGETHER,
                step=_STEP,
                rust_timeout=tick,
                yield_on_timeout=True,
                recursive=False,
            ):
                now = time.monotonic()
                if changed or now >= due or (now >= patient and restless()):
                    yield
                    took, now = time.monotonic() - now, time.monotonic()
                    due, patient = now + max(interval, REST * took), now + interval
                if _identities(places()) != known:
                    break
        except OSError:  # there is nothing to announce changes of, or the system has no room for more
            time.sleep(interval)
            yield


def _identities(folders: Sequence[Path]) -> list[tuple[str, int, int] | None]:
    """Return which folders these are: one that was put in the place of another is not the same."""
    found: list[tuple[str, int, int] | None] = []
    for folder in folders:
        try:
            stat = os.stat(folder)
            found.append((os.fspath(folder), stat.st_dev, stat.st_ino))
        except OSError:
            found.append(None)
    return found
