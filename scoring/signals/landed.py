"""landed: did the iteration's work survive to the trunk (``docs/EVIDENCE.md``, "Landing")."""

from collections.abc import Iterator

from rubric import SignalID
from scoring.evidence.facts import IterationFacts
from scoring.evidence.git import facts as git
from scoring.evidence.git.facts import Landing, Unknown
from scoring.log.load import EntryPlaces
from scoring.log.model import IterationRecord
from scoring.signals.signal import Pair, Signal, named_fields
from scoring.signals.values import (
    ROLE_IMPL,
    SignalValue,
    absent_signal,
    claim_signal,
    present_signal,
)
from scoring.text import lower, short, trim

LANDED = SignalID("landed")

_DECISIONS = {"accept": 1.0, "reject": 0.0, "escalate": 0.5}

_UNKNOWN = {
    Unknown.NO_COMMIT: "no commit SHA on iteration entry",
    Unknown.NO_TRUNK: "no trunk: {trunk.how}",
    Unknown.UNRESOLVED: "commit SHA {field} does not resolve and no message match",
    Unknown.SHALLOW: "history is shallow: commit {sha} may have landed on {trunk.name} before it begins",
    Unknown.HISTORY: "cannot read the history of commit {sha}",
    Unknown.MERGE: "commit {sha} is a merge commit off {trunk.name}",
    Unknown.FILES: "cannot read changed files for {sha}",
    Unknown.NO_CHANGE: "commit {sha} is off {trunk.name} and changes nothing",
    Unknown.OBJECTS: "cannot tell whether commit {sha} landed on {trunk.name}: objects are missing",
    Unknown.PART: "commit {sha} is part of {whole} on {trunk.name}, where {lines} lines are",
    Unknown.NOT_FOUND: "commit {sha} not found on {trunk.name}: {lines} lines are there",
    Unknown.ELSEWHERE: "commit {sha} not found on {trunk.name}: {lines} lines are there, half in other files",
    Unknown.TOO_YOUNG: "commit {sha} not found on {trunk.name}: {lines} lines are there, and it is not 14 days old",
    Unknown.ALIKE: "commit {sha} not found on {trunk.name}: {lines} lines are there, but its subject is",
    Unknown.NO_LINES: "commit {sha} not found on {trunk.name}, and it adds no lines to look for",
    Unknown.LARGE: "commit {sha} not found on {trunk.name}, and it adds too many lines to look for",
    Unknown.LONG: "commit {sha} not found on {trunk.name}, and too many commits came after it to look through",
}
_FOUND_BY = {
    git.ANCESTOR: "commit {sha} is an ancestor of {trunk}{merged}",
    git.PATCH_ID: "commit {sha} landed on {trunk} in {commit} with the same patch id",
    git.SQUASH: "commit {sha} landed on {trunk} in {commit} as a squash of its branch side",
    git.MERGE_TREE: "commit {sha} landed on {trunk}: merging it would change nothing",
    git.LATER_ANCESTOR: "commit {sha} landed on {trunk}{where}: it is an ancestor of {tip}",
    git.SUBJECT: "commit {sha} landed on {trunk} in {commit} with the same subject and {common}",
    git.NAMED: "commit {sha} landed on {trunk} in {commit}, which names it, with {lines}",
    git.PULL_REQUEST: "commit {sha} landed on {trunk} in {commit} as part of {request}, with {lines}",
    git.NUMBERED: "commit {sha} landed on {trunk} in {commit} with the same subject and {request}, and {lines}",
    git.LISTED: "commit {sha} landed on {trunk} in {commit}, which lists its subject, with {lines}",
    git.LINES: "commit {sha} landed on {trunk} in {commit} by lines: {lines}",
    git.MESSAGE: "unresolved SHA {field}; {trunk} has {commit} with the summary as its subject",
    git.NOT_LANDED: "commit {sha} did not land on {trunk}: not found by ancestry, patch id, squash, merge, "
    "later commit, branch or subject{untried}",
}
_NOT_THERE = "commit {sha} did not land on {trunk}: none of its {lines} lines is there after 14 days{untried}"


class Landed(Signal):
    """Whether the commit is on the trunk, and stayed there."""

    id = LANDED
    better = "the commit is on the trunk and stays there"
    supply = "name the commit in the entry, as one that this repository has"

    def value(self, facts: IterationFacts) -> SignalValue:
        """Return what git observed; a commit counts for one iteration."""
        return counted_before(facts) or landed_value(facts.landing)

    def pairs(self, facts: IterationFacts) -> Iterator[Pair]:
        """Compare what agent and reviewer claimed with what git observed."""
        yield ROLE_IMPL, landed_claim(facts.record), self.value(facts)

    def advice(self, present: bool, facts: IterationFacts) -> str:
        """Return what would raise the score: where git cannot say, what it lacks."""
        return self.better if present else missing_commit(facts)

    def named(self, label: str, facts: IterationFacts) -> str:
        """Return its label with the name of the trunk that is here."""
        return label.replace("master", facts.trunk.name) if facts.trunk.commit else label

    def sources(self, facts: IterationFacts, entry: EntryPlaces | None) -> Iterator[str]:
        """Yield the commit, and the summary that is looked for where there is none."""
        yield from commit_source(facts.landing, entry)
        if facts.landing.sha is None:
            yield from named_fields(entry, "impl.summary", "summary")


def missing_commit(facts: IterationFacts) -> str:
    """Return what lets git say whether the work landed and what it changed, where it cannot."""
    if facts.counted_for is not None:
        return f"name a commit of its own in the entry, if there is one beside that of iteration {facts.counted_for}"
    unknown = facts.landing.unknown or facts.changed.unknown
    if unknown is Unknown.NO_TRUNK and facts.landing.rules == "reference":
        return "score under a rubric that finds the trunk: 3.1.0"
    return _SUPPLY.get(unknown, Landed.supply) if unknown else Landed.supply


_FETCH = "fetch the objects that are missing: git fetch --refetch --no-filter"
_FETCH_HEADS = "fetch the heads of pull requests: git fetch origin '+refs/pull/*/head:refs/remotes/origin/pr/*'"
_SUPPLY = dict.fromkeys((Unknown.HISTORY, Unknown.FILES, Unknown.OBJECTS), _FETCH) | {
    Unknown.NO_TRUNK: "name the branch on which work lands with --trunk",
    Unknown.UNRESOLVED: "fetch the commit, or name in the entry what it became when it was rewritten",
    Unknown.SHALLOW: "fetch the whole history: git fetch --unshallow",
    Unknown.MERGE: "name a commit that is no merge, or merge this one into the trunk",
    Unknown.NO_CHANGE: "name the commit that holds the work",
    Unknown.TOO_YOUNG: "score it again when it has landed, or is 14 days old",
}
_SUPPLY |= dict.fromkeys((Unknown.NOT_FOUND, Unknown.ELSEWHERE, Unknown.ALIKE), _FETCH_HEADS)
_SUPPLY |= dict.fromkeys(
    (Unknown.PART, Unknown.NO_LINES, Unknown.LARGE, Unknown.LONG),
    "name the trunk commit that holds the work",
)


def counted_before(facts: IterationFacts) -> SignalValue | None:
    """Return the absence of what rests on a commit that counts for an earlier iteration; None when it counts here."""
    if facts.counted_for is None:
        return None
    what = "commit already counted for iteration"
    return absent_signal(f"{what} {facts.counted_for}", f"{what} N")


def commit_source(landing: Landing, entry: EntryPlaces | None) -> Iterator[str]:
    """Yield the commit of an iteration and where the entry names it; nothing where it names none."""
    if landing.field:
        sha = f"commit {short(landing.sha)}" if landing.sha else None
        said = sha or f"commit {short(landing.field)}, which is not in this repository"
        place = entry.place("commit") if entry else None
        yield f"{said}, named at {place}" if place else said


def landed_value(landing: Landing) -> SignalValue:
    """Judge what git says of the landing: 1 landed, 0 reverted or not there, absent when it is unknown."""
    if landing.unknown:
        why = _UNKNOWN[landing.unknown]
        if (
            landing.unknown is Unknown.UNRESOLVED
            and landing.trunk.shallow
            and landing.rules == "attributed"
        ):
            why += "; history is shallow"
        whole = f"#{landing.request}" if landing.request else short(landing.part_of or "")
        lines = "{} of {}".format(*landing.lines or (0, 0))
        sha = short(landing.sha or "")
        detail = why.format(
            field=short(landing.field), sha=sha, trunk=landing.trunk, whole=whole, lines=lines
        )
        return absent_signal(
            detail, why.format(field="…", sha="…", trunk=landing.trunk, whole="…", lines="K of N")
        )
    landed = 1 if landing.landed and not landing.reverted_by else 0
    return present_signal(
        landed, _reference_words(landing) if landing.rules == "reference" else _words(landing)
    )


def _reference_words(landing: Landing) -> str:
    trunk, by = landing.trunk.name, short(landing.reverted_by or "")
    if landing.found_by == git.MESSAGE:
        found = (
            f"unresolved SHA {short(landing.field)}; message-matched {short(landing.commit or '')}"
        )
        return f"{found}, later reverted by {by}" if by else f"{found} reachable from {trunk}"
    commit = f"commit {short(landing.sha or '')}"
    if landing.found_by == git.NOT_LANDED:
        return f"{commit} not reachable from {trunk}"
    return (
        f"{commit} reachable but reverted by {by}"
        if by
        else f"{commit} reachable from {trunk}, not reverted"
    )


def _words(landing: Landing) -> str:
    commit, tip = short(landing.commit or ""), landing.tip
    speaker = (
        f"branch {tip.branch}"
        if tip and tip.branch
        else f"iteration {tip.iteration}'s commit"
        if tip
        else ""
    )
    there, of = landing.lines or (0, 0)
    own = f"{there} of its {of} {'removed ' if landing.removed else ''}lines"
    not_there = _NOT_THERE if of and landing.found_by == git.NOT_LANDED else ""
    common = f"{landing.common_files} common file{'s' if landing.common_files > 1 else ''}"
    too_old = f"git {'.'.join(map(str, landing.old_git or ()))} is older than {'.'.join(map(str, git.MERGE_GIT))}"
    found = (not_there or _FOUND_BY[landing.found_by]).format(
        field=short(landing.field),
        sha=short(landing.sha or ""),
        trunk=landing.trunk.name,
        commit=commit,
        merged=f", merged in {short(landing.merged_in)}" if landing.merged_in else "",
        where=f" in {commit}" if commit else "",
        tip=f"{speaker} {short(tip.sha)}, found by {tip.method}" if tip else "",
        common=common if landing.common_files else own,
        lines=of if not_there else own,
        request=f"#{landing.request}" if landing.request else "",
        untried=f" (no merge tried: {too_old})" if landing.old_git else "",
    )
    if landing.found_by == git.NOT_LANDED:
        return found
    return (
        f"{found}, but reverted by {short(landing.reverted_by)}"
        if landing.reverted_by
        else f"{found}, not reverted"
    )


def landed_claim(record: IterationRecord) -> SignalValue:
    """Read what the agent and the reviewer said of the landing: the mean of what there is."""
    said: list[tuple[float, str]] = []
    persisted = lower(trim(record.impl.self_assessment.persisted_via_workflow_commands))
    if persisted:
        yes = "yes" in persisted
        said.append((float(yes), f"persisted_via_workflow_commands: {'yes' if yes else 'no'}"))
    decision = lower(trim(record.review.overall_decision))
    if decision in _DECISIONS:
        said.append((_DECISIONS[decision], f"review: {decision}"))
    if not said:
        return absent_signal("no persisted-via-workflow note and no review decision")
    return claim_signal(
        sum(vote for vote, _ in said) / len(said), "; ".join(text for _, text in said)
    )
