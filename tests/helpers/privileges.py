"""Who a test is to the file system."""

import os
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_privileges() -> Iterator[None]:
    """Be an ordinary user, to whom a read-only directory is read-only; root writes everywhere."""
    before = os.geteuid()
    if before == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(before)
