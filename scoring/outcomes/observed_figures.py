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
    seen = facts.observed if facts.observed and facts.observed.method else None
    used, shown = (seen if seen and seen.tool_calls else None), facts.transcripts
    turns, tests = (shown if shown and shown.turns else None), used.tests if used else None
    passed = tests.last_passed if tests else None
    found: dict[str, float | None] = {
        "tool_calls": seen.tool_calls if seen else None,
        "test_runs": tests.runs if tests else None,
        "failed_test_runs": tests.failed if tests else None,
        "last_tests_passed": None if passed is None else float(passed),
        "edited_after_tests": float(tests.edited_after) if tests and tests.runs else None,
    }
    for name in ("interrupts", "rejections", "corrections", "resets"):
        found[name] = getattr(seen.corrections, name) if seen else None
    for name, called in _WORK.items():
        found[called] = getattr(used.work, name) if used else None
    found["lines_by_people"] = facts.observed.by_people if facts.observed else None
    found["sessions"] = len(seen.sessions) if seen else None
    found["checkpoints"] = len(seen.checkpoints) if seen else None
    for name in ("turns", "input_tokens", "output_tokens", "cache_reads", "cache_creations"):
        found[name] = getattr(turns, name) if turns else None
    found["calls_with_verdict"] = turns.tool_calls if turns else None
    found["tool_errors"] = shown.tool_errors if shown and shown.tool_calls else None
    found["tool_error_rate"] = shown.tool_error_rate if shown else None
    found["cache_hit_rate"] = turns.cache_hit_rate if turns else None
    found["files_changed"] = len(facts.changed.files) or None if not facts.changed.unknown else None
    for name in ("ran_cli_command", "committed_after_tests", "read_loop_state"):
        value = getattr(signals.objective, name)
        found[name] = float(value.sub_score) if value and value.present else None
    return found
