"""Gates on what scores are made from: claims, commits and sidecars."""

from collections.abc import Iterator

from scoring.evidence.git.facts import Unknown
from scoring.examine import ExaminedIteration
from scoring.sidecars.states import CURRENT
from scoring.signals.values import SignalValue
from scoring.text import cut, printable
from scoring.views.gates.gate import Gate, GateOption


def _over_claims(_: bool, iteration: ExaminedIteration) -> Iterator[str]:
    for pair in iteration.signals.integrity:
        if pair.delta < 0:
            claim = f"claimed {_side(pair.claimed)}, observed {_side(pair.observed)}"
            advice = "do what was claimed, or correct the claim in the entry"
            yield f"{pair.role} over-claimed {pair.signal}: {claim}; {advice}"


def _side(value: SignalValue) -> str:
    return f"{value.sub_score:.2f} ({value.detail})"


NO_OVER_CLAIMS = Gate(
    options=(GateOption("no-over-claims", "No claim is above what was observed."),),
    reasons=_over_claims,
    looks_at=lambda _, iteration: any(pair.comparable for pair in iteration.signals.integrity),
    nothing_found="no iteration has both a claim and an observation to compare",
    forbids=True,
)


def _unresolved(_: bool, iteration: ExaminedIteration) -> Iterator[str]:
    landing = iteration.facts.landing
    is_missing = landing.sha is None and landing.commit is None
    if landing.field and is_missing and not iteration.record.known_from:
        missing = f"commit {cut(printable(landing.field), 80)} is not in this repository"
        yield f"{missing}; fetch it, or name in the entry the commit that it became"


def _without_commit(_: bool, iteration: ExaminedIteration) -> Iterator[str]:
    no_commit = iteration.facts.landing.unknown is Unknown.NO_COMMIT
    if no_commit and not iteration.record.known_from:
        yield "names no commit"


NO_UNRESOLVED_COMMITS = Gate(
    options=(GateOption("no-unresolved-commits", "Every commit that an entry names is here."),),
    reasons=_unresolved,
    looks_at=lambda _, iteration: bool(iteration.facts.landing.field),
    nothing_found="no iteration names a commit",
    notes=_without_commit,
)


def _stale(_: bool, iteration: ExaminedIteration) -> Iterator[str]:
    state = iteration.state
    if state.name != "stale" or state.says_more:  # one that says more fails without this gate
        return
    command = f"da-score iteration {iteration.record.iteration} --recompute"
    yield f"its sidecar is {state}; '{command}' brings it up to date"


NO_STALE = Gate(
    options=(GateOption("no-stale", "No sidecar differs from what the evidence gives."),),
    reasons=_stale,
    looks_at=lambda _, iteration: iteration.origin == "sidecar" or iteration.state != CURRENT,
    nothing_found="no iteration has a sidecar",
)


def _unverified(_: bool, iteration: ExaminedIteration) -> Iterator[str]:
    if iteration.state.name == "unverified":
        advice = "bring that evidence back, or let 'da-score run' score without it"
        yield f"its sidecar is {iteration.state}; {advice}"


REQUIRE_VERIFIED = NO_STALE._replace(
    options=(GateOption("require-verified", "Every sidecar's evidence is here."),),
    reasons=_unverified,
)
