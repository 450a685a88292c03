"""Asking git in batches, one of whose questions may have no answer.

One missing object stops a whole batch. The batch is then asked again in halves, so that the others are answered; a
repository that lacks everything is given up after a few failures, and not asked about each commit alone.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

Q = TypeVar("Q")
A = TypeVar("A")

MOST_FAILURES = 16
"""After how many questions that fail alone the rest is left unanswered."""


def answered(ask: "Callable[[Sequence[Q]], Mapping[Q, A] | None]", questions: "Sequence[Q]") -> dict[Q, A]:
    """Return the answers to all questions that have one.

    Args:
        ask: answers a batch; None when git failed on it.
        questions: what is asked.
    """
    found: dict[Q, A] = {}
    waiting = [questions] if questions else []
    failures = 0
    while waiting and failures < MOST_FAILURES:
        batch = waiting.pop()
        answers = ask(batch)
        if answers is not None:
            found.update(answers)
        elif len(batch) == 1:
            failures += 1
        else:
            middle = len(batch) // 2
            waiting += [batch[middle:], batch[:middle]]
    return found
