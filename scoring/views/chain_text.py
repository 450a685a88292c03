"""Whose work an iteration is, and what its agent said of it, in words."""

from collections.abc import Iterator, Sequence

from scoring.evidence.facts import IterationFacts
from scoring.evidence.transcripts.facts import NS
from scoring.evidence.transcripts.observed_facts import ClaimResult, Method, Observed
from scoring.sidecars.provenance import OwnLines
from scoring.text import counted, cut, short, some_of

LONGEST_NAME = 200  # characters of a name that are shown

_MOST_LISTED = 5  # sessions or transcripts

_METHODS: dict[Method | None, str] = {
    "checkpoint": "by checkpoint: the commit names a checkpoint, and that names the session",
    "shared": "with an earlier iteration: no edit is in the lines between the two commits",
    "commit": "by commit: a session made the commit",
    "session": "by session: the entry names it",
    "time": "by time: one session alone has lines that are left in the window",
}
_RESULTS: dict[ClaimResult | None, str] = {
    "confirmed": "the last run before it passed",
    "no run": "no run was observed before it",
    "last run failed": "the last run before it failed",
    None: "there is no verdict to compare it with",
}


def chain_lines(facts: IterationFacts, kept: OwnLines | None) -> Iterator[str]:
    """Yield how the work leads from the commit to the lines of transcripts.

    Args:
        facts: the iteration. Under rules that do not attribute lines, nothing is yielded of them.
        kept: what the evidence file of the sidecar says of its lines.
    """
    observed = facts.observed
    if observed is None:
        yield from _kept_lines(kept)
        return

    yield from _commit_lines(facts, observed)
    if observed.method is None:
        problem = observed.problem or "no session found for this iteration"
        yield f"no line of a transcript: {problem}"
        yield from _kept_lines(kept)
        return

    yield from _session_lines(observed)
    yield from _transcript_lines(observed)
    work = "; ".join(_work_parts(observed))
    if work:
        yield work
    yield from _authorship_lines(facts, observed)


def _kept_lines(kept: OwnLines | None) -> Iterator[str]:
    if kept and kept.method:
        sessions = _named("session", kept.sessions)
        yield f"when the sidecar was written, {sessions}, found by {kept.method}"


def _commit_lines(facts: IterationFacts, observed: Observed) -> Iterator[str]:
    landing = facts.landing
    if landing.sha:
        text = f"commit {short(landing.sha)}"
        if landing.reverted_by:
            text += f", reverted by {short(landing.reverted_by)}"
        elif landing.taken_back_by:
            text += f", taken back by {short(landing.taken_back_by)}"
        elif landing.landed and landing.commit and landing.commit != landing.sha:
            text += f", on the trunk as {short(landing.commit)}"
        if observed.checkpoints:
            text += f", names {_named('checkpoint', observed.checkpoints)}"
        yield text
    elif landing.field:
        yield f"commit {cut(landing.field, LONGEST_NAME)}, which is not here"

    if facts.counted_for is not None:
        yield f"the commit counts for iteration {facts.counted_for}, which names it too"


def _session_lines(observed: Observed) -> Iterator[str]:
    """Yield how the sessions were found, and which they are."""
    if observed.checkpoint_tokens:
        problem = observed.problem or "no transcript is here"
        yield f"{problem}; the tokens are totals that its checkpoint states"
    else:
        yield f"transcript lines found {_METHODS[observed.method]}"
        if observed.problem:
            yield f"but: {observed.problem}"

    if observed.shared_with is not None:
        yield (
            f"shared with iteration {observed.shared_with}, for which the tokens of that part count"
        )
    yield _named("session", observed.sessions)
    if observed.also_active:
        yield f"also active, and not counted here: {_named('session', observed.also_active)}"


def _transcript_lines(observed: Observed) -> Iterator[str]:
    """Yield which lines of transcripts belong to the iteration, and where things are in them."""
    for lines in observed.lines[:_MOST_LISTED]:
        to_last = f" to {lines.last}" if lines.total > 1 else ""
        yield f"{counted(lines.total, 'line')}, {lines.path}:{lines.first}{to_last}"

    more = observed.lines[_MOST_LISTED:]
    if more:
        total = sum(lines.total for lines in more)
        yield f"and {total} lines in {counted(len(more), 'more transcript')}"

    if observed.elsewhere and observed.shared_with is None:
        yield (
            f"the tokens and turns of {observed.elsewhere} of these lines "
            "count for another unit of work"
        )
    for sighting in observed.seen:
        yield f"{sighting.what} at {sighting.path}:{sighting.line}"


def _work_parts(observed: Observed) -> Iterator[str]:
    """Yield how the work went: edits, sub-agents, reviews, compactions."""
    work = observed.work
    if work.edits:
        text = f"{counted(work.edits, 'edit')} in {counted(work.files, 'file')}"
        if work.files > 1 and work.most > 1:
            text += f", {work.most} of them in the same file"
        yield text
    if work.agents:
        text = f"{counted(work.agents, 'sub-agent')} started"
        if work.missing:
            without = counted(work.missing, "of them has", "of them have")
            text += f" ({without} no transcript here, so that work is not counted)"
        yield text
    if observed.tests.reviewing:
        runs = counted(observed.tests.reviewing, "test run")
        yield f"{runs} by sub-agents that edited no code, left out of the score"
    if work.compactions:
        yield f"context compacted {counted(work.compactions, 'time')}"


def _authorship_lines(facts: IterationFacts, observed: Observed) -> Iterator[str]:
    """Yield what is known of who wrote the lines of the commit."""
    minutes = 0
    if facts.window and facts.transcripts and facts.transcripts.ended:
        minutes = (facts.window.end - facts.transcripts.ended) // (60 * NS)
    work = observed.work
    shows_commit = any(sighting.kind == "commit" for sighting in observed.seen)
    if minutes > 0 and not (work.edits or work.agents or observed.by_agents or shows_commit):
        yield (
            "no edit tool was used in these lines, "
            f"which end {counted(minutes, 'minute')} before the commit"
        )
    if observed.by_agents is not None:
        percent = int(observed.by_agents * 100)
        yield f"agents wrote at least {percent} % of the lines that its commit adds"


def claim_lines(facts: IterationFacts) -> Iterator[str]:
    """Yield what the agent said of its tests, as far as its transcript lines are known."""
    observed = facts.observed
    if not observed or not observed.method or observed.checkpoint_tokens:
        return

    for claim in observed.claims:
        yield f"in words, that tests pass, at {claim.where}: {_RESULTS[claim.result]}"
    if not observed.claims:
        yield (
            "in words: no claims found in the last message before the commit, "
            "nor in the one that reports it"
        )


def _named(what: str, names: Sequence[str]) -> str:
    """Return names with what they are, as ``sessions a, b and 3 more``."""
    listed = some_of([cut(name, LONGEST_NAME) for name in names], _MOST_LISTED)
    return f"{what}{'' if len(names) == 1 else 's'} {listed or 'unknown'}"
