"""Text like that of a working session: code, listings, test output and sentences.

It has the characters that JSON has to escape.
"""

from functools import cache
from random import Random

_NOUNS = (
    "account",
    "basket",
    "bridge",
    "counter",
    "envelope",
    "harbour",
    "ledger",
    "manifest",
    "shelf",
    "timetable",
)
_VERBS = (
    "accept",
    "close",
    "count",
    "drop",
    "fetch",
    "keep",
    "list",
    "merge",
    "move",
    "pack",
    "send",
    "split",
)
_LENGTH = 1 << 20


def _sentence(rng: Random) -> str:
    verb, one, other, third = (
        rng.choice(_VERBS),
        rng.choice(_NOUNS),
        rng.choice(_NOUNS),
        rng.choice(_NOUNS),
    )
    return (
        f'Next I {verb} the {one} before the {other}, because what §4 says of its "{third}", '
        "à la naïve café, is old."
    )


def _code(rng: Random) -> str:
    verb, one, other = rng.choice(_VERBS), rng.choice(_NOUNS), rng.choice(_NOUNS)
    call = f'self.{verb}_{other}({one}["{other}"], limit={rng.randint(1, 999)})'
    return f"    {one} = {call}  # {rng.choice(_NOUNS)}"


def _listing(rng: Random) -> str:
    name = f"{rng.choice(_NOUNS)}/{rng.choice(_VERBS)}_{rng.choice(_NOUNS)}.py"
    return f"-rw-r--r-- 1 dev dev {rng.randint(10, 99999):>6} src/{name}"


def _result(rng: Random) -> str:
    verdict = "FAILED" if rng.random() < 0.04 else "PASSED ✓"
    test = f"tests/test_{rng.choice(_NOUNS)}.py::test_{rng.choice(_VERBS)}s_a_{rng.choice(_NOUNS)}"
    return f"{test}\t{verdict} [{rng.randint(1, 99)}%]"


def _match(rng: Random) -> str:
    place = f"src/{rng.choice(_NOUNS)}.py:{rng.randint(1, 900)}"
    return f"{place}:\t\tif {rng.choice(_NOUNS)} is None or \\"


_KINDS = (_sentence, _code, _code, _code, _listing, _result, _match)


class Prose:
    """A store of text to cut pieces from."""

    def __init__(self, seed: int) -> None:
        rng = Random(f"{seed} prose")
        lines: list[str] = []
        length = 0
        while length < _LENGTH:
            lines.append(rng.choice(_KINDS)(rng))
            length += len(lines[-1]) + 1
        self._text = "\n".join(lines)

    def piece(self, rng: Random, shortest: int, longest: int) -> str:
        """Return a text of a length between two limits, both below a million."""
        length = rng.randint(shortest, longest)
        start = rng.randint(0, len(self._text) - length)
        return self._text[start : start + length]

    def tool_output(self, rng: Random) -> str:
        """Return what a tool printed: mostly little, with a tail of 10 to 400 kB."""
        chance = rng.random()
        if chance < 0.80:
            return self.piece(rng, 40, 2_500)
        if chance < 0.95:
            return self.piece(rng, 2_500, 10_000)
        return (
            self.piece(rng, 10_000, 60_000)
            if chance < 0.992
            else self.piece(rng, 60_000, 400_000)
        )


@cache
def prose_of(seed: int) -> Prose:
    """Return the store of a seed."""
    return Prose(seed)


def phrase(rng: Random) -> str:
    """Return a few words that can be a subject or a summary."""
    return f"{rng.choice(_VERBS)} the {rng.choice(_NOUNS)} of a {rng.choice(_NOUNS)}"


def sentences(rng: Random, count: int) -> str:
    """Return some sentences on one line."""
    return " ".join(_sentence(rng) for _ in range(count))
