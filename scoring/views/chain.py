"""The author of the work: the chain from the commit of an iteration to the lines of transcripts that count for it.

``docs/EVIDENCE.md``, "Attribution", says how lines are found.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec.structs import asdict

from scoring.evidence.facts import IterationFacts
from scoring.evidence.transcripts.facts import Method, Observed
from scoring.sidecars.provenance import OwnLines
from scoring.text import counted, cut, short

_METHODS: dict[Method, str] = {
    "checkpoint": "by checkpoint: its commit names the checkpoints that hold them",
    "shared": "by checkpoint: its commit names one that an earlier iteration names too, and that cannot be cut",
    "commit": "by commit: a session made the commit",
    "session": "by session: the entry names it",
    "time": "by time: one session alone has lines that are left in the window",
}
_MOST_LISTED = 5
_LONGEST_NAME = 200


def chain_lines(facts: IterationFacts, kept: OwnLines | None) -> Iterator[str]:
    """Yield the chain in words; nothing where lines are not attributed, and no sidecar says that they were.

    ``kept`` is what was known when the sidecar was written, for lines that are not found any more.
    """
    observed, landing, was = facts.observed, facts.landing, []
    if kept and kept.method:
        was.append(f"when the sidecar was written, {_named('session', kept.sessions)}, found by {kept.method}")
    if observed is None:
        yield from was
        return
    if landing.sha:
        fate = ""
        if landing.reverted_by:
            fate = f", taken back by {short(landing.reverted_by)}"
        elif landing.landed and landing.commit and landing.commit != landing.sha:
            fate = f", on the trunk as {short(landing.commit)}"
        names = f", names {_named('checkpoint', observed.checkpoints)}" if observed.checkpoints else ""
        yield f"commit {short(landing.sha)}{fate}{names}"
    elif landing.field:
        yield f"commit {cut(landing.field, _LONGEST_NAME)}, which is not here"
    if facts.counted_for is not None:
        yield f"the commit counts for iteration {facts.counted_for}, which names it too"
    if observed.method is None:
        yield f"no line of a transcript: {observed.problem or 'no session found for this iteration'}"
        yield from was
        return
    if observed.checkpoint_tokens:
        yield "no transcript is here; the tokens are totals that its checkpoint states"
    else:
        yield f"lines found {_METHODS[observed.method]}"
    if observed.problem:
        yield f"but: {observed.problem}"
    if observed.shared_with is not None:
        yield f"shared with iteration {observed.shared_with}, for which every line of them counts"
    yield _named("session", observed.sessions)
    for found in observed.lines[:_MOST_LISTED]:
        last = f" to {found.last}" if found.total > 1 else ""
        yield f"{counted(found.total, 'line')}, {found.path}:{found.first}{last}"
    if more := observed.lines[_MOST_LISTED:]:
        yield f"and {sum(found.total for found in more)} lines in {len(more)} more transcripts"
    yield from (f"{what} at {path}:{line}" for what, path, line, _ in observed.seen)
    yield from _work(observed)


def _work(observed: Observed) -> Iterator[str]:
    """Yield how the work went, as far as that was seen; none of it votes."""
    work = observed.work
    parts = []
    if work.edits:
        most = f", {work.most} of one" if work.files > 1 and work.most > 1 else ""
        parts.append(f"{counted(work.edits, 'edit')} of {counted(work.files, 'file')}{most}")
    if work.agents:
        parts.append(f"{counted(work.agents, 'sub-agent')} started")
    if work.compactions:
        parts.append(f"context compacted {counted(work.compactions, 'time')}")
    if parts:
        yield "; ".join(parts)
    if observed.by_people is not None:
        yield f"people wrote or changed {observed.by_people * 100:.0f} % of its lines, as its checkpoints say"


def _named(what: str, names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_LISTED} more" if len(names) > _MOST_LISTED else ""
    listed = ", ".join(cut(name, _LONGEST_NAME) for name in names[:_MOST_LISTED])
    return f"{what}{'' if len(names) == 1 else 's'} {listed or 'unknown'}{more}"


def chain_payload(facts: IterationFacts) -> dict[str, Any] | None:
    """Return the chain as data; None where lines are not attributed."""
    observed = facts.observed
    if observed is None:
        return None
    return {
        "method": observed.method,
        "sessions": list(observed.sessions),
        "problem": observed.problem or None,
        "commit": facts.landing.sha,
        "landed_as": facts.landing.commit,
        "counted_for": facts.counted_for,
        "shared_with": observed.shared_with,
        "checkpoints": list(observed.checkpoints),
        "checkpoint_tokens": observed.checkpoint_tokens,
        "lines": [found._asdict() | {"path": str(found.path)} for found in observed.lines],
        "seen": [seen._asdict() | {"path": str(seen.path)} for seen in observed.seen],
        "work": asdict(observed.work),
        "by_people": observed.by_people,
    }


def kept_payload(kept: OwnLines | None) -> dict[str, Any] | None:
    """Return what a sidecar's evidence file says of the chain; None where it says nothing."""
    return {"method": kept.method, "sessions": list(kept.sessions)} if kept else None
