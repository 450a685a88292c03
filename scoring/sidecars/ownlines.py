"""What provenance keeps of an iteration's own lines: how they were found, and what was seen in them, in numbers.

Only evidence rules that give each iteration lines of its own have it; see ``docs/SIDECARS.md``, "Provenance".
"""

from collections.abc import Iterator, Mapping
from typing import Any

from scoring.evidence.transcripts.facts import Observed
from scoring.frozen import Frozen
from scoring.sidecars.emitter import Value
from scoring.yamlnodes import Node
from scoring.yamlread import Reader, Take, items_of


class OwnLines(Frozen, frozen=True):
    """How an iteration's lines were found, and what was seen in them.

    ``method`` is None when none were found, ``sessions`` are the ids of those that they are of. ``last`` is the verdict
    of the last test run, ``passed`` or ``failed``, None when there is none. The rest are counts, and are called as in
    :class:`~scoring.evidence.transcripts.facts.TestsSeen` and ``CorrectionsSeen``.
    """

    method: str | None = None
    sessions: tuple[str, ...] = ()
    runs: int = 0
    failed: int = 0
    last: str | None = None
    edited_after: bool = False
    interrupts: int = 0
    rejections: int = 0
    resets: int = 0

    @classmethod
    def of(cls, observed: Observed) -> "OwnLines":
        """Return what is kept of what was observed."""
        tests, seen = observed.tests, observed.corrections
        last = None if tests.last_passed is None else "passed" if tests.last_passed else "failed"
        ran = tests.runs, tests.failed, last, tests.edited_after
        return cls(observed.method, observed.sessions, *ran, seen.interrupts, seen.rejections, seen.resets)

    def as_dict(self) -> dict[str, Value]:
        """Return the keys of the file, in their order."""
        return {
            "attribution": {"method": self.method, "sessions": list(self.sessions)},
            "tests": {name: getattr(self, name) for name in _TESTS},
            "corrections": {name: getattr(self, name) for name in _CORRECTIONS},
        }

    def lost(self, now: "OwnLines") -> Iterator[tuple[str, str]]:
        """Yield what is missing ``now``: of which signal, and what in words."""
        if self.method and not now.method:
            yield "correction_pressure", f"its lines were found by {self.method} and are not found any more"
        if now.runs < self.runs and set(now.sessions) <= set(self.sessions):
            yield "tests", f"{now.runs} of {self.runs} test runs are left"

    def changed(self, now: "OwnLines") -> Iterator[str]:
        """Yield in words what differs ``now``."""
        if self.method != now.method:
            yield f"its lines are found by {now.method or 'nothing'}, and were by {self.method or 'nothing'}"
        if self.sessions != now.sessions:
            yield f"sessions: {', '.join(self.sessions) or 'none'} → {', '.join(now.sessions) or 'none'}"
        for block, names in (("tests", _TESTS), ("corrections", _CORRECTIONS)):
            for name in names:
                was, is_now = getattr(self, name), getattr(now, name)
                if was != is_now:
                    yield f"{block}: {name} {str(was).lower()} → {str(is_now).lower()}"


def _text_or_none(reader: Reader, node: Node) -> str | None:
    return reader.string(node) or None


_TESTS: Mapping[str, Take] = {
    "runs": Reader.integer,
    "failed": Reader.integer,
    "last": _text_or_none,
    "edited_after": Reader.boolean,
}
_CORRECTIONS: Mapping[str, Take] = dict.fromkeys(("interrupts", "rejections", "resets"), Reader.integer)

OWN_LINES: Mapping[str, Mapping[str, Take]] = {
    "attribution": {"method": _text_or_none, "sessions": items_of(Reader.string)},
    "tests": _TESTS,
    "corrections": _CORRECTIONS,
}
"""The blocks of the file, and how their fields are taken."""


def own_lines_of(given: Mapping[str, Mapping[str, Any]]) -> OwnLines | None:
    """Return what a file keeps, from the blocks that it has; None when it has none of them."""
    blocks = [given[block] for block in OWN_LINES if block in given]
    found = {name: value for block in blocks for name, value in block.items()}
    return OwnLines(**found | {"sessions": tuple(found.get("sessions", ()))}) if blocks else None
