"""Whether the iteration's hook gates allowed, advised, or remediated.

Rules: ``docs/OUTCOME_SCORING_RUBRIC.md``, "hook_outcomes".
"""

from collections.abc import Iterable, Iterator

from rubric import SignalID
from scoring.evidence.entry_files import HookFacts, HookOutcome, hook_file_name
from scoring.evidence.facts import IterationFacts
from scoring.log.places import EntryPlaces
from scoring.text import in_byte_order

from .signal import Signal
from .values import SignalValue, absent_for, absent_signal, present_signal

HOOK_OUTCOMES = SignalID("hook_outcomes")

_SUB_SCORES = {"remediate": 0.0, "advise": 0.6, "allow": 1.0}
"""By result, the most severe one first."""


class HookOutcomes(Signal):
    """What the hook gates did: the most severe result decides."""

    id = HOOK_OUTCOMES
    better = "no hook gate had to advise or remediate"
    supply = "let the hook gates write iter-N.hook-outcomes.yaml beside the entry"
    by_choice = True

    def value(self, facts: IterationFacts) -> SignalValue:
        """Return the sub-score of the most severe result."""
        return hook_value(facts.hooks, facts.record.iteration)

    def advice(self, present: bool, facts: IterationFacts) -> str:
        """Return what would raise the score: better results of gates, or a file that has some."""
        if present:
            return self.better
        if facts.hooks.failed:
            return f"fix {facts.hooks.path}, or write it again"
        if facts.hooks.records is not None:
            return "let the hook gates record what they did: allow, advise or remediate"
        return self.supply

    def sources(
        self,
        facts: IterationFacts,
        entry: EntryPlaces,  # noqa: ARG002 - it is read from no field of the entry
    ) -> Iterator[str]:
        """Yield the path of the file of hook outcomes, where there is one."""
        if facts.hooks.records is not None or facts.hooks.failed:
            yield str(facts.hooks.path)

    def files(self, iteration: int) -> Iterator[str]:
        """Yield the name of the file of hook outcomes."""
        yield hook_file_name(iteration)


def hook_value(hooks: HookFacts, iteration: int) -> SignalValue:
    """Return the sub-score of the most severe result of the hook gates.

    Absent without a file that can be read, and where the file has no result that is known.

    Args:
        hooks: what the file of hook outcomes says.
        iteration: the number of the entry.
    """
    if hooks.failed:
        words = (
            f"cannot {hooks.failed} hook-outcomes sidecar for iter-{{n}}: {{problem}}"
        )
        return absent_for(words, n=iteration, problem=hooks.problem)
    if hooks.records is None:
        return absent_for("no hook-outcomes sidecar for iter-{n}", n=iteration)
    if not hooks.records:
        return absent_for(
            "no scored hook-outcome records for iter-{n} "
            "(continuity_advice/observe_tool_result are deferred)",
            n=iteration,
        )

    outcomes = _outcomes_of_gates(hooks.records)
    for result, sub_score in _SUB_SCORES.items():
        rules = [outcome.rule_id for outcome in outcomes if outcome.result == result]
        if rules:
            detail = f"{result}: {', '.join(in_byte_order(set(rules)))}"
            if result == "allow":
                detail += f" ({len(rules)} records)"
            return present_signal(sub_score, detail)

    return absent_signal("hook-outcome records had no recognised result value")


def _outcomes_of_gates(records: Iterable[HookOutcome]) -> list[HookOutcome]:
    """Return one outcome for each time that a gate ran, in the order of the records.

    All records are of gates. Those of one rule with the same correlation id are of one time; the
    most severe result counts. A record without a correlation id is a time of its own. A result that
    is not known is the least severe.
    """
    outcomes: dict[object, HookOutcome] = {}
    for index, record in enumerate(records):
        key = (
            (record.correlation_id, record.rule_id) if record.correlation_id else index
        )
        earlier = outcomes.setdefault(key, record)
        if _SUB_SCORES.get(record.result, 2) < _SUB_SCORES.get(earlier.result, 2):
            outcomes[key] = record
    return list(outcomes.values())
