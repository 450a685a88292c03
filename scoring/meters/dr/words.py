"""The word lists of readiness, and how one adds to them (contract section 6)."""

from dataclasses import dataclass

VERBS = (
    *("run", "write", "create", "open", "deploy", "send", "test", "build", "merge", "ship", "implement", "add"),
    *("remove", "update", "fix", "configure", "convert"),
)
"""What a specific action does."""

VAGUE_STARTS = ("consider", "think about", "explore", "look into", "investigate")
"""How a vague action starts."""

VAGUE = ("maybe", "possibly", "might", "could potentially")
"""Words that make an action vague wherever they stand."""

BLOCKERS = (
    "blocked",
    "blocker",
    "waiting on",
    "depends on",
    "need access",
    "need permission",
    "can't proceed",
    "prerequisite",
    "missing",
)
"""Words, from a left word boundary, that tell of a blocker in a question or an action."""

OWNERSHIP = ("i will", "we will", "owner", "owned by", "assign to", "assigned to")
"""Words that say who acts."""


@dataclass(frozen=True, slots=True)
class Words:
    """Words that somebody adds to the built-in lists; none of those can be taken away."""

    verbs: tuple[str, ...] = ()
    vague_starts: tuple[str, ...] = ()
    vague: tuple[str, ...] = ()
    blockers: tuple[str, ...] = ()
    ownership: tuple[str, ...] = ()


BUILT_IN = Words()
"""The built-in lists and nothing else."""
