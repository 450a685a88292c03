"""Gates on what scores rest on: coverage, the lower bound, commits that are here, and sidecars that still hold."""

from collections.abc import Iterator

from rubric.scorer import TOLERANCE
from scoring.evidence.git.facts import Unknown
from scoring.text import cut, printable
from scoring.views.examined import Examined
from scoring.views.gates.gate import Gate, GateOption


def _below_coverage(least: float, one: Examined) -> Iterator[str]:
    coverage = one.score.coverage  # 0 without a score
    if coverage.weight < least - TOLERANCE:
        absent = ", ".join(row.signal for row in one.score.breakdown if row.applicable and not row.present)
        yield f"rests on {coverage}, which is below {least * 100:.1f} %; absent: {absent}"


def _below_low(least: float, one: Examined) -> Iterator[str]:
    low = one.score.bounds.low  # 0 without a score
    if low < least - TOLERANCE:
        yield f"its lower bound {low:.3f} is below {least:g}; it rests on {one.score.coverage}"


def _unresolved(_: bool, one: Examined) -> Iterator[str]:
    landing = one.facts.landing
    if landing.field and landing.sha is None and landing.commit is None:  # neither by its id nor by its subject
        yield f"commit {cut(printable(landing.field), 80)} is not in this repository"


def _without_commit(_: bool, one: Examined) -> Iterator[str]:
    if one.facts.landing.unknown is Unknown.NO_COMMIT:
        yield "names no commit"


def _stale(_: bool, one: Examined) -> Iterator[str]:
    if one.state.name == "stale" and not one.state.says_more:  # one that says more fails anyway
        number = one.record.iteration
        yield f"its sidecar is {one.state}; 'da-score iteration {number} --recompute' brings it up to date"


def _unverified(_: bool, one: Examined) -> Iterator[str]:
    if one.state.name == "unverified":
        yield f"its sidecar is {one.state}"


MIN_COVERAGE = Gate(
    (GateOption("min-coverage", "Every score rests on at least X of the weight.", "X", "share"),), _below_coverage
)
MIN_LOW = Gate((GateOption("min-low", "Every score's lower bound is at least X.", "X", "share"),), _below_low)
NO_UNRESOLVED_COMMITS = Gate(
    (GateOption("no-unresolved-commits", "Every commit that an entry names is here."),),
    _unresolved,
    notes=_without_commit,
)
NO_STALE = Gate((GateOption("no-stale", "No sidecar differs from what the evidence gives."),), _stale)
REQUIRE_VERIFIED = Gate((GateOption("require-verified", "Every sidecar's evidence is here."),), _unverified)
