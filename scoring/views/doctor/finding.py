"""One thing that an examination found, and which things come first."""

from collections.abc import Iterable
from typing import Literal, NamedTuple

Level = Literal["problem", "note"]
"""A problem costs evidence or stops a run; a note is good to know."""


class Finding(NamedTuple):
    """One thing that was found, and what to do about it.

    Attributes:
        topic: what it is about.
        level: how much it matters.
        what: what was found.
        advice: what to do; it begins with ``nothing`` where the user need not act.
        change: what following the advice would change; "" for nothing.
        gain: how much evidence following the advice would bring at most, as a number of iterations
            with all of the rubric's weight.
    """

    topic: str
    level: Level
    what: str
    advice: str
    change: str = ""
    gain: float = 0.0

    @property
    def needs_nothing(self) -> bool:
        """Whether the user need not do anything about the finding."""
        return self.advice.startswith("nothing")


_CHANGES = {
    "log": "what cannot be read now gets a score",
    "repository": "what landed can be known, and how",
    "trunk": "what landed can be known",
    "entries": "whether these iterations landed can be known, and which lines are theirs",
    "transcripts": "tests, corrections and tokens can be known",
    "attribution": "tests, corrections and tokens can be known",
    "hook": "a task is scored when the agent stops",
    "settings": "the settings are used",
    "rubric": "evidence is read where it is, and each response once",
}
"""What following advice on a topic would change, where the finding itself does not say it."""


def most_useful_first(found: Iterable[Finding]) -> list[Finding]:
    """Return findings, the most useful first. A finding without a change gets that of its topic.

    All problems come before all notes. Among either, findings that need nothing come last.
    Problems with signals come after other problems, which may be their causes. What would bring
    more evidence comes first among the rest.
    """
    with_change = []
    for finding in found:
        change = finding.change or _CHANGES.get(finding.topic, "")
        with_change.append(finding._replace(change=change))
    return sorted(with_change, key=_rank)


def _rank(finding: Finding) -> tuple[bool, bool, bool, float]:
    is_problem = finding.level == "problem"
    is_consequence = is_problem and finding.topic == "signals"
    return not is_problem, finding.needs_nothing, is_consequence, -finding.gain
