"""What git says of one log, as facts. Nothing here starts a process."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # a fact about git does not load what signals need
    from scoring.signals.values import SignalValue


@dataclass(frozen=True, slots=True)
class Trunk:
    """Where work lands.

    ``ref`` is the full name (``refs/remotes/origin/main``), ``name`` what details call it (``origin/main``), ``commit``
    its tip (None: there is no such branch), ``how`` why it was chosen, in a few words, ``shallow`` whether history ends
    before it began.
    """

    ref: str
    name: str
    commit: str | None
    how: str
    shallow: bool = False


@dataclass(frozen=True, slots=True)
class Landing:
    """What git says of the landing of one iteration.

    ``method`` is one word for how it was decided, as provenance keeps it: ``ancestor``, ``patch-id``, ``squash``,
    ``merge-tree``, ``later-ancestor``, ``subject``, ``message`` (the commit does not resolve, and its summary is a
    trunk commit's subject), ``reverted``, ``not-landed``, and "" when absent.
    """

    value: "SignalValue"
    method: str = ""
