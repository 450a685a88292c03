"""hook_outcomes: did the iteration's hook gates allow, advise, or remediate (contract section 2.6)."""

from collections.abc import Iterable
from pathlib import Path

from scoring.evidence.hooks import HookFileError, HookOutcome, scored_hook_outcomes
from scoring.signals.findings import Findings
from scoring.signals.values import SignalValue, absent_signal, present_signal

_SEVERITY = {"remediate": 3, "advise": 2, "allow": 1}


def value(findings: Findings) -> SignalValue:
    """Return what the hook gates did."""
    return findings.hook_outcomes


def observe(log_dir: Path | str, iteration: int) -> SignalValue:
    """Read an iteration's hook outcomes: the most severe result decides. Never raises."""
    try:
        records = scored_hook_outcomes(log_dir, iteration)
    except HookFileError as e:
        return absent_signal(f"cannot {e.verb} hook-outcomes sidecar for iter-{iteration}: {e}")
    if records is None:
        return absent_signal(f"no hook-outcomes sidecar for iter-{iteration}")
    if not records:
        return absent_signal(
            f"no scored hook-outcome records for iter-{iteration} (continuity_advice/observe_tool_result are deferred)"
        )
    results = _collapse(records)
    for result, sub_score in (("remediate", 0.0), ("advise", 0.6), ("allow", 1.0)):
        rules = [rule for rule, found in results if found == result]
        if rules:
            names = ", ".join(sorted(set(rules), key=lambda rule: rule.encode("utf-8", "surrogateescape")))
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
