"""Test runs: which commands start a test tool, and what the output says."""

from collections.abc import Sequence


class TestTools:
    """The known test tools."""

    def __init__(self, extra: Sequence[str] = ()) -> None:
        """Take the commands that run tests here beside the known ones."""
