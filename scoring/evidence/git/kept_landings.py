"""Where commits off the trunk landed, kept in the store while no branch changes."""

from collections.abc import Callable
from hashlib import blake2b

from scoring.evidence.git.facts import Landing, LandingBySha, Unknown
from scoring.evidence.git.line_history import LineHistory
from scoring.frozen import Frozen

_KEPT_NAME = b"landings"

_NOT_HERE = {Unknown.OBJECTS, Unknown.HISTORY, Unknown.FILES}
"""What is unknown for want of objects, which git may fetch at any time."""


class _Kept(Frozen):
    """What is kept of the landings in a repository.

    Attributes:
        state: a digest of the branches for which they are right.
        landings: the landings, by a digest of the commits in question.
    """

    state: bytes
    landings: dict[bytes, LandingBySha]


def kept_landings(
    history: LineHistory,
    branches: object,
    asked: object,
    decide: Callable[[], LandingBySha],
) -> LandingBySha:
    """Return the landings of some commits, from the store where it has them.

    Args:
        history: the lines of the repository, which keeps answers.
        branches: the trunk and all else that has a tip. Answers are kept until it changes.
        asked: the commits in question, each with what names it.
        decide: decides where the commits landed.
    """
    state = _digest(branches)
    question = _digest(asked)

    kept = history.kept(_KEPT_NAME, _Kept)
    if kept is None or kept.state != state:
        kept = _Kept(state, {})
    if question in kept.landings:
        return kept.landings[question]

    landings = decide()
    if not any(map(_may_change, landings.values())):
        history.keep(_KEPT_NAME, _Kept(state, kept.landings | {question: landings}))
    return landings


def _may_change(landing: Landing) -> bool:
    return landing.old_git is not None or landing.unknown in _NOT_HERE


def _digest(about: object) -> bytes:
    return blake2b(repr(about).encode("utf-8", "backslashreplace"), digest_size=16).digest()
