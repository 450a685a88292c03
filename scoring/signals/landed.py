"""Whether the iteration's work survived to the trunk.

Rules: ``docs/OUTCOME_SCORING_RUBRIC.md``, "landed", and ``docs/EVIDENCE.md``, "Landing".
"""

from collections.abc import Iterator

from rubric import SignalID
from scoring.evidence.facts import IterationFacts
from scoring.evidence.git.facts import Landing, Unknown
from scoring.log.load import EntryPlaces
from scoring.log.model import IterationRecord
from scoring.signals.landing_words import (
    observed_detail,
    reference_detail,
    unknown_detail,
    unknown_reason,
)
from scoring.signals.signal import Pair, Signal, named_fields
from scoring.signals.values import (
    ROLE_IMPL,
    SignalValue,
    absent_for,
    absent_signal,
    claim_signal,
    present_signal,
)
from scoring.text import lower, short, trim

LANDED = SignalID("landed")

_SUB_SCORES_OF_DECISIONS = {"accept": 1.0, "reject": 0.0, "escalate": 0.5}

_FETCH = "fetch the objects that are missing: git fetch --refetch --no-filter"
_FETCH_HEADS = (
    "fetch the heads of pull requests:"
    " git fetch origin '+refs/pull/*/head:refs/remotes/origin/pr/*'"
)
_NAME_TRUNK_COMMIT = "name the trunk commit that holds the work"

_SUPPLY = {
    Unknown.HISTORY: _FETCH,
    Unknown.FILES: _FETCH,
    Unknown.OBJECTS: _FETCH,
    Unknown.NO_TRUNK: "name the branch on which work lands with --trunk",
    Unknown.UNRESOLVED: (
        "fetch the commit, or name in the entry what it became when it was rewritten"
    ),
    Unknown.SHALLOW: "fetch the whole history: git fetch --unshallow",
    Unknown.HELD: "name the branch on which work lands with --trunk",
    Unknown.HELD_IN_PART: "name the branch on which work lands with --trunk",
    Unknown.MERGE: "name a commit that is no merge, or merge this one into the trunk",
    Unknown.NO_CHANGE: "name the commit that holds the work",
    Unknown.TOO_YOUNG: "score it again when it has landed, or is 14 days old",
    Unknown.NOT_FOUND: _FETCH_HEADS,
    Unknown.ELSEWHERE: _FETCH_HEADS,
    Unknown.ALIKE: _FETCH_HEADS,
    Unknown.PART: _NAME_TRUNK_COMMIT,
    Unknown.NO_LINES: _NAME_TRUNK_COMMIT,
    Unknown.LARGE: _NAME_TRUNK_COMMIT,
    Unknown.LONG: _NAME_TRUNK_COMMIT,
}


class Landed(Signal):
    """Whether the commit is on the trunk, and stayed there."""

    id = LANDED
    better = "the commit is on the trunk and stays there"
    supply = "name the commit in the entry, as one that this repository has"

    def value(self, facts: IterationFacts) -> SignalValue:
        """Return what git observed.

        A commit counts for one iteration.
        """
        return counted_before(facts) or landed_value(facts.landing)

    def pairs(self, facts: IterationFacts) -> Iterator[Pair]:
        """Compare what agent and reviewer claimed with what git observed."""
        yield Pair(ROLE_IMPL, landed_claim(facts.record), self.value(facts))

    def advice(self, present: bool, facts: IterationFacts) -> str:
        """Return what would raise the score, or what git lacks to know."""
        if present:
            return self.better
        return missing_commit(facts)

    def named(self, label: str, facts: IterationFacts) -> str:
        """Return its label with the name of the repository's trunk."""
        if facts.trunk.commit is None:
            return label
        return label.replace("master", facts.trunk.name)

    def sources(self, facts: IterationFacts, entry: EntryPlaces | None) -> Iterator[str]:
        """Yield the commit, and the summary that is looked for without a commit."""
        yield from commit_source(facts.landing, entry)
        if facts.landing.sha is None:
            yield from named_fields(entry, "impl.summary", "summary")


def missing_commit(facts: IterationFacts) -> str:
    """Return what would let git say whether the work landed and what it changed."""
    if facts.counted_for is not None:
        other = f"that of iteration {facts.counted_for}"
        return f"name a commit of its own in the entry, if there is one besides {other}"

    unknown = facts.landing.unknown or facts.changed.unknown
    if unknown is Unknown.NO_TRUNK and facts.landing.rules == "reference":
        return "score under a rubric that finds the trunk: 3.1.0"
    if unknown is None:
        return Landed.supply
    return _SUPPLY.get(unknown, Landed.supply)


def counted_before(facts: IterationFacts) -> SignalValue | None:
    """Return the absent value of an iteration if its commit counts for an earlier one.

    None when the commit counts here.
    """
    if facts.counted_for is None:
        return None
    return absent_for("commit already counted for iteration {n}", n=facts.counted_for)


def commit_source(landing: Landing, entry: EntryPlaces | None) -> Iterator[str]:
    """Yield the commit that an entry names, and where it names it.

    Nothing without one.
    """
    if not landing.field:
        return

    commit = f"commit {short(landing.field)}, which is not in this repository"
    if landing.sha:
        commit = f"commit {short(landing.sha)}"

    line = entry and entry.place("commit")
    if line:
        commit += f", named at {line}"
    yield commit


def landed_value(landing: Landing) -> SignalValue:
    """Judge the landing: 1 landed, 0 reverted or not on the trunk, absent when it is unknown."""
    if landing.unknown:
        detail = unknown_detail(landing, landing.unknown)
        return absent_signal(detail, unknown_reason(landing, landing.unknown))

    stayed = landing.landed and not landing.undone_by
    in_words = reference_detail if landing.rules == "reference" else observed_detail
    return present_signal(int(stayed), in_words(landing))


def landed_claim(record: IterationRecord) -> SignalValue:
    """Read what the agent and the reviewer said of the landing: the mean of what there is."""
    votes: list[float] = []
    details: list[str] = []

    persisted = lower(trim(record.impl.self_assessment.persisted_via_workflow_commands))
    if persisted:
        yes = "yes" in persisted
        votes.append(float(yes))
        details.append(f"persisted_via_workflow_commands: {'yes' if yes else 'no'}")

    decision = lower(trim(record.review.overall_decision))
    if decision in _SUB_SCORES_OF_DECISIONS:
        votes.append(_SUB_SCORES_OF_DECISIONS[decision])
        details.append(f"review: {decision}")

    if not votes:
        return absent_signal("no persisted-via-workflow note and no review decision")
    return claim_signal(sum(votes) / len(votes), "; ".join(details))
