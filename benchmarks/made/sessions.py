"""Made transcript files: how many, how large, and when."""

from pathlib import Path
from random import Random

from benchmarks.made.claude import ClaudeSession
from benchmarks.made.codex import CodexSession
from benchmarks.made.prose import prose_of

_KINDS: dict[str, tuple[float, type[ClaudeSession] | type[CodexSession]]] = {
    "claude": (0.7, ClaudeSession),
    "codex": (0.3, CodexSession),
}
"""By harness: its share of all bytes, and what its sessions are."""

_TYPICAL, _LARGEST = 1_200_000, 48_000_000


def write_transcripts(
    directory: Path, size: int, start: float, end: float, seed: int
) -> tuple[Path, ...]:
    """Write transcripts of about ``size`` bytes and return their directories, one per harness.

    Most files have one or two megabytes and a few have tens. They begin at times spread evenly from
    ``start`` to ``end``, in seconds since 1970.
    """
    for kind, (share, session) in _KINDS.items():
        (directory / kind).mkdir(parents=True)
        sizes = _sizes(Random(f"{seed} {kind} sizes"), int(size * share))
        for n, wanted in enumerate(sizes):
            rng = Random(f"{seed} {kind} {n}")
            begun = start + (end - start) * (n + rng.random()) / len(sizes)
            made = session(rng, prose_of(seed), begun)
            with open(directory / kind / f"{n:05d}-{made.id}.jsonl", "wb") as f:
                for line in made.lines():
                    f.write(line)
                    if f.tell() >= wanted:
                        break
    return tuple(directory / kind for kind in _KINDS)


def _sizes(rng: Random, total: int) -> list[int]:
    """Cut a number of bytes into the sizes of files."""
    sizes: list[int] = []
    while (left := total - sum(sizes)) > 0:
        sizes.append(
            min(left, _LARGEST, max(30_000, int(_TYPICAL * rng.lognormvariate(0, 1.2))))
        )
    return sizes
