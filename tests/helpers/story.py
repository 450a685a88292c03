"""One made session, which the tests of readers write as their harness does."""

import json
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

import pytest

from helpers.sessions import CORRECTION
from scoring.evidence.commands.testruns import TestTools as Tools
from scoring.evidence.harnesses.readers import HARNESSES
from scoring.evidence.transcripts.transcript_events import TranscriptEvents

FOLDER = "/work/app"
TYPED = ("Round the total", "Commit it", CORRECTION, "Never mind")


class Step(NamedTuple):
    """What happens at a second: a prompt, a stop by the user, or a response with a text or call."""

    second: int
    what: str
    text: str = ""
    said: str = ""
    code: int = 0
    number: int = 0

    @property
    def call(self) -> str:
        """The id of the call."""
        return f"call_{self.number}"

    @property
    def tokens(self) -> tuple[int, int, int, int]:
        """The tokens of the response: output, input, reads and writes of the cache."""
        n = self.number
        return 50 + n, 300 + n, 3000 + 10 * n, 20 + n


STORY = (
    Step(0, "prompt", TYPED[0]),
    Step(6, "read", f"{FOLDER}/src/cart.py", "x", 0, 1),
    Step(14, "edit", f"{FOLDER}/src/cart.py", "edited", 0, 2),
    Step(21, "run", "pytest", "1 failed, 3 passed in 1.00s", 1, 3),
    Step(33, "write", f"{FOLDER}/src/round.py", "written", 0, 4),
    Step(41, "run", "pytest", "4 passed in 1.00s", 0, 5),
    Step(60, "prompt", TYPED[1]),
    Step(66, "run", "git commit -am Round", "[main 5f0c2aa] Round", 0, 6),
    Step(72, "refused", "git branch -D old", "", 0, 7),
    Step(80, "prompt", TYPED[2]),
    Step(84, "read", f"{FOLDER}/CHANGES", "no such file", 1, 8),
    Step(88, "stop"),
    Step(95, "prompt", TYPED[3]),
    Step(97, "say", "Done", "", 0, 9),
)

FOUND: dict[str, Any] = {
    "responses": 9,
    "calls": 7,
    "failed": [0, 0, 1, 0, 0, 0, 1],
    "breaks": ["refusal", "interruption"],
    "edits": [f"{FOLDER}/src/cart.py", f"{FOLDER}/src/round.py"],
    "runs": [0, 1],
    "commits": ["5f0c2aa"],
    "corrections": 1,
    "tokens": (495, 2745, 27450, 225),
}
"""What is found where a harness writes everything, as :func:`helpers.sessions.seen` says it."""

UNCACHED = (495, 2745, 27450, 0)
"""The tokens where it does not write what was written to the cache."""


IN_PARTS = pytest.mark.parametrize("part", range(16))
"""Of the damages of a session each part tries every 16th, so that one part is quick."""


def damaged(lines: Sequence[Any], part: int) -> Iterator[list[Any]]:
    """Yield the lines with each value replaced by one of another type, or left out."""
    others = (
        (number, other) for number, line in enumerate(lines) for other in _damaged(line)
    )
    for number, other in islice(others, part, None, 16):
        yield [*lines[:number], other, *lines[number + 1 :]]


def _damaged(value: Any) -> Iterator[Any]:
    yield from ([], {}, 5, "x", None)
    if isinstance(value, dict):
        for key, found in value.items():
            yield {name: one for name, one in value.items() if name != key}
            yield from (value | {key: other} for other in _damaged(found))
    elif isinstance(value, list):
        for number, found in enumerate(value):
            yield from (
                [*value[:number], other, *value[number + 1 :]]
                for other in _damaged(found)
            )


def read_anyhow(harness: str, lines: Sequence[Any]) -> TranscriptEvents:
    """Read lines of a harness; the reader must not fail, whatever they are."""
    (of,) = [one for one in HARNESSES if one.name == harness]
    reader = of.reader(Tools())
    for number, line in enumerate(lines):
        reader.line(number, json.dumps(line).encode())
        if isinstance(line, dict):
            of.claims(line)
    return reader.events()
