"""One fleet at a time on a data set: a small file that says who writes, and is renewed while they do.

A fleet that ended without a word leaves it behind. On the same machine that is seen at once, from elsewhere when it
has not been renewed for :data:`LASTS` seconds.
"""

import contextlib
import json
import os
import socket
import threading
import time
import uuid
from collections.abc import Iterator
from typing import Any

from scoring.errors import FleetError, InputError, WriteError
from scoring.fleet.store import Store

NAME = "_fleet/lease.json"
LASTS = 90.0
_RENEWED = 20.0


@contextlib.contextmanager
def held(store: Store) -> Iterator[None]:
    """Hold a data set while the block runs.

    Raises:
        FleetError: another fleet holds it; the text says which, and what to do.
    """
    mine = {"id": uuid.uuid4().hex, "host": socket.gethostname(), "process": os.getpid()}
    _take(store, mine)
    done = threading.Event()
    renewing = threading.Thread(target=_renew, args=(store, mine, done), daemon=True)
    renewing.start()
    try:
        yield
    finally:
        done.set()
        renewing.join()
        with contextlib.suppress(InputError):
            if (_holder(store) or {}).get("id") == mine["id"]:
                store.remove([NAME])


def _take(store: Store, mine: dict[str, Any]) -> None:
    for _ in range(3):
        if store.create(NAME, _bytes(mine)):
            return
        other = _holder(store)
        if other is not None and _lives(other):
            raise FleetError(
                f"{store.url}: another fleet writes here, process {other.get('process')} on {other.get('host')}; "
                "wait until it has ended, then start again"
            )
        store.remove([NAME])
    raise FleetError(f"{store.url}: another fleet started at this moment; start again when it has ended")


def _renew(store: Store, mine: dict[str, Any], done: threading.Event) -> None:
    while not done.wait(_RENEWED):
        with contextlib.suppress(WriteError):
            store.put(NAME, _bytes(mine))


def _holder(store: Store) -> dict[str, Any] | None:
    data = store.get(NAME)
    try:
        found = json.loads(data) if data else None
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _lives(other: dict[str, Any]) -> bool:
    """Return whether the holder goes on, as far as can be known."""
    process, seen = other.get("process"), other.get("seen")
    if other.get("host") == socket.gethostname() and isinstance(process, int):
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return False
        except OSError:
            return True
        return process != os.getpid() or _fresh(seen)
    return _fresh(seen)


def _fresh(seen: object) -> bool:
    return isinstance(seen, int | float) and time.time() - seen < LASTS


def _bytes(mine: dict[str, Any]) -> bytes:
    return json.dumps({**mine, "seen": time.time()}).encode()
