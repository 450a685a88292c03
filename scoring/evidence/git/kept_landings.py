"""Keeps where commits off a trunk landed, until a branch moves."""

from collections.abc import Callable

from scoring.store import digest_of_all

from .facts import LandingBySha, Unknown
from .line_history import LineHistory

_KEPT_NAME = b"landings"
_NOT_HERE = {Unknown.OBJECTS, Unknown.HISTORY, Unknown.FILES}
"""Why a landing is unknown for want of objects, which git may fetch at any time."""


def kept_landings(
    history: LineHistory,
    branches: object,
    commits: object,
    weigh: Callable[[], LandingBySha],
) -> LandingBySha:
    """Return the landings that the store has, or else those that ``weigh`` returns, and keep these.

    None are kept where git may answer about one of them another time. What was kept for another
    state of the branches goes.

    Args:
        history: the lines of the repository, which can keep answers about it.
        branches: all branches that the landings depend on, with their tips. ``repr`` has to show
            every difference, here and in ``commits``.
        commits: the commits in question.
        weigh: finds the landings, by SHA.
    """
    state = digest_of_all([branches])
    question = digest_of_all([commits])
    # By the digest of the branches, of which there is one, and by that of the commits.
    kept = history.kept(_KEPT_NAME, dict[str, dict[str, LandingBySha]]) or {}
    of_state = kept.get(state, {})
    if question in of_state:
        return of_state[question]

    landings = weigh()
    may_change = [
        each.old_git or each.unknown in _NOT_HERE for each in landings.values()
    ]
    if not any(may_change):
        history.keep(_KEPT_NAME, {state: of_state | {question: landings}})
    return landings
