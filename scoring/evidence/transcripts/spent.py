"""Sums up tokens by model and by the size of the prompt, slice by slice: what their price depends on."""

from array import array
from bisect import bisect_left
from collections.abc import Sequence

from scoring.evidence.transcripts.facts import PROMPT_STEPS, Spent

_MOST = 2**63 - 1
"""The largest count that is kept, as 64 bits hold it."""


class SpentSums:
    """The tokens of one harness. ``input_holds_cached`` is whether its input has in it what was read from the cache."""

    def __init__(self) -> None:
        """Begin with nothing in any slice of time."""
        self.input_holds_cached = False
        self._slices: dict[int, dict[tuple[int, int], list[int]]] = {}
        self._models: dict[str, int] = {"": 0}

    def model(self, name: str) -> int:
        """Return the number of a model; 0 for one that is not named."""
        return self._models.setdefault(name, len(self._models))

    def add(
        self,
        place: int,
        models: "array[int]",
        output: "array[int]",
        given: "array[int]",
        reads: "array[int]",
        creations: "array[int]",
        hour: "array[int]",
    ) -> None:
        """Add responses to a slice; ``hour`` are those of the creations that are for an hour."""
        prompts, fresh, written = self._parts(given, reads, creations)
        spent = self._slices.setdefault(place, {})
        for model, prompt, *tokens in zip(models, prompts, fresh, output, reads, written, hour, strict=True):
            key = model, bisect_left(PROMPT_STEPS, prompt)
            held = spent.get(key)
            if held is None:
                held = spent[key] = [0] * 6
            held[0] += 1
            for n, count in enumerate(tokens, 1):
                held[n] += count

    def _parts(
        self, given: "array[int]", reads: "array[int]", creations: "array[int]"
    ) -> tuple[Sequence[int], Sequence[int], Sequence[int]]:
        """Return prompts, and what of them was neither read from the cache nor written to it, and what was written."""
        if self.input_holds_cached:  # what counts as written is all that was not read: no harness says what really was
            return (
                given,
                [max(all_of_it - read, 0) for all_of_it, read in zip(given, reads, strict=True)],
                [0] * len(given),
            )
        return [sum(parts) for parts in zip(given, reads, creations, strict=True)], given, creations

    def between(self, first: int, last: int) -> list[Spent]:
        """Return the tokens in the slices from ``first`` up to ``last``."""
        found: dict[tuple[int, int], list[int]] = {}
        for place in range(first, last):
            for key, counts in self._slices.get(place, {}).items():
                held = found.get(key)
                found[key] = counts if held is None else [one + two for one, two in zip(held, counts, strict=True)]
        names = list(self._models)
        return [
            Spent(names[model], step, *(min(count, _MOST) for count in counts))
            for (model, step), counts in found.items()
        ]
