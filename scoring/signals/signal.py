"""What a signal is: its id, its value, what it claims, how it gets better, and where its evidence is."""

import datetime
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import ClassVar

from rubric import SignalID
from scoring.evidence.facts import IterationFacts
from scoring.evidence.transcripts.facts import IterationWindow
from scoring.log.load import EntryPlaces
from scoring.log.model import SCHEMA_FLAT, IterationRecord
from scoring.signals.values import ROLE_IMPL, AgentRole, IntegrityObservation, SignalValue


class Signal(ABC):
    """One signal, complete in itself. Everything here is pure: facts in, judgement out."""

    id: ClassVar[SignalID]
    better: ClassVar[str]
    """How its vote becomes better, in words."""
    supply: ClassVar[str]
    """What makes it vote where it is absent, in words."""
    optional: ClassVar[bool] = False
    """Whether it is computed only under a rubric that has it, and its absence is nothing to worry about."""

    @abstractmethod
    def value(self, facts: IterationFacts) -> SignalValue:
        """Return its value for one iteration."""

    def pair(self, facts: IterationFacts) -> IntegrityObservation | None:  # noqa: ARG002
        """Return what was claimed beside what was observed; None for a signal that nobody claims."""
        return None

    def advice(self, present: bool, facts: IterationFacts) -> str:  # noqa: ARG002
        """Return what would raise the score: a better vote, or a vote at all."""
        return self.better if present else self.supply

    def sources(self, facts: IterationFacts, entry: EntryPlaces | None) -> Iterator[str]:  # noqa: ARG002
        """Yield the places that its value was read from, in words that can be followed: a file and line, a commit."""
        yield from ()

    def files(self, iteration: int) -> Iterator[str]:  # noqa: ARG002
        """Yield the names of the files beside the entry that its value depends on; they need not be there."""
        yield from ()


def role_of(record: IterationRecord, nested: AgentRole) -> AgentRole:
    """Return whose claim it is: in the flat schema all are the implementer's."""
    return ROLE_IMPL if record.schema_version == SCHEMA_FLAT else nested


def named_fields(entry: EntryPlaces | None, *names: str) -> Iterator[str]:
    """Yield where the fields of an entry are, for those that it has."""
    for name in names:
        if entry and (place := entry.place(name)):
            yield f"{name} at {place}"


def window_source(facts: IterationFacts) -> Iterator[str]:
    """Yield the window as a place that a value was read from; nothing where there is none."""
    if facts.window:
        yield f"transcripts {window_text(facts.window)}"


def window_text(window: IterationWindow) -> str:
    """Return a window in words."""
    end = _moment(window.end)
    return f"up to {end}" if window.start is None else f"after {_moment(window.start)}, up to {end}"


def _moment(ns: int) -> str:
    """Return a time to the second, UTC."""
    try:
        return datetime.datetime.fromtimestamp(ns // 10**9, datetime.UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (OverflowError, ValueError, OSError):
        return f"{ns // 10**9} seconds after 1970"
