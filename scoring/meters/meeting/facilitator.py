"""Sentences for the facilitator, which several rules and every late round share."""

from scoring.meters import below
from scoring.meters.meeting.obstacles import Situation, names, words
from scoring.meters.meeting.records import JudgeRecord
from scoring.meters.meeting.round_scores import supporters_by_option
from scoring.text import printable, quote

LATE_SHARE = 0.7
"""The share of the rounds from which prompts say that another one must gain much."""


def late_words(situation: Situation) -> str:
    """Return what to say of a late round before anything else, or "" for an earlier one."""
    max_rounds = situation.config.round_limits.max_rounds
    if not situation.config.rules.late_rounds.enabled:
        return ""
    if below(situation.round_index / max_rounds, LATE_SHARE):
        return ""
    return (
        f"We are at round {situation.round_index} of {max_rounds}: "
        "marginal gains must be high to go on. "
    )


def ask_to_decide(situation: Situation, why: str) -> str:
    """Ask to decide, on the leading option where there is one."""
    return f"{why}: shall we decide{about_lead(situation)}, or does anybody object?"


def ask_to_resolve_or_park(situation: Situation, why: str, blockers: str) -> str:
    """Ask to decide all the same, or to record what keeps the meeting from a decision."""
    choice = _choice(situation.record)
    return (
        f'{why}: {choice} now, or record "no decision" with these blockers: {printable(blockers)}?'
    )


def _choice(record: JudgeRecord) -> str:
    """Return what there is to decide on.

    These are the options that experts prefer, most preferred first; without any, those considered.
    """
    preferred = supporters_by_option(record.convergence.expert_positions)
    options = [option for option, _ in preferred.most_common()]
    if not options:
        options = list(dict.fromkeys(record.convergence.options_considered or ()))

    if not options:
        return "decide"
    if len(options) == 1:
        return f"decide on {printable(options[0])}"
    return f"decide between {names(options[:-1])} and {printable(options[-1])}"


def about_lead(situation: Situation) -> str:
    """Return the leading option and its support, or "" without one."""
    lead = situation.lead
    if lead is None:
        return ""
    support = f"{lead.supporters} of {lead.experts} experts"
    return f" on {quote(lead.option)} ({support}, mean confidence {words(lead.confidence)})"
