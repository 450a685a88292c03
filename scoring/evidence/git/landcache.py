"""What the search for landed work learnt and will always be so, kept between runs.

Of a trunk commit: subject, parents, message where it speaks of a revert, which paths it changed (as a digest), and its
patch id where that was needed; of two commits, what changed from one to the other. None of it ever changes. The order
of the trunk, and whether merging a commit would change it, are kept with the trunk's tip. A file of its own beside the
one of :mod:`scoring.evidence.git.cache`, so that neither set of rules reads what the other needs.
"""

import contextlib
import os
from pathlib import Path
from typing import NamedTuple

from scoring.errors import WriteError
from scoring.evidence.git.cache import UNUSABLE, keep_content, kept_content, place_of
from scoring.evidence.git.diffs import Change, Pair

FORMAT = 2
"""Goes up with every change of what is kept or of how git is asked; a cache of another format is not read."""


class TrunkLine(NamedTuple):
    """One commit of the trunk; ``message`` is kept where it speaks of a revert, and empty elsewhere."""

    sha: str
    parents: tuple[str, ...]
    subject: str
    message: str


class LandingCache:
    """What is kept of one repository."""

    def __init__(self, cache_dir: Path | None, repository: Path) -> None:
        """Read what is kept.

        Args:
            cache_dir: where caches lie; None keeps nothing.
            repository: the repository's own directory, which all its work trees share.
        """
        self._place = place_of(cache_dir, f"landing-{FORMAT}", repository)
        self._repository = os.fspath(repository)
        self.lines: dict[str, TrunkLine] = {}
        self.orders: dict[str, list[str]] = {}
        """The order of the last walk, by its tip."""
        self.shapes: dict[str, str] = {}
        self.patches: dict[str, str] = {}
        self.merges: dict[str, dict[str, str]] = {}
        """By the trunk's tip and a commit: the tree of their merge, "" when they conflict."""
        self.nets: dict[Pair, tuple[Change, ...]] = {}
        """What changed from the second commit of a pair to the first, renames told."""
        self.changed = False
        if self._place is not None:
            with contextlib.suppress(*UNUSABLE):
                kept = kept_content(self._place, FORMAT, self._repository)
                self.lines = {sha: TrunkLine(sha, tuple(p.split()), s, m) for sha, p, s, m in kept["lines"]}
                self.orders, self.shapes = kept["orders"], kept["shapes"]
                self.patches, self.merges = kept["patches"], kept["merges"]
                self.nets = {(new, old): tuple(Change(*found) for found in net) for new, old, net in kept["nets"]}

    def save(self) -> None:
        """Write what is kept, when there is something new. A cache that cannot be written is no error."""
        if self._place is None or not self.changed:
            return
        content = {
            "lines": [(c.sha, " ".join(c.parents), c.subject, c.message) for c in self.lines.values()],
            "orders": self.orders,
            "shapes": self.shapes,
            "patches": self.patches,
            "merges": self.merges,
            "nets": [(new, old, net) for (new, old), net in self.nets.items()],
        }
        with contextlib.suppress(OSError, WriteError):
            keep_content(self._place, FORMAT, self._repository, content)
            self.changed = False
