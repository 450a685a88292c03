"""Keeps which commits off a trunk it has by their own changes, until that trunk moves."""

from collections.abc import Callable, Collection, Sequence

from scoring.store import digest_of_all

from .facts import Landing, LandingBySha, Trunk
from .line_history import LineHistory

_KEPT_NAME = b"landings by own change"


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
    kept = history.kept(_KEPT_NAME, dict[str, dict[str, Landing | None]]) or {}
    known = kept.get(state, {})
    new = [sha for sha in shas if sha not in known]
    answers = dict(known)
    if new:
        found, certain = find(new)
        sure = {sha: found.get(sha) for sha in certain}
        history.keep(_KEPT_NAME, {state: known | sure})
        answers.update(found)

    landings = ((sha, answers.get(sha)) for sha in shas)
    return {sha: landing for sha, landing in landings if landing}
