"""Gates on what scores rest on: coverage, the lower bound, commits that are here, and sidecars that still stand."""

from collections.abc import Iterator

from rubric.scorer import TOLERANCE
from scoring.evidence.git.facts import Unknown
from scoring.text import cut, printable
from scoring.views.examined import Examined
from scoring.views.gates.gate import Gate, GateOption

_LONGEST = 80


class MinCoverage(Gate):
    """Every score rests on at least a share of the rubric's weight."""

    options = (GateOption("min-coverage", "Every score rests on at least X of the weight.", "X", "share"),)

    def fails(self, one: Examined) -> Iterator[str]:
        """Compare the share; without a score it is 0."""
        coverage = one.score.coverage
        if coverage.weight < self.value - TOLERANCE:
            absent = ", ".join(row.signal for row in one.score.breakdown if row.applicable and not row.present)
            yield f"rests on {coverage}, which is below {self.value * 100:.1f} %; absent: {absent}"


class MinLow(Gate):
    """Every lower bound is at least a number: the score, if every absent signal were 0."""

    options = (GateOption("min-low", "Every score's lower bound is at least X.", "X", "share"),)

    def fails(self, one: Examined) -> Iterator[str]:
        """Compare the lower bound; without a score it is 0."""
        low = one.score.bounds.low
        if low < self.value - TOLERANCE:
            yield f"its lower bound {low:.3f} is below {self.value:g}; it rests on {one.score.coverage}"


class NoUnresolvedCommits(Gate):
    """Every commit that an entry names is in the repository, or landed as another one."""

    options = (GateOption("no-unresolved-commits", "Every commit that an entry names is here."),)

    def fails(self, one: Examined) -> Iterator[str]:
        """Fail a commit that git cannot find, neither by its id nor by its subject."""
        landing = one.facts.landing
        if landing.field and landing.sha is None and landing.commit is None:
            yield f"commit {cut(printable(landing.field), _LONGEST)} is not in this repository"

    def notes(self, one: Examined) -> Iterator[str]:
        """Say which entries name no commit."""
        if one.facts.landing.unknown is Unknown.NO_COMMIT:
            yield "names no commit"


class NoStale(Gate):
    """Every sidecar is what the evidence gives that is here, as far as that can be said."""

    options = (GateOption("no-stale", "No sidecar differs from what the evidence gives."),)

    def fails(self, one: Examined) -> Iterator[str]:
        """Fail a sidecar whose inputs are here and give another score; one that says more fails anyway."""
        if one.state.name == "stale" and not one.state.says_more:
            number = one.record.iteration
            yield f"its sidecar is {one.state}; 'da-score iteration {number} --recompute' brings it up to date"


class RequireVerified(Gate):
    """Every sidecar can be verified: the evidence that it names is here."""

    options = (GateOption("require-verified", "Every sidecar's evidence is here."),)

    def fails(self, one: Examined) -> Iterator[str]:
        """Fail a sidecar whose evidence is gone."""
        if one.state.name == "unverified":
            yield f"its sidecar is {one.state}"
