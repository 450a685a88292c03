"""Did the iteration's hook gates allow, advise, or remediate (``docs/OUTCOME_SCORING_RUBRIC.md``, "hook_outcomes")."""

from collections.abc import Iterable, Iterator

from rubric import SignalID
from scoring.evidence.beside import HookFacts, HookOutcome, hook_file_name
from scoring.evidence.facts import IterationFacts
from scoring.log.load import EntryPlaces
from scoring.signals.signal import Signal
from scoring.signals.values import SignalValue, absent_signal, present_signal

HOOK_OUTCOMES = SignalID("hook_outcomes")

_SEVERITY = {"remediate": 3, "advise": 2, "allow": 1}


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
        """Return what would raise the score; a file that is there needs other content."""
        if not present and facts.hooks.failed:
            return f"fix {facts.hooks.path}, or write it anew"
        if not present and facts.hooks.records is not None:
            return "let the hook gates record what they did: allow, advise or remediate"
        return super().advice(present, facts)

    def sources(self, facts: IterationFacts, entry: EntryPlaces | None) -> Iterator[str]:  # noqa: ARG002
        """Yield the file, where there is one."""
        if facts.hooks.records is not None or facts.hooks.failed:
            yield str(facts.hooks.path)

    def files(self, iteration: int) -> Iterator[str]:
        """Yield the file."""
        yield hook_file_name(iteration)


def hook_value(hooks: HookFacts, iteration: int) -> SignalValue:
    """Return what the gates of an iteration did."""
    if hooks.failed:
        what = f"cannot {hooks.failed} hook-outcomes sidecar for iter-"
        return absent_signal(f"{what}{iteration}: {hooks.problem}", f"{what}N: …")
    if hooks.records is None:
        return absent_signal(
            f"no hook-outcomes sidecar for iter-{iteration}", "no hook-outcomes sidecar for iter-N"
        )
    if not hooks.records:
        what = "(continuity_advice/observe_tool_result are deferred)"
        kept = "no scored hook-outcome records for iter-"
        return absent_signal(f"{kept}{iteration} {what}", f"{kept}N {what}")
    results = _collapse(hooks.records)
    for result, sub_score in (("remediate", 0.0), ("advise", 0.6), ("allow", 1.0)):
        rules = [rule for rule, found in results if found == result]
        if rules:
            names = ", ".join(
                sorted(set(rules), key=lambda rule: rule.encode("utf-8", "surrogateescape"))
            )
            count = f" ({len(rules)} records)" if result == "allow" else ""
            return present_signal(sub_score, f"{result}: {names}{count}")
    return absent_signal("hook-outcome records had no recognised result value")


def _collapse(records: Iterable[HookOutcome]) -> list[tuple[str, str]]:
    """Return (rule, result) per gate: records of one correlation and one rule are one, with the severest result."""
    collapsed: dict[object, tuple[str, str]] = {}
    for n, record in enumerate(records):
        key: object = (record.correlation_id, record.rule_id) if record.correlation_id else n
        _, held = collapsed.get(key, ("", ""))
        if key not in collapsed or _SEVERITY.get(record.result, 0) > _SEVERITY.get(held, 0):
            collapsed[key] = (record.rule_id, record.result)
    return list(collapsed.values())
