"""What was observed of an iteration beside its signals, as numbers: what ``da-score validate`` tries one by one."""

from scoring.evidence.facts import IterationFacts
from scoring.signals.values import SignalSet

_WORK = {
    "edits": "edits",
    "files": "files_edited",
    "most": "most_edits_of_a_file",
    "agents": "sub_agents",
    "compactions": "context_compactions",
}
"""What parts of the work that was seen are called among the observations."""


def observations(facts: IterationFacts, signals: SignalSet) -> dict[str, float | None]:
    """Return what was observed of an iteration as numbers, beside its signals; None where nothing was."""
    found: dict[str, float | None] = {}
    seen, shown = facts.observed, facts.transcripts
    if seen is not None and not seen.method:
        seen = None
    found["tool_calls"] = seen.tool_calls if seen else None
    tests = seen.tests if seen and seen.tool_calls else None
    found["test_runs"] = tests.runs if tests else None
    found["failed_test_runs"] = tests.failed if tests else None
    found["last_tests_passed"] = _number(tests.last_passed) if tests else None
    found["edited_after_tests"] = float(tests.edited_after) if tests and tests.runs else None
    for name in ("interrupts", "rejections", "corrections", "resets"):
        found[name] = getattr(seen.corrections, name) if seen else None
    for name, called in _WORK.items():
        found[called] = getattr(seen.work, name) if seen and seen.tool_calls else None
    found["lines_by_people"] = facts.observed.by_people if facts.observed else None
    found["sessions"] = len(seen.sessions) if seen else None
    found["checkpoints"] = len(seen.checkpoints) if seen else None
    for name in ("turns", "input_tokens", "output_tokens", "cache_reads", "cache_creations", "tool_calls"):
        key = "calls_with_verdict" if name == "tool_calls" else name
        found[key] = getattr(shown, name) if shown and shown.turns else None
    found["tool_errors"] = shown.tool_errors if shown and shown.tool_calls else None
    found["tool_error_rate"] = shown.tool_error_rate if shown else None
    found["cache_hit_rate"] = shown.cache_hit_rate if shown and shown.turns else None
    found["files_changed"] = None if facts.changed.unknown or not facts.changed.files else len(facts.changed.files)
    for name in ("ran_cli_command", "committed_after_tests", "read_loop_state"):
        value = getattr(signals.objective, name)
        found[name] = float(value.sub_score) if value and value.present else None
    return found


def _number(value: bool | None) -> float | None:
    return None if value is None else float(value)
