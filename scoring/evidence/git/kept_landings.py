"""Keeps where commits off a trunk landed, until a branch moves.

What a trunk has of their own changes is kept until that trunk moves.
"""

from collections.abc import Callable, Collection, Sequence

from scoring.store import digest_of_all

from .facts import Landing, LandingBySha, Trunk, Unknown
from .line_history import LineHistory

_KEPT_NAME = b"landings"
_KEPT_NAME_OF_OWN = b"landings by own change"
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


def kept_by_own_change(
    history: LineHistory,
    trunk: Trunk,
    shas: Sequence[str],
    find: Callable[[Sequence[str]], tuple[LandingBySha, Collection[str]]],
) -> LandingBySha:
    """Return the landings of those commits of which a trunk has the change, each found once.

    Other branches do not matter, so the answers hold until the trunk moves.

    Args:
        history: the lines of the repository, which can keep answers about it.
        trunk: the trunk.
        shas: the commits in question.
        find: takes the commits that are not known yet, and returns the landings of some of them,
            and the commits about which git will always answer the same.
    """
    state = digest_of_all([trunk])
    kept = history.kept(_KEPT_NAME_OF_OWN, dict[str, dict[str, Landing | None]]) or {}
    known = kept.get(state, {})
    new = [sha for sha in shas if sha not in known]
    answers = dict(known)
    if new:
        found, certain = find(new)
        sure = {sha: found.get(sha) for sha in certain}
        history.keep(_KEPT_NAME_OF_OWN, {state: known | sure})
        answers.update(found)

    landings = ((sha, answers.get(sha)) for sha in shas)
    return {sha: landing for sha, landing in landings if landing}
