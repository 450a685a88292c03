"""The root of every error da-score raises on purpose, and the rubric's own branch of it.

The root lives here because ``rubric`` is the lowest package: it imports nothing from ``scoring``.
``scoring.errors`` draws the whole tree.
"""


class DaScoreError(Exception):
    """Something the user can act on; its text is one line that says what, where and what to do."""


class RubricError(DaScoreError, ValueError):
    """A rubric that cannot be read or breaks an invariant."""
