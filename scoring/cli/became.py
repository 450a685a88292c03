"""What became of iterations, by the units of ``work``, for pages about some of them."""

from collections import Counter
from typing import TYPE_CHECKING

from scoring.cli.reading import observing_sources, outcome_rules
from scoring.cli.work_reading import entries_of, read_ledger
from scoring.errors import GitError, silent
from scoring.evidence.facts import Evidence, IterationFacts
from scoring.evidence.kept_answers import AnswerStore
from scoring.log.settings import Settings
from scoring.views.landing_text import landing_text, states_text, unit_text

if TYPE_CHECKING:  # most iterations landed, which git alone says
    from scoring.outcomes.ledger import Ledger
    from scoring.outcomes.unit import State


def landing_line(settings: Settings, facts: IterationFacts, read: Evidence | None = None) -> str:
    """Return a line that says what became of an iteration.

    Where it did not land, or git does not know it, the lines that its unit wrote decide.

    Args:
        settings: the settings of the command.
        facts: what is known of the iteration.
        read: the evidence of the log, if it has been read.
    """
    landing = facts.landing
    if landing.landed_state or landing.rules == "reference":
        return landing_text(landing)

    iteration = facts.record.iteration
    rules = (settings.horizon, settings.code_globs, settings.fix_words)
    name = f"landing {iteration} {rules}"
    with AnswerStore(observing_sources(settings, silent), settings.iter_log_dir) as store:
        kept = store.get_all([name], str)
        if kept:
            return kept[0]
        book = _ledger(settings, read)
        if book is None:
            return landing_text(landing)
        unit = book.by_iteration.get(iteration)
        line = unit_text(unit) if unit else landing_text(landing)
        if book.is_complete:
            store.put_other(name, line)
    return line


def states_line(settings: Settings, iterations: list[IterationFacts]) -> str:
    """Return a line that says what became of some iterations, or "" where git has no trunk."""
    count: Counter[State] = Counter()
    undecided = []
    for facts in iterations:
        state = facts.landing.landed_state
        if state and facts.landing.rules == "attributed":
            count[state] += 1
        else:
            undecided.append(facts.record.iteration)

    if undecided:
        book = _ledger(settings)
        if book is None:
            return ""
        units = book.by_iteration
        count.update(units[iteration].state for iteration in undecided)
    return states_text(count, "iteration", "iterations")


def _ledger(settings: Settings, read: Evidence | None = None) -> "Ledger | None":
    """Return all of the work, or None without a trunk.

    Args:
        settings: the settings of the command.
        read: the evidence of the log, if it has been read.
    """
    from scoring.outcomes.ledger import ledger_of

    try:
        if read:
            return ledger_of(read, (), outcome_rules(settings))
        return read_ledger(settings, entries_of(settings, silent), silent)
    except GitError:
        return None
