"""verifier: did the iteration's verification gates pass (``docs/OUTCOME_SCORING_RUBRIC.md``, "verifier")."""

import posixpath
from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from rubric import SignalID
from scoring.evidence.facts import IterationFacts
from scoring.evidence.transcripts.facts import Observed
from scoring.log.load import EntryPlaces
from scoring.log.model import (
    SCHEMA_FLAT,
    ImplBlock,
    IterationRecord,
    SelfAssessment,
    VerifierRecord,
)
from scoring.signals.signal import Pair, Signal, attribution, named_fields, role_of, unattributed
from scoring.signals.values import (
    ROLE_IMPL,
    ROLE_VERIFIER,
    SignalValue,
    absent_signal,
    claim_signal,
    present_signal,
)
from scoring.text import cut, lower, some_of, trim

VERIFIER = SignalID("verifier")

_MOST_NAMED, _LONGEST_NAME = 4, 40
_STATUSES = {"pass": 1.0, "partial": 0.5, "fail": 0.0}


class Verifier(Signal):
    """The mean status of the verifiers; without verifiers, the entry's total test flag is taken instead."""

    id = VERIFIER
    better = "every verifier ends with status pass"
    supply = "list verifiers with a status in the entry, or set impl.tests_total_pass"
    by_choice = read_from_lines = True

    def value(self, facts: IterationFacts) -> SignalValue:
        """Return the mean status; what an artifact says overrides what the entry says."""
        return verifier_value(facts.record, facts.statuses, facts.all_flags)

    def seen(self, facts: IterationFacts) -> SignalValue:
        """Return the mean status of the verifiers that were observed."""
        return (
            super().seen(facts) if facts.observed is None else verifier_seen(facts, facts.observed)
        )

    def pairs(self, facts: IterationFacts) -> Iterator[Pair]:
        """Compare the claim that traces were linked with the status; each role's own claim with what was observed."""
        record = facts.record
        if facts.observed is None:
            yield role_of(record, ROLE_VERIFIER), verifier_claim(record), self.value(facts)
            return
        found = verifier_seen(facts, facts.observed)
        yield ROLE_IMPL, verifier_claim(replace(record, verifiers=())), found
        if record.verifiers:
            claim = _mean_status(
                [verifier.status for verifier in record.verifiers], record.verifiers
            )
            yield (
                ROLE_VERIFIER,
                claim if claim.present else verifier_claim(replace(record, impl=ImplBlock())),
                found,
            )

    def advice(self, present: bool, facts: IterationFacts) -> str:
        """Return what would raise the score; where lines are attributed, only a verifier that was seen to run does."""
        if present:
            return super().advice(present, facts)
        if facts.observed is not None:
            return "let the verifier's own command write result_artifact, and name it in the entry"
        if facts.record.schema_version == SCHEMA_FLAT:
            return "set tests_total_pass in the entry"
        return self.supply if facts.all_flags else "list verifiers with a status in the entry"

    def sources(self, facts: IterationFacts, entry: EntryPlaces | None) -> Iterator[str]:
        """Yield the status of each verifier, and its artifact."""
        for n, verifier in enumerate(facts.record.verifiers):
            yield from named_fields(entry, f"verifiers.{n}.status")
            if verifier.result_artifact:
                yield f"artifact {verifier.result_artifact}"
        if not facts.record.verifiers:
            yield from named_fields(
                entry, "tests_total_pass", *(["impl.tests_total_pass"] if facts.all_flags else [])
            )


def verifier_value(
    record: IterationRecord, artifact_statuses: tuple[str, ...], all_flags: bool = False
) -> SignalValue:
    """Take the mean status of the verifiers, or what the total test flag says instead. ``all_flags`` is as in facts."""
    if not record.verifiers:
        passed = record.impl.total_flag if all_flags else record.impl.tests_total_pass
        if passed is None:
            return absent_signal("no verifier records and no tests_total_pass proxy")
        return claim_signal(
            float(passed), f"no verifiers; tests_total_pass proxy: {'pass' if passed else 'fail'}"
        )
    pairs = zip(artifact_statuses, record.verifiers, strict=True)
    return _mean_status(
        [trim(recorded) or trim(verifier.status) for recorded, verifier in pairs], record.verifiers
    )


def _mean_status(words: list[str], verifiers: Sequence[VerifierRecord]) -> SignalValue:
    """Take the mean of statuses. They are claims, be they in the entry or in a file: no run was observed."""
    votes = [_STATUSES[status] for word in words if (status := lower(trim(word))) in _STATUSES]
    if not votes:
        return absent_signal("verifier records carry no pass/fail/partial status")
    detail = f"{len(votes)}/{len(words)} verifiers scored, mean status"
    return claim_signal(sum(votes) / len(votes), detail, _each(zip(verifiers, words, strict=True)))


def _each(found: Iterable[tuple[VerifierRecord, str]]) -> str:
    """Return each verifier with its status, those that did not pass first: ``unit: fail, lint: pass``."""
    said = [
        (lower(trim(word)), cut(trim(verifier.type), _LONGEST_NAME) or "verifier")
        for verifier, word in found
    ]
    known = sorted((one for one in said if one[0] in _STATUSES), key=lambda one: _STATUSES[one[0]])
    return some_of([f"{kind}: {status}" for status, kind in known], _MOST_NAMED)


def verifier_seen(facts: IterationFacts, observed: Observed) -> SignalValue:
    """Take the mean status of the verifiers that were observed; without any, the detail says what is lacking."""
    verifiers = facts.record.verifiers
    if not verifiers:
        return absent_signal("no verifier records")
    if missing := unattributed(observed):
        return absent_signal(missing)
    lacking = [_lacking(n, verifier, facts, observed) for n, verifier in enumerate(verifiers)]
    counting = [(verifiers[n], facts.statuses[n]) for n, why in enumerate(lacking) if not why]
    votes = [_STATUSES[lower(trim(status))] for _, status in counting]
    why = next(filter(None, lacking), "")
    if not votes:
        none = f"none of {len(verifiers)} verifiers observed: "
        return absent_signal(f"{none}{why}{attribution(observed)}", f"no verifier observed: {why}")
    left_out = f"; not counted: {why}" if why else ""
    detail = f"{len(votes)}/{len(verifiers)} verifiers observed, mean status{left_out}{attribution(observed)}"
    return present_signal(sum(votes) / len(votes), detail, fact=_each(counting))


def _lacking(n: int, verifier: VerifierRecord, facts: IterationFacts, observed: Observed) -> str:
    """Return why the status of one verifier is no observation; "" when it is one."""
    path = trim(verifier.result_artifact)
    if lower(trim(facts.statuses[n])) not in _STATUSES:
        return "its artifact gives no status" if path else "a status without an artifact is a claim"
    if _written({posixpath.normpath(path), *facts.artifacts[n : n + 1]} - {""}, observed.written):
        return "the agent wrote its artifact itself"
    if not observed.unsure.isdisjoint(facts.artifacts[n : n + 1]):
        return "unknown whether the agent wrote its artifact: a command may have copied or written to it"
    if not any(observed.ran[n : n + 1]):
        return "no command is seen that ran for it"
    return ""


def _written(places: set[str], written: frozenset[str]) -> bool:
    """Return whether one of some places was written; a path of a folder that is gone counts by its end."""
    if places & {posixpath.normpath(path) for path in written}:
        return True
    return any(
        path.startswith("/") and path.endswith(tuple(f"/{place}" for place in places))
        for path in written
    )


def verifier_claim(record: IterationRecord) -> SignalValue:
    """Read whether the agent says that traces were linked to outcomes."""
    verifiers = record.verifiers
    if (
        record.impl.self_assessment.linked_traces_to_outcomes
        or any(v.self_assessment.linked_traces_to_outcomes for v in verifiers)
        or any(v.linked_traces for v in verifiers)
    ):
        return claim_signal(1, "linked traces recorded")
    if record.impl.self_assessment == SelfAssessment() and not any(
        v.tests_added_by_kind for v in verifiers
    ):
        return absent_signal("no verification self-report")
    return claim_signal(0, "no linked traces recorded")
