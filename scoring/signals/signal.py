"""What a signal is: its id, its value, what it claims, how it gets better, and where its evidence is."""

import datetime
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import ClassVar, TypeAlias

from rubric import SignalID
from scoring.evidence.facts import IterationFacts
from scoring.evidence.transcripts.facts import IterationWindow, Observed
from scoring.log.load import EntryPlaces
from scoring.log.model import SCHEMA_FLAT, IterationRecord
from scoring.signals.values import ROLE_IMPL, AgentRole, SignalValue, absent_signal
from scoring.text import counted

KEEP_TRANSCRIPT = (
    "keep the transcript of the session that made the commit where da-score looks for it"
)

Pair: TypeAlias = tuple[
    AgentRole, SignalValue, SignalValue
]  # who claimed something, what, and what was observed


class Signal(ABC):
    """One signal, complete in itself. Everything here is pure: facts in, judgement out."""

    id: ClassVar[SignalID]
    better: ClassVar[str]  # how its vote becomes better, in words
    supply: ClassVar[str]  # what makes it vote where it is absent, in words
    optional: ClassVar[bool] = False  # whether it is computed only under a rubric that has it
    by_choice: ClassVar[bool] = (
        False  # whether a project chooses to have what it rests on, so that it may be absent
    )
    read_from_lines: ClassVar[bool] = (
        False  # whether it rests on lines of transcripts where these are attributed
    )

    @abstractmethod
    def value(self, facts: IterationFacts) -> SignalValue:
        """Return its value for one iteration, of what was observed and what was claimed."""

    def seen(self, facts: IterationFacts) -> SignalValue:
        """Return its value of what was observed alone, for rubrics in which a claim has no vote."""
        value = self.value(facts)
        if value.source != "claimed":
            return value
        return absent_signal(f"a claim has no vote: {value.detail}", "a claim has no vote")

    def pairs(self, facts: IterationFacts) -> Iterator[Pair]:  # noqa: ARG002
        """Yield what was claimed beside what was observed, a pair for each role that claims something."""
        yield from ()

    def advice(self, present: bool, facts: IterationFacts) -> str:
        """Return what would raise the score: a better vote, or a vote at all."""
        if present:
            return self.better
        return (
            KEEP_TRANSCRIPT if self.read_from_lines and facts.observed is not None else self.supply
        )

    def named(self, label: str, facts: IterationFacts) -> str:  # noqa: ARG002
        """Return its label in a rubric as it is in a repository."""
        return label

    def sources(self, facts: IterationFacts, entry: EntryPlaces | None) -> Iterator[str]:  # noqa: ARG002
        """Yield the places that its value was read from, in words that can be followed: a file and line, a commit."""
        yield from ()

    def files(self, iteration: int) -> Iterator[str]:  # noqa: ARG002
        """Yield the names of the files beside the entry that its value depends on; they need not be there."""
        yield from ()


def role_of(record: IterationRecord, nested: AgentRole) -> AgentRole:
    """Return the role that claims: in the flat schema always the implementer."""
    return ROLE_IMPL if record.schema_version == SCHEMA_FLAT else nested


def unattributed(observed: Observed) -> str:
    """Return why an iteration has no lines of its own that say anything; "" when it has."""
    if observed.checkpoint_tokens:
        return observed.problem or "no transcript is here, only the totals of its checkpoint"
    return observed.problem or ("" if observed.method else "no session found for this iteration")


def attribution(observed: Observed | None) -> str:
    """Return how an iteration's lines were found, as the end of a detail; "" where it has no lines of its own."""
    if observed is None or observed.method is None:
        return ""
    if observed.shared_with is None:
        return f"; evidence by {observed.method}"
    by = "" if observed.method == "shared" else f"by {observed.method}, "
    return f"; {by}evidence shared with iteration {observed.shared_with}"


def named_fields(entry: EntryPlaces | None, *names: str) -> Iterator[str]:
    """Yield where the fields of an entry are, for those that it has."""
    for name in names:
        if entry and (place := entry.place(name)):
            yield f"{name} at {place}"


MOST_SOURCES = 3  # how many transcripts are named as the places of an iteration's lines


def work_source(facts: IterationFacts) -> Iterator[str]:
    """Yield where the lines are that a value was read from: an iteration's own, or else those in its window."""
    if facts.observed is not None:
        lines = facts.observed.lines
        for path, first, last, _ in lines[:MOST_SOURCES]:
            yield f"{path}:{first}" + (f" to {last}" if last > first else "")
        if more := lines[MOST_SOURCES:]:
            yield f"{sum(found.total for found in more)} lines in {counted(len(more), 'more transcript')}"
    elif facts.window:
        yield f"transcripts {window_text(facts.window)}"


def seen_source(facts: IterationFacts, kind: str) -> Iterator[str]:
    """Yield the lines where something of one kind was seen."""
    for seen in facts.observed.seen if facts.observed else ():
        if seen.kind == kind:
            yield f"{seen.what} at {seen.path}:{seen.line}"


def window_text(window: IterationWindow) -> str:
    """Return a window in words."""
    after = "" if window.start is None else f"after {_moment(window.start)}, "
    return f"{after}up to {_moment(window.end)}"


def _moment(ns: int) -> str:
    try:
        return datetime.datetime.fromtimestamp(ns // 10**9, datetime.UTC).strftime(
            "%Y-%m-%d %H:%M:%S UTC"
        )
    except (OverflowError, ValueError, OSError):
        return f"{ns // 10**9} seconds after 1970"
