"""One fleet at a time on a data set: each has a small file that says who it is, and is renewed while it goes on.

Who wants to write puts a file of its own in place, then lists those of others, and goes on only if none of them lives.
Of two that start at once at least the later one sees the other, on every file system whose lists show what was written
before; nobody ever writes or takes away a file of another that lives. So nothing depends on creating a file
exclusively, which object stores do not all offer, nor on what happens between reading a stale file and replacing it.

A fleet that ended without a word leaves its file behind. On the same machine that is seen at once, from elsewhere when
it has not been renewed for :data:`LASTS` seconds. One that was only away for so long, as on a laptop that slept, finds
its file gone when it comes back, and stops.
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

FOLDER = "_fleet"
_PREFIX = f"{FOLDER}/lease"
LASTS = 90.0
_RENEWED = 20.0

_LOOKS = 20
_LOOKS_EVERY = 0.1
"""How often, and after how many seconds, the first of several that start at once looks whether the others gave way."""


class Lease:
    """The right of this process to write a data set, as long as it is renewed."""

    def __init__(self, store: Store) -> None:
        """Take the data set.

        Raises:
            FleetError: another fleet has it; the text says which, and what to do.
            WriteError, InputError: nothing can be written or read there.
        """
        self._store = store
        self._mine = {"id": uuid.uuid4().hex, "host": socket.gethostname(), "process": os.getpid(), "holds": False}
        self._name = f"{_PREFIX}-{self._mine['id']}.json"
        self._lost: FleetError | None = None
        try:
            self._take()
        except BaseException:
            self.give_back()
            raise

    def _take(self) -> None:
        other: dict[str, Any] = {}
        for _ in range(_LOOKS):
            if self._name not in (found := self._found()):
                self._say()  # for the first time, or somebody took this for one that had ended
                found = self._found()
            living = self._living(found)
            if not living and self._name in found:
                self._mine["holds"] = True
                self._say()
                self._store.remove(name for name in found if name != self._name)
                return
            other = next(iter(living.values()), other)
            if any(name < self._name or one.get("holds", True) for name, one in living.items()):
                break
            time.sleep(_LOOKS_EVERY)
        raise FleetError(
            f"{self._store.url}: another fleet writes here, {_who(other)}; wait until it has ended, then start again"
        )

    def check(self) -> None:
        """Do nothing, unless it is known that the data set was lost; asks nobody.

        Raises:
            FleetError: it was.
        """
        if self._lost:
            raise self._lost

    def renew(self) -> None:
        """Look whether the data set is still this fleet's, and say so.

        Raises:
            FleetError: another one took it over, because this one had been silent for :data:`LASTS` seconds.
            WriteError, InputError: it cannot be said, or seen.
        """
        self.check()
        gone = self._name not in self._found()
        if not gone:
            self._say()
        others = [one for one in self._living(self._found()).values() if one.get("holds", True)]
        if gone or others:
            who = f"another fleet, {_who(others[0])}," if others else "another fleet"
            self._lost = FleetError(
                f"{self._store.url}: {who} took it over, because this one was silent for {LASTS:.0f} seconds; "
                "what it had added stays, start again when the other has ended"
            )
            raise self._lost

    def give_back(self) -> None:
        """Let others write."""
        self._store.remove([self._name])

    def _say(self) -> None:
        self._store.put(self._name, json.dumps({**self._mine, "seen": time.time()}).encode())

    def _living(self, found: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
        return {name: one for name, one in found.items() if name != self._name and _lives(one)}

    def _found(self) -> dict[str, dict[str, Any]]:
        """Return by name what says who writes; one that cannot be read is nobody's."""
        names = [name for name in self._store.names(FOLDER) if name.startswith(_PREFIX) and name.endswith(".json")]
        read = [(name, self._store.get(name)) for name in names]
        return {name: _parsed(data) for name, data in read if data is not None}


@contextlib.contextmanager
def held(store: Store) -> Iterator[Lease]:
    """Hold a data set while the block runs.

    Raises:
        FleetError: another fleet holds it; the text says which, and what to do.
    """
    lease = Lease(store)
    done = threading.Event()
    renewing = threading.Thread(target=_keep, args=(lease, done), daemon=True)
    renewing.start()
    try:
        yield lease
    finally:
        done.set()
        renewing.join()
        lease.give_back()


def _keep(lease: Lease, done: threading.Event) -> None:
    while not done.wait(_RENEWED):
        try:
            lease.renew()
        except FleetError:  # whoever writes next is told
            return
        except (WriteError, InputError):
            continue


def _parsed(data: bytes) -> dict[str, Any]:
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _who(other: dict[str, Any]) -> str:
    return f"process {other.get('process')} on {other.get('host')}"


def _lives(other: dict[str, Any]) -> bool:
    """Return whether the holder goes on, as far as can be known."""
    process, seen = other.get("process"), other.get("seen")
    if other.get("host") == socket.gethostname() and isinstance(process, int):
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return False
        except (OSError, OverflowError):
            return True
        return process != os.getpid() or _fresh(seen)
    return _fresh(seen)


def _fresh(seen: object) -> bool:
    return isinstance(seen, int | float) and time.time() - seen < LASTS
