"""Where the signals of one iteration come from, in numbers: what ``iter-N.evidence.yaml`` keeps (contract section 10).

Harnesses delete their transcripts after some weeks, and histories are rewritten. A score that is computed anew then
differs, and only this can tell whether evidence was lost or has changed. It never holds a word of a conversation.
"""

from dataclasses import dataclass

from scoring.evidence.transcripts.facts import HarnessFacts


@dataclass(frozen=True, slots=True)
class Origin:
    """What the transcript and git signals of one iteration were computed from.

    ``start`` and ``end`` bound its window, in nanoseconds since 1970, UTC: ``start`` is None where the window is open,
    both are where there is none. ``trunk_commit`` is None when there is no such branch, ``landed`` is the method that
    found the work landed or not (:class:`~scoring.evidence.git.facts.Landing`), "" when it could not be told.
    """

    iteration: int
    start: int | None = None
    end: int | None = None
    trunk_ref: str = ""
    trunk_commit: str | None = None
    landed: str = ""
    harnesses: tuple[HarnessFacts, ...] = ()


@dataclass(frozen=True, slots=True)
class Loss:
    """One thing that stood in the evidence of an old score and is missing now; ``signal`` is whose it was."""

    signal: str
    what: str


def lost_between(old: Origin, new: Origin) -> list[Loss]:
    """Return what of the old evidence is missing in the new: turns, tool calls, or the landing.

    Counts compare only within one window: when a commit was rewritten its window is another one, and fewer turns in it
    are changed evidence. A landing is lost when it was told once and cannot be told any more.
    """
    lost = []
    if (old.start, old.end) == (new.start, new.end) or new.end is None:
        now = {facts.name: facts for facts in new.harnesses}
        for facts in old.harnesses:
            left = now.get(facts.name, HarnessFacts(facts.name))
            if left.turns < facts.turns:
                lost.append(Loss("token_efficiency", f"{left.turns} of {facts.turns} {facts.name} turns are left"))
            if left.tool_calls < facts.tool_calls:
                what = f"{left.tool_calls} of {facts.tool_calls} {facts.name} tool calls are left"
                lost.append(Loss("correction_pressure", what))
    if old.landed and not new.landed:
        lost.append(Loss("landed", f"it was told by {old.landed} and cannot be told any more"))
    return lost


def changed_between(old: Origin, new: Origin) -> list[str]:
    """Return in words what differs between two origins of one iteration, lost evidence included."""
    told = []
    if (old.start, old.end) != (new.start, new.end):
        told.append("its window moved")
    if old.trunk_ref != new.trunk_ref:
        told.append(f"the trunk is {new.trunk_ref}, and was {old.trunk_ref}")
    if old.landed != new.landed:
        told.append(f"landed is told by {new.landed or 'nothing'}, and was by {old.landed or 'nothing'}")
    before, after = ({facts.name: facts for facts in origin.harnesses} for origin in (old, new))
    for name in sorted(before.keys() | after.keys()):
        was, now = before.get(name, HarnessFacts(name)), after.get(name, HarnessFacts(name))
        if (was.turns, was.tool_calls) != (now.turns, now.tool_calls):
            calls = f"{was.tool_calls} → {now.tool_calls} tool calls"
            told.append(f"{name}: {was.turns} → {now.turns} turns, {calls}")
        elif _kept(was) != _kept(now):
            told.append(f"{name}: other numbers in as many turns and calls")
    return told


def _kept(facts: HarnessFacts) -> tuple[object, ...]:
    """Return what is compared: not how the numbers are spread over files, nor how often they were repeated."""
    tokens = (facts.input_tokens, facts.output_tokens, facts.cache_read_tokens, facts.cache_creation_tokens)
    return (*tokens, facts.tool_errors)
