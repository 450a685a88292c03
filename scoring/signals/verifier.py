"""verifier: did the iteration's verification gates pass (``docs/OUTCOME_SCORING_RUBRIC.md``, "verifier")."""

from collections.abc import Iterator

from rubric import SignalID
from scoring.evidence.facts import IterationFacts
from scoring.log.load import EntryPlaces
from scoring.log.model import IterationRecord, SelfAssessment
from scoring.signals.signal import Signal, named_fields, role_of
from scoring.signals.values import ROLE_VERIFIER, IntegrityObservation, SignalValue, absent_signal, present_signal
from scoring.text import lower, trim

VERIFIER = SignalID("verifier")

_STATUSES = {"pass": 1.0, "partial": 0.5, "fail": 0.0}


class Verifier(Signal):
    """The mean status of the verifiers; without verifiers, the entry's total test flag is taken instead."""

    id = VERIFIER
    better = "every verifier ends with status pass"
    supply = "list verifiers with a status in the entry, or set impl.tests_total_pass"

    def value(self, facts: IterationFacts) -> SignalValue:
        """Return the mean status; what an artifact says overrides what the entry says."""
        return verifier_value(facts.record, facts.statuses)

    def pair(self, facts: IterationFacts) -> IntegrityObservation:
        """Compare the claim that traces were linked with the status."""
        role = role_of(facts.record, ROLE_VERIFIER)
        return IntegrityObservation(self.id, role, verifier_claim(facts.record), self.value(facts))

    def sources(self, facts: IterationFacts, entry: EntryPlaces | None) -> Iterator[str]:
        """Yield the status of each verifier, and its artifact."""
        for n, verifier in enumerate(facts.record.verifiers):
            yield from named_fields(entry, f"verifiers.{n}.status")
            if verifier.result_artifact:
                yield f"artifact {verifier.result_artifact}"
        if not facts.record.verifiers:
            yield from named_fields(entry, "tests_total_pass")


def verifier_value(record: IterationRecord, artifact_statuses: tuple[str, ...]) -> SignalValue:
    """Take the mean status of the verifiers, or what the total test flag says instead."""
    if not record.verifiers:
        passed = record.impl.tests_total_pass
        if passed is None:
            return absent_signal("no verifier records and no tests_total_pass proxy")
        return present_signal(float(passed), f"no verifiers; tests_total_pass proxy: {'pass' if passed else 'fail'}")
    pairs = zip(artifact_statuses, record.verifiers, strict=True)
    statuses = [lower(trim(recorded) or trim(verifier.status)) for recorded, verifier in pairs]
    votes = [_STATUSES[status] for status in statuses if status in _STATUSES]
    if not votes:
        return absent_signal("verifier records carry no pass/fail/partial status")
    return present_signal(sum(votes) / len(votes), f"{len(votes)}/{len(statuses)} verifiers scored, mean status")


def verifier_claim(record: IterationRecord) -> SignalValue:
    """Read whether the agent says that traces were linked to outcomes."""
    verifiers = record.verifiers
    if (
        record.impl.self_assessment.linked_traces_to_outcomes
        or any(v.self_assessment.linked_traces_to_outcomes for v in verifiers)
        or any(v.linked_traces for v in verifiers)
    ):
        return present_signal(1, "linked traces recorded")
    if record.impl.self_assessment == SelfAssessment() and not any(v.tests_added_by_kind for v in verifiers):
        return absent_signal("no verification self-report")
    return present_signal(0, "no linked traces recorded")
