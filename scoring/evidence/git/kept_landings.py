"""Where commits off the trunk landed, kept in the store while no branch changes."""

from collections.abc import Callable
from hashlib import blake2b

from scoring.evidence.git.facts import Landing, Unknown
from scoring.evidence.git.line_history import LineHistory
from scoring.store import Store

_NOT_HERE = {Unknown.OBJECTS, Unknown.HISTORY, Unknown.FILES}
"""What is unknown for want of objects, which git may fetch at any time."""


def kept_landings(
    history: LineHistory,
    branches: object,
    asked: object,
    decide: Callable[[], dict[str, Landing]],
) -> dict[str, Landing]:
    """Return the landings of some commits, from the store where it has them.

    Args:
        history: the lines of the repository, which says where answers are kept.
        branches: the trunk and all else that has a tip. Answers are kept until it changes.
        asked: the commits in question, each with what names it.
        decide: decides where the commits landed.
    """
    key = bytes(history.repository.common_dir) + b"\0landings"
    state = _digest(branches)
    question = _digest(asked)

    with Store(history.cache_dir) as store:
        kept = store.get_value("git", key, state, dict[bytes, dict[str, Landing]]) or {}
        if question in kept:
            return kept[question]

        landings = decide()
        unknown = {landing.unknown for landing in landings.values()}
        is_old_git = any(landing.old_git for landing in landings.values())
        if history.is_complete and not is_old_git and unknown.isdisjoint(_NOT_HERE):
            store.put_value("git", key, state, kept | {question: landings})
        return landings


def _digest(about: object) -> bytes:
    return blake2b(repr(about).encode("utf-8", "backslashreplace"), digest_size=16).digest()
